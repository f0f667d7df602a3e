/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profilepush.h - ProfilePushUrl: slurmd runs the program ceems-push, which sends the profiles that
 * ceems-profile of each step left in ProfilePushDir. slurmd asks it every 10 s, never waits for it, and logs
 * its answers.
 */
#ifndef CEEMS_PROFILEPUSH_H
#define CEEMS_PROFILEPUSH_H

#include "src/libcore/settings.h"
#include "src/libutil/must_check.h"

struct profilepush;

/* Copies what it needs of SETTINGS. Returns 0, -ENAMETOOLONG, -ENOMEM or the error of helper_open(). */
int profilepush_open(const struct settings *settings, struct profilepush **ret,
		     struct errmsg *err) _must_check_;
/* Asks if it is time, and logs what was answered. Never waits. */
void profilepush_poll(struct profilepush *p);
/* Ends the program; what it did not send stays in the queue. NULL: no-op. */
void profilepush_close(struct profilepush *p);

#endif
