/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of ceems-profile: the task of a thread, the file of an address, and messages between its processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "scratch.h"
#include "src/profiler/kallsyms.h"
#include "src/profiler/profile_maps.h"
#include "src/profiler/profile_tasks.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

static char dir[] = SCRATCH_TEMPLATE;

/* --- tasks -------------------------------------------------------------------------------- */

/* Numbers that no process of this machine has. */
#define BASE 2000000000u

static bool look(struct profile_tasks *t, const struct stacks_record *r, struct wire_message *ret)
{
	*ret = (struct wire_message){ .kind = WIRE_RECORD, .record = *r };
	return profile_tasks_look(t, ret);
}

static bool sees(struct profile_tasks *t, enum stacks_kind kind, uint32_t pid, uint32_t tid, uint32_t parent,
		 const char *text)
{
	const struct stacks_record r = {
		.kind = kind, .pid = pid, .tid = tid, .parent_pid = parent, .parent_tid = parent, .text = text
	};
	struct wire_message m;

	return look(t, &r, &m);
}

static struct wire_message sample_of(struct profile_tasks *t, uint32_t pid, uint32_t tid)
{
	const struct stacks_record r = { .kind = STACKS_SAMPLE, .pid = pid, .tid = tid };
	struct wire_message m;

	ok(look(t, &r, &m), "  a sample is always the step's");
	return m;
}

static void test_tasks(void)
{
	struct profile_tasks *t;
	struct wire_message m;
	uint32_t i;
	bool is_all = true;

	is_int(profile_tasks_create(&t), 0, "tasks");
	is_int(profile_tasks_add(t, BASE, 5), 0, "task 5");
	ok(sees(t, STACKS_EXEC, BASE, BASE, 0, "app"), "the step's exec is passed on");
	ok(sees(t, STACKS_MAPPING, BASE, BASE, 0, "/bin/app"), "its mapping, too");
	ok(!sees(t, STACKS_EXEC, BASE + 1, BASE + 1, 0, "other"), "another job's exec is not");
	ok(!sees(t, STACKS_MAPPING, BASE + 1, BASE + 1, 0, "/home/other/secret"), "nor its mapping");
	ok(!sees(t, STACKS_FORK, BASE + 2, BASE + 2, BASE + 1, NULL), "nor its fork");
	ok(sees(t, STACKS_FORK, BASE + 3, BASE + 3, BASE, NULL), "a child");
	m = sample_of(t, BASE + 3, BASE + 3);
	ok(m.rank == 5 && !strcmp(m.process, "app") && !strcmp(m.thread, "app"),
	   "  is of its parent's task, with its name");
	ok(sees(t, STACKS_FORK, BASE, BASE + 4, BASE, NULL), "a thread");
	ok(sees(t, STACKS_NAME, BASE, BASE + 4, 0, "worker"), "gets a name");
	m = sample_of(t, BASE, BASE + 4);
	ok(m.rank == 5 && !strcmp(m.process, "app") && !strcmp(m.thread, "worker"),
	   "  and its process has another one");
	ok(sees(t, STACKS_EXIT, BASE + 3, BASE + 3, 0, NULL), "the child ends");
	ok(!sees(t, STACKS_MAPPING, BASE + 3, BASE + 3, 0, "/home/other/secret"),
	   "its pid may be another job's now");
	ok(!sees(t, STACKS_FORK, BASE + 4, BASE + 4, BASE + 1, NULL), "as may a pid whose end was lost");
	ok(!sees(t, STACKS_MAPPING, BASE + 4, BASE + 4, 0, "/home/other/secret"),
	   "when another job forks it");
	m = sample_of(t, BASE + 9, BASE + 9);
	is_int((int)m.rank, -1, "a process that nobody knows is of no task");
	for (i = 100; i < 5000; i++)
		is_all &= sees(t, STACKS_FORK, BASE + i, BASE + i, BASE, NULL);
	ok(is_all, "many children");
	for (i = 100; i < 5000; i += 2)
		is_all &= sees(t, STACKS_EXIT, BASE + i, BASE + i, 0, NULL);
	for (i = 100; i < 5000; i++)
		is_all &= sees(t, STACKS_NAME, BASE + i, BASE + i, 0, "x") == (i % 2 != 0);
	ok(is_all, "of which each second one has ended");
	profile_tasks_destroy(t);
	profile_tasks_destroy(NULL);
}

