/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operations by which a job can read and write, each counted once and to the byte, by file system. Needs
 * function hooks; where the kernel has none, tests that the error says so. tests/bpf/io.t runs it in guests,
 * with CEEMS_TEST_DISK a folder on a disk.
 */
#define _GNU_SOURCE
#include "bpfrig.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "src/libcore/fsroles.h"
#include "src/libmeter/activity/fsio.h"
#include "src/libmeter/activity/taskcount.h"

#define FILE_SIZE 1048576

static char disk[PATH_MAX], memory[PATH_MAX]; /* mount points */
static char buf[FILE_SIZE] __attribute__((aligned(4096)));
static struct settings settings;
static void *volatile nowhere = (void *)1;

/* --- the operations, in a child ------------------------------------------------------------ */

static void check(bool is_right, int line)
{
	if (!is_right) {
		printf("# line %d: %s\n", line, strerror(errno));
		(void)fflush(stdout);
		_exit(1);
	}
}
#define MUST(cond) check(cond, __LINE__)

static int open_in(const char *dir, const char *name, int flags)
{
	char path[PATH_MAX + 32];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, flags | O_CLOEXEC, 0600);
	MUST(fd >= 0);
	return fd;
}

static void op_read(void)
{
	struct iovec v[3] = { { buf, 1000 }, { buf, 1000 }, { buf, 1000 } };
	struct iovec w[2] = { { buf, 50 }, { buf, 50 } };
	int fd = open_in(disk, "full", O_RDONLY);

	MUST(read(fd, buf, 4096) == 4096);
	MUST(pread(fd, buf, 100, 5) == 100);
	MUST(readv(fd, v, 3) == 3000);
	MUST(preadv(fd, w, 2, 9) == 100);
	v[0].iov_len = 77;
	MUST(preadv2(fd, v, 1, 9, 0) == 77);
	MUST(pread(fd, buf, 100, FILE_SIZE - 10) == 10); /* short */
	MUST(pread(fd, buf, 100, FILE_SIZE) == 0);	 /* the end */
}

static void op_write(void)
{
	struct iovec v[3] = { { buf, 1000 }, { buf, 1000 }, { buf, 1000 } };
	struct iovec w[2] = { { buf, 50 }, { buf, 50 } };
	int fd = open_in(memory, "written", O_WRONLY | O_CREAT);

	MUST(write(fd, buf, 4096) == 4096);
	MUST(pwrite(fd, buf, 100, 5) == 100);
	MUST(writev(fd, v, 3) == 3000);
	MUST(pwritev(fd, w, 2, 9) == 100);
	v[0].iov_len = 77;
	MUST(pwritev2(fd, v, 1, 9, 0) == 77);
}

static void op_direct(void)
{
	int fd = open_in(disk, "direct", O_RDWR | O_DIRECT);

	MUST(pread(fd, buf, 8192, 4096) == 8192);
	MUST(pwrite(fd, buf, 4096, 0) == 4096);
}

static void op_errors(void)
{
	int file = open_in(disk, "full", O_RDONLY), folder = open_in(disk, "", O_RDONLY);

	MUST(read(file, nowhere, 10) < 0 && errno == EFAULT);
	MUST(read(folder, buf, 10) < 0 && errno == EISDIR);
	MUST(write(file, buf, 10) < 0 && errno == EBADF);
}

static void op_sendfile(void)
{
	int in = open_in(disk, "full", O_RDONLY), out = open_in(memory, "sent", O_WRONLY | O_CREAT);
	int pipes[2], sockets[2];

	MUST(pipe2(pipes, O_CLOEXEC) == 0);
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
	MUST(sendfile(out, in, NULL, 100000) == 100000);
	MUST(sendfile(pipes[1], in, NULL, 3000) == 3000);
	MUST(sendfile(sockets[1], in, NULL, 5000) == 5000);
}

static void op_splice(void)
{
	int in = open_in(disk, "full", O_RDONLY), out = open_in(memory, "sent", O_WRONLY | O_CREAT);
	int pipes[2], others[2];

	MUST(pipe2(pipes, O_CLOEXEC) == 0 && pipe2(others, O_CLOEXEC) == 0);
	MUST(splice(in, NULL, pipes[1], NULL, 8192, 0) == 8192);
	MUST(splice(pipes[0], NULL, others[1], NULL, 4096, 0) == 4096); /* of no file */
	MUST(splice(pipes[0], NULL, out, NULL, 4096, 0) == 4096);
}

