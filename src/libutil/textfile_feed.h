/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * textfile_feed.h - writes a file in TextfileDir through the helper ceems-textfile. The folder may
 * be on a network file system that hangs, and the daemon must not hang with it. While the helper
 * still writes, a new text is dropped; the next one replaces the file.
 */
#ifndef CEEMS_TEXTFILE_FEED_H
#define CEEMS_TEXTFILE_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

struct textfile_feed;

struct textfile_feed_options {
	const char *dir;  /* TextfileDir */
	const char *file; /* "ceems.prom" */
	unsigned int mode;
	const char *group;	/* NULL or empty: the group of the process */
	const char *helper_dir; /* folder of ceems-textfile; NULL or empty: CEEMS_LIBEXECDIR */
	const char *who;	/* prefix of log lines: "ceems: recorder: "; NULL: none */
};

/*
 * Starts the helper; copies O. Close *RET with textfile_feed_close(). Returns 0, -ENAMETOOLONG,
 * -ENOMEM or the error of helper_open().
 */
int textfile_feed_open(const struct textfile_feed_options *o, struct textfile_feed **ret,
		       struct errmsg *err) _must_check_;

/*
 * For `ceems check`: tests whether the file can be written, by creating and removing a file beside
 * it. Waits up to 10 s, even if the folder hangs: -ETIMEDOUT. -EIO: ERR says why it cannot be written.
 * -ENOENT: the helper is not installed.
 */
int textfile_feed_try(const struct textfile_feed_options *o, struct errmsg *err);

/*
 * Hands TEXT to the helper; never waits. Logs once when writing begins to fail, and once when it
 * works again.
 */
void textfile_feed_put(struct textfile_feed *f, const char *text, size_t len);

/*
 * Writes the last text before the daemon ends. First waits up to half a second for the text that is
 * still being written, which would otherwise make this one drop.
 */
void textfile_feed_end(struct textfile_feed *f, const char *text, size_t len);

/* Reads the helper's answers and logs changes. Never waits. */
void textfile_feed_poll(struct textfile_feed *f);

/*
 * Gives the helper half a second to write the last text, then kills it, and frees F.
 * NULL: no-op.
 */
void textfile_feed_close(struct textfile_feed *f);

#endif
