/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/gres.h"

#include "acct_gather/gres_shared.h"
#include "src/libnode/gpushare.h"
#include "src/libutil/logger.h"

/* Files of one node: 16 GPUs, each cut into 7 instances with 2 files, and as many NICs. */
#define DEVICES_MAX 512

struct devices {
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

/*
 * gres_g_get_devices() is what task/cgroup takes the devices from that a job may open. It marks, in
 * Slurm's own list of all devices, those of GRES; every caller marks anew. gres/shard and gres/mps
 * mark the GPU that they are on.
 */
static unsigned int shares(CEEMS_LIST gres, bool is_job, uint32_t ret[GPUS_MAX])
{
	CEEMS_LIST list = gres_g_get_devices(gres, is_job, 0, NULL, 0, 0);
	struct devices all = { .n = 0 };
	unsigned int held;

	if (list) {
		(void)list_for_each(list, add_device, &all);
		FREE_NULL_LIST(list);
	}
	held = gpushare_by_files(all.d, all.n, ret);
	gres_shared_scale(gres, is_job, ret);
	return held;
}

static int is_gpu(void *element, void *arg)
{
	const gres_state_t *gres = element;

	(void)arg;
	return gres->gres_name && !strcmp(gres->gres_name, "gpu");
}

void gres_identify(const stepd_step_rec_t *step, struct ledger_identity *id)
{
	if (step->job_gres_list && !shares(step->job_gres_list, true, id->job_gpu_ppm) &&
	    list_find_first(step->job_gres_list, is_gpu, NULL))
		logger_info("job %u: gres.conf names no device file that belongs to its GPUs; "
			    "their energy is not the job's",
			    id->job_id);
	if (step->step_gres_list)
		(void)shares(step->step_gres_list, false, id->step_gpu_ppm);
}
