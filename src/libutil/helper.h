/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * helper.h - starts helpers and talks to them. A helper is one of our programs that does what may
 * hang: reads a BMC or a GPU library, or writes a file on a network file system. The daemon asks a
 * helper without waiting, kills a helper that hangs, and starts it again. A hanging thread of
 * slurmd could not be killed. The libraries a helper needs are never loaded into slurmd.
 *
 * Protocol: lines of text, words separated by one blank. The daemon writes to the helper's
 * standard input and reads its standard output and standard error (such as messages of the dynamic
 * linker). Times are nanoseconds of CLOCK_MONOTONIC.
 *
 * The daemon writes
 *	read N			question N: report what you measure now
 *	look N SINCE STAMP	(ceems-series) send the series, unless the file still has STAMP
 *	file N LENGTH		(ceems-textfile) write the LENGTH bytes that follow to the file
 *	try N			(ceems-textfile) test whether the file can be written
 *	push N			(ceems-push) send what is in the queue of profiles
 * and reads
 *	done N			question N is answered
 *	error WHO TEXT		meter WHO could not be read this time; WHO "-": nothing could
 *	never TEXT		this machine has no such hardware; the helper ends
 *	refused TEXT		the hardware exists but cannot be used; the helper ends
 *	mute TEXT		the hardware exists but never shows power or energy; the helper ends
 *	ready			all meters are declared
 *	written N		(ceems-textfile) the file of question N is written, or is writable;
 *				(ceems-push) the server takes profiles
 *	about TEXT		one line for people: what the helper reads
 *	note TEXT		one line for the log and `ceems check`, once
 *	lag MS			a reported value may be up to MS milliseconds old
 *	meter NAME DOMAIN UNIT energy|power MAX_W [node|module] [on=SOCKET] [coarse] [nonzero]
 *	late NAME		the last value of meter NAME is too old to be used
 *	gone NAME		meter NAME does not exist any more
 *	reading T NAME VALUE [partial]	at time T: uJ of an energy meter, mW of a power meter; partial: the
 *				value lacks something that the meter should cover
 *	gpu NAME MODEL		the model of the GPU that meter NAME measures
 *	slices NAME		the MIG instances declared for GPU NAME are no longer valid
 *	slice NAME GI CI SLICES GI_SLICES MB	one MIG instance; see struct gpu_slice
 *	usage NAME FROM UNTIL [VALUE=NUMBER]...
 *				use of GPU NAME between two times; value names are in gpuvalue.h;
 *				a missing value is unknown
 *	instance NAME GI SLICES [VALUE=NUMBER]...
 *				use of one MIG instance; its times are those of the next `usage`
 *				of GPU NAME
 * The daemon treats any other line as an error with that line as its text. A meter's flags: `node`
 * measures the whole node; `module` measures a whole module, and `on` is the number of that module's
 * socket, also for a GPU there (enum part_scope); `coarse` may stand still for hours; `nonzero` is
 * never truly 0.
 *
 * Deadline: a helper that owes an answer and sends nothing for deadline_ns is killed. Restart: a
 * helper that ended is started again after 10 s, then after ever longer pauses of up to 5 min;
 * helper_good() resets the pause. A new process is not started while the kernel still holds the old
 * one. A helper ends when its input ends, so no helper outlives a killed daemon.
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
 * Starts the program at path ARGV[0] with environment ENV (NULL: empty) and no signal blocked or
 * ignored. IN becomes its standard input (-1: /dev/null), OUT its standard output and error.
 * Returns 0 and the child's pid in *ret_pid; the caller must wait for the child. -EPERM: somebody
 * else could have written the program (trust.h). Else -errno. The caller's fds must be O_CLOEXEC.
 */
int helper_spawn(char *const *argv, char *const *env, int in, int out, pid_t *ret_pid) _must_check_;
/*
 * helper_spawn() for a program of the user who runs it: looks for ARGV[0] in PATH, and does not
 * check who could have written the program.
 */
int helper_spawn_by_path(char *const *argv, char *const *env, int in, int out, pid_t *ret_pid) _must_check_;

/*
 * helper_spawn() with a channel in each direction; the caller closes both. *RET_IN is a socket to the
 * program's input, since only send() can suppress SIGPIPE. TYPE is SOCK_STREAM, or SOCK_SEQPACKET, which
 * keeps messages apart. SOCKET_BYTES is the size of its buffer, if the kernel grants it; 0: the system's
 * default. *RET_OUT is a pipe from the program's output. Reading it does not wait; the program may wait when
 * it writes.
 */
int helper_spawn_piped(char *const *argv, char *const *env, int type, size_t socket_bytes, int *ret_in,
		       int *ret_out, pid_t *ret_pid);

/*
 * Waits for the child PID until DEADLINE_NS (CLOCK_MONOTONIC); a past deadline means: look once. 0:
 * the child has ended; its status is in *ret_status (may be NULL). -ECHILD: the child has ended,
 * but the host process reaped it first. -EAGAIN: the child still runs; the kernel may hold even a
 * killed child for long.
 */
int helper_wait(pid_t pid, uint64_t deadline_ns, int *ret_status);

/* --- the daemon's side: one helper -------------------------------------------------------- */

/* The pause between a helper's end and its restart: the first one, and the longest. */
#define HELPER_PAUSE_NS (10 * UINT64_C(1000000000))
#define HELPER_PAUSE_MAX_NS (300 * UINT64_C(1000000000))

