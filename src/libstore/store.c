/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstore/store_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libstore/store.h"
#include "src/libutil/clock.h"

#define STUCK_NS (30 * NSEC_PER_SEC)

static const char *const store_kinds[] = {
	[STORE_RECORD] = "record", [STORE_STEPS] = "steps", [STORE_START] = "start"
};
static const char *const store_job_states[] = {
	[STORE_JOB_ENDED] = "ended", [STORE_JOB_FINAL] = "final", [STORE_JOB_CORRECTED] = "corrected"
};

const char *store_kind_name(enum store_kind kind)
{
	return kind < ARRAY_SIZE(store_kinds) && store_kinds[kind] ? store_kinds[kind] : "unknown";
}

enum store_kind store_kind_by_name(const char *name)
{
	size_t i;

	for (i = STORE_RECORD; i < ARRAY_SIZE(store_kinds); i++)
		if (!strcmp(store_kinds[i], name))
			return (enum store_kind)i;
	return 0;
}

const char *store_job_state_name(enum store_job_state state)
{
	return state < ARRAY_SIZE(store_job_states) && store_job_states[state] ? store_job_states[state] :
										 "unknown";
}

/* --- trouble ------------------------------------------------------------------------------------ */

/* Whether RC means that the disk fails. Mistakes of the caller do not, nor does -EMSGSIZE. */
static bool store_is_trouble(int rc)
{
	return rc < 0 && rc != -EINVAL && rc != -EMSGSIZE && rc != -ENOENT;
}

/* Logs when writing begins to fail and when it works again. Call under the lock. */
static int store_note(struct store *s, int rc, const struct errmsg *why)
{
	if (rc == -EUCLEAN)
		s->is_corrupt = true;
	s->wants_room |= rc == -ENOSPC;
	if (rc < 0 && !store_is_trouble(rc))
		return rc;
	switch (logger_trouble_note(&s->trouble, rc < 0, clock_mono_ns())) {
	case LOGGER_BEGINS:
		logger_error("ceems: store: cannot write %s; %s", why->text,
			     rc == -EUCLEAN ? "start ceems-recorder again: it sets the file aside" :
					      "job ends wait in the inbox");
		break;
	case LOGGER_ENDS:
		logger_info("ceems: store: %s is written again", s->path);
		break;
	case LOGGER_NO_NEWS:
		break;
	}
	return rc;
}

static int store_fail(struct store *s, int result, struct errmsg *err)
{
	struct errmsg why = { 0 };
	int rc = store_db_error(s->db, result, s->path, &why);

	if (err)
		*err = why;
	return store_note(s, rc, &why);
}

static bool store_is_full(const struct store *s)
{
	return s->max_bytes && s->used_bytes > s->max_bytes / 4 * 3;
}

static bool store_is_over(const struct store *s)
{
	return s->max_bytes && s->used_bytes > s->max_bytes;
}

static int store_refuse_full(struct store *s, struct errmsg *err)
{
	return errmsg_set(err, -ENOSPC, "%s: StoreMaxSize is reached", s->path);
}

