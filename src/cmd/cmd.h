/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd.h - shared by the sub-commands of `ceems`. Each sub-command has a file of its own and one row in
 * commands.def.
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
	CMD_FAILED = 1, /* it failed, or `check` found an error */
	CMD_USAGE = 2,
};

/* A row of a command's table of options, which ends with { 0 }. */
struct cmd_option {
	const char *name; /* the long name; NULL: HELP is the title of the rows below */
	int c;		  /* what cmd_getopt() returns; if it is a letter, also the short option */
	const char *arg;  /* the argument's name, such as "FILE" or "csv|json"; "[=FILE]": optional; NULL: no
			     argument */
	const char *help; /* NULL: --help does not show it */
};

enum cmd_group {
	CMD_FOR_USERS,
	CMD_FOR_OPERATORS,
};

struct cmd_info {
	const char *name;
	const char *args; /* as in the usage line: "[OPTION...] JOBID" */
	/* ARGV[0] is "ceems NAME". Returns enum cmd_exit. */
	int (*run)(const struct cmd_info *self, int argc, char **argv);
	const struct cmd_option *options;
	const char *example; /* one line */
};

extern const struct cmd_info cmd_advise;
extern const struct cmd_info cmd_check;
extern const struct cmd_info cmd_compare;
extern const struct cmd_info cmd_dashboards;
extern const struct cmd_info cmd_db;
extern const struct cmd_info cmd_export;
extern const struct cmd_info cmd_factors;
extern const struct cmd_info cmd_flame;
extern const struct cmd_info cmd_gather;
extern const struct cmd_info cmd_job;
extern const struct cmd_info cmd_jobs;
extern const struct cmd_info cmd_ledger;
extern const struct cmd_info cmd_report;
extern const struct cmd_info cmd_store;
extern const struct cmd_info cmd_trace;
extern const struct cmd_info cmd_top;
extern const struct cmd_info cmd_tres;

/* Runs the command SELF with the arguments of ceems, of which ARGV[1] is its name. Returns enum cmd_exit. */
int cmd_run(const struct cmd_info *self, int argc, char **argv);

/*
 * Prints the command's help to stdout if CODE is CMD_OK, else its usage line to stderr. Returns
 * CODE.
 */
int cmd_usage(const struct cmd_info *self, enum cmd_exit code);

/*
 * Calls getopt_long() with OPTIONS and --help ('h'). If a title has bits in C, the rows below it
 * are options only if TITLES has one of these bits.
 */
int cmd_getopt(int argc, char **argv, const struct cmd_option *options, int titles);

/*
 * Returns the path of ceems.conf: PATH, if given; else in the folder of the slurm.conf that
 * $SLURM_CONF names; else in the folder set by configure. BUF has PATH_MAX bytes.
 */
const char *cmd_conf_path(const char *path, char *buf) _must_check_;

/*
 * Returns the path of file NAME in the folder of CONF. BUF has PATH_MAX bytes; a longer path is
 * cut, and does not exist.
 */
const char *cmd_conf_beside(const char *conf, const char *name, char *buf);

/* The node name that slurmd uses by default: the host's name without its domain. */
void cmd_node_name(char *buf, size_t size);

/* Reads ceems.conf. A missing file is an error only if the user named it. */
int cmd_load_settings(const char *path, struct settings *ret) _must_check_;

/*
 * cmd_load_settings() for users' commands, which work without ceems.conf: if the user named no file and may
 * not read the default one, *RET has the defaults. WITHOUT is printed then, and says what the command lacks;
 * NULL: nothing.
 */
int cmd_load_users_settings(const char *path, struct settings *ret, const char *without) _must_check_;

/*
 * Opens, for reading, the ledger of node ASKED, or of this machine if ASKED is NULL. Errors are
 * those of ledger_open(), whose texts name the file.
 */
struct ledger;
int cmd_ledger_open(const struct settings *settings, const char *asked, struct ledger **ret,
		    struct errmsg *err) _must_check_;

/* Parses a step's name, as written by ledger_step_name(). False: TEXT is no step. */
bool cmd_step_number(const char *text, uint32_t *ret) _must_check_;

/*
 * Prints one line to stdout, masked by text_mask(), since users and peers wrote some of it. FMT has
 * no newline.
 */
void cmd_print(const char *fmt, ...) _printf_(1, 2);

/* Returns $COLUMNS, or the width of the terminal FD; OTHERWISE if FD is none. */
size_t cmd_columns(int fd, size_t otherwise);

/* Prints one line to stderr: "ceems: TEXT", masked. Returns CMD_FAILED. */
int cmd_error(const char *fmt, ...) _printf_(1, 2);

/* Prints "ceems: COMMAND: TEXT" for a wrong argument. Returns CMD_USAGE. */
int cmd_usage_error(const struct cmd_info *self, const char *fmt, ...) _printf_(2, 3);

#endif
