/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/profile_tasks.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/fileio.h"
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

struct thread {
	uint32_t tid; /* 0: this entry is free */
	uint32_t pid;
	int64_t rank;
	bool has_ended; /* a new thread may have this tid by now */
	char name[WIRE_NAME_MAX];
};

/*
 * A hash table of threads with open addressing. Deleting moves later entries up, so there are no
 * gaps.
 */
struct profile_tasks {
	struct thread *thread;
	uint32_t size, n; /* SIZE is a power of 2 */
	uint32_t ended[ENDED_MAX]; /* ring of the last threads that ended; tid 0: unused */
	uint32_t next_ended;
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

/* Reads the name of TH from /proc, as it may have been set before the first record. */
static void read_name(struct thread *th)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", th->pid, th->tid);
	if (fileio_read_line("", path, th->name, sizeof(th->name)) < 0)
		th->name[0] = '\0';
}

static void set_name(struct thread *th, const char *name)
{
	(void)snprintf(th->name, sizeof(th->name), "%s", name);
}

int profile_tasks_add(struct profile_tasks *t, uint32_t pid, int64_t rank)
{
	struct thread *th = thread_put(t, pid);

	if (!th)
		return -ENOMEM;
	th->pid = pid;
	th->rank = rank;
	read_name(th);
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
static struct thread *thread_adopt(struct profile_tasks *t, uint32_t pid, uint32_t tid)
{
	int64_t rank = find_rank(t, pid);
	struct thread *th = thread_put(t, tid);

	if (!th)
		return NULL;
	th->pid = pid;
	th->rank = rank;
	read_name(th);
	return th;
}

static bool look_at_fork(struct profile_tasks *t, const struct stacks_record *r)
{
	const struct thread *parent = thread_find(t, r->parent_tid);
	struct thread copy, *th;

	if (!parent->tid || parent->pid != r->parent_pid || parent->has_ended) {
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
	struct thread *th = thread_find(t, r->tid);
	bool is_known = th->tid && th->pid == r->pid && !th->has_ended;

	m->rank = WIRE_RANK_NONE;
	switch (r->kind) {
	case STACKS_LOST:
		return true;
	case STACKS_FORK:
		return look_at_fork(t, r);
	case STACKS_EXIT:
		if (is_known)
			thread_end(t, th);
		return is_known;
	case STACKS_SAMPLE:
	case STACKS_WAIT:
		if (!th->tid || th->pid != r->pid)
			th = thread_adopt(t, r->pid, r->tid);
		if (th)
			thread_fill(t, th, m);
		return true;
	case STACKS_NAME:
	case STACKS_EXEC:
		if (is_known)
			set_name(th, r->text);
		return is_known;
	case STACKS_MAPPING:
		return is_known;
	}
	return false;
}
