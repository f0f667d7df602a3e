/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each rule of advice: a job for which it speaks, one at its limit, and one whose deciding value is unknown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/libledger/ledger.h"
#include "src/librecord/advice.h"
#include "src/librecord/cleaner_hour.h"
#include "tests/tap/tap.h"

#define BEGIN 1700000000
#define GIB (UINT64_C(1) << 30)
#define NS UINT64_C(1000000000)
#define MAX 8

/*
 * An hour on 8 CPUs of one node, which were all busy; 16 GiB, of which 15 were used; a limit of 80 minutes.
 */
static struct record *good(void)
{
	struct record *r = record_create();
	struct record_step *s = calloc(2, sizeof(*s));

	if (!r || !s)
		exit(1);
	r->cluster = strdup("c");
	r->job_id = 2;
	r->state = strdup("COMPLETED");
	r->tres_alloc = strdup("cpu=8,mem=16G,node=1,billing=8");
	r->start = BEGIN;
	r->end = BEGIN + 3600;
	r->time_limit_min = (struct maybe_u64){ 80, true };
	r->total_cpus = 8;
	r->total_nodes = 1;
	values_init(&r->values);
	values_set(&r->values, METRIC_CPU_TIME, 8 * 3600 * NS);
	values_set(&r->values, METRIC_MEMORY_PEAK, 15 * GIB);
	values_set(&r->values, METRIC_MEMORY_ALLOCATED, 16 * GIB);
	values_set(&r->values, METRIC_ENERGY, UINT64_C(3600000000) * 100); /* 100 Wh */
	values_set(&r->values, METRIC_CPU_ENERGY, UINT64_C(3600000000) * 100);
	values_set(&r->values, METRIC_CPU_ENERGY_STATIC, UINT64_C(3600000000) * 40);
	values_set(&r->values, METRIC_CO2E, 5000 * UINT64_C(1000000)); /* 5 g */
	s[0] = (struct record_step){ .step_id = LEDGER_STEP_BATCH,
				     .ntasks = 1,
				     .nnodes = 1,
				     .ncpus = 8,
				     .start = BEGIN,
				     .end = BEGIN + 3600 };
	s[1] = s[0];
	s[1].step_id = LEDGER_STEP_EXTERN;
	values_init(&s[0].values);
	values_init(&s[1].values);
	r->steps = s;
	r->nsteps = 2;
	r->steps_known = true;
	return r;
}

static void set_state(struct record *r, const char *state)
{
	free(r->state);
	r->state = strdup(state);
}

static void set_gpus(struct record *r, unsigned int n)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "cpu=8,mem=16G,node=1,gres/gpu=%u,gres/gpu:h100=%u", n, n);
	free(r->tres_alloc);
	r->tres_alloc = strdup(text);
	values_set(&r->values, METRIC_GPU_HELD, n * 3600 * NS);
	values_set(&r->values, METRIC_GPU_BUSY, n * 1800 * NS);
	values_set(&r->values, METRIC_GPU_NO_PROCESS, 0);
	values_set(&r->values, METRIC_GPU_ENERGY, UINT64_C(3600000000) * 50);
}

/* CPU time of N thousandths of the 8 CPUs */
static void set_cpu(struct record *r, uint64_t n)
{
	values_set(&r->values, METRIC_CPU_TIME, 8 * 3600 * NS / 1000 * n);
}

/* how = 0: the rule speaks; 1: at its limit, where it does not; 2: what decides is unknown */
static void out_of_memory(struct record *r, int how)
{
	set_state(r, how ? "COMPLETED" : "OUT_OF_MEMORY");
}

static void timeout(struct record *r, int how)
{
	set_state(r, "TIMEOUT");
	if (how == 1)
		values_set(&r->values, METRIC_CPU_TIME, NS);
	else if (how == 2)
		values_miss(&r->values, METRIC_CPU_TIME, REASON_FAILED);
}

static void failed(struct record *r, int how)
{
	set_state(r, how ? "CANCELLED" : "FAILED");
}

static void oom_kills(struct record *r, int how)
{
	if (how < 2)
		values_set(&r->values, METRIC_OOM_KILLS, how ? 0 : 3);
}

static void no_cpu_time(struct record *r, int how)
{
	values_set(&r->values, METRIC_CPU_TIME, how ? 2 * NS : 0);
	if (how == 2)
		values_miss(&r->values, METRIC_CPU_TIME, REASON_FAILED);
}

