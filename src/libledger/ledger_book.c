/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libledger/ledger_book.h"

#include <errno.h>
#include <string.h>

#include "src/libcore/doubt.h"
#include "src/libledger/ledger_map.h"
#include "src/libledger/ledger_charge.h"
#include "src/libledger/ledger_watch.h"
#include "src/libledger/split_static.h"
#include "src/libutil/pages.h"

/* The kernel is assumed not to reuse a pid within this time. */
#define NEW_NS NSEC_PER_SEC

/* A slot whose step has ended. This tick adds its account to the job's and frees the slot. */
struct gone {
	uint32_t slot;
	uint32_t state;	 /* enum ledger_state, as read by ledger_book_collect() */
	bool is_lost;	 /* its slurmstepd died before it wrote the step's final values */
	bool has_values; /* the slurmstepd or ledger_book_salvage() has given all metric values */
};

struct ledger_book {
	struct ledger *l;
	size_t nlines;
	size_t ngone;
	struct book_line line[LEDGER_STEPS];
	struct gone gone[LEDGER_STEPS];
	struct ledger_watch watch[LEDGER_STEPS];
	/* input, output and scratch memory of split_tick() */
	struct split_line split[LEDGER_STEPS];
	struct split_alloc job[LEDGER_JOBS];
	/* [I]: 1 + the index into job[] of page->job[I]; 0: it has no line */
	uint32_t job_index[LEDGER_JOBS];
	struct account share[LEDGER_STEPS];
	_Alignas(16) unsigned char work[];
};

static size_t book_size(void)
{
	return sizeof(struct ledger_book) + split_work_size(LEDGER_JOBS, LEDGER_STEPS);
}

int ledger_book_create(struct ledger *l, struct ledger_book **ret)
{
	struct ledger_book *b = pages_alloc(book_size());

	if (!b)
		return -ENOMEM;
	b->l = l;
	*ret = b;
	return 0;
}

void ledger_book_destroy(struct ledger_book *b)
{
	size_t i;

	for (i = 0; b && i < LEDGER_STEPS; i++)
		ledger_watch_forget(&b->watch[i]);
	pages_free(b, book_size());
}

/* --- jobs ------------------------------------------------------------------------------- */

static void retire_job(struct ledger *l, struct ledger_page *page, uint32_t i)
{
	account_add(&page->retired, &page->job[i].closed);
	memset(&page->job[i], 0, sizeof(page->job[i]));
	ledger_job_changed(l, page, i);
}

/*
 * Returns a free entry for a new job. If there is none, retires the job that ended
 * first. LEDGER_JOBS: no entry.
 */
static uint32_t spare_job(struct ledger *l, struct ledger_page *page)
{
	const struct ledger_job_key *key = l->maker->key;
	uint32_t oldest = LEDGER_JOBS;
	uint32_t i;

	for (i = 0; i < page->njobs; i++) {
		if (!key[i].job_id)
			return i;
		if (!key[i].open_slots &&
		    (oldest == LEDGER_JOBS || key[i].last_seen_mono_ns < key[oldest].last_seen_mono_ns))
			oldest = i;
	}
	if (page->njobs < LEDGER_JOBS)
		return page->njobs++;
	if (oldest < LEDGER_JOBS)
		retire_job(l, page, oldest);
	/* there is one: a new step has no job yet, so fewer than LEDGER_JOBS jobs have open slots */
	return oldest;
}

/*
 * Returns true for the extern and the batch step, with which a job begins. If the page has the job already
 * but without an open slot, the job was requeued, and this is a new run.
 */
static bool begins_job(const struct ledger_identity *id)
{
	return id->step_id == LEDGER_STEP_EXTERN || id->step_id == LEDGER_STEP_BATCH;
}

/* Returns the entry of ID's job, a new one if necessary. LEDGER_JOBS: there is no room. */
static uint32_t job_of(struct ledger *l, struct ledger_page *page, const struct ledger_identity *id)
{
	const struct ledger_job_key *key = l->maker->key;
	uint32_t i;

	for (i = 0; i < page->njobs; i++) {
		if (key[i].job_id != id->job_id)
			continue;
		if (key[i].open_slots || !begins_job(id))
			return i;
		retire_job(l, page, i);
		break;
	}
	i = spare_job(l, page);
	if (i == LEDGER_JOBS)
		return i;
	memset(&page->job[i], 0, sizeof(page->job[i]));
	page->job[i].job_id = id->job_id;
	page->job[i].start_wall_ns = id->start_wall_ns;
	values_init(&page->job[i].values);
	ledger_job_changed(l, page, i);
	return i;
}

