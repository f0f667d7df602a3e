/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpu.h - what ceems-gpu needs of a vendor's library. NVML and ROCm SMI wait for locks of the driver: a
 * call takes milliseconds, seconds while another process resets a GPU, and may never return when one
 * has fallen off the bus. So slurmd maps no such library: this program does.
 */
#ifndef CEEMS_GPU_H
#define CEEMS_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libcore/domain.h"
#include "src/libcore/gpuvalue.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/errmsg.h"

#define GPU_DEVICES_MAX 16 /* with counters of their own */

struct gpu_device {
	uintptr_t handle;   /* the library's; 0: it does not list the device any more */
	unsigned int unit;  /* see domain.h */
	bool has_counter;   /* counts energy; else power is all there is */
	char id[42];	    /* the same after a restart; "GPU-1f2e3d4c-..." */
	char model[64];
};

/* What one device answered. */
struct gpu_sample {
	uint64_t t_ns;	    /* CLOCK_MONOTONIC, before the question */
	int rc;		    /* -errno: energy_uj and power_mw are not valid */
	uint64_t energy_uj; /* has_counter: since the driver was loaded */
	uint64_t power_mw;  /* GPU_VALUE_UNKNOWN: not told */
};

/* What one GPU instance (MIG) says itself. */
struct gpu_instance {
	unsigned int gi;
	unsigned int slices; /* of compute */
	uint64_t value[GPU_VALUE_N];
};

/* LIBRARY is what open() returned. */
struct gpu_library_ops {
	const char *name; /* "nvml" */
	/* dlopen() and initialisation. -ENODEV: no GPU of that vendor. */
	int (*open)(const char *path, void **ret_library, struct errmsg *err);
	/* How many devices the driver has; -errno. */
	int (*count)(void *library, struct errmsg *err);
	/*
	 * -EOPNOTSUPP: it will never show power or energy; -EALREADY: it is a part of a GPU, which an
	 * earlier one shows as a whole; else -errno: it cannot be asked now.
	 */
	int (*identify)(void *library, unsigned int index, struct gpu_device *ret);
	/* Fills in energy_uj or power_mw, or both. */
	int (*read_energy)(void *library, const struct gpu_device *d, struct gpu_sample *ret);
	/* How the GPU was used since the last call. Leaves what the library does not tell GPU_VALUE_UNKNOWN. */
	void (*read_usage)(void *library, const struct gpu_device *d, uint64_t value[GPU_VALUE_N]);
	/* Optional: counters of errors, also of a GPU that cannot be read any more. */
	void (*read_errors)(void *library, const struct gpu_device *d, uint64_t value[GPU_VALUE_N]);
	/*
	 * Optional: the sizes of a GPU that is divided and of its instances, `unit` left out; returns how many.
	 * Slow: some 50 ms for each instance.
	 */
	size_t (*slices)(void *library, const struct gpu_device *d, struct gpu_slice *ret, size_t max);
	/* Optional: how the instances that slices() found were used; returns how many. After read_errors(). */
	size_t (*read_instances)(void *library, const struct gpu_device *d, struct gpu_instance *ret, size_t max);
	void (*close)(void *library);
};

extern const struct gpu_library_ops gpu_library_nvml;
extern const struct gpu_library_ops gpu_library_rocm;

/* A function of a vendor's library; for tables of them. */
struct gpu_symbol {
	const char *name;
	size_t offset; /* of the function pointer */
	bool is_optional;
};
/*
 * dlopen()s PATH and fills in the pointers in TABLE; *ret_dl is the caller's to dlclose(). -ELIBACC: it
 * cannot be loaded; -ENOSYS: a function that is not optional is missing.
 */
int gpu_load(const char *path, const struct gpu_symbol *symbols, size_t n, void *table,
	     void **ret_dl, struct errmsg *err);

#endif
