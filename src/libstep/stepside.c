/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstep/stepside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "src/libcore/forbid.h"
#include "src/libemission/emission.h"
#include "src/libmeter/activity/cgmount.h"
#include "src/libmeter/activity/cputime.h"
#include "src/libmeter/activity/pressure.h"
#include "src/libmeter/sensor/rapl/rapl_note.h"
#include "src/libstep/steplive.h"
#include "src/libstep/stepmemory.h"
#include "src/libstep/stepprobes.h"
#include "src/libstep/stepprofile.h"
#include "src/libstep/steptrace.h"
#include "src/librecord/report.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"
#include "src/libutil/parse.h"

#define CORES_MAX UINT16_MAX
#define REPORT_MAX 4096 /* PIPE_BUF: a pipe takes so many bytes completely or not at all */

struct stepside {
	const struct settings *settings;
	struct ledger_identity id;
	struct ledger *ledger;
	unsigned int slot;
	struct cputime *cputime;
	struct stepprobes *probes;	    /* NULL: there was no task yet */
	struct steplive *live;		    /* only it may use the probes until it is stopped */
	const struct stepfile_owner *owner; /* NULL: not known */
	struct steptrace *trace;	    /* NULL: no --ceems-trace */
	struct stepprofile *profile;	    /* NULL: no --ceems-profile */
	/* what their user must know; empty: they are complete */
	struct errmsg lost_trace, lost_profile;
	bool has_whole_node;
	uint64_t noted_ns; /* when this process last tried to read RAPL's counters for slurmd */
	struct step_detail detail;
	uint64_t tick_ns; /* longest wait for a tick */
	uint64_t open_ns;
	uint64_t elapsed_ns;
	bool is_served; /* the sampler has booked the step's end, so slurmd lives */
	/* the last call of stepside_energy(); the next call gives the mean power since then */
	uint64_t poll_ns, poll_uj, power_mw;
	/* what stepside_live() found, and when */
	uint64_t now_ns;
	struct values now;
};

static bool is_extern(const struct stepside *st)
{
	return st->id.step_id == LEDGER_STEP_EXTERN;
}

static void find_sockets(struct stepside *st, const struct stepside_cores *cores)
{
	/* may be read from a page that changes: after the first tick, it is the same in all pages */
	const uint32_t *socket_cpus = ledger_current(st->ledger)->socket_cpus;

	stepside_spread_cores(cores->job, cores, socket_cpus, st->id.job_socket_cpus);
	stepside_spread_cores(cores->step, cores, socket_cpus, st->id.step_socket_cpus);
}

int stepside_open(const struct settings *s, const char *node, const struct ledger_identity *id,
		  const struct stepside_cores *cores, struct stepside **ret, struct errmsg *err)
{
	struct perf_request *request;
	struct stepside *st = calloc(1, sizeof(*st));
	struct cgmount_points mounts;
	int rc;

	if (!st)
		return errmsg_errno(err, -ENOMEM, "step");
	st->settings = s;
	st->id = *id;
	st->has_whole_node = id->job_cpus && id->job_cpus == cores->node_cores * cores->cpus_per_core;
	rc = ledger_open(s->ledger_dir, node, /* writable= */ true, &st->ledger, err);
	if (rc < 0)
		goto fail;
	if (ledger_mounts(st->ledger, &mounts))
		cgmount_expect(&mounts);
	find_sockets(st, cores);
	rc = ledger_claim(st->ledger, &st->id, &st->slot);
	if (rc < 0) {
		(void)errmsg_errno(err, rc, "no slot in the node ledger");
		goto fail;
	}
	/*
	 * PerfDefault, unless the spank plugin later writes the user's request; it was checked
	 * when ceems.conf was read
	 */
	request = &ledger_slot(st->ledger, st->slot)->request;
	if (*s->perf_default && perf_request_parse(s->perf_default, request, NULL) < 0)
		*request = (struct perf_request){ 0 };
	st->tick_ns = STEPSIDE_TICK_NS;
	st->open_ns = clock_mono_ns();
	*ret = st;
	return 0;
fail:
	ledger_close(st->ledger);
	free(st);
	return rc;
}

