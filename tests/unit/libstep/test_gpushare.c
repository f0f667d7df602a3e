/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which part of which GPU somebody holds: files of a100-mig, whose minor numbers are those of NVIDIA's
 * driver (GPU g, GPU instance i: 3 + 135 g + 9 i; its compute instance c: 4 + 135 g + 9 i + c), and of
 * mi300x-parts: a GPU in CPX, one in DPX, two whole ones. mi250x: two GPUs of two dies.
 * intel-max: cards 1 to 3 have renderD129, 130 and 128; card 0 is the BMC's.
 */
#include "src/libstep/gpushare.h"
#include "src/libutil/util.h"
#include "tap.h"

#define MAX 10
#define CAPS "/dev/nvidia-caps/nvidia-cap"
#define DRI "/dev/dri/renderD"
#define MIG FIXTURES "/a100-mig"
#define AMD FIXTURES "/mi300x-parts"
#define DIES FIXTURES "/mi250x"
#define INTEL FIXTURES "/intel-max"
#define CARD "/dev/dri/card"
#define DEV(file, gres_type, i, held)                                        \
	{                                                                    \
		.path = file, .type = gres_type, .index = i, .is_held = held \
	}
#define NOTHING "/nonexistent"

/*
 * GPU 0, of 40 GB: 3g.20gb (gi 1), 2g.10gb (gi 5), 1g.5gb (gi 13). GPU 2, the same: gi 1 is 4g.20gb, in two
 * compute instances of 3 and 1 slices. GPU 3 is an A30: 2g.12gb (gi 1).
 */
static const struct gpu_slices mig = {
	.n = 8,
	.slice = {
		{ .unit = 0, .gi = GPU_SLICE_WHOLE, .slices = 7, .gi_slices = 7, .mem_mb = 40192 },
		{ .unit = 0, .gi = 1, .slices = 3, .gi_slices = 3, .mem_mb = 20096 },
		{ .unit = 0, .gi = 5, .slices = 2, .gi_slices = 2, .mem_mb = 9984 },
		{ .unit = 2, .gi = GPU_SLICE_WHOLE, .slices = 7, .gi_slices = 7, .mem_mb = 40192 },
		{ .unit = 2, .gi = 1, .ci = 0, .slices = 3, .gi_slices = 4, .mem_mb = 20096 },
		{ .unit = 2, .gi = 1, .ci = 3, .slices = 1, .gi_slices = 4, .mem_mb = 20096 },
		{ .unit = 3, .gi = GPU_SLICE_WHOLE, .slices = 4, .gi_slices = 4, .mem_mb = 24125 },
		{ .unit = 3, .gi = 1, .slices = 2, .gi_slices = 2, .mem_mb = 11968 },
	},
};

/* in ppm: compute and memory, which both count half */
#define OF_3G20 ((428571 + 500000) / 2)
#define OF_2G10 ((285714 + 250000) / 2)
#define OF_1G5 ((142857 + 125000) / 2)

