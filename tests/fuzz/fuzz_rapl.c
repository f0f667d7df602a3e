/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * powercap: for each of a package, its DRAM, a second die and psys name, range, and first count;
 * then further counts, one zone after the other, each a reading one second after the one before.
 */
#include "src/libmeter/sensor/counter.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tests/fuzz/fuzz.h"

static const char *const zones[] = { "intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1", "intel-rapl-mmio:0" };
static const char *const files[] = { "name", "max_energy_range_uj", "energy_uj" };

static void write_next(struct fuzz_parts *in, const char *powercap, const char *zone, const char *file)
{
	char dir[512];
	const uint8_t *part;
	size_t len;

	part = fuzz_next(in, &len);
	(void)snprintf(dir, sizeof(dir), "%s/%s", powercap, zone);
	fuzz_write(dir, file, part, len);
}

static const char *make_tree(void)
{
	static char powercap[300];
	static const char *const dirs[] = { "/sys", "/sys/class", "/sys/class/powercap" };
	char path[512];
	size_t i;

	if (powercap[0])
		return powercap;
	for (i = 0; i < ARRAY_SIZE(dirs); i++) {
		(void)snprintf(powercap, sizeof(powercap), "%s%s", fuzz_dir(), dirs[i]);
		assert(mkdir(powercap, 0700) == 0);
	}
	for (i = 0; i < ARRAY_SIZE(zones); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", powercap, zones[i]);
		assert(mkdir(path, 0700) == 0);
	}
	return powercap;
}

/* Whatever the files say, no reading is above what the zones can use in that time. */
static void check(const struct reading *r, uint64_t elapsed_ns)
{
	uint64_t most = counter_bound_uj(COUNTER_PLATFORM_MAX_W, elapsed_ns);
	uint32_t i;

	assert(r->nparts <= PARTS_MAX);
	for (i = 0; i < r->nparts; i++)
		assert(r->part[i].energy_uj <= ARRAY_SIZE(zones) * most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts in = { data, size };
	struct source_env env = { .sys_root = fuzz_dir() };
	struct source_state state = { 0 };
	const char *powercap = make_tree();
	struct source *s = NULL;
	struct errmsg err = { 0 };
	uint64_t elapsed = 0;
	char text[256];
	size_t i, k;
	int rc;

	for (i = 0; i < ARRAY_SIZE(zones); i++)
		for (k = 0; k < ARRAY_SIZE(files); k++)
			write_next(&in, powercap, zones[i], files[k]);
	rc = source_rapl.open(&env, &s, &err);
	fuzz_check_error(rc, &err);
	if (rc < 0)
		return 0;
	for (i = 0;; i++) {
		struct reading r = { 0 };

		elapsed += NSEC_PER_SEC;
		if (source_rapl.read(s, NSEC_PER_SEC, 0, &state, &r) == 0)
			check(&r, elapsed);
		if (!in.size)
			break;
		write_next(&in, powercap, zones[i % ARRAY_SIZE(zones)], "energy_uj");
	}
	source_rapl.describe(s, text, sizeof(text));
	source_rapl.close(s);
	return 0;
}
