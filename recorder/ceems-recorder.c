/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-recorder - makes and delivers a record of each job that slurmctld reports:
 * ceems-recorder(8).
 */
#include "ceems_config.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <pwd.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>

#include "recorder/recorder.h"
#include "slurmdb/slurmdb_worker.h"
#include "src/libutil/logger.h"
#include "src/libutil/nocore.h"

static bool in_foreground;
static bool is_verbose;

static void log_line(enum logger_level level, const char *line)
{
	static const int priority[] = {
		[LOGGER_ERROR] = LOG_ERR, [LOGGER_INFO] = LOG_INFO, [LOGGER_DEBUG] = LOG_DEBUG
	};
	char when[32];
	struct tm tm;
	time_t now;

	if (level == LOGGER_DEBUG && !is_verbose)
		return;
	if (!in_foreground) {
		syslog(priority[level], "%s", line);
		return;
	}
	now = time(NULL);
	(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", localtime_r(&now, &tm));
	fprintf(stderr, "[%s] %s%s\n", when, level == LOGGER_ERROR ? "error: " : "", line);
}

static uint64_t wall_s(void)
{
	return (uint64_t)time(NULL);
}

static const char usage[] =
	"usage: ceems-recorder [-D] [-v] [-f FILE] [-u USER]\n"
	"Makes a record of each job that ended, from what slurmctld reported and slurmdbd has,\n"
	"and delivers it to the sinks that ceems.conf names. See ceems-recorder(8).\n"
	"  -D, --foreground   stay in the foreground and log to standard error\n"
	"  -f, --config FILE  ceems.conf [beside slurm.conf]\n"
	"  -u, --user USER    started by root: become this user (SlurmUser)\n"
	"  -v, --verbose      log more\n"
	"  -V, --version\n"
	"  -h, --help\n";

static int recorder_fail(const char *text)
{
	fprintf(stderr, "ceems-recorder: %s\n", text);
	return EXIT_FAILURE;
}

static int become(const char *name, struct errmsg *err)
{
	const struct passwd *pw = getpwnam(name);

	if (!pw)
		return errmsg_set(err, -ENOENT, "there is no user %s", name);
	if (geteuid() == pw->pw_uid)
		return 0;
	if (initgroups(name, pw->pw_gid) < 0 || setgid(pw->pw_gid) < 0 || setuid(pw->pw_uid) < 0)
		return errmsg_errno(err, -errno, "cannot become %s", name);
	return 0;
}

/*
 * Checks that the recorder runs as the user who writes the inbox; otherwise neither could read the
 * other's files.
 */
static int check_user(const char *dir, struct errmsg *err)
{
	struct stat st;

	if (stat(dir, &st) < 0 || st.st_uid == geteuid())
		return 0;
	return errmsg_set(err, -EPERM,
			  "InboxDir=%s belongs to uid %u: start the recorder as that user (SlurmUser), "
			  "or as root with -u",
			  dir, (unsigned int)st.st_uid);
}

static int load_settings(struct recorder *r, const char *conf, struct errmsg *err)
{
	char path[PATH_MAX];
	int rc;

	if (conf)
		(void)snprintf(path, sizeof(path), "%s", conf);
	else if (settings_path(getenv("SLURM_CONF"), path, sizeof(path)) < 0)
		return errmsg_set(err, -ENAMETOOLONG, "the path of ceems.conf is too long");
	rc = settings_load(path, &r->settings, err);
	if (rc == -ENOENT && !conf)
		logger_info("ceems: recorder: %s does not exist; every setting has its default", path);
	return rc == -ENOENT && !conf ? 0 : rc;
}

static int block_signals(void)
{
	sigset_t stop;

	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTERM);
	(void)sigaddset(&stop, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &stop, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	return signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "foreground", no_argument, NULL, 'D' },
						 { "config", required_argument, NULL, 'f' },
						 { "user", required_argument, NULL, 'u' },
						 { "verbose", no_argument, NULL, 'v' },
						 { "version", no_argument, NULL, 'V' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	static struct recorder r;
	struct errmsg err = { 0 };
	const char *conf = NULL, *user = NULL;
	int stop_fd;
	int c;

	/* started by slurmdb_client.c */
	if (argc > 1 && (!strcmp(argv[1], "--ask-slurmdbd") || !strcmp(argv[1], "--ask-slurmctld")))
		return slurmdb_worker_main(STDIN_FILENO, !strcmp(argv[1], "--ask-slurmctld"));
	while ((c = getopt_long(argc, argv, "Df:u:vVh", options, NULL)) != -1) {
		switch (c) {
		case 'D':
			in_foreground = true;
			break;
		case 'f':
			conf = optarg;
			break;
		case 'u':
			user = optarg;
			break;
		case 'v':
			is_verbose = true;
			break;
		case 'V':
			puts("ceems-recorder " PACKAGE_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fputs(usage, stderr);
		return 2;
	}
	nocore_set(); /* it will know passwords of sinks */
	/* RecordFile may be read by its group; folders and the store have modes of their own */
	(void)umask(027);
	if (user && become(user, &err) < 0)
		return recorder_fail(err.text);
	openlog("ceems-recorder", LOG_PID, LOG_DAEMON);
	logger_set_sink(log_line);
	if (load_settings(&r, conf, &err) < 0 || check_user(r.settings.inbox_dir, &err) < 0)
		return recorder_fail(err.text);
	if (!in_foreground && daemon(0, 0) < 0)
		return recorder_fail("cannot go to the background");
	stop_fd = block_signals();
	if (stop_fd < 0)
		return recorder_fail("signalfd");
	r.wall_s = wall_s;
	if (recorder_run(&r, stop_fd, &err) < 0) {
		logger_error("ceems: recorder: %s", err.text);
		return EXIT_FAILURE;
	}
	logger_info("ceems: recorder: ends");
	return EXIT_SUCCESS;
}
