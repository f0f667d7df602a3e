/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger.c - makes new pages of the ledger current, and reads pages. ledger_map.c maps the file,
 * ledger_slot.c is for slurmstepd, and ledger_book.c books energy.
 */
#include "src/libledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/libcore/doubt.h"
#include "src/libledger/ledger_map.h"
#include "src/libutil/clock.h"
#include "src/libutil/muldiv.h"
#include "src/libutil/util.h"

#define READ_TRIES 1000
/* How often the sampler looks for hints after a tick failed: then ledger_hint_tick() does not wake it. */
#define HINTS_POLL_NS (20 * NSEC_PER_MSEC)

/* --- the sampler's pages ---------------------------------------------------------------- */

static uint64_t sleep_until(const struct ledger *l, uint32_t requests, uint64_t deadline_mono_ns)
{
	uint64_t poll_mono_ns = clock_mono_ns() + HINTS_POLL_NS;

	if (requests == atomic_load(&l->file->served) || deadline_mono_ns < poll_mono_ns)
		return deadline_mono_ns;
	return poll_mono_ns;
}

bool ledger_wait_request(struct ledger *l, uint64_t hints_mono_ns, uint64_t deadline_mono_ns)
{
	struct ledger_maker *m = l->maker;

	for (;;) {
		uint32_t now = atomic_load(&l->file->requests);
		bool is_hinted = now != m->seen;

		if (is_hinted && hints_mono_ns < deadline_mono_ns)
			deadline_mono_ns = hints_mono_ns;
		if (now / LEDGER_WAITED != m->seen / LEDGER_WAITED || clock_mono_ns() >= deadline_mono_ns) {
			m->seen = now;
			return is_hinted;
		}
		ledger_futex_wait(&l->file->requests, now, sleep_until(l, now, deadline_mono_ns));
	}
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void copy_all_jobs(struct ledger_maker *m, struct ledger_page *next, const struct ledger_page *now,
			  uint32_t n)
{
	uint32_t i;

	memcpy(next->job, now->job, n * sizeof(*next->job));
	memset(m->key, 0, sizeof(m->key));
	for (i = 0; i < n; i++)
		m->key[i] = (struct ledger_job_key){ now->job[i].job_id, now->job[i].open_slots,
						     now->job[i].last_seen_mono_ns };
}

/* Copies only the entries of jobs that changed in the last tick; most jobs of a page ended minutes ago. */
static void copy_changed_jobs(const struct ledger_maker *m, struct ledger_page *next,
			      const struct ledger_page *now)
{
	size_t word;

	for (word = 0; word < ARRAY_SIZE(m->changed); word++) {
		uint64_t left;

		for (left = m->changed[word]; left; left &= left - 1) {
			size_t i = word * 64 + (size_t)__builtin_ctzll(left);

			next->job[i] = now->job[i];
		}
	}
}

struct ledger_page *ledger_begin(struct ledger *l)
{
	uint32_t turns = atomic_load(&l->file->turns);
	const struct ledger_page *now = ledger_map_page(l, turns);
	struct ledger_page *next = ledger_map_page(l, turns + 1);
	struct ledger_maker *m = l->maker;
	/* a failed tick may have left more entries in the next page; overwrite those, too */
	uint32_t nsteps = max_u32(now->nsteps, next->nsteps);
	uint32_t njobs = max_u32(now->njobs, next->njobs);

	m->begun = m->seen = atomic_load(&l->file->requests);
	m->nmoves = 0;
	/* a reader of this page must see that it is no longer current before it sees these stores */
	atomic_thread_fence(memory_order_seq_cst);
	memcpy(next, now, offsetof(struct ledger_page, step));
	memcpy(next->step, now->step, nsteps * sizeof(*next->step));
	if (m->is_turned)
		copy_changed_jobs(m, next, now);
	else
		copy_all_jobs(m, next, now, njobs);
	memset(m->changed, 0, sizeof(m->changed));
	m->is_turned = false;
	return next;
}

void ledger_move_later(struct ledger *l, uint32_t slot, uint32_t from, uint32_t to)
{
	struct ledger_maker *m = l->maker;

	if (m->nmoves < LEDGER_STEPS)
		m->move[m->nmoves++] = (struct ledger_move){ slot, from, to };
}

/*
 * Makes the state changes of ledger_move_later(). If the sampler is killed before, the next sampler finds
 * in the page that these slots are booked, and changes their states then.
 */
static void move_slots(struct ledger *l)
{
	struct ledger_maker *m = l->maker;
	size_t i;

	for (i = 0; i < m->nmoves; i++) {
		struct ledger_slot *s = &l->file->slot[m->move[i].slot];
		uint32_t from = m->move[i].from;

		if (!atomic_compare_exchange_strong(&s->state, &from, m->move[i].to))
			continue; /* its slurmstepd changed the state meanwhile */
		if (m->move[i].to != SLOT_FREE)
			continue;
		s->stepd_start = 0; /* with the old time, the pid of the next owner would look reused */
		atomic_store(&s->stepd_pid, 0);
	}
	m->nmoves = 0;
}

void ledger_turn(struct ledger *l)
{
	atomic_fetch_add(&l->file->turns, 1);
	l->maker->is_turned = true;
	move_slots(l);
	atomic_store(&l->file->served, l->maker->begun);
	ledger_futex_wake(&l->file->served);
}

const struct ledger_page *ledger_current(const struct ledger *l)
{
	return ledger_map_page(l, atomic_load(&l->file->turns));
}

const char *ledger_idle_name(enum ledger_idle idle)
{
	static const char *const names[] = {
		[LEDGER_IDLE_NONE] = "none",	       [LEDGER_IDLE_LEARNED] = "learned",
		[LEDGER_IDLE_STATED] = "stated",       [LEDGER_IDLE_CONFIGURED] = "configured",
		[LEDGER_IDLE_ESTIMATED] = "estimated",
	};

	return (size_t)idle < ARRAY_SIZE(names) ? names[idle] : "?";
}

const char *ledger_step_name(uint32_t step_id, char *buf, size_t size)
{
	switch (step_id) {
	case LEDGER_STEP_BATCH:
		return "batch";
	case LEDGER_STEP_EXTERN:
		return "extern";
	case LEDGER_STEP_INTERACTIVE:
		return "interactive";
	default:
		(void)snprintf(buf, size, "%" PRIu32, step_id);
		return buf;
	}
}

/* --- reading ---------------------------------------------------------------------------- */

/*
 * Runs READ on the current page. If a new page was made current meanwhile, READ runs again, so that the
 * result in ARG is from one page. READ must accept any data, because the page may change while it reads.
 */
static int read_page(const struct ledger *l,
		     int (*read)(const struct ledger *l, const struct ledger_page *page, void *arg),
		     void *arg)
{
	int tries;

	for (tries = 0; tries < READ_TRIES; tries++) {
		uint32_t turns = atomic_load(&l->file->turns);
		int rc = read(l, ledger_map_page(l, turns), arg);

		atomic_thread_fence(memory_order_seq_cst);
		if (atomic_load(&l->file->turns) == turns)
			return rc;
	}
	return -EAGAIN;
}

/* Copies the used part of the page only: the shorter the copy, the rarer it is repeated. */
static int copy_page(const struct ledger *l, const struct ledger_page *page, void *arg)
{
	struct ledger_page *to = arg;

	(void)l;
	memcpy(to, page, offsetof(struct ledger_page, step));
	if (to->nsteps > LEDGER_STEPS || to->njobs > LEDGER_JOBS || to->nparts > PARTS_MAX)
		return -EAGAIN;
	memcpy(to->step, page->step, to->nsteps * sizeof(*to->step));
	memcpy(to->job, page->job, to->njobs * sizeof(*to->job));
	return 0;
}

int ledger_snapshot(const struct ledger *l, struct ledger_page *ret)
{
	memset(ret, 0, sizeof(*ret));
	return read_page(l, copy_page, ret);
}

struct step_query {
	unsigned int slot;
	struct ledger_view view;
	struct whole whole;
};

static int read_step(const struct ledger *l, const struct ledger_page *page, void *arg)
{
	struct step_query *q = arg;
	const struct ledger_step_account *a = &page->step[q->slot];

	if (a->claim != l->file->slot[q->slot].claim)
		return -ENODATA; /* the account is of an earlier step in this slot */
	q->view = (struct ledger_view){
		.t_mono_ns = page->t_mono_ns,
		.t_wall_ns = page->t_wall_ns,
		.energy = a->energy,
		.busy_ns = a->busy_ns,
		.told_mono_ns = a->told_mono_ns,
		.suspended_ns = a->suspended_ns,
		.memory = a->memory,
		.gpu = a->gpu,
	};
	return 0;
}

static int query_step(const struct ledger *l, struct step_query *q)
{
	return q->slot >= LEDGER_STEPS ? -EINVAL : read_page(l, read_step, q);
}

int ledger_step_view(const struct ledger *l, unsigned int slot, struct ledger_view *ret)
{
	struct step_query q = { .slot = slot };
	int rc = query_step(l, &q);

	if (rc == 0)
		*ret = q.view;
	return rc;
}

int ledger_step_energy(const struct ledger *l, unsigned int slot, struct account *ret)
{
	struct step_query q = { .slot = slot };
	int rc = query_step(l, &q);

	if (rc == 0)
		*ret = q.view.energy;
	return rc;
}

int ledger_step_memory(const struct ledger *l, unsigned int slot, struct ledger_memory *ret)
{
	struct step_query q = { .slot = slot };
	int rc = query_step(l, &q);

	if (rc == 0 && !q.view.memory.read_mono_ns)
		rc = -ENODATA;
	if (rc == 0)
		*ret = q.view.memory;
	return rc;
}

static int read_whole(const struct ledger *l, const struct ledger_page *page, void *arg)
{
	struct step_query *q = arg;
	const struct ledger_step_account *a = &page->step[q->slot];

	if (a->claim != l->file->slot[q->slot].claim || !a->is_rounded)
		return -ENODATA;
	q->whole = a->whole;
	return 0;
}

int ledger_step_whole(const struct ledger *l, unsigned int slot, struct whole *ret)
{
	struct step_query q = { .slot = slot };
	int rc = slot >= LEDGER_STEPS ? -EINVAL : read_page(l, read_whole, &q);

	if (rc == 0)
		*ret = q.whole;
	return rc;
}

int ledger_step_gpu(const struct ledger *l, unsigned int slot, struct ledger_gpu *ret)
{
	struct step_query q = { .slot = slot };
	int rc = query_step(l, &q);

	if (rc == 0 && !q.view.gpu.held_ns)
		rc = -ENODATA;
	if (rc == 0)
		*ret = q.view.gpu;
	return rc;
}

struct job_query {
	uint32_t job_id;
	struct account energy;
	struct values values;
	uint64_t busy_ns;
};

/*
 * Returns 1 + the index of the job's entry, or 0. Searches the few steps first: reading all entries of
 * jobs would touch 1 MB of memory.
 */
static uint32_t find_job(const struct ledger *l, const struct ledger_page *page, uint32_t job_id)
{
	uint32_t i;

	for (i = 0; i < page->nsteps && i < ledger_slots_used(l); i++) {
		const struct ledger_slot *s = &l->file->slot[i];
		uint32_t job = page->step[i].job;

		if (s->id.job_id == job_id && page->step[i].claim == s->claim && job && job <= LEDGER_JOBS &&
		    page->job[job - 1].job_id == job_id)
			return job;
	}
	for (i = 0; i < page->njobs && i < LEDGER_JOBS; i++)
		if (page->job[i].job_id == job_id)
			return i + 1;
	return 0;
}

/*
 * Adds the metric values of the step in SLOT to WHOLE: the values so far if the step runs, else the
 * final values.
 */
static void add_slot(const struct ledger *l, uint32_t slot, struct values *whole)
{
	const struct ledger_slot *s = &l->file->slot[slot];
	struct values f;

	if (atomic_load(&s->state) == SLOT_OPEN && ledger_step_live(l, slot, &f) == 0)
		values_fold(whole, &f);
	else if (ledger_told(s, &f))
		values_fold(whole, &f);
}

/*
 * Adds the metric values of the job's steps that are still in their slots; the job's entry has the values
 * of the other steps. Returns true if there was such a step.
 */
static bool add_slot_values(const struct ledger *l, const struct ledger_page *page, struct job_query *q)
{
	bool found = false;
	uint32_t i;

	for (i = 0; i < ledger_slots_used(l); i++) {
		const struct ledger_slot *s = &l->file->slot[i];

		if (atomic_load(&s->state) < SLOT_OPEN || s->id.job_id != q->job_id)
			continue;
		if (page->step[i].claim == s->claim && !page->step[i].job)
			continue;
		add_slot(l, i, &q->values);
		found = true;
	}
	return found;
}

static int read_job(const struct ledger *l, const struct ledger_page *page, void *arg)
{
	struct job_query *q = arg;
	uint32_t job = find_job(l, page, q->job_id);
	uint32_t i;

	memset(&q->energy, 0, sizeof(q->energy));
	values_init(&q->values);
	q->busy_ns = 0;
	if (job) {
		q->energy = page->job[job - 1].closed;
		q->values = page->job[job - 1].values;
		q->busy_ns = page->job[job - 1].closed_busy_ns;
		for (i = 0; i < page->nsteps && i < LEDGER_STEPS; i++) {
			if (page->step[i].job != job)
				continue;
			account_add(&q->energy, &page->step[i].energy);
			ledger_gpu_add(&page->step[i].gpu, &q->values);
			q->busy_ns += page->step[i].busy_ns;
		}
	}
	return add_slot_values(l, page, q) || job ? 0 : -ENOENT;
}

int ledger_job_total(const struct ledger *l, uint32_t job_id, struct account *ret_energy,
		     struct values *ret_values, uint64_t *ret_busy_ns)
{
	struct job_query q = { .job_id = job_id };
	int rc = job_id ? read_page(l, read_job, &q) : -ENOENT;

	if (rc < 0)
		return rc;
	if (ret_energy)
		*ret_energy = q.energy;
	if (ret_values)
		*ret_values = q.values;
	if (ret_busy_ns)
		*ret_busy_ns = q.busy_ns;
	return 0;
}

uint64_t ledger_kib_s(uint64_t bytes, uint64_t ns)
{
	return bytes == UINT64_MAX ? 0 : muldiv(bytes, ns, 1024 * NSEC_PER_SEC);
}

void ledger_memory_values(const struct ledger_identity *id, const struct ledger_memory *seen,
			  uint64_t now_mono_ns, struct values *f)
{
	uint64_t left_ns;

	if (id->limit_mem_mb)
		values_set(f, METRIC_MEMORY_ALLOCATED, id->limit_mem_mb << 20);
	/* a working set is never 0 while tasks live: none was sampled yet, or all had ended */
	if (!seen || !seen->read_mono_ns || !seen->peak_bytes)
		return;
	left_ns = now_mono_ns > seen->read_mono_ns ? now_mono_ns - seen->read_mono_ns : 0;
	values_set(f, METRIC_MEMORY_PEAK, seen->peak_bytes);
	values_set(f, METRIC_MEMORY_TIME, seen->held_kib_s + ledger_kib_s(seen->held_bytes, left_ns));
	if (seen->cache_bytes == UINT64_MAX)
		values_miss(f, METRIC_CACHE_TIME, REASON_NO_MEMORY);
	else
		values_set(f, METRIC_CACHE_TIME,
			   seen->cache_kib_s + ledger_kib_s(seen->cache_bytes, left_ns));
	if (seen->swap_peak_bytes != UINT64_MAX)
		values_set(f, METRIC_SWAP_PEAK, seen->swap_peak_bytes);
}

static const enum metric step_metric[FACTOR_STEP_N] = {
	[FACTOR_FRESH] = METRIC_FRESH_FACTOR,
	[FACTOR_LAST] = METRIC_LAST_FACTOR,
	[FACTOR_STATIC] = METRIC_STATIC_FACTOR,
	[FACTOR_DEFAULT] = METRIC_DEFAULT_FACTOR,
};

static void set_or_miss(struct values *f, enum metric m, bool known, uint64_t value,
			enum metric_reason reason)
{
	if (known)
		values_set(f, m, value);
	else
		values_miss(f, m, reason);
}

/* Sets the emissions of account A, whose energy is known. A domain whose energy is unknown gets none. */
static void emission_values(const struct ledger_page *page, const struct account *a, struct values *f)
{
	bool known = page->factor_known || account_co2e_ng(a);
	bool market = page->market_known || a->market_ng;
	unsigned int i;

	set_or_miss(f, METRIC_CO2E, known, account_co2e_ng(a), REASON_NO_FACTOR);
	set_or_miss(f, METRIC_CO2E_MARKET, market, a->market_ng, REASON_NO_CONTRACT);
	for (i = 0; i < DOMAIN_N; i++)
		set_or_miss(f, domain_table[i].co2e, known && values_has(f, domain_table[i].energy),
			    a->co2e_ng[i], known ? REASON_NO_SENSOR : REASON_NO_FACTOR);
	for (i = 0; i < FACTOR_STEP_N; i++)
		set_or_miss(f, step_metric[i], known, a->factor_uj[i], REASON_NO_FACTOR);
}

static void miss_emissions(struct values *f, enum metric_reason why)
{
	unsigned int m;

	metric_foreach(m)
		if (metric_table[m].kind == KIND_EMISSIONS || metric_table[m].kind == KIND_FACTOR)
			values_miss(f, (enum metric)m, why);
}

void ledger_account_values(const struct ledger_page *page, const struct account *a, struct values *values)
{
	enum metric_reason why = page->ticks ? REASON_NO_SENSOR : REASON_NOT_MEASURED;
	bool in_use[SOURCE_N + 1] = { false };
	uint64_t doubt = doubt_pack(a->doubt);
	bool any = false;
	unsigned int i;

	if (doubt)
		why = REASON_DOUBT;
	set_or_miss(values, METRIC_ENERGY_DOUBT, doubt != 0, doubt, REASON_NOT_MEASURED);
	for (i = 0; i < DOMAIN_N; i++) {
		uint32_t source = page->domain_source[i];
		/* 0 J of a part in doubt is no measurement */
		bool known = (source < SOURCE_N && !a->doubt[i]) || a->total_uj[i];

		in_use[known && source < SOURCE_N ? source : SOURCE_N] = true;
		any = any || known;
		set_or_miss(values, domain_table[i].energy, known, a->total_uj[i], why);
		set_or_miss(values, domain_table[i].fixed, known && !a->no_idle_uj[i], a->static_uj[i],
			    known ? REASON_NO_IDLE : why);
	}
	for (i = 0; i < SOURCE_N; i++)
		set_or_miss(values, source_metric(i), in_use[i] || a->source_uj[i], a->source_uj[i], why);
	set_or_miss(values, METRIC_BY_COUNTERS, any, a->by_counters_uj, why);
	set_or_miss(values, METRIC_SENSOR_LAG, any, a->lag_ns, why);
	set_or_miss(values, METRIC_IDLE_UNKNOWN, any, account_idle_unknown_uj(a), why);
	set_or_miss(values, METRIC_ENERGY, any, account_total_uj(a), why);
	if (any)
		emission_values(page, a, values);
	else
		miss_emissions(values, why);
}

struct values_query {
	const struct account *account;
	struct values *values;
};

static int read_values(const struct ledger *l, const struct ledger_page *page, void *arg)
{
	struct values_query *q = arg;

	(void)l;
	ledger_account_values(page, q->account, q->values);
	return 0;
}

int ledger_values(const struct ledger *l, const struct account *a, struct values *values)
{
	struct values now = *values;
	struct values_query q = { .account = a, .values = &now };
	int rc = read_page(l, read_values, &q);

	if (rc == 0)
		*values = now;
	return rc;
}
