/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_sources.c - the sensors in `ceems check`: which exist, their values and age, what each is
 * used for, and why others are not used. It opens and reads them as slurmd does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/check/check.h"
#include "src/libcore/doubt.h"
#include "src/libledger/ledger.h"
#include "src/libmeter/activity/cputime.h"
#include "src/libnode/sources.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"

#define TICK_NS (300 * NSEC_PER_MSEC)
/* What the ledger says of sensors is old after this time: no slurmd works. */
#define KEPT_NS (180 * NSEC_PER_SEC)

/* What a source shows of a domain, or of what contains several: the modules together, or the node. */
#define WATCH_MODULES DOMAIN_N
#define WATCH_NODE (DOMAIN_N + 1)
#define WATCH_N (DOMAIN_N + 2)
struct watched {
	bool is_there;
	uint64_t energy_uj;
	uint64_t from_ns, to_ns; /* the time in which the energy was used */
	bool is_stamped;	 /* the sensor gives the time of its readings */
	enum reading_quality quality;
};

struct watch {
	const struct check *c;
	struct sources *s;
	struct source_state *state; /* array of SOURCE_N */
	struct sources_reading r;
	int stat_fd;
	uint32_t cpus;
	uint64_t busy_ns;
	uint64_t begin_ns, last_ns;
	struct watched of[SOURCE_N][WATCH_N];
	struct ledger_part *kept; /* the parts as slurmd assesses them; NULL: no slurmd works */
	uint32_t nkept;
};

struct text {
	char buf[512];
	size_t used;
};

static void check_sources_add(struct text *t, const char *fmt, ...) _printf_(2, 3);
static void check_sources_add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->used, sizeof(t->buf) - t->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used += (size_t)n < sizeof(t->buf) - t->used ? (size_t)n : sizeof(t->buf) - t->used - 1;
}

/* --- watching --------------------------------------------------------------------------- */

static uint32_t busy_ppm(struct watch *w, uint64_t dt_ns)
{
	uint64_t before = w->busy_ns;
	uint64_t ppm;

	if (w->stat_fd < 0 || cputime_node(w->stat_fd, &w->busy_ns, &w->cpus) < 0 || !w->cpus || !dt_ns ||
	    w->busy_ns < before)
		return 0;
	ppm = (w->busy_ns - before) * 1000000 / dt_ns / w->cpus;
	return ppm > 1000000 ? 1000000 : (uint32_t)ppm;
}

static void note_part(struct watch *w, enum source_id id, const struct part *p)
{
	struct watched *of = &w->of[id][p->scope == SCOPE_NODE	 ? WATCH_NODE :
					p->scope == SCOPE_MODULE ? WATCH_MODULES :
								   p->domain];
	uint64_t to_ns = p->until_ns ? p->until_ns : w->last_ns;

	if (!of->is_there || p->is_new_base) {
		of->energy_uj = 0;
		of->from_ns = of->to_ns = to_ns;
	}
	of->is_there = true;
	of->is_stamped = p->until_ns != 0;
	of->quality = (enum reading_quality)p->quality;
	of->energy_uj += p->energy_uj;
	if (to_ns > of->to_ns)
		of->to_ns = to_ns;
}

static void tick(struct watch *w)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t dt_ns = w->last_ns ? now_ns - w->last_ns : 0;
	struct sources_status st;
	unsigned int id;
	uint32_t i;

	w->last_ns = now_ns;
	sources_read(w->s, now_ns, dt_ns, busy_ppm(w, dt_ns), w->state, &w->r);
	for (id = 0; id < SOURCE_N; id++) {
		if (!sources_status(w->s, (enum source_id)id, &st) || !st.last || st.rc < 0)
			continue;
		for (i = 0; i < st.last->nparts; i++)
			if (st.last->part[i].domain < DOMAIN_N)
				note_part(w, (enum source_id)id, &st.last->part[i]);
	}
}

