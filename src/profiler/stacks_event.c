/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/stacks_event.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bpf/profile/profile_mon.h"
#include "ceems_config.h"
#include "src/libcore/metric.h"
#include "src/libmeter/activity/bpfsys.h"
#include "src/libmeter/activity/perf_set.h"
#include "src/libutil/util.h"

/* The bit of attr.build_id. Headers before Linux 5.12 do not name it (kernel commit 88a16a1309333). */
#define ATTR_BUILD_ID (UINT64_C(1) << 34)

const struct stacks_event_info stacks_events[STACKS_EVENTS_N] = {
	[STACKS_CLOCK] = { "cpu-clock", "cpu", "nanoseconds", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	[STACKS_CYCLES] = { "cycles", "cycles", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
};

/*
 * Opens the event ATTR on CPU with MORE_BITS set in its flags, which begin behind read_format.
 * Returns an fd or -errno.
 */
static int open_with(const struct stacks_setup *setup, struct perf_event_attr attr, uint64_t more_bits,
		     uint32_t cpu)
{
	const struct perf_event_ops *ops = setup->ops ? setup->ops : &perf_event_kernel;
	char *at = (char *)&attr + offsetof(struct perf_event_attr, read_format) + sizeof(attr.read_format);
	uint64_t bits;

	memcpy(&bits, at, sizeof(bits));
	bits |= more_bits;
	memcpy(at, &bits, sizeof(bits));
	return ops->open(setup->ops_ctx, &attr, /* pid= */ -1, (int)cpu, /* group= */ -1,
			 PERF_FLAG_FD_CLOEXEC);
}

int stacks_event_open(const struct stacks_setup *setup, uint32_t cpu, size_t ring_size, int *ret_fd)
{
	const uint64_t dump = setup->dump_size ? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER : 0;
	struct perf_event_attr attr = {
		.type = stacks_events[setup->event].type,
		.size = sizeof(attr),
		.config = stacks_events[setup->event].config,
		.freq = 1,
		.sample_freq = setup->hz,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN | dump,
		.sample_regs_user = dump ? setup->user_registers : 0,
		.sample_stack_user = setup->dump_size,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.exclude_callchain_kernel = !setup->has_kernel,
		.exclude_callchain_user = !setup->has_user,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)ring_size / 4,
	};
	int fd = open_with(setup, attr, ATTR_BUILD_ID, cpu);

	if (fd == -EINVAL)
		fd = open_with(setup, attr, 0, cpu);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

int stacks_event_refuse(enum stacks_event event, int rc, struct errmsg *err)
{
	if (event == STACKS_CLOCK)
		return errmsg_errno(err, rc, "cannot open a clock event of a CPU");
	return errmsg_set(err, rc, "%s cannot be sampled: %s (%s)", stacks_events[event].name,
			  metric_reason_text(perf_reason(-rc)), strerror(-rc));
}

/* --- trials ------------------------------------------------------------------------------- */

/*
 * Before Linux 5.11, the memory of BPF maps and programs counts against this limit. Since then the
 * cgroup's counts.
 */
static void lift_memlock(void)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };

	(void)setrlimit(RLIMIT_MEMLOCK, &none);
}

/*
 * Loads a program that drops every sample. It stands for the real ones, which need libbpf, as `ceems check`
 * does not link that. Of the kernel, the one that notes foreign samples needs BTF besides.
 */
static int load_trial(bool needs_btf, int *ret_fd, struct errmsg *err)
{
	/* r0 = 0; exit */
	const struct bpf_insn drop[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int rc;

#ifndef HAVE_BPF
	return errmsg_set(err, -EOPNOTSUPP, PROFILE_NOT_BUILT);
#endif
	if (needs_btf && access(PROFILE_BTF, R_OK) < 0)
		return errmsg_errno(err, -errno, PROFILE_BTF ": cannot open");
	lift_memlock();
	rc = bpfsys_load(BPF_PROG_TYPE_PERF_EVENT, "ceems_profile", drop, ARRAY_SIZE(drop), ret_fd);
	return rc < 0 ? errmsg_errno(err, rc, PROFILE_SAMPLES_REFUSED) : 0;
}

/* Opens and closes one event, with a filter. Returns 0 or -errno. */
static int try_event(const struct stacks_setup *setup, struct errmsg *err)
{
	_cleanup_close_ int program = -1, fd = -1;
	int rc = load_trial(/* needs_btf= */ setup->dump_size > 0, &program, err);

	if (rc < 0)
		return rc;
	rc = stacks_event_open(setup, /* cpu= */ 0, /* ring_size= */ 4096, &fd);
	if (rc == 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0)
		rc = -errno;
	return rc < 0 ? stacks_event_refuse(setup->event, rc, err) : 0;
}

int stacks_try_event(enum stacks_event event, struct errmsg *err)
{
	const struct stacks_setup setup = { .event = event, .hz = 1, .has_user = true };

	return try_event(&setup, err);
}

int stacks_try(uint64_t user_registers, struct errmsg *ret_no_dump, struct errmsg *err)
{
	struct stacks_setup setup = { .hz = 1, .has_user = true };
	int rc;

	rc = try_event(&setup, err);
	if (rc < 0)
		return rc;
	setup.user_registers = user_registers;
	setup.dump_size = 8;
	if (!user_registers)
		(void)errmsg_set(ret_no_dump, -EOPNOTSUPP,
				 "user stacks cannot be copied on this type of CPU");
	else
		(void)try_event(&setup, ret_no_dump);
	return 0;
}
