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
 * SUBJECT is masked, as a job's name may have line ends, which would make headers. Of TEXT, lines that mail programs
 * take for commands get a blank first. ADDRESS: users or addresses by comma. -EINVAL: not each begins with a letter
 * or a digit; mail programs take a "|program" and a "/file". -ETIMEDOUT: PROG did not end in a minute; -EIO: it failed.
 */
int mail_send(const char *prog, const char *subject, const char *address, const char *text, struct errmsg *err);

#endif
