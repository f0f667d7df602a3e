/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/factors/provider.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/factors/error_words.h"
#include "src/libutil/fileio.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/trust.h"
#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

/* --- points -------------------------------------------------------------------------------- */

void points_fini(struct points *p)
{
	free(p->point);
	*p = (struct points){ 0 };
}

static int compare_points(const void *a, const void *b)
{
	return factor_point_compare(a, b);
}

void points_sort(struct points *p)
{
	if (p->n)
		qsort(p->point, p->n, sizeof(*p->point), compare_points);
}

void points_skip(struct points *p, const char *fmt, ...)
{
	char text[sizeof(p->skipped[0].text)];
	va_list ap;

	if (p->nskipped++ >= POINTS_SKIPPED_MAX)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)errmsg_set(&p->skipped[p->nskipped - 1], 0, "%s", text);
}

int points_check(const struct points *p, struct errmsg *err)
{
	return p->nskipped && !p->n ? errmsg_set(err, -EINVAL, "%s", p->skipped[0].text) : 0;
}

int provider_push(struct points *p, const struct provider_ask *ask, uint64_t from_s, uint64_t until_s,
		  uint64_t mg_per_kwh, const char *note, struct errmsg *err)
{
	struct factor_point *grown, *to;

	if (p->n == p->room) {
		p->room = p->room ? 2 * p->room : 128;
		grown = reallocarray(p->point, p->room, sizeof(*grown));
		if (!grown)
			return errmsg_set(err, -ENOMEM, "out of memory");
		p->point = grown;
	}
	to = &p->point[p->n++];
	*to = (struct factor_point){ .from_s = from_s, .until_s = until_s, .fetched_s = ask->now_s };
	to->factor.mg_per_kwh = mg_per_kwh;
	to->factor.kind = ask->provider->kind;
	to->factor.scope = ask->provider->scope;
	(void)snprintf(to->factor.region, sizeof(to->factor.region), "%s", ask->zone.region);
	(void)snprintf(to->factor.source, sizeof(to->factor.source), *note ? "%s (%s)" : "%s%s",
		       ask->provider->cite, note);
	return 0;
}

/* --- JSON ---------------------------------------------------------------------------------- */

/* Returns the length of the word at P that Python writes for a number which JSON does not have; 0: none. */
static size_t odd_number(const char *p)
{
	static const char *const words[] = { "NaN", "Infinity", "-Infinity" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strncmp(p, words[i], strlen(words[i])))
			return strlen(words[i]);
	return 0;
}

/*
 * Replaces in TEXT what would make the parser refuse all of it because of one value: a NaN becomes a text
 * of the same length, and a byte that is not UTF-8 a question mark.
 */
static void mend_json(char *text, size_t len)
{
	const char *end = text + len;
	bool in_text = false;
	char *p = text;
	size_t n;

	for (; p < end; p += n) {
		n = utf8_sequence(p, (size_t)(end - p));
		if (!n) {
			*p = '?';
			n = 1;
		} else if (in_text && *p == '\\' && utf8_sequence(p + 1, 1) == 1) {
			n = 2;
		} else if (*p == '"') {
			in_text = !in_text;
		} else if (!in_text && odd_number(p)) {
			n = odd_number(p);
			p[0] = p[n - 1] = '"';
		}
	}
}

int provider_json(const char *text, size_t len, json_t **ret, struct errmsg *err)
{
	size_t begin = utf8_bom(text);
	_cleanup_free_ char *mended = NULL;
	struct errmsg why = { 0 };
	int rc;

	begin += strspn(text + begin, " \t\r\n");
	if (begin == len)
		return errmsg_set(err, -EINVAL, "the answer is empty");
	if (text[begin] == '<')
		return errmsg_set(err, -EINVAL, "the answer is HTML, not JSON");
	if (strlen(text) != len)
		return errmsg_set(err, -EINVAL, "the answer is not JSON: a NUL byte");
	mended = strdup(text + begin);
	if (!mended)
		return errmsg_set(err, -ENOMEM, "out of memory");
	len -= begin;
	mend_json(mended, len);
	rc = exactjson_load(mended, len, ret, &why);
	return rc < 0 ? errmsg_set(err, rc, "the answer is not JSON: %s", why.text) : 0;
}

int provider_array(json_t *o, const char *name, json_t **ret, struct errmsg *err)
{
	json_t *v = json_object_get(o, name);
	char words[ERROR_WORDS_SIZE];

	if (!json_is_array(v)) {
		(void)error_words_of(o, words);
		return errmsg_set(err, -EINVAL, "the answer has no list '%s'%s%s", name,
				  *words ? "; it says: " : "", words);
	}
	*ret = v;
	return 0;
}

