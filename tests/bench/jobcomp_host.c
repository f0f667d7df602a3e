/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobcomp_host PLUGIN RECORDS PER-SECOND: a jobcomp plugin outside slurmctld, fed with made-up jobs
 * through its real hook. It is how memory with a sink that is down can be seen within a minute: a
 * real slurmctld would have to run that many jobs first. What plugins take from slurmctld itself
 * (find_job_record(), its lock) is here; the rest is Slurm's own library. Prints a line each tenth,
 * "records RSS-KiB", then "hook p50 p99 max mean" in ns, and RSS again after a while. Built by
 * tests/bench/peers.
 */
#include "jobcomp/slurm_compat.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <unistd.h>

#include "bench_times.h"

#define TENTHS 10
#define SETTLE_S 10

static pthread_mutex_t ctld_lock = PTHREAD_MUTEX_INITIALIZER;
static job_record_t *job, answer;    /* the plugin asks Slurm's allocator for the size of the former */
compat_list_t job_list;		     /* slurmctld's, of all jobs; stays empty */
slurmctld_config_t slurmctld_config; /* slurmctld does not shut down */

/* --- what slurmctld exports ---------------------------------------------------------------- */

extern void lock_slurmctld(slurmctld_lock_t levels)
{
	(void)levels;
	pthread_mutex_lock(&ctld_lock);
}

extern void unlock_slurmctld(slurmctld_lock_t levels)
{
	(void)levels;
	pthread_mutex_unlock(&ctld_lock);
}

/* The slurmctld that is measured waits for these threads when it ends. */
extern void server_thread_incr(void)
{
}

extern void server_thread_decr(void)
{
}

/* Under the lock. Every job is over by now and waits for its purge. */
extern job_record_t *find_job_record(uint32_t job_id)
{
	/* with the first one the plugin finds out whether it knows where things are */
	if (job_id == 1)
		return job;
	answer = *job;
	answer.job_id = job_id;
	answer.job_state = JOB_COMPLETE;
	return &answer;
}

extern buf_t *get_job_script(const job_record_t *of)
{
	(void)of;
	return NULL;
}

/* --- jobs ---------------------------------------------------------------------------------- */

static void make_job(void)
{
	static uint64_t tres[8] = { 1, 1000, NO_VAL64, 1, 1 };
	compat_job_details_t *details = xmalloc(sizeof(*details));

	details->submit_time = time(NULL) - 60;
	details->begin_time = details->submit_time;
	details->work_dir = xstrdup("/home/user1/project/run");
	details->std_out = xstrdup("/home/user1/project/run/slurm-1.out");
	details->num_tasks = 1;
	job = xmalloc(sizeof(*job));
	*job = (job_record_t){
		.magic = JOB_MAGIC,
		.array_task_id = NO_VAL,
		.het_job_id = 0,
		.user_id = 1000,
		.group_id = 1000,
		.user_name = xstrdup("user1"),
		.name = xstrdup("simulation"),
		.account = xstrdup("physics"),
		.partition = xstrdup("debug"),
		.nodes = xstrdup("node1"),
		.start_time = details->submit_time + 10,
		.end_time = details->submit_time + 50,
		.job_state = JOB_COMPLETE | JOB_COMPLETING,
		.time_limit = 60,
		.alloc_node = xstrdup("login1"),
		.total_nodes = 1,
		.total_cpus = 1,
		.node_cnt = 1,
		.cpu_cnt = 1,
		.db_index = 1,
		.priority = 1,
		.tres_req_str = xstrdup("1=1,2=1000,4=1,5=1"),
		.tres_fmt_req_str = xstrdup("cpu=1,mem=1000M,node=1,billing=1"),
		.tres_alloc_str = xstrdup("1=1,2=1000,3=18446744073709551614,4=1,5=1"),
		.tres_fmt_alloc_str = xstrdup("cpu=1,mem=1000M,node=1,billing=1"),
		.tres_alloc_cnt = tres,
		.details = details,
	};
}

static void print_rss(size_t done)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (f && fscanf(f, "%*u %lu", &pages) == 1)
		printf("%zu %lu\n", done, pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
	(void)fflush(stdout);
	if (f)
		(void)fclose(f);
}

static void pause_until(uint64_t at_ns)
{
	struct timespec t = { (time_t)(at_ns / 1000000000), (long)(at_ns % 1000000000) };

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

int main(int argc, char **argv)
{
	log_options_t log = LOG_OPTS_STDERR_ONLY;
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	uint64_t rate = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	uint64_t *times = calloc(n + 1, sizeof(*times));
	int (*plugin_init)(void), (*set_location)(void), (*hook)(job_record_t *);
	int (*hook2)(job_record_t *, uint32_t);
	uint64_t base, sum = 0;
	void *dl;
	size_t i;

	if (!n || !rate || !times)
		return 2;
	memset(times, 1, n * sizeof(*times)); /* its pages are not the plugin's */
	(void)log_init((char *)"slurmctld", log, LOG_DAEMON, NULL);
	(void)slurm_conf_init(NULL);
	dl = dlopen(argv[1], RTLD_LAZY);
	if (!dl) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&plugin_init = dlsym(dl, "init");
	*(void **)&set_location = dlsym(dl, "jobcomp_p_set_location");
	*(void **)&hook = dlsym(dl, "jobcomp_p_log_record");
	*(void **)&hook2 = dlsym(dl, "jobcomp_p_record_job_end");
	make_job();
	job_list = list_create(NULL);
	if (plugin_init() != SLURM_SUCCESS || set_location() != SLURM_SUCCESS) {
		fprintf(stderr, "%s does not start\n", argv[1]);
		return 1;
	}
	sleep(1);
	print_rss(0);
	base = bench_now_ns();
	for (i = 0; i < n; i++) {
		uint64_t begin;

		pause_until(base + i * 1000000000 / rate);
		pthread_mutex_lock(&ctld_lock);
		job->job_id = (uint32_t)i + 1;
		begin = bench_now_ns();
		(void)(hook ? hook(job) : hook2(job, 1));
		times[i] = bench_now_ns() - begin;
		pthread_mutex_unlock(&ctld_lock);
		sum += times[i];
		if ((i + 1) % (n / TENTHS) == 0)
			print_rss(i + 1);
	}
	qsort(times, n, sizeof(*times), bench_by_time);
	printf("hook %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", times[n / 2], times[n * 99 / 100],
	       times[n - 1], sum / n);
	sleep(SETTLE_S);
	print_rss(n);
	_exit(0); /* as kill -9: the plugin's fini() is not measured */
}
