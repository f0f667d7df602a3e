/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_compat.h - includes Slurm's internal headers, and hides what changed in them. Only this file of the
 * folder tests SLURM_VERSION_NUMBER. slurm_xlator.h must come first, because it renames Slurm's functions to
 * the names that libslurmfull exports.
 */
#ifndef CEEMS_ACCT_GATHER_SLURM_COMPAT_H
#define CEEMS_ACCT_GATHER_SLURM_COMPAT_H

#include "src/common/slurm_xlator.h"

#define CEEMS_SLURM(major, minor) (((major) << 16) + ((minor) << 8))

#include "src/common/assoc_mgr.h"
#include "src/common/env.h"
#include "src/common/run_in_daemon.h"
#if SLURM_VERSION_NUMBER >= CEEMS_SLURM(23, 2)
#include "src/interfaces/acct_gather_energy.h" /* 23.02: src/interfaces */
#include "src/interfaces/acct_gather_profile.h"
#include "src/interfaces/cred.h"
#include "src/interfaces/gres.h"
#include "src/interfaces/jobacct_gather.h"
#include "src/interfaces/proctrack.h"
#else
#include "src/common/gres.h"
#include "src/common/slurm_acct_gather_energy.h"
#include "src/common/slurm_acct_gather_profile.h"
#include "src/common/slurm_cred.h"
#include "src/common/slurm_jobacct_gather.h"
#include "src/slurmd/common/proctrack.h"
#endif
#include "src/plugins/gres/common/gres_c_s.h"
#include "src/slurmd/slurmd/slurmd.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#undef ARRAY_SIZE /* src/libutil/util.h defines the same */

/* 25.11: fini() returns nothing. The loader ignored the result in earlier versions, too. */
#if SLURM_VERSION_NUMBER >= CEEMS_SLURM(25, 11)
#define CEEMS_FINI_RETURNS void
#define CEEMS_FINI_RETURN
#else
#define CEEMS_FINI_RETURNS int
#define CEEMS_FINI_RETURN return SLURM_SUCCESS
#endif

/* 24.05: List became list_t *, which is the same type. */
#if SLURM_VERSION_NUMBER >= CEEMS_SLURM(24, 5)
#define CEEMS_LIST list_t *
#else
#define CEEMS_LIST List
#endif

/* 23.02: the member of slurmd_conf_t for the memory that the machine has got another name. */
#if SLURM_VERSION_NUMBER >= CEEMS_SLURM(23, 2)
#define CEEMS_REAL_MEMORY physical_memory_size
#else
#define CEEMS_REAL_MEMORY real_memory_size
#endif

/*
 * The configuration of slurmd and slurmstepd. Weak, because slurmctld and sacct also load the plugin but lack
 * this symbol; a missing data symbol that is not weak makes dlopen() fail.
 */
extern slurmd_conf_t *conf __attribute__((weak));

#endif
