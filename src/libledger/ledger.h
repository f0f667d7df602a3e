/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger.h - the node ledger: one file per slurmd, LedgerDir/<node>.ledger, in shared memory. Only
 * the sampler in slurmd writes energy. Each slurmstepd writes identity and metric values of its
 * own slot. The ledger outlives slurmd: the next sampler continues it.
 *
 * Two pages hold all accounts and the raw counters from which they were computed. A tick copies the
 * current page to the other page, changes the copy, and makes the copy current with one atomic store.
 * So even if the sampler is killed, this sum holds in the current page:
 *
 *	sum(step) + sum(job.closed) + retired + unallocated + system == measured
 *
 * A reader never waits for a writer.
 *
 * The states of a slot, each with who sets it and what is true then:
 *	FREE
 *	CLAIMED (slurmstepd): the step's identity is being written
 *	OPEN    (slurmstepd): energy is booked from t_open_mono_ns on
 *	CLOSING (slurmstepd): the final CPU time and metric values are written
 *	CLOSED  (sampler): the step's last tick is booked
 *	LEFT    (slurmstepd): has read its account and needs the slot no more
 *	FREE    (sampler): account and metric values were added to the job's
 * If the slurmstepd of a slot is gone, the sampler frees the slot from any state and adds its account
 * to the job's. A slot that was CLOSING has all values; a slot that was OPEN is counted as a lost step.
 * A job's entry stays for LEDGER_JOB_LINGER_NS after its last slot was freed, so that Prometheus can
 * scrape its last values. Then the job's account is added to `retired`.
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
#include "src/libledger/whole.h"
#include "src/libmeter/activity/cgmount.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/errmsg.h"

#define LEDGER_VERSION 17
#define LEDGER_STEPS 1024
#define LEDGER_STEPS_OF_USER (LEDGER_STEPS / 2) /* most slots of one user; the rest is for other users */
#define LEDGER_JOBS LEDGER_STEPS /* as many as steps, so that there is room for the job of each step */
#define LEDGER_JOB_LINGER_NS (120 * UINT64_C(1000000000))

/* Step ids of Slurm for steps without a number, as SLURM_EXTERN_CONT and others in slurm.h. The
 * adapters assert that the values are equal. */
#define LEDGER_STEP_EXTERN UINT32_C(0xfffffffc)
#define LEDGER_STEP_BATCH UINT32_C(0xfffffffb)
#define LEDGER_STEP_INTERACTIVE UINT32_C(0xfffffffa)
#define LEDGER_HET_NONE UINT32_C(0xfffffffe)

/* Returns "batch", "extern", "interactive", or BUF, into which the number of the step is then written. */
const char *ledger_step_name(uint32_t step_id, char *buf, size_t size) _must_check_;

enum ledger_state {
	SLOT_FREE,
	SLOT_CLAIMED,
	SLOT_OPEN,
	SLOT_CLOSING,
	SLOT_CLOSED,
	SLOT_LEFT,
};

#define LEDGER_FLAG_REPORT (1u << 0)	 /* --ceems-report: print a table when the step ends */
#define LEDGER_FLAG_PERF (1u << 1)	 /* `request` is from --ceems-perf, not from PerfDefault */
#define LEDGER_FLAG_PORTS (1u << 2)	 /* this step counts the traffic of the node's RDMA ports */
#define LEDGER_FLAG_PROFILE (1u << 3)	 /* --ceems-profile: ceems-profile samples this step */
#define LEDGER_FLAG_UNPROFILED (1u << 4) /* --ceems-profile: ceems-profile could not be started */
#define LEDGER_FLAG_CROWDED (1u << 5)	 /* the same, as too many other steps are profiled */

/*
 * Identity of the step. Its slurmstepd writes it before SLOT_OPEN; only ledger_set_memory() changes it
 * afterwards.
 */