static void op_copy_range(void)
{
	int in = open_in(disk, "full", O_RDONLY), out = open_in(disk, "copied", O_WRONLY);

	MUST(copy_file_range(in, NULL, out, NULL, 60000, 0) == 60000);
}

static void op_aio(void)
{
	int in = open_in(disk, "full", O_RDONLY), out = open_in(memory, "sent", O_WRONLY | O_CREAT);
	int direct = open_in(disk, "direct", O_RDWR | O_DIRECT);
	struct iovec v[2] = { { buf, 1000 }, { buf + 1000, 1500 } };
	struct iocb op[] = {
		{ .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (__u32)in, .aio_nbytes = 5000 },
		/* 10 bytes before the end: what was asked for is not what came */
		{ .aio_lio_opcode = IOCB_CMD_PREAD,
		  .aio_fildes = (__u32)in,
		  .aio_nbytes = 300,
		  .aio_offset = FILE_SIZE - 10 },
		{ .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = (__u32)out, .aio_nbytes = 6000 },
		{ .aio_lio_opcode = IOCB_CMD_PREADV, .aio_fildes = (__u32)in, .aio_nbytes = 2 },
		{ .aio_lio_opcode = IOCB_CMD_PWRITEV, .aio_fildes = (__u32)out, .aio_nbytes = 2 },
		{ .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (__u32)direct, .aio_nbytes = 8192 },
		{ .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = (__u32)direct, .aio_nbytes = 4096 },
	};
	struct io_event event[ARRAY_SIZE(op)];
	struct iocb *one;
	aio_context_t aio = 0;
	size_t i;

	MUST(syscall(SYS_io_setup, 16, &aio) == 0);
	for (i = 0; i < ARRAY_SIZE(op); i++) {
		bool is_vector = op[i].aio_lio_opcode == IOCB_CMD_PREADV ||
				 op[i].aio_lio_opcode == IOCB_CMD_PWRITEV;

		op[i].aio_buf = is_vector ? (__u64)(uintptr_t)v : (__u64)(uintptr_t)buf;
		one = &op[i];
		MUST(syscall(SYS_io_submit, aio, 1, &one) == 1);
		MUST(syscall(SYS_io_getevents, aio, 1, 1, event, NULL) == 1);
	}
}

/* --- io_uring, by its system calls ---------------------------------------------------------- */

struct ring {
	int fd;
	struct io_uring_params params;
	char *sq, *cq;
	struct io_uring_sqe *sqe;
};

static bool ring_open(struct ring *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = (int)syscall(SYS_io_uring_setup, 8, &r->params);
	if (r->fd < 0)
		return false;
	r->sq = mmap(NULL, r->params.sq_off.array + 8 * sizeof(__u32), PROT_READ | PROT_WRITE, MAP_SHARED,
		     r->fd, IORING_OFF_SQ_RING);
	r->cq = mmap(NULL, r->params.cq_off.cqes + 16 * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
		     MAP_SHARED, r->fd, IORING_OFF_CQ_RING);
	r->sqe = mmap(NULL, 8 * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
		      IORING_OFF_SQES);
	return r->sq != MAP_FAILED && r->cq != MAP_FAILED && r->sqe != MAP_FAILED;
}

