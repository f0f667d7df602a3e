/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes.h - the contract of the node's BPF object. It is included by the programs (*.bpf.h, gathered
 * in probes.bpf.c), by their loader (ceems-bpf) and by the readers of the maps, which do not use libbpf
 * (src/libmeter/activity/probes.c, taskcount.c, fsio.c, netcount.c, bperf.c).
 *
 * A node has one object. A step registers its cgroup and gets a slot. Each program finds the slot of
 * a task or socket by its cgroup, through a direct-mapped cache (slot.bpf.h), and adds to rows of
 * that slot. No program is made per step.
 *
 *	group	cost				on for		counts
 *	tasks	per exit of a thread		all steps	what the kernel counts per task
 *	tcp	per connection			all steps	what the kernel counts per socket
 *	io	per I/O call			those that ask	the same by file system
 *	net	per packet of the step		those that ask	packets, UDP
 *	hw	per switch between steps	those that ask	hardware counters
 *
 * Pinned below BpfDir/PROBES_DIR, folder 0700: all maps, and the programs as "prog_NAME". Links are
 * not pinned. A program is attached as long as a process has its link open. slurmd and each step
 * hold the links of tasks and tcp. A step holds the links of what it asked for. slurmd keeps the
 * links of io a while longer. A process that needs a link takes it by the id in meta.link[]. If
 * that link is dead, it attaches the pinned program, under the lock of
 * src/libmeter/activity/probes.h. So the kernel detaches unused programs, whichever process was
 * killed.
 *
 * If you change a layout or a meaning, raise PROBES_ABI, which is part of the folder's name. Programs of
 * two versions run side by side until the last step of the old version has ended. Each version must be able
 * to find out whether another version is in use. So the maps of users and owners have one form in all
 * versions. In users, the key is the process's number, and its start time is at offset 0 of the value. An
 * owner begins with the process's number, and has the start time at offset 8.
 */
#ifndef CEEMS_BPF_PROBES_H
#define CEEMS_BPF_PROBES_H

#include <linux/types.h>

#define PROBES_ABI 4
#define PROBES_DIR "v4"

#define PROBES_SLOTS 1024 /* numbered from 1, so that 0 can mean none */
#define PROBES_CGROUPS (2 * PROBES_SLOTS)
#define PROBES_USERS 64
/* Folders walked from a task's cgroup upwards; Slurm's tasks are 2 to 3 below their step. */
#define PROBES_DEPTH 24

enum probes_group {
	PROBES_TASKS,
	PROBES_TCP,
	PROBES_IO,
	PROBES_NET,
	PROBES_HW,
	PROBES_GROUP_N
};

/* Why a group is not there. */
enum probes_why {
	PROBES_OK,
	PROBES_NO_HOOK,	  /* the kernel has no place to hook into, or refuses it (fexit) */
	PROBES_NO_FIELD,  /* the kernel does not count it, or hides where */
	PROBES_NO_HELPER, /* too old a kernel: the verifier refused */
	PROBES_NOT_BUILT,
};

/* What programs are attached to; also names of the pins: "prog_" and probes_link_name[]. */
enum probes_link {
	LINK_TASK_EXIT, /* tp_btf/sched_process_exit */
	LINK_TCP_STATE, /* tp_btf/inet_sock_set_state */
	LINK_TCP_AGAIN, /* the same: see tcp.bpf.h */
	LINK_IO_READ,	/* fexit of vfs_read ... */
	LINK_IO_WRITE,
	LINK_IO_READV,
	LINK_IO_WRITEV,
	LINK_IO_SENDFILE,
	LINK_IO_SPLICE,
	LINK_IO_COPY_RANGE,
	LINK_IO_AIO_READ,
	LINK_IO_AIO_WRITE,
	LINK_IO_URING,	 /* tp_btf/io_uring_complete, in one of its shapes */
	LINK_HW_SWITCH,	 /* tp_btf/sched_switch */
	LINK_N,
	LINK_MAX = 32
};

#define PROBES_HAS_CHARS (1u << 0)   /* rchar ... syscw: CONFIG_TASK_XACCT */
#define PROBES_HAS_STORAGE (1u << 1) /* read_bytes, write_bytes: CONFIG_TASK_IO_ACCOUNTING */
#define PROBES_HAS_RUN_DELAY (1u << 2) /* sched_info: CONFIG_SCHED_INFO */
#define PROBES_HAS_LIVE_TCP (1u << 3)  /* the iterator over sockets: else only closed ones count */
#define PROBES_HAS_V1 (1u << 4)	       /* steps are found by the v1 freezer, too */
/* Function hooks cannot be attached a second time (before 5.13): slurmd keeps those that a step made. */
#define PROBES_FEXIT_ONCE (1u << 5)
#define PROBES_HAS_URING (1u << 6) /* I/O by io_uring is booked to file systems: else it is missing */

