/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metric.h - the table of all metrics, made from the rows of metrics.def. All outputs come from
 * this table: the TRES line for slurm.conf, the step's usage, the JSON record, the SQL columns,
 * ceems.prom and the columns of the commands.
 *
 * A value is an integer in the metric's own unit (enum metric_unit). Slurm's TRES are integers too,
 * but Slurm adds them up over nodes without checking for overflow. So TRES have a coarser unit for
 * energy, emissions, times and fast hardware events. Only metric_to_tres() and metric_from_tres()
 * convert.
 */
#ifndef CEEMS_METRIC_H
#define CEEMS_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/unit.h"
#include "src/libutil/must_check.h"

enum metric {
#define METRIC(id, ...) METRIC_##id,
#include "src/libcore/metrics.def"
#undef METRIC
	METRIC_N
};

/* How the values of tasks, nodes or steps become one value. */
enum metric_fold {
	FOLD_SUM,
	FOLD_MAX,
};

enum metric_side {
	SIDE_IN,  /* TRESUsageIn* */
	SIDE_OUT, /* TRESUsageOut* */
};

/* The family of a metric. Some code treats all metrics of a family the same way. */
enum metric_kind {
	/* joules of the job or of a domain, joules split by counters, lag of the sensors */
	KIND_ENERGY,
	/*
	 * joules by energy source, one metric per name in EnergySources; they add up to
	 * METRIC_ENERGY
	 */
	KIND_SOURCE,
	KIND_EMISSIONS, /* grams of CO2e */
	KIND_FACTOR,	/* joules by link of the factor chain, in the order of enum factor_step */
	KIND_USAGE,	/* what the tasks did */
	/* number of a step's nodes that know a value; if it is not all, the sum is a lower bound */
	KIND_NODES,
};

/* Which --ceems-perf measures the metric: none is needed, io, net or hw. */
enum metric_demand {
	DEMAND_NONE,
	DEMAND_IO,
	DEMAND_NET,
	DEMAND_HW,
};

enum metric_flags {
	/* a CPU does it billions of times a second: its TRES is in thousands or KiB */
	METRIC_FAST = 1 << 0,
	METRIC_BY_DAY = 1 << 1, /* summed by day in the SQL table usage_day */
	/* people see the ratio that is made from it (derived.h), not the value */
	METRIC_IN_RATIO = 1 << 2,
	METRIC_BASIC = 1 << 3, /* its TRES is in METRIC_SET_BASIC */
};

/* How many TRES a site keeps in sacct; each set includes the one before. */
enum metric_set {
	METRIC_SET_BASIC,    /* energy, emissions, CPU time and memory of a job */
	METRIC_SET_STANDARD, /* everything measured without --ceems-perf */
	METRIC_SET_ALL,
	METRIC_SET_N
};

/* Has no pointers: dlopen() would have to relocate them in every slurmstepd, sbatch and srun. */
struct metric_info {
	char name[32];	/* JSON field, SQL column, name in commands: "cpu_energy" */
	char label[40]; /* for people: "CPU energy" */
	char help[104]; /* one sentence; also the HELP of Prometheus */
	/* JSON object that has the field: "energy", "emissions", "io", "net", ... */
	char group[16];
	enum metric_unit unit;
	enum metric_fold fold;
	char tres[32]; /* "ic/ceems_cpu_energy"; empty: no TRES */
	enum metric_side side;
	/* path in a record, two or three names, the last with its unit: "energy.by_domain.cpu_j" */
	char json[48];
	enum metric_kind kind;
	enum metric_demand demand;
	unsigned int flags; /* enum metric_flags */
	char prom[64];	    /* Prometheus name of a job's counter; empty: not exported */
	/* labels that tell metrics of one Prometheus name apart: ",proto=\"tcp\""; empty: none */
	char prom_labels[24];
};

extern const struct metric_info metric_table[METRIC_N];

#define metric_foreach(m) for ((m) = 0; (m) < METRIC_N; (m)++)

/* Returns the metric number N (from 0) of KIND, in the table's order; METRIC_N: there are fewer. */
enum metric metric_of_kind(enum metric_kind kind, unsigned int n);

/* Returns the source's name as in EnergySources: "rapl" for METRIC_SOURCE_RAPL. */
const char *metric_source_name(enum metric m);

/*
 * Convert a value to Slurm's unit, rounded to nearest (1.5 J becomes 2 J), and back.
 * metric_from_tres() returns UINT64_MAX if the value does not fit; values_set() takes that as
 * unknown.
 */
