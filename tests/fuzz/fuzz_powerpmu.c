/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The perf PMU "power": type, cpumask, and event, unit and scale of packages; then counts. */
#include "src/libmeter/sensor/counter.h"
#include "src/libmeter/sensor/rapl/powerpmu.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"
#include "tests/fuzz/fuzz.h"

static const char *const files[] = { "type", "cpumask", "events/energy-pkg", "events/energy-pkg.unit",
				     "events/energy-pkg.scale" };

/* A count is eight bytes of the input; all handles show the same one. */
static struct fuzz_parts counts;

static int open_counter(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			unsigned long flags)
{
	(void)ctx;
	(void)attr;
	(void)pid;
	(void)cpu;
	(void)group;
	(void)flags;
	return 1;
}

static ssize_t read_counter(void *ctx, int handle, void *buf, size_t size)
{
	(void)ctx;
	(void)handle;
	if (counts.size < size)
		return -1;
	memcpy(buf, counts.data, size);
	return (ssize_t)size;
}

static void close_counter(void *ctx, int handle)
{
	(void)ctx;
	assert(handle == 1); /* as open_counter() gave it */
}

static const struct perf_event_ops ops = { .open = open_counter,
					   .read = read_counter,
					   .close = close_counter };

static void write_files(struct fuzz_parts *in)
{
	char dir[512];
	size_t i;

	(void)snprintf(dir, sizeof(dir), "%s/sys/bus/event_source/devices/power/events", fuzz_dir());
	assert(fileio_mkdir_p(dir, 0700, NULL) == 0);
	*strrchr(dir, '/') = '\0';
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		size_t len;
		const uint8_t *part = fuzz_next(in, &len);

		fuzz_write(dir, files[i], part, len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts in = { data, size };
	struct source_state state = { 0 };
	struct powerpmu *p = NULL;
	struct errmsg err = { 0 };
	uint64_t elapsed = 0;
	int rc;

	write_files(&in);
	rc = powerpmu_open(fuzz_dir(), &ops, NULL, &p, &err);
	fuzz_check_error(rc, &err);
	for (counts = in; rc == 0 && counts.size; elapsed += NSEC_PER_SEC) {
		size_t step = counts.size < 8 ? counts.size : 8;
		struct reading r = { 0 };
		uint32_t i;

		if (powerpmu_read(p, NSEC_PER_SEC, &state, &r) == 0)
			for (i = 0; i < r.nparts; i++)
				assert(r.part[i].energy_uj <=
				       SOURCE_MAX_COUNTERS *
					       counter_bound_uj(COUNTER_PLATFORM_MAX_W, elapsed));
		counts.data += step;
		counts.size -= step;
	}
	powerpmu_close(p);
	return 0;
}
