/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies in the inbox as the facts of a job, of another version of the plugin, say. Either they are not
 * facts, or they make a record.
 */
#include <errno.h>

#include "recorder/job_record.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record *r = NULL;
	/* as long as it is, so that a byte read behind its end is noticed */
	uint8_t *facts = malloc(size + !size);
	int rc;

	assert(facts);
	memcpy(facts, data, size);
	rc = job_record_create((const struct job_facts *)(void *)facts, size, "cluster", &r);
	assert(rc == 0 || rc == -EINVAL);
	if (rc == 0) {
		assert(r && r->cluster);
		record_destroy(r);
	}
	free(facts);
	return 0;
}
