/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/procstat.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

int main(void)
{
	struct procstat s = { 0 };
	struct procstat c = { 0 };
	siginfo_t info;
	pid_t pid;

	ok(prctl(PR_SET_NAME, "a) Z 1 (b") == 0 && procstat_read(getpid(), &s) == 0,
	   "a name that looks like other fields");
	ok(s.state == 'R' && s.ppid == getppid() && s.start_ticks, "the fields after the name are right");
	is_str(s.name, "a) Z 1 (b", "and so is the name");
	is_int(procstat_read_thread(getpid(), getpid(), &c), 0, "a thread");
	ok(!strcmp(c.name, s.name) && c.start_ticks == s.start_ticks, "  has the same");
	is_int(procstat_read_thread(1, getpid(), &c), -ENOENT, "a thread of another process");
	is_int(procstat_parse("7 (x S 1", &c), -EINVAL, "a line without an end of the name");
	is_int(procstat_parse("7 )( S 1", &c), -EINVAL, "one that ends before it begins");
	ok(procstat_is_alive(getpid(), s.start_ticks), "this process lives");
	ok(procstat_is_alive(getpid(), 0), "  without its start time, too");
	ok(!procstat_is_alive(getpid(), s.start_ticks + 1),
	   "a process with its pid and another start time does not");

	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	is_int(procstat_read(pid, &c), 0, "a child");
	is_int(c.ppid, getpid(), "its parent");
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	ok(!procstat_is_alive(pid, c.start_ticks), "a zombie has ended");
	waitpid(pid, NULL, 0);
	ok(!procstat_is_alive(pid, c.start_ticks), "and so has one that is gone");
	is_int(procstat_read(pid, &s), -ENOENT, "which cannot be read");
	is_int(s.ppid, getppid(), "and changes nothing then");
	return done_testing();
}
