/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_findings.c - stores the findings of `ceems check`, and prints them as lines or as JSON.
 */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/check/check.h"
#include "src/cmd/check/check_todo.h"
#include "src/cmd/cmd.h"
#include "src/librecord/exactjson.h"
#include "src/libutil/text.h"

static const char *const level_names[] = {
	[CHECK_OK] = "ok",
	[CHECK_NOTE] = "note",
	[CHECK_WARN] = "warn",
	[CHECK_ERROR] = "error",
};

static bool is_shown(const struct check *c, enum check_level level)
{
	if (c->is_quiet)
		return level >= CHECK_WARN;
	return level != CHECK_NOTE || c->is_verbose || c->is_json;
}

/* Copies TEXT with control characters masked. NULL for NULL. */
static char *masked_copy(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	return copy ? text_mask(copy, copy, strlen(copy) + 1) : NULL;
}

/* Stores a copy of F for the list at the end. False: out of memory. */
static bool check_findings_keep(struct check *c, const struct check_finding *f)
{
	struct check_finding *more = realloc(c->findings, (c->nfindings + 1) * sizeof(*more));

	if (!more)
		return false;
	c->findings = more;
	more += c->nfindings;
	*more = *f;
	more->what = masked_copy(f->what);
	more->text = masked_copy(f->text);
	more->hint.text = masked_copy(f->hint.text);
	c->nfindings++;
	return more->what && more->text && (more->hint.text || !f->hint.text);
}

static void _printf_(5, 0) check_findings_add(struct check *c, enum check_level level, const char *what,
					      struct check_hint hint, const char *fmt, va_list ap)
{
	char text[4096];
	struct check_finding f = { level, (char *)what, text, hint };

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	c->warnings += level == CHECK_WARN;
	c->errors += level == CHECK_ERROR;
	if (is_shown(c, level) && !c->is_json) {
		cmd_print("%-6s %-14s %s", level_names[level], what, text);
		if (hint.text)
			cmd_print("%-6s %-14s -> %s", "", "", hint.text);
	}
	if (!check_findings_keep(c, &f))
		c->is_cut = true;
}

void check_ok(struct check *c, const char *what, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	check_findings_add(c, CHECK_OK, what, check_no_hint, fmt, ap);
	va_end(ap);
}

void check_note(struct check *c, const char *what, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	check_findings_add(c, CHECK_NOTE, what, check_no_hint, fmt, ap);
	va_end(ap);
}

void check_warn(struct check *c, const char *what, struct check_hint hint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	check_findings_add(c, CHECK_WARN, what, hint, fmt, ap);
	va_end(ap);
}

void check_error(struct check *c, const char *what, struct check_hint hint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	check_findings_add(c, CHECK_ERROR, what, hint, fmt, ap);
	va_end(ap);
}

void check_denied(struct check *c, const char *what, const char *path)
{
	c->is_denied = true;
	check_note(c, what, "%s: only root can look at it", path);
}

void check_rights(struct check *c)
{
	if (c->is_denied)
		check_warn(c, "rights", check_hint_system("ceems check, as root"),
			   "not all was looked at; --verbose names what was not");
}

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static json_t *finding_json(const struct check_finding *f)
{
	json_t *j = json_object();

	/*
	 * each call accepts NULL from a failed call before it, so only the last result is checked
	 */
	(void)json_object_set_new(j, "level", json_string(level_names[f->level]));
	(void)json_object_set_new(j, "what", json_string(f->what));
	(void)json_object_set_new(j, "text", json_string(f->text));
	(void)json_object_set_new(j, "hint", text_or_null(f->hint.text));
	(void)json_object_set_new(j, "file", text_or_null(check_todo_file_name(&f->hint)));
	return j;
}

static int print_json(const struct check *c)
{
	_cleanup_free_ char *text = NULL;
	json_t *list = json_array();
	json_t *root = json_object();
	bool is_whole = !c->is_cut;
	size_t i;

	for (i = 0; i < c->nfindings && is_whole; i++)
		if (is_shown(c, c->findings[i].level))
			is_whole = json_array_append_new(list, finding_json(&c->findings[i])) == 0;
	(void)json_object_set_new(root, "errors", json_integer(c->errors));
	(void)json_object_set_new(root, "warnings", json_integer(c->warnings));
	is_whole &= json_object_set_new(root, "findings", list) == 0;
	if (is_whole)
		text = exactjson_dump(root, NULL);
	json_decref(root);
	if (!text)
		return cmd_error("out of memory");
	puts(text);
	return CMD_OK;
}

int check_findings_end(const struct check *c)
{
	int rc = CMD_OK;

	if (c->is_json)
		rc = print_json(c);
	else if (c->is_cut)
		rc = cmd_error("out of memory");
	else if (!c->is_quiet)
		check_todo_print(c);
	if (!c->is_json && !c->is_quiet)
		printf("%u error%s, %u warning%s\n", c->errors, c->errors == 1 ? "" : "s", c->warnings,
		       c->warnings == 1 ? "" : "s");
	return c->errors ? CMD_FAILED : rc;
}

void check_findings_free(struct check *c)
{
	size_t i;

	for (i = 0; i < c->nfindings; i++) {
		free(c->findings[i].what);
		free(c->findings[i].text);
		free((char *)c->findings[i].hint.text);
	}
	free(c->findings);
}
