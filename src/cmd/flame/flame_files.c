/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/flame/flame_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_files.h"
#include "src/libprofile/profile_pprof.h"
#include "src/libutil/fileio.h"
#include "src/libutil/text.h"

static const struct job_file_kind profile_kind = { "profile", "ceems-profile-", ".pb.gz" };

/* --- reading ------------------------------------------------------------------------------------ */

/* Returns the type of value to show: the one that our files have, or else the last type, as pprof does. */
static size_t choose_type(const struct profile *p)
{
	int type = profile_find_type(p, "cpu", "nanoseconds");

	if (type < 0)
		type = profile_find_type(p, "cycles", "count");
	return type >= 0 ? (size_t)type : p->ntypes - 1;
}

static const char *label_text(const struct profile *p, size_t sample, const char *key)
{
	const struct profile_label *label = profile_label(&p->sample[sample], key);

	return label && label->text ? label->text : "";
}

/*
 * Writes the label that all samples share. A file that was put together from several
 * steps or nodes has none: "".
 */
static void take_label(const struct profile *p, const char *key, char *ret, size_t size)
{
	const char *text = p->nsamples ? label_text(p, 0, key) : "";
	size_t i;

	for (i = 1; i < p->nsamples && *text; i++)
		if (strcmp(label_text(p, i, key), text) != 0)
			text = "";
	(void)text_mask(text, ret, size);
	ret[size - 1] = '\0';
}

static void use_type(struct flame_file *file, size_t type)
{
	const struct profile *p = file->profile;
	size_t i;

	file->type = type;
	file->total = 0;
	for (i = 0; i < p->nsamples; i++)
		file->total += (double)p->sample[i].value[type];
}

static void describe_file(const char *path, struct flame_file *file)
{
	const struct profile *p = file->profile;
	struct job_file_name name;

	use_type(file, choose_type(p));
	file->scale = 1;
	take_label(p, PROFILE_LABEL_JOB, file->job, sizeof(file->job));
	take_label(p, PROFILE_LABEL_STEP, file->step, sizeof(file->step));
	take_label(p, PROFILE_LABEL_NODE, file->node, sizeof(file->node));
	if (!job_files_name(&profile_kind, path, &name))
		return;
	(void)snprintf(file->job, sizeof(file->job), "%s", name.job);
	(void)snprintf(file->step, sizeof(file->step), "%s", name.step);
}

/*
 * If F has another file of the same step and node, the step ran twice: keeps the later run, frees the other,
 * and returns true. False: there is none, and FILE must be added.
 */
static bool is_replaced(struct flame_files *f, struct flame_file *file)
{
	size_t i;

	for (i = 0; i < f->n; i++) {
		struct flame_file *other = &f->file[i], older = *file;

		if (!*file->job || !*file->step || !*file->node || strcmp(file->job, other->job) != 0 ||
		    strcmp(file->step, other->step) != 0 || strcmp(file->node, other->node) != 0)
			continue;
		(void)cmd_error("step %s.%s on %s ran twice: its earlier run is left out", file->job,
				file->step, file->node);
		if (file->profile->time_ns > other->profile->time_ns) {
			older = *other;
			*other = *file;
		}
		profile_destroy(older.profile);
		return true;
	}
	return false;
}

static int take_profile(void *owner, const char *path)
{
	struct flame_files *f = owner;
	struct flame_file file = { 0 }, *more;
	struct errmsg err = { 0 };
	struct stat st;
	int fd = fileio_open_regular(path, &st, &err);
	int rc = fd < 0 ? fd : profile_read(fd, path, &file.profile, &err);

	if (fd >= 0)
		(void)close(fd);
	if (rc < 0)
		return cmd_error("%s", err.text);
	describe_file(path, &file);
	if (is_replaced(f, &file))
		return CMD_OK;
	more = reallocarray(f->file, f->n + 1, sizeof(*more));
	if (!more) {
		profile_destroy(file.profile);
		return cmd_error("out of memory");
	}
	f->file = more;
	f->file[f->n++] = file;
	return CMD_OK;
}

int flame_files_load(struct flame_files *f, int argc, char **argv, const char *const *dir, size_t ndirs)
{
	struct job_ids ids = { 0 };
	int rc;

	job_files_become_user();
	rc = job_files_arguments(argc, argv, &ids, take_profile, f, f->what, sizeof(f->what));
	if (rc == CMD_OK && ids.n)
		rc = job_files_look(&profile_kind, &ids, f->what, dir, ndirs, take_profile, f);
	if (rc == CMD_OK && !f->n)
		rc = job_files_none(&profile_kind, f->what, dir, ndirs);
	job_ids_fini(&ids);
	return rc;
}

int flame_files_look(struct flame_files *f, const struct job_ids *ids, const char *what,
		     const char *const *dir, size_t ndirs)
{
	(void)snprintf(f->what, sizeof(f->what), "%s", what);
	return job_files_look(&profile_kind, ids, what, dir, ndirs, take_profile, f);
}

