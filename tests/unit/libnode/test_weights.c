/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Weights of the activity of steps, on a simulated machine of two sockets with two CPUs each: with all
 * counters, with some, with none; beside busy siblings; of memory; and what the weights learn.
 */
#include "src/libnode/weights.h"

#include <inttypes.h>
#include <math.h>
#include <sys/resource.h>

#include "cgfolders.h"
#include "fake_pmu.h"
#include "paths_of.h"
#include "scratch.h"
#include "src/libnode/memweights.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"
#include "tap.h"

#define MS NSEC_PER_MSEC
#define LINES 3

static struct ledger_page page; /* too large for a stack in which each function has its own */

struct machine {
	char root[sizeof(SCRATCH_TEMPLATE)];
	struct topology *topology;
	struct fake_pmu pmu;
	struct weights *w;
	uint64_t cpu_ns[FAKE_CPUS];
	uint64_t now_ns;
	struct weights_step *step[LINES];
	struct book_line line[LINES];
	struct tick tick;
	struct part part[2];
	bool has_dram;
};

static void put(const struct machine *m, const char *folder, const char *file, const char *text)
{
	char dir[256];

	(void)snprintf(dir, sizeof(dir), "%s%s", m->root, folder);
	(void)fileio_mkdir_p(dir, 0755, NULL);
	scratch_write(scratch_path(dir, file), text, strlen(text));
}

static void machine_make(struct machine *m)
{
	unsigned int i;

	memset(m, 0, sizeof(*m));
	strcpy(m->root, SCRATCH_TEMPLATE);
	m->topology = calloc(1, sizeof(*m->topology) + FAKE_CPUS);
	if (!m->topology || !mkdtemp(m->root))
		exit(99);
	m->topology->ncpus = FAKE_CPUS;
	m->topology->cpu_socket = (uint8_t *)(m->topology + 1);
	for (i = 0; i < FAKE_CPUS; i++)
		m->topology->cpu_socket[i] = (uint8_t)(i / 2);
	put(m, "/proc", "meminfo", "MemTotal: 9000 kB\nAnonPages: 4000 kB\nShmem: 1000 kB\n");
	m->now_ns = 1000 * NSEC_PER_SEC;
}

static void machine_start(struct machine *m, bool has_pmu)
{
	const struct weights_setup setup = {
		.sys_root = m->root,
		.topology = m->topology,
		.pmu = has_pmu ? fake_pmu(&m->pmu) : NULL,
	};
	char path[32];
	int i;

	if (weights_create(&setup, &m->w) < 0)
		exit(99);
	for (i = 0; i < LINES; i++) {
		(void)snprintf(path, sizeof(path), "/step_%d", i);
		m->step[i] = weights_step_open(m->w, paths_of(path, "", ""));
	}
}

static void machine_remove(struct machine *m)
{
	int i;

	for (i = 0; i < LINES; i++)
		weights_step_close(m->step[i]);
	weights_destroy(m->w);
	is_int(m->pmu.nopen, 0, "nothing stays open");
	free(m->topology);
	scratch_clear(m->root);
	rmdir(m->root);
}

/* Begins a tick of a second in which nothing has happened yet. */
static void begin(struct machine *m)
{
	static const struct ledger_slot no_cgroup;
	uint64_t busy_ns[LINES];
	int i;

	for (i = 0; i < LINES; i++)
		busy_ns[i] = m->line[i].busy_ns;
	memset(m->line, 0, sizeof(m->line));
	m->tick = (struct tick){ .page = &page, .line = m->line, .nlines = LINES, .step = m->step };
	page.domain_source[DOMAIN_DRAM] = m->has_dram ? SOURCE_RAPL : SOURCE_N;
	for (i = 0; i < LINES; i++) {
		m->line[i].s = &no_cgroup;
		m->line[i].busy_ns = m->line[i].booked_ns = busy_ns[i];
	}
	m->now_ns += NSEC_PER_SEC;
	m->tick.book.t_mono_ns = m->now_ns;
}

