/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder's store: jobs, records, sinks' cursors, size limits, damaged files, kills,
 * threads and a full disk.
 */
#define _GNU_SOURCE /* unshare */
#include "src/libstore/store.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "counted_log.h"
#include "scratch.h"
#include "src/libstore/store_view.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "store_rig.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)

static char dir[] = SCRATCH_TEMPLATE;
static struct errmsg err;
static uint64_t now_s = 1700000000;

static uint64_t fake_now(void)
{
	return now_s;
}

static struct store *open_limited(uint64_t max_bytes)
{
	struct store_options o = { .dir = dir, .max_bytes = max_bytes, .now = fake_now };
	struct store *s = NULL;

	is_int(store_open(&o, &s, &err), 0, "open");
	return s;
}

static struct store *open_store(void)
{
	return open_limited(0);
}

static void end(struct store *s)
{
	store_close(s);
	scratch_clear(dir);
}

static void begin(struct store *s)
{
	if (store_begin(s, &err) < 0)
		diag("%s", err.text);
}

static void commit(struct store *s)
{
	if (store_commit(s, &err) < 0)
		diag("%s", err.text);
}

/* --- what is in it ----------------------------------------------------------------------- */

static char listed[8192];

static int add_row(void *ctx, const struct store_row *row)
{
	size_t used = strlen(listed);

	(void)ctx;
	(void)snprintf(listed + used, sizeof(listed) - used, "%s=%.20s%s%s;", row->key, row->json,
		       row->reason ? ":" : "", row->reason ? row->reason : "");
	return 0;
}

static struct store_view *view(void)
{
	struct store_view *v = NULL;

	if (store_view_open(dir, /* writable= */ false, &v, &err) < 0)
		diag("%s", err.text);
	return v;
}

/* "key=record:reason;" of what PICK names. */
static const char *list(const struct store_pick *pick)
{
	static const struct store_pick all;
	struct store_view *v = view();

	listed[0] = '\0';
	if (v && store_view_records(v, pick ? pick : &all, add_row, NULL, &err) < 0)
		diag("%s", err.text);
	store_view_close(v);
	return listed;
}

static const char *refused(const char *sink)
{
	return list(&(struct store_pick){ .refused = sink });
}

static int count_row(void *ctx, const struct store_row *row)
{
	(void)row;
	++*(unsigned int *)ctx;
	return 0;
}

static uint64_t put(struct store *s, const char *key, const char *json)
{
	return store_rig_put(s, STORE_RECORD, key, json, strlen(json));
}

static struct store_job job_of(const char *key, uint64_t next_try)
{
	return (struct store_job){ .key = key,
				   .state = STORE_JOB_ENDED,
				   .next_try = next_try,
				   .ended = 1000,
				   .facts = "facts",
				   .facts_len = 5 };
}

static int put_job(struct store *s, const char *key, uint64_t next_try)
{
	struct store_job j = job_of(key, next_try);

	return store_job_put(s, &j, &err);
}

