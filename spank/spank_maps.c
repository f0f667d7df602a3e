/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/spank_maps.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/logger.h"
#include "src/libutil/util.h"

#define VALUE_MAX 4096

static const struct {
	const char *name, *value;
	bool is_list; /* of options: VALUE is added to what the user has set */
} variables[] = {
	/* Python 3.12; an older one ignores it */
	{ "PYTHONPERFSUPPORT", "1", false },
	{ "NODE_OPTIONS", "--perf-basic-prof", true },
	/*
	 * Java 17; an older one ignores the option. The JVM writes its file when it ends. Without frame
	 * pointers no caller of compiled code would be found.
	 */
	{ "JAVA_TOOL_OPTIONS",
	  "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit "
	  "-XX:+PreserveFramePointer",
	  true },
};

static void set_variable(spank_t sp, const char *name, const char *value, bool is_list)
{
	char text[VALUE_MAX];
	int rc = spank_getenv(sp, name, text, sizeof(text));
	size_t len = rc == ESPANK_SUCCESS ? strlen(text) : 0;

	if ((rc != ESPANK_SUCCESS && rc != ESPANK_ENV_NOEXIST) || len + strlen(value) + 2 > sizeof(text)) {
		logger_info("%s is too long; --ceems-profile=maps does not add %s", name, value);
		return;
	}
	if (len && (!is_list || strstr(text, value)))
		return;
	(void)snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "", value);
	(void)spank_setenv(sp, name, text, /* overwrite= */ 1);
}

void spank_maps_set(spank_t sp)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(variables); i++)
		set_variable(sp, variables[i].name, variables[i].value, variables[i].is_list);
}