/* Line I (-1: the system) runs on CPU for NS, at so many events per nanosecond. */
static void run(struct machine *m, int i, uint32_t cpu, uint64_t ns, double cycles, double instr,
		double misses)
{
	const uint64_t events[EVENT_N] = { (uint64_t)((double)ns * cycles), (uint64_t)((double)ns * instr),
					   (uint64_t)((double)ns * misses) };

	fake_pmu_run(&m->pmu, i < 0 ? FAKE_ALL : i, cpu, ns, ns, events);
	m->cpu_ns[cpu] += ns;
	m->tick.book.cpu_weight[cpu / 2] += ns;
	m->tick.book.mem_weight += ns;
	if (i < 0)
		return;
	m->line[i].busy_ns += ns;
	m->line[i].cpu_weight[cpu / 2] += ns;
	m->line[i].mem_weight += ns;
}

static void end(struct machine *m)
{
	weights_fill(m->w, m->cpu_ns, &m->tick);
}

/* The first tick of a sampler has begun before its counters. */
static void skip_first(struct machine *m)
{
	begin(m);
	run(m, 0, 0, MS, 3, 1, 0);
	end(m);
}

static bool is_ratio(uint64_t a, uint64_t b, double want)
{
	double got = b ? (double)a / (double)b : -1;

	if (fabs(got - want) <= 0.01 * want)
		return true;
	diag("got %" PRIu64 " to %" PRIu64 ", %.4f, want %.4f", a, b, got, want);
	return false;
}

static void test_without_counters(void)
{
	struct machine m;
	char text[256];

	machine_make(&m);
	m.pmu.open_fails[EVENT_CYCLES] = -ENOENT;
	machine_start(&m, true);
	weights_describe(m.w, text, sizeof(text));
	is_str(text, "CPU energy by CPU time (this machine shows no hardware counters)",
	       "the description says why");
	skip_first(&m);
	begin(&m);
	run(&m, 0, 0, 100 * MS, 3, 1, 0);
	run(&m, 1, 1, 300 * MS, 1, 1, 0);
	run(&m, -1, 3, 50 * MS, 1, 1, 0);
	end(&m);
	is_u64(m.line[0].cpu_weight[0], 100 * MS, "CPU time as it came");
	is_u64(m.tick.book.cpu_weight[0], 400 * MS, "of the socket too");
	is_u64(m.tick.book.cpu_weight[1], 50 * MS, "and of the system");
	ok(!m.tick.book.by_counters && m.line[1].mem_weight == 300 * MS,
	   "and the tick does not claim counters");
	machine_remove(&m);
}

static void test_few_descriptors(void)
{
	struct rlimit limit, was;
	struct machine m;
	char text[256];

	machine_make(&m);
	getrlimit(RLIMIT_NOFILE, &was);
	limit = was;
	limit.rlim_cur = 20;
	setrlimit(RLIMIT_NOFILE, &limit);
	machine_start(&m, true);
	setrlimit(RLIMIT_NOFILE, &was);
	weights_describe(m.w, text, sizeof(text));
	is_str(text, "CPU energy by CPU time (hardware counters of the node: Too many open files)",
	       "twelve counters do not fit into half of 20 descriptors");
	machine_remove(&m);
}

