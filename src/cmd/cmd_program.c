/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_program.c - main() of a command that is a program of its own, with the arguments of ceems: "ceems NAME
 * ARG..." or "ceems help NAME". COMMAND_INFO is the command, set by the Makefile.
 */
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/libutil/logger.h"

int main(int argc, char **argv)
{
	logger_set_sink(logger_sink_stderr);
	if (argc > 1 && !strcmp(argv[1], COMMAND_INFO.name))
		return cmd_run(&COMMAND_INFO, argc, argv);
	return cmd_usage(&COMMAND_INFO, argc > 1 && !strcmp(argv[1], "help") ? CMD_OK : CMD_USAGE);
}
