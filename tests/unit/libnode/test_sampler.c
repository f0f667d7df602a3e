/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler on a machine of files: a RAPL package with its memory and a /proc/stat, all advanced
 * by hand, so that every microjoule is known.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include "src/libnode/sampler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cgfolders.h"
#include "src/libemission/emission.h"
#include "src/libledger/ledger_book.h"
#include "src/libledger/ledger_map.h"
#include "src/libmeter/sensor/rapl/rapl_note.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"
#include "tap.h"

#define RANGE_UJ UINT64_C(262143328850) /* the last value before 0 */

static char top[] = "/tmp/test_sampler.XXXXXX";
static uint64_t package_uj, dram_uj, busy_ticks, fed_uj;
static struct ledger_page page; /* of the last snapshot */

/* Overwrites the file in place and never truncates it to 0: the sampler keeps files open, as with sysfs. */
static void put(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(const char *path, const char *fmt, ...)
{
	_cleanup_close_ int fd = -1;
	char full[256];
	va_list ap;
	int n;

	snprintf(full, sizeof(full), "%s/%s", top, path);
	fd = open(full, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	va_start(ap, fmt);
	n = fd < 0 ? -1 : vdprintf(fd, fmt, ap);
	if (n < 0 || ftruncate(fd, n) < 0)
		diag("cannot write %s", full);
	va_end(ap);
}

static void put_counters(void)
{
	put("sys/class/powercap/intel-rapl:0/energy_uj", "%" PRIu64 "\n", package_uj % (RANGE_UJ + 1));
	put("sys/class/powercap/intel-rapl:0/intel-rapl:0:0/energy_uj", "%" PRIu64 "\n",
	    dram_uj % (RANGE_UJ + 1));
	put("proc/stat",
	    "cpu  %" PRIu64 " 0 0 1000 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"
	    "cpu1 0 0 0 0 0 0 0 0 0 0\n",
	    busy_ticks);
}

static void feed(uint64_t package, uint64_t dram, uint64_t busy)
{
	package_uj += package;
	dram_uj += dram;
	busy_ticks += busy;
	fed_uj += package + dram;
	put_counters();
}

static void make_machine(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/sys/class/powercap/intel-rapl:0/intel-rapl:0:0", top);
	fileio_mkdir_p(path, 0755, NULL);
	snprintf(path, sizeof(path), "%s/proc", top);
	fileio_mkdir_p(path, 0755, NULL);
	put("sys/class/powercap/intel-rapl:0/name", "package-0\n");
	put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "%" PRIu64 "\n", RANGE_UJ);
	put("sys/class/powercap/intel-rapl:0/intel-rapl:0:0/name", "dram\n");
	put("sys/class/powercap/intel-rapl:0/intel-rapl:0:0/max_energy_range_uj", "%" PRIu64 "\n", RANGE_UJ);
	put("proc/meminfo", "MemTotal:       %" PRIu64 " kB\n", UINT64_C(8388608));
	package_uj = RANGE_UJ - 1000000; /* soon to wrap */
	put_counters();
}

static struct settings settings_for_test(void)
{
	struct settings s = { 0 };

	kvconf_defaults(settings_keys, settings_nkeys, &s, NULL);
	snprintf(s.sys_root, sizeof(s.sys_root), "%s", top);
	snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s/ledger", top);
	s.bpf_dir[0] = '\0';
	return s;
}

static struct sampler *create(const struct settings *s)
{
	struct sampler *sampler = NULL;
	struct errmsg err = { 0 };
	int rc = sampler_create(s, "n1", &sampler, &err);

	if (rc < 0)
		diag("sampler_create: %s", err.text);
	return sampler;
}

static void snapshot(const struct settings *s)
{
	struct ledger *l = NULL;

	if (ledger_open(s->ledger_dir, "n1", false, &l, NULL) == 0)
		require(ledger_snapshot(l, &page) == 0);
	ledger_close(l);
}

static void check_conserved(const struct settings *s, const char *when)
{
	snapshot(s);
	is_u64(account_total_uj(&page.measured), fed_uj, when);
	is_u64(ledger_page_error_uj(&page), 0, "  and the accounts add up to it");
	is_u64(page.conservation_error_uj, 0, "  and did so at every tick");
}

static void test_cannot(void)
{
	struct settings s = settings_for_test();
	struct sampler *sampler = NULL;
	struct errmsg err = { 0 };
	char path[256];

	snprintf(path, sizeof(path), "%s/file", top);
	put("file", "x");
	snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s", path);
	ok(sampler_create(&s, "n1", &sampler, &err) < 0, "LedgerDir is a file");
	ok(strstr(err.text, path) != NULL, "  and the text names it: %s", err.text);
	ok(!sampler, "  and nothing came back");
	sampler_destroy(NULL);
}

static unsigned int lines;

static void count_line(enum logger_level level, const char *line)
{
	(void)level;
	lines += strstr(line, "energy is not measured") != NULL;
}

/* Another slurmd of this node: whoever waits for its end starts no helper and asks no BMC. */
static void test_busy(void)
{
	struct settings s = settings_for_test();
	struct sampler *first, *second = NULL;
	struct errmsg err = { 0 };

	snprintf(s.sys_root, sizeof(s.sys_root), "%s/ledger", top);
	snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s/ledger-busy", top);
	snprintf(s.energy_sources, sizeof(s.energy_sources), "rapl");
	logger_set_sink(count_line);
	first = create(&s);
	ok(first && lines == 1, "the ledger's first user opens its sources");
	is_int(sampler_create(&s, "n1", &second, &err), -EBUSY, "the second has to wait");
	is_u64(lines, 1, "  and does not open any");
	logger_set_sink(NULL);
	sampler_destroy(first);
}

static void test_no_sensor(void)
{
	struct settings s = settings_for_test();
	struct sampler *sampler;
	uint64_t uj, mw;

	snprintf(s.sys_root, sizeof(s.sys_root), "%s/ledger", top); /* a machine without /sys */
	snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s/ledger-none", top);
	snprintf(s.energy_sources, sizeof(s.energy_sources), "rapl");
	sampler = create(&s);
	ok(sampler != NULL, "no sensor is no failure");
	if (!sampler)
		return;
	is_int(sampler_tick(sampler), 0, "  ticks");
	is_int(sampler_tick(sampler), 0, "  and ticks");
	is_int(sampler_node_energy(sampler, &uj, &mw), -ENODATA, "  and knows no energy");
	sampler_destroy(sampler);
}

/* NSTEPS steps come, use the node and go, with a slurmd restart after every third round. */
static void test_conservation(const struct settings *s, unsigned int nsteps)
{
	struct sampler *sampler = create(s);
	struct ledger *l = NULL;
	unsigned int slot[8];
	unsigned int round, i;
	char what[64];

	if (!sampler || ledger_open(s->ledger_dir, "n1", true, &l, NULL) < 0) {
		ok(false, "ledger");
		sampler_destroy(sampler);
		return;
	}
	sampler_tick(sampler);
	for (round = 0; round < 6; round++) {
		for (i = 0; i < nsteps; i++) {
			struct ledger_identity id = {
				.job_id = 100 * nsteps + i / 2,
				.step_id = round,
				.het_comp = LEDGER_HET_NONE,
				.node_count = 1,
				.job_cpus = 1,
				.step_cpus = 1,
				.job_mem_mb = 100,
				.step_mem_mb = 100,
			};

			if (ledger_claim(l, &id, &slot[i]) < 0)
				ok(false, "slot");
			feed(1000003 + i, 77777, 3);
			sampler_tick(sampler);
		}
		feed(500001, 13, 7);
		if (round % 3 == 2) {
			sampler_destroy(sampler);
			feed(123457, 11, 1);
			sampler = create(s);
			if (!sampler)
				break;
		}
		for (i = 0; i < nsteps; i++) {
			struct account a;

			/* nobody ticks meanwhile, so there is nothing to wait for */
			require(ledger_finish(l, slot[i], (uint64_t)(i + 1) * 1000000, 0, &a) < 0);
			feed(900000, 100, 2);
			sampler_tick(sampler);
			ledger_leave(l, slot[i]);
		}
		sampler_tick(sampler);
	}
	snprintf(what, sizeof(what), "%u steps, all of it is measured", nsteps);
	check_conserved(s, what);
	ledger_close(l);
	sampler_destroy(sampler);
}

/* A source that is configured and not there: what runs meanwhile has a lower bound of its energy. */
static void test_lost(void)
{
	const struct ledger_identity id = { .job_id = 7,
					    .het_comp = LEDGER_HET_NONE,
					    .node_count = 1,
					    .job_cpus = 1,
					    .step_cpus = 1,
					    .job_mem_mb = 100,
					    .step_mem_mb = 100 };
	int is_lost;

	for (is_lost = 0; is_lost < 2; is_lost++) {
		struct settings s = settings_for_test();
		struct account step = { 0 }, job = { 0 };
		struct sampler *sampler;
		struct ledger *l = NULL;
		unsigned int slot;

		(void)snprintf(s.helper_dir, sizeof(s.helper_dir), "%s", top);
		(void)snprintf(s.redfish_conf, sizeof(s.redfish_conf), "%s", is_lost ? "/etc/bmc" : "");
		sampler = create(&s);
		if (!ok(sampler && ledger_open(s.ledger_dir, "n1", true, &l, NULL) == 0, "a node")) {
			sampler_destroy(sampler);
			continue;
		}
		sampler_tick(sampler);
		require(ledger_claim(l, &id, &slot) == 0);
		feed(1000000, 10, 3);
		sampler_tick(sampler);
		feed(1000000, 10, 3);
		sampler_tick(sampler);
		is_int(ledger_step_energy(l, slot, &step), 0, "a step");
		is_int(ledger_job_total(l, id.job_id, &job, NULL, NULL), 0, "  and its job");
		ok((step.lost_ns != 0) == is_lost && job.lost_ns == step.lost_ns,
		   "  know for how long a source was lost: %s", is_lost ? "some time" : "never");
		require(ledger_finish(l, slot, 0, 0, &step) < 0);
		ledger_leave(l, slot);
		sampler_tick(sampler);
		ledger_close(l);
		sampler_destroy(sampler);
	}
}

/* A tick in which a step is suspended is not its run time. */
static void test_suspended(void)
{
	const struct ledger_identity id = { .job_id = 7, .het_comp = LEDGER_HET_NONE, .node_count = 1 };
	struct settings s = settings_for_test();
	struct sampler *sampler = create(&s);
	struct ledger_view view = { 0 };
	struct ledger_slot *step;
	struct folders f;
	struct ledger *l = NULL;
	uint64_t frozen_at_ns, suspended_ns;
	unsigned int slot;
	int hier;

	folders_make(&f);
	hier = f.top[HIER_FREEZER][0] ? HIER_FREEZER : HIER_V2;
	require(sampler && ledger_open(s.ledger_dir, "n1", true, &l, NULL) == 0);
	sampler_tick(sampler);
	require(ledger_claim(l, &id, &slot) == 0);
	step = ledger_slot(l, slot);
	if (!folders_freeze(&f, hier, /* is_frozen= */ false, &step->cgroup)) {
		skip(4, "no freezer that can be written");
	} else {
		atomic_store(&step->cgroup_known, 1);
		sampler_tick(sampler);
		require(ledger_step_view(l, slot, &view) == 0);
		is_u64(view.suspended_ns, 0, "a step that waits is not suspended");
		frozen_at_ns = view.t_mono_ns;
		require(folders_freeze(&f, hier, /* is_frozen= */ true, &step->cgroup));
		sampler_tick(sampler);
		require(ledger_step_view(l, slot, &view) == 0);
		suspended_ns = view.t_mono_ns - frozen_at_ns;
		is_u64(view.suspended_ns, suspended_ns, "one that is, for the whole tick");
		require(folders_freeze(&f, hier, /* is_frozen= */ false, &step->cgroup));
		sampler_tick(sampler);
		require(ledger_step_view(l, slot, &view) == 0);
		is_u64(view.suspended_ns, suspended_ns, "then it goes on");
		ok(view.t_mono_ns > frozen_at_ns + suspended_ns, "  for some time");
	}
	ledger_leave(l, slot);
	sampler_tick(sampler);
	folders_remove(&f);
	ledger_close(l);
	sampler_destroy(sampler);
}

static void note_here(void *arg, const struct ledger_page *p, struct source_notes *notes)
{
	rapl_note(top, &p->state[SOURCE_RAPL], *(const uint64_t *)arg, notes);
}

/*
 * slurmd is away for five minutes at 400 W and more, so that the counter wraps. With the readings of
 * slurmstepds all energy is booked. Without, what ran gets a lower bound.
 */
static void test_away(void)
{
	const struct ledger_identity id = { .job_id = 8,
					    .het_comp = LEDGER_HET_NONE,
					    .job_cpus = 1,
					    .step_cpus = 1,
					    .job_mem_mb = 100,
					    .step_mem_mb = 100 };
	int has_notes;

	for (has_notes = 0; has_notes < 2; has_notes++) {
		struct settings s = settings_for_test();
		struct account step = { 0 };
		struct sampler *sampler = create(&s);
		struct ledger *l = NULL;
		uint64_t before_uj, t_ns;
		unsigned int slot;

		if (!ok(sampler && ledger_open(s.ledger_dir, "n1", true, &l, NULL) == 0, "a node"))
			break;
		sampler_tick(sampler);
		require(ledger_claim(l, &id, &slot) == 0);
		feed(1000000, 10, 3);
		sampler_tick(sampler);
		t_ns = 0;
		is_int(ledger_note_away(l, s.ledger_dir, note_here, &t_ns), -EBUSY,
		       "slurmd lives: nothing is noted");
		sampler_destroy(sampler);
		ledger_map_page(l, atomic_load(&l->file->turns))->t_mono_ns -= 300 * NSEC_PER_SEC;
		before_uj = account_total_uj(&ledger_current(l)->measured);
		for (t_ns = 30 * NSEC_PER_SEC; t_ns < 300 * NSEC_PER_SEC; t_ns += 30 * NSEC_PER_SEC) {
			feed(UINT64_C(30000000000), 1000, 3);
			if (has_notes)
				is_int(ledger_note_away(l, s.ledger_dir, note_here, &t_ns), 0, "noted");
		}
		feed(UINT64_C(30000000000), 1000, 3);
		sampler = create(&s);
		if (!ok(sampler != NULL, "slurmd is back"))
			break;
		sampler_tick(sampler);
		is_u64(account_total_uj(&ledger_current(l)->measured) - before_uj,
		       has_notes ? UINT64_C(300000010000) : UINT64_C(300000010000) - RANGE_UJ - 1,
		       has_notes ? "all energy is booked" : "a range is missing");
		fed_uj -= has_notes ? 0 : RANGE_UJ + 1;
		is_int(ledger_step_energy(l, slot, &step), 0, "a step that ran meanwhile");
		ok((step.lost_ns == 0) == has_notes, "  has %s", has_notes ? "its energy" : "a lower bound");
		feed(1000000, 10, 3);
		sampler_tick(sampler);
		sampler_tick(sampler);
		require(ledger_finish(l, slot, 0, 0, &step) < 0);
		ledger_leave(l, slot);
		sampler_tick(sampler);
		ledger_close(l);
		sampler_destroy(sampler);
	}
}

static void test_fields(const struct settings *s)
{
	ok(page.wraps > 0, "the counter wrapped on the way");
	is_u64(page.rejected, 0, "nothing was rejected");
	is_u64(page.domain_source[DOMAIN_CPU], SOURCE_RAPL, "packages are RAPL's");
	is_u64(page.domain_source[DOMAIN_DRAM], SOURCE_RAPL, "memory is RAPL's");
	is_u64(page.domain_source[DOMAIN_GPU], SOURCE_N, "no source measures GPUs");
	is_u64(page.factor_known, 1, "without a country there is the world's factor");
	is_u64(page.factor.mg_per_kwh, EMISSION_WORLD_MG_PER_KWH, "  475 g/kWh");
	is_u64(page.pue_milli, 1000, "PUE is 1");
	ok(account_co2e_ng(&page.measured) > 0, "so there are emissions");
	is_u64(page.measured.source_uj[SOURCE_RAPL], fed_uj, "all of it from RAPL");
	(void)s;
}

static void test_no_factor(void)
{
	struct settings s = settings_for_test();
	struct sampler *sampler;

	snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s/ledger-xx", top);
	snprintf(s.country, sizeof(s.country), "XX");
	snprintf(s.emission_factor_file, sizeof(s.emission_factor_file), "%s/none.csv", top);
	sampler = create(&s);
	ok(sampler != NULL, "an unknown country is no failure");
	if (!sampler)
		return;
	sampler_tick(sampler);
	feed(1000000, 0, 0);
	sampler_tick(sampler);
	snapshot(&s);
	is_u64(page.factor_known, 0, "  the factor is not known");
	is_u64(account_co2e_ng(&page.measured), 0, "  and no emissions are made up");
	sampler_destroy(sampler);
}

/* Ticks until the factor in force is of STEP, and says whether it came to be. */
static bool tick_until(struct sampler *sampler, const struct settings *s, enum factor_step step)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	uint64_t deadline_ns = clock_mono_ns() + 60 * NSEC_PER_SEC;

	do {
		sampler_tick(sampler);
		snapshot(s);
		if (page.factor_step == step)
			return true;
		(void)nanosleep(&pause, NULL);
	} while (clock_mono_ns() < deadline_ns);
	return false;
}