/* sqlite3 in a terminal, say, with a transaction of its own. A writer waits 10 s for that one. */
static void test_read(void)
{
	struct store *s = open_store();
	uint64_t begin_ns, seen = 0;
	sqlite3 *other = NULL;
	struct store_job job;

	begin(s);
	put_job(s, "c/1", 1);
	commit(s);
	if (sqlite3_open(scratch_path(dir, STORE_FILE), &other) != SQLITE_OK ||
	    sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
		diag("no other program");
	begin_ns = clock_mono_ns();
	is_int(store_begin_read(s, &err), 0, "another program holds the lock: a reader begins");
	is_int(store_job_get(s, "c/1", &job, &err), 1, "and reads a job");
	is_int(store_oldest_end(s, &seen, &err), 0, "and the oldest end");
	is_u64(seen, 1000, "which is right");
	store_rollback(s);
	ok(clock_mono_ns() - begin_ns < 5 * NSEC_PER_SEC, "without waiting");
	(void)sqlite3_close(other);
	begin(s);
	is_int(put_job(s, "c/2", 1), 0, "then a writer goes on");
	commit(s);
	end(s);
}

/* --- jobs -------------------------------------------------------------------------------- */

static void test_names(void)
{
	is_str(store_kind_name(STORE_STEPS), "steps", "the name of a kind");
	is_str(store_kind_name((enum store_kind)99), "unknown", "of none");
	is_int(store_kind_by_name("start"), STORE_START, "a kind by its name");
	is_int(store_kind_by_name("x"), 0, "no such kind");
	is_str(store_job_state_name(STORE_JOB_FINAL), "final", "the name of a state");
	is_str(store_job_state_name((enum store_job_state)0), "unknown", "of none");
}

static void test_jobs(void)
{
	struct store *s = open_store();
	struct store_job got;

	ok(store_is_new(s), "a new store");
	begin(s);
	is_int(put_job(s, "c/1", 50), 0, "put");
	is_int(store_job_get(s, "c/1", &got, &err), 1, "get");
	is_str(got.key, "c/1", "key");
	ok(got.state == STORE_JOB_ENDED && got.next_try == 50 && got.ended == 1000, "the numbers");
	ok(got.facts_len == 5 && !memcmp(got.facts, "facts", 5), "the facts");
	is_int(store_job_get(s, "c/2", &got, &err), 0, "another is not there");
	is_int(store_job_set(s, "c/1", STORE_JOB_FINAL, STORE_NEVER, &err), 0, "set");
	is_int(store_job_get(s, "c/1", &got, &err), 1, "get");
	ok(got.state == STORE_JOB_FINAL && got.next_try == STORE_NEVER && got.facts_len == 5,
	   "state and time only");
	is_int(store_job_set(s, "c/2", STORE_JOB_FINAL, 1, &err), -ENOENT, "set: not there");
	is_int(store_job_put(s,
			     &(struct store_job){ .key = "c/1", .state = STORE_JOB_CORRECTED, .next_try = 7 },
			     &err),
	       0, "put again");
	is_int(store_job_get(s, "c/1", &got, &err), 1, "get");
	ok(got.state == STORE_JOB_CORRECTED && got.next_try == 7 && !got.ended && !got.facts,
	   "replaces all of it");
	commit(s);
	store_close(s);
	s = open_store();
	ok(!store_is_new(s), "not new any more");
	begin(s);
	is_int(store_job_get(s, "c/1", &got, &err), 1, "there after a restart");
	is_int(store_job_delete(s, "c/1", &err), 0, "delete");
	is_int(store_job_get(s, "c/1", &got, &err), 0, "gone");
	is_int(store_job_delete(s, "c/1", &err), 0, "twice");
	is_int(put_job(s, "c/9", 1), 0, "one more,");
	store_rollback(s);
	begin(s);
	is_int(store_job_get(s, "c/9", &got, &err), 0, "is taken back by a rollback");
	is_int(store_job_get(s, "c/1", &got, &err), 1, "as is the deletion");
	is_int(store_job_put(s,
			     &(struct store_job){
				     .key = "c/3", .state = 1, .facts = "", .facts_len = STORE_ROW_MAX + 1 },
			     &err),
	       -EMSGSIZE, "facts too large");
	store_rollback(s);
	end(s);
}

static char visited[256];
static struct store *visiting;

static int visit(void *ctx, const struct store_job *job)
{
	strncat(visited, job->key, 20);
	strcat(visited, ";");
	if (ctx) /* with the first, the others are put off */
		return store_job_set(visiting, "c/2", STORE_JOB_ENDED, 900, &err);
	return 0;
}

static int visit_fails(void *ctx, const struct store_job *job)
{
	(void)ctx, (void)job;
	strcat(visited, "x");
	return -ECANCELED;
}

static const char *due(struct store *s, uint64_t now, size_t max)
{
	visited[0] = '\0';
	if (store_jobs_due(s, now, max, visit, NULL, &err) < 0)
		diag("%s", err.text);
	return visited;
}

/* Of the file, as another program sees it: a commit that wrote a page changes it. */
static int data_version(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int version = -1;

	if (sqlite3_prepare_v2(db, "PRAGMA data_version", -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		version = sqlite3_column_int(stmt, 0);
	(void)sqlite3_finalize(stmt);
	return version;
}

/* What the recorder does at each question, while jobs wait. */
static void test_questions_write_nothing(void)
{
	struct store *s = open_store();
	sqlite3 *db = NULL;
	uint64_t next = 0;
	int before, i;

	begin(s);
	put_job(s, "c/1", 100);
	put_job(s, "c/2", 200);
	commit(s);
	is_int(sqlite3_open(scratch_path(dir, STORE_FILE), &db), SQLITE_OK, "another program looks");
	before = data_version(db);
	for (i = 0; i < 10; i++) {
		begin(s);
		(void)store_jobs_pull(s, 50, 150, &err);
		(void)due(s, 50, 10);
		require(store_jobs_next_due(s, &next, &err) == 0);
		commit(s);
	}
	is_int(data_version(db), before, "questions write nothing while no job is due");
	begin(s);
	is_int(store_jobs_pull(s, 20, 100, &err), 0, "the clock is set back");
	commit(s);
	ok(data_version(db) != before, "that is written");
	(void)sqlite3_close(db);
	end(s);
}

static void test_due(void)
{
	struct store *s = open_store();
	uint64_t next = 0;

	visiting = s;
	begin(s);
	is_int(store_jobs_next_due(s, &next, &err), 0, "when is the next due");
	is_u64(next, STORE_NEVER, "never");
	put_job(s, "c/3", 300);
	put_job(s, "c/1", 100);
	put_job(s, "c/2", 200);
	put_job(s, "c/4", STORE_NEVER);
	is_int(store_jobs_next_due(s, &next, &err), 0, "and now");
	is_u64(next, 100, "the earliest");
	is_str(due(s, 99, 10), "", "none is due");
	is_str(due(s, 200, 10), "c/1;c/2;", "two, earliest first");
	is_str(due(s, UINT64_C(1) << 40, 10), "c/1;c/2;c/3;", "never is never");
	is_str(due(s, 1000, 2), "c/1;c/2;", "at most so many");
	is_str(due(s, 1000, 0), "", "none");
	is_int(store_jobs_pull(s, 100, 200, &err), 0, "no clock was set back");
	is_str(due(s, 100, 10), "c/1;", "all wait as before");
	is_int(store_jobs_pull(s, 90, 150, &err), 0, "the clock is set back");
	is_str(due(s, 90, 10), "c/3;", "the one that would wait too long is due, and no other");
	is_int(store_job_set(s, "c/3", STORE_JOB_ENDED, 300, &err), 0, "put off again");
	visited[0] = '\0';
	is_int(store_jobs_due(s, 500, 10, visit, s, &err), 0, "a visit that changes jobs");
	is_str(visited, "c/1;c/3;", "one that was put off meanwhile is left out");
	visited[0] = '\0';
	is_int(store_jobs_due(s, 500, 10, visit_fails, NULL, &err), -ECANCELED, "one that fails");
	is_str(visited, "x", "ends the walk");
	commit(s);
	end(s);
}

static bool log_can_be_emptied(void)
{
	sqlite3 *db = NULL;
	bool done = sqlite3_open(scratch_path(dir, STORE_FILE), &db) == SQLITE_OK &&
		    sqlite3_exec(db, "SELECT * FROM meta", NULL, NULL, NULL) == SQLITE_OK &&
		    sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) == SQLITE_OK;

	(void)sqlite3_close(db);
	return done;
}

/* SQLite can empty its log only while no statement reads an older state. */
static void test_log_is_free(void)
{
	struct store *s = open_store();
	struct store_job job;

	begin(s);
	put_job(s, "c/1", 100);
	commit(s);
	begin(s);
	is_int(store_job_get(s, "c/1", &job, &err), 1, "a job is read");
	put_job(s, "c/2", 100);
	commit(s);
	ok(log_can_be_emptied(), "the log can be emptied after the commit");
	begin(s);
	put_job(s, "c/3", 100);
	commit(s);
	begin(s);
	is_int(store_job_get(s, "c/3", &job, &err), 1, "read again");
	store_rollback(s);
	ok(log_can_be_emptied(), "and after a rollback");
	end(s);
}

static const char *last(struct store *s, size_t max)
{
	visited[0] = '\0';
	if (store_jobs_last(s, max, visit, NULL, &err) < 0)
		diag("%s", err.text);
	return visited;
}

static void test_last(void)
{
	struct store *s = open_store();

	begin(s);
	is_str(last(s, 3), "", "of none");
	put_job(s, "c/9", 300);
	put_job(s, "c/1", STORE_NEVER);
	put_job(s, "c/5", 200);
	is_str(last(s, 2), "c/5;c/1;", "newest first, whatever their keys and times");
	is_str(last(s, 10), "c/5;c/1;c/9;", "all that there are");
	put_job(s, "c/9", 400);
	is_str(last(s, 1), "c/5;", "a job that is written again is no newer for it");
	visited[0] = '\0';
	is_int(store_jobs_last(s, 10, visit_fails, NULL, &err), -ECANCELED, "a visit that fails");
	is_str(visited, "x", "ends the walk");
	commit(s);
	end(s);
}

static void test_oldest_end(void)
{
	struct store *s = open_store();
	uint64_t oldest = 1;
	uint64_t seq = 0;

	store_set_sinks(s, "a,b", &err);
	begin(s);
	is_int(store_oldest_end(s, &oldest, &err), 0, "the oldest end");
	is_u64(oldest, 0, "is 0 without jobs");
	store_job_put(s,
		      &(struct store_job){
			      .key = "c/1", .state = STORE_JOB_ENDED, .next_try = 1, .ended = 500 },
		      &err);
	store_job_put(s,
		      &(struct store_job){
			      .key = "c/2", .state = STORE_JOB_FINAL, .next_try = 1, .ended = 100 },
		      &err);
	is_int(store_oldest_end(s, &oldest, &err), 0, "of a job");
	is_u64(oldest, 500, "is of the job that has no record yet");
	require(store_record_append(s, STORE_RECORD, "c/2", "{}", 2, 400, &seq, &err) == 0);
	is_int(store_oldest_end(s, &oldest, &err), 0, "of a record");
	is_u64(oldest, 400, "is of the record that no sink has");
	commit(s);
	store_sink_settle(s, "a", seq, NULL, 0, &err);
	begin(s);
	require(store_oldest_end(s, &oldest, &err) == 0);
	is_u64(oldest, 400, "and while one of them lacks it");
	commit(s);
	store_sink_settle(s, "b", seq, NULL, 0, &err);
	begin(s);
	require(store_oldest_end(s, &oldest, &err) == 0);
	is_u64(oldest, 500, "when both have it, of the job again");
	commit(s);
	end(s);
}

/* --- records ----------------------------------------------------------------------------- */

static int only_first(void *ctx, const struct store_row *row)
{
	(void)row;
	return ++*(int *)ctx > 1 ? -ECANCELED : 0;
}

static void test_records(void)
{
	struct store *s = open_store();
	struct store_view *v;
	uint64_t first;
	uint64_t seq;
	int n = 0;

	first = put(s, "c/1,1,0/0", "{1}");
	seq = store_rig_put(s, STORE_STEPS, "c/1,1,0/0#1", "{p}", 3);
	ok(first && seq > first, "numbers go up");
	store_rig_put(s, STORE_START, "c/12,1,0/0", "{s}", 3);
	put(s, "c/2,1,0/0", "{2}");
	is_str(list(NULL), "c/1,1,0/0={1};c/1,1,0/0#1={p};c/12,1,0/0={s};c/2,1,0/0={2};", "all, in order");
	is_str(list(&(struct store_pick){ .after = seq }), "c/12,1,0/0={s};c/2,1,0/0={2};", "behind one");
	is_str(list(&(struct store_pick){ .kinds = STORE_MASK(STORE_RECORD) }),
	       "c/1,1,0/0={1};c/2,1,0/0={2};", "of one kind");
	is_str(list(&(struct store_pick){ .key = "c/1,1,0/0" }), "c/1,1,0/0={1};c/1,1,0/0#1={p};",
	       "of one key, with its parts");
	is_str(list(&(struct store_pick){ .job_id = 1 }), "c/1,1,0/0={1};c/1,1,0/0#1={p};", "of one job");
	is_str(list(&(struct store_pick){ .max_rows = 1 }), "c/1,1,0/0={1};", "only so many");
	is_str(list(&(struct store_pick){ .max_bytes = 13 }), "c/1,1,0/0={1};c/1,1,0/0#1={p};",
	       "up to the one that reaches so many bytes");
	v = view();
	is_int(store_view_records(v, &(struct store_pick){ .max_rows = 1 }, add_row, NULL, &err), 1,
	       "there are more");
	is_int(store_view_records(v, &(struct store_pick){ 0 }, add_row, NULL, &err), 0, "these were all");
	is_int(store_view_records(v, &(struct store_pick){ 0 }, only_first, &n, &err), -ECANCELED,
	       "a walk that is ended");
	is_int(n, 2, "is ended");
	store_view_close(v);
	begin(s);
	is_int(store_record_append(s, STORE_RECORD, "k", "", STORE_ROW_MAX + 1, 0, NULL, &err), -EMSGSIZE,
	       "too large");
	is_int(store_record_append(s, STORE_RECORD, "k", "{\"\xc3\xa4\":\"quote ' \\n\"}", 20, 0, NULL, &err),
	       0, "odd text");
	store_rollback(s);
	is_str(list(&(struct store_pick){ .key = "k" }), "", "a rollback takes it back");
	/* a number is never used twice, whatever is deleted */
	store_set_sinks(s, "", &err);
	is_int(store_reclaim(s, 0, &err), 4, "without a sink all can go");
	store_close(s);
	s = open_store();
	ok(put(s, "c/3,1,0/0", "{3}") > seq + 2, "the next number is higher than any before");
	end(s);
}

static void test_meta(void)
{
	struct store *s = open_store();
	char buf[8] = "";
	size_t len = 0;

	begin(s);
	is_int(store_meta_get(s, "inbox", buf, sizeof(buf), &len, &err), 0, "not there");
	is_int(store_meta_set(s, "inbox",
			      "12\0"
			      "45",
			      5, &err),
	       0, "set");
	is_int(store_meta_get(s, "inbox", buf, sizeof(buf), &len, &err), 1, "get");
	ok(len == 5 && !memcmp(buf,
			       "12\0"
			       "45",
			       5),
	   "the same");
	is_int(store_meta_get(s, "inbox", buf, 4, &len, &err), -EMSGSIZE, "into too little");
	is_int(store_meta_set(s, "inbox", "", 0, &err), 0, "nothing");
	is_int(store_meta_get(s, "inbox", buf, sizeof(buf), &len, &err), 1, "is there");
	is_u64(len, 0, "and empty");
	commit(s);
	end(s);
}

/* --- sinks ------------------------------------------------------------------------------- */

static uint64_t cursor(const char *sink)
{
	struct store_view *v = view();
	uint64_t seq = 0;

	if (v && store_view_cursor(v, sink, &seq, &err) < 0)
		diag("%s", err.text);
	store_view_close(v);
	return seq;
}

static int add_name(void *ctx, const char *name)
{
	strcat(ctx, name);
	strcat(ctx, ";");
	return 0;
}

static void test_settle(void)
{
	struct store *s = open_store();
	struct store_sink_status st;
	struct store_view *v;
	char names[64] = "";
	uint64_t seq[5];
	char key[16];
	int i;

	is_int(store_set_sinks(s, "a,b", &err), 0, "two sinks");
	for (i = 0; i < 5; i++) {
		snprintf(key, sizeof(key), "c/%d", i);
		seq[i] = put(s, key, "{}");
		now_s++;
	}
	is_int(store_sink_settle(s, "a", seq[2], &(struct store_refusal){ seq[1], "too odd" }, 1, &err), 0,
	       "settle");
	is_u64(cursor("a"), seq[2], "the cursor");
	is_u64(cursor("b"), 0, "is this sink's only");
	is_str(refused("a"), "c/1={}:too odd;", "the refusal");
	is_str(refused("b"), "", "too");
	is_int(store_sink_settle(s, "a", seq[0], NULL, 0, &err), 0, "settling an earlier record");
	is_u64(cursor("a"), seq[2], "never moves it back");
	v = view();
	is_int(store_view_sink(v, "a", STORE_MASK(STORE_RECORD), &st, &err), 0, "what waits");
	ok(st.seq == seq[2] && st.waiting == 2 && st.waiting_bytes == 10 && st.refused == 1 &&
		   st.oldest == now_s - 2,
	   "two of the five (%" PRIu64 ", %" PRIu64 " bytes)", st.waiting, st.waiting_bytes);
	is_int(store_view_sink(v, "a", STORE_MASK(STORE_START), &st, &err), 0, "of other kinds");
	ok(!st.waiting && !st.oldest, "nothing");
	is_int(store_view_sinks(v, add_name, names, &err), 0, "the sinks");
	is_str(names, "a;b;", "by name");
	store_view_close(v);

	is_int(store_reclaim(s, 0, &err), 0, "nothing can go while one sink lacks it");
	is_int(store_sink_settle(s, "b", seq[4], NULL, 0, &err), 0, "the other has all");
	is_int(store_reclaim(s, 0, &err), 2, "what both have goes");
	is_str(list(NULL), "c/1={};c/3={};c/4={};", "but for what is refused");
	is_int(store_set_sinks(s, "b", &err), 0, "a sink that is no longer configured");
	is_int(store_reclaim(s, 0, &err), 2, "holds nothing back");
	is_u64(cursor("a"), seq[2], "and keeps its cursor");
	is_int(store_set_sinks(s, "b,c", &err), 0, "a new one");
	put(s, "c/9", "{}");
	is_int(store_sink_settle(s, "b", seq[4] + 1, NULL, 0, &err), 0, "sink b has all");
	is_int(store_reclaim(s, 0, &err), 0, "holds back what it lacks");
	end(s);
}

/* Checks that the number of records, which is computed from sequence numbers, is the number of rows. */
static void is_counted(uint64_t n)
{
	struct store_view *v = view();
	struct store_counts counts;
	struct store_status st;

	is_int(store_view_counts(v, &counts, &err), 0, "counts");
	is_int(store_view_status(v, 0, &st, &err), 0, "and status");
	ok(counts.records == n && st.records == n,
	   "both say that %" PRIu64 " records are there: %" PRIu64 ", %" PRIu64, n, counts.records,
	   st.records);
	store_view_close(v);
}

static void test_counts(void)
{
	struct store *s = open_store();
	uint64_t seq[6];
	char key[16];
	size_t i;

	store_set_sinks(s, "a,b", &err);
	is_counted(0);
	for (i = 0; i < ARRAY_SIZE(seq); i++) {
		snprintf(key, sizeof(key), "c/%zu", i);
		seq[i] = put(s, key, "{}");
	}
	is_counted(6);
	store_sink_settle(s, "a", seq[1], &(struct store_refusal){ seq[1], "r" }, 1, &err);
	store_sink_settle(s, "b", seq[2], &(struct store_refusal){ seq[1], "r" }, 1, &err);
	is_counted(6);
	store_reclaim(s, 0, &err);
	is_counted(5);
	store_sink_settle(s, "a", seq[4], NULL, 0, &err);
	store_sink_settle(s, "b", seq[4], &(struct store_refusal){ seq[3], "r" }, 1, &err);
	store_reclaim(s, 0, &err);
	is_counted(3); /* two that are refused, and the last */
	store_sink_settle(s, "a", seq[5], &(struct store_refusal){ seq[5], "r" }, 1, &err);
	store_sink_settle(s, "b", seq[5], NULL, 0, &err);
	store_reclaim(s, 0, &err);
	is_counted(3); /* all refused */
	end(s);
}

static void test_replaced(void)
{
	struct store *s = open_store();
	struct store_view *v = NULL;
	uint64_t bad;
	uint64_t seq;

	store_set_sinks(s, "a,b", &err);
	bad = put(s, "c/1", "{bad}");
	store_sink_settle(s, "a", bad, &(struct store_refusal){ bad, "r" }, 1, &err);
	store_sink_settle(s, "b", bad, &(struct store_refusal){ bad, "r" }, 1, &err);
	seq = put(s, "c/2", "{}");
	store_sink_settle(s, "a", seq, NULL, 0, &err);
	is_str(refused("a"), "c/1={bad}:r;", "another job's record replaces nothing");
	seq = store_rig_put(s, STORE_START, "c/1", "{}", 2);
	store_sink_settle(s, "a", seq, NULL, 0, &err);
	is_str(refused("a"), "c/1={bad}:r;", "nor does one of another kind");
	seq = put(s, "c/1", "{bad, too}");
	store_sink_settle(s, "a", seq, &(struct store_refusal){ seq, "q" }, 1, &err);
	is_str(refused("a"), "c/1={bad}:r;c/1={bad, too}:q;", "nor one that is refused");
	seq = put(s, "c/1", "{good}");
	store_sink_settle(s, "a", seq, NULL, 0, &err);
	is_str(refused("a"), "", "a later one that is taken replaces both");
	is_str(refused("b"), "c/1={bad}:r;", "the other sink's refusal stays");
	store_sink_settle(s, "b", seq, NULL, 0, &err);
	is_str(refused("b"), "", "until it has the later record, too");
	is_int(store_reclaim(s, 0, &err), 5, "all can go");

	bad = put(s, "c/3", "{bad}");
	store_sink_settle(s, "a", bad, &(struct store_refusal){ bad, "r" }, 1, &err);
	store_sink_settle(s, "b", bad, NULL, 0, &err);
	is_int(store_reclaim(s, 0, &err), 0, "what is refused stays");
	is_int(store_view_open(dir, /* writable= */ true, &v, &err), 0, "a view that writes");
	is_int(store_view_refused_drop(v, "a", bad, &err), 0, "drops a refusal");
	store_view_close(v);
	is_int(store_reclaim(s, 0, &err), 1, "then it can go");
	end(s);
}

static void test_reclaim(void)
{
	struct store *s = open_store();
	struct store_job got;
	char key[16];
	int i;

	store_set_sinks(s, "", &err);
	begin(s);
	put_job(s, "ended", 1);
	store_job_put(s,
		      &(struct store_job){ .key = "old",
					   .state = STORE_JOB_CORRECTED,
					   .next_try = STORE_NEVER,
					   .ended = 99 },
		      &err);
	store_job_put(s,
		      &(struct store_job){ .key = "young",
					   .state = STORE_JOB_CORRECTED,
					   .next_try = STORE_NEVER,
					   .ended = 100 },
		      &err);
	store_job_put(s,
		      &(struct store_job){
			      .key = "busy", .state = STORE_JOB_FINAL, .next_try = 5, .ended = 1 },
		      &err);
	commit(s);
	is_int(store_reclaim(s, 100, &err), 1, "one job goes");
	begin(s);
	is_int(store_job_get(s, "old", &got, &err), 0, "the one that is over");
	ok(store_job_get(s, "young", &got, &err) == 1 && store_job_get(s, "busy", &got, &err) == 1 &&
		   store_job_get(s, "ended", &got, &err) == 1,
	   "the others stay");
	for (i = 0; i < STORE_RECLAIM_MAX + 5; i++) {
		snprintf(key, sizeof(key), "r/%d", i);
		require(store_record_append(s, STORE_RECORD, key, "{}", 2, 0, NULL, &err) == 0);
	}
	commit(s);
	is_int(store_reclaim(s, 0, &err), STORE_RECLAIM_MAX, "so many at a time");
	is_int(store_reclaim(s, 0, &err), 5, "then the rest");
	is_int(store_reclaim(s, 0, &err), 0, "then none");
	end(s);
}

static void test_reclaim_jobs(void)
{
	struct store *s = open_store();
	struct store_job got;
	char key[16];
	int i;

	begin(s);
	put_job(s, "ended", 1);
	store_job_put(s,
		      &(struct store_job){
			      .key = "busy", .state = STORE_JOB_FINAL, .next_try = 5, .ended = 1 },
		      &err);
	store_job_put(s,
		      &(struct store_job){ .key = "young",
					   .state = STORE_JOB_FINAL,
					   .next_try = STORE_NEVER,
					   .ended = 100 },
		      &err);
	for (i = 0; i < 10; i++) {
		snprintf(key, sizeof(key), "old/%d", i);
		store_job_put(s,
			      &(struct store_job){ .key = key,
						   .state = STORE_JOB_CORRECTED,
						   .next_try = STORE_NEVER,
						   .ended = 99 },
			      &err);
	}
	commit(s);
	is_int(store_reclaim_jobs(s, 100, 13, &err), 0, "there are no more jobs than are kept");
	is_int(store_reclaim_jobs(s, 99, 1, &err), 0, "none ended as early");
	is_int(store_reclaim_jobs(s, 100, 4, &err), 6, "of the jobs that are over all but the last four go");
	begin(s);
	ok(store_job_get(s, "old/5", &got, &err) == 0 && store_job_get(s, "old/6", &got, &err) == 1,
	   "the oldest ones");
	ok(store_job_get(s, "young", &got, &err) == 1 && store_job_get(s, "busy", &got, &err) == 1 &&
		   store_job_get(s, "ended", &got, &err) == 1,
	   "jobs that are not over stay");
	commit(s);
	end(s);
}

static void test_shrinks(void)
{
	_cleanup_free_ char *text = malloc(MIB);
	struct store *s = open_store();
	struct store_status st;
	struct store_view *v;
	uint64_t high;
	int i;

	memset(text, 'x', MIB);
	store_set_sinks(s, "", &err);
	for (i = 0; i < 100; i++)
		store_rig_put(s, STORE_RECORD, "k", text, MIB);
	v = view();
	is_int(store_view_status(v, 0, &st, &err), 0, "a backlog");
	high = st.file_bytes;
	ok(high > 100 * MIB && st.records == 100 && st.record_bytes == 100 * (MIB + 1), "of 100 MiB");
	is_int(store_reclaim(s, 0, &err), 100, "is delivered");
	for (i = 0; i < 20; i++)
		store_reclaim(s, 0, &err);
	require(store_view_status(v, 0, &st, &err) == 0);
	ok(st.file_bytes < 70 * MIB && st.used_bytes < MIB,
	   "and the file is small again: %" PRIu64 " of %" PRIu64, st.file_bytes, high);
	store_view_close(v);
	end(s);
}

static void test_status(void)
{
	struct store *s = open_store();
	struct store_view *v;
	struct store_status st;

	begin(s);
	put_job(s, "a", 10);
	put_job(s, "b", 20);
	put_job(s, "c", 30);
	store_job_set(s, "c", STORE_JOB_FINAL, 30, &err);
	commit(s);
	put(s, "a", "{}");
	v = view();
	is_int(store_view_status(v, 20, &st, &err), 0, "status");
	ok(st.jobs[STORE_JOB_ENDED] == 2 && st.jobs[STORE_JOB_FINAL] == 1 && !st.jobs[STORE_JOB_CORRECTED],
	   "jobs by state");
	ok(st.overdue == 2 && st.oldest_due == 10, "what is overdue");
	ok(st.records == 1 && st.record_bytes == 3 && st.layout == 1, "records");
	store_view_close(v);
	end(s);
}

/* --- limits ------------------------------------------------------------------------------ */

/* Puts jobs until there is no room. */
static int fill_jobs(struct store *s, unsigned int *n)
{
	static const char facts[4096];
	char key[32];
	int rc = 0;

	while (rc == 0 && *n < 100000) {
		begin(s);
		snprintf(key, sizeof(key), "j/%u", *n);
		rc = store_job_put(s,
				   &(struct store_job){ .key = key,
							.state = STORE_JOB_ENDED,
							.next_try = 1,
							.facts = facts,
							.facts_len = sizeof(facts) },
				   &err);
		if (rc == 0)
			rc = store_commit(s, &err);
		else
			store_rollback(s);
		*n += rc == 0;
	}
	return rc;
}

static int fill_records(struct store *s, size_t len, unsigned int *n)
{
	_cleanup_free_ char *text = malloc(len);
	int rc = 0;

	memset(text, 'x', len);
	while (rc == 0 && *n < 100000) {
		rc = store_begin(s, &err);
		if (rc < 0)
			break;
		rc = store_record_append(s, STORE_RECORD, "k", text, len, 0, NULL, &err);
		if (rc < 0)
			store_rollback(s);
		else
			rc = store_commit(s, &err);
		*n += rc == 0;
	}
	return rc;
}

static void test_max_size(void)
{
	struct store *s = open_limited(4 * MIB);
	struct store_size size;
	unsigned int jobs = 0;
	unsigned int records = 0;
	char key[32];
	uint64_t last;

	forget_log();
	store_set_sinks(s, "a", &err);
	is_int(fill_jobs(s, &jobs), -ENOSPC, "jobs fill it");
	ok(strstr(err.text, "StoreMaxSize is reached") != NULL, "%s", err.text);
	store_get_size(s, &size);
	ok(size.is_full && size.max_bytes == 4 * MIB && size.used_bytes > 3 * MIB &&
		   size.used_bytes < 7 * MIB / 2,
	   "to three quarters");
	is_int(errors, 1, "which is logged once");
	ok(strstr(last_line, "StoreMaxSize is 4 MB; job ends wait in the inbox") != NULL, "as: %s",
	   last_line);
	begin(s);
	is_int(put_job(s, "j/1", 5), 0, "a job that is there may change");
	is_int(store_job_set(s, "j/2", STORE_JOB_FINAL, STORE_NEVER, &err), 0, "and its state");
	commit(s);
	is_int(fill_records(s, 4000, &records), -ENOSPC, "records fill the rest");
	ok(records > 100, "%u of them", records);
	is_int(fill_jobs(s, &jobs), -ENOSPC, "it is still full");
	is_int(errors, 1, "not logged again");
	last = cursor("a") + records;
	is_int(store_sink_settle(s, "a", last, NULL, 0, &err), 0, "a sink takes them");
	ok(store_reclaim(s, 0, &err) > 0, "they are deleted");
	begin(s);
	while (jobs) {
		snprintf(key, sizeof(key), "j/%u", --jobs);
		(void)store_job_delete(s, key, &err);
	}
	commit(s);
	begin(s);
	is_int(put_job(s, "new", 5), 0, "and there is room");
	commit(s);
	is_int(infos, 1, "which is logged");
	ok(strstr(last_line, "takes job ends again") != NULL, "as: %s", last_line);
	end(s);
}

/* --- others ------------------------------------------------------------------------------ */

static void test_second_writer(void)
{
	struct store_options o = { .dir = dir };
	struct store *s = open_store();
	struct store *other = NULL;
	char want[64];

	is_int(store_open(&o, &other, &err), -EBUSY, "a second writer");
	snprintf(want, sizeof(want), "(pid %d)", (int)getpid());
	ok(strstr(err.text, want) != NULL, "is told who has it: %s", err.text);
	put(s, "k", "{}");
	is_str(list(NULL), "k={};", "readers are welcome");
	end(s);
}

static void test_view_open(void)
{
	struct store_view *v = NULL;
	struct store *s;

	is_int(store_view_open(dir, false, &v, &err), -ENOENT, "no store");
	ok(strstr(err.text, "store.db") != NULL, "%s", err.text);
	s = open_store();
	put(s, "k", "{}");
	v = view();
	is_int(store_view_refused_drop(v, "a", 1, &err), -EROFS, "a view that reads does not write");
	store_view_close(v);
	store_view_close(NULL);
	store_close(s);
	is_str(list(NULL), "k={};", "nor needs a writer");
	scratch_clear(dir);
}

static bool has_file(const char *part)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	bool found = false;

	while (d && (e = readdir(d)))
		found |= strstr(e->d_name, part) != NULL;
	if (d)
		closedir(d);
	return found;
}

static void test_corrupt(void)
{
	struct store *s = open_store();
	char text[20000];
	size_t len = 0;
	char *all;
	int fd;

	put(s, "k", "{}");
	store_close(s);
	all = scratch_read(scratch_path(dir, STORE_FILE), &len);
	free(all);
	ok(len > 20000, "a file");
	memset(text, 0x5a, sizeof(text));
	fd = open(scratch_path(dir, STORE_FILE), O_WRONLY | O_CLOEXEC);
	(void)!pwrite(fd, text, 8192, 8192 * 2);
	close(fd);
	forget_log();
	s = open_store();
	ok(store_is_new(s), "a page is damaged: a new one is begun");
	is_int(errors, 1, "which is logged");
	ok(strstr(last_line, "set aside as ") != NULL, "as: %s", last_line);
	ok(has_file("store.db.corrupt-20"), "the old one is there");
	is_str(list(NULL), "", "the new one is empty");
	end(s);

	scratch_write(scratch_path(dir, STORE_FILE), text, sizeof(text));
	forget_log();
	s = open_store();
	ok(store_is_new(s), "no database at all: likewise");
	is_int(errors, 1, "logged");
	end(s);
}

static void run_sql(const char *sql)
{
	sqlite3 *db = NULL;

	ok(sqlite3_open(scratch_path(dir, STORE_FILE), &db) == SQLITE_OK &&
		   sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK,
	   "%s", sql);
	sqlite3_close(db);
}

static void test_layout(void)
{
	struct store_options o = { .dir = dir };
	struct store *s = open_store();
	struct store_view *v = NULL;

	put(s, "k", "{}");
	store_close(s);
	run_sql("PRAGMA user_version = 7");
	is_int(store_open(&o, &s, &err), -EPROTO, "a file of another version");
	ok(strstr(err.text, "has layout 7") != NULL, "%s", err.text);
	is_int(store_view_open(dir, false, &v, &err), -EPROTO, "for readers, too");
	run_sql("PRAGMA application_id = 7");
	is_int(store_open(&o, &s, &err), -EPROTO, "a file of another program");
	ok(strstr(err.text, "another program") != NULL, "%s", err.text);
	ok(!has_file("corrupt"), "neither is set aside");
	scratch_clear(dir);
}

/* --- kill, and two processes -------------------------------------------------------------- */

/* Appends record after record and says which was committed, until it is killed. */
static void write_forever(int to)
{
	struct store *s = store_rig_open(dir);
	char key[32];
	uint32_t i;

	if (!s)
		_exit(3);
	for (i = 0;; i++) {
		snprintf(key, sizeof(key), "c/%u", i);
		if (store_begin(s, &err) < 0 ||
		    store_job_put(s,
				  &(struct store_job){ .key = key, .state = STORE_JOB_ENDED, .next_try = i },
				  &err) < 0 ||
		    store_record_append(s, STORE_RECORD, key, "{}", 2, 0, NULL, &err) < 0 ||
		    store_commit(s, &err) < 0)
			_exit(2);
		(void)!write(to, &i, sizeof(i));
	}
}

static void test_kill(void)
{
	uint64_t random = 42;
	uint32_t from = 0;
	int round;
	int bad = 0;

	for (round = 0; round < 20; round++) {
		struct timespec pause = { 0, (long)(scratch_random(&random) % 20000000) };
		struct store_status st;
		struct store_view *v;
		unsigned int rows = 0;
		uint32_t last = 0;
		struct store *s;
		int p[2];
		pid_t pid;

		if (pipe2(p, O_CLOEXEC) < 0)
			break;
		pid = fork();
		if (pid == 0)
			write_forever(p[1]);
		close(p[1]);
		(void)!read(p[0], &last, sizeof(last)); /* it is on its way */
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(p[0], &from, sizeof(from)) == sizeof(from))
			last = from;
		close(p[0]);
		forget_log();
		s = store_rig_open(dir);
		v = view();
		if (!s || !v ||
		    store_view_records(v, &(struct store_pick){ 0 }, count_row, &rows, &err) < 0 ||
		    store_view_status(v, 0, &st, &err) < 0) {
			bad++;
			diag("%s", err.text);
			continue;
		}
		/* the one after the last that was told may be there, too; a job and its record are one */
		if (rows < last + 1 || rows > last + 2 || st.jobs[STORE_JOB_ENDED] != rows || errors) {
			bad++;
			diag("%u committed, %u records, %" PRIu64 " jobs", last + 1, rows,
			     st.jobs[STORE_JOB_ENDED]);
		}
		store_view_close(v);
		store_close(s);
		scratch_clear(dir);
	}
	is_int(round, 20, "a writer is killed 20 times");
	is_int(bad, 0, "what was committed is there, and a job with its record");
}

