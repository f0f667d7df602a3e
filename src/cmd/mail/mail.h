/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mail.h - sends a mail with the site's mail program. A program named sendmail is called as "sendmail -i -t"
 * and reads the whole mail with its attachment. Any other program is called as slurmctld calls it, PROG -s
 * SUBJECT ADDRESS, and reads the text; it gets no attachment, because mail programs have no common option for
 * one.
 */
#ifndef CEEMS_CMD_MAIL_H
#define CEEMS_CMD_MAIL_H

#include <stdbool.h>

#include "src/libcore/settings.h"
#include "src/libutil/errmsg.h"

#define MAIL_SUBJECT_MAX 1024
#define MAIL_DEFAULT_PROG "/usr/bin/mail"

struct mail {
	const char *subject;
	const char *address; /* one or more users or addresses, separated by commas */
	const char *text;
	const char *page;      /* HTML to attach; NULL: none */
	const char *page_name; /* its file's name: letters, digits, '.' and '-' */
};

/*
 * Returns MailProg of S, borrowed from S. Returns the default program instead if MailProg is not set, or if
 * it is ceems-mail, which would start itself for ever.
 */
const char *mail_prog(const struct settings *s);
/* Returns true if PROG is ceems-mail. */
bool mail_prog_is_ours(const char *prog);
/* Returns true if PROG takes an attachment, that is, if it is named sendmail. */
bool mail_prog_attaches(const char *prog);

/* Returns true if mail_send() accepts ADDRESS. */
bool mail_is_address(const char *address);

/*
 * Sends M with PROG. Masks the subject, because line ends in a job's name would become mail headers. Puts a
 * blank before lines of the text that a mail program would obey. -EINVAL: an address begins with something
 * else than a letter or digit (mail programs accept "|program" and "/file"), or has a character with a
 * meaning in mail headers. -ETIMEDOUT: PROG did not end within a minute. -EIO: PROG failed.
 */
int mail_send(const char *prog, const struct mail *m, struct errmsg *err);

#endif
