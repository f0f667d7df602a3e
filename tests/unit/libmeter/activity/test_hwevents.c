/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of events against libpfm4 itself, which encodes names of CPUs that are not here
 * (LIBPFM_FORCE_PMU); and what a user's names may not reach. libpfm4 takes the PMU when it is
 * initialised, so each machine is asked about in a process of its own.
 */
#include <errno.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/probes.h"
#include "ceems_config.h"
#include "scratch.h"
#include "src/libmeter/activity/hwevents_table.h"
#include "src/libutil/util.h"
#include "tap.h"
#ifdef HAVE_LIBPFM
#include <perfmon/pfmlib_perf_event.h>
#endif

/* --- which machine ------------------------------------------------------------------------ */

static void test_machines(void)
{
	static const struct {
		char vendor;
		uint64_t family, model;
		const char *name;
	} t[] = {
		{ '?', UINT64_MAX, UINT64_MAX, "generic" },
		{ 'I', 6, 0x54, "generic" },
		{ 'I', 6, 0, "generic" }, /* not what unused ranges of a row match */
		{ 'I', 15, 0x55, "generic" },
		{ 'A', 0x17, 0x01, "generic" }, /* Zen 1: other events */
		{ 'A', 0x1a, 0x50, "generic" },
		{ 'R', 8, 0xd0b, "generic" },
		{ 'I', 6, 0x55, "skx" },
		{ 'I', 6, 0x6a, "icx" },
		{ 'I', 6, 0x6c, "icx" },
		{ 'I', 6, 0x8f, "spr" },
		{ 'I', 6, 0xcf, "spr" },
		{ 'I', 6, 0xad, "gnr" },
		{ 'I', 6, 0x9e, "skl" },
		{ 'I', 6, 0xa7, "icl" },
		{ 'A', 0x17, 0x31, "zen2" },
		{ 'A', 0x19, 0x01, "zen3" },
		{ 'A', 0x19, 0x00, "zen3" },
		{ 'A', 0x19, 0x11, "zen4" },
		{ 'A', 0x19, 0xa0, "zen4" },
		{ 'A', 0x1a, 0x02, "zen5" },
		{ 'A', 0x1a, 0x11, "zen5" },
		{ 'R', 8, 0xd0c, "neoverse-n1" },
		{ 'R', 8, 0xd40, "neoverse-v1" },
		{ 'R', 8, 0xd49, "neoverse-n2" },
		{ 'R', 8, 0xd4f, "neoverse-v2" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct cpuinfo cpu = { t[i].vendor, t[i].family, t[i].model, 0, 1 };

		is_str(hwevents_machine(&cpu)->name, t[i].name, t[i].name);
	}
}

/* --- the table ------------------------------------------------------------------------------ */

static bool has_metric(const struct hwevents_machine *m, enum metric metric, uint8_t *ret_group)
{
	size_t i;

	for (i = 0; i < hwevents_rows(m); i++)
		if (m->row[i].metric == metric) {
			*ret_group = m->row[i].group;
			return true;
		}
	return false;
}

static bool in_one_group(const struct hwevents_machine *m, enum metric a, enum metric b)
{
	uint8_t x, y;

	return has_metric(m, a, &x) && has_metric(m, b, &y) && x == y;
}

/* FLOP of AMD take two counters. */
static unsigned int counters_of(const struct hwevents_machine *m, uint8_t group)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < hwevents_rows(m); i++) {
		const struct hwevents_row *row = &m->row[i];
		bool is_pair = m->vendor == 'A' && row->metric == METRIC_FP_OPERATIONS;

		if (row->group == group && row->metric != METRIC_CYCLES && row->metric != METRIC_INSTRUCTIONS)
			n += is_pair ? 2 : 1;
	}
	return n;
}

