/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flame_html.c - flame_view_html(): writes one page that contains its script and loads nothing. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/cmd/flame/flame_view.h"
#include "src/cmd/html.h"
#include "src/libutil/util.h"

#define TOP_ROWS 60u
#define SHARE_MIN 1e-4 /* frames with a smaller share are left out, because they could not be seen */
#define DEPTH_MAX 1000u

static const char css[] =
#include "src/cmd/flame/flame_css.h"
	;
static const char script[] =
#include "src/cmd/flame/flame_js.h"
	;

/* --- numbers ------------------------------------------------------------------------------------ */

static void put_tiles(const struct flame_view *v, FILE *out)
{
	const struct flame *f = v->flame;
	char value[FLAME_VALUE_SIZE], note[256], stacks[160];
	size_t side;

	(void)fputs("<dl class=\"tiles\">\n", out);
	for (side = 0; side < (v->other ? 2u : 1u); side++) {
		(void)snprintf(note, sizeof(note), "%" PRIu64 " samples", f->samples[side]);
		html_tile(out, side ? v->other : v->what,
			  flame_view_value(v, f->frame[FLAME_ROOT].total[side], value), note);
		(void)flame_view_share(flame_share(f, f->whole, (enum flame_side)side), value);
		(void)flame_view_stacks(v, (enum flame_side)side, stacks, sizeof(stacks));
		html_tile(out, "stacks unwound whole", value, stacks);
	}
	(void)fputs("</dl>\n", out);
}

static void put_cell(FILE *out, double share)
{
	char text[FLAME_VALUE_SIZE];

	html_element(out, "td", "number", "%s", flame_view_share(share, text));
}

static void put_function(const struct flame_view *v, const struct flame_name *n, FILE *out)
{
	const struct flame *f = v->flame;
	const double self = flame_share(f, n->self, FLAME_THIS);

	(void)fputs("<tr><th scope=\"row\"><button type=\"button\" data-name>", out);
	html_text(out, n->text);
	(void)fprintf(out, "</button>%s</th>",
		      n->kind == FLAME_KERNEL  ? " kernel" :
		      n->kind == FLAME_PROCESS ? " process" :
						 "");
	put_cell(out, self);
	if (v->other) {
		put_cell(out, flame_share(f, n->self, FLAME_OTHER));
		(void)fprintf(out, "<td class=\"number\">%+.1f</td>",
			      100 * (self - flame_share(f, n->self, FLAME_OTHER)));
	}
	put_cell(out, flame_share(f, n->total, FLAME_THIS));
	html_bar(out, self, "used");
	(void)fputs("</tr>\n", out);
}

static void put_functions(const struct flame_view *v, const uint32_t *top, FILE *out)
{
	const struct flame *f = v->flame;
	static const char *const alone[] = { "Function", "#Self", "#Total", "#" };
	static const char *const compared[] = { "Function", "#Self", "#Compared", "#Change", "#Total", "#" };
	size_t i, shown = 0;

	(void)fputs("<section class=\"long\">\n<h2>Functions</h2>\n", out);
	html_table_begin(out, "Functions",
			 v->other ? "By change. Self: in the function itself; total: with what it calls." :
				    "By self. Self: in the function itself; total: with what it calls.",
			 v->other ? compared : alone, v->other ? ARRAY_SIZE(compared) : ARRAY_SIZE(alone));
	for (i = 0; i < f->nnames && shown < TOP_ROWS; i++)
		if (f->name[top[i]].self[FLAME_THIS] > 0 || f->name[top[i]].self[FLAME_OTHER] > 0) {
			put_function(v, &f->name[top[i]], out);
			shown++;
		}
	html_table_end(out);
	(void)fputs("</section>\n", out);
}

/* --- the drawing -------------------------------------------------------------------------------- */

static bool is_seen(const struct flame *f, const struct flame_frame *frame)
{
	return flame_share(f, frame->total, FLAME_THIS) >= SHARE_MIN ||
	       flame_share(f, frame->total, FLAME_OTHER) >= SHARE_MIN;
}

