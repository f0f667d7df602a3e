/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RAPL source on copies of real machines' trees, whose counters are moved under it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"
#include "src/libmeter/sensor/counter.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"

#define RANGE_262K UINT64_C(262143328850)
#define RANGE_65K UINT64_C(65532610987)

static void path_of(const struct machine *m, const char *zone, const char *file, char path[256])
{
	snprintf(path, 256, "%s/sys/class/powercap/%s/%s", m->root, zone, file);
}

/* In place, as a counter changes: no new inode. */
static void put(const struct machine *m, const char *zone, const char *file, const char *text)
{
	char path[256];
	int fd;

	path_of(m, zone, file, path);
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		diag("cannot write %s", path);
	if (fd >= 0)
		close(fd);
}

static uint64_t get_uj(const struct machine *m, const char *zone)
{
	char path[256];
	uint64_t v = 0;
	int fd;

	path_of(m, zone, "energy_uj", path);
	fd = open(path, O_RDONLY);
	if (fd < 0 || fileio_pread_u64(fd, &v) < 0)
		diag("cannot read %s", path);
	if (fd >= 0)
		close(fd);
	return v;
}

static void set_uj(const struct machine *m, const char *zone, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", v);
	put(m, zone, "energy_uj", text);
}

/* Moves a counter as the hardware does. */
static void use(const struct machine *m, const char *zone, uint64_t uj, uint64_t range)
{
	set_uj(m, zone, (get_uj(m, zone) + uj) % (range + 1));
}

static int tick(struct machine *m)
{
	return source_rapl.read(m->source, NSEC_PER_SEC, 0, &m->state, &m->r);
}

static void is_reading(const struct machine *m, uint64_t cpu, uint64_t dram, uint64_t other, const char *what)
{
	uint64_t e[DOMAIN_N];
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		e[d] = reading_energy_uj(&m->r, (enum domain)d);
	if (!ok(e[DOMAIN_CPU] == cpu && e[DOMAIN_DRAM] == dram && e[DOMAIN_OTHER] == other &&
			e[DOMAIN_GPU] == 0,
		"%s", what))
		diag("cpu %" PRIu64 " dram %" PRIu64 " other %" PRIu64, e[DOMAIN_CPU], e[DOMAIN_DRAM],
		     e[DOMAIN_OTHER]);
}

/* --- nothing, or nothing usable --------------------------------------------------------
 */

static void test_absent(void)
{
	struct machine m;
	char want[256];

	machine_init(&m, &source_rapl, NULL);
	is_int(machine_open(&m), -ENODEV, "no /sys/class/powercap");
	snprintf(want, sizeof(want), "no intel-rapl zone below %s/sys/class/powercap", m.root);
	is_str(m.err.text, want, "the error names the folder");
	ok(!m.source, "no source");
	machine_shell("mkdir -p '%s/sys/class/powercap/dtpm' '%s/sys/class/powercap/intel-rapl'", m.root,
		      m.root);
	is_int(machine_open(&m), -ENODEV, "powercap without zones");
	is_str(m.err.text, want, "the error is the same");
	machine_shell("mkdir -p '%s/sys/class/powercap/intel-rapl:0'", m.root);
	is_int(machine_open(&m), -ENODEV, "a zone without a name");
	machine_fini(&m);

	machine_init(&m, &source_rapl, "epyc-1s");
	machine_shell("rm '%s/sys/class/powercap/intel-rapl:0/energy_uj'", m.root);
	is_int(machine_open(&m), -ENODEV, "a package without energy_uj, a core with");
	machine_fini(&m);

	machine_init(&m, &source_rapl, "epyc-1s");
	put(&m, "intel-rapl:0", "energy_uj", "");
	is_int(machine_open(&m), -EINVAL, "the only counter is empty");
	ok(!m.source, "no source");
	machine_fini(&m);
}

