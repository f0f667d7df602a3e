/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/kvconf.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/trust.h"
#include "src/libutil/utf8.h"

#define KVCONF_MAX_BYTES (1u << 20)
#define KVCONF_MAX_KEYS 256
#define SCHEME "https://"

int kvconf_text(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	size_t len = strlen(value);

	if (len >= key->size)
		return errmsg_set(err, -ERANGE, "longer than %zu bytes", key->size - 1);
	memcpy(field, value, len + 1);
	return 0;
}

static int as_number(int rc, const char *what, const char *value, struct errmsg *err)
{
	if (rc == -ERANGE)
		return errmsg_set(err, rc, "'%s' is too large", value);
	return rc < 0 ? errmsg_set(err, rc, "'%s' is not %s", value, what) : 0;
}

int kvconf_bool(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	(void)key;
	return as_number(parse_bool(value, field), "yes or no", value, err);
}

int kvconf_u64(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	(void)key;
	return as_number(parse_u64(value, field), "a whole number", value, err);
}

int kvconf_duration(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	(void)key;
	return as_number(parse_duration_ns(value, field), "a duration (250ms, 1s, 5m, 2h, 1d)", value, err);
}

int kvconf_size(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	(void)key;
	return as_number(parse_size_bytes(value, field), "a size (64K, 10M, 2G)", value, err);
}

int kvconf_milli(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	(void)key;
	return as_number(parse_decimal(value, 1000, field), "a decimal number", value, err);
}

int kvconf_path(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	if (*value && *value != '/')
		return errmsg_set(err, -EINVAL, "'%s' is not an absolute path", value);
	return kvconf_text(value, field, key, err);
}

int kvconf_https(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	const char *host = value + sizeof(SCHEME) - 1;
	size_t len = strlen(value);
	char *url = field;
	int rc;

	if (strncasecmp(value, SCHEME, sizeof(SCHEME) - 1))
		return errmsg_set(err, -EINVAL, "does not begin with " SCHEME);
	if (value[len - 1] == '/')
		len--;
	/* No "user@host": the address is logged, and a password in it would be logged too. */
	if (!isalnum((unsigned char)*host) && *host != '[')
		return errmsg_set(err, -EINVAL, "has no host");
	if (strcspn(host, "/@?# \t") < len - (sizeof(SCHEME) - 1))
		return errmsg_set(err, -EINVAL, "is not " SCHEME "HOST or " SCHEME "HOST:PORT");
	rc = kvconf_text(value, field, key, err);
	if (rc == 0)
		url[len] = '\0';
	return rc;
}

static void *field_of(const struct kvconf_key *key, void *data)
{
	return (char *)data + key->offset;
}

int kvconf_defaults(const struct kvconf_key *keys, size_t nkeys, void *data, struct errmsg *err)
{
	struct errmsg why = { 0 };
	size_t i;
	int rc;

	for (i = 0; i < nkeys; i++) {
		if (!keys[i].initial)
			continue;
		rc = keys[i].parse(keys[i].initial, field_of(&keys[i], data), &keys[i], &why);
		if (rc < 0)
			return errmsg_set(err, -EINVAL, "default of %s: %s", keys[i].name, why.text);
	}
	return 0;
}

static char *kvconf_trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return s;
}

/* Removes quotes and a trailing comment from VALUE, in place. */
static int unquote(char *value, struct errmsg *err)
{
	char *out = value;
	bool quoted = false;
	char *in;

	for (in = value; *in; in++) {
		if (*in == '"') {
			quoted = !quoted;
			continue;
		}
		if (*in == '#' && !quoted)
			break;
		*out++ = *in;
	}
	*out = '\0';
	return quoted ? errmsg_set(err, -EINVAL, "closing quote missing") : 0;
}

static const struct kvconf_key *find_key(const struct kvconf_key *keys, size_t nkeys, const char *name)
{
	size_t i;

	for (i = 0; i < nkeys; i++)
		if (!strcasecmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

#define NEAR_MAX 64

/*
 * Levenshtein distance: how many letters to insert, delete or change to turn A into B, ignoring
 * case.
 */
static size_t kvconf_distance(const char *a, const char *b)
{
	size_t row[NEAR_MAX + 1];
	size_t n = strlen(b);
	size_t i;
	size_t j;

	if (n > NEAR_MAX)
		return SIZE_MAX;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 0; a[i]; i++) {
		size_t left_above = row[0];

		row[0] = i + 1;
		for (j = 0; j < n; j++) {
			size_t above = row[j + 1];
			size_t best = above < row[j] ? above + 1 : row[j] + 1;
			bool same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);

			if (left_above + !same < best)
				best = left_above + !same;
			row[j + 1] = best;
			left_above = above;
		}
	}
	return row[n];
}