/* Tells T a record of thread TID of PID at time MONO_NS. */
static bool sees_at(struct profile_tasks *t, enum stacks_kind kind, uint32_t pid, uint32_t parent,
		    uint64_t mono_ns, const char *text, struct wire_message *ret)
{
	const struct stacks_record r = { .kind = kind,
					 .pid = pid,
					 .tid = pid,
					 .parent_pid = parent,
					 .parent_tid = parent,
					 .mono_ns = mono_ns,
					 .text = text };

	return look(t, &r, ret);
}

static void test_lost_records(void)
{
	const uint32_t pid = (uint32_t)getpid();
	const uint64_t before_ns = clock_mono_ns() - NSEC_PER_SEC;
	struct profile_tasks *t;
	struct wire_message m;
	uint64_t lost_ns;
	uint32_t child;

	is_int(profile_tasks_create(&t), 0, "tasks");
	(void)prctl(PR_SET_NAME, "child");
	child = (uint32_t)fork();
	if (!child) {
		(void)pause();
		_exit(0);
	}
	(void)prctl(PR_SET_NAME, "first");
	is_int(profile_tasks_add(t, pid, 5), 0, "task 5");
	ok(sees_at(t, STACKS_FORK, child, pid, before_ns, NULL, &m),
	   "a child, before one that has its pid by now");
	ok(sees_at(t, STACKS_FORK, BASE, pid, before_ns, NULL, &m), "another child");
	(void)prctl(PR_SET_NAME, "second");
	ok(sees_at(t, STACKS_SAMPLE, pid, 0, clock_mono_ns(), NULL, &m) && !strcmp(m.thread, "first"),
	   "a name is kept");
	lost_ns = clock_mono_ns();
	ok(sees_at(t, STACKS_LOST, 0, 0, lost_ns, NULL, &m), "until records are lost");
	ok(sees_at(t, STACKS_SAMPLE, pid, 0, lost_ns, NULL, &m) && !strcmp(m.thread, "second"),
	   "  then it is read again");
	ok(!strcmp(m.process, "second") && m.rank == 5, "  of the process, too, and the rank stays");
	ok(sees_at(t, STACKS_SAMPLE, BASE, 0, lost_ns, NULL, &m) && !strcmp(m.thread, "first") && m.rank == 5,
	   "a process that is gone has its old name and rank");
	ok(sees_at(t, STACKS_EXEC, BASE, 0, lost_ns, "app", &m), "  until a record has a new name");
	ok(sees_at(t, STACKS_SAMPLE, BASE, 0, lost_ns, NULL, &m) && !strcmp(m.thread, "app"),
	   "  which is not lost");
	ok(sees_at(t, STACKS_SAMPLE, child, 0, before_ns, NULL, &m) && !strcmp(m.thread, "first"),
	   "a sample from before a pid was reused has the old name");
	lost_ns = clock_mono_ns();
	ok(sees_at(t, STACKS_LOST, 0, 0, lost_ns, NULL, &m), "records are lost again");
	ok(!sees_at(t, STACKS_MAPPING, child, 0, lost_ns, "/home/other/secret", &m),
	   "the new process may be another job's");
	ok(sees_at(t, STACKS_SAMPLE, child, 0, lost_ns, NULL, &m) && !strcmp(m.thread, "child") &&
		   m.rank == 5,
	   "  but its samples are the step's, with its name and its parent's rank");
	(void)kill((pid_t)child, SIGKILL);
	(void)waitpid((pid_t)child, NULL, 0);
	profile_tasks_destroy(t);
}

