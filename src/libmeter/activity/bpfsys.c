/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* sched_getcpu */
#include "src/libmeter/activity/bpfsys.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "src/libmeter/sensor/perf_event.h"
#include "src/libutil/util.h"

/* Clears the padding, too: the kernel checks it, and an initialiser may leave it as it was. */
static void clear(union bpf_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
}

static int bpfsys_call(int cmd, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

static int call_fd(int cmd, union bpf_attr *attr, int *ret_fd)
{
	int fd = bpfsys_call(cmd, attr);

	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

static uint64_t ptr_to_u64(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

int bpfsys_open(const char *path, int *ret_fd)
{
	union bpf_attr attr;

	clear(&attr);
	attr.pathname = ptr_to_u64(path);
	return call_fd(BPF_OBJ_GET, &attr, ret_fd);
}

static int get_info(int fd, void *info, size_t size)
{
	union bpf_attr attr;

	clear(&attr);
	memset(info, 0, size);
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = (uint32_t)size;
	attr.info.info = ptr_to_u64(info);
	return bpfsys_call(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

/* --- maps --------------------------------------------------------------------------------- */

int bpfsys_map_info(int fd, struct bpf_map_info *ret)
{
	return get_info(fd, ret, sizeof(*ret));
}

static int element(int cmd, int fd, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr;

	clear(&attr);
	attr.map_fd = (uint32_t)fd;
	attr.key = ptr_to_u64(key);
	attr.value = ptr_to_u64(value); /* next_key is the same member of the union */
	attr.flags = flags;
	return bpfsys_call(cmd, &attr);
}

int bpfsys_lookup(int fd, const void *key, void *value)
{
	return element(BPF_MAP_LOOKUP_ELEM, fd, key, value, 0);
}

int bpfsys_update(int fd, const void *key, const void *value, uint64_t flags)
{
	return element(BPF_MAP_UPDATE_ELEM, fd, key, value, flags);
}

int bpfsys_delete(int fd, const void *key)
{
	return element(BPF_MAP_DELETE_ELEM, fd, key, NULL, 0);
}

int bpfsys_next_key(int fd, const void *key, void *next)
{
	return element(BPF_MAP_GET_NEXT_KEY, fd, key, next, 0);
}

int bpfsys_write_range(int fd, uint32_t first, uint32_t n, const void *values)
{
	_cleanup_free_ uint32_t *key = malloc(n * sizeof(*key));
	union bpf_attr attr;
	uint32_t i;
	int rc;

	if (!key)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		key[i] = first + i;
	clear(&attr);
	attr.batch.map_fd = (uint32_t)fd;
	attr.batch.count = n;
	attr.batch.keys = ptr_to_u64(key);
	attr.batch.values = ptr_to_u64(values);
	rc = bpfsys_call(BPF_MAP_UPDATE_BATCH, &attr);
	return rc < 0 ? rc : attr.batch.count == n ? 0 : -EIO;
}

int bpfsys_read_range(int fd, uint32_t first, uint32_t n, void *values)
{
	_cleanup_free_ uint32_t *key = malloc(n * sizeof(*key));
	uint32_t before = first - 1, last;
	union bpf_attr attr;
	int rc;

	if (!key)
		return -ENOMEM;
	clear(&attr);
	attr.batch.map_fd = (uint32_t)fd;
	attr.batch.count = n;
	/* the batch begins with the element after BEFORE */
	attr.batch.in_batch = first ? ptr_to_u64(&before) : 0;
	attr.batch.out_batch = ptr_to_u64(&last);
	attr.batch.keys = ptr_to_u64(key);
	attr.batch.values = ptr_to_u64(values);
	rc = bpfsys_call(BPF_MAP_LOOKUP_BATCH, &attr);
	if (rc < 0 && rc != -ENOENT) /* -ENOENT: the end of the map was reached */
		return rc;
	return attr.batch.count == n ? 0 : -EIO;
}

int bpfsys_load(enum bpf_prog_type type, const char *name, const struct bpf_insn *instructions, uint32_t n,
		int *ret_fd)
{
	union bpf_attr attr;

	clear(&attr);
	attr.prog_type = type;
	attr.insns = ptr_to_u64(instructions);
	attr.insn_cnt = n;
	attr.license = ptr_to_u64("GPL");
	(void)snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	return call_fd(BPF_PROG_LOAD, &attr, ret_fd);
}

/* --- programs and links ------------------------------------------------------------------- */

int bpfsys_attach(int program_fd, int *ret_fd)
{
	union bpf_attr attr;

	clear(&attr);
	/* without a name, it is attached to what it was verified for */
	attr.raw_tracepoint.prog_fd = (uint32_t)program_fd;
	return call_fd(BPF_RAW_TRACEPOINT_OPEN, &attr, ret_fd);
}

int bpfsys_attach_event(int program_fd, uint32_t event, int *ret_fd)
{
	const struct perf_event_attr which = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(which),
		.config = event,
		.sample_period = 1,
	};
	/* the kernel runs the program on all CPUs, but the one of the event must be online */
	_cleanup_close_ int fd = perf_event_kernel.open(NULL, &which, /* pid= */ -1, sched_getcpu(),
							/* group= */ -1, 0);
	union bpf_attr attr;

	if (fd < 0)
		return fd;
	clear(&attr);
	attr.link_create.prog_fd = (uint32_t)program_fd;
	attr.link_create.target_fd = (uint32_t)fd; /* the link keeps it open */
	attr.link_create.attach_type = BPF_PERF_EVENT;
	return call_fd(BPF_LINK_CREATE, &attr, ret_fd);
}

int bpfsys_program_misses(int program_fd, uint64_t *ret)
{
	struct bpf_prog_info info;
	int rc = get_info(program_fd, &info, sizeof(info));

	if (rc == 0)
		*ret = info.recursion_misses;
	return rc;
}

int bpfsys_open_link(uint32_t id, int *ret_fd)
{
	union bpf_attr attr;

	clear(&attr);
	attr.link_id = id;
	return call_fd(BPF_LINK_GET_FD_BY_ID, &attr, ret_fd);
}

int bpfsys_link_info(int fd, struct bpfsys_link *ret)
{
	struct bpf_link_info info;
	int rc = get_info(fd, &info, sizeof(info));

	if (rc < 0)
		return rc;
	*ret = (struct bpfsys_link){ .id = info.id };
	if (info.type == BPF_LINK_TYPE_CGROUP)
		ret->cgroup_id = info.cgroup.cgroup_id;
	return 0;
}

int bpfsys_attach_cgroup(int program_fd, int cgroup_fd, enum bpf_attach_type type, int *ret_fd)
{
	union bpf_attr attr;

	clear(&attr);
	attr.link_create.prog_fd = (uint32_t)program_fd;
	attr.link_create.target_fd = (uint32_t)cgroup_fd;
	attr.link_create.attach_type = type;
	return call_fd(BPF_LINK_CREATE, &attr, ret_fd);
}

static int create_iterator(int program_fd, int map_fd, int *ret_fd)
{
	union bpf_iter_link_info which;
	union bpf_attr attr;

	clear(&attr);
	attr.link_create.prog_fd = (uint32_t)program_fd;
	attr.link_create.attach_type = BPF_TRACE_ITER;
	if (map_fd >= 0) {
		memset(&which, 0, sizeof(which));
		which.map.map_fd = (uint32_t)map_fd;
		attr.link_create.iter_info = ptr_to_u64(&which);
		attr.link_create.iter_info_len = sizeof(which);
	}
	return call_fd(BPF_LINK_CREATE, &attr, ret_fd);
}

int bpfsys_iterate(int program_fd, int map_fd, int *ret_fd)
{
	_cleanup_close_ int link = -1;
	int rc = create_iterator(program_fd, map_fd, &link);
	union bpf_attr attr;

	clear(&attr);
	if (rc < 0)
		return rc;
	attr.iter_create.link_fd = (uint32_t)link; /* the link is not needed once the iterator exists */
	return call_fd(BPF_ITER_CREATE, &attr, ret_fd);
}

int bpfsys_run_on(int program_fd, uint32_t cpu, const uint64_t *arg, uint32_t n)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)program_fd;
	attr.test.ctx_in = ptr_to_u64(arg);
	attr.test.ctx_size_in = n * (uint32_t)sizeof(*arg);
	attr.test.flags = BPF_F_TEST_RUN_ON_CPU;
	attr.test.cpu = cpu;
	return bpfsys_call(BPF_PROG_TEST_RUN, &attr);
}

int bpfsys_run(int program_fd, uint32_t *ret)
{
	union bpf_attr attr;
	int rc;

	clear(&attr);
	attr.test.prog_fd = (uint32_t)program_fd;
	rc = bpfsys_call(BPF_PROG_TEST_RUN, &attr);
	if (rc == 0)
		*ret = attr.test.retval;
	return rc;
}
