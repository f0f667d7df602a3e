/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must be true of each of many random histories of nodes, jobs and sensor faults. All but the
 * sensors' files and the clock is the sampler's own code, tick by tick.
 *
 *	HISTORY_SEED=n repeats a run, HISTORIES=n makes it longer.
 */
#include <unistd.h>

#include "fake_node.h"
#include "history_plan.h"
#include "src/libledger/ledger_book.h"
#include "src/libledger/ledger_map.h"
#include "src/libnode/cpuweights.h"
#include "src/libnode/partbook.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define HISTORIES 10000
#define START_NS (1000 * S)

/* --- running a history -------------------------------------------------------------------- */

struct live_step {
	bool is_open, is_closing;
	unsigned int slot;
	uint64_t busy_ns;
	uint64_t told_ns; /* of that, what its cgroup has said */
	struct account before, at_end;
};

struct live_job {
	struct live_step step[STEPS];
	struct account total;
};

struct run_result {
	struct live_job job[JOBS];
	struct account measured, unallocated, system;
	/* of jobs, as extern steps report them, and of other steps: their energy, and whole joules */
	uint64_t ended_uj[2], told_j[2];
	uint64_t shown_uj[DOMAIN_N]; /* what the sensors were read of what they were fed with */
	unsigned int bad;	     /* 1 << enum property */
};

enum property {
	CONSERVED,
	MONOTONOUS,
	SUM_OF_STEPS,
	IDLE_IS_STATIC,
	TRUE_TO_SENSORS,
	PERMUTATION,
	EQUAL_JOBS,
	RESTART,
	FACTORS,
	EMISSIONS,
	WHOLE,
	PROPERTIES
};

static const char *const property_name[PROPERTIES] = {
	[CONSERVED] = "steps + unallocated + system == measured, in every domain and at every tick",
	[MONOTONOUS] = "no account ever decreases",
	[SUM_OF_STEPS] = "the sum of a job's steps is the job",
	[IDLE_IS_STATIC] = "a step that does not compute (idle, suspended) gets a static share only",
	[TRUE_TO_SENSORS] = "measured is what the sensors showed, with wraps, gaps and failures",
	[PERMUTATION] = "the order of the jobs changes nothing",
	[EQUAL_JOBS] = "equal jobs get equal energy",
	[RESTART] = "a sampler that is restarted anywhere measures the same",
	[FACTORS] = "the energy by fresh, last, static and default factors adds up to each account's",
	[WHOLE] = "whole joules of jobs, and of other steps, add up to their energy, to 1 J at any time",
	[EMISSIONS] = "emissions of steps + unallocated + system == measured, to the nanogram",
};

struct world {
	const struct history *h;
	struct ledger *l;
	struct ledger_book *b;
	struct sources *sources;
	struct partbook parts;
	struct cpuweights weights;
	uint64_t now_ns;
	unsigned int t;
	struct run_result *r;
};

static void start_sampler(struct world *w)
{
	const struct source_env env = { .sys_root = "/" };
	struct errmsg err = { 0 };

	memset(&w->parts, 0, sizeof(w->parts));
	memset(&w->weights, 0, sizeof(w->weights));
	if (ledger_book_create(w->l, &w->b) < 0 ||
	    sources_open(FAKE_NODE_CHOICE, fake_node_sources, SENSORS, &env, &w->sources, &err) < 0)
		exit(99);
}

static void stop_sampler(struct world *w)
{
	ledger_book_destroy(w->b);
	sources_close(w->sources);
}

/* An empty ledger, without the cost of a new file. */
static void clear_ledger(struct ledger *l)
{
	unsigned int i;
	unsigned int d;

	for (i = 0; i < 2; i++) {
		struct ledger_page *p = &l->file->page[i];

		memset(p->step, 0, p->nsteps * sizeof(*p->step));
		memset(p->job, 0, p->njobs * sizeof(*p->job));
		memset(p, 0, offsetof(struct ledger_page, step));
		for (d = 0; d < DOMAIN_N; d++)
			p->domain_source[d] = SOURCE_N;
	}
	memset(l->file->slot, 0, ledger_slots_used(l) * sizeof(l->file->slot[0]));
	atomic_store(&l->file->slots_used, 0);
}