static void test_permission(void)
{
	struct machine m;
	int rc;

	machine_init(&m, &source_rapl, "epyc-1s");
	machine_shell("chmod -R go+rX '%s' && chmod 400 '%s'/sys/class/powercap/*/energy_uj", m.root, m.root);
	if (geteuid() == 0 && seteuid(65534) < 0) {
		skip(2, "cannot become nobody");
	} else {
		rc = machine_open(&m);
		if (getuid() == 0 && seteuid(0) < 0)
			exit(99);
		if (getuid() != 0) {
			skip(2, "the fixture is our own: only root can give up its rights");
		} else {
			is_int(rc, -EACCES, "0400 as since CVE-2020-8694");
			ok(strstr(m.err.text, "energy_uj: cannot open: Permission denied") != NULL,
			   "the message names the file");
		}
	}
	machine_fini(&m);
}

static void test_one_unreadable(void)
{
	struct machine m;
	char buf[256];

	if (geteuid() != 0) {
		skip(5, "needs root");
		return;
	}
	machine_init(&m, &source_rapl, "xeon-2s");
	machine_shell("chmod -R go+rX '%s' && chmod 400 "
		      "'%s/sys/class/powercap/intel-rapl:1/energy_uj'",
		      m.root, m.root);
	if (seteuid(65534) < 0) {
		skip(5, "cannot become nobody");
		machine_fini(&m);
		return;
	}
	is_int(machine_open(&m), 0, "one of four cannot be read: open");
	if (seteuid(0) < 0)
		exit(99);
	is_int(tick(&m), 0, "read");
	is_u64(m.r.rejected, 1, "and counted");
	use(&m, "intel-rapl:0", 1000, RANGE_262K);
	is_int(tick(&m), 0, "read again");
	source_rapl.describe(m.source, buf, sizeof(buf));
	ok(strstr(buf, "2 packages, 2 dram, 1 not readable") != NULL, "described: %s", buf);
	machine_fini(&m);
}

/* --- failing while open ----------------------------------------------------------------
 */

static void test_bad_content(void)
{
	static const char *const bad[] = {
		"",
		"\n",
		"abc\n",
		"-5\n",
		"12x\n",
		"0x10\n",
		"99999999999999999999999\n",
		"1 2\n",
		" 7\n",
		"18446744073709551615\n",
		"1111111111111111111111111111111111111111111111111111\n",
	};
	struct machine m;
	char name[96];
	size_t i;

	machine_init(&m, &source_rapl, "xeon-2s");
	is_int(machine_open(&m), 0, "two sockets: open");
	is_int(tick(&m), 0, "first reading");
	is_reading(&m, 0, 0, 0, "sets the base only");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		uint64_t v = get_uj(&m, "intel-rapl:1");

		use(&m, "intel-rapl:0", 100, RANGE_262K);
		put(&m, "intel-rapl:1", "energy_uj", bad[i]);
		snprintf(name, sizeof(name), "content %zu: the other package flows", i);
		is_int(tick(&m), 0, name);
		is_reading(&m, 100, 0, 0, name);
		is_u64(m.r.rejected, 1, "one rejected");
		set_uj(&m, "intel-rapl:1", v + 7);
		is_int(tick(&m), 0, "good again");
		is_reading(&m, 7, 0, 0, "its energy comes then");
		is_u64(m.r.rejected, 0, "none rejected");
	}
	for (i = 0; i < 2; i++) {
		put(&m, i ? "intel-rapl:1" : "intel-rapl:0", "energy_uj", "");
		put(&m, i ? "intel-rapl:1:0" : "intel-rapl:0:0", "energy_uj", "x");
	}
	m.r.rejected = 99;
	is_int(tick(&m), -EIO, "none can be read");
	is_u64(m.r.rejected, 99, "nothing is written then");
	machine_fini(&m);
}

/* A folder in the file's place opens and then fails to read, as a vanished sysfs file
 * does. */
static void test_vanished(void)
{
	struct machine m;

	machine_init(&m, &source_rapl, "xeon-2s");
	machine_shell("cd '%s/sys/class/powercap/intel-rapl:1' && rm energy_uj && mkdir "
		      "energy_uj",
		      m.root);
	is_int(machine_open(&m), 0, "open");
	is_int(tick(&m), 0, "read");
	use(&m, "intel-rapl:0", 5, RANGE_262K);
	is_int(tick(&m), 0, "read on");
	is_reading(&m, 5, 0, 0, "one package of two");
	is_u64(m.r.rejected, 1, "the other rejected");
	ok(reading_has(&m.r, DOMAIN_CPU), "still known");
	machine_fini(&m);
}