static int ring_do(struct ring *r, unsigned int opcode, unsigned int flags, int fd, const void *addr,
		   unsigned int len, __u64 offset)
{
	__u32 *sq_tail = (__u32 *)(void *)(r->sq + r->params.sq_off.tail);
	__u32 *sq_array = (__u32 *)(void *)(r->sq + r->params.sq_off.array);
	__u32 *cq_head = (__u32 *)(void *)(r->cq + r->params.cq_off.head);
	struct io_uring_cqe *cqe = (void *)(r->cq + r->params.cq_off.cqes);
	__u32 tail = *sq_tail, head = *cq_head;

	memset(&r->sqe[tail % 8], 0, sizeof(r->sqe[0]));
	r->sqe[tail % 8].opcode = (__u8)opcode;
	r->sqe[tail % 8].flags = (__u8)flags;
	r->sqe[tail % 8].fd = fd;
	r->sqe[tail % 8].addr = (__u64)(uintptr_t)addr;
	r->sqe[tail % 8].len = len;
	r->sqe[tail % 8].off = offset;
	sq_array[tail % 8] = tail % 8;
	__atomic_store_n(sq_tail, tail + 1, __ATOMIC_RELEASE);
	MUST(syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	__atomic_store_n(cq_head, head + 1, __ATOMIC_RELEASE);
	return cqe[head % r->params.cq_entries].res;
}

static void op_uring(void)
{
	int in = open_in(disk, "full", O_RDONLY), out = open_in(memory, "sent", O_WRONLY | O_CREAT);
	struct iovec v[2] = { { buf, 1000 }, { buf + 1000, 1500 } };
	struct ring r;

	MUST(ring_open(&r));
	MUST(ring_do(&r, IORING_OP_READ, 0, in, buf, 5000, 0) == 5000);
	MUST(ring_do(&r, IORING_OP_READ, 0, in, buf, 300, FILE_SIZE - 10) == 10);
	MUST(ring_do(&r, IORING_OP_READ, IOSQE_ASYNC, in, buf, 700, 0) == 700); /* by a worker */
	MUST(ring_do(&r, IORING_OP_READV, 0, in, v, 2, 0) == 2500);
	MUST(ring_do(&r, IORING_OP_WRITE, 0, out, buf, 6000, 0) == 6000);
	MUST(ring_do(&r, IORING_OP_WRITEV, IOSQE_ASYNC, out, v, 2, 0) == 2500);
	MUST(ring_do(&r, IORING_OP_READ, 0, in, nowhere, 10, 0) == -EFAULT);
}

/* --- what is no file, and what is no call ---------------------------------------------------- */

static void op_pipe(void)
{
	int pipes[2], sockets[2], event = eventfd(0, EFD_CLOEXEC);
	uint64_t one = 1;

	MUST(pipe2(pipes, O_CLOEXEC) == 0);
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
	MUST(write(pipes[1], buf, 1234) == 1234 && read(pipes[0], buf, FILE_SIZE) == 1234);
	MUST(write(sockets[1], buf, 4321) == 4321 && read(sockets[0], buf, FILE_SIZE) == 4321);
	MUST(write(event, &one, sizeof(one)) == sizeof(one));
}

static void op_mmap(void)
{
	int fd = open_in(disk, "mapped", O_RDONLY);
	const volatile char *map = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	size_t i;

	MUST(map != MAP_FAILED);
	for (i = 0; i < FILE_SIZE; i += 4096)
		(void)map[i];
}

static void op_exit(void)
{
	MUST(write(open_in(memory, "left", O_WRONLY | O_CREAT), buf, 999) == 999);
	(void)kill(getpid(), SIGKILL); /* nothing is closed in order */
}

#define THREADS 4000
static int thread_fd;
static pthread_barrier_t all_there;

static void *thread(void *arg)
{
	char c[10] = { 0 };

	(void)arg;
	(void)pthread_barrier_wait(&all_there);
	MUST(pwrite(thread_fd, c, sizeof(c), 0) == sizeof(c));
	return NULL;
}

static void op_threads(void)
{
	static pthread_t id[THREADS];
	pthread_attr_t attr;
	size_t i;

	thread_fd = open_in(memory, "sent", O_WRONLY | O_CREAT);
	MUST(pthread_barrier_init(&all_there, NULL, THREADS) == 0);
	MUST(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, 32768) == 0);
	for (i = 0; i < THREADS; i++)
		MUST(pthread_create(&id[i], &attr, thread, NULL) == 0);
	for (i = 0; i < THREADS; i++)
		MUST(pthread_join(id[i], NULL) == 0);
}

#define FORKS 500

static void op_forks(void)
{
	int fd = open_in(memory, "sent", O_WRONLY | O_CREAT);
	size_t i;

	for (i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		MUST(pid >= 0);
		if (!pid)
			_exit(write(fd, buf, 7) != 7);
		if (i % 10 == 9) /* ten at a time */
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
	}
	while (wait(NULL) > 0)
		;
}

