/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsio.bpf.h - counts I/O by step and file system. One program runs at the exit of each kernel
 * function that does I/O of one kind. None of these functions calls another, so each call is
 * counted once:
 *
 *	vfs_read, vfs_write, vfs_readv, vfs_writev	read, pread64, preadv2 ...
 *	do_sendfile, vfs_copy_file_range		a call counts as a read and a write
 *	do_splice					the side that is a pipe is not counted
 *	aio_read, aio_write				io_submit
 *	io_uring_complete				a tracepoint; has no request before 5.18
 *
 * For a task of no step, a program ends after a look into the cache of slot.bpf.h. For a task of a
 * step, it does 9 more loads and two atomic additions, but no hash look-up.
 */
#ifndef CEEMS_FSIO_BPF_H
#define CEEMS_FSIO_BPF_H

#include "slot.bpf.h"

/*
 * Declared by sizes, not types, because the loader sets the size of the values, and a type would
 * fix it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBES_SLOTS + 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct probes_fs));
} fs_rows SEC(".maps");

#define IO_PLACES_MAX (PROBES_SLOTS * PROBES_FS)

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IO_PLACES_MAX);
	__type(key, struct probes_fs_place);
	__type(value, struct probes_fs_mount);
} fs_places SEC(".maps");

/*
 * --- of which step, on which file system --------------------------------------------------------
 */

/* NULL: not a step's. */
static __always_inline struct probes_fs *io_of_current(__u32 *slot)
{
	struct task_struct *task;
	struct probes_fs *fs;
	__u32 tgid;

	if (HAS_TASK_BTF) {
		task = bpf_get_current_task_btf();
		*slot = slot_of_task(task);
		if (__builtin_expect(!*slot, 0))
			return NULL;
		tgid = (__u32)task->tgid;
	} else {
		*slot = slot_of_current_read();
		if (!*slot)
			return NULL;
		tgid = bpf_get_current_pid_tgid() >> 32;
	}
	fs = bpf_map_lookup_elem(&fs_rows, slot);
	if (!fs || fs->owner == tgid)
		return NULL;
	return fs;
}

#define IO_PLACE(device) (0x9e3779b1u * (device) >> 28) /* 2^32 / golden ratio: spreads neighbours */

/*
 * Bounds PLACE for the verifier. The asm keeps clang from using a copy on the stack, whose bounds
 * the verifier forgets.
 */
static __always_inline __u32 io_bounded(__u32 place)
{
	asm volatile("" : "+r"(place));
	return place % PROBES_FS;
}

#define IO_FOLDERS 16	/* folders and mounts on the way up from a mount point */
#define IO_USED_MAX 127 /* a path may have this length and still have room for another folder's name */
_Static_assert(IO_USED_MAX + PROBES_FS_NAME <= sizeof(((struct probes_fs_mount *)0)->path), "room");

/*
 * Writes the mount point of OF and the type of its file system to TO, walking up to the root of the
 * mount namespace. Runs once for each file system of a step.
 */
static __noinline int io_find_mount(struct probes_fs_mount *to, struct vfsmount *of)
{
	struct mount *mount = (void *)of - bpf_core_field_offset(struct mount, mnt), *parent;
	struct dentry *at = BPF_CORE_READ(of, mnt_root);
	__u32 used = 0;
	__u64 ns;
	long len;
	int i;

	(void)bpf_probe_read_kernel_str(to->type, sizeof(to->type), BPF_CORE_READ(of, mnt_sb, s_type, name));
	for (i = 0; i < IO_FOLDERS; i++) {
		if (at == BPF_CORE_READ(mount, mnt.mnt_root)) {
			parent = BPF_CORE_READ(mount, mnt_parent);
			if (parent == mount) {
				/*
				 * otherwise it is a mount of the kernel's own, or not mounted any
				 * more
				 */
				ns = (__u64)BPF_CORE_READ(mount, mnt_ns);
				to->has_path = ns && ns < -4095ull;
				break;
			}
			at = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = parent;
			continue;
		}
		if (used > IO_USED_MAX)
			break;
		asm volatile("" : "+r"(used)); /* bounds USED, as in io_bounded() */
		len = bpf_probe_read_kernel_str(to->path + (used & IO_USED_MAX), PROBES_FS_NAME,
						BPF_CORE_READ(at, d_name.name));
		if (len <= 0 || len >= PROBES_FS_NAME)
			break; /* most likely cut */
		used += (__u32)len;
		at = BPF_CORE_READ(at, d_parent);
	}
	return 0;
}

