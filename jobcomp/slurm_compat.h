/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_compat.h - the Slurm headers of the jobcomp adapter and what moved between versions. To be
 * included before anything else: slurm_xlator.h renames Slurm's functions to those it exports.
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

#include "src/common/assoc_mgr.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/common/slurmdbd_defs.h"
#include "src/common/slurmdbd_pack.h"
#include "src/common/xmalloc.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

/* 23.02 moved the headers of what plugins serve to src/interfaces. */
#if SLURM_VERSION_NUMBER >= 0x170200
#include "src/interfaces/accounting_storage.h"
#include "src/interfaces/jobcomp.h"
#else
#include "src/common/slurm_accounting_storage.h"
#include "src/common/slurm_jobcomp.h"
#endif

/* 24.05: persist_conn_t lost its prefix. */
#if SLURM_VERSION_NUMBER >= 0x180500
#include "src/common/persist_conn.h"
#else
#include "src/common/slurm_persist_conn.h"
#endif

#pragma GCC diagnostic pop

/* Ours is the same, but it shall come from one place. */
#undef ARRAY_SIZE

/* 23.02: the location is no longer handed over, the plugin asks slurm_conf. */
#if SLURM_VERSION_NUMBER >= 0x170200
#define COMPAT_SET_LOCATION_ARGS void
#else
#define COMPAT_SET_LOCATION_ARGS char *location __attribute__((unused))
#endif

/* 25.05: jobcomp is told of job starts. */
#define COMPAT_TELLS_STARTS (SLURM_VERSION_NUMBER >= 0x190500)

/* 24.05: List became list_t *, and ListIterator went; the pointers are the same. */
#if SLURM_VERSION_NUMBER >= 0x180500
typedef list_t *compat_list_t;
typedef list_itr_t *compat_iterator_t;
#else
typedef List compat_list_t;
typedef ListIterator compat_iterator_t;
#endif

/* 23.02: a job's details have a typedef and no tag. */
#if SLURM_VERSION_NUMBER >= 0x170200
typedef job_details_t compat_job_details_t;
#else
typedef struct job_details compat_job_details_t;
#endif

#if SLURM_VERSION_NUMBER >= 0x180500
typedef persist_conn_t compat_persist_conn_t;
#else
typedef slurm_persist_conn_t compat_persist_conn_t;
#endif

/* 25.11: the connection that a message is for is called pcon. */
#if SLURM_VERSION_NUMBER >= 0x190b00
#define COMPAT_MSG_CONN pcon
#else
#define COMPAT_MSG_CONN conn
#endif

/* 24.11: slurmctld numbers slurmdbd's rows, with what sacct shows as SLUID. */
#define COMPAT_HAS_SLUID (SLURM_VERSION_NUMBER >= 0x180b00)

/* 24.05: a job's steps may be managed by its first node, which tells slurmdbd of them by way of slurmctld. */
#if SLURM_VERSION_NUMBER >= 0x180500
#define COMPAT_HAS_STEPMGR(job) (!!((job)->bit_flags & STEPMGR_ENABLED))
#else
#define COMPAT_HAS_STEPMGR(job) ((void)(job), false)
#endif

/* Says that nothing is open. 25.05: there is no fd to say it with, a null pointer does. */
static inline void compat_persist_conn_closed(compat_persist_conn_t *conn)
{
#if SLURM_VERSION_NUMBER >= 0x190500
	(void)conn;
#else
	conn->fd = -1;
#endif
}

#endif