/* Returns true for sensors behind a BMC, which show power only after two readings. */
static bool is_slow(const struct watch *w, enum source_id id)
{
	return source_table[id].kind == SENSOR_BMC || w->of[id][WATCH_NODE].is_stamped;
}

static bool has_shown(const struct watch *w, enum source_id id)
{
	unsigned int d;

	for (d = 0; d < WATCH_N; d++)
		if (w->of[id][d].energy_uj)
			return true;
	return false;
}

static bool is_worth_waiting(struct watch *w)
{
	uint64_t twice_ns = 2 * SOURCES_SLOW_NS + 2 * NSEC_PER_SEC;
	uint64_t so_far_ns = clock_mono_ns() - w->begin_ns;
	struct sources_status st;
	unsigned int id;

	for (id = 0; id < SOURCE_N; id++) {
		if (!sources_status(w->s, (enum source_id)id, &st) || !st.is_open)
			continue;
		/* slurmd waits this long before it uses other sources */
		if (!st.last && so_far_ns < SOURCES_AWAIT_NS + 2 * TICK_NS)
			return true;
		if (st.last && is_slow(w, (enum source_id)id) && !has_shown(w, (enum source_id)id) &&
		    so_far_ns < twice_ns)
			return true;
	}
	return false;
}

static void watch(struct watch *w)
{
	const struct timespec pause = clock_ns_to_timespec(TICK_NS);

	w->begin_ns = clock_mono_ns();
	tick(w);
	do {
		(void)nanosleep(&pause, NULL);
		tick(w);
	} while (is_worth_waiting(w));
}

/* --- telling ---------------------------------------------------------------------------- */

static const char *watched_name(unsigned int d)
{
	return d == WATCH_NODE ? "node" : d == WATCH_MODULES ? "modules" : domain_name((enum domain)d);
}

/* Computes the mean power so far. False: it is not known yet. */
static bool watched_mw(const struct watched *of, uint64_t *ret_mw)
{
	uint64_t span_us = (of->to_ns - of->from_ns) / 1000;

	if (!of->is_there || !span_us)
		return false;
	*ret_mw = of->energy_uj * 1000 / span_us;
	return true;
}

/*
 * Adds the power that a source shows, such as "cpu 12.3 W (counter), node 310.0 W (integrated, 2.1 s old)".
 */
static void add_watts(struct text *t, const struct watch *w, enum source_id id)
{
	const char *comma = "";
	unsigned int d;

	for (d = 0; d < WATCH_N; d++) {
		const struct watched *of = &w->of[id][d];
		uint64_t age_ms = w->last_ns > of->to_ns ? (w->last_ns - of->to_ns) / NSEC_PER_MSEC : 0;
		uint64_t mw;

		if (!of->is_there)
			continue;
		check_sources_add(t, "%s%s ", comma, watched_name(d));
		comma = ", ";
		if (watched_mw(of, &mw))
			check_sources_add(t, "%llu.%llu W (%s", (unsigned long long)mw / 1000,
					  (unsigned long long)mw / 100 % 10,
					  reading_quality_name(of->quality));
		else
			check_sources_add(t, "no new readings (%s", reading_quality_name(of->quality));
		if (of->is_stamped)
			check_sources_add(t, ", %llu.%llu s old", (unsigned long long)age_ms / 1000,
					  (unsigned long long)age_ms / 100 % 10);
		check_sources_add(t, ")");
	}
	if (!*comma)
		check_sources_add(t, "no readings");
}

static void add_use(struct text *t, const struct watch *w, enum source_id id, bool is_node, bool has_modules)
{
	const char *comma = "used for ";
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		if (w->r.from[d] == id && w->of[id][d].is_there) {
			check_sources_add(t, "%s%s", comma, domain_name((enum domain)d));
			comma = ", ";
		}
	if (has_modules) {
		check_sources_add(t, "%sthe modules", comma);
		comma = ", ";
	}
	if (is_node)
		check_sources_add(t, "%sthe node", comma);
}

