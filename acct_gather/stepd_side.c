/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/stepd_side.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "acct_gather/gres.h"
#include "acct_gather/abi.h"
#include "acct_gather/plugin_conf.h"
#include "acct_gather/profile.h"
#include "acct_gather/usage.h"
#include "src/libstep/stepside.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

_Static_assert(LEDGER_STEP_EXTERN == SLURM_EXTERN_CONT, "slurm.h");
_Static_assert(LEDGER_STEP_BATCH == SLURM_BATCH_SCRIPT, "slurm.h");
_Static_assert(LEDGER_STEP_INTERACTIVE == SLURM_INTERACTIVE_STEP, "slurm.h");
_Static_assert(LEDGER_HET_NONE == NO_VAL, "slurm.h");

static struct {
	stepd_step_rec_t *step;
	struct ledger_identity id;
	struct settings settings;
	struct stepside *stepside; /* NULL: the step is not accounted */
	struct stepfile_owner owner;
	char job[STEPFILE_JOB_MAX]; /* memory of owner.job */
	uint32_t *rank;		    /* memory of owner.rank */
	bool is_attached;	    /* the tasks are known to stepside */
	uint64_t start_ns;
	bool has_left;	  /* our programs are not in the step's cgroups any more */
	bool is_finished; /* the next two have their final values */
	struct values values;
	uint64_t elapsed_ns;
} side;

/*
 * Returns the cores of the job and the step. Slurm lists cores, but jobs are allocated CPUs (CPUs= of
 * NodeName), of which a core may have several; so the number of CPUs per core is added.
 */
static struct stepside_cores cores_of(const stepd_step_rec_t *step)
{
	struct stepside_cores c = {
		.job = step->job_alloc_cores,
		.step = step->step_alloc_cores,
		.node_cores = (uint32_t)conf->sockets * conf->cores,
		.cpus_per_core = 1,
	};

	if (c.node_cores && conf->cpus > c.node_cores)
		c.cpus_per_core = conf->cpus / c.node_cores;
	return c;
}

/*
 * Returns the memory by which the idle energy of memory is split: MB, or if Slurm does not allocate memory
 * (MB is 0), a part of the node's memory in proportion to CPUS.
 */
static uint64_t memory_or_share(uint64_t mb, uint32_t cpus)
{
	return mb || !conf->cpus ? mb : conf->CEEMS_REAL_MEMORY * cpus / conf->cpus;
}

static void identify_memory(const stepd_step_rec_t *step, struct ledger_identity *id)
{
	id->job_mem_mb = memory_or_share(step->job_mem, id->job_cpus);
	id->step_mem_mb = memory_or_share(step->step_mem, id->step_cpus);
	/* a step without a memory limit has the job's */
	id->limit_mem_mb = step->step_mem ? step->step_mem : step->job_mem;
}

static void stepd_side_identify(const stepd_step_rec_t *step, const struct stepside_cores *cores,
				struct ledger_identity *id)
{
	*id = (struct ledger_identity){
		.job_id = step->step_id.job_id,
		.step_id = step->step_id.step_id,
		.het_comp = step->step_id.step_het_comp,
		.uid = step->uid,
		.node_id = step->nodeid,
		.node_count = step->nnodes,
		.job_cpus = stepside_count_cores(cores->job) * cores->cpus_per_core,
		.step_cpus = stepside_count_cores(cores->step) * cores->cpus_per_core,
		.start_wall_ns = clock_wall_ns(),
	};
	identify_memory(step, id);
	gres_identify(step, &side.settings, conf->node_name, id);
}

static const char *or_none(const char *name)
{
	return name ? name : "";
}

/*
 * Tells stepside the job's partition and account. For a step of srun they are in its credential, which
 * slurmctld (or a stepmgr) has signed and slurmd has verified. The batch step has none here, but Slurm has
 * overwritten the first variables of these names with what slurmctld sent. In the environment of other steps,
 * both are what the user likes.
 */
static void stepd_side_forbid(struct stepside *stepside, const stepd_step_rec_t *step)
{
	slurm_cred_arg_t *job;

	if (step->batch) {
		stepside_forbid(stepside, getenvp(step->env, "SLURM_JOB_PARTITION"),
				or_none(getenvp(step->env, "SLURM_JOB_ACCOUNT")));
		return;
	}
	if (!step->msg || !ABI_IS_AS_BUILT(step->msg) || !step->msg->cred) {
		stepside_forbid(stepside, NULL, NULL);
		return;
	}
	job = slurm_cred_get_args(step->msg->cred); /* locks it */
	if (job && ABI_IS_AS_BUILT(job))
		stepside_forbid(stepside, job->job_partition, or_none(job->job_account));
	else
		stepside_forbid(stepside, NULL, NULL);
	slurm_cred_unlock_args(step->msg->cred);
}

