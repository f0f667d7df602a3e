/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/prom.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

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

void prom_head(struct prom *p, const struct prom_family *f)
{
	if (p->family && !strcmp(p->family, f->name))
		return;
	fprintf(p->out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, f->type);
	p->family = f->name;
}

static void prom_put_value(FILE *out, uint64_t value, uint64_t units)
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

void prom_put(struct prom *p, const struct prom_family *f, uint64_t value, const char *labels, ...)
{
	va_list ap;

	prom_head(p, f);
	fprintf(p->out, "%s{hostname=\"%s\"", f->name, p->host);
	va_start(ap, labels);
	(void)vfprintf(p->out, labels, ap);
	va_end(ap);
	fputc('}', p->out);
	prom_put_value(p->out, value, f->units);
}

void prom_put_node(struct prom *p, const char *name, const char *type, const char *help,
		   uint64_t value, uint64_t units)
{
	const struct prom_family f = { name, type, help, units };

	prom_put(p, &f, value, "%s", "");
}
