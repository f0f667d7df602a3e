/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tick of a node on which nothing begins or ends allocates no memory, opens no file, reads each file once
 * and asks once for all steps which have ended. The linker sends every such call of ours through here
 * (-Wl,--wrap).
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "busy_node.h"
#include "src/libnode/sampler.h"
#include "tap.h"

#define WARM_UP 5 /* ticks: what is new is opened */
#define TICKS 200

static unsigned int allocated, opened, reads, polls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__real_fopen64(const char *path, const char *mode);
DIR *__real_opendir(const char *path);
int __real_open(const char *path, int flags, ...);
int __real_open64(const char *path, int flags, ...);
int __real_openat(int dir, const char *path, int flags, ...);
int __real_openat64(int dir, const char *path, int flags, ...);

void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	allocated++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	allocated++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size)
{
	allocated++;
	return __real_realloc(p, size);
}

FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
	opened++;
	return __real_fopen(path, mode);
}

FILE *__wrap_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode)
{
	opened++;
	return __real_fopen64(path, mode);
}

DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
	opened++;
	return __real_opendir(path);
}

/* The mode is passed on whether there is one or not, as libc itself does. */
#define WRAP_OPEN(name)                                       \
	int __wrap_##name(const char *path, int flags, ...);  \
	int __wrap_##name(const char *path, int flags, ...)   \
	{                                                     \
		va_list ap;                                   \
		int mode;                                     \
                                                              \
		va_start(ap, flags);                          \
		mode = flags & O_CREAT ? va_arg(ap, int) : 0; \
		va_end(ap);                                   \
		opened++;                                     \
		return __real_##name(path, flags, mode);      \
	}
WRAP_OPEN(open)
WRAP_OPEN(open64)

#define WRAP_OPENAT(name)                                             \
	int __wrap_##name(int dir, const char *path, int flags, ...); \
	int __wrap_##name(int dir, const char *path, int flags, ...)  \
	{                                                             \
		va_list ap;                                           \
		int mode;                                             \
                                                                      \
		va_start(ap, flags);                                  \
		mode = flags & O_CREAT ? va_arg(ap, int) : 0;         \
		va_end(ap);                                           \
		opened++;                                             \
		return __real_##name(dir, path, flags, mode);         \
	}
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

int __real_poll(struct pollfd *p, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *p, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *p, nfds_t n, int timeout)
{
	polls++;
	return __real_poll(p, n, timeout);
}

#define WRAP_PREAD(name)                                                 \
	ssize_t __real_##name(int fd, void *buf, size_t size, off_t at); \
	ssize_t __wrap_##name(int fd, void *buf, size_t size, off_t at); \
	ssize_t __wrap_##name(int fd, void *buf, size_t size, off_t at)  \
	{                                                                \
		reads++;                                                 \
		return __real_##name(fd, buf, size, at);                 \
	}
WRAP_PREAD(pread)
WRAP_PREAD(pread64)

static void test_ticks(struct busy_node *n, struct sampler *s)
{
	unsigned int allocations = 0;
	unsigned int files = 0;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < WARM_UP; i++)
		rc |= sampler_tick(s);
	reads = polls = 0;
	for (i = 0; i < TICKS; i++) {
		busy_node_feed(n, 1000, 1);
		allocated = opened = 0;
		rc |= sampler_tick(s);
		allocations += allocated;
		files += opened;
	}
	is_int(rc, 0, "ticks of a busy node");
	is_u64(allocations, 0, "allocate nothing");
	is_u64(files, 0, "open no file");
	/* what is used of the memory is read now and then besides */
	ok(reads < TICKS * (BUSY_NODE_STEPS + BUSY_NODE_STEPS / 2), "read each file once: %u reads", reads);
	is_u64(polls, TICKS, "and ask once which steps have ended");
}

int main(void)
{
	struct settings settings;
	struct errmsg err = { 0 };
	struct sampler *s = NULL;
	struct ledger *l = NULL;
	struct busy_node n;

	if (!busy_node_make(&n))
		return 99;
	busy_node_settings(&n, &settings);
	allocated = opened = 0;
	if (sampler_create(&settings, "n1", &s, &err) < 0 || ledger_open(n.top, "n1", true, &l, &err) < 0 ||
	    busy_node_claim(&n, l, 0, BUSY_NODE_STEPS) < 0) {
		ok(false, "a sampler: %s", err.text);
	} else {
		ok(allocated && opened, "what is counted here is counted");
		test_ticks(&n, s);
	}
	ledger_close(l);
	sampler_destroy(s);
	busy_node_remove(&n);
	return done_testing();
}
