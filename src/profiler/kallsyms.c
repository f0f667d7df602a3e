/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/util.h"

#define PORTION_LINES 1024 /* some 0.4 ms */

struct kernel_symbol {
	uint64_t address;
	size_t name; /* offset in TEXT */
};

struct kallsyms {
	FILE *file; /* NULL: all is read */
	/*
	 * The first NSORTED are in order as they come: the kernel's own. The others, of modules, are sorted
	 * when all are read. To sort all of them would take 10 ms.
	 */
	struct kernel_symbol *symbol;
	size_t n, room, nsorted;
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
	struct kernel_symbol *more;
	int rc;

	if (k->n == k->room) {
		more = realloc(k->symbol, (2 * k->room + 1024) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		k->symbol = more;
		k->room = 2 * k->room + 1024;
	}
	rc = add_text(k, name, len);
	if (rc < 0)
		return rc;
	if (k->nsorted == k->n && (!k->n || k->symbol[k->n - 1].address <= address))
		k->nsorted++;
	k->symbol[k->n++] = (struct kernel_symbol){ address, at };
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

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

int kallsyms_open(const char *path, struct kallsyms **ret, struct errmsg *err)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	struct kallsyms *k;

	if (!f)
		return errmsg_errno(err, -errno, "%s", path);
	k = calloc(1, sizeof(*k));
	if (!k)
		return errmsg_errno(err, -ENOMEM, "%s", path);
	k->file = TAKE_PTR(f);
	*ret = k;
	return 0;
}

int kallsyms_read(struct kallsyms *k)
{
	char line[640];
	int rc, i;

	for (i = 0; k->file && i < PORTION_LINES; i++) {
		if (!fgets(line, sizeof(line), k->file)) {
			rc = ferror(k->file) ? -EIO : k->n ? 0 : -EPERM;
			(void)fclose(TAKE_PTR(k->file));
			if (rc == 0)
				qsort(k->symbol + k->nsorted, k->n - k->nsorted, sizeof(*k->symbol),
				      by_address);
			return rc;
		}
		rc = read_line(k, line);
		if (rc < 0)
			return rc;
	}
	return k->file != NULL;
}

void kallsyms_close(struct kallsyms *k)
{
	if (!k)
		return;
	if (k->file)
		(void)fclose(k->file);
	free(k->symbol);
	free(k->text);
	free(k);
}

/* Returns the last symbol of the sorted SYMBOL[n] that is at ADDRESS or below, or NULL. */
static const struct kernel_symbol *find_in(const struct kernel_symbol *symbol, size_t n, uint64_t address)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (symbol[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &symbol[low - 1] : NULL;
}

uint32_t kallsyms_find(const struct kallsyms *k, uint64_t address)
{
	const struct kernel_symbol *own = find_in(k->symbol, k->nsorted, address);
	const struct kernel_symbol *other = find_in(k->symbol + k->nsorted, k->n - k->nsorted, address);

	if (!own || (other && other->address > own->address))
		own = other;
	return own ? (uint32_t)(own - k->symbol) : UINT32_MAX;
}

const char *kallsyms_name(const struct kallsyms *k, uint32_t number)
{
	return k->text + k->symbol[number].name;
}

uint32_t kallsyms_count(const struct kallsyms *k)
{
	return (uint32_t)k->n;
}
