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
 * URL: http://HOST:9090 or https://..., with the path it is served at. CA_FILE: as in https.h; "": the system's. -ENOTSUP:
 * built without libcurl.
 */
int prometheus_create(const char *url, const char *ca_file, struct prometheus **ret, struct errmsg *err);
void prometheus_destroy(struct prometheus *p);

/*
 * Sets *RET to the series, an array that the caller owns. -EBADMSG: Prometheus refuses the expression, ERR has its words;
 * what is wrong between it and us is another error.
 */
int prometheus_query(struct prometheus *p, const char *promql, json_t **ret, struct errmsg *err);

/* The same of the text of an answer. */
int prometheus_answer(const char *text, size_t len, json_t **ret, struct errmsg *err);

#endif
