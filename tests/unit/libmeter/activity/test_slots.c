/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slots of the node's BPF object: their registration and release, the lookup of a cgroup's slot, and
 * the cache of that lookup. bpfrig.h lists the requirements.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mman.h>

#include "bpfrig.h"

/* Ids that no cgroup has: the kernel counts them from 1. */
#define NOBODYS_ID (UINT64_C(1) << 40)

static struct probes *probes;
static struct probes_meta *meta;
static __u64 *cache;
static const char *v2_root;

static void *map_whole(const char *name, size_t size)
{
	int fd;
	void *p;

	if (probes_map(probes, name, &fd) < 0)
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

static uint64_t written(struct probes *p, uint32_t slot)
{
	struct probes_task_row row;
	int fd;

	if (probes_map(p, "task_rows", &fd) < 0 || bpfsys_lookup(fd, &slot, &row) < 0)
		return UINT64_MAX;
	return row.ended.wchar;
}

/* --- the table ------------------------------------------------------------------------------- */

static void test_full(void)
{
	static uint32_t slot[PROBES_SLOTS + 1];
	struct probes_count c;
	uint32_t n = 0, i;
	int rc = 0;

	is_int(probes_register(probes, 0, 0, 0, &slot[0]), -EINVAL, "no cgroup at all");
	is_int(probes_register(probes, 1, 0, 0, &slot[0]), -EINVAL, "the root is the whole node");
	is_int(probes_register(probes, 2, 1, 0, &slot[0]), -EINVAL, "in either hierarchy");
	while (n < ARRAY_SIZE(slot) && rc == 0) {
		rc = probes_register(probes, NOBODYS_ID + n, 2 * NOBODYS_ID + n, 0, &slot[n]);
		n += rc == 0;
	}
	is_int(rc, -ENOSPC, "registering fails when the table is full");
	is_u64(n, PROBES_SLOTS, "after all slots were given");
	is_int(probes_count(probes, &c, NULL), 0, "count");
	is_u64(c.slots, PROBES_SLOTS, "slots alive");
	is_u64(c.full, 1, "the refused one is counted");
	for (i = 0; i < n; i++)
		probes_release(probes, slot[i]);
	is_int(probes_count(probes, &c, NULL), 0, "count");
	is_u64(c.slots, 0, "all are given back");
}

/* A table full of the dead has room. */
static void test_full_of_the_dead(void)
{
	uint32_t slot, i;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (i = 0; i < PROBES_SLOTS; i++)
			if (probes_register(probes, NOBODYS_ID + i, 0, 0, &slot) < 0)
				_exit(1);
		_exit(0);
	}
	ok(waitpid(pid, &status, 0) == pid && status == 0, "one takes all slots and dies");
	is_int(probes_register(probes, NOBODYS_ID + 1, 0, 0, &slot), 0, "the next one gets one");
	probes_release(probes, slot);
}

static void test_dead_owners(void)
{
	struct probes_count c;
	struct probes_dead dead;
	uint32_t slot, i, n;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (i = 1; i <= 3; i++)
			if (probes_register(probes, NOBODYS_ID + i, 0, 1u << PROBES_IO, &slot) < 0)
				_exit(1);
		_exit(0);
	}
	ok(waitpid(pid, &status, 0) == pid && status == 0, "a step dies with three slots");
	for (n = 1; n && probes_count(probes, &c, &dead) == 0; n = dead.nslots) {
		is_u64(c.slots, 0, "slots of the dead step do not count");
		is_u64(c.groups, 0, "nor what they asked for");
		probes_reap(probes, &dead);
	}
	/* the second of two who found the same dead must not take what is somebody's by now */
	is_int(probes_register(probes, NOBODYS_ID + 1, 0, 1u << PROBES_IO, &slot), 0, "register");
	dead.nslots = 1;
	dead.slot[0] = slot;
	dead.owner[0] = (struct probes_owner){ .pid = (uint32_t)pid, .start = 1 };
	probes_reap(probes, &dead);
	is_int(probes_count(probes, &c, &dead), 0, "count");
	is_u64(c.slots, 1, "a slot that was given again is not reaped");
	is_u64(c.groups, 1u << PROBES_IO, "and its request is known");
	probes_release(probes, slot);
}