static void store_note_full(struct store *s)
{
	switch (logger_trouble_note(&s->full, store_is_full(s), clock_mono_ns())) {
	case LOGGER_BEGINS:
		logger_error("ceems: store: %s holds %" PRIu64 " MB, StoreMaxSize is %" PRIu64
			     " MB; job ends wait in the inbox until a sink takes records: see "
			     "`ceems store status`",
			     s->path, s->used_bytes >> 20, s->max_bytes >> 20);
		break;
	case LOGGER_ENDS:
		logger_info("ceems: store: %s takes job ends again", s->path);
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

/* --- statements --------------------------------------------------------------------------------- */

sqlite3_stmt *store_stmt(struct store *s, enum store_stmt which, int *ret_rc, struct errmsg *err)
{
#define STORE_TEXT(name, text) [STMT_##name] = (text),
	static const char *const texts[] = { STORE_STATEMENTS(STORE_TEXT) };
#undef STORE_TEXT
	int result;

	if (!s->stmt[which]) {
		result = sqlite3_prepare_v3(s->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT,
					    &s->stmt[which], NULL);
		if (result != SQLITE_OK) {
			*ret_rc = store_fail(s, result, err);
			return NULL;
		}
	}
	(void)sqlite3_reset(s->stmt[which]);
	return s->stmt[which];
}

int store_step(struct store *s, sqlite3_stmt *stmt, struct errmsg *err)
{
	int result = sqlite3_step(stmt);

	/* an answer: the disk is not stuck, however long the transaction already is */
	if (s->busy_since_ns)
		s->busy_since_ns = clock_mono_ns();
	if (result == SQLITE_ROW)
		return 1;
	return result == SQLITE_DONE ? 0 : store_fail(s, result, err);
}

/* Runs a statement that returns no rows, and resets it. */
static int store_run(struct store *s, sqlite3_stmt *stmt, struct errmsg *err)
{
	int rc = store_step(s, stmt, err);

	(void)sqlite3_reset(stmt);
	return rc < 0 ? rc : 0;
}

static int store_run_plain(struct store *s, enum store_stmt which, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, which, &rc, err);

	return stmt ? store_run(s, stmt, err) : rc;
}

/* Reads the number in the first row; OTHERWISE if there is no row, or NULL. */
static int store_number(struct store *s, sqlite3_stmt *stmt, uint64_t otherwise, uint64_t *ret,
			struct errmsg *err)
{
	int rc = store_step(s, stmt, err);

	if (rc >= 0)
		*ret = rc > 0 && sqlite3_column_type(stmt, 0) != SQLITE_NULL ?
			       (uint64_t)sqlite3_column_int64(stmt, 0) :
			       otherwise;
	(void)sqlite3_reset(stmt);
	return rc < 0 ? rc : 0;
}

static int store_pragma(struct store *s, enum store_stmt which, uint64_t *ret, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, which, &rc, err);

	return stmt ? store_number(s, stmt, 0, ret, err) : rc;
}

static void store_bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
	(void)sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

