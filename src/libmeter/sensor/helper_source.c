/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* environ */
#include "src/libmeter/sensor/helper_source.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "src/libmeter/sensor/counter.h"
#include "src/libmeter/sensor/integrate.h"
#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/logger.h"
#include "src/libutil/parse.h"

/* The most meters. Each has two numbers in the state; the rest is for remainder.h. */
#define METERS_MAX (SOURCE_MAX_COUNTERS / 2 - 4)

/*
 * How long a tick waits for an answer, less than the 50 ms that a step's end waits for a tick. It
 * is enough for eight GPUs, which are asked one after the other: NVML takes 4 ms on average for the
 * counter of an H100 (driver 580), and 15 ms at times.
 */
#define ANSWER_WAIT_NS (40 * NSEC_PER_MSEC)

/* The most lines that are read in one tick: from a BMC, and in an answer about many GPUs. */
#define LINES_MAX 64
#define ANSWER_LINES_MAX 256

/* The step of a `coarse` counter: a kWh. */
#define COARSE_UJ UINT64_C(3600000000000)

/* The largest lag that a helper may state: a day and an interval. */
#define LAG_MAX_MS UINT64_C(90000000)

#define WORDS_MAX 10
#define UNKNOWN UINT64_MAX

struct meter {
	char name[44]; /* its name in the state, followed by " ns" or " mW" */
	uint8_t domain;
	uint8_t unit;
	bool is_energy;
	uint8_t scope;	 /* enum part_scope */
	uint8_t module;	 /* as in struct part */
	bool is_coarse;	 /* a counter of kWh, which may stand still for hours */
	bool is_nonzero; /* a value of 0 is an error of the sensor */
	bool is_gone;
	bool is_read;		    /* its last line was a reading */
	bool is_late;		    /* its last sample was too old */
	bool is_partial;	    /* its last value does not cover all that it should */
	uint64_t shown;		    /* its last value */
	struct counter counter;	    /* used if is_energy */
	struct integrate integrate; /* used if not is_energy: the meter measures power */
	uint64_t seen_ns;	    /* the time of the last sample read; 0: none yet */
	uint64_t until_ns;	    /* the time of the last sample that gave an energy */
	struct logger_trouble trouble;
	struct gpu_reading gpu;
};

struct source {
	struct helper_source_setup setup;
	void (*heard)(void *arg, enum source_id id, const char *line); /* see struct source_env */
	void *heard_arg;
	struct helper *helper;
	struct meter meter[METERS_MAX];
	size_t n;
	uint64_t answered_ns;
	uint32_t rejected;	       /* errors that the next successful read() reports */
	struct logger_trouble trouble; /* errors that are not about one meter */
	struct logger_once implausible;
	struct gpu_slices slices;
	struct gpu_instance_reading instance[GPU_SLICES_MAX];
	size_t ninstances;
	char about[160];
	char why[400];	  /* the last error of the whole helper; empty: it answers */
	char notes[4096]; /* lines about the sensors; those that do not fit are left out */
	uint64_t lag_ns;
	char held[512]; /* a line that came while open() waited; the first read() handles it */
	char path[PATH_MAX];
	char *args[ARRAY_SIZE(((struct helper_source_setup *)0)->args)]; /* owned */
	char *argv[1 + ARRAY_SIZE(((struct helper_source_setup *)0)->args) + 1];
};

/* helper_line() that also shows the line to who wants to hear it. */
static int next_line(struct source *s, char **ret)
{
	int rc = helper_line(s->helper, clock_mono_ns(), ret);

	if (rc == 0 && s->heard)
		s->heard(s->heard_arg, s->setup.id, *ret);
	return rc;
}

static const char *source_who(const struct source *s)
{
	return source_name(s->setup.id);
}

/* --- what is told of meters --------------------------------------------------------------- */

static size_t split_words(char *line, char *word[WORDS_MAX])
{
	size_t n = 0;

	while (n < WORDS_MAX) {
		char *space = strchr(line, ' ');

		word[n++] = line;
		if (!space)
			break;
		*space = '\0';
		line = space + 1;
	}
	return n;
}

