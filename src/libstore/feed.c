/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstore/feed.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define RING_MIN 4096
#define RING_MAX (UINT64_C(1) << 30)
#define ALIGN 8
#define KEYS_BYTES (FEED_KEYS * sizeof(struct job_key))

/*
 * The ring is made of chunks. A new chunk is always the lowest free one, so a few chunks are used
 * again and again; only a burst touches the memory of all.
 */
#define CHUNKS_MAX 32
#define CHUNK_MIN (UINT64_C(256) << 10) /* smallest chunk, unless the ring has no room for two */
#define WARM_CHUNKS 4			/* chunks kept ready (with pages) beyond those in use */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

/*
 * Jobs often end together. For LINGER_NS after an entry the worker polls every NAP_MS instead of
 * sleeping until it is woken. Waking costs the hook a system call under slurmctld's job lock and,
 * with few cores, its own core. Polling also makes larger batches, and so fewer fdatasync().
 */
#define NAP_MS 20
#define LINGER_NS (500 * NSEC_PER_MSEC)

/* In front of every entry. An entry lies in one chunk; the rest of a chunk may be padding. */
struct header {
	uint32_t len;
	uint32_t is_padding;
};
_Static_assert(sizeof(struct header) == ALIGN, "entries stay aligned");

struct feed {
	unsigned char *ring;
	uint64_t size;
	uint64_t chunk;
	unsigned int nchunks;
	/* used by the worker only: how many chunks, from the lowest on, have pages */
	unsigned int warm;
	/*
	 * The chunk of each position: byte N ever pushed is in chunk where[N / chunk % nchunks].
	 * The hook sets an element before the head enters the chunk, and again only after the tail
	 * has left it.
	 */
	uint8_t where[CHUNKS_MAX];
	int wake_fd;
	atomic_bool asleep;    /* the worker may be in poll(), so a push must write to wake_fd */
	_Atomic uint64_t head; /* bytes ever pushed; written by the hook */
	_Atomic uint64_t tail; /* bytes ever released; written by the worker */
	/* used by the worker only: feed_next() has returned all before this */
	uint64_t seen;
	uint64_t before;	  /* used by the worker only: where the entry returned last begins */
	uint64_t waited_at;	  /* used by the worker only: seen + key_seen at its last wait */
	uint64_t linger_until_ns; /* used by the worker only */
	struct job_key *keys;
	_Atomic uint64_t key_head; /* keys ever pushed; written by the hook */
	_Atomic uint64_t key_tail; /* keys ever released; written by the worker */
	uint64_t key_seen;	   /* used by the worker only */
	_Atomic uint64_t lost;	   /* entries ever lost */
	uint64_t lost_taken;	   /* used by the worker only */
	/*
	 * Ids of losses; the slot is the number of the loss since the last take. The hook writes an
	 * id before it raises `lost`, so the worker sees the ids it counts.
	 */
	_Atomic uint64_t lost_base;
	_Atomic uint32_t lost_id[FEED_LOST_IDS];
};

static uint64_t round_up(uint64_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Maps memory whose pages are allocated when first touched. NULL: out of memory. */
static void *map_untouched(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		       0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t bytes)
{
	if (p)
		(void)munmap(p, bytes);
}

/* Allocates the pages of some chunks ahead of the head, so that a push causes no page fault. */
static int keep_warm(struct feed *f)
{
	uint64_t head = atomic_load_explicit(&f->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&f->tail, memory_order_relaxed);
	uint64_t want = head / f->chunk - tail / f->chunk + WARM_CHUNKS;

	if (want > f->nchunks)
		want = f->nchunks;
	if (want <= f->warm)
		return 0;
	if (madvise(f->ring + f->warm * f->chunk, (want - f->warm) * f->chunk, MADV_POPULATE_WRITE) < 0)
		return -errno;
	f->warm = (unsigned int)want;
	return 0;
}

int feed_create(size_t bytes, struct feed **ret, struct errmsg *err)
{
	struct feed *f;
	uint64_t size = RING_MIN;

	if (bytes > RING_MAX)
		return errmsg_set(err, -EINVAL, "feed of %zu bytes is too large", bytes);
	while (size < bytes)
		size *= 2;
	f = calloc(1, sizeof(*f));
	if (!f)
		return errmsg_set(err, -ENOMEM, "feed: out of memory");
	f->wake_fd = -1;
	f->size = size;
	f->chunk = size / CHUNKS_MAX > CHUNK_MIN ? size / CHUNKS_MAX : CHUNK_MIN;
	if (f->chunk > size / 2)
		f->chunk = size / 2;
	f->nchunks = (unsigned int)(size / f->chunk);
	f->ring = map_untouched(size);
	f->keys = map_untouched(KEYS_BYTES);
	if (!f->ring || !f->keys) {
		feed_destroy(f);
		return errmsg_set(err, -ENOMEM, "feed: out of memory");
	}
	/* clearing a huge page at once takes too long */
	(void)madvise(f->ring, size, MADV_NOHUGEPAGE);
	if (keep_warm(f) < 0) {
		/* kernels before 5.14: touch all pages now, not in the hook */
		memset(f->ring, 0, size);
		f->warm = f->nchunks;
	}
	f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->wake_fd < 0) {
		int rc = -errno;

		feed_destroy(f);
		return errmsg_errno(err, rc, "feed: eventfd");
	}
	*ret = f;
	return 0;
}