static void gpu_no_process(struct record *r, int how)
{
	set_gpus(r, 2);
	values_set(&r->values, METRIC_GPU_NO_PROCESS, (how ? 6480 : 6600) * NS);
	if (how == 2)
		values_miss(&r->values, METRIC_GPU_NO_PROCESS, REASON_NO_SENSOR);
}

static void gpu_busy(struct record *r, int how, uint64_t speaks_ms, uint64_t limit_ms)
{
	set_gpus(r, 2);
	values_set(&r->values, METRIC_GPU_BUSY, (how ? limit_ms : speaks_ms) * NS / 1000);
	if (how == 2)
		values_miss(&r->values, METRIC_GPU_BUSY, REASON_NO_SENSOR);
}

static void gpu_idle(struct record *r, int how)
{
	gpu_busy(r, how, 35900, 36000);
}

static void gpu_low(struct record *r, int how)
{
	gpu_busy(r, how, 1079000, 1080000);
}

static void gpu_fair(struct record *r, int how)
{
	gpu_busy(r, how, 1799000, 1800000);
}

static void gpu_interactive(struct record *r, int how)
{
	r->end = r->start + (how == 1 ? 28800 : 28801);
	r->steps[0].step_id = LEDGER_STEP_INTERACTIVE;
	set_gpus(r, 1);
	values_set(&r->values, METRIC_GPU_BUSY, 360 * NS);
	if (how == 2)
		r->steps_known = false;
}

static void gpu_heat(struct record *r, int how)
{
	set_gpus(r, 1);
	if (how < 2)
		values_set(&r->values, METRIC_GPU_THROTTLED_HEAT, (how ? 360 : 361) * NS);
}

static void serial(struct record *r, int how)
{
	set_cpu(r, how ? 127 : 126); /* 1.016 and 1.008 CPUs */
	if (how == 2)
		values_miss(&r->values, METRIC_CPU_TIME, REASON_FAILED);
}

static void cpus_unused(struct record *r, int how)
{
	set_cpu(r, how == 1 ? 650 : 649);
	if (how == 2)
		r->steps_known = false;
}

static void tasks_unused(struct record *r, int how)
{
	r->steps[0].ntasks = how == 1 ? 1 : 8;
	r->steps_known = how < 2;
	set_cpu(r, 300);
}

static void cpu_low(struct record *r, int how)
{
	r->total_cpus = 1;
	values_set(&r->values, METRIC_CPU_TIME, (how == 1 ? 2340 : 2339) * NS);
	if (how == 2)
		values_miss(&r->values, METRIC_CPU_TIME, REASON_FAILED);
}

static void cpu_fair(struct record *r, int how)
{
	set_cpu(r, how == 1 ? 800 : 799);
	if (how == 2)
		values_miss(&r->values, METRIC_CPU_TIME, REASON_FAILED);
}

static void imbalance(struct record *r, int how)
{
	struct record_step *s = &r->steps[0];

	s->nnodes = 2;
	values_set(&s->values, METRIC_CPU_TIME, 28800 * NS);
	s->cpu_time.max = (struct maybe_u64){ (how == 1 ? 18000 : 18001) * NS, how < 2 };
}

static void cpu_wait(struct record *r, int how)
{
	if (how < 2)
		values_set(&r->values, METRIC_RUN_DELAY, (how ? 7200 : 7300) * NS);
}

static void cpu_crowded(struct record *r, int how)
{
	set_cpu(r, 300);
	if (how < 2)
		values_set(&r->values, METRIC_RUN_DELAY, (how ? 2160 : 2200) * NS);
}

static void cpu_throttled(struct record *r, int how)
{
	if (how < 2)
		values_set(&r->values, METRIC_CPU_THROTTLED, (how ? 2880 : 2881) * NS);
}

static void memory_bound(struct record *r, int how)
{
	values_set(&r->values, METRIC_CYCLES, 1000000);
	values_set(&r->values, METRIC_INSTRUCTIONS, how == 1 ? 700000 : 699000);
	values_set(&r->values, METRIC_CACHE_REFERENCES, 1000);
	if (how < 2)
		values_set(&r->values, METRIC_CACHE_MISSES, 301);
}

static void memory_unused(struct record *r, int how)
{
	values_set(&r->values, METRIC_MEMORY_ALLOCATED, 10 * GIB);
	values_set(&r->values, METRIC_MEMORY_PEAK, how ? 7 * GIB : 7 * GIB - 1);
	if (how == 2)
		values_miss(&r->values, METRIC_MEMORY_ALLOCATED, REASON_NO_MEMORY);
}

