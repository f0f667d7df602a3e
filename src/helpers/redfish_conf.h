/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_conf.h - RedfishConf: where the node's BMC is and as whom it is asked. The password is in
 * here and nowhere else: no message has it, and the caller wipes what it read.
 */
#ifndef CEEMS_REDFISH_CONF_H
#define CEEMS_REDFISH_CONF_H

#include <limits.h>
#include <stdbool.h>

#include "src/libutil/errmsg.h"

struct redfish_conf {
	char url[256];	     /* "https://bmc.example:8443", without a '/' at its end */
	char user[128];
	char password[256];
	char ca_file[PATH_MAX]; /* the only ones that are trusted; empty: the system's */
	char system[128];    /* Id of the ComputerSystem that is this node; empty: by its UUID */
	char chassis[128];   /* Ids, by comma; empty: those of the system */
	unsigned int controls; /* bits of the entries of PowerControl that are added up */
	bool basic_auth;     /* false: a session */
};

/*
 * -EACCES: it is not root's (or this process's user's), or others may read it; -EINVAL names file,
 * line and key; -ENOENT.
 */
int redfish_conf_read(const char *path, struct redfish_conf *ret, struct errmsg *err);
void redfish_conf_wipe(struct redfish_conf *c);

#endif
