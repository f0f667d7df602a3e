/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/cgroup, then lines of mountinfo. */
#include "src/libmeter/activity/cgmount.h"
#include "tests/fuzz/fuzz.h"

static void match(const char *line, const char *controller, const char *path)
{
	char folder[128];

	if (cgmount_match(line, controller, path, folder, sizeof(folder)))
		assert(!strstr(path, "/../"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts in = { data, size };
	struct cgroup_paths paths = { 0 };
	const uint8_t *part;
	char *line;
	size_t len;
	FILE *f;

	part = fuzz_next(&in, &len);
	f = fdopen(dup(fuzz_fd(part, len)), "r");
	assert(f);
	rewind(f); /* fuzz_fd() shares one descriptor, whose offset the last input moved */
	(void)cgmount_step_paths(f, &paths);
	(void)fclose(f);
	while (in.size) {
		part = fuzz_next(&in, &len);
		line = fuzz_text(part, len);
		match(line, NULL, paths.v2);
		match(line, "cpuacct", paths.cpuacct);
		match(line, "freezer", "/slurm/uid_0/job_1/step_0");
		free(line);
	}
	return 0;
}
