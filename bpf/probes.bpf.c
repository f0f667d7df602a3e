/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes.bpf.c - the node's object: all programs in one, so that they share the cache and the
 * registrations. Each group is in a file of its own; probes.h is the contract.
 */
#include "slot.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#include "tasks.bpf.h"
