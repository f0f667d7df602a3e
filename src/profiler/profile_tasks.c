/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/profile_tasks.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/procstat.h"
#include "src/libutil/util.h"

#define SIZE_MIN 256u /* entries of a new hash table */
/*
 * Ended threads that are kept, because the kernel samples a thread for a while after the record of
 * its end.
 */
#define ENDED_MAX 1024u
/* The most generations between a process that began before us and its task. */
#define ANCESTORS_MAX 16
/* The most threads that are read again in one second after losses: some 10 ms of CPU time. */
#define CHECKS_MAX 1000u

struct thread {
	uint32_t tid; /* 0: this entry is free */
	uint32_t pid;
	int64_t rank;
	bool has_ended;	   /* a new thread may have this tid by now */
	uint64_t known_ns; /* the thread existed then, with this name */
	uint64_t tried_ns; /* time of the last loss after which it was read, or was gone already */
	char name[WIRE_NAME_MAX];
};

/*
 * A hash table of threads with open addressing. Deleting moves later entries up, so there are no
 * gaps.
 */
struct profile_tasks {
	struct thread *thread;
	uint32_t size, n;	   /* SIZE is a power of 2 */
	uint32_t ended[ENDED_MAX]; /* ring of the last threads that ended; tid 0: unused */
	uint32_t next_ended;
	uint64_t lost_ns; /* records before then may be missing */
	uint64_t second;  /* of the clock, in which NCHECKS threads were read again */
	uint32_t nchecks;
};

static uint32_t place_of(const struct profile_tasks *t, uint32_t tid)
{
	return (tid * UINT32_C(2654435769)) & (t->size - 1);
}

/* Returns the entry of TID, or the free entry for it, whose tid is 0. */
static struct thread *thread_find(const struct profile_tasks *t, uint32_t tid)
{
	uint32_t i = place_of(t, tid);

	while (t->thread[i].tid && t->thread[i].tid != tid)
		i = (i + 1) & (t->size - 1);
	return &t->thread[i];
}

static int tasks_grow(struct profile_tasks *t)
{
	struct profile_tasks bigger = { .size = t->size ? t->size * 2 : SIZE_MIN };
	uint32_t i;

	bigger.thread = calloc(bigger.size, sizeof(*bigger.thread));
	if (!bigger.thread)
		return -ENOMEM;
	for (i = 0; i < t->size; i++)
		if (t->thread[i].tid)
			*thread_find(&bigger, t->thread[i].tid) = t->thread[i];
	free(t->thread);
	t->thread = bigger.thread;
	t->size = bigger.size;
	return 0;
}

/* Returns the entry of TID, which is added if it does not exist. NULL: out of memory. */
static struct thread *thread_put(struct profile_tasks *t, uint32_t tid)
{
	struct thread *th;

	if (t->n >= t->size / 2 && tasks_grow(t) < 0)
		return NULL;
	th = thread_find(t, tid);
	t->n += !th->tid;
	th->tid = tid;
	th->has_ended = false;
	return th;
}

static void thread_drop(struct profile_tasks *t, uint32_t tid)
{
	struct thread *th = thread_find(t, tid), moved;
	uint32_t i;

	if (!th->tid)
		return;
	memset(th, 0, sizeof(*th));
	t->n--;
	i = (uint32_t)(th - t->thread);
	while (t->thread[i = (i + 1) & (t->size - 1)].tid) {
		moved = t->thread[i];
		memset(&t->thread[i], 0, sizeof(t->thread[i]));
		*thread_find(t, moved.tid) = moved;
	}
}

static void thread_end(struct profile_tasks *t, const struct thread *th)
{
	const uint32_t tid = th->tid, oldest = t->ended[t->next_ended];

	if (oldest && thread_find(t, oldest)->has_ended)
		thread_drop(t, oldest); /* this may move the entry of TID, so TH is invalid now */
	thread_find(t, tid)->has_ended = true;
	t->ended[t->next_ended] = tid;
	t->next_ended = (t->next_ended + 1) % ENDED_MAX;
}

