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

static void prom_put_number(FILE *out, uint64_t value, uint64_t units)
{
	unsigned int digits = 0;
	uint64_t u;

	for (u = units; u > 1; u /= 10)
		digits++;
	fprintf(out, "%" PRIu64, value / units);
	if (digits)
		fprintf(out, ".%0*" PRIu64, (int)digits, value % units);
}

void prom_put(struct prom *p, const struct prom_family *f, uint64_t value, const char *labels, ...)
{
	va_list ap;

	prom_head(p, f);
	fprintf(p->out, "%s{hostname=\"%s\"", f->name, p->host);
	va_start(ap, labels);
	(void)vfprintf(p->out, labels, ap);
	va_end(ap);
	fputs("} ", p->out);
	prom_put_number(p->out, value, f->units);
	fputc('\n', p->out);
}

void prom_put_histogram(struct prom *p, const struct prom_family *f, const struct prom_histogram *h)
{
	size_t i;

	prom_head(p, f);
	for (i = 0; i < h->n; i++) {
		fprintf(p->out, "%s_bucket{hostname=\"%s\",le=\"", f->name, p->host);
		prom_put_number(p->out, h->bound[i], f->units);
		fprintf(p->out, "\"} %" PRIu64 "\n", h->upto[i]);
	}
	fprintf(p->out, "%s_bucket{hostname=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", f->name, p->host, h->count);
	fprintf(p->out, "%s_sum{hostname=\"%s\"} ", f->name, p->host);
	prom_put_number(p->out, h->sum, f->units);
	fprintf(p->out, "\n%s_count{hostname=\"%s\"} %" PRIu64 "\n", f->name, p->host, h->count);
}

void prom_put_node(struct prom *p, const char *name, const char *type, const char *help, uint64_t value,
		   uint64_t units)
{
	const struct prom_family f = { name, type, help, units };

	prom_put(p, &f, value, "%s", "");
}
