/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mountinfo, of two processes one after the other; then the setting Filesystems. */
#include "src/libcore/fsroles.h"
#include "src/libmeter/activity/mounts.h"
#include "tests/fuzz/fuzz.h"

static void learn(struct mounts *m, const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *line, *rest = text;

	mounts_next_process(m);
	while ((line = strsep(&rest, "\n")))
		assert(mounts_learn_line(m, line) == 0);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts parts = { data, size };
	const struct mount_point *p;
	struct errmsg err = { 0 };
	const uint8_t *part;
	struct mounts *m;
	char *setting;
	size_t i, len;
	int rc;

	assert(mounts_create(&m) == 0);
	for (i = 0; i < 2; i++) {
		part = fuzz_next(&parts, &len);
		learn(m, part, len);
	}
	part = fuzz_next(&parts, &len);
	setting = fuzz_text(part, len);
	rc = fsroles_check(setting, &err);
	fuzz_check_error(rc, &err);
	for (i = 0; i < mounts_count(m); i++) {
		p = mounts_at(m, i);
		assert(p->device && p->path[0] == '/' && mounts_find(m, p->device) == p);
		assert(fsroles_find(setting, p->path) <= FSROLE_N);
	}
	free(setting);
	mounts_destroy(m);
	return 0;
}
