/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ceems_config.h" /* _GNU_SOURCE for dl_iterate_phdr() */

#include "spank/spank_remote.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "spank/spank_conf.h"
#include "spank/spank_maps.h"
#include "spank/spank_options.h"
#include "src/libcore/forbid.h"
#include "src/libledger/ledger.h"
#include "src/libmeter/activity/cputime.h"
#include "src/libstep/stepprobes.h"
#include "src/libstep/stepprofile.h"
#include "src/librecord/report.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

/* One step per process. */
static struct {
	struct settings settings;
	bool is_on;  /* the settings were read */
	pid_t owner; /* the slurmstepd */
	char node[256];
	struct perf_request request;
	uint32_t forbidden;    /* what ForbidOptions forbids, see forbid.h */
	uint32_t refused;      /* what of it the user asked for */
	char refusal[512];     /* says so; empty: nothing was refused */
	struct ledger *ledger; /* NULL: slurmd has none, it cannot be opened, or the step does not need one */
	uint64_t begun_mono_ns, begun_wall_ns;
	uint32_t tasks, exited;
	/* Used only if acct_gather_energy does not count: */
	struct stepprobes *probes;
	pid_t *pid;
	uint32_t npids;
} step;

static void spank_remote_sink(enum logger_level level, const char *line)
{
	switch (level) {
	case LOGGER_ERROR:
		slurm_error("ceems: %s", line);
		break;
	case LOGGER_INFO:
		slurm_info("ceems: %s", line);
		break;
	case LOGGER_DEBUG:
		slurm_debug("ceems: %s", line);
		break;
	}
}

/* Finds the node's name: in slurmstepd's environment (not the job's), else the short host name. */
static void find_node(char *node, size_t size)
{
	const char *name = getenv("SLURMD_NODENAME");

	if (name) {
		(void)snprintf(node, size, "%s", name);
		return;
	}
	if (gethostname(node, size) < 0)
		*node = '\0';
	node[size - 1] = '\0';
	node[strcspn(node, ".")] = '\0';
}

/*
 * Returns the slot that acct_gather_energy has claimed for this process, and its number. NULL: it has none.
 */
static struct ledger_slot *find_own_slot(unsigned int *ret)
{
	if (!step.ledger || ledger_find(step.ledger, step.owner, ret) < 0)
		return NULL;
	return ledger_slot(step.ledger, *ret);
}

static struct ledger_slot *own_slot(void)
{
	unsigned int i;

	return find_own_slot(&i);
}

/* Writes the request to the slot, before the first task is forked and acct_gather_energy begins to count. */
static void mark_slot(struct ledger_slot *slot)
{
	const struct spank_request *request = spank_options_request();

	slot->request = step.request;
	slot->trace_ns = step.forbidden & FORBID_TRACE ? 0 : request->trace_ns;
	if (!(step.forbidden & FORBID_PROFILE))
		slot->profile = request->profile;
	slot->flags |= (request->is_report ? LEDGER_FLAG_REPORT : 0) |
		       (request->is_perf ? LEDGER_FLAG_PERF : 0);
}

static void find_request(void)
{
	const struct spank_request *request = spank_options_request();

	if (request->is_perf)
		step.request = request->perf;
	else if (*step.settings.perf_default &&
		 perf_request_parse(step.settings.perf_default, &step.request, NULL) < 0)
		step.request = (struct perf_request){ 0 }; /* cannot be: spank_conf_load() has parsed it */
}

/*
 * Finds what ForbidOptions forbids to this job. Only acct_gather_energy knows the job's partition and account
 * from Slurm. The step's environment has them, too, but srun takes it from the user. So without a SLOT, each
 * rule holds.
 */
static void find_forbidden(const struct ledger_slot *slot)
{
	const struct spank_request *request = spank_options_request();
	uint32_t asked = (request->is_perf ? request->perf.groups : 0) |
			 (request->trace_ns ? FORBID_TRACE : 0) | (request->profile.hz ? FORBID_PROFILE : 0);

	if (slot)
		step.forbidden = slot->forbidden;
	else
		step.forbidden = forbid_checked(step.settings.forbid_options, NULL, NULL);
	step.refused = step.forbidden & asked;
	forbid_request(step.forbidden, &step.request);
}

/* Says why the user does not get what was refused. */
static void log_refusal(const struct ledger_slot *slot)
{
	char options[FORBID_TEXT_MAX];

	if (!step.refused)
		return;
	forbid_text(step.refused, options);
	if (slot)
		(void)snprintf(step.refusal, sizeof(step.refusal),
			       "this job's partition or account may not use %s", options);
	else
		(void)snprintf(step.refusal, sizeof(step.refusal),
			       "some partitions or accounts may not use %s; energy is not "
			       "accounted on %s, so those of this job are not known",
			       options, step.node);
	logger_info("%s (ForbidOptions)", step.refusal);
}

