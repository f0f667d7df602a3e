/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.h - shared by the parts of `ceems check`: the objects to check, and the functions that print a
 * finding.
 */
#ifndef CEEMS_CHECK_H
#define CEEMS_CHECK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "src/cmd/slurmconf.h"
#include "src/libcore/settings.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/util.h"

/* Bytes of a hint with two paths. */
#define CHECK_HINT_MAX (3 * PATH_MAX)

enum check_level {
	CHECK_OK,
	CHECK_NOTE, /* a fact that is neither good nor bad */
	CHECK_WARN,
	CHECK_ERROR,
};

/* The file that a hint changes. */
enum check_file {
	CHECK_SLURM_CONF,
	CHECK_CEEMS_CONF,
	CHECK_PLUGSTACK_CONF,
	CHECK_GRES_CONF,
	CHECK_ACCT_GATHER_CONF,
	CHECK_SYSTEM, /* a command or anything else */
	CHECK_FILE_N
};

enum check_restart {
	RESTART_SLURMCTLD = 1 << 0,
	RESTART_SLURMD = 1 << 1,
	RESTART_RECORDER = 1 << 2,
	RESTART_RECONFIGURE = 1 << 3, /* `scontrol reconfigure` is enough */
};

/* What to type or change. */
struct check_hint {
	const char *text; /* NULL: nothing to do */
	enum check_file file;
	unsigned int restart; /* enum check_restart: what to do then */
};

struct check_finding {
	enum check_level level;
	char *what;
	char *text;
	struct check_hint hint; /* the finding owns the text */
};

struct check {
	struct settings settings; /* %n is already replaced */
	char conf_path[PATH_MAX];
	char slurm_conf[PATH_MAX];    /* "": it does not answer */
	struct errmsg slurm_conf_err; /* why it cannot be read */
	char node[256];
	bool textfile_is_judged; /* TextfileDir has %n, or nodes that share it are reported */
	/* TextfileDir as ceems-recorder uses it: %n is this host */
	char host_textfile_dir[SETTINGS_PATH_MAX];
	struct slurmconf *slurm; /* NULL: not readable */
	bool is_denied;		 /* something was not looked at, since only root may */
	bool is_slurm_mute;	 /* PluginDir is wrong, so no command of Slurm works */
	bool is_json, is_quiet, is_verbose;
	unsigned int warnings;
	unsigned int errors;
	struct check_finding *findings;
	size_t nfindings;
	const char **hung; /* paths that do not answer; check_hangs.c */
	size_t nhung;
	bool is_cut; /* some findings are lost, because there was no memory */
};

/*
 * check_findings.c: each prints one finding. WHAT is a word ("rapl"), FMT gives the state. HINT is
 * what to type or change. It is printed after the finding and again in the list at the end. So a
 * hint must be clear without the finding: it names the key or file to change.
 */
void check_ok(struct check *c, const char *what, const char *fmt, ...) _printf_(3, 4);
void check_note(struct check *c, const char *what, const char *fmt, ...) _printf_(3, 4);
void check_warn(struct check *c, const char *what, struct check_hint hint, const char *fmt, ...)
	_printf_(4, 5);
void check_error(struct check *c, const char *what, struct check_hint hint, const char *fmt, ...)
	_printf_(4, 5);

/*
 * check_todo.c: each returns a hint. TEXT is not copied. What to restart follows from the setting, the key of
 * slurm.conf, or the file. The last one is the command that restarts one daemon.
 */
struct check_hint check_hint_setting(enum setting setting, const char *text);
struct check_hint check_hint_slurm(const char *key, const char *text);
struct check_hint check_hint_file(enum check_file file, const char *text);
struct check_hint check_hint_system(const char *text);
struct check_hint check_hint_restart(enum check_restart daemon);
extern const struct check_hint check_no_hint;

/* Notes that PATH cannot be looked at without root's rights; check_rights() warns once of all of them. */
void check_denied(struct check *c, const char *what, const char *path);
void check_rights(struct check *c);

