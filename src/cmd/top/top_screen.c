/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/top/top_screen.h"

#include <errno.h>

#include "ceems_config.h"

#ifdef HAVE_NCURSES
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cmd/top/top_reader.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define KEY_WAIT_MS 100 /* how long to wait for a key before looking for a new frame */
#define STOP_WAIT_NS (300 * NSEC_PER_MSEC)
#define KEY_ESC 27

struct top_screen {
	struct top_reader *reader;
	struct top_view view;
	struct top_frame frame;	   /* owned */
	struct errmsg err;	   /* the last error; empty: the last answer was a frame */
	char note[160];		   /* shown until the next key; empty: none */
	bool is_dirty;		   /* the screen must be drawn again */
	uint32_t nodes_of;	   /* the job whose nodes are shown; 0: jobs are shown */
	char marked[TOP_TEXT_MAX]; /* the id that was marked before nodes were shown */
	uint64_t shown;		   /* how many frames were shown */
};

static volatile sig_atomic_t end_signal;

static void on_signal(int sig)
{
	end_signal = sig;
}

/*
 * Sets our own signal handlers, which only note the signal. Those of curses end the process, and might leave
 * the terminal unusable.
 */
static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction sa = { .sa_handler = on_signal };
	size_t i;

	end_signal = 0;
	(void)sigemptyset(&sa.sa_mask);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		(void)sigaction(signals[i], &sa, NULL);
}

/* --- drawing ----------------------------------------------------------------------------------- */

static chtype attribute_of(enum top_style style)
{
	switch (style) {
	case TOP_HEAD:
		return A_BOLD;
	case TOP_TITLES:
		return A_REVERSE;
	case TOP_SELECTED:
		return A_REVERSE | A_BOLD;
	case TOP_NOTE:
		return (chtype)COLOR_PAIR(1);
	case TOP_KEYS:
		return A_DIM;
	case TOP_PLAIN:
		break;
	}
	return A_NORMAL;
}

static void put_line(int y, const struct top_line *line, size_t width)
{
	(void)move(y, 0);
	(void)attrset((int)attribute_of(line->style));
	(void)addnstr(line->text, -1);
	/*
	 * chgat() extends the colour to the edge; writing blanks up to the last cell could scroll the screen
	 */
	if (line->style == TOP_TITLES || line->style == TOP_SELECTED)
		(void)chgat(-1, attribute_of(line->style), 0, NULL);
	else if ((size_t)getcurx(stdscr) < width)
		(void)clrtoeol();
	(void)attrset(A_NORMAL);
}

static int draw_screen(struct top_screen *s)
{
	struct top_lines lines;
	size_t i;
	int rc;

	if (s->view.width < 1 || s->view.height < 1)
		return 0;
	if (*s->note || *s->err.text)
		(void)snprintf(s->frame.note, sizeof(s->frame.note), "%.159s",
			       *s->note ? s->note : s->err.text);
	rc = top_draw(&s->frame, &s->view, &lines);
	if (rc < 0)
		return rc;
	(void)erase();
	for (i = 0; i < lines.n; i++)
		put_line((int)i, &lines.line[i], s->view.width);
	top_lines_free(&lines);
	(void)refresh();
	s->is_dirty = false;
	return 0;
}

static void fit_screen(struct top_screen *s)
{
	int height, width;

	getmaxyx(stdscr, height, width);
	s->view.height = height > 0 ? (size_t)height : 0;
	s->view.width = width > 0 ? (size_t)width : 0;
	s->is_dirty = true;
}

/* --- keys -------------------------------------------------------------------------------------- */

static void set_mark(struct top_screen *s, const char *id)
{
	char copy[TOP_TEXT_MAX]; /* ID may be view.selected itself, so it is copied first */

	(void)snprintf(copy, sizeof(copy), "%s", id);
	(void)snprintf(s->view.selected, sizeof(s->view.selected), "%s", copy);
}

