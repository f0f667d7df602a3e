/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/libutil/parse.h"
#include "src/libutil/text.h"

static void _printf_(3, 0) print_masked(FILE *out, const char *prefix, const char *fmt, va_list ap)
{
	char line[4096 + PATH_MAX];

	(void)vsnprintf(line, sizeof(line), fmt, ap);
	(void)fprintf(out, "%s%s\n", prefix, text_mask(line, line, sizeof(line)));
}

void cmd_print(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_masked(stdout, "", fmt, ap);
	va_end(ap);
}

size_t cmd_columns(int fd, size_t otherwise)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (columns && parse_u64(columns, &n) == 0 && n && n < 1000)
		return (size_t)n;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return otherwise;
}

int cmd_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_masked(stderr, "ceems: ", fmt, ap);
	va_end(ap);
	return CMD_FAILED;
}

int cmd_usage_error(const struct cmd_info *self, const char *fmt, ...)
{
	char prefix[64];
	va_list ap;

	(void)snprintf(prefix, sizeof(prefix), "ceems: %s: ", self->name);
	va_start(ap, fmt);
	print_masked(stderr, prefix, fmt, ap);
	va_end(ap);
	return CMD_USAGE;
}

int cmd_run(const struct cmd_info *self, int argc, char **argv)
{
	char name[64];
	int rc;

	/* getopt_long() prints argv[0] before its errors */
	(void)snprintf(name, sizeof(name), "ceems %s", argv[1]);
	argv[1] = name;
	rc = self->run(self, argc - 1, argv + 1);
	/* report an output that was not written, as in `ceems job --json > file` on a full disk */
	if (fflush(stdout) || ferror(stdout))
		return cmd_error("cannot write the output: %s", strerror(errno));
	return rc;
}

const char *cmd_conf_path(const char *path, char *buf)
{
	if (path)
		return path;
	if (settings_path(getenv("SLURM_CONF"), buf, PATH_MAX) < 0 && settings_path(NULL, buf, PATH_MAX) < 0)
		buf[0] = '\0';
	return buf;
}

const char *cmd_conf_beside(const char *conf, const char *name, char *buf)
{
	const char *slash = strrchr(conf, '/');

	(void)snprintf(buf, PATH_MAX, "%.*s%s", slash ? (int)(slash - conf) + 1 : 0, conf, name);
	return buf;
}

void cmd_node_name(char *buf, size_t size)
{
	char *dot;

	if (gethostname(buf, size) < 0)
		*buf = '\0';
	buf[size - 1] = '\0';
	dot = strchr(buf, '.');
	if (dot)
		*dot = '\0';
}

/* Reads ceems.conf: PATH, or the default one, which may be missing. */
static int load_settings(const char *path, struct settings *ret, struct errmsg *err)
{
	char buf[PATH_MAX];
	int rc = settings_load(cmd_conf_path(path, buf), ret, err);

	return rc == -ENOENT && !path ? 0 : rc;
}

int cmd_load_settings(const char *path, struct settings *ret)
{
	struct errmsg err = { 0 };

	return load_settings(path, ret, &err) < 0 ? cmd_error("%s", err.text) : CMD_OK;
}

int cmd_load_users_settings(const char *path, struct settings *ret, const char *without)
{
	struct errmsg err = { 0 };
	int rc = load_settings(path, ret, &err);
	bool is_closed = rc == -EACCES && !path;

	if (is_closed && without)
		(void)cmd_error("%s; %s", err.text, without);
	else if (rc < 0 && !is_closed)
		return cmd_error("%s", err.text);
	return CMD_OK;
}