void feed_destroy(struct feed *f)
{
	if (!f)
		return;
	util_closep(&f->wake_fd);
	unmap(f->keys, KEYS_BYTES);
	unmap(f->ring, f->size);
	free(f);
}

static struct header *header_at(struct feed *f, uint64_t pos)
{
	uint64_t chunk = f->where[pos / f->chunk % f->nchunks];

	return (struct header *)(void *)(f->ring + chunk * f->chunk + pos % f->chunk);
}

void feed_wake(struct feed *f)
{
	static const uint64_t one = 1;

	/* EAGAIN: the counter is full, so the worker is woken anyway */
	if (write(f->wake_fd, &one, sizeof(one)) < 0)
		return;
}

/*
 * Whether this push crosses the middle of the ring. Then the burst is too fast for naps: wake the
 * worker.
 */
static bool is_half_full_now(const struct feed *f, uint64_t before, uint64_t after)
{
	return before <= f->size / 2 && after > f->size / 2;
}

/* Picks the chunk for the bytes from POS on, where a chunk begins. False: all chunks are in use. */
static bool take_chunk(struct feed *f, uint64_t pos, uint64_t tail)
{
	uint64_t end = pos / f->chunk;
	uint32_t used = 0;
	uint64_t i = tail / f->chunk;

	if (end - i >= f->nchunks)
		return false;
	for (; i < end; i++)
		used |= UINT32_C(1) << f->where[i % f->nchunks];
	f->where[end % f->nchunks] = (uint8_t)__builtin_ctz(~used);
	return true;
}

int feed_push(struct feed *f, const void *data, size_t len)
{
	uint64_t head = atomic_load_explicit(&f->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&f->tail, memory_order_acquire);
	uint64_t need = sizeof(struct header) + round_up(len);
	uint64_t used = head - tail;
	uint64_t in_chunk = head % f->chunk;
	uint64_t skip = 0;

	if (len > f->chunk - sizeof(struct header))
		return -EMSGSIZE;
	if (in_chunk && need > f->chunk - in_chunk)
		skip = f->chunk - in_chunk;
	if ((skip || !in_chunk) && !take_chunk(f, head + skip, tail))
		return -ENOSPC;
	if (skip)
		*header_at(f, head) = (struct header){ .len = (uint32_t)(skip - sizeof(struct header)),
						       .is_padding = 1 };
	head += skip;
	*header_at(f, head) = (struct header){ .len = (uint32_t)len };
	memcpy(header_at(f, head) + 1, data, len);
	/*
	 * seq_cst, as for `asleep`: either the worker sees the entry, or we see the worker asleep
	 */
	atomic_store(&f->head, head + need);
	if (atomic_load(&f->asleep) || is_half_full_now(f, used, head + need - tail))
		feed_wake(f);
	return 0;
}

bool feed_is_half_full(const struct feed *f)
{
	return atomic_load_explicit(&f->head, memory_order_relaxed) -
		       atomic_load_explicit(&f->tail, memory_order_relaxed) >=
	       f->size / 2;
}