/* Moves the mark by STEP rows, and scrolls until the marked row is visible. */
static void mark_row(struct top_screen *s, long step)
{
	size_t shown = top_rows_shown(&s->frame, &s->view);
	_cleanup_free_ size_t *order = NULL;
	long at = -1;
	size_t n, i;

	order = top_order(&s->frame, &s->view, &n);
	if (!order || !n)
		return;
	for (i = 0; i < n; i++)
		if (!strcmp(s->frame.row[order[i]].id, s->view.selected))
			at = (long)i;
	/* if no row is marked, the first step marks the row at the top of the window */
	at = at < 0 ? (step < 0 && step > -(long)n ? 0 :
		       step >= (long)n		   ? (long)n - 1 :
						     (long)s->view.first) :
		      at + step;
	at = at < 0 ? 0 : at >= (long)n ? (long)n - 1 : at;
	set_mark(s, s->frame.row[order[at]].id);
	if ((size_t)at < s->view.first)
		s->view.first = (size_t)at;
	else if (shown && (size_t)at >= s->view.first + shown)
		s->view.first = (size_t)at + 1 - shown;
}

/* After a change of filter or order: shows the first rows, or those around the job that is still marked. */
static void order_changed(struct top_screen *s)
{
	s->view.first = 0;
	if (*s->view.selected)
		mark_row(s, 0);
}

static void type_filter(struct top_screen *s, int key)
{
	size_t len = strlen(s->view.filter);

	if (key == '\n' || key == '\r' || key == KEY_ENTER)
		s->view.is_typing = false;
	else if (key == KEY_ESC)
		s->view.filter[0] = '\0', s->view.is_typing = false;
	else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && len)
		s->view.filter[len - 1] = '\0';
	else if (key >= ' ' && key < 256 && key != 127 && len + 1 < TOP_FILTER_MAX)
		s->view.filter[len] = (char)key, s->view.filter[len + 1] = '\0';
	order_changed(s);
}

/* Returns the job of the marked row. 0: no row is marked, or it belongs to no job. */
static uint32_t marked_job(const struct top_screen *s)
{
	size_t i;

	for (i = 0; i < s->frame.n; i++)
		if (*s->view.selected && !strcmp(s->frame.row[i].id, s->view.selected))
			return s->frame.row[i].job_id;
	return 0;
}

static void toggle_nodes(struct top_screen *s)
{
	if (s->nodes_of) {
		s->nodes_of = 0;
		set_mark(s, s->marked);
	} else {
		s->nodes_of = marked_job(s);
		if (!s->nodes_of)
			return;
		(void)snprintf(s->marked, sizeof(s->marked), "%s", s->view.selected);
		set_mark(s, "");
	}
	s->view.first = 0;
	top_reader_ask(s->reader, s->nodes_of);
}

static void sort_by(struct top_screen *s, const struct top_column *column)
{
	if (!column)
		return;
	s->view.sort = column;
	order_changed(s);
}

static void move_by_key(struct top_screen *s, int key)
{
	long page = (long)top_rows_shown(&s->frame, &s->view);

	switch (key) {
	case KEY_UP:
		return mark_row(s, -1);
	case KEY_DOWN:
		return mark_row(s, 1);
	case KEY_PPAGE:
		return mark_row(s, -page);
	case KEY_NPAGE:
		return mark_row(s, page);
	case KEY_HOME:
		return mark_row(s, -(long)s->frame.n);
	case KEY_END:
		return mark_row(s, (long)s->frame.n);
	default:
		return;
	}
}