void stepside_wait(struct stepside *st, uint64_t ns)
{
	st->tick_ns = ns;
}

void stepside_forbid(struct stepside *st, const char *partition, const char *account)
{
	struct ledger_slot *slot = ledger_slot(st->ledger, st->slot);

	slot->forbidden = forbid_checked(st->settings->forbid_options, partition, account);
	forbid_request(slot->forbidden, &slot->request);
}

/* --- while it runs ---------------------------------------------------------------------- */

/*
 * Returns true if this step counts the traffic of the RDMA ports, which cannot be divided among steps. Of
 * steps that run at the same time, only the first counts it, so that the sum of a job has it once. The batch
 * step never counts it, since the other steps run during the batch step.
 */
static bool has_ports(struct stepside *st, const struct ledger_slot *slot)
{
	return st->has_whole_node && slot->request.groups & PERF_GROUP_NET &&
	       st->id.step_id != LEDGER_STEP_BATCH && st->id.step_id != LEDGER_STEP_INTERACTIVE &&
	       ledger_flag_alone(st->ledger, st->slot, LEDGER_FLAG_PORTS);
}

/*
 * Starts the counters. The slot has the user's request by now: the spank plugin writes
 * it before the first task.
 */
static void start_probes(struct stepside *st, struct ledger_slot *slot, const pid_t *pid, size_t n)
{
	const struct stepprobes_setup setup = {
		.settings = st->settings,
		.request = &slot->request,
		.has_ports = has_ports(st, slot),
		.is_extern = is_extern(st),
	};
	bool is_users = slot->flags & LEDGER_FLAG_PERF;
	struct errmsg lacking = { 0 };

	if (stepprobes_create(&setup, &st->probes) < 0) {
		logger_info("out of memory; this step is not counted");
		return;
	}
	stepprobes_start(st->probes, pid, n, &slot->cgroup, &slot->bpf_slot, &lacking);
	if (lacking.text[0]) /* with PerfDefault, all steps would log the same */
		logger_log(is_users ? LOGGER_INFO : LOGGER_DEBUG, "not all of %s is counted: %s",
			   is_users ? "--ceems-perf" : "PerfDefault", lacking.text);
}

/* Starts publishing live values. Until steplive_stop() no other code may use the probes. */
static void start_live(struct stepside *st, const struct ledger_slot *slot)
{
	const struct steplive_setup setup = {
		.ledger = st->ledger,
		.slot = st->slot,
		.probes = st->probes,
		.every_ns = !is_extern(st) && slot->request.groups & PERF_GROUP_HW ? STEPLIVE_EVERY_NS : 0,
	};

	if (steplive_start(&setup, &st->live) < 0)
		logger_info("out of memory; not all of this step is shown before it ends");
}

static void start_trace(struct stepside *st, const struct ledger_slot *slot)
{
	const struct steptrace_setup setup = {
		.settings = st->settings,
		.ledger = st->ledger,
		.slot = st->slot,
		.live = st->live,
		.cputime = st->cputime,
		.owner = st->owner,
	};
	struct errmsg err = { 0 };
	int rc;

	if (!slot->trace_ns || !st->owner || is_extern(st))
		return;
	rc = steptrace_start(&setup, &st->trace, &err);
	if (rc == 0)
		return;
	if (rc != -EPERM) /* the spank plugin tells the user that TraceDir forbids it */
		(void)errmsg_set(&st->lost_trace, 0, "trace: %s; this step is not traced", err.text);
	logger_info("--ceems-trace: %s; this step is not traced", err.text);
}

