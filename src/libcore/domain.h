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
 * How many parts a domain can have, and how they are numbered. CPU and DRAM: physical_package_id of
 * the socket, or the sockets' order by it if an id is SOCKETS_MAX or above. GPU: N of /dev/nvidiaN,
 * or N of /dev/dri/renderD(128+N); a GPU in partitions has the lowest N of them. A part whose number
 * is above the limit is counted with the last part.
 */
#define SOCKETS_MAX 8
#define GPUS_MAX 64 /* eight MI300X have 64 render nodes, partitioned or not */

enum source_id {
	SOURCE_EXTERNAL, /* a file that the site's own meter writes */
	SOURCE_CRAY,	 /* HPE Cray pm_counters */
	SOURCE_RAPL,
	SOURCE_HWMON,
	SOURCE_NVML,
	SOURCE_ROCM,
	SOURCE_REDFISH,
	SOURCE_IPMI,
	SOURCE_MODEL, /* an estimate, not a sensor */
	SOURCE_N
};
/* "external", "cray", "rapl", ...; "?" for another value */
const char *source_name(enum source_id id);
/* metric of the joules that sources of this kind measured */
enum metric source_metric(enum source_id id);

#endif
