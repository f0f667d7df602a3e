/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * advice_facts.h - the facts about a finished or running job that advice is based on. Each fact is
 * a number, or unknown.
 */
#ifndef CEEMS_ADVICE_FACTS_H
#define CEEMS_ADVICE_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libemission/factor_chain.h"
#include "src/librecord/record.h"

/* columns: id, name in rules and in the site's file, unit, meaning */
#define ADVICE_FACTS(FACT)                                                                           \
	FACT(ELAPSED, "elapsed", TIME, "run time")                                                   \
	FACT(LIMIT, "limit", TIME, "time limit")                                                     \
	FACT(TIME_SHARE, "time_share", SHARE, "run time / time limit")                               \
	FACT(LIMIT_SUGGESTED, "limit_suggested", TIME_OPTION, "run time x 1.2, rounded up")          \
	FACT(LIMIT_MORE, "limit_more", TIME_OPTION, "time limit x 1.5, rounded up")                  \
	FACT(NODES, "nodes", COUNT, "nodes")                                                         \
	FACT(TASKS, "tasks", COUNT, "tasks of the step with most tasks")                             \
	FACT(STEPS, "steps", COUNT, "steps that srun started")                                       \
	FACT(STEP_MEAN, "step_mean", TIME, "mean run time of a step")                                \
	FACT(CPUS, "cpus", COUNT, "CPUs allocated")                                                  \
	FACT(CPU_TIME, "cpu_time", TIME, "CPU time")                                                 \
	FACT(CPU_EFFICIENCY, "cpu_efficiency", SHARE, "CPU time / (run time x CPUs)")                \
	FACT(CPUS_BUSY, "cpus_busy", NUMBER, "CPU time / run time")                                  \
	FACT(CPUS_USED, "cpus_used", COUNT, "cpus_busy, rounded up")                                 \
	FACT(CPU_WAIT, "cpu_wait", SHARE, "time that runnable tasks waited for a CPU")               \
	FACT(CPU_THROTTLED, "cpu_throttled", SHARE, "time throttled / (run time x CPUs)")            \
	FACT(IMBALANCE, "imbalance", SHARE, "CPU time of the busiest node / mean - 1")               \
	FACT(IPC, "ipc", NUMBER, "instructions per cycle")                                           \
	FACT(CACHE_MISSES, "cache_misses", SHARE, "misses / references of the last cache")           \
	FACT(MEMORY_PEAK, "memory_peak", BYTES, "largest working set of a node")                     \
	FACT(MEMORY_ALLOCATED, "memory_allocated", BYTES, "memory allocated on that node")           \
	FACT(MEMORY_SHARE, "memory_share", SHARE, "memory_peak / memory_allocated")                  \
	FACT(MEMORY_SUGGESTED, "memory_suggested", BYTES_OPTION, "memory_peak x 1.2, rounded up")    \
	FACT(MEMORY_SPARE, "memory_spare", BYTES, "memory_allocated - memory_suggested")             \
	FACT(MEMORY_MORE, "memory_more", BYTES_OPTION, "memory_allocated x 1.5, rounded up")         \
	FACT(MEMORY_STALL, "memory_stall", SHARE, "time that all tasks of a node waited for memory") \
	FACT(SWAP_PEAK, "swap_peak", BYTES, "largest use of swap")                                   \
	FACT(OOM_KILLS, "oom_kills", COUNT, "processes that the kernel killed for memory")           \
	FACT(IO_STALL, "io_stall", SHARE, "time that all tasks of a node waited for files")          \
	FACT(READ_CALLS, "read_calls", COUNT, "read calls")                                          \
	FACT(READ_SIZE, "read_size", BYTES, "bytes of a read call, mean")                            \
	FACT(GPUS, "gpus", COUNT, "GPUs allocated")                                                  \
	FACT(GPU_BUSY, "gpu_busy", SHARE, "GPU time busy / held")                                    \
	FACT(GPU_NO_PROCESS, "gpu_no_process", SHARE, "GPU time without a process / held")           \
	FACT(GPU_HEAT, "gpu_heat", SHARE, "GPU time throttled by heat / held")                       \
	FACT(GPU_MEMORY_PEAK, "gpu_memory_peak", BYTES, "largest memory of a GPU in use")            \
	FACT(CPUS_PER_GPU, "cpus_per_gpu", NUMBER, "CPUs / GPUs")                                    \
	FACT(MEMORY_PER_GPU, "memory_per_gpu", BYTES, "memory_allocated / GPUs of a node")           \
	FACT(GPUS_PER_NODE, "gpus_per_node", NUMBER, "GPUs / nodes")                                 \
	FACT(IDLE_SHARE, "idle_share", SHARE, "static energy / energy")                              \
	FACT(CLEANER_SHARE, "cleaner_share", SHARE, "CO2e that a start at cleaner_begin saves")      \
	FACT(CLEANER_BEGIN, "cleaner_begin", DAY_TIME,                                               \
	     "hour within a day of the start with the lowest emission factors")                      \
	FACT(IS_COMPLETED, "is_completed", COUNT, "1: COMPLETED")                                    \
	FACT(IS_FAILED, "is_failed", COUNT, "1: FAILED")                                             \
	FACT(IS_TIMEOUT, "is_timeout", COUNT, "1: TIMEOUT")                                          \
	FACT(IS_OUT_OF_MEMORY, "is_out_of_memory", COUNT, "1: OUT_OF_MEMORY")                        \
	FACT(IS_RUNNING, "is_running", COUNT, "1: RUNNING")                                          \
	FACT(IS_INTERACTIVE, "is_interactive", COUNT, "1: interactive (salloc)")

enum advice_fact {
#define FACT(id, name, unit, help) FACT_##id,
	ADVICE_FACTS(FACT)
#undef FACT
		FACT_N
};

struct advice_facts {
	double value[FACT_N];
	bool known[FACT_N];
};

/*
 * Computes all facts about R. CHAIN has the emission factors of the cluster; NULL: unknown. A
 * running job is taken to end at NOW (seconds since the epoch).
 */
void advice_facts_of(const struct record *r, const struct factor_chain *chain, uint64_t now,
		     struct advice_facts *ret);

/* Returns the name of FACT in rules and in the site's file: "cpu_efficiency". */
const char *advice_fact_name(enum advice_fact fact);
/* Finds the fact whose name is the LEN bytes at NAME; FACT_N: there is none. */
enum advice_fact advice_fact_find(const char *name, size_t len);

#define ADVICE_FACT_TEXT_MAX 48
/*
 * Writes a fact for people ("12m05s", "3.9 MiB", "45 %"), or as an option of sbatch ("00:15:00",
 * "100M"); "n/a" if unknown. Returns BUF.
 */
const char *advice_fact_text(const struct advice_facts *f, enum advice_fact fact,
			     char buf[ADVICE_FACT_TEXT_MAX]);

#endif
