/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ROCm source on a stand-in library, as far as it is not the NVML source: what both share is
 * tested in test_nvml.c.
 */
#include "fake_gpus.h"

#define LIBRARY FAKE_DIR "/fake_rocm.so"

static void init(struct fake_node *n)
{
	fake_node_init(n, &source_rocm);
	n->env.rocm_library = LIBRARY;
}

static void test_nothing_there(void)
{
	struct fake_node n;

	init(&n);
	n.env.rocm_library = "librocm_smi64.so";
	ok(fake_node_open(&n) == -ENODEV, "no GPU: the library is not even looked for");
	n.env.rocm_library = FAKE_DIR "/fake_nvml.so";
	ok(fake_node_open(&n) == -ENXIO && strstr(n.err.text, "rsmi_init"), "a library of something else");
	n.env.rocm_library = LIBRARY;
	ok(fake_node_open(&n) == -ENXIO, "no driver");
	fake_node_write(&n, "");
	ok(fake_node_open(&n) == -ENODEV, "a driver without a GPU");
	fake_node_write(&n, "0 100 0 0 0 0 lost\n");
	ok(fake_node_open(&n) == -ENXIO, "a GPU that does not answer");
	fake_node_write(&n, "0 100 0 0 0 0 no-counter,no-power\n");
	ok(fake_node_open(&n) == -ENODEV, "one that shows neither power nor energy");
	fake_node_fini(&n);
}

static void test_counters(void)
{
	struct gpu_reading gpu[GPUS_MAX];
	struct fake_node n;

	init(&n);
	fake_node_write(&n, "1 1000000 90000 50 1024 65536 ok\n0 70 80000 7 0 65536 no-id\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 && n.r.nparts == 2, "two GPUs");
	ok(n.r.part[0].unit == 1 && n.r.part[1].unit == 0 && n.r.part[0].quality == QUALITY_COUNTER,
	   "renderD128 is unit 0");
	fake_node_write(&n, "1 1001000 90000 50 1024 65536 ok\n0 170 80000 7 0 65536 no-id\n");
	ok(fake_node_read(&n) == 0 && n.uj[1] == 15259, "1000 counts of 15.259 uJ");
	/* 70 are 1068.13 uJ, 170 are 2594.03 */
	ok(n.uj[0] == 2594 - 1068, "no fraction is lost on the way");
	ok(n.ops->gpus(n.source, gpu, GPUS_MAX) == 2 && gpu[0].value[GPU_VALUE_BUSY_PPM] == 500000 &&
		   gpu[0].value[GPU_VALUE_MEM_USED_BYTES] == 1024ULL << 20 &&
		   gpu[0].value[GPU_VALUE_POWER_MW] == 90000 &&
		   gpu[0].value[GPU_VALUE_POWER_LIMIT_MW] == 560000 &&
		   gpu[0].value[GPU_VALUE_PROCESSES] == GPU_VALUE_UNKNOWN &&
		   !strcmp(gpu[0].uuid, "AMD-abcdef0000000001-1") && !strcmp(gpu[1].uuid, "AMD-renderD128"),
	   "how busy, memory, power and its cap, id; what ROCm SMI does not tell is unknown");
	fake_node_fini(&n);
}

/* One counter, shown by each partition or by the first of them; the library's order is not the kernel's. */
static void test_partitions(void)
{
	static const char *const flags[] = { "socket=12", "socket=12,no-counter,no-power" };
	unsigned int i, p;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		char before[1024], after[1024];
		struct fake_node n;

		init(&n);
		(void)snprintf(before, sizeof(before),
			       "16 500 0 0 0 0 ok\n1 1000000 0 0 0 0 socket=12\n56 700 0 0 0 0 ok\n");
		(void)snprintf(after, sizeof(after),
			       "16 600 0 0 0 0 ok\n1 1001000 0 0 0 0 socket=12\n56 900 0 0 0 0 ok\n");
		for (p = 0; p < 8; p++) {
			if (p == 1)
				continue;
			(void)snprintf(before + strlen(before), sizeof(before) - strlen(before),
				       "%u 1000000 0 0 0 0 %s\n", p, flags[i]);
			(void)snprintf(after + strlen(after), sizeof(after) - strlen(after),
				       "%u 1001000 0 0 0 0 %s\n", p, flags[i]);
		}
		fake_node_write(&n, before);
		ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 && n.r.nparts == 3,
		   "%s: eight partitions are one GPU", flags[i]);
		fake_node_write(&n, after);
		ok(fake_node_read(&n) == 0 && n.uj[0] == 15259, "its counter is counted once");
		ok(n.uj[16] == 9155 - 7629 && n.uj[56] == 13733 - 10681,
		   "GPUs of render nodes beyond sixteen have their own: %llu %llu",
		   (unsigned long long)n.uj[16], (unsigned long long)n.uj[56]);
		ok(!n.rejected, "nothing is missing");
		fake_node_fini(&n);
	}
}

static void test_garbage(void)
{
	struct fake_node n;

	init(&n);
	fake_node_write(&n, "0 100 0 0 0 0 ok\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "a GPU");
	fake_node_write(&n, "0 200 0 101 9 1 no-resolution\n");
	while (n.ops->read(n.source, 0, 0, &n.state, &n.r) == 0)
		;
	ok(true, "a counter without a resolution cannot be read");
	fake_node_write(&n, "0 18446744073709551615 0 0 0 0 ok\n");
	do {
		(void)n.ops->read(n.source, 0, 0, &n.state, &n.r);
		fake_node_add(&n);
	} while (!n.rejected);
	fake_node_write(&n, "0 1100 0 0 0 0 ok\n");
	ok(fake_node_read(&n) == 0 && n.uj[0] == 16784 - 1525,
	   "all ones are rejected; then all energy is there");
	fake_node_fini(&n);
}

static void test_power(void)
{
	static const char *const flags[] = { "no-counter", "no-counter,no-average" };
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct fake_node n;
		char line[64];
		uint64_t first_ns;

		init(&n);
		(void)snprintf(line, sizeof(line), "0 0 100000 0 0 0 %s\n", flags[i]);
		fake_node_write(&n, line);
		ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 &&
			   n.r.part[0].quality == QUALITY_INTEGRATED,
		   "%s", flags[i]);
		n.uj[0] = 0;
		first_ns = n.r.part[0].until_ns;
		ok(fake_node_read(&n) == 0 && fake_is_100_w(n.uj[0], n.r.part[0].until_ns - first_ns),
		   "100 W over some time");
		fake_node_fini(&n);
	}
}

int main(void)
{
	test_nothing_there();
	test_counters();
	test_partitions();
	test_garbage();
	test_power();
	return done_testing();
}
