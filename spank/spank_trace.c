/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/spank_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "spank/spank_options.h"
#include "src/libcore/trace_context.h"
#include "src/libutil/parse.h"

#define JOB_VARIABLE "CEEMS_TRACEPARENT"
#define TASK_VARIABLE "SLURM_SPANK_" JOB_VARIABLE /* its name in the job */

/* --- submission ---------------------------------------------------------------------------- */

/*
 * Gives the job the TRACEPARENT in TEXT; empty: none. setenv() is safe, as Slurm's commands have no
 * other thread yet.
 */
static void carry(spank_t sp, const char *text)
{
	if (*text) {
		(void)spank_job_control_setenv(sp, JOB_VARIABLE, text, /* overwrite= */ 1);
		(void)setenv(TASK_VARIABLE, text, /* overwrite= */ 1); /* srun does not set it */
	} else {
		/* a job submitted from within a job must not inherit that job's trace */
		(void)spank_job_control_unsetenv(sp, JOB_VARIABLE);
		(void)unsetenv(TASK_VARIABLE);
	}
}

/*
 * Makes a random trace id for a trace that begins with the job, so it has no parent span. False: an
 * error, printed.
 */
static bool begin_trace(struct trace_context *ret)
{
	*ret = (struct trace_context){ .flags = TRACE_SAMPLED };
	if (getrandom(ret->trace, sizeof(ret->trace), GRND_NONBLOCK) == (ssize_t)sizeof(ret->trace))
		return true;
	slurm_error(
		"ceems: --ceems-trace-context: the kernel has no random number yet; the job has no trace");
	return false;
}

void spank_trace_submit(spank_t sp)
{
	static char text[TRACE_PARENT_LEN + 1]; /* kept, so that all components of a het job get one trace */
	bool is_asked = spank_options_request()->is_trace_context;
	const char *parent = getenv("TRACEPARENT");
	struct trace_context c;
	bool is_known;

	if (spank_context() == S_CTX_LOCAL && getenv("SLURM_JOB_ID")) { /* srun in a job */
		if (is_asked && !getenv(TASK_VARIABLE))
			slurm_error("ceems: --ceems-trace-context: this job has no trace; give the option to "
				    "sbatch or salloc");
		return;
	}
	if (!*text) {
		is_known = trace_context_parse(parent, /* may_begin= */ false, &c);
		if (!is_known && parent)
			slurm_error("ceems: TRACEPARENT is not valid and is ignored");
		if (is_known || (is_asked && begin_trace(&c)))
			trace_context_format(&c, text);
	}
	carry(sp, text);
}

/* --- a step ----------------------------------------------------------------------------------- */

static bool read_variable(spank_t sp, const char *name, bool may_begin, struct trace_context *ret)
{
	char text[256];

	return spank_getenv(sp, name, text, (int)sizeof(text)) == ESPANK_SUCCESS &&
	       trace_context_parse(text, may_begin, ret);
}

/* Returns how often the job was requeued. Slurm sets SLURM_RESTART_COUNT only after a requeue. */
static uint32_t restarts(spank_t sp)
{
	char text[16];
	uint64_t n;

	return spank_getenv(sp, "SLURM_RESTART_COUNT", text, (int)sizeof(text)) == ESPANK_SUCCESS &&
			       parse_u64(text, &n) == 0 && n <= UINT32_MAX ?
		       (uint32_t)n :
		       0;
}

void spank_trace_step(spank_t sp)
{
	char cluster[256], text[TRACE_PARENT_LEN + 1];
	struct trace_context job, now;
	uint32_t job_id, step_id;

	if (!read_variable(sp, TASK_VARIABLE, /* may_begin= */ true, &job) ||
	    spank_getenv(sp, "SLURM_CLUSTER_NAME", cluster, (int)sizeof(cluster)) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS)
		return;
	/* the job's script began a trace of its own and called srun: keep that trace */
	if (read_variable(sp, "TRACEPARENT", /* may_begin= */ false, &now) &&
	    memcmp(now.trace, job.trace, sizeof(job.trace)) != 0)
		return;
	trace_span_of_step(cluster, job_id, restarts(sp), step_id, /* component= */ 0, job.span);
	trace_context_format(&job, text);
	(void)spank_setenv(sp, "TRACEPARENT", text, /* overwrite= */ 1);
}
