/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_spool.c - ceems spool: looks into the spool of slurmctld's plugin and delivers again, beside a
 * running slurmctld. As root it delivers as the spool's owner, so that no file in it becomes root's.
 */
#define _GNU_SOURCE /* setresuid */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/cmd/cmd.h"
#include "src/cmd/spool_ls.h"
#include "src/cmd/spool_replay.h"
#include "src/libsink/sink_module.h"
#include "src/libsink/spool_view.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"

#define REPLAY_TIMEOUT_NS (60 * NSEC_PER_SEC)

struct spool_args {
	struct settings settings;
	struct spool_pick pick;
	const char *sink; /* of replay */
	const char *conf;
	const char *reader;
	const char *dead;
	const char *file;
	const char *output;
	bool has_from;
	bool json;
	bool is_long;
	uint64_t timeout_ns;
};

int cmd_spool_error(int rc, const struct errmsg *err)
{
	(void)cmd_error("%s", err->text);
	if (rc == -EACCES || rc == -EPERM)
		(void)cmd_error("the spool is SlurmUser's: run this as SlurmUser or root");
	return CMD_FAILED;
}

/* --- cat ------------------------------------------------------------------------------------- */

/* Bytes at the start of KEY that need no escape; of keys of ours all. */
static size_t plain_len(const char *key, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (key[i] < ' ' || key[i] > '~' || key[i] == '"' || key[i] == '\\')
			break;
	return i;
}

/* What is no JSON line of itself is told by its key: no byte of it may break the reader's lines. */
static void print_entry(const struct spool_args *a, const struct spool_entry *e)
{
	if (a->is_long)
		printf("%" PRIu64 ":%" PRIu64 " %s %.*s ", e->pos.segment, e->pos.offset,
		       spool_kind_name(e->kind), (int)e->key_len, e->key);
	if (e->len && *e->data == '{' && !memchr(e->data, '\n', e->len))
		(void)fwrite(e->data, 1, e->len, stdout);
	else
		printf("{\"kind\":\"%s\",\"key\":\"%.*s\"}", spool_kind_name(e->kind),
		       (int)plain_len(e->key, e->key_len), e->key);
	putchar('\n');
}

static int seek_reader(const struct spool_args *a, struct spool_view *v, struct errmsg *err)
{
	struct spool_view_reader *reader = NULL;
	bool found = false;
	size_t n = 0;
	size_t i;
	int rc = spool_view_readers(v, a->settings.sinks, &reader, &n, err);

	for (i = 0; rc == 0 && i < n; i++) {
		if (strcmp(reader[i].name, a->reader))
			continue;
		spool_view_seek(v, &reader[i].at);
		found = true;
	}
	free(reader);
	return rc == 0 && !found ? errmsg_set(err, -ENOENT, "%s: no reader '%s'",
					      a->settings.spool_dir, a->reader) :
				   rc;
}

static int cat_segments(const struct spool_args *a)
{
	struct spool_view_stats stats;
	struct spool_view *v = NULL;
	struct errmsg err = { 0 };
	struct spool_entry e;
	int rc = spool_view_open(a->settings.spool_dir, &v, &err);

	if (rc == 0)
		spool_view_seek(v, &a->pick.from);
	if (rc == 0 && a->reader)
		rc = seek_reader(a, v, &err);
	while (rc == 0 && !ferror(stdout) && (rc = spool_view_read(v, &e, &err)) > 0) {
		rc = 0;
		if (spool_pick_takes(&a->pick, e.kind, e.key, e.key_len, e.data, e.len))
			print_entry(a, &e);
	}
	if (rc == 0) {
		spool_view_get_stats(v, &stats);
		if (stats.damaged)
			rc = errmsg_set(&err, -EIO, "%s: %" PRIu64 " damaged places were skipped",
					a->settings.spool_dir, stats.damaged);
	}
	spool_view_close(v);
	return rc < 0 ? cmd_spool_error(rc, &err) : CMD_OK;
}

static int cat_file(const struct spool_args *a, FILE *f)
{
	_cleanup_free_ char *line = NULL;
	struct letter l;
	size_t room = 0;
	int bad = 0;
	int got;

	while ((got = letter_next(f, &line, &room, &l)) != 0) {
		if (got < 0 && got != -EINVAL)
			return got;
		bad |= got;
		if (got > 0 && spool_pick_takes(&a->pick, l.kind, l.key, strlen(l.key), l.json,
						l.json_len)) {
			if (a->is_long)
				printf("%s %s ", spool_kind_name(l.kind), l.key);
			(void)fwrite(l.json, 1, l.json_len, stdout);
			putchar('\n');
		}
		letter_clear(&l);
	}
	return bad < 0 ? -EINVAL : 0;
}

