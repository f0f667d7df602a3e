/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Emissions in the ledger: what each account is charged when the factor changes within a tick, when
 * the provider is out, when a clock is set. All energy is static, 10 W of 8 CPUs, so that every value
 * can be had by hand: J x g/kWh x 1.2 / 3.6 = ug.
 */
#include <unistd.h>

#include "fake_sampler.h"
#include "tap.h"

#define S NSEC_PER_SEC
#define T0 UINT64_C(1795341600) /* 2026-11-22T10:00:00Z */
#define HOUR 3600

static char dir[] = "/tmp/test_ledger_charge.XXXXXX";
static struct factor_series series;
static struct factor_chain chain = {
	.fixed = { .mg_per_kwh = 40000, .year = 2024, .kind = EMISSION_STATIC, .region = "FR" },
	.region = "FR",
	.fresh_age_s = HOUR,
	.max_age_s = 6 * HOUR,
	.series = &series,
};

static void add(struct factor_series *s, uint64_t from_s, uint64_t until_s, uint64_t mg)
{
	struct factor_point p = {
		from_s, until_s, from_s, { .mg_per_kwh = mg, .region = "FR", .source = "x" }
	};
	struct errmsg err;

	if (factor_series_add(s, &p, &err) < 0)
		exit(99);
}

/* --- a node with two jobs of 4 CPUs each ------------------------------------------------- */

struct rig {
	struct fake_sampler f;
	uint64_t t; /* CLOCK_MONOTONIC of the last tick */
	unsigned int slot[2];
};

static void claim(struct rig *r, unsigned int job, uint64_t open_ns)
{
	struct ledger_identity id = {
		.job_id = 1 + job,
		.step_id = LEDGER_STEP_BATCH,
		.het_comp = LEDGER_HET_NONE,
		.node_count = 1,
		.job_cpus = 4,
		.step_cpus = 4,
		.job_mem_mb = 1,
		.step_mem_mb = 1,
	};

	if (ledger_claim(r->f.l, &id, &r->slot[job]) < 0)
		exit(99);
	ledger_slot(r->f.l, r->slot[job])->t_open_mono_ns = open_ns;
}

static void close_job(struct rig *r, unsigned int job, uint64_t close_ns)
{
	struct ledger_slot *s = ledger_slot(r->f.l, r->slot[job]);

	s->final_busy_ns = 0;
	s->t_close_mono_ns = close_ns;
	atomic_store(&s->state, SLOT_CLOSING);
}

static void setup(struct rig *r, uint64_t wall_s)
{
	struct errmsg err = { 0 };

	if (fake_start(&r->f, dir, "n1", &err) < 0)
		exit(99);
	r->f.chain = &chain;
	r->f.wall_ns = wall_s * S;
	r->t = 1000 * S;
	(void)fake_tick(&r->f, r->t, 0, 0);
}

static void teardown(struct rig *r)
{
	char path[64];

	fake_stop(&r->f);
	(void)snprintf(path, sizeof(path), "%s/n1.ledger", dir);
	(void)unlink(path);
}

/* DT_S later by both clocks; 10 W. */
static void tick(struct rig *r, uint64_t dt_s)
{
	r->t += dt_s * S;
	r->f.wall_ns += dt_s * S;
	if (fake_tick(&r->f, r->t, dt_s * 10000000, 0) < 0)
		exit(99);
}

static const struct account *account(const struct rig *r, unsigned int job)
{
	return &ledger_current(r->f.l)->step[r->slot[job]].energy;
}

/* Nothing is lost between the accounts, neither emissions nor where their factors were from. */
static void check_sums(const struct rig *r, const char *what)
{
	const struct ledger_page *p = ledger_current(r->f.l);
	struct account sum = p->unallocated;
	bool same = true;
	unsigned int i;

	account_add(&sum, &p->system);
	account_add(&sum, &p->retired);
	for (i = 0; i < p->nsteps; i++)
		account_add(&sum, &p->step[i].energy);
	for (i = 0; i < p->njobs; i++)
		account_add(&sum, &p->job[i].closed);
	for (i = 0; i < DOMAIN_N; i++)
		same = same && sum.co2e_ng[i] == p->measured.co2e_ng[i];
	for (i = 0; i < FACTOR_STEP_N; i++)
		same = same && sum.factor_uj[i] == p->measured.factor_uj[i];
	ok(same && sum.market_ng == p->measured.market_ng, "%s: all accounts are the node's", what);
	is_u64(sum.factor_uj[0] + sum.factor_uj[1] + sum.factor_uj[2] + sum.factor_uj[3],
	       account_total_uj(&sum), "the energy by the four steps of the chain adds up");
}

/* --- what happens ------------------------------------------------------------------------ */

