/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libhttps/https_headers.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/fileio.h"
#include "src/libutil/trust.h"

#define FILE_MAX ((size_t)64 << 10)
#define BLANKS " \t\r"
/* The characters of a header's name (RFC 9110, token) */
#define TOKEN "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* Returns whether only the client may set the header NAME. */
static bool is_ours(const char *name)
{
	static const char *const ours[] = { "Connection",   "Content-Encoding", "Content-Length",
					    "Content-Type", "Expect",		"Transfer-Encoding" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ours); i++)
		if (!strcasecmp(name, ours[i]))
			return true;
	return false;
}

static bool is_printable(const char *value)
{
	for (; *value; value++)
		if ((unsigned char)*value < ' ' && *value != '\t')
			return false;
	return true;
}

static void cut_blanks(char *text)
{
	size_t len = strlen(text);

	while (len && strchr(BLANKS, text[len - 1]))
		text[--len] = '\0';
}

/*
 * Appends the header in LINE, which has no newline, to *LIST. A line without a colon or a value is an
 * error, because libcurl would take it as an order to remove one of its own headers.
 */
static int add_line(const char *path, unsigned int at, char *line, struct curl_slist **list,
		    struct errmsg *err)
{
	char *colon = strchr(line, ':');
	struct curl_slist *more;
	char *value;

	cut_blanks(line);
	if (!*line || *line == '#')
		return 0;
	value = colon ? colon + 1 + strspn(colon + 1, BLANKS) : NULL;
	if (!value || colon == line || strspn(line, TOKEN) != (size_t)(colon - line))
		return errmsg_set(err, -EINVAL, "%s:%u: not 'Name: value'", path, at);
	*colon = '\0';
	if (is_ours(line))
		return errmsg_set(err, -EINVAL, "%s:%u: %s cannot be set", path, at, line);
	if (!*value || !is_printable(value))
		return errmsg_set(err, -EINVAL, "%s:%u: %s is empty or has control characters", path, at,
				  line);
	*colon = ':';
	more = curl_slist_append(*list, line);
	if (!more)
		return errmsg_set(err, -ENOMEM, "out of memory");
	*list = more;
	return 0;
}

int https_headers_read(const char *path, struct curl_slist **list, struct errmsg *err)
{
	unsigned int at = 0;
	char *text, *line, *rest;
	size_t len;
	int rc = fileio_read_checked(path, FILE_MAX, trust_is_own_secret, /* st= */ NULL, &text, &len, err);

	if (rc < 0)
		return rc;
	if (strlen(text) != len)
		rc = errmsg_set(err, -EINVAL, "%s: has a NUL byte", path);
	for (rest = text; rc == 0 && (line = strsep(&rest, "\n"));)
		rc = add_line(path, ++at, line, list, err);
	explicit_bzero(text, len);
	free(text);
	return rc;
}
