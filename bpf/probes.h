/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes.h - the maps and structs that the kernel side and user space of the node's BPF object
 * share. It is included by the programs (*.bpf.h, gathered in probes.bpf.c), by their loader
 * (ceems-bpf), and by the readers of the maps, which do not use libbpf
 * (src/libmeter/activity/probes.c, taskcount.c, fsio.c, netcount.c, bperf.c).
 *
 * A node has one object. A step registers its cgroup and gets a slot. Each program finds the slot
 * of a task or socket by its cgroup, through a direct-mapped cache (slot.bpf.h), and adds its
 * counts to rows of that slot. The programs are the same for all steps.
 *
 *	group	runs per		attached for	counts
 *	tasks	exit of a thread	all steps	what the kernel counts per task
 *	tcp	connection		all steps	what the kernel counts per socket
 *	io	I/O call		steps that ask	I/O by file system
 *	net	packet of the step	steps that ask	packets, UDP
 *	hw	switch between steps	steps that ask	hardware counters
 *
 * All maps are pinned in BpfDir/PROBES_DIR, a folder of mode 0700, and the programs as "prog_NAME".
 * Links are not pinned: a program is attached as long as a process has its link open. slurmd and
 * each step keep the links of tasks and tcp open, and a step those of what it asked for; slurmd
 * keeps the links of io for a while longer. A process that needs a link opens it by its id in
 * meta.link[]. If that link is gone, the process attaches the pinned program, under the lock of
 * src/libmeter/activity/probes.h. So the kernel detaches unused programs even if processes are
 * killed.
 *
 * If you change a layout or a meaning, raise PROBES_ABI, which is part of the folder's name.
 * Programs of two versions run side by side until the last step of the old version ends, and each
 * version must see whether another one is in use. So the maps "users" and "owners" have a form that
 * never changes. In "users", the key is the pid, and the value begins with the start time. A value
 * of "owners" begins with the pid, and has the start time at offset 8.
 */
#ifndef CEEMS_BPF_PROBES_H
#define CEEMS_BPF_PROBES_H

#include <linux/types.h>

#define PROBES_ABI 5
#define PROBES_DIR "v5"

#define PROBES_SLOTS 1024 /* numbered from 1, so that 0 can mean none */
#define PROBES_CGROUPS (2 * PROBES_SLOTS)
#define PROBES_USERS 64
/* Folders walked from a task's cgroup upwards; Slurm's tasks are 2 to 3 below their step. */
#define PROBES_DEPTH 24

enum probes_group { PROBES_TASKS, PROBES_TCP, PROBES_IO, PROBES_NET, PROBES_HW, PROBES_GROUP_N };

/* Why a group is not loaded. */
enum probes_why {
	PROBES_OK,
	PROBES_NO_HOOK,	  /* the kernel has no place to hook into, or refuses it (fexit) */
	PROBES_NO_FIELD,  /* the kernel does not count it, or hides where */
	PROBES_NO_HELPER, /* too old a kernel: the verifier refused */
	PROBES_NOT_BUILT,
};

/* What programs are attached to. Each has one pin, "prog_" and its name in probes_link_name[]. */
enum probes_link {
	LINK_TASK_EXIT, /* sched_process_exit, by BTF or as a perf event: see tasks.bpf.h */
	LINK_TCP_STATE, /* tp_btf/inet_sock_set_state */
	LINK_TCP_AGAIN, /* the same tracepoint, for a second program: see tcp.bpf.h */
	LINK_IO_READ,	/* fexit of vfs_read ... */
	LINK_IO_WRITE,
	LINK_IO_READV,
	LINK_IO_WRITEV,
	LINK_IO_SENDFILE,
	LINK_IO_SPLICE,
	LINK_IO_COPY_RANGE,
	LINK_IO_AIO_READ,
	LINK_IO_AIO_WRITE,
	LINK_IO_URING,	/* tp_btf/io_uring_complete, whose arguments depend on the kernel */
	LINK_HW_SWITCH, /* tp_btf/sched_switch */
	LINK_N,
	LINK_MAX = 32
};