struct probes_meta {
	__u32 abi;
	__u32 features;		   /* PROBES_HAS_*: the others read 0 and mean nothing */
	__u8 why[8];		   /* enum probes_why by group */
	__u32 generation;	   /* of the registrations: an older cache entry is void */
	__u32 shards;		   /* of fs_rows and hw_rows, a power of 2; by the loader */
	__u64 full;		   /* registrations that found no slot */
	__u64 lost[8];		   /* by group: events that could not be booked */
	__u32 link[LINK_MAX];	   /* id of the link in force; 0: none */
};
_Static_assert(sizeof(struct probes_meta) == 224, "probes ABI");

/* --- who ---------------------------------------------------------------------------------- */

/* Numbers are per hierarchy: the same one may name a v1 and a v2 folder. */
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

/* By slot; inserted with BPF_NOEXIST, which is how a slot is allocated. */
struct probes_owner {
	__u32 pid;    /* of the stepd */
	__u32 groups; /* bits by enum probes_group: what it asked for */
	__u64 start;  /* field 22 of /proc/PID/stat: tells a reused pid */
	__u64 cgroup_v2;
	__u64 cgroup_v1;
	__u32 tgid; /* its pid as programs see it: that of the machine */
	__u32 pad;
};
_Static_assert(sizeof(struct probes_owner) == 40, "probes ABI");

/* By pid: daemons that want it loaded. */
struct probes_user {
	__u64 start;
};
_Static_assert(sizeof(struct probes_user) == 8, "probes ABI");

/*
 * The cache: PROBES_CACHE words of 64 bits, index = low bits of the cgroup's serial number. One word, so
 * that it is read and written whole:
 *	bits 44-63	generation, its low 20 bits; never 0, so that an empty entry is no answer
 *	bits 12-43	bits 16-47 of the serial number, the rest of which is the index
 *	bits 0-11	slot; 0: not a step's, which is cached as well
 *
 * The 20 bits come round: the process that makes them cross a half of their range empties the
 * cache. So entries of half a round ago are gone long before their number is used again.
 */
#define PROBES_SLOT_BITS 12
#define PROBES_CACHE_BITS 16
#define PROBES_CACHE (1u << PROBES_CACHE_BITS)
#define PROBES_GENERATION_MASK 0xfffffu
#define PROBES_GENERATION_HALF 0x80000u

/* --- tasks: sums over threads; of one thread in struct probes_living ------------------------ */

