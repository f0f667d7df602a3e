/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole texts: a record in one or more parts, and what is told of a job's start. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/librecord/record_json.h"
#include "src/libutil/util.h"

#define STEPS_OPEN ",\"steps\":["
#define STEPS_CLOSE "]}"
#define STEPS_UNKNOWN ",\"steps\":null}"

static int no_memory(const char *key, struct errmsg *err)
{
	return errmsg_set(err, -ENOMEM, "record %s: out of memory", key);
}

static int key_of(const struct record *r, char *key, struct errmsg *err)
{
	int rc = record_key(r, key, RECORD_KEY_MAX);

	return rc < 0 ? errmsg_set(err, rc, "record of job %u has no key", r->job_id) : 0;
}

/* The record's text before its steps, the steps, and where each of them ends. */
struct pieces {
	const struct record *r;
	const char *key;
	struct record_out job;
	struct record_out steps;
	size_t *end;
};

static void pieces_fini(struct pieces *p)
{
	record_out_fini(&p->job);
	record_out_fini(&p->steps);
	free(p->end);
}

static int pieces_write(struct pieces *p)
{
	const struct record *r = p->r;
	size_t n = r->steps_known ? r->nsteps : 0;
	size_t i;

	p->end = malloc((n + 1) * sizeof(*p->end));
	if (!p->end)
		return -ENOMEM;
	jsonout_open(&p->job.json, '{');
	record_write_job(&p->job, r, p->key);
	p->end[0] = 0; /* so that step i is from end[i] to end[i + 1] */
	for (i = 0; i < n; i++) {
		record_write_step(&p->steps, &r->steps[i]);
		p->end[i + 1] = p->steps.json.len;
	}
	return p->job.json.failed || p->job.escaped.failed || p->steps.json.failed ||
			       p->steps.escaped.failed ?
		       -ENOMEM :
		       0;
}

/* What is before the steps in part PART of PARTS. */
static void put_head(struct jsonout *to, const struct pieces *p, uint64_t part, uint64_t parts)
{
	struct record_out o = { .json = *to };

	if (part) {
		jsonout_open(&o.json, '{');
		record_write_part(&o, p->r, p->key, part, parts);
	} else {
		jsonout_raw(&o.json, p->job.json.text, p->job.json.len);
		jsonout_name(&o.json, "parts");
		jsonout_u64(&o.json, parts);
	}
	*to = o.json;
	to->failed |= o.escaped.failed;
	jsonout_fini(&o.escaped);
}

/* How long it and what is behind the steps are. */
static int frame_len(const struct pieces *p, uint64_t part, uint64_t parts, size_t *ret)
{
	struct jsonout head = { 0 };
	bool failed;

	put_head(&head, p, part, parts);
	*ret = head.len + strlen(p->r->steps_known ? STEPS_OPEN STEPS_CLOSE : STEPS_UNKNOWN);
	failed = head.failed;
	jsonout_fini(&head);
	return failed ? -ENOMEM : 0;
}

static int compose(const struct pieces *p, uint64_t part, uint64_t parts, size_t from, size_t to,
		   struct record_part *ret)
{
	struct jsonout o = { 0 };

	put_head(&o, p, part, parts);
	if (p->r->steps_known) {
		bool has_comma = from && to > from;

		jsonout_raw(&o, STEPS_OPEN, strlen(STEPS_OPEN));
		jsonout_raw(&o, p->steps.json.text + p->end[from] + has_comma,
			    p->end[to] - p->end[from] - has_comma);
		jsonout_raw(&o, STEPS_CLOSE, strlen(STEPS_CLOSE));
	} else {
		jsonout_raw(&o, STEPS_UNKNOWN, strlen(STEPS_UNKNOWN));
	}
	if (part)
		(void)snprintf(ret->key, sizeof(ret->key), "%s#%" PRIu64, p->key, part);
	else
		(void)snprintf(ret->key, sizeof(ret->key), "%s", p->key);
	ret->json = jsonout_take(&o, &ret->len);
	return ret->json ? 0 : -ENOMEM;
}

