/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_sinks.c - the controller's part of `ceems check`: the store and the sinks. A sink that is
 * down is only a warning, since records wait in the store.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "src/cmd/check/check.h"
#include "src/cmd/check/check_store.h"
#include "src/libsink/sink.h"
#include "src/libutil/as_owner.h"
#include "src/libutil/items.h"

/* The argument of sinks_tell(): the findings are about SINK. */
struct sink_report {
	struct check *c;
	const struct sink_ops *sink;
	bool is_open; /* its file with secrets can be opened by others, and what to type was told */
};

static void sinks_tell(void *ctx, enum sink_health health, enum setting setting, const char *hint,
		       const char *text)
{
	const struct sink_report *t = ctx;
	const char *what = t->sink->name;
	struct check_hint fix = setting < SETTING_N ? check_hint_setting(setting, hint) :
						      check_hint_system(hint);

	if (t->is_open && setting == t->sink->secret.id)
		fix = check_no_hint; /* the file is refused for its mode */
	switch (health) {
	case SINK_GOOD:
		check_ok(t->c, what, "%s", text);
		break;
	case SINK_WARN:
		check_warn(t->c, what, fix, "%s", text);
		break;
	case SINK_WRONG:
		check_error(t->c, what, fix, "%s", text);
		break;
	}
}

/* --- a sink whose files another account owns: root tests it in a child that is this account -------- */

/* A finding on its way from the child; HINT_LEN and TEXT_LEN bytes follow. */
struct sink_finding {
	int health, setting;
	uint32_t hint_len, text_len;
};

static void sinks_send(void *ctx, enum sink_health health, enum setting setting, const char *hint,
		       const char *text)
{
	const struct sink_finding f = { .health = (int)health,
					.setting = (int)setting,
					.hint_len = hint ? (uint32_t)strlen(hint) : 0,
					.text_len = (uint32_t)strlen(text) };
	FILE *to = ctx;

	(void)fwrite(&f, sizeof(f), 1, to);
	if (hint)
		(void)fwrite(hint, 1, f.hint_len, to);
	(void)fwrite(text, 1, f.text_len, to);
}

static int sinks_run(void *ctx, FILE *to, struct errmsg *err)
{
	const struct sink_report *t = ctx;

	(void)err;
	t->sink->check(&t->c->settings, sinks_send, to);
	return 0;
}

static int sinks_take(void *ctx, FILE *from, struct errmsg *err)
{
	char hint[CHECK_HINT_MAX], text[CHECK_HINT_MAX];
	struct sink_finding f;

	while (fread(&f, sizeof(f), 1, from) == 1) {
		if (f.health < SINK_GOOD || f.health > SINK_WRONG || f.setting < 0 || f.setting > SETTING_N ||
		    f.hint_len >= sizeof(hint) || f.text_len >= sizeof(text) ||
		    fread(hint, 1, f.hint_len, from) != f.hint_len ||
		    fread(text, 1, f.text_len, from) != f.text_len)
			return errmsg_set(err, -EPROTO, "the test of the sink cannot be read");
		hint[f.hint_len] = text[f.text_len] = '\0';
		sinks_tell(ctx, (enum sink_health)f.health, (enum setting)f.setting, f.hint_len ? hint : NULL,
			   text);
	}
	return 0;
}

static void sinks_try(struct sink_report *report)
{
	const struct as_owner_task task = { .run = sinks_run, .take = sinks_take, .ctx = report };
	struct errmsg err = { 0 };
	uid_t owner;

	if (!sink_is_others(report->sink, &report->c->settings, NULL, &owner))
		report->sink->check(&report->c->settings, sinks_tell, report);
	else if (as_owner_run(owner, &task, &err) < 0)
		check_error(report->c, report->sink->name, check_no_hint, "%s", err.text);
}

/* --- a sink --------------------------------------------------------------------------------------- */

static const char *sinks_setting(const struct check *c, const struct sink_setting *s)
{
	return (const char *)&c->settings + s->offset;
}

static void sinks_say_empty(struct check *c, const struct sink_ops *sink, const struct sink_setting *s)
{
	char hint[64];

	(void)snprintf(hint, sizeof(hint), "%s=<file>", s->key);
	check_error(c, sink->name, check_hint_setting(s->id, hint), "Sinks has %s, %s is empty", sink->name,
		    s->key);
}

static void sinks_check_output(struct check *c, const struct sink_ops *sink)
{
	const char *path = sinks_setting(c, &sink->output);
	char folder[PATH_MAX], hint[CHECK_HINT_MAX];
	struct stat st;
	char *slash;

	if (!*path) {
		sinks_say_empty(c, sink, &sink->output);
		return;
	}
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		check_error(c, sink->output.key, check_hint_elsewhere(c, sink->output.id, hint),
			    "%s is %s, not a regular file: nothing is written", path,
			    S_ISDIR(st.st_mode)	 ? "a folder" :
			    S_ISFIFO(st.st_mode) ? "a fifo" :
						   "something else");
		return;
	}
	(void)snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	if (check_slurm_user_writes(c, sink->output.id, folder, /* makes= */ false))
		check_folder(c, sink->output.id, folder, /* may_come= */ false);
}

static bool is_open_to_others(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_mode & (S_IRWXG | S_IRWXO);
}

/* Returns true if a file of SINK does not answer. */
static bool sinks_is_hung(const struct check *c, const struct sink_ops *sink)
{
	const struct sink_setting *const files[] = { &sink->output, &sink->secret, &sink->trust };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		if (files[i]->key && check_is_hung(c, sinks_setting(c, files[i])))
			return true;
	return false;
}

static void sinks_check_one(struct check *c, const struct sink_ops *sink)
{
	struct sink_report report = { .c = c, .sink = sink };
	bool has_secret = sink->secret.key && *sinks_setting(c, &sink->secret);

	if (sinks_is_hung(c, sink))
		return;
	if (sink->output.key)
		sinks_check_output(c, sink);
	if (sink->secret.key && !has_secret && !sink->may_lack_secret) {
		sinks_say_empty(c, sink, &sink->secret);
	} else if (sink->check &&
		   (!has_secret || check_secret_file(c, sink->secret.id, sinks_setting(c, &sink->secret)))) {
		report.is_open = has_secret && is_open_to_others(sinks_setting(c, &sink->secret));
		sinks_try(&report);
	}
	if (sink->db && c->settings.mariadb_retention_ns &&
	    c->settings.correction_wait_ns > c->settings.mariadb_retention_ns)
		check_error(c, sink->name,
			    check_hint_setting(SETTING_correction_wait_ns,
					       "CorrectionWait less than MariadbRetention"),
			    "a correction may come after its job was archived: the sums would have the "
			    "job twice");
}

void check_sinks(struct check *c)
{
	const char *list = c->settings.sinks;
	char name[64];

	if (!check_is_controller(c)) {
		check_note(c, "Sinks", "store and sinks are on the controller: run ceems check there");
		return;
	}
	check_store(c);
	while (items_next(&list, name, sizeof(name))) {
		const struct sink_ops *sink = sink_find(name);

		if (sink)
			sinks_check_one(c, sink);
		else
			check_error(c, "Sinks",
				    check_hint_setting(
					    SETTING_sinks,
					    "install the package that has it, or take it out of Sinks"),
				    "this build has no sink %s; its records wait in the store", name);
	}
}
