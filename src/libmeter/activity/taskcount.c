/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/taskcount.h"

#include <errno.h>
#include <string.h>

#include "src/libmeter/activity/bpfsys.h"
#include "src/libutil/util.h"

/*
 * The most tries. A task that ends after the row was read and before the tasks are listed is in
 * neither; then both are read again.
 */
#define READS_MAX 3
#define LIST_CHUNK 64

struct taskcount {
	uint32_t slot;
	uint32_t features;
	struct probes *probes;
	int rows; /* descriptor of a map, borrowed from PROBES */
	/* the values that the last taskcount_read() set */
	uint64_t put[METRIC_N];
	bool has_put[METRIC_N];
};

int taskcount_open(struct probes *p, uint32_t slot, struct taskcount **ret)
{
	struct taskcount *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return -ENOMEM;
	h->slot = slot;
	h->probes = p;
	h->features = probes_features(p);
	rc = probes_map(p, "task_rows", &h->rows);
	if (rc < 0) {
		taskcount_close(h);
		return rc;
	}
	*ret = h;
	return 0;
}

void taskcount_close(struct taskcount *h)
{
	free(h);
}

/* --- adding up ---------------------------------------------------------------------------- */

/* Adds each living task to SUM[i], where i is the index of its step by its slot. */
static int add_living(struct probes *p, const struct probes_index *index, struct probes_task_counters *sum)
{
	struct probes_living one[LIST_CHUNK];
	_cleanup_close_ int fd = -1;
	size_t i, place, used = 0;
	ssize_t n;
	int living;
	int rc = probes_program(p, "living", &living); /* opened only now, since most steps have no task left
							  when they are read */

	if (rc == 0)
		rc = bpfsys_iterate(living, /* map_fd= */ -1, &fd);
	if (rc < 0)
		return rc;
	/* -EAGAIN: the kernel looked at a million tasks in one call and found none of ours */
	while ((n = read(fd, (char *)one + used, sizeof(one) - used)) != 0) {
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		used += n > 0 ? (size_t)n : 0;
		for (i = 0; i < used / sizeof(*one); i++) {
			place = probes_index_find(index, one[i].slot);
			if (place)
				probes_add(&sum[place - 1], &one[i].c, sizeof(*sum));
		}
		used %= sizeof(*one);
		memmove(one, &one[i], used); /* keep the beginning of an element that the read cut in two */
	}
	return used ? -EIO : 0;
}

/*
 * Reads the row first and then the list: in the other order, a task that exits in between would
 * count twice. In this order it is missed, but the row has grown, and both are read again.
 */
static int read_counters(const struct taskcount *h, bool is_empty, struct probes_task_counters *ret)
{
	const struct probes_step step = { .slot = h->slot };
	struct probes_task_row row, after;
	struct probes_index index;
	int attempt;
	int rc;

	probes_index_make(&index, &step, 1);
	rc = bpfsys_lookup(h->rows, &h->slot, &row);
	for (attempt = 0; rc == 0; attempt++) {
		*ret = row.ended;
		if (is_empty)
			return 0;
		rc = add_living(h->probes, &index, ret);
		if (rc == 0)
			rc = bpfsys_lookup(h->rows, &h->slot, &after);
		if (rc < 0 || attempt == READS_MAX - 1 || after.ended.tasks == row.ended.tasks)
			return rc;
		row = after;
	}
	return rc;
}

/* --- metric values ------------------------------------------------------------------------------ */

static void taskcount_put(struct taskcount *h, struct values *f, enum metric m, uint64_t value)
{
	if (values_has(f, m) && !(h->has_put[m] && h->put[m] == f->value[m]))
		return;
	values_set(f, m, value);
	h->put[m] = value;
	h->has_put[m] = true;
}

/*
 * Returns the time in which tasks neither ran nor waited for a CPU. If clocks differ so that it
 * would be negative, it is 0.
 */