/* clang-format off */
static const struct {
	const char *what;
	const char *root;
	const struct gpu_slices *known;
	struct gpushare_device d[MAX]; /* up to the first without a path */
	uint32_t ppm[5];	       /* of units 0 to 4 */
	unsigned int held;
	const char *why; /* part of what is said; NULL: nothing */
} rows[] = {
	{ "nothing", NOTHING, NULL, { { .path = NULL } }, { 0 }, 0, NULL },
	{ "other devices", MIG, NULL,
	  { DEV("/dev/nvidiactl", NULL, 0, true), DEV("/dev/nvidia", NULL, 1, true),
	    DEV("/dev/nvidia0x", NULL, 2, true), DEV("/dev/dri/card0", NULL, 3, true),
	    DEV(DRI "1", NULL, 4, true), DEV("", NULL, 5, true), DEV(CAPS "1", NULL, 6, true),
	    DEV(CAPS "2", NULL, 7, true) },
	  { 0 }, 0, NULL },
	{ "none is held", NOTHING, NULL,
	  { DEV("/dev/nvidia0", NULL, 0, false), DEV("/dev/nvidia1", NULL, 1, false) },
	  { 0 }, 0, NULL },
	{ "one of two", NOTHING, NULL,
	  { DEV("/dev/nvidia0", NULL, 0, false), DEV("/dev/nvidia1", NULL, 1, true) },
	  { 0, 1000000 }, 1, NULL },
	{ "two of two", NOTHING, NULL,
	  { DEV("/dev/nvidia2", NULL, 0, true), DEV("/dev/nvidia0", NULL, 1, true) },
	  { 1000000, 0, 1000000 }, 2, NULL },
	{ "a MIG instance whose minor number is in no table", MIG, &mig,
	  { DEV(CAPS "1083", "3g.20gb", 0, true) }, { 0 }, 0, CAPS "1083" },
	{ "one on a machine without a table, beside the file of the GPU", NOTHING, &mig,
	  { DEV("/dev/nvidia0", NULL, 0, true), DEV(CAPS "12", "3g.20gb", 0, true),
	    DEV(CAPS "13", "3g.20gb", 0, true) },
	  { 0 }, 0, "mig-minors" },
	{ "one of an unknown size", MIG, NULL, { DEV(CAPS "12", "a100", 0, true) }, { 0 }, 0,
	  "the size of the instance" },
	{ "one that is in no list, by a type of more slices than the GPU has", MIG, &mig,
	  { DEV(CAPS "426", "7g.40gb", 0, true) }, { 0 }, 0, "the size of the instance" },
	{ "unknown, and not held: nothing is said", MIG, NULL, { DEV(CAPS "12", NULL, 0, false) },
	  { 0 }, 0, NULL },
	{ "capabilities alone, listed after a whole GPU", MIG, &mig,
	  { DEV("/dev/nvidia1", NULL, 0, true), DEV(CAPS "12", NULL, 1, true),
	    DEV(CAPS "48", NULL, 2, false) },
	  { OF_3G20, 1000000 }, 2, NULL },
	{ "the whole GPU is another's", MIG, &mig,
	  { DEV("/dev/nvidia1", NULL, 0, false), DEV(CAPS "13", NULL, 1, true) },
	  { OF_3G20, 0 }, 1, NULL },
	/* Slurm marks the GPU's own file too, and shows it once for all its instances */
	{ "MultipleFiles: one instance of three, and a whole GPU", MIG, &mig,
	  { DEV("/dev/nvidia0", NULL, 0, true), DEV(CAPS "12", NULL, 0, false),
	    DEV(CAPS "13", NULL, 0, false), DEV(CAPS "48", NULL, 1, true), DEV(CAPS "49", NULL, 1, true),
	    DEV(CAPS "120", NULL, 2, false), DEV("/dev/nvidia1", NULL, 3, true) },
	  { OF_2G10, 1000000 }, 2, NULL },
	{ "by type where NVML does not have it", MIG, &mig,
	  { DEV(CAPS "120", "a100_1g.5gb", 0, true), DEV(CAPS "12", "1g.5gb", 1, true) },
	  { OF_1G5 + OF_3G20 }, 1, NULL },
	{ "by type alone: of seven slices", MIG, NULL,
	  { DEV(CAPS "12", "nvidia_a100-sxm4-40gb_3g.20gb", 0, true),
	    DEV(CAPS "147", "2G.10GB+me", 1, true) },
	  { 428571, 285714 }, 2, NULL },
	{ "compute instances of one GPU instance share its memory", MIG, &mig,
	  { DEV(CAPS "282", NULL, 0, true), DEV(CAPS "283", NULL, 0, true), DEV(CAPS "286", NULL, 1, false) },
	  { 0, 0, (428571 + 375000) / 2 }, 1, NULL },
	{ "all of a GPU instance, whatever it is cut into", MIG, &mig, { DEV(CAPS "282", NULL, 0, true) },
	  { 0, 0, (571428 + 500000) / 2 }, 1, NULL },
	{ "the same by type", MIG, &mig, { DEV(CAPS "293", "1c.4g.20gb", 0, true) },
	  { 0, 0, (142857 + 125000) / 2 }, 1, NULL },
	{ "a GPU of four slices", MIG, &mig, { DEV(CAPS "417", NULL, 0, true) },
	  { 0, 0, 0, 500000 }, 1, NULL },
	{ "the same instance twice, and more", MIG, &mig,
	  { DEV(CAPS "417", NULL, 0, true), DEV(CAPS "417", NULL, 1, true), DEV(CAPS "417", NULL, 2, true) },
	  { 0, 0, 0, 1000000 }, 1, NULL },
	{ "AMD", NOTHING, NULL, { DEV(DRI "128", NULL, 0, true), DEV(DRI "129", NULL, 1, false) },
	  { 1000000, 0 }, 1, NULL },
	{ "one partition of eight is not the GPU of that number", AMD, NULL,
	  { DEV(DRI "128", NULL, 0, false), DEV(DRI "130", NULL, 1, true) }, { 125000 }, 1, NULL },
	{ "the second die of an MI250X is half of the GPU", DIES, NULL,
	  { DEV(DRI "128", NULL, 0, false), DEV(DRI "129", NULL, 1, true), DEV(DRI "131", NULL, 2, false) },
	  { 500000 }, 1, NULL },
	{ "one die each, and both dies", DIES, NULL,
	  { DEV(DRI "129", NULL, 0, true), DEV(DRI "130", NULL, 1, true), DEV(DRI "131", NULL, 2, true) },
	  { 500000, 0, 1000000 }, 2, NULL },
	{ "Intel, as AutoDetect=oneapi names it", INTEL, NULL,
	  { DEV(CARD "1", NULL, 0, false), DEV(CARD "2", NULL, 1, false), DEV(CARD "3", NULL, 2, true) },
	  { 1000000 }, 1, NULL },
	{ "its card and its render node are one GPU", INTEL, NULL,
	  { DEV(CARD "1", NULL, 0, true), DEV(DRI "129", NULL, 0, true), DEV(CARD "0", NULL, 1, true) },
	  { 0, 1000000 }, 1, NULL },
	{ "three of eight", AMD, NULL,
	  { DEV(DRI "128", NULL, 0, true), DEV(DRI "130", NULL, 1, true), DEV(DRI "135", NULL, 2, true) },
	  { 375000 }, 1, NULL },
	{ "all of eight", AMD, NULL,
	  { DEV(DRI "128", NULL, 0, true), DEV(DRI "129", NULL, 1, true), DEV(DRI "130", NULL, 2, true),
	    DEV(DRI "131", NULL, 3, true), DEV(DRI "132", NULL, 4, true), DEV(DRI "133", NULL, 5, true),
	    DEV(DRI "134", NULL, 6, true), DEV(DRI "135", NULL, 7, true) },
	  { 1000000 }, 1, NULL },
};
/* clang-format on */

