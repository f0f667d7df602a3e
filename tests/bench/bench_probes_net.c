/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What counting packets (--ceems-perf=net) costs: one thread sends itself something over loopback, which is
 * one packet out and one in, or some more with TCP. In turn without the programs, with them on its own
 * cgroup, and with them on another one. CPU time, medians of the differences between neighbouring runs;
 * root only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "bench_size.h"
#include "src/libmeter/activity/netcount.h"
#include "src/libnode/bpfload.h"
#include "src/libutil/clock.h"

#define REPS 21
#define LOADS 3

static char scratch[] = "/tmp/bench_probes_net-XXXXXX";
static char dir[PATH_MAX], helper[PATH_MAX], root[64], cgroup[2][128];

enum { OFF, TRACKED, OTHERS, MODES };

static const struct load {
	const char *name;
	int type;
	size_t size;
	unsigned int rounds;
} loads[LOADS] = {
	{ "UDP, 1 byte", SOCK_DGRAM, 1, 20000 },
	{ "TCP, 1 byte", SOCK_STREAM, 1, 10000 },
	{ "TCP, 64 KiB", SOCK_STREAM, 65536, 4000 },
};

static bool join(const char *folder)
{
	char path[160];
	_cleanup_close_ int fd = -1;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, "0", 1) == 1;
}

static bool make_pair(int type, int fd[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	_cleanup_close_ int listener = -1;
	int on = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	fd[0] = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&at, len) < 0 ||
	    (type == SOCK_STREAM && listen(listener, 1) < 0) ||
	    getsockname(listener, (struct sockaddr *)&at, &len) < 0 ||
	    connect(fd[0], (struct sockaddr *)&at, len) < 0)
		return false;
	(void)setsockopt(fd[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	fd[1] = type == SOCK_STREAM ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : TAKE_FD(listener);
	return fd[1] >= 0;
}

/* CPU time, not wall time: other load on the machine does not count. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* Nanoseconds a round; 0: failed. */
static uint64_t run_load(const struct load *l, const int fd[2])
{
	static char data[65536];
	const uint64_t rounds = bench_n(l->rounds);
	uint64_t start = cpu_ns();
	uint64_t i;

	for (i = 0; i < rounds; i++) {
		size_t got = 0;

		if (send(fd[0], data, l->size, MSG_NOSIGNAL) != (ssize_t)l->size)
			return 0;
		while (got < l->size) {
			ssize_t n = recv(fd[1], data, sizeof(data), 0);

			if (n <= 0)
				return 0;
			got += (size_t)n;
		}
	}
	return (cpu_ns() - start) / rounds;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t median(int64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static int measure(struct probes *p, const struct load *l)
{
	int64_t base[REPS], more[MODES][REPS];
	int fd[2] = { -1, -1 }, folder[2] = { -1, -1 };
	struct errmsg err = { 0 };
	char what[64];
	int rc = 1, r, m, i;

	for (m = 0; m < 2; m++)
		folder[m] = open(cgroup[m], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!join(cgroup[0]) || !make_pair(l->type, fd) || !join(root))
		goto out;
	for (r = 0; r < REPS; r++) {
		uint64_t ns[MODES];

		for (i = 0; i < MODES; i++) {
			struct netcount *n = NULL;

			m = (i + r) % MODES; /* what comes first is slower */

			if (m != OFF && netcount_open(p, folder[m == OTHERS], &n, &err) < 0) {
				(void)fprintf(stderr, "%s\n", err.text);
				goto out;
			}
			ns[m] = run_load(l, fd);
			netcount_close(n);
			if (!ns[m])
				goto out;
		}
		base[r] = (int64_t)ns[OFF];
		for (m = 0; m < MODES; m++)
			more[m][r] = (int64_t)(ns[m] - ns[OFF]);
	}
	{
		double off = (double)median(base, REPS);
		int64_t tracked = median(more[TRACKED], REPS), others = median(more[OTHERS], REPS);

		(void)snprintf(what, sizeof(what), "%s, there and back", l->name);
		printf("%-44s %.0f ns; counted %+" PRId64 " ns (x %.3f); of others %+" PRId64
		       " ns (x %.3f)\n",
		       what, off, tracked, 1 + (double)tracked / off, others, 1 + (double)others / off);
	}
	rc = 0;
out:
	for (m = 0; m < 2; m++) {
		util_closep(&fd[m]);
		util_closep(&folder[m]);
	}
	return rc;
}

static bool find_cgroups(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char probe[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(roots); i++) {
		(void)snprintf(probe, sizeof(probe), "%s/cgroup.controllers", roots[i]);
		if (access(probe, F_OK) < 0)
			continue;
		(void)snprintf(root, sizeof(root), "%s", roots[i]);
		(void)snprintf(cgroup[0], sizeof(cgroup[0]), "%s/bench_net-%d", root, getpid());
		(void)snprintf(cgroup[1], sizeof(cgroup[1]), "%s/bench_net_b-%d", root, getpid());
		return mkdir(cgroup[0], 0755) == 0 && mkdir(cgroup[1], 0755) == 0;
	}
	return false;
}

int main(void)
{
	const char *top = getenv("top_builddir");
	struct probes *p = NULL;
	struct errmsg err = { 0 };
	size_t i;
	int rc = 1;

	(void)snprintf(helper, sizeof(helper), "%s/bpf/ceems-bpf", top ? top : "../..");
	if (!mkdtemp(scratch) || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 1;
	(void)snprintf(dir, sizeof(dir), "%s/bpf", scratch);
	if (mkdir(dir, 0700) < 0 || mount("bpf", dir, "bpf", 0, NULL) < 0)
		return 1;
	(void)strcat(dir, "/ceems");
	if (bpfload_run(helper, dir, 60 * NSEC_PER_SEC, &err) < 0 || probes_open(dir, &p, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
	} else if (find_cgroups()) {
		for (rc = 0, i = 0; i < LOADS && rc == 0; i++)
			rc = measure(p, &loads[i]);
	}
	(void)join(root);
	(void)rmdir(cgroup[0]);
	(void)rmdir(cgroup[1]);
	probes_close(p);
	(void)bpfload_stop(helper, dir, 60 * NSEC_PER_SEC, NULL);
	dir[strlen(scratch) + strlen("/bpf")] = '\0';
	(void)umount2(dir, MNT_DETACH);
	(void)rmdir(dir);
	(void)rmdir(scratch);
	return rc;
}
