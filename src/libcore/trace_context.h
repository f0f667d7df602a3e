/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_context.h - W3C Trace Context (TRACEPARENT), and the ids of the spans of a job. The ids are hashes, so that
 * slurmstepd and the sink otlp find the same ones without a word between them, and a record that comes again has
 * the ids that it had.
 *
 *   trace	first 16 bytes of SHA-256("CLUSTER/JOBID,SUBMIT,RESTARTS/OFFSET"), the key of the record; or that of
 *		the TRACEPARENT that the job came with
 *   job	first 8 bytes of SHA-256("KEY job")
 *   queue	first 8 bytes of SHA-256("KEY queue")
 *   step	first 8 bytes of SHA-256("CLUSTER/JOBID,RESTARTS.STEPID"), with "+COMPONENT" at its end for a component of
 *		a step other than the first. The time of submission is not in it: a step does not know it
 */
#ifndef CEEMS_TRACE_CONTEXT_H
#define CEEMS_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_ID_SIZE 16
#define TRACE_SPAN_SIZE 8
#define TRACE_PARENT_LEN 55 /* "00-<32 hex>-<16 hex>-<2 hex>" */
#define TRACE_SAMPLED 1u

struct trace_context {
	uint8_t trace[TRACE_ID_SIZE];
	uint8_t span[TRACE_SPAN_SIZE];
	uint8_t flags; /* TRACE_SAMPLED or 0: W3C has no other in version 00 */
};

/*
 * Reads TEXT, which may be NULL. False: not valid by W3C; it is then to be ignored. MAY_BEGIN: it may have a span of
 * zeros, which W3C has not. It says that the trace begins with the job.
 */
bool trace_context_parse(const char *text, bool may_begin, struct trace_context *ret);
void trace_context_format(const struct trace_context *c, char buf[TRACE_PARENT_LEN + 1]);

void trace_id_of_job(const char *key, size_t key_len, uint8_t ret[TRACE_ID_SIZE]);
/* WHAT is "job" or "queue". */
void trace_span_of_job(const char *key, size_t key_len, const char *what, uint8_t ret[TRACE_SPAN_SIZE]);
/* COMPONENT is 0 for a step that has none. */
void trace_span_of_step(const char *cluster, uint32_t job_id, uint32_t restarts, uint32_t step_id, uint64_t component,
			uint8_t ret[TRACE_SPAN_SIZE]);

#endif
