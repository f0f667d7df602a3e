/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_tick - what the sampler costs. Prints a table; it is not a test. All steps share one cgroup; sensors
 * are files. The table has:
 * - CPU time of a tick with 1, 16 and 64 steps: sensors, /proc/stat, a cgroup file per step, the split and
 *   the ledger
 * - CPU time of reading a step's memory, and of reading a step's pressure
 * - CPU time of reading 64 running steps for ceems.prom
 * - CPU time of booking eight GPUs to 64 steps, without the library calls of ceems-gpu
 * - wall time that the end of a step waits for its tick, beside 64 other steps
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_size.h"
#include "bench_times.h"
#include "busy_node.h"
#include "paths_of.h"
#include "src/libmeter/activity/memuse.h"
#include "src/libmeter/activity/pressure.h"
#include "src/libnode/gpubook.h"
#include "src/libnode/live.h"
#include "src/libnode/sampler.h"
#include "src/libutil/clock.h"

#define TICKS_MAX 2000
#define ENDS_MAX 300
#define TICKS bench_n(TICKS_MAX)
#define ENDS bench_n(ENDS_MAX)
#define BENCH_GPUS 8

static void measure(struct busy_node *n, struct sampler *s, unsigned int nsteps)
{
	static uint64_t ns[TICKS_MAX];
	unsigned int i;

	for (i = 0; i < 20; i++)
		(void)sampler_tick(s); /* opens what is new */
	for (i = 0; i < TICKS; i++) {
		uint64_t before;

		busy_node_feed(n, 1000, 1);
		before = clock_thread_cpu_ns();
		(void)sampler_tick(s);
		ns[i] = clock_thread_cpu_ns() - before;
	}
	qsort(ns, TICKS, sizeof(ns[0]), bench_by_time);
	printf("%5u %10.1f %10.1f %10.1f\n", nsteps, (double)ns[TICKS / 2] / 1000,
	       (double)ns[TICKS * 99 / 100] / 1000, (double)ns[TICKS - 1] / 1000);
}

/*
 * What one step's memory costs, which is read every five seconds, of at most 16 steps in a tick.
 */
static void measure_memory(void)
{
	static uint64_t ns[TICKS_MAX];
	char path[HIER_N][PATH_MAX];
	struct memuse *m = NULL;
	struct errmsg err = { 0 };
	struct memuse_kinds kinds;
	bool is_read = true;
	unsigned int i;

	for (i = 0; i < HIER_N; i++)
		folders_step_path((int)i, path[i], sizeof(path[i]));
	if (memuse_open(paths_of(path[HIER_V2], path[HIER_MEMORY], /* freezer= */ ""), &m, &err) < 0) {
		printf("CPU time of reading a step's memory: n/a (%s)\n", err.text);
		return;
	}
	for (i = 0; i < TICKS; i++) {
		uint64_t before = clock_thread_cpu_ns();

		is_read = memuse_read_kinds(m, &kinds) == 0 && is_read;
		ns[i] = clock_thread_cpu_ns() - before;
	}
	qsort(ns, TICKS, sizeof(ns[0]), bench_by_time);
	printf("CPU time of reading a step's memory from %s%s\n%5s %10.1f %10.1f %10.1f\n",
	       memuse_opens_files(m) ? "a list of processes (one step in 2 s)" :
				       "memory.stat (every 5 s, 16 steps in a tick at most)",
	       is_read ? "" : ", which failed", "", (double)ns[TICKS / 2] / 1000,
	       (double)ns[TICKS * 99 / 100] / 1000, (double)ns[TICKS - 1] / 1000);
	memuse_close(m);
}

/* Once for each step when it ends, and for each running one with ceems.prom. */
static void measure_pressure(void)
{
	static uint64_t ns[TICKS_MAX];
	const struct cgroup_paths *paths;
	char path[HIER_N][PATH_MAX];
	struct values f;
	unsigned int i;

	for (i = 0; i < HIER_N; i++)
		folders_step_path((int)i, path[i], sizeof(path[i]));
	paths = paths_of(path[HIER_V2], path[HIER_CPUACCT], /* freezer= */ "");
	for (i = 0; i < TICKS; i++) {
		uint64_t before = clock_thread_cpu_ns();

		pressure_read(paths, &f);
		ns[i] = clock_thread_cpu_ns() - before;
	}
	qsort(ns, TICKS, sizeof(ns[0]), bench_by_time);
	printf("CPU time of reading a step's pressure (PSI %s here)\n%5s %10.1f %10.1f %10.1f\n",
	       values_has(&f, METRIC_CPU_PRESSURE_SOME) ? "is" : "is not", "", (double)ns[TICKS / 2] / 1000,
	       (double)ns[TICKS * 99 / 100] / 1000, (double)ns[TICKS - 1] / 1000);
}