struct ledger_identity {
	uint32_t job_id; /* in a heterogeneous job: the id of the component, as in cgroup names */
	uint32_t step_id;
	uint32_t het_comp;
	uint32_t uid;
	uint32_t node_id; /* rank of the node within the step */
	uint32_t node_count;
	uint32_t job_cpus; /* CPUs that the job has on this node */
	uint32_t step_cpus;
	uint64_t job_mem_mb;
	uint64_t step_mem_mb;
	/* the memory limit that Slurm gave the step; 0: Slurm does not allocate memory */
	uint64_t limit_mem_mb;
	uint64_t start_wall_ns;
	/* job_cpus and step_cpus by socket. All 0: the sockets are not known, and all sockets are assumed. */
	uint32_t job_socket_cpus[SOCKETS_MAX];
	uint32_t step_socket_cpus[SOCKETS_MAX];
	/* Share of each GPU, in ppm: 1000000 for a whole one, less for a MIG slice or a shard. */
	uint32_t job_gpu_ppm[GPUS_MAX];
	uint32_t step_gpu_ppm[GPUS_MAX];
	uint16_t job_gpu_instances
		[GPUS_MAX]; /* MIG slices or parts (kfd.h) that are held: bit N for number N */
	uint16_t step_gpu_instances[GPUS_MAX];
};

/* Metric values of a running step so far. The sampler writes them (live.h). */
struct ledger_live {
	_Atomic uint32_t seq; /* odd: being written */
	uint32_t claim;	      /* claim number of the step whose values these are; 0: no step */
	struct values values; /* all values but energy; a value never decreases */
};

struct ledger_slot {
	_Atomic uint32_t state; /* enum ledger_state; stored after the fields that the new state publishes */
	/* LEDGER_FLAG_*; the slurmstepd sets them at the latest when it forks the tasks */
	_Atomic uint32_t flags;
	/* a slurmstepd claims the slot by changing 0 to its pid; 0: the slot is free */
	_Atomic int32_t stepd_pid;
	uint32_t claim;	      /* claim number: how often the slot was claimed. Identifies the step in it */
	uint64_t stepd_start; /* field 22 of /proc/PID/stat; reveals that another process reused the pid */
	uint64_t t_open_mono_ns;
	uint64_t t_close_mono_ns;
	/*
	 * The step's cgroup. The slurmstepd writes the paths after it forked the first task, and then sets
	 * cgroup_known.
	 */
	struct cgroup_paths cgroup;
	_Atomic uint32_t cgroup_known;
	uint32_t bpf_slot;	/* the step's row of task counters in the BPF maps; 0: none */
	uint64_t final_busy_ns; /* CPU time of the step at its end; UINT64_MAX: not known */
	/* The next three are written together with `flags`. */
	struct perf_request request;	/* --ceems-perf or PerfDefault */
	uint64_t trace_ns;		/* interval of --ceems-trace; 0: the option was not given */
	struct profile_request profile; /* --ceems-profile; if hz is 0, the option was not given */
	struct ledger_identity id;
	_Atomic uint32_t values_seq; /* odd: being written */
	uint32_t forbidden;   /* what ForbidOptions forbids to the job, see forbid.h; set before `request` */
	struct values values; /* written by the slurmstepd, without energy; final from SLOT_CLOSING on */
	struct ledger_live live; /* written by the sampler */
};

/* The memory that a step holds, as the sampler reads it (membook.h). */
struct ledger_memory {
	uint64_t read_mono_ns; /* time of the last reading; 0: no reading yet, and the other members are 0 */
	uint64_t held_bytes;   /* working set at the last reading */
	uint64_t cache_bytes;  /* page cache at the last reading; UINT64_MAX: not known */
	uint64_t peak_bytes;   /* largest working set; in the extern step: of all steps of the job together */
	uint64_t swap_peak_bytes; /* UINT64_MAX: not known */
	/* Working set and page cache, times the time in which they were held, up to the last reading. */
	uint64_t held_kib_s;
	uint64_t cache_kib_s;
};

/* The account of the step in a slot. Only the sampler writes it, in the page that it makes current. */
struct ledger_step_account {
	struct account energy;
	uint64_t busy_ns;	/* CPU time booked so far */
	uint64_t told_mono_ns;	/* when busy_ns was read; 0: never yet */
	uint64_t until_mono_ns; /* the step is booked up to this time; 0: no tick has seen it */
	uint64_t suspended_ns;	/* of the ticks in which the step was suspended all the time (frozen.h) */
	struct ledger_memory memory;
	struct ledger_gpu gpu;
	/* What the slurmstepd reports to Slurm; in an extern step, for the whole job. Only if is_rounded. */
	struct whole whole;
	uint32_t claim; /* claim number of the step whose account this is */
	uint32_t job;	/* 1 + index into ledger_page.job; 0: no job, or the account was moved to the job */
	uint32_t is_final; /* the step has ended and its last tick is booked */
	uint32_t is_rounded;
};