#define PROBES_HAS_CHARS (1u << 0)     /* rchar ... syscw: CONFIG_TASK_XACCT */
#define PROBES_HAS_STORAGE (1u << 1)   /* read_bytes, write_bytes: CONFIG_TASK_IO_ACCOUNTING */
#define PROBES_HAS_RUN_DELAY (1u << 2) /* sched_info: CONFIG_SCHED_INFO */
/* there is an iterator over sockets; without it, only closed ones count */
#define PROBES_HAS_LIVE_TCP (1u << 3)
#define PROBES_HAS_V1 (1u << 4) /* steps are found by the v1 freezer, too */
/*
 * Function hooks cannot be attached again after a detach (before 5.13), so slurmd keeps a step's
 * hooks attached.
 */
#define PROBES_FEXIT_ONCE (1u << 5)
#define PROBES_HAS_URING (1u << 6) /* I/O by io_uring is counted; without it, it is missing */

struct probes_meta {
	__u32 abi;
	__u32 features;	  /* PROBES_HAS_*; counters without their bit are 0 and mean nothing */
	__u8 why[8];	  /* enum probes_why by group */
	__u32 generation; /* raised at each registration; cache entries of older ones are void */
	/* copies of each row in fs_rows and hw_rows, a power of 2; set by the loader */
	__u32 shards;
	__u64 full;	      /* registrations that found no slot */
	__u64 lost[8];	      /* by group: events that could not be counted */
	__u32 link[LINK_MAX]; /* id of the link that attaches the program; 0: none */
	/* id of the tracepoint's perf event, to which the program is attached; 0: attached by BTF */
	__u32 event[LINK_MAX];
};
_Static_assert(sizeof(struct probes_meta) == 352, "probes ABI");

/* --- who ---------------------------------------------------------------------------------- */

/* A cgroup id is unique only in its hierarchy: a v1 and a v2 folder may have the same. */
enum {
	PROBES_V2 = 2,
	PROBES_V1_FREEZER = 1,
};
struct probes_cgroup {
	__u64 id; /* kernfs id == st_ino of the folder */
	__u32 hierarchy;
	__u32 pad;
};
_Static_assert(sizeof(struct probes_cgroup) == 16, "probes ABI");

/*
 * The value of the map "owners"; the key is the slot. Inserting it with BPF_NOEXIST allocates the
 * slot.
 */
struct probes_owner {
	__u32 pid;    /* of the stepd */
	__u32 groups; /* mask of the groups that it asked for, 1 << enum probes_group */
	__u64 start;  /* field 22 of /proc/PID/stat, which differs if the pid was reused */
	__u64 cgroup_v2;
	__u64 cgroup_v1;
	__u32 tgid; /* its tgid in the initial pid namespace, as BPF programs see it */
	__u32 pad;
};
_Static_assert(sizeof(struct probes_owner) == 40, "probes ABI");

/* The value of the map "users"; the key is the pid of a daemon that needs the object. */
struct probes_user {
	__u64 start;
};
_Static_assert(sizeof(struct probes_user) == 8, "probes ABI");

/*
 * The cache has PROBES_CACHE words of 64 bits. The low bits of a cgroup's serial number are the
 * index. An entry is one word, so that it is read and written whole:
 *
 *	bits 44-63	the generation's low 20 bits; never 0, so an empty entry never matches
 *	bits 12-43	bits 16-47 of the serial number
 *	bits 0-11	the slot; 0: the cgroup belongs to no step
 *
 * After 2^20 registrations, generation numbers repeat. So the process that registers at each half
 * of that range clears the cache, and no old entry is left when its number comes again.
 */
#define PROBES_SLOT_BITS 12
#define PROBES_CACHE_BITS 16
#define PROBES_CACHE (1u << PROBES_CACHE_BITS)
#define PROBES_GENERATION_MASK 0xfffffu
#define PROBES_GENERATION_HALF 0x80000u

/* --- tasks: sums over threads, or the counters of one thread in struct probes_living ---------- */

struct probes_task_counters {
	__u64 rchar; /* bytes: struct task_io_accounting, as /proc/PID/io shows them */
	__u64 wchar;
	__u64 syscr;
	__u64 syscw;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 run_ns;	 /* sum_exec_runtime: does not have the time since the last tick or switch */
	__u64 delay_ns;	 /* sched_info.run_delay: the time spent runnable, waiting for a CPU */
	__u64 life_ns;	 /* from the start of the thread to its exit, or to now */
	__u64 voluntary; /* context switches */
	__u64 involuntary;
	__u64 minor_faults;
	__u64 major_faults;
	__u64 migrations;
	__u64 tasks;
};
_Static_assert(sizeof(struct probes_task_counters) == 120, "probes ABI");

