/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_wire.h - messages from the sampling half of ceems-profile, which is root, to the writing
 * half, which is the user. Both are the same program, so a message is sent as the struct in memory,
 * followed by its arrays.
 */
#ifndef CEEMS_PROFILE_WIRE_H
#define CEEMS_PROFILE_WIRE_H

#include "src/libutil/must_check.h"
#include "src/profiler/stacks.h"

#define WIRE_NAME_MAX 16 /* TASK_COMM_LEN */
#define WIRE_RANK_NONE INT64_C(-1)

enum wire_kind {
	/*
	 * sampling of EVENT begins, at record.mono_ns and wall_ns; record.text: why of no better one, or ""
	 */
	WIRE_BEGIN,
	WIRE_RECORD, /* a record of the step's threads, or of lost samples */
	WIRE_SYMBOL, /* record.text is the name of the kernel function with number record.start */
	/* sampling has ended, at record.mono_ns; EVENT was counted for the share COUNTED of the time */
	WIRE_END,
};

struct wire_message {
	enum wire_kind kind;
	enum stacks_event event;
	double counted; /* stacks_counted() */
	uint64_t wall_ns;
	int64_t rank; /* rank of the thread's task, or WIRE_RANK_NONE */
	char process[WIRE_NAME_MAX], thread[WIRE_NAME_MAX];
	struct stacks_record record; /* what is sent has numbers of functions in KERNEL, not addresses */
};

struct wire;

/*
 * Makes *RET for the socket FD, which the caller closes. If FD is -1 there is no socket: what is sent to *RET
 * stays in memory until it is received from *RET. Returns 0 or -ENOMEM.
 */
int wire_open(int fd, struct wire **ret) _must_check_;
void wire_close(struct wire *w);

/*
 * Buffers M, and sends when the buffer is full; wire_flush() sends at once. Return 0; -EPIPE: the
 * other half is gone; -ENOMEM without a socket.
 */
int wire_send(struct wire *w, const struct wire_message *m);
int wire_flush(struct wire *w);
/* Returns the bytes of messages in W. */
size_t wire_kept(const struct wire *w);

/*
 * Waits up to TIMEOUT_MS (-1: forever) for a message. Returns 1: *RET is valid until the next call;
 * 0: none came; -EPIPE: the other half is gone.
 */
int wire_receive(struct wire *w, int timeout_ms, struct wire_message *ret) _must_check_;

#endif
