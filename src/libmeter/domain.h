/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * domain.h - the words that measuring and accounting share: parts of a node that energy is
 * counted for, and the kinds of source it is read from.
 */
#ifndef CEEMS_DOMAIN_H
#define CEEMS_DOMAIN_H

/* Domains never overlap: a joule is in one of them. */
enum domain {
	DOMAIN_CPU,   /* packages: cores, caches, uncore */
	DOMAIN_DRAM,
	DOMAIN_GPU,
	DOMAIN_OTHER, /* what the node uses above the others; all of it for a whole-node source */
	DOMAIN_N
};
const char *domain_name(enum domain d); /* "cpu", "dram", "gpu", "other" */

enum source_id {
	SOURCE_RAPL,
	SOURCE_MODEL,
	SOURCE_N
};
const char *source_name(enum source_id id); /* "rapl", "model" */

#endif
