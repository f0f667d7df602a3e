/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prometheus.h - asks a Prometheus server for the present value of a PromQL expression.
 */
#ifndef CEEMS_PROMETHEUS_H
#define CEEMS_PROMETHEUS_H

#include <jansson.h>

#include "src/libutil/errmsg.h"

struct prometheus;

/*
 * Prepares questions to the server at URL: http://HOST:9090 or https://..., with its path. CA_FILE:
 * as in https.h; "": the system's. -ENOTSUP: built without libcurl.
 */
int prometheus_create(const char *url, const char *ca_file, struct prometheus **ret, struct errmsg *err);
void prometheus_destroy(struct prometheus *p);

/*
 * Asks for PROMQL and sets *RET to the series, an array that the caller owns. -EBADMSG: Prometheus
 * refused the expression, and ERR has its message. Another error: it could not be asked.
 */
int prometheus_query(struct prometheus *p, const char *promql, json_t **ret, struct errmsg *err);

/* Parses the text of an answer, as prometheus_query() does. */
int prometheus_answer(const char *text, size_t len, json_t **ret, struct errmsg *err);

#endif
