/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * domain.h - the domains of a node for which energy is counted (cpu, dram, gpu, other), and the
 * kinds of energy source. Both the sensors and the ledger use them.
 */
#ifndef CEEMS_DOMAIN_H
#define CEEMS_DOMAIN_H

#include "src/libcore/metric.h"

/* Domains never overlap: each joule belongs to one domain. */
enum domain {
	DOMAIN_CPU, /* CPU packages: cores, caches, uncore */
	DOMAIN_DRAM,
	DOMAIN_GPU,
	/*
	 * what the node uses beyond the other domains; everything, if only the whole node is
	 * measured
	 */
	DOMAIN_OTHER,
	DOMAIN_N
};

/* Has no pointers, for the reason given at struct metric_info. */
struct domain_info {
	char name[8];  /* in JSON and labels: "cpu" */
	char label[8]; /* for people: "CPU" */
	enum metric energy;
	enum metric fixed; /* static part of the energy */
	enum metric co2e;
};
extern const struct domain_info domain_table[DOMAIN_N];
const char *domain_name(enum domain d); /* "cpu", "dram", "gpu", "other"; "?" for another value */

/*
 * How many parts a domain can have, and how they are numbered. CPU and DRAM: the sockets from 0, in the
 * order of their physical_package_id (topology.h). SOCKET_UNKNOWN: the part's socket is not known, and it
 * stands for all sockets; so do all parts of a node with more than SOCKETS_MAX. GPU: N of /dev/nvidiaN, or
 * N of /dev/dri/renderD(128+N); a GPU of several parts has the lowest N of them. A GPU whose number is above
 * the limit is counted with the last one.
 */
#define SOCKETS_MAX 16
#define SOCKET_UNKNOWN SOCKETS_MAX
#define GPUS_MAX 64	     /* eight MI300X have 64 render nodes, partitioned or not */
#define GPU_INSTANCES_MAX 16 /* MIG: the driver numbers the GPU instances of a GPU from 0 to 14 */
/* Returns the unit as text: "0", or "all" for SOCKET_UNKNOWN. BUF is used for a number. */
const char *domain_unit_name(enum domain d, unsigned int unit, char buf[8]);

/* The energy sources, by the places in sources.def, which are the order of preference. */
enum source_id {
/* clang-format off */
#define SOURCE(...) + 1
	SOURCE_N = 0
#include "src/libcore/sources.def"
	,
#undef SOURCE
#define SOURCE(id, name, place, ...) SOURCE_##id = place,
#include "src/libcore/sources.def"
#undef SOURCE
	/* clang-format on */
};

enum sensor_kind {
	SENSOR_LOCAL,	 /* measures parts of the node, perhaps the whole node, too */
	SENSOR_BMC,	 /* the BMC, whose power of the whole node is some seconds old */
	SENSOR_GPU,	 /* the GPUs of a maker; those of two makers add up */
	SENSOR_ESTIMATE, /* no sensor, and used only if no sensor measures CPUs or the node */
};

/* Has no pointers, for the reason given at struct metric_info. sources.def explains the members. */
struct source_info {
	char name[12];
	uint8_t kind; /* enum sensor_kind */
	uint8_t node_place;
	uint16_t setting; /* enum setting */
	enum metric metric;
};
extern const struct source_info source_table[SOURCE_N];

/* "external", "cray", "rapl", ...; "?" for another value */
const char *source_name(enum source_id id);
/* metric of the joules that this source measured */
enum metric source_metric(enum source_id id);
bool source_is_estimate(uint32_t id); /* false for SOURCE_N, too */

#endif
