/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger.h - the node ledger: one file per slurmd, LedgerDir/<node>.ledger, in shared memory. The
 * sampler in slurmd alone writes energy. Each slurmstepd writes identity and metric values of its
 * own slot. The ledger outlives slurmd: the next sampler goes on from it.
 *
 * Two pages hold all accounts and the raw counters they were computed from. A tick copies the
 * current page to the other page, changes the copy, and makes it current with one atomic store. So
 * a sampler that is killed at any instruction leaves a page in which all adds up. A reader never
 * waits for a writer.
 *
 *	sum(step) + sum(job.closed) + retired + unallocated + system == measured
 *
 * A slot's life (who moves it on):
 *	FREE -> CLAIMED (stepd: identity being written) -> OPEN (stepd: accountable from
 *	t_open_mono_ns on) -> CLOSING (stepd: final CPU time and metric values are written) ->
 *	CLOSED (sampler: its last tick is booked) -> LEFT (stepd: has read them)
 *	-> FREE (sampler: account and metric values moved to the job's)
 * If the slurmstepd of a slot is gone, the sampler frees the slot from any state and adds its account to
 * the job's. A slot that was CLOSING has all values; a slot that was OPEN is counted as lost. A job's
 * entry is freed LEDGER_JOB_LINGER_NS after its last slot, so that Prometheus can still scrape its last
 * values. The job's account is then added to `retired`.
 */
#ifndef CEEMS_LEDGER_H
#define CEEMS_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libcore/metric.h"
#include "src/libcore/perf_request.h"
#include "src/libcore/profile_request.h"
#include "src/libledger/account.h"
#include "src/libledger/ledger_gpu.h"
#include "src/libledger/split.h"
#include "src/libmeter/activity/cgmount.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/errmsg.h"

#define LEDGER_VERSION 15
#define LEDGER_STEPS 1024
#define LEDGER_STEPS_OF_USER (LEDGER_STEPS / 2) /* of one user: the others need some, too */
#define LEDGER_JOBS LEDGER_STEPS /* as many: an open step always finds room for its job */
#define LEDGER_JOB_LINGER_NS (120 * UINT64_C(1000000000))
#define LEDGER_CGROUP_MAX 320

/* Slurm's numbers for steps that have no number (slurm.h: SLURM_EXTERN_CONT ...; the adapters
 * assert that they are the same). */
#define LEDGER_STEP_EXTERN UINT32_C(0xfffffffc)
#define LEDGER_STEP_BATCH UINT32_C(0xfffffffb)
#define LEDGER_STEP_INTERACTIVE UINT32_C(0xfffffffa)
#define LEDGER_HET_NONE UINT32_C(0xfffffffe)

/* "batch", "extern", "interactive" or the number, which is written into BUF. */
const char *ledger_step_name(uint32_t step_id, char *buf, size_t size);

enum ledger_state {
	SLOT_FREE,
	SLOT_CLAIMED,
	SLOT_OPEN,
	SLOT_CLOSING,
	SLOT_CLOSED,
	SLOT_LEFT,
};

#define LEDGER_FLAG_REPORT (1u << 0) /* --ceems-report: print a table when the step ends */
#define LEDGER_FLAG_PERF (1u << 1)   /* --ceems-perf was given: the request is the user's */
#define LEDGER_FLAG_PORTS (1u << 2)  /* this step counts the node's RDMA ports */

/* Identity of the step. Its slurmstepd writes it before SLOT_OPEN; it is constant afterwards. */
struct ledger_identity {
	uint32_t job_id; /* of a het job, the id of the component, as in cgroup names */
	uint32_t step_id;
	uint32_t het_comp;
	uint32_t uid;
	uint32_t node_id;     /* rank of the node within the step */
	uint32_t node_count;
	uint32_t job_cpus;    /* allocated on this node */
	uint32_t step_cpus;
	uint64_t job_mem_mb;
	uint64_t step_mem_mb;
	uint64_t limit_mem_mb; /* what Slurm allocated to the step; 0: it does not allocate memory */
	uint64_t start_wall_ns;
	/* The same CPUs by socket; all 0: not known, so they count as spread over all sockets. */
	uint32_t job_socket_cpus[SOCKETS_MAX];
	uint32_t step_socket_cpus[SOCKETS_MAX];
	/* Share of each GPU, in ppm: 1000000 for a whole one, less for a MIG slice or a shard. */
	uint32_t job_gpu_ppm[GPUS_MAX];
	uint32_t step_gpu_ppm[GPUS_MAX];
	uint16_t job_gpu_instances[GPUS_MAX]; /* of MIG: bit N for GPU instance N */
	uint16_t step_gpu_instances[GPUS_MAX];
};

/* Metric values of a running step so far. The sampler writes them (live.h). */
struct ledger_live {
	_Atomic uint32_t seq; /* odd: being written */
	uint32_t claim;	      /* of the step that has these values; 0: no step */
	struct values values; /* all but energy; a value never decreases */
};

struct ledger_slot {
	_Atomic uint32_t state; /* enum ledger_state; release after what it publishes */
	_Atomic uint32_t flags;	/* LEDGER_FLAG_*; its slurmstepd sets them before or when it forks the tasks */
	_Atomic int32_t stepd_pid; /* changing 0 to PID claims the slot; 0 again: the slot is free */
	uint32_t claim;		/* how often the slot was claimed; tells the slot's steps apart */
	uint64_t stepd_start;	/* field 22 of /proc/PID/stat: tells a reused pid */
	uint64_t t_open_mono_ns;
	uint64_t t_close_mono_ns;
	/*
	 * The step's cgroup as /proc/PID/cgroup of a task names it, cut after the step's folder:
	 * the v2 path, and the v1 paths of cpuacct and freezer. Empty: none. After the first task
	 * was forked, the paths are written, and then cgroup_known is set with release.
	 */
	char cgroup_v2[LEDGER_CGROUP_MAX];
	char cgroup_cpuacct[LEDGER_CGROUP_MAX];
	char cgroup_freezer[LEDGER_CGROUP_MAX];
	_Atomic uint32_t cgroup_known;
	uint32_t bpf_slot;	/* row of task counters in the BPF maps, 0: none */
	uint64_t final_busy_ns; /* CPU time at the end; UINT64_MAX: not known */
	struct perf_request request;	/* --ceems-perf or PerfDefault; with the flags */
	uint64_t trace_ns;	/* --ceems-trace: its interval; 0: not given. With the flags */
	struct profile_request profile; /* --ceems-profile; hz is 0: not given. With the flags */
	struct ledger_identity id;
	_Atomic uint32_t values_seq; /* odd: being written */
	uint32_t pad;
	struct values values; /* values that only the slurmstepd can read, without energy; final in SLOT_CLOSING */
	struct ledger_live live; /* by the sampler */
};

/* The memory that a step holds, as the sampler reads it (memwatch.h). */
struct ledger_memory {
	uint64_t read_mono_ns; /* last reading; 0: not yet, and the other members are 0 */
	uint64_t held_bytes;   /* working set at the last reading */
	uint64_t cache_bytes;  /* page cache at the last reading; UINT64_MAX: not known */
	uint64_t peak_bytes;   /* of the working set; for the extern step, of all steps of the job together */
	uint64_t swap_peak_bytes; /* UINT64_MAX: not known */
	/* memory times time, up to the last reading */
	uint64_t held_kib_s;
	uint64_t cache_kib_s;
};

/* Per slot and tick, the sampler's; in the page because it must turn over with the energy. */
struct ledger_step_account {
	struct account energy;
	uint64_t busy_ns; /* CPU time booked so far */
	uint64_t told_mono_ns; /* when busy_ns was read; 0: never yet */
	uint64_t until_mono_ns; /* the step is booked up to this time; 0: not yet seen */
	struct ledger_memory memory;
	struct ledger_gpu gpu;
	uint32_t claim; /* of the step that has this account */
	uint32_t job;	/* 1 + index into ledger_page.job; 0: no job, or the account was moved to the job */
	uint32_t is_final; /* all of the step is booked */
	uint32_t pad;
};

struct ledger_job_account {
	uint32_t job_id; /* 0: free */
	uint32_t uid;
	uint32_t cpus;
	uint32_t open_slots;
	uint64_t mem_mb;
	uint64_t start_wall_ns;
	uint64_t last_seen_mono_ns; /* when the last of its ended steps ended */
	uint32_t gpu_ppm[GPUS_MAX]; /* share of each GPU that the job holds */
	uint16_t gpu_instances[GPUS_MAX]; /* of MIG: bit N for GPU instance N */
	struct account closed;	/* of steps that left their slots */
	struct values values; /* of steps that left their slots */
	uint64_t closed_busy_ns;
};

/* Where the idle power of a part comes from. */
enum ledger_idle {
	LEDGER_IDLE_NONE, /* not known: all energy of the part is dynamic */
	LEDGER_IDLE_LEARNED,
	LEDGER_IDLE_STATED, /* by the source: a model */
	LEDGER_IDLE_CONFIGURED,
	LEDGER_IDLE_ESTIMATED, /* from how power changes with activity; the part was never seen idle */
};
const char *ledger_idle_name(enum ledger_idle idle); /* "none", "learned", ... */

/* A part of the node whose energy one sensor shows: a socket, its memory, a GPU, the rest of the node. */
struct ledger_part {
	uint8_t domain; /* enum domain */
	uint8_t unit;
	uint8_t source;	 /* enum source_id; with the two above it names the part */
	uint8_t quality; /* enum reading_quality */
	uint32_t idle;	 /* enum ledger_idle */
	uint64_t energy_uj; /* measured since the part was first seen */
	uint64_t power_mw;  /* over the last whole SampleInterval */
	uint64_t idle_mw;   /* the idle power that is used */
	uint64_t learned_mw; /* the idle power as learned; 0: nothing yet */
	uint64_t t_energy_mono_ns; /* when the part last had energy; 0: not yet */
};

struct ledger_page {
	uint64_t t_mono_ns;	/* of the last tick; 0: none yet */
	uint64_t t_wall_ns;
	uint64_t node_busy_ns;	/* raw, since boot */
	uint64_t socket_busy_ns[SOCKETS_MAX]; /* the same by socket */
	uint32_t socket_cpus[SOCKETS_MAX];    /* processors that the kernel has there */
	struct source_state state[SOURCE_N];
	struct account measured;
	struct account unallocated;
	struct account system;
	struct account retired;	     /* of jobs that are no longer listed below */
	/* of all parts of a domain */
	uint64_t power_mw[DOMAIN_N];
	uint64_t idle_mw[DOMAIN_N];
	uint32_t domain_source[DOMAIN_N]; /* enum source_id, SOURCE_N: none */
	uint32_t nparts;
	struct ledger_part part[READING_PARTS_MAX];
	uint32_t factor_known;	     /* emissions were computed */
	uint32_t factor_step;	     /* enum factor_step; with the next two: at the last tick */
	struct emission_factor factor;
	uint64_t factor_until_s;     /* end of its point in the series; 0: it is not from the series */
	uint32_t market_known;	     /* market-based emissions were computed */
	uint64_t market_mg_per_kwh;
	uint64_t pue_milli;
	uint64_t ticks;
	uint64_t conservation_error_uj; /* |measured - booked|, summed; must read 0 */
	uint64_t rejected;	     /* implausible or failed counter readings */
	uint64_t wraps;
	uint64_t late;		     /* readings that came too late, and ticks at which a meter's last reading was too old */
	uint64_t disagreement_uj;    /* energy of the parts above that of the node's own sensor */
	uint64_t gaps;		     /* ticks longer than 10 SampleIntervals */
	uint64_t lost_steps;	     /* stepd died with its slot open */
	uint64_t slots_full;	     /* claims that found no slot */
	uint32_t nsteps, njobs;	     /* entries ever used below; all entries beyond are empty */
	struct ledger_step_account step[LEDGER_STEPS];
	struct ledger_job_account job[LEDGER_JOBS];
};

struct ledger; /* an open mapping */

/* --- all users ------------------------------------------------------------------------- */

/*
 * For slurmd: creates DIR (0755) and the file (0600), or takes over the existing file. A ledger of
 * another boot, layout, size or header checksum is replaced, and *ret_fresh is set. If a ledger of the
 * same boot is replaced, this is logged. -EBUSY: another live slurmd of that node name holds the ledger.
 * Try again later: from 23.11 on, a slurmd that reconfigures itself starts its successor before it
 * ends.
 */
int ledger_create(const char *dir, const char *node, struct ledger **ret, bool *ret_fresh,
		  struct errmsg *err);
/*
 * For slurmstepd and the CLI. -ENOENT: no slurmd with the plugin ran since boot. -EPROTO: the file
 * has another layout.
 */
int ledger_open(const char *dir, const char *node, bool writable, struct ledger **ret,
		struct errmsg *err);
void ledger_close(struct ledger *l);

const char *ledger_node(const struct ledger *l);

/*
 * A consistent copy of the current page, into the caller's memory (it is about 1.3 MB: heap).
 * Never blocks the sampler. -EAGAIN: the page was replaced 1,000 times meanwhile, which no sampler can do.
 */
int ledger_snapshot(const struct ledger *l, struct ledger_page *ret);

/*
 * Energy and metric values of the whole job on this node: its closed steps, and its running steps
 * so far. Either pointer may be NULL. -ENOENT: no such job.
 */
int ledger_job_total(const struct ledger *l, uint32_t job_id, struct account *ret_energy,
		     struct values *ret_values, uint64_t *ret_busy_ns);

/* BYTES times NS, in KiB seconds. 0 if BYTES is UINT64_MAX, not known. */
uint64_t ledger_kib_s(uint64_t bytes, uint64_t ns);

/*
 * Fills the memory metrics of VALUES for step ID. SEEN has the sampler's readings; NULL: there are none. The step is
 * assumed to have held the same memory from the last reading until NOW_MONO_NS.
 */
void ledger_memory_values(const struct ledger_identity *id, const struct ledger_memory *seen,
			  uint64_t now_mono_ns, struct values *values);

/* Fills the energy and emission metrics of VALUES from account A. */
void ledger_account_values(const struct ledger_page *page, const struct account *a,
			   struct values *values);
/* The same by the current page, without a copy of it. -EAGAIN as with ledger_snapshot(). */
int ledger_values(const struct ledger *l, const struct account *a, struct values *values);

/* Reads the mount points of ledger_set_mounts(). False: it was not called. */
bool ledger_mounts(const struct ledger *l, struct cgmount_points *ret);

/* Reads the GPUs of ledger_set_slices(); none if no GPU is divided. */
void ledger_slices(const struct ledger *l, struct gpu_slices *ret);

/* --- slurmstepd ------------------------------------------------------------------------- */

/*
 * Claims a slot for this process, writes ID and opens the slot. Then hints to the sampler that a
 * tick is due. -ENOSPC: all slots, or all slots of one user, are taken; that is counted.
 */
int ledger_claim(struct ledger *l, const struct ledger_identity *id, unsigned int *ret_slot);

/* The slot that process PID claimed; so spank finds the slot of acct_gather. -ENOENT. */
int ledger_find(const struct ledger *l, pid_t pid, unsigned int *ret_slot);

/* Direct access, valid until ledger_close(). */
struct ledger_slot *ledger_slot(struct ledger *l, unsigned int slot);

/*
 * Sets FLAG in SLOT and returns true, or returns false if another living step of its job on this node has
 * FLAG. If two steps ask at once, it may happen that neither gets FLAG, but never that both do.
 */
bool ledger_flag_alone(struct ledger *l, unsigned int slot, uint32_t flag);

/*
 * Publishes the end of the step, its CPU time BUSY_NS (UINT64_MAX: not known) and its metric values. Then
 * asks for a tick and waits until the tick is booked, at most TIMEOUT_NS. -ETIMEDOUT: no tick came, and the
 * values are those of the last tick. In both cases *ret_energy has the step's own account. -ENODATA: no tick
 * has seen the step, so its energy is not known.
 */
int ledger_finish(struct ledger *l, unsigned int slot, uint64_t busy_ns, uint64_t timeout_ns,
		  struct account *ret_energy);

/*
 * Publishes VALUES of the caller's step in its slot. While the step runs, these are the values that only
 * its slurmstepd can read; before ledger_finish(), they are the final values. Two threads must not call
 * this function at once.
 */
void ledger_tell(struct ledger *l, unsigned int slot, const struct values *values);
/* Reads what ledger_tell() published. False: the writer was killed while it wrote, or never stops writing. */
bool ledger_told(const struct ledger_slot *s, struct values *ret);

/*
 * Reads all metric values of a running step except its energy, both the sampler's and those of its slurmstepd.
 * -ENODATA: the sampler has not read the step yet.
 */
int ledger_step_live(const struct ledger *l, unsigned int slot, struct values *ret);

/* The step's own account at the last tick, for polls while the step runs. -ENODATA: no tick has seen the step. */
int ledger_step_energy(const struct ledger *l, unsigned int slot, struct account *ret);
/* The step's memory at the last tick. -ENODATA: it was not read yet. */
int ledger_step_memory(const struct ledger *l, unsigned int slot, struct ledger_memory *ret);
/* The use of the step's GPUs at the last tick. -ENODATA: the step holds no GPU, or none was read yet. */
int ledger_step_gpu(const struct ledger *l, unsigned int slot, struct ledger_gpu *ret);

/* What one tick booked for a step. */
struct ledger_view {
	uint64_t t_mono_ns, t_wall_ns; /* of the tick */
	struct account energy;
	uint64_t busy_ns;	/* CPU time */
	uint64_t told_mono_ns;	/* when busy_ns was read; 0: never yet */
	struct ledger_memory memory;
	struct ledger_gpu gpu;
};
/* The values of the last tick. -ENODATA: no tick has seen the step. */
int ledger_step_view(const struct ledger *l, unsigned int slot, struct ledger_view *ret);

/*
 * Asks for a tick and waits, at most TIMEOUT_NS, until a tick that began later is booked. Returns
 * 0, or -ETIMEDOUT: the page is of an earlier tick.
 */
int ledger_await_tick(struct ledger *l, uint64_t timeout_ns);

/* Gives the slot up, after ledger_finish() and after its metric values were read. */
void ledger_leave(struct ledger *l, unsigned int slot);

/*
 * Waits until no other slot of JOB_ID on this node belongs to a living stepd, at most
 * TIMEOUT_NS. For the extern step, which reports the whole job and so must end last. 0 or
 * -ETIMEDOUT.
 */
int ledger_wait_others(struct ledger *l, uint32_t job_id, unsigned int own_slot,
		       uint64_t timeout_ns);

/* --- the sampler ------------------------------------------------------------------------ */

/*
 * Waits for a request, until HINTS if there is a hint, or until DEADLINE (both CLOCK_MONOTONIC).
 * Returns true if there was a request.
 */
bool ledger_wait_request(struct ledger *l, uint64_t hints_mono_ns, uint64_t deadline_mono_ns);

/* Asks for a tick without being a step (tests, shutting down the sampler's wait). */
void ledger_request_tick(struct ledger *l);

/* Asks for a tick for which no process waits: a tick that comes within some milliseconds is enough. */
void ledger_hint_tick(struct ledger *l);

/*
 * The page to write: a copy of the current page. ledger_turn() makes the copy current and wakes all
 * who wait for a tick. Without ledger_turn() nothing changes.
 */
struct ledger_page *ledger_begin(struct ledger *l);
void ledger_turn(struct ledger *l);

/* Publishes the metric values so far of the step in SLOT with this CLAIM. */
void ledger_set_live(struct ledger *l, unsigned int slot, uint32_t claim, const struct values *values);
/* The values of ledger_set_live(), for the sampler's thread. NULL: there are none of that step. */
const struct values *ledger_live(const struct ledger *l, unsigned int slot, uint32_t claim);

/* The mount points of the cgroup hierarchies, so that slurmstepd need not look for them. */
void ledger_set_mounts(struct ledger *l, const struct cgmount_points *mounts);

/* The GPUs that MIG divides, for slurmstepds: they do not load NVML. */
void ledger_set_slices(struct ledger *l, const struct gpu_slices *slices);

/* The current page, for the sampler's own reading. */
const struct ledger_page *ledger_current(const struct ledger *l);

#endif
