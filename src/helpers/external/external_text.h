/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * external_text.h - parses the file of a site's own meter: lines of PART QUANTITY AMOUNT TIME, as
 * ceems.conf(5) describes them under ExternalSource.
 */
#ifndef CEEMS_EXTERNAL_TEXT_H
#define CEEMS_EXTERNAL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "src/libcore/domain.h"
#include "src/libutil/errmsg.h"

enum external_quantity {
	EXTERNAL_ENERGY,
	EXTERNAL_POWER,
};

struct external_line {
	char name[16]; /* "node", "gpu3" */
	enum domain domain;
	unsigned int unit;
	enum external_quantity quantity;
	uint64_t amount;   /* uJ or mW */
	uint64_t stamp_ns; /* CLOCK_REALTIME, not 0 */
};

/* The most lines: one per possible part. */
#define EXTERNAL_LINES_MAX (1 + 2 * SOCKETS_MAX + GPUS_MAX)

/*
 * Parses TEXT, LEN bytes and a NUL, which is changed. A file is accepted as a whole or not at all:
 * if it is cut off or has a malformed line, the other lines cannot be trusted. Returns 0, with no
 * part twice; -EINVAL: ERR has the line and the error.
 */
int external_text_parse(char *text, size_t len, struct external_line ret[EXTERNAL_LINES_MAX], size_t *ret_n,
			struct errmsg *err) _must_check_;

#endif
