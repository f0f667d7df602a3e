/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factor_feed_line.h - the answers of ceems-series to a look of factor_feed.c. "same": the file
 * still has the stamp in the question. "stamp STAMP" and a series: the points that were asked for.
 * "error - TEXT". Each answer ends with "done N".
 */
#ifndef CEEMS_FACTOR_FEED_LINE_H
#define CEEMS_FACTOR_FEED_LINE_H

#define FACTOR_FEED_SAME "same"
#define FACTOR_FEED_STAMP "stamp "
#define FACTOR_FEED_STAMP_MAX 128

#endif
