/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/check_spool.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "src/libcore/metric_text.h"
#include "src/libsink/spool_view.h"

#define LAG_SECONDS 86400

static const char *bytes(uint64_t n, char *buf)
{
	return metric_text_value(UNIT_BYTES, n, buf, METRIC_TEXT_MAX);
}

/* As root, access() says yes to everything: whose is it, and is that who slurmctld runs as? */
static void check_owner(struct check *c, const struct stat *st)
{
	const char *dir = c->settings.spool_dir;
	const char *user = check_slurm_user(c);
	const struct passwd *pw;
	char hint[PATH_MAX + 64];

	if (!c->slurm)
		return;
	pw = getpwnam(user);
	if (!pw || pw->pw_uid == st->st_uid || !pw->pw_uid)
		return;
	(void)snprintf(hint, sizeof(hint), "chown -R %s %s", user, dir);
	check_error(c, "SpoolDir", hint, "%s is not SlurmUser's (%s): slurmctld cannot write there",
		    dir, user);
}

/* slurmctld opens what is in it by name, and believes it. */
static void check_mode(struct check *c, const struct stat *st)
{
	const char *dir = c->settings.spool_dir;
	char hint[PATH_MAX + 16];

	if (!(st->st_mode & 022))
		return;
	(void)snprintf(hint, sizeof(hint), "chmod 0700 %s", dir);
	check_error(c, "SpoolDir", hint, "%s can be written to by others, who can forge and "
		    "delete records", dir);
}

static void check_room(struct check *c, uint64_t used)
{
	const char *dir = c->settings.spool_dir;
	uint64_t max = c->settings.spool_max_bytes;
	char have[METRIC_TEXT_MAX];
	char want[METRIC_TEXT_MAX];
	struct statvfs vfs;
	uint64_t room;

	if (statvfs(dir, &vfs) < 0) {
		check_warn(c, "SpoolDir", NULL, "%s: %s", dir, strerror(errno));
		return;
	}
	room = (uint64_t)vfs.f_bavail * vfs.f_frsize + used;
	if (room < max)
		check_warn(c, "SpoolDir", "free some, or SpoolMaxSize=<less>",
			   "%s has room for %s, SpoolMaxSize is %s", dir, bytes(room, have),
			   bytes(max, want));
	else
		check_ok(c, "SpoolDir", "%s has room for SpoolMaxSize (%s), %s are used", dir,
			 bytes(max, want), bytes(used, have));
}

static bool has_backup(const struct slurmconf *sc)
{
	return slurmconf_count(sc, "SlurmctldHost") > 1 || slurmconf_get(sc, "BackupController");
}

/* A backup controller goes on with what the other left. */
static void check_shared(struct check *c, const struct stat *st)
{
	const char *state = c->slurm ? slurmconf_get(c->slurm, "StateSaveLocation") : NULL;
	struct stat there;

	if (!c->slurm || !has_backup(c->slurm) || !state)
		return;
	if (stat(state, &there) < 0)
		check_warn(c, "SpoolDir", NULL, "StateSaveLocation %s: %s", state,
			   strerror(errno));
	else if (there.st_dev != st->st_dev)
		check_warn(c, "SpoolDir", "SpoolDir=<a folder beside StateSaveLocation>",
			   "slurm.conf names a backup controller, but %s is not on the file system "
			   "of StateSaveLocation (%s): it cannot go on with what is there",
			   c->settings.spool_dir, state);
	else
		check_ok(c, "SpoolDir", "on the file system of StateSaveLocation, for the backup");
}

static void check_reader(struct check *c, const struct spool_view_reader *r)
{
	uint64_t now = (uint64_t)time(NULL);
	char have[METRIC_TEXT_MAX];
	char what[SPOOL_VIEW_NAME_MAX + 8];
	bool is_old = r->oldest_end && r->entries && now > r->oldest_end + LAG_SECONDS;

	if (!r->is_wanted) /* holds nothing back */
		return;
	(void)snprintf(what, sizeof(what), "%s", r->name);
	if (r->bytes <= c->settings.spool_max_bytes / 2 && !is_old)
		return;
	if (is_old)
		check_warn(c, what, "ceems spool ls; slurmctld's log says why",
			   "%" PRIu64 " entries (%s) wait in the spool, the oldest job ended %" PRIu64
			   " hours ago", r->entries, bytes(r->bytes, have),
			   (now - r->oldest_end) / 3600);
	else
		check_warn(c, what, "ceems spool ls; slurmctld's log says why",
			   "%" PRIu64 " entries (%s) wait in the spool, over half of SpoolMaxSize",
			   r->entries, bytes(r->bytes, have));
}

static void check_dead(struct check *c, const struct spool_view_dead *d)
{
	char hint[2 * SPOOL_VIEW_NAME_MAX + 64];

	if (!d->letters)
		return;
	(void)snprintf(hint, sizeof(hint), "ceems spool cat --dead %s; ceems spool replay %s --dead",
		       d->sink, d->sink);
	check_warn(c, "dead letters", hint, "%s has refused %" PRIu64 " records", d->sink,
		   d->letters);
}

static void check_content(struct check *c)
{
	struct spool_view_reader *reader = NULL;
	struct spool_view_dead *dead = NULL;
	struct spool_view_stats stats = { 0 };
	struct spool_view *v = NULL;
	struct errmsg err = { 0 };
	char have[METRIC_TEXT_MAX];
	size_t nreaders = 0;
	size_t ndead = 0;
	size_t i;
	int rc = spool_view_open(c->settings.spool_dir, &v, &err);

	if (rc == 0)
		rc = spool_view_readers(v, c->settings.sinks, &reader, &nreaders, &err);
	if (rc == 0)
		rc = spool_view_count(v, reader, nreaders, &err);
	if (rc == 0)
		rc = spool_view_dead(v, &dead, &ndead, &err);
	if (rc < 0) {
		check_warn(c, "SpoolDir", "run ceems check as SlurmUser or root", "%s", err.text);
	} else {
		spool_view_get_stats(v, &stats);
		check_room(c, stats.bytes);
		if (stats.damaged)
			check_warn(c, "SpoolDir", NULL, "%" PRIu64 " damaged places are skipped",
				   stats.damaged);
		if (stats.later_files)
			check_warn(c, "SpoolDir", "install that version again: it delivers them",
				   "%s in files .later were written by a later version",
				   bytes(stats.later_bytes, have));
	}
	for (i = 0; rc == 0 && i < nreaders; i++)
		check_reader(c, &reader[i]);
	for (i = 0; rc == 0 && i < ndead; i++)
		check_dead(c, &dead[i]);
	free(reader);
	free(dead);
	spool_view_close(v);
}

void check_spool(struct check *c)
{
	const char *dir = c->settings.spool_dir;
	struct stat st;

	if (!check_slurm_user_writes(c, "SpoolDir", dir, /* makes= */ true) && access(dir, F_OK) < 0)
		return;
	check_folder(c, "SpoolDir", dir, /* may_come= */ true);
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	check_owner(c, &st);
	check_mode(c, &st);
	check_shared(c, &st);
	check_content(c);
}
