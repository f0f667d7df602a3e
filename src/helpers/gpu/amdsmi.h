/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * amdsmi.h - AMD SMI, the library that follows ROCm SMI, with the functions of ROCm SMI. So what is made of
 * the values is the same for both libraries.
 */
#ifndef CEEMS_AMDSMI_H
#define CEEMS_AMDSMI_H

#include "src/helpers/gpu/rocm_api.h"
#include "src/libmeter/sensor/kfd.h"
#include "src/libutil/errmsg.h"
#include "src/libutil/must_check.h"

/*
 * Opens the library PATH, initialises it and fills in *RET, for one library at a time. KFD (borrowed until
 * shut_down(); NULL: not known) has the numbers of render nodes, which ABI 24 does not have. The caller
 * closes *RET_DL with dlclose() after shut_down(). *RET_ABI is the number in libamd_smi.so.N. -ELIBACC: it
 * cannot be loaded; -ENOSYS: PATH is not AMD SMI; -ENOTSUP: its ABI is not known; -ENXIO: no driver.
 */
int amdsmi_open(const char *path, const struct kfd *kfd, struct rocm_api *ret, void **ret_dl,
		unsigned int *ret_abi, struct errmsg *err) _must_check_;

#endif
