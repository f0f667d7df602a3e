/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * helper.h - a helper is a program of ours that reads or writes what may hang: a BMC, a GPU
 * library, a file on a network. A daemon starts the helper, asks it without waiting, kills it when
 * it hangs, and starts it again. A process can be killed, and a thread of slurmd cannot. slurmd
 * also maps no library of the helper.
 *
 * One protocol: lines of text, words separated by one blank. The daemon writes to the helper's
 * standard input. The helper writes to its standard output. Lines on its standard error, such as
 * those of the dynamic linker, arrive as well. Times are nanoseconds of CLOCK_MONOTONIC.
 *
 * The daemon writes
 *	read N			question N: tell what there is now
 *	look N SINCE STAMP	(ceems-series) the series, unless the file still has STAMP
 *	file N LENGTH		(ceems-textfile) LENGTH bytes follow
 *	try N			(ceems-textfile) a file is made there and removed
 * and reads
 *	done N			question N is answered
 *	error WHO TEXT		WHO could not be read this time; "-" is all of it
 *	never TEXT		this machine has nothing of that kind; the helper ends
 *	refused TEXT		it is there and cannot be used; the helper ends
 *	ready			what there is has been declared
 *	written N		(ceems-textfile) the file of question N is in place, or could be
 *	about TEXT		one line for people: what the helper reads
 *	note TEXT		for the log and ceems check, once
 *	lag MS			what is told may be up to so old
 *	meter NAME DOMAIN UNIT energy|power MAX_W [node] [coarse] [nonzero]
 *	late NAME		what is known of that meter is too old to be used
 *	gone NAME		that meter does not exist any more
 *	reading T NAME VALUE	uJ of an energy meter, mW of a power meter, at T
 *	gpu NAME MODEL		the model of the GPU that NAME counts
 *	slices NAME		the instances declared for that GPU are no longer valid
 *	slice NAME GI CI SLICES GI_SLICES MB	an instance (MIG), see struct gpu_slice
 *	instance NAME GI SLICES [VALUE=NUMBER]...	how an instance was used in the time of the next usage of its GPU
 *	usage NAME FROM UNTIL [VALUE=NUMBER]...	how a GPU was used between two times; names are in gpuvalue.h; what is missing is unknown
 * A line of any other form is an error with that line as its text. `node`: the meter shows all that
 * the node uses. `coarse`: the counter may stand still for hours. `nonzero`: 0 cannot be true.
 *
 * One deadline: if an answer is due and nothing comes for that long, the helper is killed. One
 * restart rule: a helper that ended is started again after 10 s, then after ever longer waits of up
 * to 5 min. helper_good() resets the wait. There is no second one while the kernel still holds a
 * killed one. A helper ends at the end of its input. So no helper is left behind when the daemon is
 * killed.
 */
#ifndef CEEMS_HELPER_H
#define CEEMS_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libutil/errmsg.h"
#include "src/libutil/util.h"

/*
 * Starts the program ARGV[0], a path, with environment ENV (NULL: empty) and no signal blocked or
 * ignored. IN is its standard input (-1: /dev/null), OUT its standard output and error. Returns 0,
 * and *ret_pid is the caller's child, to be waited for; else -errno. -EPERM: others could have
 * written the program (trust.h). The caller's fds must be O_CLOEXEC.
 */
int helper_spawn(char *const *argv, char *const *env, int in, int out, pid_t *ret_pid);
/* The same for a program of the user who runs it: ARGV[0] is looked for in PATH, and who could have written it is not checked. */
int helper_spawn_by_path(char *const *argv, char *const *env, int in, int out, pid_t *ret_pid);

/*
 * Waits for the caller's child until DEADLINE_NS (CLOCK_MONOTONIC); after the deadline it looks
 * once. 0: the child has ended, with *ret_status (NULL: not wanted). -ECHILD: the child has ended,
 * and a host that reaps all children was faster. -EAGAIN: the child still runs. The kernel may hold
 * a killed child for long.
 */
int helper_wait(pid_t pid, uint64_t deadline_ns, int *ret_status);

/* --- one helper, as the daemon has it ----------------------------------------------------- */

