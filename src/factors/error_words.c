/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/factors/error_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "src/libutil/text.h"
#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

#define DEPTH_MAX 4
#define LINE_MAX_BYTES 200 /* a longer answer that is not JSON is a page, not a message */

/* Members that have the words, the most telling one first. "errors" is a list, as is "detail" of FastAPI. */
static const char *const members[] = {
	"error_description", "message", "detail", "msg",    "error_message",
	"description",	     "reason",	"error",  "errors", "title",
	"error_code",
};

static const char *find_words(const json_t *v, unsigned int depth)
{
	const char *found = NULL;
	size_t i;

	if (json_is_string(v) && json_string_length(v))
		return json_string_value(v);
	if (depth == DEPTH_MAX)
		return NULL;
	if (json_is_array(v))
		return find_words(json_array_get(v, 0), depth + 1);
	for (i = 0; json_is_object(v) && i < ARRAY_SIZE(members) && !found; i++)
		found = find_words(json_object_get(v, members[i]), depth + 1);
	return found;
}

static void hide_all(char *text, const char *secret)
{
	size_t len = strlen(secret);

	while (len && (text = strstr(text, secret)))
		memset(text, '*', len);
}

/* Masks and cuts WORDS; each run of white space becomes one blank. */
static const char *put_words(const char *words, const char *const *secrets, char buf[ERROR_WORDS_SIZE])
{
	_cleanup_free_ char *line = strdup(words);
	size_t n = 0;
	char *p;

	buf[0] = '\0';
	if (!line)
		return buf;
	for (; secrets && *secrets; secrets++)
		hide_all(line, *secrets);
	for (p = line + strspn(line, " \t\r\n"); *p; p++) {
		bool is_blank = strchr(" \t\r\n", *p);

		if (!is_blank || line[n - 1] != ' ')
			line[n++] = is_blank ? ' ' : *p;
	}
	n -= n && line[n - 1] == ' ';
	line[n] = '\0';
	return text_cell(line, ERROR_WORDS_COLUMNS, buf, ERROR_WORDS_SIZE);
}

const char *error_words_of(const json_t *v, char buf[ERROR_WORDS_SIZE])
{
	const char *words = find_words(v, 0);

	return put_words(words ? words : "", NULL, buf);
}

const char *error_words(const char *text, const char *const *secrets, char buf[ERROR_WORDS_SIZE])
{
	const char *words;
	json_t *v;

	text += utf8_bom(text);
	text += strspn(text, " \t\r\n");
	v = json_loads(text, JSON_DECODE_ANY, NULL);
	words = find_words(v, 0);
	if (!v && strlen(text) <= LINE_MAX_BYTES && isalnum((unsigned char)*text))
		words = text;
	(void)put_words(words ? words : "", secrets, buf);
	json_decref(v);
	return buf;
}
