/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * external_text.h - what is in the file of a site's own meter: lines of PART QUANTITY AMOUNT TIME,
 * as ceems.conf(5) describes them under ExternalSource.
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

/* One for every part that there can be. */
#define EXTERNAL_LINES_MAX (1 + 2 * SOCKETS_MAX + GPUS_MAX)

/*
 * LEN bytes of TEXT, which has a NUL behind them and is changed. A file is right as a whole or not
 * at all: in one that is cut off or has a line of another form nothing says which of the other
 * lines are right. 0, with no part twice; -EINVAL, and ERR says in which line what is wrong.
 */
int external_text_parse(char *text, size_t len, struct external_line ret[EXTERNAL_LINES_MAX],
			size_t *ret_n, struct errmsg *err);

#endif
