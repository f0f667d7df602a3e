/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metric.h - the one table of what is measured, made of the rows in metrics.def. All outputs come
 * from this table: the TRES line for slurm.conf, the step's usage, the JSON record, the SQL
 * columns, ceems.prom and the columns of the CLI.
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
#define METRIC(id, ...) METRIC_##id,
#include "src/libcore/metrics.def"
#undef METRIC
	METRIC_N
};

enum metric_unit {
	UNIT_UJ,    /* microjoules; TRES and JSON: joules */
	UNIT_NG,    /* nanograms of CO2e (64 bits: 18,000 t); TRES: micrograms (18 million t), JSON: grams */
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

/* What a metric is part of, for those who treat some alike. */
enum metric_kind {
	KIND_ENERGY,	/* joules of the job, of a domain, or the part that counters weighed; their sensors' lag */
	KIND_SOURCE,	/* joules by kind of sensor; they add up to METRIC_ENERGY. One per EnergySources */
	KIND_EMISSIONS, /* grams of CO2e */
	KIND_FACTOR,	/* joules by link of the chain of factors, in the order of enum factor_step */
	KIND_USAGE,	/* what the tasks did */
	KIND_NODES,	/* how many of a step's nodes know: of fewer than all, a sum is a lower bound */
};

/* Who has to ask for it: nobody, or --ceems-perf=io, =net, =hw. */
enum metric_demand {
	DEMAND_NONE,
	DEMAND_IO,
	DEMAND_NET,
	DEMAND_HW,
};

enum metric_flags {
	METRIC_FAST = 1 << 0,	/* a CPU does it billions of times a second: its TRES is in thousands or KiB */
	METRIC_BY_DAY = 1 << 1, /* summed by day in the table usage_day */
	METRIC_IN_RATIO = 1 << 2, /* people see the ratio that is made of it (derived.h) */
	METRIC_BASIC = 1 << 3, /* its TRES is in the smallest set (enum metric_set) */
};

/* How many TRES a site keeps in sacct; each set holds the one before. */
enum metric_set {
	METRIC_SET_BASIC,    /* the energy, emissions, CPU time and memory of a job */
	METRIC_SET_STANDARD, /* all that is measured without --ceems-perf */
	METRIC_SET_ALL,
	METRIC_SET_N
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
	char json[48];	/* path in a record: "energy.by_domain.cpu_j", two or three names, the last with its unit */
	enum metric_kind kind;
	enum metric_demand demand;
	unsigned int flags; /* enum metric_flags */
	char prom[64];	/* Prometheus name of a job's counter, empty: not exported */
	char prom_labels[24]; /* of its own, ",proto=\"tcp\"": others of the name differ. Empty: none */
};

extern const struct metric_info metric_table[METRIC_N];

#define metric_foreach(m) for ((m) = 0; (m) < METRIC_N; (m)++)

/* The Nth metric of KIND, in the table's order; METRIC_N: there are fewer. */
enum metric metric_of_kind(enum metric_kind kind, unsigned int n);

/* "rapl" for METRIC_SOURCE_RAPL, as in EnergySources. */
const char *metric_source_name(enum metric m);

/*
 * The value as Slurm stores it, rounded to nearest (1.5 J is 2 J), and back; UINT64_MAX: more than
 * the metric's own unit can say, which values_set() takes for unknown.
 */
uint64_t metric_to_tres(enum metric m, uint64_t value);
uint64_t metric_from_tres(enum metric m, uint64_t tres_value);
const char *metric_tres_unit(enum metric m); /* "J", "us", "1000" for thousands; "" for a plain count */

/*
 * Why a value is missing. Unknown is never 0: a struct values holds a value or one of these,
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
	REASON_NO_PSI,	     /* no v2 cgroup, or a kernel without CONFIG_PSI or booted with psi=0 */
	REASON_NO_CPU_QUOTA, /* the cpu controller is off in the step's cgroup */
	REASON_NO_MEMORY,    /* no memory cgroup */
	REASON_OLD_KERNEL,   /* this kernel does not keep it */
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

/* One set of metric values. Zeroed memory is not a valid one: values_init() marks all not measured. */
struct values {
	uint64_t value[METRIC_N];
	uint8_t reason[METRIC_N]; /* enum metric_reason */
	uint8_t pad[(8 - METRIC_N % 8) % 8];
};

void values_init(struct values *f);
void values_set(struct values *f, enum metric m, uint64_t value);
void values_miss(struct values *f, enum metric m, enum metric_reason reason);
bool values_has(const struct values *f, enum metric m);

/*
 * Adds PART to WHOLE by each metric's fold. One known part makes the whole known. The whole is then
 * a lower bound, for example if one step of a job was not measured. What 64 bits cannot hold is
 * unknown (REASON_TOO_LARGE), whatever is added to it.
 */
void values_fold(struct values *whole, const struct values *part);

/* NOW and LATER are two readings of one step. Takes each value of LATER that is known and is not less than NOW has. */
void values_raise(struct values *now, const struct values *later);

extern const char *const metric_set_name[METRIC_SET_N]; /* "basic", ... */

/* The smallest set that has the TRES of M, which must have one. A TRES is in the smaller set of its two sides. */
enum metric_set metric_set_of(enum metric m);

/*
 * The value for AccountingStorageTRES: every TRES of SET once, by comma, in the table's order. Writes at most
 * SIZE bytes; 0 or -ENOSPC.
 */
int metric_tres_line(enum metric_set set, char *buf, unsigned int size);

#endif
