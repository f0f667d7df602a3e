/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "src/libmeter/sensor/source.h"
#include "src/libnode/textfile_internal.h"
#include "src/libutil/util.h"

#define PPM 1000000
#define UUID_SIZE (2 * sizeof(((struct gpu_reading *)0)->uuid))

/* Returns the GPU's UUID, escaped, because a quote in it would make the file invalid. "": unknown. */
static const char *escaped_uuid(const struct textfile_input *in, unsigned int unit, char buf[UUID_SIZE])
{
	size_t i;

	buf[0] = '\0';
	for (i = 0; i < in->ngpus; i++) {
		if (in->gpu[i].unit != unit)
			continue;
		prom_escape(in->gpu[i].uuid, buf, UUID_SIZE);
		break;
	}
	return buf;
}

static void put_gpu(struct prom *p, const struct prom_family *f, const struct textfile_input *in,
		    unsigned int unit, uint64_t value)
{
	char uuid[UUID_SIZE];

	prom_put(p, f, value, ",gpu=\"%u\",gpuuuid=\"%s\"", unit, escaped_uuid(in, unit, uuid));
}

static void put_info(struct prom *p, const struct textfile_input *in)
{
	static const struct prom_family f = { "ceems_gpu_info", "gauge", "A GPU of the node", 1 };
	char model[2 * sizeof(in->gpu->model)], uuid[UUID_SIZE];
	size_t i;

	for (i = 0; i < in->ngpus; i++) {
		prom_escape(in->gpu[i].model, model, sizeof(model));
		prom_put(p, &f, 1, ",gpu=\"%u\",model=\"%s\",gpuuuid=\"%s\"", in->gpu[i].unit, model,
			 escaped_uuid(in, in->gpu[i].unit, uuid));
	}
}

static void put_energy(struct prom *p, const struct ledger_page *page, const struct textfile_input *in)
{
	static const struct prom_family f = { "ceems_gpu_energy_joules_total", "counter",
					      "Energy of a GPU since the ledger began, held by a job or not",
					      UJ_PER_J };
	uint32_t i;

	for (i = 0; i < page->nparts && i < PARTS_MAX; i++)
		if (page->part[i].domain == DOMAIN_GPU)
			put_gpu(p, &f, in, page->part[i].unit, page->part[i].energy_uj);
}

