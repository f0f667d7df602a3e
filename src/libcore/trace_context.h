/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_context.h - reads and writes TRACEPARENT (W3C Trace Context), and makes the ids of a job's
 * spans. The ids are hashes of the job's ids. So slurmstepd and the sink otlp compute the same ids
 * without talking to each other, and a record that is sent twice has the same ids both times.
 *
 *   trace	first 16 bytes of SHA-256("CLUSTER/JOBID,SUBMIT,RESTARTS/OFFSET"), the key of the
 *		record; but the trace id of TRACEPARENT, if the job was submitted with one
 *   job	first 8 bytes of SHA-256("KEY job")
 *   queue	first 8 bytes of SHA-256("KEY queue")
 *   step	first 8 bytes of SHA-256("CLUSTER/JOBID,RESTARTS.STEPID"), with "+COMPONENT" at
 *		the end of the text for a heterogeneous step's components other than the first. The text
 *		is not the KEY, because slurmstepd does not know when the job was submitted
 */
#ifndef CEEMS_TRACE_CONTEXT_H
#define CEEMS_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/must_check.h"

#define TRACE_ID_SIZE 16
#define TRACE_SPAN_SIZE 8
#define TRACE_PARENT_LEN 55 /* "00-<32 hex>-<16 hex>-<2 hex>" */
#define TRACE_SAMPLED 1u

struct trace_context {
	uint8_t trace[TRACE_ID_SIZE];
	uint8_t span[TRACE_SPAN_SIZE];
	uint8_t flags; /* TRACE_SAMPLED or 0; version 00 defines no other flag */
};

/*
 * Reads the TRACEPARENT in TEXT. False: TEXT is NULL or not valid, and must be ignored. MAY_BEGIN:
 * accepts a span id of zeros too, which W3C forbids. We use it for a trace that begins with the
 * job.
 */
bool trace_context_parse(const char *text, bool may_begin, struct trace_context *ret) _must_check_;
/* Writes C as a TRACEPARENT of version 00 to BUF. */
void trace_context_format(const struct trace_context *c, char buf[TRACE_PARENT_LEN + 1]);

/* These three compute ids as described above. KEY[key_len] is the key of the record. */
void trace_id_of_job(const char *key, size_t key_len, uint8_t ret[TRACE_ID_SIZE]);
/* WHAT is the span's name, "job" or "queue". */
void trace_span_of_job(const char *key, size_t key_len, const char *what, uint8_t ret[TRACE_SPAN_SIZE]);
/* COMPONENT is the component of a heterogeneous step; 0 for the first, and for other steps. */
void trace_span_of_step(const char *cluster, uint32_t job_id, uint32_t restarts, uint32_t step_id,
			uint64_t component, uint8_t ret[TRACE_SPAN_SIZE]);

#endif
