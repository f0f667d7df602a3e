/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asker.h - a process that asks a sensor which may take its time, or never answer. A thread of
 * slurmd's that waits in the kernel for a dead BMC can neither be ended nor left behind when the
 * module is unloaded; a process can be killed, and what it maps is not in slurmd. It writes one
 * line per answer into a pipe, which is read without waiting:
 *
 *	value N T	the sensor showed N at T, nanoseconds of CLOCK_MONOTONIC
 *	error TEXT	not this time
 *	never TEXT	this machine has no such sensor; it ends then
 *
 * Anything else, such as what the dynamic linker complains of, counts as an error of that text.
 * When it ends, or says nothing for long, it is killed and started anew, ever more seldom. It is
 * to end by itself when nobody reads the pipe.
 */
#ifndef CEEMS_ASKER_H
#define CEEMS_ASKER_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

/* From one start to the next, at first and at most. */
#define ASKER_PAUSE_NS (10 * UINT64_C(1000000000))
#define ASKER_PAUSE_MAX_NS (300 * UINT64_C(1000000000))

enum answer_kind {
	ANSWER_VALUE,
	ANSWER_ERROR,
	ANSWER_NEVER,
};

struct answer {
	enum answer_kind kind;
	uint64_t value;
	uint64_t t_ns;
	char text[160]; /* of an error; control bytes masked */
};

struct asker;

/*
 * Starts ARGV, which is borrowed until asker_close(). It is taken to hang when nothing comes for
 * SILENCE_NS.
 */
int asker_open(char *const *argv, uint64_t silence_ns, struct asker **ret,
	       struct errmsg *err);

/*
 * The next answer, if there is one: 0 or -EAGAIN, at once. NOW_NS is CLOCK_MONOTONIC; an answer
 * from the future is an error.
 */
int asker_next(struct asker *a, uint64_t now_ns, struct answer *ret);

/* Waits until asker_next() has something to say, or at most TIMEOUT_NS: 0 or -EAGAIN. */
int asker_poll(struct asker *a, uint64_t timeout_ns);

/* For a process that was killed to end; the kernel may hold one for half a minute. */
#define ASKER_END_NS UINT64_C(1000000000)

/* Kills it and does not wait: for several, before each is closed. NULL: no-op. */
void asker_kill(struct asker *a);

/*
 * Kills and reaps it, until DEADLINE_NS at most. One that the kernel does not let go of until then
 * is reaped by init when slurmd ends. NULL: no-op.
 */
void asker_close(struct asker *a, uint64_t deadline_ns);

#endif