/* The gauges of a GPU. One is written only if the GPU reports its value. */
static const struct {
	enum gpu_value value;
	uint64_t times; /* VALUE times this is in 1/family.units of the gauge's unit */
	struct prom_family family;
} gauge[] = {
	{ GPU_VALUE_POWER_MW,
	  1,
	  { "ceems_gpu_power_watts", "gauge", "Power of a GPU, as it says itself", 1000 } },
	{ GPU_VALUE_POWER_LIMIT_MW,
	  1,
	  { "ceems_gpu_power_limit_watts", "gauge", "Power that a GPU may use at most", 1000 } },
	{ GPU_VALUE_BUSY_PPM,
	  1,
	  { "ceems_gpu_utilization_ratio", "gauge", "Share of time in which a GPU was busy", PPM } },
	{ GPU_VALUE_MEM_USED_BYTES,
	  1,
	  { "ceems_gpu_memory_used_bytes", "gauge", "Memory of a GPU that is in use", 1 } },
	{ GPU_VALUE_MEM_TOTAL_BYTES, 1, { "ceems_gpu_memory_total_bytes", "gauge", "Memory of a GPU", 1 } },
	{ GPU_VALUE_PROCESSES,
	  1,
	  { "ceems_gpu_processes", "gauge", "Processes that have a context on a GPU", 1 } },
	{ GPU_VALUE_SM_MHZ, 1000000, { "ceems_gpu_sm_clock_hertz", "gauge", "Clock of the SMs", 1 } },
	{ GPU_VALUE_MEM_MHZ, 1000000, { "ceems_gpu_memory_clock_hertz", "gauge", "Clock of the memory", 1 } },
	{ GPU_VALUE_THROTTLED_PPM,
	  1,
	  { "ceems_gpu_throttled_ratio", "gauge",
	    "1 if clocks are held down by the power cap, heat or an unknown "
	    "cause",
	    PPM } },
	{ GPU_VALUE_THROTTLED_POWER_PPM,
	  1,
	  { "ceems_gpu_throttled_power_ratio", "gauge", "1 if clocks are held down by the power cap", PPM } },
	{ GPU_VALUE_THROTTLED_HEAT_PPM,
	  1,
	  { "ceems_gpu_throttled_heat_ratio", "gauge", "1 if clocks are held down by heat", PPM } },
	{ GPU_VALUE_ECC_ERRORS,
	  1,
	  { "ceems_gpu_ecc_uncorrected_errors_total", "counter",
	    "Uncorrected ECC errors since the driver was loaded", 1 } },
	{ GPU_VALUE_XID_ERRORS,
	  1,
	  { "ceems_gpu_xid_errors_total", "counter",
	    "XID errors of a GPU since slurmd's helper began to count", 1 } },
	{ GPU_VALUE_SM_PPM,
	  1,
	  { "ceems_gpu_sm_active_ratio", "gauge", "Share of the SMs that had a warp", PPM } },
	{ GPU_VALUE_OCCUPANCY_PPM,
	  1,
	  { "ceems_gpu_sm_occupancy_ratio", "gauge", "Warps, of those that the SMs have room for", PPM } },
	{ GPU_VALUE_TENSOR_PPM,
	  1,
	  { "ceems_gpu_pipe_tensor_active_ratio", "gauge",
	    "Share of time in which the tensor pipes were active", PPM } },
	{ GPU_VALUE_FP64_PPM,
	  1,
	  { "ceems_gpu_pipe_fp64_active_ratio", "gauge", "Share of time in which the FP64 pipes were active",
	    PPM } },
	{ GPU_VALUE_FP32_PPM,
	  1,
	  { "ceems_gpu_pipe_fp32_active_ratio", "gauge", "Share of time in which the FP32 pipes were active",
	    PPM } },
	{ GPU_VALUE_FP16_PPM,
	  1,
	  { "ceems_gpu_pipe_fp16_active_ratio", "gauge", "Share of time in which the FP16 pipes were active",
	    PPM } },
	{ GPU_VALUE_DRAM_PPM,
	  1,
	  { "ceems_gpu_dram_active_ratio", "gauge", "Memory bandwidth, of the largest there is", PPM } },
	{ GPU_VALUE_PCIE_RX_BPS,
	  1,
	  { "ceems_gpu_pcie_receive_bytes_per_second", "gauge", "Traffic to a GPU over PCIe", 1 } },
	{ GPU_VALUE_PCIE_TX_BPS,
	  1,
	  { "ceems_gpu_pcie_transmit_bytes_per_second", "gauge", "Traffic from a GPU over PCIe", 1 } },
	{ GPU_VALUE_NVLINK_RX_BPS,
	  1,
	  { "ceems_gpu_nvlink_receive_bytes_per_second", "gauge", "Traffic to a GPU over NVLink", 1 } },
	{ GPU_VALUE_NVLINK_TX_BPS,
	  1,
	  { "ceems_gpu_nvlink_transmit_bytes_per_second", "gauge", "Traffic from a GPU over NVLink", 1 } },
};

static void put_gauges(struct prom *p, const struct textfile_input *in)
{
	size_t g, i;

	for (g = 0; g < ARRAY_SIZE(gauge); g++)
		for (i = 0; i < in->ngpus; i++)
			if (in->gpu[i].value[gauge[g].value] != GPU_VALUE_UNKNOWN)
				put_gpu(p, &gauge[g].family, in, in->gpu[i].unit,
					in->gpu[i].value[gauge[g].value] * gauge[g].times);
}

/* Separate names for MIG instances, so that sums over GPUs do not count them twice. */
static const struct {
	enum gpu_value value;
	struct prom_family family;
} instance_gauge[] = {
	{ GPU_VALUE_MEM_USED_BYTES,
	  { "ceems_gpu_instance_memory_used_bytes", "gauge", "Memory of a GPU instance (MIG) that is in use",
	    1 } },
	{ GPU_VALUE_MEM_TOTAL_BYTES,
	  { "ceems_gpu_instance_memory_total_bytes", "gauge", "Memory of a GPU instance", 1 } },
	{ GPU_VALUE_PROCESSES,
	  { "ceems_gpu_instance_processes", "gauge", "Processes that have a context on a GPU instance", 1 } },
	{ GPU_VALUE_BUSY_PPM,
	  { "ceems_gpu_instance_utilization_ratio", "gauge", "Share of time in which a GPU instance was busy",
	    PPM } },
	{ GPU_VALUE_SM_PPM,
	  { "ceems_gpu_instance_sm_active_ratio", "gauge",
	    "Share of the SMs of a GPU instance that had a warp", PPM } },
	{ GPU_VALUE_TENSOR_PPM,
	  { "ceems_gpu_instance_pipe_tensor_active_ratio", "gauge",
	    "Share of time in which the tensor pipes of a GPU instance were active", PPM } },
	{ GPU_VALUE_DRAM_PPM,
	  { "ceems_gpu_instance_dram_active_ratio", "gauge",
	    "Memory bandwidth of a GPU instance, of the largest there is", PPM } },
};

