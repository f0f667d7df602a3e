/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a step is suspended: in cgroups of this machine, which the test freezes as Slurm does. */
#include "src/libmeter/activity/frozen.h"

#include "cgfolders.h"
#include "paths_of.h"

static void test_none(void)
{
	ok(!frozen_read(paths_of("", "", "")), "no cgroup");
	ok(!frozen_read(paths_of("/", "", "/")), "the root");
	ok(!frozen_read(paths_of("/nowhere/step_0", "", "/nowhere/step_0")), "folders that are gone");
}

static void test_step(const struct folders *f, int hier)
{
	struct cgroup_paths paths;

	if (!folders_freeze(f, hier, /* is_frozen= */ false, &paths)) {
		skip(3, "no freezer that can be written");
		return;
	}
	ok(!frozen_read(&paths), "%s: a step that runs", hier_names[hier]);
	require(folders_freeze(f, hier, /* is_frozen= */ true, &paths));
	ok(frozen_read(&paths), "  that is suspended");
	require(folders_freeze(f, hier, /* is_frozen= */ false, &paths));
	ok(!frozen_read(&paths), "  that goes on");
}

int main(void)
{
	struct folders f;

	test_none();
	folders_make(&f);
	test_step(&f, HIER_FREEZER);
	test_step(&f, HIER_V2);
	folders_remove(&f);
	return done_testing();
}