static void build_node(const struct history *h)
{
	unsigned int i;

	memset(fake_node, 0, sizeof(fake_node));
	for (i = 0; i < h->sockets; i++)
		fake_node_add(SENSOR_SOCKETS, DOMAIN_CPU, i, RANGE_UJ, h->raw_uj[SENSOR_SOCKETS][2 * i]);
	for (i = 0; i < h->sockets && h->has_dram; i++)
		fake_node_add(SENSOR_SOCKETS, DOMAIN_DRAM, i, RANGE_UJ, h->raw_uj[SENSOR_SOCKETS][2 * i + 1]);
	for (i = 0; i < h->gpus; i++)
		fake_node_add(SENSOR_GPUS, DOMAIN_GPU, i, RANGE_UJ, h->raw_uj[SENSOR_GPUS][i]);
	if (h->has_node)
		fake_node_add(SENSOR_NODE, DOMAIN_OTHER, 0, RANGE_UJ, h->raw_uj[SENSOR_NODE][0]);
	fake_node[SENSOR_NODE].is_whole_node = h->is_whole_node;
}

static void feed_sensors(const struct world *w, unsigned int t)
{
	unsigned int s;
	unsigned int c;

	for (s = 0; s < SENSORS; s++) {
		fake_node[s].fault = w->h->fault[t][s];
		fake_node[s].is_fresh = s != SENSOR_NODE || t % w->h->period == 0 || t >= TICKS - 2;
		for (c = 0; c < fake_node[s].n; c++)
			fake_node_feed(s, c, w->h->fed_uj[t][s][c]);
	}
	if (w->h->reset[t])
		fake_node_reset(SENSOR_SOCKETS, 0);
}

static void open_step(struct world *w, unsigned int j, unsigned int k)
{
	const struct job_plan *job = &w->h->job[j];
	const struct step_plan *plan = &job->step[k];
	struct live_step *live = &w->r->job[j].step[k];
	struct ledger_identity id = {
		.job_id = job->job_id,
		.step_id = plan->step_id,
		.het_comp = LEDGER_HET_NONE,
		.node_count = 1,
		.job_cpus = job->alloc.cpus,
		.step_cpus = plan->alloc.cpus,
		.job_mem_mb = job->alloc.mem_mb,
		.step_mem_mb = plan->alloc.mem_mb,
	};

	memcpy(id.job_socket_cpus, job->alloc.socket_cpus, sizeof(id.job_socket_cpus));
	memcpy(id.step_socket_cpus, plan->alloc.socket_cpus, sizeof(id.step_socket_cpus));
	memcpy(id.job_gpu_ppm, job->alloc.gpu_ppm, sizeof(id.job_gpu_ppm));
	memcpy(id.step_gpu_ppm, plan->alloc.gpu_ppm, sizeof(id.step_gpu_ppm));
	if (ledger_claim(w->l, &id, &live->slot) < 0)
		exit(99);
	ledger_slot(w->l, live->slot)->t_open_mono_ns = w->now_ns - plan->open_ago_ns;
	live->is_open = true;
}

static void close_step(struct world *w, const struct step_plan *plan, struct live_step *live)
{
	struct ledger_slot *s = ledger_slot(w->l, live->slot);

	s->final_busy_ns = live->busy_ns;
	s->t_close_mono_ns = w->now_ns - plan->close_ago_ns;
	atomic_store(&s->state, SLOT_CLOSING);
	live->is_closing = true;
}

/* The steps that begin, compute and end before tick T; ORDER of the jobs. Returns who computed. */
static void live_steps(struct world *w, unsigned int t, const unsigned int *order,
		       uint64_t socket_ns[SOCKETS_MAX])
{
	unsigned int i;
	unsigned int k;

	for (i = 0; i < w->h->njobs; i++) {
		const struct job_plan *job = &w->h->job[order[i]];
		bool is_suspended = t >= job->suspended_from && t < job->suspended_until;

		for (k = 0; k < job->nsteps; k++) {
			const struct step_plan *plan = &job->step[k];
			struct live_step *live = &w->r->job[order[i]].step[k];
			uint64_t used_ns;

			if (t < plan->from || t > plan->until)
				continue;
			if (t == plan->from)
				open_step(w, order[i], k);
			if (t >= job->shrinks_at)
				ledger_set_memory(w->l, live->slot, job->alloc.mem_mb / 2,
						  plan->alloc.mem_mb / 2, 0);
			used_ns = is_suspended ? 0 :
						 w->h->dt_ns[t] / 1000000 * plan->busy_ppm * plan->alloc.cpus;
			live->busy_ns += used_ns;
			socket_ns[k % w->h->sockets] += used_ns;
			if (!plan->is_untold)
				live->told_ns = live->busy_ns;
			if (t == plan->until)
				close_step(w, plan, live);
		}
	}
}