/* A function of its own, so that only its callers pay for clearing MOUNT on the stack. */
static __noinline long io_take_place(const struct probes_fs_place *key, __u32 device)
{
	struct probes_fs_mount mount = { .device = device };

	return bpf_map_update_elem(&fs_places, key, &mount, BPF_NOEXIST);
}

/*
 * Finds the row of a device that device[] does not have at the index of its number: the device is
 * new, or another device has that index. A free place belongs to the device that is inserted into
 * fs_places first. device[] and the rows only save later calls the lookup there.
 */
static __noinline struct probes_fs_row *io_find_row(struct probes_fs *fs, const __u32 *slot, __u32 device,
						    struct vfsmount *of)
{
	struct probes_fs_place key = { .slot = *slot };
	struct probes_fs_mount *known;
	struct probes_fs_row *row;
	__u32 i, here;
	long rc = -1;

	for (i = 0; i < PROBES_FS; i++) {
		key.place = io_bounded(IO_PLACE(device) + i);
		here = *(volatile __u32 *)&fs->device[io_bounded(key.place)];
		if (here == device)
			break;
		if (here)
			continue;
		rc = io_take_place(&key, device);
		if (rc < 0) {
			known = bpf_map_lookup_elem(&fs_places, &key);
			if (!known || known->device != device)
				continue;
		}
		*(volatile __u32 *)&fs->device[io_bounded(key.place)] = device;
		break;
	}
	if (i == PROBES_FS) {
		count_lost(PROBES_IO);
		return &fs->others;
	}
	if (rc == 0) { /* outside the loop, since the verifier would walk it once per iteration */
		known = bpf_map_lookup_elem(&fs_places, &key);
		if (known)
			(void)io_find_mount(known, of);
	}
	row = &fs->row[bpf_get_smp_processor_id() & shard_mask][io_bounded(key.place)];
	*(volatile __u32 *)&row->device = device;
	return row;
}

static __always_inline struct probes_fs_row *io_row(struct probes_fs *fs, const __u32 *slot,
						    struct file *file)
{
	struct probes_fs_row *shard = fs->row[bpf_get_smp_processor_id() & shard_mask], *row;
	__u32 device = file->f_inode->i_sb->s_dev;

	row = &shard[IO_PLACE(device)];
	if (__builtin_expect(*(volatile __u32 *)&row->device == device, 1))
		return row;
	return io_find_row(fs, slot, device, file->f_path.mnt);
}

static __always_inline void io_book_read(struct probes_fs_row *row, __s64 ret)
{
	__sync_fetch_and_add(&row->read_calls, 1);
	if (ret >= 0)
		__sync_fetch_and_add(&row->read_bytes, ret);
	else
		__sync_fetch_and_add(&row->read_errors, 1);
}

static __always_inline void io_book_write(struct probes_fs_row *row, __s64 ret)
{
	__sync_fetch_and_add(&row->write_calls, 1);
	if (ret >= 0)
		__sync_fetch_and_add(&row->write_bytes, ret);
	else
		__sync_fetch_and_add(&row->write_errors, 1);
}

/* The device of FILE, read by a helper, for pointers that BTF does not type. 0: there is none. */
static __always_inline __u32 io_device_read(struct file *file)
{
	return file ? BPF_CORE_READ(file, f_inode, i_sb, s_dev) : 0;
}

/*
 * Count one call. RET is the index of the function's result in CTX, after its last argument.
 * Arguments are read from CTX only where they are needed: read earlier, they would have to be saved
 * across calls, for tasks of no step, too.
 */
static __always_inline int io_count_read(__u64 *ctx, int ret)
{
	__u32 slot;
	struct probes_fs *fs = io_of_current(&slot);

	if (fs)
		io_book_read(io_row(fs, &slot, (struct file *)ctx[0]), (__s64)ctx[ret]);
	return 0;
}