static void end_jobs(struct ledger *l, struct ledger_page *page, uint64_t now_mono_ns)
{
	const struct ledger_job_key *key = l->maker->key;
	uint32_t i;

	for (i = 0; i < page->njobs; i++)
		if (key[i].job_id && !key[i].open_slots &&
		    now_mono_ns - key[i].last_seen_mono_ns >= LEDGER_JOB_LINGER_NS)
			retire_job(l, page, i);
}

/* --- step accounts ---------------------------------------------------------------------- */

/* Adds the slot's account and VALUES to its job, and empties the account. VALUES NULL: they are not known. */
static void close_account(struct ledger *l, struct ledger_page *page, uint32_t slot,
			  const struct values *values, uint64_t now_mono_ns)
{
	struct ledger_step_account *a = &page->step[slot];
	uint32_t claim = a->claim;

	if (a->job) {
		struct ledger_job_account *job = &page->job[a->job - 1];

		account_add(&job->closed, &a->energy);
		job->closed_busy_ns += a->busy_ns;
		ledger_gpu_add(&a->gpu, &job->values);
		if (values)
			values_fold(&job->values, values);
		if (job->open_slots)
			job->open_slots--;
		job->last_seen_mono_ns = now_mono_ns;
		ledger_job_changed(l, page, a->job - 1);
	}
	memset(a, 0, sizeof(*a));
	a->claim = claim;
}

static int open_account(struct ledger *l, struct ledger_page *page, uint32_t slot, uint64_t now_mono_ns)
{
	const struct ledger_slot *s = &l->file->slot[slot];
	struct ledger_step_account *a = &page->step[slot];
	struct ledger_job_account *job;
	uint32_t i;

	if (slot < page->nsteps) /* first close the account of an earlier step; normally that was done */
		close_account(l, page, slot, NULL, now_mono_ns);
	else
		page->nsteps = slot + 1;
	i = job_of(l, page, &s->id);
	if (i == LEDGER_JOBS)
		return -ENOSPC;
	job = &page->job[i];
	memset(a, 0, sizeof(*a));
	a->claim = s->claim;
	a->job = i + 1;
	job->open_slots++;
	job->uid = s->id.uid;
	job->cpus = s->id.job_cpus;
	job->mem_mb = s->id.job_mem_mb;
	memcpy(job->gpu_ppm, s->id.job_gpu_ppm, sizeof(job->gpu_ppm));
	memcpy(job->gpu_instances, s->id.job_gpu_instances, sizeof(job->gpu_instances));
	if (s->id.start_wall_ns < job->start_wall_ns)
		job->start_wall_ns = s->id.start_wall_ns;
	ledger_job_changed(l, page, i);
	return 0;
}

/* Takes over a smaller memory of the step's job. Its steps learn of it one after the other. */
static void shrink_job(struct ledger *l, struct ledger_page *page, const struct ledger_step_account *a,
		       uint64_t job_mem_mb)
{
	struct ledger_job_account *job = &page->job[a->job - 1];

	if (!job_mem_mb || job_mem_mb >= job->mem_mb)
		return;
	job->mem_mb = job_mem_mb;
	ledger_job_changed(l, page, a->job - 1);
}

/* --- collecting ------------------------------------------------------------------------- */

static void add_gone(struct ledger_book *b, uint32_t slot, uint32_t state)
{
	/* before SLOT_CLOSING, the slurmstepd may have died while it wrote values */
	b->gone[b->ngone++] = (struct gone){
		.slot = slot,
		.state = state,
		.is_lost = state < SLOT_CLOSING,
		.has_values = state >= SLOT_CLOSING,
	};
}

