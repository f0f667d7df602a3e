/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <strings.h>

#include "src/factors/provider.h"

static const struct provider *const providers[PROVIDER_N] = {
#define PROVIDER(name) &provider_##name,
#include "src/factors/providers.def"
#undef PROVIDER
};

const struct provider *provider_of(enum provider_id id)
{
	return providers[id];
}

const struct provider *provider_find(const char *name)
{
	size_t i;

	for (i = 0; i < PROVIDER_N; i++)
		if (!strcasecmp(providers[i]->name, name))
			return providers[i];
	return NULL;
}

const struct provider_conf *provider_conf_of(const struct provider *p, const struct factors_conf *conf)
{
	size_t i = 0;

	while (i + 1 < PROVIDER_N && providers[i] != p)
		i++;
	return &conf->provider[i];
}