static void test_reset_and_jump(void)
{
	struct machine m;
	int i;

	machine_init(&m, &source_rapl, "epyc-1s");
	is_int(machine_open(&m), 0, "one socket: open");
	is_int(tick(&m), 0, "first");
	set_uj(&m, "intel-rapl:0", 1000);
	is_int(tick(&m), 0, "reset");
	is_reading(&m, 0, 0, 0, "yields nothing");
	is_u64(m.r.rejected, 1, "rejected");
	is_u64(m.r.wraps, 0, "is no wrap");
	for (i = 0; i < COUNTER_RESET_MOVES; i++) {
		use(&m, "intel-rapl:0", 100, RANGE_65K);
		is_int(tick(&m), 0, "goes on");
	}
	is_reading(&m, 600, 0, 0, "from the new start");
	use(&m, "intel-rapl:0", UINT64_C(40000000000), RANGE_65K);
	is_int(tick(&m), 0, "40 kJ in a second");
	is_reading(&m, 0, 0, 0, "yields nothing");
	is_u64(m.r.rejected, 1, "rejected");
	set_uj(&m, "intel-rapl:0", 1700);
	is_int(tick(&m), 0, "it was a glitch");
	is_reading(&m, 100, 0, 0, "that cost nothing");
	machine_fini(&m);
}

/* --- machines --------------------------------------------------------------------------
 */

static void test_two_sockets(void)
{
	struct machine m;
	char buf[256];

	machine_init(&m, &source_rapl, "xeon-2s");
	is_int(machine_open(&m), 0, "xeon-2s: open through links");
	source_rapl.describe(m.source, buf, sizeof(buf));
	is_str(buf,
	       "2 packages, 2 dram, 65712.9 J range; at 2500 W it wraps in 26 s: keep "
	       "SampleInterval below",
	       "described");
	is_int(tick(&m), 0, "first");
	ok(reading_has(&m.r, DOMAIN_CPU) && reading_has(&m.r, DOMAIN_DRAM) &&
		   !reading_has(&m.r, DOMAIN_GPU) && !reading_has(&m.r, DOMAIN_OTHER),
	   "what it knows");
	is_u64(m.state.ncounters, 4, "four counters are kept");
	is_str(m.state.counter[0].name, "intel-rapl:0", "in the order of their names: 1st");
	is_str(m.state.counter[1].name, "intel-rapl:0:0", "2nd");
	is_str(m.state.counter[3].name, "intel-rapl:1:0", "last");
	use(&m, "intel-rapl:0", 123456789, RANGE_262K);
	use(&m, "intel-rapl:1", 1, RANGE_262K);
	use(&m, "intel-rapl:0:0", 20, RANGE_65K);
	use(&m, "intel-rapl:1:0", 3, RANGE_65K);
	is_int(tick(&m), 0, "second");
	is_reading(&m, 123456790, 23, 0, "sums by domain");
	machine_fini(&m);
}

static void test_epyc(void)
{
	struct machine m;

	machine_init(&m, &source_rapl, "epyc-1s");
	is_int(machine_open(&m), 0, "epyc-1s: open");
	is_int(tick(&m), 0, "first");
	use(&m, "intel-rapl:0", 1000, RANGE_65K);
	use(&m, "intel-rapl:0:0", 900, RANGE_65K);
	is_int(tick(&m), 0, "second");
	is_reading(&m, 1000, 0, 0, "core is in package");
	ok(!reading_has(&m.r, DOMAIN_DRAM), "no dram is not dram 0");
	machine_fini(&m);
}

