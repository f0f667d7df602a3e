/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_wire.h - messages from the half of ceems-profile that samples, which is root, to the half that writes, which
 * is the user. Both are one program, so a message is a struct with arrays behind it.
 */
#ifndef CEEMS_PROFILE_WIRE_H
#define CEEMS_PROFILE_WIRE_H

#include "src/libmeter/activity/stacks.h"

#define WIRE_NAME_MAX 16 /* TASK_COMM_LEN */
#define WIRE_RANK_NONE INT64_C(-1)

enum wire_kind {
	WIRE_BEGIN,  /* sampling begins, at record.mono_ns and wall_ns */
	WIRE_RECORD, /* of the step */
	WIRE_SYMBOL, /* record.text is the name of kernel function number record.start */
	WIRE_END,    /* sampling has ended, at record.mono_ns */
};

struct wire_message {
	enum wire_kind kind;
	uint64_t wall_ns;
	int64_t rank; /* of the task that the process is of, or WIRE_RANK_NONE */
	char process[WIRE_NAME_MAX], thread[WIRE_NAME_MAX];
	struct stacks_record record; /* addresses of the kernel are numbers of functions */
};

struct wire;

/* A socket; borrowed. -ENOMEM */
int wire_open(int fd, struct wire **ret);
void wire_close(struct wire *w);

/* Buffered. -EPIPE: the other half is gone. */
int wire_send(struct wire *w, const struct wire_message *m);
int wire_flush(struct wire *w);

/* Waits up to TIMEOUT_MS (-1: for ever). 1: *RET is valid until the next call; 0: none came; -EPIPE: the other half is gone. */
int wire_receive(struct wire *w, int timeout_ms, struct wire_message *ret);

#endif