static void test_change(void)
{
	const struct ledger_page *p;
	struct rig r;

	/* 10 s around the change from 50 to 500; the second job ends, a third begins 3 s after it */
	setup(&r, T0 + 895);
	claim(&r, 0, r.t);
	claim(&r, 1, r.t);
	close_job(&r, 1, r.t + 5 * S);
	tick(&r, 10);
	is_u64(account_total_uj(account(&r, 0)), 50000000, "50 J");
	is_u64(account_co2e_ng(account(&r, 0)), 4583333, "at 275 g/kWh, half before and half after");
	is_u64(account_total_uj(account(&r, 1)), 25000000, "25 J");
	is_u64(account_co2e_ng(account(&r, 1)), 416667, "at 50 g/kWh: it was over by then");
	p = ledger_current(r.f.l);
	is_u64(account_co2e_ng(&p->unallocated), 2291667, "the free CPUs at 275");
	is_u64(p->factor.mg_per_kwh, 500000, "500 is in force");
	is_int((int)p->factor_step, FACTOR_FRESH, "fresh");
	check_sums(&r, "a change within a tick");
	teardown(&r);

	setup(&r, T0 + 895);
	claim(&r, 0, r.t + 8 * S);
	tick(&r, 10);
	is_u64(account_total_uj(account(&r, 0)), 10000000, "10 J");
	is_u64(account_co2e_ng(account(&r, 0)), 1666667, "at 500 g/kWh: it came later");
	check_sums(&r, "a step that came later");
	teardown(&r);

	/* the same in ticks that end at the change: not a nanogram else */
	setup(&r, T0 + 895);
	claim(&r, 0, r.t);
	tick(&r, 5);
	is_u64(account_co2e_ng(account(&r, 0)), 416667, "25 J at 50");
	tick(&r, 5);
	is_u64(account_co2e_ng(account(&r, 0)), 416667 + 4166667, "25 J at 500");
	check_sums(&r, "ticks at the change");
	teardown(&r);
}

/* A BMC reports every 5 s: 4 s of what it reports 1 s after the change are from before it. */
static void test_slow(void)
{
	struct rig r;

	setup(&r, T0 + 900);
	claim(&r, 0, r.t);
	r.f.cpu_ns = 5 * S;
	r.t += S;
	r.f.wall_ns += S;
	(void)fake_tick(&r.f, r.t, 50000000, 3600000);
	/* CPU: 25 J at 140; memory, which is told at once and nobody used: the system's 3.6 J at 500 */
	is_u64(account_co2e_ng(account(&r, 0)), 1166667,
	       "by the factors of the time in which the energy was used");
	is_u64(ledger_current(r.f.l)->measured.co2e_ng[DOMAIN_DRAM], 600000,
	       "a fast sensor by the factor of its own time");
	check_sums(&r, "a slow sensor");
	r.t += S;
	r.f.wall_ns += S;
	r.f.cpu_ns = S;
	(void)fake_tick(&r.f, r.t, 10000000, 0);
	is_u64(account_co2e_ng(account(&r, 0)), 1166667 + 833333, "5 J at 500");
	check_sums(&r, "and then in every tick");
	teardown(&r);

	/* 2 s of an outage's last hour and 3 s after it: the steps of the chain by that time, too */
	setup(&r, T0 + 1800 + HOUR + 2);
	claim(&r, 0, r.t);
	r.f.cpu_ns = 5 * S;
	r.t += S;
	r.f.wall_ns += S;
	(void)fake_tick(&r.f, r.t, 50000000, 0);
	is_u64(account(&r, 0)->factor_uj[FACTOR_FRESH], 10000000, "10 J fresh");
	is_u64(account(&r, 0)->factor_uj[FACTOR_LAST], 15000000, "15 J by the last factor");
	check_sums(&r, "steps of the chain");
	teardown(&r);
}

static void test_outage(void)
{
	/* the second point ended at T0 + 1800 and was the last */
	const uint64_t fresh_s = T0 + 1800 + HOUR;
	const uint64_t last_s = T0 + 1800 + 6 * HOUR;
	const struct account *a;
	struct rig r;

	setup(&r, fresh_s - 1);
	claim(&r, 0, r.t);
	tick(&r, 1);
	a = account(&r, 0);
	is_u64(a->factor_uj[FACTOR_FRESH], 5000000, "fresh to its last second");
	is_u64(a->factor_uj[FACTOR_LAST], 0, "and nothing by the last factor yet");
	tick(&r, 1);
	a = account(&r, 0);
	is_u64(a->factor_uj[FACTOR_FRESH], 5000000, "from then on not fresh any more");
	is_u64(a->factor_uj[FACTOR_LAST], 5000000, "but by the last factor");
	is_u64(account_co2e_ng(a), 1666666, "at the same 500 g/kWh");
	tick(&r, last_s - fresh_s - 2);
	tick(&r, 2);
	a = account(&r, 0);
	is_u64(a->factor_uj[FACTOR_LAST], (last_s - fresh_s) * 5000000, "for five hours");
	is_u64(a->factor_uj[FACTOR_STATIC], 5000000, "then the yearly mean");
	/* 5 J, 5 J and 89,990 J at 500, 10 J at 270 */
	is_u64(account_co2e_ng(a), 833333 + 833333 + UINT64_C(14998333333) + 900000,
	       "emissions of all of it");
	check_sums(&r, "an outage");
	teardown(&r);
}

