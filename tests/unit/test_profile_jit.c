/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of JIT-compiled code from the perf map of this process: no file, a file, and one that grows. */
#include "src/helpers/profile_jit.h"

#include <unistd.h>

#include "tests/unit/scratch.h"
#include "tap.h"

static char path[64];

static void put(const char *text)
{
	if (!scratch_write(path, text, strlen(text)))
		exit(99);
}

static const char *name_at(struct profile *p, struct profile_jit *j, uint64_t address)
{
	uint32_t function;
	int rc = profile_jit_find(j, (uint32_t)getpid(), address, &function);

	return rc > 0 ? p->function[function].name : rc == 0 ? "none" : "error";
}

int main(void)
{
	static const struct profile_type type = { "samples", "count" };
	struct profile_jit *j = NULL;
	struct profile *p = NULL;
	uint32_t function;

	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	is_int(profile_create(&type, 1, &p), 0, "a profile");
	is_int(profile_jit_create(p, &j), 0, "the lookup of JIT-compiled code");
	is_str(name_at(p, j, 0x7f05), "none", "there is no file");
	put("7f00 10 first\n");
	is_str(name_at(p, j, 0x7f05), "none", "it is not looked for again at once");
	profile_jit_forget(j, (uint32_t)getpid());
	is_str(name_at(p, j, 0x7f05), "first", "but after an exec it is");
	put("7f00 10 first\n7f10 10 second\n");
	is_str(name_at(p, j, 0x7f15), "none", "lines added since are not read at once");
	(void)usleep(1100000);
	is_str(name_at(p, j, 0x7f15), "second", "but a second later");
	is_int(profile_jit_find(j, UINT32_MAX, 0x7f05, &function), 0, "a pid that does not exist");
	profile_jit_forget(j, 7);
	(void)unlink(path);
	profile_jit_destroy(j);
	profile_jit_destroy(NULL);
	profile_destroy(p);
	return done_testing();
}
