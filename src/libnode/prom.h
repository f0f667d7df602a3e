/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prom.h - Prometheus's text format, as far as ceems.prom has it.
 */
#ifndef CEEMS_PROM_H
#define CEEMS_PROM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A label's value; BUF of twice the size holds all of it, else it is cut. */
void prom_escape(const char *s, char *buf, size_t size);

/* HELP and TYPE: once, before a metric's first series. */
void prom_head(FILE *out, const char *name, const char *type, const char *help);

/* The end of a series: VALUE in UNITS-ths, a power of ten, printed without loss. */
void prom_value(FILE *out, uint64_t value, uint64_t units);

#endif
