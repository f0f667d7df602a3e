/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_spans.h - makes one OTLP request of the spans of records. A job has the span "job", from
 * submission to end. Its children are the span "queue", from submission to start, and one span per
 * step that began. trace_context.h makes the ids.
 */
#ifndef CEEMS_OTLP_SPANS_H
#define CEEMS_OTLP_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libsink/sink.h"
#include "src/libutil/must_check.h"

struct otlp_spans;

/* WITH_USERS: attributes also name the job's user, account and name. NULL: out of memory. */
struct otlp_spans *otlp_spans_create(bool with_users);
void otlp_spans_destroy(struct otlp_spans *o);

/*
 * Adds the spans of ITEM, a record or a part with steps. Returns 0; -EINVAL: ITEM is no record; or
 * -ENOMEM.
 */
int otlp_spans_add(struct otlp_spans *o, const struct sink_item *item, struct errmsg *err);

size_t otlp_spans_count(const struct otlp_spans *o);

/*
 * Writes the request, gzip-compressed, to *RET, which the caller frees. IS_JSON: as JSON, else as
 * protobuf. Returns 0 or -ENOMEM.
 */
int otlp_spans_pack(const struct otlp_spans *o, bool is_json, void **ret, size_t *ret_len) _must_check_;

#endif