static void test_with_counters(void)
{
	struct machine m;
	char text[256];

	machine_make(&m);
	machine_start(&m, true);
	weights_describe(m.w, text, sizeof(text));
	is_str(text, "CPU energy by hardware counters (cycles, instructions, cache misses)", "it says which");
	begin(&m);
	run(&m, 0, 0, 100 * MS, 3, 0, 0);
	run(&m, 1, 2, 100 * MS, 1, 0, 0);
	end(&m);
	ok(!m.tick.book.by_counters && m.line[0].cpu_weight[0] == 100 * MS,
	   "the first tick goes by CPU time");
	begin(&m);
	run(&m, 0, 0, 100 * MS, 3, 0, 0.001);
	run(&m, 1, 1, 100 * MS, 1, 0, 0);
	run(&m, 1, 2, 100 * MS, 2, 4, 0);
	run(&m, 2, 3, 100 * MS, 2, 0, 0.003);
	run(&m, -1, 3, 100 * MS, 1, 0, 0);
	end(&m);
	ok(m.tick.book.by_counters, "the tick is by counters");
	ok(is_ratio(m.line[0].cpu_weight[0], m.line[1].cpu_weight[0], 3.008), "faster cycles");
	ok(is_ratio(m.line[1].cpu_weight[1], m.line[2].cpu_weight[1], 3 / 2.024), "more instructions");
	ok(is_ratio(m.tick.book.cpu_weight[0], m.line[0].cpu_weight[0] + m.line[1].cpu_weight[0], 1),
	   "nothing is left to the system of socket 0");
	ok(is_ratio(m.tick.book.cpu_weight[1], m.line[1].cpu_weight[1] + m.line[2].cpu_weight[1],
		    6.024 / 5.024),
	   "the system's part of socket 1 is");
	ok(is_ratio(m.line[2].mem_weight, m.line[0].mem_weight, 3) && !m.line[1].mem_weight &&
		   m.tick.book.mem_weight == m.line[0].mem_weight + m.line[2].mem_weight,
	   "memory goes by cache misses");
	begin(&m);
	weights_step_close(m.step[1]);
	run(&m, 1, 2, 100 * MS, 3, 0, 0);
	run(&m, 2, 3, 100 * MS, 3, 0, 0);
	m.step[1] = weights_step_open(m.w, paths_of("/step_1", "", ""));
	fake_pmu_run(&m.pmu, 1, 2, MS, MS, (const uint64_t[EVENT_N]){ 1, 1, 1 });
	end(&m);
	ok(is_ratio(m.line[1].cpu_weight[1], m.line[2].cpu_weight[1], 1),
	   "a step opened in this tick has not counted all of it");
	begin(&m);
	run(&m, 0, 0, 2 * MS, 3, 0, 0);
	m.cpu_ns[0] -= 2 * MS; /* /proc/stat does not show it yet */
	m.line[0].is_last = true;
	end(&m);
	ok(m.line[0].cpu_weight[0] > 0 && !m.line[1].cpu_weight[0],
	   "a step's last events are not left for a next tick");
	machine_remove(&m);
}

static void test_some_counters(void)
{
	struct machine m;

	machine_make(&m);
	m.pmu.is_gone[2] = true;
	machine_start(&m, true);
	skip_first(&m);
	begin(&m);
	run(&m, 0, 0, 100 * MS, 3, 0, 0);
	run(&m, 1, 1, 200 * MS, 2, 0, 0);
	run(&m, 2, 1, 100 * MS, 5, 0, 0);
	run(&m, 2, 3, 100 * MS, 2, 0, 0);
	end(&m);
	ok(m.line[0].by_counters && m.line[1].by_counters && !m.line[2].by_counters,
	   "lines 0 and 1 were counted, line 2 not");
	ok(is_ratio(m.line[2].cpu_weight[0], m.line[0].cpu_weight[0], 7.0 / 3 / 3),
	   "a step without counters did per second what the others did");
	ok(is_ratio(m.line[2].cpu_weight[1], m.tick.book.cpu_weight[1], 1),
	   "where no other step was, what the whole socket did");
	begin(&m);
	run(&m, 1, 1, 100 * MS, 2, 0, 0);
	run(&m, 2, 1, 200 * MS, 2, 0, 0);
	end(&m);
	ok(m.line[1].by_counters && !m.line[2].by_counters &&
		   is_ratio(m.line[2].cpu_weight[0], m.line[1].cpu_weight[0], 2),
	   "also when most was not counted");
	begin(&m);
	fake_pmu_run(&m.pmu, 0, 0, MS, MS, (const uint64_t[EVENT_N]){ 3 * MS, 0, 5 });
	run(&m, 2, 0, 200 * MS, 2, 0, 0.001);
	end(&m);
	ok(m.line[2].mem_weight && m.line[2].cpu_weight[0],
	   "the only one with CPU time is not one of the counted: it computed all the same");
	begin(&m);
	run(&m, 2, 1, 200 * MS, 2, 0, 0);
	end(&m);
	ok(!m.tick.book.by_counters && m.line[2].cpu_weight[0] == 200 * MS, "no line was counted: CPU time");
	machine_remove(&m);
}

