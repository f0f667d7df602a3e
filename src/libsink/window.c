/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)4 << 20) /* for a sink whose max_bytes is 0 */

int window_init(struct window *w, const struct sink_ops *ops, struct errmsg *err)
{
	*w = (struct window){
		.ops = ops,
		.item = calloc(ops->max_batch, sizeof(*w->item)),
		.row = calloc(ops->max_batch, sizeof(*w->row)),
		.result = calloc(ops->max_batch, sizeof(*w->result)),
	};
	if (!w->item || !w->row || !w->result)
		return errmsg_set(err, -ENOMEM, "%s: out of memory", ops->name);
	return 0;
}

void window_fini(struct window *w)
{
	window_cut(w, 0);
	free(w->item);
	free(w->row);
	free(w->result);
}

bool window_has_room(const struct window *w, const struct store_row *row)
{
	size_t max = w->ops->max_bytes ? w->ops->max_bytes : MAX_BYTES;

	/* the second condition: sinks tell items apart by seq modulo max_batch */
	return !w->n || (w->n < w->ops->max_batch && w->count - w->item[0].seq < w->ops->max_batch &&
			 w->bytes + row->key_len + row->json_len <= max);
}

int window_add(struct window *w, const struct store_row *row, struct errmsg *err)
{
	char *text = malloc(row->key_len + row->json_len + 1); /* + 1: malloc(0) may return NULL */

	if (!text)
		return errmsg_set(err, -ENOMEM, "out of memory");
	memcpy(text, row->key, row->key_len);
	memcpy(text + row->key_len, row->json, row->json_len);
	w->item[w->n] = (struct sink_item){ .kind = row->kind,
					    .key = text,
					    .key_len = row->key_len,
					    .json = text + row->key_len,
					    .json_len = row->json_len,
					    .seq = w->count++ };
	w->row[w->n] = row->seq;
	w->result[w->n++] = SINK_RETRY;
	w->bytes += row->key_len + row->json_len;
	return 0;
}

static void window_free_item(struct window *w, size_t i)
{
	struct sink_item *it = &w->item[i];

	w->bytes -= it->key_len + it->json_len;
	free((char *)(uintptr_t)it->key);
	free(it->why);
}

void window_cut(struct window *w, size_t n)
{
	while (w->n > n)
		window_free_item(w, --w->n);
}

int window_deliver(struct window *w, struct sink *k, uint64_t timeout_ns, struct errmsg *err)
{
	int rc;

	err->text[0] = '\0';
	rc = w->ops->deliver(k, w->item, w->n, w->result, timeout_ns, err);
	if (!err->text[0])
		(void)errmsg_set(err, rc, "%s", rc < 0 ? strerror(-rc) : "no reason given");
	sink_keep_order(w->item, w->n, w->result);
	return rc;
}

size_t window_count(const struct window *w, enum sink_result what)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < w->n; i++)
		n += w->result[i] == what;
	return n;
}

int window_settle(struct window *w, size_t n, window_settled_fn *fn, void *ctx)
{
	size_t before = w->n;
	size_t kept = 0;
	size_t i;
	int rc = 0;

	for (i = 0; i < before; i++) {
		if (i < n && rc >= 0 && w->result[i] >= SINK_ACKED && (rc = fn(ctx, w, i)) >= 0) {
			window_free_item(w, i);
			continue;
		}
		w->item[kept] = w->item[i];
		w->row[kept] = w->row[i];
		w->result[kept++] = w->result[i];
	}
	w->n = kept;
	return rc < 0 ? rc : (int)(before - kept);
}