static void test_rows(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gpumap *map = gpumap_create(rows[i].root);
		struct gpushare_device d[MAX];
		struct errmsg err = { 0 };
		uint32_t ppm[GPUS_MAX];
		uint16_t gi[GPUS_MAX];
		unsigned int held;
		size_t n = 0;

		memcpy(d, rows[i].d, sizeof(d));
		while (n < MAX && d[n].path)
			n++;
		held = gpushare_by_files(map, rows[i].known, d, n, ppm, gi, &err);
		ok(held == rows[i].held && !memcmp(ppm, rows[i].ppm, sizeof(rows[i].ppm)),
		   "%s: %u held, %u %u %u %u", rows[i].what, held, ppm[0], ppm[1], ppm[2], ppm[3]);
		ok(rows[i].why ? strstr(err.text, rows[i].why) != NULL : !err.text[0], "%s: says '%s'",
		   rows[i].what, err.text);
		gpumap_destroy(map);
	}
}

static void test_instances(void)
{
	struct gpushare_device d[] = { DEV("/dev/nvidia1", NULL, 0, true), DEV(CAPS "12", NULL, 1, true),
				       DEV(CAPS "48", NULL, 2, false),	   DEV(CAPS "282", NULL, 3, true),
				       DEV(CAPS "283", NULL, 3, true),	   DEV(CAPS "1083", NULL, 4, true) };
	struct gpumap *map = gpumap_create(MIG);
	struct errmsg err = { 0 };
	uint32_t ppm[GPUS_MAX];
	uint16_t gi[GPUS_MAX];

	(void)gpushare_by_files(map, &mig, d, ARRAY_SIZE(d), ppm, gi, &err);
	ok(gi[0] && !(gi[0] & (gi[0] - 1)), "one instance of GPU 0 is held: %#x", gi[0]);
	ok(!gi[1], "a whole GPU has none");
	ok(gi[2] && !(gi[2] & (gi[2] - 1)), "files of one instance are that instance: %#x", gi[2]);
	(void)gpushare_by_files(map, NULL, d, ARRAY_SIZE(d), ppm, gi, &err);
	ok(gi[0] && !ppm[0], "it is known also where its size is not");
	gpumap_destroy(map);
}

static void test_parts(void)
{
	struct gpushare_device d[] = { DEV(DRI "128", NULL, 0, false), DEV(DRI "129", NULL, 1, true),
				       DEV(DRI "130", NULL, 2, true), DEV(DRI "131", NULL, 3, true) };
	struct gpumap *map = gpumap_create(DIES);
	struct errmsg err = { 0 };
	uint32_t ppm[GPUS_MAX];
	uint16_t gi[GPUS_MAX];

	(void)gpushare_by_files(map, NULL, d, ARRAY_SIZE(d), ppm, gi, &err);
	ok(gi[0] == 2, "the second die has values of its own: %#x", gi[0]);
	ok(!gi[2], "both dies have those of the GPU");
	gpumap_destroy(map);
}

/* An eight-GPU node of MI300X has these render nodes, also where none is partitioned. */
static void test_far(void)
{
	struct gpushare_device amd[] = { DEV(DRI "144", NULL, 0, false), DEV(DRI "184", NULL, 1, true),
					 DEV(DRI "137", NULL, 2, true) };
	struct gpushare_device far[] = { DEV("/dev/nvidia99", NULL, 0, true) };
	struct gpumap *map = gpumap_create(AMD);
	struct errmsg err = { 0 };
	uint32_t ppm[GPUS_MAX];
	uint16_t gi[GPUS_MAX];

	ok(gpushare_by_files(map, NULL, amd, 3, ppm, gi, &err) == 2 && !ppm[16] && ppm[56] == 1000000 &&
		   ppm[8] == 500000,
	   "render nodes beyond sixteen are GPUs of their own");
	ok(gpushare_by_files(map, NULL, far, 1, ppm, gi, &err) == 1 && ppm[GPUS_MAX - 1] == 1000000,
	   "a GPU beyond all is the last one");
	gpumap_destroy(map);
}

int main(void)
{
	test_rows();
	test_instances();
	test_parts();
	test_far();
	return done_testing();
}