/* Opens the steps' CPU time as a tick does. */
static struct readers *open_readers(struct ledger *l, struct weights *w, unsigned int nsteps)
{
	static struct book_line line[BUSY_NODE_STEPS];
	struct tick t = { .line = line, .nlines = nsteps };
	struct readers *r = NULL;
	unsigned int i;

	if (readers_create(w, &r) < 0)
		return NULL;
	for (i = 0; i < nsteps; i++) {
		struct ledger_slot *s = ledger_slot(l, i);

		line[i] = (struct book_line){
			.slot = i, .claim = s->claim, .s = s, .until_ns = clock_mono_ns()
		};
	}
	readers_read(r, &t);
	return r;
}

/*
 * Comes on top of a tick that writes ceems.prom, one in five. Without BPF programs, which are read with two
 * system calls for all steps.
 */
static void measure_live(struct ledger *l, unsigned int nsteps)
{
	static uint64_t ns[TICKS_MAX];
	struct topology *t = NULL;
	struct weights *w = NULL;
	struct readers *r = NULL;
	struct live live = { 0 };
	unsigned int i;

	if (topology_read("/", 1, &t) < 0 ||
	    weights_create(&(struct weights_setup){ .sys_root = "/", .topology = t }, &w) < 0)
		goto out;
	r = open_readers(l, w, nsteps);
	if (!r)
		goto out;
	for (i = 0; i < nsteps; i++)
		if (!ledger_slot(l, i)->cgroup.v2[0])
			folders_step_path(HIER_V2, ledger_slot(l, i)->cgroup.v2,
					  sizeof(ledger_slot(l, i)->cgroup.v2));
	live_read(&live, l, NULL, r); /* opens what is new */
	for (i = 0; i < TICKS; i++) {
		uint64_t before = clock_thread_cpu_ns();

		live_read(&live, l, NULL, r);
		ns[i] = clock_thread_cpu_ns() - before;
	}
	qsort(ns, TICKS, sizeof(ns[0]), bench_by_time);
	printf("CPU time of reading running steps for ceems.prom, with pressure\n%5u %10.1f %10.1f %10.1f\n",
	       nsteps, (double)ns[TICKS / 2] / 1000, (double)ns[TICKS * 99 / 100] / 1000,
	       (double)ns[TICKS - 1] / 1000);
out:
	readers_destroy(r);
	weights_destroy(w);
	free(t);
}

/* So many readings of GPUs booked to as many steps on each, which comes once a second. */
static void book_gpus(struct ledger *l, struct ledger_book *b, struct gpubook *w)
{
	static uint64_t ns[TICKS_MAX];
	static struct tick t;
	uint64_t now_ns = clock_mono_ns();
	unsigned int i, g;

	t.ngpus = BENCH_GPUS;
	for (i = 0; i < TICKS; i++) {
		uint64_t before;

		for (g = 0; g < BENCH_GPUS; g++) {
			t.gpu[g].unit = (uint8_t)g;
			t.gpu[g].from_ns = now_ns + i * NSEC_PER_SEC;
			t.gpu[g].until_ns = t.gpu[g].from_ns + NSEC_PER_SEC;
		}
		t.page = ledger_begin(l);
		t.book.t_mono_ns = now_ns + (i + 1) * NSEC_PER_SEC;
		t.nlines = ledger_book_collect(b, t.page, t.book.t_mono_ns, &t.line);
		before = clock_thread_cpu_ns();
		gpubook_read(w, b, &t);
		ns[i] = clock_thread_cpu_ns() - before;
		ledger_turn(l);
	}
	qsort(ns, TICKS, sizeof(ns[0]), bench_by_time);
	printf("CPU time of booking the use of %d GPUs to %d steps, once a second\n%5s %10.1f %10.1f "
	       "%10.1f\n",
	       BENCH_GPUS, BUSY_NODE_STEPS, "", (double)ns[TICKS / 2] / 1000,
	       (double)ns[TICKS * 99 / 100] / 1000, (double)ns[TICKS - 1] / 1000);
}