/* From one start to the next, at first and at most. */
#define HELPER_PAUSE_NS (10 * UINT64_C(1000000000))
#define HELPER_PAUSE_MAX_NS (300 * UINT64_C(1000000000))

/* For a helper that was killed to end; the kernel may hold one for half a minute. */
#define HELPER_END_NS UINT64_C(1000000000)

enum helper_state {
	HELPER_STARTING, /* runs, nothing came yet */
	HELPER_OK,
	HELPER_LATE, /* runs, but what was due a second ago has not come */
	HELPER_DEAD, /* does not run */
};
const char *helper_state_name(enum helper_state s); /* "starting", "ok", ... */

/* What helper_say() writes at most; longer lines are cut. */
#define HELPER_LINE_MAX 1024

struct helper_options {
	char *const *argv; /* borrowed until helper_close() */
	char *const *env;  /* its environment, as long; NULL: an empty one */
	/* It is taken to hang when nothing comes for so long; of one that IS_ASKED, to a question. */
	uint64_t deadline_ns;
	bool is_asked;
	size_t line_max; /* longer lines are cut; 0: HELPER_LINE_MAX */
	size_t in_size;	 /* what its input holds while it is busy; 0: the system's default */
};

struct helper_counts {
	uint64_t starts;
	uint64_t kills;	  /* it hung */
	uint64_t dropped; /* questions that it was too far behind for */
};

struct helper;

int helper_open(const struct helper_options *o, struct helper **ret, struct errmsg *err);

/*
 * Asks "VERB N" and the rest in FMT, and sends the LEN bytes of DATA behind that line. N goes to
 * *ret_n (NULL: not wanted). Never waits. -EAGAIN: the helper does not run, or has an earlier
 * question to answer; the question is dropped and counted.
 */
int helper_ask(struct helper *h, uint64_t now_ns, const char *verb, const char *data, size_t len,
	       const char *fmt, ...) _printf_(6, 7);
/* Whether a question has yet to be answered. */
bool helper_is_asked(const struct helper *h);

/*
 * The next line, borrowed until the next call: 0 or -EAGAIN, at once. Reads, kills and starts again
 * as needed. What happens to the process is told as a line, "error - TEXT", for the caller's log.
 */
int helper_line(struct helper *h, uint64_t now_ns, char **ret);

/* Waits until helper_line() has something to say, or at most TIMEOUT_NS: 0 or -EAGAIN. */
int helper_poll(struct helper *h, uint64_t timeout_ns);

/* What came was of use: should it end, it is started again soon. */
void helper_good(struct helper *h);

enum helper_state helper_state(const struct helper *h, uint64_t now_ns);
struct helper_counts helper_counts(const struct helper *h);

/* Kills it and does not wait: for several, before each is closed. NULL: no-op. */
void helper_kill(struct helper *h);

/* So long one that is closed may take to end by itself, before it is killed. */
#define HELPER_LEAVE_NS UINT64_C(500000000)

/*
 * Ends and reaps it, until DEADLINE_NS at most. One that the kernel does not let go of until then
 * is reaped by init when the daemon ends. NULL: no-op.
 */
void helper_close(struct helper *h, uint64_t deadline_ns);

/* --- the helper's own side ---------------------------------------------------------------- */

/* What else the daemon left open shall not be held by the helper. */
void helper_close_inherited(void);
/* The same, first of all, and whole lines from here on. */
void helper_serve(bool is_nice);

/* One line, whole, also when several threads write. */
void helper_say(const char *fmt, ...) _printf_(1, 2);

/*
 * Waits up to TIMEOUT_MS (-1: for ever) for a line of the daemon. 1: LINE has the line. 0: none
 * came. -EPIPE: the daemon has ended, and the helper should end too. A line that does not fit is an
 * error of the daemon's and ends the helper as well.
 */
int helper_listen(int timeout_ms, char *line, size_t size);
/* LEN bytes that follow a line; -EPIPE. */
int helper_take(char *data, size_t len);

/*
 * Put begin() and end() around one exchange that may hang. An exchange longer than MAX_S ends the
 * program by SIGALRM, and the daemon starts the program anew. end() returns the time half way
 * between begin() and end().
 */
uint64_t helper_begin(unsigned int max_s);
uint64_t helper_end(uint64_t begin_ns);

#endif
