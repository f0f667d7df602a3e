/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_client.h - one BMC, asked over HTTPS. Its certificate is always checked, nothing leads to
 * another host (no redirects, no proxy), answers are bounded in time and size. All of it is done
 * in one thread, which has all signals blocked: libcurl and OpenSSL may raise SIGPIPE.
 */
#ifndef CEEMS_REDFISH_CLIENT_H
#define CEEMS_REDFISH_CLIENT_H

#include <stddef.h>

#include "src/libutil/errmsg.h"
#include "src/helpers/redfish_conf.h"

#define REDFISH_ANSWER_MAX 65536
#define REDFISH_ROOT "/redfish/v1/"

struct redfish_client;

/* CONF is borrowed. A transfer ends at once, with -ECANCELED, when STOP_FD becomes readable. */
int redfish_client_create(const struct redfish_conf *conf, int stop_fd,
			  struct redfish_client **ret, struct errmsg *err);

/*
 * The resource at PATH (redfish_json_check_path() has to like it), logging in if need be, where the service
 * root's Links.Sessions says; one try, but a session that has expired is opened again, once.
 * The answer is the client's until the next call. -EACCES: the BMC refuses user or password, or
 * its certificate is not trusted; -ENOENT: no such resource; -EMSGSIZE: over REDFISH_ANSWER_MAX;
 * -ECANCELED; -ETIMEDOUT; -EIO: anything else that may be different next time.
 */
int redfish_client_get(struct redfish_client *c, const char *path, const char **ret_text,
		       size_t *ret_len, struct errmsg *err);

/* Ends the session, for which the BMC gets half a second: most have room for a dozen. */
void redfish_client_destroy(struct redfish_client *c);

#endif