static void memory_stall(struct record *r, int how)
{
	if (how < 2)
		values_set(&r->values, METRIC_MEMORY_PRESSURE_FULL, (how ? 360 : 361) * NS);
}

static void swap(struct record *r, int how)
{
	if (how < 2)
		values_set(&r->values, METRIC_SWAP_PEAK, 104857600 + !how);
}

static void io_stall(struct record *r, int how)
{
	if (how < 2)
		values_set(&r->values, METRIC_IO_PRESSURE_FULL, (how ? 720 : 721) * NS);
}

static void small_reads(struct record *r, int how)
{
	values_set(&r->values, METRIC_IO_READ_CALLS, 20000000);
	if (how < 2)
		values_set(&r->values, METRIC_IO_READ_BYTES, UINT64_C(20000000) * (how ? 1024 : 1023));
}

static void limit_far(struct record *r, int how)
{
	r->time_limit_min = (struct maybe_u64){ how == 1 ? 600 : 601, how < 2 };
}

static void limit_high(struct record *r, int how)
{
	r->time_limit_min = (struct maybe_u64){ how == 1 ? 100 : 101, how < 2 };
}

static void short_steps(struct record *r, int how)
{
	size_t n = 2 + (how == 1 ? 100 : 101), i;
	struct record_step *s = realloc(r->steps, n * sizeof(*s));

	if (!s)
		exit(1);
	for (i = 2; i < n; i++) {
		s[i] = s[0];
		s[i].step_id = (uint32_t)i - 2;
		s[i].end = s[i].start + 4;
	}
	r->steps = s;
	r->nsteps = n;
	r->steps_known = how < 2;
}

static void idle_energy(struct record *r, int how)
{
	values_set(&r->values, METRIC_CPU_ENERGY_STATIC, UINT64_C(3600000000) * (how == 1 ? 80 : 81));
	if (how == 2)
		values_miss(&r->values, METRIC_CPU_ENERGY_STATIC, REASON_NO_SENSOR);
}

/* Rules that are off by default. */
static void gpu_small(struct record *r, int how)
{
	set_gpus(r, 1);
	r->total_cpus = 2;
	values_set(&r->values, METRIC_GPU_BUSY, (how == 1 ? 540 : 539) * NS);
	if (how < 2)
		values_set(&r->values, METRIC_GPU_MEMORY_PEAK, 4 * GIB);
}

static void gpu_spread(struct record *r, int how)
{
	set_gpus(r, 4);
	r->total_nodes = how == 1 ? 3 : 4;
	if (how == 2)
		r->total_nodes = 0;
}

static void cpus_per_gpu(struct record *r, int how)
{
	set_gpus(r, 1);
	r->total_cpus = how == 1 ? 12 : 13;
	values_set(&r->values, METRIC_CPU_TIME, 3600 * NS);
	if (how == 2)
		values_miss(&r->values, METRIC_CPU_TIME, REASON_FAILED);
}

static void memory_per_gpu(struct record *r, int how)
{
	set_gpus(r, 2);
	values_set(&r->values, METRIC_MEMORY_ALLOCATED, UINT64_C(230000000000) + !how * 2000);
	if (how == 2)
		values_miss(&r->values, METRIC_MEMORY_PEAK, REASON_NO_MEMORY);
}

/* --- a series of factors ------------------------------------------------------------------------ */

#define HOUR 3600
#define LATER (10 * 86400)			/* a second time that the series covers */
#define FIRST (BEGIN / HOUR * HOUR - 26 * HOUR) /* the job starts 13 minutes past 22:00 UTC */
#define HOURS 54				/* what a job of an hour is compared with, and an hour more */
#define AT_THREE 31				/* of HOURS, 03:00 UTC */
#define DIRTY 400000				/* mg per kWh, but at 03:00 */
#define CLEAN 200000
#define AT_LIMIT 320000

static struct factor_series series;
static const struct factor_chain with_series = { .fixed = { .mg_per_kwh = DIRTY, .kind = EMISSION_STATIC },
						 .region = "FR",
						 .fresh_age_s = HOUR,
						 .max_age_s = 86400,
						 .series = &series };