static void test_offline(void)
{
	struct machine m;

	machine_make(&m);
	machine_start(&m, true);
	skip_first(&m);
	begin(&m);
	run(&m, 0, 0, 100 * MS, 3, 0, 0);
	run(&m, 1, 1, 100 * MS, 1, 0, 0);
	m.pmu.is_offline[1] = true;
	end(&m);
	ok(!m.tick.book.by_counters && m.line[1].cpu_weight[0] == 100 * MS,
	   "a CPU went offline in the tick: CPU time");
	begin(&m);
	run(&m, 0, 0, 100 * MS, 3, 0, 0);
	end(&m);
	ok(m.tick.book.by_counters, "the others go on");
	m.pmu.is_offline[1] = false;
	begin(&m);
	run(&m, 0, 1, 100 * MS, 3, 0, 0);
	end(&m);
	ok(!m.tick.book.by_counters && m.line[0].cpu_weight[0] == 100 * MS,
	   "back: it has not counted the whole tick");
	begin(&m);
	run(&m, 0, 0, 100 * MS, 3, 0, 0);
	run(&m, 1, 1, 100 * MS, 1, 0, 0);
	end(&m);
	ok(m.tick.book.by_counters && is_ratio(m.line[0].cpu_weight[0], m.line[1].cpu_weight[0], 3),
	   "it is back");
	machine_remove(&m);
}

/* A user may occupy all counters of his CPUs: that must not lower the energy of his step. */
static void test_starved(void)
{
	const uint64_t none[EVENT_N] = { 0 };
	struct machine m;

	machine_make(&m);
	machine_start(&m, true);
	skip_first(&m);
	begin(&m);
	run(&m, 0, 0, 100 * MS, 3, 0, 0);
	run(&m, 1, 1, 100 * MS, 3, 0, 0);
	fake_pmu_run(&m.pmu, 1, 2, 100 * MS, 0, none); /* as run(), but for the counters */
	m.cpu_ns[2] += 100 * MS;
	m.tick.book.cpu_weight[1] += 100 * MS;
	m.line[1].busy_ns += 100 * MS;
	m.line[1].cpu_weight[1] += 100 * MS;
	end(&m);
	ok(!m.tick.book.by_counters && m.line[1].cpu_weight[1] == 100 * MS,
	   "a CPU whose counters others have: CPU time");
	machine_remove(&m);
}

static void test_threads(void)
{
	struct machine m;

	machine_make(&m);
	put(&m, "/sys/devices/system/cpu/cpu0/topology", "thread_siblings_list", "0-1\n");
	put(&m, "/sys/devices/system/cpu/cpu1/topology", "thread_siblings_list", "0-1\n");
	put(&m, "/sys/devices/system/cpu/cpu2/topology", "thread_siblings_list", "2-3\n");
	put(&m, "/sys/devices/system/cpu/cpu3/topology", "thread_siblings_list", "2-3\n");
	machine_start(&m, true);
	skip_first(&m);
	begin(&m);
	run(&m, 0, 0, 1000 * MS, 3, 0, 0);
	run(&m, 1, 1, 1000 * MS, 3, 0, 0);
	run(&m, 2, 2, 1000 * MS, 3, 0, 0);
	end(&m);
	ok(is_ratio(m.line[0].cpu_weight[0], m.line[2].cpu_weight[1], 0.575),
	   "two on one core: each of them r / 2 of one that is alone");
	ok(is_ratio(m.line[0].cpu_weight[0], m.line[1].cpu_weight[0], 1), "both the same");
	machine_remove(&m);
}

/* slurmd starts on a node that has computed for a year: that is not what was done in the tick. */
static void test_old_node(void)
{
	struct machine m;
	int i;

	machine_make(&m);
	m.pmu.open_fails[EVENT_CYCLES] = -ENOENT;
	machine_start(&m, true);
	for (i = 0; i < FAKE_CPUS; i++)
		m.cpu_ns[i] = 365 * 24 * 3600 * NSEC_PER_SEC;
	begin(&m);
	run(&m, 0, 0, 100 * MS, 3, 1, 0);
	end(&m);
	is_u64(m.line[0].cpu_weight[0], 100 * MS, "the first tick of an old node weighs CPU time");
	machine_remove(&m);
}

