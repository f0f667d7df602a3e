/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_stuck.h - decides whether EnergyJoules stands still although PowerWatts beside it shows power.
 */
#ifndef CEEMS_REDFISH_STUCK_H
#define CEEMS_REDFISH_STUCK_H

#include <stdbool.h>
#include <stdint.h>

/* A counter may count in steps of 3.6 kJ (0.001 kWh), or in those that it was seen to make. */
#define REDFISH_STUCK_ANSWERS 5
#define REDFISH_STUCK_STEPS 4
#define REDFISH_STUCK_UJ UINT64_C(20000000000)

/* Zeroed: nothing is known. */
struct redfish_stuck {
	uint64_t uj, t_ns;  /* the last answer; 0: none yet */
	uint64_t due_uj;    /* what should have been counted since the value changed, by the power */
	uint64_t step_uj;   /* the largest step so far */
	unsigned int still; /* answers with the same value */
};

/* Takes an answer of T_NS: the counter UJ and the power MW beside it. True: the counter is stuck. */
bool redfish_stuck_note(struct redfish_stuck *s, uint64_t uj, uint64_t mw, uint64_t t_ns);

#endif
