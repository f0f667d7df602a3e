/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * https_headers.h - reads a file of headers that every request gets, such as Authorization.
 * Each line is "Name: value". '#' starts a comment only as the first character of a line.
 */
#ifndef CEEMS_HTTPS_HEADERS_H
#define CEEMS_HTTPS_HEADERS_H

#include <curl/curl.h>

#include "src/libutil/errmsg.h"

/*
 * Appends the headers in the file PATH to *LIST. The caller frees *LIST, after an error too. Returns 0;
 * -EACCES: others can read the file; -EINVAL: a line is wrong; or -errno. As headers may be secret, no
 * message contains a header's value.
 */
int https_headers_read(const char *path, struct curl_slist **list, struct errmsg *err);

#endif
