/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * procstat.h - /proc/PID/stat, as far as telling processes apart and adding up their CPU time needs
 * it. Field numbers are proc(5)'s.
 */
#ifndef CEEMS_PROCSTAT_H
#define CEEMS_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procstat {
	char state;		/* 3: 'Z' is a zombie, 'X' dead */
	int32_t ppid;		/* 4 */
	uint64_t cpu_ticks;	/* 14 to 17: own and of reaped children, user and system */
	uint64_t start_ticks;	/* 22: since boot; with the pid it names one process */
};

/* TEXT is the whole file. -EINVAL: not of the form that proc(5) has. */
int procstat_parse(const char *text, struct procstat *ret);

/* 0; -ENOENT or -ESRCH: no such process; -EINVAL as above. */
int procstat_read(pid_t pid, struct procstat *ret);

/* The caller's own start_ticks; read once, as they stay. */
int procstat_own_start(uint64_t *ret);

/*
 * Whether PID is the process that started at START_TICKS (0: any) and has not ended; a zombie has.
 * What cannot be read for another reason than its absence is taken to live.
 */
bool procstat_is_alive(pid_t pid, uint64_t start_ticks);

#endif