static void test_mirrors(void)
{
	struct machine m;
	char buf[256];

	machine_init(&m, &source_rapl, "zen1-mirrors");
	is_int(machine_open(&m), 0, "zen1-mirrors: open");
	source_rapl.describe(m.source, buf, sizeof(buf));
	ok(!strncmp(buf, "1 package, 0 dram, ", 19), "one package: %s", buf);
	is_int(tick(&m), 0, "first");
	use(&m, "intel-rapl:0", 5000, RANGE_65K);
	use(&m, "intel-rapl:1", 5000, RANGE_65K);
	is_int(tick(&m), 0, "second");
	is_reading(&m, 5000, 0, 0, "counted once");
	use(&m, "intel-rapl:0", 50000000, RANGE_65K);
	use(&m, "intel-rapl:1", 10000000, RANGE_65K);
	is_int(tick(&m), 0, "they part");
	is_reading(&m, 60000000, 0, 0, "counted both from then on");
	use(&m, "intel-rapl:1", 11, RANGE_65K);
	is_int(tick(&m), 0, "next");
	is_reading(&m, 11, 0, 0, "still both");
	machine_fini(&m);

	machine_init(&m, &source_rapl, "zen1-mirrors");
	set_uj(&m, "intel-rapl:1", UINT64_C(47000000000));
	is_int(machine_open(&m), 0, "dies with counters of their own: open");
	source_rapl.describe(m.source, buf, sizeof(buf));
	ok(!strncmp(buf, "2 packages, ", 12), "two counters: %s", buf);
	is_int(tick(&m), 0, "first");
	use(&m, "intel-rapl:0", 5000, RANGE_65K);
	use(&m, "intel-rapl:1", 5000, RANGE_65K);
	is_int(tick(&m), 0, "second");
	is_reading(&m, 10000, 0, 0, "both count");
	machine_fini(&m);

	machine_init(&m, &source_rapl, "zen1-mirrors");
	put(&m, "intel-rapl:0", "name", "package-0\n");
	put(&m, "intel-rapl:1", "name", "package-1\n");
	is_int(machine_open(&m), 0, "two sockets that read the same: open");
	is_int(tick(&m), 0, "first");
	use(&m, "intel-rapl:0", 5, RANGE_65K);
	use(&m, "intel-rapl:1", 5, RANGE_65K);
	is_int(tick(&m), 0, "second");
	is_reading(&m, 10, 0, 0, "are two");
	machine_fini(&m);
}

static const struct part *psys_of(const struct machine *m)
{
	uint32_t i;

	for (i = 0; i < m->r.nparts; i++)
		if (m->r.part[i].scope == SCOPE_NODE)
			return &m->r.part[i];
	return NULL;
}

/* As node_exporter numbers them: a psys is no package, and a counter under two names is shown once. */
static void test_zones(void)
{
	struct source_zone z[SOURCE_MAX_COUNTERS];
	struct machine m;

	machine_init(&m, &source_rapl, "client-psys");
	is_int(machine_open(&m), 0, "client-psys: open");
	is_u64(source_rapl.zones(m.source, z, ARRAY_SIZE(z)), 3, "its zones, mmio's left out");
	ok(!strcmp(z[0].kind, "package") && z[0].index == 0, "%s is package %u", z[0].name, z[0].index);
	ok(!strcmp(z[1].name, "intel-rapl:0:2") && !strcmp(z[1].kind, "dram") && z[1].index == 0,
	   "%s is dram %u", z[1].name, z[1].index);
	ok(!strcmp(z[2].name, "intel-rapl:1") && !strcmp(z[2].kind, "psys") && z[2].index == 0,
	   "%s is psys %u", z[2].name, z[2].index);
	is_u64(source_rapl.zones(m.source, z, 1), 1, "no more than there is room for");
	machine_fini(&m);

	machine_init(&m, &source_rapl, "xeon-2s");
	is_int(machine_open(&m), 0, "xeon-2s: open");
	is_u64(source_rapl.zones(m.source, z, ARRAY_SIZE(z)), 4, "two packages with their memory");
	ok(z[1].index == 1 && !strcmp(z[3].kind, "dram") && z[3].index == 1,
	   "memory has the number of its package");
	machine_fini(&m);

	machine_init(&m, &source_rapl, "zen1-mirrors");
	is_int(machine_open(&m), 0, "zen1-mirrors: open");
	is_u64(source_rapl.zones(m.source, z, ARRAY_SIZE(z)), 1, "one counter of two names");
	machine_fini(&m);
}