static void test_rows(void)
{
	size_t k, i;

	for (k = 0; k < hwevents_table_n; k++) {
		const struct hwevents_machine *m = &hwevents_table[k];
		size_t n = hwevents_rows(m);
		bool is_known = true, is_in_order = true;
		uint8_t group, g;

		diag("%s", m->name);
		ok(n >= 6 && n <= PROBES_HW_EVENTS, "%zu events, which bperf has room for", n);
		for (i = 0; i < n; i++) {
			const struct hwevents_row *row = &m->row[i];
			uint8_t before = i ? m->row[i - 1].group : 0;

			is_known &= row->metric >= METRIC_CYCLES && row->metric < METRIC_N &&
				    row->factor > 0 && strlen(row->name) > 0;
			is_in_order &= row->group <= before + 1;
		}
		ok(is_known && m->row[0].metric == METRIC_CYCLES && m->row[0].group == 0,
		   "cycles first, all of them events of the group hw");
		ok(is_in_order, "groups without a gap");
		ok(in_one_group(m, METRIC_CYCLES, METRIC_INSTRUCTIONS) &&
			   in_one_group(m, METRIC_BRANCHES, METRIC_BRANCH_MISSES) &&
			   in_one_group(m, METRIC_CACHE_REFERENCES, METRIC_CACHE_MISSES),
		   "both terms of a ratio are on the PMU together");
		for (g = 0; g < 3; g++)
			ok(counters_of(m, g) <= 4, "group %u takes %u counters", g, counters_of(m, g));
		if (strcmp(m->name, "generic") != 0)
			ok(has_metric(m, METRIC_MEMORY_BYTES, &group), "counts memory traffic");
		if (strcmp(m->name, "generic") != 0 && strcmp(m->name, "neoverse-n1") != 0)
			ok(has_metric(m, METRIC_FP_OPERATIONS, &group), "counts FLOP");
	}
}

/* What the sum of a metric's events makes of an instruction of each kind. */
static void test_flop_factors(void)
{
	static const struct {
		const char *name;
		uint64_t lanes; /* operations of one instruction; FMA counts twice by itself */
	} t[] = {
		{ "SCALAR_DOUBLE", 1 },	     { "SCALAR_SINGLE", 1 },	   { "128B_PACKED_DOUBLE", 2 },
		{ "128B_PACKED_SINGLE", 4 }, { "256B_PACKED_DOUBLE", 4 },  { "256B_PACKED_SINGLE", 8 },
		{ "512B_PACKED_DOUBLE", 8 }, { "512B_PACKED_SINGLE", 16 },
	};
	struct cpuinfo cpu = { 'I', 6, 0x55, 7, 1 };
	const struct hwevents_machine *m = hwevents_machine(&cpu);
	size_t i, k;

	for (k = 0; k < ARRAY_SIZE(t); k++) {
		uint64_t operations = 0;

		for (i = 0; i < hwevents_rows(m); i++)
			if (m->row[i].metric == METRIC_FP_OPERATIONS &&
			    m->row[i].config >> 8 & (UINT64_C(1) << k))
				operations += m->row[i].factor;
		is_u64(operations, t[k].lanes, t[k].name);
	}
}

/* --- by libpfm4 ------------------------------------------------------------------------------ */

#ifdef HAVE_LIBPFM
struct answer {
	int rc;
	uint32_t type;
	uint64_t config, config1;
};

static __typeof__(pfm_get_os_event_encoding) *encoding;

/* Does this libpfm4 have a table of that name, if any is needed? It has those of one architecture. */
static bool pfm_ready(const char *table)
{
	void *lib = dlopen("libpfm.so.4", RTLD_NOW);
	__typeof__(pfm_initialize) *initialize;
	__typeof__(pfm_get_pmu_info) *pmu_info;
	int i;

	if (!lib)
		return false;
	*(void **)&initialize = dlsym(lib, "pfm_initialize");
	*(void **)&encoding = dlsym(lib, "pfm_get_os_event_encoding");
	*(void **)&pmu_info = dlsym(lib, "pfm_get_pmu_info");
	if (!initialize || !encoding || !pmu_info || initialize() != PFM_SUCCESS)
		return false;
	for (i = PFM_PMU_NONE; *table && i < PFM_PMU_MAX; i++) {
		pfm_pmu_info_t info = { .size = sizeof(info) };

		if (pmu_info((pfm_pmu_t)i, &info) == PFM_SUCCESS && !strcmp(info.name, table))
			return true;
	}
	return !*table;
}

static int ask(const char *name, struct answer *ret)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	pfm_perf_encode_arg_t arg = { .size = sizeof(arg), .attr = &attr };

	ret->rc = encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	ret->type = attr.type;
	ret->config = attr.config;
	ret->config1 = attr.config1;
	return ret->rc;
}

