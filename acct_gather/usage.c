/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/usage.h"

#include <string.h>

/* One side (in or out) of one TRES in a step's usage. */
struct usage_cell {
	uint64_t *tot, *max, *min, *max_node, *min_node, *max_task, *min_task;
};

static struct usage_cell cell_of(struct jobacctinfo *j, enum metric_side side, int pos)
{
	if (side == SIDE_IN)
		return (struct usage_cell){
			&j->tres_usage_in_tot[pos],	   &j->tres_usage_in_max[pos],
			&j->tres_usage_in_min[pos],	   &j->tres_usage_in_max_nodeid[pos],
			&j->tres_usage_in_min_nodeid[pos], &j->tres_usage_in_max_taskid[pos],
			&j->tres_usage_in_min_taskid[pos],
		};
	return (struct usage_cell){
		&j->tres_usage_out_tot[pos],	    &j->tres_usage_out_max[pos],
		&j->tres_usage_out_min[pos],	    &j->tres_usage_out_max_nodeid[pos],
		&j->tres_usage_out_min_nodeid[pos], &j->tres_usage_out_max_taskid[pos],
		&j->tres_usage_out_min_taskid[pos],
	};
}

/* Sets the value of a node. It is not known from which task the value is. */
static void cell_set(struct usage_cell c, uint64_t value, uint32_t nodeid)
{
	*c.tot = *c.max = *c.min = value;
	*c.max_node = *c.min_node = nodeid;
	*c.max_task = *c.min_task = INFINITE64;
}

static void cell_clear(struct usage_cell c)
{
	*c.tot = *c.max = *c.min = INFINITE64;
	*c.max_node = *c.min_node = INFINITE64;
	*c.max_task = *c.min_task = INFINITE64;
}

/* Returns the position of TRES, such as "ic/ceems_co2e" or "energy". -1: this cluster does not account it. */
static int find_tres(const char *tres, uint32_t count)
{
	char type[16];
	char name[64] = "";
	slurmdb_tres_rec_t rec;
	int pos;

	if (sscanf(tres, "%15[^/]/%63s", type, name) < 1)
		return -1;
	memset(&rec, 0, sizeof(rec));
	rec.type = type;
	rec.name = name[0] ? name : NULL;
	pos = assoc_mgr_find_tres_pos(&rec, false);
	return pos >= 0 && (uint32_t)pos < count ? pos : -1;
}

static void write_energy(struct jobacctinfo *j, const struct values *f, uint32_t nodeid, uint32_t nnodes,
			 uint64_t mean_w)
{
	struct usage_cell joules = cell_of(j, SIDE_IN, TRES_ARRAY_ENERGY);
	struct usage_cell watts = cell_of(j, SIDE_OUT, TRES_ARRAY_ENERGY);

	if (j->tres_count <= TRES_ARRAY_ENERGY)
		return;
	if (!values_has(f, METRIC_ENERGY)) {
		cell_clear(joules);
		cell_clear(watts);
		/*
		 * NO_VAL64 from one node makes the energy of the whole step unknown. With several
		 * nodes it is 0 instead, so that the joules of the other nodes are not lost.
		 */
		j->energy.consumed_energy = nnodes > 1 ? 0 : NO_VAL64;
		return;
	}
	j->energy.consumed_energy = metric_to_tres(METRIC_ENERGY, f->value[METRIC_ENERGY]);
	cell_set(joules, j->energy.consumed_energy, nodeid);
	cell_set(watts, mean_w, nodeid);
}

/*
 * Returns for each metric the position of its TRES; -1: this cluster does not account it. The positions do
 * not change while a slurmstepd lives, so they are searched once.
 */
static const int *find_all(uint32_t count)
{
	static int pos[METRIC_N];
	static uint32_t known_count;
	unsigned int m;

	if (count && known_count == count)
		return pos;
	metric_foreach(m)
		pos[m] = metric_table[m].tres[0] ? find_tres(metric_table[m].tres, count) : -1;
	known_count = count;
	return pos;
}

static void write_metrics(struct jobacctinfo *j, const struct values *values, uint32_t nodeid, bool is_final)
{
	const int *pos = find_all(j->tres_count);
	struct values f = *values;
	unsigned int m;

	/* Slurm sums these over the nodes. The recorder sees by the sum whether all nodes have measured. */
	if (!values_has(&f, METRIC_ENERGY_NODES)) /* else stepside.c has set it */
		values_set(&f, METRIC_ENERGY_NODES, values_has(&f, METRIC_ENERGY));
	values_set(&f, METRIC_CPU_TIME_NODES, values_has(&f, METRIC_CPU_TIME));
	values_set(&f, METRIC_MEMORY_NODES, values_has(&f, METRIC_MEMORY_PEAK));
	metric_foreach(m) {
		struct usage_cell c;

		if (m == METRIC_ENERGY || pos[m] < 0)
			continue;
		c = cell_of(j, metric_table[m].side, pos[m]);
		if (values_has(&f, (enum metric)m))
			cell_set(c, metric_to_tres((enum metric)m, f.value[m]), nodeid);
		else if (is_final)
			cell_clear(c);
	}
}

void usage_write(struct jobacctinfo *j, const struct values *values, uint32_t nodeid, uint32_t nnodes,
		 uint64_t mean_w)
{
	write_energy(j, values, nodeid, nnodes, mean_w);
	write_metrics(j, values, nodeid, /* is_final= */ true);
}

void usage_write_live(struct jobacctinfo *j, const struct values *values, uint32_t nodeid)
{
	write_metrics(j, values, nodeid, /* is_final= */ false);
}
