/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/util.h"

struct symbol {
	uint64_t address;
	size_t name; /* offset in TEXT */
};

struct kallsyms {
	struct symbol *symbol;
	size_t n, room;
	char *text;
	size_t used, text_room;
};

/* Adds TEXT[len] and a NUL. */
static int add_text(struct kallsyms *k, const char *text, size_t len)
{
	char *more;

	if (k->used + len + 1 > k->text_room) {
		more = realloc(k->text, 2 * k->text_room + 4096 + len);
		if (!more)
			return -ENOMEM;
		k->text = more;
		k->text_room = 2 * k->text_room + 4096 + len;
	}
	memcpy(k->text + k->used, text, len);
	k->text[k->used + len] = '\0';
	k->used += len + 1;
	return 0;
}

static int add_symbol(struct kallsyms *k, uint64_t address, const char *name, size_t len)
{
	const size_t at = k->used;
	struct symbol *more;
	int rc;

	if (k->n == k->room) {
		more = realloc(k->symbol, (2 * k->room + 1024) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		k->symbol = more;
		k->room = 2 * k->room + 1024;
	}
	rc = add_text(k, name, len);
	if (rc == 0)
		k->symbol[k->n++] = (struct symbol){ address, at };
	return rc;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/*
 * Adds a line "ffffffff81000000 T _stext" or "ffffffffc0a01000 t nfs_file_read    [nfs]". There are
 * 200,000, and sscanf() would be slow.
 */
static int read_line(struct kallsyms *k, char *line)
{
	char *name, *end, *module;
	const uint64_t address = strtoull(line, &end, 16);
	size_t len;

	if (!address || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
		return 0;
	name = end + 3;
	len = strlen(name);
	if (len && name[len - 1] == '\n')
		len--;
	module = memchr(name, '\t', len);
	if (module)
		*module = ' '; /* "nfs_file_read [nfs]" */
	return add_symbol(k, address, name, len);
}

static int read_all(struct kallsyms *k, FILE *f)
{
	char line[640];
	int rc = 0;

	while (rc == 0 && fgets(line, sizeof(line), f))
		rc = read_line(k, line);
	return rc == 0 && !k->n ? -EPERM : rc;
}

int kallsyms_open(const char *path, struct kallsyms **ret, struct errmsg *err)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	struct kallsyms *k = calloc(1, sizeof(*k));
	int rc = !f ? -errno : k ? read_all(k, f) : -ENOMEM;

	if (rc < 0) {
		kallsyms_close(k);
		return errmsg_errno(err, rc, "%s", path);
	}
	qsort(k->symbol, k->n, sizeof(*k->symbol), by_address);
	*ret = k;
	return 0;
}

void kallsyms_close(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->symbol);
	free(k->text);
	free(k);
}

uint32_t kallsyms_find(const struct kallsyms *k, uint64_t address)
{
	size_t low = 0, high = k->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (k->symbol[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? (uint32_t)(low - 1) : UINT32_MAX;
}

const char *kallsyms_name(const struct kallsyms *k, uint32_t number)
{
	return k->text + k->symbol[number].name;
}

uint32_t kallsyms_count(const struct kallsyms *k)
{
	return (uint32_t)k->n;
}
