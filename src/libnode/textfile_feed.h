/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * textfile_feed.h - writes ceems.prom through a helper. TextfileDir may be on a network file system that
 * hangs, so the helper (ceems-textfile) writes the file, and the sampler only hands it the text. While the
 * helper is still writing, a new text is dropped; the next one replaces it.
 */
#ifndef CEEMS_TEXTFILE_FEED_H
#define CEEMS_TEXTFILE_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "src/libcore/settings.h"
#include "src/libutil/errmsg.h"

struct textfile_feed;

/* Starts the helper. HELPER_DIR: the folder of ceems-textfile. */
int textfile_feed_open(const struct settings *settings, const char *helper_dir, struct textfile_feed **ret,
		       struct errmsg *err);

/*
 * For `ceems check`: makes a file beside ceems.prom and removes it. Waits for the helper up to 10 s, and no longer
 * where the folder hangs. -ENOENT: there is no helper; -EIO: ERR says why it cannot be written.
 */
int textfile_feed_try(const struct settings *settings, const char *helper_dir, struct errmsg *err);

/* Never waits. What goes wrong, and that it is over, is logged once each. */
void textfile_feed_put(struct textfile_feed *f, const char *text, size_t len);

/* The last text. The feed drops a text while another is written, so this waits for that, up to half a second. */
void textfile_feed_end(struct textfile_feed *f, const char *text, size_t len);

/* Takes in what the helper has answered since. Never waits. */
void textfile_feed_poll(struct textfile_feed *f);

/* Gives the last text half a second to be written. NULL: no-op. */
void textfile_feed_close(struct textfile_feed *f);

#endif
