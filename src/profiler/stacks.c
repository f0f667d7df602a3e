/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/stacks.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "src/profiler/stacks_event.h"
#include "src/profiler/stacks_filter.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

/* Bytes of a CPU's ring, a power of 2: enough for 0.3 s of the largest samples, within these bounds. */
#define RING_MIN (128 * 1024u)
#define RING_MAX (4096 * 1024u)
/*
 * The most bytes of all rings of a step together, since the kernel charges them to no cgroup. With many CPUs
 * each ring is smaller, but has room for the longest record.
 */
#define RINGS_BYTES (64 * 1024 * 1024u)
#define CHAIN_BYTES 1024u /* size of a deep stack's addresses */
/*
 * Room for notes of foreign samples (stacks_filter.h) that are in the rings at once: in all, and
 * more per CPU.
 */
#define NOTES_MIN 4096u
#define NOTES_OF_CPU 256u
/* The longest record, as its size has 16 bits. */
#define RECORD_MAX 65536u
/* 50 us: a record appears in its ring some instructions after its time was taken. */
#define SETTLE_NS (50 * NSEC_PER_MSEC / 1000)

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID /* Linux 5.12 */
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif
struct ring {
	int fd;
	uint32_t cpu;
	struct perf_event_mmap_page *page;
	uint64_t tail, head;
	uint64_t next_ns; /* time of the record at TAIL; UINT64_MAX: there is none */
	/* time of the record before the one at TAIL, without STACKS_LOST; 0: there was none */
	uint64_t before_ns;
	uint64_t note; /* of the last foreign sample (stacks_filter_is_foreign()); 0: none yet */
};

struct stacks {
	size_t nrings;
	size_t page_size, ring_size;
	size_t nregs;
	enum stacks_event event;
	struct errmsg why_event; /* why EVENT is not the wanted one */
	struct profile_samples filter;
	struct errmsg why_no_copies; /* why stacks are not copied, though that was asked for */
	bool has_foreign;	     /* the filter has notes; set once per stacks_drain() */
	uint64_t head_ns;	     /* time when the heads of the rings were read */
	struct ring *ring;
	struct pollfd *poll; /* one per ring, then one for the caller's fd */
	union {
		struct perf_event_header header;
		char bytes[RECORD_MAX];
	} record;
};

/* --- the kernel's side -------------------------------------------------------------------- */

size_t stacks_ring_size(const struct stacks_setup *setup)
{
	const uint64_t least = (uint64_t)setup->hz * (setup->dump_size + CHAIN_BYTES) * 3 / 10;
	size_t size = RING_MIN;

	while (size < least && size < RING_MAX)
		size *= 2;
	while (size > RECORD_MAX && size * setup->ncpus > RINGS_BYTES)
		size /= 2;
	return size;
}

static int open_ring(struct stacks *s, const struct stacks_setup *setup, uint32_t cpu)
{
	struct ring *r = &s->ring[s->nrings];
	_cleanup_close_ int fd = -1;
	int rc = stacks_event_open(setup, cpu, s->ring_size, &fd);
	void *at;

	if (rc < 0)
		return rc == -ENODEV ? 0 : rc; /* the CPU is offline, so no task of the step runs there */
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, s->filter.program) < 0)
		return -errno;
	at = mmap(NULL, s->page_size + s->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	r->page = at;
	r->cpu = cpu;
	r->fd = TAKE_FD(fd);
	s->poll[s->nrings++] = (struct pollfd){ .fd = r->fd, .events = POLLIN };
	return 0;
}

static void close_rings(struct stacks *s)
{
	size_t i;

	for (i = 0; i < s->nrings; i++) {
		(void)munmap(s->ring[i].page, s->page_size + s->ring_size);
		(void)close(s->ring[i].fd);
	}
	s->nrings = 0;
}

static int open_rings(struct stacks *s, const struct stacks_setup *setup)
{
	size_t i;
	int rc = 0;

	s->ring_size = stacks_ring_size(setup);
	s->nregs = setup->dump_size ? (size_t)__builtin_popcountll(setup->user_registers) : 0;
	for (i = 0; i < setup->ncpus && rc == 0; i++)
		rc = open_ring(s, setup, setup->cpu[i]);
	if (rc == 0 && !s->nrings)
		rc = -ENODEV;
	if (rc < 0)
		close_rings(s);
	return rc;
}

/*
 * Opens the rings without what the kernel refuses: first copies of stacks, then another event than the clock.
 */
