/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_draw.h - draws a grid, one panel per column: for a terminal of 80 columns, or as SVG.
 * Columns without values are left out.
 */
#ifndef CEEMS_TRACE_DRAW_H
#define CEEMS_TRACE_DRAW_H

#include <stdio.h>

#include "src/libtrace/trace_grid.h"

/* The most rows of a grid that fit into a panel. */
#define TRACE_PLOT_BINS 68
#define TRACE_SVG_BINS 800

/*
 * Draws for a terminal. TITLE is printed as it is, so mask it. IS_UTF8: use block characters of
 * eighths, else ASCII. False: no column has a value.
 */
bool trace_plot_draw(const struct trace_grid *g, const char *title, bool is_utf8, FILE *out);

/*
 * Writes one SVG file. The file loads nothing, and its colours follow the viewer's dark or light
 * mode. TITLE is escaped. False: no column has a value.
 */
bool trace_svg_draw(const struct trace_grid *g, const char *title, FILE *out);

#endif
