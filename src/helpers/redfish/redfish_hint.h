/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_hint.h - errors for a BMC of which no chassis counts: what else shows power, and the setting that
 * counts it.
 */
#ifndef CEEMS_REDFISH_HINT_H
#define CEEMS_REDFISH_HINT_H

#include "src/helpers/redfish/redfish_tree.h"

/* -ENODEV: no chassis of T counts. Asks the BMC for other places that show power. */
int redfish_hint_nothing(struct redfish_tree *t, struct errmsg *err);
/* -ENODEV: several chassis show power (is_used), and nothing says which are the node's. */
int redfish_hint_too_many(struct redfish_tree *t, struct errmsg *err);

#endif
