/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_node.h - a node of sensors in memory: counters that wrap, are reset, fail and come late,
 * read through the project's own counter.h and sources.h. What they were fed with is known.
 */
#ifndef CEEMS_FAKE_NODE_H
#define CEEMS_FAKE_NODE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libmeter/sensor/counter.h"
#include "src/libnode/sources.h"

enum sensor_id {
	SENSOR_SOCKETS, /* CPU and DRAM */
	SENSOR_GPUS,
	SENSOR_NODE, /* the rest of the node, or all of it; slower than the tick */
	SENSORS
};

#define SENSOR_COUNTERS 8

enum sensor_fault {
	SENSOR_GOOD,
	SENSOR_COUNTER_FAILS, /* the first counter cannot be read */
	SENSOR_FAILS,	      /* nor any other */
	SENSOR_IS_LATE,	      /* shows nothing new, and says so */
};

struct fake_counter {
	enum domain domain;
	unsigned int unit;
	uint64_t range_uj;
	uint64_t raw_uj;
	uint64_t fed_uj;   /* the truth, since it began to count */
	uint64_t shown_uj; /* of that, what has been read: since its first reading */
	uint64_t base_uj;  /* of that, what was there at its first reading */
	bool has_base;
};

struct fake_sensor {
	unsigned int n;
	struct fake_counter counter[SENSOR_COUNTERS];
	enum sensor_fault fault; /* of the next reading */
	bool is_whole_node;
	bool is_fresh; /* a slow sensor shows what it was fed with */
	uint64_t pending_uj[SENSOR_COUNTERS];
};

/* There is one node at a time. */
static struct fake_sensor fake_node[SENSORS];

struct source {
	struct fake_sensor *sensor;
	struct counter counter[SENSOR_COUNTERS];
};

static inline void fake_node_add(enum sensor_id id, enum domain d, unsigned int unit, uint64_t range_uj,
				 uint64_t raw_uj)
{
	struct fake_sensor *s = &fake_node[id];

	s->counter[s->n++] = (struct fake_counter){
		.domain = d, .unit = unit, .range_uj = range_uj, .raw_uj = raw_uj
	};
}

/* Nothing is seen of it before the sensor is fresh. */
static inline void fake_node_feed(enum sensor_id id, unsigned int counter, uint64_t uj)
{
	fake_node[id].pending_uj[counter] += uj;
}

static inline void fake_node_reset(enum sensor_id id, unsigned int counter)
{
	fake_node[id].counter[counter].raw_uj = 0;
}

static inline void fake_node_refresh(struct fake_sensor *s)
{
	unsigned int i;

	for (i = 0; i < s->n && s->is_fresh; i++) {
		struct fake_counter *c = &s->counter[i];

		c->fed_uj += s->pending_uj[i];
		c->raw_uj = (c->raw_uj + s->pending_uj[i]) % (c->range_uj + 1);
		s->pending_uj[i] = 0;
	}
}

static inline int fake_node_open(enum sensor_id id, struct source **ret)
{
	struct source *s = calloc(1, sizeof(*s));
	unsigned int i;

	if (!s)
		return -ENOMEM;
	s->sensor = &fake_node[id];
	for (i = 0; i < SENSOR_COUNTERS; i++)
		s->counter[i] = (struct counter){
			.range_uj = s->sensor->counter[i].range_uj,
			/* what a slow sensor shows at once is of more than its last tick */
			.max_w = COUNTER_PLATFORM_MAX_W,
		};
	*ret = s;
	return s->sensor->n ? 0 : -ENODEV;
}

static inline void fake_node_close(struct source *s)
{
	free(s);
}

/* One counter of a tick: base and age live in the state, as rapl's. */
static inline void fake_node_read_one(struct source *s, unsigned int i, uint64_t dt_ns,
				      struct source_state *state, struct reading *ret)
{
	struct fake_counter *c = &s->sensor->counter[i];
	struct counter *k = &s->counter[i];
	enum part_scope scope = s->sensor->is_whole_node ? SCOPE_NODE : SCOPE_UNIT;
	struct part *part = reading_part_of(ret, scope, 0, c->domain, c->unit, QUALITY_COUNTER);
	char name[2][24];
	const uint64_t *base;
	const uint64_t *age;
	uint64_t base_uj;
	uint64_t uj = 0;
	bool wrapped = false;

	(void)snprintf(name[0], sizeof(name[0]), "counter %u", i);
	(void)snprintf(name[1], sizeof(name[1]), "age %u", i);
	base = source_state_find(state, name[0]);
	age = source_state_find(state, name[1]);
	base_uj = base ? *base : c->raw_uj;
	if (age && !k->age_ns)
		k->age_ns = *age;
	if (s->sensor->fault == SENSOR_FAILS || (s->sensor->fault == SENSOR_COUNTER_FAILS && i == 0)) {
		counter_miss(k, dt_ns);
		ret->rejected++;
	} else if (!base) {
		c->has_base = true;
		c->base_uj = c->fed_uj;
		(void)source_state_put(state, name[0], c->raw_uj);
	} else if (counter_advance(k, &base_uj, c->raw_uj, dt_ns, &uj, &wrapped) < 0) {
		ret->rejected++;
		(void)source_state_put(state, name[0], base_uj);
	} else {
		part->energy_uj += uj;
		ret->wraps += wrapped;
		c->shown_uj = c->fed_uj - c->base_uj;
		(void)source_state_put(state, name[0], base_uj);
	}
	(void)source_state_put(state, name[1], k->age_ns);
}

static inline int fake_node_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm,
				 struct source_state *state, struct reading *ret)
{
	unsigned int i;

	(void)busy_ppm;
	if (s->sensor->fault == SENSOR_IS_LATE)
		ret->late++;
	else
		fake_node_refresh(s->sensor);
	for (i = 0; i < s->sensor->n; i++)
		fake_node_read_one(s, i, dt_ns, state, ret);
	return s->sensor->fault == SENSOR_FAILS ? -EIO : 0;
}

#define FAKE_OPEN(name_, id_)                                                                   \
	static int name_(const struct source_env *env, struct source **ret, struct errmsg *err) \
	{                                                                                       \
		int rc = fake_node_open(id_, ret);                                              \
                                                                                                \
		(void)env;                                                                      \
		if (rc == -ENODEV)                                                              \
			fake_node_close(*ret);                                                  \
		return rc < 0 ? errmsg_errno(err, rc, "sensor") : 0;                            \
	}
FAKE_OPEN(fake_open_sockets, SENSOR_SOCKETS)
FAKE_OPEN(fake_open_gpus, SENSOR_GPUS)
FAKE_OPEN(fake_open_node, SENSOR_NODE)

static const struct source_ops fake_sockets = {
	.id = SOURCE_RAPL,
	.open = fake_open_sockets,
	.read = fake_node_read,
	.close = fake_node_close,
};
static const struct source_ops fake_gpus = {
	.id = SOURCE_NVML,
	.open = fake_open_gpus,
	.read = fake_node_read,
	.close = fake_node_close,
};
static const struct source_ops fake_whole = {
	.id = SOURCE_EXTERNAL,
	.open = fake_open_node,
	.read = fake_node_read,
	.close = fake_node_close,
};
static const struct source_ops *const fake_node_sources[SENSORS] = { &fake_sockets, &fake_gpus, &fake_whole };
#define FAKE_NODE_CHOICE "rapl,nvml,external"

#endif
