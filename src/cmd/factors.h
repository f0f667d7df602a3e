/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factors.h - shared by the parts of `ceems factors`.
 */
#ifndef CEEMS_CMD_FACTORS_H
#define CEEMS_CMD_FACTORS_H

#include <limits.h>
#include <stdbool.h>

#include "src/cmd/cmd.h"
#include "src/factors/update.h"
#include "src/libemission/factor_series.h"

struct factors {
	struct settings settings;
	struct factors_conf conf;
	char conf_path[PATH_MAX]; /* of conf */
	bool has_conf;
	const char *series_path;
	bool accept, json, all;
	const char *region; /* NULL: every one */
};

/* Each returns enum cmd_exit. */
int factors_list(const struct factors *f);  /* factors_list.c */
int factors_check(const struct factors *f); /* factors_check.c */

/*
 * factors_prom.c: writes ceems_factors.prom, if TextfileDir is set. FAILED is the number of zones
 * that failed in the update; negative: no zone could be asked.
 */
int factors_prom_write(const struct factors *f, int failed, struct errmsg *err);

#endif
