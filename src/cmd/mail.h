/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mail.h - sends a mail with the site's mail program. A program named sendmail reads the whole mail (sendmail -i -t), with
 * an attachment. Every other program is called as slurmctld does it: PROG -s SUBJECT ADDRESS, with the text on its standard
 * input and without attachment, for which mail programs have no common option.
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

/* MailProg of S; the default if S names none, or ceems-mail, which would start itself for ever. Borrowed from S. */
const char *mail_prog(const struct settings *s);
/* Whether PROG is ceems-mail. */
bool mail_prog_is_ours(const char *prog);
/* Whether PROG takes an attachment: it is named sendmail. */
bool mail_prog_attaches(const char *prog);

/* Whether mail_send() would take ADDRESS. */
bool mail_is_address(const char *address);

/*
 * The subject is masked, because line ends in a job's name would become mail headers. Lines of the text that mail programs
 * take for commands get a blank at their start. -EINVAL: an address does not begin with a letter or a digit, since mail
 * programs accept "|program" and "/file", or has a character that has a meaning in mail headers. -ETIMEDOUT: PROG did not
 * end within a minute; -EIO: PROG failed.
 */
int mail_send(const char *prog, const struct mail *m, struct errmsg *err);

#endif