static void start_profile(struct stepside *st, struct ledger_slot *slot, const pid_t *pid, size_t n)
{
	const struct stepprofile_setup setup = {
		.settings = st->settings,
		.ledger = st->ledger,
		.slot = st->slot,
		.owner = st->owner,
		.cgroup_fd = stepprobes_cgroup(st->probes),
		.pid = pid,
		.n = n,
	};
	struct errmsg err = { 0 };
	int rc;

	if (!slot->profile.hz || !st->owner || is_extern(st))
		return;
	rc = stepprofile_start(&setup, &st->profile, &err);
	if (rc == 0)
		return;
	/* the spank plugin tells the user */
	atomic_fetch_or(&slot->flags, LEDGER_FLAG_UNPROFILED | (rc == -EBUSY ? LEDGER_FLAG_CROWDED : 0));
	logger_info("--ceems-profile: %s; this step is not profiled", err.text);
}

void stepside_set_owner(struct stepside *st, const struct stepfile_owner *owner)
{
	st->owner = owner;
}

bool stepside_attach(struct stepside *st, const pid_t *pid, size_t n)
{
	struct ledger_slot *slot = ledger_slot(st->ledger, st->slot);
	struct errmsg err = { 0 };
	int rc;

	if (atomic_load(&slot->cgroup_known))
		return true;
	rc = cputime_find_cgroups(pid[0], &slot->cgroup);
	if (rc < 0) {
		logger_debug("cgroups of task %d: %s", (int)pid[0], strerror(-rc));
		return false;
	}
	start_probes(st, slot, pid, n); /* before cputime_open(), since it may give the step a cgroup */
	if (cputime_open(&slot->cgroup, &st->cputime, &err) < 0)
		logger_debug("CPU time of this step: %s", err.text);
	atomic_store_explicit(&slot->cgroup_known, 1, memory_order_release);
	start_live(st, slot);
	start_trace(st, slot);
	start_profile(st, slot, pid, n);
	/* in the tick, slurmd also holds the hooks that this step has attached (nodeprobes.c) */
	if (slot->request.groups)
		ledger_hint_tick(st->ledger);
	return true;
}

void stepside_set_memory(struct stepside *st, uint64_t job_mb, uint64_t step_mb, uint64_t limit_mb)
{
	struct ledger_memory memory = { 0 };
	uint64_t peak_mb;

	if (ledger_step_memory(st->ledger, st->slot, &memory) < 0)
		memory.peak_bytes = 0;
	peak_mb = (memory.peak_bytes >> 20) + (memory.peak_bytes % (1 << 20) != 0);
	if (limit_mb && limit_mb < peak_mb)
		limit_mb = peak_mb < st->id.limit_mem_mb ? peak_mb : st->id.limit_mem_mb;
	st->id.job_mem_mb = job_mb;
	st->id.step_mem_mb = step_mb;
	st->id.limit_mem_mb = limit_mb;
	ledger_set_memory(st->ledger, st->slot, job_mb, step_mb, limit_mb);
}

static void note_rapl(void *arg, const struct ledger_page *page, struct source_notes *notes)
{
	const struct stepside *st = arg;
	uint64_t now = clock_mono_ns();

	if (now - notes->last_mono_ns < STEPSIDE_NOTE_NS)
		return; /* another step has just read them */
	rapl_note(st->settings->sys_root, &page->state[SOURCE_RAPL], now - page->t_mono_ns, notes);
	notes->last_mono_ns = now;
	logger_debug("slurmd has not ticked for %" PRIu64 " s; RAPL is read for it",
		     (now - page->t_mono_ns) / NSEC_PER_SEC);
}

/* Reads RAPL's counters in place of a slurmd that has not ticked for longer than a SampleInterval. */
static void stand_in(struct stepside *st)
{
	/* may be read from a page that changes: if it does, slurmd lives */
	const struct ledger_page *page = ledger_current(st->ledger);
	uint64_t now = clock_mono_ns();

	if (now - page->t_mono_ns < st->settings->sample_interval_ns + STEPSIDE_AWAY_NS ||
	    now - st->noted_ns < STEPSIDE_NOTE_NS || !page->state[SOURCE_RAPL].ncounters)
		return;
	st->noted_ns = now;
	if (ledger_note_away(st->ledger, st->settings->ledger_dir, note_rapl, st) < 0)
		return; /* slurmd lives, or another step reads them */
}

void stepside_poll(struct stepside *st)
{
	stand_in(st);
	if (st->live)
		steplive_poll(st->live);
}

