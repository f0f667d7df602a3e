/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-mail.c - a program for MailProg of slurm.conf: sends Slurm's mail with the output of `ceems job` in
 * it. slurmctld starts it as SlurmUser, with the job's id in the environment. If `ceems job` fails, the mail
 * is sent without its output.
 */
#include "ceems_config.h" /* _GNU_SOURCE for memfd_create() */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cmd/mail/mail.h"
#include "src/cmd/program.h"
#include "src/libcore/settings.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/helper.h"
#include "src/libutil/parse.h"
#include "src/libutil/text.h"

#define SCREEN_MAX 16384
#define SCREEN_NS (10 * NSEC_PER_SEC)
/* part of SCREEN_NS: slurmdbd has a job's last values some seconds after its end */
#define WAIT_FOR_SLURMDBD "7s"

extern char **environ;

static bool number_of(const char *variable, uint64_t *ret)
{
	const char *text = getenv(variable);

	return text && parse_u64(text, ret) == 0 && *ret <= UINT32_MAX;
}

/*
 * Writes the id of the job that the mail is about, such as "12" or "12_3". For the summary of an array, this
 * is the array, not its last task, which is in the environment. False: the mail is about no job.
 */
static bool find_job(const char *subject, char *id, size_t size)
{
	static const char summary[] = "Slurm Array Summary ";
	bool is_summary = !strncmp(subject, summary, sizeof(summary) - 1);
	uint64_t job, array, task;

	if (number_of("SLURM_ARRAY_JOB_ID", &array) && is_summary)
		(void)snprintf(id, size, "%" PRIu64, array);
	else if (number_of("SLURM_ARRAY_JOB_ID", &array) && number_of("SLURM_ARRAY_TASK_ID", &task))
		(void)snprintf(id, size, "%" PRIu64 "_%" PRIu64, array, task);
	else if (number_of("SLURM_JOB_ID", &job) || number_of("SLURM_JOBID", &job))
		(void)snprintf(id, size, "%" PRIu64, job);
	else
		return false;
	return true;
}

/* Whether the mail is of Slurm's type NAME, such as "Ended". */
static bool is_type(const char *name)
{
	const char *type = getenv("SLURM_JOB_MAIL_TYPE");

	return type && !strcmp(type, name);
}

/* Runs `ceems job` for job ID, and writes what it prints to TEXT, which has SCREEN_MAX bytes. */
static int run_ceems(char *id, char *text, struct errmsg *err)
{
	char path[PATH_MAX], job[] = "job", wait[] = "--wait", ended[] = WAIT_FOR_SLURMDBD, now[] = "0";
	char *const argv[] = {
		path, job, wait, is_type("Ended") || is_type("Failed") ? ended : now, id, NULL
	};
	_cleanup_close_ int out = memfd_create("screen", MFD_CLOEXEC);
	int status = 0;
	ssize_t len;
	pid_t pid;
	int rc;

	if (out < 0)
		return errmsg_errno(err, -errno, "memfd_create");
	rc = program_beside("ceems", path, sizeof(path));
	if (rc == 0)
		rc = helper_spawn(argv, environ, -1, out, &pid);
	if (rc < 0)
		return errmsg_errno(err, rc, "ceems");
	rc = helper_wait(pid, clock_mono_ns() + SCREEN_NS, &status);
	if (rc == -EAGAIN) {
		(void)kill(pid, SIGKILL);
		return errmsg_set(err, -ETIMEDOUT, "slurmdbd did not answer within 10 s");
	}
	len = pread(out, text, SCREEN_MAX - 1, 0);
	text[len < 0 ? 0 : len] = '\0';
	if (rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && len > 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return errmsg_set(err, -EIO, "%.200s", *text ? text : "ceems job failed without a message");
}

/*
 * Writes the output of `ceems job` to TEXT, or a line that says why there is none. When a job begins,
 * slurmdbd has it as pending or not at all, so its screen would contradict the subject.
 */
static void make_text(const char *subject, char *text)
{
	struct errmsg err = { 0 };
	char id[32], why[sizeof(err.text)];

	if (!find_job(subject, id, sizeof(id)))
		(void)snprintf(text, SCREEN_MAX, "The subject names no job.\n");
	else if (is_type("Began"))
		(void)snprintf(text, SCREEN_MAX, "Job %s has begun. See what it uses: ceems job %s\n", id,
			       id);
	else if (is_type("Invalid dependency"))
		(void)snprintf(text, SCREEN_MAX, "Job %s has not run.\n", id);
	else if (run_ceems(id, text, &err) < 0)
		(void)snprintf(text, SCREEN_MAX, "What job %s used is not known: %s\n", id,
			       text_mask(err.text, why, sizeof(why)));
}

/* Returns the mail program that ceems.conf names; the default if the file cannot be read. */
static const char *find_prog(struct settings *settings)
{
	char conf[PATH_MAX];
	struct errmsg err = { 0 };

	if (settings_path(getenv("SLURM_CONF"), conf, sizeof(conf)) < 0 ||
	    settings_load(conf, settings, &err) < 0)
		*settings = (struct settings){ 0 };
	return mail_prog(settings);
}

int main(int argc, char **argv)
{
	char text[SCREEN_MAX];
	struct settings settings;
	struct errmsg err = { 0 };
	struct mail mail = { .text = text };

	if (argc != 4 || strcmp(argv[1], "-s") != 0) {
		(void)fprintf(stderr, "Usage: ceems-mail -s SUBJECT ADDRESS\n"
				      "MailProg of slurm.conf: mails a job's screen.\n");
		return 2;
	}
	make_text(argv[2], text);
	mail.subject = argv[2];
	mail.address = argv[3];
	if (mail_send(find_prog(&settings), &mail, &err) == 0)
		return 0;
	(void)fprintf(stderr, "ceems-mail: the mail was not sent: %s\n",
		      text_mask(err.text, err.text, sizeof(err.text)));
	return 1;
}