/* The clock is set within the tick: its length stays, its end is where the clock says. */
static void test_clock(void)
{
	static const struct {
		const char *name;
		int64_t by_s;
		uint64_t ng, fresh_uj;
	} table[] = {
		{ "an hour forwards", HOUR, 8333333, 50000000 },
		{ "a day forwards", 24 * HOUR, 666667, 0 },
		{ "three minutes back", -180, 833333, 50000000 },
		{ "a day back", -24 * HOUR, 666667, 0 },
		{ "to 5 s behind the beginning", -903, 750000, 25000000 },
		/* 0 would be the clock of the machine */
		{ "to 1970", -(int64_t)(T0 + 907), 666667, 0 },
	};
	struct rig r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		setup(&r, T0 + 898);
		claim(&r, 0, r.t);
		r.f.wall_ns += (uint64_t)table[i].by_s * S;
		tick(&r, 10);
		is_u64(account_co2e_ng(account(&r, 0)), table[i].ng, table[i].name);
		is_u64(account(&r, 0)->factor_uj[FACTOR_FRESH], table[i].fresh_uj, "its fresh part");
		check_sums(&r, table[i].name);
		teardown(&r);
	}
}

/* 2026-10-25T01:00:00Z, when clocks in Paris go from 03:00 back to 02:00. */
static void test_dst(void)
{
	static const char *const zone[] = { "UTC", "Europe/Paris", "America/New_York" };
	const uint64_t night = 1792890000;
	struct factor_series s = { 0 };
	struct rig r;
	size_t i;

	add(&s, night - 900, night, 50000);
	add(&s, night, night + 900, 500000);
	chain.series = &s;
	for (i = 0; i < ARRAY_SIZE(zone); i++) {
		(void)setenv("TZ", zone[i], 1);
		tzset();
		setup(&r, night - 5);
		claim(&r, 0, r.t);
		tick(&r, 10);
		is_u64(account_co2e_ng(account(&r, 0)), 4583333, zone[i]);
		check_sums(&r, "DST");
		teardown(&r);
	}
	(void)unsetenv("TZ");
	chain.series = &series;
	factor_series_fini(&s);
}

static void test_replaced(void)
{
	struct factor_series other = { 0 };
	struct rig r;

	add(&other, T0, T0 + 900, 100000);
	setup(&r, T0 + 10);
	claim(&r, 0, r.t);
	tick(&r, 10);
	is_u64(account_co2e_ng(account(&r, 0)), 833333, "50 J at 50");
	chain.series = &other;
	tick(&r, 10);
	is_u64(account_co2e_ng(account(&r, 0)), 833333 + 1666667, "another series: at 100 from now on");
	chain.series = NULL;
	tick(&r, 10);
	is_u64(account_co2e_ng(account(&r, 0)), 833333 + 1666667 + 666667, "none: the yearly mean");
	check_sums(&r, "another series");
	chain.series = &series;
	factor_series_fini(&other);
	teardown(&r);
}

static void test_market(void)
{
	struct values f;
	struct rig r;

	setup(&r, T0 + 895);
	claim(&r, 0, r.t);
	tick(&r, 10);
	values_init(&f);
	ledger_account_values(ledger_current(r.f.l), account(&r, 0), &f);
	is_int(f.reason[METRIC_CO2E_MARKET], REASON_NO_CONTRACT, "no contract, not 0");
	r.f.has_market = true;
	tick(&r, 10);
	ledger_account_values(ledger_current(r.f.l), account(&r, 0), &f);
	ok(values_has(&f, METRIC_CO2E_MARKET), "a contract of 0 g/kWh");
	is_u64(f.value[METRIC_CO2E_MARKET], 0, "is 0");
	r.f.market_mg_per_kwh = 30000;
	tick(&r, 10);
	ledger_account_values(ledger_current(r.f.l), account(&r, 0), &f);
	is_u64(f.value[METRIC_CO2E_MARKET], 500000, "50 J at 30 g/kWh, times PUE");
	is_u64(f.value[METRIC_CO2E], 4583333 + 8333333 + 8333333, "beside, not instead of, the grid's");
	is_u64(f.value[METRIC_FRESH_FACTOR], 150000000, "by fresh factors");
	check_sums(&r, "a contract");
	teardown(&r);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	add(&series, T0, T0 + 900, 50000);
	add(&series, T0 + 900, T0 + 1800, 500000);
	test_change();
	test_slow();
	test_outage();
	test_clock();
	test_dst();
	test_replaced();
	test_market();
	factor_series_fini(&series);
	is_int(rmdir(dir), 0, "no file is left over");
	return done_testing();
}
