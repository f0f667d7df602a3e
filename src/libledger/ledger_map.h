/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_map.h - the ledger's file and its mapping; for ledger*.c and their tests only.
 */
#ifndef CEEMS_LEDGER_MAP_H
#define CEEMS_LEDGER_MAP_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/libledger/ledger.h"
#include "src/libutil/clock.h"

#define LEDGER_MAGIC "ceemsldg"

/* Written once, before the file gets its name. */
struct ledger_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes, page_bytes, slot_bytes; /* reveal a build with another layout of the structs */
	uint32_t steps, jobs;
	char boot_id[40];
	char node[256];
	uint64_t created_wall_ns;
	uint32_t pad;
	uint32_t crc32c; /* of all members before it */
};

/*
 * What a request adds to ledger_file.requests. The upper 16 bits count requests for which a process
 * waits; the lower 16 bits count hints. If the hints overflow, this counts as a request, and one tick
 * too many is made.
 */
#define LEDGER_HINT UINT32_C(1)
#define LEDGER_WAITED (UINT32_C(1) << 16)

struct ledger_file {
	struct ledger_header header;
	/*
	 * How many ticks were made current. The current page is page[turns & 1]; a tick writes only to
	 * the other page. So if `turns` is the same before and after reading, the page did not change.
	 */
	_Atomic uint32_t turns;
	_Atomic uint32_t requests; /* futex: sum of all requests, each LEDGER_WAITED or LEDGER_HINT */
	/* futex: what `requests` was when the last tick that was made current began */
	_Atomic uint32_t served;
	_Atomic uint32_t slots_full; /* claims that found no slot */
	_Atomic uint32_t slots_used; /* slots from this index on were never claimed */
	_Atomic uint32_t mounts_known;
	struct cgmount_points mounts; /* as slurmd sees them; each slurmstepd inherits them */
	_Atomic uint32_t slices_seq;  /* odd: being written */
	struct gpu_slices slices;
	_Atomic uint32_t notes_seq; /* odd: being written */
	struct source_notes notes;
	struct ledger_page page[2];
	struct ledger_slot slot[LEDGER_STEPS];
};

/* A change of a slot's state that is made after the page was made current. */
struct ledger_move {
	uint32_t slot;
	uint32_t from, to; /* enum ledger_state */
};

/*
 * Copy of the fields by which a job's entry is found in the page being written. The copies of a thousand
 * entries fill a few pages of memory; the entries themselves fill hundreds.
 */
struct ledger_job_key {
	uint32_t job_id;
	uint32_t open_slots;
	uint64_t last_seen_mono_ns;
};

/* What the sampler remembers from tick to tick. It is in the sampler's own memory. */
struct ledger_maker {
	uint32_t seen;	/* ledger_file.requests as the sampler last read it */
	uint32_t begun; /* ledger_file.requests when the tick began; the tick answers these requests */
	/* the last tick was made current, so the pages differ only by what that tick booked */
	bool is_turned;
	size_t nmoves;
	struct ledger_move move[LEDGER_STEPS];
	uint64_t changed[LEDGER_JOBS / 64]; /* one bit per job entry that was written since ledger_begin() */
	struct ledger_job_key key[LEDGER_JOBS];
};

struct ledger {
	struct ledger_file *file;
	int fd;	   /* holds the sampler's lock; -1 in all other processes */
	dev_t dev; /* the file of ledger_open() */
	ino_t ino;
	char node[256];
	struct ledger_maker *maker; /* NULL unless this is the sampler */
};

static inline struct ledger_page *ledger_map_page(const struct ledger *l, uint32_t turns)
{
	return &l->file->page[turns & 1];
}

/* Notes that entry I of PAGE, the page of ledger_begin(), has changed. Call it when the entry is complete. */
static inline void ledger_job_changed(struct ledger *l, const struct ledger_page *page, uint32_t i)
{
	const struct ledger_job_account *job = &page->job[i];

	l->maker->changed[i / 64] |= UINT64_C(1) << i % 64;
	l->maker->key[i] = (struct ledger_job_key){ job->job_id, job->open_slots, job->last_seen_mono_ns };
}

static inline uint32_t ledger_slots_used(const struct ledger *l)
{
	uint32_t used = atomic_load(&l->file->slots_used);

	return used < LEDGER_STEPS ? used : LEDGER_STEPS;
}

/*
 * Sleeps if WORD is VALUE, until ledger_futex_wake(), a signal or DEADLINE. Without FUTEX_PRIVATE_FLAG,
 * because the futex is shared by processes.
 */
static inline void ledger_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline_mono_ns)
{
	struct timespec ts = clock_ns_to_timespec(deadline_mono_ns);

	(void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &ts, NULL, FUTEX_BITSET_MATCH_ANY);
}

static inline void ledger_futex_wake(_Atomic uint32_t *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/*
 * A sequence counter guards data that one process writes while others read it. The counter is odd during a
 * write. If the writer is killed during a write, the end of the next write makes the counter even again.
 */
static inline uint32_t ledger_seq_begin(_Atomic uint32_t *seq)
{
	uint32_t odd = atomic_load(seq) | 1;

	atomic_store(seq, odd);
	atomic_thread_fence(memory_order_seq_cst);
	return odd;
}

static inline void ledger_seq_end(_Atomic uint32_t *seq, uint32_t odd)
{
	atomic_store(seq, odd + 1);
}

/*
 * Copies SIZE bytes, all from the same write. False: a thousand tries met a write, or a writer was killed.
 * SIZE is a multiple of 4, and so are both addresses. Whoever writes does so with ledger_seq_write(): readers
 * may copy meanwhile, also in another thread of the same slurmstepd.
 */
void ledger_seq_write(void *to, const void *from, size_t size);
bool ledger_seq_read(const _Atomic uint32_t *seq, void *to, const void *from, size_t size);

/* Fills in a header as ledger_create() would, with its checksum. */
int ledger_map_header(struct ledger_header *h, const char *node, struct errmsg *err);
uint32_t ledger_map_crc(const struct ledger_header *h);

/* --- for ledger_book.c ---------------------------------------------------------- */

/* Lets ledger_turn() change the state of SLOT to TO, if the slot is still in state FROM then. */
void ledger_move_later(struct ledger *l, uint32_t slot, uint32_t from, uint32_t to);

#endif
