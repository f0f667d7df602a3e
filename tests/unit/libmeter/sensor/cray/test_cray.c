/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cray's pm_counters, whose files are changed as the blade controller does.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "machine.h"
#include "src/libmeter/sensor/counter.h"
#include "src/libutil/util.h"

#define PM "sys/cray/pm_counters/"
#define ENERGY_J UINT64_C(12044825101)
#define CPU_J UINT64_C(2201311871)
#define STAMP_US UINT64_C(7810213855886)
#define FRESHNESS UINT64_C(60043284)

/* Between two reads of the source another scan can come: this one does after each. */
static const struct machine *scanning;
static uint64_t scanned = FRESHNESS; /* of one length: it is read in two calls */

ssize_t pread(int fd, void *buf, size_t size, off_t offset)
{
	ssize_t n = syscall(SYS_pread64, fd, buf, size, offset);
	char text[32];

	if (scanning && offset == 0) {
		snprintf(text, sizeof(text), "%" PRIu64 "\n", ++scanned);
		machine_put(scanning, PM "freshness", text);
	}
	return n;
}

static void put_j(const struct machine *m, const char *file, uint64_t j, unsigned int scan)
{
	char path[64];
	char text[64];

	snprintf(path, sizeof(path), PM "%s", file);
	snprintf(text, sizeof(text), "%" PRIu64 " J %" PRIu64 " us\n", j, STAMP_US + scan * UINT64_C(100000));
	machine_put(m, path, text);
}

static void put_freshness(const struct machine *m, unsigned int scan)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", FRESHNESS + scan);
	machine_put(m, PM "freshness", text);
}

/* A scan in which the node used J more than in the fixture. */
static void scan(const struct machine *m, unsigned int scan, uint64_t j)
{
	put_j(m, "energy", ENERGY_J + j, scan);
	put_freshness(m, scan);
}

static void start(struct machine *m)
{
	machine_init(m, &source_cray, "cray-ex");
	if (machine_open(m) < 0 || machine_read(m, 0) < 0)
		diag("no source: %s", m->err.text);
}

static void test_absent(void)
{
	struct machine m;

	machine_init(&m, &source_cray, NULL);
	is_int(machine_open(&m), -ENODEV, "no pm_counters");
	ok(strstr(m.err.text, "/sys/cray/pm_counters/energy") != NULL, "said which file");
	machine_fini(&m);

	machine_init(&m, &source_cray, "cray-ex");
	machine_shell("rm '%s/" PM "freshness'", m.root);
	is_int(machine_open(&m), -ENOENT, "no freshness file: an old value would look new");
	ok(!m.source && strstr(m.err.text, "freshness"), "said which file");
	machine_fini(&m);
}

static void test_bad_values(void)
{
	static const struct {
		const char *name, *text;
	} t[] = {
		{ "empty", "" },
		{ "no unit", "12044825111\n" },
		{ "watts", "724 W 7810213955886 us\n" },
		{ "negative", "-5 J 7810213955886 us\n" },
		{ "more joules than fit", "18446744073710 J 7810213955886 us\n" },
		{ "more digits than fit", "99999999999999999999 J 7810213955886 us\n" },
		{ "a stamp in other units", "12044825111 J 7810213955886 ms\n" },
		{ "a stamp that is cut off", "12044825111 J 78102139\n" },
		{ "a stamp of three centuries", "12044825111 J 9223372036854775 us\n" },
		{ "a stamp that is no number", "12044825111 J x us\n" },
		{ "text after the unit", "12044825111 J 7810213955886 us 1\n" },
		{ "garbage", "\x01\xff" },
		{ "a jump of a megajoule", "12045825101 J 7810213955886 us\n" },
	};
	struct machine m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		start(&m);
		machine_put(&m, PM "energy", t[i].text);
		put_j(&m, "cpu_energy", CPU_J + 7, 1);
		put_freshness(&m, 1);
		ok(machine_read(&m, NSEC_PER_SEC) == 0 && m.r.rejected == 1 &&
			   machine_uj(&m, DOMAIN_OTHER, 0) == 0 && machine_uj(&m, DOMAIN_CPU, 0) == 7000000 &&
			   machine_part(&m, DOMAIN_OTHER, 0)->is_unread &&
			   !machine_part(&m, DOMAIN_CPU, 0)->is_unread,
		   "%s: rejected, the others are read", t[i].name);
		scan(&m, 2, 50);
		ok(machine_read(&m, NSEC_PER_SEC) == 0 && m.r.rejected == 0 &&
			   machine_uj(&m, DOMAIN_OTHER, 0) == 50000000,
		   "%s: the energy comes with the next scan", t[i].name);
		machine_fini(&m);
	}
}

