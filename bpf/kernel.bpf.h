/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel.bpf.h - declares only the fields of kernel structs that our programs use; CO-RE finds
 * their offsets. Fields that a kernel may lack are tested with bpf_core_field_exists(). If a field
 * was renamed, a second struct (name___what) is declared beside it, with the id of the kernel's
 * commit.
 */
#ifndef CEEMS_KERNEL_BPF_H
#define CEEMS_KERNEL_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define KERNEL __attribute__((preserve_access_index))

#define PF_EXITING 0x00000004 /* include/linux/sched.h, unchanged since 2.6 */
#define PF_KTHREAD 0x00200000

/* --- cgroups ------------------------------------------------------------------------------ */

struct kernfs_node {
	__u64 id;
} KERNEL;

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	__u64 serial_nr;
	struct cgroup_subsys_state *parent;
} KERNEL;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
} KERNEL;

enum cgroup_subsys_id {
	freezer_cgrp_id = 0, /* the running kernel's value is relocated in */
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
} KERNEL;

struct files_struct;
struct cred;

/* --- tasks -------------------------------------------------------------------------------- */

struct task_io_accounting {
	__u64 rchar, wchar, syscr, syscw;
	__u64 read_bytes, write_bytes;
} KERNEL;

struct sched_entity {
	__u64 sum_exec_runtime;
	__u64 nr_migrations;
} KERNEL;

struct sched_info {
	unsigned long long run_delay;
} KERNEL;

typedef struct {
	unsigned long __mm_flags[1];
} KERNEL mm_flags_t;

struct mm_struct {
	mm_flags_t flags; /* since 6.18 (bb6525f2f8c4) */
} KERNEL;
struct mm_struct___word {
	unsigned long flags; /* before 6.18 */
} KERNEL;

enum task_dumpable {
	TASK_DUMPABLE_OWNER = 1,
};

struct task_exec_state {
	enum task_dumpable dumpable; /* a relocation to an int would fail */
} KERNEL;

struct task_struct___exec {
	struct task_exec_state *exec_state; /* seen in 7.2; before, mm->flags has what is in it */
} KERNEL;

struct task_struct {
	unsigned int flags;
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct css_set *cgroups;
	struct files_struct *files;
	const struct cred *cred, *real_cred;
	struct sched_entity se;
	struct sched_info sched_info;
	unsigned long nvcsw, nivcsw;
	__u64 start_time;
	unsigned long min_flt, maj_flt;
	struct task_io_accounting ioac;
} KERNEL;

/* --- files -------------------------------------------------------------------------------- */

struct file_system_type {
	const char *name;
} KERNEL;

struct super_block {
	__u32 s_dev;
	struct file_system_type *s_type;
} KERNEL;

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
} KERNEL;

struct qstr {
	const unsigned char *name;
} KERNEL;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
} KERNEL;

struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
} KERNEL;

/* fs/mount.h */
struct mount {
	struct mount *mnt_parent; /* itself: the root of its namespace */
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	void *mnt_ns; /* NULL or an error: in no namespace */
} KERNEL;

struct path {
	struct vfsmount *mnt;
} KERNEL;

struct file {
	struct path f_path;
	struct inode *f_inode;
} KERNEL;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} KERNEL;

struct files_struct {
	struct fdtable *fdt;
} KERNEL;

/* fs/aio.c, and what it takes from user space */
struct kiocb {
	struct file *ki_filp;
} KERNEL;

struct io_event {
	__s64 res;
} KERNEL;

typedef struct {
	int counter;
} KERNEL atomic_t;

typedef struct refcount_struct {
	atomic_t refs;
} KERNEL refcount_t;

struct aio_kiocb {
	struct io_event ki_res;
	refcount_t ki_refcnt;
} KERNEL;

struct iocb {
	__u64 aio_buf;
	__u64 aio_nbytes;
} KERNEL;

/* io_uring */
struct io_uring_cqe {
	__s32 res;
} KERNEL;

struct io_kiocb {
	struct file *file;
	__u8 opcode;
} KERNEL;

/* --- sockets ------------------------------------------------------------------------------ */

struct sock_cgroup_data {
	struct cgroup *cgroup; /* since 5.15 (8520e224f547) */
} KERNEL;
struct sock_cgroup_data___tagged {
	__u64 val; /* before 5.15: that pointer; with bit 0 or 1 set, something else */
} KERNEL;

struct sock_common {
	volatile unsigned char skc_state;
	unsigned long skc_flags;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
	struct sock_cgroup_data sk_cgrp_data;
} KERNEL;

enum sock_flags {
	SOCK_DONE = 1, /* the running kernel's value is relocated in */
};

struct tcp_sock {
	__u64 bytes_received;
	__u64 bytes_acked;
	__u64 bytes_sent;
	__u64 bytes_retrans;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 write_seq;
	__u32 segs_in;
	__u32 segs_out;
	__u32 total_retrans;
} KERNEL;

/* --- iterators ---------------------------------------------------------------------------- */

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} KERNEL;

#endif