/* --- emissions ---------------------------------------------------------------------------- */

#define WALL_S UINT64_C(1795341600)
#define POINTS 24

static struct factor_point points[POINTS];
static struct factor_series series = { points, 0 };
static struct factor_chain chain = { .region = "XX", .series = &series };
static uint64_t wall_s[TICKS]; /* at START_NS, as the wall clock has it: it is set now and then */

/* Points of 1 to 4 s with gaps between, in which they grow old; the clock begins somewhere near them. */
static void plan_factors(void)
{
	uint64_t t = WALL_S;
	size_t i;

	series.n = rnd(POINTS + 1);
	for (i = 0; i < series.n; i++) {
		t += rnd(4);
		points[i] = (struct factor_point){
			t,
			t + 1 + rnd(4),
			WALL_S,
			{ .mg_per_kwh = rnd(1000000), .region = "XX", .source = "x" }
		};
		t = points[i].until_s;
	}
	chain.fixed = (struct emission_factor){ .mg_per_kwh = rnd(1000000),
						.kind = rnd(2) ? EMISSION_STATIC : EMISSION_DEFAULT };
	chain.fresh_age_s = rnd(3);
	chain.max_age_s = rnd(6);
	wall_s[0] = WALL_S;
	for (i = 1; i < TICKS; i++)
		wall_s[i] = rnd(8) ? wall_s[i - 1] : wall_s[i - 1] + rnd(41) - 20;
}

static bool links_add_up(const struct account *a)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < FACTOR_STEP_N; i++)
		sum += a->factor_uj[i];
	return sum == account_total_uj(a);
}

static void check_emissions(struct world *w, const struct ledger_page *page)
{
	struct account sum = page->unallocated;
	bool add_up = links_add_up(&page->unallocated) && links_add_up(&page->system) &&
		      links_add_up(&page->retired) && links_add_up(&page->measured);
	unsigned int i;

	account_add(&sum, &page->system);
	account_add(&sum, &page->retired);
	for (i = 0; i < page->nsteps; i++) {
		add_up = add_up && links_add_up(&page->step[i].energy);
		account_add(&sum, &page->step[i].energy);
	}
	for (i = 0; i < page->njobs; i++) {
		add_up = add_up && links_add_up(&page->job[i].closed);
		account_add(&sum, &page->job[i].closed);
	}
	if (!add_up)
		w->r->bad |= 1 << FACTORS;
	if (memcmp(sum.co2e_ng, page->measured.co2e_ng, sizeof(sum.co2e_ng)) ||
	    memcmp(sum.factor_uj, page->measured.factor_uj, sizeof(sum.factor_uj)) ||
	    sum.market_ng != page->measured.market_ng)
		w->r->bad |= 1 << EMISSIONS;
}

