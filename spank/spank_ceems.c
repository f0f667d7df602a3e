/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_ceems.c - the functions that Slurm calls. In srun, sbatch and salloc they register and check the
 * options. In srun they also print the report of steps on several nodes (spank_local.c). In slurmstepd they
 * count (spank_remote.c). In other programs they do nothing.
 */
#include <stddef.h>
#include <stdint.h>

#include <slurm/slurm.h>

#pragma GCC visibility push(default)
#include <slurm/spank.h>

const char plugin_name[] = "ceems";
const char plugin_type[] = "spank";
/*
 * Slurm loads a SPANK plugin only if this is Slurm's own major.minor version, although the interface of SPANK
 * has not changed from 22.05 to 26.05. It is not const, because adopt_version() sets it to the version of the
 * host program.
 */
unsigned int plugin_version = SLURM_VERSION_NUMBER;
#pragma GCC visibility pop

#include "spank/spank_local.h"
#include "spank/spank_options.h"
#include "spank/spank_remote.h"
#include "spank/spank_trace.h"
#include "src/libutil/slurm_releases.h"
#include "src/libutil/util.h"

/* --- the host's version ------------------------------------------------------------------- */

extern long slurm_api_version(void) __attribute__((weak));

/*
 * Sets plugin_version to the version of the host program. dlopen() runs this before Slurm reads
 * plugin_version. If the table does not have the host's release, the version of the build stays, and Slurm
 * refuses the plugin.
 */
static void __attribute__((constructor)) adopt_version(void)
{
	uint32_t host;

	if (!slurm_api_version)
		return;
	host = slurm_release_of_api((unsigned int)(slurm_api_version() >> 16));
	if (host && host >> 8 != plugin_version >> 8)
		plugin_version = host;
}

/* --- hooks -------------------------------------------------------------------------------- */

static bool is_remote(void)
{
	return spank_context() == S_CTX_REMOTE;
}

int slurm_spank_init(spank_t sp, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	switch (spank_context()) {
	case S_CTX_LOCAL:
	case S_CTX_ALLOCATOR:
	case S_CTX_REMOTE:
		(void)spank_options_register(sp); /* it has logged its error */
		break;
	default:
		break;
	}
	return ESPANK_SUCCESS;
}

int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv)
{
	if (is_remote()) {
		spank_trace_step(sp);
		spank_remote_begin(sp, argc, argv);
	} else if (spank_context() == S_CTX_LOCAL || spank_context() == S_CTX_ALLOCATOR) {
		spank_trace_submit(sp);
	}
	return ESPANK_SUCCESS;
}

int slurm_spank_local_user_init(spank_t sp, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	spank_local_step(sp);
	return ESPANK_SUCCESS;
}

int slurm_spank_task_post_fork(spank_t sp, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (is_remote())
		spank_remote_task_forked(sp);
	return ESPANK_SUCCESS;
}

int slurm_spank_task_exit(spank_t sp, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (is_remote())
		spank_remote_task_exited(sp);
	return ESPANK_SUCCESS;
}

int slurm_spank_exit(spank_t sp, int argc, char **argv)
{
	(void)sp;
	(void)argc;
	(void)argv;
	if (is_remote())
		spank_remote_end();
	else
		spank_local_end();
	return ESPANK_SUCCESS;
}
