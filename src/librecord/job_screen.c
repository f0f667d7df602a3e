/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/job_screen.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/librecord/job_rows.h"
#include "src/librecord/job_sums.h"
#include "src/librecord/screen_text.h"
#include "src/libcore/metric_text.h"
#include "src/libutil/text.h"

/* --- header ------------------------------------------------------------------------------------ */

static enum screen_colour state_colour(const struct record *r)
{
	static const char *const neutral[] = { "PENDING",  "RUNNING",  "SUSPENDED", "CANCELLED",
					       "RESIZING", "REQUEUED", "PREEMPTED", "COMPLETING" };
	size_t i;

	if (!r->state)
		return SCREEN_PLAIN;
	for (i = 0; i < ARRAY_SIZE(neutral); i++)
		if (!strcmp(r->state, neutral[i]))
			return SCREEN_PLAIN;
	return !strcmp(r->state, "COMPLETED") ? SCREEN_GOOD : SCREEN_BAD;
}

static void put_state(const struct record *r, char *buf, size_t size)
{
	const char *state = r->state ? r->state : "state n/a";

	if (r->end)
		(void)snprintf(buf, size, "%s %" PRId32 ":%" PRId32, state, r->exit_code, r->exit_signal);
	else
		(void)snprintf(buf, size, "%s", state);
}

/* Writes how many parts are in each state: "2 COMPLETED, 1 FAILED". */
static void put_states(const struct job_screen *s, char *buf, size_t size)
{
	size_t used = 0;
	size_t i, k;

	buf[0] = '\0';
	for (i = 0; i < s->n && used < size; i++) {
		const char *state = s->part[i]->state ? s->part[i]->state : "n/a";
		size_t alike = 0;

		for (k = 0; k < s->n; k++) {
			const char *other = s->part[k]->state ? s->part[k]->state : "n/a";

			if (strcmp(state, other) != 0)
				continue;
			if (k < i)
				break; /* counted at the first part with this state */
			alike++;
		}
		if (k == s->n)
			used += (size_t)snprintf(buf + used, size - used, "%s%zu %s", used ? ", " : "", alike,
						 state);
	}
}

static const char *or_na(const char *text)
{
	return text && *text ? text : "n/a";
}

static bool is_alike(const struct job_screen *s, size_t offset)
{
	const char *first = *(char *const *)((const char *)s->part[0] + offset);
	size_t i;

	for (i = 1; i < s->n; i++) {
		const char *next = *(char *const *)((const char *)s->part[i] + offset);

		if (strcmp(first ? first : "", next ? next : "") != 0)
			return false;
	}
	return true;
}
#define TEXT_OF(s, member) \
	(is_alike(s, offsetof(struct record, member)) ? or_na((s)->part[0]->member) : "several")

void job_head_fill(const struct job_screen *s, struct job_head *h)
{
	const struct record *r = s->part[0];
	bool is_other = s->cluster && r->cluster && strcmp(s->cluster, r->cluster) != 0;
	char id[96];
	size_t i;

	*h = (struct job_head){ 0 };
	if (s->n > 1)
		(void)snprintf(h->text[JOB_HEAD_ID], sizeof(h->text[0]), "%s %" PRIu64,
			       r->array_job_id.known ? "Array" : "Het job",
			       r->array_job_id.known ? r->array_job_id.value : r->het_job_id.value);
	else {
		job_id_text(r, id, sizeof(id));
		(void)snprintf(h->text[JOB_HEAD_ID], sizeof(h->text[0]), "%s %s", s->step ? "Step" : "Job",
			       s->step ? s->step : id);
	}
	(void)snprintf(h->text[JOB_HEAD_NAME], sizeof(h->text[0]), "%s", TEXT_OF(s, job_name));
	(void)snprintf(h->text[JOB_HEAD_USER], sizeof(h->text[0]), "%s/%s", or_na(r->user_name),
		       TEXT_OF(s, account));
	(void)snprintf(h->text[JOB_HEAD_PARTITION], sizeof(h->text[0]), "%s%s%s", is_other ? r->cluster : "",
		       is_other ? ":" : "", TEXT_OF(s, partition));
	if (s->n > 1) {
		(void)snprintf(h->text[JOB_HEAD_NODES], sizeof(h->text[0]), "%zu parts", s->n);
		put_states(s, h->text[JOB_HEAD_STATE], sizeof(h->text[0]));
	} else {
		(void)snprintf(h->text[JOB_HEAD_NODES], sizeof(h->text[0]), "%s",
			       r->nodes ? r->nodes : "no node");
		put_state(r, h->text[JOB_HEAD_STATE], sizeof(h->text[0]));
	}
	h->colour = SCREEN_GOOD;
	for (i = 0; i < s->n; i++) {
		enum screen_colour c = state_colour(s->part[i]);

		if (h->colour != SCREEN_BAD && c != SCREEN_GOOD)
			h->colour = c;
	}
}