struct others {
	bool energy, usage;
};

static int note_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char usage[] = "jobacct_gather_";
	const char *name = strrchr(info->dlpi_name, '/');
	struct others *others = arg;

	(void)size;
	name = name ? name + 1 : info->dlpi_name;
	if (!strcmp(name, "acct_gather_energy_ceems.so"))
		others->energy = true;
	else if (!strncmp(name, usage, sizeof(usage) - 1))
		others->usage |= strcmp(name + sizeof(usage) - 1, "none.so") != 0;
	return 0;
}

/*
 * Returns true if this plugin has nothing to do: the step has none of our options, and acct_gather_energy
 * counts, called by a jobacct_gather plugin. This is so for most steps, so they are spared reading ceems.conf
 * and the ledger.
 */
static bool is_for_others(int argc)
{
	const struct spank_request *request = spank_options_request();
	struct others others = { false, false };

	if (request->is_perf || request->is_report || request->trace_ns || request->profile.hz || argc)
		return false;
	(void)dl_iterate_phdr(note_module, &others);
	return others.energy && others.usage;
}

static void log_no_files(void)
{
	if (spank_options_request()->trace_ns && !(step.refused & FORBID_TRACE))
		logger_info(
			"--ceems-trace needs acct_gather_energy/ceems on this node; this step is not traced");
	if (spank_options_request()->profile.hz && !(step.refused & FORBID_PROFILE))
		logger_info("--ceems-profile needs acct_gather_energy/ceems on this node; this step is not "
			    "profiled");
}

void spank_remote_begin(spank_t sp, int argc, char **argv)
{
	struct errmsg err = { 0 };
	struct ledger_slot *slot;

	if (is_for_others(argc))
		return;
	logger_set_sink(spank_remote_sink);
	step.owner = getpid();
	step.begun_mono_ns = clock_mono_ns();
	step.begun_wall_ns = clock_wall_ns();
	find_node(step.node, sizeof(step.node));
	if (spank_conf_load(argc, argv, &step.settings, &err) < 0 ||
	    settings_for_node(&step.settings, step.node, &err) < 0) {
		logger_error("%s; --ceems-perf, --ceems-report, --ceems-trace and --ceems-profile are off",
			     err.text);
		return;
	}
	step.is_on = true;
	find_request();
	if (ledger_open(step.settings.ledger_dir, step.node, /* writable= */ true, &step.ledger, &err) < 0)
		logger_debug("%s", err.text);
	slot = own_slot();
	find_forbidden(slot);
	log_refusal(slot);
	if (!slot) {
		log_no_files();
		return;
	}
	mark_slot(slot);
	if (slot->profile.stacks & PROFILE_REQUEST_MAPS &&
	    strcmp(step.settings.profile_dir, SETTINGS_NONE) != 0)
		spank_maps_set(sp);
}

/* --- without acct_gather_energy ------------------------------------------------------------- */

/*
 * Returns true if this is not slurmstepd itself. With contain_spank (24.05), Slurm calls us in a process that
 * shares slurmstepd's memory but not its file descriptors. An fd opened there would be another file in
 * slurmstepd.
 */
static bool is_contained(void)
{
	return step.owner != getpid();
}

/*
 * Returns true if this plugin must count: acct_gather_energy has not claimed a slot, or has not found the
 * step's cgroup, because no jobacct_gather plugin calls it.
 */
static bool is_ours(void)
{
	const struct ledger_slot *slot = own_slot();

	return !is_contained() && (!slot || !atomic_load(&slot->cgroup_known));
}

static void start_probes(void)
{
	const struct stepprobes_setup setup = { .settings = &step.settings, .request = &step.request };
	struct cgroup_paths paths;
	struct errmsg lacking = { 0 };
	uint32_t bpf_slot;

	if (cputime_find_cgroups(step.pid[0], &paths) < 0 || stepprobes_create(&setup, &step.probes) < 0)
		return;
	stepprobes_start(step.probes, step.pid, step.npids, &paths, &bpf_slot, &lacking);
	if (lacking.text[0])
		logger_log(spank_options_request()->is_perf ? LOGGER_INFO : LOGGER_DEBUG,
			   "not all of --ceems-perf is counted: %s", lacking.text);
}

static bool count_tasks(spank_t sp)
{
	if (!step.tasks &&
	    (spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &step.tasks) != ESPANK_SUCCESS || !step.tasks))
		step.tasks = 1;
	if (!step.pid)
		step.pid = calloc(step.tasks, sizeof(*step.pid));
	return step.pid != NULL;
}

