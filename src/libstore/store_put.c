/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "src/librecord/record.h"
#include "src/libstore/store.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"

/* Kafka accepts messages of 1,000,000 bytes, unless topic and producer are set otherwise. */
#define PART_MAX_BYTES (900 << 10)

struct store_put {
	struct store *store;
	const char *key;
	uint64_t ended;
};

static int put_part(void *ctx, size_t part, const char *key, const char *json, size_t len, struct errmsg *err)
{
	const struct store_put *p = ctx;

	return store_record_append(p->store, part ? STORE_STEPS : STORE_RECORD, part ? key : p->key, json,
				   len, p->ended, NULL, err);
}

/* A job that is too large to write must not stop all others. */
int store_put_record(struct store *s, const char *key, struct record *record, struct errmsg *err)
{
	struct store_put put = { s, key, record->end };
	int rc = record_write_parts(record, PART_MAX_BYTES, put_part, &put, err);

	if (rc == -EMSGSIZE && record->script) {
		logger_info("ceems: %s: its script is too long for a message and left out", key);
		free(TAKE_PTR(record->script));
		rc = record_write_parts(record, PART_MAX_BYTES, put_part, &put, err);
	}
	if (rc == -EMSGSIZE) {
		logger_info("ceems: %s: longer than a message without its steps", key);
		rc = record_write_parts(record, STORE_ROW_MAX, put_part, &put, err);
	}
	return rc;
}
