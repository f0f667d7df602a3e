/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prometheus.h - asks a Prometheus server for the current value of a PromQL expression.
 */
#ifndef CEEMS_PROMETHEUS_H
#define CEEMS_PROMETHEUS_H

#include <jansson.h>

#include "src/libutil/errmsg.h"

struct prometheus;

/*
 * Prepares questions to the server at URL, such as "http://HOST:9090", with a path if it has one. CA_FILE
 * as in https.h; "": the system's certificates. -ENOTSUP: built without libcurl.
 */
int prometheus_create(const char *url, const char *ca_file, struct prometheus **ret,
		      struct errmsg *err) _must_check_;
void prometheus_destroy(struct prometheus *p);

/*
 * Asks for PROMQL and sets *RET to the series, a JSON array that the caller owns. -EBADMSG: Prometheus
 * refused the expression, and ERR has its message. Other -errno: Prometheus could not be asked.
 */
int prometheus_query(struct prometheus *p, const char *promql, json_t **ret, struct errmsg *err) _must_check_;

/* Does the second half of prometheus_query(): parses TEXT, an answer of Prometheus. Results as there. */
int prometheus_answer(const char *text, size_t len, json_t **ret, struct errmsg *err) _must_check_;

#endif