#define MANY 20

static void op_many(void)
{
	char name[32];
	int i;

	for (i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "many/%d/file", i);
		MUST(write(open_in(memory, name, O_WRONLY | O_CREAT), buf, 11) == 11);
	}
}

static void op_namespace(void)
{
	char path[PATH_MAX + 32];

	MUST(unshare(CLONE_NEWNS) == 0);
	(void)snprintf(path, sizeof(path), "%s/own file\tsystem", memory);
	MUST(mkdir(path, 0700) == 0 && mount("own", path, "tmpfs", 0, NULL) == 0);
	MUST(write(open_in(path, "file", O_WRONLY | O_CREAT), buf, 2222) == 2222);
}

static void op_unseen(void)
{
	static const char long_name[] =
		"0123456789012345678901234567890123456789012345678901234567890123456789";
	char path[PATH_MAX + 32], inner[PATH_MAX + 64];

	MUST(unshare(CLONE_NEWNS) == 0);
	(void)snprintf(path, sizeof(path), "%s/outer", memory);
	(void)snprintf(inner, sizeof(inner), "%s/in\tner", path);
	MUST(mkdir(path, 0700) == 0 && mount("outer", path, "tmpfs", 0, NULL) == 0);
	MUST(mkdir(inner, 0700) == 0 && mount("inner", inner, "tmpfs", 0, NULL) == 0);
	MUST(write(open_in(inner, "file", O_WRONLY | O_CREAT), buf, 3333) == 3333);
	MUST(read(open_in("/dev", "zero", O_RDONLY), buf, 10) == 10);
	(void)snprintf(inner, sizeof(inner), "%s/%s", path, long_name);
	MUST(mkdir(inner, 0700) == 0 && mount("long", inner, "ramfs", 0, NULL) == 0);
	MUST(write(open_in(inner, "file", O_WRONLY | O_CREAT), buf, 4444) == 4444);
}

static void op_overlay(void)
{
	int in, out;
	char path[PATH_MAX + 32];

	(void)snprintf(path, sizeof(path), "%s/merged", memory);
	in = open_in(path, "from", O_RDWR);
	out = open_in(path, "to", O_WRONLY | O_CREAT);
	MUST(copy_file_range(in, NULL, out, NULL, 50000, 0) == 50000);
	MUST(pread(in, buf, 300, 0) == 300);
}

static void op_small_1(void)
{
	int fd = open_in(memory, "small", O_WRONLY | O_CREAT), i;

	for (i = 0; i < 20000; i++)
		MUST(pwrite(fd, buf, 1, 0) == 1);
}

static void op_small_3(void)
{
	int fd = open_in(memory, "small", O_WRONLY | O_CREAT), i;

	for (i = 0; i < 10000; i++)
		MUST(pwrite(fd, buf, 3, 0) == 3);
}

/* --- counting ------------------------------------------------------------------------------ */

struct step {
	struct folder folder;
	uint32_t slot;
	struct fsio *io;
};

static bool step_begin(struct step *s, struct probes *p, const char *name)
{
	struct errmsg err = { 0 };

	memset(s, 0, sizeof(*s));
	if (!folder_make_own(&s->folder, bpfrig_root(true), name) ||
	    probes_register(p, s->folder.id, 0, 1u << PROBES_IO, &s->slot) < 0 ||
	    fsio_open(p, s->slot, &settings, &s->io, &err) < 0) {
		diag("step: %s %s", err.text, strerror(errno));
		return false;
	}
	return true;
}

static void step_end(struct step *s, struct probes *p)
{
	fsio_close(s->io);
	probes_release(p, s->slot);
	folder_remove(&s->folder);
}

static const struct detail_fs *find_fs(const struct step_detail *d, const char *mount)
{
	static const struct detail_fs none;
	uint32_t i;

	for (i = 0; i < d->nfs; i++)
		if (!strcmp(d->fs[i].mount, mount))
			return &d->fs[i];
	return &none;
}

struct want {
	const char *mount; /* NULL: the end */
	uint64_t read_bytes, read_calls, read_errors;
	uint64_t write_bytes, write_calls, write_errors;
};

