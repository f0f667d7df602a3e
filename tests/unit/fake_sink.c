/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sink's module for test_sink_module, built twice: a good one and, by FAKE_IS_OLD, one of another
 * version.
 */
#include "src/libsink/sink_module.h"

#include <errno.h>

static int fake_open(const struct settings *s, struct sink **ret, struct errmsg *err)
{
	static int opened;

	if (s->kafka_topic[0])
		return errmsg_set(err, -EINVAL, "the fake has no topics");
	logger_debug("the fake is open");
	*ret = (struct sink *)&opened;
	return 0;
}

static int fake_deliver(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
			uint64_t timeout_ns, struct errmsg *err)
{
	size_t i;

	(void)k, (void)item, (void)timeout_ns, (void)err;
	for (i = 0; i < n; i++)
		result[i] = SINK_ACKED;
	return 0;
}

static void fake_close(struct sink *k)
{
	(void)k;
	logger_debug("the fake is closed");
}

sink_module_fn ceems_sink;

const struct sink_module *ceems_sink(unsigned int abi, logger_sink_fn log)
{
	static const struct sink_ops ops = { SINK_KAFKA,
					     .open = fake_open,
					     .deliver = fake_deliver,
					     .close = fake_close };
	static const struct sink_module fake = { .ops = &ops };

	logger_set_sink(log);
#ifdef FAKE_IS_OLD
	abi++;
#endif
	return abi == SINK_ABI ? &fake : NULL;
}
