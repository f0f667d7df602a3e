/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_view.h - looks into a spool beside the process that writes it: takes no lock, changes nothing,
 * and sees what was there when it was opened, less what its readers are done with meanwhile.
 */
#ifndef CEEMS_SPOOL_VIEW_H
#define CEEMS_SPOOL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libsink/spool.h"

struct spool_view;

struct spool_view_stats {
	uint64_t bytes, segments;
	uint64_t torn_files, torn_bytes; /* NNNNNNNNNN.torn */
	uint64_t later_files, later_bytes; /* NNNNNNNNNN.later */
	uint64_t damaged;   /* places that had to be skipped so far */
	uint64_t tail_bytes; /* behind the last whole entry: torn, or being written */
};

/* -ENOENT: there is no spool; -EACCES: it is its owner's. */
int spool_view_open(const char *dir, struct spool_view **ret, struct errmsg *err);
void spool_view_close(struct spool_view *v);
void spool_view_get_stats(const struct spool_view *v, struct spool_view_stats *ret);

/* Where spool_view_read() goes on; the oldest entry before the first call. */
void spool_view_seek(struct spool_view *v, const struct spool_pos *pos);

/* Where the newest N segments begin; false: there are none. */
bool spool_view_newest(const struct spool_view *v, size_t n, struct spool_pos *ret);

/* As spool_read(). */
int spool_view_read(struct spool_view *v, struct spool_entry *ret, struct errmsg *err);

/* --- who has read how far ---------------------------------------------------------------- */

#define SPOOL_VIEW_NAME_MAX 64

struct spool_view_reader {
	char name[SPOOL_VIEW_NAME_MAX];
	bool is_wanted;	      /* the finaliser, or one of the sinks asked for */
	bool has_cursor;      /* false: none, or unreadable; it starts at the oldest entry */
	struct spool_pos at;
	uint64_t entries, bytes; /* behind AT and of a kind it takes; the finaliser may be done
				    with all but the first */
	uint64_t oldest_end;  /* of these the first job's end, seconds since the epoch; 0: unknown */
};

/* Every cursor there is, and those that the finaliser and SINKS (a comma list) do not have yet. */
int spool_view_readers(const struct spool_view *v, const char *sinks,
		       struct spool_view_reader **ret, size_t *ret_n, struct errmsg *err);

/* Reads the whole spool once and fills what is behind each. */
int spool_view_count(struct spool_view *v, struct spool_view_reader *reader, size_t n,
		     struct errmsg *err);

/* --- dead letters ------------------------------------------------------------------------ */

struct spool_view_dead {
	char sink[SPOOL_VIEW_NAME_MAX];
	uint64_t letters, bytes; /* of SINK.dead and those of it that were renamed */
};

int spool_view_dead(const struct spool_view *v, struct spool_view_dead **ret, size_t *ret_n,
		    struct errmsg *err);

#endif