static void check_fs(const struct step_detail *d, const struct want *want, const char *name)
{
	const struct detail_fs *fs;
	uint32_t n = 0, i;

	for (; want->mount; want++, n++) {
		fs = find_fs(d, want->mount);
		if (!ok(fs->read_bytes == want->read_bytes && fs->read_calls == want->read_calls &&
				fs->read_errors == want->read_errors &&
				fs->write_bytes == want->write_bytes &&
				fs->write_calls == want->write_calls &&
				fs->write_errors == want->write_errors,
			"%s: %s", name, want->mount))
			diag("read %" PRIu64 "/%" PRIu64 "/%" PRIu64 ", written %" PRIu64 "/%" PRIu64
			     "/%" PRIu64 " (bytes, calls, errors)",
			     fs->read_bytes, fs->read_calls, fs->read_errors, fs->write_bytes,
			     fs->write_calls, fs->write_errors);
	}
	if (!ok(d->nfs == n, "%s: nothing else", name))
		for (i = 0; i < d->nfs; i++)
			diag("%s: %" PRIu64 " %" PRIu64, d->fs[i].mount, d->fs[i].read_bytes,
			     d->fs[i].write_bytes);
}

/* The child ended in order, or was killed, as OP has it. */
static bool run_op(struct step *s, void (*op)(void))
{
	pid_t pid = child_begin(op, &s->folder, NULL);
	int status;

	if (pid < 0)
		return false;
	fsio_learn(s->io, pid);
	if (waitpid(pid, &status, WUNTRACED) != pid)
		return false;
	if (!WIFSTOPPED(status))
		return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	fsio_learn(s->io, pid);
	return child_end(pid);
}

static void test_op(struct probes *p, const char *name, void (*op)(void), const struct want *want)
{
	uint64_t read_errors = 0, write_errors = 0;
	struct step_detail d = { 0 };
	struct values f;
	struct step s;
	size_t i;

	values_init(&f);
	if (!ok(step_begin(&s, p, "io"), "%s: a step", name))
		return;
	ok(run_op(&s, op), "%s: done", name);
	is_int(fsio_read(s.io, &f, &d), 0, "read");
	check_fs(&d, want, name);
	for (i = 0; want[i].mount; i++) {
		read_errors += want[i].read_errors;
		write_errors += want[i].write_errors;
	}
	ok(values_has(&f, METRIC_IO_READ_ERRORS) && f.value[METRIC_IO_READ_ERRORS] == read_errors &&
		   values_has(&f, METRIC_IO_WRITE_ERRORS) && f.value[METRIC_IO_WRITE_ERRORS] == write_errors,
	   "%s: failed calls of all file systems", name);
	step_end(&s, p);
}

