/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * procstat.h - reads /proc/PID/stat: to tell processes apart and to add up their CPU time. The
 * numbers in the comments are the field numbers of proc(5).
 */
#ifndef CEEMS_PROCSTAT_H
#define CEEMS_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libutil/must_check.h"

struct procstat {
	char name[16]; /* 2: may contain any byte but NUL, also blanks and newlines */
	char state;    /* 3: 'Z' is a zombie, 'X' dead */
	int32_t ppid;  /* 4 */
	/* 14 to 17: user and system time of the process and of its reaped children */
	uint64_t cpu_ticks;
	/* 22: start time since boot; pid and start time together name one process */
	uint64_t start_ticks;
};

/* Parses TEXT, the whole content of /proc/PID/stat. -EINVAL: not the form described in proc(5). */
int procstat_parse(const char *text, struct procstat *ret) _must_check_;

/*
 * Reads /proc/PID/stat. Returns 0; -ENOENT or -ESRCH: no such process; -EINVAL: unknown form; other
 * -errno.
 */
int procstat_read(pid_t pid, struct procstat *ret) _must_check_;
/*
 * The same for thread TID of process PID; start_ticks and name are the thread's. -ENOENT also:
 * TID is of another process.
 */
int procstat_read_thread(pid_t pid, pid_t tid, struct procstat *ret) _must_check_;

/* Returns the start_ticks of the calling process; /proc is read once per process. */
int procstat_own_start(uint64_t *ret) _must_check_;

/*
 * Whether PID is the process that started at START_TICKS (0: any) and still runs; a zombie does
 * not. Returns true if /proc/PID/stat exists but cannot be read.
 */
bool procstat_is_alive(pid_t pid, uint64_t start_ticks);

#endif
