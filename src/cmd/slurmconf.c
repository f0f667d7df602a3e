/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/slurmconf.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/fileio.h"
#include "src/libutil/util.h"

#define SLURMCONF_MAX_BYTES (16u << 20)
#define SLURMCONF_MAX_DEPTH 8

struct entry {
	struct entry *older;
	char *key;
	char *value;
	char *rest; /* of a line that describes nodes or the like: what follows its name; else NULL */
	struct file *file;
	unsigned int line;
};

struct file {
	struct file *next;
	char path[PATH_MAX];
};

struct slurmconf {
	struct entry *newest;
	struct file *files;
	struct file *file; /* the file and line that are being read */
	unsigned int line;
};

/*
 * Returns true if a line describes nodes, partitions or the like. Its other keys, such as State= and
 * Default=, are not keys of slurm.conf itself.
 */
static bool is_table_line(const char *s)
{
	static const char *const tables[] = { "NodeName",  "PartitionName", "NodeSet",
					      "DownNodes", "FrontendName",  "SwitchName" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		if (!strncasecmp(s, tables[i], strlen(tables[i])))
			return true;
	return false;
}

static int read_file(struct slurmconf *sc, const char *path, unsigned int depth, struct errmsg *err);

/* Reads an included file. A relative NAME is in the folder of the including file. */
static int include(struct slurmconf *sc, const char *from, const char *name, unsigned int depth)
{
	const char *slash = strrchr(from, '/');
	char path[PATH_MAX];

	if (*name == '/' || !slash)
		(void)snprintf(path, sizeof(path), "%s", name);
	else
		(void)snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - from), from, name);
	/* if the file is missing, Slurm reports it */
	return read_file(sc, path, depth + 1, NULL) == -ENOMEM ? -ENOMEM : 0;
}

struct pair {
	const char *key, *value;
	size_t key_len, value_len;
};

/* Takes a key and its value off *S, a line such as: Key=Value Key2 = "two words". False: there is no '='. */
static bool next_pair(const char **s, struct pair *ret)
{
	const char *value;

	ret->key = *s + strspn(*s, " \t\r");
	ret->key_len = strcspn(ret->key, " \t\r=");
	value = ret->key + ret->key_len;
	value += strspn(value, " \t\r");
	*s = value;
	if (*value != '=')
		return false;
	value++;
	value += strspn(value, " \t\r");
	if (*value == '"') {
		value++;
		ret->value_len = strcspn(value, "\"");
		*s = value + ret->value_len + (value[ret->value_len] == '"');
	} else {
		ret->value_len = strcspn(value, " \t\r");
		*s = value + ret->value_len;
	}
	ret->value = value;
	return true;
}

static int slurmconf_add(struct slurmconf *sc, const struct pair *p)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->key = strndup(p->key, p->key_len);
	e->value = strndup(p->value, p->value_len);
	e->file = sc->file;
	e->line = sc->line;
	e->older = sc->newest;
	sc->newest = e;
	return e->key && e->value ? 0 : -ENOMEM;
}

/* Reads the keys and values in a line; of one that describes nodes or the like, only the first, its name. */
static int parse_line(struct slurmconf *sc, const char *s)
{
	bool is_table = is_table_line(s);
	struct pair p;
	int rc = 0;

	do
		if (next_pair(&s, &p))
			rc = slurmconf_add(sc, &p);
	while (rc == 0 && *s && !is_table);
	if (rc == 0 && is_table && sc->newest && sc->newest->line == sc->line) {
		sc->newest->rest = strdup(s);
		rc = sc->newest->rest ? 0 : -ENOMEM;
	}
	return rc;
}

/*
 * Joins a line that ends with '\' to the next one, without a blank. The joined line is followed by
 * as many empty lines as were removed, to keep line numbers.
 */
static void join_lines(char *text)
{
	unsigned int joined = 0;
	char *out = text;
	char *in = text;

	while (*in) {
		if (in[0] == '\\' && in[1] == '\n') {
			in += 2;
			joined++;
			continue;
		}
		if (*in == '\n')
			for (; joined; joined--)
				*out++ = '\n';
		*out++ = *in++;
	}
	*out = '\0';
}

static int begin_file(struct slurmconf *sc, const char *path)
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	(void)snprintf(f->path, sizeof(f->path), "%s", path);
	f->next = sc->files;
	sc->files = sc->file = f;
	return 0;
}

static int read_file(struct slurmconf *sc, const char *path, unsigned int depth, struct errmsg *err)
{
	_cleanup_free_ char *text = NULL;
	struct file *from;
	unsigned int n = 0;
	char *next;
	char *line;
	size_t len;
	int rc;

	if (depth > SLURMCONF_MAX_DEPTH)
		return errmsg_set(err, -ELOOP, "%s: included too deeply", path);
	rc = fileio_read_alloc(path, SLURMCONF_MAX_BYTES, &text, &len, err);
	if (rc < 0)
		return rc;
	rc = begin_file(sc, path);
	if (rc < 0)
		return errmsg_set(err, rc, "%s: out of memory", path);
	join_lines(text);
	for (line = text; line && rc == 0; line = next) {
		sc->line = ++n;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line[strcspn(line, "#")] = '\0';
		line += strspn(line, " \t\r");
		if (!strncasecmp(line, "include", 7) && isspace((unsigned char)line[7])) {
			line += 7 + strspn(line + 7, " \t");
			line[strcspn(line, " \t\r")] = '\0';
			from = sc->file;
			rc = include(sc, path, line, depth);
			sc->file = from;
		} else {
			rc = parse_line(sc, line);
		}
	}
	return rc;
}