#define TEST(op, ...) \
	test_op(p, #op, op_##op, (const struct want[]){ __VA_ARGS__, { NULL, 0, 0, 0, 0, 0, 0 } })

static void test_calls(struct probes *p)
{
	TEST(read, { disk, 7383, 7, 0, 0, 0, 0 });
	TEST(write, { memory, 0, 0, 0, 7373, 5, 0 });
	TEST(errors, { disk, 0, 2, 2, 0, 1, 1 });
	TEST(sendfile, { disk, 108000, 3, 0, 0, 0, 0 }, { memory, 0, 0, 0, 100000, 1, 0 },
	     { "pipe", 0, 0, 0, 3000, 1, 0 }, { "socket", 0, 0, 0, 5000, 1, 0 });
	TEST(splice, { disk, 8192, 1, 0, 0, 0, 0 }, { memory, 0, 0, 0, 4096, 1, 0 });
	TEST(copy_range, { disk, 60000, 1, 0, 60000, 1, 0 });
	TEST(pipe, { "pipe", 1234, 1, 0, 1234, 1, 0 }, { "socket", 4321, 1, 0, 4321, 1, 0 },
	     { "anon", 0, 0, 0, 8, 1, 0 });
	TEST(exit, { memory, 0, 0, 0, 999, 1, 0 });
	TEST(threads, { memory, 0, 0, 0, 10 * THREADS, THREADS, 0 });
	TEST(forks, { memory, 0, 0, 0, 7 * FORKS, FORKS, 0 });
}

static void test_direct(struct probes *p)
{
	if (!getenv("CEEMS_TEST_DISK")) {
		skip(1, "O_DIRECT and libaio: no disk is given");
		return;
	}
	TEST(direct, { disk, 8192, 1, 0, 4096, 1, 0 });
	TEST(aio, { disk, 5000 + 10 + 2500 + 8192, 4, 0, 4096, 1, 0 },
	     { memory, 0, 0, 0, 6000 + 2500, 2, 0 });
}

static void test_uring(struct probes *p)
{
	struct ring r;

	if (!ring_open(&r)) {
		skip(1, "io_uring: refused here");
		return;
	}
	(void)close(r.fd);
	if (!(probes_features(p) & PROBES_HAS_URING)) {
		skip(1, "io_uring: this kernel's tracepoint does not tell the request");
		return;
	}
	TEST(uring, { disk, 5000 + 10 + 700 + 2500, 5, 1, 0, 0, 0 }, { memory, 0, 0, 0, 6000 + 2500, 2, 0 });
}

/* Mapped pages are read without a call. The task counters count what storage read. */
static void test_mmap(struct probes *p)
{
	struct taskcount *h;
	struct step_detail d = { 0 };
	struct values f;
	struct step s;
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	if (!getenv("CEEMS_TEST_DISK") || !(probes_features(p) & PROBES_HAS_STORAGE)) {
		skip(1, "mmap: no disk is given, or storage is not counted");
		return;
	}
	sync();
	ok(fd >= 0 && write(fd, "3", 1) == 1, "page cache emptied");
	(void)close(fd);
	values_init(&f);
	if (!ok(step_begin(&s, p, "io"), "mmap: a step"))
		return;
	is_int(taskcount_open(p, s.slot, &h), 0, "mmap: task counters");
	ok(run_op(&s, op_mmap), "mmap: done");
	is_int(fsio_read(s.io, &f, &d), 0, "mmap: read");
	is_int((int)d.nfs, 0, "mmap: no calls");
	is_int(taskcount_read(h, true, &f), 0, "mmap: task counters");
	ok(f.value[METRIC_STORAGE_READ_BYTES] >= FILE_SIZE &&
		   f.value[METRIC_STORAGE_READ_BYTES] < FILE_SIZE + 65536,
	   "mmap: storage read the file, and less than 64 KiB more");
	diag("%" PRIu64 " bytes", f.value[METRIC_STORAGE_READ_BYTES]);
	taskcount_close(h);
	step_end(&s, p);
}

/* --- who is counted ------------------------------------------------------------------------- */

static void test_two_at_once(struct probes *p)
{
	struct step_detail d = { 0 };
	struct folder user, task;
	struct values f;
	struct step a, b;
	pid_t one, three, nobody;

	if (!ok(step_begin(&a, p, "io-a") && step_begin(&b, p, "io-b"), "two steps") ||
	    !ok(folder_make(&user, b.folder.path, "user") && folder_make(&task, user.path, "task_0"),
		"one with folders in it"))
		return;
	one = child_begin(op_small_1, &a.folder, NULL);
	three = child_begin(op_small_3, &task, NULL);
	nobody = child_begin(op_small_3, NULL, NULL);
	ok(child_wait_stopped(one) && child_wait_stopped(three) && child_wait_stopped(nobody),
	   "both and a process of none write at once");
	fsio_learn(a.io, one);
	fsio_learn(b.io, three);
	values_init(&f);
	is_int(fsio_read(a.io, &f, &d), 0, "read");
	check_fs(&d, (const struct want[]){ { memory, 0, 0, 0, 20000, 20000, 0 }, { 0 } }, "one");
	memset(&d, 0, sizeof(d));
	is_int(fsio_read(b.io, &f, &d), 0, "read");
	check_fs(&d, (const struct want[]){ { memory, 0, 0, 0, 30000, 10000, 0 }, { 0 } }, "other");
	is_u64(f.value[METRIC_LOCAL_WRITE_BYTES], 30000, "the role local has it");
	is_u64(f.value[METRIC_SCRATCH_WRITE_BYTES], 0, "the role scratch has nothing");
	is_int(f.reason[METRIC_HOME_READ_BYTES], REASON_NO_DEVICE, "no file system for home here");
	ok(child_end(one) && child_end(three) && child_end(nobody), "end");
	folder_remove(&task);
	folder_remove(&user);
	step_end(&b, p);
	step_end(&a, p);
}

/* slurmstepd may sit in the step's cgroup. */
static void test_owner(struct probes *p)
{
	struct folder root = { 0 };
	struct step_detail d = { 0 };
	struct values f;
	struct step s;

	(void)snprintf(root.path, sizeof(root.path), "%s", bpfrig_root(true));
	if (!ok(step_begin(&s, p, "io") && folder_join(&s.folder, getpid()), "in the step's cgroup"))
		return;
	op_write();
	ok(folder_join(&root, getpid()), "and out again");
	values_init(&f);
	is_int(fsio_read(s.io, &f, &d), 0, "read");
	is_int((int)d.nfs, 0, "who registered is not counted");
	step_end(&s, p);
}

static void test_many(struct probes *p)
{
	uint64_t lost = probes_lost(p, PROBES_IO), sum = 0;
	char path[PATH_MAX + 32];
	struct step_detail d = { 0 };
	struct values f;
	struct step s;
	uint32_t i;

	(void)snprintf(path, sizeof(path), "%s/many", memory);
	(void)mkdir(path, 0700);
	for (i = 0; i < MANY; i++) {
		(void)snprintf(path, sizeof(path), "%s/many/%u", memory, i);
		if (mkdir(path, 0700) < 0 || mount("many", path, "tmpfs", 0, NULL) < 0)
			break;
	}
	is_u64(i, MANY, "more file systems than a step has places");
	values_init(&f);
	if (!ok(step_begin(&s, p, "io") && run_op(&s, op_many), "written to all"))
		return;
	is_int(fsio_read(s.io, &f, &d), 0, "read");
	for (i = 0; i < d.nfs; i++)
		sum += d.fs[i].write_bytes;
	is_u64(sum, 11 * MANY, "no byte is missing");
	is_u64(find_fs(&d, "others")->write_calls, MANY - PROBES_FS + 1,
	       "those without a place are in 'others'");
	is_u64(probes_lost(p, PROBES_IO) - lost, MANY - PROBES_FS, "which is counted");
	is_int(f.reason[METRIC_LOCAL_WRITE_BYTES], REASON_NO_SLOT, "and there is no value by role");
	step_end(&s, p);
}

static void test_namespace(struct probes *p)
{
	char own[PATH_MAX + 32];

	(void)snprintf(own, sizeof(own), "%s/own file?system", memory);
	TEST(namespace, { own, 0, 0, 0, 2222, 1, 0 });
}

static bool run_unseen(struct step *s, void (*op)(void))
{
	pid_t pid = child_start(op, &s->folder, NULL);

	return pid > 0 && child_end(pid);
}

/* Mounts of a container that ended before its mountinfo was read; one has a name too long to be kept. */
static void test_unseen(struct probes *p)
{
	char inner[PATH_MAX + 32];
	struct step_detail d = { 0 };
	const char *cut = "";
	struct values f;
	struct step s;
	uint32_t i;

	values_init(&f);
	if (!ok(step_begin(&s, p, "io") && run_unseen(&s, op_unseen), "unseen: done"))
		return;
	is_int(fsio_read(s.io, &f, &d), 0, "read");
	(void)snprintf(inner, sizeof(inner), "%s/outer/in?ner", memory);
	for (i = 0; i < d.nfs; i++)
		if (!strcmp(d.fs[i].type, "ramfs"))
			cut = d.fs[i].mount;
	check_fs(&d,
		 (const struct want[]){ { inner, 0, 0, 0, 3333, 1, 0 },
					{ "/dev", 10, 1, 0, 0, 0, 0 },
					{ cut, 0, 0, 0, 4444, 1, 0 },
					{ 0 } },
		 "unseen");
	is_str(find_fs(&d, inner)->type, "tmpfs", "of that type");
	ok(cut[0] && cut[0] != '/', "what is cut has no name but a number: %s", cut);
	is_u64(f.value[METRIC_LOCAL_WRITE_BYTES], 3333, "the role local has it");
	step_end(&s, p);
}

static void test_overlay(struct probes *p)
{
	static const char *const folder[] = { "upper", "work", "merged" };
	char path[PATH_MAX + 32], options[3 * PATH_MAX + 64];
	char *file = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(folder); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", memory, folder[i]);
		(void)mkdir(path, 0700);
	}
	(void)snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s/upper,workdir=%s/work", disk,
		       memory, memory);
	if (mount("overlay", path, "overlay", 0, options) < 0) {
		skip(1, "no overlayfs here");
		return;
	}
	if (asprintf(&file, "%s/from", path) < 0)
		file = NULL;
	i = (size_t)open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ok(file && write((int)i, buf, 50000) == 50000, "a file on overlayfs");
	free(file);
	(void)close((int)i);
	TEST(overlay, { path, 50300, 2, 0, 50000, 1, 0 });
	(void)umount2(path, MNT_DETACH);
}