struct writing {
	struct store *store;
	unsigned int n;
	_Atomic bool stop;
};

static void *write_thread(void *arg)
{
	struct writing *w = arg;

	while (!w->stop && put(w->store, "k", "{}"))
		w->n++;
	return NULL;
}

/* Two threads write, one reads beside them: nobody is refused, nothing is seen twice or left out. */
static void test_threads(void)
{
	struct store *s = open_store();
	struct writing w[2] = { { .store = s }, { .store = s } };
	uint64_t until = clock_mono_ns() + NSEC_PER_SEC / 2;
	struct store_view *v;
	unsigned int most = 0;
	pthread_t t[2];
	int bad = 0;
	int i;

	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, write_thread, &w[i]);
	v = view();
	while (clock_mono_ns() < until) {
		unsigned int n = 0;

		bad += store_view_records(v, &(struct store_pick){ 0 }, count_row, &n, &err) < 0 || n < most;
		most = n;
	}
	for (i = 0; i < 2; i++) {
		w[i].stop = true;
		pthread_join(t[i], NULL);
	}
	is_int(bad, 0, "a reader beside two writers");
	ok(most > 0 && w[0].n > 0 && w[1].n > 0, "all three made progress (%u and %u writes)", w[0].n,
	   w[1].n);
	most = 0;
	store_view_records(v, &(struct store_pick){ 0 }, count_row, &most, &err);
	is_u64(most, w[0].n + w[1].n, "and nothing is lost");
	store_view_close(v);
	end(s);
}