static void write_series(const char *path, uint64_t from_s, uint64_t until_s, uint64_t mg)
{
	struct factor_point p = {
		from_s, until_s, from_s, { .mg_per_kwh = mg, .region = "ZZ-1", .source = "x" }
	};
	const struct factor_series series = { &p, 1 };
	struct errmsg err;

	if (factor_series_write(path, &series, &err) < 0)
		exit(99);
}

/* From the file by way of the process to the accounts. */
static void test_series(void)
{
	struct settings s = settings_for_test();
	uint64_t now_s = clock_wall_ns() / NSEC_PER_SEC;
	struct sampler *sampler;
	uint64_t before_uj;
	char text[1024];

	snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s/ledger-series", top);
	snprintf(s.emission_series_file, sizeof(s.emission_series_file), "%s/series.csv", top);
	snprintf(s.emission_region, sizeof(s.emission_region), "ZZ-1");
	snprintf(s.helper_dir, sizeof(s.helper_dir), "%s", HELPER_DIR);
	write_series(s.emission_series_file, now_s - 600, now_s + 6000, 123000);
	sampler = create(&s);
	if (!ok(sampler != NULL, "a sampler with a series"))
		return;
	sampler_describe(sampler, text, sizeof(text));
	ok(strstr(text, "where the series has none") != NULL, "the description says so: %s", text);
	ok(tick_until(sampler, &s, FACTOR_FRESH), "its factor comes to be in force");
	is_u64(page.factor.mg_per_kwh, 123000, "  123 g/kWh");
	is_str(page.factor.region, "ZZ-1", "  of the region");
	is_u64(page.factor_until_s, now_s + 6000, "  until then");
	before_uj = page.measured.factor_uj[FACTOR_FRESH];
	feed(3600000, 0, 0);
	sampler_tick(sampler);
	snapshot(&s);
	is_u64(page.measured.factor_uj[FACTOR_FRESH] - before_uj, 3600000, "  and is charged with it");
	sampler_destroy(sampler);

	write_series(s.emission_series_file, now_s - 9000, now_s - 7200, 99000);
	sampler = create(&s);
	ok(sampler && tick_until(sampler, &s, FACTOR_LAST), "an old one is the last");
	sampler_destroy(sampler);

	s.emission_max_age_ns = UINT64_C(7) * 86400 * NSEC_PER_SEC;
	write_series(s.emission_series_file, now_s - 6 * 86400, now_s - 5 * 86400, 99000);
	sampler = create(&s);
	ok(sampler && tick_until(sampler, &s, FACTOR_LAST), "for as long as EmissionMaxAge says");
	sampler_destroy(sampler);
	(void)unlink(s.emission_series_file);
}