/* Writes the frames below PARENT as JSON, by recursion, which DEPTH_MAX bounds. */
static void put_frames(const struct flame_view *v, uint32_t parent, size_t depth, const char **comma,
		       FILE *out)
{
	const struct flame *f = v->flame;
	uint32_t at;

	for (at = f->frame[parent].child; at != FLAME_ROOT && depth < DEPTH_MAX; at = f->frame[at].next) {
		const struct flame_frame *frame = &f->frame[at];

		if (!is_seen(f, frame))
			continue;
		(void)fprintf(out, "%s[%zu,%" PRIu32 ",%.9g", *comma, depth, frame->name,
			      frame->total[FLAME_THIS]);
		if (v->other)
			(void)fprintf(out, ",%.9g", frame->total[FLAME_OTHER]);
		(void)fputc(']', out);
		*comma = ",";
		put_frames(v, at, depth + 1, comma, out);
	}
}

static void put_data(const struct flame_view *v, FILE *out)
{
	const struct flame *f = v->flame;
	const char *comma = "";
	size_t i;

	(void)fputs("<script type=\"application/json\" id=\"data\">{\"unit\":", out);
	flame_json_text(out, v->unit);
	(void)fprintf(out, ",\"diff\":%s,\"other\":", v->other ? "true" : "false");
	flame_json_text(out, v->other ? v->other : "");
	(void)fprintf(out, ",\"total\":%.9g,\"otherTotal\":%.9g,\n\"names\":[",
		      f->frame[FLAME_ROOT].total[FLAME_THIS], f->frame[FLAME_ROOT].total[FLAME_OTHER]);
	for (i = 0; i < f->nnames; i++) {
		(void)fputs(i ? ",[" : "[", out);
		flame_json_text(out, f->name[i].text);
		(void)fprintf(out, ",%d]", f->name[i].kind);
	}
	(void)fputs("],\n\"frames\":[", out);
	put_frames(v, FLAME_ROOT, 1, &comma, out);
	(void)fputs("]}</script>\n", out);
}

static void put_legend(const struct flame_view *v, FILE *out)
{
	static const char *const plain[][2] = { { "u0", "functions" },
						{ "kernel", "kernel" },
						{ "process", "process" },
						{ "nameless", "name not known" } };
	static const char *const changes[][2] = { { "more3", "larger share" },
						  { "same", "the same" },
						  { "less3", "smaller share" } };
	const char *const(*row)[2] = v->other ? changes : plain;
	const size_t n = v->other ? ARRAY_SIZE(changes) : ARRAY_SIZE(plain);
	size_t i;

	(void)fputs("<ul class=\"legend\">", out);
	for (i = 0; i < n; i++)
		(void)fprintf(out, "<li><span class=\"%s\"></span>%s</li>", row[i][0], row[i][1]);
	(void)fputs("</ul>\n", out);
}

static void put_graph(const struct flame_view *v, FILE *out)
{
	(void)fputs("<section>\n<h2>Who calls whom</h2>\n<div class=\"tools\"><label "
		    "for=\"search\">Search</label>"
		    "<input id=\"search\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\">"
		    "<button type=\"button\" id=\"turn\">Show as flames</button>"
		    "<button type=\"button\" id=\"whole\" disabled>Show the whole</button></div>\n",
		    out);
	put_legend(v, out);
	(void)fputs(
		"<div id=\"graph\" role=\"group\" aria-label=\"Functions below their callers\"></div>\n"
		"<p id=\"said\" role=\"status\"></p>\n"
		"<p class=\"note\">Width is share. A click or Enter zooms; arrows move, Esc shows the "
		"whole, / searches. Functions below 0.01 % are left out.</p>\n"
		"<noscript><p>The drawing needs JavaScript; the table does not.</p></noscript>\n</section>\n",
		out);
	put_data(v, out);
}

int flame_view_html(const struct flame_view *v, FILE *out)
{
	_cleanup_free_ uint32_t *top = NULL;
	char title[512];
	const char *const *gap;

	if (flame_top(v->flame, v->other != NULL, &top) < 0)
		return -ENOMEM;
	(void)snprintf(title, sizeof(title), "Flame graph of %s", v->title);
	html_begin(out, title, css);
	html_element(out, "h1", NULL, "%s", title);
	if (v->other)
		html_element(out, "p", "about", "compared with %s", v->other);
	if (v->note)
		html_element(out, "p", "about", "%s", v->note);
	for (gap = v->gap; gap && *gap; gap++)
		html_element(out, "p", "state fair", "%s", *gap);
	html_main(out);
	put_tiles(v, out);
	put_graph(v, out);
	put_functions(v, top, out);
	(void)fprintf(out, "<script>\n%s</script>\n", script);
	html_end(out, "slurm-ceems");
	return 0;
}
