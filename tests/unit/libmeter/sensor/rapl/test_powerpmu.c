/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RAPL through the perf PMU: a tree below SysRoot, and a fake kernel. The last test asks
 * the real kernel, for a software event in the place of energy.
 */
#include <errno.h>

#include "machine.h"
#include "src/libmeter/sensor/rapl/powerpmu.h"
#include "src/libutil/util.h"

#define PMU "sys/bus/event_source/devices/power/"
#define EVENTS PMU "events/"
#define CPUS 32
#define CONFIGS 8
#define J (UINT64_C(1) << 32) /* counts per joule */

struct kernel {
	uint64_t count[CPUS][CONFIGS];
	int open_rc[CONFIGS];
	int read_rc[CPUS];
	int nopen;
	uint32_t type; /* of the last event opened */
};

static int fake_open(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		     unsigned long flags)
{
	struct kernel *k = ctx;
	uint64_t config = attr->config;

	(void)flags;
	if (pid != -1 || group != -1 || cpu < 0 || cpu >= CPUS || config >= CONFIGS)
		return -EINVAL;
	if (k->open_rc[config])
		return k->open_rc[config];
	k->nopen++;
	k->type = attr->type;
	k->count[cpu][config] = 0;
	return cpu * CONFIGS + (int)config;
}

static ssize_t fake_read(void *ctx, int handle, void *buf, size_t size)
{
	struct kernel *k = ctx;
	int cpu = handle / CONFIGS;

	if (k->read_rc[cpu])
		return k->read_rc[cpu];
	memcpy(buf, &k->count[cpu][handle % CONFIGS], size);
	return (ssize_t)size;
}

static void fake_close(void *ctx, int handle)
{
	(void)handle;
	((struct kernel *)ctx)->nopen--;
}

static const struct perf_event_ops fake = { .open = fake_open, .read = fake_read, .close = fake_close };

struct pmu {
	struct machine m;
	struct kernel k;
	struct powerpmu *p;
};

static void pmu_init(struct pmu *t)
{
	memset(t, 0, sizeof(*t));
	machine_init(&t->m, &source_rapl, "xeon-2s-pmu");
}

static int pmu_open(struct pmu *t)
{
	t->m.err.text[0] = '\0';
	return powerpmu_open(t->m.root, &fake, &t->k, &t->p, &t->m.err);
}

static int pmu_read(struct pmu *t)
{
	t->m.r = (struct reading){ 0 };
	return powerpmu_read(t->p, NSEC_PER_SEC, &t->m.state, &t->m.r);
}

static void pmu_fini(struct pmu *t)
{
	powerpmu_close(t->p);
	ok(t->k.nopen == 0, "all events are closed");
	machine_fini(&t->m);
}

static void pmu_start(struct pmu *t)
{
	pmu_init(t);
	if (pmu_open(t) < 0 || pmu_read(t) < 0)
		diag("no PMU: %s", t->m.err.text);
}

static void put_psys(struct pmu *t)
{
	machine_put(&t->m, EVENTS "energy-psys", "event=0x05\n");
	machine_put(&t->m, EVENTS "energy-psys.unit", "Joules\n");
	machine_put(&t->m, EVENTS "energy-psys.scale", "2.3283064365386962890625e-10\n");
}

static void test_absent(void)
{
	struct pmu t;

	pmu_init(&t);
	machine_shell("rm -r '%s/" PMU "'", t.m.root);
	is_int(pmu_open(&t), -ENODEV, "no PMU");
	ok(strstr(t.m.err.text, "devices/power") && !t.p, "the error names the PMU's folder");
	pmu_fini(&t);

	pmu_init(&t);
	machine_shell("rm '%s/" EVENTS "'energy-[pr]*", t.m.root);
	is_int(pmu_open(&t), -ENODEV, "a PMU that counts cores only");
	put_psys(&t);
	ok(pmu_open(&t) == -ENODEV && strstr(t.m.err.text, "has only psys"),
	   "and psys, as in a virtual machine: %s", t.m.err.text);
	pmu_fini(&t);
}

