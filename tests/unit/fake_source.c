/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A source module for test_source_module, built several times: a good one and, by what is defined,
 * bad ones.
 */
#include "src/libmeter/sensor/source.h"

static int fake_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	static int opened;

	(void)err;
	logger_set_sink(env->log);
	logger_debug("the fake is open");
	*ret = (struct source *)&opened;
	return 0;
}

static int fake_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm,
		     struct source_state *state, struct reading *ret)
{
	(void)s, (void)dt_ns, (void)busy_ppm;
	reading_part(ret, DOMAIN_CPU, 1, QUALITY_INTEGRATED)->energy_uj = 42;
	return source_state_put(state, "fake", 1);
}

static void fake_describe(const struct source *s, char *buf, size_t size)
{
	(void)s;
	snprintf(buf, size, "a module");
}

static void fake_close(struct source *s)
{
	(void)s;
}

extern const struct source_ops fake; /* one build has no use for it */
const struct source_ops fake = {
	.id = SOURCE_HWMON, .name = "hwmon", .open = fake_open, .read = fake_read,
	.describe = fake_describe, .close = fake_close,
};

#ifdef FAKE_NEEDS_MORE
const char *fake_of_a_library(void); /* that is not there */
#endif

#ifndef FAKE_HAS_NO_SYMBOL
const struct source_ops *ceems_source(unsigned int abi)
{
#ifdef FAKE_IS_OLD
	abi++;
#endif
#ifdef FAKE_NEEDS_MORE
	if (!fake_of_a_library())
		return NULL;
#endif
	return abi == SOURCE_ABI ? &fake : NULL;
}
#endif