static void test_many_losses(void)
{
	const uint32_t pid = (uint32_t)getpid();
	struct profile_tasks *t;
	struct wire_message m;
	char name[16];
	int i, read = 0;

	is_int(profile_tasks_create(&t), 0, "tasks");
	is_int(profile_tasks_add(t, pid, 5), 0, "task 5");
	for (i = 0; i < 100000; i++) {
		(void)snprintf(name, sizeof(name), "name%d", i);
		(void)prctl(PR_SET_NAME, name);
		(void)sees_at(t, STACKS_LOST, 0, 0, clock_mono_ns(), NULL, &m);
		(void)sees_at(t, STACKS_SAMPLE, pid, 0, clock_mono_ns(), NULL, &m);
		read += !strcmp(m.thread, name);
	}
	ok(read >= 1000 && read < 100000, "names are not read again at each of too many losses: %d of 100000",
	   read);
	profile_tasks_destroy(t);
}

/* --- maps --------------------------------------------------------------------------------- */

static struct profile *profile;

static void learn(struct profile_maps *m, enum stacks_kind kind, uint32_t pid, uint32_t parent,
		  const char *path, uint64_t start, uint64_t size)
{
	const struct stacks_record r = { .kind = kind,
					 .pid = pid,
					 .tid = pid,
					 .parent_pid = parent,
					 .parent_tid = parent,
					 .text = path,
					 .start = start,
					 .size = size,
					 .offset = 0x1000 };

	is_int(profile_maps_learn(m, &r), 0, "  learnt");
}

/* "PATH+OFFSET", or "none" */
static const char *at(struct profile_maps *m, uint32_t pid, uint64_t address)
{
	static char text[600];
	uint64_t found;
	uint32_t mapping;
	int rc = profile_maps_find(m, pid, address, &mapping, &found);

	if (rc == 0)
		(void)snprintf(text, sizeof(text), "%s+%llx", profile->mapping[mapping].path,
			       (unsigned long long)(found - profile->mapping[mapping].start +
						    profile->mapping[mapping].offset));
	return rc == 0 ? text : rc == -ENOENT ? "none" : "error";
}

/* Maps a page of this program's file as code. */
static void *map_code(size_t size)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}

static void test_lost_mappings(struct profile_maps *m)
{
	const uint32_t pid = (uint32_t)getpid(), before = profile->nmappings;
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	const struct stacks_record lost = { .kind = STACKS_LOST, .mono_ns = clock_mono_ns() };
	void *page = map_code(size);
	uint64_t start = (uint64_t)(uintptr_t)page;
	char other[] = "/lib/other";

	if (page == MAP_FAILED)
		exit(99);
	learn(m, STACKS_MAPPING, pid, 0, other, 0x30000, size);
	is_str(at(m, pid, start), "none", "a mapping that no record told");
	is_int(profile_maps_learn(m, &lost), 0, "records were lost");
	while (!strcmp(at(m, pid, start), "none") && clock_mono_ns() < lost.mono_ns + 10 * NSEC_PER_SEC)
		(void)usleep(1000); /* not so soon after it was read before */
	ok(strstr(at(m, pid, start), "test_profiler"), "  so /proc is read again");
	is_str(at(m, pid, 0x30000), "/lib/other+1000", "  and what is unmapped by now is kept");
	is_u64(profile->nmappings, before + 2, "  what was known is not added again");
	(void)munmap(page, size);
}

/*
 * A run-time compiler makes many regions without a file; the kernel's records have
 * their addresses as offsets.
 */
static void test_anonymous(struct profile_maps *m)
{
	const size_t before = profile->nmappings;
	uint64_t found = 0;
	uint32_t i, mapping, other;

	for (i = 1; i <= 1000; i++) {
		const struct stacks_record r = { .kind = STACKS_MAPPING,
						 .pid = BASE + i % 3,
						 .text = "//anon",
						 .start = i * UINT64_C(0x10000),
						 .size = 0x1000 + i,
						 .offset = i * UINT64_C(0x10000) };

		if (profile_maps_learn(m, &r) < 0)
			break;
	}
	is_u64(i, 1001, "1000 regions without a file");
	is_u64(profile->nmappings, before + 1, "  are one mapping");
	is_int(profile_maps_find(m, BASE, 0x30010, &mapping, &found), 0, "an address in one");
	is_u64(found, 0x30010, "  is that of the process");
	is_int(profile_maps_find(m, BASE, 0x60010, &other, &found), 0, "and in another one");
	ok(other == mapping && found == 0x60010, "  which is another place");
}