static int open_best_rings(struct stacks *s, struct stacks_setup *used, struct errmsg *err)
{
	const uint32_t dump_size = used->dump_size;
	int rc = open_rings(s, used);

	if ((rc == -EINVAL || rc == -EOPNOTSUPP) && used->dump_size) {
		used->dump_size = 0;
		rc = open_rings(s, used);
	}
	s->event = used->event;
	if (rc == 0 || used->event == STACKS_CLOCK)
		return rc < 0 ? stacks_event_refuse(used->event, rc, err) : 0;
	(void)stacks_event_refuse(used->event, rc, &s->why_event);
	used->event = STACKS_CLOCK;
	used->dump_size = dump_size;
	return open_best_rings(s, used, err);
}

/*
 * Loads the filter that notes foreign samples. If the kernel refuses it, loads the plain one and
 * turns off copies of stacks, which might be another user's.
 */
static int open_filter(struct stacks *s, const struct stacks_setup *setup, struct stacks_setup *used,
		       struct errmsg *err)
{
	if (setup->dump_size) {
		if (profile_samples_open_noting(setup->cgroup_fd, setup->uid,
						(unsigned int)(NOTES_MIN + setup->ncpus * NOTES_OF_CPU),
						&s->filter, &s->why_no_copies) == 0)
			return 0;
		used->dump_size = 0;
	}
	return profile_samples_open(setup->cgroup_fd, &s->filter, err);
}

int stacks_open(const struct stacks_setup *setup, struct stacks **ret, struct errmsg *err)
{
	struct stacks *s = setup->cgroup_fd < 0 ? NULL : calloc(1, sizeof(*s));
	struct stacks_setup used = *setup;
	size_t i;
	int rc;

	if (!s)
		return errmsg_errno(err, setup->cgroup_fd < 0 ? -EBADF : -ENOMEM, "stacks");
	s->page_size = (size_t)sysconf(_SC_PAGESIZE);
	s->ring = calloc(setup->ncpus + 1, sizeof(*s->ring));
	s->poll = calloc(setup->ncpus + 1, sizeof(*s->poll));
	if (!s->ring || !s->poll) {
		rc = errmsg_errno(err, -ENOMEM, "stacks");
		goto fail;
	}
	rc = open_filter(s, setup, &used, err);
	if (rc < 0)
		goto fail;
	rc = open_best_rings(s, &used, err);
	if (rc < 0)
		goto fail;
	for (i = 0; i < s->nrings; i++)
		(void)ioctl(s->ring[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	*ret = s;
	return 0;
fail:
	stacks_close(s);
	return rc;
}

enum stacks_event stacks_event(const struct stacks *s, struct errmsg *ret_why)
{
	if (ret_why && *s->why_event.text)
		*ret_why = s->why_event;
	return s->event;
}

const char *stacks_why_no_copies(const struct stacks *s)
{
	return s->why_no_copies.text;
}

double stacks_counted(const struct stacks *s)
{
	struct {
		uint64_t count, enabled_ns, running_ns;
	} t;
	uint64_t enabled_ns = 0, running_ns = 0;
	size_t i;

	for (i = 0; i < s->nrings; i++)
		if (read(s->ring[i].fd, &t, sizeof(t)) == sizeof(t)) {
			enabled_ns += t.enabled_ns;
			running_ns += t.running_ns;
		}
	return enabled_ns ? (double)running_ns / (double)enabled_ns : 1;
}

void stacks_close(struct stacks *s)
{
	if (!s)
		return;
	close_rings(s);
	profile_samples_close(&s->filter);
	free(s->ring);
	free(s->poll);
	free(s);
}

/* --- a record ----------------------------------------------------------------------------- */

struct sample_id { /* ends every record that is no sample (attr.sample_id_all) */
	uint32_t pid, tid;
	uint64_t mono_ns;
};

struct sample_body { /* N addresses follow */
	uint32_t pid, tid;
	uint64_t mono_ns;
	uint64_t period;
	uint64_t n;
};

struct mmap2_body {
	uint32_t pid, tid;
	uint64_t start, size, offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		} file;
		struct {
			uint8_t size, reserved[3];
			uint8_t bytes[STACKS_BUILD_ID_MAX];
		} build_id;
	} id;
	uint32_t prot, flags;
	char path[];
};

struct comm_body {
	uint32_t pid, tid;
	char name[];
};

struct task_body {
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t mono_ns;
};

struct lost_body {
	uint64_t id, lost;
};

/*
 * Splits the call chain IP[n] into kernel and user addresses. A marker (PERF_CONTEXT_...) precedes
 * each part.
 */
