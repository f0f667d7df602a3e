/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/check/check_store.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "src/cmd/store/store_cmd.h"
#include "src/libutil/items.h"

#define LAG_SECONDS 86400
#define SINK_LAG_SECONDS 300
#define TAKEN_SECONDS 60 /* an entry that waits longer is reported; the recorder takes it within seconds */

/*
 * Checks that PATH, DIR or a file in it, belongs to SlurmUser. access() would not do: root, who runs `ceems
 * check`, may do everything. False: it was reported.
 */
static bool store_check_owner(struct check *c, enum setting setting, const char *dir, const char *path,
			      const struct stat *st)
{
	const char *user = check_slurm_user(c);
	char hint[CHECK_HINT_MAX];
	const struct passwd *pw;
	struct check_hint fix;

	if (!c->slurm)
		return true;
	pw = getpwnam(user);
	if (!pw || pw->pw_uid == st->st_uid || !pw->pw_uid)
		return true;
	fix = check_owns_folder(dir) ? check_hint_system(check_chown(user, dir, hint)) :
				       check_hint_elsewhere(c, setting, hint);
	check_error(c, settings_keys[setting].name, fix, "%s does not belong to SlurmUser (%s)", path, user);
	return false;
}

/* Checks that the files of the store belong to SlurmUser. Those of root keep the recorder from starting. */
static void store_check_files(struct check *c, const char *dir)
{
	static const char *const files[] = { "lock", "store.db" };
	char path[PATH_MAX];
	struct stat st;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, files[i]) < sizeof(path) &&
		    stat(path, &st) == 0 && !store_check_owner(c, SETTING_store_dir, dir, path, &st))
			return;
}

/* Checks that other users cannot write to DIR, since the recorder trusts the files in it. */
static void store_check_mode(struct check *c, enum setting setting, const char *dir, const struct stat *st)
{
	char hint[CHECK_HINT_MAX] = "";
	struct check_hint fix = check_hint_system(hint);

	if (!(st->st_mode & 022))
		return;
	(void)snprintf(hint, sizeof(hint), "chmod 0700 %s", dir);
	if (!check_owns_folder(dir))
		fix = check_hint_elsewhere(c, setting, hint);
	check_error(c, settings_keys[setting].name, fix,
		    "other users can write to %s, and so forge and delete records", dir);
}

/* Checks DIR, the folder that SETTING names. False: it does not exist, perhaps because it is made later. */
static bool store_check_folder(struct check *c, enum setting setting, const char *dir)
{
	const char *key = settings_keys[setting].name;
	struct errmsg err = { 0 };
	struct stat st;

	if (check_localfs(c, dir, key, &err) == -EREMOTE) {
		check_error(c, key, check_hint_setting(setting, "name a folder on a local disk"), "%s",
			    err.text);
		return false;
	}
	if (check_is_hung(c, dir))
		return false;
	if (!check_slurm_user_writes(c, setting, dir, /* makes= */ true) && access(dir, F_OK) < 0)
		return false;
	check_folder(c, setting, dir, /* may_come= */ true);
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	(void)store_check_owner(c, setting, dir, dir, &st);
	store_check_mode(c, setting, dir, &st);
	return true;
}

static void store_check_room(struct check *c, uint64_t used)
{
	const char *dir = c->settings.store_dir;
	uint64_t max = c->settings.store_max_bytes;
	char have[METRIC_TEXT_MAX];
	char want[METRIC_TEXT_MAX];
	struct statvfs vfs;
	uint64_t room;

	if (statvfs(dir, &vfs) < 0) {
		check_warn(c, "StoreDir", check_no_hint, "%s: %s", dir, strerror(errno));
		return;
	}
	room = (uint64_t)vfs.f_bavail * vfs.f_frsize + used;
	if (!max)
		check_ok(c, "StoreDir", "%s has room for %s, %s are used", dir,
			 store_bytes(room - used, have), store_bytes(used, want));
	else if (room < max)
		check_warn(c, "StoreDir",
			   check_hint_setting(SETTING_store_max_bytes, "free some, or StoreMaxSize=<less>"),
			   "%s has room for %s, StoreMaxSize is %s", dir, store_bytes(room, have),
			   store_bytes(max, want));
	else
		check_ok(c, "StoreDir", "%s has room for StoreMaxSize (%s), %s are used", dir,
			 store_bytes(max, want), store_bytes(used, have));
	if (max && used > max / 4 * 3)
		check_error(c, "StoreDir",
			    check_hint_system("ceems store status shows which sink takes no records"),
			    "the store is full: job ends wait in %s", c->settings.inbox_dir);
}

