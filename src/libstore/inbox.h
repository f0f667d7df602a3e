/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inbox.h - what slurmctld's plugin tells ceems-recorder: append-only files with checksums in
 * InboxDir, a folder on a local disk. jobcomp/ceems writes, and ceems-recorder reads. Neither waits
 * for the other, and each may be killed at any moment.
 *
 * Files are "inbox-<16 hex digits>", read in the order of their names. The writer begins a new file
 * when it starts and every INBOX_FILE_BYTES. The reader deletes a file when the store has all of
 * it. An entry may come twice; the keys of the store's jobs make a repeat harmless.
 *
 * A file is a header (struct inbox_header in inbox.c) and frames, in the byte order of the host: length and
 * kind of the entry, CRC-32C of both and of the entry, the entry, zeros up to a multiple of 8 bytes.
 */
#ifndef CEEMS_INBOX_H
#define CEEMS_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libstore/job_facts.h"
#include "src/libutil/errmsg.h"

#define INBOX_FILE_BYTES ((uint64_t)8 << 20)
/* Above this size of all files the writer gets -ENOSPC, so that entries nobody reads do not fill the disk. */
#define INBOX_MAX_BYTES ((uint64_t)1 << 30)
#define INBOX_ENTRY_MAX ((size_t)256 << 10)

/* The numbers are in the files. */
enum inbox_kind {
	INBOX_BEGIN = 1, /* no data: the plugin was loaded; what the plugin before it had not written is lost */
	INBOX_END = 2,	 /* the used part of struct job_facts: a job ended */
	INBOX_START = 3, /* the same: a job began */
	INBOX_KEY = 4,	 /* struct job_key: a job ended, and the queue had no room for more */
	INBOX_LOST = 5,	 /* uint64_t: number of job ends that have no entry at all; 0: the number is unknown */
	INBOX_SITE = 6,	 /* struct job_site, the first entry of each file */
	INBOX_HOOK = 7,	 /* struct hook_cost */
};

/* --- the writer; one thread ---------------------------------------------------------------------- */

struct inbox_writer;

/*
 * Makes DIR (0700), whose parent must exist, and begins a file. SITE goes to the head of each file. -EREMOTE: DIR is on
 * a network file system, which may hang.
 */
int inbox_writer_open(const char *dir, const struct job_site *site, struct inbox_writer **ret,
		      struct errmsg *err);
/* Entries that were not flushed are lost. */
void inbox_writer_close(struct inbox_writer *w);

/* Copies an entry, in memory only. -EMSGSIZE: above INBOX_ENTRY_MAX; -ENOMEM. */
int inbox_append(struct inbox_writer *w, enum inbox_kind kind, const void *data, size_t len);
/*
 * 0: everything appended is on the disk. Else the entry is kept, and the next call goes on where
 * this one failed. -ENOSPC: the disk is full, or INBOX_MAX_BYTES is reached. Other errors are the
 * disk's.
 */
int inbox_flush(struct inbox_writer *w, struct errmsg *err);

/* --- the reader; one thread ---------------------------------------------------------------------- */

/* Everything before this position was read. All zero: nothing was. */
struct inbox_pos {
	uint64_t file;	 /* number in its name */
	uint64_t offset;
};

struct inbox_entry {
	enum inbox_kind kind;
	const void *data; /* aligned to 8 bytes; valid until the next call */
	size_t len;
};

struct inbox_reader;

/* -ENOENT: there is no folder yet; -EREMOTE as above. Continues at FROM. */
int inbox_reader_open(const char *dir, const struct inbox_pos *from, struct inbox_reader **ret,
		      struct errmsg *err);
void inbox_reader_close(struct inbox_reader *r);

/*
 * 1: an entry; 0: no more now. Damage in the middle of a file is logged, and the file is renamed to
 * "damaged-<number>". One INBOX_LOST comes instead of the rest of its entries. -errno: the disk's.
 */
int inbox_read(struct inbox_reader *r, struct inbox_entry *ret, struct errmsg *err);
/* The position behind the entry that was read last. */
void inbox_reader_get_pos(const struct inbox_reader *r, struct inbox_pos *ret);
/* Goes back to POS, from inbox_reader_get_pos(), when the entries read since could not be kept. */
void inbox_reader_rewind(struct inbox_reader *r, const struct inbox_pos *pos);
/* POS is in the store: deletes the files before it. */
void inbox_reader_release(struct inbox_reader *r, const struct inbox_pos *pos);
/* Poll this descriptor for POLLIN: there may be more entries. Calling inbox_read() until it returns 0 empties it. */
int inbox_reader_fd(const struct inbox_reader *r);

/* --- for `ceems check` and messages --------------------------------------------------------------- */

struct inbox_status {
	uint64_t files, bytes;
	uint64_t unread; /* bytes behind FROM */
	uint64_t oldest; /* seconds since the epoch: last write of the first file with unread bytes; 0: no such file */
};
/* FROM: everything before it was read; all zero: nothing was. */
int inbox_get_status(const char *dir, const struct inbox_pos *from, struct inbox_status *ret,
		     struct errmsg *err);

#endif
