/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_internal.h - what the writer (spool.c) and the readers (spool_cursor.c) share.
 */
#ifndef CEEMS_SPOOL_INTERNAL_H
#define CEEMS_SPOOL_INTERNAL_H

#include <limits.h>

#include "src/libsink/frame.h"
#include "src/libsink/spool.h"

struct spool_segment {
	uint64_t number;
	uint64_t size; /* whole entries only; what is behind it is not there */
	unsigned int kinds; /* SPOOL_MASK() of what is in it, as spool_kind_mask() has it */
};

/* Of a segment that another process began, until spool_reclaim() looks into it. */
#define SPOOL_KINDS_UNKNOWN (~0u)

/* That of a kind which is none of ours is in no reader's mask. */
static inline unsigned int spool_kind_mask(unsigned int kind)
{
	return kind < 31 ? SPOOL_MASK(kind) : SPOOL_MASK(31);
}

struct spool {
	char dir[PATH_MAX];
	int dir_fd;
	int lock_fd;
	bool is_locked;	  /* false: the file system has no locks */
	bool is_fenced;	  /* another process took the spool over; see spool_owner.c */
	char token[128];  /* what we wrote into "owner"; empty: nothing */
	char orphan[160]; /* name of what is written to since, */
	int orphan_fd;	  /* -1: none, */
	uint64_t orphan_size;
	unsigned int norphans;
	int seg_fd; /* of the last segment, if it is ours to append to; -1: none yet */
	bool is_dirty;
	bool is_unvouched; /* entries in segments that no spool_sync() has confirmed */
	int sync_rc; /* a sync that failed while a segment was closed; told by the next one */
	uint64_t max_bytes;
	unsigned int keep_s; /* spool_keep_recent() */
	uint64_t segment_max;
	uint64_t next_number;
	struct spool_segment *seg; /* ascending */
	size_t nseg;
	size_t seg_room;
	struct spool_stats stats;
	struct spool_cursor *cursors; /* open ones */
};

struct spool_cursor {
	struct spool *spool;
	struct spool_cursor *next;
	bool is_closed; /* it holds back what it did until the spool is closed */
	char name[64];
	struct spool_pos acked;
	struct spool_pos at;   /* where the next spool_read() looks */
	unsigned int spared;   /* see spool_cursor_spare() */
	struct spool_pos damage_seen; /* last place counted, so that a rewind does not count twice */
	int fd;		       /* of segment fd_number; -1: none */
	uint64_t fd_number;
	uint8_t *buf;	       /* window [buf_at, buf_at + buf_len) of that segment */
	size_t buf_room;
	uint64_t buf_at;
	size_t buf_len;
};

/* Of spool_close(). */
void spool_cursors_free(struct spool *s);

#define SPOOL_NAME_MAX 32
/* "%010llu.seg" and friends into NAME. */
void spool_segment_name(char name[SPOOL_NAME_MAX], uint64_t number, const char *suffix);
/* Behind the others. */
int spool_push_segment(struct spool *s, uint64_t number, uint64_t size);
/* Takes up segment next_number, which another process began. */
int spool_segment_find(struct spool *s);

/* --- spool_owner.c ------------------------------------------------------------------------ */

/* Before the folder is looked at. */
int spool_owner_take(struct spool *s, struct errmsg *err);

/* False: another process has the spool now, for good. */
bool spool_owner_is_us(struct spool *s);

/* What is written when it has. -ESTALE: the file was taken, what it got last is to be written again. */
int spool_orphan_open(struct spool *s);
int spool_orphan_sync(struct spool *s);

/* Makes segments of those there are. */
void spool_orphans_adopt(struct spool *s);
/* Makes the file NAME the last segment, if the spool is still ours. */
void spool_adopt(struct spool *s, const char *name);

/* --- spool_later.c ------------------------------------------------------------------------ */

/* Before a reader goes past an entry of SEG whose kind is not known. */
int spool_later_keep(struct spool *s, const struct spool_segment *seg, struct errmsg *err);

/* Segments that are not in our layout are none of ours. */
int spool_later_set_aside(struct spool *s, struct errmsg *err);

/* Makes segments of what was kept, where all of a file is known now. */
void spool_later_adopt(struct spool *s);

/* ------------------------------------------------------------------------------------------ */

/* "0000000012.seg" -> 12; 0: another file. Numbers start at 1. */
uint64_t spool_segment_number(const char *name);
/* The same of "0000000012SUFFIX". */
uint64_t spool_file_number(const char *name, const char *suffix);

/* False: one of a later version. */
bool spool_knows_kind(unsigned int kind);

/* --- spool_reclaim.c ---------------------------------------------------------------------- */

/* Every open cursor is past it; IS_FULL: or spares it. */
bool spool_may_go(const struct spool *s, const struct spool_segment *seg, bool is_full);

/* Deletes the segments that may go, without the one that is appended to. */
void spool_reclaim(struct spool *s, bool is_full);

/* ------------------------------------------------------------------------------------------ */

/* The first segment that is NUMBER or later, NULL: none. */
const struct spool_segment *spool_segment_from(const struct spool *s, uint64_t number);

/* Reads the cursor file FILE of DIR. -ENOENT, or -EINVAL: not one that was written whole. */
int spool_cursor_load(const char *dir, const char *file, struct spool_pos *ret,
		      struct errmsg *err);

/*
 * A cursor without a place of its own, for looking at one file of the spool; fd is -errno where that
 * cannot be opened. NUMBER is the segment's.
 */
struct spool_cursor spool_look(struct spool *s, const char *name, uint64_t number);
void spool_look_end(struct spool_cursor *c);
#define _cleanup_look_ _cleanup_(spool_look_end)

/*
 * Of a cursor of spool_look(), or with fd and fd_number set by the caller. Finds the next intact
 * entry at or after *AT and before END. 1: it is at *AT, in the window at *ret_buf; 0: none, *AT is
 * END. *ret_skipped: bytes had to be skipped.
 */
int spool_cursor_scan(struct spool_cursor *c, uint64_t *at, uint64_t end, struct frame *ret,
		      const uint8_t **ret_buf, bool *ret_skipped);

#endif