static void *wait_thread(void *arg)
{
	static uint64_t seen;

	store_wait_records(arg, &seen, 30 * NSEC_PER_SEC);
	return &seen;
}

static void test_wait(void)
{
	struct store *s = open_store();
	uint64_t begin_ns = clock_mono_ns();
	uint64_t seen = 0;
	void *ret = NULL;
	uint64_t seq;
	pthread_t t;

	store_wait_records(s, &seen, NSEC_PER_SEC / 50);
	ok(clock_mono_ns() - begin_ns >= NSEC_PER_SEC / 50 && !seen, "nothing comes");
	pthread_create(&t, NULL, wait_thread, s);
	seq = put(s, "k", "{}");
	pthread_join(t, &ret);
	is_u64(*(uint64_t *)ret, seq, "a record ends the wait");
	begin(s);
	put_job(s, "c/1", 1);
	commit(s);
	seen = seq;
	begin_ns = clock_mono_ns();
	store_wait_records(s, &seen, NSEC_PER_SEC / 50);
	ok(clock_mono_ns() - begin_ns >= NSEC_PER_SEC / 50, "a job does not");
	store_end_waits(s);
	begin_ns = clock_mono_ns();
	store_wait_records(s, &seen, 30 * NSEC_PER_SEC);
	ok(clock_mono_ns() - begin_ns < 10 * NSEC_PER_SEC, "after store_end_waits() a wait returns at once");
	ok(!store_is_stuck(s), "and the store is not stuck");
	store_close(s);
	s = open_store();
	store_wait_records(s, &seen, 1);
	seen = 0;
	store_wait_records(s, &seen, 30 * NSEC_PER_SEC);
	is_u64(seen, seq, "after a restart what is there counts");
	end(s);
}

