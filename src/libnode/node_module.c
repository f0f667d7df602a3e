/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/node_module.h"

static const struct node_module_ops ops = {
	.set_log = logger_set_sink,
	.create = sampler_create,
	.set_capacity = sampler_set_capacity,
	.describe = sampler_describe,
	.tick = sampler_tick,
	.start = sampler_start,
	.destroy = sampler_destroy,
	.node_energy = sampler_node_energy,
};

__attribute__((visibility("default"))) const struct node_module_ops *ceems_node(unsigned int abi,
										size_t settings_size)
{
	return abi == NODE_MODULE_ABI && settings_size == sizeof(struct settings) ? &ops : NULL;
}
