/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_names.h - what the members of a record are called as attributes of a span; doc/traces.md lists them. A member
 * that is not here is not sent, but for what is measured: "energy.by_domain.cpu_j" is "ceems.energy.by_domain.cpu_j".
 */
#ifndef CEEMS_OTLP_NAMES_H
#define CEEMS_OTLP_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define OTLP_NAME_MAX 96

/* Members of which a person can be known, or that a user wrote. */
enum otlp_private {
	OTLP_PUBLIC,
	OTLP_PRIVATE, /* sent with OtlpUsers only */
};

/*
 * The name of the member PATH of a job or step (IS_STEP), in BUF or constant. NULL: it is not sent. WITH_USERS:
 * OtlpUsers.
 */
const char *otlp_name(const char *path, bool is_step, bool with_users, char *buf, size_t size);

#endif
