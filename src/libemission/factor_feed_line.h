/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factor_feed_line.h - what ceems-series tells factor_feed.c: the line "same" if the file has the stamp
 * that it was given; or "stamp STAMP", a series with the points that are wanted, and "end"; or a line
 * that says what went wrong.
 */
#ifndef CEEMS_FACTOR_FEED_LINE_H
#define CEEMS_FACTOR_FEED_LINE_H

#define FACTOR_FEED_SAME "same"
#define FACTOR_FEED_STAMP "stamp "
#define FACTOR_FEED_END "end\n"
#define FACTOR_FEED_STAMP_MAX 128

#endif
