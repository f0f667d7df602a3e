/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_gpu.h - a node's GPUs as a text file, which the stand-in libraries read at every call, so that
 * a test changes it while slurmd runs. $CEEMS_FAKE_GPUS names it; without it there is no driver.
 * A line per GPU, in the order of the library's index:
 *
 * 	MINOR ENERGY POWER BUSY USED TOTAL FLAGS
 *
 * ENERGY in mJ (NVML) or counts (AMD), POWER in mW, BUSY in %, USED and TOTAL in MiB, FLAGS by comma: ok;
 * lost (fell off the bus), hang (calls return only when the flag is gone), reset (a library that was opened
 * before the file was written cannot ask it), no-counter, no-power, mig; NVML: processes=N and drawing=N,
 * reasons=N (of clocks that are held down), ecc=N, xid=N (errors so far), gpm=ID.VALUE+ID.VALUE+... (a GPU
 * with GPM: its metrics by NVML's numbers, percent or MiB/s), no-use (all of these are not supported); what
 * is missing is 0; mig=SLICES.MB+GI.CI.SLICES.GI_SLICES.MB+... (NVML: the GPU and its instances; instance N
 * has N processes, uses N * 100 MiB, and with GPM its SMs are N * 10 % active), idlegi=N (GPM's metrics of
 * that instance are 0), xidgi=N (errors are of that instance); gh200 (the name of a superchip), c2c (the mode
 * of one), near=N (its NUMA node), module=N (field values have scopes: mW of its module), gpu-mj=N (the
 * energy field, too: ENERGY is the module's then), one-scope (field values ignore the scope); for ROCm no-id,
 * no-average, no-resolution, socket=N (a partition of the GPU on PCI bus N), mi250 (a die of one).
 */
#ifndef CEEMS_FAKE_GPU_H
#define CEEMS_FAKE_GPU_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FAKE_AMD_ID 0xabcdef0000000000ULL /* of AMD's first GPU */
#define FAKE_AMD_RESOLUTION 15.259F	  /* uJ, of all of AMD's GPUs so far */
#define FAKE_GPUS_MAX 80
#define EXPORTED __attribute__((visibility("default")))

struct fake_gpu {
	unsigned int minor;
	unsigned long long energy;
	unsigned int power_mw;
	unsigned int busy;
	unsigned long long used_mib;
	unsigned long long total_mib;
	char flags[256];
};

/* How many there are; -1: there is no driver. */
static inline int fake_gpus(struct fake_gpu *ret)
{
	const char *path = getenv("CEEMS_FAKE_GPUS");
	FILE *f = path ? fopen(path, "re") : NULL;
	int n = 0;

	if (!f)
		return -1;
	while (n < FAKE_GPUS_MAX &&
	       fscanf(f, "%u %llu %u %u %llu %llu %255s", &ret[n].minor, &ret[n].energy, &ret[n].power_mw,
		      &ret[n].busy, &ret[n].used_mib, &ret[n].total_mib, ret[n].flags) == 7)
		n++;
	(void)fclose(f);
	return n;
}

/* Whether the library, opened at OPENED (CLOCK_REALTIME), is older than the file. */
static inline bool fake_is_older(const struct timespec *opened)
{
	const char *path = getenv("CEEMS_FAKE_GPUS");
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return false;
	return st.st_mtim.tv_sec > opened->tv_sec ||
	       (st.st_mtim.tv_sec == opened->tv_sec && st.st_mtim.tv_nsec > opened->tv_nsec);
}

static inline bool fake_is(const struct fake_gpu *g, const char *flag)
{
	return strstr(g->flags, flag) != NULL;
}

/* The number behind "NAME=" in the flags; 0: it is not there. */
static inline unsigned long long fake_number(const struct fake_gpu *g, const char *name)
{
	const char *p = strstr(g->flags, name);

	return p ? strtoull(p + strlen(name), NULL, 10) : 0;
}

/* AMD's: PCI domain in the upper half; then partition (31:28), bus (15:8), device and function. */
static inline unsigned long long fake_bdf(const struct fake_gpu *g)
{
	if (fake_is(g, "socket="))
		return fake_number(g, "socket=") << 8 | (g->minor & 7ULL) << 28;
	return (0x40ULL + g->minor) << 8;
}

/* The GPU, once it does not hang. False: there is none with that index, or no driver. */
static inline bool fake_gpu(unsigned int index, struct fake_gpu *ret)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	struct fake_gpu all[FAKE_GPUS_MAX];
	int n;

	while ((n = fake_gpus(all)) > (int)index && fake_is(&all[index], "hang"))
		(void)nanosleep(&pause, NULL);
	if (n <= (int)index)
		return false;
	*ret = all[index];
	return true;
}

#endif