/* --- the machine ---------------------------------------------------------------------------- */

static bool make_file(const char *dir, const char *name)
{
	char path[PATH_MAX + 32];
	int fd;
	bool done;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	done = fd >= 0 && write(fd, buf, sizeof(buf)) == (ssize_t)sizeof(buf) && fsync(fd) == 0;
	if (fd >= 0)
		(void)close(fd);
	return done;
}

/* Two file systems of our own; the disk is given, or memory, too. */
static bool make_disks(void)
{
	const char *given = getenv("CEEMS_TEST_DISK");

	(void)snprintf(memory, sizeof(memory), "%s/memory", bpfrig_scratch);
	(void)snprintf(disk, sizeof(disk), "%s/disk", bpfrig_scratch);
	if (mkdir(memory, 0700) < 0 || mount("memory", memory, "tmpfs", 0, NULL) < 0)
		return false;
	if (given)
		(void)snprintf(disk, sizeof(disk), "%s", given);
	else if (mkdir(disk, 0700) < 0 || mount("disk", disk, "tmpfs", 0, NULL) < 0)
		return false;
	(void)snprintf(settings.filesystems, sizeof(settings.filesystems),
		       "local:%.400s,scratch:%.400s,home:/no/such", memory, disk);
	return make_file(disk, "full") && make_file(disk, "direct") && make_file(disk, "copied") &&
	       make_file(disk, "mapped");
}

