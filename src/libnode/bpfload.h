/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpfload.h - loads the BPF programs for slurmd: starts ceems-bpf and waits for it, with a deadline.
 * Only the sampler's thread calls this; no other thread of slurmd is blocked.
 */
#ifndef CEEMS_BPFLOAD_H
#define CEEMS_BPFLOAD_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

/* How ceems-bpf ends. */
enum {
	BPFLOAD_EXIT_FAILED = 1,
	BPFLOAD_EXIT_USAGE = 2,
	BPFLOAD_EXIT_IN_USE = 3,
	BPFLOAD_EXIT_UNSUPPORTED = 4,
};

/*
 * "HELPER load --dir DIR --for <this process>"; DIR is BpfDir; if it is empty, -ENOENT. Returns 0
 * when the programs are loaded, or were already; that takes about 50 ms. -EOPNOTSUPP: not possible
 * on this machine (info, not an error). -ETIMEDOUT: killed after TIMEOUT_NS. -EIO: anything else.
 * ERR has the helper's own words.
 */
int bpfload_run(const char *helper, const char *dir, uint64_t timeout_ns, struct errmsg *err);

/*
 * The inverse, when the sampler ends. 0: nothing is left in the kernel. -EBUSY: steps or another
 * slurmd still use the programs; the last of them unloads.
 */
int bpfload_stop(const char *helper, const char *dir, uint64_t timeout_ns, struct errmsg *err);

#endif