/* --- a full disk ------------------------------------------------------------------------- */

static void check_full_disk(struct store *s, const char *what)
{
	unsigned int n = 0;
	unsigned int rows = 0;
	struct store_view *v;

	diag("%s", what);
	forget_log();
	is_int(fill_records(s, 20000, &n), -ENOSPC, "the disk is full");
	ok(n > 0, "after %u records", n);
	is_int(fill_records(s, 20000, &n), -ENOSPC, "and remains so");
	is_int(errors, 1, "logged once");
	ok(strstr(last_line, "no space left on its disk; job ends wait in the inbox") != NULL, "as: %s",
	   last_line);
	v = view();
	is_int(store_view_records(v, &(struct store_pick){ 0 }, count_row, &rows, &err), 0, "it can be read");
	is_u64(rows, n, "what was committed is there, and no more");
	store_view_close(v);
}

/* SQLite's log of one row that is written again and again fills the disk, and has to give it back. */
static void check_own_log(struct store *s)
{
	static char facts[8192];
	struct store_job job = { .key = "c/1,1,0/0",
				 .state = STORE_JOB_ENDED,
				 .next_try = 1,
				 .facts = facts,
				 .facts_len = sizeof(facts) };
	unsigned int in_a_row = 0;
	unsigned int worst = 0;
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		int rc = store_begin(s, &err);

		memset(facts, (int)(i & 0xff), sizeof(facts));
		if (rc == 0) {
			rc = store_job_put(s, &job, &err);
			if (rc < 0)
				store_rollback(s);
			else
				rc = store_commit(s, &err);
		}
		in_a_row = rc < 0 ? in_a_row + 1 : 0;
		if (in_a_row > worst)
			worst = in_a_row;
	}
	if (worst > 2)
		diag("%s", err.text);
	ok(worst <= 2, "the log of a row that changes does not keep the disk full: %u failures in a row",
	   worst);
}

