/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pm_counters: energy, freshness and startup, before and after. */
#include <errno.h>

#include "src/libutil/fileio.h"
#include "src/libutil/util.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/rigs/reading_sums.h"

static void put(const char *dir, struct fuzz_parts *parts)
{
	static const char *const names[] = { "energy", "freshness", "startup" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		size_t size;
		const uint8_t *part = fuzz_next(parts, &size);

		fuzz_write(dir, names[i], part, size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts parts = { data, size };
	struct source_env env = { .sys_root = fuzz_dir() };
	struct source_state state = { 0 };
	struct reading r = { 0 };
	struct errmsg err = { 0 };
	struct source *s = NULL;
	char dir[512];

	(void)snprintf(dir, sizeof(dir), "%s/sys/cray/pm_counters", env.sys_root);
	assert(fileio_mkdir_p(dir, 0700, NULL) == 0);
	put(dir, &parts);
	assert(source_cray.open(&env, &s, &err) == 0);
	(void)source_cray.read(s, 0, 0, &state, &r);
	assert(reading_energy_uj(&r, DOMAIN_OTHER) == 0);
	put(dir, &parts);
	if (source_cray.read(s, 1000000000, 0, &state, &r) == 0) /* 25 kW for 2 s */
		assert(reading_energy_uj(&r, DOMAIN_OTHER) <= UINT64_C(50000000000));
	source_cray.close(s);
	return 0;
}