struct ledger_job_account {
	uint32_t job_id; /* 0: the entry is free */
	uint32_t uid;
	uint32_t cpus;
	uint32_t open_slots;
	uint64_t mem_mb;
	uint64_t start_wall_ns;
	uint64_t last_seen_mono_ns;	  /* when the step that ended last ended */
	uint32_t gpu_ppm[GPUS_MAX];	  /* share of each GPU that the job holds */
	uint16_t gpu_instances[GPUS_MAX]; /* MIG slices that the job holds: bit N for GPU instance N */
	/* Energy, metric values and CPU time of the steps that left their slots. */
	struct account closed;
	struct values values;
	uint64_t closed_busy_ns;
};

/* Where the idle power of a part comes from. */
enum ledger_idle {
	LEDGER_IDLE_NONE, /* not known: all energy of the part is booked as dynamic, see account.no_idle_uj */
	LEDGER_IDLE_LEARNED, /* measured while the part was idle */
	LEDGER_IDLE_STATED,  /* given by the source, which is a model */
	LEDGER_IDLE_CONFIGURED,
	LEDGER_IDLE_ESTIMATED, /* from how power changes with activity, as the part was never seen idle */
};
const char *ledger_idle_name(enum ledger_idle idle); /* "none", "learned", ... */

/* The account of a part of the node (part.h), over all ticks. */
struct ledger_part {
	uint8_t domain; /* enum domain */
	uint8_t unit;
	uint8_t source;		   /* enum source_id; domain, unit and source together identify the part */
	uint8_t quality;	   /* enum reading_quality */
	uint8_t idle;		   /* enum ledger_idle */
	uint8_t doubt;		   /* enum doubt, at the last tick */
	uint64_t energy_uj;	   /* measured and booked since the part was first seen */
	uint64_t held_uj;	   /* measured, but not booked yet (src/libnode/pace.h) */
	uint64_t power_mw;	   /* over the last whole SampleInterval */
	uint64_t idle_mw;	   /* the idle power that is used */
	uint64_t learned_mw;	   /* the idle power as learned; 0: not learned yet */
	uint64_t t_energy_mono_ns; /* when the part last had energy; 0: not yet */
};

struct ledger_page {
	uint64_t t_mono_ns; /* of the last tick; 0: none yet */
	uint64_t t_wall_ns;
	uint64_t node_busy_ns;		      /* CPU time of all processes since boot */
	uint64_t socket_busy_ns[SOCKETS_MAX]; /* node_busy_ns by socket */
	uint32_t socket_cpus[SOCKETS_MAX];    /* number of CPUs that the kernel has on each socket */
	struct source_state state[SOURCE_N];
	struct account measured;
	struct account unallocated;
	struct account system;
	struct account retired; /* of jobs that are no longer listed below */
	/* of all parts of a domain */
	uint64_t power_mw[DOMAIN_N];
	uint64_t idle_mw[DOMAIN_N];
	uint32_t domain_source[DOMAIN_N]; /* enum source_id; SOURCE_N: no source */
	uint32_t nparts;
	struct ledger_part part[PARTS_MAX];
	uint32_t factor_known; /* emissions were computed */
	uint32_t factor_step;  /* enum factor_step; with the next two: at the last tick */
	struct emission_factor factor;
	/* the series gives this factor up to here; 0: it is not from the series */
	uint64_t factor_until_s;
	uint32_t market_known; /* market-based emissions were computed */
	uint64_t market_mg_per_kwh;
	uint64_t pue_milli;
	uint64_t ticks;
	uint64_t conservation_error_uj; /* |measured - booked|, summed over all ticks; must be 0 */
	uint64_t rejected;		/* implausible or failed counter readings */
	uint64_t wraps;
	/* readings that came too late, and ticks at which a meter's last reading was too old */
	uint64_t late;
	/* by how much the energy of all parts exceeded that of the node's own sensor */
	uint64_t disagreement_uj;
	uint64_t gaps;	     /* ticks longer than 10 SampleIntervals */
	uint64_t lost_steps; /* steps whose slurmstepd died while the slot was OPEN */
	uint64_t slots_full; /* claims that found no slot */
	/* what rounding has left over of the jobs, by their extern steps, and of all other steps */
	struct whole_carry jobs_carry, steps_carry;
	/* how many entries of step[] and job[] were ever used; the others are empty */
	uint32_t nsteps, njobs;
	struct ledger_step_account step[LEDGER_STEPS];
	struct ledger_job_account job[LEDGER_JOBS];
};