struct probes_task_counters {
	__u64 rchar; /* bytes: struct task_io_accounting, as /proc/PID/io shows them */
	__u64 wchar;
	__u64 syscr;
	__u64 syscw;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 run_ns;	/* sum_exec_runtime: lacks what was used since the last tick or switch */
	__u64 delay_ns; /* sched_info.run_delay: runnable and waiting for a CPU */
	__u64 life_ns;	/* from the start of the thread to its exit, or to now */
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
	__u32 owner; /* tgid of the stepd, which may sit in the step's cgroup: not counted */
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

/* --- tcp: payload bytes, each counted once though sent twice -------------------------------- */

struct probes_tcp_counters {
	__u64 received_bytes; /* in order, without SYN and FIN; read by the program or not */
	__u64 sent_bytes;     /* first transmissions only */
	__u64 retransmitted_bytes;
	__u64 received_segments; /* all three: the kernel's 32 bits per socket, which wrap */
	__u64 sent_segments;
	__u64 retransmitted_segments;
	__u64 connections; /* that were established, by either side */
	__u64 failed;	   /* connect() that did not get there */
};
_Static_assert(sizeof(struct probes_tcp_counters) == 64, "probes ABI");

/* ARRAY by slot: of sockets that closed. */
struct probes_tcp_row {
	struct probes_tcp_counters closed;
	__u32 begun; /* bookings: while it is not DONE, somebody adds to the row */
	__u32 done;
};
_Static_assert(sizeof(struct probes_tcp_row) == 72, "probes ABI");

/* SK_STORAGE: marks sockets of steps, which is how the iterator finds them in every namespace. */
struct probes_tcp_mark {
	__u32 is_booked; /* to the row: not to be listed */
	__u32 has_syn;	 /* counted with what the peer acknowledged */
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
#define PROBES_SHARDS_MAX 16 /* so that CPUs do not wait for each other's cache line */

struct probes_fs_row {
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 read_calls;
	__u64 write_calls;
	__u64 read_errors;
	__u64 write_errors;
	__u32 device; /* as in struct probes_fs, so that a hit touches this cache line only; 0: free */
	__u32 pad[3];
};
_Static_assert(sizeof(struct probes_fs_row) == 64, "probes ABI");

/*
 * ARRAY by slot. All data of a slot are one element. So an event looks it up once, and a
 * registration empties it at once. The loader reduces it to the number of shards in use.
 */
struct probes_fs {
	__u32 device[PROBES_FS]; /* kernel-internal s_dev, major << 20 | minor; 0: free */
	__u32 owner;		 /* as in struct probes_task_row */
	__u32 pad[15];
	struct probes_fs_row others; /* devices that found no place: counted as lost, too */
	struct probes_fs_row row[PROBES_SHARDS_MAX][PROBES_FS];
};
_Static_assert(sizeof(struct probes_fs) == 192 + 64 * PROBES_SHARDS_MAX * PROBES_FS, "probes ABI");
#define PROBES_FS_SIZE(shards) (192 + 64 * (shards) * PROBES_FS)

/*
 * HASH: who inserts it first, with BPF_NOEXIST, has this place in device[] for its device. The
 * value has the mount point, as seen by the first task with a file there. Mounts of a container may
 * be gone before user space can look.
 */
struct probes_fs_place {
	__u32 slot;
	__u32 place;
};
_Static_assert(sizeof(struct probes_fs_place) == 8, "probes ABI");

#define PROBES_FS_NAME 64 /* of one folder, with its NUL: longer ones are cut */
struct probes_fs_mount {
	__u32 device;
	__u32 has_path; /* all of it is in PATH; empty: "/" */
	char type[16];	/* "tmpfs"; cut if longer */
	char path[192]; /* names of its folders, each with a NUL, from the mount point up to "/" */
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
	__u64 packets; /* of the wire: segments of a super-packet count one by one */
	__u64 bytes;   /* of IP packets, headers included */
	__u64 payload; /* UDP: of datagrams; TCP: of segments, repeats included */
};
struct probes_net_row {
	struct probes_net_count in[NET_KIND_N];
	struct probes_net_count out[NET_KIND_N];
	__u64 pad[4]; /* to whole cache lines */
};
_Static_assert(sizeof(struct probes_net_row) == 320, "probes ABI");

/*
 * Eight for all CPUs: a row per CPU would be 37 MiB where 512 steps ask on 256 CPUs. A value may have
 * a page at most.
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
	__u64 enabled_ns[PROBES_HW_EVENTS]; /* while the slot ran on a CPU that counts */
	__u64 running_ns[PROBES_HW_EVENTS]; /* and the event was on the PMU */
};
_Static_assert(sizeof(struct probes_hw_row) == 384, "probes ABI");

/* ARRAY by slot. */
struct probes_hw_slot {
	__u32 owner; /* tgid of the stepd that asked; 0: not to be booked */
	__u32 pad;
};
_Static_assert(sizeof(struct probes_hw_slot) == 8, "probes ABI");

/* ARRAY by CPU, written there only: who runs, and what its counters said when it began to. */
struct probes_hw_value { /* struct bpf_perf_event_value */
	__u64 count;
	__u64 enabled_ns;
	__u64 running_ns;
};
struct probes_hw_cpu {
	__u64 set;	  /* kernel address of the running task's css_set; only compared, never followed */
	__u32 slot;	  /* 0: no step that asked */
	__u32 owner;	  /* of the slot of that set; 0: it did not ask */
	__u32 is_owner;	  /* it is the owner that runs */
	__u32 generation; /* meta.generation when this was looked up */
	__u32 counters;	  /* config.counters[] of the values in force; 0: there are none */
	__u32 which;	  /* of the two sets of values is in force; the other one is read into */
	__u32 pad[8];
	struct probes_hw_value value[2][PROBES_HW_EVENTS];
};
_Static_assert(sizeof(struct probes_hw_cpu) == 832, "probes ABI");

/* What is counted; from struct perf_event_attr. */
struct probes_hw_event {
	__u32 type;
	__u16 exclude; /* bits: user, kernel, hv, idle, host, guest */
	__u16 group;
	__u64 config;
	__u64 config1;
	__u64 config2;
	__s32 error; /* -errno: it could not be opened, and has no place in hw_events */
	__u32 pad;
};
_Static_assert(sizeof(struct probes_hw_event) == 40, "probes ABI");

/*
 * ARRAY[1], changed under the lock of the folder only. hw_events[index * PROBES_HW_CPUS + cpu] has the
 * counters; index runs over those events that have no error.
 */
struct probes_hw_config {
	__u32 n;       /* of event[]; 0: no counters, nor entries in hw_events */
	__u32 count;   /* of those without error */
	__u32 cpu_end; /* no entries at or above this CPU */
	__u32 serial;  /* numbers given to counters[] so far */
	struct probes_hw_event event[PROBES_HW_EVENTS];
	__u32 counters[PROBES_HW_CPUS]; /* 0: not counted; else a number used for one set only */
};
_Static_assert(sizeof(struct probes_hw_config) == 16 + 640 + 4096, "probes ABI");

#endif
