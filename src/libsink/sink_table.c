/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "ceems_config.h"
#include "src/libsink/sink.h"
#include "src/libutil/as_owner.h"

/*
 * IF_BUILT(HAVE, OPS) is OPS if HAVE is a macro that is 1, else NULL. The kernel's
 * IS_ENABLED() does the same.
 */
#define SKIP_1 skipped,
#define SECOND(first, second, ...) second
#define SECOND_OF(...) SECOND(__VA_ARGS__, )
#define IF_VALUE(value, ops) SECOND_OF(SKIP_##value ops, NULL)
#define IF_BUILT(have, ops) IF_VALUE(have, ops)

static const struct sink_ops *const sink_table[] = {
#define SINK(name, have) IF_BUILT(have, &sink_##name),
#include "src/libcore/sinks.def"
#undef SINK
};

const struct sink_ops *sink_find(const char *name)
{
	size_t i;

	if (!strcmp(name, "mysql"))
		name = "mariadb";
	for (i = 0; i < ARRAY_SIZE(sink_table); i++)
		if (sink_table[i] && !strcmp(sink_table[i]->name, name))
			return sink_table[i];
	return NULL;
}

bool sink_writes(const char *key)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sink_table); i++)
		if (sink_table[i] && sink_table[i]->output.key && !strcmp(sink_table[i]->output.key, key))
			return true;
	return false;
}

bool sink_is_others(const struct sink_ops *sink, const struct settings *s, const char *file, uid_t *ret)
{
	const struct sink_setting *const settings[] = { file ? NULL : &sink->secret, &sink->trust,
							sink->db && !file ? &sink->db->file : NULL };
	size_t i;

	if (file && as_owner_is_other(file, ret))
		return true;
	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		const char *path = settings[i] && settings[i]->key ? (const char *)s + settings[i]->offset :
								     "";

		if (*path && as_owner_is_other(path, ret))
			return true;
	}
	return false;
}
