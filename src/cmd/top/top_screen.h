/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_screen.h - the terminal and the keys of `ceems top`. top_draw.h makes the lines of the screen.
 */
#ifndef CEEMS_CMD_TOP_SCREEN_H
#define CEEMS_CMD_TOP_SCREEN_H

#include "src/cmd/top/top_draw.h"
#include "src/cmd/top/top_source.h"
#include "src/libutil/must_check.h"

/*
 * Shows SOURCE, at first with VIEW, until the user quits, a signal arrives, or FRAMES frames were shown (0:
 * no limit). The terminal is restored. *RET_SIGNAL is the signal that ended the screen, or 0. If *RET_BUSY, a
 * thread still uses SOURCE, so it must not be closed. -ENOTSUP: built without ncurses. Other -errno: ERR says
 * what failed.
 */
int top_screen_run(struct top_source *source, const struct top_view *view, uint64_t interval_ns,
		   uint64_t frames, int *ret_signal, bool *ret_busy, struct errmsg *err) _must_check_;

#endif
