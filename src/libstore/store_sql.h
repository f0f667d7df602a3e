/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_sql.h - all SQL statements of the store's writer, and the tables. ceems-store(5) describes
 * the tables. The queries of readers are in store_view.c.
 */
#ifndef CEEMS_STORE_SQL_H
#define CEEMS_STORE_SQL_H

#define STORE_APPLICATION_ID 1667589485 /* "ceem" */
#define STORE_LAYOUT 1			/* PRAGMA user_version */

/* page_size and auto_vacuum take effect only while the file is empty and not yet in WAL mode. */
#define STORE_SQL_FILE             \
	"PRAGMA page_size = 8192;" \
	"PRAGMA auto_vacuum = INCREMENTAL;"

/* synchronous=FULL: a power cut undoes nothing that was committed. */
#define STORE_SQL_CONNECTION                                                                      \
	"PRAGMA synchronous = FULL;"                                                              \
	"PRAGMA cell_size_check = ON;"                                                            \
	"PRAGMA trusted_schema = OFF;"                                                            \
	"PRAGMA wal_autocheckpoint = 250;" /* 2 MB, so that the log does not fill a small disk */ \
	"PRAGMA journal_size_limit = 67108864;"

#define STORE_SQL_TABLES                                                                 \
	"CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;"                \
	"CREATE TABLE job ("                                                             \
	" id INTEGER PRIMARY KEY,"                                                       \
	" key TEXT NOT NULL UNIQUE,"                                                     \
	" state INTEGER NOT NULL," /* enum store_job_state */                            \
	" next_try INTEGER,"	   /* NULL: nothing to do */                             \
	" ended INTEGER NOT NULL,"                                                       \
	" facts BLOB);"                                                                  \
	"CREATE INDEX job_next_try ON job (next_try) WHERE next_try IS NOT NULL;"        \
	"CREATE INDEX job_state ON job (state, ended);"                                  \
	"CREATE TABLE record ("                                                          \
	" seq INTEGER PRIMARY KEY AUTOINCREMENT," /* no number is used twice */          \
	" kind INTEGER NOT NULL,"		  /* enum store_kind */                  \
	" time INTEGER NOT NULL,"                                                        \
	" ended INTEGER NOT NULL,"                                                       \
	" key TEXT NOT NULL,"                                                            \
	" json TEXT NOT NULL);"                                                          \
	"CREATE INDEX record_key ON record (key);"                                       \
	"CREATE INDEX record_ended ON record (ended) WHERE ended > 0;"                   \
	"CREATE TABLE sink (name TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;" \
	"CREATE TABLE refused ("                                                         \
	" seq INTEGER NOT NULL,"                                                         \
	" sink TEXT NOT NULL,"                                                           \
	" reason TEXT NOT NULL,"                                                         \
	" PRIMARY KEY (seq, sink)) WITHOUT ROWID;"

