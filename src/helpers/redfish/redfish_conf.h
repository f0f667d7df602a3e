/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_conf.h - reads RedfishConf: the address of the node's BMC, and the user and password for
 * it. No message contains the password. The caller wipes the struct after use.
 */
#ifndef CEEMS_REDFISH_CONF_H
#define CEEMS_REDFISH_CONF_H

#include <limits.h>
#include <stdbool.h>

#include "src/libutil/errmsg.h"

struct redfish_conf {
	char url[256]; /* "https://bmc.example:8443", without a '/' at its end */
	char user[128];
	char password[256];
	char ca_file[PATH_MAX]; /* trusted CAs; empty: the system's */
	char fingerprint[64];	/* "sha256//BASE64" of the BMC's public key; empty: CAFile counts */
	char system[128];	/* Id of this node's ComputerSystem; empty: found by its UUID */
	char chassis[128];	/* Ids, comma-separated; empty: those of the system */
	unsigned int controls;	/* bits of the entries of PowerControl to add up */
	char power_at[320];	/* "/redfish/PATH#/POINTER" of the node's watts; empty: they are searched */
	bool basic_auth;	/* false: a session */
};

/*
 * Reads the file PATH. -EACCES: it does not belong to root (or this process's user), or others may
 * read it; -EINVAL: ERR names file, line and key; -ENOENT.
 */
int redfish_conf_read(const char *path, struct redfish_conf *ret, struct errmsg *err) _must_check_;
void redfish_conf_wipe(struct redfish_conf *c);

#endif
