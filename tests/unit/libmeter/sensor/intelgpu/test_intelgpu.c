/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intel's GPUs on a machine with a Battlemage (xe: card and package), a Max of xe (the package is all that xe
 * shows) and a Max of i915 with two tiles. The order of PCI addresses is not that of the render nodes.
 */
#include <errno.h>
#include <inttypes.h>

#include "machine.h"
#include "rnd.h"

#define DEVICES "sys/devices/pci0000:49/"
#define CARD DEVICES "0000:4d:00.0"
#define CARD_ENERGY CARD "/hwmon/hwmon4/energy1_input"
#define CARD_STATUS CARD "/power/runtime_status"
#define CARD_UJ UINT64_C(500000000)
#define XE_MAX_ENERGY DEVICES "0000:52:00.0/hwmon/hwmon2/energy2_input"
#define XE_MAX_UJ UINT64_C(7000000000)
#define I915_ENERGY DEVICES "0000:57:00.0/hwmon/hwmon5/energy1_input"
#define I915_UJ UINT64_C(9000000000)

static void put(const struct machine *m, const char *file, uint64_t uj)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64 "\n", uj);
	machine_put(m, file, text);
}

static void start(struct machine *m)
{
	machine_init(m, &source_intelgpu, "intel-max");
	if (machine_open(m) < 0 || machine_read(m, NSEC_PER_SEC) < 0)
		diag("no source: %s", m->err.text);
}

static void test_absent(void)
{
	struct machine m;

	machine_init(&m, &source_intelgpu, "xeon-2s");
	is_int(machine_open(&m), -ENODEV, "no GPU of Intel");
	machine_fini(&m);
}

static void test_counters(void)
{
	struct gpu_reading gpu[GPUS_MAX];
	struct machine m;
	char about[160];

	start(&m);
	is_u64(m.r.nparts, 3, "three GPUs: a tile is not one");
	ok(machine_part(&m, DOMAIN_GPU, 1)->is_new_base && !machine_part(&m, DOMAIN_GPU, 1)->energy_uj,
	   "counting begins at the first reading");
	put(&m, CARD_ENERGY, CARD_UJ + 100000000);
	put(&m, XE_MAX_ENERGY, XE_MAX_UJ + 200000000);
	put(&m, I915_ENERGY, I915_UJ + 300000000);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && !m.r.rejected, "a second later");
	is_u64(machine_part(&m, DOMAIN_GPU, 1)->energy_uj, 100000000,
	       "renderD129: the card, and not also its package");
	is_u64(machine_part(&m, DOMAIN_GPU, 2)->energy_uj, 200000000,
	       "renderD130: the package, since xe shows no card");
	is_u64(machine_part(&m, DOMAIN_GPU, 0)->energy_uj, 300000000, "renderD128: the device of i915");
	ok(m.ops->gpus(m.source, gpu, GPUS_MAX) == 3 && gpu[1].unit == 1 &&
		   gpu[1].value[GPU_VALUE_POWER_MW] == 100000 &&
		   gpu[1].value[GPU_VALUE_BUSY_PPM] == GPU_VALUE_UNKNOWN &&
		   !strcmp(gpu[1].uuid, "INTEL-0000:4d:00.0"),
	   "100 W; what the driver does not show is unknown");
	m.ops->describe(m.source, about, sizeof(about));
	ok(strstr(about, "3 GPUs, ") && strstr(about, "package only of 1"), "%s", about);
	machine_fini(&m);
}