static void add_line(struct ledger_book *b, const struct ledger_page *page, uint32_t slot, uint32_t state,
		     bool is_dead, uint64_t now_mono_ns)
{
	const struct ledger_slot *s = &b->l->file->slot[slot];
	const struct ledger_step_account *a = &page->step[slot];
	/* if the step closed after NOW and its slurmstepd is dead, no later tick can book it */
	bool has_ended = state >= SLOT_CLOSING && (is_dead || s->t_close_mono_ns <= now_mono_ns);
	struct book_line *line = &b->line[b->nlines++];

	*line = (struct book_line){
		.slot = slot,
		.claim = s->claim,
		.s = s,
		.busy_ns = a->busy_ns,
		.booked_ns = a->busy_ns,
		.since_ns = a->told_mono_ns ? a->told_mono_ns : s->t_open_mono_ns,
		.is_last = has_ended || is_dead,
		.is_dead = is_dead,
		.from_ns = a->until_mono_ns ? a->until_mono_ns : s->t_open_mono_ns,
		.until_ns = has_ended ? s->t_close_mono_ns : now_mono_ns,
		.state = state,
	};
	if (has_ended && s->final_busy_ns != UINT64_MAX) {
		line->busy_is_final = line->is_told = true;
		if (s->final_busy_ns > a->busy_ns)
			line->busy_ns = s->final_busy_ns;
	}
	if (line->is_last && (is_dead || state == SLOT_LEFT))
		add_gone(b, slot, state);
}

static void collect_step(struct ledger_book *b, struct ledger_page *page, uint32_t slot, uint32_t state,
			 bool is_dead, uint64_t now_mono_ns)
{
	const struct ledger_slot *s = &b->l->file->slot[slot];
	struct ledger_step_account *a = &page->step[slot];
	bool is_over = is_dead || state == SLOT_LEFT;

	if (slot < page->nsteps && a->claim == s->claim && !a->job) {
		/* an earlier sampler added the account to the job, but was killed before it freed the slot */
		if (is_over)
			ledger_move_later(b->l, slot, state, SLOT_FREE);
		return;
	}
	if (slot >= page->nsteps || a->claim != s->claim)
		if (open_account(b->l, page, slot, now_mono_ns) < 0)
			return;
	shrink_job(b->l, page, a, s->id.job_mem_mb);
	if (!a->is_final)
		add_line(b, page, slot, state, is_dead, now_mono_ns);
	else if (is_over)
		add_gone(b, slot, state);
	else
		ledger_move_later(b->l, slot, SLOT_CLOSING, SLOT_CLOSED);
}

/* Returns true if the step is so young that no other process can have the pid of its slurmstepd. */
static bool is_new(const struct ledger_slot *s, uint64_t now_mono_ns)
{
	return atomic_load(&s->state) >= SLOT_OPEN && now_mono_ns < s->t_open_mono_ns + NEW_NS;
}

size_t ledger_book_collect(struct ledger_book *b, struct ledger_page *page, uint64_t now_mono_ns,
			   struct book_line **ret)
{
	uint32_t used = ledger_slots_used(b->l);
	uint32_t i;

	b->nlines = 0;
	b->ngone = 0;
	ledger_watch_poll(b->watch, used);
	for (i = 0; i < used; i++) {
		struct ledger_slot *s = &b->l->file->slot[i];
		int32_t pid = atomic_load(&s->stepd_pid);
		uint32_t state;
		bool is_dead;

		if (!pid) {
			ledger_watch_forget(&b->watch[i]);
			continue;
		}
		is_dead = !ledger_watch_is_alive(&b->watch[i], pid, s->stepd_start, is_new(s, now_mono_ns));
		/* read the state after is_dead: of a dead slurmstepd, this is the last state */
		state = atomic_load(&s->state);
		if (state >= SLOT_OPEN) {
			collect_step(b, page, i, state, is_dead, now_mono_ns);
		} else if (is_dead && state == SLOT_CLAIMED) {
			ledger_move_later(b->l, i, state, SLOT_FREE);
		} else if (is_dead) { /* killed while it claimed the slot */
			s->stepd_start = 0;
			(void)atomic_compare_exchange_strong(&s->stepd_pid, &pid, 0);
		}
	}
	*ret = b->line;
	return b->nlines;
}

void ledger_book_salvage(struct ledger_book *b, unsigned int slot, const struct values *values)
{
	size_t i;

	for (i = 0; i < b->ngone; i++) {
		if (b->gone[i].slot != slot || b->gone[i].has_values)
			continue;
		ledger_tell(b->l, slot, values); /* allowed, because its slurmstepd is dead */
		b->gone[i].has_values = true;
	}
}

/* --- booking ---------------------------------------------------------------------------- */