static void test_fails(void)
{
	struct machine m;

	start(&m);
	machine_put(&m, PM "freshness", "");
	is_int(machine_read(&m, NSEC_PER_SEC), -EIO, "freshness cannot be read");
	scan(&m, 1, 9);
	is_int(machine_read(&m, NSEC_PER_SEC), 0, "it is back");
	is_u64(machine_uj(&m, DOMAIN_OTHER, 0), 9000000, "nothing is lost");
	machine_fini(&m);
}

static void test_restart_of_controller(void)
{
	struct machine m;
	unsigned int i;

	start(&m);
	machine_put(&m, PM "startup", "1778580757634188\n");
	put_j(&m, "energy", ENERGY_J + 100, 1);
	put_freshness(&m, 1);
	(void)machine_read(&m, NSEC_PER_SEC);
	ok(machine_uj(&m, DOMAIN_OTHER, 0) == 0 && m.r.rejected == 0,
	   "the controller restarted: a new base, whatever the counter says");
	scan(&m, 2, 103);
	(void)machine_read(&m, NSEC_PER_SEC);
	is_u64(machine_uj(&m, DOMAIN_OTHER, 0), 3000000, "goes on from there");
	machine_fini(&m);

	start(&m);
	put_j(&m, "energy", 5, 1);
	put_freshness(&m, 1);
	(void)machine_read(&m, NSEC_PER_SEC);
	ok(machine_uj(&m, DOMAIN_OTHER, 0) == 0 && m.r.rejected == 1, "a counter that went back: doubted");
	for (i = 1; i <= COUNTER_RESET_MOVES; i++) {
		put_j(&m, "energy", 5 + 4 * i, 1 + i);
		put_freshness(&m, 1 + i);
		(void)machine_read(&m, NSEC_PER_SEC);
	}
	is_u64(machine_uj(&m, DOMAIN_OTHER, 0), 24000000, "confirmed: a reset, goes on");
	machine_fini(&m);
}

static void test_stale(void)
{
	struct machine m;
	uint64_t until;

	start(&m);
	scan(&m, 1, 10);
	(void)machine_read(&m, NSEC_PER_SEC);
	until = machine_part(&m, DOMAIN_OTHER, 0)->until_ns;
	put_j(&m, "energy", ENERGY_J + 30, 2);
	(void)machine_read(&m, NSEC_PER_SEC);
	ok(machine_uj(&m, DOMAIN_OTHER, 0) == 0 && m.r.late == 0 && m.r.rejected == 0,
	   "no new scan: nothing new");
	is_u64(machine_part(&m, DOMAIN_OTHER, 0)->until_ns, until, "the reading ends at the last scan");
	(void)machine_read(&m, NSEC_PER_SEC + 1);
	ok(m.r.late == 1 && machine_uj(&m, DOMAIN_OTHER, 0) == 0, "no new scan for two seconds: late");
	put_freshness(&m, 2);
	(void)machine_read(&m, NSEC_PER_SEC);
	ok(m.r.late == 0 && machine_uj(&m, DOMAIN_OTHER, 0) == 30000000 - 10000000,
	   "a new scan has all that was used meanwhile");
	machine_fini(&m);
}

