/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A collector's answer, in both encodings, and OtlpHeaders, of which no value gets into a message. */
#include "src/libsink/otlp/otlp_answer.h"
#include "src/libhttps/https_headers.h"
#include "tests/fuzz/fuzz.h"

#define SECRET "X-Token: hunter2\n"

static void check_answer(long status, const char *body, size_t size, bool is_json)
{
	char masked[sizeof(((struct otlp_answer *)0)->text)];
	struct otlp_answer a;

	otlp_answer_read(status, body, size, is_json, &a);
	assert(a.verdict == (status == 200 ? OTLP_TAKEN : OTLP_BAD));
	assert(a.verdict == OTLP_TAKEN || !a.rejected);
	assert(!strcmp(text_mask(a.text, masked, sizeof(masked)), a.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct curl_slist *list = NULL;
	struct errmsg err = { 0 };
	char *text = malloc(sizeof(SECRET) - 1 + size);
	char *body = fuzz_text(data, size);
	int rc;

	check_answer(200, body, size, false);
	check_answer(200, body, size, true);
	check_answer(400, body, size, false);
	check_answer(400, body, size, true);
	assert(text);
	memcpy(text, SECRET, sizeof(SECRET) - 1);
	memcpy(text + sizeof(SECRET) - 1, data, size);
	rc = https_headers_read(fuzz_file(text, sizeof(SECRET) - 1 + size), &list, &err);
	fuzz_check_error(rc, &err);
	assert(memmem(data, size, "hunter2", 7) || !strstr(err.text, "hunter2"));
	curl_slist_free_all(list);
	free(text);
	free(body);
	return 0;
}