static int account_now(struct stepside *st, struct account *ret)
{
	return is_extern(st) ? ledger_job_total(st->ledger, st->id.job_id, ret, NULL, NULL) :
			       ledger_step_energy(st->ledger, st->slot, ret);
}

int stepside_energy(struct stepside *st, uint64_t *ret_energy_uj, uint64_t *ret_power_mw)
{
	struct account a;
	uint64_t now = clock_mono_ns();
	uint64_t uj;

	if (account_now(st, &a) < 0)
		return -ENODATA;
	uj = account_total_uj(&a);
	if (!uj)
		return -ENODATA; /* the caller keeps its last value; 0 would overwrite it */
	if (st->poll_ns && now - st->poll_ns >= NSEC_PER_SEC / 2 && uj >= st->poll_uj)
		st->power_mw = (uj - st->poll_uj) * 1000 / ((now - st->poll_ns) / 1000);
	if (!st->poll_ns || now - st->poll_ns >= NSEC_PER_SEC / 2) {
		st->poll_ns = now;
		st->poll_uj = uj;
	}
	*ret_energy_uj = uj;
	*ret_power_mw = st->power_mw;
	return 0;
}

/*
 * Sets METRIC_ENERGY_NODES to 1 if the node knows the step's energy. It is 0 if a sensor was lost meanwhile:
 * then the energy is a lower bound.
 */
static void count_node(const struct account *energy, struct values *values)
{
	if (values_has(values, METRIC_ENERGY))
		values_set(values, METRIC_ENERGY_NODES, energy->lost_ns == 0);
}

/* If no tick booked the step's end, what it used since the last tick is missing. */
static void note_late(const struct stepside *st, struct values *values)
{
	if (!st->is_served)
		values_set(values, METRIC_ENERGY_NODES, 0);
	values_set(values, METRIC_LATE_NODES, !st->is_served);
}

/* Adds how the step's GPUs were used up to the last tick, if that is known. */
static void add_gpu(const struct stepside *st, struct values *values)
{
	struct ledger_gpu gpu;

	if (ledger_step_gpu(st->ledger, st->slot, &gpu) == 0)
		ledger_gpu_add(&gpu, values);
}

/*
 * Sets the memory that the job has now, which is that of its extern step. Steps that ended earlier may have
 * had more.
 */
static void set_job_memory(const struct stepside *st, struct values *values)
{
	if (st->id.limit_mem_mb)
		values_set(values, METRIC_MEMORY_ALLOCATED, st->id.limit_mem_mb << 20);
}

static int live_of(const struct stepside *st, struct values *ret)
{
	struct account energy;
	int rc;

	values_init(ret);
	rc = is_extern(st) ? ledger_job_total(st->ledger, st->id.job_id, &energy, ret, NULL) :
			     ledger_step_live(st->ledger, st->slot, ret);
	if (rc == 0 && !is_extern(st)) {
		rc = ledger_step_energy(st->ledger, st->slot, &energy);
		add_gpu(st, ret);
	}
	if (rc == 0)
		rc = ledger_values(st->ledger, &energy, ret);
	if (rc == 0)
		count_node(&energy, ret);
	return rc;
}

int stepside_live(struct stepside *st, const struct values **ret)
{
	uint64_t now = clock_mono_ns();

	if (!st->now_ns || now - st->now_ns >= STEPLIVE_AGAIN_NS)
		st->now_ns = live_of(st, &st->now) == 0 ? now : 0;
	if (!st->now_ns)
		return -ENODATA;
	*ret = &st->now;
	return 0;
}

/* Adds CPU time and memory as they are now, since the values of the sampler are some seconds old. */
static void add_newest(struct stepside *st, struct values *f)
{
	struct values now;
	struct ledger_memory memory;
	uint64_t busy_ns;

	values_init(&now);
	/* during a trace, only its thread may use cputime */
	if (st->cputime && !st->trace && cputime_read(st->cputime, &busy_ns) == 0)
		values_set(&now, METRIC_CPU_TIME, busy_ns);
	if (ledger_step_memory(st->ledger, st->slot, &memory) == 0)
		ledger_memory_values(&st->id, &memory, clock_mono_ns(), &now);
	values_raise(f, &now);
	add_gpu(st, f);
}

