/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_slot.c - what a slurmstepd does with its slot: claim, finish, leave.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "src/libledger/ledger_map.h"
#include "src/libledger/ledger_watch.h"
#include "src/libutil/clock.h"
#include "src/libutil/procstat.h"

/* How often the extern step looks whether other steps have left their slots, since leaving wakes nobody. */
#define OTHERS_POLL_NS (20 * NSEC_PER_MSEC)

/* --- a slot's life ---------------------------------------------------------------------- */

struct ledger_slot *ledger_slot(struct ledger *l, unsigned int slot)
{
	return slot < LEDGER_STEPS ? &l->file->slot[slot] : NULL;
}

static uint32_t ledger_slot_request(struct ledger *l)
{
	uint32_t mine = atomic_fetch_add(&l->file->requests, LEDGER_WAITED) + LEDGER_WAITED;

	ledger_futex_wake(&l->file->requests);
	return mine;
}

void ledger_request_tick(struct ledger *l)
{
	(void)ledger_slot_request(l);
}

/*
 * Wakes the sampler only if no request is open. If a request is open, the sampler was woken for that
 * request. If its tick failed, the sampler polls for hints (sleep_until()).
 */
void ledger_hint_tick(struct ledger *l)
{
	if (atomic_fetch_add(&l->file->requests, LEDGER_HINT) == atomic_load(&l->file->served))
		ledger_futex_wake(&l->file->requests);
}

int ledger_await_tick(struct ledger *l, uint64_t timeout_ns)
{
	uint64_t deadline = clock_mono_ns() + timeout_ns;
	uint32_t mine = ledger_slot_request(l);
	uint32_t served;

	while ((int32_t)((served = atomic_load(&l->file->served)) - mine) < 0) {
		if (clock_mono_ns() >= deadline)
			return -ETIMEDOUT;
		ledger_futex_wait(&l->file->served, served, deadline);
	}
	return 0;
}

static void note_used(struct ledger *l, uint32_t used)
{
	uint32_t now = atomic_load(&l->file->slots_used);

	while (now < used && !atomic_compare_exchange_weak(&l->file->slots_used, &now, used))
		;
}

/*
 * Returns whether the user has LEDGER_STEPS_OF_USER slots. Steps that claim at the same time may exceed
 * that number by a few, which is harmless.
 */
static bool has_enough(const struct ledger *l, uint32_t uid)
{
	unsigned int n = 0;
	unsigned int i;

	for (i = 0; i < ledger_slots_used(l); i++) {
		const struct ledger_slot *s = &l->file->slot[i];

		n += atomic_load(&s->stepd_pid) && atomic_load(&s->state) >= SLOT_OPEN && s->id.uid == uid;
	}
	return n >= LEDGER_STEPS_OF_USER;
}

static int take_slot(struct ledger *l, uint32_t uid, unsigned int *ret)
{
	unsigned int n = has_enough(l, uid) ? 0 : LEDGER_STEPS;
	unsigned int i;

	for (i = 0; i < n; i++) {
		int32_t nobody = 0;

		if (atomic_compare_exchange_strong(&l->file->slot[i].stepd_pid, &nobody, getpid())) {
			note_used(l, i + 1);
			*ret = i;
			return 0;
		}
	}
	atomic_fetch_add(&l->file->slots_full, 1);
	return -ENOSPC;
}

int ledger_claim(struct ledger *l, const struct ledger_identity *id, unsigned int *ret_slot)
{
	struct ledger_slot *s;
	unsigned int slot;
	uint64_t self_start;
	int rc;

	if (!id->job_id)
		return -EINVAL; /* job 0 marks a free entry */
	rc = take_slot(l, id->uid, &slot);
	if (rc < 0)
		return rc;
	s = &l->file->slot[slot];
	s->stepd_start = 0;
	atomic_store(&s->state, SLOT_CLAIMED);
	if (procstat_own_start(&self_start) == 0)
		s->stepd_start = self_start;
	s->claim++;
	atomic_store(&s->flags, 0);
	memset(&s->request, 0, sizeof(s->request));
	s->forbidden = 0;
	s->trace_ns = 0;
	memset(&s->profile, 0, sizeof(s->profile));
	s->t_close_mono_ns = 0;
	memset(&s->cgroup, 0, sizeof(s->cgroup));
	atomic_store(&s->cgroup_known, 0);
	s->bpf_slot = 0;
	s->final_busy_ns = UINT64_MAX;
	s->id = *id;
	atomic_store(&s->values_seq, 0);
	values_init(&s->values);
	s->t_open_mono_ns = clock_mono_ns();
	atomic_store(&s->state, SLOT_OPEN);
	ledger_hint_tick(l);
	*ret_slot = slot;
	return 0;
}

