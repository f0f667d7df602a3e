/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/layout.h"

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
