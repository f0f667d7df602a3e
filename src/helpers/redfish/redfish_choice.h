/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_choice.h - decides which of the chassis of a BMC count as this node, by the rules in
 * redfish_tree.h.
 */
#ifndef CEEMS_REDFISH_CHOICE_H
#define CEEMS_REDFISH_CHOICE_H

#include "src/helpers/redfish/redfish_tree.h"

/*
 * Asks the chassis of T that may count for their power, and sets which do. -ENODEV: none, or nobody knows
 * which; ERR says what to set. -EREMOTEIO: one cannot be read on which the choice depends.
 */
int redfish_choose(struct redfish_tree *t, struct errmsg *err) _must_check_;

/* The chassis around C whose power counts; NULL: none. */
const struct redfish_chassis *redfish_choice_around(const struct redfish_tree *t,
						    const struct redfish_chassis *c);
/* Whether C may be a part of the node that is missing in the sum. */
bool redfish_choice_lacks(const struct redfish_tree *t, const struct redfish_chassis *c);

#endif