void ledger_set_memory(struct ledger *l, unsigned int slot, uint64_t job_mem_mb, uint64_t step_mem_mb,
		       uint64_t limit_mem_mb)
{
	struct ledger_slot *s = ledger_slot(l, slot);

	if (!s)
		return;
	/* the sampler may read them meanwhile, each by itself */
	__atomic_store_n(&s->id.job_mem_mb, job_mem_mb, __ATOMIC_RELAXED);
	__atomic_store_n(&s->id.step_mem_mb, step_mem_mb, __ATOMIC_RELAXED);
	__atomic_store_n(&s->id.limit_mem_mb, limit_mem_mb, __ATOMIC_RELAXED);
}

int ledger_find(const struct ledger *l, pid_t pid, unsigned int *ret_slot)
{
	unsigned int i;

	for (i = 0; i < ledger_slots_used(l); i++) {
		const struct ledger_slot *s = &l->file->slot[i];
		uint32_t state = atomic_load(&s->state);

		if (atomic_load(&s->stepd_pid) != pid || state < SLOT_OPEN || state == SLOT_LEFT)
			continue;
		if (!procstat_is_alive(pid, s->stepd_start))
			continue; /* the slot is of an earlier process with the same pid */
		*ret_slot = i;
		return 0;
	}
	return -ENOENT;
}

static bool wait_closed(struct ledger *l, struct ledger_slot *s, uint64_t deadline_mono_ns)
{
	uint32_t mine = ledger_slot_request(l);

	while (atomic_load(&s->state) == SLOT_CLOSING) {
		uint32_t served = atomic_load(&l->file->served);

		if (atomic_load(&s->state) != SLOT_CLOSING)
			break;
		if (clock_mono_ns() >= deadline_mono_ns)
			return false;
		if ((int32_t)(served - mine) >= 0)
			/* the tick that answered began before we closed: ask again */
			mine = ledger_slot_request(l);
		ledger_futex_wait(&l->file->served, served, deadline_mono_ns);
	}
	return true;
}

int ledger_finish(struct ledger *l, unsigned int slot, uint64_t busy_ns, uint64_t timeout_ns,
		  struct account *ret_energy)
{
	struct ledger_slot *s = ledger_slot(l, slot);
	uint64_t now = clock_mono_ns();
	bool closed;
	int rc;

	if (!s || atomic_load(&s->state) < SLOT_OPEN || atomic_load(&s->state) == SLOT_LEFT)
		return -EINVAL;
	if (atomic_load(&s->state) == SLOT_OPEN) {
		s->final_busy_ns = busy_ns;
		s->t_close_mono_ns = now;
		atomic_store(&s->state, SLOT_CLOSING);
	}
	closed = wait_closed(l, s, now + timeout_ns);
	rc = ledger_step_energy(l, slot, ret_energy);
	return rc < 0 ? rc : closed ? 0 : -ETIMEDOUT;
}

void ledger_leave(struct ledger *l, unsigned int slot)
{
	struct ledger_slot *s = ledger_slot(l, slot);

	if (!s || atomic_load(&s->state) < SLOT_OPEN)
		return;
	if (atomic_load(&s->state) == SLOT_OPEN)
		s->t_close_mono_ns = clock_mono_ns();
	atomic_store(&s->state, SLOT_LEFT);
}

/* --- what a step did so far --------------------------------------------------------------- */

void ledger_tell(struct ledger *l, unsigned int slot, const struct values *values)
{
	struct ledger_slot *s = ledger_slot(l, slot);
	uint32_t seq;

	if (!s)
		return;
	seq = ledger_seq_begin(&s->values_seq);
	ledger_seq_write(&s->values, values, sizeof(*values));
	ledger_seq_end(&s->values_seq, seq);
}

bool ledger_told(const struct ledger_slot *s, struct values *ret)
{
	return ledger_seq_read(&s->values_seq, ret, &s->values, sizeof(*ret));
}

void ledger_set_live(struct ledger *l, unsigned int slot, uint32_t claim, const struct values *values)
{
	struct ledger_slot *s = ledger_slot(l, slot);
	struct ledger_live *live;
	uint32_t seq;

	if (!s)
		return;
	live = &s->live;
	seq = ledger_seq_begin(&live->seq);
	ledger_seq_write(&live->claim, &claim, sizeof(claim));
	ledger_seq_write(&live->values, values, sizeof(*values));
	ledger_seq_end(&live->seq, seq);
}

