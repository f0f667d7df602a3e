/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_draw.h - a grid as a drawing, one panel per column: for a terminal of 80 columns, or as SVG. Columns of which
 * nothing is known have none.
 */
#ifndef CEEMS_TRACE_DRAW_H
#define CEEMS_TRACE_DRAW_H

#include <stdio.h>

#include "src/libtrace/trace_grid.h"

/* As many rows as a grid needs to fill a panel, at most. */
#define TRACE_PLOT_BINS 68
#define TRACE_SVG_BINS 800

/* TITLE is printed as it is. IS_UTF8: the terminal shows blocks of eighths. False: there was nothing to draw. */
bool trace_plot_draw(const struct trace_grid *g, const char *title, bool is_utf8, FILE *out);

/* A file of its own: no font, script or style from elsewhere; its colours follow the viewer's dark or light mode. */
bool trace_svg_draw(const struct trace_grid *g, const char *title, FILE *out);

#endif