int stepside_sample(struct stepside *st, struct values *ret, bool *ret_has_all)
{
	struct account energy;
	struct values now;
	int rc = ledger_await_tick(st->ledger, st->tick_ns);

	if (rc == 0)
		rc = ledger_step_energy(st->ledger, st->slot, &energy);
	if (rc < 0)
		return rc;
	values_init(&now);
	*ret_has_all = ledger_step_live(st->ledger, st->slot, &now) == 0;
	add_newest(st, &now);
	rc = ledger_values(st->ledger, &energy, &now);
	if (rc == 0)
		*ret = now;
	return rc;
}

/* --- the end ---------------------------------------------------------------------------- */

static uint64_t final_busy_ns(struct stepside *st, uint64_t waited_ns)
{
	uint64_t busy_ns;

	if (!st->cputime || cputime_read(st->cputime, &busy_ns) < 0)
		return waited_ns ? waited_ns : UINT64_MAX;
	/* without a CPU accounting cgroup, only wait4() knows the CPU time of tasks that have ended */
	return busy_ns > waited_ns ? busy_ns : waited_ns;
}

static void fill_values(struct stepside *st, const struct ledger_slot *slot, uint64_t busy_ns,
			struct values *f)
{
	struct ledger_memory memory;
	bool is_seen = ledger_step_memory(st->ledger, st->slot, &memory) == 0;
	uint64_t user_ns, system_ns;

	/*
	 * without jobacct_gather, no task was seen here, and the SPANK plugin has counted
	 * and published in the slot
	 */
	if (st->probes || !ledger_told(slot, f))
		values_init(f);
	if (busy_ns != UINT64_MAX)
		values_set(f, METRIC_CPU_TIME, busy_ns);
	if (st->cputime && cputime_read_modes(st->cputime, &user_ns, &system_ns) == 0) {
		values_set(f, METRIC_CPU_USER_TIME, user_ns);
		values_set(f, METRIC_CPU_SYSTEM_TIME, system_ns);
	}
	pressure_read(&slot->cgroup, f);
	stepmemory_fill(slot, is_seen ? &memory : NULL, clock_mono_ns(), f);
	if (st->probes)
		stepprobes_read(st->probes, f, &st->detail);
}

void stepside_leave(struct stepside *st)
{
	steptrace_leave(st->trace);
	stepprofile_leave(st->profile);
}

/* Returns true if slurmd has ticked not long ago, and may go on with this ledger. */
static bool may_tick_again(const struct stepside *st)
{
	/* may be read from a page that changes: any of its ticks will do */
	return clock_mono_ns() - ledger_current(st->ledger)->t_mono_ns < STEPSIDE_SILENCE_NS &&
	       !ledger_is_replaced(st->ledger, st->settings->ledger_dir);
}

static int close_account(struct stepside *st, uint64_t busy_ns, struct account *ret)
{
	uint64_t deadline = clock_mono_ns() + STEPSIDE_RESTART_NS;
	int rc;

	do {
		rc = ledger_finish(st->ledger, st->slot, busy_ns, st->tick_ns, ret);
	} while (rc == -ETIMEDOUT && is_extern(st) && may_tick_again(st) && clock_mono_ns() < deadline);
	return rc;
}

/* How long the step has run, without the time in which it was suspended. */
static uint64_t run_ns(const struct stepside *st)
{
	uint64_t ns = clock_mono_ns() - st->open_ns;
	struct ledger_view view;

	if (ledger_step_view(st->ledger, st->slot, &view) < 0)
		return ns;
	return view.suspended_ns < ns ? ns - view.suspended_ns : 0;
}