static void test_bad_tree(void)
{
	static const struct {
		const char *file, *text;
	} t[] = {
		{ PMU "type", "" },
		{ PMU "type", "x" },
		{ PMU "type", "4294967296" },
		{ PMU "cpumask", "" },
		{ PMU "cpumask", "0,x" },
		{ PMU "cpumask", "0-" },
		{ PMU "cpumask", "0-99999999" },
		{ EVENTS "energy-pkg", "config=2" },
		{ EVENTS "energy-pkg", "event=0x" },
		{ EVENTS "energy-pkg", "event=0x02,umask=0x1" },
		{ EVENTS "energy-pkg", "event=0x11111111111111111" },
		{ EVENTS "energy-pkg.unit", "Watts" },
		{ EVENTS "energy-pkg.scale", "" },
		{ EVENTS "energy-pkg.scale", "0" },
		{ EVENTS "energy-pkg.scale", "-1e-9" },
		{ EVENTS "energy-pkg.scale", "1e-9x" },
		{ EVENTS "energy-pkg.scale", "1e" },
		{ EVENTS "energy-pkg.scale", "1.2.3" },
		{ EVENTS "energy-pkg.scale", "1e-99" },
		{ EVENTS "energy-pkg.scale", "1e9" },
		{ EVENTS "energy-pkg.scale", "nan" },
		{ EVENTS "energy-pkg.scale", "0.33333333333333333333333333333333333333333333" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct pmu p;

		pmu_init(&p);
		machine_put(&p.m, t[i].file, t[i].text);
		ok(pmu_open(&p) < 0 && !p.p && p.k.nopen == 0 && p.m.err.text[0], "bad tree: %s: '%s'",
		   t[i].file, t[i].text);
		machine_fini(&p.m);
	}
}

static void test_cannot_open(void)
{
	struct pmu t;

	pmu_init(&t);
	t.k.open_rc[3] = -EACCES;
	is_int(pmu_open(&t), -EACCES, "the kernel refuses");
	ok(strstr(t.m.err.text, "energy-ram on CPU 0: Permission denied") != NULL,
	   "the message names event and CPU");
	pmu_fini(&t);
}

static void test_scales(void)
{
	static const struct {
		const char *scale;
		uint64_t count, uj;
	} t[] = {
		{ "2.3283064365386962890625e-10", J, 1000000 },
		{ "2.3283064365386962890625e-10", J / 1000000, 0 },
		{ "2.3283064365386962890625e-10", J / 1000000 + 1, 1 },
		{ "1e-9", 1500, 1 },
		{ "0.000001", 7, 7 },
		{ "1", 3, 3000000 },
		{ "1.5E+0", 2, 3000000 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct pmu p;

		pmu_init(&p);
		machine_put(&p.m, EVENTS "energy-pkg.scale", t[i].scale);
		(void)pmu_open(&p);
		(void)pmu_read(&p);
		p.k.count[0][2] = t[i].count;
		(void)pmu_read(&p);
		is_u64(machine_uj(&p.m, DOMAIN_CPU, 0), t[i].uj, t[i].scale);
		pmu_fini(&p);
	}
}

static void test_long_count(void)
{
	struct pmu t;
	uint64_t sum = 0;
	unsigned int i;

	pmu_start(&t);
	t.k.count[0][2] = 0;
	for (i = 0; i < 1000; i++) {
		t.k.count[0][2] += 1234567891;
		(void)pmu_read(&t);
		sum += machine_uj(&t.m, DOMAIN_CPU, 0);
	}
	is_u64(sum, (uint64_t)(UINT64_C(1234567891000) * (__uint128_t)15625 >> 26),
	       "a thousand readings add up to the whole");
	pmu_fini(&t);
}

static void test_faults(void)
{
	struct pmu t;

	pmu_start(&t);
	t.k.count[0][2] = 10 * J;
	t.k.count[2][2] = 20 * J;
	t.k.read_rc[0] = -EIO;
	ok(pmu_read(&t) == 0 && t.m.r.rejected == 2 && machine_uj(&t.m, DOMAIN_CPU, 0) == 0 &&
		   machine_uj(&t.m, DOMAIN_CPU, 1) == 20000000,
	   "one socket cannot be read: the other is");
	t.k.read_rc[2] = -EIO;
	is_int(pmu_read(&t), -EIO, "none can be read");
	t.k.read_rc[0] = t.k.read_rc[2] = 0;
	(void)pmu_read(&t);
	is_u64(machine_uj(&t.m, DOMAIN_CPU, 0), 10000000, "its energy comes later");
	t.k.count[0][2] = 1000000 * J;
	ok(pmu_read(&t) == 0 && t.m.r.rejected == 1 && machine_uj(&t.m, DOMAIN_CPU, 0) == 0,
	   "a jump: rejected");
	t.k.count[0][2] = 11 * J;
	(void)pmu_read(&t);
	is_u64(machine_uj(&t.m, DOMAIN_CPU, 0), 1000000, "a glitch costs nothing");
	pmu_fini(&t);
}

static void test_good(void)
{
	struct pmu t;
	char buf[128];

	pmu_start(&t);
	is_u64(t.k.nopen, 4, "packages and DRAM of two sockets, no cores");
	is_u64(t.k.type, 22, "of the PMU's type");
	ok(t.m.r.nparts == 4 && t.m.r.part[3].is_new_base, "four parts, from here on");
	t.k.count[0][2] = 3 * J;
	t.k.count[2][3] = 5 * J;
	(void)pmu_read(&t);
	ok(!t.m.r.part[3].is_new_base && machine_uj(&t.m, DOMAIN_CPU, 0) == 3000000 &&
		   machine_uj(&t.m, DOMAIN_CPU, 1) == 0 && machine_uj(&t.m, DOMAIN_DRAM, 0) == 0 &&
		   machine_uj(&t.m, DOMAIN_DRAM, 1) == 5000000,
	   "each socket by itself");
	powerpmu_describe(t.p, buf, sizeof(buf));
	is_str(buf, "2 packages, 2 dram, by the perf PMU", "description");
	pmu_fini(&t);
}

static void test_psys(void)
{
	struct pmu t;

	pmu_init(&t);
	machine_put(&t.m, PMU "cpumask", "0\n");
	put_psys(&t);
	(void)pmu_open(&t);
	(void)pmu_read(&t);
	t.k.count[0][5] = 9 * J;
	(void)pmu_read(&t);
	ok(machine_uj(&t.m, DOMAIN_OTHER, 0) == 9000000 &&
		   machine_part(&t.m, DOMAIN_OTHER, 0)->scope == SCOPE_NODE,
	   "psys is the whole node");
	pmu_fini(&t);
}

/* Two dies in the cpumask: Intel's have a counter each, AMD's show the package's. */
static void test_dies(void)
{
	struct pmu t;

	pmu_init(&t);
	machine_put(&t.m, PMU "cpumask", "0-1,2\n");
	(void)pmu_open(&t);
	is_u64(t.k.nopen, 6, "Intel: all dies");
	(void)pmu_read(&t);
	t.k.count[0][2] = 1 * J;
	t.k.count[1][2] = 2 * J;
	(void)pmu_read(&t);
	is_u64(machine_uj(&t.m, DOMAIN_CPU, 0), 3000000, "added up for the socket");
	pmu_fini(&t);

	pmu_init(&t);
	machine_put(&t.m, PMU "cpumask", "0-1,2\n");
	machine_put(&t.m, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\n");
	(void)pmu_open(&t);
	is_u64(t.k.nopen, 4, "AMD: one die of each package");
	pmu_fini(&t);
}

/* More sockets than are told apart: none is lost, and all are one part. */
static void test_many_packages(void)
{
	struct pmu t;
	int i;

	pmu_init(&t);
	machine_put(&t.m, PMU "cpumask", "0-19\n");
	machine_put(&t.m, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\n");
	machine_shell("cd '%s' && for i in $(seq 0 19); do c=sys/devices/system/cpu/cpu$i/topology && "
		      "mkdir -p $c && echo $((i + 8)) >$c/physical_package_id || exit; done",
		      t.m.root);
	is_int(pmu_open(&t), 0, "20 packages");
	is_u64(t.k.nopen, 40, "each has its events");
	(void)pmu_read(&t);
	for (i = 0; i < 20; i++)
		t.k.count[i][2] = J;
	(void)pmu_read(&t);
	is_u64(machine_uj(&t.m, DOMAIN_CPU, SOCKET_UNKNOWN), 20000000, "one part has the energy of all");
	pmu_fini(&t);
}

static void test_restart(void)
{
	struct pmu t;

	pmu_start(&t);
	t.k.count[0][2] = 3 * J;
	(void)pmu_read(&t);
	powerpmu_close(t.p);
	(void)source_state_put(&t.m.state, "intel-rapl:0", 4711);
	is_int(pmu_open(&t), 0, "another process");
	t.k.count[0][2] = 4 * J;
	(void)pmu_read(&t);
	is_u64(machine_uj(&t.m, DOMAIN_CPU, 0), 0, "its counters began anew: a base");
	ok(machine_part(&t.m, DOMAIN_CPU, 0)->is_unsure, "what was used until then is missing");
	ok(!source_state_find(&t.m.state, "intel-rapl:0"), "no base of powercap's is left");
	t.k.count[0][2] = 5 * J;
	(void)pmu_read(&t);
	is_u64(machine_uj(&t.m, DOMAIN_CPU, 0), 1000000, "goes on from there");
	pmu_fini(&t);
}

/* --- which of the two the source takes ---------------------------------------------------- */

/* CPU clocks (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK) as nanojoules: each CPU draws 1 W. */
static void clocks_for_energy(struct machine *m)
{
	machine_put(m, PMU "type", "1\n");
	machine_put(m, PMU "cpumask", "0\n");
	machine_shell("rm '%s/" EVENTS "'energy-[cr]*", m->root);
	machine_put(m, EVENTS "energy-pkg", "event=0x00\n");
	machine_put(m, EVENTS "energy-pkg.scale", "1e-9\n");
}

static void test_source(void)
{
	struct machine m;
	char buf[128];
	uint64_t before, after;
	int rc;

	machine_init(&m, &source_rapl, "xeon-2s-pmu");
	clocks_for_energy(&m);
	rc = machine_open(&m);
	if (rc == -EACCES || rc == -EPERM || rc == -ENOSYS) {
		skip(3, "may not open a perf event");
	} else {
		is_int(rc, 0, "without powercap, the kernel's PMU");
		before = clock_mono_ns();
		(void)machine_read(&m, 0);
		after = before + 20 * NSEC_PER_MSEC;
		while (clock_mono_ns() < after)
			;
		(void)machine_read(&m, NSEC_PER_SEC);
		ok(machine_uj(&m, DOMAIN_CPU, 0) >= 10000 &&
			   machine_uj(&m, DOMAIN_CPU, 0) <= (clock_mono_ns() - before) / 900,
		   "counts what the kernel counts");
		source_rapl.describe(m.source, buf, sizeof(buf));
		is_str(buf, "1 package, 0 dram, by the perf PMU", "the description names the PMU");
	}
	machine_fini(&m);

	machine_init(&m, &source_rapl, "xeon-2s");
	machine_shell("cp -R '" FIXTURES "/xeon-2s-pmu/sys/bus' '%s/sys'", m.root);
	is_int(machine_open(&m), 0, "with powercap");
	source_rapl.describe(m.source, buf, sizeof(buf));
	ok(!strstr(buf, "PMU"), "powercap alone is used");
	machine_fini(&m);
}

int main(void)
{
	test_absent();
	test_bad_tree();
	test_cannot_open();
	test_scales();
	test_long_count();
	test_faults();
	test_good();
	test_psys();
	test_dies();
	test_many_packages();
	test_restart();
	test_source();
	return done_testing();
}