/* Handles a key. False: the user quits. */
static bool on_key(struct top_screen *s, int key)
{
	s->is_dirty = true;
	s->note[0] = '\0';
	if (key == KEY_RESIZE) {
		fit_screen(s);
		return true;
	}
	if (s->view.is_typing) {
		type_filter(s, key);
		return true;
	}
	switch (key) {
	case 'q':
	case KEY_ESC:
		if (!s->view.is_help && !s->nodes_of)
			return false;
		if (!s->view.is_help)
			toggle_nodes(s);
		s->view.is_help = false;
		return true;
	case 'h':
	case '?':
		s->view.is_help = !s->view.is_help;
		return true;
	case '/':
		s->view.is_typing = true;
		return true;
	case 'r':
		s->view.reverse = !s->view.reverse;
		order_changed(s);
		return true;
	case '<':
	case KEY_LEFT:
		sort_by(s, top_column_next(&s->frame, &s->view, -1));
		return true;
	case '>':
	case KEY_RIGHT:
		sort_by(s, top_column_next(&s->frame, &s->view, 1));
		return true;
	case '\n':
	case '\r':
	case KEY_ENTER:
		toggle_nodes(s);
		return true;
	case ' ':
		top_reader_ask(s->reader, s->nodes_of);
		return true;
	default:
		if (key >= 'A' && key <= 'Z')
			sort_by(s, top_column_of_key(key));
		else
			move_by_key(s, key);
		return true;
	}
}

/* --- loop -------------------------------------------------------------------------------------- */

static void take_frame(struct top_screen *s)
{
	if (!top_reader_take(s->reader, &s->frame, &s->err))
		return;
	if (*s->err.text && s->nodes_of) {
		(void)snprintf(s->note, sizeof(s->note), "%.159s", s->err.text);
		s->err.text[0] = '\0';
		toggle_nodes(s);
	}
	s->shown++;
	s->is_dirty = true;
	if (s->view.first >= s->frame.n)
		s->view.first = 0;
}

static int run_loop(struct top_screen *s, uint64_t frames)
{
	int rc = 0;

	while (rc == 0 && !end_signal && (!frames || s->shown < frames)) {
		int key = getch();

		if (key != ERR && !on_key(s, key))
			break;
		take_frame(s);
		if (s->is_dirty)
			rc = draw_screen(s);
	}
	return rc;
}

static int begin_screen(struct errmsg *err)
{
	SCREEN *screen;

	(void)setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return errmsg_set(err, -ENOTTY, "the output is not a terminal: use --once");
	/* newterm() instead of initscr(), which ends the process if it fails */
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return errmsg_set(err, -ENOTTY, "TERM=%s is not a terminal that ncurses knows: use --once",
				  getenv("TERM") ? getenv("TERM") : "");
	(void)set_term(screen);
	(void)set_escdelay(25);
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)keypad(stdscr, TRUE);
	(void)curs_set(0);
	timeout(KEY_WAIT_MS);
	if (has_colors() && start_color() == OK && use_default_colors() == OK)
		(void)init_pair(1, COLOR_YELLOW, -1);
	return 0;
}

int top_screen_run(struct top_source *source, const struct top_view *view, uint64_t interval_ns,
		   uint64_t frames, int *ret_signal, bool *ret_busy, struct errmsg *err)
{
	struct top_screen s = { .view = *view };
	int rc = begin_screen(err);

	if (rc < 0)
		return rc;
	catch_signals();
	fit_screen(&s);
	(void)snprintf(s.frame.what, sizeof(s.frame.what), "jobs");
	(void)snprintf(s.frame.source, sizeof(s.frame.source), "no source yet: waiting for the first answer");
	rc = top_reader_start(source, interval_ns, &s.reader);
	if (rc == 0) {
		rc = run_loop(&s, frames);
		*ret_busy = !top_reader_stop(s.reader, STOP_WAIT_NS);
	}
	(void)endwin();
	top_frame_free(&s.frame);
	*ret_signal = end_signal;
	return rc < 0 ? errmsg_set(err, rc, "%s", strerror(-rc)) : 0;
}

#else

int top_screen_run(struct top_source *source, const struct top_view *view, uint64_t interval_ns,
		   uint64_t frames, int *ret_signal, bool *ret_busy, struct errmsg *err)
{
	(void)source;
	(void)view;
	(void)interval_ns;
	(void)frames;
	(void)ret_signal;
	(void)ret_busy;
	return errmsg_set(err, -ENOTSUP, "built without ncurses: use --once, or watch ceems top --once");
}
#endif