void stepside_finish(struct stepside *st, uint64_t waited_ns, struct values *values, uint64_t *ret_elapsed_ns)
{
	struct ledger_slot *slot = ledger_slot(st->ledger, st->slot);
	struct account energy = { 0 };
	uint64_t busy_ns;
	int rc;

	if (is_extern(st) && ledger_wait_others(st->ledger, st->id.job_id, st->slot, STEPSIDE_OTHERS_NS) < 0)
		logger_info("job %u: other steps have not ended; the job's energy may lack theirs",
			    st->id.job_id);
	steptrace_halt(st->trace);
	stepprofile_halt(st->profile);
	steplive_stop(TAKE_PTR(st->live));
	busy_ns = final_busy_ns(st, waited_ns);
	fill_values(st, slot, busy_ns, values);
	ledger_tell(st->ledger, st->slot, values);
	rc = close_account(st, busy_ns, &energy);
	st->is_served = rc == 0;
	if (rc < 0)
		logger_info("job %u: the sampler did not answer: %s; energy is %s", st->id.job_id,
			    ledger_is_replaced(st->ledger, st->settings->ledger_dir) ?
				    "slurmd has begun a new ledger" :
				    strerror(-rc),
			    rc == -ENODATA ? "not known" : "at least that of its last tick");
	st->elapsed_ns = run_ns(st);
	add_gpu(st, values); /* only now, because the tick that closed the step added to it */
	if (is_extern(st)) {
		uint64_t job_busy_ns = 0;

		if (ledger_job_total(st->ledger, st->id.job_id, &energy, values, &job_busy_ns) == 0 &&
		    !values_has(values, METRIC_CPU_TIME) && job_busy_ns)
			values_set(values, METRIC_CPU_TIME, job_busy_ns);
		set_job_memory(st, values);
	}
	/* ENERGY of an extern step is that of the job's other steps, too */
	if (rc != -ENODATA || account_total_uj(&energy))
		(void)ledger_values(st->ledger, &energy, values);
	count_node(&energy, values);
	note_late(st, values);
	steptrace_finish(TAKE_PTR(st->trace), values, &st->lost_trace);
	stepprofile_finish(TAKE_PTR(st->profile), &st->lost_profile);
	*ret_elapsed_ns = st->elapsed_ns;
}

void stepside_round(const struct stepside *st, struct values *values)
{
	struct whole whole;

	if (ledger_step_whole(st->ledger, st->slot, &whole) == 0)
		whole_values(&whole, values);
}

/* --- the report ------------------------------------------------------------------------- */

/*
 * Writes to FD without waiting. FD may be a pipe or a terminal of the user that no process reads; slurmstepd
 * must not wait for that. O_NONBLOCK on FD would affect the user's processes, too, and poll() only says that
 * there is some room. So a pipe or terminal is opened again, with O_NONBLOCK. A file is written through FD,
 * since a new descriptor would begin at its first byte.
 */
static int write_at_once(int fd, const char *text, size_t len)
{
	_cleanup_close_ int own = -1;
	char path[32];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISSOCK(st.st_mode))
		return send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return fileio_write_full(fd, text, len);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return own < 0 ? -errno : fileio_write_full(own, text, len);
}

static void write_if_taken(int fd, const char *text, size_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int rc = -EAGAIN;

	if (len > REPORT_MAX)
		len = REPORT_MAX;
	if (poll(&p, 1, STEPSIDE_REPORT_MS) == 1 && (p.revents & POLLOUT))
		rc = write_at_once(fd, text, len);
	if (rc == -EAGAIN)
		logger_info("the report was not printed: nobody reads the step's stderr");
	else if (rc < 0)
		logger_info("the report was not printed: %s", strerror(-rc));
}

/* Returns the mean emission factor of the step's energy, before the values are rounded. 0: not known. */
static uint64_t mean_factor(const struct values *f, uint64_t pue_milli)
{
	uint64_t mean;

	if (!values_has(f, METRIC_CO2E) || !values_has(f, METRIC_ENERGY))
		return 0;
	mean = emission_mean_ug(f->value[METRIC_CO2E], f->value[METRIC_ENERGY], pue_milli);
	return mean == UINT64_MAX ? 0 : mean;
}

