/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpu_poll.h - asks a vendor's GPU library on a thread of its own. NVML and ROCm SMI wait for locks
 * of the driver: a call takes milliseconds, seconds while another process resets a GPU, and may
 * never return when one has fallen off the bus. No call can be interrupted. So this thread alone
 * calls the library, also to open it, and everybody else gets the last answer.
 *
 * A thread that is inside a call when it has to end cannot be joined, and slurmd, which unloads the
 * plugin next, must not wait for it. After a second gpu_poll_stop() gives the thread up: it keeps
 * its memory, the library and, by a reference that is never given back, this module mapped until
 * the call returns or the process ends. While there is such a thread no other one is started.
 */
#ifndef CEEMS_GPU_POLL_H
#define CEEMS_GPU_POLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libmeter/sensor/source.h"

#define GPU_UNKNOWN UINT64_MAX

struct gpu_device {
	uintptr_t handle;   /* the library's; 0: it does not list the device any more */
	unsigned int unit;  /* see domain.h */
	bool has_counter;   /* counts energy; else power is all there is */
	char id[42];	    /* the same after a restart; "GPU-1f2e3d4c-..." */
	char model[64];
};

/* What one device answered. */
struct gpu_sample {
	uint64_t t_ns;	    /* CLOCK_MONOTONIC, before the question; 0: never asked */
	int rc;		    /* -errno: energy_uj and power_mw are not valid */
	uint64_t energy_uj; /* has_counter: since the driver was loaded */
	uint64_t power_mw;  /* GPU_UNKNOWN: not said */
	uint64_t busy_ppm;
	uint64_t mem_used_bytes;
	uint64_t mem_total_bytes;
};

/* All are called by the one thread. LIBRARY is what open() returned. */
struct gpu_library_ops {
	const char *name; /* "nvml" */
	/* dlopen() and initialisation. -ENODEV: no GPU of that vendor. */
	int (*open)(const char *path, void **ret_library, struct errmsg *err);
	/* How many devices the driver has; -errno. */
	int (*count)(void *library, struct errmsg *err);
	/* -EOPNOTSUPP: it will never show power or energy; else -errno: it cannot be asked now. */
	int (*identify)(void *library, unsigned int index, struct gpu_device *ret);
	/* Fills in energy_uj or power_mw, or both. */
	int (*read_energy)(void *library, const struct gpu_device *d, struct gpu_sample *ret);
	/* The rest, which is less urgent; what is not known is left GPU_UNKNOWN. */
	void (*read_usage)(void *library, const struct gpu_device *d, struct gpu_sample *ret);
	void (*close)(void *library);
};

/* Devices keep their place; one that is found later comes at the end. */
struct gpu_view {
	size_t n;
	struct gpu_device device[GPUS_MAX];
	struct gpu_sample sample[GPUS_MAX];
};

struct gpu_poll;

/*
 * Starts the thread, which opens PATH, and waits some seconds for how that ends: 0, or what open(),
 * count() or identify() said; -ENODEV: no device shows power or energy. A library that needs longer is no
 * error, it just has no devices yet.
 */
int gpu_poll_start(const struct gpu_library_ops *ops, const char *path, struct gpu_poll **ret,
		   struct errmsg *err);

/*
 * Asks for new samples and waits some milliseconds for them, but not where the last ones are new enough
 * or while the thread has yet to answer an earlier question; then copies what there is.
 */
void gpu_poll_ask(struct gpu_poll *p, struct gpu_view *ret);

/* Never takes longer than a second; see above. NULL is fine. */
void gpu_poll_stop(struct gpu_poll *p);

#endif
