/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * textfile_feed.h - writes a file of TextfileDir through a helper. The folder may be on a network file system that
 * hangs, so the helper (ceems-textfile) writes the file, and the daemon only hands it the text. While the helper is
 * still writing, a new text is dropped; the next one replaces it.
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
	const char *group;	/* NULL or empty: the process's own */
	const char *helper_dir; /* of ceems-textfile; empty: the one installed */
	const char *who;	/* begins log lines: "ceems: recorder: "; NULL: nothing does */
};

/* Starts the helper. All of O is copied. -ENAMETOOLONG, -ENOMEM, or the helper's. */
int textfile_feed_open(const struct textfile_feed_options *o, struct textfile_feed **ret, struct errmsg *err);

/*
 * For `ceems check`: makes a file beside it and removes that. Waits for the helper up to 10 s, and no longer
 * where the folder hangs. -ENOENT: there is no helper; -EIO: ERR says why it cannot be written.
 */
int textfile_feed_try(const struct textfile_feed_options *o, struct errmsg *err);

/* Never waits. What goes wrong, and that it is over, is logged once each. */
void textfile_feed_put(struct textfile_feed *f, const char *text, size_t len);

/* The last text. The feed drops a text while another is written, so this waits for that, up to half a second. */
void textfile_feed_end(struct textfile_feed *f, const char *text, size_t len);

/* Takes in what the helper has answered since. Never waits. */
void textfile_feed_poll(struct textfile_feed *f);

/* Gives the last text half a second to be written. NULL: no-op. */
void textfile_feed_close(struct textfile_feed *f);

#endif
