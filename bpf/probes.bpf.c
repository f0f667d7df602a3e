/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes.bpf.c - the node's object: all programs in one, so that they share the cache and the
 * registrations. Each group is in a file of its own; probes.h is the contract.
 */
#include "slot.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Who is registered, and who keeps the object loaded: for user space only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROBES_SLOTS);
	__type(key, __u32);
	__type(value, struct probes_owner);
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROBES_USERS);
	__type(key, __u32);
	__type(value, struct probes_user);
} users SEC(".maps");

#include "fsio.bpf.h"
#include "tasks.bpf.h"
#include "net.bpf.h"
#include "tcp.bpf.h"
#include "bperf.bpf.h"
