/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run_advice.h - prints the output of `ceems advise`.
 */
#ifndef CEEMS_CMD_RUN_ADVICE_H
#define CEEMS_CMD_RUN_ADVICE_H

#include <stdio.h>

#include "src/cmd/advise/run_history.h"

/* Prints what the runs of jobs named NAME suggest. -ENOMEM. */
int run_advice_print(const char *name, const struct run_advice *a, uint64_t now, FILE *out);

/* Returns the same as one JSON object, which the caller frees. NULL: out of memory. */
char *run_advice_json(const char *name, const struct run_advice *a);

#endif