/* Adds the domains that the source measures, but that are taken from another source. */
static void add_why_not(struct text *t, const struct watch *w, enum source_id id, enum source_id node)
{
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++) {
		if (!w->of[id][d].is_there || w->r.from[d] == id)
			continue;
		if (w->r.from[d] < SOURCE_N)
			check_sources_add(t, "; %s is taken from %s", domain_name((enum domain)d),
					  source_name((enum source_id)w->r.from[d]));
		else
			check_sources_add(t, "; %s is not estimated beside a sensor",
					  domain_name((enum domain)d));
	}
	if (w->of[id][WATCH_NODE].is_there && node != id && node < SOURCE_N)
		check_sources_add(t, "; the node is taken from %s", source_name(node));
}

/* What to do if a source does not work. */
static struct check_hint check_sources_remedy(enum source_id id)
{
	static const char *const remedies[SOURCE_N] = {
#define SOURCE(id, name, place, kind, node_place, node_note, label, help, setting, remedy) \
	[SOURCE_##id] = remedy,
#include "src/libcore/sources.def"
#undef SOURCE
	};
	enum setting setting = (enum setting)source_table[id].setting;

	if (!*remedies[id])
		return check_no_hint;
	return setting < SETTING_N ? check_hint_setting(setting, remedies[id]) :
				     check_hint_system(remedies[id]);
}

static void tell_closed(struct check *c, enum source_id id, const struct sources_status *st, bool is_auto)
{
	const char *name = source_name(id);
	bool is_absent = st->rc == -ENODEV || st->rc == -ENOENT;
	char hint[128];

	(void)snprintf(hint, sizeof(hint), "take %s out of EnergySources, or EnergySources=auto", name);
	if ((st->rc == -EACCES || st->rc == -EPERM) && geteuid() != 0)
		check_warn(c, name, check_hint_system("run ceems check as root"), "%s", st->why);
	else if (st->rc == -EOPNOTSUPP)
		check_warn(c, name, check_no_hint, "%s", st->why);
	else if (!is_absent || st->is_lost)
		check_error(c, name, check_sources_remedy(id), "%s", st->why);
	else if (is_auto)
		check_note(c, name, "%s", st->why);
	else
		check_error(c, name, check_hint_setting(SETTING_energy_sources, hint), "%s", st->why);
}

/* Reports the notes of a source, each line as a finding. */
static void tell_notes(struct check *c, enum source_id id, const char *notes)
{
	for (; *notes; notes += strcspn(notes, "\n") + 1)
		check_note(c, source_name(id), "%.*s", (int)strcspn(notes, "\n"), notes);
}

/* Returns true if the file that the setting of the source names does not answer. */
static bool check_sources_hangs(const struct check *c, enum source_id id)
{
	enum setting setting = (enum setting)source_table[id].setting;

	return setting < SETTING_N && check_is_hung(c, settings_text(&c->settings, setting));
}

/* Adds the parts of the source whose energy slurmd does not know, and why. Returns the worst enum doubt. */
static unsigned int add_doubt(struct text *t, const struct watch *w, enum source_id id)
{
	unsigned int worst = DOUBT_NONE;
	uint32_t i;

	for (i = 0; i < w->nkept; i++) {
		const struct ledger_part *p = &w->kept[i];

		if (p->source != id || !p->doubt)
			continue;
		check_sources_add(t, "; %s %u %s, says slurmd", domain_name((enum domain)p->domain), p->unit,
				  doubt_text(p->doubt));
		worst = p->doubt > worst ? p->doubt : worst;
	}
	return worst;
}

static void check_sources_tell(struct check *c, struct watch *w, enum source_id id, enum source_id node)
{
	bool is_auto = !strcasecmp(c->settings.energy_sources, "auto");
	struct sources_status st;
	struct text t = { 0 };
	struct text use = { 0 };
	unsigned int doubt;

	if (check_sources_hangs(c, id))
		return;
	if (!sources_status(w->s, id, &st)) {
		check_note(c, source_name(id), "not in EnergySources");
		return;
	}
	if (!st.is_open) {
		tell_closed(c, id, &st, is_auto);
		return;
	}
	if (!st.last) {
		check_error(c, source_name(id), check_sources_remedy(id), "%s; cannot be read: %s", st.about,
			    *st.why ? st.why : strerror(-st.rc));
		tell_notes(c, id, st.notes);
		return;
	}
	check_sources_add(&t, "%s; ", st.about);
	add_watts(&t, w, id);
	add_use(&use, w, id, node == id, st.has_modules);
	check_sources_add(&t, "; %s", use.used ? use.buf : "not used");
	add_why_not(&t, w, id, node);
	if (st.lag_ns)
		check_sources_add(&t, "; up to %llu.%llu s behind",
				  (unsigned long long)(st.lag_ns / NSEC_PER_SEC),
				  (unsigned long long)(st.lag_ns / (NSEC_PER_SEC / 10) % 10));
	doubt = add_doubt(&t, w, id);
	if (doubt > DOUBT_PARTIAL)
		check_error(c, source_name(id), check_sources_remedy(id), "%s", t.buf);
	else if (doubt)
		check_warn(c, source_name(id), check_sources_remedy(id), "%s", t.buf);
	else if (st.is_configured && (st.rc < 0 || st.last->late))
		check_error(c, source_name(id), check_sources_remedy(id), "%s; is lost: %s", t.buf,
			    *st.why ? st.why : "its readings are too old");
	else if (st.last->rejected)
		check_warn(c, source_name(id),
			   check_hint_system("ceems gather, and send the archive to the developers, if other "
					     "programs can read this sensor"),
			   "%s; %u counters gave no plausible reading", t.buf, st.last->rejected);
	else if (st.last->late)
		check_warn(c, source_name(id), check_sources_remedy(id), "%s; its readings are too old",
			   t.buf);
	else if (use.used)
		check_ok(c, source_name(id), "%s", t.buf);
	else
		check_note(c, source_name(id), "%s", t.buf);
	tell_notes(c, id, st.notes);
}

static enum source_id find_node(const struct watch *w)
{
	struct sources_status st;
	unsigned int id;

