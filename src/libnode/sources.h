/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sources.h - the energy sources of this node as one: which are open, and which of them a domain
 * is taken from, so that no joule is read twice.
 */
#ifndef CEEMS_SOURCES_H
#define CEEMS_SOURCES_H

#include "src/libmeter/source.h"
#include "src/libutil/errmsg.h"

struct sources;

/*
 * CHOICE as EnergySources has it: "auto" takes the first of ALL that opens; a list takes those
 * named, in that order, estimates only if none of the others opened. NONE of them is no error:
 * *ret is then empty, and ERR says for each why. -ENOMEM.
 */
int sources_open(const char *choice, const struct source_ops *const *all, size_t nall,
		 const struct source_env *env, struct sources **ret, struct errmsg *err);
void sources_close(struct sources *s);

/* "rapl (2 packages, ...)", "model (estimate: ...)", "none". */
void sources_describe(const struct sources *s, char *buf, size_t size);

struct sources_reading {
	uint64_t energy_uj[DOMAIN_N];
	uint32_t from[DOMAIN_N]; /* enum source_id; SOURCE_N: nobody measures it */
	/* Idle power that the source of a domain states (source.h); 0: it does not. */
	uint64_t idle_mw[DOMAIN_N];
	bool idle_is_stated[DOMAIN_N];
	uint32_t rejected;
	uint32_t wraps;
	int failed; /* -errno of a source that could not be read at all, 0: none */
	enum source_id failed_id;
};

/*
 * One tick of all. STATE[SOURCE_N] is the page's; what a source that is not open left there is
 * forgotten, because its next reading would be charged to a single tick. A domain belongs to the
 * first source that ever had it, also while that source fails: its energy comes later.
 */
void sources_read(struct sources *s, uint64_t dt_ns, uint32_t busy_ppm,
		  struct source_state *state, struct sources_reading *ret);

#endif