static int cat_dead(const struct spool_args *a)
{
	struct errmsg err = { 0 };
	char path[PATH_MAX];
	unsigned int found = 0;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < LETTER_FILES && rc == 0; i++) {
		_cleanup_fclose_ FILE *f = NULL;

		if (!letter_file(a->settings.spool_dir, a->dead, i, path, sizeof(path)))
			return cmd_error("%s: path too long", a->settings.spool_dir);
		f = fopen(path, "re");
		if (!f && errno == ENOENT)
			continue;
		found++;
		if (!f)
			rc = errmsg_errno(&err, -errno, "%s: cannot open", path);
		else if ((rc = cat_file(a, f)) < 0)
			(void)errmsg_set(&err, rc, "%s: %s", path,
					 rc == -EINVAL ? "has lines that are no dead letter" :
							 strerror(-rc));
	}
	if (rc == 0 && !found)
		return cmd_error("%s: %s has no dead letters", a->settings.spool_dir, a->dead);
	return rc < 0 ? cmd_spool_error(rc, &err) : CMD_OK;
}

/* --- replay ---------------------------------------------------------------------------------- */

static int become_owner(const char *dir, struct errmsg *err)
{
	struct passwd *pw;
	struct stat st;

	if (geteuid())
		return 0;
	if (stat(dir, &st) < 0)
		return errmsg_errno(err, -errno, "%s", dir);
	if (!st.st_uid)
		return 0;
	pw = getpwuid(st.st_uid);
	if ((pw ? initgroups(pw->pw_name, pw->pw_gid) : setgroups(0, NULL)) < 0 ||
	    setresgid(pw ? pw->pw_gid : st.st_gid, pw ? pw->pw_gid : st.st_gid,
		      pw ? pw->pw_gid : st.st_gid) < 0 ||
	    setresuid(st.st_uid, st.st_uid, st.st_uid) < 0)
		return errmsg_errno(err, -errno, "cannot become the owner of %s", dir);
	return 0;
}

static int prepare_replay(struct spool_args *a, struct replay *r, FILE **ret_file,
			  struct errmsg *err)
{
	int rc;

	r->ops = sink_find(a->sink);
	if (!r->ops)
		return errmsg_set(err, -EINVAL, "'%s' is no sink of this build", a->sink);
	if (r->ops == &sink_file) {
		if (!a->output)
			return errmsg_set(err, -EINVAL, "replay file needs --output FILE");
		(void)snprintf(a->settings.record_file, sizeof(a->settings.record_file), "%s",
			       a->output);
	} else if (a->output) {
		return errmsg_set(err, -EINVAL, "--output is for the sink file");
	}
	if (a->file) {
		*ret_file = strcmp(a->file, "-") ? fopen(a->file, "re") : stdin;
		if (!*ret_file)
			return errmsg_errno(err, -errno, "%s: cannot open", a->file);
	}
	rc = become_owner(a->settings.spool_dir, err);
	/* a file of records needs no spool */
	if (rc == -ENOENT && a->file)
		rc = 0;
	return rc < 0 ? rc : replay_open(r, &a->settings, err);
}

static int replay(struct spool_args *a)
{
	struct replay r = { .dir = a->settings.spool_dir,
			    .timeout_ns = a->timeout_ns ? a->timeout_ns : REPLAY_TIMEOUT_NS };
	struct errmsg err = { 0 };
	FILE *f = NULL;
	int rc = prepare_replay(a, &r, &f, &err);

	if (rc == 0) {
		if (f)
			rc = replay_lines(&r, f, &a->pick, &err);
		else if (a->dead)
			rc = replay_letters(&r, &err);
		else
			rc = replay_segments(&r, &a->pick, &err);
		printf("%s: %" PRIu64 " acked, %" PRIu64 " refused, %" PRIu64 " left\n", a->sink,
		       r.acked, r.refused, r.left);
	}
	replay_close(&r);
	if (f && f != stdin)
		(void)fclose(f);
	if (rc < 0)
		return cmd_spool_error(rc, &err);
	return r.refused ? CMD_FAILED : CMD_OK;
}

/* --- arguments ------------------------------------------------------------------------------- */

enum { OPT_DEAD = 256, OPT_FILE, OPT_FROM, OPT_JOB, OPT_JSON, OPT_KEY, OPT_KIND, OPT_LONG,
       OPT_OUTPUT, OPT_READER, OPT_SINCE, OPT_TIMEOUT };

