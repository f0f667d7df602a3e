/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_program.h - for tests of the programs that write a file of a step (stepfile.h): the lines that
 * slurmstepd logs, another program in the place of ours, and ours with calls that fail.
 */
#ifndef CEEMS_STEP_PROGRAM_H
#define CEEMS_STEP_PROGRAM_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "scratch.h"
#include "src/libcore/settings.h"
#include "src/libutil/logger.h"
#include "tap.h"

#define STEP_PROGRAM_TRIES 1000 /* of 10 ms */

static struct settings settings;
static char said[4096];
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct timespec pause_10ms = { .tv_nsec = 10000000 };

static inline void keep_line(enum logger_level level, const char *text)
{
	size_t used;

	if (level == LOGGER_DEBUG)
		return;
	(void)pthread_mutex_lock(&said_lock);
	used = strlen(said);
	(void)snprintf(said + used, sizeof(said) - used, "%s\n", text);
	(void)pthread_mutex_unlock(&said_lock);
}

static inline bool has_said(void)
{
	bool is_line;

	(void)pthread_mutex_lock(&said_lock);
	is_line = strchr(said, '\n') != NULL;
	(void)pthread_mutex_unlock(&said_lock);
	return is_line;
}

static inline bool wait_until(bool (*is_so)(void))
{
	unsigned int i;

	for (i = 0; i < STEP_PROGRAM_TRIES && !is_so(); i++)
		(void)nanosleep(&pause_10ms, NULL);
	return is_so();
}

/*
 * Returns true if PROGRAM runs, and all that another user can read of its processes is its path: in the
 * command line, not in the environment.
 */
static inline bool shows_only_path(const char *program)
{
	char command[1024];

	(void)snprintf(command, sizeof(command),
		       "as() { setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\" 2>/dev/null; }\n"
		       "pids=$(pgrep -f '^%s/%s') || exit 1\n"
		       "for p in $pids; do\n"
		       "	[ \"$(as tr '\\0' '|' </proc/$p/cmdline)\" = '%s/%s|' ] || exit 1\n"
		       "	! as cat /proc/$p/environ || exit 1\n"
		       "done",
		       HELPER_DIR, program, HELPER_DIR, program);
	return system(command) == 0;
}

/* Puts the script TEXT into DIR under the name of our PROGRAM, and has it used. */
static inline void use_program(const char *dir, const char *program, const char *text)
{
	const char *path = scratch_path(dir, program);

	(void)snprintf(settings.helper_dir, sizeof(settings.helper_dir), "%s", dir);
	(void)unlink(path);
	if (!scratch_write(path, text, strlen(text)) || chmod(path, 0700) < 0)
		exit(99);
}

/*
 * Has PROGRAM used with libfiu, which lets the calls POINT fail with errno ERROR. -f '': without
 * named pipes to steer it.
 */
static inline void use_fault(const char *dir, const char *program, const char *point, int error)
{
	char text[512];

	/*
	 * ASan would report memory of libfiu as leaked, and its symbolizer hangs when
	 * its own write() fails, too
	 */
	(void)snprintf(text, sizeof(text),
		       "#!/bin/sh\nexport ASAN_OPTIONS=detect_leaks=0\n"
		       "exec fiu-run -x -f '' -c 'enable name=posix/%s,failinfo=%d' %s/%s \"$@\"\n",
		       point, error, HELPER_DIR, program);
	use_program(dir, program, text);
}

/*
 * Returns true if libfiu runs PROGRAM: its status with an argument is the usage's. In a build with gcc's
 * sanitizers it does not.
 */
static inline bool has_faults(const char *program)
{
	char command[512];

	(void)snprintf(command, sizeof(command), "fiu-run -x -f '' %s/%s x >/dev/null 2>&1", HELPER_DIR,
		       program);
	return system(command) == 2 << 8;
}

#endif