static void put_instances(struct prom *p, const struct textfile_input *in)
{
	char uuid[UUID_SIZE];
	size_t g, i;

	for (g = 0; g < ARRAY_SIZE(instance_gauge); g++)
		for (i = 0; i < in->ninstances; i++) {
			const struct gpu_instance_reading *r = &in->instance[i];

			if (r->value[instance_gauge[g].value] != GPU_VALUE_UNKNOWN)
				prom_put(p, &instance_gauge[g].family, r->value[instance_gauge[g].value],
					 ",gpu=\"%u\",gpuuuid=\"%s\",gpuiid=\"%u\"", r->unit,
					 escaped_uuid(in, r->unit, uuid), r->gi);
		}
}

/* Writes a value of a GPU that a job holds. INSTANCE is the MIG instance; "": the whole GPU. */
static void put_holder(struct prom *p, const struct prom_family *f, const struct textfile_input *in,
		       uint32_t job_id, unsigned int unit, const char *instance, uint64_t value)
{
	char uuid[UUID_SIZE];

	prom_put(p, f, value,
		 ",manager=\"slurm\",uuid=\"%" PRIu32
		 "\",index=\"%u\",hindex=\"%s/gpu-%u\",gpuuuid=\"%s\",gpuiid=\"%s\"",
		 job_id, unit, p->host, unit, escaped_uuid(in, unit, uuid), instance);
}

/*
 * Writes the series by which CEEMS joins a job to metrics of GPU exporters, with the labels gpuuuid and
 * gpuiid (GPU_I_ID of DCGM). The value is the part of the GPU that the job holds. For a MIG instance it is 1,
 * since only one job holds it.
 */
static void put_flags(struct prom *p, const struct prom_family *f, const struct textfile_input *in,
		      const struct ledger_job_account *j, unsigned int unit)
{
	uint16_t instances = j->gpu_instances[unit];
	unsigned int gi;
	char text[8];

	if (!instances && j->gpu_ppm[unit])
		put_holder(p, f, in, j->job_id, unit, "", j->gpu_ppm[unit]);
	for (gi = 0; instances >> gi; gi++) {
		if (!(instances & 1u << gi))
			continue;
		(void)snprintf(text, sizeof(text), "%u", gi);
		put_holder(p, f, in, j->job_id, unit, text, PPM);
	}
}

static bool is_running(const struct ledger_job_account *j)
{
	return j->job_id && j->open_slots;
}

static void put_holders(struct prom *p, const struct ledger_page *page, const struct textfile_input *in)
{
	static const struct prom_family flag = { "ceems_compute_unit_gpu_index_flag", "gauge",
						 "A value > 0 indicates the job using current GPU", PPM };
	static const struct prom_family share = {
		"ceems_compute_unit_gpu_share_ratio", "gauge",
		"The part of a GPU that a job holds, by which its energy is split", PPM
	};
	unsigned int unit;
	uint32_t i;

	for (i = 0; i < page->njobs; i++)
		for (unit = 0; is_running(&page->job[i]) && unit < GPUS_MAX; unit++)
			put_flags(p, &flag, in, &page->job[i], unit);
	for (i = 0; i < page->njobs; i++)
		for (unit = 0; is_running(&page->job[i]) && unit < GPUS_MAX; unit++)
			if (page->job[i].gpu_ppm[unit])
				put_holder(p, &share, in, page->job[i].job_id, unit, "",
					   page->job[i].gpu_ppm[unit]);
}

void textfile_gpus_put(struct prom *p, const struct ledger_page *page, const struct textfile_input *in)
{
	put_info(p, in);
	put_energy(p, page, in);
	put_gauges(p, in);
	put_instances(p, in);
	if (!in->no_jobs)
		put_holders(p, page, in);
}
