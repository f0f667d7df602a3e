/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * harvest.h - the contract of the harvest maps: included by the programs (harvest.bpf.c), by
 * their loader (ceems-bpf) and by the reader in slurmstepd (src/libmeter/harvest.c).
 *
 * The kernel already counts I/O, faults and switches per task. Nothing is hooked on the way of
 * a read or a packet: the counters of a task are taken once, when it exits, and added to the
 * row of the step whose cgroup it was in. Those of living tasks are listed by an iterator.
 *
 * Pinned below BpfDir/HARVEST_DIR, folder 0700:
 *	meta	 ARRAY[1]	struct harvest_meta, mappable
 *	rows	 ARRAY		row -> struct harvest_row
 *	cgroups	 HASH		struct harvest_cgroup -> __u32 row
 *	owners	 HASH		__u32 row -> struct harvest_owner; inserted with BPF_NOEXIST,
 *				which is how a row is allocated
 *	users	 HASH		__u32 pid -> struct harvest_user: daemons that want it loaded
 *	on_exit	 link		tp_btf/sched_process_exit
 *	living	 iterator link	a file: reading it yields one struct harvest_living per task
 *
 * Any change of a layout or of a meaning is a new HARVEST_ABI, and so another folder: programs of
 * two versions run side by side until the last step of the old one has ended.
 */
#ifndef CEEMS_BPF_HARVEST_H
#define CEEMS_BPF_HARVEST_H

#include <linux/types.h>

#define HARVEST_ABI 1
#define HARVEST_DIR "v1"

#define HARVEST_ROWS 1024 /* numbered from 1, so that 0 can mean none */
#define HARVEST_CGROUPS (2 * HARVEST_ROWS)
#define HARVEST_USERS 64
/* Folders walked from a task's cgroup upwards; Slurm's tasks are 2 to 3 below their step. */
#define HARVEST_DEPTH 24

/* Sums over tasks (threads); of one task in struct harvest_living. */
struct harvest_counters {
	__u64 rchar; /* bytes: struct task_io_accounting, as /proc/PID/io shows them */
	__u64 wchar;
	__u64 syscr;
	__u64 syscw;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 run_ns;	/* sum_exec_runtime: lacks what was used since the last tick or switch */
	__u64 switches; /* voluntary and not */
	__u64 faults;	/* minor and major */
	__u64 tasks;
};
_Static_assert(sizeof(struct harvest_counters) == 80, "harvest ABI");

struct harvest_row {
	struct harvest_counters ended;
	__u32 owner; /* tgid of the stepd, which may sit in the step's cgroup: not counted */
	__u32 pad;
};
_Static_assert(sizeof(struct harvest_row) == 88, "harvest ABI");

/* Numbers are per hierarchy: the same one may name a v1 and a v2 folder. */
enum {
	HARVEST_V2 = 2,
	HARVEST_V1_FREEZER = 1,
};
struct harvest_cgroup {
	__u64 id; /* kernfs id == st_ino of the folder */
	__u32 hierarchy;
	__u32 pad;
};
_Static_assert(sizeof(struct harvest_cgroup) == 16, "harvest ABI");

struct harvest_owner {
	__u32 pid;
	__u32 pad;
	__u64 start; /* field 22 of /proc/PID/stat: tells a reused pid */
	__u64 cgroup_v2;
	__u64 cgroup_v1;
};
_Static_assert(sizeof(struct harvest_owner) == 32, "harvest ABI");

struct harvest_user {
	__u64 start;
};
_Static_assert(sizeof(struct harvest_user) == 8, "harvest ABI");

#define HARVEST_HAS_CHARS (1u << 0)   /* rchar, wchar, syscr, syscw: CONFIG_TASK_XACCT */
#define HARVEST_HAS_STORAGE (1u << 1) /* read_bytes, write_bytes: CONFIG_TASK_IO_ACCOUNTING */

struct harvest_meta {
	__u32 abi;
	__u32 features; /* HARVEST_HAS_*: the others read 0 and mean nothing */
	__u64 full;	/* registrations that found no row */
};
_Static_assert(sizeof(struct harvest_meta) == 16, "harvest ABI");

struct harvest_living {
	__u32 row;
	__u32 tid;
	struct harvest_counters c;
};
_Static_assert(sizeof(struct harvest_living) == 88, "harvest ABI");

#endif