static void split_chain(const uint64_t *ip, uint64_t n, struct stacks_record *r)
{
	const uint64_t **part = NULL;
	size_t *count = NULL;
	uint64_t i;

	for (i = 0; i < n; i++) {
		if (ip[i] >= (uint64_t)PERF_CONTEXT_MAX) {
			part = ip[i] == (uint64_t)PERF_CONTEXT_USER   ? &r->user :
			       ip[i] == (uint64_t)PERF_CONTEXT_KERNEL ? &r->kernel :
									NULL;
			count = part == &r->user ? &r->nuser : &r->nkernel;
			if (part)
				*part = ip + i + 1;
		} else if (part) {
			++*count;
		}
	}
}

/* Default of sysctl kernel.perf_event_max_stack, which hardly any site changes. */
#define KERNEL_DEPTH_MAX 127

/*
 * Reads registers and the stack copy from the N words at AT. Ignores both in 32-bit programs.
 * False: malformed.
 */
static bool parse_dump(const uint64_t *at, size_t n, size_t nregs, struct stacks_record *r)
{
	const size_t regs = n && at[0] != PERF_SAMPLE_REGS_ABI_NONE ? nregs : 0; /* also of 32-bit programs */
	size_t words;

	if (!n)
		return true; /* the event does not ask for a copy */
	if (n < 1 + regs + 1 || at[1 + regs] / sizeof(*at) > n - (2 + regs))
		return false;
	words = at[1 + regs] / sizeof(*at);
	if (!words || at[0] != PERF_SAMPLE_REGS_ABI_64)
		return true;
	if (n < 2 + regs + words + 1 || at[2 + regs + words] > words * sizeof(*at))
		return false;
	r->reg = at + 1;
	r->nregs = regs;
	r->dump = (const uint8_t *)(at + 2 + regs);
	r->dump_size = at[2 + regs + words];
	r->is_dump_short = r->dump_size == words * sizeof(*at);
	return true;
}

static bool parse_sample(const void *body, size_t size, size_t nregs, struct stacks_record *r)
{
	const struct sample_body *b = body;
	const uint64_t *chain = (const uint64_t *)(b + 1);

	if (size < sizeof(*b) || b->n > (size - sizeof(*b)) / sizeof(uint64_t))
		return false;
	r->kind = STACKS_SAMPLE;
	r->pid = b->pid;
	r->tid = b->tid;
	r->mono_ns = b->mono_ns;
	r->period = b->period;
	split_chain(chain, b->n, r);
	r->is_cut = r->nuser + r->nkernel >= KERNEL_DEPTH_MAX;
	return parse_dump(chain + b->n, (size - sizeof(*b)) / sizeof(*chain) - b->n, nregs, r);
}

/* Returns whether TEXT[size] contains a NUL, so that it can be used as a string. */
static bool is_text(const char *text, size_t size)
{
	return size > 0 && memchr(text, '\0', size);
}

static bool parse_mapping(const struct perf_event_header *h, const void *body, size_t size,
			  struct stacks_record *r)
{
	const struct mmap2_body *b = body;

	if (size < sizeof(*b) || !is_text(b->path, size - sizeof(*b)))
		return false;
	r->kind = STACKS_MAPPING;
	r->pid = b->pid;
	r->tid = b->tid;
	r->start = b->start;
	r->size = b->size;
	r->offset = b->offset;
	r->text = b->path;
	if (h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID && b->id.build_id.size <= STACKS_BUILD_ID_MAX) {
		r->build_id = b->id.build_id.bytes;
		r->build_id_size = b->id.build_id.size;
	}
	return true;
}

static bool parse_name(const struct perf_event_header *h, const void *body, size_t size,
		       struct stacks_record *r)
{
	const struct comm_body *b = body;

	if (size < sizeof(*b) || !is_text(b->name, size - sizeof(*b)))
		return false;
	r->kind = h->misc & PERF_RECORD_MISC_COMM_EXEC ? STACKS_EXEC : STACKS_NAME;
	r->pid = b->pid;
	r->tid = b->tid;
	r->text = b->name;
	return true;
}

static bool parse_task(const struct perf_event_header *h, const void *body, size_t size,
		       struct stacks_record *r)
{
	const struct task_body *b = body;

	if (size < sizeof(*b))
		return false;
	r->kind = h->type == PERF_RECORD_FORK ? STACKS_FORK : STACKS_EXIT;
	r->pid = b->pid;
	r->tid = b->tid;
	r->parent_pid = b->parent_pid;
	r->parent_tid = b->parent_tid;
	return true;
}