static void child(const struct hwevents_machine *m, int fd)
{
	struct answer a;
	size_t i;

	if (m->pfm[0])
		(void)setenv("LIBPFM_FORCE_PMU", m->pfm, 1);
	if (!pfm_ready(m->pfm))
		_exit(1);
	for (i = 0; i < hwevents_rows(m); i++) {
		if (ask(m->row[i].name, &a) != PFM_SUCCESS && m->row[i].other_name[0])
			(void)ask(m->row[i].other_name, &a);
		if (write(fd, &a, sizeof(a)) != sizeof(a))
			_exit(1);
	}
	_exit(0);
}

/* The generic events take no CPU's table. */
static bool is_checkable(const struct hwevents_machine *m, const struct hwevents_row *row)
{
	return row->type == PERF_TYPE_HARDWARE || (m->pfm[0] && !row->is_vendors);
}

static void check_row(const struct hwevents_machine *m, const struct hwevents_row *row, int fd)
{
	struct answer a;

	if (read(fd, &a, sizeof(a)) != sizeof(a)) {
		ok(false, "%s: an answer", row->name);
		return;
	}
	if (!is_checkable(m, row)) {
		diag("not in libpfm4 4.13: %s of %s", row->name, m->name);
		return;
	}
	/* LIBPFM_FORCE_PMU hides the table "perf" */
	if (row->type == PERF_TYPE_HARDWARE && m->pfm[0] && a.rc != PFM_SUCCESS)
		return;
	ok(a.rc == PFM_SUCCESS && a.type == row->type && a.config == row->config && a.config1 == row->config1,
	   "%s: %" PRIx64 " %" PRIx64, row->name, row->config, row->config1);
	if (a.rc != PFM_SUCCESS || a.config != row->config || a.config1 != row->config1)
		diag("libpfm4: %d, type %u, %" PRIx64 " %" PRIx64, a.rc, a.type, a.config, a.config1);
}

static void test_encodings(void)
{
	size_t k, i;

	for (k = 0; k < hwevents_table_n; k++) {
		const struct hwevents_machine *m = &hwevents_table[k];
		int p[2], status = 0;
		pid_t pid;

		diag("%s by libpfm4's %s", m->name, m->pfm[0] ? m->pfm : "generic events");
		pid = pipe(p) < 0 ? -1 : fork();
		if (pid == 0)
			child(m, p[1]);
		(void)close(p[1]);
		(void)waitpid(pid, &status, 0);
		if (status) { /* of another architecture */
			char why[64];

			(void)snprintf(why, sizeof(why), "libpfm4 does not know %s here", m->pfm);
			skip(1, why);
		}
		for (i = 0; !status && i < hwevents_rows(m); i++)
			check_row(m, &m->row[i], p[0]);
		(void)close(p[0]);
	}
}

/* --- a user's own --------------------------------------------------------------------------- */

static void own(const char *name, struct hwevents *ret)
{
	struct perf_request request = { .groups = PERF_GROUP_EVENTS, .nevents = 1 };

	(void)snprintf(request.event[0], sizeof(request.event[0]), "%s", name);
	hwevents_own(&request, ret);
}

static void test_own_refused(void)
{
	static const struct {
		const char *name;
		enum metric_reason reason;
	} t[] = {
		{ "", REASON_NO_EVENT },
		{ "NO_SUCH_EVENT", REASON_NO_EVENT },
		{ "perf::", REASON_NO_EVENT },
		{ "perf::PERF_COUNT_HW_CPU_CYCLES:u:nonsense", REASON_NO_EVENT },
		{ "/etc/passwd", REASON_NO_EVENT },
		{ "%s%n%s%n", REASON_NO_EVENT },
		/* neither sampling nor precise, pinned or exclusive */
		{ "perf::PERF_COUNT_HW_CPU_CYCLES:period=1000", REASON_NO_EVENT },
		{ "perf::PERF_COUNT_HW_CPU_CYCLES:freq=99", REASON_NO_EVENT },
		{ "perf::PERF_COUNT_HW_CPU_CYCLES:precise=2", REASON_NO_EVENT },
		{ "perf::PERF_COUNT_HW_CPU_CYCLES:pinned=1", REASON_NO_EVENT },
		{ "perf::PERF_COUNT_HW_CPU_CYCLES:excl=1", REASON_NO_EVENT },
		/* neither the whole node's energy nor its memory controllers */
		{ "rapl::RAPL_ENERGY_PKG", REASON_NO_EVENT },
		{ "skx_unc_imc0::UNC_M_CAS_COUNT:RD", REASON_NO_EVENT },
	};
	struct hwevents h;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		own(t[i].name, &h);
		is_u64(h.n, 1, "one event");
		ok(h.event[0].reason == REASON_NO_EVENT || h.event[0].reason == REASON_NO_PERMISSION,
		   "refused: %s", t[i].name);
	}
}