/*
 * Waits until the sampler has seen the step. A tick that began earlier may read the sensors only after feed()
 * has changed them, and charges the step nothing.
 */
static bool wait_seen(const struct ledger *l, unsigned int slot)
{
	uint64_t deadline = clock_mono_ns() + UINT64_C(30000000000);
	struct account a;

	while (ledger_step_energy(l, slot, &a) == -ENODATA) {
		if (clock_mono_ns() > deadline)
			return false;
		(void)usleep(1000);
	}
	return true;
}

/* All energy is static: whenever the thread ticks, the step has its part by allocation. */
static void test_thread(void)
{
	struct settings idle = settings_for_test();
	const struct settings *s = &idle;
	struct ledger_identity id = {
		.job_id = 5,
		.step_id = 0,
		.het_comp = LEDGER_HET_NONE,
		.job_cpus = 1,
		.step_cpus = 1,
	};
	struct sampler *sampler;
	struct errmsg err = { 0 };
	struct ledger *l = NULL;
	struct account a = { 0 };
	unsigned int slot;
	uint64_t uj = 0, mw;

	idle.idle_mw = UINT64_C(1000000000000);
	sampler = create(s);
	if (!sampler)
		return;
	is_int(sampler_start(sampler, &err), 0, "the thread starts");
	if (ledger_open(s->ledger_dir, "n1", true, &l, NULL) == 0 && ledger_claim(l, &id, &slot) == 0) {
		ok(wait_seen(l, slot), "and sees a step");
		feed(3000000, 0, 100);
		is_int(ledger_finish(l, slot, 1000000000, UINT64_C(10000000000), &a), 0,
		       "a step's end is answered");
		ok(account_total_uj(&a) > 0, "  with its energy");
		ledger_leave(l, slot);
	}
	ledger_close(l);
	sampler_destroy(sampler);
	sampler = create(s);
	ok(sampler && sampler_node_energy(sampler, &uj, &mw) == 0 && uj == fed_uj,
	   "the node's energy goes on where it was");
	sampler_destroy(sampler);
}

