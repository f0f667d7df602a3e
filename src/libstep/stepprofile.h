/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepprofile.h - --ceems-profile: slurmstepd starts the program ceems-profile, which samples the step and
 * writes the profile as the user. slurmstepd itself neither opens an event nor reads a sample. It does not
 * wait until the program samples, so the first milliseconds of a step may not be sampled.
 */
#ifndef CEEMS_STEPPROFILE_H
#define CEEMS_STEPPROFILE_H

#include "src/libstep/stepfile.h"
#include "src/libutil/must_check.h"

/* The most bytes of the compressed file. It has about 100 bytes per function, so no program needs so many. */
#define STEPPROFILE_FILE_MAX (UINT64_C(64) << 20)
/*
 * The most steps of a node, and of one user on it, at once, since the kernel charges the memory of their
 * rings to no job: 64 MiB each (stacks.c).
 */
#define STEPPROFILE_STEPS_MAX 64u
#define STEPPROFILE_USER_STEPS_MAX 32u

struct stepprofile_setup { /* borrowed during the call */
	const struct settings *settings;
	struct ledger *ledger;
	unsigned int slot; /* the step's slot in LEDGER, whose profile.hz is not 0 */
	const struct stepfile_owner *owner;
	int cgroup_fd;	  /* v2 folder of the step; below 0: it has none */
	const pid_t *pid; /* the tasks of the step on this node */
	size_t n;
};

struct stepprofile;

/*
 * Starts the program. -EPERM: the site forbids profiles. -EOPNOTSUPP: the step has no v2 cgroup. -EBUSY: so
 * many other steps are profiled. A later failure is logged in one line and ends the profile.
 */
int stepprofile_start(const struct stepprofile_setup *setup, struct stepprofile **ret,
		      struct errmsg *err) _must_check_;

/* Moves the program out of the step's cgroups; see stepside_leave(). NULL: no-op. */
void stepprofile_leave(struct stepprofile *sp);

/* Ends the samples; the program begins to write its file. NULL: no-op. */
void stepprofile_halt(struct stepprofile *sp);

/*
 * Waits for the program, at most STEPFILE_END_NS from the halt, STEPFILE_WORK_NS longer while it works, plus
 * the time that the kernel needs to kill it. SP NULL: no-op. RET_LOST is as in steptrace.h.
 */
void stepprofile_finish(struct stepprofile *sp, struct errmsg *ret_lost);

#endif
