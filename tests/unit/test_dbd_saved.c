/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/dbd_saved.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "tap.h"

static const struct {
	const char *what;
	const char *text;
	struct timespec read, written;
	uint64_t until;
} rows[] = {
	{ "written since it was read", "VER", { 100, 5 }, { 101, 4 }, 101 },
	{ "made and not read", "VER", { 100, 5 }, { 100, 5 }, 100 },
	{ "written in the second it was read in", "VER", { 100, 5 }, { 100, 6 }, 100 },
	{ "read since it was written", "VER", { 101, 4 }, { 100, 5 }, 0 },
	{ "in the same second", "VER", { 100, 6 }, { 100, 5 }, 0 },
	{ "nothing was left to say", "", { 100, 5 }, { 101, 4 }, 0 },
};

int main(void)
{
	char dir[] = SCRATCH_TEMPLATE;
	char path[sizeof(dir) + 20];
	size_t i;

	if (!mkdtemp(dir))
		return 1;
	(void)snprintf(path, sizeof(path), "%s/dbd.messages", dir);
	is_u64(dbd_saved_until(path), 0, "no file");
	is_u64(dbd_saved_until(""), 0, "nor a place for it");
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct timespec times[2] = { rows[i].read, rows[i].written };
		FILE *f = fopen(path, "w");

		if (!f || fputs(rows[i].text, f) < 0 || fclose(f) != 0 ||
		    utimensat(AT_FDCWD, path, times, 0) < 0)
			return 1;
		is_u64(dbd_saved_until(path), rows[i].until, rows[i].what);
	}
	(void)unlink(path);
	(void)rmdir(dir);
	return done_testing();
}
