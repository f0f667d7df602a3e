/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_client.h - asks one BMC over HTTPS. Its certificate or, with Fingerprint, its key is always
 * checked. No other host is contacted (no proxy; a redirect is followed to the same host only), and answers
 * are limited in time and size. All calls are made in one thread with all signals blocked, since libcurl
 * and OpenSSL may raise SIGPIPE.
 */
#ifndef CEEMS_REDFISH_CLIENT_H
#define CEEMS_REDFISH_CLIENT_H

#include <stddef.h>

#include "src/libutil/errmsg.h"
#include "src/helpers/redfish/redfish_conf.h"

/* A collection of 1,000 members is some 70 kB. */
#define REDFISH_ANSWER_MAX 524288
#define REDFISH_ROOT "/redfish/v1/"

struct redfish_client;

/* CONF is borrowed. A transfer ends at once with -ECANCELED if STOP_FD becomes readable. */
int redfish_client_create(const struct redfish_conf *conf, int stop_fd, struct redfish_client **ret,
			  struct errmsg *err) _must_check_;

/*
 * Gets the resource PATH, which redfish_json_check_path() must accept. Logs in if needed, where the
 * service root's Links.Sessions says. There is one try; an expired session is renewed once. The
 * answer belongs to the client until the next call. -EACCES: the BMC refuses user or password, or
 * its certificate is not trusted; -ECANCELED; -ETIMEDOUT; -EIO: other failures of the connection. Of this
 * resource only: -ENOENT: there is none (HTTP 404); -EPERM: the user may not read it (HTTP 403); -EMSGSIZE:
 * longer than REDFISH_ANSWER_MAX; -EREMOTEIO: another HTTP status.
 */
int redfish_client_get(struct redfish_client *c, const char *path, const char **ret_text, size_t *ret_len,
		       struct errmsg *err) _must_check_;

/* Calls HEARD with each answer to redfish_client_get(), whatever its HTTP status is. */
typedef void redfish_client_heard(const char *path, long status, const char *text, size_t len);
void redfish_client_listen(struct redfish_client *c, redfish_client_heard *heard);

/*
 * Ends the session, since most BMCs have room for a dozen only. Waits at most half a second for the
 * BMC.
 */
void redfish_client_destroy(struct redfish_client *c);

#endif