static void store_bind_u64(sqlite3_stmt *stmt, int at, uint64_t n)
{
	(void)sqlite3_bind_int64(stmt, at, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

/* --- transactions ------------------------------------------------------------------------------- */

static int store_measure(struct store *s, struct errmsg *err)
{
	int rc = 0;

	if (!s->page_bytes)
		rc = store_pragma(s, STMT_PAGE_SIZE, &s->page_bytes, err);
	if (rc == 0)
		rc = store_pragma(s, STMT_PAGES, &s->pages, err);
	if (rc == 0)
		rc = store_pragma(s, STMT_FREE_PAGES, &s->free_pages, err);
	if (rc == 0)
		s->used_bytes = (s->pages - s->free_pages) * s->page_bytes;
	return rc;
}

static void store_release(struct store *s)
{
	s->busy_since_ns = 0;
	s->is_stuck_told = false;
	(void)pthread_mutex_unlock(&s->lock);
}

/*
 * Resets all statements. store_job_get() leaves its statement open, because it returns the
 * statement's texts. An open statement holds a read transaction, which blocks SQLite's checkpoints:
 * its log would grow until the disk is full.
 */
static void store_end_reads(struct store *s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(s->stmt); i++)
		(void)sqlite3_reset(s->stmt[i]); /* NULL is allowed */
}

static void store_undo(struct store *s)
{
	int rc = 0;
	sqlite3_stmt *stmt;

	store_end_reads(s);
	/* some errors end the transaction by themselves */
	if (sqlite3_get_autocommit(s->db))
		return;
	stmt = store_stmt(s, STMT_ROLLBACK, &rc, NULL);
	if (stmt) {
		(void)sqlite3_step(stmt);
		(void)sqlite3_reset(stmt);
	}
}

/*
 * Makes a checkpoint, which frees the room of SQLite's log. SQLite itself makes one only after a
 * commit, and on a full disk no commit succeeds.
 */
static void store_make_room(struct store *s)
{
	if (!s->wants_room)
		return;
	s->wants_room = false;
	(void)sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

int store_begin(struct store *s, struct errmsg *err)
{
	int rc;

	(void)pthread_mutex_lock(&s->lock);
	s->busy_since_ns = clock_mono_ns();
	s->has_appended = false;
	store_make_room(s);
	rc = store_run_plain(s, STMT_BEGIN, err);
	if (rc == 0) {
		rc = store_measure(s, err);
		if (rc < 0)
			store_undo(s);
	}
	if (rc < 0)
		store_release(s);
	else
		store_note_full(s);
	return rc;
}

int store_begin_read(struct store *s, struct errmsg *err)
{
	int rc;

	(void)pthread_mutex_lock(&s->lock);
	s->busy_since_ns = clock_mono_ns();
	rc = store_run_plain(s, STMT_BEGIN_READ, err);
	if (rc < 0)
		store_release(s);
	return rc;
}

int store_commit(struct store *s, struct errmsg *err)
{
	uint64_t seq = s->append_seq;
	bool has_news;
	int rc;

	store_end_reads(s);
	rc = store_run_plain(s, STMT_COMMIT, err);
	has_news = rc == 0 && s->has_appended;
	if (rc == 0)
		(void)store_note(s, 0, NULL);
	else
		store_undo(s);
	store_release(s);
	if (has_news) {
		(void)pthread_mutex_lock(&s->wait_lock);
		if (seq > s->last_seq)
			s->last_seq = seq;
		(void)pthread_cond_broadcast(&s->has_records);
		(void)pthread_mutex_unlock(&s->wait_lock);
	}
	return rc;
}

void store_rollback(struct store *s)
{
	store_undo(s);
	store_release(s);
}

/* --- jobs --------------------------------------------------------------------------------------- */

static void store_bind_next_try(sqlite3_stmt *stmt, int at, uint64_t next_try)
{
	if (next_try == STORE_NEVER)
		(void)sqlite3_bind_null(stmt, at);
	else
		store_bind_u64(stmt, at, next_try);
}

static int store_job_write(struct store *s, enum store_stmt which, const struct store_job *job,
			   struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, which, &rc, err);

	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, job->key);
	(void)sqlite3_bind_int(stmt, 2, (int)job->state);
	store_bind_next_try(stmt, 3, job->next_try);
	store_bind_u64(stmt, 4, job->ended);
	if (job->facts)
		(void)sqlite3_bind_blob64(stmt, 5, job->facts, job->facts_len, SQLITE_STATIC);
	else
		(void)sqlite3_bind_null(stmt, 5);
	return store_run(s, stmt, err);
}

int store_job_put(struct store *s, const struct store_job *job, struct errmsg *err)
{
	int rc;

	if (job->facts_len > STORE_ROW_MAX)
		return errmsg_set(err, -EMSGSIZE, "%s: facts of %zu bytes are too large", job->key,
				  job->facts_len);
	rc = store_job_write(s, STMT_JOB_UPDATE, job, err);
	if (rc < 0 || sqlite3_changes(s->db))
		return rc;
	if (store_is_full(s))
		return store_refuse_full(s, err);
	return store_job_write(s, STMT_JOB_INSERT, job, err);
}

static void store_job_read(sqlite3_stmt *stmt, struct store_job *ret)
{
	*ret = (struct store_job){
		.key = (const char *)sqlite3_column_text(stmt, 0),
		.state = (enum store_job_state)sqlite3_column_int(stmt, 1),
		.next_try = sqlite3_column_type(stmt, 2) == SQLITE_NULL ?
				    STORE_NEVER :
				    (uint64_t)sqlite3_column_int64(stmt, 2),
		.ended = (uint64_t)sqlite3_column_int64(stmt, 3),
		.facts = sqlite3_column_blob(stmt, 4),
		.facts_len = (size_t)sqlite3_column_bytes(stmt, 4),
	};
}

