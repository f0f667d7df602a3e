/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcplab.h - steps whose TCP is counted, in a private mount and network namespace: needs root and the
 * right to load BPF programs.
 */
#ifndef CEEMS_TCPLAB_H
#define CEEMS_TCPLAB_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/libmeter/activity/bpfsys.h"
#include "src/libmeter/activity/probes.h"
#include "src/libmeter/activity/tcpcount.h"
#include "src/libnode/bpfload.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define TIMEOUT_NS (60 * NSEC_PER_SEC)

static struct probes *probes;
static struct {
	char scratch[32];
	char dir[PATH_MAX]; /* BpfDir */
	char helper[PATH_MAX];
	const char *v2_root;
} tcplab;

/* --- steps -------------------------------------------------------------------------------- */

struct step {
	char folder[PATH_MAX];
	uint32_t slot;
	struct tcpcount *t;
};

static inline bool step_register(struct step *s)
{
	struct stat st;

	s->slot = 0;
	s->t = NULL;
	return stat(s->folder, &st) == 0 &&
	       probes_register(probes, st.st_ino, 0, 1u << PROBES_TCP, &s->slot) == 0 &&
	       tcpcount_open(probes, s->slot, &s->t) == 0;
}

static inline void step_release(struct step *s)
{
	tcpcount_close(s->t);
	s->t = NULL;
	if (s->slot)
		probes_release(probes, s->slot);
	s->slot = 0;
}

static inline bool step_open(struct step *s, const char *name)
{
	(void)snprintf(s->folder, sizeof(s->folder), "%s/tcplab-%d-%s", tcplab.v2_root, (int)getpid(), name);
	return mkdir(s->folder, 0755) == 0 && step_register(s);
}

/* The kernel lets go of a dead task's cgroup a little after its parent knows. */
static inline void step_close(struct step *s)
{
	uint64_t deadline = clock_mono_ns() + TIMEOUT_NS;

	step_release(s);
	while (rmdir(s->folder) < 0 && errno == EBUSY && clock_mono_ns() < deadline)
		(void)usleep(1000);
}

static inline void join(const char *folder)
{
	char path[PATH_MAX + 16];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(91);
	(void)close(fd);
}

struct seen {
	uint64_t sent, received, connections, retransmitted;
};

static inline struct seen look(const struct step *s)
{
	struct seen seen = { 0 };
	struct values f;

	values_init(&f);
	if (tcpcount_read(s->t, &f) < 0 || !values_has(&f, METRIC_TCP_SENT_BYTES))
		return (struct seen){ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	seen.sent = f.value[METRIC_TCP_SENT_BYTES];
	seen.received = f.value[METRIC_TCP_RECEIVED_BYTES];
	seen.connections = f.value[METRIC_TCP_CONNECTIONS];
	seen.retransmitted = f.value[METRIC_TCP_RETRANSMITTED_BYTES];
	return seen;
}

/* Of closed sockets only. */
static inline struct probes_tcp_row row_of(const struct step *s)
{
	struct probes_tcp_row row = { 0 };
	int fd;

	if (probes_map(probes, "tcp_rows", &fd) < 0 || bpfsys_lookup(fd, &s->slot, &row) < 0)
		row.closed.failed = UINT64_MAX;
	return row;
}

static inline bool is_live(void)
{
	return probes_features(probes) & PROBES_HAS_LIVE_TCP;
}

/*
 * Bytes are on their way for a moment after a process has gone, and sockets that close on a kernel
 * without a list of live ones.
 */
static inline bool is_seen_within(const struct step *s, uint64_t sent, uint64_t received,
				  uint64_t connections, uint64_t wait_ns)
{
	uint64_t deadline = clock_mono_ns() + wait_ns;
	struct seen n = look(s);

	while ((n.sent != sent || n.received != received || n.connections != connections) &&
	       clock_mono_ns() < deadline) {
		(void)usleep(5000);
		n = look(s);
	}
	if (n.sent == sent && n.received == received && n.connections == connections)
		return true;
	diag("got %" PRIu64 " sent, %" PRIu64 " received, %" PRIu64 " connections; want %" PRIu64 ", %" PRIu64
	     ", %" PRIu64,
	     n.sent, n.received, n.connections, sent, received, connections);
	return false;
}

static inline void is_seen(const struct step *s, uint64_t sent, uint64_t received, uint64_t connections,
			   const char *what)
{
	ok(is_seen_within(s, sent, received, connections, TIMEOUT_NS), "%s", what);
}

/* --- processes ---------------------------------------------------------------------------- */

static inline pid_t start(const struct step *step)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		join(step->folder);
	}
	return pid;
}