uint64_t metric_to_tres(enum metric m, uint64_t value);
uint64_t metric_from_tres(enum metric m, uint64_t tres_value);
/* "J", "us", "1000" for thousands; "" for a plain count */
const char *metric_tres_unit(enum metric m);

/*
 * Why a value is missing. Unknown is never 0: struct values holds a value or one of these reasons.
 * People read metric_reason_text(), as in "n/a (no PMU)".
 */
enum metric_reason {
	REASON_NONE,	     /* there is a value */
	REASON_NOT_MEASURED, /* nobody tried to measure it */
	REASON_NOT_ASKED,    /* needs --ceems-perf */
	REASON_NO_SENSOR,
	REASON_NO_PMU, /* perf_event_open() failed with ENOENT, ENODEV or EOPNOTSUPP */
	REASON_NO_BPF, /* the kernel, or missing rights, refuse the BPF programs */
	REASON_NO_PERMISSION,
	REASON_NO_HOOK,	     /* this kernel has no function hooks (fexit) */
	REASON_NO_CGROUP,    /* no v2 cgroup to attach to */
	REASON_NO_PSI,	     /* no v2 cgroup, or a kernel without CONFIG_PSI or booted with psi=0 */
	REASON_NO_CPU_QUOTA, /* the cpu controller is off in the step's cgroup */
	REASON_NO_MEMORY,    /* no memory cgroup */
	REASON_OLD_KERNEL,   /* this kernel does not keep it */
	REASON_NO_DEVICE,    /* no device to read, such as an RDMA port */
	REASON_NO_EVENT,     /* this CPU has no such event, or we do not know its name */
	REASON_SHARED_NODE,  /* only the node's value is known, and other jobs run there */
	REASON_NO_COUNTER,   /* all hardware counters are in use, or the combination does not fit */
	REASON_NO_IDLE,	     /* nobody knows how much of the energy is idle power */
	REASON_LATE,	     /* the last tick came too late */
	REASON_NO_SLOT,	     /* the ledger or a BPF map is full */
	REASON_NO_FACTOR,    /* no emission factor */
	REASON_NO_CONTRACT,  /* no MarketFactor */
	REASON_FAILED,	     /* it was tried; an error in the log says what failed */
	REASON_DOUBT,	     /* the sensor is lost or stands still, see doubt.h */
	REASON_TOO_LARGE,    /* the value, or a sum of values, does not fit into 64 bits */
	REASON_N
};
const char *metric_reason_text(enum metric_reason reason);

/*
 * The values of all metrics. Zeroed memory is not valid: call values_init(), which marks all as not
 * measured.
 */
struct values {
	uint64_t value[METRIC_N];
	uint8_t reason[METRIC_N]; /* enum metric_reason */
	uint8_t pad[(8 - METRIC_N % 8) % 8];
};

/* Marks all values as REASON_NOT_MEASURED. */
void values_init(struct values *f);
/* Sets a value; UINT64_MAX marks it as REASON_TOO_LARGE. */
void values_set(struct values *f, enum metric m, uint64_t value);
/* Marks a value as missing for REASON. */
void values_miss(struct values *f, enum metric m, enum metric_reason reason);
/* Whether the value of M is known. */
bool values_has(const struct values *f, enum metric m);

/*
 * Marks METRIC_ENERGY as missing if it is 0 and no node says that it knows it: Slurm has 0 J for a step whose
 * slurmstepd reported no usage, or no energy.
 */
void values_miss_untold_joules(struct values *f);

/*
 * Combines PART into WHOLE by each metric's fold. A value that only one of them knows is known
 * afterwards. It is then a lower bound, for example if one step of a job was not measured. A sum
 * that does not fit into 64 bits becomes REASON_TOO_LARGE and stays so.
 */
void values_fold(struct values *whole, const struct values *part);

/*
 * Takes over each known value of LATER that is larger than that of NOW. Both are readings of one
 * step.
 */
void values_raise(struct values *now, const struct values *later);

extern const char *const metric_set_name[METRIC_SET_N]; /* "basic", "standard", "all" */

/*
 * Returns the smallest set that has the TRES of M, which must have one. A TRES is in the smaller of
 * the sets of its two rows.
 */
enum metric_set metric_set_of(enum metric m);

/*
 * Writes the value for AccountingStorageTRES: every TRES of SET once, separated by commas, in the
 * table's order. Returns 0, or -ENOSPC if BUF is too small.
 */
int metric_tres_line(enum metric_set set, char *buf, unsigned int size) _must_check_;

#endif