/* What sampler_tick() does, but that time and CPU time come from the history. */
static void tick(struct world *w, const uint64_t socket_ns[SOCKETS_MAX], bool is_turned)
{
	const struct partbook_setup setup = { .interval_ns = S, .cpus = w->h->cpus };
	struct ledger_page *page = ledger_begin(w->l);
	struct tick tick = {
		.page = page,
		.book = { .t_mono_ns = w->now_ns,
			  .node_cpus = w->h->cpus,
			  .node_mem_mb = w->h->mem_mb,
			  .chain = &chain,
			  .t_wall_ns = wall_s[w->t] * S + w->now_ns - START_NS },
		.dt_ns = page->t_mono_ns ? w->now_ns - page->t_mono_ns : 0,
	};
	struct book_line *line;
	size_t i;

	memcpy(tick.socket_ns, socket_ns, sizeof(tick.socket_ns));
	memcpy(page->socket_cpus, w->h->socket_cpus, sizeof(page->socket_cpus));
	sources_read(w->sources, w->now_ns, tick.dt_ns, 0, page->state, &tick.sources);
	tick.nlines = ledger_book_collect(w->b, page, w->now_ns, &line);
	tick.line = line;
	for (i = 0; i < tick.nlines; i++) {
		unsigned int j = line[i].s->id.job_id - 100;
		unsigned int k;

		for (k = 0; k < STEPS && !line[i].busy_is_final; k++)
			if (w->r->job[j].step[k].is_open && w->r->job[j].step[k].slot == line[i].slot) {
				line[i].busy_ns = w->r->job[j].step[k].told_ns;
				line[i].is_told = !w->h->job[j].step[k].is_untold;
			}
	}
	cpuweights_fill(&w->weights, &tick);
	memcpy(page->domain_source, tick.sources.from, sizeof(page->domain_source));
	page->pue_milli = 1200;
	page->market_known = 1;
	page->market_mg_per_kwh = 30000;
	partbook_note(&w->parts, &setup, &tick);
	if (ledger_book_apply(w->b, page, &tick.book) < 0)
		w->r->bad |= 1 << CONSERVED;
	partbook_advance(&w->parts, &setup, &tick);
	if (is_turned)
		ledger_turn(w->l);
}

/* --- what must be true after each tick ---------------------------------------------------- */

static bool has_grown(const struct account *from, const struct account *to)
{
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		if (to->total_uj[d] < from->total_uj[d] || to->static_uj[d] < from->static_uj[d] ||
		    to->co2e_ng[d] < from->co2e_ng[d])
			return false;
	return to->market_ng >= from->market_ng && to->by_counters_uj >= from->by_counters_uj;
}

static uint64_t dynamic_uj(const struct account *a, enum domain d)
{
	return a->total_uj[d] - a->static_uj[d];
}

static bool holds_gpu(const struct split_alloc *a)
{
	unsigned int g;

	for (g = 0; g < GPUS_MAX; g++)
		if (a->gpu_ppm[g])
			return true;
	return false;
}

static void add_whole(struct world *w, unsigned int slot, const struct account *own)
{
	const struct ledger_identity *id = &ledger_slot(w->l, slot)->id;
	bool is_extern = id->step_id == LEDGER_STEP_EXTERN;
	struct account a = *own;
	struct whole whole = { 0 };

	if (ledger_step_whole(w->l, slot, &whole) < 0 ||
	    (is_extern && ledger_job_total(w->l, id->job_id, &a, NULL, NULL) < 0))
		w->r->bad |= 1 << WHOLE;
	w->r->ended_uj[is_extern] += account_total_uj(&a);
	w->r->told_j[is_extern] += whole.j[WHOLE_ENERGY];
}

static void check_whole(struct world *w)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(w->r->told_j); i++)
		if (w->r->ended_uj[i] >= (w->r->told_j[i] + 1) * UJ_PER_J ||
		    w->r->told_j[i] * UJ_PER_J >= w->r->ended_uj[i] + UJ_PER_J)
			w->r->bad |= 1 << WHOLE;
}

static void check_step(struct world *w, const struct job_plan *job, struct live_step *live,
		       uint64_t booked_ns)
{
	const struct ledger_step_account *a = &ledger_current(w->l)->step[live->slot];
	const struct account *now = &a->energy;
	const struct account *before = &live->before;

	if (!has_grown(before, now))
		w->r->bad |= 1 << MONOTONOUS;
	if (a->busy_ns == booked_ns &&
	    (dynamic_uj(now, DOMAIN_CPU) != dynamic_uj(before, DOMAIN_CPU) ||
	     dynamic_uj(now, DOMAIN_DRAM) != dynamic_uj(before, DOMAIN_DRAM) ||
	     (!holds_gpu(&job->alloc) && dynamic_uj(now, DOMAIN_OTHER) != dynamic_uj(before, DOMAIN_OTHER))))
		w->r->bad |= 1 << IDLE_IS_STATIC;
	live->before = *now;
	if (!live->is_closing)
		return;
	live->at_end = *now;
	add_whole(w, live->slot, now);
	live->is_open = live->is_closing = false;
	ledger_leave(w->l, live->slot);
}