static void test_psys(void)
{
	static const struct {
		const char *name;
		uint64_t package, dram, psys, shown;
		bool psys_fails;
	} t[] = {
		{ "above its parts", 1000, 200, 1500, 1500, false },
		{ "below its parts", 1000, 200, 1100, 1100, false },
		{ "psys cannot be read", 1000, 200, 1300, 0, true },
		{ "and then has both ticks'", 1000, 200, 1300, 2600, false },
	};
	struct machine m;
	char buf[256];
	size_t i;

	machine_init(&m, &source_rapl, "client-psys");
	is_int(machine_open(&m), 0, "client-psys: open");
	source_rapl.describe(m.source, buf, sizeof(buf));
	is_str(buf, "1 package, 1 dram, psys, 262143.3 J range", "mmio's package is not counted again");
	is_int(tick(&m), 0, "first");
	ok(psys_of(&m) && psys_of(&m)->is_new_base, "knows the node, from now on");
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		uint64_t v;

		use(&m, "intel-rapl:0", t[i].package, RANGE_262K);
		use(&m, "intel-rapl:0:0", t[i].package / 2, RANGE_262K);
		use(&m, "intel-rapl:0:2", t[i].dram, RANGE_262K);
		use(&m, "intel-rapl:1", t[i].psys, RANGE_262K);
		use(&m, "intel-rapl-mmio:0", t[i].package, RANGE_262K);
		v = get_uj(&m, "intel-rapl:1");
		if (t[i].psys_fails)
			put(&m, "intel-rapl:1", "energy_uj", "");
		is_int(tick(&m), 0, t[i].name);
		is_reading(&m, t[i].package, t[i].dram, t[i].shown, t[i].name);
		is_u64(m.r.rejected, t[i].psys_fails, "rejected");
		ok(psys_of(&m) && !psys_of(&m)->is_new_base, "goes on");
		set_uj(&m, "intel-rapl:1", v);
	}
	machine_fini(&m);

	machine_init(&m, &source_rapl, "client-psys");
	machine_shell("rm -r '%s/sys/class/powercap/intel-rapl:0' "
		      "'%s/sys/class/powercap/intel-rapl:1'",
		      m.root, m.root);
	is_int(machine_open(&m), 0, "mmio alone: open");
	is_int(tick(&m), 0, "first");
	use(&m, "intel-rapl-mmio:0", 9, RANGE_262K);
	is_int(tick(&m), 0, "second");
	is_reading(&m, 9, 0, 0, "is counted when nothing else shows the package");
	machine_fini(&m);
}

/* Zones only inside their parents, as hand-made trees have them. */
static void test_nested_only(void)
{
	struct machine m;

	machine_init(&m, &source_rapl, "epyc-1s");
	machine_shell("cd '%s/sys/class/powercap' && mv intel-rapl:0:0 intel-rapl:0/ && "
		      "echo dram > intel-rapl:0/intel-rapl:0:0/name",
		      m.root);
	is_int(machine_open(&m), 0, "nested: open");
	is_int(tick(&m), 0, "first");
	use(&m, "intel-rapl:0/intel-rapl:0:0", 4, RANGE_65K);
	is_int(tick(&m), 0, "second");
	is_reading(&m, 0, 4, 0, "found in its parent");
	machine_fini(&m);
}

static void test_range(void)
{
	static const char *const bad[] = { "", "0\n", "none\n" };
	struct machine m;
	char buf[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		machine_init(&m, &source_rapl, "epyc-1s");
		put(&m, "intel-rapl:0", "max_energy_range_uj", bad[i]);
		is_int(machine_open(&m), 0, "range not stated: open");
		source_rapl.describe(m.source, buf, sizeof(buf));
		is_str(buf, "1 package, 0 dram, range not stated", "described");
		is_int(tick(&m), 0, "first");
		use(&m, "intel-rapl:0", 6, UINT64_MAX - 1);
		is_int(tick(&m), 0, "second");
		is_reading(&m, 6, 0, 0, "counts");
		set_uj(&m, "intel-rapl:0", 3);
		is_int(tick(&m), 0, "going back");
		is_u64(m.r.rejected, 1, "is a reset");
		machine_fini(&m);
	}
}

/* --- exactness -------------------------------------------------------------------------
 */

/* A thousand ticks over wraps, restarts and failed readings: nothing lost, nothing made
 * up. */