/* What is left of a dead step that had the same cgroup goes without the living one's registration. */
static void test_registered_again(void)
{
	struct probes_count c;
	struct probes_dead dead;
	struct folder step;
	uint32_t slot;
	int status;
	pid_t pid;

	if (!v2_root || !ok(folder_make_own(&step, v2_root, "step"), "cgroup"))
		return;
	pid = fork();
	if (pid == 0)
		_exit(probes_register(probes, step.id, 0, 0, &slot) < 0);
	ok(waitpid(pid, &status, 0) == pid && status == 0, "one registers a cgroup and dies");
	is_int(probes_register(probes, step.id, 0, 0, &slot), 0, "another one registers it");
	is_int(probes_count(probes, &c, &dead), 0, "count");
	is_u64(dead.nslots, 1, "the dead one is found");
	probes_reap(probes, &dead);
	ok(bpfrig_run_task(&step), "a task ends");
	is_u64(written(probes, slot), BPFRIG_TASK_BYTES, "and is counted for the living one");
	probes_release(probes, slot);
	folder_remove(&step);
}

/* Every map with elements by slot; what a step before left must not be the next one's. */
static void test_reuse(void)
{
	static const char *const maps[] = { "task_rows", "tcp_rows", "fs_rows", "hw_rows", "hw_slots" };
	const uint32_t groups = 1u << PROBES_IO | 1u << PROBES_HW;
	const uint32_t none = 0;
	unsigned char garbage[32768], got[32768];
	struct bpf_map_info info;
	uint32_t slot, again, rows;
	size_t i, j, left;
	int fd;

	memset(garbage, 0xa5, sizeof(garbage));
	is_int(probes_register(probes, NOBODYS_ID, 0, groups, &slot), 0, "register");
	for (i = 0; i < ARRAY_SIZE(maps); i++) {
		rows = probes_rows_of_slot(maps[i], probes_shards(probes));
		if (probes_map(probes, maps[i], &fd) < 0)
			continue;
		is_int(bpfsys_map_info(fd, &info), 0, maps[i]);
		is_u64(info.max_entries, (PROBES_SLOTS + 1) * rows, "has room for all slots");
		is_int(bpfsys_write_range(fd, slot * rows, rows, garbage), 0, "garbage");
		is_int(bpfsys_read_range(fd, slot * rows, rows, got), 0, "is there");
		ok(!memcmp(got, garbage, rows * info.value_size), "in all rows");
	}
	probes_release(probes, slot);
	if (probes_map(probes, "hw_slots", &fd) == 0 && bpfsys_lookup(fd, &slot, got) == 0)
		ok(!memcmp(got, &none, sizeof(none)), "after the step's end no events are read");
	is_int(probes_register(probes, NOBODYS_ID, 0, groups, &again), 0, "register again");
	is_u64(again, slot, "the same slot");
	for (i = 0; i < ARRAY_SIZE(maps); i++) {
		rows = probes_rows_of_slot(maps[i], probes_shards(probes));
		if (probes_map(probes, maps[i], &fd) < 0 || bpfsys_map_info(fd, &info) < 0 ||
		    bpfsys_read_range(fd, slot * rows, rows, got) < 0)
			continue;
		if (i == 0) /* but for the owner */
			((struct probes_task_row *)got)->owner = 0;
		if (i == 2)
			((struct probes_fs *)got)->owner = 0;
		for (j = 0, left = 0; j < rows * info.value_size; j++)
			left += got[j] != 0;
		is_u64(left, 0, maps[i]);
	}
	probes_release(probes, again);
}

/* --- the cache ------------------------------------------------------------------------------- */

#define TAG_SERIAL (UINT64_C(1) << PROBES_SLOT_BITS) /* the next cgroup that has the same index */

static __u64 generation_bits(uint32_t generation)
{
	return (__u64)generation << 44;
}

/* Where the cache has SLOT; the index is a number that only the kernel knows. */
static __u64 *find_entry(uint32_t slot)
{
	size_t i;

	for (i = 0; i < PROBES_CACHE; i++)
		if ((cache[i] & (TAG_SERIAL - 1)) == slot &&
		    cache[i] >> 44 == (meta->generation & PROBES_GENERATION_MASK))
			return &cache[i];
	return NULL;
}

