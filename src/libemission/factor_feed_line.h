/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factor_feed_line.h - what ceems-series answers to a look of factor_feed.c: the line "same" if the file
 * has the stamp that it was told; or "stamp STAMP" and a series with the points that are wanted; or
 * "error - TEXT". "done N" ends each of these.
 */
#ifndef CEEMS_FACTOR_FEED_LINE_H
#define CEEMS_FACTOR_FEED_LINE_H

#define FACTOR_FEED_SAME "same"
#define FACTOR_FEED_STAMP "stamp "
#define FACTOR_FEED_STAMP_MAX 128

#endif