static inline bool ended_well(pid_t pid)
{
	int status;

	if (pid <= 0 || waitpid(pid, &status, 0) != pid)
		return false;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	if (status)
		diag("a process ended with %#x", (unsigned int)status);
	return status == 0;
}

/* --- the laboratory ----------------------------------------------------------------------- */

static inline bool loopback_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool done = s >= 0 && ioctl(s, SIOCSIFFLAGS, &ifr) == 0;

	if (s >= 0)
		(void)close(s);
	return done;
}

static inline const char *tcplab_root(void)
{
	static const char *const candidates[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char probe[PATH_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(candidates); i++) {
		(void)snprintf(probe, sizeof(probe), "%s/cgroup.subtree_control", candidates[i]);
		if (access(probe, W_OK) == 0)
			return candidates[i];
	}
	return NULL;
}

static inline void tcplab_close(void)
{
	probes_close(probes);
	probes = NULL;
	(void)bpfload_stop(tcplab.helper, tcplab.dir, TIMEOUT_NS, NULL);
	(void)snprintf(tcplab.dir, sizeof(tcplab.dir), "%s/bpf", tcplab.scratch);
	(void)umount2(tcplab.dir, MNT_DETACH);
	(void)rmdir(tcplab.dir);
	(void)rmdir(tcplab.scratch);
}

/* NULL, or why there is none. */
static inline const char *tcplab_open(void)
{
	const char *top = getenv("top_builddir");
	struct errmsg err = { 0 };

	(void)snprintf(tcplab.helper, sizeof(tcplab.helper), "%s/bpf/ceems-bpf", top ? top : "../..");
	if (access(tcplab.helper, X_OK) < 0)
		return "ceems-bpf is not built";
	if (geteuid() != 0)
		return "not root";
	tcplab.v2_root = tcplab_root();
	if (!tcplab.v2_root)
		return "no v2 cgroup that can be written";
	if (unshare(CLONE_NEWNS | CLONE_NEWNET) < 0 || !loopback_up() ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return "no private mount and network namespaces";
	(void)snprintf(tcplab.scratch, sizeof(tcplab.scratch), "/tmp/tcplab-XXXXXX");
	if (!mkdtemp(tcplab.scratch))
		return "no folder below /tmp";
	(void)snprintf(tcplab.dir, sizeof(tcplab.dir), "%s/bpf", tcplab.scratch);
	if (mkdir(tcplab.dir, 0700) < 0 || mount("bpf", tcplab.dir, "bpf", 0, NULL) < 0) {
		tcplab_close();
		return "no bpf file system";
	}
	(void)strcat(tcplab.dir, "/ceems");
	if (bpfload_run(tcplab.helper, tcplab.dir, TIMEOUT_NS, &err) == -EOPNOTSUPP) {
		diag("%s", err.text);
		tcplab_close();
		return "the kernel or our rights do not allow BPF";
	}
	if (!ok(probes_open(tcplab.dir, &probes, &err) == 0, "open %s", err.text)) {
		tcplab_close();
		return "the programs cannot be opened";
	}
	if (probes_why(probes, PROBES_TCP) != PROBES_OK) {
		diag("%s", probes_why_text(probes_why(probes, PROBES_TCP)));
		tcplab_close();
		return "TCP cannot be counted here";
	}
	if (!is_int(probes_hold(probes, PROBES_TCP, &err), 0, "attach"))
		diag("%s", err.text);
	return NULL;
}

#endif
