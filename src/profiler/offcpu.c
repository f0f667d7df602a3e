/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/offcpu.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/profile/profile_mon.h"
#include "src/libmeter/activity/bpfsys.h"
#include "src/profiler/offcpu_stacks.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

struct offcpu {
	struct profile_waits waits;
	struct offcpu_stacks stacks;
	uint64_t lost;
	uint64_t user[PROFILE_DEPTH], kernel[PROFILE_DEPTH];
};

int offcpu_open(const struct offcpu_setup *setup, struct offcpu **ret, struct errmsg *err)
{
	struct offcpu *o = calloc(1, sizeof(*o));
	int rc;

	if (!o)
		return errmsg_errno(err, -ENOMEM, "waits");
	rc = profile_waits_open(setup->cgroup_fd, setup->has_user, setup->has_kernel, &o->waits, err);
	if (rc < 0) {
		free(o);
		return rc;
	}
	o->stacks.map = o->waits.stacks;
	*ret = o;
	return 0;
}

void offcpu_close(struct offcpu *o)
{
	if (!o)
		return;
	profile_waits_close(&o->waits);
	offcpu_stacks_close(&o->stacks);
	free(o);
}

/* --- what was counted ----------------------------------------------------------------------- */

static void pass_sum(struct offcpu *o, const struct profile_wait *key, const struct profile_sum *sum,
		     uint64_t now_ns, stacks_fn *fn, void *ctx)
{
	const struct offcpu_stack user = { key->generation, key->user },
				  kernel = { key->generation, key->kernel };
	struct stacks_record r = {
		.kind = STACKS_WAIT,
		.pid = key->pid,
		.tid = key->tid,
		.mono_ns = now_ns,
		.wait_ns = sum->ns,
		.user = o->user,
		.kernel = o->kernel,
	};

	r.nuser = offcpu_stacks_read(&o->stacks, &user, o->user);
	r.nkernel = offcpu_stacks_read(&o->stacks, &kernel, o->kernel);
	r.is_cut = r.nuser == PROFILE_DEPTH;
	fn(ctx, &r);
}

static void pass_lost(struct offcpu *o, uint64_t now_ns, stacks_fn *fn, void *ctx)
{
	const uint64_t lost = __atomic_load_n(&o->waits.control->lost, __ATOMIC_RELAXED);
	struct stacks_record r = { .kind = STACKS_LOST, .mono_ns = now_ns };

	if (lost == o->lost)
		return;
	r.lost = lost - o->lost;
	o->lost = lost;
	fn(ctx, &r);
}

/* Adds the stacks that each wait of the map `begins` or `sums` has to USED. Returns how many they are. */
static size_t find_used(const struct offcpu *o, struct offcpu_stack *used, size_t max)
{
	const int begins = o->waits.begins, sums = o->waits.sums;
	size_t n = 0;
	struct profile_begin wait;
	struct profile_wait key;
	uint32_t tid;
	int rc;

	/* a wait that ends meanwhile is deleted from `begins` before it is added to `sums` */
	for (rc = bpfsys_next_key(begins, NULL, &tid); rc == 0 && n + 2 <= max;
	     rc = bpfsys_next_key(begins, &tid, &tid)) {
		if (bpfsys_lookup(begins, &tid, &wait) < 0)
			continue;
		used[n++] = (struct offcpu_stack){ wait.generation, wait.user };
		used[n++] = (struct offcpu_stack){ wait.generation, wait.kernel };
	}
	(void)usleep(1000);
	for (rc = bpfsys_next_key(sums, NULL, &key); rc == 0 && n + 2 <= max;
	     rc = bpfsys_next_key(sums, &key, &key)) {
		used[n++] = (struct offcpu_stack){ key.generation, key.user };
		used[n++] = (struct offcpu_stack){ key.generation, key.kernel };
	}
	return n;
}

/* Begins a new generation of stacks. Without memory for it, the old one goes on. */
static void renew_stacks(struct offcpu *o)
{
	const size_t max = 2 * (PROFILE_THREADS + PROFILE_SUMS);
	_cleanup_free_ struct offcpu_stack *used = malloc(max * sizeof(*used));

	if (!used || offcpu_stacks_renew(&o->stacks, used, find_used(o, used, max)) < 0)
		return;
	__atomic_store_n(&o->waits.control->generation, o->stacks.generation, __ATOMIC_RELEASE);
}

void offcpu_drain(struct offcpu *o, stacks_fn *fn, void *ctx)
{
	const uint32_t old = __atomic_fetch_xor(&o->waits.control->half, 1, __ATOMIC_RELAXED);
	const uint64_t now_ns = clock_mono_ns();
	struct profile_wait key, next = { 0 };
	struct profile_sum sum;
	int rc;

	(void)usleep(1000); /* a program that has read the old half is done by then; it cannot be preempted */
	for (rc = bpfsys_next_key(o->waits.sums, NULL, &key); rc == 0; key = next) {
		rc = bpfsys_next_key(o->waits.sums, &key, &next);
		if (key.half != old || bpfsys_lookup(o->waits.sums, &key, &sum) < 0)
			continue;
		(void)bpfsys_delete(o->waits.sums, &key);
		pass_sum(o, &key, &sum, now_ns, fn, ctx);
	}
	pass_lost(o, now_ns, fn, ctx);
	if (offcpu_stacks_is_due(&o->stacks))
		renew_stacks(o);
}
