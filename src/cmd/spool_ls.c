/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_ls.c - ceems spool ls: what is in the spool, how far each reader is, what was refused.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "src/cmd/cmd.h"
#include "src/cmd/spool_ls.h"
#include "src/libcore/metric_text.h"
#include "src/libsink/spool_view.h"

struct listing {
	const struct settings *settings;
	struct spool_view_stats stats;
	struct spool_view_reader *reader;
	size_t nreaders;
	struct spool_view_dead *dead;
	size_t ndead;
};

static const char *bytes(uint64_t n, char *buf)
{
	return metric_text_value(UNIT_BYTES, n, buf, METRIC_TEXT_MAX);
}

static const char *age(uint64_t since, char *buf)
{
	uint64_t now = (uint64_t)time(NULL);
	uint64_t s = now > since ? now - since : 0;

	if (!since)
		return "n/a";
	if (s >= 2 * 86400)
		(void)snprintf(buf, METRIC_TEXT_MAX, "%" PRIu64 " d", s / 86400);
	else if (s >= 2 * 3600)
		(void)snprintf(buf, METRIC_TEXT_MAX, "%" PRIu64 " h", s / 3600);
	else if (s >= 120)
		(void)snprintf(buf, METRIC_TEXT_MAX, "%" PRIu64 " min", s / 60);
	else
		(void)snprintf(buf, METRIC_TEXT_MAX, "%" PRIu64 " s", s);
	return buf;
}

static void print_reader(const struct spool_view_reader *r)
{
	char position[48] = "the oldest";
	char size[METRIC_TEXT_MAX];
	char old[METRIC_TEXT_MAX];

	if (r->has_cursor)
		(void)snprintf(position, sizeof(position), "%" PRIu64 ":%" PRIu64,
			       r->at.segment, r->at.offset);
	printf("%-16s %-20s %10" PRIu64 " %12s %8s%s\n", r->name, position, r->entries,
	       bytes(r->bytes, size), r->entries ? age(r->oldest_end, old) : "",
	       r->is_wanted ? "" : "  not in Sinks: holds nothing back");
}

static void print_text(const struct listing *l, const char *dir)
{
	char used[METRIC_TEXT_MAX];
	char max[METRIC_TEXT_MAX];
	size_t i;

	printf("%s: %s of %s in %" PRIu64 " segments\n", dir, bytes(l->stats.bytes, used),
	       bytes(l->settings->spool_max_bytes, max), l->stats.segments);
	if (l->stats.damaged)
		printf("%" PRIu64 " damaged places\n", l->stats.damaged);
	if (l->stats.torn_files)
		printf("%" PRIu64 " files .torn with %s that a crash left\n", l->stats.torn_files,
		       bytes(l->stats.torn_bytes, used));
	if (l->stats.later_files)
		printf("%" PRIu64 " files .later with %s of a later version, which delivers them when "
		       "it is back\n", l->stats.later_files, bytes(l->stats.later_bytes, used));
	printf("%-16s %-20s %10s %12s %8s\n", "READER", "POSITION", "BEHIND", "BYTES", "OLDEST");
	for (i = 0; i < l->nreaders; i++)
		print_reader(&l->reader[i]);
	for (i = 0; i < l->ndead; i++)
		printf("%s has refused %" PRIu64 " records, %s: ceems spool cat --dead %s; "
		       "ceems spool replay %s --dead\n", l->dead[i].sink, l->dead[i].letters,
		       bytes(l->dead[i].bytes, used), l->dead[i].sink, l->dead[i].sink);
}

static json_t *reader_object(const struct spool_view_reader *r)
{
	json_t *o = json_pack("{s:s, s:b, s:I, s:I}", "name", r->name, "wanted", r->is_wanted,
			      "behind", (json_int_t)r->entries, "behind_bytes",
			      (json_int_t)r->bytes);

	if (o)
		(void)json_object_set_new(o, "position",
					  r->has_cursor ? json_pack("{s:I, s:I}", "segment",
								    (json_int_t)r->at.segment,
								    "offset",
								    (json_int_t)r->at.offset) :
							  json_null());
	if (o)
		(void)json_object_set_new(o, "oldest_end",
					  r->oldest_end ? json_integer((json_int_t)r->oldest_end) :
							  json_null());
	return o;
}

static int print_json(const struct listing *l, const char *dir)
{
	json_t *readers = json_array();
	json_t *dead = json_array();
	json_t *o;
	size_t i;
	int rc;

	for (i = 0; i < l->nreaders; i++)
		(void)json_array_append_new(readers, reader_object(&l->reader[i]));
	for (i = 0; i < l->ndead; i++)
		(void)json_array_append_new(
			dead, json_pack("{s:s, s:I, s:I}", "sink", l->dead[i].sink, "letters",
					(json_int_t)l->dead[i].letters, "bytes",
					(json_int_t)l->dead[i].bytes));
	o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "spool", dir, "bytes",
		      (json_int_t)l->stats.bytes, "max_bytes",
		      (json_int_t)l->settings->spool_max_bytes, "segments",
		      (json_int_t)l->stats.segments, "damaged", (json_int_t)l->stats.damaged,
		      "torn_files", (json_int_t)l->stats.torn_files, "torn_bytes",
		      (json_int_t)l->stats.torn_bytes, "later_files",
		      (json_int_t)l->stats.later_files, "later_bytes",
		      (json_int_t)l->stats.later_bytes, "readers", readers, "dead_letters", dead);
	rc = o ? json_dumpf(o, stdout, JSON_COMPACT) : -1;
	json_decref(o);
	if (rc < 0)
		return cmd_error("out of memory");
	putchar('\n');
	return CMD_OK;
}

int spool_ls(const struct settings *s, bool json)
{
	struct listing l = { .settings = s };
	struct spool_view *v = NULL;
	struct errmsg err = { 0 };
	int rc = spool_view_open(s->spool_dir, &v, &err);

	if (rc == 0)
		rc = spool_view_readers(v, s->sinks, &l.reader, &l.nreaders, &err);
	if (rc == 0)
		rc = spool_view_count(v, l.reader, l.nreaders, &err);
	if (rc == 0)
		rc = spool_view_dead(v, &l.dead, &l.ndead, &err);
	if (rc == 0) {
		spool_view_get_stats(v, &l.stats);
		rc = CMD_OK;
		if (json)
			rc = print_json(&l, s->spool_dir);
		else
			print_text(&l, s->spool_dir);
	} else {
		rc = cmd_spool_error(rc, &err);
	}
	free(l.reader);
	free(l.dead);
	spool_view_close(v);
	return rc;
}
