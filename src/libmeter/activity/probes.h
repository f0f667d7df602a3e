/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes.h - access to the node's BPF object from user space, without libbpf: its pinned maps and
 * programs, its registered users, and the links that keep programs attached. bpf/probes.h is the
 * contract with the kernel side. Three programs use this module. slurmd keeps the groups tasks and tcp
 * attached, and cleans up. Each slurmstepd registers its step. ceems-bpf loads and unloads the object.
 *
 * Lifetime: only open descriptors hold links, so the kernel detaches a program when the last process
 * that holds its link dies. The last user or step that ends in order removes the pins of maps and
 * detached programs; if there is none, the next probes_count() does.
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
 * DIR is BpfDir. -ENOENT: not loaded, or DIR is empty; -EPERM, -EACCES: our rights, or DIR is not ours
 * alone to write to; -EPROTO: maps of another ABI. All of them are REASON_NO_BPF (the last three worth a
 * log line).
 */
int probes_open(const char *dir, struct probes **ret, struct errmsg *err);
/* Lets go of all links; slots stay as they are. NULL: no-op. */
void probes_close(struct probes *p);

const char *probes_dir(const struct probes *p);
uint32_t probes_features(const struct probes *p); /* PROBES_HAS_* */
uint32_t probes_shards(const struct probes *p);
enum probes_why probes_why(const struct probes *p, enum probes_group group);
const char *probes_why_text(enum probes_why why); /* "no function hooks" */
const char *probes_group_name(enum probes_group group);
/* Events of GROUP that could not be booked since the object was loaded. */
uint64_t probes_lost(const struct probes *p, enum probes_group group);

/*
 * How many elements the array NAME has for each slot; a slot's elements begin at slot times that
 * number. 0: the array is not by slot. The loader makes PROBES_SLOTS + 1 times as many,
 * probes_register() empties them.
 */
uint32_t probes_rows_of_slot(const char *name, uint32_t shards);
/* And how large one is: with room for all shards, if they are in it. */
uint32_t probes_row_size(const char *name, uint32_t shards);

/*
 * The descriptor of a pinned map or program by its name, borrowed. Opened at first use, closed by
 * probes_close(). -ENOENT: it was not loaded. What is in DIR is root's and of our ABI, so that no
 * map's sizes are asked for.
 */
int probes_map(struct probes *p, const char *name, int *ret_fd);
int probes_program(struct probes *p, const char *name, int *ret_fd);

/* One of several steps that are read together: SLOT's counters are to be put in VALUES. */
struct values;
struct probes_step {
	uint32_t slot;
	struct values *values;
};

/* Which of N steps has a slot: 1 + its number, 0: none of them. Slots beyond the table have none. */
struct probes_index {
	uint16_t of[PROBES_SLOTS + 1];
};
void probes_index_make(struct probes_index *x, const struct probes_step *step, size_t n);
size_t probes_index_find(const struct probes_index *x, uint32_t slot);

/* Sums of rows that have no other members than __u64, SIZE bytes in all. */
void probes_add(void *to, const void *from, size_t size);
void probes_subtract(void *to, const void *from, size_t size);

/*
 * Joins those who have GROUP's programs attached, or attaches them, until probes_close(). Attaching
 * takes the lock of the folder. While another process holds the lock, each program that it attaches
 * is joined. -EBUSY: that process attached none for PROBES_HOLD_WAIT_NS. -EOPNOTSUPP: the group is
 * not there (probes_why()). PROBES_NET has no link here: netcount.h.
 */
#define PROBES_HOLD_WAIT_NS (1000 * UINT64_C(1000000))
int probes_hold(struct probes *p, enum probes_group group, struct errmsg *err);
/* Joins what there is of GROUP and attaches nothing; how many of its programs are held then. */
unsigned int probes_share(struct probes *p, enum probes_group group);
/*
 * Lets go of one program of GROUP; false: none was held. The last holder of a function hook waits
 * for a grace period of the kernel per hook, some 0.1 s.
 */
bool probes_drop(struct probes *p, enum probes_group group);

/*
 * From now on counts what runs in and below the cgroups with these ids, in a slot of its own. The
 * ids are inode numbers of the v2 and the v1 freezer folder; 0: none. Rows of GROUPS are emptied.
 * Threads of the calling process are left out, wherever they are. GROUPS: bits by enum probes_group
 * that the step asked for. -EINVAL: no id, or the id of a hierarchy's root. -ENOSPC: the table is
 * full; that is counted. -EOPNOTSUPP: there is only a v1 id, and the programs were loaded before a
 * v1 freezer existed.
 */
int probes_register(struct probes *p, uint64_t cgroup_v2_id, uint64_t cgroup_v1_id,
		    uint32_t groups, uint32_t *ret_slot);
/* Gives the slot back. May remove the pins, see above. */
void probes_release(struct probes *p, uint32_t slot);
/*
 * The same by who knows that slurmd lives, which looks after the pins. False: the slot is not the caller's.
 */
bool probes_leave(struct probes *p, uint32_t slot);

/* --- who keeps it loaded ------------------------------------------------------------------ */

/* Who owns the slot. -ENOENT: nobody. */
int probes_owner(struct probes *p, uint32_t slot, struct probes_owner *ret);

/* Keeps the object loaded as long as process PID lives, or until probes_user_remove(). */
int probes_user_add(struct probes *p, pid_t pid);
int probes_user_remove(struct probes *p, pid_t pid);

struct probes_count {
	uint32_t users, slots; /* alive */
	uint32_t holds;	       /* links in force */
	uint32_t groups;       /* bits: somebody alive asked for it */
	uint64_t full;	       /* registrations refused so far */
};
/* What dead processes left; of many at once some, the others the next time. */
#define PROBES_DEAD_MAX 64
struct probes_dead {
	uint32_t nslots, nusers;
	uint32_t slot[PROBES_DEAD_MAX];
	struct probes_owner owner[PROBES_DEAD_MAX];
	uint32_t user[PROBES_USERS];
};
/* Who uses it; changes nothing. RET_DEAD may be NULL. -ENOENT: it is being removed. */
int probes_count(struct probes *p, struct probes_count *ret, struct probes_dead *ret_dead);
/*
 * Removes what probes_count() found, if it is still there. Call it with probes_lock() held. Else,
 * of two processes that found the same dead slot, the slower one could remove a slot that was given
 * out anew. What the slots counted is lost, so slurmd reads it before.
 */
void probes_reap(struct probes *p, const struct probes_dead *dead);

/* Long enough for most who have the lock, short enough for a step's start. */
#define PROBES_LOCK_WAIT_NS (250 * UINT64_C(1000000))
/*
 * Serialises loading, attaching and unloading by a lock on the folder DIR (created), as long as the
 * fd is open. -EWOULDBLOCK: the lock was taken for longer than WAIT_NS; UINT64_MAX: waits for it.
 * -EPERM: others may write to DIR.
 */
int probes_lock(const char *dir, uint64_t wait_ns, int *ret_fd, struct errmsg *err);

/* Removes DIR/SUB and what is pinned there. DIR stays: it is the lock. */
void probes_unpin(const char *dir, const char *sub);

#endif