static __always_inline int io_count_write(__u64 *ctx, int ret)
{
	__u32 slot;
	struct probes_fs *fs = io_of_current(&slot);

	if (fs)
		io_book_write(io_row(fs, &slot, (struct file *)ctx[0]), (__s64)ctx[ret]);
	return 0;
}

/* --- read, write -------------------------------------------------------------------------- */

/* ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos) */
SEC("fexit/vfs_read")
int io_read(__u64 *ctx)
{
	return io_count_read(ctx, 4);
}

SEC("fexit/vfs_write")
int io_write(__u64 *ctx)
{
	return io_count_write(ctx, 4);
}

/* ssize_t vfs_readv(file, const struct iovec *vec, unsigned long vlen, loff_t *pos, rwf_t flags) */
SEC("fexit/vfs_readv")
int io_readv(__u64 *ctx)
{
	return io_count_read(ctx, 5);
}

SEC("fexit/vfs_writev")
int io_writev(__u64 *ctx)
{
	return io_count_write(ctx, 5);
}

/* --- from file to file -------------------------------------------------------------------- */

static __always_inline struct probes_fs_row *io_row_read(struct probes_fs *fs, const __u32 *slot,
							 struct file *file, __u32 device)
{
	return io_find_row(fs, slot, device, BPF_CORE_READ(file, f_path.mnt));
}

/* Either may be NULL. */
static __always_inline void io_count_both(struct file *in, struct file *out, __s64 ret)
{
	__u32 slot, device;
	struct probes_fs *fs = io_of_current(&slot);

	if (!fs)
		return;
	device = io_device_read(in);
	if (device)
		io_book_read(io_row_read(fs, &slot, in, device), ret);
	device = io_device_read(out);
	if (device)
		io_book_write(io_row_read(fs, &slot, out, device), ret);
}

/*
 * The file of descriptor FD. Another thread may have closed FD before the call ended; then the call
 * is counted as lost.
 */
static __always_inline struct file *io_file_of_fd(__u32 fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **all = BPF_CORE_READ(table, fd), *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds) || bpf_probe_read_kernel(&file, sizeof(file), all + fd) < 0)
		return NULL;
	return file;
}

SEC("fexit/do_sendfile")
int BPF_PROG(io_sendfile, int out_fd, int in_fd, void *pos, __u64 count, __s64 max, __s64 ret)
{
	struct file *in, *out;
	__u32 slot;

	if (!io_of_current(&slot))
		return 0;
	in = io_file_of_fd((__u32)in_fd);
	out = io_file_of_fd((__u32)out_fd);
	if (ret > 0 && (!io_device_read(in) || !io_device_read(out)))
		count_lost(PROBES_IO);
	io_count_both(in, out, ret);
	return 0;
}

/* include/uapi/linux/stat.h */
#define S_IFMT 00170000
#define S_IFIFO 0010000

static __always_inline bool io_is_pipe(struct file *file)
{
	return (file->f_inode->i_mode & S_IFMT) == S_IFIFO;
}

SEC("fexit/do_splice")
int BPF_PROG(io_splice, struct file *in, void *off_in, struct file *out, void *off_out, __u64 len,
	     unsigned int flags, __s64 ret)
{
	io_count_both(io_is_pipe(in) ? NULL : in, io_is_pipe(out) ? NULL : out, ret);
	return 0;
}

/*
 * True if overlayfs called the function, to copy between files of its layers. It does so with the
 * credentials of the user who mounted it, by which the call is told from the task's own. The flag
 * of such files (FMODE_BACKING) exists only since 6.5, and its value changed since.
 */
static __always_inline bool io_is_overlaid(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, cred) != BPF_CORE_READ(task, real_cred);
}

SEC("fexit/vfs_copy_file_range")
int BPF_PROG(io_copy_range, struct file *in, __s64 pos_in, struct file *out, __s64 pos_out, __u64 len,
	     unsigned int flags, __s64 ret)
{
	if (io_is_overlaid())
		return 0;
	io_count_both(in, out, ret);
	return 0;
}

/* --- io_submit ---------------------------------------------------------------------------- */

#define IO_IOVECS_MAX 1024 /* UIO_MAXIOV */

