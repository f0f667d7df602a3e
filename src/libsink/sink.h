/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink.h - one interface for the places where records go. A new sink needs its folder src/libsink/NAME and
 * its row in src/libcore/sinks.def; doc/architecture.md says what is in the folder. A record may be delivered
 * twice; the record's key makes a repeat harmless. Only one thread may use an open sink.
 */
#ifndef CEEMS_SINK_H
#define CEEMS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libcore/settings.h"
#include "src/libstore/store.h"
#include "src/libutil/errmsg.h"

struct db_options;
struct db_walk;
struct sink; /* opaque, one per open sink */

struct sink_item {
	enum store_kind kind; /* one of the sink's kinds */
	const char *key;
	size_t key_len;
	const char *json; /* as it is in the store */
	size_t json_len;
	/* The caller numbers its items. The numbers of unsettled items differ by less than max_batch. */
	uint64_t seq;
	char *why; /* the reason of SINK_REFUSED, from sink_refuse(); the owner of the item frees it */
	/*
	 * With SINK_ACKED: this item and others of its request were taken, but not all that is in
	 * them, for the reason WHY.
	 */
	bool is_partial;
};

/* What became of an item of a batch. */
enum sink_result {
	SINK_RETRY, /* not taken: the caller passes the item again */
	SINK_SENT,  /* on its way: a later call says whether it was taken */
	SINK_ACKED,
	SINK_REFUSED, /* not accepted as it is; the caller decides whether to set it aside */
};

/* Level of a finding for `ceems check`. */
enum sink_health {
	SINK_GOOD,
	SINK_WARN, /* the sink works in part, or records wait in the store until it works again */
	SINK_WRONG,
};
/*
 * Reports the finding TEXT to `ceems check`. HINT says what to type; it is NULL with SINK_GOOD. SETTING is
 * what HINT changes; SETTING_N: nothing in ceems.conf.
 */
typedef void sink_tell_fn(void *ctx, enum sink_health health, enum setting setting, const char *hint,
			  const char *text);

/* A setting that names a file of the sink: its key, and its offset in struct settings. */
struct sink_setting {
	const char *key; /* NULL: there is none */
	enum setting id;
	size_t offset;
};
#define SINK_SETTING(name, member)                                                                 \
	{                                                                                          \
		.key = (name), .id = SETTING_##member, .offset = offsetof(struct settings, member) \
	}

/* A sink that is a database: functions for `ceems db` and `ceems report`. */
struct sink_db {
	int (*migrate)(const struct settings *s, const struct db_options *options, struct errmsg *err);
	int (*maintain)(const struct settings *s, const struct db_options *options, struct errmsg *err);
	/*
	 * Calls REPORT for each line of `ceems db status`. If DEFAULTS_FILE is NULL,
	 * uses MariadbDefaultsFile.
	 */
	int (*status)(const struct settings *s, const char *defaults_file,
		      void (*report)(void *ctx, const char *line), void *ctx, struct errmsg *err);
	/* Calls W->each for each job that ended between W->from and W->to. */
	int (*walk)(const struct settings *s, const struct db_walk *w, struct errmsg *err);
	/*
	 * Counts the deleted jobs that ended between FROM and TO (Unix seconds). Whole days are counted, so
	 * some jobs may have ended before FROM or after TO.
	 */
	int (*gone)(const struct settings *s, uint64_t from, uint64_t to, uint64_t *ret, struct errmsg *err);
	struct sink_setting file; /* the setting that says where the database is */
};

struct sink_ops {
	const char *name; /* as in sinks.def */
	/*
	 * STORE_MASK() of each kind of record that the sink gets. STORE_RECORD and STORE_STEPS are the ends
	 * of jobs, which each sink takes; STORE_START is the start of a job, for those who follow jobs as
	 * they run.
	 */
	unsigned int kinds;
	size_t max_batch; /* most items in one call of deliver() */
	/*
	 * Most bytes of keys and records in one call; 0: 4 MiB. A larger record goes alone. A sink that
	 * refuses all records may get more, because deliver.c looks for one that the sink takes.
	 */
	size_t max_bytes;
	/* Checks the configuration and makes the client. Does not need a running server. */
	int (*open)(const struct settings *s, struct sink **ret, struct errmsg *err);
	/*
	 * Delivers N items within about TIMEOUT_NS and sets the RESULT of each; use sink_refuse() for
	 * SINK_REFUSED. Returns 0 if at least the first item is settled (acknowledged or refused), or
	 * if N is 0. -EAGAIN: trouble, with the reason in ERR; the caller waits before the next call.
	 *
	 * A sink may leave an item SINK_SENT. The next call passes this item again, before new items,
	 * with RESULT still SINK_SENT. If a call has no new items, the sink waits for all sent items.
	 * After an item that is SINK_RETRY, no item may be SINK_SENT. A sink that does not use
	 * SINK_SENT treats every item as new.
	 */
	int (*deliver)(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
		       uint64_t timeout_ns, struct errmsg *err);
	void (*close)(struct sink *k); /* returns within about a second */

	struct sink_setting secret; /* a file that only SlurmUser may read */
	bool may_lack_secret;
	/*
	 * A file that SlurmUser writes, whose setting must not be empty. `ceems check` looks at its folder,
	 * and says that records wait in the store if its file server hangs.
	 */
	struct sink_setting output;
	struct sink_setting trust; /* a file with certificates; may be empty */
	/* Tests the server or file for `ceems check`. The file of SECRET exists. NULL: nothing to test. */
	void (*check)(const struct settings *s, sink_tell_fn *tell, void *ctx);
	const struct sink_db *db; /* NULL: the sink is no database */
};

/* --- sink_table.c ------------------------------------------------------------------------------- */

/* Returns the sink NAME; mysql is another name of mariadb. NULL: this build has no such sink. */
const struct sink_ops *sink_find(const char *name);

/*
 * Returns true if we are root and a file that SINK reads belongs to another account, *RET (as_owner.h): its
 * secret, database or certificates. FILE, if it is not NULL, is used in the place of the secret.
 */
bool sink_is_others(const struct sink_ops *sink, const struct settings *s, const char *file, uid_t *ret);

/* Returns true if the setting KEY is the output of a sink of this build. */
bool sink_writes(const char *key);

/* --- sink.c ------------------------------------------------------------------------------------- */

/*
 * Keeps items with the same key in order: an item that is SINK_ACKED behind a SINK_RETRY of the same key
 * becomes SINK_RETRY, too. Keys are compared by hash, so now and then an item is repeated needlessly.
 */
void sink_keep_order(const struct sink_item *item, size_t n, enum sink_result *result);

/* Sets *RESULT to SINK_REFUSED, and ITEM's reason to a copy of WHY. */
void sink_refuse(struct sink_item *item, enum sink_result *result, const char *why);

/* Returns the reason for which ITEM was refused, valid until the item is freed. */
const char *sink_why(const struct sink_item *item);

/* --- the rows of the table, each in its file ---------------------------------------------------- */

#define SINK(name, have) extern const struct sink_ops sink_##name;
#include "src/libcore/sinks.def"
#undef SINK

#endif
