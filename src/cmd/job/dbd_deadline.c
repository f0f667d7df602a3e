/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/job/dbd_deadline.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"

/* Written by limit_question() while no alarm is set; read by on_alarm(). */
static char late[160];
static unsigned int seconds;

static void on_alarm(int signal)
{
	(void)signal;
	(void)fileio_write_full(STDERR_FILENO, late, strlen(late));
	_exit(CMD_FAILED);
}

static void limit_question(enum slurmdb_question what)
{
	const unsigned int s = what == SLURMDB_ASKS_PERIOD ? DBD_DEADLINE_PERIOD * seconds : seconds;

	(void)alarm(0);
	if (what == SLURMDB_ASKS_NOTHING)
		return;
	/* "\r\033[K" clears the line, on which there may be a progress bar */
	(void)snprintf(late, sizeof(late),
		       "%sceems: slurmdbd did not answer within %u s; " DBD_DEADLINE_VARIABLE
		       "=SECONDS is another limit\n",
		       isatty(STDERR_FILENO) ? "\r\033[K" : "", s);
	(void)alarm(s);
}

static unsigned int find_seconds(const struct job_site *site)
{
	const char *text = getenv(DBD_DEADLINE_VARIABLE);
	uint64_t s;

	if (text && parse_u64(text, &s) == 0 && s <= 86400)
		return (unsigned int)s;
	if (text)
		(void)cmd_error(DBD_DEADLINE_VARIABLE "=%s is not a number of seconds up to 86400", text);
	return site->message_timeout_s > DBD_DEADLINE_S ? site->message_timeout_s : DBD_DEADLINE_S;
}

slurmdb_limit *dbd_deadline(const struct job_site *site)
{
	struct sigaction action = { .sa_handler = on_alarm };
	sigset_t set;

	seconds = find_seconds(site);
	if (!seconds)
		return NULL;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGALRM);
	if (sigaction(SIGALRM, &action, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0)
		return NULL;
	return limit_question;
}
