/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * settings.h - ceems.conf, the configuration file beside slurm.conf. All plugins and commands read
 * it through the table in settings.c; ceems.conf(5) documents the keys. In LedgerDir, TextfileDir
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
 * A plain struct of 15 KB; slurmstepd makes no copies, because it pays for each page it touches.
 * Paths are shorter than PATH_MAX. Every member has a default in the table. An empty text means
 * "not set".
 */
struct settings {
	/* node */
	char energy_sources[128];      /* "auto", or names separated by commas: rapl,model */
	/* file that the site's own meter writes; empty: none */
	char external_source[SETTINGS_PATH_MAX];
	/* file with address and user of the BMC; empty: none */
	char redfish_conf[SETTINGS_PATH_MAX];
	char ipmi_sensor[64];	       /* "dcmi", or a power sensor in the SDR */
	uint64_t sample_interval_ns;
	char ledger_dir[SETTINGS_PATH_MAX];
	char textfile_dir[SETTINGS_PATH_MAX]; /* empty: no ceems.prom */
	uint64_t textfile_mode;	       /* mode of ceems.prom */
	char textfile_group[64];       /* group of ceems.prom; empty: root's */
	bool textfile_jobs;	       /* ceems.prom has series of jobs */
	bool textfile_rapl;	       /* ceems.prom has raw RAPL counters */
	char sys_root[SETTINGS_PATH_MAX]; /* prefix of /sys and /proc; "/" outside tests */
	uint64_t model_idle_mw;	       /* 0: from the table of CPU models */
	uint64_t model_max_mw;	       /* 0: from the table of CPU models */
	bool step_counters;	       /* use hardware counters on the steps' cgroups */
	/* create a v2 cgroup for each step if Slurm uses cgroup v1 */
	bool step_cgroup;
	uint64_t idle_mw;	       /* idle power of the measured domains; 0: learned */
	/* ISO 3166-1 alpha-2 or alpha-3; empty: world mean. There is room for a name, so that the error can say its code. */
	char country[64];
	char emission_factor_file[SETTINGS_PATH_MAX]; /* empty: the installed table */
	char emission_series_file[SETTINGS_PATH_MAX]; /* see factor_series.h; empty: none */
	char emission_region[24];      /* region in the series; empty: the code of Country */
	uint64_t emission_max_age_ns;  /* see factor_chain.h */
	uint64_t market_mg_per_kwh;    /* factor of the site's contract; SETTINGS_NO_MARKET: none */
	char market_source[64];
	char prometheus_url[256];
	uint64_t embodied_ug_per_cpu_hour; /* 0: not reported */
	char embodied_source[64];
	uint64_t pue_milli;	       /* 1350 is 1.35 */
	/* value of --ceems-perf for steps that have none; empty: nothing */
	char perf_default[640];
	char forbid_options[1024];     /* what partitions and accounts may not ask for, see forbid.h */
	char filesystems[1024];	       /* roles of file systems, see fsroles.h */
	/* folder of traces; empty: the job's working folder; SETTINGS_NONE: off */
	char trace_dir[SETTINGS_PATH_MAX];
	char profile_dir[SETTINGS_PATH_MAX]; /* folder of profiles, like trace_dir */
	uint64_t profile_max_hz;
	char profile_push_url[512]; /* empty: profiles are not pushed */
	char profile_push_headers[SETTINGS_PATH_MAX]; /* empty: none */
	char profile_push_ca_file[SETTINGS_PATH_MAX]; /* empty: the system's */
	char profile_push_dir[SETTINGS_PATH_MAX];
	uint64_t profile_push_max_bytes;
	char bpf_dir[SETTINGS_PATH_MAX]; /* folder of the pinned BPF programs; empty: no BPF */
	/* folder of helper programs; empty: the installed one */
	char helper_dir[SETTINGS_PATH_MAX];
	/* controller */
	char sinks[128];	       /* names by comma: file,kafka,mariadb,otlp */
	char inbox_dir[SETTINGS_PATH_MAX];
	char store_dir[SETTINGS_PATH_MAX];
	uint64_t store_max_bytes;
	char record_file[SETTINGS_PATH_MAX];
	char kafka_conf[SETTINGS_PATH_MAX];
	bool record_script;	       /* add the batch script, from slurmdbd, to the record */
	char kafka_topic[250];	       /* Kafka's limit is 249 */
	char kafka_start_topic[250];   /* empty: no records of job starts */
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
	uint64_t correction_wait_ns;   /* how long a record may be corrected; 0: not at all */
};

/* The table of keys, for the parser, `ceems check` and the test of the manual. */
extern const struct kvconf_key settings_keys[];
extern const size_t settings_nkeys;

/*
 * Finds the path of ceems.conf, in the folder of slurm.conf. SLURM_CONF is the path of slurm.conf.
 * The folder configured at build time is used if SLURM_CONF is NULL or has no folder, or if only
 * that folder has a ceems.conf. The latter is for a configless slurmd: its slurm.conf is in another
 * folder, to which slurmctld does not send ceems.conf. -ENAMETOOLONG.
 */
int settings_path(const char *slurm_conf, char *buf, size_t size);

/*
 * Sets the defaults, then reads PATH over them. Returns 0, or -ENOENT, no file, or -EACCES, a file that this user may not
 * open: *RET has the defaults. After any other error *RET must not be used. ERR names file, line and key.
 */
int settings_load(const char *path, struct settings *ret, struct errmsg *err);

/*
 * settings_load() for `ceems check`, which reports all mistakes to ON_ERROR: see kvconf_read_all().
 * A daemon must not use partly read settings.
 */
int settings_load_all(const char *path, struct settings *ret, kvconf_error_fn *on_error, void *arg,
		      struct errmsg *err);

/* Replaces %n by NODE in the folders that allow it. -ENAMETOOLONG. */
int settings_for_node(struct settings *s, const char *node, struct errmsg *err);

#endif
