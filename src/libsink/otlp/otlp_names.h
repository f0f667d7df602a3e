/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_names.h - maps members of a record to names of span attributes; doc/traces.md lists them. A
 * metric without a name of its own gets the prefix "ceems.", such as
 * "ceems.energy.by_domain.cpu_j". Other members without a name are not sent.
 */
#ifndef CEEMS_OTLP_NAMES_H
#define CEEMS_OTLP_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libutil/must_check.h"

#define OTLP_NAME_MAX 96

/* Whether a member may be sent without OtlpUsers. */
enum otlp_private {
	OTLP_PUBLIC,
	OTLP_PRIVATE, /* names a person, or was written by a user: sent only with OtlpUsers */
};

/*
 * Returns the attribute name of the member PATH of a job, or of a step if IS_STEP. NULL: the member
 * is not sent. The name is a constant or in BUF[size], OTLP_NAME_MAX bytes. WITH_USERS is
 * OtlpUsers.
 */
const char *otlp_name(const char *path, bool is_step, bool with_users, char *buf, size_t size) _must_check_;

#endif