#define MANY 65536u

static void test_many_mappings(void)
{
	static const struct profile_type type = { "samples", "count" };
	struct profile_maps *m = NULL;
	struct stacks_record r = {
		.kind = STACKS_MAPPING, .pid = BASE, .text = "/bin/app", .start = 0x10000, .size = 0x1000
	};
	char path[32] = "";
	uint32_t i;

	is_int(profile_create(&type, 1, &profile), 0, "a profile");
	is_int(profile_maps_create(profile, &m), 0, "of a step with very many files");
	r.text = path;
	for (i = 0; i < MANY + 10; i++) {
		(void)snprintf(path, sizeof(path), "/tmp/%u", i);
		if (profile_maps_learn(m, &r) < 0)
			break;
	}
	is_u64(i, MANY + 10, "all are read");
	is_u64(profile->nmappings, MANY, "so many are kept");
	is_str(at(m, BASE, 0x10010), "none", "of the others none is known, nor what they replaced");
	(void)snprintf(path, sizeof(path), "/tmp/7");
	is_int(profile_maps_learn(m, &r), 0, "a known file again");
	is_str(at(m, BASE, 0x10010), "/tmp/7+10", "  is known");
	profile_maps_destroy(m);
	profile_destroy(profile);
}

static void test_maps(void)
{
	static const struct profile_type type = { "samples", "count" };
	struct profile_maps *m = NULL;
	uint32_t i;

	is_int(profile_create(&type, 1, &profile), 0, "a profile");
	is_int(profile_maps_create(profile, &m), 0, "maps");
	learn(m, STACKS_EXEC, BASE, 0, "app", 0, 0);
	learn(m, STACKS_MAPPING, BASE, 0, "/bin/app", 0x10000, 0x1000);
	learn(m, STACKS_MAPPING, BASE, 0, "/lib/c", 0x20000, 0x1000);
	is_str(at(m, BASE, 0x10010), "/bin/app+1010", "an address");
	is_str(at(m, BASE, 0x20fff), "/lib/c+1fff", "the last one");
	is_str(at(m, BASE, 0x21000), "none", "behind it");
	is_str(at(m, BASE, 0xffff), "none", "before all");
	learn(m, STACKS_FORK, BASE + 1, BASE, NULL, 0, 0);
	learn(m, STACKS_MAPPING, BASE, 0, "/lib/new", 0x10800, 0x10000);
	is_str(at(m, BASE, 0x10900), "/lib/new+1100", "what is mapped over others");
	is_str(at(m, BASE, 0x10010), "none", "  replaces them");
	is_str(at(m, BASE + 1, 0x10900), "/bin/app+1900", "a child has what was there when it was forked");
	learn(m, STACKS_EXEC, BASE + 1, 0, "other", 0, 0);
	is_str(at(m, BASE + 1, 0x10900), "none", "until its exec");
	learn(m, STACKS_MAPPING, BASE + 1, 0, "/bin/app", 0x50000, 0x1000);
	is_str(at(m, BASE + 1, 0x50010), "/bin/app+1010", "the same file elsewhere");
	is_u64(profile->nmappings, 3, "  is the same mapping");
	learn(m, STACKS_EXIT, BASE + 1, 0, NULL, 0, 0);
	is_str(at(m, BASE + 1, 0x50010), "/bin/app+1010", "samples may come after the end");
	for (i = 2; i < 1100; i++) {
		const struct stacks_record fork = {
			.kind = STACKS_FORK, .pid = BASE + i, .tid = BASE + i, .parent_pid = BASE
		};
		const struct stacks_record end = { .kind = STACKS_EXIT, .pid = BASE + i, .tid = BASE + i };

		if (profile_maps_learn(m, &fork) < 0 || profile_maps_learn(m, &end) < 0)
			break;
	}
	is_u64(i, 1100, "many ended");
	is_str(at(m, BASE + 1, 0x50010), "none", "  and the first is forgotten");
	ok(strstr(at(m, (uint32_t)getpid(), (uint64_t)(uintptr_t)test_maps), "test_profiler"),
	   "a process from before: by /proc");
	test_lost_mappings(m);
	test_anonymous(m);
	profile_maps_destroy(m);
	profile_maps_destroy(NULL);
	profile_destroy(profile);
}

