/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_module.h - the interface of ceems_node.so, which has the sampler, sensors, weights, factors
 * and ceems.prom. It is installed beside acct_gather_energy_ceems.so. slurmd loads both; slurmstepd
 * loads the plugin only.
 */
#ifndef CEEMS_NODE_MODULE_H
#define CEEMS_NODE_MODULE_H

#include "src/libnode/sampler.h"
#include "src/libutil/logger.h"

#define NODE_MODULE_FILE "ceems_node.so"
#define NODE_MODULE_SYMBOL "ceems_node"
#define NODE_MODULE_ABI \
	3 /* version of the table below and of struct settings; the module and the plugin are
			     built together */

/* The module's functions; each does what sampler_<name>() does. */
struct node_module_ops {
	void (*set_log)(logger_sink_fn sink);
	int (*create)(const struct settings *s, const char *node, struct sampler **ret, struct errmsg *err);
	void (*set_capacity)(struct sampler *s, uint32_t cpus, uint64_t mem_mb);
	void (*describe)(const struct sampler *s, char *buf, size_t size);
	int (*tick)(struct sampler *s);
	int (*start)(struct sampler *s, struct errmsg *err);
	void (*destroy)(struct sampler *s);
	int (*node_energy)(struct sampler *s, uint64_t *ret_energy_uj, uint64_t *ret_power_mw);
};

/*
 * The type of the module's only exported function. Returns NULL if ABI or SETTINGS_SIZE differ from
 * the module's own.
 */
typedef const struct node_module_ops *node_module_fn(unsigned int abi, size_t settings_size);
node_module_fn ceems_node;

#endif