bool stacks_parse(const struct perf_event_header *h, size_t nregs, struct stacks_record *ret)
{
	const char *body = (const char *)(h + 1);
	size_t size = h->size < sizeof(*h) ? 0 : h->size - sizeof(*h);
	const struct lost_body *lost = (const void *)body;
	struct sample_id id;

	memset(ret, 0, sizeof(*ret));
	if (h->type == PERF_RECORD_SAMPLE)
		return parse_sample(body, size, nregs, ret);
	if (size < sizeof(id))
		return false;
	size -= sizeof(id);
	memcpy(&id, body + size, sizeof(id));
	ret->mono_ns = id.mono_ns;
	switch (h->type) {
	case PERF_RECORD_MMAP2:
		return parse_mapping(h, body, size, ret);
	case PERF_RECORD_COMM:
		return parse_name(h, body, size, ret);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return parse_task(h, body, size, ret);
	case PERF_RECORD_LOST:
		ret->kind = STACKS_LOST;
		ret->lost = size >= sizeof(*lost) ? lost->lost : 0;
		return ret->lost > 0;
	default:
		return false;
	}
}

/* --- the rings ---------------------------------------------------------------------------- */

static char *ring_data(const struct stacks *s, const struct ring *r)
{
	return (char *)r->page + s->page_size;
}

static void ring_copy(const struct stacks *s, const struct ring *r, uint64_t from, void *to, size_t n)
{
	const size_t at = from % s->ring_size;
	const size_t first = n < s->ring_size - at ? n : s->ring_size - at;

	memcpy(to, ring_data(s, r) + at, first);
	memcpy((char *)to + first, ring_data(s, r), n - first);
}

/*
 * Sets next_ns to the time of the record at the tail. If that record is malformed, drops all that
 * is in the ring.
 */
static void ring_peek(const struct stacks *s, struct ring *r)
{
	struct perf_event_header h;
	uint64_t at;

	r->next_ns = UINT64_MAX;
	if (r->head - r->tail < sizeof(h))
		return;
	ring_copy(s, r, r->tail, &h, sizeof(h));
	if (h.size < sizeof(h) + sizeof(uint64_t) || h.size > r->head - r->tail) {
		r->tail = r->head;
		return;
	}
	at = h.type == PERF_RECORD_SAMPLE ? sizeof(h) + offsetof(struct sample_body, mono_ns) :
					    h.size - sizeof(at);
	ring_copy(s, r, r->tail + at, &r->next_ns, sizeof(r->next_ns));
}

/* Returns the ring whose next record is the oldest. */
static struct ring *earliest(struct stacks *s)
{
	struct ring *best = &s->ring[0];
	size_t i;

	for (i = 1; i < s->nrings; i++)
		if (s->ring[i].next_ns < best->next_ns)
			best = &s->ring[i];
	return best;
}

static void take_record(struct stacks *s, struct ring *r, stacks_fn *fn, void *ctx)
{
	struct stacks_neighbours at = { .before_ns = r->before_ns, .mono_ns = r->next_ns };
	struct stacks_record record;

	ring_copy(s, r, r->tail, &s->record, sizeof(s->record.header));
	ring_copy(s, r, r->tail, &s->record, s->record.header.size);
	r->tail += s->record.header.size;
	ring_peek(s, r);
	if (stacks_parse(&s->record.header, s->nregs, &record)) {
		/* a record that a sample interrupted is behind it, with an earlier time */
		at.after_ns = r->next_ns < UINT64_MAX && r->next_ns > at.mono_ns ? r->next_ns : s->head_ns;
		if (record.nregs && s->has_foreign &&
		    stacks_filter_is_foreign(&s->filter, r->cpu, &at, &r->note))
			record.nregs = record.dump_size = 0;
		fn(ctx, &record);
	}
	/* The kernel puts PERF_RECORD_LOST before a sample that was already noted, but with a later time. */
	if (s->record.header.type != PERF_RECORD_LOST)
		r->before_ns = at.mono_ns;
}

/*
 * Records made after UNTIL_NS stay for the next call. Otherwise a record could be passed on
 * before an older one of another CPU that is not in its ring yet.
 */
void stacks_drain(struct stacks *s, stacks_fn *fn, void *ctx)
{
	const uint64_t until_ns = clock_mono_ns() - SETTLE_NS;
	struct ring *r;
	size_t i;

	for (i = 0; i < s->nrings; i++) {
		r = &s->ring[i];
		r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
		ring_peek(s, r);
	}
	s->head_ns = clock_mono_ns();
	s->has_foreign = stacks_filter_has_foreign(&s->filter);
	while ((r = earliest(s))->next_ns <= until_ns)
		take_record(s, r, fn, ctx);
	for (i = 0; i < s->nrings; i++)
		__atomic_store_n(&s->ring[i].page->data_tail, s->ring[i].tail, __ATOMIC_RELEASE);
}

bool stacks_wait(struct stacks *s, int fd, int timeout_ms)
{
	s->poll[s->nrings] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return poll(s->poll, s->nrings + 1, timeout_ms) > 0 && s->poll[s->nrings].revents;
}
