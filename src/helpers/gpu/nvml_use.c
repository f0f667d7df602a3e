/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nvml_use.c - how a GPU is used, by NVML. A function may be missing in an older library, or may not support
 * a GPU. Its value is then unknown.
 */
#include "src/helpers/gpu/nvml.h"
#include "src/libutil/util.h"

#define PPM UINT64_C(1000000)
#define PERCENT 1e4 /* ppm */
#define MIB 1048576.0
#define MIB_MAX 1e7   /* 10 TB/s */
#define EVENTS_MAX 64 /* a second: NVML keeps what is left for the next one */

/* --- what is found at one instant ---------------------------------------------------------- */

/* If COUNT is 0, these functions return the number of processes and look up none of them. */
static bool count_running(int (*get)(nvmlDevice_t, unsigned int *, nvmlProcessInfo_t *), nvmlDevice_t device,
			  uint64_t *sum)
{
	unsigned int count = 0;
	int rc = get ? get(device, &count, NULL) : NVML_ERROR_NOT_SUPPORTED;

	if (rc != NVML_SUCCESS && rc != NVML_ERROR_INSUFFICIENT_SIZE)
		return false;
	*sum += count;
	return true;
}

/* Processes that compute and processes that draw: both use the GPU. */
static void read_processes(const struct nvml_api *api, nvmlDevice_t device, uint64_t *value)
{
	uint64_t sum = 0;

	if (!count_running(api->get_compute_v3 ? api->get_compute_v3 : api->get_compute_v2, device, &sum))
		return;
	(void)count_running(api->get_graphics_v3 ? api->get_graphics_v3 : api->get_graphics_v2, device, &sum);
	value[GPU_VALUE_PROCESSES] = sum;
}

static void read_clocks(const struct nvml_api *api, nvmlDevice_t device, uint64_t *value)
{
	unsigned int mhz;

	if (api->get_clock && api->get_clock(device, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS)
		value[GPU_VALUE_SM_MHZ] = mhz;
	if (api->get_clock && api->get_clock(device, NVML_CLOCK_MEM, &mhz) == NVML_SUCCESS)
		value[GPU_VALUE_MEM_MHZ] = mhz;
}

static void read_throttling(const struct nvml_api *api, nvmlDevice_t device, uint64_t *value)
{
	int (*get)(nvmlDevice_t, unsigned long long *) = api->get_event_reasons ? api->get_event_reasons :
										  api->get_throttle_reasons;
	unsigned long long reasons;

	if (!get || get(device, &reasons) != NVML_SUCCESS)
		return;
	value[GPU_VALUE_THROTTLED_POWER_PPM] = reasons & NVML_REASONS_POWER ? PPM : 0;
	value[GPU_VALUE_THROTTLED_HEAT_PPM] = reasons & NVML_REASONS_HEAT ? PPM : 0;
	value[GPU_VALUE_THROTTLED_PPM] = reasons & (NVML_REASONS_POWER | NVML_REASONS_HEAT |
						    NVML_REASON_HW_SLOWDOWN) ?
						 PPM :
						 0;
}

static void read_memory(const struct nvml_api *api, nvmlDevice_t device, uint64_t *value)
{
	nvmlMemory_t memory;

	if (api->get_memory && api->get_memory(device, &memory) == NVML_SUCCESS &&
	    memory.used <= memory.total) {
		value[GPU_VALUE_MEM_USED_BYTES] = memory.used;
		value[GPU_VALUE_MEM_TOTAL_BYTES] = memory.total;
	}
}

static void read_instant(const struct nvml_api *api, nvmlDevice_t device, uint64_t *value)
{
	unsigned long long errors;
	nvmlUtilization_t busy;
	unsigned int mw;

	/* not supported while MIG is on */
	if (api->get_utilization && api->get_utilization(device, &busy) == NVML_SUCCESS && busy.gpu <= 100)
		value[GPU_VALUE_BUSY_PPM] = busy.gpu * UINT64_C(10000);
	read_memory(api, device, value);
	if (api->get_power_limit && api->get_power_limit(device, &mw) == NVML_SUCCESS)
		value[GPU_VALUE_POWER_LIMIT_MW] = mw;
	if (api->get_ecc_errors &&
	    api->get_ecc_errors(device, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, &errors) == NVML_SUCCESS)
		value[GPU_VALUE_ECC_ERRORS] = errors;
	read_processes(api, device, value);
	read_clocks(api, device, value);
	read_throttling(api, device, value);
}

/* --- GPM: counters, between two samples ----------------------------------------------------- */

static const struct {
	unsigned int id;
	enum gpu_value value;
	double unit; /* of ours in one of NVML's */
	double max;  /* as NVML counts; what is above it is no value */
} gpm_metric[] = {
	{ NVML_GPM_GRAPHICS_UTIL, GPU_VALUE_BUSY_PPM, PERCENT, 100 },
	{ NVML_GPM_SM_UTIL, GPU_VALUE_SM_PPM, PERCENT, 100 },
	{ NVML_GPM_SM_OCCUPANCY, GPU_VALUE_OCCUPANCY_PPM, PERCENT, 100 },
	{ NVML_GPM_ANY_TENSOR_UTIL, GPU_VALUE_TENSOR_PPM, PERCENT, 100 },
	{ NVML_GPM_DRAM_BW_UTIL, GPU_VALUE_DRAM_PPM, PERCENT, 100 },
	{ NVML_GPM_FP64_UTIL, GPU_VALUE_FP64_PPM, PERCENT, 100 },
	{ NVML_GPM_FP32_UTIL, GPU_VALUE_FP32_PPM, PERCENT, 100 },
	{ NVML_GPM_FP16_UTIL, GPU_VALUE_FP16_PPM, PERCENT, 100 },
	{ NVML_GPM_PCIE_TX_PER_SEC, GPU_VALUE_PCIE_TX_BPS, MIB, MIB_MAX },
	{ NVML_GPM_PCIE_RX_PER_SEC, GPU_VALUE_PCIE_RX_BPS, MIB, MIB_MAX },
	{ NVML_GPM_NVLINK_TOTAL_TX_PER_SEC, GPU_VALUE_NVLINK_TX_BPS, MIB, MIB_MAX },
	{ NVML_GPM_NVLINK_TOTAL_RX_PER_SEC, GPU_VALUE_NVLINK_RX_BPS, MIB, MIB_MAX },
};

static bool has_gpm(const struct nvml_api *api)
{
	return api->gpm_query && api->gpm_alloc && api->gpm_free && api->gpm_sample && api->gpm_metrics;
}

static void gpm_open(const struct nvml_api *api, nvmlDevice_t device, struct nvml_gpm *g)
{
	nvmlGpmSupport_t support = { .version = NVML_GPM_SUPPORT_VERSION };

	g->is_supported = has_gpm(api) && api->gpm_query(device, &support) == NVML_SUCCESS &&
			  support.isSupportedDevice && api->gpm_alloc(&g->sample[0]) == NVML_SUCCESS &&
			  api->gpm_alloc(&g->sample[1]) == NVML_SUCCESS;
}

static void gpm_close(const struct nvml_api *api, struct nvml_gpm *g)
{
	size_t k;

	for (k = 0; k < 2; k++)
		if (g->sample[k])
			(void)api->gpm_free(g->sample[k]);
}

static void take_metrics(const nvmlGpmMetricsGet_t *m, uint64_t *value)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(gpm_metric); i++) {
		double v = m->metrics[i].value;

		if (m->metrics[i].nvmlReturn == NVML_SUCCESS && v >= 0 && v <= gpm_metric[i].max) /* no NaN */
			value[gpm_metric[i].value] = (uint64_t)(v * gpm_metric[i].unit + 0.5);
	}
}