static void measure_gpus(const struct busy_node *node)
{
	struct ledger *l = NULL;
	struct ledger_book *b = NULL;
	struct gpubook *w = NULL;
	unsigned int i, slot;
	bool is_fresh;

	if (ledger_create(node->top, "gpus", &l, &is_fresh, NULL) < 0 || ledger_book_create(l, &b) < 0 ||
	    gpubook_create(&w) < 0)
		goto out;
	for (i = 0; i < BUSY_NODE_STEPS; i++) {
		struct ledger_identity id = { .job_id = 1 + i, .job_cpus = 1, .step_cpus = 1 };

		id.job_gpu_ppm[i % BENCH_GPUS] = id.step_gpu_ppm[i % BENCH_GPUS] = 1000000 * BENCH_GPUS /
										   BUSY_NODE_STEPS;
		if (ledger_claim(l, &id, &slot) < 0)
			goto out;
	}
	book_gpus(l, b, w);
out:
	gpubook_destroy(w);
	ledger_book_destroy(b);
	ledger_close(l);
}

/* From the last task's end to the account: what the plugin adds to a step. */
static void measure_ends(struct sampler *s, struct ledger *l)
{
	static uint64_t ns[ENDS_MAX];
	const struct timespec pause = { .tv_nsec = 5000000 };
	unsigned int i;
	int late = 0;

	if (sampler_start(s, NULL) < 0)
		return;
	for (i = 0; i < ENDS; i++) {
		const struct ledger_identity id = { .job_id = 1000, .job_cpus = 1, .step_cpus = 1 };
		struct account a;
		unsigned int slot;
		uint64_t before;

		if (ledger_claim(l, &id, &slot) < 0)
			return;
		(void)nanosleep(&pause, NULL);
		before = clock_mono_ns();
		late += ledger_finish(l, slot, 0, 50 * NSEC_PER_MSEC, &a) < 0;
		ns[i] = clock_mono_ns() - before;
		ledger_leave(l, slot);
	}
	qsort(ns, ENDS, sizeof(ns[0]), bench_by_time);
	printf("Wall time until a step's end is booked, microseconds, of %" PRIu64 " (%d not within 50 ms)\n"
	       "%5s %10.1f %10.1f %10.1f\n",
	       ENDS, late, "", (double)ns[ENDS / 2] / 1000, (double)ns[ENDS * 99 / 100] / 1000,
	       (double)ns[ENDS - 1] / 1000);
}

int main(void)
{
	static const unsigned int nsteps[] = { 1, 16, BUSY_NODE_STEPS };
	struct settings settings;
	struct sampler *s = NULL;
	struct ledger *l = NULL;
	struct errmsg err = { 0 };
	struct busy_node n;
	unsigned int have = 0;
	size_t i;

	if (!busy_node_make(&n))
		return 1;
	busy_node_settings(&n, &settings);
	if (sampler_create(&settings, "bench", &s, &err) < 0 ||
	    ledger_open(n.top, "bench", true, &l, &err) < 0) {
		fprintf(stderr, "bench_tick: %s\n", err.text);
		return 1;
	}
	printf("CPU time of a tick, microseconds, of %" PRIu64 ", on %d sockets\n%5s %10s %10s %10s\n", TICKS,
	       BUSY_NODE_SOCKETS, "steps", "p50", "p99", "max");
	for (i = 0; i < ARRAY_SIZE(nsteps); i++) {
		if (busy_node_claim(&n, l, have, nsteps[i]) < 0)
			return 1;
		have = nsteps[i];
		measure(&n, s, have);
	}
	measure_memory();
	measure_pressure();
	measure_live(l, have);
	measure_gpus(&n);
	measure_ends(s, l);
	sampler_destroy(s);
	ledger_close(l);
	busy_node_remove(&n);
	return 0;
}
