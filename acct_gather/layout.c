/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/layout.h"

#include <stddef.h>

/* Slurm's allocator knows the size of what it gave. */
#define IS_AS_BUILT(p) (xsize(p) == sizeof(*(p)))

bool layout_is_right(void)
{
	acct_gather_energy_t *energy = acct_gather_energy_alloc(1);
	bool right = IS_AS_BUILT(conf) && IS_AS_BUILT(energy);

	acct_gather_energy_destroy(energy);
	return right;
}

bool layout_of_step_is_right(const stepd_step_rec_t *step)
{
	stepd_step_rec_t *s = (stepd_step_rec_t *)step; /* xsize() takes it without const */

	return IS_AS_BUILT(s) && (!s->jobacct || IS_AS_BUILT(s->jobacct));
}

/* Are all arrays as long as the list of TRES? */
static bool has_rows(const struct jobacctinfo *j)
{
	uint64_t *const row[] = {
		j->tres_usage_in_tot,	      j->tres_usage_in_max,	   j->tres_usage_in_min,
		j->tres_usage_in_max_nodeid,  j->tres_usage_in_min_nodeid, j->tres_usage_in_max_taskid,
		j->tres_usage_in_min_taskid,  j->tres_usage_out_tot,	   j->tres_usage_out_max,
		j->tres_usage_out_min,	      j->tres_usage_out_max_nodeid, j->tres_usage_out_min_nodeid,
		j->tres_usage_out_max_taskid, j->tres_usage_out_min_taskid,
	};
	size_t i;

	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (!row[i] || xsize(row[i]) != j->tres_count * sizeof(*row[i]))
			return false;
	return true;
}

struct jobacctinfo *layout_task_of(acct_gather_energy_t *energy)
{
	struct jobacctinfo *j =
		(struct jobacctinfo *)((char *)energy - offsetof(struct jobacctinfo, energy));

	return IS_AS_BUILT(j) && has_rows(j) ? j : NULL;
}
