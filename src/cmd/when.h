/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * when.h - parses a time in the forms of sacct: "now-7days", "today", "2026-11-01T10:00". libslurm's own
 * parser is not public.
 */
#ifndef CEEMS_CMD_WHEN_H
#define CEEMS_CMD_WHEN_H

#include <stdint.h>

#include "src/libutil/must_check.h"

#define WHEN_FORMS "now-7days, today, 10:00, 2026-11-01 or 2026-11-01T10:00"

/*
 * Converts a local time to seconds since the epoch. Forms: now, today, midnight, noon, fika,
 * teatime, tomorrow or yesterday, each with an optional +N or -N and a unit (seconds to weeks;
 * default seconds); HH:MM[:SS] of today; YYYY-MM-DD[THH:MM[:SS]]; MM/DD[/YY][-HH:MM[:SS]];
 * utsSECONDS. -EINVAL: another form, a day that does not exist, or before 1970.
 */
int when_parse(const char *text, uint64_t now, uint64_t *ret) _must_check_;

#endif
