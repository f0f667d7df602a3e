/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mail.h - sends a text with the site's mail program, as slurmctld does: PROG -s SUBJECT ADDRESS, with the text on its
 * standard input.
 */
#ifndef CEEMS_CMD_MAIL_H
#define CEEMS_CMD_MAIL_H

#include "src/libutil/errmsg.h"

#define MAIL_SUBJECT_MAX 1024

/*
 * SUBJECT is masked, because line ends in a job's name would become mail headers. Lines of TEXT that mail programs take for
 * commands get a blank at their start. ADDRESS is one or more users or addresses, separated by commas. -EINVAL: one of them
 * does not begin with a letter or a digit, and mail programs accept "|program" and "/file". -ETIMEDOUT: PROG did not end
 * within a minute; -EIO: PROG failed.
 */
int mail_send(const char *prog, const char *subject, const char *address, const char *text, struct errmsg *err);

#endif
