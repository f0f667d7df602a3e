/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "src/libutil/util.h"

struct record *record_create(void)
{
	struct record *r = calloc(1, sizeof(*r));

	if (r)
		figures_init(&r->figures);
	return r;
}

void record_steps_destroy(struct record_step *s, size_t n)
{
	size_t i;

	for (i = 0; s && i < n; i++) {
		free(s[i].name);
		free(s[i].nodes);
	}
	free(s);
}

void record_destroy(struct record *r)
{
	if (!r)
		return;
	free(r->cluster);
	free(r->sluid);
	free(r->job_name);
	free(r->user_name);
	free(r->group_name);
	free(r->account);
	free(r->partition);
	free(r->qos);
	free(r->wckey);
	free(r->state);
	free(r->nodes);
	free(r->work_dir);
	free(r->reservation);
	free(r->submit_host);
	free(r->comment);
	free(r->tres_req);
	free(r->tres_alloc);
	free(r->array_tasks);
	free(r->script);
	record_steps_destroy(r->steps, r->nsteps);
	free(r);
}

int record_key(const struct record *r, char *buf, size_t size)
{
	uint64_t offset = r->het_job_offset.known ? r->het_job_offset.value : 0;
	char *p;
	int n;

	if (!r->cluster || !*r->cluster || !r->job_id)
		return -EINVAL;
	n = snprintf(buf, size, "%s/%" PRIu32 ",%" PRIu64 ",%" PRIu32 "/%" PRIu64, r->cluster,
		     r->job_id, r->submit, r->restart_count, offset);
	if (n < 0 || (size_t)n >= size)
		return -ENOSPC;
	for (p = buf; *p; p++)
		if (*p <= ' ' || *p > '~')
			*p = '?';
	return 0;
}

void record_exit_status(uint32_t status, int32_t *ret_code, int32_t *ret_signal)
{
	*ret_code = 0;
	*ret_signal = 0;
	if (status == RECORD_STATUS_UNKNOWN)
		return;
	if (status == 1)
		*ret_code = 1;
	else if (WIFSIGNALED((int)status))
		*ret_signal = WTERMSIG((int)status);
	else if (WIFEXITED((int)status))
		*ret_code = WEXITSTATUS((int)status);
}
