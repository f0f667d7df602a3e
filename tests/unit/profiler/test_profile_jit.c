/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of JIT-compiled code from the perf map of this process: no file, a file, and one that grows. */
#include "src/profiler/profile_jit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
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

/* A process that writes its file when it ends, as the JVM does. */
static void test_late_file(struct profile *p, struct profile_jit *j)
{
	const struct profile_mapping mapping = {
		.path = "//anon", .build_id = "", .start = 0x7000, .limit = 0x8000
	};
	struct profile_location location = { .address = 0x7f05 };
	uint32_t function, known, unknown;
	pid_t pid = fork();

	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	if (pid < 0 || profile_add_mapping(p, &mapping, &location.mapping) < 0 ||
	    profile_add_location(p, &location, &known) < 0)
		exit(99);
	location.address = 0x7f25;
	if (profile_add_location(p, &location, &unknown) < 0)
		exit(99);
	is_int(profile_jit_find(j, (uint32_t)pid, 0x7f05, &function), 0, "a process without a file");
	profile_jit_keep(j, (uint32_t)pid, 0x7f05, known);
	profile_jit_keep(j, (uint32_t)pid, 0x7f25, unknown);
	is_int(profile_jit_name(j), 0, "nothing is named yet");
	is_u64(p->location[known].nlines, 0, "  neither is a location");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	put("7f00 10 late\n");
	is_int(profile_jit_forget(j, (uint32_t)pid), 0, "it has written its file and ended");
	if (is_u64(p->location[known].nlines, 1, "  and the location has a name"))
		is_str(p->function[p->location[known].line[0].function].name, "late", "  that of the file");
	is_u64(p->location[unknown].nlines, 0, "one that is not in the file has none");
	is_int(profile_jit_find(j, (uint32_t)pid, 0x7f05, &function), 0,
	       "a process that has ended is not looked for");
	(void)unlink(path);
}

/* CFA's distance from the stack pointer by the row of ADDRESS; 0: no row */
static int cfa_at(struct profile_jit *j, uint64_t address)
{
	struct unwind_row row;

	if (!profile_jit_row(j, (uint32_t)getpid(), address, &row))
		return 0;
	ok(row.reg == unwind_x86_64.sp && row.saved[0].place == UNWIND_AT_CFA && row.saved[0].offset == -8,
	   "  the return address is below it");
	return row.offset;
}

static void test_trampolines(struct profile_jit *j)
{
	is_int(profile_jit_forget(j, (uint32_t)getpid()), 0, "a Python program");
	put("1000 f py::f:a.py\n1010 f py::g:a.py\n2000 b py::f:a.py\n3000 c py::f:a.py\n4000 f "
	    "other\n5000 60 py::f:a.py\n");
	is_int(cfa_at(j, 0x1000), 8, "endbr64, before sub");
	is_int(cfa_at(j, 0x1004), 8, "sub");
	is_int(cfa_at(j, 0x1008), 16, "call");
	is_int(cfa_at(j, 0x1009), 16, "the call's last byte");
	is_int(cfa_at(j, 0x100a), 16, "add");
	is_int(cfa_at(j, 0x100e), 8, "ret");
	is_int(cfa_at(j, 0x1019), 16, "the next function");
	is_int(cfa_at(j, 0x2000), 8, "without endbr64");
	is_int(cfa_at(j, 0x2005), 16, "  the call");
	is_int(cfa_at(j, 0x200a), 8, "  and ret");
	is_int(cfa_at(j, 0x3005), 0, "one with a frame pointer");
	is_int(cfa_at(j, 0x4009), 0, "another compiler's function");
	is_int(cfa_at(j, 0x5009), 0, "a longer one");
	is_int(cfa_at(j, 0x9000), 0, "no function");
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
	is_int(profile_jit_forget(j, (uint32_t)getpid()), 0, "it calls exec");
	is_str(name_at(p, j, 0x7f05), "first", "but after an exec it is");
	put("7f00 10 first\n7f10 10 second\n");
	is_str(name_at(p, j, 0x7f15), "none", "lines added since are not read at once");
	(void)usleep(1100000);
	is_str(name_at(p, j, 0x7f15), "second", "but a second later");
	is_int(profile_jit_find(j, UINT32_MAX, 0x7f05, &function), 0, "a pid that does not exist");
	is_int(profile_jit_forget(j, 7), 0, "one that was never asked for is forgotten");
	test_trampolines(j);
	(void)unlink(path);
	test_late_file(p, j);
	profile_jit_destroy(j);
	profile_jit_destroy(NULL);
	profile_destroy(p);
	return done_testing();
}
