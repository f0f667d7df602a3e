/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/spank_remote.h"

#include <errno.h>
#include <string.h>

#include "spank/spank_conf.h"
#include "spank/spank_options.h"
#include "src/libjob/ledger.h"
#include "src/libjob/report.h"
#include "src/libmeter/perf.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

/* One step per process. */
static struct {
	struct settings settings;
	bool is_on; /* the settings are usable */
	char node[256];
	struct ledger *ledger; /* NULL: slurmd has none, or it cannot be opened */
	struct perf *perf;     /* NULL: not asked for */
	uint64_t begun_mono_ns, begun_wall_ns;
	uint32_t tasks, exited;
} step;

static void sink(enum logger_level level, const char *line)
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

/* slurmstepd has its node's name in its own environment, not the job's. */
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

static void create_perf(void)
{
	const struct spank_wish *wish = spank_options_wish();
	const char *by_default = step.settings.perf_default;
	struct errmsg err = { 0 };

	if (!wish->perf && !*by_default)
		return;
	if (perf_create(wish->perf ? wish->groups : by_default, &step.perf, &err) < 0)
		logger_error("%s%s; no events are counted", wish->perf ? "" : "PerfDefault: ",
			     err.text);
}

void spank_remote_begin(spank_t sp, int argc, char **argv)
{
	struct errmsg err = { 0 };

	(void)sp;
	logger_set_sink(sink);
	step.begun_mono_ns = clock_mono_ns();
	step.begun_wall_ns = clock_wall_ns();
	find_node(step.node, sizeof(step.node));
	if (spank_conf_load(argc, argv, &step.settings, &err) < 0 ||
	    settings_for_node(&step.settings, step.node, &err) < 0) {
		logger_error("%s; --ceems-perf and --ceems-report are off", err.text);
		return;
	}
	step.is_on = true;
	if (ledger_open(step.settings.ledger_dir, step.node, /* writable= */ true, &step.ledger,
			&err) < 0)
		logger_debug("%s", err.text);
	create_perf();
}

/* The slot that acct_gather_energy claimed for this process; NULL: it did not (yet). */
static struct ledger_slot *own_slot(void)
{
	unsigned int i;

	if (!step.ledger || ledger_find(step.ledger, getpid(), &i) < 0)
		return NULL;
	return ledger_slot(step.ledger, i);
}

static void mark_slot(struct ledger_slot *slot)
{
	const struct spank_wish *wish = spank_options_wish();

	if (wish->report)
		slot->flags |= LEDGER_FLAG_REPORT;
	if (wish->perf)
		slot->flags |= LEDGER_FLAG_PERF;
}

void spank_remote_task_forked(spank_t sp)
{
	struct ledger_slot *slot;
	pid_t pid;

	/* the extern step has no task */
	if (!step.is_on || spank_get_item(sp, S_TASK_PID, &pid) != ESPANK_SUCCESS)
		return;
	slot = own_slot();
	if (slot)
		mark_slot(slot);
	if (step.perf && perf_attach(step.perf, pid) < 0)
		logger_error("perf: out of memory; not all tasks are counted");
}

/* --- the end ------------------------------------------------------------------------------ */

static void fill_in(struct figures *figures)
{
	if (step.perf)
		perf_read(step.perf, figures, NULL);
	else
		perf_not_asked(figures);
}

/* What Slurm does not know stays 0, as in the ledger. */
static void identify(spank_t sp, struct ledger_identity *id)
{
	(void)spank_get_item(sp, S_JOB_ID, &id->job_id);
	(void)spank_get_item(sp, S_JOB_STEPID, &id->step_id);
	(void)spank_get_item(sp, S_JOB_NODEID, &id->node_id);
	(void)spank_get_item(sp, S_JOB_NNODES, &id->node_count);
	id->het_comp = LEDGER_HET_NONE;
	id->start_wall_ns = step.begun_wall_ns;
}

/* Without the ledger nobody else prints a table: ours has the counters and says what is missing. */
static void print_report(spank_t sp, const struct figures *figures)
{
	struct ledger_identity id = { 0 };
	struct report_input in = {
		.node = step.node,
		.id = &id,
		.figures = figures,
		.elapsed_ns = clock_mono_ns() - step.begun_mono_ns,
	};
	char text[4096];
	char *line, *rest = text;

	identify(sp, &id);
	if (id.node_id != 0)
		return; /* one table per step */
	(void)report_format(&in, text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		if (*line)
			slurm_spank_log("%s", line);
}

void spank_remote_task_exited(spank_t sp)
{
	struct ledger_slot *slot;
	struct figures figures;

	if (!step.is_on)
		return;
	if (!step.tasks && spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &step.tasks) != ESPANK_SUCCESS)
		step.tasks = 1;
	if (++step.exited != step.tasks)
		return;
	slot = own_slot();
	if (slot) {
		mark_slot(slot);
		fill_in(&slot->figures);
		return;
	}
	figures_init(&figures);
	fill_in(&figures);
	if (spank_options_wish()->report)
		print_report(sp, &figures);
}

void spank_remote_end(void)
{
	perf_destroy(step.perf);
	step.perf = NULL;
	ledger_close(step.ledger);
	step.ledger = NULL;
	step.is_on = false;
	logger_set_sink(NULL);
}