static void store_check_inbox(struct check *c, struct store_view *v, bool has_writer)
{
	struct inbox_status inbox;
	struct errmsg err = { 0 };
	char have[METRIC_TEXT_MAX];
	char age[METRIC_TEXT_MAX];
	int rc = store_inbox_status(&c->settings, v, &inbox, &err);

	if (rc == -ENOENT)
		return; /* slurmctld makes InboxDir when it starts */
	if (rc < 0)
		check_warn(c, "InboxDir", check_hint_system("run ceems check as SlurmUser or root"), "%s",
			   err.text);
	else if (inbox.unread && (uint64_t)time(NULL) > inbox.oldest + TAKEN_SECONDS)
		check_error(c, "InboxDir",
			    check_hint_system(has_writer ? "ceems-recorder's log says why" :
							   "systemctl start ceems-recorder"),
			    "ceems-recorder does not read it: %s wait since %s",
			    store_bytes(inbox.unread, have), store_age(inbox.oldest, age));
	else
		check_ok(c, "InboxDir", "ceems-recorder has read all that slurmctld wrote");
}

static void store_check_sink(struct check *c, struct store_view *v, const char *name)
{
	struct store_sink_status k;
	struct errmsg err = { 0 };
	char have[METRIC_TEXT_MAX];
	char age[METRIC_TEXT_MAX];
	char hint[2 * STORE_SINK_NAME_MAX + 80];
	bool is_large;
	bool is_old;

	if (store_view_sink(v, name, store_sink_kinds(name), &k, &err) < 0) {
		check_warn(c, name, check_no_hint, "%s", err.text);
		return;
	}
	is_old = k.oldest && (uint64_t)time(NULL) > k.oldest + SINK_LAG_SECONDS;
	is_large = c->settings.store_max_bytes && k.waiting_bytes > c->settings.store_max_bytes / 2;
	if (k.waiting && (is_old || is_large))
		check_warn(c, name, check_hint_system("ceems-recorder's log says why"),
			   "%" PRIu64 " records (%s) wait in the store, the oldest since %s", k.waiting,
			   store_bytes(k.waiting_bytes, have), store_age(k.oldest, age));
	if (!k.refused)
		return;
	(void)snprintf(hint, sizeof(hint), "ceems store ls --refused %s; ceems store replay %s --refused",
		       name, name);
	check_warn(c, name, check_hint_system(hint), "has refused %" PRIu64 " records", k.refused);
}

#define DEFAULT_NODES_SECONDS (24 * 3600)

/* Names nodes that charged the world mean within a day, as ceems-recorder noted. */
static void store_check_defaults(struct check *c, struct store_view *v)
{
	char text[STORE_DEFAULT_NODES_MAX + 1];
	char list[256] = "";
	char nodes[128];
	uint64_t now = (uint64_t)time(NULL);
	const char *line = text;
	bool more = false;
	size_t len = 0;
	uint64_t seen;
	int n;

	if (store_view_meta(v, STORE_META_DEFAULT_NODES, text, sizeof(text) - 1, &len, NULL) <= 0)
		return;
	text[len] = '\0';
	for (; sscanf(line, STORE_DEFAULT_NODES_LINE, &seen, nodes, &n) == 2; line += n) {
		size_t used = strlen(list);

		if (seen + DEFAULT_NODES_SECONDS < now)
			continue;
		if (used + strlen(nodes) + 3 < sizeof(list))
			(void)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", nodes);
		else
			more = true;
	}
	if (*list)
		check_warn(
			c, "emissions",
			check_hint_system("copy ceems.conf to these nodes, run ceems check there, and "
					  "restart slurmd"),
			"%s%s charged jobs of the last day with the world mean: no ceems.conf there, or none "
			"with Country; records have the factor of this host, sacct does not",
			list, more ? " and others" : "");
}

