/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/prom.h"

#include <inttypes.h>

void prom_escape(const char *s, char *buf, size_t size)
{
	size_t n = 0;

	for (; *s && n + 3 < size; s++) {
		if (*s == '\\' || *s == '"' || *s == '\n')
			buf[n++] = '\\';
		buf[n++] = *s == '\n' ? 'n' : *s;
	}
	buf[n] = '\0';
}

void prom_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void prom_value(FILE *out, uint64_t value, uint64_t units)
{
	unsigned int digits = 0;
	uint64_t u;

	for (u = units; u > 1; u /= 10)
		digits++;
	fprintf(out, " %" PRIu64, value / units);
	if (digits)
		fprintf(out, ".%0*" PRIu64, (int)digits, value % units);
	fputc('\n', out);
}
