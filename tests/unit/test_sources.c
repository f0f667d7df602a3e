/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/sources.h"

#include <errno.h>

#include "tap.h"

/* Two fakes: a sensor of CPU and DRAM, and an estimate of the whole node. */
static int sensor_open_rc, sensor_read_rc;
static bool sensor_has_dram;
static unsigned int opened;

static int sensor_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	(void)env;
	if (sensor_open_rc < 0)
		return errmsg_errno(err, sensor_open_rc, "/sys/sensor");
	opened++;
	*ret = (struct source *)&opened;
	return 0;
}

static int sensor_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm,
		       struct source_state *state, struct reading *ret)
{
	(void)s, (void)dt_ns, (void)busy_ppm;
	ret->rejected = sensor_read_rc < 0;
	if (sensor_read_rc < 0)
		return sensor_read_rc;
	state->ncounters = 1;
	reading_part(ret, DOMAIN_CPU, 0, QUALITY_COUNTER)->energy_uj = 100;
	if (sensor_has_dram)
		reading_part(ret, DOMAIN_DRAM, 0, QUALITY_COUNTER)->energy_uj = 10;
	return 0;
}

static int model_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	(void)env, (void)err;
	opened++;
	*ret = (struct source *)&opened;
	return 0;
}

static int model_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm,
		      struct source_state *state, struct reading *ret)
{
	(void)s, (void)dt_ns, (void)busy_ppm, (void)state;
	struct reading_part *p = reading_part(ret, DOMAIN_CPU, 0, QUALITY_ESTIMATE);

	p->energy_uj = 7;
	p->idle_mw = 5;
	return 0;
}

static void fake_describe(const struct source *s, char *buf, size_t size)
{
	(void)s;
	snprintf(buf, size, "fake");
}

static void fake_close(struct source *s)
{
	(void)s;
	opened--;
}

static const struct source_ops sensor = {
	.id = SOURCE_RAPL, .name = "rapl", .open = sensor_open, .read = sensor_read,
	.describe = fake_describe, .close = fake_close,
};
static const struct source_ops model = {
	.id = SOURCE_MODEL, .name = "model", .is_estimate = true, .open = model_open,
	.read = model_read, .describe = fake_describe, .close = fake_close,
};
static const struct source_ops *const all[] = { &sensor, &model };
static const struct source_env env = { .sys_root = "/" };

static const struct {
	const char *choice;
	int sensor_rc;
	const char *used;
	const char *why;
} choices[] = {
	{ "rapl", -ENODEV, "none", "rapl: /sys/sensor: No such device" },
	{ "rapl", -EACCES, "none", "rapl: /sys/sensor: Permission denied" },
	{ "auto", -ENODEV, "model (fake)", "" },
	{ "auto", 0, "rapl (fake)", "" },
	{ "AUTO", 0, "rapl (fake)", "" },
	{ "model", 0, "model (fake)", "" },
	{ "model, rapl", 0, "rapl (fake)", "" },
	{ "model,rapl", -ENODEV, "model (fake)", "" },
	{ "rapl,rapl", 0, "rapl (fake)", "" },
};

static void test_choice(void)
{
	size_t i;

	for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		struct sources *s = NULL;
		struct errmsg err = { 0 };
		char what[128];

		sensor_open_rc = choices[i].sensor_rc;
		is_int(sources_open(choices[i].choice, all, 2, &env, &s, &err), 0,
		       choices[i].choice);
		sources_describe(s, what, sizeof(what));
		is_str(what, choices[i].used, "  what is used");
		is_str(err.text, choices[i].why, "  why not");
		sources_close(s);
		is_u64(opened, 0, "  all closed");
	}
	sensor_open_rc = 0;
	sources_close(NULL);
}

static uint64_t part_uj(const struct sources_reading *r, enum domain d)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < r->nparts; i++)
		sum += r->part[i].domain == d ? r->part[i].energy_uj : 0;
	return sum;
}

static void test_read(void)
{
	struct source_state state[SOURCE_N] = { 0 };
	struct sources_reading r;
	struct sources *s = NULL;

	state[SOURCE_MODEL].ncounters = 3;
	sensor_has_dram = true;
	if (sources_open("rapl", all, 2, &env, &s, NULL) < 0)
		return;
	sensor_read_rc = -EIO;
	sources_read(s, 1, 0, state, &r);
	is_int(r.failed, -EIO, "a failing sensor says so");
	is_u64(r.rejected, 1, "its rejections are counted");
	is_u64(r.from[DOMAIN_CPU], SOURCE_N, "what was never read has no domain");
	is_u64(state[SOURCE_MODEL].ncounters, 0, "what a closed source left is forgotten");
	sensor_read_rc = 0;
	sources_read(s, 1, 0, state, &r);
	is_u64(part_uj(&r, DOMAIN_CPU), 100, "then its energy comes");
	is_u64(r.from[DOMAIN_CPU], SOURCE_RAPL, "and the domain is its own");
	is_u64(r.from[DOMAIN_GPU], SOURCE_N, "nobody measures the GPU");
	is_u64(r.part[0].idle_mw, 0, "a sensor states no idle power");
	sensor_read_rc = -EIO;
	sources_read(s, 1, 0, state, &r);
	is_u64(part_uj(&r, DOMAIN_CPU), 0, "no energy while it fails");
	is_u64(r.from[DOMAIN_CPU], SOURCE_RAPL, "but the domain stays its own");
	sensor_read_rc = 0;
	sources_close(s);

	if (sources_open("model", all, 2, &env, &s, NULL) < 0)
		return;
	sources_read(s, 1, 0, state, &r);
	is_u64(r.nparts, 1, "the model has one domain");
	is_u64(r.part[0].idle_mw, 5, "and states its idle power");
	sources_close(s);
}

int main(void)
{
	test_choice();
	test_read();
	return done_testing();
}
