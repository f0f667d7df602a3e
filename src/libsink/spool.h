/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool.h - the durable queue between jobcomp and the sinks: append-only segment files
 * "NNNNNNNNNN.seg" in one folder, entries of length, kind, CRC32C and data, and one cursor file per
 * reader ("kafka.cur"). One writer at a time (flock on "lock", and "owner" where that fails);
 * ceems-spool(5) describes the bytes.
 *
 * A segment is deleted when every cursor that was opened in this process is past it (and see
 * spool_cursor_spare()), so open all of them before the first spool_ack(). The cursor file of a sink that
 * is no longer configured holds nothing back; when the sink comes back, it goes on at the oldest entry
 * there still is.
 *
 * A process never appends to another's segment: it starts one of its own with its first entry. So
 * a position is never used twice, and a cursor that got ahead of what a crash left cannot skip
 * anything new. Memory does not grow with the number of entries. Not for two threads at once.
 */
#ifndef CEEMS_SPOOL_H
#define CEEMS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

/*
 * A job's record enters twice: as PENDING at once, when slurmctld tells its end (so that a crash
 * loses nothing), and as RECORD when its energy is final. The finaliser is a reader of its own
 * whose cursor stays at the oldest PENDING that has no RECORD yet. What is for whom:
 */
enum spool_kind {
	SPOOL_PENDING = 1,  /* finaliser: a record of what the hook knew */
	SPOOL_RECORD = 2,   /* sinks: JSON of schema ceems.job.v1 */
	SPOOL_FOLLOWUP = 3, /* finaliser: a RECORD that lacked something, to be corrected */
	SPOOL_STEPS = 4,    /* sinks: steps that RECORD had no room for, ceems.steps.v1 */
	SPOOL_START = 5,    /* sinks: a job began, ceems.job_start.v1 */
	SPOOL_KEY = 6,	    /* finaliser: as PENDING, but with no more than the key; see feed.h */
};
#define SPOOL_MASK(kind) (1u << (kind))

/* "record" ...; "unknown" for one of a later version. */
const char *spool_kind_name(enum spool_kind kind);
/* The inverse; 0: no such name. */
enum spool_kind spool_kind_by_name(const char *name);

struct spool;

struct spool_pos {
	uint64_t segment;
	uint64_t offset;
};

struct spool_entry {
	enum spool_kind kind;
	struct spool_pos pos;  /* of this entry */
	struct spool_pos next; /* of the one behind it: what a cursor is set to */
	const char *key;       /* borrowed until the next spool_read() of that cursor */
	size_t key_len;
	const char *data;      /* the same */
	size_t len;
};

struct spool_stats {
	uint64_t bytes;	     /* of all segments */
	uint64_t segments;
	uint64_t entries_appended; /* by this process, as the next three */
	uint64_t refused_full;	   /* appends that ended with -ENOSPC */
	uint64_t torn_bytes;	   /* set aside at open */
	uint64_t damaged;	   /* places that a reader had to skip; once per reader */
	uint64_t sync_failures;	   /* of spool_sync(), by whoever called it */
};

#define SPOOL_KEY_MAX 1024
#define SPOOL_DATA_MAX (UINT32_C(4) << 20)

/*
 * Opens or creates the folder (0700). A torn tail is moved to "NNNNNNNNNN.torn" and reported in
 * the stats. -EBUSY: another writer (after `scontrol reconfigure` for a moment the daemon's
 * predecessor: try again); -ENOSPC, -EROFS, -EACCES as the file system says.
 */
int spool_open(const char *dir, uint64_t max_bytes, struct spool **ret, struct errmsg *err);
void spool_close(struct spool *s);

/*
 * Appends; durable after the next spool_sync(). -ENOSPC: max_bytes or the disk is full, what is in
 * the spool stays; -EMSGSIZE: over SPOOL_KEY_MAX or SPOOL_DATA_MAX.
 */
int spool_append(struct spool *s, enum spool_kind kind, const char *key, const void *data,
		 size_t len, struct errmsg *err);
/*
 * fdatasync, once for a batch. After an error the kernel may have dropped what was appended since
 * the last success, though it can still be read: append it again (keys make a repeat harmless).
 * -ESTALE, the same: another process took the spool over, which only happens where the lock did not
 * keep it out. What is appended from now on is for its next start or segment; readers here go
 * on with what there was. The error is told once: who shares the spool and syncs at other times
 * than he appends looks at sync_failures.
 */
int spool_sync(struct spool *s, struct errmsg *err);

/*
 * Segments that every reader is past stay for some time after their last entry nevertheless, an eighth
 * of MAX_BYTES of them at most and none when room is needed: for who asks what came in last
 * (census.h). 0: they go at once.
 */
void spool_keep_recent(struct spool *s, unsigned int seconds);

struct spool_cursor;

/*
 * A reader by name (letters, digits, '-', '_'); starts where its file says, a new one and one
 * whose file cannot be read at the oldest entry. -EBUSY: open already. Close it before the spool.
 */
int spool_cursor_open(struct spool *s, const char *name, struct spool_cursor **ret,
		      struct errmsg *err);
/* What it held back it holds back until the spool is closed: readers do not end all at once. */
void spool_cursor_close(struct spool_cursor *c);

/*
 * What the reader can do without when the spool is full: a segment of nothing but KINDS
 * (SPOOL_MASK()s) that only such readers still hold back is deleted then. Else one that waits at
 * an old entry would keep out the new one which it needs to get on.
 */
void spool_cursor_spare(struct spool_cursor *c, unsigned int kinds);

/* The next entry; 1: there is one, 0: none now, -errno. Damaged entries are skipped and counted. */
int spool_read(struct spool_cursor *c, struct spool_entry *ret, struct errmsg *err);

/* Back to the acknowledged position, for another try. */
void spool_rewind(struct spool_cursor *c);

/*
 * Everything before POS is done for this reader; segments may go. The file is replaced in one
 * rename but not synced: what a power cut takes back is delivered again. On an error (disk full)
 * only the file is behind, the reader goes on. -ESTALE: as spool_sync().
 */
int spool_ack(struct spool_cursor *c, const struct spool_pos *pos, struct errmsg *err);

/* Where the next entry goes, or behind it: everything that is in the spool now is before it. */
struct spool_pos spool_tail(const struct spool *s);

/* The spool's folder, for what is kept beside the segments. */
const char *spool_dir(const struct spool *s);

void spool_get_stats(const struct spool *s, struct spool_stats *ret);

#endif