static void test_exact(void)
{
	static const char *const zones[] = { "intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0",
					     "intel-rapl:1:0" };
	static const uint64_t ranges[] = { RANGE_262K, RANGE_262K, UINT64_C(65712999613),
					   UINT64_C(65712999613) };
	struct machine m;
	uint64_t fed[2] = { 0 };
	uint64_t got[2] = { 0 };
	uint64_t other = 0;
	uint32_t wraps = 0;
	uint32_t seed = 12345;
	unsigned int failed = 0;
	unsigned int i;

	machine_init(&m, &source_rapl, "xeon-2s");
	if (machine_open(&m) < 0 || tick(&m) < 0)
		failed++;
	for (i = 0; i < 1000; i++) {
		uint64_t hidden = 0;
		size_t z;
		int blind = -1;

		for (z = 0; z < ARRAY_SIZE(zones); z++) {
			uint64_t uj;

			seed = seed * 1103515245 + 12345;
			uj = (uint64_t)(seed >> 8) * 60; /* up to 1 kJ */
			use(&m, zones[z], uj, ranges[z]);
			fed[z / 2] += uj;
		}
		if (i % 7 == 0 && i < 990) {
			blind = (int)(i % 4);
			hidden = get_uj(&m, zones[blind]);
			put(&m, zones[blind], "energy_uj", i % 2 ? "" : "garbage\n");
		}
		if (i % 50 == 0) {
			source_rapl.close(m.source);
			m.source = NULL;
			if (blind >= 0)
				set_uj(&m, zones[blind], hidden);
			failed += machine_open(&m) < 0;
			if (blind >= 0)
				put(&m, zones[blind], "energy_uj", "");
		}
		failed += tick(&m) < 0;
		got[0] += reading_energy_uj(&m.r, DOMAIN_CPU);
		got[1] += reading_energy_uj(&m.r, DOMAIN_DRAM);
		other += reading_energy_uj(&m.r, DOMAIN_OTHER) + reading_energy_uj(&m.r, DOMAIN_GPU);
		wraps += m.r.wraps;
		if (blind >= 0)
			set_uj(&m, zones[blind], hidden);
	}
	is_u64(failed, 0, "1000 ticks, 20 restarts");
	is_u64(got[0], fed[0], "packages: what was read is what was fed");
	is_u64(got[1], fed[1], "dram: the same");
	is_u64(other, 0, "nothing else");
	ok(wraps >= 15, "with %u wraps", wraps);
	machine_fini(&m);
}

/* A counter that could not be read for an hour, over a restart, is caught up after it. */
static void test_age_survives(void)
{
	struct machine m;
	uint64_t v;

	machine_init(&m, &source_rapl, "xeon-2s");
	is_int(machine_open(&m), 0, "open");
	is_int(tick(&m), 0, "first");
	v = get_uj(&m, "intel-rapl:0");
	put(&m, "intel-rapl:0", "energy_uj", "");
	is_int(source_rapl.read(m.source, 3600 * NSEC_PER_SEC, 0, &m.state, &m.r), 0,
	       "an hour without one package");
	source_rapl.close(m.source);
	m.source = NULL;
	set_uj(&m, "intel-rapl:0", v + UINT64_C(60000000000));
	is_int(machine_open(&m), 0, "restart");
	is_int(tick(&m), 0, "a second later it is back");
	is_reading(&m, UINT64_C(60000000000), 0, 0, "60 kJ in an hour are plausible");
	is_u64(m.state.ncounters, 4, "its age is forgotten");
	machine_fini(&m);
}

static void test_bad_state(void)
{
	struct machine m;
	unsigned int i;

	machine_init(&m, &source_rapl, "epyc-1s");
	is_int(machine_open(&m), 0, "open");
	memset(&m.state, 0xff, sizeof(m.state));
	is_int(tick(&m), 0, "a state of ones");
	is_reading(&m, 0, 0, 0, "is an empty state");
	is_u64(m.state.ncounters, 1, "and repaired");
	m.state.counter[0].raw = UINT64_MAX;
	is_int(tick(&m), 0, "a base above the range");
	is_u64(m.r.rejected, 1, "is rejected");
	use(&m, "intel-rapl:0", 3, RANGE_65K);
	is_int(tick(&m), 0, "and replaced");
	is_reading(&m, 3, 0, 0, "by the next reading");
	for (i = 0; i < SOURCE_MAX_COUNTERS; i++)
		snprintf(m.state.counter[i].name, sizeof(m.state.counter[i].name), "gone:%u", i);
	m.state.ncounters = SOURCE_MAX_COUNTERS;
	is_int(tick(&m), 0, "a state full of counters that are gone");
	use(&m, "intel-rapl:0", 8, RANGE_65K);
	is_int(tick(&m), 0, "makes room");
	is_reading(&m, 8, 0, 0, "for those that are there");
	machine_fini(&m);
}