static int take_sample(const struct nvml_api *api, nvmlDevice_t device, unsigned int gi,
		       nvmlGpmSample_t sample)
{
	if (gi == GPU_SLICE_WHOLE)
		return api->gpm_sample(device, sample);
	return api->gpm_mig_sample ? api->gpm_mig_sample(device, gi, sample) : NVML_ERROR_NOT_SUPPORTED;
}

/*
 * Reads what GPM counted since the last call, of instance GI or of the whole GPU. The first call only takes a
 * sample. With MIG the driver has no samples of the whole.
 */
static void read_gpm(const struct nvml_api *api, nvmlDevice_t device, unsigned int gi, struct nvml_gpm *g,
		     uint64_t *value)
{
	nvmlGpmMetricsGet_t m = { .version = NVML_GPM_METRICS_GET_VERSION,
				  .numMetrics = ARRAY_SIZE(gpm_metric) };
	unsigned int next = !g->last;
	bool had_one = g->has_sample;
	size_t i;

	if (!g->is_supported)
		return;
	g->has_sample = take_sample(api, device, gi, g->sample[next]) == NVML_SUCCESS;
	if (!g->has_sample)
		return;
	m.sample1 = g->sample[g->last];
	m.sample2 = g->sample[next];
	g->last = next;
	for (i = 0; i < ARRAY_SIZE(gpm_metric); i++)
		m.metrics[i] = (nvmlGpmMetric_t){ .metricId = gpm_metric[i].id,
						  .nvmlReturn = NVML_ERROR_UNKNOWN };
	if (had_one && api->gpm_metrics(&m) == NVML_SUCCESS)
		take_metrics(&m, value);
}

/* --- XID errors: events, of which none is kept while nobody asks ------------------------------ */

static void events_open(const struct nvml_api *api, nvmlDevice_t device, nvmlEventSet_t *set)
{
	if (!api->events_create || !api->events_free || !api->events_register || !api->events_wait ||
	    api->events_create(set) != NVML_SUCCESS) {
		*set = NULL;
		return;
	}
	if (api->events_register(device, NVML_EVENT_XID, *set) == NVML_SUCCESS)
		return;
	(void)api->events_free(*set);
	*set = NULL;
}

/* NULL: there is none of that number. */
static struct nvml_instance *instance_of(struct nvml_use *u, unsigned int gi)
{
	size_t i;

