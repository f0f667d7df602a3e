/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/slurmd_side.h"

#include <errno.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "acct_gather/abi.h"
#include "acct_gather/plugin_conf.h"
#include "src/libnode/node_module.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/module.h"

/*
 * A slurmd that reconfigures itself (23.11 and later) starts its successor before it ends, and holds the
 * ledger a moment longer. The successor tries BUSY_TRIES times, and again after BUSY_AGAIN_NS when Slurm asks
 * for energy.
 */
#define BUSY_TRIES 10
#define BUSY_PAUSE_NS (100 * NSEC_PER_MSEC)
#define BUSY_AGAIN_NS (10 * NSEC_PER_SEC)

static struct {
	void *module; /* NULL: not loaded */
	const struct node_module_ops *node;
	struct sampler *sampler;
	pid_t owner;	   /* process that tried to start the sampler; 0: none yet */
	uint64_t again_ns; /* when to try again; 0: no other try */
	uint64_t start_ns;
	uint64_t start_uj;
	bool is_foreign; /* slurmd's structs differ from our headers, so they are not touched */
} side;

/* The module has its own copy of the logger, whose lines come here. */
static void log_of_node(enum logger_level level, const char *line)
{
	logger_log(level, "%s", line);
}

/* Loads the module with the sampler. It stays loaded until slurmd_side_stop(). */
static int load_node(struct errmsg *err)
{
	char path[PATH_MAX];
	module_fn *get;
	void *module;
	int rc;

	if (side.module)
		return 0;
	rc = module_path_beside(&side, NODE_MODULE_FILE, path, sizeof(path));
	if (rc < 0)
		return errmsg_errno(err, rc, NODE_MODULE_FILE);
	rc = module_open(path, NODE_MODULE_SYMBOL, &module, &get, err);
	if (rc < 0)
		return rc;
	side.node = ((node_module_fn *)get)(NODE_MODULE_ABI, sizeof(struct settings));
	if (!side.node) {
		module_close(module);
		return errmsg_set(err, -EPROTO,
				  "%s: is of another version of slurm-ceems than this plugin; "
				  "install all of slurm-ceems in one version",
				  path);
	}
	side.module = module;
	side.node->set_log(log_of_node);
	return 0;
}

static int create_sampler(const struct settings *s, const char *node, struct errmsg *err)
{
	struct timespec pause = clock_ns_to_timespec(BUSY_PAUSE_NS);
	int tries = 0;
	int rc;

	while ((rc = side.node->create(s, node, &side.sampler, err)) == -EBUSY && ++tries < BUSY_TRIES)
		(void)nanosleep(&pause, NULL);
	return rc;
}

static int start_sampler(struct errmsg *err)
{
	struct settings settings;
	char what[640];
	uint64_t mw;
	int rc;

	side.is_foreign = &conf && conf && !abi_is_right();
	if (side.is_foreign)
		return errmsg_set(err, -EINVAL,
				  "slurmd differs from the Slurm headers that this plugin was "
				  "built with, though both have version " SLURM_VERSION_STRING "; get the "
				  "source of exactly the installed package with contrib/slurm-source, and "
				  "build the plugin with it");
	if (!&conf || !conf || !conf->node_name)
		return errmsg_set(err, -EINVAL, "slurmd has no node name yet");
	rc = plugin_conf_load(conf->node_name, &settings, err);
	if (rc < 0)
		return rc;
	rc = load_node(err);
	if (rc < 0)
		return rc;
	rc = create_sampler(&settings, conf->node_name, err);
	if (rc < 0)
		return rc;
	side.node->set_capacity(side.sampler, conf->cpus, conf->CEEMS_REAL_MEMORY);
	/* the first tick only reads counters; later ticks book what they gained */
	(void)side.node->tick(side.sampler);
	rc = side.node->start(side.sampler, err);
	if (rc < 0) {
		side.node->destroy(side.sampler);
		side.sampler = NULL;
		return rc;
	}
	side.start_ns = clock_mono_ns();
	side.start_uj = 0;
	(void)side.node->node_energy(side.sampler, &side.start_uj, &mw);
	side.node->describe(side.sampler, what, sizeof(what));
	logger_info("%s", what);
	return 0;
}

void slurmd_side_start(void)
{
	struct errmsg err = { 0 };
	int rc;

	if (side.owner == getpid() && (!side.again_ns || clock_mono_ns() < side.again_ns))
		return;
	side.sampler = NULL; /* after a fork, the thread of the parent's sampler is not in this process */
	side.owner = getpid();
	rc = start_sampler(&err);
	side.again_ns = rc == -EBUSY ? clock_mono_ns() + BUSY_AGAIN_NS : 0;
	if (rc < 0)
		logger_error("%s; energy is not accounted on this node%s", err.text,
			     side.again_ns ? " until the ledger is free" : "");
}

void slurmd_side_stop(void)
{
	if (side.owner == getpid() && side.module) {
		side.node->destroy(side.sampler);
		module_close(side.module);
		side.module = NULL;
	}
	side.sampler = NULL;
	side.owner = 0;
}

void slurmd_side_energy(acct_gather_energy_t *energy)
{
	uint64_t uj;
	uint64_t mw;
	uint64_t ms;

	if (side.is_foreign)
		return;
	energy->poll_time = time(NULL);
	if (!side.sampler || side.node->node_energy(side.sampler, &uj, &mw) < 0) {
		energy->consumed_energy = NO_VAL64;
		energy->current_watts = NO_VAL;
		energy->ave_watts = NO_VAL;
		return;
	}
	ms = (clock_mono_ns() - side.start_ns) / NSEC_PER_MSEC;
	energy->previous_consumed_energy = energy->consumed_energy;
	energy->consumed_energy = metric_to_tres(METRIC_ENERGY, uj);
	energy->current_watts = (uint32_t)((mw + 500) / 1000);
	energy->ave_watts = ms >= 1000 && uj >= side.start_uj ? (uint32_t)((uj - side.start_uj) / ms / 1000) :
								energy->current_watts;
}