static void add_hours(uint64_t first, uint64_t mg_at_three)
{
	struct factor_point p = { .factor = {
					  .kind = EMISSION_AVERAGE, .region = "FR", .source = "a test" } };
	struct errmsg err = { 0 };
	uint64_t i;

	for (i = 0; i < HOURS; i++) {
		p.from_s = first + i * HOUR;
		p.until_s = p.from_s + HOUR;
		p.factor.mg_per_kwh = i == AT_THREE ? mg_at_three : DIRTY;
		if (factor_series_add(&series, &p, &err) < 0) {
			diag("%s", err.text);
			exit(1);
		}
	}
}

static void make_series(void)
{
	add_hours(FIRST, CLEAN);
	add_hours(FIRST + LATER, AT_LIMIT);
}

static void set_factor(struct record *r, const char *kind, const char *region)
{
	(void)snprintf(r->emissions.kind, sizeof(r->emissions.kind), "%s", kind);
	(void)snprintf(r->emissions.region, sizeof(r->emissions.region), "%s", region);
}

static void cleaner_hours(struct record *r, int how)
{
	set_factor(r, how == 2 ? "static" : "average", "fr");
	r->start += how == 1 ? LATER : 0;
	r->end += how == 1 ? LATER : 0;
}

static const struct {
	const char *rule;
	void (*make)(struct record *r, int how);
	const char *what, *type, *saved;
} cases[] = {
	{ "out-of-memory", out_of_memory, "ran out of memory: 16.0 GiB a node", "#SBATCH --mem=24G",
	  "cost 100.0 Wh, 5.00 g" },
	{ "timeout", timeout, "stopped by its time limit of 1h20m00s", "#SBATCH --time=02:00:00",
	  "cost 100.0 Wh, 5.00 g" },
	{ "failed", failed, "failed after 1h00m00s", "try a short run first", "cost 100.0 Wh, 5.00 g" },
	{ "oom-kills", oom_kills, "the kernel killed 3 of its processes for memory", "#SBATCH --mem=24G",
	  "" },
	{ "no-cpu-time", no_cpu_time, "used no CPU time", "look into the job's output file",
	  "cost 100.0 Wh, 5.00 g" },
	{ "gpu-no-process", gpu_no_process, "no process on 2 GPUs for 92 % of the time",
	  "ask for no GPU, or use it", "saves 45.8 Wh, 2.29 g" },
	{ "gpu-idle", gpu_idle, "2 GPUs did nothing", "ask for no GPU, or use it", "saves 50.0 Wh, 2.50 g" },
	{ "gpu-low", gpu_low, "2 GPUs busy 15 % of the time", "larger batches, or fewer GPUs", "" },
	{ "gpu-fair", gpu_fair, "2 GPUs busy 25 % of the time", "larger batches, or fewer GPUs", "" },
	{ "gpu-interactive", gpu_interactive, "interactive for 8h00m01s, GPUs busy 10 %",
	  "end the session when you leave", "" },
	{ "gpu-heat", gpu_heat, "GPUs slowed down by heat 10 % of the time", "tell your operators", "" },
	{ "gpu-small", gpu_small, "GPU busy 15 %, 4.00 GiB of its memory",
	  "ask for a smaller GPU or a part of one", "" },
	{ "gpu-spread", gpu_spread, "4 GPUs on 4 nodes", "#SBATCH --nodes=1", "" },
	{ "cpus-per-gpu", cpus_per_gpu, "13.0 CPUs for each GPU, 1 of them used", "#SBATCH --cpus-per-gpu",
	  "" },
	{ "memory-per-gpu", memory_per_gpu, "107.1 GiB of memory for each GPU, 7 % used", "#SBATCH --mem=18G",
	  "" },
	{ "serial", serial, "used 1 of 8 CPUs", "#SBATCH --cpus-per-task=1", "saves 35.0 Wh, 1.75 g" },
	{ "cpus-unused", cpus_unused, "used 6 of 8 CPUs", "#SBATCH --cpus-per-task=6",
	  "saves 10.0 Wh, 500.0 mg" },
	{ "tasks-unused", tasks_unused, "used 3 of 8 CPUs", "#SBATCH --ntasks=3", "saves 25.0 Wh, 1.25 g" },
	{ "cpu-low", cpu_low, "its CPU was busy 65 % of the time", "see what it waits for", "" },
	{ "cpu-fair", cpu_fair, "CPUs busy 80 % of the time", "try fewer CPUs", "" },
	{ "imbalance", imbalance, "busiest node worked 25 % more than the mean", "spread the work evenly",
	  "" },
	{ "cpu-wait", cpu_wait, "tasks waited for a CPU 20 % of their time", "start fewer threads", "" },
	{ "cpu-crowded", cpu_crowded, "tasks waited for a CPU 20 % of their time", "look at --cpu-bind", "" },
	{ "cpu-throttled", cpu_throttled, "stopped by its CPU limit 10 % of the time", "start fewer threads",
	  "" },
	{ "memory-bound", memory_bound, "0.7 instructions a cycle, 30 % of cache accesses miss",
	  "fewer tasks on a node", "" },
	{ "memory-unused", memory_unused, "used 7.00 GiB of 10.0 GiB", "#SBATCH --mem=9G", "" },
	{ "memory-stall", memory_stall, "waited for memory 10 % of the time", "#SBATCH --mem=24G", "" },
	{ "swap", swap, "100.0 MiB of its memory was swapped out", "#SBATCH --mem=24G", "" },
	{ "io-stall", io_stall, "waited for files 20 % of the time", "use scratch or local disks", "" },
	{ "small-reads", small_reads, "20000000 reads of 1023 B each", "read larger pieces", "" },
	{ "limit-far", limit_far, "needed 1h00m00s of 10h01m00s", "#SBATCH --time=01:15:00", "" },
	{ "limit-high", limit_high, "needed 1h00m00s of 1h41m00s", "#SBATCH --time=01:15:00", "" },
	{ "short-steps", short_steps, "101 steps of 4.00 s each", "put several into one srun", "" },
	{ "idle-energy", idle_energy, "81 % of its energy was idle power", "hold less, or use it", "" },
	{ "cleaner-hours", cleaner_hours, "50 % less CO2e at 03:00", "sbatch --begin=03:00",
	  "saves 2.50 g CO2e" },
};

