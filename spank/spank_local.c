/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/spank_local.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spank/spank_options.h"
#include "src/libutil/clock.h"
#include "src/libutil/helper.h"

#define WAIT_FOR_SLURMDBD "10s"
#define DEADLINE_NS (15 * NSEC_PER_SEC)

extern char **environ;

static char steps[256]; /* steps to report, such as "12.0,13.0" */

void spank_local_step(spank_t sp)
{
	size_t used = strlen(steps);
	uint32_t job, step, nodes;
	char id[32];

	if (!spank_options_request()->is_report || spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_NNODES, &nodes) != ESPANK_SUCCESS || nodes < 2)
		return;
	(void)snprintf(id, sizeof(id), "%s%" PRIu32 ".%" PRIu32, used ? "," : "", job, step);
	if (used + strlen(id) < sizeof(steps))
		memcpy(steps + used, id, strlen(id) + 1);
}

/* Starts `ceems job` for the steps, as the user and found by the user's PATH. */
static int start_ceems(pid_t *ret_pid)
{
	char ceems[] = "ceems", job[] = "job", wait[] = "--wait", time[] = WAIT_FOR_SLURMDBD;
	char *argv[] = { ceems, job, wait, time, steps, NULL };

	return helper_spawn_by_path(argv, environ, STDIN_FILENO, STDERR_FILENO, ret_pid);
}

void spank_local_end(void)
{
	pid_t pid;

	/*
	 * if there is no command ceems here, the user already knows what to type: the node's report says it
	 */
	if (!*steps || start_ceems(&pid) < 0)
		return;
	if (helper_wait(pid, clock_mono_ns() + DEADLINE_NS, NULL) == -EAGAIN) {
		(void)kill(pid, SIGKILL);
		(void)helper_wait(pid, clock_mono_ns() + NSEC_PER_SEC, NULL);
		slurm_error("ceems: --ceems-report: slurmdbd does not answer; try later: ceems job %s",
			    steps);
	}
	*steps = '\0';
}
