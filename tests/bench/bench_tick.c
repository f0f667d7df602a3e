/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_tick - CPU time of one tick of the sampler with 1, 16 and 64 steps: sources, /proc/stat, one
 * cgroup file per step, the split and the ledger. The steps' cgroup is this process's own, the
 * sensors are files. Then the wall time that a step's end waits for its tick, beside 64 others.
 * Prints a table; it is no test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libjob/ledger.h"
#include "src/libjob/settings.h"
#include "src/libmeter/cputime.h"
#include "src/libnode/sampler.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"

#define TICKS 2000
#define ENDS 300
#define MAX_STEPS 64

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	(void)fileio_write_atomic(path, text, strlen(text), 0644, NULL);
}

/* Two packages with their memory. */
static void make_sensors(const char *top)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		char dir[256];
		char name[32];

		(void)snprintf(dir, sizeof(dir), "%s/sys/class/powercap/intel-rapl:%u", top, i);
		(void)fileio_mkdir_p(dir, 0755, NULL);
		(void)snprintf(name, sizeof(name), "package-%u\n", i);
		put(dir, "name", name);
		put(dir, "energy_uj", "123456789\n");
		put(dir, "max_energy_range_uj", "262143328850\n");
		(void)snprintf(dir, sizeof(dir), "%s/sys/class/powercap/intel-rapl:%u:0", top, i);
		(void)fileio_mkdir_p(dir, 0755, NULL);
		put(dir, "name", "dram\n");
		put(dir, "energy_uj", "123456789\n");
		put(dir, "max_energy_range_uj", "65712999613\n");
	}
}

static int claim_steps(struct ledger *l, unsigned int from, unsigned int to)
{
	for (; from < to; from++) {
		const struct ledger_identity id = {
			.job_id = 1 + from / 2, .step_id = from % 2, .het_comp = LEDGER_HET_NONE,
			.node_count = 1, .job_cpus = 2, .step_cpus = 1, .job_mem_mb = 200,
			.step_mem_mb = 100,
		};
		struct ledger_slot *s;
		unsigned int slot;
		int rc = ledger_claim(l, &id, &slot);

		if (rc < 0)
			return rc;
		s = ledger_slot(l, slot);
		if (cputime_find_cgroups(getpid(), s->cgroup_v2, s->cgroup_cpuacct,
					 s->cgroup_freezer, LEDGER_CGROUP_MAX) == 0)
			atomic_store(&s->cgroup_known, 1);
	}
	return 0;
}

static void measure(struct sampler *s, unsigned int nsteps)
{
	static uint64_t ns[TICKS];
	unsigned int i;

	for (i = 0; i < 20; i++)
		(void)sampler_tick(s); /* opens what is new */
	for (i = 0; i < TICKS; i++) {
		uint64_t before = clock_thread_cpu_ns();

		(void)sampler_tick(s);
		ns[i] = clock_thread_cpu_ns() - before;
	}
	qsort(ns, TICKS, sizeof(ns[0]), by_value);
	printf("%5u %10.1f %10.1f %10.1f\n", nsteps, (double)ns[TICKS / 2] / 1000,
	       (double)ns[TICKS * 99 / 100] / 1000, (double)ns[TICKS - 1] / 1000);
}

/* From the last task's end to the account: what the plugin adds to a step. */
static void measure_ends(struct sampler *s, struct ledger *l)
{
	static uint64_t ns[ENDS];
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
	qsort(ns, ENDS, sizeof(ns[0]), by_value);
	printf("Wall time until a step's end is booked, microseconds, of %d (%d not within 50 ms)\n"
	       "%5s %10.1f %10.1f %10.1f\n",
	       ENDS, late, "", (double)ns[ENDS / 2] / 1000, (double)ns[ENDS * 99 / 100] / 1000,
	       (double)ns[ENDS - 1] / 1000);
}

int main(void)
{
	static const unsigned int nsteps[] = { 1, 16, MAX_STEPS };
	char top[] = "/tmp/bench_tick.XXXXXX";
	struct settings settings = { 0 };
	struct sampler *s = NULL;
	struct ledger *l = NULL;
	struct errmsg err = { 0 };
	unsigned int have = 0;
	char cmd[64];
	size_t i;

	if (!mkdtemp(top) || kvconf_defaults(settings_keys, settings_nkeys, &settings, &err) < 0)
		return 1;
	make_sensors(top);
	settings.bpf_dir[0] = '\0';
	(void)snprintf(settings.sys_root, sizeof(settings.sys_root), "%s", top);
	(void)snprintf(settings.ledger_dir, sizeof(settings.ledger_dir), "%s", top);
	if (sampler_create(&settings, "bench", &s, &err) < 0 ||
	    ledger_open(top, "bench", true, &l, &err) < 0) {
		fprintf(stderr, "bench_tick: %s\n", err.text);
		return 1;
	}
	printf("CPU time of a tick, microseconds, of %d\n%5s %10s %10s %10s\n", TICKS, "steps", "p50",
	       "p99", "max");
	for (i = 0; i < ARRAY_SIZE(nsteps); i++) {
		if (claim_steps(l, have, nsteps[i]) < 0)
			return 1;
		have = nsteps[i];
		measure(s, have);
	}
	measure_ends(s, l);
	sampler_destroy(s);
	ledger_close(l);
	(void)snprintf(cmd, sizeof(cmd), "rm -rf '%s'", top);
	return system(cmd) != 0;
}
