/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_records.h - records to send as traces, and what comes out of a request again.
 */
#ifndef CEEMS_OTLP_RECORDS_H
#define CEEMS_OTLP_RECORDS_H

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "src/librecord/record.h"
#include "src/libsink/otlp/otlp.pb-c.h"
#include "src/libsink/sink.h"
#include "src/libutil/util.h"
#include "tap.h"

#define SUBMIT 1700000000

struct otlp_record {
	char key[RECORD_KEY_MAX + 24];
	char *json;
	size_t len;
};

/* Job ID of 3,600 s with a batch step and steps 0 to NSTEPS - 1, of 1.5 J each. */
static inline struct record *otlp_record(uint32_t id, size_t nsteps)
{
	struct record *r = record_create();
	size_t i;

	r->cluster = strdup("c1");
	r->job_id = id;
	r->restart_count = 2;
	r->submit = SUBMIT;
	r->start = SUBMIT + 10;
	r->end = SUBMIT + 3610;
	r->state = strdup("COMPLETED");
	r->user_name = strdup("alice");
	r->account = strdup("physics");
	r->job_name = strdup("secret project");
	r->partition = strdup("long");
	r->nodes = strdup("n1");
	r->total_nodes = 1;
	r->exit_code = 3;
	r->energy = (struct record_energy){
		.final = true, .total_j = { 7200, true }, .method = "cpu-time", .source = "rapl"
	};
	values_set(&r->values, METRIC_CPU_ENERGY, 7000500000);
	values_set(&r->values, METRIC_CO2E, 1500000000);
	values_set(&r->values, METRIC_IO_READ_BYTES, 4096);
	r->steps_known = true;
	r->steps = calloc(nsteps + 1, sizeof(*r->steps));
	r->nsteps = nsteps + 1;
	for (i = 0; i <= nsteps; i++) {
		struct record_step *s = &r->steps[i];

		s->step_id = i == nsteps ? 4294967291u : (uint32_t)i;
		s->name = strdup("a.out");
		(void)snprintf(s->state, sizeof(s->state), "%s", i ? "COMPLETED" : "FAILED");
		s->start = SUBMIT + 11 + i;
		s->end = SUBMIT + 13 + i;
		s->nodes = strdup("n1");
		s->nnodes = 1;
		values_init(&s->values);
		values_set(&s->values, METRIC_ENERGY, 1500000);
	}
	return r;
}

static inline void otlp_write(struct record *r, struct otlp_record *ret)
{
	struct errmsg err = { 0 };

	require(record_key(r, ret->key, sizeof(ret->key)) == 0);
	if (record_to_json(r, &ret->json, &ret->len, &err) < 0)
		diag("%s", err.text);
	record_destroy(r);
}

static inline struct sink_item otlp_item(const struct otlp_record *r)
{
	return (struct sink_item){ .kind = STORE_RECORD,
				   .key = r->key,
				   .key_len = strlen(r->key),
				   .json = r->json,
				   .json_len = r->len };
}

/* NUL-ended; NULL: it is not packed. */
static inline char *otlp_unpack(const void *data, size_t len, size_t *ret_len)
{
	size_t room = (size_t)8 << 20;
	char *text = malloc(room);
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data,
		       .avail_in = (uInt)len,
		       .next_out = (Bytef *)text,
		       .avail_out = (uInt)room - 1 };
	int rc = inflateInit2(&z, 15 + 16) == Z_OK ? inflate(&z, Z_FINISH) : Z_DATA_ERROR;

	(void)inflateEnd(&z);
	*ret_len = room - 1 - z.avail_out;
	text[*ret_len] = '\0';
	if (rc == Z_STREAM_END)
		return text;
	free(text);
	return NULL;
}

/* The caller frees it. */
static inline Otlp__Request *otlp_read(const void *data, size_t len)
{
	size_t n;
	char *text = otlp_unpack(data, len, &n);
	Otlp__Request *r = text ? otlp__request__unpack(NULL, n, (uint8_t *)text) : NULL;

	free(text);
	return r;
}

/* NULL: there is none of that name. */
static inline const Otlp__AnyValue *otlp_find(Otlp__KeyValue *const *list, size_t n, const char *name)
{
	for (; n; n--, list++)
		if (!strcmp((*list)->key, name))
			return (*list)->value;
	return NULL;
}

#endif