/* --- messages ----------------------------------------------------------------------------- */

static void test_wire(void)
{
	static const uint8_t build_id[] = { 1, 2, 3 };
	static const uint8_t dump[] = { 4, 5, 6, 7, 8 };
	const uint64_t user[] = { 11, 12, 13 }, kernel[] = { 21 }, reg[] = { 31, 32 };
	struct wire_message sent = {
		.kind = WIRE_RECORD,
		.rank = 4,
		.record = { .kind = STACKS_MAPPING,
			    .text = "/a/path",
			    .build_id = build_id,
			    .build_id_size = sizeof(build_id),
			    .user = user,
			    .nuser = ARRAY_SIZE(user),
			    .kernel = kernel,
			    .nkernel = ARRAY_SIZE(kernel),
			    .reg = reg,
			    .nregs = ARRAY_SIZE(reg),
			    .dump = dump,
			    .dump_size = sizeof(dump) },
	};
	struct wire_message got;
	struct wire *from = NULL, *to = NULL;
	unsigned int i, n = 0;
	int fd[2], status;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0 || wire_open(fd[0], &from) < 0 ||
	    wire_open(fd[1], &to) < 0)
		exit(99);
	is_int(wire_receive(to, 0, &got), 0, "nothing has come");
	(void)wire_send(from, &sent);
	is_int(wire_receive(to, 0, &got), 0, "it waits for the flush");
	is_int(wire_flush(from), 0, "flushed");
	is_int(wire_receive(to, -1, &got), 1, "it comes");
	ok(got.rank == 4 && got.record.kind == STACKS_MAPPING && !strcmp(got.record.text, "/a/path"),
	   "  as it was");
	ok(got.record.nuser == 3 && got.record.user[2] == 13 && got.record.kernel[0] == 21,
	   "  with its stack");
	ok(got.record.nregs == 2 && got.record.reg[1] == 32 && got.record.dump_size == 5 &&
		   got.record.dump[4] == 8,
	   "  registers");
	ok(got.record.build_id_size == 3 && got.record.build_id[2] == 3, "  and build id");
	sent.record.text = NULL;
	pid = fork();
	if (pid == 0) {
		for (i = 0; i < 20000; i++)
			if (wire_send(from, &sent) < 0)
				_exit(1);
		_exit(wire_flush(from) < 0);
	}
	(void)close(fd[0]);
	while (wire_receive(to, -1, &got) == 1)
		n += !got.record.text && got.record.user[1] == 12;
	is_u64(n, 20000, "many, in pieces of any size");
	(void)waitpid(pid, &status, 0);
	(void)close(fd[1]);
	wire_close(from);
	wire_close(to);
	wire_close(NULL);
}

static void test_wire_in_memory(void)
{
	struct wire_message sent = { .kind = WIRE_RECORD }, got;
	struct wire *w = NULL;
	uint64_t i, n = 0, kernel[100] = { 0 };
	bool is_same = true;

	if (wire_open(/* fd= */ -1, &w) < 0)
		exit(99);
	is_int(wire_receive(w, -1, &got), 0, "without a socket it does not wait");
	sent.record.kernel = kernel;
	sent.record.nkernel = ARRAY_SIZE(kernel);
	for (i = 0; i < 20000; i++) { /* one of three is received meanwhile */
		kernel[99] = i;
		is_same &= wire_send(w, &sent) == 0;
		if (i % 3 == 0)
			is_same &= wire_receive(w, 0, &got) == 1 && got.record.kernel[99] == n++;
	}
	ok(wire_kept(w) > 13000 * sizeof(kernel), "many messages are kept");
	while (wire_receive(w, 0, &got) == 1)
		is_same &= got.record.nkernel == ARRAY_SIZE(kernel) && got.record.kernel[99] == n++;
	ok(is_same && n == 20000, "  in order");
	is_u64(wire_kept(w), 0, "  until they are received");
	wire_close(w);
}

