/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - what the BPF programs of --ceems-profile and ceems-profile share. The programs are loaded per
 * step, and their maps exist only as descriptors of ceems-profile.
 */
#ifndef CEEMS_PROFILE_BPF_H
#define CEEMS_PROFILE_BPF_H

#include <linux/types.h>

/* --- samples (samples.bpf.c, notes.bpf.c) --------------------------------------------------- */

/*
 * A note's key, and value, is the time in units of 2^20 ns (1.05 ms), and the CPU in the low 12 bits. Samples
 * of one CPU that are closer than a unit share a note, so a note is kept until a later one is found.
 */
#define PROFILE_UNIT_SHIFT 20
#define PROFILE_CPU_BITS 12
#define PROFILE_CPU_MASK ((1u << PROFILE_CPU_BITS) - 1)

/* --- waits (waits.bpf.c) -------------------------------------------------------------------- */

#define PROFILE_THREADS 16384u /* threads that wait at once */
#define PROFILE_SUMS 32768u    /* pairs of thread and stack between two calls of offcpu_drain() */
#define PROFILE_STACKS 8192u   /* different stacks per map */
#define PROFILE_DEPTH 127u     /* the kernel's limit, too (sysctl kernel.perf_event_max_stack) */

/* The variable `control`. */
struct profile_control {
	__u32 half;	  /* to which the program adds: 0 or 1 */
	__u32 generation; /* of the stacks: g is in map g % 2 */
	__u64 lost;	  /* waits that did not fit */
};

/* Value of the map `begins`, by tid. A stack id below 0: that part of the stack is not known. */
struct profile_begin {
	__u64 mono_ns;
	__u32 pid, tid;
	__s32 user, kernel;
	__u32 generation;
	__u32 pad;
};

/* Key of the map `sums`. */
struct profile_wait {
	__u32 half; /* offcpu_drain() reads the half that the program does not add to */
	__u32 pid, tid;
	__s32 user, kernel;
	__u32 generation;
};

struct profile_sum {
	__u64 ns, times;
};

_Static_assert(sizeof(struct profile_control) == 16 && sizeof(struct profile_begin) == 32,
	       "no hidden padding");
_Static_assert(sizeof(struct profile_wait) == 24 && sizeof(struct profile_sum) == 16, "no hidden padding");

#endif