static void test_memory(void)
{
	struct memstep held = { .bytes = 3000 << 10, .read_ns = 1 };
	struct memstep idle = { .bytes = 1000 << 10, .read_ns = 1 };
	struct memstep *mem[LINES] = { &held, NULL, &idle };
	struct memweights w;
	struct machine m;

	machine_make(&m);
	m.has_dram = true;
	m.pmu.open_fails[EVENT_LLC_MISSES] = -ENOENT;
	machine_start(&m, true);
	skip_first(&m);
	begin(&m);
	run(&m, 0, 0, 1000 * MS, 3, 0, 0);
	run(&m, 1, 1, 3000 * MS, 3, 0, 0);
	end(&m);
	is_u64(m.tick.book.mem_weight, 5000 << 10, "without misses, memory goes by bytes held");
	is_u64(m.line[1].mem_weight, 3750 << 10, "what a step holds is not known: by CPU time");

	memweights_open(&w, "/no/such/folder");
	memweights_close(&w);
	begin(&m);
	run(&m, 0, 0, 100 * MS, 3, 0, 0);
	ok(!memweights_fill(&w, mem, &m.tick) && m.line[0].mem_weight == 100 * MS,
	   "what the node holds is not known: CPU time stays");
	memweights_open(&w, m.root);
	ok(memweights_fill(&w, mem, &m.tick), "by bytes");
	begin(&m);
	run(&m, 0, 0, 2000 * MS, 3, 0, 0);
	run(&m, 2, 1, 100 * MS, 3, 0, 0);
	run(&m, -1, 1, 500 * MS, 3, 0, 0);
	(void)memweights_fill(&w, mem, &m.tick);
	is_u64(m.line[0].mem_weight, 3000 << 10, "all that it holds, with two busy CPUs");
	is_u64(m.line[1].mem_weight, 0, "none of it without CPU time");
	is_u64(m.line[2].mem_weight, 100 << 10, "a tenth, when busy a tenth of the time");
	is_u64(m.tick.book.mem_weight, (3000 + 100 + 500) << 10, "half of the rest is the system's");
	memweights_close(&w);
	machine_remove(&m);
}

/* More steps than one tick reads, and ticks so rare that at each of them it is everyone's time. */
static void test_many_memories(void)
{
	enum { N = 2 * MEMWEIGHTS_PER_TICK + 1 };
	struct memstep step[N] = { 0 };
	struct memstep *mem[N];
	struct book_line line[N] = { 0 };
	struct tick tick = { .line = line, .nlines = N };
	struct folders cgroup;
	struct memweights w;
	struct machine m;
	char path[HIER_N][PATH_MAX];
	unsigned int known = 0;
	int i;

	machine_make(&m);
	memweights_open(&w, m.root);
	folders_make(&cgroup);
	for (i = 0; i < HIER_N; i++)
		folders_step_path(i, path[i], sizeof(path[i]));
	for (i = 0; i < N; i++) {
		mem[i] = &step[i];
		memstep_open(mem[i], paths_of(path[HIER_V2], path[HIER_MEMORY], ""));
	}
	for (i = 1; i <= 3; i++) {
		tick.book.t_mono_ns = (uint64_t)i * MEMWEIGHTS_REFRESH_NS;
		(void)memweights_fill(&w, mem, &tick);
	}
	for (i = 0; i < N; i++)
		known += step[i].read_ns != 0;
	if (step[0].memuse)
		is_u64(known, N, "three ticks read the memory of all steps");
	else
		skip(1, "no cgroup to read memory from");
	for (i = 0; i < N; i++)
		memstep_close(mem[i]);
	folders_remove(&cgroup);
	memweights_close(&w);
	scratch_clear(m.root);
	rmdir(m.root);
	free(m.topology);
}

/* Lists of processes are opened anew each time: those of a few steps, in ticks of a second. */
static void test_lists_of_processes(void)
{
	enum { N = 3, TICKS = 20 };
	struct memstep step[N] = { 0 };
	struct memstep *mem[N];
	struct book_line line[N] = { 0 };
	struct tick tick = { .line = line, .nlines = N };
	struct folders cgroup;
	struct memweights w;
	struct machine m;
	char path[PATH_MAX] = "";
	char folder[PATH_MAX + 32];
	unsigned int reads = 0;
	bool known = true;
	int i, t;

	machine_make(&m);
	memweights_open(&w, m.root);
	folders_make(&cgroup);
	/* where the memory controller has no folder */
	folders_step_path(HIER_FREEZER, path, sizeof(path) - sizeof("/only"));
	strcat(path, "/only");
	snprintf(folder, sizeof(folder), "%s/only", cgroup.step[HIER_FREEZER]);
	(void)mkdir(folder, 0755);
	for (i = 0; i < N; i++) {
		mem[i] = &step[i];
		memstep_open(mem[i], paths_of("", "", path));
	}
	for (t = 1; t <= TICKS; t++) {
		tick.book.t_mono_ns = (uint64_t)t * NSEC_PER_SEC;
		(void)memweights_fill(&w, mem, &tick);
		for (i = 0; i < N; i++)
			reads += step[i].read_ns == tick.book.t_mono_ns;
	}
	for (i = 0; i < N; i++)
		known &= step[i].read_ns != 0;
	if (!step[0].memuse) {
		skip(2, "no freezer to list processes of");
	} else {
		is_u64(reads, TICKS * NSEC_PER_SEC / MEMWEIGHTS_LIST_NS, "one step in five ticks");
		ok(known, "each in its turn");
	}
	for (i = 0; i < N; i++)
		memstep_close(mem[i]);
	(void)rmdir(folder);
	folders_remove(&cgroup);
	memweights_close(&w);
	scratch_clear(m.root);
	rmdir(m.root);
	free(m.topology);
}

