/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * init of an emulated arm64 guest: runs /two_callers below /ceems-profile, once for each event and build of
 * it, on cgroup v2. Prints what the program says of itself, and the profile as hexadecimal lines "FILE NAME
 * BYTES".
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bpf/arm64_guest.h"

#define BYTES_OF_LINE 64
#define SECONDS "6"

/* Starts PROGRAM in the cgroup, stopped before its exec. */
static pid_t start_stopped(const char *program)
{
	char *argv[] = { (char *)program, (char *)SECONDS, (char *)"75", NULL };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		guest_enter_cgroup();
		(void)raise(SIGSTOP);
		(void)execv(program, argv);
		_exit(127);
	}
	return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) ? pid : -1;
}

/* Starts /ceems-profile for PID. It ends when *RET_FD is closed. */
static pid_t start_profiler(pid_t pid, const char *name, const char *stacks, int *ret_fd)
{
	static char program[] = "/ceems-profile";
	char *argv[] = { program, NULL };
	char text[512];
	pid_t profiler;
	int end[2], len;

	/* step_args.h; %c: a NUL */
	len = snprintf(text, sizeof(text),
		       "uid=0%cgroups=0%cdir=/tmp%cfile=%s%cbytes=10000000%chz=99%cstacks=%s%ccgroup=" CGROUP
		       "%ctasks=%d:0%cjob=1%cstep=0%cnode=n1%cqueue=%cqueue_bytes=0%cjob_id=1%ccluster=",
		       0, 0, 0, name, 0, 0, 0, stacks, 0, 0, (int)pid, 0, 0, 0, 0, 0, 0, 0);
	if (pipe2(end, O_CLOEXEC) < 0 || write(end[1], text, (size_t)len + 1) != len + 1)
		return -1;
	profiler = fork();
	if (profiler == 0) {
		(void)dup2(end[0], STDIN_FILENO);
		(void)execv(argv[0], argv);
		_exit(127);
	}
	(void)close(end[0]);
	*ret_fd = end[1];
	return profiler;
}

static void print_file(const char *name)
{
	unsigned char bytes[BYTES_OF_LINE];
	char path[64];
	size_t n, i;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/tmp/%s.pb.gz", name);
	f = fopen(path, "re");
	while (f && (n = fread(bytes, 1, sizeof(bytes), f))) {
		(void)printf("FILE %s ", name);
		for (i = 0; i < n; i++)
			(void)printf("%02x", bytes[i]);
		(void)printf("\n");
	}
	if (f)
		(void)fclose(f);
}

static void profile(const char *program, const char *name, const char *stacks)
{
	pid_t pid = start_stopped(program), profiler;
	int fd = -1, status = -1;

	profiler = start_profiler(pid, name, stacks, &fd);
	(void)sleep(12); /* until it samples: reading the kernel's BTF and symbols is slow here */
	(void)printf("PART %s ", name);
	(void)fflush(stdout);
	(void)kill(pid, SIGCONT);
	(void)waitpid(pid, NULL, 0);
	(void)close(fd);
	(void)waitpid(profiler, &status, 0);
	(void)printf("END %s %d\n", name, status);
	print_file(name);
}

int main(void)
{
	int fd;

	if (getpid() != 1)
		return 1; /* this ends with a power-off */
	guest_mount();
	(void)mkdir(CGROUP, 0755);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)dup2(fd, STDIN_FILENO);
	profile("/eh_frame", "eh_frame-clock", "user");
	profile("/eh_frame", "eh_frame-cycles", "user,cycles");
	profile("/pac", "pac-clock", "user");
	profile("/frame", "frame-cycles", "user,cycles");
	(void)printf("GUEST over\n");
	(void)fflush(stdout);
	(void)reboot(RB_POWER_OFF);
	return 1;
}