int flame_files_choose(struct flame_files *f, const char *type)
{
	size_t i;
	int at;

	for (i = 0; i < f->n; i++) {
		at = profile_find_type(f->file[i].profile, type, "nanoseconds");
		if (at < 0)
			return cmd_error("a profile of %s has no %s time; it needs --ceems-profile=offcpu",
					 flame_files_title(f), type);
		use_type(&f->file[i], (size_t)at);
	}
	return CMD_OK;
}

void flame_files_fini(struct flame_files *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		profile_destroy(f->file[i].profile);
	free(f->file);
	*f = (struct flame_files){ 0 };
}

/* --- what they are ------------------------------------------------------------------------------ */

const char *flame_files_title(struct flame_files *f)
{
	const char *job = *f->what ? "job " : "profile";
	size_t i, k, nodes = 0;

	for (i = 0; i < f->n; i++) {
		for (k = 0; k < i && strcmp(f->file[k].node, f->file[i].node) != 0; k++)
			;
		nodes += k == i;
	}
	if (nodes == 1 && *f->file[0].node)
		(void)snprintf(f->title, sizeof(f->title), "%s%s on %s", job, f->what, f->file[0].node);
	else if (nodes == 1)
		(void)snprintf(f->title, sizeof(f->title), "%s%s", job, f->what);
	else
		(void)snprintf(f->title, sizeof(f->title), "%s%s on %zu nodes", job, f->what, nodes);
	return f->title;
}

/* Returns the first file that has samples, or else the first one. */
static const struct flame_file *first_file(const struct flame_files *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->file[i].profile->nsamples)
			return &f->file[i];
	return &f->file[0];
}

const struct profile_type *flame_files_type(const struct flame_files *f, struct errmsg *err)
{
	const struct flame_file *first = first_file(f);
	const struct profile_type *type = &first->profile->type[first->type], *other;
	size_t i;

	for (i = 0; i < f->n; i++) {
		other = &f->file[i].profile->type[f->file[i].type];
		if (!f->file[i].profile->nsamples ||
		    (!strcmp(other->type, type->type) && !strcmp(other->unit, type->unit)))
			continue;
		(void)errmsg_set(
			err, 0, "%s has %s/%s and %s has %s/%s, which cannot be added; --node shows one node",
			*first->node ? first->node : "a profile", type->type, type->unit,
			*f->file[i].node ? f->file[i].node : "another one", other->type, other->unit);
		return NULL;
	}
	return type;
}

/* --- putting them together ---------------------------------------------------------------------- */

int flame_files_merge(const struct flame_files *f, struct profile **ret)
{
	struct profile *all = NULL;
	size_t i;
	const struct profile *first = first_file(f)->profile;
	int rc = profile_create(first->type, first->ntypes, &all);

	for (i = 0; rc == 0 && i < f->n; i++)
		rc = profile_merge(all, f->file[i].profile);
	if (rc < 0) {
		profile_destroy(all);
		return rc;
	}
	*ret = all;
	return 0;
}

int flame_files_add_to(const struct flame_files *f, struct flame *flame, enum flame_side side)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < f->n; i++)
		rc = flame_add(flame, f->file[i].profile, f->file[i].type, f->file[i].scale, side);
	return rc;
}

/*
 * Returns what a comment of a profile says was lost, such as "n1: 17 samples were lost" for "n1:17"; the
 * caller frees it. NULL: the comment is about something else.
 */
static char *gap_text(const char *comment)
{
	static const size_t lost = sizeof(PROFILE_NOTE_LOST) - 1, limit = sizeof(PROFILE_NOTE_LIMIT) - 1;
	const bool is_lost = !strncmp(comment, PROFILE_NOTE_LOST, lost);
	const char *node = comment + (is_lost ? lost : limit);
	const char *colon = strchr(comment, ':');
	char text[512];

	if ((!is_lost && strncmp(comment, PROFILE_NOTE_LIMIT, limit) != 0) || !colon || colon < node)
		return NULL;
	(void)snprintf(text, sizeof(text), "%.*s: %s%s", (int)(colon - node), node, colon + 1,
		       is_lost ? " samples were lost" : "");
	return strdup(text_mask(text, text, sizeof(text)));
}

char **flame_files_gaps(const struct flame_files *f)
{
	size_t i, k, n = 0;
	char **gap;

	for (i = 0; i < f->n; i++)
		n += f->file[i].profile->ncomments;
	gap = calloc(n + 1, sizeof(*gap));
	for (i = 0, n = 0; gap && i < f->n; i++)
		for (k = 0; k < f->file[i].profile->ncomments; k++) {
			gap[n] = gap_text(f->file[i].profile->comment[k]);
			n += gap[n] != NULL;
		}
	return gap;
}

void flame_files_free_gaps(char **gap)
{
	size_t i;

	for (i = 0; gap && gap[i]; i++)
		free(gap[i]);
	free(gap);
}
