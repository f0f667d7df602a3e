/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the tables that manuals, schemas and SQL are compared with. */
#include <stdio.h>

#include "src/libjob/metric.h"
#include "src/libjob/settings.h"

int main(void)
{
	unsigned int m;
	size_t i;

	metric_foreach(m)
		printf("metric %s %s\n", metric_table[m].name,
		       metric_table[m].prom ? metric_table[m].prom : "-");
	for (i = 0; i < settings_nkeys; i++)
		printf("setting %s=%s\n", settings_keys[i].name,
		       settings_keys[i].initial ? settings_keys[i].initial : "");
	return 0;
}