/* Slurm calls this for one task after the other. All are stopped until it was called for the last. */
void spank_remote_task_forked(spank_t sp)
{
	pid_t pid;

	/* the extern step has no task */
	if (!step.is_on || spank_get_item(sp, S_TASK_PID, &pid) != ESPANK_SUCCESS || !count_tasks(sp) ||
	    step.npids == step.tasks)
		return;
	step.pid[step.npids++] = pid;
	if (step.npids == step.tasks && is_ours())
		start_probes();
}

/* --- the end ------------------------------------------------------------------------------ */

/* Fills ID as far as Slurm knows it; other members stay 0. */
static void spank_remote_identify(spank_t sp, struct ledger_identity *id)
{
	(void)spank_get_item(sp, S_JOB_ID, &id->job_id);
	(void)spank_get_item(sp, S_JOB_STEPID, &id->step_id);
	(void)spank_get_item(sp, S_JOB_NODEID, &id->node_id);
	(void)spank_get_item(sp, S_JOB_NNODES, &id->node_count);
	id->het_comp = LEDGER_HET_NONE;
	id->start_wall_ns = step.begun_wall_ns;
}

/* Prints the report of a step that acct_gather_energy does not account: its counters, and what is missing. */
static void print_report(spank_t sp, const struct values *values, const struct step_detail *detail)
{
	struct ledger_identity id = { 0 };
	struct report_input in = {
		.node = step.node,
		.id = &id,
		.values = values,
		.elapsed_ns = clock_mono_ns() - step.begun_mono_ns,
		.detail = detail,
		.request = &step.request,
	};
	char text[4096];
	char *line, *rest = text;

	spank_remote_identify(sp, &id);
	if (id.node_id != 0)
		return; /* one table per step */
	(void)report_format(&in, text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		if (*line)
			slurm_spank_log("%s", line);
}

/* Tells the user why there will be no file; users cannot read slurmd's log. */
static void tell_no_file(const struct ledger_slot *slot, const char *option, const char *done,
			 const char *files, const char *dir)
{
	if (!slot)
		slurm_spank_log("ceems: %s: this step is not %s: energy is not accounted on %s", option, done,
				step.node);
	else if (!strcmp(dir, SETTINGS_NONE))
		slurm_spank_log("ceems: %s: this step is not %s: this cluster does not allow %s", option,
				done, files);
}

static void tell_no_profile(const struct ledger_slot *slot)
{
	uint32_t flags = slot ? atomic_load(&slot->flags) : 0;

	tell_no_file(slot, "--ceems-profile", "profiled", "profiles", step.settings.profile_dir);
	if (!strcmp(step.settings.profile_dir, SETTINGS_NONE))
		return;
	if (flags & LEDGER_FLAG_CROWDED)
		slurm_spank_log(
			"ceems: --ceems-profile: this step is not profiled: %s already profiles %u other "
			"steps, or %u of yours",
			step.node, STEPPROFILE_STEPS_MAX, STEPPROFILE_USER_STEPS_MAX);
	else if (flags & LEDGER_FLAG_UNPROFILED)
		slurm_spank_log(
			"ceems: --ceems-profile: this step is not profiled: %s cannot (slurmd's log says "
			"why)",
			step.node);
}

static void tell_what_lacks(spank_t sp, const struct ledger_slot *slot)
{
	const struct spank_request *request = spank_options_request();
	uint32_t node_id = 0;

	(void)spank_get_item(sp, S_JOB_NODEID, &node_id);
	if (node_id != 0)
		return;
	if (*step.refusal)
		slurm_spank_log("ceems: %s", step.refusal);
	if (request->trace_ns && !(step.refused & FORBID_TRACE))
		tell_no_file(slot, "--ceems-trace", "traced", "traces", step.settings.trace_dir);
	if (request->profile.hz && !(step.refused & FORBID_PROFILE))
		tell_no_profile(slot);
}

void spank_remote_task_exited(spank_t sp)
{
	struct step_detail detail = { 0 };
	struct ledger_slot *slot;
	struct values values;
	unsigned int number;

	if (!step.is_on || !count_tasks(sp) || ++step.exited != step.tasks)
		return;
	slot = find_own_slot(&number);
	tell_what_lacks(sp, slot);
	values_init(&values);
	if (step.probes)
		stepprobes_read(step.probes, &values, &detail);
	if (slot) { /* acct_gather_energy prints the report; once it knows the tasks, only it publishes */
		if (step.probes && !atomic_load(&slot->cgroup_known))
			ledger_tell(step.ledger, number, &values);
		return;
	}
	if (spank_options_request()->is_report)
		print_report(sp, &values, &detail);
}

void spank_remote_end(void)
{
	stepprobes_close(step.probes, /* slurmd_lives= */ false);
	step.probes = NULL;
	free(step.pid);
	step.pid = NULL;
	ledger_close(step.ledger);
	step.ledger = NULL;
	step.is_on = false;
	logger_set_sink(NULL);
}