int slurmconf_read(const char *path, struct slurmconf **ret, struct errmsg *err)
{
	struct slurmconf *sc = calloc(1, sizeof(*sc));
	int rc;

	if (!sc)
		return errmsg_set(err, -ENOMEM, "%s: out of memory", path);
	rc = read_file(sc, path, 0, err);
	if (rc < 0) {
		slurmconf_destroy(sc);
		return rc;
	}
	*ret = sc;
	return 0;
}

void slurmconf_destroy(struct slurmconf *sc)
{
	struct entry *e;
	struct file *f;

	while (sc && (e = sc->newest)) {
		sc->newest = e->older;
		free(e->key);
		free(e->value);
		free(e->rest);
		free(e);
	}
	while (sc && (f = sc->files)) {
		sc->files = f->next;
		free(f);
	}
	free(sc);
}

static const struct entry *slurmconf_find(const struct slurmconf *sc, const char *key, unsigned int n)
{
	const struct entry *e;

	for (e = sc->newest; e; e = e->older)
		if (!strcasecmp(e->key, key) && !n--)
			return e;
	return NULL;
}

const char *slurmconf_get_nth(const struct slurmconf *sc, const char *key, unsigned int n)
{
	const struct entry *e = slurmconf_find(sc, key, n);

	return e ? e->value : NULL;
}

const char *slurmconf_get(const struct slurmconf *sc, const char *key)
{
	return slurmconf_get_nth(sc, key, 0);
}

char *slurmconf_get_in_line(const struct slurmconf *sc, const char *key, unsigned int n, const char *wanted)
{
	const struct entry *e = slurmconf_find(sc, key, n);
	const char *rest = e ? e->rest : NULL;
	struct pair p;

	while (rest && *rest)
		if (next_pair(&rest, &p) && p.key_len == strlen(wanted) &&
		    !strncasecmp(p.key, wanted, p.key_len))
			return strndup(p.value, p.value_len);
	return NULL;
}

const char *slurmconf_where_nth(const struct slurmconf *sc, const char *key, unsigned int n,
				unsigned int *ret_line)
{
	const struct entry *e = slurmconf_find(sc, key, n);

	*ret_line = e ? e->line : 0;
	return e ? e->file->path : NULL;
}

const char *slurmconf_where(const struct slurmconf *sc, const char *key, unsigned int *ret_line)
{
	return slurmconf_where_nth(sc, key, 0, ret_line);
}

const char *slurmconf_key_like(const struct slurmconf *sc, const char *prefix)
{
	const struct entry *e;

	for (e = sc->newest; e && strncasecmp(e->key, prefix, strlen(prefix)); e = e->older)
		;
	return e ? e->key : NULL;
}

/* Takes the next item, of *RET_LEN bytes, off *LIST. NULL: there is none. */
static const char *next_item(const char **list, char sep, size_t *ret_len)
{
	const char seps[] = { sep, '\0' };
	const char *item = *list;

	if (!item || !*item)
		return NULL;
	*ret_len = strcspn(item, seps);
	*list += *ret_len + (item[*ret_len] != '\0');
	return item;
}

static bool list_has(const char *list, char sep, const char *wanted, size_t want)
{
	const char *item;
	size_t len;

	while ((item = next_item(&list, sep, &len)))
		if (len == want && !strncasecmp(item, wanted, len))
			return true;
	return false;
}

bool slurmconf_list_has(const char *value, const char *item)
{
	return list_has(value, ',', item, strlen(item));
}

/*
 * Appends to OUT the items of LIST that neither OUT nor EXCEPT has. OUT must have room
 * for LIST and a separator.
 */
static void list_append(char *out, const char *list, char sep, const char *except)
{
	size_t used = strlen(out);
	const char *item;
	size_t len;

	while ((item = next_item(&list, sep, &len))) {
		if (!len || list_has(except, sep, item, len) || list_has(out, sep, item, len))
			continue;
		if (used)
			out[used++] = sep;
		memcpy(out + used, item, len);
		used += len;
		out[used] = '\0';
	}
}

char *slurmconf_merge(const struct slurmconf *sc, const char *key, char sep)
{
	const char *value;
	unsigned int n;
	size_t size = 1;
	char *out;

	for (n = 0; (value = slurmconf_get_nth(sc, key, n)); n++)
		size += strlen(value) + 1;
	out = n ? calloc(1, size) : NULL;
	for (n = 0; out && (value = slurmconf_get_nth(sc, key, n)); n++)
		list_append(out, value, sep, NULL);
	return out;
}

char *slurmconf_lost(const struct slurmconf *sc, const char *key, unsigned int n, char sep)
{
	const char *value = slurmconf_get_nth(sc, key, n);
	char *out = value ? calloc(1, strlen(value) + 1) : NULL;

	if (out)
		list_append(out, value, sep, slurmconf_get(sc, key));
	if (out && !*out) {
		free(out);
		out = NULL;
	}
	return out;
}