static struct meter *meter_find(struct source *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (!strcmp(s->meter[i].name, name))
			return &s->meter[i];
	return NULL;
}

static int parse_domain(const char *word, uint8_t *ret)
{
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		if (!strcmp(domain_name((enum domain)d), word)) {
			*ret = (uint8_t)d;
			return 0;
		}
	return -EINVAL;
}

static unsigned int units_of(uint8_t domain)
{
	return domain == DOMAIN_GPU ? GPUS_MAX : domain == DOMAIN_OTHER ? 1 : SOCKET_UNKNOWN + 1;
}

/* Reads a flag of a meter. False: it is not understood, so what the meter measures is not known. */
static bool meter_flag(struct meter *m, const char *word)
{
	uint64_t socket;

	if (!strcmp(word, "coarse"))
		m->is_coarse = true;
	else if (!strcmp(word, "nonzero"))
		m->is_nonzero = true;
	else if (!strcmp(word, "node"))
		m->scope = SCOPE_NODE;
	else if (!strcmp(word, "module"))
		m->scope = SCOPE_MODULE;
	else if (!strncmp(word, "on=", 3) && parse_u64(word + 3, &socket) == 0 && socket < SOCKETS_MAX)
		m->module = (uint8_t)(1 + socket);
	else
		return false;
	return true;
}

static bool is_scope_sound(const struct meter *m)
{
	switch ((enum part_scope)m->scope) {
	case SCOPE_UNIT:
		return !m->module || m->domain == DOMAIN_GPU;
	case SCOPE_MODULE:
		return m->module && (m->domain == DOMAIN_GPU || m->domain == DOMAIN_OTHER);
	case SCOPE_NODE:
		return !m->module && m->domain == DOMAIN_OTHER;
	}
	return false;
}

/* Adds a meter. If a restarted helper lists a meter again, it keeps its place and its base. */
static int meter_declare(struct source *s, char *const *word, size_t n)
{
	struct meter m = { .is_energy = n > 4 && !strcmp(word[4], "energy") };
	struct meter *known;
	uint64_t unit, max_w;
	size_t i;

	if (n < 6 || strlen(word[1]) >= sizeof(m.name) || parse_domain(word[2], &m.domain) < 0 ||
	    parse_u64(word[3], &unit) < 0 || unit >= units_of(m.domain) ||
	    (!m.is_energy && strcmp(word[4], "power") != 0) || parse_u64(word[5], &max_w) < 0 ||
	    max_w > COUNTER_PLATFORM_MAX_W)
		return -EINVAL;
	for (i = 6; i < n; i++)
		if (!meter_flag(&m, word[i]))
			return -EINVAL;
	if (!is_scope_sound(&m))
		return -EINVAL;
	m.unit = (uint8_t)unit;
	(void)snprintf(m.name, sizeof(m.name), "%s", word[1]);
	m.counter.range_uj = UINT64_MAX; /* those that wrap are in the plugin */
	m.counter.max_w = max_w;
	m.integrate.max_mw = max_w * 1000;
	m.integrate.max_gap_ns = s->setup.gap_ns;
	known = meter_find(s, m.name);
	if (known && known->domain == m.domain && known->unit == m.unit && known->is_energy == m.is_energy &&
	    known->scope == m.scope && known->module == m.module) {
		known->is_gone = false;
		return 0;
	}
	if (known || s->n == METERS_MAX)
		return -ENOSPC;
	m.gpu.unit = m.unit;
	gpu_values_forget(m.gpu.value);
	s->meter[s->n++] = m;
	return 0;
}

static void state_name(char name[sizeof(((struct source_counter *)0)->name)], const struct meter *m,
		       const char *suffix)
{
	(void)snprintf(name, sizeof(((struct source_counter *)0)->name), "%s%s", m->name, suffix);
}

/*
 * Forgets the meter's base, so that a later reading is not charged with the energy used until then.
 */