static void teach(struct machine *m, const struct part *like, uint64_t measured_uj, uint64_t dt_ns,
		  bool is_tainted)
{
	m->tick.dt_ns = dt_ns;
	m->tick.is_tainted = is_tainted;
	m->tick.book.part = m->part;
	m->tick.book.nparts = 2;
	m->part[0] = *like;
	m->part[0].energy_uj = measured_uj;
	m->part[1] = (struct part){ .domain = DOMAIN_CPU, .unit = 1, .source = SOURCE_RAPL, .idle_mw = 5000 };
	weights_learn(m->w, &m->tick);
}

/* A mixed load on CPU 0, which costs so much per event, above 20 W of idle power. */
static void learn(struct machine *m, const struct part *like, bool is_tainted)
{
	uint64_t seed = 4711;
	int i;

	for (i = 0; i < 600; i++) {
		double cycles = 3 * (double)(scratch_random(&seed) % 1000) / 1000;
		double instr = cycles * 2 * (double)(scratch_random(&seed) % 1000) / 1000;

		begin(m);
		run(m, 0, 0, 600 * MS, cycles, instr, 0);
		end(m);
		teach(m, like, (uint64_t)(0.6e6 * (20 + instr * 4 + cycles / 2)), 600 * MS, is_tainted);
		begin(m); /* a step begins: a tick in which no CPU time shows yet */
		end(m);
		teach(m, like, 20000, MS, is_tainted);
	}
}

/* What a load of two instructions per cycle weighs to one of none. */
static uint64_t weight_of(struct machine *m, uint32_t cpu, double instr)
{
	begin(m);
	run(m, 0, cpu, 1000 * MS, 1, instr, 0);
	end(m);
	return m->line[0].cpu_weight[cpu / 2];
}

static void test_learns(void)
{
	static const struct {
		const char *name;
		struct part part;
		bool is_tainted;
		double want;
	} t[] = {
		{ "idle power is not known", { .source = SOURCE_RAPL }, false, 1.5 },
		{ "a model", { .source = SOURCE_MODEL, .idle_mw = 20000 }, false, 1.5 },
		{ "readings that failed", { .source = SOURCE_RAPL, .idle_mw = 20000 }, true, 1.5 },
		{ "memory", { .domain = DOMAIN_DRAM, .source = SOURCE_RAPL, .idle_mw = 20000 }, false, 1.5 },
		{ "a socket", { .source = SOURCE_RAPL, .idle_mw = 20000 }, false, 17 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct machine m;
		double got;

		machine_make(&m);
		machine_start(&m, true);
		skip_first(&m);
		learn(&m, &t[i].part, t[i].is_tainted);
		got = (double)weight_of(&m, 0, 2) / (double)weight_of(&m, 0, 0);
		if (!ok(got > 0.75 * t[i].want && got < 1.25 * t[i].want, "learns from: %s", t[i].name))
			diag("got %.2f, want about %.1f", got, t[i].want);
		if (t[i].want > 2) {
			got = (double)weight_of(&m, 2, 2) / (double)weight_of(&m, 2, 0);
			ok(got > 1.4 && got < 1.6, "the other socket's weights are learned by themselves");
		}
		machine_remove(&m);
	}
	weights_destroy(NULL);
	weights_step_close(NULL);
}

int main(void)
{
	test_without_counters();
	test_few_descriptors();
	test_with_counters();
	test_some_counters();
	test_offline();
	test_starved();
	test_threads();
	test_old_node();
	test_memory();
	test_many_memories();
	test_lists_of_processes();
	test_learns();
	return done_testing();
}