/* All rules on, at their own thresholds. */
static struct advice_site all_on(void)
{
	struct advice_site site;
	struct errmsg err = { 0 };
	size_t i;

	if (advice_site_read("/nonexistent", &site, &err) < 0) {
		diag("%s", err.text);
		exit(1);
	}
	for (i = 0; i < advice_nrules; i++)
		site.rule[i].show = true;
	site.chain = &with_series;
	return site;
}

static const struct advice *find(const struct advice *a, size_t n, const char *rule)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(a[i].rule->name, rule))
			return &a[i];
	return NULL;
}

static void test_cases(void)
{
	static const char *const when[] = { "speaks", "does not at its limit",
					    "does not where a value is unknown" };
	struct advice_site site = all_on();
	struct advice a[MAX];
	char saved[ADVICE_TEXT_MAX];
	size_t i, n;
	int how;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		for (how = 0; how < 3; how++) {
			struct record *r = good();
			const struct advice *found;

			cases[i].make(r, how);
			n = advice_find(r, &site, 0, a, MAX);
			found = find(a, n, cases[i].rule);
			ok(!how == !!found, "%s %s", cases[i].rule, when[how]);
			if (found) {
				is_str(found->what, cases[i].what, "what was seen");
				is_str(found->type, cases[i].type, "what to type");
				is_str(advice_saving_text(found, true, saved, sizeof(saved)), cases[i].saved,
				       "saving");
			}
			record_destroy(r);
		}
	}
	is_u64(ARRAY_SIZE(cases), advice_nrules, "every rule has a case");
	advice_site_free(&site);
}