static void test_trouble(void)
{
	struct machine m;
	uint64_t uj = 0, i;

	start(&m);
	machine_put(&m, CARD_ENERGY, "");
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && m.r.rejected == 1 &&
		   !machine_part(&m, DOMAIN_GPU, 1)->energy_uj,
	   "a counter that cannot be read is rejected");
	put(&m, CARD_ENERGY, CARD_UJ + 3000000);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && machine_part(&m, DOMAIN_GPU, 1)->energy_uj == 3000000,
	   "its next reading has all energy");
	put(&m, CARD_ENERGY, 1000000);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && m.r.rejected == 1 &&
		   !machine_part(&m, DOMAIN_GPU, 1)->energy_uj,
	   "a counter that goes back was reset (the driver was loaded anew)");
	for (i = 1; i <= 8; i++) {
		put(&m, CARD_ENERGY, 1000000 + i * 500000);
		ok(machine_read(&m, NSEC_PER_SEC) == 0, "it counts again");
		uj += machine_part(&m, DOMAIN_GPU, 1)->energy_uj;
	}
	is_u64(uj, 8 * 500000, "and goes on from there");
	put(&m, CARD_ENERGY, 90000000);
	ok(machine_read(&m, 101 * NSEC_PER_SEC) == 0 && machine_part(&m, DOMAIN_GPU, 1)->is_new_base &&
		   !machine_part(&m, DOMAIN_GPU, 1)->energy_uj,
	   "after a gap in which the register may have wrapped, counting begins anew");
	machine_fini(&m);
}

/* What the counter shows after a sleep may be a wrap that never was. */
static void test_sleep(void)
{
	struct machine m;

	start(&m);
	machine_put(&m, CARD_STATUS, "suspended\n");
	put(&m, CARD_ENERGY, CARD_UJ + 1000);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && !m.r.rejected &&
		   !machine_part(&m, DOMAIN_GPU, 1)->energy_uj &&
		   strstr(m.ops->notes(m.source), "GPU 1 sleeps"),
	   "a GPU that sleeps is not read: %s", m.ops->notes(m.source));
	machine_put(&m, CARD_STATUS, "active\n");
	put(&m, CARD_ENERGY, CARD_UJ + 2000);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && machine_part(&m, DOMAIN_GPU, 1)->is_new_base &&
		   !machine_part(&m, DOMAIN_GPU, 1)->energy_uj && !*m.ops->notes(m.source),
	   "when it wakes up, counting begins anew");
	put(&m, CARD_ENERGY, CARD_UJ + 2500);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && machine_part(&m, DOMAIN_GPU, 1)->energy_uj == 500,
	   "and goes on");
	machine_fini(&m);
}

/*
 * Random counters that stand still, go back, jump, vanish and sleep: each energy is the difference of two
 * values that the counter showed, and never more than a GPU can use in that time.
 */
#define ROUNDS 2000
static void test_random(void)
{
	const char *env = getenv("INTELGPU_SEED");
	uint64_t shown[ROUNDS], now = CARD_UJ;
	unsigned int wrong = 0;
	struct machine m;
	size_t n = 0;
	size_t i, k;

	rng = (env ? strtoull(env, NULL, 0) : clock_wall_ns()) | 1;
	diag("%d random readings; again with INTELGPU_SEED=%" PRIu64, ROUNDS, rng);
	start(&m);
	shown[n++] = now;
	for (i = 1; i < ROUNDS && !wrong; i++) {
		bool is_asleep = rnd(10) == 0;
		bool is_known = false;
		uint64_t uj;

		switch (rnd(8)) {
		case 0:
			break;
		case 1:
			now = rnd(now + 1);
			break;
		case 2:
			now += rnd(UINT64_C(1) << 42);
			break;
		default:
			now += rnd(UINT64_C(600000000));
		}
		machine_put(&m, CARD_STATUS, is_asleep ? "suspended\n" : "active\n");
		if (rnd(20) == 0) {
			machine_put(&m, CARD_ENERGY, "x\n");
		} else {
			put(&m, CARD_ENERGY, now);
			shown[n++] = now;
		}
		if (machine_read(&m, NSEC_PER_SEC) < 0)
			continue;
		uj = machine_part(&m, DOMAIN_GPU, 1)->energy_uj;
		for (k = 0; k < n && !is_known; k++)
			is_known = shown[k] + uj == now;
		if (uj && (!is_known || is_asleep || uj > i * 2501000000))
			wrong++;
		if (wrong)
			diag("reading %zu: %" PRIu64 " uJ at %" PRIu64, i, uj, now);
	}
	ok(!wrong, "no energy that the counter did not show");
	machine_fini(&m);
}

int main(void)
{
	test_absent();
	test_counters();
	test_trouble();
	test_sleep();
	test_random();
	return done_testing();
}