int profile_tasks_create(struct profile_tasks **ret)
{
	struct profile_tasks *t = calloc(1, sizeof(*t));

	if (!t || tasks_grow(t) < 0) {
		free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

void profile_tasks_destroy(struct profile_tasks *t)
{
	if (!t)
		return;
	free(t->thread);
	free(t);
}

/*
 * Returns when the thread of ST started, on the clock of records: a tick or so too early, but never too late.
 */
static uint64_t start_ns(const struct procstat *st)
{
	const uint64_t tick_ns = NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK), mono_ns = clock_mono_ns();
	const uint64_t since_boot_ns = st->start_ticks * tick_ns,
		       suspended_ns = clock_ns(CLOCK_BOOTTIME) - mono_ns;

	return since_boot_ns > suspended_ns ? since_boot_ns - suspended_ns : 0;
}

/*
 * Reads /proc of thread TID of process PID. -ESRCH: that is a later thread with the same ids,
 * which started after AT_NS.
 */
static int read_thread(uint32_t pid, uint32_t tid, uint64_t at_ns, struct procstat *ret)
{
	int rc = procstat_read_thread((pid_t)pid, (pid_t)tid, ret);

	return rc < 0 ? rc : start_ns(ret) > at_ns ? -ESRCH : 0;
}

static void set_name(struct thread *th, const char *name)
{
	(void)snprintf(th->name, sizeof(th->name), "%s", name);
}

/*
 * Sets the name of TH, which existed at AT_NS, from /proc: the kernel sends a record
 * only when a name changes.
 */
static void begin_thread(struct thread *th, uint64_t at_ns)
{
	const uint64_t now_ns = clock_mono_ns();
	struct procstat st;
	bool is_there = read_thread(th->pid, th->tid, at_ns, &st) == 0;

	th->known_ns = is_there ? now_ns : at_ns;
	set_name(th, is_there ? st.name : "");
}

int profile_tasks_add(struct profile_tasks *t, uint32_t pid, int64_t rank)
{
	struct thread *th = thread_put(t, pid);

	if (!th)
		return -ENOMEM;
	th->pid = pid;
	th->rank = rank;
	begin_thread(th, clock_mono_ns());
	return 0;
}

/* Returns the rank of the next known process among PID and its living ancestors; or WIRE_RANK_NONE. */
static int64_t find_rank(const struct profile_tasks *t, uint32_t pid)
{
	const struct thread *th;
	struct procstat st;
	unsigned int i;

	for (i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		th = thread_find(t, pid);
		if (th->tid)
			return th->rank;
		if (procstat_read((pid_t)pid, &st) < 0 || st.ppid < 0)
			break;
		pid = (uint32_t)st.ppid;
	}
	return WIRE_RANK_NONE;
}

/*
 * Adds a thread whose fork we did not see: it was before sampling began, or on a CPU outside the
 * step. NULL: out of memory.
 */
static struct thread *thread_adopt(struct profile_tasks *t, const struct stacks_record *r)
{
	int64_t rank = find_rank(t, r->pid);
	struct thread *th = thread_put(t, r->tid);

	if (!th)
		return NULL;
	th->pid = r->pid;
	th->rank = rank;
	begin_thread(th, r->mono_ns);
	return th;
}

/* Returns whether a thread may be read again now. */
static bool has_time_to_check(struct profile_tasks *t, uint64_t now_ns)
{
	if (now_ns / NSEC_PER_SEC != t->second) {
		t->second = now_ns / NSEC_PER_SEC;
		t->nchecks = 0;
	}
	return t->nchecks++ < CHECKS_MAX;
}

/*
 * Returns the thread TID of PID, or NULL. If records were lost since it was checked, reads its name
 * again, as a new name or exec may have been lost. If its end was lost and a thread that came later
 * has its numbers at AT_NS, it is dropped. If it is gone, it keeps its name.
 */
static struct thread *thread_check(struct profile_tasks *t, uint32_t pid, uint32_t tid, uint64_t at_ns)
{
	struct thread *th = thread_find(t, tid);
	struct procstat st;
	uint64_t now_ns;

	if (!th->tid || th->pid != pid)
		return NULL;
	if (th->known_ns >= t->lost_ns || th->tried_ns >= t->lost_ns)
		return th;
	now_ns = clock_mono_ns();
	if (!has_time_to_check(t, now_ns))
		return th;
	if (read_thread(pid, tid, at_ns, &st) == 0) {
		if (start_ns(&st) > th->known_ns) {
			thread_drop(t, tid);
			return NULL;
		}
		set_name(th, st.name);
		th->known_ns = now_ns;
	}
	th->tried_ns = t->lost_ns;
	return th;
}

static bool look_at_fork(struct profile_tasks *t, const struct stacks_record *r)
{
	const struct thread *parent = thread_check(t, r->parent_pid, r->parent_tid, r->mono_ns);
	struct thread copy, *th;

	if (!parent || parent->has_ended) {
		thread_drop(t, r->tid); /* a process outside the step got the tid of an ended thread */
		return false;
	}
	copy = *parent;
	th = thread_put(t, r->tid);
	if (!th)
		return false;
	copy.tid = r->tid;
	copy.pid = r->pid;
	copy.has_ended = false;
	copy.known_ns = r->mono_ns;
	*th = copy;
	return true;
}

/* Sets rank and names of M to those of TH. */
static void thread_fill(const struct profile_tasks *t, const struct thread *th, struct wire_message *m)
{
	const struct thread *leader = thread_find(t, th->pid);

	m->rank = th->rank;
	memcpy(m->thread, th->name, sizeof(m->thread));
	memcpy(m->process, leader->tid ? leader->name : th->name, sizeof(m->process));
}

bool profile_tasks_look(struct profile_tasks *t, struct wire_message *m)
{
	const struct stacks_record *r = &m->record;
	struct thread *th;

	m->rank = WIRE_RANK_NONE;
	switch (r->kind) {
	case STACKS_LOST:
		t->lost_ns = r->mono_ns > t->lost_ns ? r->mono_ns : t->lost_ns;
		return true;
	case STACKS_FORK:
		return look_at_fork(t, r);
	case STACKS_EXIT:
		th = thread_find(t, r->tid);
		if (!th->tid || th->pid != r->pid || th->has_ended)
			return false;
		thread_end(t, th);
		return true;
	case STACKS_SAMPLE:
	case STACKS_WAIT:
		/* the process has the name of its first thread */
		(void)thread_check(t, r->pid, r->pid, r->mono_ns);
		th = thread_check(t, r->pid, r->tid, r->mono_ns);
		if (!th)
			th = thread_adopt(t, r);
		if (th)
			thread_fill(t, th, m);
		return true;
	case STACKS_NAME:
	case STACKS_EXEC:
	case STACKS_MAPPING:
		th = thread_check(t, r->pid, r->tid, r->mono_ns);
		if (!th || th->has_ended)
			return false;
		if (r->kind != STACKS_MAPPING) {
			set_name(th, r->text);
			th->known_ns = r->mono_ns;
		}
		return true;
	}
	return false;
}