/* Prints the summary at the end. Returns enum cmd_exit. */
int check_findings_end(const struct check *c);
void check_findings_free(struct check *c);

/*
 * check_files.c: checks that DIR exists and that a file can be made in it, by making one and removing it: a
 * full disk or a quota shows only then. SETTING names DIR or a file there. MAY_COME: a daemon makes DIR
 * later, so its absence is no error.
 */
void check_folder(struct check *c, enum setting setting, const char *dir, bool may_come);

/* Checks that SlurmUser, and no other user, can read PATH, a file with secrets that SETTING names. */
bool check_secret_file(struct check *c, enum setting setting, const char *path);

/* check_conf.c: return SlurmUser's and SlurmdUser's name. */
const char *check_slurm_user(const struct check *c);
const char *check_slurmd_user(const struct check *c);

/*
 * check_access.c: reports an error if SlurmUser cannot read PATH, and what to type: chown if the file has
 * secrets (IS_SECRET), chmod a+r if not. SETTING names PATH; SETTING_N: it is ceems.conf.
 */
bool check_slurm_user_reads(struct check *c, const char *what, enum setting setting, const char *path,
			    bool is_secret);

/*
 * Checks that SlurmUser can make files in DIR, or, with MAKES, can make DIR itself. SETTING names DIR or a
 * file there. Returns true if nothing was reported.
 */
bool check_slurm_user_writes(struct check *c, enum setting setting, const char *dir, bool makes);

/*
 * check_owners.c: what a command may change the owner or mode of. A folder is ours if its path has the name
 * ceems, or if it holds nothing but files of ours, but not in /etc, /usr and the like. A file is ours if it
 * is beside ceems.conf or its path has the name ceems.
 */
bool check_owns_folder(const char *dir);
bool check_is_system(const char *path); /* in /etc, /usr and the like; PATH need not exist */
bool check_owns_file(const struct check *c, const char *path);
/* Writes the command that gives DIR, which is ours, to USER; its files, too, if there are no others. */
const char *check_chown(const char *user, const char *dir, char hint[CHECK_HINT_MAX]);
/* Writes a line that sets SETTING to a folder of our own, or a file there, and how to make the folder. */
struct check_hint check_hint_elsewhere(const struct check *c, enum setting setting,
				       char hint[CHECK_HINT_MAX]);
/*
 * Writes a line that sets SETTING to a copy of the file PATH beside ceems.conf, and how to make it for USER.
 * SETTING_N: copies ceems.conf to its usual place.
 */
struct check_hint check_hint_copy(const struct check *c, enum setting setting, const char *path,
				  const char *user, char hint[CHECK_HINT_MAX]);

void check_sources(struct check *c); /* check_sources.c: EnergySources and all sensors */
/* check_gpus.c: each MIG instance of gres.conf. KNOWN: sizes from NVML, or NULL. */
void check_gpus(struct check *c, const struct gpu_slices *known);
void check_push(struct check *c);    /* check_push.c: profiles for a Pyroscope server */
void check_bpf(struct check *c);     /* check_bpf.c: the BPF programs, by group */
void check_events(struct check *c);  /* check_events.c: the events of PerfDefault */
void check_factors(struct check *c); /* check_factors.c: emission factors, their series, and the contract's
					factor */
void check_node(struct check *c);    /* check_node.c: sources, factor, ledger, folders */
/*
 * check_hangs.c: looks at all paths of ceems.conf at the same time, for at most five seconds, and reports
 * each that does not answer. Returns false if nothing else can be checked.
 */
bool check_hangs_find(struct check *c);
/*
 * Looks at PATH for at most five seconds. KEY is the key whose value PATH is, or the name of the file, such
 * as slurm.conf. Returns false if PATH does not answer, after reporting it.
 */
bool check_answers(struct check *c, const char *key, const char *path);
/*
 * Returns true if PATH, the value of a setting, does not answer. That is reported already. A
 * process that opens PATH hangs.
 */