static __always_inline __s64 io_iovecs_length(__u64 vec, __u64 n)
{
	struct {
		__u64 base, len;
	} one;
	__s64 sum = 0;
	__u32 i;

	for (i = 0; i < IO_IOVECS_MAX && i < n; i++) {
		if (bpf_probe_read_user(&one, sizeof(one), (void *)(vec + i * sizeof(one))) < 0)
			break;
		sum += (__s64)one.len;
	}
	return sum;
}

/*
 * The bytes of a submitted request. It starts with two references, and its completion drops one. So
 * with one left, the result is known, as for all buffered I/O. For a request that is still running,
 * the size asked for is counted: it ends in an interrupt, which belongs to no step.
 */
static __always_inline __s64 io_aio_result(struct kiocb *req, const struct iocb *iocb, bool is_vector)
{
	struct aio_kiocb *aio = (struct aio_kiocb *)req; /* its first member */

	if (BPF_CORE_READ(aio, ki_refcnt.refs.counter) == 1)
		return BPF_CORE_READ(aio, ki_res.res);
	return is_vector ? io_iovecs_length(iocb->aio_buf, iocb->aio_nbytes) : (__s64)iocb->aio_nbytes;
}

SEC("fexit/aio_read")
int BPF_PROG(io_aio_read, struct kiocb *req, const struct iocb *iocb, __u64 vectored, __u64 compat, int ret)
{
	__u32 slot;
	struct probes_fs *fs = io_of_current(&slot);

	if (fs)
		io_book_read(io_row(fs, &slot, req->ki_filp),
			     ret < 0 ? ret : io_aio_result(req, iocb, (__u8)vectored));
	return 0;
}

SEC("fexit/aio_write")
int BPF_PROG(io_aio_write, struct kiocb *req, const struct iocb *iocb, __u64 vectored, __u64 compat, int ret)
{
	__u32 slot;
	struct probes_fs *fs = io_of_current(&slot);

	if (fs)
		io_book_write(io_row(fs, &slot, req->ki_filp),
			      ret < 0 ? ret : io_aio_result(req, iocb, (__u8)vectored));
	return 0;
}

/* --- io_uring ----------------------------------------------------------------------------- */

/* include/uapi/linux/io_uring.h */
enum {
	URING_READV = 1,
	URING_WRITEV = 2,
	URING_READ_FIXED = 4,
	URING_WRITE_FIXED = 5,
	URING_READ = 22,
	URING_WRITE = 23,
	URING_READV_FIXED = 60,
	URING_WRITEV_FIXED = 61,
};

/*
 * Counts one completed request. This runs in the task that submitted it, or in its io_uring worker
 * or polling thread, which are in the same cgroup. Splices are counted by do_splice().
 */
static __always_inline int io_uring_count(struct io_kiocb *req, __s64 ret)
{
	struct probes_fs *fs;
	struct file *file;
	__u32 slot, device;
	bool is_write;

	if (!req) /* NULL for a further result of a multishot request */
		return 0;
	switch (BPF_CORE_READ(req, opcode)) {
	case URING_READV:
	case URING_READ_FIXED:
	case URING_READ:
	case URING_READV_FIXED:
		is_write = false;
		break;
	case URING_WRITEV:
	case URING_WRITE_FIXED:
	case URING_WRITE:
	case URING_WRITEV_FIXED:
		is_write = true;
		break;
	default:
		return 0;
	}
	fs = io_of_current(&slot);
	if (!fs)
		return 0;
	file = BPF_CORE_READ(req, file);
	device = io_device_read(file);
	if (!device) /* cancelled before its file was looked up */
		return 0;
	if (is_write)
		io_book_write(io_row_read(fs, &slot, file, device), ret);
	else
		io_book_read(io_row_read(fs, &slot, file, device), ret);
	return 0;
}

/* 5.18 (502c87d65564) to 6.13 */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(io_uring__res, void *ring, void *req, __u64 user_data, int res)
{
	return io_uring_count(req, res);
}

/* since 6.14 */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(io_uring__cqe, void *ring, void *req, struct io_uring_cqe *cqe)
{
	return io_uring_count(req, BPF_CORE_READ(cqe, res));
}

#endif
