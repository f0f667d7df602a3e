/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpu.h - what the sources of GPU energy have in common: everything but the calls into the
 * vendor's library. nvml.c and rocm.c bring those and are otherwise these functions.
 */
#ifndef CEEMS_GPU_H
#define CEEMS_GPU_H

#include "src/libmeter/sensor/gpu_poll.h"
#include "src/libmeter/sensor/source.h"

/*
 * LIBRARY is opened if it is named by a path, as in tests, or if the file TRACE of the driver is
 * there below SysRoot: a node without a GPU does not even look for it. Else -ENODEV. TRACE is no
 * device: opening one would wake the GPU.
 */
int gpu_open(const struct gpu_library_ops *ops, const char *library, const char *sys_root,
	     const char *trace, struct source **ret, struct errmsg *err);

/* As in struct source_ops. A GPU that counts its energy is a counter, else power is integrated. */
int gpu_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
	     struct reading *ret);
size_t gpu_gpus(const struct source *s, struct gpu_reading *ret, size_t max);
void gpu_describe(const struct source *s, char *buf, size_t size);
void gpu_close(struct source *s);

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