static void test_silence(void)
{
	struct record *r = good();
	struct advice a[MAX];
	char text[ADVICE_TEXT_MAX];

	is_u64(advice_find(r, NULL, 0, a, MAX), 0, "a good job has no advice");
	set_cpu(r, 100);
	r->end = r->start + 299;
	is_u64(advice_find(r, NULL, 0, a, MAX), 0, "none below five minutes");
	r->end = 0;
	is_u64(advice_find(r, NULL, 0, a, MAX), 0, "none where the end is unknown");
	set_state(r, "RUNNING");
	set_gpus(r, 1);
	values_set(&r->values, METRIC_GPU_NO_PROCESS, 3600 * NS);
	values_set(&r->values, METRIC_GPU_BUSY, 0);
	is_u64(advice_find(r, NULL, BEGIN + 200, a, MAX), 0,
	       "none for a job that runs for less than five minutes");
	is_u64(advice_find(r, NULL, BEGIN + 3600, a, MAX), 1, "a running job has advice on its GPUs only");
	is_str(a[0].rule->name, "gpu-no-process", "of the rule gpu-no-process");
	is_str(advice_saving_text(&a[0], false, text, sizeof(text)), "saves 50.0 Wh",
	       "the saving is the energy of its GPUs");
	is_str(advice_explain(&a[0], r, NULL, BEGIN + 3600, text, sizeof(text)),
	       "gpu_no_process 100 % > 90 %, gpus 1 > 0",
	       "the explanation names the values and the thresholds");
	values_miss(&r->values, METRIC_ENERGY, REASON_NO_SENSOR);
	values_miss(&r->values, METRIC_GPU_ENERGY, REASON_NO_SENSOR);
	is_u64(advice_find(r, NULL, BEGIN + 3600, a, MAX), 1, "without energy values the advice is the same");
	is_str(advice_saving_text(&a[0], true, text, sizeof(text)), "", "but has no saving");
	record_destroy(r);
}

static void test_order(void)
{
	struct record *r = good();
	struct advice a[MAX];
	size_t n;

	set_cpu(r, 125);
	values_set(&r->values, METRIC_MEMORY_PEAK, GIB);
	r->time_limit_min.value = 1000;
	n = advice_find(r, NULL, 0, a, MAX);
	is_u64(n, 3, "three rules apply");
	is_str(a[0].rule->name, "serial", "first what saves most");
	is_str(a[1].rule->name, "limit-far", "then what is serious");
	is_str(a[2].rule->name, "memory-unused", "then the rest");
	is_u64(advice_find(r, NULL, 0, a, 2), 2, "no more than the array holds");
	record_destroy(r);
}

/* The cleaner hour of a job that ran from START to END, in seconds after 22:00. */
static const struct {
	const char *what, *kind, *region;
	int64_t start, end;
	bool found;
	int64_t begin; /* in hours after 22:00 */
	double saved;
} hours[] = {
	{ "a job of an hour: a later hour is cleaner", "average", "FR", 800, 4400, true, 5, 0.5 },
	{ "a job of two hours: half of it is in the cleaner hour", "average", "FR", 0, 7200, true, 4, 0.25 },
	{ "an earlier hour is cleaner", "average", "FR", 20 * HOUR, 21 * HOUR, true, 5, 0.5 },
	{ "the cleaner hour is 24 hours away", "average", "FR", -19 * HOUR, -18 * HOUR, true, 5, 0.5 },
	{ "the cleaner hour is more than 24 hours away", "average", "FR", -19 * HOUR - 1, -18 * HOUR - 1,
	  true, -19, 0 },
	{ "the job's own hour is the cleanest", "average", "FR", 5 * HOUR, 6 * HOUR, true, 5, 0 },
	{ "a static factor", "static", "FR", 800, 4400, false, 0, 0 },
	{ "factors of two kinds", "average, static", "FR", 800, 4400, false, 0, 0 },
	{ "another region", "average", "DE", 800, 4400, false, 0, 0 },
	{ "emissions without an origin", "", "", 800, 4400, false, 0, 0 },
	{ "a running job", "average", "FR", 800, 0, false, 0, 0 },
	{ "a job of a day", "average", "FR", -12 * HOUR, 12 * HOUR, true, -18, 0 },
	{ "a job of more than a day", "average", "FR", -12 * HOUR, 12 * HOUR + 1, false, 0, 0 },
	{ "a job that the series does not cover", "average", "FR", 200 * HOUR, 201 * HOUR, false, 0, 0 },
	{ "a job that starts before the series", "average", "FR", -26 * HOUR - 1, -25 * HOUR, false, 0, 0 },
};

static void test_cleaner_hours(void)
{
	const int64_t ten = BEGIN / HOUR * HOUR;
	const struct factor_chain without = { .fixed = with_series.fixed,
					      .region = "FR",
					      .fresh_age_s = HOUR };
	struct cleaner_hour found;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hours); i++) {
		struct record *r = good();
		bool rc;

		set_factor(r, hours[i].kind, hours[i].region);
		r->start = (uint64_t)(ten + hours[i].start);
		r->end = hours[i].end ? (uint64_t)(ten + hours[i].end) : 0;
		found = (struct cleaner_hour){ 0 };
		rc = cleaner_hour_find(&with_series, r, &found);
		ok(rc == hours[i].found, "%s", hours[i].what);
		if (hours[i].found && rc)
			ok(found.saved > hours[i].saved - 1e-9 && found.saved < hours[i].saved + 1e-9 &&
				   (!(found.saved > 0) ||
				    (int64_t)found.begin == ten + hours[i].begin * HOUR),
			   "  the best start is %+lld h after 22:00, saving %g",
			   ((long long)found.begin - ten) / HOUR, found.saved);
		if (!i)
			ok(!cleaner_hour_find(&without, r, &found) && !cleaner_hour_find(NULL, r, &found),
			   "none without a series");
		record_destroy(r);
	}
}

