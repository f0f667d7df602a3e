/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metric.h - the one table of what is measured. The TRES line for slurm.conf, what slurmstepd
 * writes into the step's usage, the JSON record, the SQL columns, ceems.prom and the CLI's
 * columns all come from it. A new metric is one row in metric.c and its reader.
 *
 * A value travels as an integer in the metric's own unit (enum metric_unit). Slurm's TRES are
 * integers too, in a coarser unit for energy, emissions, times and what CPUs do fast: Slurm adds them
 * up over nodes without a look at overflow. metric_to_tres() and metric_from_tres() are the only places that
 * convert.
 */
#ifndef CEEMS_METRIC_H
#define CEEMS_METRIC_H

#include <stdbool.h>
#include <stdint.h>

enum metric {
	/* energy attributed to the step or job, with its static (idle power) part by domain */
	METRIC_ENERGY,
	METRIC_CO2E,
	METRIC_CPU_ENERGY,
	METRIC_CPU_ENERGY_STATIC,
	METRIC_DRAM_ENERGY,
	METRIC_DRAM_ENERGY_STATIC,
	METRIC_GPU_ENERGY,
	METRIC_GPU_ENERGY_STATIC,
	METRIC_OTHER_ENERGY,
	METRIC_OTHER_ENERGY_STATIC,
	/* how METRIC_ENERGY was come by: joules by kind of source; they add up to it */
	METRIC_SOURCE_RAPL, /* the first one */
	METRIC_SOURCE_HWMON,
	METRIC_SOURCE_CRAY,
	METRIC_SOURCE_IPMI,
	METRIC_SOURCE_REDFISH,
	METRIC_SOURCE_NVML,
	METRIC_SOURCE_ROCM,
	METRIC_SOURCE_EXTERNAL,
	METRIC_SOURCE_MODEL, /* the last one */
	/* how METRIC_ENERGY was split: the joules of it that hardware counters weighed */
	METRIC_BY_COUNTERS,
	/* METRIC_CO2E by the site's contract, and by domain: these add up to it */
	METRIC_CO2E_MARKET,
	METRIC_CPU_CO2E,
	METRIC_DRAM_CO2E,
	METRIC_GPU_CO2E,
	METRIC_OTHER_CO2E,
	/* how METRIC_CO2E was come by: joules by link of the chain of factors; they add up to METRIC_ENERGY */
	METRIC_FRESH_FACTOR, /* in the order of enum factor_step */
	METRIC_LAST_FACTOR,
	METRIC_STATIC_FACTOR,
	METRIC_DEFAULT_FACTOR,
	/* BPF harvest: what the kernel counts per task; files, pipes and sockets alike */
	METRIC_IO_READ_BYTES,
	METRIC_IO_WRITE_BYTES,
	METRIC_IO_READ_CALLS,
	METRIC_IO_WRITE_CALLS,
	METRIC_STORAGE_READ_BYTES,
	METRIC_STORAGE_WRITE_BYTES,
	/* ... by the site's own names for its file systems (Filesystems in ceems.conf) */
	METRIC_HOME_READ_BYTES,
	METRIC_HOME_WRITE_BYTES,
	METRIC_PROJECT_READ_BYTES,
	METRIC_PROJECT_WRITE_BYTES,
	METRIC_SCRATCH_READ_BYTES,
	METRIC_SCRATCH_WRITE_BYTES,
	METRIC_LOCAL_READ_BYTES,
	METRIC_LOCAL_WRITE_BYTES,
	METRIC_CPU_TIME,
	/* network: TCP is harvested when a connection ends, the rest is counted on request */
	METRIC_TCP_RECEIVED_BYTES,
	METRIC_TCP_SENT_BYTES,
	METRIC_TCP_CONNECTIONS,
	METRIC_TCP_RETRANSMITTED_BYTES,
	METRIC_UDP_RECEIVED_BYTES,
	METRIC_UDP_SENT_BYTES,
	METRIC_RECEIVED_PACKETS,
	METRIC_SENT_PACKETS,
	METRIC_IP_RECEIVED_BYTES,
	METRIC_IP_SENT_BYTES,
	METRIC_IPV6_RECEIVED_BYTES,
	METRIC_IPV6_SENT_BYTES,
	METRIC_RDMA_RECEIVED_BYTES,
	METRIC_RDMA_SENT_BYTES,
	/* perf */
	METRIC_TASK_CLOCK,
	METRIC_CONTEXT_SWITCHES,
	METRIC_PAGE_FAULTS,
	METRIC_CPU_MIGRATIONS,
	METRIC_RUN_DELAY,
	METRIC_OFF_CPU,
	METRIC_CYCLES,
	METRIC_INSTRUCTIONS,
	METRIC_CACHE_REFERENCES,
	METRIC_CACHE_MISSES,
	METRIC_BRANCHES,
	METRIC_BRANCH_MISSES,
	METRIC_FP_OPERATIONS,
	METRIC_MEMORY_BYTES,
	METRIC_PMU_ENABLED,
	METRIC_PMU_RUNNING,
	/* how many of a step's nodes know: of fewer than all, a figure is a lower bound */
	METRIC_ENERGY_NODES,
	METRIC_CPU_TIME_NODES,
	METRIC_N
};