/* Tells the user that a file is missing or not complete; users cannot read slurmd's log. */
static void tell_lost(const struct stepside *st, const struct errmsg *lost, int fd)
{
	char text[REPORT_MAX];

	if (!lost->text[0])
		return;
	(void)snprintf(text, sizeof(text), "ceems: %s: %s\n", ledger_node(st->ledger), lost->text);
	write_if_taken(fd, text, strlen(text));
}

void stepside_report(struct stepside *st, const struct values *values, int fd)
{
	const struct ledger_slot *slot = ledger_slot(st->ledger, st->slot);
	uint64_t pue_milli = ledger_current(st->ledger)->pue_milli;
	const struct report_input in = {
		.node = ledger_node(st->ledger),
		.id = &st->id,
		.values = values,
		.elapsed_ns = st->elapsed_ns,
		.factor_ug_per_kwh = mean_factor(values, pue_milli),
		.pue_milli = pue_milli,
		.detail = &st->detail,
		.request = &slot->request,
	};
	char text[REPORT_MAX];
	size_t len;

	tell_lost(st, &st->lost_trace, fd);
	tell_lost(st, &st->lost_profile, fd);
	if (!(slot->flags & LEDGER_FLAG_REPORT) || st->id.node_id != 0 || is_extern(st))
		return;
	len = report_format(&in, text, sizeof(text));
	if (len)
		write_if_taken(fd, text, len);
}

void stepside_close(struct stepside *st)
{
	if (!st)
		return;
	steptrace_finish(st->trace, NULL, NULL);
	stepprofile_finish(st->profile, NULL);
	steplive_stop(st->live);
	/*
	 * A batch step keeps its slot until its process ends; then the sampler frees it. Up to
	 * 23.11, the completion of a batch step does not send the job's energy to slurmdbd. So on
	 * scancel the extern step must end after the batch step, and waits for it by this slot.
	 */
	if (st->id.step_id != LEDGER_STEP_BATCH)
		ledger_leave(st->ledger, st->slot);
	if (is_extern(st)) /* the job has ended; if it is requeued, it must not find its old account */
		ledger_hint_tick(st->ledger);
	stepprobes_close(st->probes, st->is_served);
	cputime_close(st->cputime);
	ledger_close(st->ledger);
	free(st);
}

/* --- Slurm's core lists ------------------------------------------------------------------ */

uint32_t stepside_count_cores(const char *list)
{
	uint64_t from, to;
	uint64_t n = 0;
	int rc;

	while (list && (rc = parse_next_range(&list, &from, &to)) != 0) {
		if (rc < 0 || to >= CORES_MAX)
			return 0;
		n += to - from + 1;
	}
	return (uint32_t)n;
}

/* Lists the units of the node's sockets in order; returns how many. */
static uint32_t list_sockets(const uint32_t socket_cpus[SOCKETS_MAX], unsigned int unit[SOCKETS_MAX])
{
	uint32_t n = 0;
	unsigned int i;

	for (i = 0; i < SOCKETS_MAX; i++)
		if (socket_cpus[i])
			unit[n++] = i;
	return n;
}

void stepside_spread_cores(const char *list, const struct stepside_cores *cores,
			   const uint32_t socket_cpus[SOCKETS_MAX], uint32_t ret_cpus[SOCKETS_MAX])
{
	unsigned int unit[SOCKETS_MAX];
	uint32_t sockets = list_sockets(socket_cpus, unit);
	uint64_t from, to;
	int rc = 0;

	memset(ret_cpus, 0, SOCKETS_MAX * sizeof(*ret_cpus));
	if (!sockets || !cores->node_cores || cores->node_cores % sockets)
		return;
	while (list && (rc = parse_next_range(&list, &from, &to)) > 0 && to < cores->node_cores)
		for (; from <= to; from++)
			ret_cpus[unit[from / (cores->node_cores / sockets)]] += cores->cpus_per_core;
	if (rc) /* the list is malformed, or has a core that the node does not have */
		memset(ret_cpus, 0, SOCKETS_MAX * sizeof(*ret_cpus));
}
