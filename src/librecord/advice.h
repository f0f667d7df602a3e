/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * advice.h - advice for the user of a job, from the rules of advice.def: what was observed, what to
 * type next time, and the energy and emissions that this saves. An unknown value silences only the
 * rules that use it.
 */
#ifndef CEEMS_ADVICE_H
#define CEEMS_ADVICE_H

#include "src/librecord/advice_facts.h"
#include "src/librecord/record.h"
#include "src/libutil/errmsg.h"

/* A job that ran for less than this gets no advice; default of min-elapsed in ceems-advice.conf. */
#define ADVICE_MIN_ELAPSED_S 300
#define ADVICE_FILE "ceems-advice.conf" /* in the folder of ceems.conf */
#define ADVICE_TEXT_MAX 160
#define ADVICE_CONDITIONS 6

enum advice_severity { ADVICE_RED, ADVICE_PLAIN };

struct advice_condition {
	enum advice_fact fact;
	enum advice_op { ADVICE_END, ADVICE_BELOW, ADVICE_ABOVE } op; /* ADVICE_END: no more conditions */
	double limit;
};

/* What a change to the job would have saved. */
enum advice_saving {
	ADVICE_SAVES_NONE,   /* nothing, or an unknown amount */
	ADVICE_SAVES_ALL,    /* the job was in vain: all its energy */
	ADVICE_SAVES_CPU,    /* idle energy of the CPUs that were not used */
	ADVICE_SAVES_MEMORY, /* idle energy of the memory that was not used */
	ADVICE_SAVES_CO2E,   /* emissions only: the same energy at another hour */
	ADVICE_SAVES_GPU,    /* GPU energy while no process was on them; all of it, if one always was */
};

struct advice_rule {
	const char *name;
	enum advice_severity severity;
	enum advice_saving saving;
	const char *what, *type, *why;
	/* RUNNING: given also while the job runs */
	enum { ADVICE_OFF, ADVICE_ON, ADVICE_RUNNING } show;
	struct advice_condition when[ADVICE_CONDITIONS];
};

extern const struct advice_rule advice_rules[];
extern const size_t advice_nrules;

/* A site's changes to a rule, in ceems-advice.conf. */
struct advice_site_rule {
	bool show;
	double threshold; /* limit of the rule's first condition */
	/* templates with {fact}; empty: use the rule's own */
	char what[ADVICE_TEXT_MAX], type[ADVICE_TEXT_MAX];
	char link[256]; /* page with more help; empty: none */
};

struct advice_site {
	double min_elapsed_s;
	struct advice_site_rule *rule; /* advice_nrules elements, in the order of advice_rules */
	/* the cluster's emission factors, borrowed; NULL: unknown */
	const struct factor_chain *chain;
};

/*
 * Reads a site's changes to the rules from PATH. A missing file is no error. Returns 0, -ENOMEM or
 * -EINVAL; for a bad line ERR says "PATH:LINE: KEY: reason". Free RET with advice_site_free(), also
 * after an error.
 */
int advice_site_read(const char *path, struct advice_site *ret, struct errmsg *err) _must_check_;
void advice_site_free(struct advice_site *s);

struct advice {
	const struct advice_rule *rule;
	const char *link; /* from the site's file, borrowed; empty: none */
	char what[ADVICE_TEXT_MAX];
	char type[ADVICE_TEXT_MAX];	     /* empty: nothing to type */
	struct maybe_u64 energy_uj, co2e_ng; /* what following the advice would have saved */
};

/*
 * Finds advice on R, the most important first, and writes at most MAX to RET. Returns how many. NOW
 * is in seconds since the epoch. SITE may be NULL: no changes. The texts contain nothing that the
 * job's user wrote, but may contain any bytes of the site's file.
 */
size_t advice_find(const struct record *r, const struct advice_site *site, uint64_t now, struct advice *ret,
		   size_t max);

/*
 * Writes "saves 1.60 Wh", or "cost 1.60 Wh" if the job was in vain. WITH_CO2E adds ", 24.0 mg".
 * Advice that saves only emissions gives "saves 24.0 mg CO2e"; an unknown saving gives "". Returns
 * BUF.
 */
const char *advice_saving_text(const struct advice *a, bool with_co2e, char *buf, size_t size);

/* Writes the conditions that were true: "cpu_efficiency 13 % < 65 %, cpus 8 > 1". Returns BUF. */
const char *advice_explain(const struct advice *a, const struct record *r, const struct advice_site *site,
			   uint64_t now, char *buf, size_t size);

#endif
