/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `ceems advise` makes of earlier runs. */
#include "src/cmd/advise/run_advice.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/libutil/util.h"

#include "tap.h"

#define T UINT64_C(1795603505) /* 25 Nov 2026 10:45:05 UTC */
#define J UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

/* BUSY thousandths of a CPU; a run without memory and energy if they are 0. */
static struct record make(const char *state, uint64_t day, uint64_t elapsed, uint32_t cpus, uint64_t busy,
			  uint64_t mib, uint64_t joules)
{
	static struct record_step step = { .ntasks = 1 };
	struct record r = { .state = (char *)(uintptr_t)state,
			    .total_cpus = cpus,
			    .total_nodes = 1,
			    .tres_alloc = (char *)"cpu=1,mem=4G,node=1",
			    .start = T - 86400 * (20 - day),
			    .time_limit_min = { 60, true },
			    .steps = &step,
			    .nsteps = 1,
			    .steps_known = true };

	r.end = r.start + elapsed;
	values_init(&r.values);
	values_set(&r.values, METRIC_CPU_TIME, elapsed * busy * (S / 1000));
	values_set(&r.values, METRIC_MEMORY_ALLOCATED, 4096 * MIB);
	if (mib)
		values_set(&r.values, METRIC_MEMORY_PEAK, mib * MIB);
	if (joules) {
		values_set(&r.values, METRIC_ENERGY, joules * J);
		values_set(&r.values, METRIC_CO2E, joules * 10000);
	}
	return r;
}

static void add(struct run_history *h, struct record r)
{
	if (run_history_add(h, &r) < 0)
		abort();
}

static void is_advice(struct run_history *h, const char *name, const char *want, const char *what)
{
	struct run_advice a;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f || run_history_advise(h, /* most= */ 100, &a) < 0 || run_advice_print(name, &a, T, f) < 0)
		abort();
	(void)fclose(f);
	is_str(text, want, what);
	free(text);
	run_advice_free(&a);
	run_history_free(h);
}

static void test_few(void)
{
	struct run_history h = { 0 };

	is_advice(&h, "none", "none: 0 runs\nnot enough runs: 0 completed, 3 are needed\n", "no run");
	add(&h, make("COMPLETED", 1, 600, 4, 3900, 1024, 7200));
	add(&h, make("COMPLETED", 2, 600, 4, 3900, 1024, 7200));
	add(&h, make("FAILED", 3, 60, 4, 3900, 1024, 7200));
	add(&h, make("CANCELLED", 4, 60, 4, 3900, 1024, 7200));
	h.run[3].start = 0;
	is_advice(&h, "a\033[1mb",
		  "a?[1mb: 4 runs, 06 Nov 10:45 to 09 Nov 10:46\n"
		  "2 COMPLETED, 1 CANCELLED, 1 FAILED\n"
		  "not enough runs: 2 completed, 3 are needed\n",
		  "two that completed");
}

static void test_one_size(void)
{
	struct run_history h = { 0 };

	add(&h, make("COMPLETED", 1, 600, 8, 3900, 1024, 7200));
	add(&h, make("COMPLETED", 3, 900, 8, 2000, 1536, 10800));
	add(&h, make("COMPLETED", 2, 700, 8, 3000, 0, 0));
	is_advice(&h, "train",
		  "train: 3 runs, 06 Nov 10:45 to 08 Nov 11:00\n"
		  "3 COMPLETED\n"
		  "\n"
		  "3 completed with 8 CPUs:\n"
		  "                   median     90 %     most runs\n"
		  "run time           11m40s   15m00s   15m00s    3 #SBATCH --time=00:20:00\n"
		  "memory of a node 1.00 GiB 1.50 GiB 1.50 GiB    2 #SBATCH --mem=2G\n"
		  "CPUs busy             3.0      3.9      3.9    3 #SBATCH --cpus-per-task=4\n"
		  "energy            2.00 Wh  3.00 Wh  3.00 Wh    2\n"
		  "CO2e              72.0 mg 108.0 mg 108.0 mg    2\n",
		  "one size");
}