static void test_full_disk(void)
{
	struct store_options o = { .dir = dir };
	struct store *s = NULL;
	int fd;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("ceems-test", dir, "tmpfs", 0, "size=2m,mode=700") < 0) {
		skip(1, "no small file system of our own");
		return;
	}
	is_int(store_open(&o, &s, &err), 0, "on a small disk");
	fd = open(scratch_path(dir, "ballast"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, MIB / 2) != 0)
		diag("no ballast");
	close(fd);
	check_full_disk(s, "tmpfs of 2 MiB");
	(void)unlink(scratch_path(dir, "ballast"));
	ok(put(s, "k", "{}") > 0, "when there is room again it goes on");
	is_int(infos, 1, "which is logged");
	ok(strstr(last_line, "is written again") != NULL, "as: %s", last_line);
	store_close(s);
	s = NULL;
	is_int(store_open(&o, &s, &err), 0, "and opens again");
	ok(!store_is_new(s), "undamaged");
	store_close(s);
	s = NULL;
	if (umount2(dir, MNT_DETACH) < 0 || mount("ceems-test", dir, "tmpfs", 0, "size=8m,mode=700") < 0)
		diag("mount: %s", strerror(errno));
	is_int(store_open(&o, &s, &err), 0, "on an empty small disk");
	check_own_log(s);
	store_close(s);
	if (umount2(dir, MNT_DETACH) < 0)
		diag("umount: %s", strerror(errno));
}

