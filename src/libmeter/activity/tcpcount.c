/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/tcpcount.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "src/libutil/util.h"

/* The most tries to read row and list without a socket closing in between. */
#define MAX_ATTEMPTS 8
/*
 * The most -EAGAIN in a read: the kernel returns it after a million elements that are not the
 * iterator's.
 */
#define MAX_PAUSES 64

struct tcpcount {
	uint32_t slot;
	/* descriptors, borrowed from struct probes */
	int rows;
	int marks;
	int iterator; /* -1: this kernel cannot list sockets */
};

int tcpcount_open(struct probes *p, uint32_t slot, struct tcpcount **ret)
{
	_cleanup_free_ struct tcpcount *t = NULL;
	int rc;

	if (probes_why(p, PROBES_TCP) != PROBES_OK)
		return -EOPNOTSUPP;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct tcpcount){ .slot = slot, .marks = -1, .iterator = -1 };
	rc = probes_map(p, "tcp_rows", &t->rows);
	if (rc == 0 && probes_features(p) & PROBES_HAS_LIVE_TCP) {
		rc = probes_map(p, "tcp_socks", &t->marks);
		if (rc == 0)
			rc = probes_program(p, "sockets", &t->iterator);
	}
	if (rc < 0)
		return rc;
	*ret = TAKE_PTR(t);
	return 0;
}

void tcpcount_close(struct tcpcount *t)
{
	free(t);
}

/* Adds each open socket to SUM[i], where i is the index of its step by its slot. */
static int add_living(const struct tcpcount *t, const struct probes_index *index,
		      struct probes_tcp_counters *sum)
{
	struct probes_socket list[64];
	_cleanup_close_ int fd = -1;
	size_t have = 0, i, place;
	int pauses = 0;
	ssize_t n;
	int rc = bpfsys_iterate(t->iterator, t->marks, &fd);

	if (rc < 0)
		return rc;
	for (;;) {
		n = read(fd, (char *)list + have, sizeof(list) - have);
		if (n < 0 && (errno == EINTR || errno == EAGAIN) && pauses++ < MAX_PAUSES)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return have ? -EIO : 0;
		have += (size_t)n;
		for (i = 0; i < have / sizeof(list[0]); i++) {
			place = probes_index_find(index, list[i].slot);
			if (place)
				probes_add(&sum[place - 1], &list[i].c, sizeof(*sum));
		}
		/* a read may end within an element */
		memmove(list, &list[i], have % sizeof(list[0]));
		have %= sizeof(list[0]);
	}
}

/*
 * Reads row and list once. *RET_SETTLED: no socket was added to the row meanwhile, so both agree.
 */
static int read_once(const struct tcpcount *t, struct probes_tcp_counters *ret, bool *ret_settled)
{
	const struct probes_step step = { .slot = t->slot };
	struct probes_tcp_row before, after;
	struct probes_index index;
	int rc = bpfsys_lookup(t->rows, &t->slot, &before);

	if (rc < 0)
		return rc;
	*ret = before.closed;
	*ret_settled = true;
	if (t->iterator < 0)
		return 0;
	probes_index_make(&index, &step, 1);
	rc = add_living(t, &index, ret);
	if (rc == 0)
		rc = bpfsys_lookup(t->rows, &t->slot, &after);
	if (rc == 0)
		*ret_settled = before.begun == before.done && before.begun == after.begun;
	return rc;
}

static void tcpcount_put(const struct probes_tcp_counters *c, struct values *values)
{
	values_set(values, METRIC_TCP_RECEIVED_BYTES, c->received_bytes);
	values_set(values, METRIC_TCP_SENT_BYTES, c->sent_bytes);
	values_set(values, METRIC_TCP_RETRANSMITTED_BYTES, c->retransmitted_bytes);
	values_set(values, METRIC_TCP_CONNECTIONS, c->connections);
}

int tcpcount_read(struct tcpcount *t, struct values *values)
{
	struct probes_tcp_counters c;
	bool is_settled = false;
	int attempt, rc;

	for (attempt = 0; attempt < MAX_ATTEMPTS && !is_settled; attempt++) {
		if (attempt)
			(void)sched_yield(); /* let the task run that is just closing a socket */
		rc = read_once(t, &c, &is_settled);
		if (rc < 0)
			return rc;
	}
	tcpcount_put(&c, values);
	return 0;
}

/*
 * Reads the rows and then the list of sockets. A socket that closes in between is
 * missing until the next reading.
 */
int tcpcount_read_steps(struct probes *p, const struct probes_step *step, size_t n)
{
	_cleanup_free_ struct probes_tcp_counters *c = calloc(n, sizeof(*c));
	struct tcpcount *t = NULL;
	struct probes_tcp_row row;
	struct probes_index index;
	size_t i;
	int rc = !c ? -ENOMEM : n ? tcpcount_open(p, step[0].slot, &t) : 0;

	for (i = 0; rc == 0 && i < n; i++) {
		rc = bpfsys_lookup(t->rows, &step[i].slot, &row);
		c[i] = row.closed;
	}
	probes_index_make(&index, step, n);
	if (rc == 0 && t && t->iterator >= 0)
		rc = add_living(t, &index, c);
	for (i = 0; rc == 0 && i < n; i++)
		tcpcount_put(&c[i], step[i].values);
	tcpcount_close(t);
	return rc;
}

void tcpcount_miss(struct values *values, enum metric_reason reason)
{
	static const enum metric ours[] = {
		METRIC_TCP_RECEIVED_BYTES,
		METRIC_TCP_SENT_BYTES,
		METRIC_TCP_RETRANSMITTED_BYTES,
		METRIC_TCP_CONNECTIONS,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ours); i++)
		if (!values_has(values, ours[i]))
			values_miss(values, ours[i], reason);
}