static void test_in_vain(void)
{
	struct run_history h = { 0 };

	add(&h, make("COMPLETED", 1, 600, 1, 900, 1024, 7200));
	add(&h, make("COMPLETED", 2, 600, 1, 900, 1024, 7200));
	add(&h, make("COMPLETED", 3, 600, 1, 900, 1024, 7200));
	add(&h, make("TIMEOUT", 4, 3600, 1, 900, 1024, 7200));
	add(&h, make("OUT_OF_MEMORY", 5, 60, 1, 900, 4096, 7200));
	is_advice(&h, "train",
		  "train: 5 runs, 06 Nov 10:45 to 10 Nov 10:46\n"
		  "3 COMPLETED, 1 OUT_OF_MEMORY, 1 TIMEOUT\n"
		  "\n"
		  "3 completed with 1 CPU:\n"
		  "                   median     90 %     most runs\n"
		  "run time           10m00s   10m00s   10m00s    3 #SBATCH --time=01:30:00\n"
		  "memory of a node 1.00 GiB 1.00 GiB 1.00 GiB    3 #SBATCH --mem=6G\n"
		  "CPUs busy             0.9      0.9      0.9    3\n"
		  "energy            2.00 Wh  2.00 Wh  2.00 Wh    3\n"
		  "CO2e              72.0 mg  72.0 mg  72.0 mg    3\n",
		  "runs that hit their time limit or memory limit raise the suggestions");
}

static void test_sizes(void)
{
	struct run_history h = { 0 };
	struct run_advice a;
	char *json;
	int i;

	for (i = 0; i < 3; i++) {
		add(&h, make("COMPLETED", 1, 1200, 4, 3900, 1024, 7200));
		add(&h, make("COMPLETED", 2, 700, 8, 7000, 1024, 9000));
	}
	add(&h, make("COMPLETED", 3, 2400, 2, 2000, 1024, 3600));
	if (run_history_advise(&h, /* most= */ 100, &a) < 0)
		abort();
	json = run_advice_json("a\xff", &a);
	ok(strstr(json, "\"runs\":7") && strstr(json, "\"of\":null"), "too few of the last size: of all");
	ok(strstr(json,
		  "\"energy_j\":{\"runs\":7,\"median\":7200,\"p90\":9000,\"max\":9000,\"next\":null}") !=
		   NULL,
	   "percentiles as numbers");
	ok(strstr(json, "{\"nodes\":1,\"cpus\":4,\"gpus\":0,\"runs\":3,\"elapsed_s\":1200,\"energy_j\":7200,"
			"\"co2e_g\":0.072,\"least_energy\":true}") != NULL,
	   "one run alone does not have the least energy");
	ok(strstr(json, "\"name\":\"a\\\\xff\"") != NULL, "a name that is not UTF-8");
	free(json);
	run_advice_free(&a);
	is_advice(&h, "train",
		  "train: 7 runs, 06 Nov 10:45 to 08 Nov 11:25\n"
		  "7 COMPLETED\n"
		  "\n"
		  "7 completed with any number of CPUs:\n"
		  "                   median     90 %     most runs\n"
		  "run time           20m00s   40m00s   40m00s    7 #SBATCH --time=00:50:00\n"
		  "memory of a node 1.00 GiB 1.00 GiB 1.00 GiB    7 #SBATCH --mem=2G\n"
		  "CPUs busy             3.9      7.0      7.0    7 #SBATCH --cpus-per-task=7\n"
		  "energy            2.00 Wh  2.50 Wh  2.50 Wh    7\n"
		  "CO2e              72.0 mg  90.0 mg  90.0 mg    7\n"
		  "\n"
		  "medians runs run time CPUs busy  energy\n"
		  "2 CPUs     1   40m00s       2.0 1.00 Wh\n"
		  "4 CPUs     3   20m00s       3.9 2.00 Wh least energy\n"
		  "8 CPUs     3   11m40s       7.0 2.50 Wh\n",
		  "sizes beside each other");
}

static void test_last_runs(void)
{
	struct run_history h = { 0 };
	struct run_advice a;
	uint64_t day;

	for (day = 1; day <= 10; day++)
		add(&h, make("COMPLETED", day, 100 * day, 1, 900, 1024, 7200));
	if (run_history_advise(&h, /* most= */ 4, &a) < 0)
		abort();
	is_int((long)a.runs, 4, "the last runs only");
	is_int((long)a.of.spread[RUN_ELAPSED].median, 800, "their median, nearest rank");
	is_int((long)a.of.spread[RUN_ELAPSED].p90, 1000, "and nine in ten");
	run_advice_free(&a);
	run_history_free(&h);
}

int main(void)
{
	(void)setenv("TZ", "UTC", 1);
	tzset();
	test_few();
	test_one_size();
	test_in_vain();
	test_sizes();
	test_last_runs();
	return done_testing();
}