/* ARRAY by slot: of threads that ended. */
struct probes_task_row {
	struct probes_task_counters ended;
	__u32 owner; /* tgid of slurmstepd, which may be in the step's cgroup, but is not counted */
	__u32 pad;
};
_Static_assert(sizeof(struct probes_task_row) == 128, "probes ABI");

/* What the iterator over tasks writes, per living thread of a step. */
struct probes_living {
	__u32 slot;
	__u32 tid;
	struct probes_task_counters c;
};
_Static_assert(sizeof(struct probes_living) == 128, "probes ABI");

/* --- tcp: payload bytes; a byte that was sent twice counts once ------------------------------- */

struct probes_tcp_counters {
	__u64 received_bytes; /* in order, without SYN and FIN, whether a program read them or not */
	__u64 sent_bytes;     /* first transmissions only */
	__u64 retransmitted_bytes;
	/*
	 * this and the next two are sums over sockets; the kernel's counter of one
	 * socket has 32 bits, and wraps
	 */
	__u64 received_segments;
	__u64 sent_segments;
	__u64 retransmitted_segments;
	__u64 connections; /* that were established, by either side */
	__u64 failed;	   /* connect() that did not get there */
};
_Static_assert(sizeof(struct probes_tcp_counters) == 64, "probes ABI");

/* ARRAY by slot: of sockets that closed. */
struct probes_tcp_row {
	struct probes_tcp_counters closed;
	__u32 begun; /* number of additions begun; if DONE is less, one is going on */
	__u32 done;
};
_Static_assert(sizeof(struct probes_tcp_row) == 72, "probes ABI");

/*
 * SK_STORAGE on the sockets of steps. The iterator visits marked sockets, in all network
 * namespaces.
 */
struct probes_tcp_mark {
	__u32 is_booked; /* its counts were added to the row, so the iterator skips it */
	__u32 has_syn;	 /* bytes_acked includes our SYN */
};

/* What the iterator over sockets writes. */
struct probes_socket {
	__u32 slot;
	__u32 pad;
	struct probes_tcp_counters c;
};
_Static_assert(sizeof(struct probes_socket) == 72, "probes ABI");

/* --- io: by slot and file system ------------------------------------------------------------ */

#define PROBES_FS 16	     /* per step */
#define PROBES_SHARDS_MAX 16 /* copies of the rows, so that CPUs do not share a cache line */

struct probes_fs_row {
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 read_calls;
	__u64 write_calls;
	__u64 read_errors;
	__u64 write_errors;
	__u32 device; /* as in struct probes_fs; repeated here, so that a hit needs one cache line; 0: free */
	__u32 pad[3];
};
_Static_assert(sizeof(struct probes_fs_row) == 64, "probes ABI");

/*
 * ARRAY by slot. All data of a slot is one element, so that an event looks it up once, and a
 * registration clears it at once. The loader makes it smaller if fewer shards are used.
 */
struct probes_fs {
	__u32 device[PROBES_FS]; /* the kernel's s_dev, major << 20 | minor; 0: free */
	__u32 owner;		 /* as in struct probes_task_row */
	__u32 pad[15];
	struct probes_fs_row others; /* sum of devices for which there was no room; counted as lost, too */
	struct probes_fs_row row[PROBES_SHARDS_MAX][PROBES_FS];
};
_Static_assert(sizeof(struct probes_fs) == 192 + 64 * PROBES_SHARDS_MAX * PROBES_FS, "probes ABI");
#define PROBES_FS_SIZE(shards) (192 + 64 * PROBES_FS * (shards))

/*
 * HASH. The program that first inserts a place, with BPF_NOEXIST, has it for its device. The value
 * has the mount point as seen by the first task with a file there, since a container's mounts may
 * be gone before user space can look.
 */
struct probes_fs_place {
	__u32 slot;
	__u32 place;
};
_Static_assert(sizeof(struct probes_fs_place) == 8, "probes ABI");

#define PROBES_FS_NAME 64 /* longest folder name, with its NUL; longer ones are cut */
struct probes_fs_mount {
	__u32 device;
	__u32 has_path; /* PATH is complete; if it is empty, it means "/" */
	char type[16];	/* "tmpfs"; cut if longer */
	char path[192]; /* the names of the folders from the mount point up to "/", each with a NUL */
};
_Static_assert(sizeof(struct probes_fs_mount) == 216, "probes ABI");

/* --- net: cgroup_skb on the step's v2 cgroup; CGROUP_STORAGE, key = cgroup id ------------------ */

