/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpuload SECONDS - keeps an NVIDIA GPU busy for so long, or not at all, and then prints what NVML's energy
 * counter of it shows, in mJ: what tests/e2e compares accounts with. The GPU is the first one, or the first
 * in CUDA_VISIBLE_DEVICES. Needs the driver's two libraries and no CUDA toolkit: the kernel is PTX, which
 * the driver compiles.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/helpers/gpu/nvml_api.h"
#include "src/libutil/clock.h"

#define THREADS 256
#define BLOCKS 4096
#define ROUNDS 20000 /* some milliseconds */

/* So much of cuda.h as is called here; its numbers have been the same since CUDA 4. */
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef unsigned long long CUdeviceptr;

static struct {
	int (*init)(unsigned int flags);
	int (*get_device)(CUdevice *device, int ordinal);
	int (*retain)(CUcontext *context, CUdevice device);
	int (*set_current)(CUcontext context);
	int (*alloc)(CUdeviceptr *p, size_t bytes);
	int (*load)(CUmodule *module, const void *image);
	int (*get_function)(CUfunction *function, CUmodule module, const char *name);
	int (*launch)(CUfunction f, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		      unsigned int block_x, unsigned int block_y, unsigned int block_z,
		      unsigned int shared_bytes, void *stream, void **params, void **extra);
	int (*synchronize)(void);
} cuda;

/*
 * Eight chains of multiply-add in each thread; a store uses their result, or the compiler would remove them.
 */
static const char burn_ptx[] = ".version 7.0\n"
			       ".target sm_70\n"
			       ".address_size 64\n"
			       ".visible .entry burn(.param .u64 out, .param .u32 rounds)\n"
			       "{\n"
			       ".reg .pred %more, %never;\n"
			       ".reg .f32 %a<8>, %x, %y;\n"
			       ".reg .b32 %left, %n;\n"
			       ".reg .b64 %out;\n"
			       "ld.param.u64 %out, [out];\n"
			       "ld.param.u32 %left, [rounds];\n"
			       "mov.u32 %n, %tid.x;\n"
			       "cvt.rn.f32.u32 %a0, %n;\n"
			       "mov.f32 %x, 0f3F7FFF58;\n" /* a little less than 1 */
			       "mov.f32 %y, 0f3DCCCCCD;\n" /* 0.1 */
			       "add.f32 %a1, %a0, %y;\n"
			       "add.f32 %a2, %a1, %y;\n"
			       "add.f32 %a3, %a2, %y;\n"
			       "add.f32 %a4, %a3, %y;\n"
			       "add.f32 %a5, %a4, %y;\n"
			       "add.f32 %a6, %a5, %y;\n"
			       "add.f32 %a7, %a6, %y;\n"
			       "again:\n"
			       "fma.rn.f32 %a0, %a0, %x, %y;\n"
			       "fma.rn.f32 %a1, %a1, %x, %y;\n"
			       "fma.rn.f32 %a2, %a2, %x, %y;\n"
			       "fma.rn.f32 %a3, %a3, %x, %y;\n"
			       "fma.rn.f32 %a4, %a4, %x, %y;\n"
			       "fma.rn.f32 %a5, %a5, %x, %y;\n"
			       "fma.rn.f32 %a6, %a6, %x, %y;\n"
			       "fma.rn.f32 %a7, %a7, %x, %y;\n"
			       "sub.u32 %left, %left, 1;\n"
			       "setp.ne.u32 %more, %left, 0;\n"
			       "@%more bra again;\n"
			       "add.f32 %a0, %a0, %a1;\n"
			       "add.f32 %a2, %a2, %a3;\n"
			       "add.f32 %a4, %a4, %a5;\n"
			       "add.f32 %a6, %a6, %a7;\n"
			       "add.f32 %a0, %a0, %a2;\n"
			       "add.f32 %a4, %a4, %a6;\n"
			       "add.f32 %a0, %a0, %a4;\n"
			       "setp.lt.f32 %never, %a0, 0f00000000;\n"
			       "@%never st.global.f32 [%out], %a0;\n"
			       "ret;\n"
			       "}\n";

