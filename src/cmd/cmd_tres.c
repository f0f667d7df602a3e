/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_tres.c - ceems tres: prints the line AccountingStorageTRES for slurm.conf, its cost, and the meaning of
 * each TRES.
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

	printf("%-24s %-13s %-9s %-6s %s\n", "TRES", "COLUMN", "SET", "UNIT", "HOLDS");
	metric_foreach(m) {
		const struct metric_info *i = &metric_table[m];

		if (i->tres[0])
			printf("%-24s %-13s %-9s %-6s %s\n", i->tres, column[i->side],
			       metric_set_name[metric_set_of((enum metric)m)],
			       metric_tres_unit((enum metric)m), i->help);
	}
}

/*
 * Bytes in slurmdbd for one value of a step, as measured (doc/performance.md). The value is in six text
 * columns: in four as "1001=4711,", in two as "1001=0,". Large values take more.
 */
#define VALUE_BYTES 50

/* Bytes for a step with all values of SET. At most two kinds of sensors measure its energy. */
static unsigned int row_bytes(enum metric_set set)
{
	unsigned int values = 0;
	unsigned int sources = 0;
	unsigned int m;

	metric_foreach(m) {
		const struct metric_info *i = &metric_table[m];

		if (!strchr(i->tres, '/') || metric_set_of((enum metric)m) > set)
			continue; /* a TRES of Slurm, which is stored in any case; or not in SET */
		if (i->kind != KIND_SOURCE || sources++ < 2)
			values++;
	}
	return values * VALUE_BYTES;
}

static int print_line(enum metric_set set)
{
	char line[4096];

	if (metric_tres_line(set, line, sizeof(line)) < 0)
		return cmd_error("the line is longer than %zu bytes", sizeof(line) - 1);
	printf("# set %s: up to some %.1f kB more in each row of slurmdbd's table of steps\n"
	       "AccountingStorageTRES=%s\n",
	       metric_set_name[set], row_bytes(set) / 1e3, line);
	return CMD_OK;
}

static bool parse_set(const char *text, enum metric_set *ret)
{
	unsigned int i;

	for (i = 0; i < METRIC_SET_N; i++) {
		*ret = (enum metric_set)i;
		if (!strcmp(text, metric_set_name[i]))
			return true;
	}
	fprintf(stderr, "ceems tres: --set is basic, standard or all, not '%s'\n", text);
	return false;
}

static const struct cmd_option tres_options[] = {
	{ NULL, 0, NULL, "Output" },
	{ "set", 's', "basic|standard|all", "which values; default: all" },
	{ "table", 't', NULL, "what each TRES holds, and where" },
	{ 0 },
};

static int cmd_tres_run(const struct cmd_info *self, int argc, char **argv)
{
	enum metric_set set = METRIC_SET_ALL;
	bool table = false;
	int c;

	while ((c = cmd_getopt(argc, argv, tres_options, 0)) >= 0) {
		if (c == 't')
			table = true;
		else if (c != 's')
			return cmd_usage(self, c == 'h' ? CMD_OK : CMD_USAGE);
		else if (!parse_set(optarg, &set))
			return CMD_USAGE;
	}
	if (optind < argc)
		return cmd_usage(self, CMD_USAGE);
	if (!table)
		return print_line(set);
	print_table();
	return CMD_OK;
}

const struct cmd_info cmd_tres = {
	"tres", "[OPTION...]", cmd_tres_run, tres_options, "ceems tres --set basic",
};
