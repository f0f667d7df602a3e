/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model estimates the power of nodes without a sensor: idle power + (full load - idle power) x
 * share of CPU time in use, as SPECpower results are usually interpolated. It works on all nodes,
 * and its result is always marked as an estimate.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libcore/settings.h"
#include "src/libmeter/sensor/model/model_table.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/wide_math.h"

#define PPM UINT32_C(1000000)

/*
 * 1 mW x 1 ppm x 1 ns is 1e-18 J. The fraction of a microjoule is saved under this name for the
 * next reading, perhaps in another process. So ten thousand short ticks give the same energy as a
 * long one.
 */
#define REST "model rest 1e-18J"
#define UNITS_PER_UJ UINT64_C(1000000000000)

struct source {
	uint64_t idle_mw;
	uint64_t max_mw;
	char idle_from[64];
	char max_from[64];
};

static void by_table(const struct model_cpu *cpu, char *from, size_t size)
{
	if (cpu == &model_cpu_default)
		snprintf(from, size, "%s", cpu->name);
	else
		snprintf(from, size, "CPU table: %s", cpu->name);
}

static int model_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	struct source *s = calloc(1, sizeof(*s));
	const struct model_cpu *cpu;
	uint32_t cpus;

	if (!s)
		return errmsg_set(err, -ENOMEM, "model: out of memory");
	cpu = model_cpu_find(env->sys_root, &cpus);
	snprintf(s->idle_from, sizeof(s->idle_from), "configured");
	snprintf(s->max_from, sizeof(s->max_from), "configured");
	s->idle_mw = env->settings->model_idle_mw;
	s->max_mw = env->settings->model_max_mw;
	if (!s->idle_mw) {
		s->idle_mw = (uint64_t)cpu->idle_mw * cpus;
		by_table(cpu, s->idle_from, sizeof(s->idle_from));
	}
	if (!s->max_mw) {
		s->max_mw = (uint64_t)cpu->max_mw * cpus;
		by_table(cpu, s->max_from, sizeof(s->max_from));
	}
	if (s->max_mw < s->idle_mw) {
		int rc = errmsg_set(err, -EINVAL,
				    "model: full load %" PRIu64 ".%03" PRIu64
				    " W (ModelMaxWatts, %s) is below idle %" PRIu64 ".%03" PRIu64
				    " W (ModelIdleWatts, %s)",
				    s->max_mw / 1000, s->max_mw % 1000, s->max_from, s->idle_mw / 1000,
				    s->idle_mw % 1000, s->idle_from);
		free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

static int model_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
		      struct reading *ret)
{
	const uint64_t *rest = source_state_find(state, REST);
	u128 power = (u128)s->idle_mw * PPM;
	u128 units = 0;
	struct reading out = { 0 };
	struct part *part;
	int rc;

	power += (u128)(s->max_mw - s->idle_mw) * (busy_ppm < PPM ? busy_ppm : PPM);
	if (rest && __builtin_mul_overflow(power, (u128)dt_ns, &units))
		return -EINVAL; /* possible only if the clock is broken */
	if (rest)
		units += *rest % UNITS_PER_UJ;
	if (units / UNITS_PER_UJ > INT64_MAX)
		return -EINVAL;
	rc = source_state_put(state, REST, (uint64_t)(units % UNITS_PER_UJ));
	if (rc < 0)
		return rc;
	part = reading_part(&out, DOMAIN_OTHER, 0, QUALITY_ESTIMATE);
	part->energy_uj = (uint64_t)(units / UNITS_PER_UJ);
	part->idle_mw = s->idle_mw;
	*ret = out;
	return 0;
}

static void model_describe(const struct source *s, char *buf, size_t size)
{
	int n = snprintf(buf, size,
			 "estimate: idle %" PRIu64 ".%" PRIu64 " W, full load %" PRIu64 ".%" PRIu64 " W",
			 s->idle_mw / 1000, s->idle_mw / 100 % 10, s->max_mw / 1000, s->max_mw / 100 % 10);

	if (n < 0 || (size_t)n >= size)
		return;
	if (!strcmp(s->idle_from, s->max_from))
		snprintf(buf + n, size - (size_t)n, " (%s)", s->idle_from);
	else
		snprintf(buf + n, size - (size_t)n, " (idle %s, full load %s)", s->idle_from, s->max_from);
}

static void model_close(struct source *s)
{
	free(s);
}

const struct source_ops source_model = {
	.id = SOURCE_MODEL,
	.open = model_open,
	.read = model_read,
	.describe = model_describe,
	.close = model_close,
};
