/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the tables that manuals, schemas and SQL are compared with. */
#include <stdio.h>

#include "ceems_config.h"
#ifdef HAVE_FACTORS
#include "src/factors/factors_conf.h"
#endif
#include "src/libcore/settings.h"

int main(void)
{
#ifdef HAVE_FACTORS
	size_t n;
	const struct kvconf_key *keys = factors_conf_keys(&n);
#endif
	size_t i;

	for (i = 0; i < settings_nkeys; i++)
		printf("setting %s=%s\n", settings_keys[i].name,
		       settings_keys[i].initial ? settings_keys[i].initial : "");
#ifdef HAVE_FACTORS
	for (i = 0; i < n; i++)
		printf("factors %s=%s\n", keys[i].name, keys[i].initial ? keys[i].initial : "");
#endif
	return 0;
}
