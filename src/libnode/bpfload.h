/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpfload.h - loads the BPF programs for slurmd: starts ceems-bpf and waits for it, with a
 * deadline. Only the sampler's thread does this, so no other thread of slurmd waits.
 */
#ifndef CEEMS_BPFLOAD_H
#define CEEMS_BPFLOAD_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

/* Exit statuses of ceems-bpf. */
enum {
	BPFLOAD_EXIT_FAILED = 1,
	BPFLOAD_EXIT_USAGE = 2,
	BPFLOAD_EXIT_IN_USE = 3,
	BPFLOAD_EXIT_UNSUPPORTED = 4,
};

struct bpfload;

/*
 * Starts "HELPER load --dir DIR --for <this process>". DIR is the setting BpfDir. The helper is killed if it
 * still runs after TIMEOUT_NS. Returns 0 or an error of bpfload_wait().
 */
int bpfload_start(const char *helper, const char *dir, uint64_t timeout_ns, struct bpfload **ret,
		  struct errmsg *err) _must_check_;

/*
 * Waits for the helper until UNTIL_NS, CLOCK_MONOTONIC; 0: only looks. -EAGAIN: it still runs. All else frees
 * L: 0 if the programs are loaded, also if they were before; that takes about 50 ms. -ENOENT: DIR is "".
 * -EOPNOTSUPP: this machine cannot load them (logged as info). -ETIMEDOUT: the helper was killed. -EIO: any
 * other failure. ERR has the helper's message.
 */
int bpfload_wait(struct bpfload *l, uint64_t until_ns, struct errmsg *err);

/* Kills the helper, and frees L. NULL: no-op. */
void bpfload_cancel(struct bpfload *l);

/* Starts the helper and waits for its end. */
int bpfload_run(const char *helper, const char *dir, uint64_t timeout_ns, struct errmsg *err);

/*
 * Unloads the programs when the sampler ends. Returns 0 if nothing is left in the kernel. -EBUSY:
 * steps or another slurmd still use the programs; the last of these unloads them.
 */
int bpfload_stop(const char *helper, const char *dir, uint64_t timeout_ns, struct errmsg *err);

#endif
