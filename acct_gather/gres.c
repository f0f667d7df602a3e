/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/gres.h"

#include <errno.h>
#include <stdlib.h>

#include "acct_gather/gres_shared.h"
#include "acct_gather/abi.h"
#include "src/libstep/gpushare.h"
#include "src/libutil/logger.h"

/* Device files of one node: for 16 GPUs, each with 7 MIG instances of 2 files, and as many files of NICs. */
#define DEVICES_MAX 512

#define NOT_AS_BUILT "GRES data differ from the Slurm headers that this plugin was built with"

struct devices {
	const struct settings *settings;
	const char *node;
	struct gpumap *map;
	bool has_slices;
	struct gpu_slices slices;
	struct gpushare_device d[DEVICES_MAX];
	size_t n;
};

static int add_device(void *element, void *arg)
{
	const gres_device_t *device = element;
	struct devices *all = arg;

	if (device->path && all->n < DEVICES_MAX)
		all->d[all->n++] = (struct gpushare_device){
			.path = device->path,
			.index = device->index,
			.is_held = device->alloc != 0,
		};
	return 0;
}

static int is_gpu(void *element, void *arg)
{
	const gres_state_t *gres = element;

	(void)arg;
	return gres->gres_name && !strcmp(gres->gres_name, "gpu");
}

/*
 * Adds the type of a GPU to its device, since gres_device_t has no type. The job's GRES have one element per
 * type of GPU, whatever the job asked for. In slurmstepd, index 0 of its arrays is this node.
 */
static int add_types(void *element, void *arg)
{
	const gres_state_t *gres = element;
	const gres_job_state_t *job = gres->gres_data;
	bitstr_t *bits = job->gres_bit_alloc ? job->gres_bit_alloc[0] : NULL;
	struct devices *all = arg;
	size_t i;

	if (!is_gpu(element, NULL) || !job->type_name || !bits)
		return 0;
	for (i = 0; i < all->n; i++)
		if (all->d[i].index >= 0 && all->d[i].index < bit_size(bits) &&
		    bit_test(bits, all->d[i].index))
			all->d[i].type = job->type_name;
	return 0;
}

/* Reads the sizes of MIG instances from the ledger. Opens it only if a device is a MIG instance. */
static void learn_slices(struct devices *all)
{
	struct ledger *l;

	if (all->has_slices || !gpushare_has_instances(all->d, all->n))
		return;
	all->has_slices = true;
	if (ledger_open(all->settings->ledger_dir, all->node, /* writable= */ false, &l, NULL) < 0)
		return;
	ledger_slices(l, &all->slices);
	ledger_close(l);
}

/*
 * Finds which share of each GPU the job or step holds, and returns how many GPUs it holds.
 * gres_g_get_devices() marks the devices of GRES in Slurm's list of all devices; task/cgroup allows devices
 * by the same marks. Each call overwrites the marks of the last one. gres/shard and gres/mps mark the GPU
 * that is shared.
 */
static unsigned int shares(struct devices *all, const stepd_step_rec_t *step, bool is_job,
			   uint32_t ret[GPUS_MAX], uint16_t ret_instances[GPUS_MAX], struct errmsg *err)
{
	CEEMS_LIST gres = is_job ? step->job_gres_list : step->step_gres_list;
	CEEMS_LIST list = gres_g_get_devices(gres, is_job, 0, NULL, 0, 0);
	bool right = !list || abi_devices_is_right(list);
	unsigned int held;

	all->n = 0;
	if (list && right)
		(void)list_for_each(list, add_device, all);
	if (list)
		FREE_NULL_LIST(list);
	if (!right) {
		(void)errmsg_set(err, -EINVAL, NOT_AS_BUILT);
		return 0;
	}
	if (step->job_gres_list)
		(void)list_for_each(step->job_gres_list, add_types, all);
	learn_slices(all);
	held = gpushare_by_files(all->map, &all->slices, all->d, all->n, ret, ret_instances, err);
	gres_shared_scale(gres, is_job, ret);
	return held;
}

/*
 * Returns true for the step that logs. With PrologFlags=Contain, this is the extern
 * step, which every job has.
 */
static bool is_first(const stepd_step_rec_t *step)
{
	return step->step_id.step_id == SLURM_EXTERN_CONT || !(slurm_conf.prolog_flags & PROLOG_FLAG_CONTAIN);
}

void gres_identify(const stepd_step_rec_t *step, const struct settings *settings, const char *node,
		   struct ledger_identity *id)
{
	struct devices *all = calloc(1, sizeof(*all));
	struct errmsg err = { 0 };
	unsigned int held;

	if (!all)
		return;
	if ((step->job_gres_list && !abi_gres_is_right(step->job_gres_list, /* is_job= */ true)) ||
	    (step->step_gres_list && !abi_gres_is_right(step->step_gres_list, /* is_job= */ false))) {
		if (is_first(step))
			logger_info("job %u: %s; the energy of its GPUs is unallocated", id->job_id,
				    NOT_AS_BUILT);
		free(all);
		return;
	}
	all->settings = settings;
	all->node = node;
	all->map = gpumap_create(settings->sys_root);
	if (all->map && step->job_gres_list) {
		held = shares(all, step, true, id->job_gpu_ppm, id->job_gpu_instances, &err);
		if (err.text[0] && is_first(step))
			logger_info("job %u: %s; the energy of that GPU is unallocated", id->job_id,
				    err.text);
		else if (!held && !err.text[0] && list_find_first(step->job_gres_list, is_gpu, NULL))
			logger_info("job %u: gres.conf has no device file (File=) for its GPUs; the job gets "
				    "none of their energy",
				    id->job_id);
	}
	if (all->map && step->step_gres_list)
		(void)shares(all, step, false, id->step_gpu_ppm, id->step_gpu_instances, &err);
	gpumap_destroy(all->map);
	free(all);
}