/* A cgroup whose number has the same low 16 bits is where this one's entry belongs. */
static void test_collision(void)
{
	struct folder step;
	uint32_t slot, other;
	__u64 *entry, ours;

	if (!ok(folder_make_own(&step, v2_root, "step"), "cgroup"))
		return;
	is_int(probes_register(probes, NOBODYS_ID, 0, 0, &other), 0, "one registers");
	is_int(probes_register(probes, step.id, 0, 0, &slot), 0, "the other, 65,536 apart");
	ok(bpfrig_run_task(&step), "a task ends");
	is_u64(written(probes, slot), BPFRIG_TASK_BYTES, "it is counted");
	entry = find_entry(slot);
	if (!ok(entry != NULL, "and in the cache"))
		return;
	ours = *entry;
	*entry = ((ours + TAG_SERIAL) & ~(TAG_SERIAL - 1)) | other;
	ok(bpfrig_run_task(&step), "a task ends while the other is in its place");
	is_u64(written(probes, slot), 2 * BPFRIG_TASK_BYTES, "it is counted for its own step");
	is_u64(written(probes, other), 0, "and not for the other");
	is_u64(*entry, ours, "and is in the cache again");
	*entry = (ours + TAG_SERIAL) & ~(TAG_SERIAL - 1); /* known to be of no step */
	ok(bpfrig_run_task(&step), "a task ends");
	is_u64(written(probes, slot), 3 * BPFRIG_TASK_BYTES,
	       "another cgroup's entry of no step is not taken for it");
	probes_release(probes, slot);
	ok(bpfrig_run_task(&step), "a task ends after the step");
	is_u64(written(probes, slot), 3 * BPFRIG_TASK_BYTES, "and is not counted");
	probes_release(probes, other);
	folder_remove(&step);
}

/*
 * Tasks of the cgroup exit all the time, so that walks that find no step are under way when it is
 * registered: what they store must not outlast it. From the moment that probes_register() returns, all
 * counts.
 */
static void test_registration_races_walks(void)
{
	struct folder step, inner;
	unsigned int missed = 0;
	uint32_t slot;
	pid_t churn;
	int i;

	if (!ok(folder_make_own(&step, v2_root, "step"), "cgroup") ||
	    !ok(folder_make(&inner, step.path, "task"), "cgroup"))
		return;
	churn = fork();
	if (churn == 0) {
		if (!folder_join(&inner, getpid()))
			_exit(1);
		for (;;) {
			pid_t pid = fork();

			if (pid == 0)
				_exit(0);
			if (pid > 0)
				(void)waitpid(pid, NULL, 0);
		}
	}
	for (i = 0; i < 200; i++) {
		if (probes_register(probes, step.id, 0, 0, &slot) < 0)
			break;
		if (!bpfrig_run_task(&inner) || written(probes, slot) != BPFRIG_TASK_BYTES)
			missed++;
		probes_release(probes, slot);
	}
	is_int(i, 200, "200 steps come and go while tasks exit");
	is_u64(missed, 0, "each counts from its registration on, and nothing else");
	child_kill(churn);
	folder_remove(&inner);
	folder_remove(&step);
}

/* The generation has 20 bits in the cache: what is old must not come round. */
static void test_generation_wraps(void)
{
	struct folder step;
	uint32_t slot;
	__u64 *entry;
	__u64 ours;

	if (!ok(folder_make_own(&step, v2_root, "step"), "cgroup"))
		return;
	is_int(probes_register(probes, step.id, 0, 0, &slot), 0, "register");
	ok(bpfrig_run_task(&step), "a task ends");
	entry = find_entry(slot);
	if (!ok(entry != NULL, "its cgroup is in the cache"))
		return;
	ours = *entry & (generation_bits(1) - 1) & ~(__u64)(TAG_SERIAL - 1);
	probes_release(probes, slot);

	meta->generation = 0x3ffffe; /* the low 20 bits are about to be 0 */
	is_int(probes_register(probes, step.id, 0, 0, &slot), 0, "register");
	is_int(meta->generation, 0x3fffff, "one before the end");
	probes_release(probes, slot);
	is_int(meta->generation, 0x400001, "0 is left out: an empty entry would be an answer");
	is_u64(*entry, 0, "the cache was emptied");
	is_int(probes_register(probes, step.id, 0, 0, &slot), 0, "register");
	ok(bpfrig_run_task(&step), "a task ends");
	is_u64(written(probes, slot), BPFRIG_TASK_BYTES, "it is counted");

	/* what was stored a round ago, nobody's, would be right again two registrations on */
	meta->generation = 0x47ffff;
	*entry = generation_bits(0x80001) | ours;
	probes_release(probes, slot);
	is_int(meta->generation, 0x480000, "half way round");
	is_u64(*entry, 0, "it is emptied before old numbers are in use");
	*entry = generation_bits(0x7ffff) | ours;
	is_int(probes_register(probes, step.id, 0, 0, &slot), 0, "register");
	ok(*entry != 0, "otherwise it is kept");
	ok(bpfrig_run_task(&step), "a task ends");
	is_u64(written(probes, slot), BPFRIG_TASK_BYTES, "it is counted");
	probes_release(probes, slot);
	folder_remove(&step);
}

