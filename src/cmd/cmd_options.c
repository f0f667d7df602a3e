/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_options.c - parses the options of a command, and prints its --help, by its table of options.
 */
#include "ceems_config.h"

#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"

#define OPTIONS_MAX 64
#define HELP_COLUMN 28 /* where the texts of --help begin */

static const struct cmd_option help_option = { "help", 'h', NULL, "show this help" };

static bool has_next(const struct cmd_option *o)
{
	return o->name || o->help;
}

static bool may_be_left_out(const struct cmd_option *o)
{
	return o->arg && *o->arg == '[';
}

static void add_option(struct option *longs, size_t *n, char *shorts, size_t *len, const struct cmd_option *o)
{
	if (*n + 1 >= OPTIONS_MAX)
		return;
	longs[(*n)++] = (struct option){ .name = o->name,
					 .has_arg = !o->arg	       ? no_argument :
						    may_be_left_out(o) ? optional_argument :
									 required_argument,
					 .val = o->c };
	if (o->c > UINT8_MAX)
		return;
	shorts[(*len)++] = (char)o->c;
	if (o->arg)
		shorts[(*len)++] = ':';
}

int cmd_getopt(int argc, char **argv, const struct cmd_option *options, int titles)
{
	struct option longs[OPTIONS_MAX] = { 0 };
	char shorts[2 * OPTIONS_MAX] = "";
	bool is_taken = true;
	size_t n = 0;
	size_t len = 0;

	add_option(longs, &n, shorts, &len, &help_option);
	for (; has_next(options); options++) {
		if (!options->name)
			is_taken = !options->c || (options->c & titles);
		else if (is_taken)
			add_option(longs, &n, shorts, &len, options);
	}
	return getopt_long(argc, argv, shorts, longs, NULL);
}

static void print_option(FILE *out, const struct cmd_option *o)
{
	int n = o->c > UINT8_MAX ? fprintf(out, "      --%s", o->name) :
				   fprintf(out, "  -%c, --%s", o->c, o->name);

	if (o->arg)
		n += fprintf(out, "%s%s", may_be_left_out(o) ? "" : "=", o->arg);
	if (n + 2 > HELP_COLUMN) {
		(void)fputc('\n', out);
		n = 0;
	}
	(void)fprintf(out, "%*s%s\n", HELP_COLUMN - n, "", o->help);
}

static void print_options(FILE *out, const struct cmd_option *o)
{
	for (; has_next(o); o++) {
		if (!o->name)
			(void)fprintf(out, "\n%s:\n", o->help);
		else if (o->help)
			print_option(out, o);
	}
	(void)fputc('\n', out);
	print_option(out, &help_option);
}

#define COMMAND(name, group, where, help) { #name, group, help },
static const struct row {
	const char *name;
	enum cmd_group group;
	const char *help;
} rows[] = {
#include "src/cmd/commands.def"
};

static const struct row *find_row(const char *name)
{
	const struct row *row = rows;

	while (strcmp(row->name, name) != 0)
		row++;
	return row;
}

int cmd_usage(const struct cmd_info *self, enum cmd_exit code)
{
	FILE *out = code == CMD_OK ? stdout : stderr;
	const struct row *row = find_row(self->name);

	(void)fprintf(out, "usage: ceems %s%s%s\n", self->name, *self->args ? " " : "", self->args);
	if (code != CMD_OK) {
		(void)fprintf(out, "'ceems help %s' lists the options.\n", self->name);
		return code;
	}
	(void)fprintf(out, "%s\n", row->help);
	print_options(out, self->options);
	(void)fprintf(out, "\nExample:\n  %s\n\nSee ceems-%s(%d).\n", self->example, self->name,
		      row->group == CMD_FOR_USERS ? 1 : 8);
	return code;
}
