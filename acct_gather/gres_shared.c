/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/gres_shared.h"

#include "acct_gather/abi.h"

#include <dlfcn.h>
#include <limits.h>

#define WHOLE 1000000
#define FIRST_RENDER_NODE 128

static int has_name(void *element, void *name)
{
	const gres_state_t *gres = element;

	return gres->gres_name && !strcmp(gres->gres_name, name);
}

/* Returns how many shares are held on this node. In slurmstepd, index 0 of the array is this node. */
static uint64_t held(const gres_state_t *gres, bool is_job)
{
	const gres_job_state_t *job = gres->gres_data;
	const gres_step_state_t *step = gres->gres_data;
	const uint64_t *count = is_job ? job->gres_cnt_node_alloc : step->gres_cnt_node_alloc;

	return count ? count[0] : 0;
}

/* Returns the plugin gres/NAME, for dlclose(). NULL: slurmstepd has not loaded it. */
static void *plugin_of(const char *name)
{
	const char *dir = slurm_conf.plugindir;
	void *dl = NULL;
	char path[PATH_MAX];

	while (dir && *dir && !dl) {
		size_t len = strcspn(dir, ":");

		if ((size_t)snprintf(path, sizeof(path), "%.*s/gres_%s.so", (int)len, dir, name) <
		    sizeof(path))
			dl = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
		dir += len + (dir[len] == ':');
	}
	return dl;
}

struct search {
	int id; /* number in the device file's name */
	uint64_t count;
};

static int find_device(void *element, void *arg)
{
	const shared_dev_info_t *info = element;
	struct search *search = arg;

	if (info->id == search->id)
		search->count = info->count;
	return 0;
}

static uint64_t shares_of(CEEMS_LIST info, unsigned int unit)
{
	struct search nvidia = { .id = (int)unit };
	struct search amd = { .id = (int)unit + FIRST_RENDER_NODE };

	(void)list_for_each(info, find_device, &nvidia);
	(void)list_for_each(info, find_device, &amd);
	return nvidia.count ? nvidia.count : amd.count;
}

static void gres_shared_scale_shares(CEEMS_LIST info, uint64_t count, uint32_t ppm[GPUS_MAX])
{
	uint64_t gpus = 0;
	unsigned int u;

	for (u = 0; u < GPUS_MAX; u++)
		gpus += ppm[u] > 0;
	for (u = 0; u < GPUS_MAX; u++) {
		uint64_t all = ppm[u] ? shares_of(info, u) * gpus : 0;

		if (all && count < all)
			ppm[u] = (uint32_t)(WHOLE * count / all);
	}
}

void gres_shared_scale(CEEMS_LIST gres, bool is_job, uint32_t ppm[GPUS_MAX])
{
	static const char *const names[] = { "shard", "mps" };
	const gres_state_t *shared;
	size_t i;

	/* a job with both whole and shared GPUs: it is not known which of its GPUs is shared */
	if (list_find_first(gres, has_name, (void *)"gpu"))
		return;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CEEMS_LIST *info;
		void *dl;

		shared = list_find_first(gres, has_name, (void *)names[i]);
		dl = shared ? plugin_of(names[i]) : NULL;
		if (!dl)
			continue;
		/* an internal variable of the plugin: no public function says how many shares a GPU has */
		info = dlsym(dl, "shared_info");
		if (info && *info && abi_shares_is_right(*info))
			gres_shared_scale_shares(*info, held(shared, is_job), ppm);
		(void)dlclose(dl);
	}
}