static void remove_disks(void)
{
	(void)umount2(memory, MNT_DETACH);
	(void)rmdir(memory);
	if (!getenv("CEEMS_TEST_DISK")) {
		(void)umount2(disk, MNT_DETACH);
		(void)rmdir(disk);
	}
}

static void test_refused(struct probes *p)
{
	struct errmsg err = { 0 };
	struct fsio *io;

	is_int(probes_why(p, PROBES_IO), PROBES_NO_HOOK, "no hooks is the reason");
	is_int(probes_hold(p, PROBES_IO, &err), -EOPNOTSUPP, "so nothing is attached");
	ok(strstr(err.text, probes_why_text(PROBES_NO_HOOK)) != NULL, "the reason in one line");
	diag("%s", err.text);
	is_int(fsio_open(p, 1, &settings, &io, &err), -ENOENT, "and nothing to be read");
}

static void run_tests(struct probes *p)
{
	struct errmsg err = { 0 };

	if (!ok(make_disks(), "two file systems") ||
	    !ok(probes_hold(p, PROBES_TASKS, &err) == 0 && probes_hold(p, PROBES_IO, &err) == 0,
		"hooks attached %s", err.text))
		return;
	test_calls(p);
	test_direct(p);
	test_uring(p);
	test_mmap(p);
	test_two_at_once(p);
	test_owner(p);
	test_overlay(p);
	test_namespace(p);
	test_unseen(p);
	test_many(p);
}

int main(void)
{
	const char *why = bpfrig_up();
	struct errmsg err = { 0 };
	struct probes *p;

	if (why)
		return skip_all(why);
	if (!ok(probes_open(bpfrig_dir, &p, &err) == 0, "open %s", err.text))
		return done_testing();
	if (probes_why(p, PROBES_IO) == PROBES_OK)
		run_tests(p);
	else
		test_refused(p);
	remove_disks();
	probes_close(p);
	(void)bpfrig_unload();
	bpfrig_down();
	return done_testing();
}
