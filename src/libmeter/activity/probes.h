/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes.h - access to the node's BPF object from user space, without libbpf. The object is a set
 * of pinned maps and programs, with a list of its users. bpf/probes.h describes its maps. Three
 * programs use this module: slurmd keeps the groups tasks and tcp attached, and cleans up; each
 * slurmstepd registers its step; ceems-bpf loads and unloads the object.
 *
 * Lifetime: links are not pinned. The kernel detaches a program when the last process that holds
 * its link ends. The last user or step that ends normally also removes the pins of maps and
 * programs. If none ends normally, slurmd or the next ceems-bpf removes them.
 */
#ifndef CEEMS_PROBES_H
#define CEEMS_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/probes.h"
#include "src/libmeter/activity/bpfsys.h"
#include "src/libutil/errmsg.h"

struct probes;

/*
 * Opens the object below DIR, the setting BpfDir. -ENOENT: it is not loaded, or DIR is "". -EPERM,
 * -EACCES: we lack the rights, or others may write to DIR. -EPROTO: its maps have another ABI. After each of
 * these errors, metrics get REASON_NO_BPF. The caller logs all but -ENOENT.
 */
int probes_open(const char *dir, struct probes **ret, struct errmsg *err) _must_check_;
/* Closes all links and maps. Registered slots stay registered. NULL: no-op. */
void probes_close(struct probes *p);

const char *probes_dir(const struct probes *p);
uint32_t probes_features(const struct probes *p); /* PROBES_HAS_* */
uint32_t probes_shards(const struct probes *p);
enum probes_why probes_why(const struct probes *p, enum probes_group group);
const char *probes_why_text(enum probes_why why); /* such as "no function hooks" */
const char *probes_group_name(enum probes_group group);
/*
 * Returns how many events of GROUP were lost since the object was loaded, because a map was full.
 */
uint64_t probes_lost(const struct probes *p, enum probes_group group);
/*
 * Returns how many events of GROUP, at most, were not counted since the object was loaded because the kernel
 * skipped a program (recursion_misses). It does so while a task is preempted in the same program on that CPU,
 * so the events may be of any process of the node.
 */
uint64_t probes_skipped(struct probes *p, enum probes_group group);

/*
 * Returns how many elements of the array NAME belong to one slot. Those of slot S begin at index S
 * times that number. 0: the array is not divided by slot. The loader makes the array large enough
 * for PROBES_SLOTS + 1 slots. probes_register() empties a slot's elements.
 */
uint32_t probes_rows_of_slot(const char *name, uint32_t shards);
/*
 * Returns the size of one element of the array NAME, in bytes. It depends on SHARDS if an element
 * has the counts of all shards.
 */
uint32_t probes_row_size(const char *name, uint32_t shards);

/*
 * Return a pinned map or program by its name. It is opened at the first call; *RET_FD is borrowed
 * and closed by probes_close(). -ENOENT: it was not loaded. Only root can write to DIR, and the ABI
 * was checked, so the sizes of maps are not checked again.
 */
int probes_map(struct probes *p, const char *name, int *ret_fd) _must_check_;
int probes_program(struct probes *p, const char *name, int *ret_fd) _must_check_;

/* One of several steps that are read together. The counts of SLOT go to VALUES. */
struct values;
struct probes_step {
	uint32_t slot;
	struct values *values;
};

/* Finds a step by its slot: of[SLOT] is 1 + the step's index, or 0 if no step has the slot. */
struct probes_index {
	uint16_t of[PROBES_SLOTS + 1];
};
void probes_index_make(struct probes_index *x, const struct probes_step *step, size_t n);
size_t probes_index_find(const struct probes_index *x, uint32_t slot);

/* Add or subtract rows of SIZE bytes that consist of __u64 counters only. */
void probes_add(void *to, const void *from, size_t size);
void probes_subtract(void *to, const void *from, size_t size);

/*
 * Keeps GROUP's programs attached until probes_close(). If other processes have attached them,
 * their links are opened, too; else the programs are attached, under the lock of the folder. If
 * another process has the lock, each program that it attaches is joined. -EBUSY: that process
 * attached none within PROBES_HOLD_WAIT_NS. -EOPNOTSUPP: the group is not loaded (probes_why()).
 * PROBES_NET has no links here; see netcount.h.
 */
