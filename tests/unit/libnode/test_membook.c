/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of running steps, as a tick samples it: which steps are read, mean and peak, and the job's sum
 * in its extern step. The test sets the time, and the linker puts its functions in place of those that read
 * cgroups (-Wl,--wrap).
 */
#include "src/libnode/membook.h"

#include <stdlib.h>

#include "fake_sampler.h"
#include "scratch.h"
#include "src/libutil/util.h"
#include "tap.h"

#define MB (UINT64_C(1) << 20)
#define SEC NSEC_PER_SEC
#define STEPS_MAX 256
#define UNKNOWN UINT64_MAX
#define START_NS (1000 * SEC) /* of all steps */

/* One that was opened; the number of its step is its cgroup's name. */
struct memuse {
	unsigned int step;
};

/* What the node shows of each step, and how often that was read. */
static struct {
	uint64_t held, page_cache, swap; /* held 0: it cannot be read */
	bool has_no_memory;		 /* there is no cgroup to read it from */
	bool is_list;			 /* it is read process by process */
	unsigned int n;
} shown[STEPS_MAX];
static unsigned int nopen;

int __wrap_memuse_open(const struct cgroup_paths *paths, struct memuse **ret, struct errmsg *err);
int __wrap_memuse_open(const struct cgroup_paths *paths, struct memuse **ret, struct errmsg *err)
{
	unsigned int step = (unsigned int)strtoul(paths->v2, NULL, 10);

	if (shown[step].has_no_memory)
		return errmsg_set(err, -ENOENT, "no cgroup");
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		exit(99);
	(*ret)->step = step;
	nopen++;
	return 0;
}

void __wrap_memuse_close(struct memuse *m);
void __wrap_memuse_close(struct memuse *m)
{
	nopen -= m != NULL;
	free(m);
}

bool __wrap_memuse_opens_files(const struct memuse *m);
bool __wrap_memuse_opens_files(const struct memuse *m)
{
	return shown[m->step].is_list;
}

int __wrap_memuse_read_kinds(struct memuse *m, struct memuse_kinds *ret);
int __wrap_memuse_read_kinds(struct memuse *m, struct memuse_kinds *ret)
{
	shown[m->step].n++;
	if (!shown[m->step].held)
		return -ENODEV;
	*ret = (struct memuse_kinds){ .held = shown[m->step].held,
				      .page_cache = shown[m->step].page_cache,
				      .swap = shown[m->step].swap,
				      .used = UNKNOWN,
				      .rss = UNKNOWN,
				      .cache = UNKNOWN };
	return 0;
}

/* --- the node ------------------------------------------------------------------------------- */

static char dir[] = SCRATCH_TEMPLATE;
static struct fake_sampler node;
static struct membook *watch;

static void begin(void)
{
	struct errmsg err = { 0 };

	memset(shown, 0, sizeof(shown));
	if (fake_start(&node, dir, "n1", &err) < 0 || membook_create(&watch) < 0) {
		diag("%s", err.text);
		exit(99);
	}
}

static void end(void)
{
	membook_destroy(watch);
	fake_stop(&node);
	scratch_clear(dir);
	is_u64(nopen, 0, "nothing stays open");
}

/* The next free slot's; its cgroup is known. */
static unsigned int claim(uint32_t job_id, uint32_t step_id)
{
	const struct ledger_identity id = {
		.job_id = job_id, .step_id = step_id, .job_cpus = 1, .step_cpus = 1, .node_count = 1
	};
	struct ledger_slot *s;
	unsigned int slot;

	if (ledger_claim(node.l, &id, &slot) < 0)
		exit(99);
	s = ledger_slot(node.l, slot);
	s->t_open_mono_ns = START_NS;
	(void)snprintf(s->cgroup.v2, sizeof(s->cgroup.v2), "%u", slot);
	atomic_store(&s->cgroup_known, 1);
	return slot;
}

/* AFTER the start, without the booking of energy. */
static void tick(uint64_t after_ns)
{
	struct tick t = { .page = ledger_begin(node.l), .book.t_mono_ns = START_NS + after_ns };

	t.nlines = ledger_book_collect(node.b, t.page, t.book.t_mono_ns, &t.line);
	membook_read(watch, &t);
	ledger_turn(node.l);
}

