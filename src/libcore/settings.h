/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * settings.h - ceems.conf, the one configuration file, beside slurm.conf. Every plugin and the
 * CLI read it through the one table in settings.c; ceems.conf(5) documents the keys. In
 * LedgerDir, TextfileDir and SysRoot "%n" stands for the node's Slurm name, as in slurm.conf.
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
#define SETTINGS_NONE "none" /* as TraceDir, ProfileDir: no user may have one */
#define SETTINGS_NO_MARKET UINT64_MAX /* no factor: 0 is one, of a contract for wind power */

/* Far above any grid: pure coal is near 1,100 g/kWh (IPCC AR5 WG3, annex III). */
#define EMISSION_MAX_MG_PER_KWH UINT64_C(5000000)

/*
 * A plain struct of 12 KB. slurmstepd pays for each page that it touches, so it has one and makes
 * no copies. Paths are shorter than PATH_MAX. Every member has a default in the table. Empty text
 * means "not set".
 */
struct settings {
	/* node */
	char energy_sources[128];      /* "auto" or names by comma: rapl,model */
	char external_source[SETTINGS_PATH_MAX]; /* file of the site's own meter; empty: none */
	char redfish_conf[SETTINGS_PATH_MAX]; /* the BMC's address and user; empty: none */
	char ipmi_sensor[64];	       /* "dcmi" or a power sensor in the SDR */
	uint64_t sample_interval_ns;
	char ledger_dir[SETTINGS_PATH_MAX];
	char textfile_dir[SETTINGS_PATH_MAX]; /* empty: no ceems.prom */
	uint64_t textfile_mode;	       /* of ceems.prom */
	char textfile_group[64];       /* empty: root's */
	bool textfile_jobs;	       /* series of jobs */
	bool textfile_rapl;	       /* RAPL's counters as they are */
	char sys_root[SETTINGS_PATH_MAX]; /* prefix of /sys and /proc; "/" outside tests */
	uint64_t model_idle_mw;	       /* 0: from the CPU table */
	uint64_t model_max_mw;	       /* 0: from the CPU table */
	bool step_counters;	       /* hardware counters of the steps' cgroups */
	bool step_cgroup;	       /* a v2 cgroup for each step of a Slurm on v1 */
	uint64_t idle_mw;	       /* idle power of the measured domains; 0: learned */
	char country[8];	       /* ISO 3166-1 alpha-2 or alpha-3; empty: world mean */
	char emission_factor_file[SETTINGS_PATH_MAX]; /* empty: the one installed */
	char emission_series_file[SETTINGS_PATH_MAX]; /* factor_series.h; empty: none */
	char emission_region[24];      /* of the series; empty: that of Country */
	uint64_t emission_max_age_ns;  /* factor_chain.h */
	uint64_t market_mg_per_kwh;    /* of the site's contract; SETTINGS_NO_MARKET: none */
	char market_source[64];
	char prometheus_url[256];
	uint64_t embodied_ug_per_cpu_hour; /* 0: off */
	char embodied_source[64];
	uint64_t pue_milli;	       /* 1350 is 1.35 */
	char perf_default[640];	       /* as --ceems-perf, for who asks for nothing; empty: none */
	char filesystems[1024];	       /* what they are for: fsroles.h */
	char trace_dir[SETTINGS_PATH_MAX]; /* of --ceems-trace; empty: the job's folder */
	char profile_dir[SETTINGS_PATH_MAX]; /* the same of --ceems-profile */
	uint64_t profile_max_hz;
	char bpf_dir[SETTINGS_PATH_MAX]; /* where the programs are pinned; empty: no BPF */
	char helper_dir[SETTINGS_PATH_MAX]; /* of ceems-bpf and others; empty: the one installed */
	/* controller */
	char sinks[128];	       /* names by comma: file,kafka,mariadb,otlp */
	char inbox_dir[SETTINGS_PATH_MAX];
	char store_dir[SETTINGS_PATH_MAX];
	uint64_t store_max_bytes;
	char record_file[SETTINGS_PATH_MAX];
	char kafka_conf[SETTINGS_PATH_MAX];
	bool record_script;	       /* the batch script in the record, from slurmdbd */
	char kafka_topic[250];	       /* Kafka's limit is 249 */
	char kafka_start_topic[250];   /* empty: no start events */
	char mariadb_defaults_file[SETTINGS_PATH_MAX];
	char mariadb_database[65];     /* MariaDB's limit is 64 */
	char sqlite_file[SETTINGS_PATH_MAX];
	char otlp_url[512];
	char otlp_headers[SETTINGS_PATH_MAX]; /* empty: none */
	char otlp_ca_file[SETTINGS_PATH_MAX]; /* empty: the system's */
	bool otlp_json;		       /* else protobuf */
	bool otlp_users;	       /* spans say who a job is of */
	uint64_t mariadb_retention_ns; /* of jobs and steps; 0: for ever */
	char mail_prog[SETTINGS_PATH_MAX]; /* of ceems-mail and ceems report */
	uint64_t final_energy_wait_ns;
	uint64_t correction_wait_ns;   /* for what was not known by then; 0: no corrections */
};

/* The table, for `ceems check`, the manual's test and the parser. */
extern const struct kvconf_key settings_keys[];
extern const size_t settings_nkeys;

/*
 * The path of ceems.conf: in the folder of SLURM_CONF, slurm.conf's path. For NULL or a bare name,
 * and if the file is only there, in the folder that was configured at build time. A configless
 * slurmd has slurm.conf in a folder of its own, and slurmctld does not send ceems.conf.
 * -ENAMETOOLONG.
 */
int settings_path(const char *slurm_conf, char *buf, size_t size);

/*
 * Sets the defaults, then reads PATH over them. Returns 0; -ENOENT: no file, and *ret has the
 * defaults. After any other error *ret is unusable, and ERR names file, line and key.
 */
int settings_load(const char *path, struct settings *ret, struct errmsg *err);

/* The same for `ceems check`: kvconf_read_all(). A daemon reads none or all of its settings. */
int settings_load_all(const char *path, struct settings *ret, kvconf_error_fn *on_error, void *arg,
		      struct errmsg *err);

/* Replaces %n in the node's folders by NODE, in place. -ENAMETOOLONG. */
int settings_for_node(struct settings *s, const char *node, struct errmsg *err);

/*
 * Steps through a comma list such as `sinks`. Copies the next item into ITEM and returns true;
 * false at the end. Blanks around items are dropped, an item that does not fit is cut.
 */
bool settings_next_item(const char **list, char *item, size_t size);

#endif
