/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window.h - the records on their way to one sink: copies of what was read and is not settled yet, in order.
 * The recorder (deliver.h) and `ceems store replay` deliver through it. It starts no thread and reads no
 * clock. For both, a call gets at most the sink's max_batch and max_bytes, records of a job keep their order,
 * and a record that is settled leaves the window.
 *
 * The two callers differ where their users do:
 * - What is settled. The store has one cursor per sink, so the recorder settles records from the front only.
 *   A replay moves no cursor. It settles records anywhere, so that one that waits does not make the others
 *   count as left.
 * - A sink that refuses all records. The recorder offers it some more, beyond max_bytes if need be. Then it
 *   takes the fault to be the sink's and sets nothing aside. A replay names each refusal: somebody reads
 *   that, and the records stay where they are.
 * - Pauses. The recorder tries for ever, and pauses up to 60 s. Somebody waits for a replay: it tries twice a
 *   second, and gives up after --timeout without progress.
 * - A sink that cannot be opened. The recorder tries again; a replay ends with the reason.
 */
#ifndef CEEMS_WINDOW_H
#define CEEMS_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libsink/sink.h"
#include "src/libstore/store_view.h"
#include "src/libutil/clock.h"

/* How long one call of a sink may take. The end of the recorder may wait as long. */
#define WINDOW_TIMEOUT_NS (3 * NSEC_PER_SEC)

/* Callers only read the members. */
struct window {
	const struct sink_ops *ops;
	struct sink_item
		*item; /* key and record of an item are in one memory block, which begins with the key */
	uint64_t *row; /* number of each item's row in the store */
	enum sink_result *result;
	size_t n;
	size_t bytes;	/* of all keys and records */
	uint64_t count; /* the next sink_item.seq */
};

/* OPS is borrowed. Fails with -ENOMEM; then, too, window_fini() may be called. */
int window_init(struct window *w, const struct sink_ops *ops, struct errmsg *err);
void window_fini(struct window *w);

/* Whether the sink may get ROW together with the records of the window. An empty window has room for any. */
bool window_has_room(const struct window *w, const struct store_row *row);

/* Adds a copy of ROW. The window must have less than max_batch records. */
int window_add(struct window *w, const struct store_row *row, struct errmsg *err);

/* Removes all records but the first N. */
void window_cut(struct window *w, size_t n);

/*
 * Passes the window to K once, and sets the results. Returns what the sink returned. ERR, which is needed,
 * then has the sink's reason, also if the sink gave none.
 */
int window_deliver(struct window *w, struct sink *k, uint64_t timeout_ns, struct errmsg *err);

/* Returns how many records have the result WHAT. */
size_t window_count(const struct window *w, enum sink_result what);

/*
 * Removes each of the first N records that is SINK_ACKED or SINK_REFUSED, in order, after FN was called with
 * its index I. If FN returns less than 0, that record and all behind it stay. Returns that, or the number of
 * removed records.
 */
typedef int window_settled_fn(void *ctx, const struct window *w, size_t i);
int window_settle(struct window *w, size_t n, window_settled_fn *fn, void *ctx);

#endif
