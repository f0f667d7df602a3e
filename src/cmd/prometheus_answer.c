/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prometheus_answer.c - parses an answer of Prometheus. It is separate from prometheus.c, which is only
 * built with libcurl.
 */
#include <errno.h>
#include <string.h>

#include "src/cmd/prometheus.h"

int prometheus_answer(const char *text, size_t len, json_t **ret, struct errmsg *err)
{
	json_t *answer = json_loadb(text, len, 0, NULL);
	const char *status = json_string_value(json_object_get(answer, "status"));
	const char *words = json_string_value(json_object_get(answer, "error"));
	json_t *series = json_object_get(json_object_get(answer, "data"), "result");
	int rc = 0;

	if (status && !strcmp(status, "success") && json_is_array(series))
		*ret = json_incref(series);
	else if (words)
		rc = errmsg_set(err, -EBADMSG, "%s", words);
	else
		rc = errmsg_set(err, -EIO, "the answer is not one of Prometheus");
	json_decref(answer);
	return rc;
}