static void test_gone(void)
{
	const struct wire_message sent = { .kind = WIRE_END };
	struct wire *from = NULL;
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0 || wire_open(fd[0], &from) < 0)
		exit(99);
	(void)close(fd[1]);
	(void)wire_send(from, &sent);
	is_int(wire_flush(from), -EPIPE, "the other half is gone, and no signal comes");
	wire_close(from);
	(void)close(fd[0]);
}

/* --- kernel ------------------------------------------------------------------------------- */

static void put_file(const char *name, const char *text)
{
	if (!scratch_write(scratch_path(dir, name), text, strlen(text)))
		exit(99);
}

/* Opens and reads the file NAME. */
static int read_kallsyms(const char *name, struct kallsyms **ret)
{
	struct errmsg err = { 0 };
	int rc = kallsyms_open(scratch_path(dir, name), ret, &err);

	if (rc == 0)
		while ((rc = kallsyms_read(*ret)) > 0)
			;
	return rc;
}

static void test_kallsyms(void)
{
	struct kallsyms *k = NULL;

	put_file("kallsyms", "ffffffff81000000 T zero\nffffffff81002000 T second\nffffffff81001000 t "
			     "first\nffffffff81001800 d data\nbad\n"
			     "ffffffffc0001000 t read\t[nfs]\n");
	is_int(read_kallsyms("kallsyms", &k), 0, "symbols of the kernel");
	is_u64(kallsyms_count(k), 4, "functions only");
	is_str(kallsyms_name(k, kallsyms_find(k, 0xffffffff81000fff)), "zero", "in order");
	is_str(kallsyms_name(k, kallsyms_find(k, 0xffffffff81001900)), "first", "  also one that comes late");
	is_str(kallsyms_name(k, kallsyms_find(k, 0xffffffff81002000)), "second", "the first byte");
	is_str(kallsyms_name(k, kallsyms_find(k, 0xffffffffc0001fff)), "read [nfs]", "a module's");
	is_u64(kallsyms_find(k, 0x1000), UINT32_MAX, "none is so low");
	kallsyms_close(k);
	put_file("hidden", "0000000000000000 T second\n");
	is_int(read_kallsyms("hidden", &k), -EPERM, "a kernel that hides them");
	kallsyms_close(k);
	is_int(read_kallsyms("nowhere", &k), -ENOENT, "no such file");
	kallsyms_close(NULL);
}

static void test_many_kallsyms(void)
{
	const char *path = scratch_path(dir, "many");
	FILE *f = fopen(path, "we");
	struct kallsyms *k = NULL;
	unsigned int i, found = 0;
	char name[32];
	int rc;

	/* 90000 in order, as the kernel's own, then 10000 in the opposite one */
	for (i = 0; f && i < 100000; i++)
		(void)fprintf(f, "%016llx t f%u\n",
			      0xffffffff81000000ull + 16ull * (i < 90000 ? i : 189999 - i), i);
	if (!f || fclose(f) != 0)
		exit(99);
	is_int(kallsyms_open(path, &k, NULL), 0, "many symbols");
	for (i = 0; (rc = kallsyms_read(k)) > 0; i++)
		;
	ok(rc == 0 && i > 50, "  are read in portions");
	for (i = 0; i < 100000; i++) {
		(void)snprintf(name, sizeof(name), "f%u", i < 90000 ? i : 189999 - i);
		found += !strcmp(kallsyms_name(k, kallsyms_find(k, 0xffffffff8100000full + 16ull * i)), name);
	}
	is_u64(found, 100000, "  and each is found");
	kallsyms_close(k);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	test_tasks();
	test_lost_records();
	test_many_losses();
	test_maps();
	test_many_mappings();
	test_wire();
	test_wire_in_memory();
	test_gone();
	test_kallsyms();
	test_many_kallsyms();
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