static enum line_kind kind_of(uint32_t step_id)
{
	switch (step_id) {
	case LEDGER_STEP_EXTERN:
		return LINE_EXTERN;
	case LEDGER_STEP_BATCH:
	case LEDGER_STEP_INTERACTIVE:
		return LINE_BATCH;
	default:
		return LINE_STEP;
	}
}

static uint64_t ledger_book_grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Adds to JOB what the step knows of its job's sockets and GPUs, since other steps may not know them. */
static void widen_job(struct split_alloc *job, const struct ledger_identity *id)
{
	unsigned int i;

	for (i = 0; i < SOCKETS_MAX; i++)
		if (id->job_socket_cpus[i] > job->socket_cpus[i])
			job->socket_cpus[i] = id->job_socket_cpus[i];
	for (i = 0; i < GPUS_MAX; i++) {
		if (id->job_gpu_ppm[i] > job->gpu_ppm[i])
			job->gpu_ppm[i] = id->job_gpu_ppm[i];
		job->gpu_instances[i] |= id->job_gpu_instances[i];
	}
}

static void fill_line(const struct book_line *line, uint32_t job, struct split_line *ret)
{
	const struct ledger_identity *id = &line->s->id;

	*ret = (struct split_line){
		.job = job,
		.kind = kind_of(id->step_id),
		.alloc = { .cpus = id->step_cpus, .mem_mb = id->step_mem_mb },
		.from_ns = line->from_ns,
		.until_ns = line->until_ns,
		.busy_ns = ledger_book_grown(line->busy_ns, line->booked_ns),
		.mem_weight = line->mem_weight,
		.by_counters = line->by_counters,
	};
	memcpy(ret->alloc.socket_cpus, id->step_socket_cpus, sizeof(ret->alloc.socket_cpus));
	memcpy(ret->alloc.gpu_ppm, id->step_gpu_ppm, sizeof(ret->alloc.gpu_ppm));
	memcpy(ret->alloc.gpu_instances, id->step_gpu_instances, sizeof(ret->alloc.gpu_instances));
	memcpy(ret->cpu_weight, line->cpu_weight, sizeof(ret->cpu_weight));
}

/* Fills the lines and their jobs into IN. The hundreds of ended jobs in the page are left out. */
static void fill_lines(struct ledger_book *b, const struct ledger_page *page, struct split_input *in)
{
	size_t i;

	memset(b->job_index, 0, page->njobs * sizeof(*b->job_index));
	for (i = 0; i < b->nlines; i++) {
		const struct book_line *line = &b->line[i];
		const struct ledger_step_account *a = &page->step[line->slot];
		const struct ledger_job_account *job = &page->job[a->job - 1];
		uint32_t *index = &b->job_index[a->job - 1];

		if (!*index) {
			b->job[in->njobs++] = (struct split_alloc){ .cpus = job->cpus,
								    .mem_mb = job->mem_mb };
			*index = (uint32_t)in->njobs;
		}
		widen_job(&b->job[*index - 1], &line->s->id);
		fill_line(line, *index - 1, &b->split[i]);
	}
	in->job = b->job;
	in->line = b->split;
	in->nlines = b->nlines;
}

void ledger_book_gpu_held(struct ledger_book *b, const struct ledger_page *page, unsigned int unit,
			  uint64_t from_ns, uint64_t until_ns, uint64_t *held)
{
	struct split_input in = { .from_ns = from_ns, .until_ns = until_ns };
	unsigned int shift;
	size_t i;

	fill_lines(b, page, &in);
	for (i = 0; i < b->nlines; i++)
		b->split[i].from_ns = b->line[i].s->t_open_mono_ns;
	shift = split_static_weights(&in, (struct split_resource){ SPLIT_GPU, unit, NULL }, b->work, held);
	for (i = 0; i < b->nlines; i++)
		held[i] <<= shift;
}

/* Charges SHARE, and adds it to account TO and to BOOKED. LINE is NULL for `unallocated` and `system`. */
static void book_share(const struct ledger_page *page, const struct ledger_charge *charge,
		       const struct book_line *line, struct account *share, struct account *to,
		       struct account *booked)
{
	ledger_charge_account(page, charge, line, share);
	account_add(to, share);
	account_add(booked, share);
}

/*
 * Adds the tick to page->measured: energy from the sensors, but emissions and static energy from BOOKED,
 * since sensors do not have them. The energy is not from BOOKED, so that an error of the split shows.
 */
