/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_mail.c - checks MailProg of ceems.conf, if the site has set it or Slurm's
 * mails go through ceems-mail.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/cmd/check/check.h"
#include "src/cmd/mail/mail.h"
#include "src/libutil/trust.h"

#define PROGRAM_HINT "MailProg=/usr/sbin/sendmail in ceems.conf, or the site's own program"

/* Returns true if slurmctld on this machine sends its mails through ceems-mail. */
static bool has_ceems_mail(const struct check *c)
{
	const char *prog = c->slurm ? slurmconf_get(c->slurm, "MailProg") : NULL;

	return prog && mail_prog_is_ours(prog) && check_is_controller(c);
}

/* Checks that slurmctld on this machine can start ceems-mail, if slurm.conf names it. */
static void check_slurm_mail(struct check *c)
{
	const char *prog = has_ceems_mail(c) ? slurmconf_get(c->slurm, "MailProg") : NULL;

	char hint[PATH_MAX + 64];
	const char *path;
	unsigned int line;

	if (!prog || access(prog, X_OK) == 0)
		return;
	path = slurmconf_where(c->slurm, "MailProg", &line);
	if (access(CEEMS_BINDIR "/ceems-mail", X_OK) == 0)
		(void)snprintf(hint, sizeof(hint), "MailProg=" CEEMS_BINDIR "/ceems-mail");
	else
		(void)snprintf(hint, sizeof(hint), "remove line %u of %s, or install slurm-ceems", line,
			       path);
	check_error(c, "MailProg", check_hint_slurm("MailProg", hint),
		    "%s%s is not an executable program: slurmctld sends no mail", check_at(c, "MailProg"),
		    prog);
}

void check_mail(struct check *c)
{
	const char *prog = mail_prog(&c->settings);
	bool is_chosen = strcmp(c->settings.mail_prog, MAIL_DEFAULT_PROG) != 0;
	struct errmsg err = { 0 };

	check_slurm_mail(c);
	if ((!is_chosen && !has_ceems_mail(c)) || check_is_hung(c, prog))
		return;
	if (mail_prog_is_ours(c->settings.mail_prog))
		check_warn(c, "MailProg", check_hint_setting(SETTING_mail_prog, PROGRAM_HINT),
			   "ceems-mail would start itself: mails go through %s", prog);
	if (access(prog, X_OK) < 0)
		check_error(c, "MailProg", check_hint_setting(SETTING_mail_prog, PROGRAM_HINT),
			    "%s is not an executable program: no mail is sent", prog);
	else if (trust_check(prog, &err) < 0)
		check_error(c, "MailProg",
			    check_hint_system("make root the owner of the program and its folder, "
					      "and let nobody else write to them"),
			    "%s", err.text);
	else if (mail_prog_attaches(prog))
		check_ok(c, "MailProg", "%s; mailed reports have the HTML page attached", prog);
	else
		check_ok(c, "MailProg", "%s; mailed reports are text: only sendmail can attach the HTML page",
			 prog);
}
