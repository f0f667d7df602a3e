/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/dbd_view.h"

#include "tap.h"

static const struct {
	const char *what;
	struct dbd_view view;
	enum dbd_word word;
} rows[] = {
	{ "no end", { .told_end = 100 }, DBD_NOT_YET },
	{ "nor will it come", { .told_end = 100, .all_told = true }, DBD_NOT_YET },
	{ "a step runs", { .told_end = 100, .end = 100, .has_open_step = true }, DBD_NOT_YET },
	{ "the end before the one that was told", { .told_end = 100, .end = 99 }, DBD_NOT_YET },
	{ "which it will never be told",
	  { .told_end = 100, .end = 99, .all_told = true },
	  DBD_LAST },
	{ "a step without usage", { .told_end = 100, .end = 100, .lacks_usage = true }, DBD_UNSURE },
	{ "which will not come",
	  { .told_end = 100, .end = 100, .lacks_usage = true, .all_told = true },
	  DBD_LAST },
	{ "a step of a run before",
	  { .told_end = 100, .end = 100, .has_older_step = true },
	  DBD_UNSURE },
	{ "which has been told, too",
	  { .told_end = 100, .end = 100, .has_older_step = true, .all_told = true },
	  DBD_LAST },
	{ "the end only", { .told_end = 100, .end = 100, .lacks_start = true }, DBD_UNSURE },
	{ "and another slurmctld left more to say", { .told_end = 100, .end = 100, .is_saved = true }, DBD_UNSURE },
	{ "all of it", { .told_end = 100, .end = 100 }, DBD_LAST },
	{ "a later end, which is told next", { .told_end = 100, .end = 101 }, DBD_LAST },
	{ "an unknown end was told", { .end = 100 }, DBD_LAST },
};

int main(void)
{
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		is_int(dbd_view_word(&rows[i].view), rows[i].word, rows[i].what);
	return done_testing();
}