static void book_measured(struct ledger_page *page, const struct book_tick *tick,
			  const struct account *booked)
{
	struct account a = *booked;
	unsigned int d;
	size_t i;

	memset(a.total_uj, 0, sizeof(a.total_uj));
	memset(a.source_uj, 0, sizeof(a.source_uj));
	for (i = 0; i < tick->nparts; i++) {
		a.total_uj[tick->part[i].domain] += tick->part[i].energy_uj;
		a.source_uj[tick->part[i].source] += tick->part[i].energy_uj;
	}
	for (d = 0; d < DOMAIN_N; d++)
		page->conservation_error_uj += a.total_uj[d] > booked->total_uj[d] ?
						       a.total_uj[d] - booked->total_uj[d] :
						       booked->total_uj[d] - a.total_uj[d];
	account_add(&page->measured, &a);
}

static int book_energy(struct ledger_book *b, struct ledger_page *page, const struct book_tick *tick,
		       const struct ledger_charge *charge)
{
	struct split_input in = {
		.from_ns = page->t_mono_ns,
		/* split_tick() needs a window; if two ticks have the same time, it is 1 ns */
		.until_ns = tick->t_mono_ns + (tick->t_mono_ns == page->t_mono_ns),
		.node = { .cpus = tick->node_cpus, .mem_mb = tick->node_mem_mb },
		.mem_weight = tick->mem_weight,
		.by_counters = tick->by_counters,
		.part = tick->part,
		.nparts = tick->nparts,
		.instance = tick->instance,
		.ninstances = tick->ninstances,
	};
	struct account booked = { 0 };
	struct account unallocated;
	struct account sys;
	size_t i;
	int rc;

	memcpy(in.node.socket_cpus, page->socket_cpus, sizeof(in.node.socket_cpus));
	memcpy(in.cpu_weight, tick->cpu_weight, sizeof(in.cpu_weight));
	fill_lines(b, page, &in);
	rc = split_tick(&in, b->work, b->share, &unallocated, &sys);
	if (rc < 0)
		return rc;
	for (i = 0; i < b->nlines; i++)
		book_share(page, charge, &b->line[i], &b->share[i], &page->step[b->line[i].slot].energy,
			   &booked);
	book_share(page, charge, NULL, &unallocated, &page->unallocated, &booked);
	book_share(page, charge, NULL, &sys, &page->system, &booked);
	book_measured(page, tick, &booked);
	return 0;
}

/* Whether the step may get energy of part P: a dead GPU is no matter of those who do not hold it. */
static bool may_get(const struct ledger_page *page, const struct book_line *line, const struct part *p)
{
	const struct ledger_identity *id = &line->s->id;
	uint64_t sockets = 0;
	unsigned int i;

	if (p->domain == DOMAIN_GPU && p->unit < GPUS_MAX)
		return id->job_gpu_ppm[p->unit] || id->step_gpu_ppm[p->unit];
	if (p->domain != DOMAIN_CPU || p->unit >= SOCKETS_MAX || !page->socket_cpus[p->unit])
		return true;
	for (i = 0; i < SOCKETS_MAX; i++)
		sockets += id->job_socket_cpus[i];
	return !sockets || id->job_socket_cpus[p->unit] || line->cpu_weight[p->unit];
}

static void book_doubt(struct account *a, enum domain d, uint8_t doubt, uint64_t ns)
{
	if (doubt > a->doubt[d])
		a->doubt[d] = doubt;
	if (doubt > DOUBT_DEAD)
		a->lost_ns += ns;
}

static void book_part_doubt(struct account *a, const struct book_line *line, const struct part *p)
{
	uint64_t lived_ns = line->until_ns - line->s->t_open_mono_ns;
	uint64_t lack_ns = p->end_lack_ns < lived_ns ? p->end_lack_ns : lived_ns;

	if (p->doubt)
		book_doubt(a, (enum domain)p->domain, p->doubt, line->until_ns - line->from_ns);
	if (line->is_last && p->end_doubt > p->doubt)
		book_doubt(a, (enum domain)p->domain, p->end_doubt, lack_ns);
}

