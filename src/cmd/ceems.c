/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems.c - the ceems command: picks the sub-command, which is in ceems itself or in a program of its own.
 */
#include "ceems_config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/cmd/program.h"
#include "src/libutil/logger.h"

#define IN_CEEMS(name) &cmd_##name
#define IN_PROGRAM(name) NULL
#define COMMAND(name, group, where, help) { #name, group, help, where(name) },
static const struct command {
	const char *name;
	enum cmd_group group;
	const char *help;
	const struct cmd_info *info; /* NULL: it is in the program ceems-NAME */
} commands[] = {
#include "src/cmd/commands.def"
};

static void print_group(FILE *out, const char *title, enum cmd_group group)
{
	size_t i;

	fprintf(out, "\n%s:\n", title);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].group == group)
			fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
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

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	(void)cmd_error("%s '%s'", name[0] == '-' ? "unknown option" : "unknown command", name);
	return NULL;
}

/* Becomes the program of command NAME; returns only if that fails. */
static int exec_program(const char *name, char **argv)
{
	struct errmsg err = { 0 };
	char path[PATH_MAX];

	if (program_of(name, path, sizeof(path), &err) < 0)
		return cmd_error("%s: %s", name, err.text);
	(void)execv(path, argv);
	return cmd_error("%s: %s: %s", name, path, strerror(errno));
}

static int help_command(int argc, char **argv)
{
	const struct command *command;

	if (argc < 3)
		return help(stdout);
	command = find_command(argv[2]);
	if (!command)
		return help(stderr);
	return command->info ? cmd_usage(command->info, CMD_OK) : exec_program(command->name, argv);
}

int main(int argc, char **argv)
{
	const struct command *command;

	logger_set_sink(logger_sink_stderr);
	if (argc < 2)
		return help(stderr);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(stdout);
	if (!strcmp(argv[1], "help"))
		return help_command(argc, argv);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("ceems %s\n", PACKAGE_VERSION);
		return CMD_OK;
	}
	command = find_command(argv[1]);
	if (!command)
		return help(stderr);
	return command->info ? cmd_run(command->info, argc, argv) : exec_program(command->name, argv);
}
