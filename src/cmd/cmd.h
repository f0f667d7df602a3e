/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd.h - shared by the sub-commands of `ceems`. Each sub-command has a file of its own and one row in
 * the table of ceems.c.
 */
#ifndef CEEMS_CMD_H
#define CEEMS_CMD_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/settings.h"
#include "src/libutil/util.h"

/* Exit codes, in ceems(1) too. */
enum cmd_exit {
	CMD_OK = 0,
	CMD_FAILED = 1, /* did not work, or `check` found an error */
	CMD_USAGE = 2,
};

/* A row of a command's table of options, which ends with { 0 }. */
struct cmd_option {
	const char *name; /* the long name; NULL: HELP is the title of the rows below */
	int c;		  /* what cmd_getopt() returns; a letter is the short option, too */
	const char *arg;  /* names its argument, as "FILE" or "csv|json"; "[=FILE]": it may be left out; NULL: it takes none */
	const char *help; /* NULL: --help does not show it */
};

enum cmd_group {
	CMD_FOR_USERS,
	CMD_FOR_OPERATORS,
};

struct cmd_info {
	const char *name;
	const char *args; /* as in the usage line: "[OPTION...] JOBID" */
	const char *help; /* one line */
	/* ARGV[0] is "ceems NAME". Returns enum cmd_exit. */
	int (*run)(const struct cmd_info *self, int argc, char **argv);
	const struct cmd_option *options;
	const char *example; /* one line */
	enum cmd_group group;
};

extern const struct cmd_info cmd_advise;
extern const struct cmd_info cmd_check;
extern const struct cmd_info cmd_compare;
extern const struct cmd_info cmd_dashboards;
extern const struct cmd_info cmd_db;
extern const struct cmd_info cmd_factors;
extern const struct cmd_info cmd_job;
extern const struct cmd_info cmd_jobs;
extern const struct cmd_info cmd_ledger;
extern const struct cmd_info cmd_report;
extern const struct cmd_info cmd_store;
extern const struct cmd_info cmd_trace;
extern const struct cmd_info cmd_top;
extern const struct cmd_info cmd_tres;

/* With CMD_OK prints the command's help to stdout, else its usage line to stderr. Returns CODE. */
int cmd_usage(const struct cmd_info *self, enum cmd_exit code);

/*
 * getopt_long() with OPTIONS and --help ('h'). A title may have bits in C: the rows below it are options only if TITLES
 * has one of these bits.
 */
int cmd_getopt(int argc, char **argv, const struct cmd_option *options, int titles);

/*
 * Where ceems.conf is: PATH if given, else beside the slurm.conf that $SLURM_CONF names, else in
 * the folder that configure was told. BUF holds PATH_MAX.
 */
const char *cmd_conf_path(const char *path, char *buf);

/* The file NAME in the folder of CONF. BUF holds PATH_MAX; a path that is longer is cut, and not there. */
const char *cmd_conf_beside(const char *conf, const char *name, char *buf);

/* The name that slurmd gives a node unless told: the host's, without its domain. */
void cmd_node_name(char *buf, size_t size);

/* Reads ceems.conf. No file there is an error only if the user named it. */
int cmd_load_settings(const char *path, struct settings *ret);

/*
 * Opens the ledger of the node ASKED or, if that is NULL, of this machine, to read it. As ledger_open(), whose texts name
 * the file.
 */
struct ledger;
int cmd_ledger_open(const struct settings *settings, const char *asked, struct ledger **ret, struct errmsg *err);

/* The inverse of ledger_step_name(); false: TEXT is no step. */
bool cmd_step_number(const char *text, uint32_t *ret);

/* One line to stdout, masked by text_mask(): users and peers wrote some of it. FMT has no newline. */
void cmd_print(const char *fmt, ...) _printf_(1, 2);

/* One line to stderr: "ceems: TEXT", masked. Returns CMD_FAILED. */
int cmd_error(const char *fmt, ...) _printf_(1, 2);

/* The same of an argument that is wrong: "ceems: COMMAND: TEXT". Returns CMD_USAGE. */
int cmd_usage_error(const struct cmd_info *self, const char *fmt, ...) _printf_(2, 3);

#endif
