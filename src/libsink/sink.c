/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/sink.h"

#include <stdlib.h>
#include <string.h>

#include "src/libutil/crc32c.h"

/*
 * One bit per hash of a key. If a record must be sent again, later records of other keys with the same hash
 * are sent again, too; that is harmless.
 */
#define BITS 65536u

void sink_keep_order(const struct sink_item *item, size_t n, enum sink_result *result)
{
	uint64_t seen[BITS / 64] = { 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		uint32_t bit = crc32c(0, item[i].key, item[i].key_len) % BITS;
		uint64_t mask = UINT64_C(1) << bit % 64;

		if (result[i] == SINK_RETRY)
			seen[bit / 64] |= mask;
		else if (result[i] == SINK_ACKED && seen[bit / 64] & mask)
			result[i] = SINK_RETRY;
	}
}

void sink_refuse(struct sink_item *item, enum sink_result *result, const char *why)
{
	*result = SINK_REFUSED;
	free(item->why);
	item->why = strdup(why);
}

const char *sink_why(const struct sink_item *item)
{
	return item->why ? item->why : "out of memory";
}