/* X(name, text) */
#define STORE_STATEMENTS(X)                                                                                \
	X(BEGIN, "BEGIN IMMEDIATE")                                                                        \
	X(BEGIN_READ, "BEGIN")                                                                             \
	X(COMMIT, "COMMIT")                                                                                \
	X(ROLLBACK, "ROLLBACK")                                                                            \
	X(PAGES, "PRAGMA page_count")                                                                      \
	X(FREE_PAGES, "PRAGMA freelist_count")                                                             \
	X(PAGE_SIZE, "PRAGMA page_size")                                                                   \
	X(VACUUM, "PRAGMA incremental_vacuum(2000)")                                                       \
	X(LAST_SEQ, "SELECT seq FROM sqlite_sequence WHERE name = 'record'")                               \
	X(META_GET, "SELECT value FROM meta WHERE name = ?1")                                              \
	X(META_SET, "INSERT OR REPLACE INTO meta VALUES (?1, ?2)")                                         \
	X(JOB_UPDATE, "UPDATE job SET state = ?2, next_try = ?3, ended = ?4, facts = ?5 "                  \
		      "WHERE key = ?1")                                                                    \
	X(JOB_INSERT, "INSERT INTO job (key, state, next_try, ended, facts) "                              \
		      "VALUES (?1, ?2, ?3, ?4, ?5)")                                                       \
	X(JOB_GET, "SELECT key, state, next_try, ended, facts FROM job WHERE key = ?1")                    \
	X(JOB_SET, "UPDATE job SET state = ?2, next_try = ?3 WHERE key = ?1")                              \
	X(JOB_DELETE, "DELETE FROM job WHERE key = ?1")                                                    \
	X(JOBS_DUE, "SELECT id FROM job WHERE next_try <= ?1 ORDER BY next_try LIMIT ?2")                  \
	X(JOBS_LATEST, "SELECT MAX(next_try) FROM job WHERE next_try IS NOT NULL")                         \
	X(JOBS_PULL, "UPDATE job SET next_try = ?1 WHERE next_try > ?2")                                   \
	X(JOB_BY_ID, "SELECT key, state, next_try, ended, facts FROM job WHERE id = ?1")                   \
	X(JOBS_NEXT, "SELECT MIN(next_try) FROM job WHERE next_try IS NOT NULL")                           \
	X(JOBS_LAST, "SELECT key, state, next_try, ended, NULL FROM job ORDER BY id DESC LIMIT ?1")        \
	X(OLDEST_JOB, "SELECT MIN(ended) FROM job WHERE state = 1 AND ended > 0")                          \
	X(OLDEST_RECORD, "SELECT ended FROM record WHERE ended > 0 AND seq > ?1 "                          \
			 "ORDER BY ended LIMIT 1")                                                         \
	X(RECORD_APPEND, "INSERT INTO record (kind, time, ended, key, json) "                              \
			 "VALUES (?1, ?2, ?3, ?4, ?5)")                                                    \
	X(SINK_ADD, "INSERT OR IGNORE INTO sink VALUES (?1, 0)")                                           \
	X(SINK_GET, "SELECT seq FROM sink WHERE name = ?1")                                                \
	X(SINK_SET, "INSERT OR REPLACE INTO sink VALUES (?1, ?2)")                                         \
	/* ?1: sink names joined by commas */                                                              \
	X(SINKS_MIN, "SELECT MIN(seq) FROM sink "                                                          \
		     "WHERE instr(',' || ?1 || ',', ',' || name || ',') > 0")                              \
	X(REFUSED_ADD, "INSERT OR REPLACE INTO refused VALUES (?1, ?2, ?3)")                               \
	X(REFUSED_ANY, "SELECT 1 FROM refused WHERE sink = ?1 LIMIT 1")                                    \
	/* refusals of records whose later version, numbered in (?2, ?3], was taken */                     \
	X(REFUSED_REPLACED, "DELETE FROM refused WHERE sink = ?1 AND seq IN ("                             \
			    "SELECT o.seq FROM record n "                                                  \
			    "CROSS JOIN record o ON o.key = n.key AND o.kind = n.kind AND o.seq < n.seq "  \
			    "WHERE n.seq > ?2 AND n.seq <= ?3 AND NOT EXISTS ("                            \
			    "SELECT 1 FROM refused r WHERE r.seq = n.seq AND r.sink = ?1))")               \
	X(RECLAIM_RECORDS, "DELETE FROM record WHERE seq IN ("                                             \
			   "SELECT seq FROM record WHERE seq <= ?1 AND NOT EXISTS ("                       \
			   "SELECT 1 FROM refused WHERE refused.seq = record.seq) ORDER BY seq LIMIT ?2)") \
	X(RECLAIM_JOBS,                                                                                    \
	  "DELETE FROM job WHERE id IN ("                                                                  \
	  "SELECT id FROM job WHERE state IN (2, 3) AND ended < ?1 AND next_try IS NULL LIMIT ?2)")        \
	/* by id, which finds at once that there are too few; the index of states has all finished jobs */ \
	X(RECLAIM_OLD_JOBS,                                                                                \
	  "DELETE FROM job WHERE id IN ("                                                                  \
	  "SELECT id FROM job WHERE id <= (SELECT MAX(id) FROM job) - ?3 "                                 \
	  "AND +state IN (2, 3) AND ended < ?1 AND next_try IS NULL ORDER BY id LIMIT ?2)")

#endif
