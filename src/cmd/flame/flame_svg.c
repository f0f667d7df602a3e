/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flame_svg.c - flame_view_svg(): writes a picture without a script. */
#include <stdlib.h>
#include <string.h>

#include "src/cmd/flame/flame_view.h"
#include "src/cmd/html.h"
#include "src/libutil/text.h"

/* In pixels, except DEPTH_MAX, which counts frames. */
#define WIDTH 1200.0
#define ROW 18
#define TOP 56
#define LETTER 7.2 /* width of a letter of a monospaced font of 12 pixels */
#define WIDTH_MIN 0.4
#define DEPTH_MAX 150u

static const char style[] =
	"<style>\n" /* without CSS variables, which not every viewer knows */
	".fg-text{font:12px ui-monospace,\"DejaVu Sans Mono\",monospace;fill:#1f2328}"
	".fg-head{font:600 17px system-ui,sans-serif;fill:#1f2328}.fg-soft{font:13px "
	"system-ui,sans-serif;fill:#59636e}\n"
	".fg-paper{fill:#ffffff}.fg-u0{fill:#ffd8a8}.fg-u1{fill:#ffcba4}.fg-u2{fill:#ffe3b3}"
	".fg-u3{fill:#fbd0b8}"
	".fg-k{fill:#bcd9f5}.fg-p{fill:#d5dbe1}.fg-x{fill:#e4e4e4}\n"
	".fg-m1{fill:#ffe1dc}.fg-m2{fill:#ffb8ad}.fg-m3{fill:#ff9384}.fg-l1{fill:#dcebff}.fg-l2{fill:#b5d4ff}"
	".fg-l3{fill:#8dbcff}.fg-same{fill:#e9ecef}\n"
	"@media (prefers-color-scheme:dark){.fg-text,.fg-head{fill:#e6edf3}.fg-soft{fill:#9198a1}"
	".fg-paper{fill:#0d1117}"
	".fg-u0{fill:#6b3f12}.fg-u1{fill:#70391c}.fg-u2{fill:#5d4711}.fg-u3{fill:#69381f}.fg-k{fill:#1f4668}"
	".fg-p{fill:#39424c}.fg-x{fill:#3a3a3a}\n"
	".fg-m1{fill:#4a2320}.fg-m2{fill:#6e2a24}.fg-m3{fill:#8f2f27}.fg-l1{fill:#1c2f4a}.fg-l2{fill:#1c426e}"
	".fg-l3{fill:#1b5591}.fg-same{fill:#2f353c}}\n</style>\n";

struct svg_frames {
	const struct flame_view *view;
	FILE *out;
	double height;	  /* height of all rows */
	size_t deepest;	  /* depth of the deepest frame */
	bool is_measured; /* false: svg_walk() writes nothing and only finds DEEPEST */
};

/* Returns the CSS class of a function's colour. Equal names get equal colours. */
static const char *user_class(const char *name)
{
	static const char *const classes[] = { "u0", "u1", "u2", "u3" };
	unsigned int hash = 0;

	for (; *name; name++)
		hash = hash * 31 + (unsigned char)*name;
	return classes[hash % 4];
}

static const char *difference_class(double change)
{
	if (change > -0.001 && change < 0.001)
		return "same";
	if (change > 0)
		return change > 0.1 ? "m3" : change > 0.02 ? "m2" : "m1";
	return change < -0.1 ? "l3" : change < -0.02 ? "l2" : "l1";
}

static const char *class_of(const struct flame_view *v, const struct flame_frame *frame)
{
	const struct flame_name *name = &v->flame->name[frame->name];

	if (v->other)
		return difference_class(flame_share(v->flame, frame->total, FLAME_THIS) -
					flame_share(v->flame, frame->total, FLAME_OTHER));
	switch (name->kind) {
	case FLAME_KERNEL:
		return "k";
	case FLAME_PROCESS:
		return "p";
	case FLAME_UNKNOWN:
		return "x";
	case FLAME_USER:
		break;
	}
	return user_class(name->text);
}

/*
 * Returns the width of a frame as a share of the picture. With two profiles, this is the mean of
 * its shares, so that a frame of only one of them is visible.
 */