enum metric_unit {
	UNIT_UJ,    /* microjoules; TRES and JSON: joules */
	UNIT_NG,    /* nanograms of CO2e; TRES: milligrams, JSON: grams */
	UNIT_BYTES, /* TRES: bytes, of memory KiB */
	UNIT_NS,    /* nanoseconds; TRES: microseconds, JSON and Prometheus: seconds */
	UNIT_COUNT, /* TRES: the same, of hardware events thousands */
};

/* How parts become a whole; over tasks, nodes and steps alike. */
enum metric_fold {
	FOLD_SUM,
	FOLD_MAX,
};

enum metric_side {
	SIDE_IN,  /* TRESUsageIn* */
	SIDE_OUT, /* TRESUsageOut* */
};

/* No pointers, which dlopen() would write into the table in every slurmstepd, sbatch and srun. */
struct metric_info {
	char name[32];	/* JSON field, SQL column, CLI key: "cpu_energy" */
	char label[40]; /* for people: "CPU energy" */
	char help[104]; /* one sentence, also the Prometheus HELP */
	char group[16]; /* JSON object the field is in: "energy", "emissions", "io", "net", ... */
	enum metric_unit unit;
	enum metric_fold fold;
	char tres[32];	/* "ic/ceems_cpu_energy", empty: has no TRES */
	enum metric_side side;
	char prom[64];	/* Prometheus name of a job's counter, empty: not exported */
	char prom_labels[24]; /* of its own, ",proto=\"tcp\"": others of the name differ. Empty: none */
};

extern const struct metric_info metric_table[METRIC_N];

#define metric_foreach(m) for ((m) = 0; (m) < METRIC_N; (m)++)

/* "rapl" for METRIC_SOURCE_RAPL, as in EnergySources. */
const char *metric_source_name(enum metric m);

/*
 * The value as Slurm stores it, rounded to nearest (1.5 J is 2 J), and back; UINT64_MAX: more than
 * the metric's own unit can say, which figures_set() takes for unknown.
 */
uint64_t metric_to_tres(enum metric m, uint64_t value);
uint64_t metric_from_tres(enum metric m, uint64_t tres_value);
const char *metric_tres_unit(enum metric m); /* "J", "us", "1000" for thousands; "" for a plain count */

/*
 * Why a figure is missing. Unknown is never 0: a struct figures holds a value or one of these,
 * and people read metric_reason_text() as "n/a (no PMU)".
 */
enum metric_reason {
	REASON_NONE,	     /* there is a value */
	REASON_NOT_MEASURED, /* nobody tried: what a zeroed record must not mean, so see below */
	REASON_NOT_ASKED,    /* needs --ceems-perf */
	REASON_NO_SENSOR,
	REASON_NO_PMU,	     /* perf_event_open: ENOENT, ENODEV, EOPNOTSUPP */
	REASON_NO_BPF,	     /* kernel or rights refuse the programs */
	REASON_NO_PERMISSION,
	REASON_NO_HOOK,	     /* this kernel has no function hooks (fexit) */
	REASON_NO_CGROUP,    /* no v2 cgroup to attach to */
	REASON_NO_DEVICE,    /* nothing there to be read, such as an RDMA port */
	REASON_NO_EVENT,     /* this CPU has no such event, or we do not know its name */
	REASON_SHARED_NODE,  /* only the whole node's is known, and others are on it */
	REASON_NO_COUNTER,   /* all counters taken, or the combination does not fit */
	REASON_NO_SLOT,	     /* ledger or map full */
	REASON_NO_FACTOR,    /* no emission factor */
	REASON_NO_CONTRACT,  /* no MarketFactor */
	REASON_FAILED,	     /* tried, and an error log line says what happened */
	REASON_TOO_LARGE,    /* a sum that its type cannot hold */
	REASON_N
};
const char *metric_reason_text(enum metric_reason reason);

/* One set of figures. Zeroed memory is not a valid one: figures_init() marks all not measured. */
struct figures {
	uint64_t value[METRIC_N];
	uint8_t reason[METRIC_N]; /* enum metric_reason */
	uint8_t pad[(8 - METRIC_N % 8) % 8];
};

void figures_init(struct figures *f);
void figures_set(struct figures *f, enum metric m, uint64_t value);
void figures_miss(struct figures *f, enum metric m, enum metric_reason reason);
bool figures_has(const struct figures *f, enum metric m);

/*
 * Adds PART to WHOLE by each metric's fold. A known part makes the whole known (it is then a
 * lower bound, as for a job of which one step was not measured). What 64 bits cannot hold is unknown
 * (REASON_TOO_LARGE), whatever is added to it.
 */
void figures_fold(struct figures *whole, const struct figures *part);

/*
 * The value for AccountingStorageTRES: every TRES of the table once, by comma, in the table's
 * order. Writes at most SIZE bytes; 0 or -ENOSPC.
 */
int metric_tres_line(char *buf, unsigned int size);

#endif
