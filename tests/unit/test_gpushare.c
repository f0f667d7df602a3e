/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/gpushare.h"
#include "tap.h"

#define MAX 8

static const struct {
	const char *what;
	struct gpushare_device d[MAX]; /* up to the first without a path */
	uint32_t ppm[3];	       /* of units 0 to 2 */
	unsigned int held;
} rows[] = {
	{ "nothing", { { NULL, 0, false } }, { 0 }, 0 },
	{ "other devices",
	  { { "/dev/nvidiactl", 0, true }, { "/dev/nvidia", 1, true }, { "/dev/nvidia0x", 2, true },
	    { "/dev/dri/card0", 3, true }, { "/dev/dri/renderD1", 4, true }, { "", 5, true },
	    { "/dev/nvidia-cap7", 6, true } },
	  { 0 }, 0 },
	{ "none is held", { { "/dev/nvidia0", 0, false }, { "/dev/nvidia1", 1, false } }, { 0 }, 0 },
	{ "one of two", { { "/dev/nvidia0", 0, false }, { "/dev/nvidia1", 1, true } },
	  { 0, 1000000 }, 1 },
	{ "two of two", { { "/dev/nvidia2", 0, true }, { "/dev/nvidia0", 1, true } },
	  { 1000000, 0, 1000000 }, 2 },
	{ "AMD", { { "/dev/dri/renderD128", 0, true }, { "/dev/dri/renderD129", 1, false } },
	  { 1000000, 0 }, 1 },
	/* Slurm marks the GPU's own file too, and shows it once for all its instances */
	{ "one MIG instance of three, and a whole GPU",
	  { { "/dev/nvidia0", 0, true }, { "/dev/nvidia-caps/nvidia-cap21", 0, false },
	    { "/dev/nvidia-caps/nvidia-cap22", 0, false },
	    { "/dev/nvidia-caps/nvidia-cap30", 1, true },
	    { "/dev/nvidia-caps/nvidia-cap31", 1, true },
	    { "/dev/nvidia-caps/nvidia-cap39", 2, false }, { "/dev/nvidia1", 3, true } },
	  { 333333, 1000000 }, 2 },
	{ "the second of two GPUs is cut in two, all is held",
	  { { "/dev/nvidia0", 0, false }, { "/dev/nvidia1", 1, true },
	    { "/dev/nvidia-caps/nvidia-cap21", 1, true },
	    { "/dev/nvidia-caps/nvidia-cap30", 2, true } },
	  { 0, 1000000 }, 1 },
};

int main(void)
{
	static const struct gpushare_device far[] = { { "/dev/nvidia99", 0, true } };
	uint32_t ppm[GPUS_MAX];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = 0;

		while (n < MAX && rows[i].d[n].path)
			n++;
		ok(gpushare_by_files(rows[i].d, n, ppm) == rows[i].held &&
			   !memcmp(ppm, rows[i].ppm, sizeof(rows[i].ppm)),
		   "%s", rows[i].what);
	}
	ok(gpushare_by_files(far, 1, ppm) == 1 && ppm[GPUS_MAX - 1] == 1000000,
	   "a GPU beyond all is the last one");
	return done_testing();
}