/* Typing mistakes, told apart from events of CPUs that are not here. */
static void test_names(void)
{
	static const struct {
		const char *name;
		int rc;
	} t[] = {
		{ "NO_SUCH_EVENT", -ENOENT },
		{ "nosuch::INST_RETIRED", -ENOENT },
		{ "skx::INST_RETIRE", -ENOENT },
		{ "INST_", -ENOENT },
		{ "perf::", -ENOENT },
		{ "perf::PERF_COUNT_HW_INSTRUCTIONS", 0 },
#ifdef __x86_64__ /* libpfm4 has the tables of its own architecture */
		{ "skx::INST_RETIRED:ANY_P:u", 0 },
		{ "SKX::inst_retired", 0 },
		{ "amd64_fam19h_zen3::RETIRED_INSTRUCTIONS", 0 },
		{ "RETIRED_INSTRUCTIONS", 0 },
#endif
	};
	struct perf_request request = { .groups = PERF_GROUP_EVENTS, .nevents = 0 };
	struct errmsg err = { 0 };
	size_t i;

	is_int(hwevents_check_names(&request, &err), 0, "no name is no mistake");
	request.nevents = 1;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		(void)snprintf(request.event[0], sizeof(request.event[0]), "%s", t[i].name);
		is_int(hwevents_check_names(&request, &err), t[i].rc, t[i].name);
	}
	request.nevents = 3;
	(void)snprintf(request.event[1], sizeof(request.event[1]), "foo");
	(void)snprintf(request.event[2], sizeof(request.event[2]), "bar:u");
	is_int(hwevents_check_names(&request, &err), -ENOENT, "two of three");
	is_str(err.text, "libpfm4 knows no event foo, bar:u", "  by name");
}

static uint64_t paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	long v = 2;

	if (f) {
		if (fscanf(f, "%ld", &v) != 1)
			v = 2;
		(void)fclose(f);
	}
	return v < 0 ? 0 : (uint64_t)v;
}

static void test_own(void)
{
	struct hwevents h;

	own("perf::PERF_COUNT_HW_INSTRUCTIONS", &h);
	ok(h.event[0].reason == REASON_NONE && h.event[0].attr.type == PERF_TYPE_HARDWARE &&
		   h.event[0].attr.config == PERF_COUNT_HW_INSTRUCTIONS,
	   "a generic event, with its table's name");
	is_u64(h.event[0].metric, METRIC_N, "  is no metric");
	is_str(h.event[0].name, "perf::PERF_COUNT_HW_INSTRUCTIONS", "  keeps the user's name");
	own("PERF_COUNT_SW_PAGE_FAULTS", &h);
	ok(h.event[0].reason == REASON_NONE && h.event[0].attr.type == PERF_TYPE_SOFTWARE,
	   "a software event, without a table's name");
	own("perf::PERF_COUNT_HW_INSTRUCTIONS:u", &h);
	ok(h.event[0].reason == REASON_NONE && h.event[0].attr.exclude_kernel &&
		   !h.event[0].attr.exclude_user,
	   "an event of user space only");
	own("perf::PERF_COUNT_HW_INSTRUCTIONS", &h);
	is_int(h.event[0].attr.exclude_kernel, paranoid() > 1,
	       "without a mode: with the kernel's only where users may count that (paranoid)");
	own("perf::PERF_COUNT_HW_INSTRUCTIONS:u:k", &h);
	is_int(h.event[0].attr.exclude_kernel, paranoid() > 1,
	       "  asking for both modes is the same as for none");
	own("PERF_COUNT_SW_CONTEXT_SWITCHES", &h);
	is_int(h.event[0].attr.exclude_kernel, 0, "  software events happen in the kernel");
	own("perf::PERF_COUNT_HW_INSTRUCTIONS:k", &h);
	if (paranoid() > 1)
		is_u64(h.event[0].reason, REASON_NO_PERMISSION,
		       "of the kernel only: not where users may not (paranoid)");
	else
		is_u64(h.event[0].reason, REASON_NONE, "of the kernel only: users may here");
}

