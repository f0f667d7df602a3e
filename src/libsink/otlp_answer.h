/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_answer.h - what a collector's answer means for the records of a request, by the OTLP/HTTP specification. Nothing
 * in an answer is trusted.
 */
#ifndef CEEMS_OTLP_ANSWER_H
#define CEEMS_OTLP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTLP_ANSWER_MAX ((size_t)64 << 10)

enum otlp_verdict {
	OTLP_TAKEN,
	OTLP_LATER,   /* 429, 502, 503, 504: the same request again, after a while */
	OTLP_BAD,     /* this request is not accepted: others may be */
	OTLP_DENIED,  /* no request is: the address, or the headers are wrong */
};

struct otlp_answer {
	enum otlp_verdict verdict;
	uint64_t rejected; /* spans of a request that was taken in part; it must not be sent again */
	char text[256];	   /* what the collector says; empty: nothing */
};

/* STATUS is HTTP's, BODY the answer's, of the encoding of the request. */
void otlp_answer_read(long status, const char *body, size_t len, bool is_json, struct otlp_answer *ret);

#endif