enum probes_net_kind {
	NET_TCP4,
	NET_TCP6,
	NET_UDP4,
	NET_UDP6,
	NET_OTHER4, /* ICMP, SCTP ... */
	NET_OTHER6,
	NET_KIND_N
};
struct probes_net_count {
	__u64 packets; /* as on the wire: each segment of a super-packet counts */
	__u64 bytes;   /* of IP packets, headers included */
	__u64 payload; /* UDP: bytes of datagrams; TCP: bytes of segments, retransmitted ones included */
};
struct probes_net_row {
	struct probes_net_count in[NET_KIND_N];
	struct probes_net_count out[NET_KIND_N];
	__u64 pad[4]; /* to whole cache lines */
};
_Static_assert(sizeof(struct probes_net_row) == 320, "probes ABI");

/*
 * The number of rows per cgroup; several CPUs share a row. A row per CPU would need 40 MiB for 512
 * steps on 256 CPUs, and older kernels limit a value of CGROUP_STORAGE to one page.
 */
#define PROBES_NET_SHARDS 8
struct probes_net_rows {
	struct probes_net_row shard[PROBES_NET_SHARDS];
};
_Static_assert(sizeof(struct probes_net_rows) == 2560, "probes ABI");

/* --- hw: counters of CPUs, added to the slot of the step that runs on the CPU --------------- */

#define PROBES_HW_EVENTS 16 /* the FLOP of an Intel CPU alone are five */
#define PROBES_HW_CPUS 1024

/* ARRAY[slot * shards + shard] */
struct probes_hw_row {
	__u64 value[PROBES_HW_EVENTS];
	__u64 enabled_ns[PROBES_HW_EVENTS]; /* time in which the step ran on CPUs with counters */
	__u64 running_ns[PROBES_HW_EVENTS]; /* the part of it in which the event was on the PMU */
};
_Static_assert(sizeof(struct probes_hw_row) == 384, "probes ABI");

/* ARRAY by slot. */
struct probes_hw_slot {
	__u32 owner; /* tgid of the slurmstepd that asked; 0: do not count for this slot */
	__u32 pad;
};
_Static_assert(sizeof(struct probes_hw_slot) == 8, "probes ABI");

/*
 * ARRAY by CPU, written only on that CPU: which step runs, and the counters when it began to run.
 */
struct probes_hw_value { /* struct bpf_perf_event_value */
	__u64 count;
	__u64 enabled_ns;
	__u64 running_ns;
};
struct probes_hw_cpu {
	__u64 set;	  /* kernel address of the running task's css_set; only compared, never followed */
	__u32 slot;	  /* 0: no step that asked */
	__u32 owner;	  /* tgid of the slurmstepd of SET's slot; 0: it did not ask */
	__u32 is_owner;	  /* the running task belongs to that slurmstepd */
	__u32 generation; /* meta.generation when this was looked up */
	__u32 counters;	  /* config.counters[] at the last read; 0: there were none */
	/* index of the valid set in value[]; the next read of the counters fills the other set */
	__u32 which;
	__u32 pad[8];
	struct probes_hw_value value[2][PROBES_HW_EVENTS];
};
_Static_assert(sizeof(struct probes_hw_cpu) == 832, "probes ABI");

/* An event to count; the fields are those of struct perf_event_attr. */
struct probes_hw_event {
	__u32 type;
	__u16 exclude; /* bits: user, kernel, hv, idle, host, guest */
	__u16 group;
	__u64 config;
	__u64 config1;
	__u64 config2;
	__s32 error; /* -errno: it could not be opened and is not in hw_events */
	__u32 pad;
};
_Static_assert(sizeof(struct probes_hw_event) == 40, "probes ABI");

/*
 * ARRAY[1], changed only under the lock of the folder. hw_events[index * PROBES_HW_CPUS + cpu] has
 * the counters; index counts only the events without error.
 */
struct probes_hw_config {
	__u32 n;       /* entries of event[]; 0: there are no counters */
	__u32 count;   /* entries without error */
	__u32 cpu_end; /* no entries at or above this CPU */
	__u32 serial;  /* numbers given to counters[] so far */
	struct probes_hw_event event[PROBES_HW_EVENTS];
	/* 0: the CPU has no counters; else a number that is never used again */
	__u32 counters[PROBES_HW_CPUS];
};
_Static_assert(sizeof(struct probes_hw_config) == 16 + 640 + 4096, "probes ABI");

#endif
