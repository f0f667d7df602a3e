/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * settings.h - ceems.conf, the configuration file beside slurm.conf. All plugins and commands read
 * it through the table in settings.def; ceems.conf(5) documents the keys. In LedgerDir, TextfileDir
 * and SysRoot, "%n" stands for the node's name in Slurm, as in slurm.conf.
 */
#ifndef CEEMS_SETTINGS_H
#define CEEMS_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"
#include "src/libutil/kvconf.h"

#define SETTINGS_PATH_MAX 512
#define SETTINGS_NONE "none" /* value of TraceDir and ProfileDir that switches the feature off */
/* no MarketFactor is set; 0 is a valid factor, for a contract for wind power */
#define SETTINGS_NO_MARKET UINT64_MAX

/* Far above any grid: pure coal is near 1,100 g/kWh (IPCC AR5 WG3, annex III). */
#define EMISSION_MAX_MG_PER_KWH UINT64_C(5000000)

/*
 * The programs that read a setting. Daemons read ceems.conf when they start; a step and a command read it
 * anew. `ceems check` reads all settings and is not meant by BY_COMMANDS.
 */
enum settings_reader {
	BY_SLURMCTLD = 1 << 0,
	BY_SLURMD = 1 << 1,
	BY_STEP = 1 << 2, /* slurmstepd, and srun with the options of spank_ceems */
	BY_RECORDER = 1 << 3,
	BY_COMMANDS = 1 << 4,
};

enum setting {
#define SETTING(key, type, member, ...) SETTING_##member,
#include "src/libcore/settings_rows.h"
#undef SETTING
	SETTING_N
};

/*
 * A plain struct of 15 KB, a member for each row of settings.def; slurmstepd makes no copies, because it pays
 * for each page it touches. Paths are shorter than PATH_MAX. Every member has a default in its row. An empty
 * text means "not set".
 */
struct settings {
#define SETTING(key, type, member, ...) __typeof__(type) member;
#include "src/libcore/settings_rows.h"
#undef SETTING
};

/* The table of keys, by enum setting, for the parser, `ceems check` and the test of the manual. */
extern const struct kvconf_key settings_keys[];
extern const size_t settings_nkeys;

/* Returns the programs that read SETTING, as flags of enum settings_reader. */
unsigned int settings_readers(enum setting setting);

/* Returns the value of SETTING, whose member must be a text. */
const char *settings_text(const struct settings *s, enum setting setting);

/*
 * Finds the path of ceems.conf, in the folder of slurm.conf. SLURM_CONF is the path of slurm.conf.
 * The folder configured at build time is used if SLURM_CONF is NULL or has no folder, or if only
 * that folder has a ceems.conf. The latter is for a configless slurmd: its slurm.conf is in another
 * folder, to which slurmctld does not send ceems.conf. -ENAMETOOLONG.
 */
int settings_path(const char *slurm_conf, char *buf, size_t size) _must_check_;

/*
 * Sets the defaults, then reads PATH over them. Returns 0, or -ENOENT, no file, or -EACCES, a file that this
 * user may not open: *RET has the defaults. After any other error *RET must not be used. ERR names file, line
 * and key.
 */
int settings_load(const char *path, struct settings *ret, struct errmsg *err) _must_check_;

/*
 * settings_load() for `ceems check`, which reports all mistakes to ON_ERROR: see kvconf_read_all().
 * A daemon must not use partly read settings.
 */
int settings_load_all(const char *path, struct settings *ret, kvconf_error_fn *on_error, void *arg,
		      struct errmsg *err) _must_check_;

/* Replaces %n by NODE in the folders that allow it. -ENAMETOOLONG. */
int settings_for_node(struct settings *s, const char *node, struct errmsg *err);

#endif
