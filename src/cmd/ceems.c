/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems.c - the ceems command: picks the sub-command.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ceems_config.h"
#include "src/cmd/cmd.h"
#include "src/libutil/logger.h"

static const struct cmd_info *const commands[] = {
#ifdef HAVE_SLURMDB
	&cmd_advise,
#endif
	&cmd_check,
#ifdef HAVE_SLURMDB
	&cmd_compare,
#endif
#ifdef HAVE_CURL
	&cmd_dashboards,
#endif
	&cmd_db,
#ifdef HAVE_SLURMDB
	&cmd_export,
#endif
#ifdef HAVE_FACTORS
	&cmd_factors,
#endif
#ifdef HAVE_PROFILES
	&cmd_flame,
#endif
#ifdef HAVE_SLURMDB
	&cmd_job,
	&cmd_jobs,
#endif
	&cmd_ledger,
#ifdef HAVE_SLURMDB
	&cmd_report,
#endif
	&cmd_store,
#ifdef HAVE_SLURMDB
	&cmd_top,
#endif
	&cmd_trace,
	&cmd_tres,
};

static void print_group(FILE *out, const char *title, enum cmd_group group)
{
	size_t i;

	fprintf(out, "\n%s:\n", title);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i]->group == group)
			fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->help);
}

static int help(FILE *out)
{
	fprintf(out, "usage: ceems COMMAND [OPTION...]\n"
		     "Energy, emissions and performance of Slurm jobs.\n");
	print_group(out, "For users", CMD_FOR_USERS);
	print_group(out, "For operators", CMD_FOR_OPERATORS);
	fprintf(out, "\n'ceems help COMMAND' lists its options; see ceems(1).\n");
	return out == stdout ? CMD_OK : CMD_USAGE;
}

static const struct cmd_info *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i];
	(void)cmd_error("%s '%s'", name[0] == '-' ? "unknown option" : "unknown command", name);
	return NULL;
}

static int help_command(int argc, char **argv)
{
	const struct cmd_info *cmd;

	if (argc < 2)
		return help(stdout);
	cmd = find_command(argv[1]);
	return cmd ? cmd_usage(cmd, CMD_OK) : help(stderr);
}

int main(int argc, char **argv)
{
	const struct cmd_info *cmd;
	char name[64];
	int rc;

	logger_set_sink(logger_sink_stderr);
	if (argc < 2)
		return help(stderr);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(stdout);
	if (!strcmp(argv[1], "help"))
		return help_command(argc - 1, argv + 1);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("ceems %s\n", PACKAGE_VERSION);
		return CMD_OK;
	}
	cmd = find_command(argv[1]);
	if (!cmd)
		return help(stderr);
	/* getopt_long() prints argv[0] before its errors */
	(void)snprintf(name, sizeof(name), "ceems %s", argv[1]);
	argv[1] = name;
	rc = cmd->run(cmd, argc - 1, argv + 1);
	/* report an output that was not written, as in `ceems job --json > file` on a full disk */
	if (fflush(stdout) || ferror(stdout))
		return cmd_error("cannot write the output: %s", strerror(errno));
	return rc;
}
