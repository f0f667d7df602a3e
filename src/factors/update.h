/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * update.h - asks every provider and brings the series up to date. One that fails leaves what is there
 * alone, and does not keep the others from being asked.
 */
#ifndef CEEMS_FACTORS_UPDATE_H
#define CEEMS_FACTORS_UPDATE_H

#include "src/factors/provider.h"

/* What became of one zone of one provider. */
struct update_outcome {
	const struct provider_ask *ask;
	int rc;		     /* below 0: nothing of it was taken */
	size_t doubts;	     /* points left out; they are a failure, too */
	const char *why;     /* of either */
	const struct points *points; /* that were good */
};

struct update {
	const struct factors_conf *conf;
	const char *series_path;
	bool accept; /* what is more than ten times the last value */
	bool is_trial; /* each is asked once, and nothing is written */
	void (*tell)(void *ctx, const struct update_outcome *o);
	void *ctx;
};

/*
 * How many zones failed; below 0: none could be asked, or the series could neither be read nor
 * written. -EBUSY: another update is under way.
 */
int update_run(const struct update *u, struct errmsg *err);

/* No core file, no ptrace, nothing in /proc for others, no log of keys: of the whole process. */
void update_hide_process(void);

#endif