/* Parses item V, number I of its list. Skips the item if it cannot be read. */
static int parse_item(const struct provider_list *l, const struct provider_ask *ask, json_t *v, size_t i,
		      uint64_t length_s, struct points *ret, struct errmsg *err)
{
	const json_t *at = json_object_get(v, l->time);
	const char *time = exactjson_is_text(at) ? json_string_value(at) : NULL;
	struct errmsg why = { 0 };
	int rc = json_is_object(v) ? l->item(ask, v, length_s, ret, &why) :
				     errmsg_set(&why, -EINVAL, "a value is not an object");

	if (rc != -EINVAL)
		return rc < 0 ? errmsg_set(err, rc, "%s", why.text) : 0;
	points_skip(ret, "%s (value %zu%s%.40s)", why.text, i + 1, time ? ", " : "", time ? time : "");
	return 0;
}

int provider_parse_list(const struct provider_list *l, const struct provider_ask *ask, const char *text,
			size_t len, struct points *ret, struct errmsg *err)
{
	uint64_t length_s = 0;
	json_t *root = NULL;
	json_t *list;
	size_t i;
	int rc = provider_json(text, len, &root, err);

	if (rc < 0)
		return rc;
	rc = l->find(ask, root, &list, &length_s, err);
	for (i = 0; rc == 0 && i < json_array_size(list); i++)
		rc = parse_item(l, ask, json_array_get(list, i), i, length_s, ret, err);
	json_decref(root);
	return rc < 0 ? rc : points_check(ret, err);
}

int provider_time(const json_t *v, uint64_t *ret_s, struct errmsg *err)
{
	if (!exactjson_is_text(v))
		return errmsg_set(err, -EINVAL, "a value without a time");
	if (rfc3339_parse(json_string_value(v), ret_s) < 0)
		return errmsg_set(err, -EINVAL, "'%.40s' is not a time of RFC 3339", json_string_value(v));
	return 0;
}

int provider_number(const json_t *v, uint64_t scale, uint64_t *ret, struct errmsg *err)
{
	_cleanup_free_ char *text = NULL;
	int rc;

	if (!v || json_is_null(v))
		return -ENODATA;
	rc = exactjson_scaled(v, scale, ret);
	if (rc == 0)
		return 0;
	text = exactjson_dump(v, NULL);
	if (!text || (*text != '-' && rc == -EINVAL))
		return errmsg_set(err, -EINVAL, "a value is not a number");
	return errmsg_set(err, -EINVAL,
			  rc == -ERANGE ? "a value above any grid's: %.40s" : "a negative value: %.40s",
			  text);
}

int provider_expect(const json_t *v, const char *want, const char *wrong, struct errmsg *err)
{
	if (!v || json_is_null(v))
		return 0;
	if (!exactjson_is_text(v) || strcasecmp(json_string_value(v), want))
		return errmsg_set(err, -EINVAL, "%s: '%.40s' instead of '%s'", wrong,
				  exactjson_is_text(v) ? json_string_value(v) : "not a text", want);
	return 0;
}

/* --- secrets ------------------------------------------------------------------------------- */

int provider_secret(const char *key, const char *path, char *buf, size_t size, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	size_t len, i;
	ssize_t n;
	int rc;

	if (!*path)
		return errmsg_set(err, -EINVAL, "%s is not set", key);
	fd = fileio_open_regular(path, &st, err);
	if (fd < 0)
		return fd;
	rc = trust_check(path, err);
	if (rc == 0)
		rc = trust_is_private(path, &st, err);
	if (rc < 0)
		return rc;
	n = fileio_pread_all(fd, buf, size);
	if (n < 0)
		return errmsg_errno(err, (int)n, "%s", path);
	n -= (ssize_t)utf8_bom(buf);
	memmove(buf, buf + utf8_bom(buf), (size_t)n + 1);
	len = strcspn(buf, "\r\n");
	/* the file must have one line, because it becomes one line of a header */
	rc = !len || len + strspn(buf + len, "\r\n") != (size_t)n ? -EINVAL : 0;
	for (i = 0; i < len; i++)
		if ((unsigned char)buf[i] < ' ' || buf[i] == 0x7f)
			rc = -EINVAL;
	buf[len] = '\0';
	if (rc == 0)
		return 0;
	explicit_bzero(buf, size);
	return errmsg_set(err, rc, "%s: is not one line of text", path);
}
