/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_releases.h - the releases of Slurm in which one build of the SPANK plugin works. The
 * interfaces that the plugin uses are the same in all of them.
 */
#ifndef CEEMS_SLURM_RELEASES_H
#define CEEMS_SLURM_RELEASES_H

#include <stddef.h>
#include <stdint.h>

#include "src/libutil/util.h"

#define SLURM_RELEASE(major, minor) (UINT32_C(major) << 16 | UINT32_C(minor) << 8)

/* api: API_CURRENT of libslurm, from Slurm's file META. */
static const struct slurm_release {
	unsigned int api;
	uint32_t version;
} slurm_releases[] = {
	{ 38, SLURM_RELEASE(22, 5) },  { 39, SLURM_RELEASE(23, 2) },  { 40, SLURM_RELEASE(23, 11) },
	{ 41, SLURM_RELEASE(24, 5) },  { 42, SLURM_RELEASE(24, 11) }, { 43, SLURM_RELEASE(25, 5) },
	{ 44, SLURM_RELEASE(25, 11) }, { 45, SLURM_RELEASE(26, 5) },
};

/* Returns the release with libslurm version API, as SLURM_RELEASE(); 0: not in the table. */
static inline uint32_t slurm_release_of_api(unsigned int api)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(slurm_releases); i++)
		if (slurm_releases[i].api == api)
			return slurm_releases[i].version;
	return 0;
}

/* Whether VERSION, of any micro version, is in the table. */
static inline bool slurm_release_is_known(uint32_t version)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(slurm_releases); i++)
		if (slurm_releases[i].version >> 8 == version >> 8)
			return true;
	return false;
}

#endif
