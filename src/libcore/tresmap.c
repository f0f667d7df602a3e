/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/tresmap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/parse.h"

/* slurm.h: the three largest numbers, NO_CONSUME_VAL64, NO_VAL64 and INFINITE64, mean unknown. */
#define FIRST_UNKNOWN UINT64_C(0xfffffffffffffffd)

void tresmap_init(struct tresmap *map)
{
	memset(map, 0, sizeof(*map));
	map->id[METRIC_ENERGY] = TRESMAP_ENERGY;
}

void tresmap_learn(struct tresmap *map, uint32_t id, const char *type, const char *name)
{
	char tres[128];
	unsigned int m;

	if (!type || !name)
		return;
	(void)snprintf(tres, sizeof(tres), "%s/%s", type, name);
	metric_foreach(m)
		if (!strcmp(metric_table[m].tres, tres))
			map->id[m] = id;
}

int tresmap_value(const char *usage, uint32_t id, uint64_t *ret)
{
	char digits[24];

	while (usage && *usage) {
		size_t len = strcspn(usage, ",");
		const char *equals = memchr(usage, '=', len);
		uint64_t value;
		uint64_t n;

		if (equals && parse_u64_n(usage, (size_t)(equals - usage), &n) == 0 && n == id) {
			size_t n_digits = len - (size_t)(equals + 1 - usage);

			if (n_digits >= sizeof(digits))
				return -ENODATA;
			memcpy(digits, equals + 1, n_digits);
			digits[n_digits] = '\0';
			if (parse_u64(digits, &value) < 0 || value >= FIRST_UNKNOWN)
				return -ENODATA;
			*ret = value;
			return 0;
		}
		usage += len + (usage[len] == ',');
	}
	return -ENODATA;
}

/* Parses "1-02:03:04", a time as sacct prints it. -ENODATA: malformed. */
static int parse_clock(const char *text, uint64_t *ret_ns)
{
	static const uint64_t per[] = { 24, 60, 60 };
	const char *dash = strchr(text, '-');
	uint64_t total = 0;
	uint64_t n;
	size_t i;

	if (dash && (parse_u64_n(text, (size_t)(dash - text), &total) < 0 || total > UINT32_MAX))
		return -ENODATA;
	text = dash ? dash + 1 : text;
	for (i = 0; i < sizeof(per) / sizeof(per[0]); i++) {
		size_t len = strcspn(text, ":");
		bool is_last = i + 1 == sizeof(per) / sizeof(per[0]);

		if (parse_u64_n(text, len, &n) < 0 || n > UINT32_MAX || (text[len] == '\0') != is_last)
			return -ENODATA;
		total = total * per[i] + n;
		text += len + !is_last;
	}
	*ret_ns = total * NSEC_PER_SEC;
	return 0;
}

int tresmap_named_value(const char *usage, const char *name, uint64_t *ret)
{
	size_t name_len = strlen(name);
	char text[32];
	uint64_t value;

	while (usage && *usage) {
		size_t len = strcspn(usage, ",");

		if (len > name_len && !strncmp(usage, name, name_len) && usage[name_len] == '=') {
			(void)snprintf(text, sizeof(text), "%.*s", (int)(len - name_len - 1),
				       usage + name_len + 1);
			if (!strcmp(name, "cpu"))
				return parse_clock(text, ret);
			if (parse_u64(text, &value) < 0 || value >= FIRST_UNKNOWN)
				return -ENODATA;
			*ret = value;
			return 0;
		}
		usage += len + (usage[len] == ',');
	}
	return -ENODATA;
}

/*
 * Whether M is the largest value of any node. KIND_NODES is not: each node counts 1, so Slurm's sum
 * is the number of nodes.
 */
static bool is_largest_of_nodes(enum metric m)
{
	return metric_table[m].fold == FOLD_MAX && metric_table[m].kind != KIND_NODES;
}

void tresmap_read(const struct tresmap *map, const char *tot, const char *max, enum metric_side side,
		  struct values *values)
{
	unsigned int m;
	uint64_t value;

	metric_foreach(m)
		if (map->id[m] && metric_table[m].side == side &&
		    tresmap_value(is_largest_of_nodes((enum metric)m) ? max : tot, map->id[m], &value) == 0)
			values_set(values, m, metric_from_tres(m, value));
}

void tresmap_read_named(const char *tot, const char *max, enum metric_side side, struct values *values)
{
	unsigned int m;
	uint64_t value;

	if (side == SIDE_IN && tresmap_named_value(tot, "cpu", &value) == 0)
		values_set(values, METRIC_CPU_TIME, value);
	metric_foreach(m)
		if (metric_table[m].tres[0] && metric_table[m].side == side &&
		    tresmap_named_value(is_largest_of_nodes((enum metric)m) ? max : tot, metric_table[m].tres,
					&value) == 0)
			values_set(values, m, metric_from_tres(m, value));
}

/* Returns the metric that counts the nodes on which M is known. */
static enum metric nodes_metric(enum metric m)
{
	switch (m) {
	case METRIC_ENERGY:
		return METRIC_ENERGY_NODES;
	case METRIC_MEMORY_PEAK:
		return METRIC_MEMORY_NODES;
	default:
		return METRIC_CPU_TIME_NODES;
	}
}

int tresmap_max(const struct tresmap *map, enum metric m, const char *max, const char *max_nodeid,
		const struct values *values, uint32_t nnodes, uint64_t *ret_max, uint32_t *ret_nodeid)
{
	enum metric nodes = nodes_metric(m);
	uint64_t value;
	uint64_t node;

	if (nnodes < 2 || !values_has(values, nodes) || values->value[nodes] != nnodes)
		return -ENODATA;
	if (!map->id[m] || tresmap_value(max, map->id[m], &value) < 0 ||
	    tresmap_value(max_nodeid, map->id[m], &node) < 0 || node >= nnodes)
		return -ENODATA;
	*ret_max = metric_from_tres(m, value);
	*ret_nodeid = (uint32_t)node;
	return 0;
}

uint32_t tresmap_cpus(const char *tres)
{
	uint64_t n;

	return tresmap_value(tres, TRESMAP_CPU, &n) == 0 && n <= UINT32_MAX ? (uint32_t)n : 0;
}
