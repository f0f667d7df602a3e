/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/otlp/otlp_answer.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "src/libsink/otlp/otlp.pb-c.h"
#include "src/libutil/parse.h"
#include "src/libutil/text.h"

static enum otlp_verdict verdict_of(long status)
{
	switch (status) {
	case 429:
	case 502:
	case 503:
	case 504:
		return OTLP_LATER;
	case 401: /* OtlpHeaders is wrong */
	case 403:
	case 404: /* OtlpUrl is wrong */
	case 405:
	case 407:
		return OTLP_DENIED;
	default:
		if (status >= 200 && status < 300)
			return OTLP_TAKEN;
		return status >= 300 && status < 400 ? OTLP_DENIED : OTLP_BAD; /* no redirect is followed */
	}
}

static void take_text(const char *text, struct otlp_answer *ret)
{
	if (text)
		(void)text_mask(text, ret->text, sizeof(ret->text));
}

static void take_rejected(int64_t n, struct otlp_answer *ret)
{
	if (n > 0)
		ret->rejected = (uint64_t)n;
}

static void read_protobuf(const char *body, size_t len, struct otlp_answer *ret)
{
	const uint8_t *data = (const uint8_t *)body;
	Otlp__Answer *answer;
	Otlp__Error *error;

	if (ret->verdict != OTLP_TAKEN) {
		error = otlp__error__unpack(NULL, len, data);
		if (error)
			take_text(error->message, ret);
		otlp__error__free_unpacked(error, NULL);
		return;
	}
	answer = otlp__answer__unpack(NULL, len, data);
	if (answer && answer->partial_success) {
		take_rejected(answer->partial_success->rejected_spans, ret);
		take_text(answer->partial_success->error_message, ret);
	}
	otlp__answer__free_unpacked(answer, NULL);
}

/* Reads a 64-bit integer. OTLP's JSON has a string here, but some collectors write a number. */
static int64_t integer_of(const json_t *v)
{
	uint64_t n;

	if (json_is_integer(v))
		return json_integer_value(v);
	return json_is_string(v) && parse_u64(json_string_value(v), &n) == 0 && n <= INT64_MAX ? (int64_t)n :
												 0;
}

static void read_json(const char *body, size_t len, struct otlp_answer *ret)
{
	json_t *o = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *partial = json_object_get(o, "partialSuccess");

	if (ret->verdict != OTLP_TAKEN) {
		take_text(json_string_value(json_object_get(o, "message")), ret);
	} else {
		take_rejected(integer_of(json_object_get(partial, "rejectedSpans")), ret);
		take_text(json_string_value(json_object_get(partial, "errorMessage")), ret);
	}
	json_decref(o);
}

void otlp_answer_read(long status, const char *body, size_t len, bool is_json, struct otlp_answer *ret)
{
	*ret = (struct otlp_answer){ .verdict = verdict_of(status) };
	(is_json ? read_json : read_protobuf)(body, len, ret);
}