static void test_torn(void)
{
	struct machine m;

	start(&m);
	scan(&m, 1, 10);
	scanning = &m;
	(void)machine_read(&m, NSEC_PER_SEC);
	scanning = NULL;
	ok(machine_uj(&m, DOMAIN_OTHER, 0) == 0 && m.r.rejected > 0, "a mix of scans is not used");
	ok(scanned < FRESHNESS + 1000, "and is not tried for ever");
	scan(&m, 2, 20);
	(void)machine_read(&m, NSEC_PER_SEC);
	is_u64(machine_uj(&m, DOMAIN_OTHER, 0), 20000000, "nothing is lost");
	machine_fini(&m);
}

static void test_good(void)
{
	struct machine m;
	const struct part *node;
	uint64_t before = clock_mono_ns();
	char buf[128];
	uint32_t i;

	start(&m);
	is_u64(m.r.nparts, 7, "node, cpu, memory and four accelerators");
	for (i = 0; i < m.r.nparts; i++)
		ok(m.r.part[i].energy_uj == 0 && (m.r.part[i].scope == SCOPE_NODE) == (i == 0),
		   "part %" PRIu32 ": a base; only the first is the whole node", i);
	source_cray.describe(m.source, buf, sizeof(buf));
	is_str(buf, "node, cpu, memory, 4 accelerators", "description");

	put_j(&m, "cpu_energy", CPU_J + 3, 1);
	put_j(&m, "accel2_energy", 1871283305 + 2, 1);
	scan(&m, 1, 10);
	(void)machine_read(&m, NSEC_PER_SEC);
	node = machine_part(&m, DOMAIN_OTHER, 0);
	ok(node->energy_uj == 10000000 && node->quality == QUALITY_COUNTER, "what the node used");
	is_u64(machine_uj(&m, DOMAIN_CPU, 0), 3000000, "its CPUs");
	is_u64(machine_uj(&m, DOMAIN_DRAM, 0), 0, "its memory");
	is_u64(machine_uj(&m, DOMAIN_GPU, 2), 2000000, "an accelerator");
	is_u64(machine_uj(&m, DOMAIN_GPU, 3), 0, "another");
	ok(node->until_ns >= before && node->until_ns <= clock_mono_ns(),
	   "the time is on the clock of this host");
	machine_fini(&m);
}

static void test_restart(void)
{
	struct machine m;

	start(&m);
	scan(&m, 1, 10);
	is_int(machine_reopen(&m), 0, "another process, a new scan");
	(void)machine_read(&m, NSEC_PER_SEC);
	is_u64(machine_uj(&m, DOMAIN_OTHER, 0), 10000000, "goes on from the state");
	is_int(machine_reopen(&m), 0, "another process, the same scan");
	(void)machine_read(&m, NSEC_PER_SEC);
	is_u64(machine_uj(&m, DOMAIN_OTHER, 0), 0, "counted once");
	machine_fini(&m);
}

/* Two GPUs in a module: its counter cannot say which of them it was. */
static void test_modules(void)
{
	struct machine m;
	char buf[128];

	machine_init(&m, &source_cray, "cray-ex");
	machine_shell("cd '%s' && mkdir -p sys/class/drm && cd sys/class/drm && "
		      "mkdir card0 renderD128 renderD129 renderD130 renderD131 renderD132",
		      m.root);
	is_int(machine_open(&m), 0, "more GPUs than accelerators");
	(void)machine_read(&m, 0);
	ok(!reading_has(&m.r, DOMAIN_GPU), "the GPUs are left to a source that tells them apart");
	source_cray.describe(m.source, buf, sizeof(buf));
	ok(strstr(buf, "4 accelerators have several GPUs each") != NULL, "said so");
	machine_fini(&m);

	machine_init(&m, &source_cray, "cray-ex");
	machine_shell("cd '%s/" PM "' && rm accel[1-3]* && mv accel0_energy accel_energy", m.root);
	is_int(machine_open(&m), 0, "one accelerator, without a number");
	(void)machine_read(&m, 0);
	is_u64(machine_uj(&m, DOMAIN_GPU, 0), 0, "is GPU 0");
	machine_fini(&m);
}

int main(void)
{
	test_absent();
	test_bad_values();
	test_fails();
	test_restart_of_controller();
	test_stale();
	test_torn();
	test_good();
	test_restart();
	test_modules();
	return done_testing();
}
