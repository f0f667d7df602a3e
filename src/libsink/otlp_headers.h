/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_headers.h - OtlpHeaders: headers of every request, one "Name: value" per line, such as an Authorization. '#'
 * starts a comment only as the first character of a line.
 */
#ifndef CEEMS_OTLP_HEADERS_H
#define CEEMS_OTLP_HEADERS_H

#include <curl/curl.h>

#include "src/libutil/errmsg.h"

/*
 * Appends to *LIST, which the caller frees also after an error. -EACCES: others can read the file. No message has a
 * value of it.
 */
int otlp_headers_read(const char *path, struct curl_slist **list, struct errmsg *err);

#endif
