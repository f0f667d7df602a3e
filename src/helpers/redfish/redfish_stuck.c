/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/redfish/redfish_stuck.h"

#include "src/libutil/clock.h"

bool redfish_stuck_note(struct redfish_stuck *s, uint64_t uj, uint64_t mw, uint64_t t_ns)
{
	if (!s->t_ns || uj != s->uj) {
		if (s->t_ns && uj > s->uj && uj - s->uj > s->step_uj)
			s->step_uj = uj - s->uj;
		s->due_uj = 0;
		s->still = 0;
	} else {
		s->due_uj += mw * ((t_ns - s->t_ns) / NSEC_PER_MSEC);
		s->still++;
	}
	s->uj = uj;
	s->t_ns = t_ns;
	return s->still >= REDFISH_STUCK_ANSWERS && s->due_uj >= REDFISH_STUCK_UJ &&
	       s->due_uj / REDFISH_STUCK_STEPS >= s->step_uj;
}
