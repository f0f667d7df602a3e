/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/integrate.h"
#include "src/libutil/wide_math.h"

#include <errno.h>
#include <stdio.h>

/* The unit is half of 1 mW x 1 ns (1e-12 J), because the trapezoid rule halves the sum of two samples. */
#define UNITS_PER_UJ UINT64_C(2000000)

/* In the state, one number has both the rest, in its lower bits, and the power, in 43 bits: up to 8.8 GW. */
#define REST_BITS 21
#define REST_MASK ((UINT64_C(1) << REST_BITS) - 1)
#define STATE_MAX_MW (UINT64_MAX >> REST_BITS)
_Static_assert(UNITS_PER_UJ <= REST_MASK + 1, "the rest fits its bits");

static void start_at(struct integrate *i, uint64_t power_mw, uint64_t t_ns)
{
	i->last_mw = power_mw;
	i->last_ns = t_ns;
}

int integrate_add(struct integrate *i, uint64_t power_mw, uint64_t t_ns, uint64_t *ret_uj)
{
	uint64_t gap_ns = t_ns > i->last_ns ? t_ns - i->last_ns : i->last_ns - t_ns;
	u128 units;

	if (power_mw > i->max_mw)
		return -ERANGE;
	if (!i->last_ns || t_ns == i->last_ns) {
		if (!i->last_ns)
			start_at(i, power_mw, t_ns);
		*ret_uj = 0;
		return 0;
	}
	if (gap_ns > i->max_gap_ns) {
		start_at(i, power_mw, t_ns);
		return -ETIME;
	}
	if (t_ns < i->last_ns)
		return -ESTALE;
	units = ((u128)i->last_mw + power_mw) * gap_ns + i->rest;
	if (units / UNITS_PER_UJ > INT64_MAX)
		return -ERANGE; /* possible only if the caller's limits are too large */
	*ret_uj = (uint64_t)(units / UNITS_PER_UJ);
	i->rest = (uint64_t)(units % UNITS_PER_UJ);
	start_at(i, power_mw, t_ns);
	return 0;
}

struct names {
	char ns[sizeof(((struct source_counter *)0)->name)];
	char mw[sizeof(((struct source_counter *)0)->name)];
};

static int names_of(const char *name, struct names *ret)
{
	/* the other suffix has the same length, so it fits, too */
	if ((size_t)snprintf(ret->ns, sizeof(ret->ns), "%s ns", name) >= sizeof(ret->ns))
		return -ENAMETOOLONG;
	(void)snprintf(ret->mw, sizeof(ret->mw), "%s mW", name);
	return 0;
}

/* Loads the last sample. One that exceeds the limits was not saved by this module, and is ignored. */
static void load(struct integrate *i, struct source_state *state, const struct names *names)
{
	const uint64_t *ns = source_state_find(state, names->ns);
	const uint64_t *mw = source_state_find(state, names->mw);

	i->last_ns = i->last_mw = i->rest = 0;
	if (!ns || !mw || *mw >> REST_BITS > i->max_mw || (*mw & REST_MASK) >= UNITS_PER_UJ)
		return;
	i->last_ns = *ns;
	i->last_mw = *mw >> REST_BITS;
	i->rest = *mw & REST_MASK;
}

static int save(const struct integrate *i, struct source_state *state, const struct names *names)
{
	int rc = source_state_put(state, names->mw, i->last_mw << REST_BITS | i->rest);

	if (rc < 0)
		return rc;
	rc = source_state_put(state, names->ns, i->last_ns);
	if (rc < 0)
		source_state_drop(state, names->mw);
	return rc;
}

int integrate_book(struct integrate *i, struct source_state *state, const char *name, uint64_t power_mw,
		   uint64_t t_ns, struct reading *r, struct part *part)
{
	struct names names;
	uint64_t uj = 0;
	int rc = names_of(name, &names);
	bool is_first = false;
	int saved;

	if (rc == 0) {
		load(i, state, &names);
		is_first = !i->last_ns;
		rc = power_mw > STATE_MAX_MW ? -ERANGE : integrate_add(i, power_mw, t_ns, &uj);
	}
	if (rc == 0 || rc == -ETIME) {
		saved = save(i, state, &names);
		if (saved < 0)
			rc = saved;
	}
	if (rc == -ETIME)
		r->late++;
	else if (rc < 0)
		r->rejected++;
	else
		part->energy_uj += uj;
	part->is_new_base |= rc == -ETIME || (rc == 0 && is_first);
	if ((rc == 0 || rc == -ETIME) && (!part->until_ns || part->until_ns > i->last_ns))
		part->until_ns = i->last_ns;
	return rc;
}
