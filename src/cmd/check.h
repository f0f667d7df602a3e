/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.h - shared by the parts of `ceems check`: the objects to check, and the functions that print a finding.
 */
#ifndef CEEMS_CHECK_H
#define CEEMS_CHECK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/cmd/slurmconf.h"
#include "src/libcore/settings.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/util.h"

enum check_level {
	CHECK_OK,
	CHECK_NOTE, /* neither good nor bad */
	CHECK_WARN,
	CHECK_ERROR,
};

struct check_finding {
	enum check_level level;
	char *what;
	char *text;
	char *hint; /* NULL: nothing to do */
};

struct check {
	struct settings settings; /* with %n already replaced */
	char conf_path[PATH_MAX];
	char node[256];
	char host_textfile_dir[SETTINGS_PATH_MAX]; /* TextfileDir with this host for %n, as ceems-recorder has it */
	struct slurmconf *slurm;  /* NULL: not readable */
	bool is_json, is_quiet, is_verbose;
	unsigned int warnings;
	unsigned int errors;
	struct check_finding *findings;
	size_t nfindings;
	bool is_cut; /* no memory for all of them */
};

/*
 * check_findings.c: one line per finding. WHAT is a word ("rapl"), the rest says how it stands. HINT is what to
 * type or change, on a line of its own and once more in the list at the end, where it must make sense alone: it
 * names the key or the file that it changes, and a line to type keeps what a list has.
 */
void check_ok(struct check *c, const char *what, const char *fmt, ...) _printf_(3, 4);
void check_note(struct check *c, const char *what, const char *fmt, ...) _printf_(3, 4);
void check_warn(struct check *c, const char *what, const char *hint, const char *fmt, ...)
	_printf_(4, 5);
void check_error(struct check *c, const char *what, const char *hint, const char *fmt, ...)
	_printf_(4, 5);

/* What is to be told when all was looked at. Returns enum cmd_exit. */
int check_findings_end(const struct check *c);
void check_findings_free(struct check *c);

/*
 * The folder must be there and a file must come into being in it, which is removed again: a full disk and a quota
 * say no only then. MAY_COME: its creator is a daemon.
 */
void check_folder(struct check *c, const char *what, const char *dir, bool may_come);

/* A file with secrets: readable by SlurmUser, and by nobody else. */
bool check_secret_file(struct check *c, const char *what, const char *path);

/* check_access.c: a name; and is PATH open to that user? Tells if it is not. */
const char *check_slurm_user(const struct check *c);
bool check_slurm_user_reads(struct check *c, const char *what, const char *path);

/*
 * DIR is where slurmctld makes files; MAKES: and which it makes. Tells if it cannot; true: nothing was
 * said.
 */
bool check_slurm_user_writes(struct check *c, const char *what, const char *dir, bool makes);

void check_sources(struct check *c); /* check_sources.c: EnergySources and all sensors */
/* check_gpus.c: what each MIG instance of gres.conf is; KNOWN: of what NVML tells, NULL: nothing. */
void check_gpus(struct check *c, const struct gpu_slices *known);
void check_bpf(struct check *c);   /* check_bpf.c: the BPF programs, by group */
void check_events(struct check *c); /* check_events.c: PerfDefault's */
void check_factors(struct check *c); /* check_factors.c: emission factors, the series, the contract */
void check_node(struct check *c);  /* check_node.c: sources, factor, ledger, folders */
void check_find_slurm_conf(const struct check *c, char *path, size_t size);
void check_slurm(struct check *c); /* check_slurm.c: slurm.conf and the plugins in PluginDir */
/* FILE: a path, or in PluginDir. SLURM_VERSION: of the installed one; 0: unknown. */
void check_plugin(struct check *c, const char *what, const char *file, uint32_t slurm_version);
/* The first of DIRS, a PluginDir, that has FILE, as Slurm searches. NULL: Slurm's own. */
bool check_find_plugin(const char *dirs, const char *file, char *path, size_t size);
/* check_profile.c: --profile=energy. CONF: acct_gather.conf, which would be at PATH; NULL: there is none. */
void check_profile(struct check *c, const struct slurmconf *conf, const char *path);
void check_plugstack(struct check *c, const char *slurm_conf, uint32_t slurm_version); /* check_plugstack.c */

void check_textfile(struct check *c); /* check_textfile.c; after check_slurm(), which knows slurmd's user */
void check_daemons(struct check *c); /* check_daemons.c: munged and Slurm's, and what they have loaded */
/* Whether the process DAEMON of this machine runs a program that has been replaced since. */
bool check_daemons_is_old(const char *daemon);
bool check_is_controller(const struct check *c); /* or slurm.conf does not say */
void check_sinks(struct check *c); /* check_sinks.c: spool and where records go */

#endif
