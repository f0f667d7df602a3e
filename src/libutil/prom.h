/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prom.h - writes the subset of Prometheus's text format that our textfiles use.
 */
#ifndef CEEMS_PROM_H
#define CEEMS_PROM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct prom {
	FILE *out;
	char host[2 * 256]; /* escaped by prom_escape(), as every label value must be */
	const char *family; /* family whose HELP and TYPE were written last; NULL: none yet */
};

/* All series of one metric name. Write them one after the other, as the format requires. */
struct prom_family {
	const char *name; /* must outlive struct prom */
	const char *type;
	const char *help;
	/*
	 * values are in 1/UNITS, a power of ten, and are printed without rounding: 1000 prints 1500
	 * as 1.500
	 */
	uint64_t units;
};

/*
 * Escapes S for use as a label value. BUF of twice the length plus 2 holds any S; else it is cut.
 */
void prom_escape(const char *s, char *buf, size_t size);

/* Writes the HELP and TYPE lines of F, unless they are the last ones written. */
void prom_head(struct prom *p, const struct prom_family *f);

/*
 * Writes one series, and before the family's first series its HELP and TYPE. LABELS follow the
 * host's label: ",name=\"value\"".
 */
void prom_put(struct prom *p, const struct prom_family *f, uint64_t value, const char *labels, ...)
	__attribute__((format(printf, 4, 5)));

/* A histogram with cumulative buckets. Bounds and sum are in 1/UNITS of the family. */
struct prom_histogram {
	const uint64_t *bound; /* upper bounds of N buckets, ascending */
	const uint64_t *upto;  /* how many values were at most bound[i] */
	size_t n;
	uint64_t count, sum;
};
void prom_put_histogram(struct prom *p, const struct prom_family *f, const struct prom_histogram *h);

/* Writes a family of one series that has no label but the host's. */
void prom_put_node(struct prom *p, const char *name, const char *type, const char *help, uint64_t value,
		   uint64_t units);

#endif