static void check_tick(struct world *w, const uint64_t booked_ns[JOBS][STEPS])
{
	const struct ledger_page *page = ledger_current(w->l);
	unsigned int i;
	unsigned int k;

	if (ledger_page_error_uj(page) || page->conservation_error_uj)
		w->r->bad |= 1 << CONSERVED;
	check_emissions(w, page);
	if (!has_grown(&w->r->measured, &page->measured) ||
	    !has_grown(&w->r->unallocated, &page->unallocated) || !has_grown(&w->r->system, &page->system))
		w->r->bad |= 1 << MONOTONOUS;
	w->r->measured = page->measured;
	w->r->unallocated = page->unallocated;
	w->r->system = page->system;
	for (i = 0; i < w->h->njobs; i++)
		for (k = 0; k < w->h->job[i].nsteps; k++)
			if (w->r->job[i].step[k].is_open)
				check_step(w, &w->h->job[i], &w->r->job[i].step[k], booked_ns[i][k]);
	check_whole(w);
}

static void note_booked(const struct world *w, uint64_t booked_ns[JOBS][STEPS])
{
	const struct ledger_page *page = ledger_current(w->l);
	unsigned int i;
	unsigned int k;

	for (i = 0; i < JOBS; i++)
		for (k = 0; k < STEPS; k++) {
			const struct live_step *live = &w->r->job[i].step[k];
			const struct ledger_step_account *a = &page->step[live->slot];

			booked_ns[i][k] = live->is_open && a->claim == ledger_slot(w->l, live->slot)->claim ?
						  a->busy_ns :
						  0;
		}
}

static void check_end(struct world *w)
{
	unsigned int d;
	unsigned int i;
	unsigned int k;

	for (i = 0; i < w->h->njobs; i++) {
		struct live_job *job = &w->r->job[i];
		struct account sum = { 0 };

		for (k = 0; k < w->h->job[i].nsteps; k++)
			account_add(&sum, &job->step[k].at_end);
		if (ledger_job_total(w->l, w->h->job[i].job_id, &job->total, NULL, NULL) < 0 ||
		    memcmp(&sum, &job->total, sizeof(sum)))
			w->r->bad |= 1 << SUM_OF_STEPS;
	}
	for (i = 0; i < SENSORS; i++)
		for (k = 0; k < fake_node[i].n; k++)
			w->r->shown_uj[fake_node[i].counter[k].domain] += fake_node[i].counter[k].shown_uj;
	for (d = 0; d < DOMAIN_N; d++) {
		uint64_t m = w->r->measured.total_uj[d];

		if (d == DOMAIN_OTHER && w->h->is_whole_node)
			continue; /* a remainder, see test_remainder */
		if (m > w->r->shown_uj[d] || (m < w->r->shown_uj[d] && !w->h->has_reset))
			w->r->bad |= 1 << TRUE_TO_SENSORS;
	}
}

/* RESTARTS: ticks before which the sampler is another one; odd ones were killed at work. */
static void run(const struct history *h, struct ledger *l, const unsigned int *order, const bool *restarts,
		struct run_result *r)
{
	struct world w = { .h = h, .l = l, .r = r, .now_ns = START_NS };
	unsigned int t;

	memset(r, 0, sizeof(*r));
	clear_ledger(l);
	build_node(h);
	start_sampler(&w);
	for (t = 0; t < TICKS; t++) {
		uint64_t booked_ns[JOBS][STEPS];
		uint64_t socket_ns[SOCKETS_MAX];

		w.t = t;
		w.now_ns += h->dt_ns[t];
		memcpy(socket_ns, h->system_ns[t], sizeof(socket_ns));
		feed_sensors(&w, t);
		live_steps(&w, t, order, socket_ns);
		note_booked(&w, booked_ns);
		if (restarts[t]) {
			if (t % 2)
				tick(&w, socket_ns, /* is_turned= */ false);
			stop_sampler(&w);
			start_sampler(&w);
		}
		tick(&w, socket_ns, /* is_turned= */ true);
		check_tick(&w, booked_ns);
	}
	check_end(&w);
	stop_sampler(&w);
}