static void test_due(void)
{
	static const struct {
		const char *name;
		uint64_t wall_ns, every_ns, due_ns;
	} t[] = {
		{ "just after a second", 1700000000000100000, 1000000000, 999900000 },
		{ "on it", 1700000000000000000, 1000000000, 1000000000 },
		{ "between two", 1700000000400000000, 1000000000, 600000000 },
		{ "too close to the next one", 1700000000990000000, 1000000000, 1010000000 },
		{ "just before, as a timer is never", 1700000000999999999, 1000000000, 1000000001 },
		{ "50 ms", 1700000000020000000, 50000000, 30000000 },
		{ "a minute", 1700000041000000000, 60000000000, 59000000000 },
		{ "a clock that was never set", 3000000000, 1000000000, 1000000000 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		is_u64(sampler_due_in_ns(t[i].wall_ns, t[i].every_ns), t[i].due_ns, t[i].name);
}

/* Of the thread ceems-sampler of this process. -1: there is none. */
static int sampler_cpus(cpu_set_t *ret)
{
	struct dirent *e;
	DIR *d = opendir("/proc/self/task");
	int rc = -1;

	while (d && rc < 0 && (e = readdir(d))) {
		char path[64], comm[32] = "";
		pid_t tid = atoi(e->d_name);

		(void)snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)tid);
		if (fileio_read_line("/", path, comm, sizeof(comm)) >= 0 && tid &&
		    !strcmp(comm, "ceems-sampler"))
			rc = sched_getaffinity(tid, sizeof(*ret), ret);
	}
	if (d)
		closedir(d);
	return rc;
}

