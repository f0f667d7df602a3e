/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prom.h - Prometheus's text format, as far as our textfiles have it.
 */
#ifndef CEEMS_PROM_H
#define CEEMS_PROM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct prom {
	FILE *out;
	char host[2 * 256]; /* escaped, as every label value has to be */
	const char *family; /* the last one whose HELP and TYPE were written; NULL: none yet */
};

/* All series of one name. They have to follow each other. */
struct prom_family {
	const char *name; /* outlives struct prom */
	const char *type;
	const char *help;
	uint64_t units; /* a value is in UNITS-ths, a power of ten, and printed without loss */
};

/* A label's value; BUF of twice the size holds all of it, else it is cut. */
void prom_escape(const char *s, char *buf, size_t size);

/* HELP and TYPE, unless they were the last ones written. */
void prom_head(struct prom *p, const struct prom_family *f);

/* One series; the head comes before the family's first. LABELS: ",name=\"value\"" after the host's. */
void prom_put(struct prom *p, const struct prom_family *f, uint64_t value, const char *labels, ...)
	__attribute__((format(printf, 4, 5)));

/* Values are in UNITS-ths, too. */
struct prom_histogram {
	const uint64_t *bound; /* N, ascending */
	const uint64_t *upto;  /* N: how many were at most that */
	size_t n;
	uint64_t count, sum;
};
void prom_put_histogram(struct prom *p, const struct prom_family *f, const struct prom_histogram *h);

/* A family of one series without labels. */
void prom_put_node(struct prom *p, const char *name, const char *type, const char *help,
		   uint64_t value, uint64_t units);

#endif