/*
 * Machines of many sockets or odd ids: N packages from FIRST on, STEP apart. With too many sockets, or none
 * known, all energy is one part that stands for all sockets.
 */
static void test_packages(void)
{
	static const struct {
		const char *name, *label;
		unsigned int n, first, step, nparts;
	} t[] = {
		{ "one socket, numbered 8", "package-%u", 1, 8, 1, 1 },
		{ "a partition that begins at 32", "package-%u", 4, 32, 1, 4 },
		{ "ids with gaps", "package-%u", 4, 0, 2, 4 },
		{ "16 sockets", "package-%u", 16, 0, 1, 16 },
		{ "16 sockets of a partition, by die", "package-%u-die-0", 16, 16, 3, 16 },
		{ "20 sockets", "package-%u", 20, 0, 1, 1 },
		{ "32 sockets of a partition", "package-%u", 32, 32, 1, 1 },
		{ "labels without a package", "package-x%u", 4, 0, 1, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct machine m;
		bool is_ordered = true;
		unsigned int k;

		machine_init(&m, &source_rapl, NULL);
		machine_shell(
			"cd '%s' && for i in $(seq 0 %u); do p=$((%u + i * %u)) && "
			"z=sys/class/powercap/intel-rapl:$i c=sys/devices/system/cpu/cpu$i/topology && "
			"mkdir -p $z $c && printf '%s\n' $p >$z/name && echo 9 >$z/energy_uj && "
			"echo 65532610987 >$z/max_energy_range_uj && echo $p >$c/physical_package_id; done",
			m.root, t[i].n - 1, t[i].first, t[i].step, t[i].label);
		is_int(machine_open(&m), 0, t[i].name);
		is_int(tick(&m), 0, "  first");
		for (k = 0; k < t[i].n; k++) {
			char zone[32];

			(void)snprintf(zone, sizeof(zone), "intel-rapl:%u", k);
			use(&m, zone, UINT64_C(1) << k, RANGE_65K);
		}
		is_int(tick(&m), 0, "  second");
		is_reading(&m, (UINT64_C(1) << t[i].n) - 1, 0, 0, "  has all energy");
		is_u64(m.r.nparts, t[i].nparts, "  as parts");
		for (k = 0; k < t[i].nparts && t[i].nparts == t[i].n && t[i].n > 1; k++)
			is_ordered &= machine_uj(&m, DOMAIN_CPU, k) == UINT64_C(1) << k;
		ok(is_ordered, "  sockets are numbered by the ids");
		if (t[i].nparts < t[i].n)
			is_u64(m.r.part[0].unit, SOCKET_UNKNOWN, "  which is of all sockets");
		machine_fini(&m);
	}
}

static void test_many(void)
{
	struct machine m;

	machine_init(&m, &source_rapl, NULL);
	machine_shell("for i in $(seq 125); do d='%s'/sys/class/powercap/intel-rapl:$i; mkdir -p "
		      "\"$d\"; "
		      "echo package-$i > \"$d/name\"; echo $i > \"$d/energy_uj\"; done",
		      m.root);
	is_int(machine_open(&m), -E2BIG, "more counters than can be kept");
	ok(!m.source, "no source");
	machine_shell("rm -r '%s/sys/class/powercap/intel-rapl:125'", m.root);
	is_int(machine_open(&m), 0, "as many as can be kept");
	is_int(tick(&m), 0, "first");
	is_int(tick(&m), 0, "second");
	is_u64(m.r.rejected, 0, "all are kept");
	machine_fini(&m);
}

int main(void)
{
	test_absent();
	test_permission();
	test_one_unreadable();
	test_bad_content();
	test_vanished();
	test_reset_and_jump();
	test_two_sockets();
	test_epyc();
	test_mirrors();
	test_psys();
	test_zones();
	test_nested_only();
	test_range();
	test_exact();
	test_age_survives();
	test_bad_state();
	test_packages();
	test_many();
	return done_testing();
}
