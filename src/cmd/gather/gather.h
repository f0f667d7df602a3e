/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gather.h - the parts of `ceems gather`.
 */
#ifndef CEEMS_GATHER_H
#define CEEMS_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/cmd/gather/gather_tar.h"
#include "src/libcore/settings.h"

#define GATHER_TOP "ceems-gather" /* the folder in the archive */

#define GATHER_TWICE (1u << 0) /* see gather.def */
#define GATHER_LINES (1u << 1)

/* What an archive has so far. */
struct gather {
	struct gather_tar *tar;
	const struct settings *settings;
	char host[256]; /* masked in all files; empty: none */
	size_t files;	/* how many were added */
	size_t hung;	/* how many did not answer and are left out */
};

/*
 * Adds the files of gather.def below settings->sys_root, each as "PASS/PATH". Links to folders stay links. Of
 * the second pass are only the files that are GATHER_TWICE. Whoever reads a sensor may hang, so a child
 * process reads; a file that does not answer within seconds is named on stderr and left out.
 */
int gather_files(struct gather *g, const char *pass, bool is_second, struct errmsg *err) _must_check_;

/*
 * Adds, as "said/NAME", what each sensor of EnergySources says of itself, and each line that its helper
 * program wrote in some seconds.
 */
int gather_said(struct gather *g, struct errmsg *err) _must_check_;

/*
 * Adds, as "bmc/PATH/index.json", each resource of RedfishConf's BMC that ceems-redfish asks for: the layout
 * of DMTF's mockups. A BMC that cannot be asked is named on stderr. Without RedfishConf, does nothing.
 */
int gather_bmc(struct gather *g, struct errmsg *err) _must_check_;

/* Masks DATA and adds it. A file whose name ustar cannot hold is left out. */
int gather_add(struct gather *g, const char *name, char *data, size_t len, struct errmsg *err) _must_check_;
int gather_add_link(struct gather *g, const char *name, const char *target, struct errmsg *err) _must_check_;

#endif