struct ledger; /* an open mapping */

/* --- all users ------------------------------------------------------------------------- */

/*
 * For slurmd: creates DIR (0755) and the file (0600), or takes over the existing file. A file of
 * another boot, layout or size, or one that is damaged, is replaced. *RET_FRESH says whether the ledger
 * is new. The loss of a ledger of the same boot is logged. -EBUSY: another live slurmd of that node
 * name holds the ledger. Try again later, because from Slurm 23.11 on, a slurmd that reconfigures
 * itself starts its successor before it ends.
 */
int ledger_create(const char *dir, const char *node, struct ledger **ret, bool *ret_fresh,
		  struct errmsg *err) _must_check_;
/*
 * For slurmstepd and the CLI. -ENOENT: no slurmd with the plugin ran since boot. -EPROTO: the file
 * has another layout.
 */
int ledger_open(const char *dir, const char *node, bool writable, struct ledger **ret,
		struct errmsg *err) _must_check_;
/*
 * Returns whether slurmd has replaced L by a new ledger in DIR since ledger_open(). It does so if its ledger
 * has another version. Nobody books into L any more.
 */
bool ledger_is_replaced(const struct ledger *l, const char *dir);
void ledger_close(struct ledger *l);

const char *ledger_node(const struct ledger *l);

/*
 * Copies the current page to *RET, all of it from the same tick. A page is about 1.3 MB, so put it on the
 * heap. Never blocks the sampler. -EAGAIN: 1,000 copies were each overtaken by a new page; no sampler is
 * so fast.
 */
int ledger_snapshot(const struct ledger *l, struct ledger_page *ret) _must_check_;

/*
 * Gives energy, metric values and CPU time of the whole job on this node: of its ended steps, and of its
 * running steps so far. Each ret_* may be NULL. -ENOENT: the ledger has no such job.
 */
int ledger_job_total(const struct ledger *l, uint32_t job_id, struct account *ret_energy,
		     struct values *ret_values, uint64_t *ret_busy_ns) _must_check_;

/* Returns BYTES times NS in KiB seconds, or 0 if BYTES is UINT64_MAX (not known). */
uint64_t ledger_kib_s(uint64_t bytes, uint64_t ns);

/*
 * Fills the memory metrics of VALUES for step ID from SEEN, the sampler's readings (NULL: there are none).
 * From the last reading until NOW_MONO_NS, the step is assumed to have held the same memory. What no
 * reading saw stays unknown.
 */
void ledger_memory_values(const struct ledger_identity *id, const struct ledger_memory *seen,
			  uint64_t now_mono_ns, struct values *values);

/*
 * Fills the energy and emission metrics of VALUES from account A. PAGE says which
 * sensors and factors there are.
 */
void ledger_account_values(const struct ledger_page *page, const struct account *a, struct values *values);
/* As ledger_account_values(), with the current page. -EAGAIN as with ledger_snapshot(). */
int ledger_values(const struct ledger *l, const struct account *a, struct values *values);

/* Gives the mount points of ledger_set_mounts(). False: slurmd has not set them. */
bool ledger_mounts(const struct ledger *l, struct cgmount_points *ret) _must_check_;

/* Gives the MIG slices of ledger_set_slices(). RET->n is 0 if MIG divides no GPU. */
void ledger_slices(const struct ledger *l, struct gpu_slices *ret);

/* --- slurmstepd ------------------------------------------------------------------------- */

