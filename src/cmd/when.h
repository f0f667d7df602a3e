/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * when.h - parses a time in the forms of sacct: "now-7days", "today", "2026-11-01T10:00". libslurm's own parser is not
 * public.
 */
#ifndef CEEMS_CMD_WHEN_H
#define CEEMS_CMD_WHEN_H

#include <stdint.h>

#define WHEN_FORMS "now-7days, today, 10:00, 2026-11-01 or 2026-11-01T10:00"

/*
 * Seconds since the epoch, of a local time. now, today and midnight, noon, fika, teatime, tomorrow, yesterday, each with
 * +N or -N and a unit behind it (seconds to weeks; none: seconds); HH:MM[:SS] of today; YYYY-MM-DD[THH:MM[:SS]];
 * MM/DD[/YY][-HH:MM[:SS]]; utsSECONDS. -EINVAL: another form, a day that no calendar has, or before 1970.
 */
int when_parse(const char *text, uint64_t now, uint64_t *ret);

#endif