/* slurmd is bound by CoreSpecCount or SlurmdOffSpec; its jobs have the other CPUs. */
static void test_cpus(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct settings s = settings_for_test();
	cpu_set_t all, one, now;
	struct sampler *sampler;
	int i, rc = -1;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	CPU_ZERO(&one);
	for (i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	sampler = create(&s);
	ok(sampler && sampler_start(sampler, NULL) == 0, "a slurmd that is bound to a CPU");
	for (i = 0; i < 1000 && rc < 0; i++) {
		rc = sampler_cpus(&now);
		(void)nanosleep(&pause, NULL);
	}
	ok(rc == 0 && CPU_EQUAL(&now, &one), "  has its sampler there");
	sampler_destroy(sampler);
	(void)sched_setaffinity(0, sizeof(all), &all);
}

static bool file_has(const char *path, const char *text)
{
	_cleanup_free_ char *buf = calloc(1, 65536);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return buf && fd >= 0 && read(fd, buf, 65535) > 0 && strstr(buf, text);
}

static void test_textfile(void)
{
	struct settings s = settings_for_test();
	struct sampler *sampler;
	char path[256];
	struct stat st;

	snprintf(s.helper_dir, sizeof(s.helper_dir), "%s", HELPER_DIR);
	snprintf(s.textfile_dir, sizeof(s.textfile_dir), "%s/no-such-folder", top);
	sampler = create(&s);
	ok(sampler && sampler_start(sampler, NULL) == 0, "a TextfileDir that is not there");
	sampler_destroy(sampler);
	snprintf(s.textfile_dir, sizeof(s.textfile_dir), "%s", top);
	sampler = create(&s);
	ok(sampler && sampler_start(sampler, NULL) == 0, "and one that is");
	sampler_destroy(sampler);
	snprintf(path, sizeof(path), "%s/ceems.prom", top);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644, "  ceems.prom for all to read");
	ok(file_has(path, "ceems_sampler_running{hostname=\"n1\"} 0"), "  which says that slurmd has ended");
	ok(!file_has(path, "joules_total"), "  and shows no sensor any more");
}

