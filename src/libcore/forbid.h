/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forbid.h - parses the setting ForbidOptions, which forbids options of the spank plugin to jobs of a
 * partition or of an account. With "partition:debug:profile,account:guests:io+trace", jobs in the partition
 * debug have no --ceems-profile, and jobs of the account guests have neither --ceems-perf=io nor
 * --ceems-trace.
 */
#ifndef CEEMS_FORBID_H
#define CEEMS_FORBID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libcore/perf_request.h"
#include "src/libutil/errmsg.h"

/* What is forbidden is a mask of enum perf_group and of these two. */
#define FORBID_PROFILE (UINT32_C(1) << 16)
#define FORBID_TRACE (UINT32_C(1) << 17)

/* Large enough for what forbid_text() writes. */
#define FORBID_TEXT_MAX 96

/*
 * Gives what SETTING forbids to a job in PARTITION and of ACCOUNT. NULL: it is not known, and each rule about
 * a partition (an account) holds. "": the job has none. -EINVAL: SETTING is malformed, whatever the job; ERR
 * says what is wrong.
 */
int forbid_find(const char *setting, const char *partition, const char *account, uint32_t *ret,
		struct errmsg *err) _must_check_;

/*
 * Like forbid_find(), for a SETTING that was checked when ceems.conf was read: returns the mask. If SETTING
 * is malformed after all, everything is forbidden.
 */
uint32_t forbid_checked(const char *setting, const char *partition, const char *account);

/*
 * Takes rules off *SETTING up to the next one about a partition, and gives its name, cut to SIZE. False:
 * there is none. The setting must be one that forbid_find() takes.
 */
bool forbid_next_partition(const char **setting, char *name, size_t size) _must_check_;

/* Takes the groups in MASK out of REQUEST. */
void forbid_request(uint32_t mask, struct perf_request *request);

/* Writes the options in MASK as users type them: "--ceems-perf=io,net --ceems-trace". */
void forbid_text(uint32_t mask, char buf[FORBID_TEXT_MAX]);

#endif