/* How long callers wait for a killed helper to end; the kernel may hold one for half a minute. */
#define HELPER_END_NS UINT64_C(1000000000)

enum helper_state {
	HELPER_STARTING, /* runs, has not written anything yet */
	HELPER_OK,
	HELPER_LATE, /* silent for 1 s after a question (is_asked), else for deadline_ns / 2 */
	HELPER_DEAD, /* does not run */
};
const char *helper_state_name(enum helper_state s); /* "starting", "ok", "late" or "dead" */

/* The longest line that helper_say() writes, with newline and NUL; longer lines are cut. */
#define HELPER_LINE_MAX 1024

struct helper_options {
	char *const *argv; /* borrowed until helper_close() */
	char *const *env;  /* the helper's environment, also borrowed; NULL: empty */
	/*
	 * The helper is killed when it sends nothing for this long; with IS_ASKED, only while it
	 * owes an answer.
	 */
	uint64_t deadline_ns;
	bool is_asked;
	/* longest line that is read; the rest of a longer one is dropped; 0: HELPER_LINE_MAX */
	size_t line_max;
	/* buffer for questions while the helper is busy, in bytes; 0: the system's default */
	size_t in_size;
};

struct helper_counts {
	uint64_t starts;
	uint64_t kills;	  /* how often the helper hung and was killed */
	uint64_t dropped; /* questions not sent, because the helper was busy or did not run */
};

struct helper;

int helper_open(const struct helper_options *o, struct helper **ret, struct errmsg *err) _must_check_;

/*
 * Sends the line "VERB N" followed by FMT, then LEN bytes of DATA. N is the number of this
 * question. Never waits. 0: sent, or queued for sending. -EAGAIN: the helper does not run or still
 * owes an answer; the question is dropped and counted. -ENAMETOOLONG: the line is too long.
 */
int helper_ask(struct helper *h, uint64_t now_ns, const char *verb, const char *data, size_t len,
	       const char *fmt, ...) _printf_(6, 7);
/* Whether the helper still owes an answer. */
bool helper_is_asked(const struct helper *h);

/*
 * Returns the next line of the helper in *RET, valid until the next call. Never waits: 0, or
 * -EAGAIN if there is no line. This call also reads, kills a helper that hangs, and restarts one.
 * If the helper ended or was killed, the line is "error - TEXT", for the caller's log.
 */
int helper_line(struct helper *h, uint64_t now_ns, char **ret) _must_check_;

/* Waits up to TIMEOUT_NS for a line. 0: call helper_line(); -EAGAIN: nothing came. */
int helper_poll(struct helper *h, uint64_t timeout_ns);

/* Tells that the helper works: if it ends, it is restarted after the shortest pause. */
void helper_good(struct helper *h);

enum helper_state helper_state(const struct helper *h, uint64_t now_ns);
struct helper_counts helper_counts(const struct helper *h);

/*
 * Kills the helper without waiting. With several helpers, kill all before closing each. NULL:
 * no-op.
 */
void helper_kill(struct helper *h);

/* How long a closed helper may take to end by itself before it is killed. */
#define HELPER_LEAVE_NS UINT64_C(500000000)

/*
 * Asks the helper to end, kills it after HELPER_LEAVE_NS, and reaps it; frees H. Gives up waiting
 * for a killed helper at DEADLINE_NS (CLOCK_MONOTONIC); init then reaps it when the daemon ends.
 * NULL: no-op.
 */
void helper_close(struct helper *h, uint64_t deadline_ns);

/* --- the helper's side -------------------------------------------------------------------- */

/* Closes every fd above standard error that the daemon left open. */
void helper_close_inherited(void);
/*
 * Makes the kernel's OOM killer take this process as soon as one with SCORE_ADJ (/proc/PID/oom_score_adj, up
 * to 1000). Never protects the process more than it was.
 */
void helper_expose_to_oom(int score_adj);
/*
 * A helper's first call: closes inherited fds, buffers output by line, and gives up the daemon's protection
 * from the OOM killer. IS_NICE lowers its priority.
 */
void helper_serve(bool is_nice);

/* Writes one line to the daemon. Lines of several threads do not mix. */
void helper_say(const char *fmt, ...) _printf_(1, 2);

/*
 * Waits up to TIMEOUT_MS (-1: for ever) for a line from the daemon. 1: the line is in LINE. 0: none
 * came. -EPIPE: the daemon has ended, or its line does not fit into SIZE; the helper should end.
 */
int helper_listen(int timeout_ms, char *line, size_t size) _must_check_;
/* Waits MS milliseconds in a helper to which the daemon sends no lines. False: the daemon has ended. */
bool helper_sleep(uint64_t ms);
/*
 * Reads the LEN bytes that follow a line into DATA; waits for all. 0, or -EPIPE: the daemon has
 * ended.
 */
int helper_take(char *data, size_t len) _must_check_;

/*
 * Put helper_begin() and helper_end() around one exchange that may hang. If it takes longer than
 * MAX_S seconds, SIGALRM ends the program, and the daemon starts it again. helper_end() returns the
 * time half way between begin and end, CLOCK_MONOTONIC ns.
 */
uint64_t helper_begin(unsigned int max_s);
uint64_t helper_end(uint64_t begin_ns);

#endif