/* A minute between samples is the site's to choose; what Prometheus sees moves all the same. */
static void test_textfile_interval(void)
{
	struct settings s = settings_for_test();
	const struct timespec pause = { .tv_nsec = 20 * NSEC_PER_MSEC };
	const uint64_t begin_ns = clock_mono_ns();
	struct sampler *sampler;
	struct ledger *l = NULL;
	char path[256];

	s.sample_interval_ns = 60 * NSEC_PER_SEC;
	snprintf(s.helper_dir, sizeof(s.helper_dir), "%s", HELPER_DIR);
	snprintf(s.textfile_dir, sizeof(s.textfile_dir), "%s", top);
	snprintf(path, sizeof(path), "%s/ceems.prom", top);
	sampler = create(&s);
	ok(sampler && sampler_start(sampler, NULL) == 0, "SampleInterval=1m");
	while (!file_has(path, "ceems_sampler_running{hostname=\"n1\"} 1") &&
	       clock_mono_ns() - begin_ns < 30 * NSEC_PER_SEC)
		(void)nanosleep(&pause, NULL);
	feed(1000000, 0, 1);
	snprintf(path, sizeof(path), "%s/ceems.prom", top);
	(void)unlink(path);
	while (access(path, F_OK) < 0 && clock_mono_ns() - begin_ns < 60 * NSEC_PER_SEC)
		(void)nanosleep(&pause, NULL);
	ok(access(path, F_OK) == 0 && clock_mono_ns() - begin_ns < 60 * NSEC_PER_SEC,
	   "  ceems.prom is written again before the minute is over");
	if (ledger_open(s.ledger_dir, "n1", false, &l, NULL) == 0 && ledger_snapshot(l, &page) == 0)
		is_u64(account_total_uj(&page.measured), fed_uj, "  with what was measured meanwhile");
	ledger_close(l);
	sampler_destroy(sampler);
}

int main(void)
{
	static const unsigned int nsteps[] = { 1, 2, 8 };
	struct settings s;
	char cmd[128];
	size_t i;

	if (!mkdtemp(top))
		return 99;
	make_machine();
	s = settings_for_test();
	test_cannot();
	test_busy();
	test_no_sensor();
	for (i = 0; i < ARRAY_SIZE(nsteps); i++)
		test_conservation(&s, nsteps[i]);
	test_fields(&s);
	test_due();
	test_lost();
	test_suspended();
	test_away();
	test_thread();
	test_cpus();
	check_conserved(&s, "after the thread, too");
	test_no_factor();
	test_series();
	test_textfile();
	test_textfile_interval();
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", top);
	return system(cmd) ? 99 : done_testing();
}
