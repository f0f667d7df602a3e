/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpu.h - the interface of ceems-gpu to a vendor's library. NVML, AMD SMI and ROCm SMI wait for locks of the
 * driver: a call takes milliseconds, or seconds while another process resets a GPU, and may never
 * return if a GPU has fallen off the bus. So this program calls the library, and not slurmd.
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

enum gpu_meter_kind {
	GPU_METER_NONE,
	GPU_METER_ENERGY, /* counts energy */
	GPU_METER_POWER,  /* only shows power */
};

struct gpu_meter {
	enum gpu_meter_kind kind;
	unsigned int query; /* for the library: how to ask */
};

struct gpu_device {
	uintptr_t handle;  /* the library's handle; 0: it does not list the device any more */
	unsigned int unit; /* see domain.h */
	bool has_counter;  /* it counts energy; otherwise it only shows power */
	/* of a superchip (part_scope): */
	bool is_superchip;
	bool is_placed;	     /* `module` is known */
	unsigned int module; /* number of the module's socket */
	struct gpu_meter own, of_module;
	char id[42]; /* the same after a restart; "GPU-1f2e3d4c-..." */
	char model[64];
};

/* What one device answered. */
struct gpu_sample {
	uint64_t t_ns;	    /* CLOCK_MONOTONIC, before the question */
	int rc;		    /* -errno: energy_uj and power_mw are not valid */
	uint64_t energy_uj; /* has_counter: since the driver was loaded */
	uint64_t power_mw;  /* GPU_VALUE_UNKNOWN: not told */
};

/* What one GPU instance (MIG), or a part of an AMD GPU (kfd.h), says itself. */
struct gpu_instance {
	unsigned int gi;
	unsigned int slices; /* of compute */
	uint64_t value[GPU_VALUE_N];
};

/* LIBRARY is what open() returned. */
struct gpu_library_ops {
	const char *name; /* "nvml" */
	/* Loads and initialises the library. ROOT is SysRoot. -ENODEV: no GPU of that vendor. */
	int (*open)(const char *path, const char *root, void **ret_library, struct errmsg *err);
	/* Optional: returns which of several libraries was opened: "AMD SMI 26". */
	const char *(*library_name)(const void *library);
	/* How many devices the driver has; -errno. */
	int (*count)(void *library, struct errmsg *err);
	/*
	 * Finds out about device INDEX. -EOPNOTSUPP: it never shows power or energy. -EALREADY: it
	 * is a part of a GPU that an earlier device shows as a whole. Another -errno: it cannot be
	 * read now.
	 */
	int (*identify)(void *library, unsigned int index, struct gpu_device *ret);
	/* Fills in energy_uj or power_mw, or both. */
	int (*read_energy)(void *library, const struct gpu_device *d, struct gpu_sample *ret);
	/* Of a superchip: reads the module, in uJ or mW; GPU_VALUE_UNKNOWN: absurd. -errno. */
	int (*read_module)(void *library, const struct gpu_device *d, uint64_t *ret_value);
	/*
	 * Reads the use of the GPU since the last call. Values that the library does not have stay
	 * GPU_VALUE_UNKNOWN.
	 */
	void (*read_usage)(void *library, const struct gpu_device *d, uint64_t value[GPU_VALUE_N]);
	/* Optional: reads counters of errors, also for a GPU that cannot be read any more. */
	void (*read_errors)(void *library, const struct gpu_device *d, uint64_t value[GPU_VALUE_N]);
	/*
	 * Optional: reads the sizes of a divided GPU and of its instances, without `unit`; returns
	 * how many. Slow: some 50 ms per instance.
	 */
	size_t (*slices)(void *library, const struct gpu_device *d, struct gpu_slice *ret, size_t max);
	/*
	 * Optional: reads the use of the instances that slices() found, or of parts; returns how many. Call
	 * it after read_errors().
	 */
	size_t (*read_instances)(void *library, const struct gpu_device *d, struct gpu_instance *ret,
				 size_t max);
	void (*close)(void *library);
};

extern const struct gpu_library_ops gpu_library_nvml;
extern const struct gpu_library_ops gpu_library_rocm;

/* A function of a vendor's library, as a row of a table. */
struct gpu_symbol {
	const char *name;
	size_t offset; /* of the function pointer */
	bool is_optional;
};
/*
 * Opens the library PATH and sets the pointers in TABLE. The caller closes *ret_dl with dlclose().
 * -ELIBACC: it cannot be loaded; -ENOSYS: a required function is missing.
 */
int gpu_load(const char *path, const struct gpu_symbol *symbols, size_t n, void *table, void **ret_dl,
	     struct errmsg *err) _must_check_;

#endif