int feed_push_key(struct feed *f, const struct job_key *key)
{
	uint64_t head = atomic_load_explicit(&f->key_head, memory_order_relaxed);

	if (head - atomic_load_explicit(&f->key_tail, memory_order_acquire) >= FEED_KEYS)
		return -ENOSPC;
	f->keys[head % FEED_KEYS] = *key;
	atomic_store(&f->key_head, head + 1); /* seq_cst, as in feed_push() */
	if (atomic_load(&f->asleep))
		feed_wake(f);
	return 0;
}

void feed_note_lost(struct feed *f, uint32_t id)
{
	uint64_t lost = atomic_load_explicit(&f->lost, memory_order_relaxed);
	uint64_t slot = lost - atomic_load_explicit(&f->lost_base, memory_order_relaxed);

	if (slot < FEED_LOST_IDS)
		atomic_store_explicit(&f->lost_id[slot], id, memory_order_relaxed);
	atomic_store_explicit(&f->lost, lost + 1, memory_order_release);
}

uint64_t feed_take_lost(struct feed *f, struct feed_lost *ret)
{
	uint64_t lost = atomic_load_explicit(&f->lost, memory_order_acquire);
	unsigned int i;

	*ret = (struct feed_lost){ .count = lost - f->lost_taken };
	for (i = 0; i < FEED_LOST_IDS && i < ret->count; i++)
		ret->id[ret->nids++] = atomic_load_explicit(&f->lost_id[i], memory_order_relaxed);
	f->lost_taken = lost;
	atomic_store_explicit(&f->lost_base, lost, memory_order_relaxed);
	return ret->count;
}

int feed_next(struct feed *f, const void **ret_data, size_t *ret_len)
{
	uint64_t head = atomic_load_explicit(&f->head, memory_order_acquire);
	const struct header *h;

	while (f->seen < head) {
		h = header_at(f, f->seen);
		f->before = f->seen;
		f->seen += sizeof(*h) + round_up(h->len);
		if (h->is_padding)
			continue;
		*ret_data = h + 1;
		*ret_len = h->len;
		return 1;
	}
	return 0;
}

void feed_rewind(struct feed *f)
{
	f->seen = atomic_load_explicit(&f->tail, memory_order_relaxed);
	f->before = f->seen;
}

void feed_unget(struct feed *f)
{
	f->seen = f->before;
}

void feed_release(struct feed *f)
{
	atomic_store_explicit(&f->tail, f->seen, memory_order_release);
	(void)keep_warm(f);
}

size_t feed_next_keys(struct feed *f, struct job_key *key, size_t n)
{
	uint64_t head = atomic_load_explicit(&f->key_head, memory_order_acquire);
	size_t i;

	for (i = 0; i < n && f->key_seen < head; i++)
		key[i] = f->keys[f->key_seen++ % FEED_KEYS];
	return i;
}

void feed_release_keys(struct feed *f)
{
	atomic_store_explicit(&f->key_tail, f->key_seen, memory_order_release);
}

void feed_rewind_keys(struct feed *f)
{
	f->key_seen = atomic_load_explicit(&f->key_tail, memory_order_relaxed);
}

static bool has_unseen(struct feed *f)
{
	return atomic_load(&f->head) != f->seen || atomic_load(&f->key_head) != f->key_seen;
}

static void wait_for_wake(struct feed *f, int timeout_ms)
{
	struct pollfd p = { .fd = f->wake_fd, .events = POLLIN };
	uint64_t drained;

	if (poll(&p, 1, timeout_ms) == 0)
		return;
	if (read(f->wake_fd, &drained, sizeof(drained)) < 0)
		return; /* EAGAIN: nobody wrote, so nobody woke us */
}

static bool is_lingering(struct feed *f)
{
	uint64_t now = clock_mono_ns();

	if (f->seen + f->key_seen != f->waited_at) {
		f->waited_at = f->seen + f->key_seen;
		f->linger_until_ns = now + LINGER_NS;
	}
	return now < f->linger_until_ns;
}

void feed_wait(struct feed *f, int timeout_ms)
{
	if (is_lingering(f)) {
		if (!has_unseen(f))
			wait_for_wake(f, (unsigned int)timeout_ms < NAP_MS ? timeout_ms : NAP_MS);
		return;
	}
	atomic_store(&f->asleep, true);
	wait_for_wake(f, has_unseen(f) ? 0 : timeout_ms);
	atomic_store(&f->asleep, false);
}

void feed_pause(struct feed *f, int timeout_ms)
{
	wait_for_wake(f, timeout_ms);
}
