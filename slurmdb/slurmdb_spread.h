/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_spread.h - finds the node with the largest value in a step's row of slurmdbd. Include it
 * after slurm/slurmdb.h.
 */
#ifndef CEEMS_SLURMDB_SPREAD_H
#define CEEMS_SLURMDB_SPREAD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/libcore/tresmap.h"
#include "src/librecord/record.h"

/*
 * Writes the name of host number RANK (from 0) of HOSTLIST ("n[1-3]", may be NULL) to BUF; "" if
 * there is none.
 */
static inline void slurmdb_spread_node(const char *hostlist, uint32_t rank, char *buf, size_t size)
{
	/* hostlist_t became the struct itself in 23.11; its pointer is the same */
	struct hostlist *hosts = hostlist ? slurm_hostlist_create(hostlist) : NULL;
	char *host = NULL;

	buf[0] = '\0';
	if (!hosts)
		return;
	do {
		free(host);
		host = slurm_hostlist_shift(hosts);
	} while (host && rank--);
	if (host)
		(void)snprintf(buf, size, "%s", host);
	free(host);
	slurm_hostlist_destroy(hosts);
}

/*
 * Sets RET to the largest value of metric M on a node, and that node's name, if the row has it.
 * STEP must have its metric values and nnodes.
 */
static inline void slurmdb_spread(const slurmdb_step_rec_t *from, const struct tresmap *map, enum metric m,
				  const struct record_step *step, struct record_spread *ret)
{
	uint64_t max;
	uint32_t rank;

	if (tresmap_max(map, m, from->stats.tres_usage_in_max, from->stats.tres_usage_in_max_nodeid,
			&step->values, step->nnodes, &max, &rank) < 0)
		return;
	ret->max = (struct maybe_u64){ max, true };
	slurmdb_spread_node(from->nodes, rank, ret->max_node, sizeof(ret->max_node));
}

#endif