static const struct option ls_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "conf", required_argument, NULL, 'c' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ 0 },
};
static const struct option cat_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "conf", required_argument, NULL, 'c' },
	{ "dead", required_argument, NULL, OPT_DEAD },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "job", required_argument, NULL, OPT_JOB },
	{ "key", required_argument, NULL, OPT_KEY },
	{ "kind", required_argument, NULL, OPT_KIND },
	{ "long", no_argument, NULL, OPT_LONG },
	{ "reader", required_argument, NULL, OPT_READER },
	{ 0 },
};
static const struct option replay_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "conf", required_argument, NULL, 'c' },
	{ "dead", no_argument, NULL, OPT_DEAD },
	{ "file", required_argument, NULL, OPT_FILE },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "job", required_argument, NULL, OPT_JOB },
	{ "key", required_argument, NULL, OPT_KEY },
	{ "output", required_argument, NULL, OPT_OUTPUT },
	{ "since", required_argument, NULL, OPT_SINCE },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ 0 },
};

static bool take_option(struct spool_args *a, int opt)
{
	switch (opt) {
	case 'c':
		a->conf = optarg;
		return true;
	case OPT_DEAD:
		a->dead = optarg ? optarg : "";
		return true;
	case OPT_FILE:
		a->file = optarg;
		return true;
	case OPT_FROM:
		a->has_from = true;
		return spool_pick_set_from(&a->pick, optarg);
	case OPT_JOB:
		return spool_pick_set_job(&a->pick, optarg);
	case OPT_JSON:
		a->json = true;
		return true;
	case OPT_KEY:
		a->pick.key = optarg;
		return true;
	case OPT_KIND:
		return spool_pick_set_kinds(&a->pick, optarg);
	case OPT_LONG:
		a->is_long = true;
		return true;
	case OPT_OUTPUT:
		a->output = optarg;
		return true;
	case OPT_READER:
		a->reader = optarg;
		return true;
	case OPT_SINCE:
		return spool_pick_set_since(&a->pick, optarg);
	case OPT_TIMEOUT:
		if (parse_duration_ns(optarg, &a->timeout_ns) == 0)
			return true;
		(void)cmd_error("'%s' is not a duration", optarg);
		return false;
	default:
		return false;
	}
}

static bool is_consistent(const struct spool_args *a, bool is_replay)
{
	bool has_place = a->has_from || a->reader;

	if (a->dead && (has_place || a->file))
		(void)cmd_error("--dead is not for the segments or a file");
	else if (is_replay && a->dead && (a->pick.key || a->pick.job || a->pick.since))
		(void)cmd_error("--dead replays all of a sink's dead letters");
	else if (a->has_from && (a->reader || a->file))
		(void)cmd_error("--from is a place in the segments");
	else if (a->pick.since && !a->file)
		(void)cmd_error("--since is for --file");
	else
		return true;
	return false;
}

static int run(const struct cmd_info *self, int argc, char **argv)
{
	static const struct {
		const char *name;
		const struct option *options;
	} actions[] = { { "ls", ls_options }, { "cat", cat_options }, { "replay", replay_options } };
	_cleanup_free_ struct spool_args *a = calloc(1, sizeof(*a));
	size_t which;
	int opt;

	if (!a)
		return cmd_error("out of memory");
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return cmd_usage(self, CMD_OK);
	for (which = 0; which < ARRAY_SIZE(actions); which++)
		if (argc > 1 && !strcmp(argv[1], actions[which].name))
			break;
	if (which == ARRAY_SIZE(actions))
		return cmd_usage(self, CMD_USAGE);
	a->pick.kinds = SPOOL_PICK_SINKS;
	argv[1] = argv[0];
	argc--;
	argv++;
	while ((opt = getopt_long(argc, argv, "hc:", actions[which].options, NULL)) >= 0) {
		if (opt == 'h')
			return cmd_usage(self, CMD_OK);
		if (!take_option(a, opt))
			return cmd_usage(self, CMD_USAGE);
	}
	if (optind + (which == 2) != argc || !is_consistent(a, which == 2))
		return cmd_usage(self, CMD_USAGE);
	if (cmd_load_settings(a->conf, &a->settings) != CMD_OK)
		return CMD_FAILED;
	if (which == 0)
		return spool_ls(&a->settings, a->json);
	if (which == 1)
		return a->dead ? cat_dead(a) : cat_segments(a);
	a->sink = argv[optind];
	return replay(a);
}

const struct cmd_info cmd_spool = {
	"spool",
	"ls [--json] | cat [--kind K] [--key KEY] [--job ID] [--from SEGMENT:OFFSET | --reader NAME | "
	"--dead SINK] [--long] |\n"
	"       replay SINK [--from SEGMENT:OFFSET | --dead | --file FILE [--since TIME]] [--key KEY] "
	"[--job ID]\n"
	"              [--output FILE] [--timeout TIME]   (each: [--conf FILE])",
	"Show what the controller's spool holds, and deliver it again.",
	run,
};
