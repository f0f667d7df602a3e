/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/factors/provider.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/fileio.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/trust.h"
#include "src/libutil/util.h"

/* --- points -------------------------------------------------------------------------------- */

void points_fini(struct points *p)
{
	free(p->point);
	*p = (struct points){ 0 };
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

int provider_json(const char *text, size_t len, json_t **ret, struct errmsg *err)
{
	size_t blanks = strspn(text, " \t\r\n");
	struct errmsg why = { 0 };
	int rc;

	if (blanks == len)
		return errmsg_set(err, -EINVAL, "the answer is empty");
	if (text[blanks] == '<')
		return errmsg_set(err, -EINVAL, "the answer is HTML, not JSON");
	if (strlen(text) != len)
		return errmsg_set(err, -EINVAL, "the answer is not JSON: a NUL byte");
	rc = exactjson_load(text, len, ret, &why);
	return rc < 0 ? errmsg_set(err, rc, "the answer is not JSON: %s", why.text) : 0;
}

int provider_array(json_t *o, const char *name, json_t **ret, struct errmsg *err)
{
	json_t *v = json_object_get(o, name);

	if (!json_is_array(v))
		return errmsg_set(err, -EINVAL, "the answer has no list '%s'", name);
	*ret = v;
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
		rc = l->item(ask, json_array_get(list, i), length_s, ret, err);
	json_decref(root);
	return rc;
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
