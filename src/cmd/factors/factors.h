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
	char conf_path[PATH_MAX]; /* file that CONF is read from */
	bool has_conf;		  /* that file exists */
	const char *series_path;
	bool accept, json, all;
	const char *region; /* only this region; NULL: all regions */
};

/* Each returns enum cmd_exit. */
int factors_list(const struct factors *f);  /* factors_list.c */
int factors_check(const struct factors *f); /* factors_check.c */

/*
 * factors_prom.c: writes ceems_factors.prom, if TextfileDir is set. FAILED is the number of zones whose
 * update failed; negative: no zone could be asked. 0 or -errno.
 */
int factors_prom_write(const struct factors *f, int failed, struct errmsg *err);

#endif
