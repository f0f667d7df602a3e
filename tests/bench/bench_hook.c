/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a job's end costs slurmctld under its job write lock: the copy of the facts and the push into the
 * queue, while the other side drains it. Patterns: jobs that end one after the other without a pause, 1,000
 * of them a second, jobs so far apart that the worker is asleep and the push wakes it, and jobs that end
 * while the disk hangs, when only the keys of most are queued. Prints nanoseconds; `bench_hook NODES` sets
 * how many nodes the job's list names.
 */
#include "ceems_config.h" /* _GNU_SOURCE for SCHED_BATCH */

#include "jobcomp/slurm_compat.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "bench_size.h"
#include "jobcomp/hook_time.h"
#include "jobcomp/job_copy.h"
#include "src/libstore/feed.h"
#include "src/libutil/clock.h"

#define BURST bench_n(200000)
#define SPACED bench_n(5000)
#define SPACE_NS NSEC_PER_MSEC
#define SPARSE bench_n(20)
#define SPARSE_NS (600 * NSEC_PER_MSEC) /* the worker lingers for 500 ms */

/* libslurmfull's, which this program does not need otherwise */
extern char *slurm_job_state_string(enum job_states state);
char *slurm_job_state_string(enum job_states state)
{
	static char completed[] = "COMPLETED";

	(void)state;
	return completed;
}

int slurm_xstrncmp(const char *a, const char *b, size_t n)
{
	return strncmp(a ? a : "", b ? b : "", n);
}

bitoff_t bit_size(bitstr_t *b)
{
	(void)b;
	return 0;
}

char *bit_fmt(char *str, int32_t len, bitstr_t *b)
{
	(void)len;
	(void)b;
	return str;
}

static atomic_bool stop;
static atomic_bool disk_hangs;

static void *drain(void *arg)
{
	struct feed *f = arg;
	static struct job_key keys[1024];
	const void *data;
	size_t len;

	while (!atomic_load(&stop)) {
		if (atomic_load(&disk_hangs)) {
			feed_pause(f, 100);
			continue;
		}
		while (feed_next_keys(f, keys, ARRAY_SIZE(keys)))
			;
		feed_release_keys(f);
		while (feed_next(f, &data, &len))
			;
		feed_release(f);
		feed_wait(f, 1000);
	}
	return NULL;
}

static void fill_job(job_record_t *job, compat_job_details_t *details, unsigned int nodes)
{
	static char list[FACT_NODES_MAX * 2];
	size_t used = 0;
	unsigned int i;

	/* every second node, so that the list is as long as it gets */
	used += (size_t)snprintf(list, sizeof(list), "node[1");
	for (i = 3; i < 2 * nodes && used + 8 < sizeof(list); i += 2)
		used += (size_t)snprintf(list + used, sizeof(list) - used, ",%u", i);
	(void)snprintf(list + used, sizeof(list) - used, "]");
	*details = (compat_job_details_t){ .submit_time = 1700000000,
					   .begin_time = 1700000000,
					   .work_dir = (char *)"/home/alice/project/run" };
	*job = (job_record_t){ .job_id = 4711,
			       .array_task_id = NO_VAL,
			       .het_job_id = 0,
			       .user_id = 1000,
			       .group_id = 100,
			       .name = (char *)"simulation",
			       .account = (char *)"physics",
			       .partition = (char *)"main",
			       .nodes = list,
			       .start_time = 1700000010,
			       .end_time = 1700003600,
			       .job_state = JOB_COMPLETE | JOB_COMPLETING,
			       .time_limit = 60,
			       .alloc_node = (char *)"login1",
			       .total_nodes = nodes,
			       .tres_fmt_req_str = (char *)"cpu=128,mem=256G,node=4,billing=128",
			       .tres_fmt_alloc_str = (char *)"cpu=128,mem=256G,node=4,billing=128",
			       .details = details };
}

static void job_ends(struct feed *f, const job_record_t *job, struct hook_time *t)
{
	static struct job_facts facts;
	uint64_t begin = clock_mono_ns();
	struct job_key key;

	job_copy_facts(job, 0, &facts);
	if (feed_push(f, &facts, job_facts_size(&facts)) < 0) {
		job_copy_key(&facts, &key);
		if (feed_push_key(f, &key) < 0)
			feed_note_lost(f, facts.job_id);
	}
	hook_time_add(t, clock_mono_ns() - begin);
}

static void report(const char *what, const struct hook_time *t)
{
	printf("%-44s p50 %" PRIu64 " ns, p99 %" PRIu64 " ns, p99.9 %" PRIu64 " ns, max %" PRIu64
	       " ns, n %" PRIu64 "\n",
	       what, hook_time_quantile_ns(t, 500), hook_time_quantile_ns(t, 990),
	       hook_time_quantile_ns(t, 999), t->max_ns, t->n);
}

static void jobs_end(struct feed *f, const job_record_t *job, uint64_t n, uint64_t apart_ns, const char *what)
{
	struct timespec pause = clock_ns_to_timespec(apart_ns);
	struct hook_time t = { 0 };

	while (n--) {
		if (apart_ns)
			(void)nanosleep(&pause, NULL);
		job_ends(f, job, &t);
	}
	report(what, &t);
}

int main(int argc, char **argv)
{
	unsigned int nodes = argc > 1 ? (unsigned int)atoi(argv[1]) : 4;
	struct sched_param no_priority = { 0 };
	compat_job_details_t details;
	struct feed_lost lost;
	job_record_t job;
	struct feed *f;
	pthread_t thread;

	if (feed_create(8 << 20, &f, NULL) < 0 || pthread_create(&thread, NULL, drain, f) != 0)
		return 1;
	(void)pthread_setschedparam(thread, SCHED_BATCH, &no_priority);
	fill_job(&job, &details, nodes);
	jobs_end(f, &job, BURST, 0, "jobcomp hook, job ends without pause");
	jobs_end(f, &job, SPACED, SPACE_NS, "jobcomp hook, 1,000 job ends a second");
	jobs_end(f, &job, SPARSE, SPARSE_NS, "jobcomp hook, waking the worker");
	atomic_store(&disk_hangs, true);
	jobs_end(f, &job, BURST, 0, "jobcomp hook, the disk hangs");
	printf("%-44s %" PRIu64 "\n", "records lost as the queue was full", feed_take_lost(f, &lost));
	atomic_store(&stop, true);
	feed_wake(f);
	(void)pthread_join(thread, NULL);
	feed_destroy(f);
	return 0;
}
