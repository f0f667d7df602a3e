/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/metric.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/util.h"

#define UJ_PER_JOULE UINT64_C(1000000)
#define NG_PER_MG UINT64_C(1000000)
/* 2^64 ns are 584 years: 100,000 CPUs have them in two days. */
#define NS_PER_US UINT64_C(1000)
/*
 * 2,400 CPUs have 2^64 cycles in a month, and 15 nodes fetch 2^64 bytes from memory. In thousands it
 * takes a month of 2 million CPUs.
 */
#define EVENTS_PER_TRES UINT64_C(1000)
#define BYTES_PER_KIB UINT64_C(1024)

const struct metric_info metric_table[METRIC_N] = {
	[METRIC_ENERGY] = {
		"energy", "energy", "Energy attributed to the job on this node",
		"energy", UNIT_UJ, FOLD_SUM, "energy", SIDE_IN,
		"ceems_compute_unit_energy_joules_total" },
	[METRIC_CO2E] = {
		"co2e", "emissions", "Location-based emissions of that energy, times PUE",
		"emissions", UNIT_NG, FOLD_SUM, "ic/ceems_co2e", SIDE_IN,
		"ceems_compute_unit_emissions_gco2e_total" },
	[METRIC_CPU_ENERGY] = {
		"cpu_energy", "CPU energy", "Energy of the CPU packages",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_cpu_energy", SIDE_IN, "" },
	[METRIC_CPU_ENERGY_STATIC] = {
		"cpu_energy_static", "CPU energy, static",
		"Part of the CPU energy that is idle power, split by allocation",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_cpu_energy", SIDE_OUT, "" },
	[METRIC_DRAM_ENERGY] = {
		"dram_energy", "DRAM energy", "Energy of the memory",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_dram_energy", SIDE_IN, "" },
	[METRIC_DRAM_ENERGY_STATIC] = {
		"dram_energy_static", "DRAM energy, static",
		"Part of the DRAM energy that is idle power, split by allocated memory",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_dram_energy", SIDE_OUT, "" },
	[METRIC_GPU_ENERGY] = {
		"gpu_energy", "GPU energy", "Energy of the GPUs",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_gpu_energy", SIDE_IN, "" },
	[METRIC_GPU_ENERGY_STATIC] = {
		"gpu_energy_static", "GPU energy, static",
		"Part of the GPU energy that is idle power, to the GPU's owner",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_gpu_energy", SIDE_OUT, "" },
	[METRIC_OTHER_ENERGY] = {
		"other_energy", "other energy",
		"Energy of the node that no domain above accounts for",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_other_energy", SIDE_IN, "" },
	[METRIC_OTHER_ENERGY_STATIC] = {
		"other_energy_static", "other energy, static",
		"Part of the other energy that is idle power, split by allocation",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_other_energy", SIDE_OUT, "" },
	[METRIC_SOURCE_RAPL] = {
		"source_rapl", "from RAPL", "Part of the energy that RAPL measured",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_source_rapl", SIDE_IN, "" },
	[METRIC_SOURCE_HWMON] = {
		"source_hwmon", "from hwmon", "Part of the energy that sensors of hwmon drivers measured",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_source_hwmon", SIDE_IN, "" },
	[METRIC_SOURCE_CRAY] = {
		"source_cray", "from pm_counters", "Part of the energy that pm_counters measured",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_source_cray", SIDE_IN, "" },
	[METRIC_SOURCE_IPMI] = {
		"source_ipmi", "from IPMI", "Part of the energy that the BMC measured, by IPMI",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_source_ipmi", SIDE_IN, "" },
	[METRIC_SOURCE_REDFISH] = {
		"source_redfish", "from Redfish", "Part of the energy that the BMC measured, by Redfish",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_source_redfish", SIDE_IN, "" },
	[METRIC_SOURCE_NVML] = {
		"source_nvml", "from NVML", "Part of the energy that NVML measured",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_source_nvml", SIDE_IN, "" },
	[METRIC_SOURCE_ROCM] = {
		"source_rocm", "from ROCm", "Part of the energy that ROCm SMI measured",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_source_rocm", SIDE_IN, "" },
	[METRIC_SOURCE_EXTERNAL] = {
		"source_external", "from the external meter",
		"Part of the energy that the site's own meter measured",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_source_external", SIDE_IN, "" },
	[METRIC_SOURCE_MODEL] = {
		"source_model", "from the model",
		"Part of the energy that the power model estimated",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_source_model", SIDE_IN, "" },
	[METRIC_BY_COUNTERS] = {
		"by_counters", "by counters",
		"Part of the energy that was split by hardware counters, not CPU time",
		"energy", UNIT_UJ, FOLD_SUM, "ic/ceems_by_counters", SIDE_IN, "" },
	[METRIC_CO2E_MARKET] = {
		"market_co2e", "emissions, market",
		"Market-based emissions of that energy, by the site's contract, times PUE",
		"emissions", UNIT_NG, FOLD_SUM, "ic/ceems_co2e", SIDE_OUT,
		"ceems_compute_unit_market_emissions_gco2e_total" },
	[METRIC_CPU_CO2E] = {
		"cpu_co2e", "CPU emissions",
		"Part of the location-based emissions that is of the CPU packages",
		"emissions", UNIT_NG, FOLD_SUM, "ic/ceems_cpu_co2e", SIDE_IN, "" },
	[METRIC_DRAM_CO2E] = {
		"dram_co2e", "DRAM emissions",
		"Part of the location-based emissions that is of the memory",
		"emissions", UNIT_NG, FOLD_SUM, "ic/ceems_dram_co2e", SIDE_IN, "" },
	[METRIC_GPU_CO2E] = {
		"gpu_co2e", "GPU emissions",
		"Part of the location-based emissions that is of the GPUs",
		"emissions", UNIT_NG, FOLD_SUM, "ic/ceems_gpu_co2e", SIDE_IN, "" },
	[METRIC_OTHER_CO2E] = {
		"other_co2e", "other emissions",
		"Part of the location-based emissions that is of no domain above",
		"emissions", UNIT_NG, FOLD_SUM, "ic/ceems_other_co2e", SIDE_IN, "" },
	[METRIC_FRESH_FACTOR] = {
		"fresh_factor", "by fresh factors",
		"Part of the energy whose emissions are by a factor of its own time",
		"emissions", UNIT_UJ, FOLD_SUM, "ic/ceems_factor", SIDE_IN, "" },
	[METRIC_LAST_FACTOR] = {
		"last_factor", "by last factors",
		"Part of the energy whose emissions are by the last factor before an outage",
		"emissions", UNIT_UJ, FOLD_SUM, "ic/ceems_factor", SIDE_OUT, "" },
	[METRIC_STATIC_FACTOR] = {
		"static_factor", "by static factor",
		"Part of the energy whose emissions are by the yearly mean of the country",
		"emissions", UNIT_UJ, FOLD_SUM, "ic/ceems_factor_fixed", SIDE_IN, "" },
	[METRIC_DEFAULT_FACTOR] = {
		"default_factor", "by default factor",
		"Part of the energy whose emissions are by the world mean",
		"emissions", UNIT_UJ, FOLD_SUM, "ic/ceems_factor_fixed", SIDE_OUT, "" },
	[METRIC_IO_READ_BYTES] = {
		"read_bytes", "bytes read",
		"Bytes returned by read calls on files, pipes and sockets",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems", SIDE_IN,
		"ceems_compute_unit_io_read_bytes_total" },
	[METRIC_IO_WRITE_BYTES] = {
		"write_bytes", "bytes written",
		"Bytes accepted by write calls on files, pipes and sockets",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems", SIDE_OUT,
		"ceems_compute_unit_io_write_bytes_total" },
	[METRIC_IO_READ_CALLS] = {
		"read_calls", "read calls", "Read calls", "io", UNIT_COUNT, FOLD_SUM,
		"ic/ceems_io_calls", SIDE_IN, "ceems_compute_unit_io_read_requests_total" },
	[METRIC_IO_WRITE_CALLS] = {
		"write_calls", "write calls", "Write calls", "io", UNIT_COUNT, FOLD_SUM,
		"ic/ceems_io_calls", SIDE_OUT, "ceems_compute_unit_io_write_requests_total" },
	[METRIC_STORAGE_READ_BYTES] = {
		"storage_read_bytes", "storage read", "Bytes fetched from block storage",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems_storage", SIDE_IN, "" },
	[METRIC_STORAGE_WRITE_BYTES] = {
		"storage_write_bytes", "storage written",
		"Bytes sent towards block storage by dirtying pages",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems_storage", SIDE_OUT, "" },
	[METRIC_HOME_READ_BYTES] = {
		"home_read_bytes", "read, home",
		"Bytes read from home directories, with --ceems-perf=io",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems_home", SIDE_IN, "" },
	[METRIC_HOME_WRITE_BYTES] = {
		"home_write_bytes", "written, home",
		"Bytes written to home directories, with --ceems-perf=io",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems_home", SIDE_OUT, "" },
	[METRIC_PROJECT_READ_BYTES] = {
		"project_read_bytes", "read, project",
		"Bytes read from project space, with --ceems-perf=io",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems_project", SIDE_IN, "" },
	[METRIC_PROJECT_WRITE_BYTES] = {
		"project_write_bytes", "written, project",
		"Bytes written to project space, with --ceems-perf=io",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems_project", SIDE_OUT, "" },
	[METRIC_SCRATCH_READ_BYTES] = {
		"scratch_read_bytes", "read, scratch",
		"Bytes read from scratch space, with --ceems-perf=io",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems_scratch", SIDE_IN, "" },
	[METRIC_SCRATCH_WRITE_BYTES] = {
		"scratch_write_bytes", "written, scratch",
		"Bytes written to scratch space, with --ceems-perf=io",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems_scratch", SIDE_OUT, "" },
	[METRIC_LOCAL_READ_BYTES] = {
		"local_read_bytes", "read, local",
		"Bytes read from disks of the node, with --ceems-perf=io",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems_local", SIDE_IN, "" },
	[METRIC_LOCAL_WRITE_BYTES] = {
		"local_write_bytes", "written, local",
		"Bytes written to disks of the node, with --ceems-perf=io",
		"io", UNIT_BYTES, FOLD_SUM, "fs/ceems_local", SIDE_OUT, "" },
	[METRIC_CPU_TIME] = {
		"cpu_time", "CPU time", "User and system CPU time",
		"perf", UNIT_NS, FOLD_SUM, "ic/ceems_cpu_time", SIDE_IN,
		"ceems_compute_unit_cpu_seconds_total" },
	[METRIC_TCP_RECEIVED_BYTES] = {
		"tcp_received_bytes", "TCP received",
		"Payload bytes received by TCP",
		"net", UNIT_BYTES, FOLD_SUM, "ic/ceems_net", SIDE_IN,
		"ceems_ebpf_ingress_bytes_total", ",proto=\"tcp\"" },
	[METRIC_TCP_SENT_BYTES] = {
		"tcp_sent_bytes", "TCP sent",
		"Payload bytes sent by TCP, each once",
		"net", UNIT_BYTES, FOLD_SUM, "ic/ceems_net", SIDE_OUT,
		"ceems_ebpf_egress_bytes_total", ",proto=\"tcp\"" },
	[METRIC_TCP_CONNECTIONS] = {
		"tcp_connections", "TCP connections",
		"TCP connections that were established",
		"net", UNIT_COUNT, FOLD_SUM, "ic/ceems_tcp", SIDE_IN, "" },
	[METRIC_TCP_RETRANSMITTED_BYTES] = {
		"tcp_retransmitted_bytes", "TCP retransmitted",
		"Payload bytes that TCP sent again",
		"net", UNIT_BYTES, FOLD_SUM, "ic/ceems_tcp", SIDE_OUT,
		"ceems_ebpf_retrans_bytes_total", ",proto=\"tcp\"" },
	[METRIC_UDP_RECEIVED_BYTES] = {
		"udp_received_bytes", "UDP received",
		"Payload bytes received by UDP, with --ceems-perf=net",
		"net", UNIT_BYTES, FOLD_SUM, "ic/ceems_udp", SIDE_IN,
		"ceems_ebpf_ingress_bytes_total", ",proto=\"udp\"" },
	[METRIC_UDP_SENT_BYTES] = {
		"udp_sent_bytes", "UDP sent",
		"Payload bytes sent by UDP, with --ceems-perf=net",
		"net", UNIT_BYTES, FOLD_SUM, "ic/ceems_udp", SIDE_OUT,
		"ceems_ebpf_egress_bytes_total", ",proto=\"udp\"" },
	[METRIC_RECEIVED_PACKETS] = {
		"received_packets", "packets received",
		"IP packets received, with --ceems-perf=net",
		"net", UNIT_COUNT, FOLD_SUM, "ic/ceems_packets", SIDE_IN,
		"ceems_ebpf_ingress_packets_total" },
	[METRIC_SENT_PACKETS] = {
		"sent_packets", "packets sent",
		"IP packets sent, with --ceems-perf=net",
		"net", UNIT_COUNT, FOLD_SUM, "ic/ceems_packets", SIDE_OUT,
		"ceems_ebpf_egress_packets_total" },
	[METRIC_IP_RECEIVED_BYTES] = {
		"ip_received_bytes", "IP received",
		"Bytes of received IP packets, with --ceems-perf=net",
		"net", UNIT_BYTES, FOLD_SUM, "ic/ceems_ip", SIDE_IN, "" },
	[METRIC_IP_SENT_BYTES] = {
		"ip_sent_bytes", "IP sent",
		"Bytes of sent IP packets, with --ceems-perf=net",
		"net", UNIT_BYTES, FOLD_SUM, "ic/ceems_ip", SIDE_OUT, "" },
	[METRIC_IPV6_RECEIVED_BYTES] = {
		"ipv6_received_bytes", "IPv6 received",
		"Part of ip_received_bytes that came by IPv6",
		"net", UNIT_BYTES, FOLD_SUM, "ic/ceems_ipv6", SIDE_IN, "" },
	[METRIC_IPV6_SENT_BYTES] = {
		"ipv6_sent_bytes", "IPv6 sent",
		"Part of ip_sent_bytes that went by IPv6",
		"net", UNIT_BYTES, FOLD_SUM, "ic/ceems_ipv6", SIDE_OUT, "" },
	[METRIC_RDMA_RECEIVED_BYTES] = {
		"rdma_received_bytes", "RDMA received",
		"Bytes that the RDMA ports received while a job had the whole node, with --ceems-perf=net",
		"net", UNIT_BYTES, FOLD_SUM, "ic/ceems_rdma", SIDE_IN, "" },
	[METRIC_RDMA_SENT_BYTES] = {
		"rdma_sent_bytes", "RDMA sent",
		"Bytes that the RDMA ports sent while a job had the whole node, with --ceems-perf=net",
		"net", UNIT_BYTES, FOLD_SUM, "ic/ceems_rdma", SIDE_OUT, "" },
	[METRIC_TASK_CLOCK] = {
		"task_clock", "task clock", "perf task-clock", "perf", UNIT_NS, FOLD_SUM, "",
		SIDE_IN, "" },
	[METRIC_CONTEXT_SWITCHES] = {
		"context_switches", "context switches", "Context switches",
		"perf", UNIT_COUNT, FOLD_SUM, "ic/ceems_sched", SIDE_IN,
		"ceems_perf_context_switches_total" },
	[METRIC_PAGE_FAULTS] = {
		"page_faults", "page faults", "Page faults", "perf", UNIT_COUNT, FOLD_SUM,
		"ic/ceems_sched", SIDE_OUT,
		"ceems_perf_page_faults_total" },
	[METRIC_CPU_MIGRATIONS] = {
		"cpu_migrations", "migrations", "Moves from one CPU to another",
		"perf", UNIT_COUNT, FOLD_SUM, "ic/ceems_migrations", SIDE_IN,
		"ceems_perf_cpu_migrations_total" },
	[METRIC_RUN_DELAY] = {
		"run_delay", "run-queue wait",
		"Time that runnable threads waited for a CPU",
		"perf", UNIT_NS, FOLD_SUM, "ic/ceems_wait", SIDE_IN, "" },
	[METRIC_OFF_CPU] = {
		"off_cpu", "off-CPU",
		"Time that threads slept or waited for anything but a CPU",
		"perf", UNIT_NS, FOLD_SUM, "ic/ceems_wait", SIDE_OUT, "" },
	[METRIC_CYCLES] = {
		"cycles", "cycles", "CPU cycles", "perf", UNIT_COUNT, FOLD_SUM,
		"ic/ceems_cpu", SIDE_IN, "ceems_perf_cpucycles_total" },
	[METRIC_INSTRUCTIONS] = {
		"instructions", "instructions", "Instructions retired",
		"perf", UNIT_COUNT, FOLD_SUM, "ic/ceems_cpu", SIDE_OUT,
		"ceems_perf_instructions_total" },
	[METRIC_CACHE_REFERENCES] = {
		"cache_references", "cache references", "Last-level cache references",
		"perf", UNIT_COUNT, FOLD_SUM, "ic/ceems_cache", SIDE_IN,
		"ceems_perf_cache_refs_total" },
	[METRIC_CACHE_MISSES] = {
		"cache_misses", "cache misses", "Last-level cache misses",
		"perf", UNIT_COUNT, FOLD_SUM, "ic/ceems_cache", SIDE_OUT,
		"ceems_perf_cache_misses_total" },
	[METRIC_BRANCHES] = {
		"branches", "branches", "Branch instructions retired",
		"perf", UNIT_COUNT, FOLD_SUM, "ic/ceems_branch", SIDE_IN,
		"ceems_perf_branch_instructions_total" },
	[METRIC_BRANCH_MISSES] = {
		"branch_misses", "branch misses", "Branches predicted wrongly",
		"perf", UNIT_COUNT, FOLD_SUM, "ic/ceems_branch", SIDE_OUT,
		"ceems_perf_branch_misses_total" },
	[METRIC_FP_OPERATIONS] = {
		"fp_operations", "FP operations",
		"Floating-point operations, a fused multiply-add as two",
		"perf", UNIT_COUNT, FOLD_SUM, "ic/ceems_flop", SIDE_IN, "" },
	[METRIC_MEMORY_BYTES] = {
		"memory_bytes", "read from memory",
		"Bytes that caches fetched from memory",
		"perf", UNIT_BYTES, FOLD_SUM, "ic/ceems_flop", SIDE_OUT, "" },
	[METRIC_PMU_ENABLED] = {
		"pmu_enabled", "counters wanted",
		"CPU time in which hardware counters should have counted",
		"perf", UNIT_NS, FOLD_SUM, "ic/ceems_pmu", SIDE_IN, "" },
	[METRIC_PMU_RUNNING] = {
		"pmu_running", "counters had",
		"CPU time in which they did: the rest is scaled",
		"perf", UNIT_NS, FOLD_SUM, "ic/ceems_pmu", SIDE_OUT, "" },
	/* Slurm adds up the nodes' 1; of the steps of a job the largest is as near as one gets */
	[METRIC_ENERGY_NODES] = {
		"energy_nodes", "nodes, energy", "Nodes whose energy is known",
		"nodes", UNIT_COUNT, FOLD_MAX, "ic/ceems_nodes", SIDE_IN, "" },
	[METRIC_CPU_TIME_NODES] = {
		"cpu_time_nodes", "nodes, CPU time", "Nodes whose CPU time is known",
		"nodes", UNIT_COUNT, FOLD_MAX, "ic/ceems_nodes", SIDE_OUT, "" },
};

const char *metric_source_name(enum metric m)
{
	return metric_table[m].name + strlen("source_");
}

/* What a CPU does billions of times a second. */
static bool is_fast(enum metric m)
{
	return m >= METRIC_CYCLES && m <= METRIC_MEMORY_BYTES;
}

static uint64_t tres_divisor(enum metric m)
{
	switch (metric_table[m].unit) {
	case UNIT_UJ:
		return UJ_PER_JOULE;
	case UNIT_NG:
		return NG_PER_MG;
	case UNIT_NS:
		return NS_PER_US;
	case UNIT_BYTES:
		return is_fast(m) ? BYTES_PER_KIB : 1;
	case UNIT_COUNT:
		return is_fast(m) ? EVENTS_PER_TRES : 1;
	}
	return 1;
}

const char *metric_tres_unit(enum metric m)
{
	switch (metric_table[m].unit) {
	case UNIT_UJ:
		return "J";
	case UNIT_NG:
		return "mg";
	case UNIT_NS:
		return "us";
	case UNIT_BYTES:
		return is_fast(m) ? "KiB" : "bytes";
	case UNIT_COUNT:
		return is_fast(m) ? "1000" : "";
	}
	return "";
}

uint64_t metric_to_tres(enum metric m, uint64_t value)
{
	uint64_t d = tres_divisor(m);

	return value / d + (value % d >= d - value % d && d > 1);
}

uint64_t metric_from_tres(enum metric m, uint64_t tres_value)
{
	uint64_t v;

	return __builtin_mul_overflow(tres_value, tres_divisor(m), &v) ? UINT64_MAX : v;
}

const char *metric_reason_text(enum metric_reason reason)
{
	static const char *const text[REASON_N] = {
		[REASON_NONE] = "",
		[REASON_NOT_MEASURED] = "not measured",
		[REASON_NOT_ASKED] = "needs --ceems-perf",
		[REASON_NO_SENSOR] = "no sensor",
		[REASON_NO_PMU] = "no PMU",
		[REASON_NO_BPF] = "no BPF",
		[REASON_NO_PERMISSION] = "no permission",
		[REASON_NO_HOOK] = "no function hooks",
		[REASON_NO_CGROUP] = "no v2 cgroup",
		[REASON_NO_DEVICE] = "no device",
		[REASON_NO_EVENT] = "no such event on this CPU",
		[REASON_SHARED_NODE] = "node is shared",
		[REASON_NO_COUNTER] = "no free counter",
		[REASON_NO_SLOT] = "ledger full",
		[REASON_NO_FACTOR] = "no emission factor",
		[REASON_NO_CONTRACT] = "no MarketFactor",
		[REASON_FAILED] = "failed, see slurmd's log",
		[REASON_TOO_LARGE] = "more than 64 bits",
	};

	return reason < REASON_N ? text[reason] : "?";
}

void figures_init(struct figures *f)
{
	memset(f, 0, sizeof(*f));
	memset(f->reason, REASON_NOT_MEASURED, sizeof(f->reason));
}

void figures_set(struct figures *f, enum metric m, uint64_t value)
{
	if (value == UINT64_MAX) {
		figures_miss(f, m, REASON_TOO_LARGE);
		return;
	}
	f->value[m] = value;
	f->reason[m] = REASON_NONE;
}

void figures_miss(struct figures *f, enum metric m, enum metric_reason reason)
{
	f->value[m] = 0;
	f->reason[m] = (uint8_t)reason;
}

bool figures_has(const struct figures *f, enum metric m)
{
	return f->reason[m] == REASON_NONE;
}

void figures_fold(struct figures *whole, const struct figures *part)
{
	unsigned int m;

	metric_foreach(m) {
		uint64_t v = part->value[m];

		if (whole->reason[m] == REASON_TOO_LARGE)
			continue; /* what comes after it must not look like all of it */
		if (part->reason[m] == REASON_TOO_LARGE) {
			figures_miss(whole, (enum metric)m, REASON_TOO_LARGE);
			continue;
		}
		if (part->reason[m] != REASON_NONE) {
			/* keep the more telling of two reasons */
			if (whole->reason[m] == REASON_NOT_MEASURED)
				whole->reason[m] = part->reason[m];
			continue;
		}
		if (whole->reason[m] != REASON_NONE)
			figures_set(whole, m, v);
		else if (metric_table[m].fold == FOLD_MAX)
			whole->value[m] = v > whole->value[m] ? v : whole->value[m];
		else if (__builtin_add_overflow(whole->value[m], v, &whole->value[m]))
			figures_miss(whole, m, REASON_TOO_LARGE);
	}
}

int metric_tres_line(char *buf, unsigned int size)
{
	unsigned int used = 0;
	unsigned int m;
	unsigned int k;
	int n;

	metric_foreach(m) {
		const char *tres = metric_table[m].tres;

		if (!*tres)
			continue;
		for (k = 0; k < m; k++)
			if (!strcmp(metric_table[k].tres, tres))
				break;
		if (k < m)
			continue; /* its other side named it */
		n = snprintf(buf + used, size - used, "%s%s", used ? "," : "", tres);
		if (n < 0 || (unsigned int)n >= size - used)
			return -ENOSPC;
		used += (unsigned int)n;
	}
	return 0;
}
