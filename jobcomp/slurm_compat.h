/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_compat.h - includes Slurm's headers for the jobcomp plugin, and hides what changed between versions.
 * Include it first, because slurm_xlator.h renames Slurm's functions to the names that slurmctld exports.
 */
#ifndef CEEMS_JOBCOMP_SLURM_COMPAT_H
#define CEEMS_JOBCOMP_SLURM_COMPAT_H

/* Slurm's headers are not clean under our warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"

#include "src/common/slurm_xlator.h"

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "slurm/slurmdb.h"

#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

/* 23.02 moved the headers of plugin interfaces to src/interfaces. */
#if SLURM_VERSION_NUMBER >= 0x170200
#include "src/interfaces/jobcomp.h"
#else
#include "src/common/slurm_jobcomp.h"
#endif

#pragma GCC diagnostic pop

/* Weak, because `sacct -c` also loads the plugin and lacks these of slurmctld: dlopen() would fail. */
#pragma weak find_job_record
#pragma weak job_list
#pragma weak lock_slurmctld
#pragma weak server_thread_decr
#pragma weak server_thread_incr
#pragma weak slurmctld_config
#pragma weak unlock_slurmctld

/* src/libutil/util.h defines the same. */
#undef ARRAY_SIZE

/* 23.02: the location is no longer an argument; a plugin reads it from slurm_conf. */
#if SLURM_VERSION_NUMBER >= 0x170200
#define COMPAT_SET_LOCATION_ARGS void
#else
#define COMPAT_SET_LOCATION_ARGS char *location __attribute__((unused))
#endif

/* 25.05: slurmctld also calls jobcomp when a job starts. */
#define COMPAT_TELLS_STARTS (SLURM_VERSION_NUMBER >= 0x190500)

/* 24.05: List became list_t *; the pointer is the same. */
#if SLURM_VERSION_NUMBER >= 0x180500
typedef list_t *compat_list_t;
#else
typedef List compat_list_t;
#endif

/* 23.02: a job's details have a typedef and no tag. */
#if SLURM_VERSION_NUMBER >= 0x170200
typedef job_details_t compat_job_details_t;
#else
typedef struct job_details compat_job_details_t;
#endif

/* 24.05: a job's steps may be managed by its first node; then slurmctld does not know how many there are. */
#if SLURM_VERSION_NUMBER >= 0x180500
#define COMPAT_HAS_STEPMGR(job) (!!((job)->bit_flags & STEPMGR_ENABLED))
#else
#define COMPAT_HAS_STEPMGR(job) ((void)(job), false)
#endif

/*
 * 26.05: each resize adds a row to the job in slurmdbd, and all these rows have the same SLUID. slurmdbd
 * finds the row of a step by the SLUID, which gives the first one. So all steps and all energy of a
 * resized job are in its first row (Slurm's job_record.c, job_record_set_sluid(); common_as.c).
 */
#define COMPAT_FIRST_PART_HAS_STEPS (SLURM_VERSION_NUMBER >= 0x1a0500)

#endif