const struct values *ledger_live(const struct ledger *l, unsigned int slot, uint32_t claim)
{
	const struct ledger_live *live = slot < LEDGER_STEPS ? &l->file->slot[slot].live : NULL;

	return live && claim && live->claim == claim ? &live->values : NULL;
}

/* Gives what the sampler read of the step that is in the slot now. False: the sampler has not read it yet. */
static bool ledger_slot_live(const struct ledger_slot *s, struct values *ret)
{
	struct ledger_live live;

	if (!ledger_seq_read(&s->live.seq, &live, &s->live, sizeof(live)) || live.claim != s->claim)
		return false;
	*ret = live.values;
	return true;
}

int ledger_step_live(const struct ledger *l, unsigned int slot, struct values *ret)
{
	const struct ledger_slot *s = slot < LEDGER_STEPS ? &l->file->slot[slot] : NULL;
	struct values told;

	if (!s || !ledger_slot_live(s, ret))
		return -ENODATA;
	if (ledger_told(s, &told))
		values_raise(ret, &told);
	return 0;
}

/* --- other steps of the job ------------------------------------------------------------- */

static bool is_running(const struct ledger_slot *s)
{
	uint32_t state = atomic_load(&s->state);

	return state >= SLOT_OPEN && state < SLOT_LEFT;
}

static bool has_stepd(const struct ledger_slot *s)
{
	return procstat_is_alive(atomic_load(&s->stepd_pid), s->stepd_start);
}

/*
 * Returns a slot of another living step of JOB_ID that has FLAG, or any such slot if FLAG is 0. NULL: none.
 */
static const struct ledger_slot *find_other(const struct ledger *l, uint32_t job_id, unsigned int own_slot,
					    uint32_t flag)
{
	unsigned int i;

	for (i = 0; i < ledger_slots_used(l); i++) {
		const struct ledger_slot *s = &l->file->slot[i];

		if (i != own_slot && is_running(s) && s->id.job_id == job_id &&
		    (!flag || atomic_load(&s->flags) & flag) && has_stepd(s))
			return s;
	}
	return NULL;
}

bool ledger_flag_alone(struct ledger *l, unsigned int slot, uint32_t flag)
{
	struct ledger_slot *s = ledger_slot(l, slot);

	/*
	 * set our flag before looking for others: of two steps that ask at once, at least one sees the other
	 */
	atomic_fetch_or(&s->flags, flag);
	if (!find_other(l, s->id.job_id, slot, flag))
		return true;
	atomic_fetch_and(&s->flags, ~flag);
	return false;
}

bool ledger_flag_if_few(struct ledger *l, unsigned int slot, uint32_t flag, unsigned int max,
			unsigned int max_of_user)
{
	struct ledger_slot *own = ledger_slot(l, slot);
	unsigned int i, others = 0, of_user = 0;

	atomic_fetch_or(&own->flags, flag); /* first, as above */
	for (i = 0; i < ledger_slots_used(l); i++) {
		const struct ledger_slot *s = &l->file->slot[i];

		if (i == slot || !is_running(s) || !(atomic_load(&s->flags) & flag) || !has_stepd(s))
			continue;
		others++;
		of_user += s->id.uid == own->id.uid;
	}
	if (others < max && of_user < max_of_user)
		return true;
	atomic_fetch_and(&own->flags, ~flag);
	return false;
}

/*
 * Waits until process PID ends, but at most NS. Without pidfd_open (Linux before 5.3), always waits NS.
 */
static void wait_process(int32_t pid, uint64_t ns)
{
	_cleanup_close_ int fd = ledger_watch_open(pid);
	struct pollfd p = { .fd = fd, .events = POLLIN }; /* poll() ignores a negative fd */

	if (fd == -ESRCH)
		return;
	(void)poll(&p, 1, (int)(ns / NSEC_PER_MSEC) + 1);
}

int ledger_wait_others(struct ledger *l, uint32_t job_id, unsigned int own_slot, uint64_t timeout_ns)
{
	uint64_t deadline = clock_mono_ns() + timeout_ns;
	const struct ledger_slot *other;

	while ((other = find_other(l, job_id, own_slot, /* flag= */ 0))) {
		uint64_t now = clock_mono_ns();
		uint64_t left = deadline - now;

		if (now >= deadline)
			return -ETIMEDOUT;
		wait_process(atomic_load(&other->stepd_pid), left < OTHERS_POLL_NS ? left : OTHERS_POLL_NS);
	}
	return 0;
}