/*
 * Shrinks the header to the screen's width, the widest field first. No field gets narrower than its
 * LEAST.
 */
static void fit_header(struct job_head *h)
{
	static const size_t least[JOB_HEAD_N] = { 10, 6, 8, 6, 6, 12 };
	size_t total = 2 * (JOB_HEAD_N - 1);
	size_t i;

	for (i = 0; i < JOB_HEAD_N; i++) {
		(void)text_mask(h->text[i], h->text[i], sizeof(h->text[i]));
		h->columns[i] = text_columns(h->text[i]);
		total += h->columns[i];
	}
	while (total > JOB_SCREEN_COLUMNS) {
		size_t longest = JOB_HEAD_NAME;

		for (i = 0; i < JOB_HEAD_N; i++)
			if (h->columns[i] > least[i] &&
			    (h->columns[longest] <= least[longest] || h->columns[i] > h->columns[longest]))
				longest = i;
		h->columns[longest]--;
		total--;
	}
}

static void put_header(const struct screen *out, const struct job_screen *s)
{
	struct job_head h;
	size_t i;

	job_head_fill(s, &h);
	fit_header(&h);
	for (i = 0; i < JOB_HEAD_N; i++) {
		char cell[4 * JOB_SCREEN_COLUMNS + 1];

		(void)text_cell(h.text[i], h.columns[i], cell, sizeof(cell));
		screen_put(out,
			   i == JOB_HEAD_ID    ? SCREEN_BOLD :
			   i == JOB_HEAD_STATE ? h.colour :
						 SCREEN_PLAIN,
			   cell);
		fputs(i + 1 < JOB_HEAD_N ? "  " : "\n", out->out);
	}
}

/* --- parts ------------------------------------------------------------------------------------- */

#define REST_COLUMNS 43 /* columns of a part's row behind id and state */

static void put_part(const struct screen *out, const struct job_screen *s, const struct record *r)
{
	char id[96], state[64], time[SCREEN_TEXT_MAX], rest[8 * SCREEN_TEXT_MAX];
	char cell[4 * REST_COLUMNS + 1];
	char cpu[SCREEN_TEXT_MAX] = "n/a", memory[SCREEN_TEXT_MAX] = "n/a";
	char wh[SCREEN_TEXT_MAX] = "n/a", mass[METRIC_TEXT_MAX] = "n/a";
	double share = job_cpu_share(s, r);
	struct job_memory m;

	job_id_text(r, id, sizeof(id));
	put_state(r, state, sizeof(state));
	job_memory_find(r, &m);
	if (share >= 0)
		(void)screen_share(share, cpu);
	if (m.peak && m.allocated)
		(void)screen_share(m.share, memory);
	if (values_has(&r->values, METRIC_ENERGY))
		(void)screen_wh(r->values.value[METRIC_ENERGY], wh);
	if (values_has(&r->values, METRIC_CO2E))
		(void)metric_text(&r->values, METRIC_CO2E, mass, sizeof(mass));
	(void)fprintf(out->out, "  %-14s ", text_cell(id, 14, cell, sizeof(cell)));
	(void)snprintf(id, sizeof(id), "%-19s", text_cell(state, 19, cell, sizeof(cell)));
	screen_put(out, state_colour(r), id);
	(void)snprintf(rest, sizeof(rest), "%9s %6s %6s %9s %9s",
		       r->start ? screen_seconds(job_elapsed_s(s, r), time) : "-", cpu, memory, wh, mass);
	(void)fprintf(out->out, " %s\n", text_cell(rest, REST_COLUMNS, cell, sizeof(cell)));
}

