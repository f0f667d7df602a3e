/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/job/job_ids.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/libutil/parse.h"

#define DIGITS "0123456789"
#define NO_VAL UINT32_C(0xfffffffe) /* as in slurm.h */

void job_ids_fini(struct job_ids *ids)
{
	free(ids->id);
	*ids = (struct job_ids){ 0 };
}

static int job_ids_append(struct job_ids *ids, const struct job_id *id)
{
	struct job_id *more;

	if (ids->n >= JOB_IDS_MAX)
		return -ERANGE;
	/* the array is full whenever n is 0 or a power of two */
	if (!(ids->n & (ids->n - 1))) {
		more = realloc(ids->id, (ids->n ? 2 * ids->n : 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		ids->id = more;
	}
	ids->id[ids->n++] = *id;
	return 0;
}

/* Parses a number at *P, at least MIN, and moves *P behind it. */
static bool take_number(const char **p, uint32_t min, uint32_t *ret)
{
	size_t len = strspn(*p, DIGITS);
	uint64_t n;

	if (parse_u64_n(*p, len, &n) < 0 || n < min || n >= NO_VAL)
		return false;
	*ret = (uint32_t)n;
	*p += len;
	return true;
}

/* "3", "1-4" or "0-12:4" at *P. */
static bool take_range(const char **p, uint32_t *first, uint32_t *last, uint32_t *by)
{
	*by = 1;
	if (!take_number(p, 0, first))
		return false;
	*last = *first;
	if (**p != '-')
		return true;
	(*p)++;
	if (!take_number(p, *first, last))
		return false;
	if (**p != ':')
		return true;
	(*p)++;
	return take_number(p, 1, by);
}

/* Adds ID once per task of LIST, such as "1-4,7%2]", whose form was checked before. */
static int add_tasks(struct job_ids *ids, struct job_id id, const char *list)
{
	uint32_t first, last, by;
	uint64_t task;
	int rc = 0;

	while (rc == 0 && take_range(&list, &first, &last, &by)) {
		for (task = first; rc == 0 && task <= last; task += by) {
			id.part = (uint32_t)task;
			rc = job_ids_append(ids, &id);
		}
		list += *list == ',';
	}
	return rc;
}

/*
 * Returns the end of "[1-4,7%2]" at P, or NULL if it is malformed. The "%2" of squeue is the number
 * of tasks that may run at once, and is ignored.
 */
static const char *skip_tasks(const char *p)
{
	uint32_t first, last, by;

	do {
		p++;
		if (!take_range(&p, &first, &last, &by))
			return NULL;
	} while (*p == ',');
	if (*p == '%') {
		p++;
		if (!take_number(&p, 1, &by))
			return NULL;
	}
	return *p == ']' ? p + 1 : NULL;
}

/* Parses one id. *RET_TASKS is its list of tasks, or NULL. */
static bool parse_id(const char *p, struct job_id *ret, const char **ret_tasks)
{
	*ret = (struct job_id){ 0 };
	*ret_tasks = NULL;
	if (!take_number(&p, 1, &ret->job_id))
		return false;
	if (p[0] == '_' && p[1] == '[') {
		ret->kind = JOB_ID_TASK;
		*ret_tasks = p + 2;
		p = skip_tasks(p + 1);
		if (!p)
			return false;
	} else if (*p == '_' || *p == '+') {
		ret->kind = *p == '_' ? JOB_ID_TASK : JOB_ID_COMPONENT;
		p++;
		if (!take_number(&p, 0, &ret->part))
			return false;
	}
	ret->has_step = *p == '.';
	return ret->has_step ? cmd_step_number(p + 1, &ret->step_id) : !*p;
}

static int add_id(struct job_ids *ids, const char *text, struct errmsg *err)
{
	const char *tasks;
	struct job_id id;
	int rc;

	if (!*text)
		return errmsg_set(err, -EINVAL, "an empty job id");
	if (!parse_id(text, &id, &tasks))
		return errmsg_set(err, -EINVAL,
				  "'%s' is not a job id: write 12, 12_3, 12_[1-4] or 12+1, with .0, "
				  ".batch or .extern for a step",
				  text);
	rc = tasks ? add_tasks(ids, id, tasks) : job_ids_append(ids, &id);
	if (rc == -ERANGE)
		return errmsg_set(err, rc, "'%s': more than %d jobs at once", text, JOB_IDS_MAX);
	return rc < 0 ? errmsg_set(err, rc, "out of memory") : 0;
}

/* To the next comma that is not between brackets, or to the end. */
static size_t id_length(const char *list)
{
	size_t len = strcspn(list, ",[");

	if (list[len] == '[') {
		len += strcspn(list + len, "]");
		len += strcspn(list + len, ",");
	}
	return len;
}

int job_ids_add(struct job_ids *ids, const char *list, struct errmsg *err)
{
	int rc;

	for (;;) {
		size_t len = id_length(list);
		_cleanup_free_ char *text = strndup(list, len);

		rc = text ? add_id(ids, text, err) : errmsg_set(err, -ENOMEM, "out of memory");
		if (rc < 0 || !list[len])
			return rc;
		list += len + 1;
	}
}

static bool is_number(struct maybe_u64 have, uint32_t want)
{
	return have.known && have.value == want;
}

bool job_id_is_of(const struct job_id *id, const struct record *r)
{
	switch (id->kind) {
	case JOB_ID_TASK:
		/* tasks that never ran share one row, which has no task number */
		return is_number(r->array_job_id, id->job_id) &&
		       (!r->array_task_id.known || r->array_task_id.value == id->part);
	case JOB_ID_COMPONENT:
		return is_number(r->het_job_id, id->job_id) && is_number(r->het_job_offset, id->part);
	case JOB_ID_WHOLE:
		break;
	}
	return r->job_id == id->job_id || is_number(r->array_job_id, id->job_id) ||
	       is_number(r->het_job_id, id->job_id);
}