int store_job_get(struct store *s, const char *key, struct store_job *ret, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_JOB_GET, &rc, err);

	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, key);
	rc = store_step(s, stmt, err);
	if (rc > 0)
		store_job_read(stmt, ret);
	return rc;
}

int store_job_set(struct store *s, const char *key, enum store_job_state state, uint64_t next_try,
		  struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_JOB_SET, &rc, err);

	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, key);
	(void)sqlite3_bind_int(stmt, 2, (int)state);
	store_bind_next_try(stmt, 3, next_try);
	rc = store_run(s, stmt, err);
	if (rc == 0 && !sqlite3_changes(s->db))
		return errmsg_set(err, -ENOENT, "%s: no such job in the store", key);
	return rc;
}

int store_job_delete(struct store *s, const char *key, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_JOB_DELETE, &rc, err);

	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, key);
	return store_run(s, stmt, err);
}

/* Reads the ids before FN is called, since FN may change the rows that the query walks. */
static int store_ids_due(struct store *s, uint64_t now, size_t max, int64_t *id, size_t *ret_n,
			 struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_JOBS_DUE, &rc, err);
	size_t n = 0;

	if (!stmt)
		return rc;
	store_bind_u64(stmt, 1, now);
	store_bind_u64(stmt, 2, max);
	while (n < max && (rc = store_step(s, stmt, err)) > 0)
		id[n++] = sqlite3_column_int64(stmt, 0);
	(void)sqlite3_reset(stmt);
	*ret_n = n;
	return rc < 0 ? rc : 0;
}

static int store_job_visit(struct store *s, int64_t id, uint64_t now, store_job_fn *fn, void *ctx,
			   struct errmsg *err)
{
	struct store_job job;
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_JOB_BY_ID, &rc, err);

	if (!stmt)
		return rc;
	(void)sqlite3_bind_int64(stmt, 1, id);
	rc = store_step(s, stmt, err);
	if (rc > 0) {
		store_job_read(stmt, &job);
		/* FN may have postponed this job while it handled another one */
		rc = job.next_try <= now ? fn(ctx, &job) : 0;
	}
	if (s->stmt[STMT_JOB_BY_ID])
		(void)sqlite3_reset(s->stmt[STMT_JOB_BY_ID]);
	return rc < 0 ? rc : 0;
}

int store_jobs_pull(struct store *s, uint64_t now, uint64_t pause_max, struct errmsg *err)
{
	uint64_t latest = 0;
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_JOBS_LATEST, &rc, err);

	if (stmt)
		rc = store_number(s, stmt, 0, &latest, err);
	if (rc < 0 || latest <= now + pause_max)
		return rc;
	stmt = store_stmt(s, STMT_JOBS_PULL, &rc, err);
	if (!stmt)
		return rc;
	store_bind_u64(stmt, 1, now);
	store_bind_u64(stmt, 2, now + pause_max);
	return store_run(s, stmt, err);
}

int store_jobs_due(struct store *s, uint64_t now, size_t max, store_job_fn *fn, void *ctx, struct errmsg *err)
{
	int64_t *id = calloc(max ? max : 1, sizeof(*id));
	size_t n = 0;
	size_t i;
	int rc;

	if (!id)
		return errmsg_set(err, -ENOMEM, "out of memory");
	rc = store_ids_due(s, now, max, id, &n, err);
	for (i = 0; i < n && rc == 0; i++)
		rc = store_job_visit(s, id[i], now, fn, ctx, err);
	free(id);
	return rc;
}

