/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/bpfsys.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>

#include "src/libutil/util.h"

static int call(int cmd, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

static uint64_t ptr_to_u64(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

int bpfsys_open_map(const char *path, const struct bpfsys_map *want, int *ret_fd)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr;
	_cleanup_close_ int fd = -1;
	int rc;

	memset(&attr, 0, sizeof(attr)); /* padding too: the kernel checks it */
	attr.pathname = ptr_to_u64(path);
	fd = call(BPF_OBJ_GET, &attr); /* always O_CLOEXEC */
	if (fd < 0)
		return fd;

	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = ptr_to_u64(&info);
	rc = call(BPF_OBJ_GET_INFO_BY_FD, &attr);
	if (rc < 0)
		return rc;
	if ((want->type && info.type != want->type) ||
	    (want->key_size && info.key_size != want->key_size) ||
	    (want->value_size && info.value_size != want->value_size))
		return -EPROTO;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int element(int cmd, int fd, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = ptr_to_u64(key);
	attr.value = ptr_to_u64(value); /* the same place as next_key */
	attr.flags = flags;
	return call(cmd, &attr);
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