struct ranked {
	const struct record *r;
	double rank; /* lower is worse */
	size_t at;
};

static int compare_ranked(const void *x, const void *y)
{
	const struct ranked *a = x;
	const struct ranked *b = y;

	if (a->rank < b->rank || a->rank > b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/*
 * Prints all parts in their order if LINES are enough. Else prints the worst: first those that
 * failed, then those that used least of their CPUs. -ENOMEM.
 */
static int put_parts(const struct screen *out, const struct job_screen *s, size_t lines)
{
	_cleanup_free_ struct ranked *rank = calloc(s->n, sizeof(*rank));
	size_t shown = s->n + 1 <= lines ? s->n : lines - 2;
	size_t i;

	if (!rank)
		return -ENOMEM;
	for (i = 0; i < s->n; i++) {
		const struct record *r = s->part[i];

		rank[i] = (struct ranked){ .r = r, .at = i };
		if (shown < s->n)
			rank[i].rank = (state_colour(r) == SCREEN_BAD ? -2 : 0) + job_cpu_share(s, r);
	}
	qsort(rank, s->n, sizeof(*rank), compare_ranked);
	(void)fprintf(out->out, "  %-14s %-19s %9s %6s %6s %9s %9s\n", "PART", "STATE", "TIME", "CPU",
		      "MEMORY", "ENERGY", "CO2E");
	for (i = 0; i < shown; i++)
		put_part(out, s, rank[i].r);
	if (shown < s->n)
		(void)fprintf(out->out, "  and %zu more; these are the worst, --long shows all\n",
			      s->n - shown);
	return 0;
}

/*
 * --- the screen --------------------------------------------------------------------------------
 */

#define PARTS_LEAST 4 /* lines: column heads, two parts, and how many more there are */

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

/*
 * Makes all rows but the header and the table of parts, which needs PARTS lines at least. Advice
 * fills the lines that are left. Returns malloc'ed text; NULL: out of memory.
 */
static char *rows_text(const struct job_screen *s, size_t parts)
{
	struct screen out = { .colour = s->colour };
	struct job_sums sum;
	char *text = NULL;
	size_t size, used;

	out.out = open_memstream(&text, &size);
	if (!out.out)
		return NULL;
	job_sums_add(s, &sum);
	job_rows_print(&out, s, &sum);
	(void)fflush(out.out);
	used = 1 + parts + count_lines(text);
	if (used < JOB_SCREEN_LINES)
		job_advice_print(&out, s, JOB_SCREEN_LINES - used);
	if (fclose(out.out) == 0)
		return text;
	free(text);
	return NULL;
}

int job_screen_print(FILE *out, const struct job_screen *s)
{
	struct screen screen = { .out = out, .colour = s->colour };
	/* make the rows first: how many parts fit depends on them */
	_cleanup_free_ char *rows = rows_text(s, s->n > 1 ? PARTS_LEAST : 0);

	if (!rows)
		return -ENOMEM;
	put_header(&screen, s);
	if (s->n > 1 && put_parts(&screen, s, JOB_SCREEN_LINES - 1 - count_lines(rows)) < 0)
		return -ENOMEM;
	fputs(rows, out);
	return 0;
}
