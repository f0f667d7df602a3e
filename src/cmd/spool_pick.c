/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* strptime, timegm */
#include "src/cmd/spool_pick.h"

#include <string.h>
#include <time.h>

#include <jansson.h>

#include "src/cmd/cmd.h"
#include "src/librecord/record.h"
#include "src/libutil/parse.h"

bool spool_pick_set_kinds(struct spool_pick *p, const char *text)
{
	enum spool_kind kind;
	char item[16];

	if (!strcmp(text, "all")) {
		p->kinds = UINT32_MAX;
		return true;
	}
	p->kinds = 0;
	while (settings_next_item(&text, item, sizeof(item))) {
		kind = spool_kind_by_name(item);
		if (!kind) {
			(void)cmd_error("'%s' is no kind: pending, record, followup, steps, start, "
					"key or all", item);
			return false;
		}
		p->kinds |= SPOOL_MASK(kind);
	}
	return p->kinds != 0;
}

bool spool_pick_set_job(struct spool_pick *p, const char *text)
{
	if (parse_u64(text, &p->job) == 0 && p->job && p->job <= UINT32_MAX)
		return true;
	(void)cmd_error("'%s' is no job ID", text);
	return false;
}

bool spool_pick_set_from(struct spool_pick *p, const char *text)
{
	size_t len = strcspn(text, ":");

	if (text[len] && parse_u64_n(text, len, &p->from.segment) == 0 &&
	    parse_u64(text + len + 1, &p->from.offset) == 0)
		return true;
	(void)cmd_error("'%s' is not like SEGMENT:OFFSET", text);
	return false;
}

static bool parse_time(const char *text, uint64_t *ret)
{
	static const char *const form[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(form); i++) {
		struct tm tm = { 0 };
		const char *end = strptime(text, form[i], &tm);
		time_t t = end && !*end ? timegm(&tm) : -1;

		if (t > 0) {
			*ret = (uint64_t)t;
			return true;
		}
	}
	return parse_u64(text, ret) == 0;
}

bool spool_pick_set_since(struct spool_pick *p, const char *text)
{
	if (parse_time(text, &p->since))
		return true;
	(void)cmd_error("'%s' is no time: 2026-01-31, 2026-01-31T12:00:00Z or seconds since 1970",
			text);
	return false;
}

static json_t *parse(const char *json, size_t len)
{
	json_t *o = json_loadb(json, len, JSON_REJECT_DUPLICATES, NULL);

	if (o && !json_is_object(o)) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static bool takes_job(const struct spool_pick *p, const json_t *o)
{
	const json_t *id = json_object_get(o, "jobid");

	return json_is_integer(id) && (uint64_t)json_integer_value(id) == p->job;
}

static bool takes_end(const struct spool_pick *p, const json_t *o)
{
	const char *end = json_string_value(json_object_get(o, "@end"));
	uint64_t t;

	return !end || !parse_time(end, &t) || t >= p->since;
}

bool spool_pick_takes(const struct spool_pick *p, enum spool_kind kind, const char *key,
		      size_t key_len, const char *json, size_t len)
{
	json_t *o;
	bool takes;

	if ((unsigned int)kind > 31 || !(p->kinds & SPOOL_MASK(kind)))
		return false;
	if (p->key) {
		size_t n = strlen(p->key);

		/* the parts of a long record, too: KEY#1 ... */
		if (key_len < n || memcmp(key, p->key, n) || (key_len > n && key[n] != '#'))
			return false;
	}
	if (!p->job && !p->since)
		return true;
	o = parse(json, len);
	if (!o)
		return false;
	takes = (!p->job || takes_job(p, o)) && (!p->since || takes_end(p, o));
	json_decref(o);
	return takes;
}

bool spool_pick_identify(const char *json, size_t len, enum spool_kind *ret_kind, char *ret_key,
			 size_t size)
{
	static const struct {
		const char *schema;
		enum spool_kind kind;
	} known[] = {
		{ RECORD_SCHEMA, SPOOL_RECORD },
		{ RECORD_STEPS_SCHEMA, SPOOL_STEPS },
		{ RECORD_START_SCHEMA, SPOOL_START },
	};
	json_t *o = parse(json, len);
	const char *schema = json_string_value(json_object_get(o, "schema"));
	const char *key = json_string_value(json_object_get(o, "key"));
	bool found = false;
	size_t i;

	for (i = 0; schema && key && i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].schema, schema) || strlen(key) >= size)
			continue;
		*ret_kind = known[i].kind;
		memcpy(ret_key, key, strlen(key) + 1);
		found = true;
	}
	json_decref(o);
	return found;
}