/* What the disk refuses for another reason. */
static void test_file_limit(void)
{
	struct store *s = open_store();
	unsigned int n = 0;
	struct rlimit old;
	struct rlimit lim;
	int rc;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	lim = old;
	lim.rlim_cur = 300000;
	setrlimit(RLIMIT_FSIZE, &lim);
	forget_log();
	rc = fill_records(s, 20000, &n);
	setrlimit(RLIMIT_FSIZE, &old);
	ok(rc == -EIO || rc == -ENOSPC, "a write fails: %s", err.text);
	is_int(errors, 1, "logged once");
	ok(put(s, "k", "{}") > 0, "a later write succeeds");
	is_int(infos, 1, "logged as well");
	end(s);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	logger_set_sink(count_log);
	test_names();
	test_read();
	test_jobs();
	test_due();
	test_questions_write_nothing();
	test_log_is_free();
	test_last();
	test_oldest_end();
	test_records();
	test_meta();
	test_settle();
	test_counts();
	test_replaced();
	test_reclaim();
	test_reclaim_jobs();
	test_shrinks();
	test_status();
	test_max_size();
	test_second_writer();
	test_view_open();
	test_corrupt();
	test_layout();
	test_kill();
	test_threads();
	test_wait();
	test_file_limit();
	test_full_disk();
	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