/* What the daemon opens is a counter whatever the name was. */
static void test_only_counting(void)
{
	static const char *const names[] = { "PERF_COUNT_HW_CPU_CYCLES", "PERF_COUNT_SW_TASK_CLOCK",
					     "perf::PERF_COUNT_HW_CACHE_LL:READ:MISS", "perf_raw::r0" };
	struct hwevents h;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const struct perf_event_attr *a = &h.event[0].attr;

		own(names[i], &h);
		ok(!a->sample_period && !a->sample_type && !a->precise_ip && !a->mmap && !a->inherit &&
			   !a->pinned && !a->exclusive && !a->wakeup_events && !a->disabled &&
			   !a->enable_on_exec && !a->freq && a->type != PERF_TYPE_TRACEPOINT,
		   "%s asks for nothing but a count (%s)", names[i], metric_reason_text(h.event[0].reason));
	}
#ifdef __x86_64__
	own("perf_raw::r20003c", &h);
	is_u64(h.event[0].reason, REASON_NO_PERMISSION, "AnyThread: what the sibling does is not ours");
	own("perf_raw::r3c", &h);
	is_u64(h.event[0].reason, REASON_NONE, "  the same without it");
#endif
}

static void test_own_groups(void)
{
	struct perf_request request = { .groups = PERF_GROUP_EVENTS, .nevents = PERF_REQUEST_EVENTS };
	struct hwevents h;
	uint32_t i;

	for (i = 0; i < request.nevents; i++)
		(void)snprintf(request.event[i], sizeof(request.event[i]), "%s",
			       i == 2 ? "NO_SUCH_EVENT" : "PERF_COUNT_HW_INSTRUCTIONS");
	hwevents_own(&request, &h);
	is_u64(h.n, PERF_REQUEST_EVENTS, "as many as were named");
	ok(h.event[0].group == 0 && h.event[3].group == 0 && h.event[4].group == 1,
	   "four are on the PMU together");
	ok(h.event[2].reason == REASON_NO_EVENT && h.event[1].reason == REASON_NONE &&
		   h.event[3].reason == REASON_NONE,
	   "one that is unknown does not take the others with it");
}
#endif

/* --- the default --------------------------------------------------------------------------- */

static void test_default(void)
{
	struct hwevents h;
	uint32_t i;
	bool is_complete = true;

	hwevents_default(&h);
	diag("this machine: %s", h.machine);
	ok(h.n >= 6 && h.machine[0], "events for this machine");
	for (i = 0; i < h.n; i++)
		is_complete &= h.event[i].attr.size == sizeof(h.event[i].attr) && h.event[i].factor &&
			       h.event[i].name[0];
	ok(is_complete, "each with a name and a factor");
}

/* Arm: the architecture has events that a CPU may lack; counting those would say 0. */
static void test_optional(const char *dir)
{
	struct cpuinfo cpu = { 'R', 8, 0xd0c, 0, 1 };
	const struct hwevents_machine *m = hwevents_machine(&cpu);
	char path[512];
	struct hwevents h;

	hwevents_fill(m, dir, &h);
	ok(h.event[2].metric == METRIC_BRANCHES && h.event[2].reason == REASON_NONE,
	   "no PMU to be found: the event is tried");
	(void)snprintf(path, sizeof(path), "%s/sys/bus/event_source/devices/armv8_pmuv3_0/events", dir);
	(void)fileio_mkdir_p(path, 0700, NULL);
	(void)snprintf(path, sizeof(path),
		       "%s/sys/bus/event_source/devices/armv8_pmuv3_0/events/br_mis_pred_retired", dir);
	(void)scratch_write(path, "event=0x22\n", 11);
	hwevents_fill(m, dir, &h);
	is_u64(h.event[2].reason, REASON_NO_EVENT, "an event that the CPU does not list");
	is_u64(h.event[3].reason, REASON_NONE, "one that it lists");
	is_u64(h.event[0].reason, REASON_NONE, "cycles need no listing");
}

int main(void)
{
	char dir[] = SCRATCH_TEMPLATE;

	test_machines();
	test_rows();
	test_flop_factors();
#ifdef HAVE_LIBPFM
	test_encodings(); /* before this process has asked for anything itself */
	test_own_refused();
	test_names();
	test_own();
	test_only_counting();
	test_own_groups();
#else
	skip(1, "built without libpfm4");
#endif
	test_default();
	if (mkdtemp(dir)) {
		test_optional(dir);
		scratch_clear(dir);
		(void)rmdir(dir);
	}
	return done_testing();
}
