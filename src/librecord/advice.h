/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * advice.h - advice for a job's user, by the rules of advice.def: what was observed, what to type
 * next time, and the energy and emissions that this saves. An unknown value only disables the rules
 * that need it.
 */
#ifndef CEEMS_ADVICE_H
#define CEEMS_ADVICE_H

#include "src/librecord/advice_facts.h"
#include "src/librecord/record.h"
#include "src/libutil/errmsg.h"

/* A job shorter than this gets no advice. */
#define ADVICE_MIN_ELAPSED_S 300
#define ADVICE_FILE "ceems-advice.conf" /* beside ceems.conf */
#define ADVICE_TEXT_MAX 160
#define ADVICE_CONDITIONS 6

enum advice_severity { ADVICE_RED, ADVICE_PLAIN };

struct advice_condition {
	enum advice_fact fact;
	enum advice_op { ADVICE_END, ADVICE_BELOW, ADVICE_ABOVE } op; /* ADVICE_END: no more conditions */
	double limit;
};

/* Which part of the energy a change would save. */
enum advice_saving {
	ADVICE_SAVES_NONE,   /* or how much cannot be said */
	ADVICE_SAVES_ALL,    /* the job was in vain: all its energy */
	ADVICE_SAVES_CPU,    /* idle power of the CPUs that were not used */
	ADVICE_SAVES_MEMORY, /* idle power of the memory that was not used */
	ADVICE_SAVES_CO2E,   /* the same energy at another hour */
	ADVICE_SAVES_GPU,    /* energy of the GPUs while they had nothing to do */
};

struct advice_rule {
	const char *name;
	enum advice_severity severity;
	enum advice_saving saving;
	const char *what, *type, *why;
	enum { ADVICE_OFF, ADVICE_ON, ADVICE_RUNNING } show; /* RUNNING: also while the job runs */
	struct advice_condition when[ADVICE_CONDITIONS];
};

extern const struct advice_rule advice_rules[];
extern const size_t advice_nrules;

/* A site's changes to a rule, in ceems-advice.conf. */
struct advice_site_rule {
	bool show;
	double threshold; /* of the rule's first condition */
	char what[ADVICE_TEXT_MAX], type[ADVICE_TEXT_MAX]; /* with {facts}; empty: the rule's own */
	char link[256]; /* empty: none */
};

struct advice_site {
	double min_elapsed_s;
	struct advice_site_rule *rule; /* advice_nrules of them */
	const struct factor_chain *chain; /* the cluster's factors, borrowed; NULL: not known */
};

/*
 * Reads a site's changes to the rules from PATH. A missing file is no error; a malformed line is:
 * "PATH:LINE: KEY: reason". Free RET with advice_site_free(), also after an error.
 */
int advice_site_read(const char *path, struct advice_site *ret, struct errmsg *err);
void advice_site_free(struct advice_site *s);

struct advice {
	const struct advice_rule *rule;
	const char *link; /* of SITE; empty: none */
	char what[ADVICE_TEXT_MAX];
	char type[ADVICE_TEXT_MAX]; /* empty: nothing to type */
	struct maybe_u64 energy_uj, co2e_ng; /* what it would have saved */
};

/*
 * Finds advice on R, at most MAX, the most important first; returns how many. NOW: seconds since
 * the epoch. SITE's texts may have any bytes, but no text has the user's.
 */
size_t advice_find(const struct record *r, const struct advice_site *site, uint64_t now, struct advice *ret,
		   size_t max);

/*
 * Writes "saves 1.60 Wh", or "cost 1.60 Wh" for a job in vain; WITH_CO2E adds ", 24.0 mg". If the energy stays the same,
 * writes "saves 24.0 mg CO2e". "": unknown. Returns BUF.
 */
const char *advice_saving_text(const struct advice *a, bool with_co2e, char *buf, size_t size);

/* Writes why A was given: "cpu_efficiency 13 % < 65 %, cpus 8 > 1". Returns BUF. */
const char *advice_explain(const struct advice *a, const struct record *r, const struct advice_site *site, uint64_t now,
			   char *buf, size_t size);

#endif
