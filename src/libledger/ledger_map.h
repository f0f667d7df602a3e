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
	uint32_t header_bytes, page_bytes, slot_bytes; /* another compiler, another layout */
	uint32_t steps, jobs;
	char boot_id[40];
	char node[256];
	uint64_t created_wall_ns;
	uint32_t pad;
	uint32_t crc32c; /* of all before it */
};

/*
 * What a request adds to ledger_file.requests. The upper bits count requests that somebody waits
 * for, the lower bits hints. Hints that overflow look like a request; that is one tick too many.
 */
#define LEDGER_HINT UINT32_C(1)
#define LEDGER_WAITED (UINT32_C(1) << 16)

struct ledger_file {
	struct ledger_header header;
	/*
	 * The current page is page[turns & 1]. A reader that finds the same number here afterwards
	 * has read one page: only the next turn but one writes to that page again.
	 */
	_Atomic uint32_t turns;
	_Atomic uint32_t requests; /* futex: ticks asked for, LEDGER_WAITED or LEDGER_HINT each, */
	_Atomic uint32_t served;   /* futex: and the last of them that a turned tick answered */
	_Atomic uint32_t slots_full; /* claims that found none */
	_Atomic uint32_t slots_used; /* slots ever claimed: none is beyond */
	_Atomic uint32_t mounts_known;
	struct cgmount_points mounts; /* as slurmd sees them, which each slurmstepd comes from */
	_Atomic uint32_t slices_seq; /* odd: being written */
	struct gpu_slices slices;
	struct ledger_page page[2];
	struct ledger_slot slot[LEDGER_STEPS];
};

/* What becomes of a slot once the page is turned. */
struct ledger_move {
	uint32_t slot;
	uint32_t from, to; /* enum ledger_state */
};

/*
 * The fields of a job's entry, in the page being written, by which the entry is found. A thousand
 * of them take few memory pages.
 */
struct ledger_job_key {
	uint32_t job_id;
	uint32_t open_slots;
	uint64_t last_seen_mono_ns;
};

/* The sampler's, between its ticks. */
struct ledger_maker {
	uint32_t seen;	/* requests it knows of */
	uint32_t begun; /* requests that the tick in the making answers */
	bool is_turned; /* the pages differ by one tick's bookings, and by no others */
	size_t nmoves;
	struct ledger_move move[LEDGER_STEPS];
	uint64_t changed[LEDGER_JOBS / 64]; /* bits: entries of jobs that this tick, or the last, wrote to */
	struct ledger_job_key key[LEDGER_JOBS];
};

struct ledger {
	struct ledger_file *file;
	int fd; /* holds the sampler's lock; -1 for all others */
	char node[256];
	struct ledger_maker *maker; /* NULL for all others */
};

static inline struct ledger_page *ledger_map_page(const struct ledger *l, uint32_t turns)
{
	return &l->file->page[turns & 1];
}

/* Call it after writing to an entry of PAGE, which ledger_begin() gave, when the entry is complete. */
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

/* Futexes between processes, so never PRIVATE. Waits until WORD is no longer VALUE, somebody
 * wakes us, a signal comes or it is DEADLINE. */
static inline void ledger_futex_wait(_Atomic uint32_t *word, uint32_t value,
				     uint64_t deadline_mono_ns)
{
	struct timespec ts = clock_ns_to_timespec(deadline_mono_ns);

	(void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &ts, NULL,
		      FUTEX_BITSET_MATCH_ANY);
}

static inline void ledger_futex_wake(_Atomic uint32_t *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/*
 * A sequence counter guards data that one process writes while others read it. It is odd during a write. If a writer
 * is killed during a write, the next one makes it even again.
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

/* Copies SIZE bytes that no write changed meanwhile. False: a thousand tries failed. */
bool ledger_seq_read(const _Atomic uint32_t *seq, void *to, const void *from, size_t size);

/* Fills in a header as ledger_create() would, with its checksum. */
int ledger_map_header(struct ledger_header *h, const char *node, struct errmsg *err);
uint32_t ledger_map_crc(const struct ledger_header *h);

/* --- for ledger_book.c ---------------------------------------------------------- */

/* Moves SLOT on when the page is turned, if it is still in state FROM then. */
void ledger_move_later(struct ledger *l, uint32_t slot, uint32_t from, uint32_t to);

#endif
