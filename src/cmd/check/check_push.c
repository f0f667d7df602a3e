/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_push.c - ProfilePushUrl on a node: what sends profiles, the secret, and what waits in the queue.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ceems_config.h"
#include "src/cmd/check/check.h"
#include "src/libutil/fileio.h"
#include "src/libutil/trust.h"

#define KEY "ProfilePushUrl"

static void push_check_headers(struct check *c, const char *path)
{
	char hint[CHECK_HINT_MAX] = "";
	struct check_hint fix = check_hint_system(hint);
	struct errmsg err = { 0 };
	char *text;

	if (!*path)
		return;
	(void)snprintf(hint, sizeof(hint), "chown root %s && chmod 600 %s", path, path);
	if (!check_owns_file(c, path))
		fix = check_hint_copy(c, SETTING_profile_push_headers, path, "root", hint);
	if (fileio_read_checked(path, (size_t)64 << 10, trust_is_own_secret, NULL, &text, NULL, &err) < 0) {
		check_error(c, "ProfilePushHeaders", fix, "%s; profiles wait in ProfilePushDir", err.text);
		return;
	}
	free(text);
	if (!strncmp(c->settings.profile_push_url, "http://", 7))
		check_warn(c, "ProfilePushHeaders",
			   check_hint_setting(SETTING_profile_push_url, "a ProfilePushUrl with https://"),
			   "the headers go over the network in the clear");
}

static void push_check_queue(struct check *c, const char *path)
{
	DIR *dir = opendir(path);
	unsigned int n = 0;
	struct dirent *d;
	struct stat st;
	uint64_t bytes = 0;

	if (!dir && errno == ENOENT) { /* the first profile creates it */
		check_ok(c, KEY, "%s; nothing waits", c->settings.profile_push_url);
		return;
	}
	if (!dir) {
		check_error(c, "ProfilePushDir", check_no_hint, "%s: %s", path, strerror(errno));
		return;
	}
	while ((d = readdir(dir)))
		if (strstr(d->d_name, ".part") &&
		    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			n++;
			bytes += (uint64_t)st.st_size;
		}
	(void)closedir(dir);
	if (bytes > c->settings.profile_push_max_bytes / 2)
		check_warn(c, KEY, check_hint_system("see slurmd's log for why"),
			   "%u parts of profiles wait, %" PRIu64 " MiB of %" PRIu64 " MiB", n, bytes >> 20,
			   c->settings.profile_push_max_bytes >> 20);
	else
		check_ok(c, KEY, "%s; %u parts of profiles wait", c->settings.profile_push_url, n);
}

void check_push(struct check *c)
{
	const char *dir = c->settings.profile_push_dir;
	struct errmsg err = { 0 };

	if (!*c->settings.profile_push_url)
		return;
#if !defined(HAVE_PROFILES) || !defined(HAVE_CURL)
	check_error(c, KEY, check_hint_system("a build with libprotobuf-c and libcurl"),
		    "this build cannot send profiles");
	return;
#endif
	if (!*dir) {
		check_error(c, KEY,
			    check_hint_setting(SETTING_profile_push_dir,
					       "a folder on a local disk as ProfilePushDir"),
			    "ProfilePushDir is empty: nothing is sent");
		return;
	}
	if (check_localfs(c, dir, "ProfilePushDir", &err) == -EREMOTE)
		check_error(c, "ProfilePushDir", check_no_hint, "%s", err.text);
	if (geteuid() != 0) {
		check_note(c, KEY, "only root can look at the queue");
		return;
	}
	if (!check_is_hung(c, c->settings.profile_push_headers))
		push_check_headers(c, c->settings.profile_push_headers);
	if (!check_is_hung(c, dir))
		push_check_queue(c, dir);
}
