/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_name.h - the name of a step's node by its rank. For the parts that ask slurmdbd; to be included
 * behind slurm/slurm.h.
 */
#ifndef CEEMS_ACCT_NODE_NAME_H
#define CEEMS_ACCT_NODE_NAME_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* RANK counts from 0 in HOSTLIST ("n[1-3]", may be NULL). BUF is empty if there is none. */
static inline void node_name(const char *hostlist, uint32_t rank, char *buf, size_t size)
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

#endif