static void meter_forget(struct source *s, const char *name, struct source_state *state)
{
	static const char *const suffixes[] = { "", " ns", " mW" };
	struct meter *m = meter_find(s, name);
	struct meter by_name = { 0 };
	size_t i;

	(void)snprintf(by_name.name, sizeof(by_name.name), "%s", name);
	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		char text[sizeof(((struct source_counter *)0)->name)];

		state_name(text, &by_name, suffixes[i]);
		source_state_drop(state, text);
	}
	if (m) {
		m->is_gone = true;
		m->is_read = m->is_late = false;
		m->until_ns = m->seen_ns = 0;
	}
}

/* --- troubles ----------------------------------------------------------------------------- */

static void meter_note(const struct source *s, struct meter *m, const char *why)
{
	char label[sizeof(m->name) + 16];

	(void)snprintf(label, sizeof(label), m->domain == DOMAIN_GPU ? "GPU %u (%s)" : "%.0u%s", m->unit,
		       m->name);
	switch (logger_trouble_note(&m->trouble, why != NULL, clock_mono_ns())) {
	case LOGGER_BEGINS:
		logger_error("%s: %s cannot be read: %s; its energy is missing until it can", source_who(s),
			     label, why);
		break;
	case LOGGER_ENDS:
		logger_info("%s: %s can be read again", source_who(s), label);
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

static void source_note(struct source *s, const char *why)
{
	(void)snprintf(s->why, sizeof(s->why), "%s", why ? why : "");
	switch (logger_trouble_note(&s->trouble, why != NULL, clock_mono_ns())) {
	case LOGGER_BEGINS:
		logger_info("%s: %s; it is asked again later", source_who(s), why);
		break;
	case LOGGER_ENDS:
		logger_info("%s: answers again", source_who(s));
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

/* Handles an error. WHO is the name of a meter, or "-" if the error is about the whole helper. */
static void take_error(struct source *s, const char *who, const char *why, struct reading *out)
{
	struct meter *m = meter_find(s, who);
	size_t i;

	out->rejected++;
	if (m) {
		m->is_read = m->is_late = false;
		meter_note(s, m, why);
		return;
	}
	source_note(s, why);
	for (i = 0; s->setup.is_asked && i < s->n; i++)
		s->meter[i].is_read = s->meter[i].is_late = false;
}

/* --- a reading ---------------------------------------------------------------------------- */

static struct part *part_of(const struct meter *m, struct reading *out)
{
	return reading_part_of(out, (enum part_scope)m->scope, m->module, (enum domain)m->domain, m->unit,
			       m->is_energy ? QUALITY_COUNTER : QUALITY_INTEGRATED);
}

static int counter_start(struct meter *m, struct source_state *state, uint64_t uj, uint64_t t_ns,
			 struct part *part)
{
	char ns[sizeof(((struct source_counter *)0)->name)];
	int rc = source_state_put(state, m->name, uj);

	state_name(ns, m, " ns");
	if (rc == 0)
		rc = source_state_put(state, ns, t_ns);
	part->is_new_base = true;
	return rc;
}

/*
 * Adds a reading of a counter. The state has two entries per counter: its base under NAME, and the time of
 * the base under "NAME ns".
 */
static int book_counter(struct meter *m, struct source_state *state, uint64_t uj, uint64_t t_ns,
			struct reading *out, struct part *part)
{
	char ns[sizeof(((struct source_counter *)0)->name)];
	uint64_t *base = source_state_find(state, m->name);
	uint64_t before_ns, used_uj;
	uint64_t *base_ns;
	bool wrapped;
	int rc;

	state_name(ns, m, " ns");
	base_ns = source_state_find(state, ns);
	if (!base || !base_ns || *base_ns > t_ns)
		return counter_start(m, state, uj, t_ns, part);
	/*
	 * a counter of kWh may stand still for long; a step of 3.6 MJ is plausible for all that
	 * time
	 */
	if (m->is_coarse && *base == uj)
		return -ENODATA;
	before_ns = m->seen_ns > *base_ns ? m->seen_ns : *base_ns;
	m->counter.age_ns = before_ns - *base_ns;
	rc = counter_advance(&m->counter, base, uj, t_ns - before_ns, &used_uj, &wrapped);
	if (rc < 0) {
		out->rejected++;
		return rc;
	}
	*base_ns = t_ns;
	part->energy_uj += used_uj;
	part->is_unsure |= m->counter.is_unsure;
	return 0;
}

static void take_reading(struct source *s, struct meter *m, uint64_t t_ns, uint64_t value,
			 struct source_state *state, struct reading *out)
{
	struct part *part = part_of(m, out);
	int rc;

	m->is_read = true;
	m->is_late = false;
	m->shown = value;
	meter_note(s, m, NULL);
	if (t_ns <= m->seen_ns) /* this sample was booked before */
		return;
	if (value == UNKNOWN || (m->is_nonzero && !value)) {
		rc = -ERANGE;
		out->rejected++;
	} else if (m->is_energy) {
		rc = book_counter(m, state, value, t_ns, out, part);
	} else {
		rc = integrate_book(&m->integrate, state, m->name, value, t_ns, out, part);
	}
	m->seen_ns = t_ns;
	if (rc == 0 || rc == -ETIME)
		m->until_ns = t_ns;
	else if (rc != -ENODATA)
		logger_log_once(
			&s->implausible, LOGGER_ERROR,
			"%s: a value of %s is implausible and is not booked; later ones are counted, not "
			"logged",
			source_who(s), m->name);
}

/* Handles a line "reading T NAME VALUE". */
static int parse_reading(struct source *s, char *const *word, size_t n, struct source_state *state,
			 struct reading *out)
{
	uint64_t t_ns, value;
	struct meter *m;

	bool is_partial = n == 5 && !strcmp(word[4], "partial");

	if (n != 4u + is_partial || parse_u64(word[1], &t_ns) < 0 || parse_u64(word[3], &value) < 0 ||
	    !t_ns || t_ns > clock_mono_ns())
		return -EINVAL;
	m = meter_find(s, word[2]);
	if (!m)
		return -EINVAL;
	m->is_partial = is_partial;
	take_reading(s, m, t_ns, value, state, out);
	helper_good(s->helper);
	source_note(s, NULL);
	return 0;
}

/* Counts a sample that is too old to be used. This is not an error of the sensor. */
static void take_late(struct source *s, const char *name, struct reading *out)
{
	struct meter *m = meter_find(s, name);

	if (!m) {
		take_error(s, "-", "the helper reports a late value of an unknown meter", out);
		return;
	}
	m->is_read = false;
	m->is_late = true;
	meter_note(s, m, NULL);
	source_note(s, NULL);
	helper_good(s->helper);
}

/* Parses the values of a GPU, such as "busy_ppm=500000 ...". */
static int parse_gpu_values(char *text, uint64_t value[GPU_VALUE_N])
{
	char *word, *number;
	enum gpu_value v;

	while ((word = strsep(&text, " "))) {
		number = strchr(word, '=');
		if (!number)
			return -EINVAL;
		*number++ = '\0';
		v = gpu_value_find(word);
		if (v == GPU_VALUE_N || parse_u64(number, &value[v]) < 0)
			return -EINVAL;
	}
	return 0;
}

/* Called for a new reading of a GPU: instances that were not in the last one are removed. */
static void instances_turn(struct source *s, uint8_t unit)
{
	size_t kept = 0;
	size_t i;

	for (i = 0; i < s->ninstances; i++) {
		struct gpu_instance_reading *r = &s->instance[i];

		if (r->unit == unit && !r->is_told)
			continue;
		r->is_told = r->is_told && r->unit != unit;
		s->instance[kept++] = *r;
	}
	s->ninstances = kept;
}

/* Handles a line "usage NAME FROM UNTIL [VALUE=NUMBER]..." about a GPU. */
static int parse_usage(struct source *s, char *line)
{
	char *name, *from, *until;
	struct gpu_reading gpu;
	struct meter *m;
	int rc = 0;

	(void)strsep(&line, " ");
	name = strsep(&line, " ");
	from = strsep(&line, " ");
	until = strsep(&line, " ");
	m = until ? meter_find(s, name) : NULL;
	if (!m)
		return -EINVAL;
	gpu = m->gpu;
	gpu_values_forget(gpu.value);
	if (parse_u64(from, &gpu.from_ns) < 0 || parse_u64(until, &gpu.until_ns) < 0 ||
	    gpu.from_ns > gpu.until_ns || gpu.until_ns > clock_mono_ns())
		return -EINVAL;
	if (line)
		rc = parse_gpu_values(line, gpu.value);
	if (rc == 0) {
		m->gpu = gpu;
		instances_turn(s, m->unit);
	}
	return rc;
}

/* Handles a line "instance NAME GI SLICES [VALUE=NUMBER]..." about a MIG instance. */
static int parse_instance(struct source *s, char *line)
{
	char *name, *gi, *slices;
	struct gpu_instance_reading r = { 0 };
	const struct meter *m;
	uint64_t number[2];
	size_t i;
	int rc;

	(void)strsep(&line, " ");
	name = strsep(&line, " ");
	gi = strsep(&line, " ");
	slices = strsep(&line, " ");
	m = slices ? meter_find(s, name) : NULL;
	if (!m || parse_u64(gi, &number[0]) < 0 || number[0] >= GPU_SLICE_WHOLE ||
	    parse_u64(slices, &number[1]) < 0 || number[1] > UINT8_MAX)
		return -EINVAL;
	r = (struct gpu_instance_reading){
		.unit = m->unit, .gi = (uint8_t)number[0], .slices = (uint8_t)number[1], .is_told = true
	};
	gpu_values_forget(r.value);
	rc = line ? parse_gpu_values(line, r.value) : 0;
	if (rc < 0)
		return rc;
	for (i = 0; i < s->ninstances; i++)
		if (s->instance[i].unit == r.unit && s->instance[i].gi == r.gi)
			break;
	if (i == ARRAY_SIZE(s->instance))
		return -ENOSPC;
	s->instance[i] = r;
	s->ninstances += i == s->ninstances;
	return 0;
}

/* --- lines -------------------------------------------------------------------------------- */

/* Returns what follows WORD and a blank in LINE; NULL: LINE begins with another word. */
static char *line_behind(char *line, const char *word)
{
	size_t len = strlen(word);

	return !strncmp(line, word, len) && line[len] == ' ' ? line + len + 1 : NULL;
}

/* Handles "slices NAME": forgets the sizes of the GPU's instances; a new list follows. */
static int slices_forget(struct source *s, const char *name)
{
	struct gpu_slices *all = &s->slices;
	const struct meter *m = meter_find(s, name);
	uint32_t kept = 0;
	uint32_t i;

	if (!m)
		return -EINVAL;
	for (i = 0; i < all->n; i++)
		if (all->slice[i].unit != m->unit)
			all->slice[kept++] = all->slice[i];
	memset(&all->slice[kept], 0, (all->n - kept) * sizeof(all->slice[0]));
	all->n = kept;
	return 0;
}

/* Handles a line "slice NAME GI CI SLICES GI_SLICES MB": adds the size of a MIG instance. */
static int slice_add(struct source *s, char *const *word, size_t n)
{
	const struct meter *m = n == 7 ? meter_find(s, word[1]) : NULL;
	uint64_t value[5];
	size_t i;

	if (!m || s->slices.n == GPU_SLICES_MAX)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(value); i++)
		if (parse_u64(word[2 + i], &value[i]) < 0 || value[i] > (i < 4 ? UINT8_MAX : UINT32_MAX))
			return -EINVAL;
	s->slices.slice[s->slices.n++] = (struct gpu_slice){
		.unit = m->unit,
		.gi = (uint8_t)value[0],
		.ci = (uint8_t)value[1],
		.slices = (uint8_t)value[2],
		.gi_slices = (uint8_t)value[3],
		.mem_mb = (uint32_t)value[4],
	};
	return 0;
}

static void keep_note(struct source *s, const char *text)
{
	size_t used = strlen(s->notes);

	if (used + strlen(text) + 2 <= sizeof(s->notes))
		(void)snprintf(s->notes + used, sizeof(s->notes) - used, "%s\n", text);
}

/* Handles a line that does not belong to a reading. False: LINE belongs to a reading, and is unchanged. */
static bool take_declaration(struct source *s, char *line, int *ret_rc)
{
	char copy[512];
	char *word[WORDS_MAX];
	char *text, *space;
	struct meter *m;

	*ret_rc = 0;
	if (line_behind(line, "meter")) {
		(void)snprintf(copy, sizeof(copy), "%s", line);
		*ret_rc = meter_declare(s, word, split_words(copy, word));
		return true;
	}
	if (line_behind(line, "slice")) {
		(void)snprintf(copy, sizeof(copy), "%s", line);
		*ret_rc = slice_add(s, word, split_words(copy, word));
		return true;
	}
	text = line_behind(line, "slices");
	if (text) {
		*ret_rc = slices_forget(s, text);
		return true;
	}
	text = line_behind(line, "about");
	if (text) {
		(void)snprintf(s->about, sizeof(s->about), "%.*s", (int)sizeof(s->about) - 1, text);
		return true;
	}
	text = line_behind(line, "note");
	if (text) {
		logger_info("%s: %s", source_who(s), text);
		keep_note(s, text);
		return true;
	}
	text = line_behind(line, "lag");
	if (text) {
		uint64_t ms;

		*ret_rc = parse_u64(text, &ms) < 0 || ms > LAG_MAX_MS ? -EINVAL : 0;
		if (*ret_rc == 0)
			s->lag_ns = ms * NSEC_PER_MSEC;
		return true;
	}
	text = line_behind(line, "gpu");
	if (!text)
		return false;
	(void)snprintf(copy, sizeof(copy), "%s", text);
	space = strchr(copy, ' ');
	if (space)
		*space = '\0';
	m = meter_find(s, copy);
	if (!space || !m) {
		*ret_rc = -EINVAL;
		return true;
	}
	(void)snprintf(m->gpu.model, sizeof(m->gpu.model), "%.*s", (int)sizeof(m->gpu.model) - 1, space + 1);
	(void)snprintf(m->gpu.uuid, sizeof(m->gpu.uuid), "%.*s", (int)sizeof(m->gpu.uuid) - 1, copy);
	return true;
}

static void take_line(struct source *s, char *line, struct source_state *state, struct reading *out)
{
	char copy[HELPER_LINE_MAX];
	char *word[WORDS_MAX];
	char *text, *space;
	int rc;

	if (!strcmp(line, "ready") || line_behind(line, "done"))
		return;
	if (take_declaration(s, line, &rc)) {
		if (rc < 0)
			take_error(s, "-", line, out);
		return;
	}
	text = line_behind(line, "error");
	if (text) {
		space = strchr(text, ' ');
		if (space)
			*space = '\0';
		take_error(s, text, space ? space + 1 : "", out);
		return;
	}
	text = line_behind(line, "gone");
	if (text) {
		meter_forget(s, text, state);
		return;
	}
	text = line_behind(line, "late");
	if (text) {
		take_late(s, text, out);
		return;
	}
	(void)snprintf(copy, sizeof(copy), "%s", line);
	rc = -EINVAL;
	if (line_behind(line, "reading"))
		rc = parse_reading(s, word, split_words(copy, word), state, out);
	else if (line_behind(line, "usage"))
		rc = parse_usage(s, copy);
	else if (line_behind(line, "instance"))
		rc = parse_instance(s, copy);
	if (rc < 0)
		take_error(s, "-", line, out);
}

static bool has_new_base(const struct reading *r)
{
	uint32_t i;

	for (i = 0; i < r->nparts; i++)
		if (r->part[i].is_new_base)
			return true;
	return false;
}

/*
 * Handles the lines that have come. If the helper is asked at each tick, lines after its answer are left for
 * the next tick, so that a tick has one reading of a GPU's use and none is lost. If it is not asked, lines
 * after a new base are left for the next tick, because a part with a new base has no energy.
 */
static void take_lines(struct source *s, struct source_state *state, struct reading *out)
{
	bool was_asked = helper_is_asked(s->helper);
	char *line;
	int max = s->setup.is_asked ? ANSWER_LINES_MAX : LINES_MAX;
	int i;

	if (s->held[0]) {
		take_line(s, s->held, state, out);
		s->held[0] = '\0';
	}
	for (i = 0; i < max && (s->setup.is_asked || !has_new_base(out)); i++) {
		if (next_line(s, &line) < 0)
			break;
		take_line(s, line, state, out);
		if (was_asked && !helper_is_asked(s->helper)) {
			s->answered_ns = clock_mono_ns();
			break;
		}
	}
}

static void ask_and_wait(struct source *s, struct source_state *state, struct reading *out)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t deadline_ns = now_ns + ANSWER_WAIT_NS;

	if (helper_is_asked(s->helper) || now_ns - s->answered_ns < s->setup.fresh_ns ||
	    helper_ask(s->helper, now_ns, "read", NULL, 0, "%s", "") < 0)
		return;
	while (helper_is_asked(s->helper) && now_ns < deadline_ns) {
		if (helper_poll(s->helper, deadline_ns - now_ns) == 0)
			take_lines(s, state, out);
		now_ns = clock_mono_ns();
	}
}

/* --- opening ------------------------------------------------------------------------------ */

void helper_source_close(struct source *s)
{
	size_t i;

	if (!s)
		return;
	helper_close(s->helper, clock_mono_ns() + HELPER_END_NS);
	for (i = 0; i < ARRAY_SIZE(s->args); i++)
		free(s->args[i]);
	free(s);
}

static int copy_args(struct source *s, const struct source_env *env, struct errmsg *err)
{
	size_t i;

	if ((size_t)snprintf(s->path, sizeof(s->path), "%s/%s", env->helper_dir, s->setup.program) >=
	    sizeof(s->path))
		return errmsg_errno(err, -ENAMETOOLONG, "HelperDir");
	s->argv[0] = s->path;
	for (i = 0; i < ARRAY_SIZE(s->args) && s->setup.args[i]; i++) {
		s->args[i] = strdup(s->setup.args[i]);
		if (!s->args[i])
			return errmsg_errno(err, -ENOMEM, "%s", s->setup.program);
		s->argv[1 + i] = s->args[i];
	}
	return 0;
}

static int take_first(struct source *s, bool *ret_ready, struct errmsg *err)
{
	char *line, *text;
	int rc;

	while (!*ret_ready && next_line(s, &line) == 0) {
		text = line_behind(line, "never");
		if (text)
			return errmsg_set(err, -ENODEV, "%s", text);
		text = line_behind(line, "refused");
		if (text)
			return errmsg_set(err, -ENXIO, "%s", text);
		text = line_behind(line, "mute");
		if (text)
			return errmsg_set(err, -EOPNOTSUPP, "%s", text);
		*ret_ready = !strcmp(line, "ready");
		if (*ret_ready || (take_declaration(s, line, &rc) && rc == 0))
			continue;
		(void)snprintf(s->held, sizeof(s->held), "%.*s", (int)sizeof(s->held) - 1, line);
		*ret_ready = true;
	}
	return 0;
}

/*
 * Waits for the first line. If there is no such sensor, the helper usually says so at once. If nothing comes
 * in time, the source is open nevertheless: the sensor may be busy, and values come later.
 */
static int wait_first(struct source *s, struct errmsg *err)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t deadline_ns = now_ns + s->setup.first_ns;
	bool is_ready = false;
	int rc = 0;

	while (rc == 0 && !is_ready && now_ns < deadline_ns) {
		if (helper_poll(s->helper, deadline_ns - now_ns) == 0)
			rc = take_first(s, &is_ready, err);
		now_ns = clock_mono_ns();
	}
	return rc;
}

struct helper_interval helper_source_interval(const struct source_env *env)
{
	struct helper_interval i;

	(void)snprintf(i.text, sizeof(i.text), "%" PRIu64, env->slow_interval_ns / NSEC_PER_MSEC);
	return i;
}

int helper_source_open(const struct helper_source_setup *setup, const struct source_env *env,
		       struct source **ret, struct errmsg *err)
{
	struct source *s = calloc(1, sizeof(*s));
	struct helper_options o = {
		.env = setup->keeps_env ? environ : NULL,
		.deadline_ns = setup->deadline_ns,
		.is_asked = setup->is_asked,
	};
	int rc;

	if (!s)
		return errmsg_errno(err, -ENOMEM, "%s", setup->program);
	s->setup = *setup;
	s->heard = env->heard;
	s->heard_arg = env->heard_arg;
	s->lag_ns = setup->lag_ns;
	rc = copy_args(s, env, err);
	o.argv = s->argv;
	if (rc == 0)
		rc = helper_open(&o, &s->helper, err);
	if (rc == -ENOENT)
		(void)errmsg_set(err, rc, "%s: is not built or not installed", s->path);
	if (rc == 0)
		rc = wait_first(s, err);
	if (rc < 0) {
		helper_source_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* --- one tick ----------------------------------------------------------------------------- */

/* Sets until_ns of each part to the last sample of its slowest meter. */
static void set_until(const struct source *s, struct reading *out)
{
	uint64_t now_ns = clock_mono_ns();
	bool is_late = false;
	uint32_t p;
	size_t i;

	for (p = 0; p < out->nparts; p++)
		out->part[p].until_ns = 0;
	for (i = 0; i < s->n; i++) {
		const struct meter *m = &s->meter[i];
		struct part *part;

		bool is_old = (m->is_read || !s->setup.is_asked) && now_ns - m->seen_ns > s->setup.stale_ns;

		is_late |= m->is_late;
		if (m->is_gone || (!m->seen_ns && !m->is_late))
			continue;
		part = part_of(m, out);
		part->is_late |= m->is_late || is_old;
		part->is_unread |= s->setup.is_asked && !m->is_read && !m->is_late;
		part->is_partial |= m->is_partial;
		part->step_uj = m->is_coarse ? COARSE_UJ : part->step_uj;
		part->shown += m->is_energy ? 0 : m->shown;
		if (!m->until_ns)
			continue;
		if (!part->until_ns || m->until_ns < part->until_ns)
			part->until_ns = m->until_ns;
		/* a meter that is known to have failed does not count as late */
		is_late |= is_old;
	}
	out->late += is_late;
}

int helper_source_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
		       struct reading *ret)
{
	struct reading out = { 0 };
	size_t good = 0;
	size_t i;

	(void)dt_ns; /* not needed: each sample has its time */
	(void)busy_ppm;
	for (i = 0; i < s->n; i++) /* list all parts now, so that their order is always the same */
		if (s->meter[i].seen_ns || s->meter[i].is_late)
			(void)part_of(&s->meter[i], &out);
	take_lines(s, state, &out);
	if (s->setup.is_asked)
		ask_and_wait(s, state, &out);
	for (i = 0; i < s->n; i++)
		good += s->meter[i].is_late ||
			(s->meter[i].seen_ns && (s->meter[i].is_read || !s->setup.is_asked));
	if (!s->setup.is_asked) { /* if the helper is asked, an error of this tick is already reported */
		out.rejected += s->rejected;
		s->rejected = good ? 0 : out.rejected;
	}
	if (!good)
		return -EIO;
	set_until(s, &out);
	*ret = out;
	return 0;
}

/* --- showing ------------------------------------------------------------------------------ */

size_t helper_source_gpus(const struct source *s, struct gpu_reading *ret, size_t max)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < s->n && n < max; i++)
		if (s->meter[i].domain == DOMAIN_GPU && s->meter[i].gpu.uuid[0])
			ret[n++] = s->meter[i].gpu;
	return n;
}

size_t helper_source_instances(const struct source *s, const struct gpu_instance_reading **ret)
{
	*ret = s->instance;
	return s->ninstances;
}

const struct gpu_slices *helper_source_slices(const struct source *s)
{
	return &s->slices;
}

void helper_source_describe(const struct source *s, char *buf, size_t size)
{
	if (s->about[0])
		(void)snprintf(buf, size, "%s", s->about);
	else
		(void)snprintf(buf, size, "%s has not answered yet", s->setup.program);
}

const char *helper_source_why(const struct source *s)
{
	return s->why;
}

const char *helper_source_notes(const struct source *s)
{
	return s->notes;
}

uint64_t helper_source_lag(const struct source *s)
{
	return s->lag_ns;
}