	for (i = 0; i < u->ninstances; i++)
		if (u->instance[i].gi == gi)
			return &u->instance[i];
	return NULL;
}

static void read_events(const struct nvml_api *api, struct nvml_use *u)
{
	nvmlEventData_t event = { 0 };
	struct nvml_instance *instance;
	unsigned int i;

	for (i = 0; i < EVENTS_MAX && api->events_wait(u->events, &event, 0) == NVML_SUCCESS; i++) {
		if (!(event.eventType & NVML_EVENT_XID))
			continue;
		instance = instance_of(u, event.gpuInstanceId);
		u->xids++;
		if (instance)
			instance->xids++;
		else
			u->common_xids++;
	}
}

/* -------------------------------------------------------------------------------------------- */

/* NULL: there is no room, which there is for all that ceems-gpu asks. */
static struct nvml_use *use_of(struct nvml *n, nvmlDevice_t device)
{
	struct nvml_use *u = n->use;

	while (u < n->use + n->nused && u->device != device)
		u++;
	if (u < n->use + n->nused)
		return u;
	if (n->nused == ARRAY_SIZE(n->use))
		return NULL;
	n->nused++;
	*u = (struct nvml_use){ .device = device };
	gpm_open(&n->api, device, &u->gpm);
	events_open(&n->api, device, &u->events);
	return u;
}

void nvml_read_use(void *library, const struct gpu_device *d, uint64_t value[GPU_VALUE_N])
{
	struct nvml *n = library;
	nvmlDevice_t device = (nvmlDevice_t)d->handle;
	struct nvml_use *u = use_of(n, device);

	read_instant(&n->api, device, value);
	if (u)
		/* a busy share that it counted is better than one that was sampled */
		read_gpm(&n->api, device, GPU_SLICE_WHOLE, &u->gpm, value);
}

void nvml_read_errors(void *library, const struct gpu_device *d, uint64_t value[GPU_VALUE_N])
{
	struct nvml *n = library;
	struct nvml_use *u = use_of(n, (nvmlDevice_t)d->handle);

	if (!u || !u->events)
		return;
	read_events(&n->api, u);
	value[GPU_VALUE_XID_ERRORS] = u->xids;
}

void nvml_keep_instance(struct nvml *n, nvmlDevice_t device, nvmlDevice_t mig, unsigned int gi,
			unsigned int slices)
{
	struct nvml_use *u = use_of(n, device);
	struct nvml_instance *instance = u ? instance_of(u, gi) : NULL;

	if (!u)
		return;
	if (!instance) {
		if (u->ninstances == NVML_INSTANCES_MAX)
			return;
		instance = &u->instance[u->ninstances++];
		*instance = (struct nvml_instance){ .gi = gi, .slices = slices };
		gpm_open(&n->api, device, &instance->gpm);
	}
	if (instance->nhandles < NVML_INSTANCES_MAX)
		instance->handle[instance->nhandles++] = mig;
}

/*
 * A GPU instance: its compute instances share its memory, so memory is read once. Each process is in
 * one compute instance, so processes are added up.
 */
static void read_instance(const struct nvml_api *api, const struct nvml_use *u,
			  struct nvml_instance *instance, uint64_t *value)
{
	uint64_t of_one[GPU_VALUE_N];
	uint64_t processes = 0;
	size_t i;

	gpu_values_forget(value);
	read_memory(api, instance->handle[0], value);
	for (i = 0; i < instance->nhandles && processes != GPU_VALUE_UNKNOWN; i++) {
		gpu_values_forget(of_one);
		read_processes(api, instance->handle[i], of_one);
		processes = of_one[GPU_VALUE_PROCESSES] == GPU_VALUE_UNKNOWN ?
				    GPU_VALUE_UNKNOWN :
				    processes + of_one[GPU_VALUE_PROCESSES];
	}
	value[GPU_VALUE_PROCESSES] = processes;
	read_gpm(api, u->device, instance->gi, &instance->gpm, value);
	if (u->events)
		value[GPU_VALUE_XID_ERRORS] = instance->xids + u->common_xids;
}

size_t nvml_read_instances(void *library, const struct gpu_device *d, struct gpu_instance *ret, size_t max)
{
	struct nvml *n = library;
	struct nvml_use *u = use_of(n, (nvmlDevice_t)d->handle);
	size_t i;

	for (i = 0; u && i < u->ninstances && i < max; i++) {
		ret[i].gi = u->instance[i].gi;
		ret[i].slices = u->instance[i].slices;
		read_instance(&n->api, u, &u->instance[i], ret[i].value);
	}
	return i;
}

void nvml_close_use(struct nvml *n)
{
	size_t i, k;

	for (i = 0; i < n->nused; i++) {
		gpm_close(&n->api, &n->use[i].gpm);
		for (k = 0; k < n->use[i].ninstances; k++)
			gpm_close(&n->api, &n->use[i].instance[k].gpm);
		if (n->use[i].events)
			(void)n->api.events_free(n->use[i].events);
	}
	n->nused = 0;
}
