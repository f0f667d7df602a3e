/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "src/librecord/record.h"
#include "src/libstore/store.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"

/* Kafka accepts messages of 1,000,000 bytes, unless topic and producer are set otherwise. */
#define PART_MAX_BYTES (900 << 10)

/* Splits a record into parts. A job that is too large to write must not stop all others. */
static int put_make_parts(const char *key, struct record *record, struct record_part **ret, size_t *ret_n,
			  struct errmsg *err)
{
	int rc = record_to_parts(record, PART_MAX_BYTES, ret, ret_n, err);

	if (rc == -EMSGSIZE && record->script) {
		logger_info("ceems: %s: its script is too long for a message and left out", key);
		free(TAKE_PTR(record->script));
		rc = record_to_parts(record, PART_MAX_BYTES, ret, ret_n, err);
	}
	if (rc == -EMSGSIZE) {
		logger_info("ceems: %s: longer than a message without its steps", key);
		rc = record_to_parts(record, STORE_ROW_MAX, ret, ret_n, err);
	}
	return rc;
}

int store_put_record(struct store *s, const char *key, struct record *record, struct errmsg *err)
{
	struct record_part *part = NULL;
	size_t n = 0;
	size_t i;
	int rc = put_make_parts(key, record, &part, &n, err);

	for (i = 0; i < n && rc == 0; i++)
		rc = store_record_append(s, i ? STORE_STEPS : STORE_RECORD, i ? part[i].key : key,
					 part[i].json, part[i].len, record->end, NULL, err);
	record_parts_destroy(part, n);
	return rc;
}