static const struct {
	const char *text;
	const char *error; /* NULL: none */
} files[] = {
	{ "", NULL },
	{ "serial.show=no\ncpus-unused.threshold=0.5\nmin-elapsed=60\n", NULL },
	{ "serial.what=\"one of {cpus}, {nodes}\"\nserial.link=https://x/y#z\n", NULL },
	{ "serial.whatever=1\n", ":1: serial.whatever" },
	{ "no-rule.show=no\n", ":1: no-rule.show" },
	{ "\nserial.threshold=much\n", ":2: serial.threshold: 'much' is not a number" },
	{ "serial.threshold=-1\n", "is not a number" },
	{ "serial.what={cups} are many\n", ":1: serial.what: 'cups' is not a fact" },
	{ "serial.what={cpus are many\n", "'{' without '}'" },
};

static void test_site(void)
{
	char path[] = "/tmp/ceems-advice-XXXXXX";
	int fd = mkstemp(path);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		struct advice_site site;
		struct errmsg err = { 0 };
		int rc;

		if (ftruncate(fd, 0) < 0 || pwrite(fd, files[i].text, strlen(files[i].text), 0) < 0)
			exit(1);
		rc = advice_site_read(path, &site, &err);
		ok(files[i].error ? rc < 0 && strstr(err.text, files[i].error) : rc == 0, "file %zu: %d %s",
		   i, rc, err.text);
		advice_site_free(&site);
	}
	close(fd);
	unlink(path);
}

static void test_words(void)
{
	char path[] = "/tmp/ceems-advice-XXXXXX";
	static const char text[] =
		"serial.what=\"one of {cpus} CPUs\"\nserial.type=\"see {limit_more}\"\n"
		"serial.link=\"https://hpc.example/serial#x\"\nlimit-far.show=no\nmin-elapsed=60\n";
	int fd = mkstemp(path);
	struct advice_site site;
	struct errmsg err = { 0 };
	struct record *r = good();
	struct advice a[MAX];

	if (write(fd, text, sizeof(text) - 1) < 0 || advice_site_read(path, &site, &err) < 0)
		exit(1);
	r->end = r->start + 100;
	values_set(&r->values, METRIC_CPU_TIME, 100 * NS);
	r->time_limit_min.value = 10000;
	is_u64(advice_find(r, &site, 0, a, MAX), 1, "one rule off, min-elapsed 60 s: one advice is left");
	is_str(a[0].what, "one of 8 CPUs", "the site's text for what was seen");
	is_str(a[0].type, "see 10-10:00:00", "the site's text for what to type");
	is_str(a[0].link, "https://hpc.example/serial#x", "the site's link");
	record_destroy(r);
	advice_site_free(&site);
	close(fd);
	unlink(path);
}

/* What advice goes by is not changed by a pause, in which Slurm had suspended the job. */
static void test_suspended(void)
{
	struct record *r = good();
	struct advice_facts ran, paused;
	size_t i, n = 0;

	r->steps[0].step_id = 0;
	advice_facts_of(r, NULL, r->end, &ran);
	r->end += 7200;
	r->suspended_s = (struct maybe_u64){ 7200, true };
	for (i = 0; i < r->nsteps; i++) {
		r->steps[i].end += 7200;
		r->steps[i].suspended_s = r->suspended_s;
	}
	advice_facts_of(r, NULL, r->end, &paused);
	for (i = 0; i < FACT_N; i++)
		n += ran.known[i] != paused.known[i] || ran.value[i] < paused.value[i] ||
		     ran.value[i] > paused.value[i];
	is_u64(n, 0, "facts that a suspended job has otherwise");
	record_destroy(r);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	make_series();
	test_cases();
	test_cleaner_hours();
	test_silence();
	test_suspended();
	test_order();
	test_site();
	test_words();
	factor_series_fini(&series);
	return done_testing();
}