	for (id = 0; id < SOURCE_N; id++)
		if (sources_status(w->s, (enum source_id)id, &st) && st.is_node)
			break;
	return (enum source_id)id;
}

static bool has_estimate(const struct watch *w)
{
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		if (w->r.from[d] == SOURCE_MODEL)
			return true;
	return false;
}

/*
 * Gives the power of the node: from the sensor of the whole node, or the sum of the
 * domains. False: not known.
 */
static bool total_mw(const struct watch *w, enum source_id node, uint64_t *ret_mw)
{
	uint64_t sum_mw = 0;
	uint64_t mw;
	unsigned int d;

	if (node < SOURCE_N)
		return watched_mw(&w->of[node][WATCH_NODE], ret_mw);
	for (d = 0; d < DOMAIN_N; d++) {
		if (w->r.from[d] == SOURCE_N)
			continue;
		if (!watched_mw(&w->of[w->r.from[d]][d], &mw))
			return false;
		sum_mw += mw;
	}
	*ret_mw = sum_mw;
	return true;
}

/*
 * Compares the measured power with IdleWatts. If the node draws less than its idle power, one of
 * the two is wrong.
 */
static void tell_idle(struct check *c, const struct watch *w, enum source_id node)
{
	uint64_t idle_mw = c->settings.idle_mw;
	uint64_t mw;

	if (!idle_mw || !total_mw(w, node, &mw))
		return;
	if (mw < idle_mw - idle_mw / 20)
		check_warn(c, "IdleWatts",
			   check_hint_setting(SETTING_idle_mw, "IdleWatts=0, which lets it be learned"),
			   "%llu W is more than the %llu W that are measured now",
			   (unsigned long long)idle_mw / 1000, (unsigned long long)mw / 1000);
	else
		check_ok(c, "IdleWatts", "%llu W of the %llu W that are measured now",
			 (unsigned long long)idle_mw / 1000, (unsigned long long)mw / 1000);
}

static void tell_all(struct check *c, struct watch *w)
{
	enum source_id node = find_node(w);
	struct text t = { 0 };
	unsigned int id;
	unsigned int d;

	for (id = 0; id < SOURCE_N; id++)
		check_sources_tell(c, w, (enum source_id)id, node);
	for (d = 0; d < DOMAIN_N; d++)
		if (w->r.from[d] < SOURCE_N)
			check_sources_add(&t, "%s%s from %s", t.used ? ", " : "", domain_name((enum domain)d),
					  source_name((enum source_id)w->r.from[d]));
	if (!t.used)
		check_error(c, "EnergySources",
			    check_hint_setting(SETTING_energy_sources, "EnergySources=auto"),
			    "none of the sources can be read: jobs get no energy");
	else if (has_estimate(w))
		check_ok(c, "EnergySources", "%s (an estimate, not a measurement)", t.buf);
	else
		check_ok(c, "EnergySources", "%s", t.buf);
	if (t.used)
		tell_idle(c, w, node);
}

/* Reads the parts in slurmd's ledger, if slurmd has ticked not long ago. */
static void read_kept(struct watch *w)
{
	_cleanup_free_ struct ledger_page *page = malloc(sizeof(*page));
	struct errmsg err = { 0 };
	struct ledger *l = NULL;

	if (!page || check_is_hung(w->c, w->c->settings.ledger_dir) ||
	    ledger_open(w->c->settings.ledger_dir, w->c->node, /* writable= */ false, &l, &err) < 0)
		return;
	w->kept = calloc(PARTS_MAX, sizeof(*w->kept));
	if (w->kept && ledger_snapshot(l, page) == 0 && page->nparts <= PARTS_MAX &&
	    clock_mono_ns() - page->t_mono_ns < KEPT_NS) {
		memcpy(w->kept, page->part, page->nparts * sizeof(*w->kept));
		w->nkept = page->nparts;
	}
	ledger_close(l);
}

void check_sources(struct check *c)
{
	struct settings settings = c->settings;
	const struct source_env env = sources_env(&settings);
	_cleanup_free_ struct watch *w = calloc(1, sizeof(*w));
	_cleanup_free_ struct source_state *state = calloc(SOURCE_N, sizeof(*state));
	struct errmsg err = { 0 };
	unsigned int id;

	if (!w || !state)
		return;
	for (id = 0; id < SOURCE_N; id++)
		if (check_sources_hangs(c, (enum source_id)id)) /* its helper would hang */
			((char *)&settings)[settings_keys[source_table[id].setting].offset] = '\0';
	w->c = c;
	w->state = state;
	if (sources_open(c->settings.energy_sources, source_builtin, source_nbuiltin, &env, &w->s, &err) <
	    0) {
		check_error(c, "EnergySources", check_no_hint, "%s", err.text);
		return;
	}
	w->stat_fd = fileio_open_at_root(c->settings.sys_root, "/proc/stat");
	if (w->stat_fd < 0)
		w->stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	logger_set_sink(NULL); /* lines that slurmd would log about a source are findings here */
	watch(w);
	logger_set_sink(logger_sink_stderr);
	read_kept(w);
	tell_all(c, w);
	free(w->kept);
	check_gpus(c, sources_slices(w->s));
	if (w->stat_fd >= 0)
		(void)close(w->stat_fd);
	sources_close(w->s);
}
