/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_tres.c - ceems tres: the line that slurm.conf needs, and what each TRES of it holds.
 */
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/libcore/metric.h"

static void print_table(void)
{
	static const char *const column[] = {
		[SIDE_IN] = "TRESUsageIn",
		[SIDE_OUT] = "TRESUsageOut",
	};
	unsigned int m;

	printf("%-22s %-13s %-6s %s\n", "TRES", "COLUMN", "UNIT", "HOLDS");
	metric_foreach(m) {
		const struct metric_info *i = &metric_table[m];

		if (i->tres[0])
			printf("%-22s %-13s %-6s %s\n", i->tres, column[i->side],
			       metric_tres_unit((enum metric)m), i->help);
	}
}

static int cmd_tres_run(const struct cmd_info *self, int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "table", no_argument, NULL, 't' },
		{ 0 },
	};
	char line[2048];
	bool table = false;
	int c;

	while ((c = getopt_long(argc, argv, "+ht", options, NULL)) >= 0) {
		if (c == 't')
			table = true;
		else
			return cmd_usage(self, c == 'h' ? CMD_OK : CMD_USAGE);
	}
	if (optind < argc)
		return cmd_usage(self, CMD_USAGE);
	if (table) {
		print_table();
		return CMD_OK;
	}
	if (metric_tres_line(line, sizeof(line)) < 0)
		return cmd_error("the line is longer than %zu bytes", sizeof(line) - 1);
	printf("AccountingStorageTRES=%s\n", line);
	return CMD_OK;
}

const struct cmd_info cmd_tres = {
	"tres",
	"[--table]",
	"Print the AccountingStorageTRES line for slurm.conf.",
	cmd_tres_run,
};