/*
 * Claims a slot for this process, writes ID to the slot and opens it. Then asks for a tick with
 * ledger_hint_tick(). -ENOSPC: all slots are taken, or the user has LEDGER_STEPS_OF_USER of them; the
 * page counts such claims in slots_full.
 */
int ledger_claim(struct ledger *l, const struct ledger_identity *id, unsigned int *ret_slot) _must_check_;

/*
 * Finds the slot that process PID has claimed. So the spank plugin finds the slot that the acct_gather
 * plugin claimed in the same slurmstepd. -ENOENT: the process has no slot.
 */
int ledger_find(const struct ledger *l, pid_t pid, unsigned int *ret_slot) _must_check_;

/*
 * Says that Slurm has reduced the memory of the step in SLOT and of its job, as --mem-update and scontrol do
 * from Slurm 26.05 on. The arguments are members of struct ledger_identity. Counts from the next tick on.
 */
void ledger_set_memory(struct ledger *l, unsigned int slot, uint64_t job_mem_mb, uint64_t step_mem_mb,
		       uint64_t limit_mem_mb);

/* Returns the slot itself, valid until ledger_close(). NULL: SLOT is out of range. */
struct ledger_slot *ledger_slot(struct ledger *l, unsigned int slot);

/*
 * Sets FLAG in SLOT and returns true, unless another living step of the same job on this node has FLAG;
 * then returns false. If two steps ask at once, perhaps neither gets FLAG, but never both.
 */
bool ledger_flag_alone(struct ledger *l, unsigned int slot, uint32_t flag);

/*
 * Sets FLAG in SLOT and returns true, unless MAX other living steps of the node have FLAG, or MAX_OF_USER of
 * the same user; then returns false. Of steps that ask at once, perhaps too few get FLAG, but never too many.
 */
bool ledger_flag_if_few(struct ledger *l, unsigned int slot, uint32_t flag, unsigned int max,
			unsigned int max_of_user);

/*
 * Publishes the end of the step and its CPU time BUSY_NS (UINT64_MAX: not known). Call ledger_tell() with
 * the final metric values before. Then asks for a tick and waits until the tick is booked, at most
 * TIMEOUT_NS. *RET_ENERGY is then the step's account. -ETIMEDOUT: no tick came; *RET_ENERGY is the account
 * at the last tick. -ENODATA: no tick has seen the step, so its energy is not known.
 */
int ledger_finish(struct ledger *l, unsigned int slot, uint64_t busy_ns, uint64_t timeout_ns,
		  struct account *ret_energy) _must_check_;

/*
 * Publishes in SLOT the metric values that only the caller, a plugin of the step's slurmstepd, can read. The
 * last call before ledger_finish() gives the final values. Two threads must not call this function at once.
 */
void ledger_tell(struct ledger *l, unsigned int slot, const struct values *values);
/* Reads what ledger_tell() published. False: the writer was killed while it wrote, or never stops writing. */
bool ledger_told(const struct ledger_slot *s, struct values *ret) _must_check_;

/*
 * Reads all metric values of a running step except its energy, both the sampler's and those of its
 * slurmstepd. -ENODATA: the sampler has not read the step yet.
 */
int ledger_step_live(const struct ledger *l, unsigned int slot, struct values *ret) _must_check_;

/* Gives the step's account at the last tick. -ENODATA: no tick has seen the step. */
int ledger_step_energy(const struct ledger *l, unsigned int slot, struct account *ret) _must_check_;
/*
 * Gives the whole joules that an ended step reports (whole.h), after ledger_finish() has returned 0.
 * -ENODATA: they are not known, because no tick has booked the step's end.
 */
int ledger_step_whole(const struct ledger *l, unsigned int slot, struct whole *ret) _must_check_;
/* Gives the step's memory at the last tick. -ENODATA: no tick has read it. */
int ledger_step_memory(const struct ledger *l, unsigned int slot, struct ledger_memory *ret) _must_check_;
/*
 * Gives the use of the step's GPUs at the last tick. -ENODATA: the step holds no GPU,
 * or no tick has read one.
 */
int ledger_step_gpu(const struct ledger *l, unsigned int slot, struct ledger_gpu *ret) _must_check_;

