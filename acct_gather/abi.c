/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/abi.h"

#include <stddef.h>

bool abi_is_right(void)
{
	acct_gather_energy_t *energy = acct_gather_energy_alloc(1);
	bool right = ABI_IS_AS_BUILT(conf) && ABI_IS_AS_BUILT(energy);

	acct_gather_energy_destroy(energy);
	return right;
}

bool abi_step_is_right(const stepd_step_rec_t *step)
{
	return ABI_IS_AS_BUILT(step) && (!step->jobacct || ABI_IS_AS_BUILT(step->jobacct));
}

/* list_for_each() ends at a negative value and returns it. */
#define GO_ON 0
#define STOP (-1)

/* Checks one GRES record. *ARG is the size of its data, a size_t. */
static int check_gres(void *element, void *arg)
{
	const gres_state_t *gres = element;
	const size_t *size = arg;

	if (!ABI_IS_AS_BUILT(gres) || !gres->gres_data)
		return STOP;
	return xsize(gres->gres_data) == *size ? GO_ON : STOP;
}

static int check_device(void *element, void *arg)
{
	const gres_device_t *device = element;

	(void)arg;
	return ABI_IS_AS_BUILT(device) ? GO_ON : STOP;
}

static int check_share(void *element, void *arg)
{
	const shared_dev_info_t *share = element;

	(void)arg;
	return ABI_IS_AS_BUILT(share) ? GO_ON : STOP;
}

bool abi_gres_is_right(CEEMS_LIST gres, bool is_job)
{
	size_t size = is_job ? sizeof(gres_job_state_t) : sizeof(gres_step_state_t);

	return list_for_each(gres, check_gres, &size) >= 0;
}

bool abi_devices_is_right(CEEMS_LIST devices)
{
	return list_for_each(devices, check_device, NULL) >= 0;
}

bool abi_shares_is_right(CEEMS_LIST shares)
{
	return list_for_each(shares, check_share, NULL) >= 0;
}

/* Returns true if each array of usage has tres_count entries. */
static bool has_rows(const struct jobacctinfo *j)
{
	uint64_t *const row[] = {
		j->tres_usage_in_tot,	      j->tres_usage_in_max,	    j->tres_usage_in_min,
		j->tres_usage_in_max_nodeid,  j->tres_usage_in_min_nodeid,  j->tres_usage_in_max_taskid,
		j->tres_usage_in_min_taskid,  j->tres_usage_out_tot,	    j->tres_usage_out_max,
		j->tres_usage_out_min,	      j->tres_usage_out_max_nodeid, j->tres_usage_out_min_nodeid,
		j->tres_usage_out_max_taskid, j->tres_usage_out_min_taskid,
	};
	size_t i;

	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (!row[i] || xsize(row[i]) != j->tres_count * sizeof(*row[i]))
			return false;
	return true;
}

struct jobacctinfo *abi_task_of(acct_gather_energy_t *energy)
{
	struct jobacctinfo *j = (struct jobacctinfo *)((char *)energy - offsetof(struct jobacctinfo, energy));

	return ABI_IS_AS_BUILT(j) && has_rows(j) ? j : NULL;
}
