/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/util.h"

/* The most mounts that are kept. A container host may have tens of thousands, which a step does not need. */
#define MOUNTS_MAX 2048
/* The most lines read, since a user may make the list very long. */
#define LINES_MAX 16384

struct entry {
	struct mount_point point; /* its strings are owned, in one allocation that begins at path */
	bool has_root;
	uint32_t process; /* number of the process from which it was learned, counted from 0 */
};

struct mounts {
	struct entry *entry;
	size_t n, size;
	uint32_t process;
};

int mounts_create(struct mounts **ret)
{
	struct mounts *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*ret = m;
	return 0;
}

void mounts_destroy(struct mounts *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->n; i++)
		free((char *)m->entry[i].point.path);
	free(m->entry);
	free(m);
}

/* --- one line: 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw ---------------- */

/* Finds the next word; it is not NUL-terminated, and its blanks are octal numbers. */
static bool next_word(const char **line, const char **word, size_t *len)
{
	*word = *line + strspn(*line, " ");
	*len = strcspn(*word, " \n");
	*line = *word + *len;
	return *len > 0;
}

static bool skip_words(const char **line, unsigned int n)
{
	const char *word;
	size_t len;

	while (n--)
		if (!next_word(line, &word, &len))
			return false;
	return true;
}

static bool parse_number(const char **p, uint32_t max, uint32_t *ret)
{
	uint32_t n = 0;
	const char *start = *p;

	for (; **p >= '0' && **p <= '9'; (*p)++) {
		n = n * 10 + (uint32_t)(**p - '0');
		if (n > max)
			return false;
	}
	*ret = n;
	return *p > start;
}

/* Parses a device number to the kernel's form, with 20 bits for the minor number (include/linux/kdev_t.h). */
static bool parse_device(const char **line, uint32_t *ret)
{
	uint32_t major, minor;
	const char *p, *word;
	size_t len;

	if (!next_word(line, &word, &len))
		return false;
	p = word;
	if (!parse_number(&p, 0xfff, &major) || *p++ != ':' || !parse_number(&p, 0xfffff, &minor) ||
	    p != word + len)
		return false;
	*ret = major << 20 | minor;
	return *ret != 0;
}

/* Copies LEN bytes, with "\040" and the like replaced by the characters, and a NUL. Returns the end. */
static char *unescape(char *to, const char *from, size_t len)
{
	const char *end = from + len;

	while (from < end) {
		if (end - from >= 4 && from[0] == '\\' && from[1] >= '0' && from[1] <= '3' &&
		    from[2] >= '0' && from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			to += *to != '\0';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to++ = '\0';
	return to;
}

static bool parse_line(const char *line, struct entry *e, const char **path, size_t *path_len,
		       const char **type, size_t *type_len)
{
	const char *root, *word;
	size_t len;

	if (!skip_words(&line, 2) || !parse_device(&line, &e->point.device) || !next_word(&line, &root, &len))
		return false;
	e->has_root = len == 1 && *root == '/';
	if (!next_word(&line, path, path_len) || **path != '/')
		return false;
	do /* skip mount options and optional fields */
		if (!next_word(&line, &word, &len))
			return false;
	while (len != 1 || *word != '-');
	return next_word(&line, type, type_len);
}

/* --- the table ---------------------------------------------------------------------------- */

static struct entry *mounts_find_entry(const struct mounts *m, uint32_t device)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (m->entry[i].point.device == device)
			return &m->entry[i];
	return NULL;
}

static bool is_better(const struct entry *e, const struct entry *old)
{
	if (e->process != old->process)
		return false;
	if (e->has_root != old->has_root)
		return e->has_root;
	return strlen(e->point.path) < strlen(old->point.path);
}

static struct entry *new_entry(struct mounts *m)
{
	size_t size = m->size ? 2 * m->size : 32;
	struct entry *bigger;

	if (m->n == m->size) {
		bigger = realloc(m->entry, size * sizeof(*bigger));
		if (!bigger)
			return NULL;
		m->entry = bigger;
		m->size = size;
	}
	return &m->entry[m->n++];
}

int mounts_learn_line(struct mounts *m, const char *line)
{
	struct entry e = { .process = m->process }, *at;
	size_t path_len, type_len;
	const char *path, *type;
	_cleanup_free_ char *text = NULL;
	char *second;

	if (!parse_line(line, &e, &path, &path_len, &type, &type_len))
		return 0;
	at = mounts_find_entry(m, e.point.device);
	if (!at && m->n == MOUNTS_MAX)
		return 0;
	text = malloc(path_len + type_len + 2);
	if (!text)
		return -ENOMEM;
	second = unescape(text, path, path_len);
	(void)unescape(second, type, type_len);
	e.point.path = text;
	e.point.type = second;
	if (at) {
		if (!is_better(&e, at))
			return 0;
		free((char *)at->point.path);
	} else {
		at = new_entry(m);
		if (!at)
			return -ENOMEM;
	}
	*at = e;
	text = NULL;
	return 0;
}

void mounts_next_process(struct mounts *m)
{
	m->process++;
}

int mounts_learn(struct mounts *m, pid_t pid)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	char path[64];
	unsigned int lines;
	int rc = 0;

	(void)snprintf(path, sizeof(path), "/proc/%ld/mountinfo", (long)pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	mounts_next_process(m);
	errno = 0;
	for (lines = 0; rc == 0 && lines < LINES_MAX && getline(&line, &size, f) >= 0; lines++)
		rc = mounts_learn_line(m, line);
	if (rc == 0 && ferror(f))
		rc = errno ? -errno : -EIO;
	return rc;
}

const struct mount_point *mounts_find(const struct mounts *m, uint32_t device)
{
	const struct entry *e = mounts_find_entry(m, device);

	return e ? &e->point : NULL;
}

size_t mounts_count(const struct mounts *m)
{
	return m->n;
}

const struct mount_point *mounts_at(const struct mounts *m, size_t i)
{
	return i < m->n ? &m->entry[i].point : NULL;
}
