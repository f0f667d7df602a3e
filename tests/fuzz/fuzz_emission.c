/* SPDX-License-Identifier: GPL-2.0-or-later */
/* emission-factors.csv */
#include <errno.h>

#include "src/libemission/emission.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct emission_factor f = { 0 };
	struct errmsg err = { 0 };
	int rc = emission_lookup(fuzz_file(data, size), "FR", &f, &err);

	fuzz_check_error(rc, &err);
	assert(rc == 0 || rc == -EINVAL || rc == -ENOENT || rc == -EFBIG);
	assert(rc < 0 || (f.mg_per_kwh <= 5000000 && f.year >= 1990));
	assert(rc == 0 || !f.mg_per_kwh);
	return 0;
}
