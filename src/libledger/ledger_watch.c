/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libledger/ledger_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/libutil/procstat.h"

/*
 * Without a pidfd, each call tests with kill(pid, 0) whether a process has the number. Only each 16th call
 * also tests in /proc/PID/stat whether it is still the same process, which costs 50 times as much.
 */
#define FULL_CHECK_EVERY 16

int ledger_watch_open(pid_t pid)
{
#ifdef SYS_pidfd_open
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
#else
	(void)pid;
	return -ENOSYS;
#endif
}

void ledger_watch_forget(struct ledger_watch *w)
{
	if (w->pid && w->pidfd >= 0)
		(void)close(w->pidfd);
	*w = (struct ledger_watch){ .pidfd = -1 };
}

void ledger_watch_poll(struct ledger_watch *w, size_t n)
{
	struct pollfd p[LEDGER_STEPS];
	nfds_t i;

	for (i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = w[i].pid ? w[i].pidfd : -1, .events = POLLIN };
	if (poll(p, n, 0) <= 0)
		return;
	for (i = 0; i < n; i++)
		w[i].has_ended = p[i].revents != 0;
}

static bool is_there(int32_t pid)
{
	return kill(pid, 0) == 0 || errno != ESRCH;
}

bool ledger_watch_is_alive(struct ledger_watch *w, int32_t pid, uint64_t start, bool is_new)
{
	if (is_new)
		return is_there(pid);
	if (w->pid != pid || w->start != start) {
		ledger_watch_forget(w);
		*w = (struct ledger_watch){ pid, start, ledger_watch_open(pid), false, 0 };
		/* test after opening, because the pidfd may be of another process that reused the number */
		if (procstat_is_alive(pid, start))
			return true;
		ledger_watch_forget(w);
		return false;
	}
	if (w->pidfd >= 0)
		return !w->has_ended;
	if (++w->asked % FULL_CHECK_EVERY == 0)
		return procstat_is_alive(pid, start);
	return is_there(pid);
}
