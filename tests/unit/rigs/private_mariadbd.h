/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * private_mariadbd.h - a MariaDB server of the test's own: socket only, in a scratch folder, ended with
 * the test whatever happens to it. With CEEMS_MYSQL, a folder of contrib/mysql-tree, it is MySQL. The caller
 * includes _GNU_SOURCE's headers.
 */
#ifndef CEEMS_PRIVATE_MARIADBD_H
#define CEEMS_PRIVATE_MARIADBD_H

#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "scratch.h"
#include "src/libutil/clock.h"

struct private_mariadbd {
	pid_t pid; /* 0: does not run */
	char log[128], data[128], socket[100];
	char data_arg[160], socket_arg[128], pid_arg[160], user_arg[64];
	const char *max_packet; /* "--max-allowed-packet=1M" */
	const char *more[6];	/* options, up to a NULL; without any there is no network */
};

static inline const char *mariadbd_program(const char *const *paths)
{
	for (; *paths; paths++)
		if (access(*paths, X_OK) == 0)
			return *paths;
	return NULL;
}

/* Returns the program NAME of the folder CEEMS_MYSQL, or else the first of PATHS that exists. NULL: none. */
static inline const char *mariadbd_find(const char *name, const char *const *paths)
{
	static char mysql[2][PATH_MAX];
	const char *folder = getenv("CEEMS_MYSQL");
	char *path = mysql[name[0] == 'm'];

	if (!folder || !*folder)
		return mariadbd_program(paths);
	snprintf(path, sizeof(mysql[0]), "%s/%s", folder, name);
	return access(path, X_OK) == 0 ? path : NULL;
}

static inline bool mariadbd_is_mysql(void)
{
	const char *folder = getenv("CEEMS_MYSQL");

	return folder && *folder;
}

static inline const char *mariadbd_server(void)
{
	static const char *const paths[] = { "/usr/sbin/mariadbd", "/usr/sbin/mysqld", NULL };

	return mariadbd_find("mysqld", paths);
}

static inline const char *mariadbd_installer(void)
{
	static const char *const paths[] = { "/usr/bin/mariadb-install-db", "/usr/bin/mysql_install_db",
					     NULL };

	return mariadbd_find("install-db", paths);
}

static inline pid_t mariadbd_spawn(const struct private_mariadbd *p, char *const argv[])
{
	pid_t parent = getpid();
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	/* a server that starts deletes all temporary tables that it finds in there */
	setenv("TMPDIR", p->data, 1);
	fd = open(p->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, 1);
	dup2(fd, 2);
	execv(argv[0], argv);
	_exit(127);
}

static inline char *mariadbd_arg(const char *text)
{
	return (char *)(uintptr_t)text; /* execv() does not write there */
}

/* Waits until somebody listens. */
static inline bool mariadbd_start(struct private_mariadbd *p)
{
	char *argv[] = { mariadbd_arg(mariadbd_server()),
			 mariadbd_arg("--no-defaults"),
			 p->data_arg,
			 p->socket_arg,
			 p->pid_arg,
			 p->user_arg,
			 mariadbd_arg("--innodb-buffer-pool-size=256M"),
			 mariadbd_arg("--loose-innodb-log-file-size=256M"),
			 mariadbd_arg(p->max_packet ? p->max_packet : "--max-allowed-packet=16M"),
			 mariadbd_arg(p->more[0] ? p->more[0] : "--skip-networking"),
			 mariadbd_arg(p->more[0] ? p->more[1] : NULL),
			 mariadbd_arg(p->more[2]),
			 mariadbd_arg(p->more[3]),
			 mariadbd_arg(p->more[4]),
			 NULL };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	uint64_t deadline = clock_mono_ns() + 60 * NSEC_PER_SEC;
	bool up = false;

	p->pid = mariadbd_spawn(p, argv);
	memcpy(a.sun_path, p->socket, sizeof(p->socket));
	while (!up && clock_mono_ns() < deadline && waitpid(p->pid, NULL, WNOHANG) == 0) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		up = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
		close(fd);
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	return up;
}

static inline void mariadbd_stop(struct private_mariadbd *p, int sig)
{
	if (p->pid > 0) {
		kill(p->pid, sig);
		waitpid(p->pid, NULL, 0);
	}
	p->pid = 0;
}

/*
 * Makes the system tables below DIR (a short path); as root for the user mysql, since mariadbd
 * refuses to be root. NULL, or why there can be no server here.
 */
static inline const char *mariadbd_install(struct private_mariadbd *p, const char *dir)
{
	struct passwd *pw = getpwuid(getuid());
	int status;
	pid_t pid;

	if (!mariadbd_installer() || !mariadbd_server())
		return mariadbd_is_mysql() ? "CEEMS_MYSQL is not a folder of contrib/mysql-tree" :
					     "mariadbd is not installed";
	snprintf(p->data, sizeof(p->data), "%.90s/data", dir);
	snprintf(p->log, sizeof(p->log), "%.90s/server.log", dir);
	snprintf(p->socket, sizeof(p->socket), "%.90s/sock", dir);
	snprintf(p->data_arg, sizeof(p->data_arg), "--datadir=%s", p->data);
	snprintf(p->socket_arg, sizeof(p->socket_arg), "--socket=%s", p->socket);
	snprintf(p->pid_arg, sizeof(p->pid_arg), "--pid-file=%s/pid", p->data);
	mkdir(p->data, 0700);
	if (!getuid()) {
		pw = getpwnam("mysql");
		if (!pw || chown(p->data, pw->pw_uid, pw->pw_gid) < 0 ||
		    chown(dir, pw->pw_uid, pw->pw_gid) < 0)
			return "no user mysql";
	}
	snprintf(p->user_arg, sizeof(p->user_arg), "--user=%.40s", pw ? pw->pw_name : "mysql");
	char *argv[] = { mariadbd_arg(mariadbd_installer()),
			 mariadbd_arg("--no-defaults"),
			 p->data_arg,
			 p->user_arg,
			 mariadbd_arg("--auth-root-authentication-method=socket"),
			 mariadbd_arg("--skip-test-db"),
			 NULL };
	pid = mariadbd_spawn(p, argv);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		return "mariadb-install-db failed";
	return NULL;
}

#endif