/* --- many at once ---------------------------------------------------------------------------- */

#define MANY 100

/* One slurmstepd from start to end, with a task whose bytes are its own number. */
static int one_of_many(int i, int go)
{
	struct folder step;
	struct probes *p;
	char data[256] = { 0 };
	uint32_t slot;
	pid_t pid;
	int status, rc = 0;

	if (read(go, data, 1) != 0) /* all begin when it is closed */
		return 1;
	if (!folder_make_own(&step, v2_root, "many") || probes_open(bpfrig_dir, &p, NULL) < 0 ||
	    probes_register(p, step.id, 0, 0, &slot) < 0)
		return 2;
	if (probes_hold(p, PROBES_TASKS, NULL) < 0)
		return 3;
	pid = fork();
	if (pid == 0)
		_exit(!folder_join(&step, getpid()) || write(bpfrig_null, data, (size_t)i) != (ssize_t)i);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		rc = 4;
	else if (written(p, slot) < (uint64_t)i || written(p, slot) > (uint64_t)i + 16)
		rc = 5; /* a few bytes more: it wrote its pid into cgroup.procs */
	probes_release(p, slot);
	probes_close(p);
	folder_remove(&step);
	return rc;
}

static void test_many_at_once(void)
{
	struct probes_count c;
	unsigned int well = 0;
	int go[2], i, status;

	if (!ok(pipe(go) == 0, "pipe"))
		return;
	for (i = 1; i <= MANY; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			(void)close(go[1]);
			_exit(one_of_many(i, go[0]));
		}
	}
	(void)close(go[0]);
	(void)close(go[1]);
	while (wait(&status) > 0) {
		well += status == 0;
		if (status)
			diag("one ended with %d", WEXITSTATUS(status));
	}
	is_u64(well, MANY, "100 steps start, count and end at once");
	is_int(probes_count(probes, &c, NULL), 0, "count");
	is_u64(c.slots, 0, "none is left");
}

int main(void)
{
	const char *why = bpfrig_up();
	uint64_t start_ns;
	uint32_t slot;
	int i;

	if (why)
		return skip_all(why);
	v2_root = bpfrig_root(true);
	bpfrig_null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (!ok(probes_open(bpfrig_dir, &probes, NULL) == 0, "open"))
		return done_testing();
	is_int(probes_hold(probes, PROBES_TASKS, NULL), 0, "hold");
	meta = map_whole("meta", sizeof(*meta));
	cache = map_whole("cache", PROBES_CACHE * sizeof(*cache));
	if (!ok(meta && cache, "maps are mapped"))
		return done_testing();
	test_full();
	test_full_of_the_dead();
	test_dead_owners();
	test_registered_again();
	test_reuse();
	start_ns = clock_mono_ns();
	for (i = 0; i < 100; i++)
		if (probes_register(probes, NOBODYS_ID, 0, 0, &slot) == 0)
			probes_release(probes, slot);
	diag("registering and releasing takes %" PRIu64 " us", (clock_mono_ns() - start_ns) / 100 / 1000);
	if (v2_root) {
		test_collision();
		test_registration_races_walks();
		test_many_at_once();
		test_generation_wraps();
	} else {
		skip(1, "no v2 cgroups that can be written");
	}
	probes_close(probes);
	is_int(bpfrig_unload(), 0, "unload");
	bpfrig_down();
	return done_testing();
}