bool check_is_hung(const struct check *c, const char *path);
/* Notes that PATH does not answer. The text of PATH must live as long as C. */
void check_add_hung(struct check *c, const char *path);
/*
 * localfs_check() that never hangs. -ETIMEDOUT: PATH does not answer, and which file
 * system it is on is not known.
 */
int check_localfs(const struct check *c, const char *path, const char *key, struct errmsg *err);
/* Writes into HINT what to do about PATH, which does not answer. Returns HINT. */
const char *check_hang_hint(const char *path, char hint[CHECK_HINT_MAX]);
/* Sets slurm_conf and slurm; call it after conf_path is set, and before the other checks. */
void check_find_slurm_conf(struct check *c);
void check_slurm(struct check *c); /* check_slurm.c: slurm.conf and the plugins in PluginDir */

/*
 * check_conf.c: "slurm.conf:12: " for a KEY that is set, as the place to change; "" if it is not
 * set. In a static buffer.
 */
const char *check_at(const struct check *c, const char *key);
/*
 * Reports each line of KEY that has something which the last line lacks, since Slurm takes the value of the
 * last line alone. SEP separates the items of a value; '\0': it is one item. HINT sets KEY to the items of
 * all lines; NULL: only one can stay.
 */
void check_repeats(struct check *c, const char *key, char sep, const char *hint);

/* --- check_plugin.c: PluginDir and the plugins in it */

/*
 * Checks PluginDir. If it lacks Slurm's own folder or names a missing one, no command
 * or daemon of Slurm starts.
 */
void check_plugin_dir(struct check *c);
/*
 * If a folder of PluginDir does not answer, reports that and returns false: each command and
 * daemon of Slurm would hang.
 */
bool check_plugin_dir_answers(struct check *c);
/*
 * Checks a plugin. FILE is a path, or a name in PluginDir. SLURM_VERSION is that of the installed
 * Slurm; 0: unknown.
 */
void check_plugin(struct check *c, const char *what, const char *file, uint32_t slurm_version);
/*
 * Finds FILE in DIRS, a PluginDir with one or more folders, in the order in which Slurm searches.
 * NULL: Slurm's default folder.
 */
bool check_find_plugin(const char *dirs, const char *file, char *path, size_t size) _must_check_;

/*
 * check_profile.c: --profile=energy. CONF is acct_gather.conf, or NULL if there is none; PATH is
 * where it belongs.
 */
void check_profile(struct check *c, const struct slurmconf *conf, const char *path);
void check_plugstack(struct check *c, uint32_t slurm_version); /* check_plugstack.c: plugstack.conf */

void check_mail(struct check *c); /* check_mail.c; call it after check_slurm() */
/* check_textfile.c; call it after check_slurm(), which finds slurmd's user */
void check_textfile(struct check *c);
void check_daemons(struct check *c); /* check_daemons.c: munged and Slurm's, and what they have loaded */

/* --- check_processes.c: daemons of this machine by /proc */

enum check_loaded {
	CHECK_NO_DAEMON, /* or we may not look into it */
	CHECK_NOT_LOADED,
	CHECK_IS_LOADED,
	CHECK_OLD_FILE, /* the file was replaced since */
};
/* Finds out whether DAEMON has FILE, a plugin or its own program, loaded. */
enum check_loaded check_process_loaded(const char *daemon, const char *file);
/* Returns the process of DAEMON that has mapped FILE; 0: none. */
pid_t check_process_mapping(const char *daemon, const char *file);
/* Returns 1 if PID has an open file whose name begins with BEGIN, 0 if not, -1 if it is not known. */
int check_process_holds(pid_t pid, const char *begin);
/* Returns the process of DAEMON that has such a file open; 0: none. */
pid_t check_process_holding(const char *daemon, const char *begin);

/* --- check_machine.c: which machine of slurm.conf this is */

bool check_is_controller(const struct check *c); /* also true if slurm.conf names no controller */
/* Sets the node to the one whose NodeHostname is this host, if there is one. */
void check_find_node(struct check *c);
void check_machine(struct check *c); /* says what this machine is, and why */

void check_sinks(struct check *c); /* check_sinks.c: spool and where records go */

#endif