/* --- comparing histories ------------------------------------------------------------------ */

/* Ties in the rounding go by the order: a microjoule per part, tick and step, each way. */
static bool is_close(const struct history *h, const struct account *a, const struct account *b)
{
	uint64_t most = 2 * TICKS * STEPS * (2 * h->sockets + h->gpus + 1);
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		if (a->total_uj[d] > b->total_uj[d] + most || b->total_uj[d] > a->total_uj[d] + most)
			return false;
	return true;
}

static unsigned int check_permuted(const struct history *h, struct ledger *l, const struct run_result *r)
{
	static const bool no_restart[TICKS];
	static struct run_result q;
	unsigned int order[JOBS] = { 0, 1, 2, 3, 4 };
	bool same;
	unsigned int i;

	for (i = h->njobs; i > 1; i--) {
		unsigned int k = (unsigned int)rnd(i);
		unsigned int tmp = order[k];

		order[k] = order[i - 1];
		order[i - 1] = tmp;
	}
	run(h, l, order, no_restart, &q);
	same = is_close(h, &q.unallocated, &r->unallocated) && is_close(h, &q.system, &r->system);
	for (i = 0; i < h->njobs; i++)
		same = same && is_close(h, &q.job[i].total, &r->job[i].total);
	return q.bad | (same ? 0 : 1u << PERMUTATION);
}

static unsigned int check_restarted(const struct history *h, struct ledger *l, const struct run_result *r)
{
	static const unsigned int order[JOBS] = { 0, 1, 2, 3, 4 };
	static struct run_result q;
	bool restarts[TICKS] = { false };
	unsigned int d;
	unsigned int t;

	for (t = 1; t < TICKS - 2; t++)
		restarts[t] = !rnd(4);
	run(h, l, order, restarts, &q);
	for (d = 0; d < DOMAIN_N && !h->has_reset; d++)
		if (q.measured.total_uj[d] != r->measured.total_uj[d] &&
		    !(d == DOMAIN_OTHER && h->is_whole_node))
			q.bad |= 1u << RESTART;
	return q.bad;
}

static unsigned int check_history(const struct history *h, struct ledger *l, bool permute)
{
	static const unsigned int order[JOBS] = { 0, 1, 2, 3, 4 };
	static const bool no_restart[TICKS];
	static struct run_result r;
	unsigned int bad;

	run(h, l, order, no_restart, &r);
	bad = r.bad;
	if (h->has_twins && !is_close(h, &r.job[0].total, &r.job[1].total))
		bad |= 1u << EQUAL_JOBS;
	return bad | (permute ? check_permuted(h, l, &r) : check_restarted(h, l, &r));
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	uint64_t n = text ? strtoull(text, NULL, 0) : 0;

	return n ? n : otherwise;
}

int main(void)
{
	char dir[] = "/tmp/test_history.XXXXXX";
	uint64_t seed = from_env("HISTORY_SEED", clock_wall_ns());
	uint64_t n = from_env("HISTORIES", HISTORIES);
	unsigned int count[PROPERTIES] = { 0 };
	static struct history h;
	struct errmsg err = { 0 };
	struct ledger *l = NULL;
	uint64_t first = 0;
	char path[64];
	unsigned int p;
	uint64_t i;

	if (!mkdtemp(dir) || ledger_create(dir, "n1", &l, NULL, &err) < 0)
		return 99;
	rng = seed;
	diag("%" PRIu64 " random histories; again with HISTORY_SEED=%" PRIu64, n, seed);
	for (i = 0; i < n; i++) {
		unsigned int bad;

		plan_history(&h);
		plan_factors();
		bad = check_history(&h, l, i % 2);
		for (p = 0; p < PROPERTIES; p++)
			count[p] += bad >> p & 1;
		if (bad && !first)
			first = i + 1;
	}
	for (p = 0; p < PROPERTIES; p++)
		is_u64(count[p], 0, property_name[p]);
	if (first)
		diag("first failure in history %" PRIu64, first);
	ledger_close(l);
	(void)snprintf(path, sizeof(path), "%s/n1.ledger", dir);
	(void)unlink(path);
	(void)rmdir(dir);
	return done_testing();
}