static const struct ledger_memory *memory(unsigned int slot)
{
	return &ledger_current(node.l)->step[slot].memory;
}

static const struct memuse_kinds *find(unsigned int slot)
{
	return membook_find(watch, slot, ledger_slot(node.l, slot)->claim);
}

/* --- mean and peak ---------------------------------------------------------------------------- */

static void test_mean(void)
{
	static const struct {
		const char *name;
		uint64_t after_ns, held, cache, swap;
		uint64_t peak, swap_peak, held_mib_s, cache_mib_s;
	} t[] = {
		{ "the first reading is of all the time before", 2 * SEC, 100 * MB, 10 * MB, UNKNOWN,
		  100 * MB, UNKNOWN, 200, 20 },
		{ "it goes evenly to the next", 4 * SEC, 300 * MB, 10 * MB, UNKNOWN, 300 * MB, UNKNOWN, 600,
		  40 },
		{ "less of it leaves the peak", 6 * SEC, 100 * MB, 30 * MB, 5 * MB, 300 * MB, 5 * MB, 1000,
		  80 },
		{ "a reading that fails is left out", 8 * SEC, 0, 0, 9 * MB, 300 * MB, 5 * MB, 1000, 80 },
		{ "the next is from the one before", 10 * SEC, 100 * MB, 30 * MB, 2 * MB, 300 * MB, 5 * MB,
		  1400, 200 },
	};
	struct ledger_memory m;
	unsigned int slot;
	size_t i;

	begin();
	slot = claim(1, 0);
	tick(SEC);
	is_int(ledger_step_memory(node.l, slot, &m), -ENODATA, "nothing read, nothing known");
	ok(!find(slot), "  nor for ceems.prom");
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		shown[slot].held = t[i].held;
		shown[slot].page_cache = t[i].cache;
		shown[slot].swap = t[i].swap;
		tick(t[i].after_ns);
		is_int(ledger_step_memory(node.l, slot, &m), 0, t[i].name);
		is_u64(m.peak_bytes, t[i].peak, "  its peak");
		is_u64(m.swap_peak_bytes, t[i].swap_peak, "  of swap");
		is_u64(m.held_kib_s, t[i].held_mib_s * 1024, "  held by time");
		is_u64(m.cache_kib_s, t[i].cache_mib_s * 1024, "  page cache by time");
	}
	is_u64(find(slot)->held, 100 * MB, "for ceems.prom: now");
	ok(!membook_find(watch, slot, ledger_slot(node.l, slot)->claim + 1) &&
		   !membook_find(watch, LEDGER_STEPS, 1) && !membook_find(NULL, 0, 1),
	   "  not of another step, of no step, or without a watch");
	end();
}

static void test_no_cache(void)
{
	unsigned int slot;

	begin();
	slot = claim(1, 0);
	shown[slot].held = MB;
	shown[slot].page_cache = shown[slot].swap = UNKNOWN;
	tick(SEC);
	tick(2 * SEC);
	is_u64(memory(slot)->cache_bytes, UNKNOWN, "by processes: page cache is unknown, not 0");
	is_u64(memory(slot)->held_kib_s, 2 * 1024, "what it holds is known");
	end();
}

/* --- turns ------------------------------------------------------------------------------------ */

static void test_interval(void)
{
	unsigned int slot, i;

	begin();
	slot = claim(1, 0);
	shown[slot].held = MB;
	for (i = 1; i <= 8; i++)
		tick(i * SEC);
	is_u64(shown[slot].n, 8, "a young step is read in every tick of a second");
	shown[slot].n = 0;
	for (i = 101; i <= 160; i++)
		tick(i * SEC);
	is_u64(shown[slot].n, 12, "an old one every five");
	shown[slot].n = 0;
	for (i = 0; i < 100; i++)
		tick(161 * SEC + i * SEC / 100);
	ok(shown[slot].n <= 1, "and not more often if there are more ticks");
	end();
}

static unsigned int nread(unsigned int n)
{
	unsigned int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += shown[i].n;
	return sum;
}