/* What one tick booked for a step. */
struct ledger_view {
	uint64_t t_mono_ns, t_wall_ns; /* time of the tick */
	struct account energy;
	uint64_t busy_ns;      /* CPU time of the step so far */
	uint64_t told_mono_ns; /* when busy_ns was read; 0: never yet */
	uint64_t suspended_ns;
	struct ledger_memory memory;
	struct ledger_gpu gpu;
};
/* Gives what the last tick booked for the step in SLOT. -ENODATA: no tick has seen the step. */
int ledger_step_view(const struct ledger *l, unsigned int slot, struct ledger_view *ret) _must_check_;

/*
 * Asks for a tick and waits, at most TIMEOUT_NS, until a tick that began after the call is booked.
 * -ETIMEDOUT: there was none, and the current page is from before the call.
 */
int ledger_await_tick(struct ledger *l, uint64_t timeout_ns);

/*
 * Gives the slot up. To be called after ledger_finish(), when the caller has read
 * what it needs from the slot.
 */
void ledger_leave(struct ledger *l, unsigned int slot);

/*
 * Waits, at most TIMEOUT_NS, until all other steps of JOB_ID on this node have left their slots or their
 * slurmstepd is gone. For the extern step, which reports the whole job and so must end last. -ETIMEDOUT:
 * another step is still there.
 */
int ledger_wait_others(struct ledger *l, uint32_t job_id, unsigned int own_slot, uint64_t timeout_ns);

/*
 * Lets FN add to the notes of rapl's counters (rapl_note.h), if no slurmd has the ledger in DIR and no other
 * process is doing so. NOTES are those since the last tick, whose page is PAGE. Holds the ledger meanwhile,
 * so FN must take milliseconds at most. -EBUSY: slurmd lives, or another process adds. -ESTALE: slurmd has
 * begun a new ledger.
 */
typedef void ledger_note_fn(void *arg, const struct ledger_page *page, struct source_notes *notes);
int ledger_note_away(struct ledger *l, const char *dir, ledger_note_fn *fn, void *arg) _must_check_;

/* --- the sampler ------------------------------------------------------------------------ */

/*
 * Waits until a tick is due. It is due at once if a process waits for a tick, at HINTS_MONO_NS if there was
 * a hint, and else at DEADLINE_MONO_NS. Returns true if there was a request or a hint.
 */
bool ledger_wait_request(struct ledger *l, uint64_t hints_mono_ns, uint64_t deadline_mono_ns);

/*
 * Ends the sampler's wait at once, without waiting for the tick itself. For tests and the end of the sampler.
 */
void ledger_request_tick(struct ledger *l);

/* Asks for a tick within some milliseconds; no process waits for it. Several hints lead to one tick. */
void ledger_hint_tick(struct ledger *l);

/*
 * ledger_begin() returns the page to write: a copy of the current page. ledger_turn() makes that copy
 * current and wakes all who wait for a tick. Without ledger_turn(), readers see no change.
 */
struct ledger_page *ledger_begin(struct ledger *l);
void ledger_turn(struct ledger *l);

/* Publishes the metric values so far of the step that has SLOT with claim number CLAIM. */
void ledger_set_live(struct ledger *l, unsigned int slot, uint32_t claim, const struct values *values);
/*
 * Returns the values of ledger_set_live(). Only for the sampler's thread. NULL: there are none of that step.
 */
const struct values *ledger_live(const struct ledger *l, unsigned int slot, uint32_t claim);

/* Publishes the mount points of the cgroup hierarchies, so that no slurmstepd has to look for them. */
void ledger_set_mounts(struct ledger *l, const struct cgmount_points *mounts);

/* Publishes the slices of the GPUs that MIG divides. A slurmstepd cannot find them: it does not load NVML. */
void ledger_set_slices(struct ledger *l, const struct gpu_slices *slices);

/* Gives the notes that were made since the last tick. RET->n is 0: there are none. */
void ledger_notes(const struct ledger *l, struct source_notes *ret);

/* Returns the current page itself. Only for the sampler, since another process may see it change. */
const struct ledger_page *ledger_current(const struct ledger *l);

#endif
