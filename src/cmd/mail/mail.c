/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ceems_config.h" /* _GNU_SOURCE for memfd_create() */

#include "src/cmd/mail/mail.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cmd/mail/mail_message.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/helper.h"
#include "src/libutil/text.h"
#include "src/libutil/util.h"

#define DEADLINE_NS (60 * NSEC_PER_SEC)

extern char **environ;

/* Returns true if PATH has a folder and the file's name is NAME. */
static bool is_named(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return slash && !strcmp(slash + 1, name);
}

bool mail_prog_is_ours(const char *prog)
{
	return is_named(prog, "ceems-mail");
}

const char *mail_prog(const struct settings *s)
{
	return *s->mail_prog && !mail_prog_is_ours(s->mail_prog) ? s->mail_prog : MAIL_DEFAULT_PROG;
}

bool mail_prog_attaches(const char *prog)
{
	return is_named(prog, "sendmail");
}

bool mail_is_address(const char *text)
{
	bool is_first = true;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c == 0x7f || strchr("<>();:\\\"|", c) || (is_first && !isalnum(c) && c != '_'))
			return false;
		is_first = c == ',' || c == ' ';
	}
	return !is_first;
}

/*
 * Writes a line of the text, with a blank before it if a mail program could obey it. GNU mail executes "~!
 * command" also in a text that is piped to it, and a line with "." alone ends the text.
 */
static int write_line(int fd, const char *line, size_t len)
{
	bool is_command = *line == '~' || (*line == '.' && (len == 1 || line[1] == '\n'));
	int rc = is_command ? fileio_write_full(fd, " ", 1) : 0;

	return rc < 0 ? rc : fileio_write_full(fd, line, len);
}

static int write_text(int fd, const char *text)
{
	int rc = 0;

	while (rc == 0 && *text) {
		size_t len = strcspn(text, "\n");

		len += text[len] == '\n';
		rc = write_line(fd, text, len);
		text += len;
	}
	return rc < 0 || lseek(fd, 0, SEEK_SET) == 0 ? rc : -errno;
}

static int mail_wait(const char *prog, pid_t pid, struct errmsg *err)
{
	int status = 0;
	int rc = helper_wait(pid, clock_mono_ns() + DEADLINE_NS, &status);

	if (rc == -EAGAIN) {
		(void)kill(pid, SIGKILL);
		return errmsg_set(err, -ETIMEDOUT, "%s did not end within a minute", prog);
	}
	if (rc < 0)
		return errmsg_errno(err, rc, "%s", prog);
	if (!WIFEXITED(status))
		return errmsg_set(err, -EIO, "%s was killed by signal %d", prog, WTERMSIG(status));
	if (WEXITSTATUS(status))
		return errmsg_set(err, -EIO, "%s ended with exit code %d", prog, WEXITSTATUS(status));
	return 0;
}

/* Writes what PROG reads from its standard input: the text, or the whole mail if PROG takes an attachment. */
static int write_input(int fd, const char *prog, const struct mail *m)
{
	_cleanup_free_ char *message = NULL;
	size_t len = 0;
	FILE *out;
	int rc;

	if (!mail_prog_attaches(prog))
		return write_text(fd, m->text);
	out = open_memstream(&message, &len);
	if (!out)
		return -ENOMEM;
	mail_message_write(m, out);
	if (fclose(out) != 0)
		return -ENOMEM;
	rc = fileio_write_full(fd, message, len);
	return rc < 0 || lseek(fd, 0, SEEK_SET) == 0 ? rc : -errno;
}

int mail_send(const char *prog, const struct mail *m, struct errmsg *err)
{
	char subject[MAIL_SUBJECT_MAX], path[PATH_MAX], to[MAIL_SUBJECT_MAX];
	char with_subject[] = "-s", all_lines[] = "-i", from_headers[] = "-t";
	bool attaches = mail_prog_attaches(prog);
	char *const argv[] = { path, attaches ? all_lines : with_subject, attaches ? from_headers : subject,
			       attaches ? NULL : to, NULL };
	struct mail masked = *m;
	_cleanup_close_ int in = -1;
	pid_t pid;
	int rc;

	if (!mail_is_address(m->address) || strlen(m->address) >= sizeof(to))
		return errmsg_set(err, -EINVAL, "'%s' is not an address", m->address);
	(void)snprintf(path, sizeof(path), "%s", prog);
	(void)snprintf(to, sizeof(to), "%s", m->address);
	(void)snprintf(subject, sizeof(subject), "%s", m->subject);
	masked.subject = text_mask(subject, subject, sizeof(subject));
	in = memfd_create("mail", MFD_CLOEXEC);
	rc = in < 0 ? -errno : write_input(in, prog, &masked);
	if (rc < 0)
		return errmsg_errno(err, rc, "cannot write the text of the mail");
	rc = helper_spawn(argv, environ, in, STDERR_FILENO, &pid);
	return rc < 0 ? errmsg_errno(err, rc, "%s", prog) : mail_wait(prog, pid, err);
}