static void test_turns(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < 40; i++) {
		shown[i].held = MB;
		(void)claim(1, i);
	}
	tick(SEC);
	is_u64(nread(40), MEMBOOK_FILES, "of 40 steps, a tick reads the memory of MEMBOOK_FILES");
	tick(SEC + SEC / 100);
	is_u64(nread(40), 2 * MEMBOOK_FILES, "the next as many others");
	tick(SEC + SEC / 50);
	is_u64(nread(40), 40, "the third the rest");
	for (i = 0; i < 40 && shown[i].n == 1; i++)
		;
	is_u64(i, 40, "each of them once");
	end();
}

static void test_lists(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < 10; i++) {
		shown[i].held = MB;
		shown[i].is_list = i % 2;
		(void)claim(1, i);
	}
	tick(SEC);
	is_u64(nread(10), 6, "one list of processes, and all files");
	tick(SEC + MEMBOOK_LIST_NS / 2);
	for (i = 1; i < 5; i++)
		tick(SEC + i * MEMBOOK_LIST_NS);
	for (i = 0; i < 10 && shown[i].n; i++)
		;
	is_u64(i, 10, "five turns of lists have read all five");
	end();
}

static void test_not_read(void)
{
	unsigned int unknown, closing, none;

	begin();
	unknown = claim(1, 0);
	closing = claim(1, 1);
	none = claim(1, 2);
	shown[unknown].held = shown[closing].held = MB;
	shown[none].has_no_memory = true;
	atomic_store(&ledger_slot(node.l, unknown)->cgroup_known, 0);
	tick(SEC);
	is_u64(shown[unknown].n, 0, "a step without a cgroup yet is not read");
	is_u64(shown[closing].n, 1, "another is");
	atomic_store(&ledger_slot(node.l, closing)->state, SLOT_CLOSING);
	shown[none].has_no_memory = false;
	tick(10 * SEC);
	is_u64(shown[closing].n, 1, "but not once it ends: its tasks are gone");
	is_u64(memory(closing)->peak_bytes, MB, "what was seen stays");
	is_u64(shown[none].n, 0, "what could not be opened is not tried again");
	atomic_store(&ledger_slot(node.l, unknown)->cgroup_known, 1);
	tick(11 * SEC);
	is_u64(shown[unknown].n, 1, "when the cgroup is known it is read");
	end();
}

/* A new step in a slot begins anew. */
static void test_reuse(void)
{
	unsigned int slot;

	begin();
	slot = claim(1, 0);
	shown[slot].held = 5 * MB;
	tick(SEC);
	is_u64(nopen, 1, "open");
	ledger_leave(node.l, slot);
	if (fake_tick(&node, 0, 0, 0) < 0 || fake_tick(&node, 0, 0, 0) < 0)
		exit(99);
	tick(2 * SEC);
	is_u64(nopen, 0, "a step that has left is closed");
	is_u64(claim(1, 1), slot, "its slot is used again");
	tick(3 * SEC);
	is_u64(memory(slot)->held_kib_s, 3 * 5 * 1024, "and begins anew");
	end();
}

/* --- the job ---------------------------------------------------------------------------------- */

static void test_job(void)
{
	unsigned int ext, a, b, other;

	begin();
	ext = claim(1, LEDGER_STEP_EXTERN);
	a = claim(1, 0);
	b = claim(1, 1);
	other = claim(2, 0);
	shown[ext].held = MB;
	shown[a].held = 10 * MB;
	shown[b].held = 20 * MB;
	shown[other].held = 400 * MB;
	tick(SEC);
	is_u64(memory(ext)->peak_bytes, 31 * MB, "the extern step's peak is of all steps together");
	is_u64(memory(ext)->held_kib_s, 1024, "by time, it has its own");
	is_u64(memory(b)->peak_bytes, 20 * MB, "the others have theirs");
	shown[a].held = 15 * MB;
	shown[b].held = 5 * MB;
	tick(2 * SEC);
	is_u64(memory(ext)->peak_bytes, 31 * MB, "peaks that were not at one time are not added up");
	is_u64(memory(a)->peak_bytes, 15 * MB, "though each step has its own");
	end();
}

int main(void)
{
	alarm(60);
	if (!mkdtemp(dir))
		return 99;
	test_mean();
	test_no_cache();
	test_interval();
	test_turns();
	test_lists();
	test_not_read();
	test_reuse();
	test_job();
	(void)rmdir(dir);
	return done_testing();
}
