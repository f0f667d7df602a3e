/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_spans.h - records as spans, in one request of OTLP. A job has the span "job", from its submission to its end;
 * below it "queue", until its start, and one per step. The ids are those of trace_context.h.
 */
#ifndef CEEMS_OTLP_SPANS_H
#define CEEMS_OTLP_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libsink/sink.h"

struct otlp_spans;

/* WITH_USERS: also what tells who a job is of. NULL: out of memory. */
struct otlp_spans *otlp_spans_create(bool with_users);
void otlp_spans_destroy(struct otlp_spans *o);

/* Adds the spans of a record or of a part with steps. -EINVAL: it is no record; -ENOMEM. */
int otlp_spans_add(struct otlp_spans *o, const struct sink_item *item, struct errmsg *err);

/* How many spans there are. */
size_t otlp_spans_count(const struct otlp_spans *o);

/*
 * The request, packed by gzip; the caller frees it. IS_JSON: as JSON, else as protobuf. -ENOMEM.
 */
int otlp_spans_pack(const struct otlp_spans *o, bool is_json, void **ret, size_t *ret_len);

#endif