static uint64_t off_cpu(const struct probes_task_counters *c)
{
	uint64_t on = c->run_ns + c->delay_ns;

	return c->life_ns > on ? c->life_ns - on : 0;
}

static void put_counters(struct taskcount *h, const struct probes_task_counters *c, struct values *f)
{
	if (h->features & PROBES_HAS_CHARS) {
		taskcount_put(h, f, METRIC_IO_READ_BYTES, c->rchar);
		taskcount_put(h, f, METRIC_IO_WRITE_BYTES, c->wchar);
		taskcount_put(h, f, METRIC_IO_READ_CALLS, c->syscr);
		taskcount_put(h, f, METRIC_IO_WRITE_CALLS, c->syscw);
	}
	if (h->features & PROBES_HAS_STORAGE) {
		taskcount_put(h, f, METRIC_STORAGE_READ_BYTES, c->read_bytes);
		taskcount_put(h, f, METRIC_STORAGE_WRITE_BYTES, c->write_bytes);
	}
	if (h->features & PROBES_HAS_RUN_DELAY) {
		taskcount_put(h, f, METRIC_RUN_DELAY, c->delay_ns);
		taskcount_put(h, f, METRIC_OFF_CPU, off_cpu(c));
	}
	taskcount_put(h, f, METRIC_CPU_TIME, c->run_ns);
	taskcount_put(h, f, METRIC_CONTEXT_SWITCHES, c->voluntary + c->involuntary);
	taskcount_put(h, f, METRIC_PAGE_FAULTS, c->minor_faults + c->major_faults);
	taskcount_put(h, f, METRIC_MAJOR_FAULTS, c->major_faults);
	taskcount_put(h, f, METRIC_CPU_MIGRATIONS, c->migrations);
	taskcount_miss(f, REASON_NO_BPF); /* what this kernel does not count */
}

int taskcount_read(struct taskcount *h, bool is_empty, struct values *f)
{
	struct probes_task_counters c;
	int rc = read_counters(h, is_empty, &c);

	if (rc == 0)
		put_counters(h, &c, f);
	return rc;
}

/*
 * Reads the rows before the list, as read_counters() does. A task that ends in between is in the
 * next reading.
 */
static int read_steps(struct probes *p, const struct probes_step *step, size_t n,
		      struct probes_task_counters *ret)
{
	struct probes_task_row row;
	struct probes_index index;
	size_t i;
	int rows;
	int rc = probes_map(p, "task_rows", &rows);

	for (i = 0; rc == 0 && i < n; i++) {
		rc = bpfsys_lookup(rows, &step[i].slot, &row);
		ret[i] = row.ended;
	}
	if (rc < 0)
		return rc;
	probes_index_make(&index, step, n);
	return add_living(p, &index, ret);
}

int taskcount_read_steps(struct probes *p, const struct probes_step *step, size_t n)
{
	_cleanup_free_ struct probes_task_counters *c = calloc(n, sizeof(*c));
	int rc = c ? read_steps(p, step, n, c) : -ENOMEM;
	size_t i;

	for (i = 0; rc == 0 && i < n; i++) {
		struct taskcount h = { .features = probes_features(p) };

		put_counters(&h, &c[i], step[i].values);
	}
	return rc;
}

void taskcount_miss(struct values *f, enum metric_reason reason)
{
	static const enum metric ours[] = {
		METRIC_IO_READ_BYTES,  METRIC_IO_WRITE_BYTES,	  METRIC_IO_READ_CALLS,
		METRIC_IO_WRITE_CALLS, METRIC_STORAGE_READ_BYTES, METRIC_STORAGE_WRITE_BYTES,
		METRIC_CPU_TIME,       METRIC_CONTEXT_SWITCHES,	  METRIC_PAGE_FAULTS,
		METRIC_CPU_MIGRATIONS, METRIC_RUN_DELAY,	  METRIC_OFF_CPU,
		METRIC_MAJOR_FAULTS,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ours); i++)
		if (!values_has(f, ours[i]))
			values_miss(f, ours[i], reason);
}