const char *kvconf_nearest(const struct kvconf_key *keys, size_t nkeys, const char *name)
{
	size_t least = 1 + strlen(name) / 3;
	const char *best = NULL;
	size_t i;

	for (i = 0; i < nkeys; i++) {
		size_t d = kvconf_distance(name, keys[i].name);

		if (d < least) {
			least = d;
			best = keys[i].name;
		}
	}
	return best;
}

struct kvconf_reading {
	const char *path;
	const struct kvconf_key *keys;
	size_t nkeys;
	void *data;
	unsigned int lineno;
	unsigned int seen_at[KVCONF_MAX_KEYS];
};

static int unknown_key(const struct kvconf_reading *r, const char *name, struct errmsg *err)
{
	const char *meant = kvconf_nearest(r->keys, r->nkeys, name);

	return errmsg_set(err, -EINVAL, "%s:%u: %s: unknown key%s%s%s", r->path, r->lineno, name,
			  meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

static int read_line(struct kvconf_reading *r, char *line, struct errmsg *err)
{
	char *name = kvconf_trim(line);
	const struct kvconf_key *key;
	struct errmsg why = { 0 };
	unsigned int *seen_at;
	char *value;
	int rc;

	if (!*name || *name == '#')
		return 0;
	value = strchr(name, '=');
	if (!value) /* do not show the line: it may hold a password */
		return errmsg_set(err, -EINVAL, "%s:%u: no '='", r->path, r->lineno);
	*value++ = '\0';
	name = kvconf_trim(name);
	key = find_key(r->keys, r->nkeys, name);
	if (!key)
		return unknown_key(r, name, err);
	seen_at = &r->seen_at[key - r->keys];
	if (*seen_at)
		return errmsg_set(err, -EINVAL, "%s:%u: %s: already set in line %u", r->path, r->lineno,
				  key->name, *seen_at);
	*seen_at = r->lineno;
	rc = unquote(value, &why);
	if (rc == 0)
		rc = key->parse(kvconf_trim(value), field_of(key, r->data), key, &why);
	return rc < 0 ? errmsg_set(err, -EINVAL, "%s:%u: %s: %s", r->path, r->lineno, key->name, why.text) :
			0;
}

static int read_lines(struct kvconf_reading *r, char *text, kvconf_error_fn *on_error, void *arg,
		      struct errmsg *err)
{
	struct errmsg why;
	char *line;
	char *next;
	int rc;

	for (line = text; line; line = next) {
		r->lineno++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		rc = read_line(r, line, on_error ? &why : err);
		if (rc < 0 && !on_error)
			return rc;
		if (rc < 0)
			on_error(arg, r->lineno, why.text);
	}
	return 0;
}

int kvconf_read_all(const char *path, const struct kvconf_key *keys, size_t nkeys, void *data,
		    kvconf_error_fn *on_error, void *arg, struct errmsg *err)
{
	struct kvconf_reading r = { .path = path, .keys = keys, .nkeys = nkeys, .data = data };
	_cleanup_free_ char *text = NULL;
	size_t len;
	int rc;

	if (nkeys > KVCONF_MAX_KEYS)
		return errmsg_set(err, -EINVAL, "kvconf: a table of %zu keys, at most %d are supported",
				  nkeys, KVCONF_MAX_KEYS);
	rc = fileio_read_checked(path, KVCONF_MAX_BYTES, trust_is_ours, /* st= */ NULL, &text, &len, err);
	if (rc < 0)
		return rc;
	if (strlen(text) != len)
		rc = errmsg_set(err, -EINVAL, "%s: contains a NUL byte", path);
	else
		rc = read_lines(&r, text + utf8_bom(text), on_error, arg, err);
	explicit_bzero(text, len); /* the file may hold passwords */
	return rc;
}

int kvconf_read(const char *path, const struct kvconf_key *keys, size_t nkeys, void *data, struct errmsg *err)
{
	return kvconf_read_all(path, keys, nkeys, data, /* on_error= */ NULL, NULL, err);
}
