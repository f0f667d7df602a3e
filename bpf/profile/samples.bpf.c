/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * samples.bpf.c - drops samples of tasks outside the step before the kernel walks their stack. An object of
 * its own, because libbpf needs the kernel's BTF to load any part of one with relocations, and this program
 * needs no BTF.
 */
#include "step.bpf.h"

SEC("perf_event")
int ceems_profile(void *ctx)
{
	return is_of_step();
}