int store_jobs_next_due(struct store *s, uint64_t *ret, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_JOBS_NEXT, &rc, err);

	return stmt ? store_number(s, stmt, STORE_NEVER, ret, err) : rc;
}

int store_jobs_last(struct store *s, size_t max, store_job_fn *fn, void *ctx, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_JOBS_LAST, &rc, err);
	struct store_job job;

	if (!stmt)
		return rc;
	store_bind_u64(stmt, 1, max);
	while (rc >= 0 && (rc = store_step(s, stmt, err)) > 0) {
		store_job_read(stmt, &job);
		rc = fn(ctx, &job);
	}
	(void)sqlite3_reset(stmt);
	return rc;
}

/* --- records and sinks -------------------------------------------------------------------------- */

/* *RET is the highest number up to which every configured sink has all records. */
static int store_sinks_min(struct store *s, uint64_t *ret, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_SINKS_MIN, &rc, err);

	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, s->sinks);
	return store_number(s, stmt, /* without a sink: all */ INT64_MAX, ret, err);
}

int store_oldest_end(struct store *s, uint64_t *ret, struct errmsg *err)
{
	uint64_t record = 0;
	uint64_t delivered;
	uint64_t job = 0;
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_OLDEST_JOB, &rc, err);

	if (stmt)
		rc = store_number(s, stmt, 0, &job, err);
	if (rc == 0)
		rc = store_sinks_min(s, &delivered, err);
	if (rc < 0)
		return rc;
	stmt = store_stmt(s, STMT_OLDEST_RECORD, &rc, err);
	if (!stmt)
		return rc;
	store_bind_u64(stmt, 1, delivered);
	rc = store_number(s, stmt, 0, &record, err);
	if (rc == 0)
		*ret = !job || (record && record < job) ? record : job;
	return rc;
}

int store_record_append(struct store *s, enum store_kind kind, const char *key, const char *json, size_t len,
			uint64_t ended, uint64_t *ret_seq, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt;

	if (len > STORE_ROW_MAX)
		return errmsg_set(err, -EMSGSIZE, "%s: a record of %zu bytes is too large", key, len);
	if (store_is_over(s))
		return store_refuse_full(s, err);
	stmt = store_stmt(s, STMT_RECORD_APPEND, &rc, err);
	if (!stmt)
		return rc;
	(void)sqlite3_bind_int(stmt, 1, (int)kind);
	store_bind_u64(stmt, 2, s->now());
	store_bind_u64(stmt, 3, ended);
	store_bind_text(stmt, 4, key);
	(void)sqlite3_bind_text64(stmt, 5, json, len, SQLITE_STATIC, SQLITE_UTF8);
	rc = store_run(s, stmt, err);
	if (rc < 0)
		return rc;
	s->append_seq = (uint64_t)sqlite3_last_insert_rowid(s->db);
	s->has_appended = true;
	if (ret_seq)
		*ret_seq = s->append_seq;
	return 0;
}

static int store_sink_add(struct store *s, const char *name, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_SINK_ADD, &rc, err);

	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, name);
	return store_run(s, stmt, err);
}

int store_set_sinks(struct store *s, const char *names, struct errmsg *err)
{
	char name[sizeof(s->sinks)];
	const char *at = names;
	int rc;

	if (strlen(names) >= sizeof(s->sinks))
		return errmsg_set(err, -ENAMETOOLONG, "%s: too many sinks", names);
	rc = store_begin(s, err);
	if (rc < 0)
		return rc;
	while (rc == 0 && *at) {
		size_t len = strcspn(at, ",");

		memcpy(name, at, len);
		name[len] = '\0';
		if (len)
			rc = store_sink_add(s, name, err);
		at += len + (at[len] == ',');
	}
	if (rc < 0) {
		store_rollback(s);
		return rc;
	}
	(void)snprintf(s->sinks, sizeof(s->sinks), "%s", names);
	return store_commit(s, err);
}

