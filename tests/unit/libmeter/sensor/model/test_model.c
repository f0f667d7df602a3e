/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The estimate of a node without sensors: its idle and full power for several machines,
 * and its energy over time.
 */
#include <errno.h>

#include "reading_sums.h"
#include "src/libcore/settings.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

static void test_open(void)
{
	static const struct {
		const char *name;
		const char *machine;
		uint64_t idle_mw, max_mw;
		int rc;
		const char *text; /* of the error or of the description */
	} t[] = {
		{ "max below idle", "xeon-2s", 200000, 100000, -EINVAL,
		  "model: full load 100.000 W (ModelMaxWatts, configured) is below idle "
		  "200.000 W "
		  "(ModelIdleWatts, configured)" },
		{ "idle above the table's max", "xeon-2s", 200000, 0, -EINVAL,
		  "model: full load 15.040 W (ModelMaxWatts, CPU table: Xeon Cascade "
		  "Lake) is below "
		  "idle 200.000 W (ModelIdleWatts, configured)" },
		{ "max below the table's idle", "epyc-1s", 0, 10, -EINVAL,
		  "model: full load 0.010 W (ModelMaxWatts, configured) is below idle "
		  "3.440 W "
		  "(ModelIdleWatts, CPU table: EPYC Rome)" },
		{ "configured", "xeon-2s", 95500, 300000, 0,
		  "estimate: idle 95.5 W, full load 300.0 W (configured)" },
		{ "idle is full load", "xeon-2s", 50000, 50000, 0,
		  "estimate: idle 50.0 W, full load 50.0 W (configured)" },
		{ "half configured", "epyc-1s", 0, 400000, 0,
		  "estimate: idle 3.4 W, full load 400.0 W (idle CPU table: EPYC Rome, "
		  "full load "
		  "configured)" },
		{ "by table, Intel", "xeon-2s", 0, 0, 0,
		  "estimate: idle 2.0 W, full load 15.0 W (CPU table: Xeon Cascade "
		  "Lake)" },
		{ "by table, AMD", "epyc-1s", 0, 0, 0,
		  "estimate: idle 3.4 W, full load 13.3 W (CPU table: EPYC Rome)" },
		{ "by table, Arm", "altra-1s", 0, 0, 0,
		  "estimate: idle 1.2 W, full load 3.8 W (CPU table: Neoverse N1)" },
		{ "unknown CPU", "unknown-cpu", 0, 0, 0,
		  "estimate: idle 1.4 W, full load 7.0 W (per-core default)" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		char root[256];
		char text[256] = "";
		const struct settings settings = {
			.model_idle_mw = t[i].idle_mw,
			.model_max_mw = t[i].max_mw,
		};
		struct source_env env = { .settings = &settings, .sys_root = root };
		struct source *s = NULL;
		struct errmsg err = { 0 };
		int rc;

		snprintf(root, sizeof(root), FIXTURES "/%s", t[i].machine);
		rc = source_model.open(&env, &s, &err);
		if (rc == 0)
			source_model.describe(s, text, sizeof(text));
		is_int(rc, t[i].rc, t[i].name);
		is_str(rc ? err.text : text, t[i].text, t[i].name);
		ok(!rc == !!s, "a source or none");
		source_model.close(s);
	}
}

static void test_real_machine(void)
{
	static const struct settings settings;
	struct source_env env = { .settings = &settings, .sys_root = "/nonexistent" };
	struct source_state state = { 0 };
	struct source *s = NULL;
	struct errmsg err = { 0 };
	struct reading r;
	char text[256];

	is_int(source_model.open(&env, &s, &err), 0, "the model opens on any machine");
	source_model.describe(s, text, sizeof(text));
	diag("this machine: %s", text);
	source_model.describe(s, text, 12);
	is_str(text, "estimate: i", "a short buffer is cut");
	is_int(source_model.read(s, NSEC_PER_SEC, 0, &state, &r), 0, "it can be read");
	ok(r.nparts == 1 && r.part[0].domain == DOMAIN_OTHER && r.part[0].idle_mw > 0,
	   "and states its idle power");
	source_model.close(s);
}

static void test_read(void)
{
	static const struct {
		const char *name;
		uint64_t dt_ns;
		uint32_t busy_ppm;
		uint64_t uj;
	} t[] = {
		{ "no time", 0, 1000000, 0 },
		{ "idle second", NSEC_PER_SEC, 0, 100000000 },
		{ "busy second", NSEC_PER_SEC, 1000000, 300000000 },
		{ "busier than all CPUs", NSEC_PER_SEC, 2000000, 300000000 },
		{ "half", NSEC_PER_SEC, 500000, 200000000 },
		{ "an hour's gap", 3600 * NSEC_PER_SEC, 250000, UINT64_C(540000000000) },
		{ "a year's gap", 31536000 * NSEC_PER_SEC, 0, UINT64_C(3153600000000000) },
		{ "a microsecond", 1000, 0, 100 },
		{ "a nanosecond, a tenth of a uJ", 1, 0, 0 },
	};
	struct settings settings = { .model_idle_mw = 100000, .model_max_mw = 300000 };
	struct source_env env = { .settings = &settings, .sys_root = "/" };
	struct source_state state = { 0 };
	struct source *s = NULL;
	struct reading r;
	uint64_t sum = 0;
	size_t i;

	is_int(source_model.open(&env, &s, NULL), 0, "a model of 100 W to 300 W");
	is_int(source_model.read(s, NSEC_PER_SEC, 1000000, &state, &r), 0, "first reading");
	is_u64(reading_energy_uj(&r, DOMAIN_OTHER), 0, "yields nothing");
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		memset(&r, 0xff, sizeof(r));
		is_int(source_model.read(s, t[i].dt_ns, t[i].busy_ppm, &state, &r), 0, t[i].name);
		is_u64(reading_energy_uj(&r, DOMAIN_OTHER), t[i].uj, t[i].name);
		ok(reading_has(&r, DOMAIN_OTHER) && !reading_has(&r, DOMAIN_CPU) &&
			   !reading_has(&r, DOMAIN_DRAM) && !reading_has(&r, DOMAIN_GPU) && !r.rejected &&
			   !r.wraps && !reading_energy_uj(&r, DOMAIN_CPU),
		   "the whole node is one domain");
	}
	/* rests: 100 ticks of 333 ns at 123.4 W are 4109.22 uJ; each alone is 41.0922 */
	memset(&state, 0, sizeof(state));
	(void)source_model.read(s, 0, 0, &state, &r);
	for (i = 0; i < 100; i++) {
		if (i % 10 == 0) {
			source_model.close(s);
			s = NULL;
			(void)source_model.open(&env, &s, NULL);
		}
		(void)source_model.read(s, 333, 117000, &state, &r);
		sum += reading_energy_uj(&r, DOMAIN_OTHER);
	}
	is_u64(sum, 4109, "short ticks lose nothing, over restarts");
	is_int(source_model.read(s, UINT64_MAX, 0, &state, &r), 0, "500 years");
	source_model.close(s);

	settings.model_idle_mw = settings.model_max_mw = UINT64_MAX;
	is_int(source_model.open(&env, &s, NULL), 0, "absurd power");
	is_int(source_model.read(s, UINT64_MAX, 0, &state, &r), -EINVAL, "does not overflow");
	memset(&state, 0xff, sizeof(state));
	is_int(source_model.read(s, 1, 0, &state, &r), 0, "a state of ones is an empty one");
	source_model.close(s);
}

int main(void)
{
	unsigned int id;

	is_int(source_builtin[0]->id, SOURCE_EXTERNAL, "the site's own meter is the first source");
	is_int(source_builtin[source_nbuiltin - 1]->id, SOURCE_MODEL, "the model is the last");
	ok(source_is_estimate(SOURCE_MODEL) && !source_is_estimate(SOURCE_RAPL),
	   "the model is an estimate, RAPL is not");
	for (id = 0; id < SOURCE_N; id++)
		is_int(source_builtin[id]->id, (int)id, source_name((enum source_id)id));
	test_open();
	test_real_machine();
	test_read();
	return done_testing();
}