/* Notes in account A which parts were in doubt, and how late the sources were, while the step ran. */
static void book_sources(const struct ledger_page *page, struct account *a, const struct book_line *line,
			 const struct book_tick *tick)
{
	uint64_t ns = line->until_ns - line->from_ns;
	unsigned int d;
	size_t i;

	if (line->until_ns <= line->from_ns)
		return;
	for (d = 0; d < DOMAIN_N; d++)
		book_doubt(a, (enum domain)d, tick->doubt[d], ns);
	for (i = 0; i < tick->nparts; i++)
		if (may_get(page, line, &tick->part[i]))
			book_part_doubt(a, line, &tick->part[i]);
	if (tick->lag_ns > a->lag_ns)
		a->lag_ns = tick->lag_ns;
}

/* Returns the energy of all steps of the job of account OF, so far. */
static struct account job_energy(const struct ledger_page *page, const struct ledger_step_account *of)
{
	struct account sum = page->job[of->job - 1].closed;
	uint32_t i;

	for (i = 0; i < page->nsteps; i++)
		if (page->step[i].job == of->job)
			account_add(&sum, &page->step[i].energy);
	return sum;
}

/* Rounds what the slurmstepd of LINE is about to report. */
static void round_step(struct ledger_page *page, const struct book_line *line, struct ledger_step_account *a)
{
	struct account job;

	if (line->s->id.step_id == LEDGER_STEP_EXTERN) {
		job = job_energy(page, a);
		whole_round(&page->jobs_carry, &job, &a->whole);
	} else {
		whole_round(&page->steps_carry, &a->energy, &a->whole);
	}
	a->is_rounded = true;
}

static void book_lines(struct ledger_book *b, struct ledger_page *page, const struct book_tick *tick)
{
	size_t i;

	for (i = 0; i < b->nlines; i++) {
		const struct book_line *line = &b->line[i];
		struct ledger_step_account *a = &page->step[line->slot];

		if (line->busy_ns > a->busy_ns)
			a->busy_ns = line->busy_ns;
		if (line->is_told)
			a->told_mono_ns = tick->t_mono_ns;
		book_sources(page, &a->energy, line, tick);
		a->until_mono_ns = tick->t_mono_ns;
		a->is_final = line->is_last;
		if (!line->is_last || line->state != SLOT_CLOSING || line->is_dead)
			continue;
		round_step(page, line, a);
		ledger_move_later(b->l, line->slot, SLOT_CLOSING, SLOT_CLOSED);
	}
}

static void end_steps(struct ledger_book *b, struct ledger_page *page, uint64_t now_mono_ns)
{
	size_t i;

	for (i = 0; i < b->ngone; i++) {
		const struct gone *g = &b->gone[i];
		const struct ledger_slot *s = &b->l->file->slot[g->slot];

		close_account(b->l, page, g->slot, g->has_values ? &s->values : NULL, now_mono_ns);
		page->lost_steps += g->is_lost;
		ledger_move_later(b->l, g->slot, g->state, SLOT_FREE);
	}
}

int ledger_book_apply(struct ledger_book *b, struct ledger_page *page, const struct book_tick *tick)
{
	struct ledger_charge charge;
	int rc;

	if (tick->t_mono_ns < page->t_mono_ns)
		return -EINVAL;
	ledger_charge_tick(page, tick, &charge);
	if (page->t_mono_ns) {
		rc = book_energy(b, page, tick, &charge);
		if (rc < 0)
			return rc;
	}
	book_lines(b, page, tick);
	end_steps(b, page, tick->t_mono_ns);
	end_jobs(b->l, page, tick->t_mono_ns);
	page->t_mono_ns = tick->t_mono_ns;
	page->t_wall_ns = tick->t_wall_ns;
	page->node_busy_ns = tick->node_busy_ns;
	page->slots_full = atomic_load(&b->l->file->slots_full);
	page->ticks++;
	return 0;
}

/* --- checking --------------------------------------------------------------------------- */

uint64_t ledger_page_error_uj(const struct ledger_page *page)
{
	struct account sum = page->unallocated;
	uint64_t error = 0;
	uint32_t i;

	account_add(&sum, &page->system);
	account_add(&sum, &page->retired);
	for (i = 0; i < page->nsteps; i++)
		account_add(&sum, &page->step[i].energy);
	for (i = 0; i < page->njobs; i++)
		account_add(&sum, &page->job[i].closed);
	for (i = 0; i < DOMAIN_N; i++) {
		uint64_t m = page->measured.total_uj[i];

		error += m > sum.total_uj[i] ? m - sum.total_uj[i] : sum.total_uj[i] - m;
	}
	return error;
}