void stepd_side_begin(stepd_step_rec_t *step)
{
	struct stepside_cores cores;
	struct errmsg err = { 0 };
	int rc;

	/* if abi_is_right() is false, slurmd has logged it */
	if (side.step || !step || !&conf || !conf || !abi_is_right() || !conf->node_name)
		return;
	if (!abi_step_is_right(step)) {
		logger_info("slurmstepd differs from the Slurm headers that this plugin was built with, "
			    "though both have version " SLURM_VERSION_STRING "; this step is not accounted");
		return;
	}
	side.step = step;
	side.start_ns = clock_mono_ns();
	rc = plugin_conf_load(conf->node_name, &side.settings, &err);
	if (rc < 0) {
		logger_debug("%s", err.text); /* slurmd has logged the same as an error */
		return;
	}
	cores = cores_of(step);
	stepd_side_identify(step, &cores, &side.id);
	rc = stepside_open(&side.settings, conf->node_name, &side.id, &cores, &side.stepside, &err);
	if (rc < 0)
		logger_log(rc == -ENOENT ? LOGGER_DEBUG : LOGGER_INFO, "%s; this step is not accounted",
			   err.text);
	if (rc < 0)
		return;
	if (*side.settings.forbid_options)
		stepd_side_forbid(side.stepside, step);
	stepfile_job_name(side.id.job_id, step->array_task_id == NO_VAL ? 0 : step->array_job_id,
			  step->array_task_id, step->env, side.job);
	side.owner = (struct stepfile_owner){
		.uid = step->uid,
		.gid = step->gid,
		.gids = step->gids,
		.ngids = step->gids && step->ngids > 0 ? (size_t)step->ngids : 0,
		.dir = step->cwd,
		.job = side.job,
		.cluster = slurm_conf.cluster_name,
	};
	if (step->cwd)
		stepside_set_owner(side.stepside, &side.owner);
}

/*
 * Gives pid and rank of all N tasks. False: not all are forked yet. Slurm asks for energy after it has forked
 * the last task, and before it lets the tasks run; so then all of them are still stopped.
 */
static bool are_forked(const stepd_step_rec_t *step, pid_t *pid, uint32_t *rank, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!step->task[i] || !ABI_IS_AS_BUILT(step->task[i]) || step->task[i]->pid <= 0)
			return false;
		pid[i] = step->task[i]->pid;
		rank[i] = step->task[i]->gtid;
	}
	return n > 0;
}

static bool stepd_side_attach(struct stepside *stepside, const stepd_step_rec_t *step)
{
	pid_t *pid;
	bool done;

	/* the extern step has no task, only a process that sleeps */
	if (step->step_id.step_id == SLURM_EXTERN_CONT)
		return step->pgid > 0 && stepside_attach(stepside, &step->pgid, 1);
	if (!step->task)
		return false;
	pid = calloc(step->node_tasks, sizeof(*pid));
	if (!side.rank)
		side.owner.rank = side.rank = calloc(step->node_tasks, sizeof(*side.rank));
	done = pid && side.rank && are_forked(step, pid, side.rank, step->node_tasks) &&
	       stepside_attach(stepside, pid, step->node_tasks);
	free(pid);
	return done;
}

/*
 * Returns true if AcctGatherEnergyType names this plugin alone, with or without prefix. With several energy
 * plugins, Slurm passes to each an element of an array, which is not part of a task's record.
 */
static bool is_only_plugin(void)
{
	const char *type = slurm_conf.acct_gather_energy_type;

	return type && (!strcmp(type, "acct_gather_energy/ceems") || !strcmp(type, "ceems"));
}

static void fill_energy(struct stepside *stepside, acct_gather_energy_t *energy)
{
	uint64_t uj;
	uint64_t mw;
	uint64_t ms;

	if (stepside_energy(stepside, &uj, &mw) < 0)
		return;
	ms = (clock_mono_ns() - side.start_ns) / NSEC_PER_MSEC;
	energy->previous_consumed_energy = energy->consumed_energy;
	energy->consumed_energy = metric_to_tres(METRIC_ENERGY, uj);
	if (!energy->consumed_energy)
		energy->consumed_energy = 1; /* with 0, Slurm would keep the value of an earlier task */
	energy->current_watts = (uint32_t)((mw + 500) / 1000);
	energy->ave_watts = ms ? (uint32_t)(uj / ms / 1000) : 0;
	energy->poll_time = time(NULL);
}

static void fill_task(struct stepside *stepside, acct_gather_energy_t *energy)
{
	struct jobacctinfo *task = is_only_plugin() ? abi_task_of(energy) : NULL;
	const struct values *values;

	if (task && stepside_live(stepside, &values) == 0)
		usage_write_live(task, values, side.step->nodeid);
}

/* From 26.05 on, Slurm can reduce the memory of a running job. slurmstepd then writes it into STEP. */
static void follow_memory(const stepd_step_rec_t *step)
{
	struct ledger_identity now = side.id;

	identify_memory(step, &now);
	if (now.job_mem_mb == side.id.job_mem_mb && now.step_mem_mb == side.id.step_mem_mb &&
	    now.limit_mem_mb == side.id.limit_mem_mb)
		return;
	side.id = now;
	stepside_set_memory(side.stepside, now.job_mem_mb, now.step_mem_mb, now.limit_mem_mb);
}