static void store_check_content(struct check *c, struct store_view *v, bool has_writer)
{
	const char *list = c->settings.sinks;
	struct store_status status;
	struct errmsg err = { 0 };
	char name[STORE_SINK_NAME_MAX];
	char age[METRIC_TEXT_MAX];

	if (store_view_status(v, (uint64_t)time(NULL), &status, &err) < 0) {
		check_warn(c, "StoreDir", check_no_hint, "%s", err.text);
		return;
	}
	store_check_room(c, status.used_bytes);
	store_check_defaults(c, v);
	if (has_writer && status.overdue && (uint64_t)time(NULL) > status.oldest_due + LAG_SECONDS)
		check_warn(c, "recorder", check_hint_system("ceems-recorder's log says why"),
			   "%" PRIu64
			   " jobs without a record are overdue since %s: slurmdbd lacks their data",
			   status.overdue, store_age(status.oldest_due, age));
	while (items_next(&list, name, sizeof(name)))
		store_check_sink(c, v, name);
}

/* Reports a recorder whose StoreDir was deleted. */
static bool store_is_deleted(struct check *c)
{
	char lock[PATH_MAX + 32];
	pid_t pid;

	(void)snprintf(lock, sizeof(lock), "%s/lock (deleted)", c->settings.store_dir);
	pid = check_process_holding("ceems-recorder", lock);
	if (pid)
		check_error(c, "recorder", check_hint_restart(RESTART_RECORDER),
			    "ceems-recorder (process %d) runs, but %s was deleted under it: what it writes "
			    "is lost "
			    "when it ends",
			    (int)pid, c->settings.store_dir);
	return pid;
}

void check_store(struct check *c)
{
	const char *dir = c->settings.store_dir;
	bool has_inbox = store_check_folder(c, SETTING_inbox_dir, c->settings.inbox_dir);
	bool has_store = store_check_folder(c, SETTING_store_dir, dir);
	struct store_view *v = NULL;
	struct errmsg err = { 0 };
	int rc = has_store ? store_view_open(dir, /* writable= */ false, &v, &err) : -ENOENT;
	int writer = has_store ? store_view_has_writer(dir, NULL) : 0;

	if (has_store)
		store_check_files(c, dir);
	if (writer == -ENOENT) /* no recorder has ever run */
		writer = 0;
	if (rc < 0 && rc != -ENOENT)
		check_warn(c, "StoreDir", check_hint_system("run ceems check as SlurmUser or root"), "%s",
			   err.text);
	if (has_inbox && rc != -EACCES)
		store_check_inbox(c, v, writer > 0);
	if (store_is_deleted(c))
		writer = 1;
	else if (has_inbox && writer == 0)
		check_error(c, "recorder", check_hint_system("systemctl enable --now ceems-recorder"),
			    "ceems-recorder does not run: no job gets a record");
	else if (writer > 0 && check_process_loaded("ceems-recorder", "ceems-recorder") == CHECK_OLD_FILE)
		check_warn(c, "recorder", check_hint_restart(RESTART_RECORDER),
			   "runs an older file of ceems-recorder than is installed");
	else if (writer > 0)
		check_ok(c, "recorder", "ceems-recorder runs");
	if (rc == 0)
		store_check_content(c, v, writer > 0);
	store_view_close(v);
}