static double share_of(const struct flame_view *v, const struct flame_frame *frame)
{
	const double here = flame_share(v->flame, frame->total, FLAME_THIS);

	return v->other ? (here + flame_share(v->flame, frame->total, FLAME_OTHER)) / 2 : here;
}

static void put_frame(struct svg_frames *s, const struct flame_frame *frame, double x, double width,
		      size_t depth)
{
	const struct flame_view *v = s->view;
	const struct flame_name *name = &v->flame->name[frame->name];
	const double y = TOP + s->height - (double)(depth + 1) * ROW;
	const size_t letters = (size_t)((width - 6) / LETTER);
	char value[FLAME_VALUE_SIZE], share[FLAME_VALUE_SIZE], text[4 * 200 + 1];

	(void)fprintf(s->out, "<g><title>");
	html_text(s->out, name->text);
	(void)fprintf(s->out, ": ");
	html_text(s->out, flame_view_value(v, frame->total[FLAME_THIS], value));
	(void)fprintf(s->out, ", %s",
		      flame_view_share(flame_share(v->flame, frame->total, FLAME_THIS), share));
	if (v->other)
		(void)fprintf(s->out, "; before %s",
			      flame_view_share(flame_share(v->flame, frame->total, FLAME_OTHER), share));
	(void)fprintf(
		s->out,
		"</title><rect class=\"fg-%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" rx=\"1\"/>",
		class_of(v, frame), x, y, width > 1 ? width - 0.5 : width, ROW - 1);
	if (width > 3 * LETTER) {
		(void)fprintf(s->out, "<text class=\"fg-text\" x=\"%.2f\" y=\"%.0f\">", x + 3, y + ROW - 5);
		html_text(s->out, text_cell(name->text, letters < 200 ? letters : 200, text, sizeof(text)));
		(void)fprintf(s->out, "</text>");
	}
	(void)fprintf(s->out, "</g>\n");
}

/* Writes the frames below PARENT, or finds the deepest one, by recursion, which DEPTH_MAX bounds. */
static void svg_walk(struct svg_frames *s, uint32_t parent, double x, size_t depth)
{
	const struct flame *f = s->view->flame;
	uint32_t at;

	for (at = f->frame[parent].child; at != FLAME_ROOT && depth < DEPTH_MAX; at = f->frame[at].next) {
		const double width = share_of(s->view, &f->frame[at]) * WIDTH;

		if (width < WIDTH_MIN) {
			x += width;
			continue;
		}
		if (s->is_measured)
			put_frame(s, &f->frame[at], x, width, depth);
		else if (depth >= s->deepest)
			s->deepest = depth + 1;
		svg_walk(s, at, x, depth + 1);
		x += width;
	}
}

void flame_view_svg(const struct flame_view *v, FILE *out)
{
	struct svg_frames s = { .view = v, .out = out };
	char value[FLAME_VALUE_SIZE], stacks[128];
	double height;

	svg_walk(&s, FLAME_ROOT, 0, 0);
	s.height = (double)(s.deepest * ROW);
	s.is_measured = true;
	height = TOP + s.height + 8;
	(void)fprintf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
		"%.0f %.0f\" role=\"img\">\n<title>Flame graph of ",
		WIDTH, height, WIDTH, height);
	html_text(out, v->title);
	(void)fprintf(out, "</title>\n%s<rect class=\"fg-paper\" width=\"%.0f\" height=\"%.0f\"/>\n", style,
		      WIDTH, height);
	(void)fprintf(out, "<text class=\"fg-head\" x=\"3\" y=\"20\">");
	html_text(out, v->title);
	(void)fprintf(out, "</text>\n<text class=\"fg-soft\" x=\"3\" y=\"42\">");
	html_text(out, flame_view_value(v, v->flame->frame[FLAME_ROOT].total[FLAME_THIS], value));
	(void)fprintf(out, " of ");
	html_text(out, v->what);
	(void)fprintf(out, "; stacks: %s", flame_view_stacks(v, FLAME_THIS, stacks, sizeof(stacks)));
	if (v->other) {
		(void)fprintf(out, "; compared with ");
		html_text(out, v->other);
	}
	if (v->note) {
		(void)fprintf(out, "; ");
		html_text(out, v->note);
	}
	(void)fprintf(out, "</text>\n");
	svg_walk(&s, FLAME_ROOT, 0, 0);
	(void)fprintf(out, "</svg>\n");
}