static void die(const char *what, int rc)
{
	fprintf(stderr, "gpuload: %s: error %d\n", what, rc);
	exit(1);
}

static void check(int rc, const char *what)
{
	if (rc)
		die(what, rc);
}

static void *open_library(const char *name)
{
	void *dl = dlopen(name, RTLD_NOW);

	if (!dl) {
		fprintf(stderr, "gpuload: %s\n", dlerror());
		exit(1);
	}
	return dl;
}

/* RET: a pointer to a pointer to a function, which ISO C does not convert. */
static void find(void *dl, const char *name, void *ret)
{
	void *f = dlsym(dl, name);

	if (!f)
		die(name, 0);
	memcpy(ret, &f, sizeof(f));
}

static void open_cuda(void)
{
	void *dl = open_library("libcuda.so.1");

	find(dl, "cuInit", &cuda.init);
	find(dl, "cuDeviceGet", &cuda.get_device);
	find(dl, "cuDevicePrimaryCtxRetain", &cuda.retain);
	find(dl, "cuCtxSetCurrent", &cuda.set_current);
	find(dl, "cuMemAlloc_v2", &cuda.alloc);
	find(dl, "cuModuleLoadData", &cuda.load);
	find(dl, "cuModuleGetFunction", &cuda.get_function);
	find(dl, "cuLaunchKernel", &cuda.launch);
	find(dl, "cuCtxSynchronize", &cuda.synchronize);
}

static void burn(uint64_t for_ns)
{
	const uint64_t begin_ns = clock_mono_ns();
	unsigned int rounds = ROUNDS;
	CUdeviceptr out;
	CUcontext context;
	CUdevice device;
	CUmodule module;
	CUfunction f;
	void *params[] = { &out, &rounds };

	open_cuda();
	check(cuda.init(0), "cuInit");
	check(cuda.get_device(&device, 0), "cuDeviceGet");
	check(cuda.retain(&context, device), "cuDevicePrimaryCtxRetain");
	check(cuda.set_current(context), "cuCtxSetCurrent");
	check(cuda.alloc(&out, sizeof(float)), "cuMemAlloc");
	check(cuda.load(&module, burn_ptx), "cuModuleLoadData");
	check(cuda.get_function(&f, module, "burn"), "cuModuleGetFunction");
	while (clock_mono_ns() - begin_ns < for_ns) {
		check(cuda.launch(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL), "cuLaunchKernel");
		check(cuda.synchronize(), "cuCtxSynchronize");
	}
}

static unsigned int first_visible(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	return visible ? (unsigned int)strtoul(visible, NULL, 10) : 0;
}

static unsigned long long energy_mj(void)
{
	void *dl = open_library("libnvidia-ml.so.1");
	unsigned long long mj;
	nvmlDevice_t device;
	struct nvml_api nvml;

	find(dl, "nvmlInit_v2", &nvml.init);
	find(dl, "nvmlDeviceGetHandleByIndex_v2", &nvml.get_handle);
	find(dl, "nvmlDeviceGetTotalEnergyConsumption", &nvml.get_energy);
	check(nvml.init(), "nvmlInit");
	check(nvml.get_handle(first_visible(), &device), "nvmlDeviceGetHandleByIndex");
	check(nvml.get_energy(device, &mj), "nvmlDeviceGetTotalEnergyConsumption");
	return mj;
}

int main(int argc, char **argv)
{
	char *end = NULL;
	double seconds = argc == 2 ? strtod(argv[1], &end) : -1;

	if (!end || *end || seconds < 0) {
		fprintf(stderr, "usage: gpuload SECONDS\n");
		return 2;
	}
	/* NVML's order; CUDA's own puts the fastest first */
	(void)setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
	if (seconds > 0)
		burn((uint64_t)(seconds * NSEC_PER_SEC));
	printf("%llu\n", energy_mj());
	return 0;
}
