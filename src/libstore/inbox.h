/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inbox.h - carries entries from slurmctld's plugin to ceems-recorder: append-only files with
 * checksums in InboxDir, a folder on a local disk. jobcomp/ceems writes, ceems-recorder reads.
 * Neither waits for the other, and each may be killed at any moment.
 *
 * Files are named "inbox-<16 hex digits>" and read in the order of their names. The writer starts a
 * new file when it starts, and when a file has INBOX_FILE_BYTES. The reader deletes a file once the
 * store has all its entries. An entry may be read twice; the store's keys make that harmless.
 *
 * A file is a header (struct inbox_header in inbox.c) and frames, in the byte order of the host. A
 * frame is: length and kind of the entry, the CRC-32C of both and of the entry, the entry, and
 * zeros up to a multiple of 8 bytes.
 */
#ifndef CEEMS_INBOX_H
#define CEEMS_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libstore/job_facts.h"
#include "src/libutil/errmsg.h"

#define INBOX_FILE_BYTES ((uint64_t)8 << 20)
/*
 * At this size of all files together the writer gets -ENOSPC: entries that nobody reads must not
 * fill the disk.
 */
#define INBOX_MAX_BYTES ((uint64_t)1 << 30)
#define INBOX_ENTRY_MAX ((size_t)256 << 10)

/* The numbers are stored in the files. */
enum inbox_kind {
	/* no data: the plugin was loaded; what the previous plugin had not written is lost */
	INBOX_BEGIN = 1,
	INBOX_END = 2,	 /* the used part of struct job_facts: a job ended */
	INBOX_START = 3, /* the used part of struct job_facts: a job started */
	INBOX_KEY = 4,	 /* struct job_key: a job ended, and the queue had no room for its facts */
	/* uint64_t: number of job ends without an entry; 0: the number is unknown */
	INBOX_LOST = 5,
	INBOX_SITE = 6, /* struct cluster_facts, the first entry of each file */
	INBOX_HOOK = 7, /* struct hook_cost */
};

/* --- the writer; one thread ---------------------------------------------------------------------- */

struct inbox_writer;

/*
 * Creates DIR (mode 0700), whose parent must exist, and starts a file. SITE becomes the first entry
 * of each file. Returns 0, -EREMOTE (DIR is on a network file system, which may hang) or another
 * -errno.
 */
int inbox_writer_open(const char *dir, const struct cluster_facts *site, struct inbox_writer **ret,
		      struct errmsg *err) _must_check_;
/* Frees W. Entries that were not flushed are lost. NULL: no-op. */
void inbox_writer_close(struct inbox_writer *w);

/*
 * Copies an entry into memory; inbox_flush() writes it. -EMSGSIZE: longer than INBOX_ENTRY_MAX;
 * -ENOMEM.
 */
int inbox_append(struct inbox_writer *w, enum inbox_kind kind, const void *data, size_t len);
/*
 * Writes and syncs all appended entries. 0: all are on the disk. On error the entries stay in memory, and the
 * next call continues where this one failed. -ENOSPC: the disk is full, or INBOX_MAX_BYTES is reached. Else
 * -errno of the file system. If somebody removed the file, or removed or moved the folder, writes the entries
 * to a new file, with an INBOX_LOST in place of those in the former one.
 */
int inbox_flush(struct inbox_writer *w, struct errmsg *err);

/* --- the reader; one thread ---------------------------------------------------------------------- */

/* A position in the inbox: everything before it was read. All zero: nothing was read. */
struct inbox_pos {
	uint64_t file; /* number in the file's name */
	uint64_t offset;
};

struct inbox_entry {
	enum inbox_kind kind;
	const void *data; /* aligned to 8 bytes; valid until the next call */
	size_t len;
};

struct inbox_reader;

/*
 * Opens the inbox in DIR for reading from position FROM on. -ENOENT: there is no folder yet;
 * -EREMOTE: as for inbox_writer_open().
 */
int inbox_reader_open(const char *dir, const struct inbox_pos *from, struct inbox_reader **ret,
		      struct errmsg *err) _must_check_;
void inbox_reader_close(struct inbox_reader *r);

/*
 * Reads the next entry. 1: there is one; 0: no more for now; -ESTALE: no more, and the folder was
 * removed or moved: store what was read, then open the inbox again; -errno: reading failed. If a file is
 * damaged in the middle, one INBOX_LOST is returned in place of its remaining entries.
 */
int inbox_read(struct inbox_reader *r, struct inbox_entry *ret, struct errmsg *err) _must_check_;
/* Returns the position behind the entry that was read last. */
void inbox_reader_get_pos(const struct inbox_reader *r, struct inbox_pos *ret);
/*
 * Goes back to POS, a result of inbox_reader_get_pos(), if the entries read since then could not be
 * stored.
 */
void inbox_reader_rewind(struct inbox_reader *r, const struct inbox_pos *pos);
/*
 * Deletes the files before POS. Call it when the store has all entries before POS. A file that R
 * found damaged is renamed to "damaged-<number>" instead, which is logged.
 */
void inbox_reader_release(struct inbox_reader *r, const struct inbox_pos *pos);
/*
 * Returns a descriptor to poll for POLLIN: there may be more entries. inbox_read() clears it when
 * it returns 0.
 */
int inbox_reader_fd(const struct inbox_reader *r);

/* --- for `ceems check` and messages --------------------------------------------------------------- */

struct inbox_status {
	uint64_t files, bytes;
	uint64_t unread; /* bytes of entries that were not read */
	/*
	 * last write of the oldest file with unread bytes, in seconds since the epoch; 0: no such
	 * file
	 */
	uint64_t oldest;
};
/* Sums up the inbox in DIR. Everything before FROM was read; FROM all zero: nothing was. */
int inbox_get_status(const char *dir, const struct inbox_pos *from, struct inbox_status *ret,
		     struct errmsg *err) _must_check_;

#endif