/* How many steps from FROM on go into ROOM bytes. */
static size_t fitting(const struct pieces *p, size_t from, size_t n, size_t room)
{
	size_t to = from;

	while (to < n && p->end[to + 1] - p->end[from] <= room)
		to++;
	return to - from;
}

/* CUT[i] is the first step of part i, CUT[parts] the number of steps; there is room for all. */
static int cut_steps(const struct pieces *p, size_t max, size_t *cut, size_t *ret_parts)
{
	size_t n = p->r->steps_known ? p->r->nsteps : 0;
	size_t parts = 0;
	size_t frame;
	size_t at = 0;
	int rc = frame_len(p, 0, 1, &frame);

	/* where it is one part, to the byte; else with room for as many digits as it can take */
	if (rc == 0 && n && (frame > max || p->end[n] > max - frame))
		rc = frame_len(p, 0, n + 1, &frame);
	while (rc == 0) {
		size_t take = frame > max ? 0 : fitting(p, at, n, max - frame);

		if (frame > max || (parts && !take))
			return -EMSGSIZE;
		cut[parts++] = at;
		at += take;
		if (at == n)
			break;
		if (parts == 1)
			rc = frame_len(p, n + 1, n + 1, &frame);
	}
	cut[parts] = n;
	*ret_parts = parts;
	return rc;
}

static int make_parts(const struct pieces *p, size_t max, struct record_part **ret, size_t *ret_n)
{
	size_t n = p->r->steps_known ? p->r->nsteps : 0;
	_cleanup_free_ size_t *cut = malloc((n + 3) * sizeof(*cut));
	struct record_part *part;
	size_t parts;
	size_t i;
	int rc = cut ? cut_steps(p, max, cut, &parts) : -ENOMEM;

	if (rc < 0)
		return rc;
	part = calloc(parts, sizeof(*part));
	if (!part)
		return -ENOMEM;
	for (i = 0; rc == 0 && i < parts; i++)
		rc = compose(p, i, parts, cut[i], cut[i + 1], &part[i]);
	if (rc < 0) {
		record_parts_destroy(part, parts);
		return rc;
	}
	*ret = part;
	*ret_n = parts;
	return 0;
}

void record_parts_destroy(struct record_part *part, size_t n)
{
	size_t i;

	for (i = 0; part && i < n; i++)
		free(part[i].json);
	free(part);
}

int record_to_parts(const struct record *r, size_t max, struct record_part **ret, size_t *ret_n,
		    struct errmsg *err)
{
	char key[RECORD_KEY_MAX];
	struct pieces p = { .r = r, .key = key };
	int rc = key_of(r, key, err);

	if (rc < 0)
		return rc;
	rc = pieces_write(&p);
	if (rc == 0)
		rc = make_parts(&p, max, ret, ret_n);
	pieces_fini(&p);
	if (rc == -EMSGSIZE)
		return errmsg_set(err, rc, "record %s: it, or one of its steps, is longer than %zu bytes",
				  key, max);
	return rc < 0 ? no_memory(key, err) : 0;
}

int record_to_json(const struct record *r, char **ret, size_t *ret_len, struct errmsg *err)
{
	struct record_part *part;
	size_t n;
	int rc = record_to_parts(r, SIZE_MAX, &part, &n, err);

	if (rc < 0)
		return rc;
	*ret = TAKE_PTR(part->json);
	if (ret_len)
		*ret_len = part->len;
	record_parts_destroy(part, n);
	return 0;
}

int record_start_to_json(const struct record *r, char **ret, size_t *ret_len, struct errmsg *err)
{
	struct record_out o = { 0 };
	char key[RECORD_KEY_MAX];
	char *json;
	int rc = key_of(r, key, err);

	if (rc < 0)
		return rc;
	jsonout_open(&o.json, '{');
	record_write_start(&o, r, key);
	jsonout_close(&o.json, '}');
	o.json.failed |= o.escaped.failed;
	json = jsonout_take(&o.json, ret_len);
	record_out_fini(&o);
	if (!json)
		return no_memory(key, err);
	*ret = json;
	return 0;
}
