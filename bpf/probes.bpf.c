/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes.bpf.c - the node's BPF object. All programs are in one object, so that they share the
 * cache and the registrations. Each group is in its own file; probes.h describes the maps.
 */
#include "slot.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Registered steps, and daemons that keep the object loaded; used by user space only. */
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
