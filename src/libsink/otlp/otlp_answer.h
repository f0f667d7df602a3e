/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_answer.h - decides by the OTLP/HTTP specification whether a collector took a request. Nothing in
 * an answer is trusted.
 */
#ifndef CEEMS_OTLP_ANSWER_H
#define CEEMS_OTLP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTLP_ANSWER_MAX ((size_t)64 << 10)

enum otlp_verdict {
	OTLP_TAKEN,  /* 2xx */
	OTLP_LATER,  /* 429, 502, 503, 504: send the same request again later */
	OTLP_BAD,    /* the collector refuses this request, but may take others */
	OTLP_DENIED, /* the collector refuses every request: OtlpUrl or OtlpHeaders is wrong */
};

struct otlp_answer {
	enum otlp_verdict verdict;
	uint64_t rejected; /* spans dropped from a request that was taken: do not send it again */
	char text[256];	   /* the collector's message; empty if it sent none */
};

/*
 * Reads the HTTP status code STATUS and the body BODY[len] of an answer. IS_JSON: BODY is JSON, else
 * protobuf. A body that cannot be parsed is ignored.
 */
void otlp_answer_read(long status, const char *body, size_t len, bool is_json, struct otlp_answer *ret);

#endif