#define PROBES_HOLD_WAIT_NS (1000 * UINT64_C(1000000))
int probes_hold(struct probes *p, enum probes_group group, struct errmsg *err);
/*
 * Opens the links of GROUP's programs that others have attached, but attaches none. Returns how
 * many are held then.
 */
unsigned int probes_share(struct probes *p, enum probes_group group);
/*
 * Closes the link of one program of GROUP. Returns false if none was held. If it was the last link
 * of a function hook, the kernel waits for a grace period, some 0.1 s per hook.
 */
bool probes_drop(struct probes *p, enum probes_group group);

/*
 * Registers a step: from now on, tasks in its cgroups and below them are counted in a slot of its
 * own. The ids are the inode numbers of the step's folders in v2 and in the v1 freezer; 0: none.
 * GROUPS is a mask of 1 << enum probes_group that the step asked for; the slot's rows of these
 * groups are cleared. Threads of the calling process are not counted, wherever they are. -EINVAL:
 * no id, or the id of a hierarchy's root. -ENOSPC: all slots are taken; probes_count() tells how
 * often. -EOPNOTSUPP: there is only a v1 id, and the programs were loaded before a v1 freezer
 * existed.
 */
int probes_register(struct probes *p, uint64_t cgroup_v2_id, uint64_t cgroup_v1_id, uint32_t groups,
		    uint32_t *ret_slot) _must_check_;
/* Frees the slot. Removes the object's pins if this was the last user or step. */
void probes_release(struct probes *p, uint32_t slot);
/*
 * Frees the slot and leaves the pins alone, for a caller who knows that slurmd lives and looks
 * after them. False: the slot is not the caller's.
 */
bool probes_leave(struct probes *p, uint32_t slot);

/* --- who keeps it loaded ------------------------------------------------------------------ */

/* Gives the owner of the slot. -ENOENT: the slot has no owner. */
int probes_owner(struct probes *p, uint32_t slot, struct probes_owner *ret) _must_check_;

/* Keeps the object loaded as long as process PID lives, or until probes_user_remove(). */
int probes_user_add(struct probes *p, pid_t pid);
int probes_user_remove(struct probes *p, pid_t pid);

struct probes_count {
	uint32_t users, slots; /* those whose process is alive */
	uint32_t holds;	       /* links that attach programs now */
	uint32_t groups;       /* mask of the groups that living steps asked for */
	uint64_t full;	       /* registrations refused so far */
};
/*
 * Slots and users whose process is dead. At most PROBES_DEAD_MAX of each; a second call finds the
 * rest.
 */
#define PROBES_DEAD_MAX 64
struct probes_dead {
	uint32_t nslots, nusers;
	uint32_t slot[PROBES_DEAD_MAX];
	struct probes_owner owner[PROBES_DEAD_MAX];
	uint32_t user[PROBES_USERS];
};
/*
 * Counts the users of the object, and lists the dead ones in RET_DEAD, which may be NULL. Changes
 * nothing. -ENOENT: the object is being removed.
 */
int probes_count(struct probes *p, struct probes_count *ret, struct probes_dead *ret_dead) _must_check_;
/*
 * Frees the slots and users that probes_count() found dead, if they have not changed since. The counts in the
 * slots are lost, so slurmd reads them before. Call it with probes_lock() held: otherwise, two processes
 * could find the same dead slot, and the slower one could free it after it was given to a new step.
 */
void probes_reap(struct probes *p, const struct probes_dead *dead);

/*
 * How long a step waits for the lock: longer than most processes hold it, but short enough
 * for the start of a step.
 */
#define PROBES_LOCK_WAIT_NS (250 * UINT64_C(1000000))
/*
 * Takes the lock that serialises loading, attaching and unloading. The lock is on the folder DIR,
 * which is created, and lasts as long as *RET_FD is open. WAIT_NS limits the wait; UINT64_MAX: no
 * limit. -EWOULDBLOCK: the limit is reached. -EPERM: others may write to DIR.
 */
int probes_lock(const char *dir, uint64_t wait_ns, int *ret_fd, struct errmsg *err) _must_check_;

/* Removes DIR/SUB with all pins in it. DIR stays, since the lock is on it. */
void probes_unpin(const char *dir, const char *sub);

#endif