static void stepd_side_finish(uint64_t waited_ns)
{
	if (side.is_finished)
		return;
	follow_memory(side.step);
	stepside_finish(side.stepside, waited_ns, &side.values, &side.elapsed_ns);
	side.is_finished = true;
}

/* --- the series of --profile=energy ------------------------------------------------------ */

/* Not the extern step: it has the values of the whole job, and would count the other steps a second time. */
static bool is_profiled(void)
{
	return side.stepside && !side.is_finished && side.step->step_id.step_id != SLURM_EXTERN_CONT &&
	       profile_is_wanted();
}

void stepd_side_profile(void)
{
	struct values f;
	bool has_all;

	if (is_profiled() && stepside_sample(side.stepside, &f, &has_all) == 0)
		profile_add(&f, clock_mono_ns() - side.start_ns, has_all);
}

/* Returns true if all tasks were started and slurmstepd has waited for each. */
static bool have_tasks_ended(const stepd_step_rec_t *step)
{
	uint32_t i;

	for (i = 0; step->task && i < step->node_tasks; i++) {
		siginfo_t info;

		if (!step->task[i] || !ABI_IS_AS_BUILT(step->task[i]) || step->task[i]->pid <= 0 ||
		    waitid(P_PID, (id_t)step->task[i]->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ||
		    errno != ECHILD)
			return false;
	}
	return i > 0;
}

/* The last call of the plugin before Slurm kills what is left in the step's cgroups. */
static void leave_cgroups(void)
{
	if (side.has_left)
		return;
	stepside_leave(side.stepside);
	side.has_left = true;
}

/* Weak, because slurmctld also loads this plugin and has no such function: it would not start. */
#pragma weak proctrack_g_get_pids

/*
 * Returns true if processes have outlived their task. With cgroup v2, slurmstepd itself is in Slurm's list.
 */
static bool has_processes(const stepd_step_rec_t *step)
{
	pid_t *pid = NULL;
	int n = 0;
	bool has = false;
	int i;

	if (!proctrack_g_get_pids)
		return true;
	(void)proctrack_g_get_pids(step->cont_id, &pid, &n);
	for (i = 0; i < n; i++)
		has |= pid[i] != getpid();
	xfree(pid);
	return has;
}

/*
 * Returns the CPU time of all tasks that slurmstepd has waited for. When Slurm asks for the energy after the
 * last task, its own sum does not have that task yet.
 */
static uint64_t children_ns(void)
{
	struct rusage r;

	if (getrusage(RUSAGE_CHILDREN, &r) < 0)
		return 0;
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * NSEC_PER_SEC +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000;
}

/*
 * Adds the last row of the profile when Slurm asks for energy after the last task. This must be done here,
 * because Slurm closes the profile before it calls fini(). So the step is finished here, and the row
 * completes the values that sacct will show. If processes have outlived their task, what they still use is in
 * sacct but not in the profile.
 */
static void end_profile(void)
{
	if (!is_profiled())
		return;
	if (has_processes(side.step)) {
		stepd_side_profile();
		return;
	}
	stepd_side_finish(children_ns());
	profile_add(&side.values, clock_mono_ns() - side.start_ns, /* has_all= */ true);
}

/* ------------------------------------------------------------------------------------------ */

void stepd_side_energy(acct_gather_energy_t *energy, bool is_tasks)
{
	if (!side.stepside)
		return;
	follow_memory(side.step);
	if (is_tasks && have_tasks_ended(side.step)) {
		leave_cgroups();
		end_profile();
	}
	if (!side.is_attached)
		side.is_attached = stepd_side_attach(side.stepside, side.step);
	else
		stepside_poll(side.stepside);
	fill_energy(side.stepside, energy);
	if (is_tasks)
		fill_task(side.stepside, energy);
}

static uint64_t waited_ns(const stepd_step_rec_t *step)
{
	const struct jobacctinfo *j = step->jobacct;

	return !j ? 0 :
		    (j->user_cpu_sec + j->sys_cpu_sec) * NSEC_PER_SEC +
			       ((uint64_t)j->user_cpu_usec + j->sys_cpu_usec) * 1000;
}

/* Returns the mean power of the step, in W, from its energy before that is rounded. */
static uint64_t mean_w(void)
{
	uint64_t ms = side.elapsed_ns / NSEC_PER_MSEC;

	return ms ? side.values.value[METRIC_ENERGY] / ms / 1000 : 0;
}

void stepd_side_end(void)
{
	struct values whole;

	if (!side.stepside)
		return;
	stepd_side_finish(waited_ns(side.step));
	whole = side.values;
	stepside_round(side.stepside, &whole);
	/* jobacct is NULL with jobacct_gather/none; it was not there to be checked in stepd_side_begin() */
	if (side.step->jobacct && abi_step_is_right(side.step))
		usage_write(side.step->jobacct, &whole, side.step->nodeid, side.step->nnodes, mean_w());
	stepside_report(side.stepside, &side.values, STDERR_FILENO);
	stepside_close(side.stepside);
	free(side.rank);
	side.rank = NULL;
	side.stepside = NULL;
	side.step = NULL;
}
