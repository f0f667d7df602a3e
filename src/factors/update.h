/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * update.h - asks every provider and updates the series. A provider that fails leaves the series
 * unchanged and does not stop the others.
 */
#ifndef CEEMS_FACTORS_UPDATE_H
#define CEEMS_FACTORS_UPDATE_H

#include "src/factors/provider.h"

/* The result for one zone of one provider. */
struct update_outcome {
	const struct provider_ask *ask;
	int rc;			     /* -errno: no point was taken */
	size_t doubts;		     /* doubtful points that were left out; they count as a failure */
	const char *why;	     /* why it failed, or why a point is doubtful */
	const struct points *points; /* the points that were taken */
};

struct update {
	const struct factors_conf *conf;
	const char *series_path;
	bool accept;   /* take points that are more than ten times the last value, too */
	bool is_trial; /* ask each zone once and write nothing */
	/* called once per zone */
	void (*tell)(void *ctx, const struct update_outcome *o);
	void *ctx;
};

/*
 * Asks for all zones. Returns how many failed; or -errno: no zone could be asked, or the series
 * could not be read or written. -EBUSY: another update is running.
 */
int update_run(const struct update *u, struct errmsg *err);

/*
 * Hides the process and its secrets: no core file, no ptrace(), no access to its /proc by others,
 * no log of TLS keys.
 */
void update_hide_process(void);

#endif
