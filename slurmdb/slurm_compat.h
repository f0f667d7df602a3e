/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_compat.h - libslurm's public headers, and what differs between versions of Slurm. The
 * structs differ too, so code that includes this header must be built for each version.
 */
#ifndef CEEMS_SLURMDB_SLURM_COMPAT_H
#define CEEMS_SLURMDB_SLURM_COMPAT_H

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>

/* List and ListIterator became list_t * and list_itr_t * in 23.11; the structs kept their names. */
typedef struct xlist compat_list;
typedef struct listIterator compat_list_itr;

/*
 * Converts a time to seconds since the epoch; 0: never. For "never" Slurm also uses NO_VAL and
 * INFINITE, which would be two times in 2106.
 */
static inline uint64_t compat_time(time_t t)
{
	return t > 0 && t != NO_VAL && t != INFINITE ? (uint64_t)t : 0;
}

/* Returns a condition that selects all QOS, including deleted ones. */
static inline slurmdb_qos_cond_t compat_all_qos(void)
{
#ifdef QOS_COND_FLAG_WITH_DELETED /* 24.11 */
	return (slurmdb_qos_cond_t){ .flags = QOS_COND_FLAG_WITH_DELETED };
#else
	return (slurmdb_qos_cond_t){ .with_deleted = 1 };
#endif
}

/*
 * In 26.05, the first row of a resized job has all its steps and energy. Up to 25.11, the last row
 * has the energy, and slurmdbd does not get the end of a step that outlasts its part.
 */
#define COMPAT_FIRST_PART_HAS_STEPS (SLURM_VERSION_NUMBER >= 0x1a0500)

/* slurm_load_job() for all versions: since 26.05 its argument is a step_id. */
static inline int compat_load_job(job_info_msg_t **ret, uint32_t job_id, uint16_t flags)
{
#if SLURM_VERSION_NUMBER >= 0x1a0500
	return slurm_load_job(ret,
			      (slurm_step_id_t){
				      .job_id = job_id, .step_id = NO_VAL, .step_het_comp = NO_VAL },
			      flags);
#else
	return slurm_load_job(ret, job_id, flags);
#endif
}

/* slurmdbd's configuration, as a list of config_key_pair_t. Since 26.05 it is a struct first. */
static inline compat_list *compat_config(void *db)
{
#if SLURM_VERSION_NUMBER >= 0x1a0500
	slurmdbd_conf_t *conf = NULL;

	/* Not freed: libslurm does not export slurmdbd_free_conf(). A command asks once. */
	return slurmdb_config_get(db, &conf) == SLURM_SUCCESS && conf ? slurmdb_config_get_keypairs(conf) :
									NULL;
#else
	return slurmdb_config_get(db);
#endif
}

#endif