static int store_refusals_add(struct store *s, const char *sink, const struct store_refusal *refusal,
			      size_t n, struct errmsg *err)
{
	int rc = 0;
	size_t i;

	for (i = 0; i < n && rc == 0; i++) {
		sqlite3_stmt *stmt = store_stmt(s, STMT_REFUSED_ADD, &rc, err);

		if (!stmt)
			break;
		store_bind_u64(stmt, 1, refusal[i].seq);
		store_bind_text(stmt, 2, sink);
		store_bind_text(stmt, 3, refusal[i].reason);
		rc = store_run(s, stmt, err);
	}
	return rc;
}

/* Drops refusals of records for which SINK took a later record with the same key, in (FROM, TO]. */
static int store_refusals_replaced(struct store *s, const char *sink, uint64_t from, uint64_t to,
				   struct errmsg *err)
{
	uint64_t any = 0;
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_REFUSED_ANY, &rc, err);

	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, sink);
	rc = store_number(s, stmt, 0, &any, err);
	if (rc < 0 || !any)
		return rc;
	stmt = store_stmt(s, STMT_REFUSED_REPLACED, &rc, err);
	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, sink);
	store_bind_u64(stmt, 2, from);
	store_bind_u64(stmt, 3, to);
	return store_run(s, stmt, err);
}

static int store_cursor_move(struct store *s, const char *sink, uint64_t seq, uint64_t *ret_from,
			     struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_SINK_GET, &rc, err);

	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, sink);
	rc = store_number(s, stmt, 0, ret_from, err);
	if (rc < 0 || seq <= *ret_from)
		return rc;
	stmt = store_stmt(s, STMT_SINK_SET, &rc, err);
	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, sink);
	store_bind_u64(stmt, 2, seq);
	return store_run(s, stmt, err);
}

int store_sink_settle(struct store *s, const char *sink, uint64_t seq, const struct store_refusal *refusal,
		      size_t n, struct errmsg *err)
{
	uint64_t from = 0;
	int rc = store_begin(s, err);

	if (rc < 0)
		return rc;
	rc = store_cursor_move(s, sink, seq, &from, err);
	if (rc == 0)
		rc = store_refusals_add(s, sink, refusal, n, err);
	if (rc == 0)
		rc = store_refusals_replaced(s, sink, from, seq, err);
	if (rc == 0)
		return store_commit(s, err);
	store_rollback(s);
	return rc;
}

void store_wait_records(struct store *s, uint64_t *seen, uint64_t timeout_ns)
{
	struct timespec until = clock_ns_to_timespec(clock_mono_ns() + timeout_ns);

	(void)pthread_mutex_lock(&s->wait_lock);
	while (s->last_seq <= *seen && !s->no_waits)
		if (pthread_cond_timedwait(&s->has_records, &s->wait_lock, &until))
			break;
	if (s->last_seq > *seen)
		*seen = s->last_seq;
	(void)pthread_mutex_unlock(&s->wait_lock);
}

void store_end_waits(struct store *s)
{
	(void)pthread_mutex_lock(&s->wait_lock);
	s->no_waits = true;
	(void)pthread_cond_broadcast(&s->has_records);
	(void)pthread_mutex_unlock(&s->wait_lock);
}

/* --- meta --------------------------------------------------------------------------------------- */

int store_meta_get(struct store *s, const char *name, void *buf, size_t size, size_t *ret_len,
		   struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_META_GET, &rc, err);
	size_t len;

	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, name);
	rc = store_step(s, stmt, err);
	if (rc > 0) {
		const void *data = sqlite3_column_blob(stmt, 0);

		len = (size_t)sqlite3_column_bytes(stmt, 0);
		if (len > size)
			rc = errmsg_set(err, -EMSGSIZE, "meta %s has %zu bytes", name, len);
		else if (len)
			memcpy(buf, data, len);
		if (rc > 0)
			*ret_len = len;
	}
	(void)sqlite3_reset(stmt);
	return rc;
}

