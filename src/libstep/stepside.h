/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepside.h - slurmstepd's work for one step, without Slurm's types. When the step starts, it claims a slot
 * in the node ledger. When there is a task, it finds the step's cgroup and starts the counters. While the
 * step runs, it reads the energy. When the step ends, it collects the metric values.
 */
#ifndef CEEMS_STEPSIDE_H
#define CEEMS_STEPSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libcore/settings.h"
#include "src/libledger/ledger.h"
#include "src/libstep/stepfile.h"
#include "src/libutil/errmsg.h"

/*
 * Longest wait for a tick. If the tick that closes the step does not come, the values of the last
 * tick are used.
 */
#define STEPSIDE_TICK_NS (50 * UINT64_C(1000000))
/*
 * Longest wait of the extern step for that tick while slurmd is started again. It has the job's energy, and
 * slurmd ends the job only after it, so the wait delays no job. If no tick has seen the step, or the last
 * tick is older than STEPSIDE_SILENCE_NS (more than the longest SampleInterval), slurmd may have no sampler
 * any more, and the extern step waits no longer than others.
 */
#define STEPSIDE_RESTART_NS (10 * UINT64_C(1000000000))
#define STEPSIDE_SILENCE_NS (90 * UINT64_C(1000000000))
/*
 * Longest wait of the extern step for the other steps; as long as Slurm's UnkillableStepTimeout (60 s). Slurm
 * reports a step that takes longer as unkillable, and the job's energy then lacks the rest of that step. The
 * wait delays no job, because a job ends only after its last step.
 */
#define STEPSIDE_OTHERS_NS (60 * UINT64_C(1000000000))
/*
 * A slurmstepd that Slurm polls reads RAPL's counters if slurmd has not ticked for a SampleInterval and
 * STEPSIDE_AWAY_NS, unless one has read them in the last STEPSIDE_NOTE_NS.
 */
#define STEPSIDE_AWAY_NS (2 * UINT64_C(1000000000))
#define STEPSIDE_NOTE_NS (5 * UINT64_C(1000000000))
/* Longest wait of one write to the user's stderr if no process reads it. */
#define STEPSIDE_REPORT_MS 200

struct stepside;

/*
 * The cores that Slurm gave to the job and to the step: lists such as "0-3,8". The numbers count
 * the node's cores socket by socket. NULL: not known.
 */
struct stepside_cores {
	const char *job, *step;
	uint32_t node_cores;
	uint32_t cpus_per_core;
};

/*
 * Claims a slot in the ledger for the calling process. S is the result of settings_for_node(),
 * borrowed until stepside_close(). ID is copied. CORES tells the step's CPUs on each socket. The
 * slot's request is set to PerfDefault. -ENOENT: no sampler runs on this node. -ENOSPC: the ledger
 * is full.
 */
int stepside_open(const struct settings *s, const char *node, const struct ledger_identity *id,
		  const struct stepside_cores *cores, struct stepside **ret, struct errmsg *err) _must_check_;

/*
 * Forbids what ForbidOptions forbids to a job in PARTITION and of ACCOUNT. NULL: it is not known; "": the job
 * has none. Both must come from Slurm, never from the user's environment. Call it before the spank plugin
 * writes the request.
 */
void stepside_forbid(struct stepside *st, const char *partition, const char *account);

/*
 * Sets the user who owns the step's trace and profile. *OWNER is borrowed until stepside_close(). Call it
 * before stepside_attach(). Without this call there is neither.
 */
void stepside_set_owner(struct stepside *st, const struct stepfile_owner *owner);

/*
 * Publishes the step's cgroup and starts its counters. PID[n] are all tasks of the step, none of
 * which may run yet. Returns true once the cgroup was found; later calls do nothing.
 */
bool stepside_attach(struct stepside *st, const pid_t *pid, size_t n);

/*
 * Says that Slurm has reduced the memory of the step or its job; the arguments are as in struct
 * ledger_identity. METRIC_MEMORY_ALLOCATED becomes LIMIT_MB, but not less than what the step held before.
 */
void stepside_set_memory(struct stepside *st, uint64_t job_mb, uint64_t step_mb, uint64_t limit_mb);

/* To be called from time to time while the step runs: publishes values that only slurmstepd can read. */
void stepside_poll(struct stepside *st);

/*
 * Gives energy and power of the step up to now. For the extern step, this is the energy of the whole job,
 * because with PrologFlags=Contain Slurm takes the job's energy from the extern step. -ENODATA: the energy
 * is not known, or not yet.
 */
int stepside_energy(struct stepside *st, uint64_t *ret_energy_uj, uint64_t *ret_power_mw) _must_check_;

/*
 * Gives all values of the step so far; for the extern step, of the whole job. *RET belongs to ST. The values
 * may be 100 ms old, because sstat asks once for each task. -ENODATA: nothing is known yet.
 */
int stepside_live(struct stepside *st, const struct values **ret) _must_check_;

/*
 * Requests a tick and returns the step's values at that tick, for a series over time. Values that the sampler
 * reads less often (I/O, TCP) are up to 5 s old. *RET_HAS_ALL is false if they were not read yet.
 * -ETIMEDOUT: no tick came; -ENODATA: nothing is known yet. Not for the extern step.
 */
int stepside_sample(struct stepside *st, struct values *ret, bool *ret_has_all) _must_check_;

/*
 * To be called when all tasks have ended: moves our programs out of the step's cgroups. Slurm calls fini()
 * only after it has killed all that is there, and has waited for its end.
 */
void stepside_leave(struct stepside *st);

/*
 * Ends the measurement of the step and fills VALUES. The extern step first waits for the other steps,
 * at most STEPSIDE_OTHERS_NS, and gets the values of the job. WAITED_NS is the CPU time of the tasks
 * by wait4() (0: unknown); it is used if the cgroup shows less. Always succeeds: missing values have
 * a reason, and energy is a lower bound if the tick that closes the step did not come.
 */
void stepside_finish(struct stepside *st, uint64_t waited_ns, struct values *values,
		     uint64_t *ret_elapsed_ns);

/*
 * Rounds the energies of VALUES, as stepside_finish() has filled them, to the whole joules that Slurm is told
 * (whole.h). Without the tick that closes the step, nothing changes.
 */
void stepside_round(const struct stepside *st, struct values *values);

/*
 * Writes to FD, the stderr of the step, why its trace or profile is missing or not complete; and the report,
 * if --ceems-report was given and this is the first node of the step.
 */
void stepside_report(struct stepside *st, const struct values *values, int fd);

/* Frees the slot, except that of a batch step (see stepside.c), and all memory. NULL: no-op. */
/* For tests: waits NS for a tick in place of STEPSIDE_TICK_NS. */
void stepside_wait(struct stepside *st, uint64_t ns);
void stepside_close(struct stepside *st);

/* Counts the numbers in a list such as "0-3,8". 0: the list is empty or malformed. */
uint32_t stepside_count_cores(const char *list);

/*
 * Computes how many CPUs the cores in LIST have on each socket. SOCKET_CPUS is the node's number of
 * CPUs by socket. All 0 if LIST is malformed, or if the cores do not divide evenly among the
 * sockets.
 */
void stepside_spread_cores(const char *list, const struct stepside_cores *cores,
			   const uint32_t socket_cpus[SOCKETS_MAX], uint32_t ret_cpus[SOCKETS_MAX]);

#endif
