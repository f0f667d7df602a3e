/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gather_bmc.c - the BMC's answers, which ceems-redfish asks for as it does for slurmd.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/cmd/gather/gather.h"
#include "src/libnode/sources.h"
#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/util.h"

/* More than a search may take (redfish_tree.c), and more than 1,000 resources have. */
#define BMC_NS (150 * NSEC_PER_SEC)
#define BMC_BYTES_MAX 33554432

/* Reads FD to its end into malloc'ed memory, ended by NUL. */
static int read_end(int fd, char **ret, size_t *ret_len)
{
	uint64_t deadline_ns = clock_mono_ns() + BMC_NS;
	_cleanup_free_ char *buf = NULL;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t size = 0, len = 0;
	uint64_t now_ns;

	while ((now_ns = clock_mono_ns()) < deadline_ns && len < BMC_BYTES_MAX) {
		ssize_t n;

		if (size - len < 65536) {
			char *grown = realloc(buf, size = 2 * size + 131072);

			if (!grown)
				return -ENOMEM;
			buf = grown;
		}
		if (poll(&p, 1, (int)((deadline_ns - now_ns) / NSEC_PER_MSEC) + 1) <= 0)
			continue;
		n = read(fd, buf + len, size - len - 1);
		if (n == 0) {
			buf[len] = '\0';
			*ret = TAKE_PTR(buf);
			*ret_len = len;
			return 0;
		}
		len += n > 0 ? (size_t)n : 0;
	}
	return -ETIMEDOUT;
}

/* Adds one answer, if OUT begins with one. *RET_LEN is how many bytes were taken. */
static int take_answer(struct gather *g, char *out, size_t len, size_t *ret_len, struct errmsg *err)
{
	char path[256], name[300];
	size_t head = strcspn(out, "\n") + 1, body;
	long status;

	*ret_len = head;
	if (sscanf(out, "answer %ld %zu %255s", &status, &body, path) != 3) {
		if (!strncmp(out, "error - ", 8) || !strncmp(out, "refused ", 8))
			(void)cmd_error("RedfishConf: %.*s", (int)head - 9, out + 8);
		return 0;
	}
	if (head > len || body > len - head)
		return 0;
	*ret_len = head + body;
	while (*path && path[strlen(path) - 1] == '/')
		path[strlen(path) - 1] = '\0';
	(void)snprintf(name, sizeof(name), status == 200 ? "bmc%s/index.json" : "bmc%s/status-%ld", path,
		       status);
	return gather_add(g, name, out + head, body, err);
}

static int take_answers(struct gather *g, char *out, size_t len, struct errmsg *err)
{
	size_t taken;
	int rc = 0;

	while (rc == 0 && len) {
		rc = take_answer(g, out, len, &taken, err);
		taken = taken < len ? taken : len;
		out += taken;
		len -= taken;
	}
	return rc;
}

int gather_bmc(struct gather *g, struct errmsg *err)
{
	const struct source_env env = sources_env(g->settings);
	_cleanup_free_ char *out = NULL;
	char program[PATH_MAX], root[PATH_MAX], conf[PATH_MAX];
	char answers[] = "--answers", sys_root[] = "--sys-root";
	char *argv[] = { program, answers, sys_root, root, conf, NULL };
	size_t len = 0;
	int in, from, rc;
	pid_t pid;

	if (!g->settings->redfish_conf[0])
		return 0;
	(void)snprintf(root, sizeof(root), "%s", env.sys_root);
	(void)snprintf(conf, sizeof(conf), "%s", g->settings->redfish_conf);
	(void)snprintf(program, sizeof(program), "%s/ceems-redfish", env.helper_dir);
	rc = helper_spawn_piped(argv, NULL, SOCK_STREAM, 0, &in, &from, &pid);
	if (rc == 0) {
		rc = read_end(from, &out, &len);
		(void)close(in);
		(void)close(from);
		if (rc < 0)
			(void)kill(pid, SIGKILL);
		(void)helper_wait(pid, clock_mono_ns() + HELPER_END_NS, NULL);
	}
	if (rc < 0) {
		(void)cmd_error("RedfishConf: %s: %s", program, strerror(-rc));
		return 0;
	}
	return take_answers(g, out, len, err);
}