int store_meta_set(struct store *s, const char *name, const void *data, size_t len, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_META_SET, &rc, err);

	if (!stmt)
		return rc;
	store_bind_text(stmt, 1, name);
	/* without "" SQLite would store NULL */
	(void)sqlite3_bind_blob64(stmt, 2, len ? data : "", len, SQLITE_STATIC);
	return store_run(s, stmt, err);
}

/* --- upkeep ------------------------------------------------------------------------------------- */

static int store_reclaim_rows(struct store *s, enum store_stmt which, uint64_t before, size_t max,
			      struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, which, &rc, err);

	if (!stmt)
		return rc;
	store_bind_u64(stmt, 1, before);
	store_bind_u64(stmt, 2, max);
	rc = store_run(s, stmt, err);
	return rc < 0 ? rc : sqlite3_changes(s->db);
}

/* Shrinks a file that a backlog made large, by 16 MB at a time. */
static int store_shrink(struct store *s, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt;

	if (s->free_pages * s->page_bytes < 64 << 20 || s->free_pages < s->pages / 2)
		return 0;
	stmt = store_stmt(s, STMT_VACUUM, &rc, err);
	if (!stmt)
		return rc;
	/* each step frees one page */
	while ((rc = store_step(s, stmt, err)) > 0)
		;
	(void)sqlite3_reset(stmt);
	return rc;
}

int store_reclaim(struct store *s, uint64_t jobs_before, struct errmsg *err)
{
	uint64_t delivered = 0;
	int records = 0;
	int jobs = 0;
	int rc = store_begin(s, err);

	if (rc < 0)
		return rc;
	rc = store_sinks_min(s, &delivered, err);
	if (rc == 0)
		rc = records = store_reclaim_rows(s, STMT_RECLAIM_RECORDS, delivered, STORE_RECLAIM_MAX, err);
	if (rc >= 0)
		rc = jobs = store_reclaim_rows(s, STMT_RECLAIM_JOBS, jobs_before, STORE_RECLAIM_MAX, err);
	if (rc >= 0)
		rc = store_shrink(s, err);
	if (rc < 0) {
		store_rollback(s);
		return rc;
	}
	rc = store_commit(s, err);
	return rc < 0 ? rc : records + jobs;
}

int store_reclaim_jobs(struct store *s, uint64_t jobs_before, uint64_t kept, struct errmsg *err)
{
	sqlite3_stmt *stmt;
	int n;
	int rc = store_begin(s, err);

	if (rc < 0)
		return rc;
	stmt = store_stmt(s, STMT_RECLAIM_OLD_JOBS, &rc, err);
	if (stmt) {
		store_bind_u64(stmt, 1, jobs_before);
		store_bind_u64(stmt, 2, STORE_RECLAIM_MAX);
		store_bind_u64(stmt, 3, kept);
		rc = store_run(s, stmt, err);
	}
	if (rc < 0) {
		store_rollback(s);
		return rc;
	}
	n = sqlite3_changes(s->db);
	rc = store_commit(s, err);
	return rc < 0 ? rc : n;
}

bool store_is_stuck(struct store *s)
{
	uint64_t since = s->busy_since_ns;
	uint64_t now = clock_mono_ns();

	if (!since || now < since + STUCK_NS)
		return false;
	if (!atomic_exchange(&s->is_stuck_told, true))
		logger_error("ceems: store: the disk of %s has not answered for %" PRIu64
			     " s; job ends wait in the inbox",
			     s->path, (now - since) / NSEC_PER_SEC);
	return true;
}

void store_get_size(struct store *s, struct store_size *ret)
{
	*ret = (struct store_size){ .used_bytes = s->used_bytes,
				    .max_bytes = s->max_bytes,
				    .is_full = store_is_full(s),
				    .is_over = store_is_over(s) };
}
