/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source hwmon: energy and power sensors of chips whose meaning is known (hwmon_chip.c).
 * Files are opened once; at each tick one pread() of each, all energy counters and power samples
 * taken together, so that what one sensor has above others can be told. Files behind which there
 * is a BMC are read by a process of their own (asker.h), and the tick takes what it has told.
 */
#include <errno.h>
#include <string.h>

#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/sources/asker.h"
#include "src/sources/hwmon_chip.h"
#include "src/sources/hwmon_meter.h"
#include "src/sources/hwmon_scan.h"

/* Two numbers of each in the state, which remainder.h has some of its own in. */
#define METERS_MAX (SOURCE_MAX_COUNTERS / 2 - 4)

/* For the first answers of all slow meters; most come in a tenth of it. */
#define FIRST_ANSWER_NS (2 * NSEC_PER_SEC)

struct source {
	struct hwmon_meter meter[METERS_MAX];
	size_t n;
};

/* --- which sensors count ------------------------------------------------------------------ */

static bool is_same_rail(const struct hwmon_rail *a, const struct hwmon_rail *b)
{
	return a->domain == b->domain && a->unit == b->unit &&
	       a->is_whole_node == b->is_whole_node && a->contains_cpu == b->contains_cpu;
}

/*
 * Why S must not be counted beside the meters that already are: energy comes before power, and
 * one chip's view of a rail is taken, not two. NULL: it may.
 */
static const char *double_count(const struct source *s, const struct hwmon_sensor *new,
				const struct hwmon_rail *rail)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct hwmon_meter *m = &s->meter[i];

		if (!is_same_rail(&m->rail, rail))
			continue;
		if (m->is_energy && !new->is_energy)
			return "an energy counter shows it";
		if (strcmp(m->chip, new->chip) != 0)
			return "another chip shows it";
		if (rail->is_whole_node && !rail->is_summed)
			return "there is one before it, and whether they add up is not known";
	}
	return NULL;
}

/* WHY collects what was found and not used: the reason if nothing is left, else for the log. */
static void note(struct errmsg *why, const struct hwmon_sensor *s, const char *text)
{
	size_t used = strlen(why->text);

	(void)snprintf(why->text + used, sizeof(why->text) - used, "%s%s %s", used ? "; " : "",
		       s->chip, s->feature);
	used = strlen(why->text);
	(void)snprintf(why->text + used, sizeof(why->text) - used,
		       strcmp(s->label, s->feature) ? " \"%s\": %s" : "%.0s: %s", s->label, text);
}

static int add(struct source *s, const struct hwmon_sensor *new, const struct source_env *env,
	       struct errmsg *why)
{
	struct hwmon_rail rail = { 0 };
	struct errmsg err = { 0 };
	const char *text = NULL;
	int rc = hwmon_rail_of(new->chip, new->label, new->nth, &rail, &text);

	if (rc == 0 && new->is_battery)
		text = "a battery";
	if (rc == 0 && !text)
		text = double_count(s, new, &rail);
	if (!text && s->n == METERS_MAX)
		text = "too many sensors";
	if (text) {
		note(why, new, text);
		return -ENODEV;
	}
	rc = hwmon_meter_open(&s->meter[s->n], new, &rail, env, &err);
	if (rc < 0) {
		note(why, new, err.text);
		return rc;
	}
	s->n++;
	return 0;
}

static bool has_cpu(const struct source *s, unsigned int unit)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct hwmon_rail *r = &s->meter[i].rail;

		if (r->domain == DOMAIN_CPU && r->unit == unit)
			return true;
	}
	return false;
}

static void drop(struct source *s, size_t i)
{
	hwmon_meter_close(&s->meter[i], clock_mono_ns() + ASKER_END_NS);
	s->n--;
	memmove(&s->meter[i], &s->meter[i + 1], (s->n - i) * sizeof(s->meter[0]));
}

/*
 * What only the whole set tells. A socket without rails inside is CPU as it stands. And where
 * meters are rails of sockets, a nameless one beside them is some rail too, not the machine.
 */
static void settle(struct source *s)
{
	bool has_named = false;
	size_t i;

	for (i = 0; i < s->n; i++) {
		struct hwmon_rail *r = &s->meter[i].rail;

		has_named |= !r->is_whole_node && !strcmp(s->meter[i].chip, "power_meter");
		if (!r->contains_cpu || has_cpu(s, r->unit))
			continue;
		r->contains_cpu = false;
		r->domain = DOMAIN_CPU;
	}
	for (i = s->n; has_named && i-- > 0;)
		if (s->meter[i].rail.is_summed)
			drop(s, i);
}

/* All within a second: behind several slow ones there is one BMC, for which all may hang. */
static void hwmon_close(struct source *s)
{
	uint64_t deadline_ns = clock_mono_ns() + ASKER_END_NS;
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->n; i++)
		hwmon_meter_stop(&s->meter[i]);
	for (i = 0; i < s->n; i++)
		hwmon_meter_close(&s->meter[i], deadline_ns);
	free(s);
}

/* One that is late is a meter all the same. */
static void wait_for_slow(struct source *s)
{
	uint64_t deadline_ns = clock_mono_ns() + FIRST_ANSWER_NS;
	size_t i;

	for (i = 0; i < s->n; i++)
		hwmon_meter_wait(&s->meter[i], deadline_ns);
}

static int hwmon_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	_cleanup_free_ struct hwmon_sensor *found = NULL;
	struct errmsg why = { 0 };
	struct source *s;
	size_t n = 0;
	size_t i;
	int rc;

	logger_set_sink(env->log);
	/* libsensors knows no other root */
	if (strcmp(env->sys_root, "/") != 0 && env->sys_root[0])
		return errmsg_set(err, -ENODEV, "libsensors reads /sys only, SysRoot is %s",
				  env->sys_root);
	rc = hwmon_scan(&found, &n, err);
	if (rc < 0)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return errmsg_errno(err, -ENOMEM, "meters");
	for (i = 0; i < n; i++) {
		int one = add(s, &found[i], env, &why);

		/* a meter that is there and cannot be had is more than none */
		rc = one < 0 && one != -ENODEV ? one : rc;
	}
	settle(s);
	if (s->n) {
		if (why.text[0])
			logger_debug("hwmon: not used: %s", why.text);
		wait_for_slow(s);
		*ret = s;
		return 0;
	}
	hwmon_close(s);
	return errmsg_set(err, rc < 0 ? rc : -ENODEV, "no power or energy sensor%s%s%s",
			  n ? " to be used (" : "", why.text, n ? ")" : "");
}

/* --- one tick ----------------------------------------------------------------------------- */

/* Takes off what the CPU's rails of that unit show. They average apart: below 0 is 0. */
static void subtract_cpu(const struct source *s, struct hwmon_meter *m)
{
	size_t i;

	for (i = 0; i < s->n && m->rc == 0; i++) {
		const struct hwmon_meter *inner = &s->meter[i];

		if (inner->rail.domain != DOMAIN_CPU || inner->rail.unit != m->rail.unit)
			continue;
		if (inner->rc < 0)
			m->rc = inner->rc;
		else
			m->value -= inner->value < m->value ? inner->value : m->value;
	}
}

/* A machine of 0 W would not be asking; one of several power supplies may well be idle. */
static bool is_only_node(const struct source *s, const struct hwmon_meter *m)
{
	size_t nodes = 0;
	size_t i;

	for (i = 0; i < s->n; i++)
		nodes += s->meter[i].rail.is_whole_node;
	return m->rail.is_whole_node && nodes == 1;
}

static int hwmon_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm,
		      struct source_state *state, struct reading *ret)
{
	struct reading out = { 0 };
	uint64_t now_ns = clock_mono_ns(); /* one instant for all, or their sum has none */
	size_t good = 0;
	size_t i;

	(void)busy_ppm;
	for (i = 0; i < s->n; i++)
		hwmon_meter_sample(&s->meter[i], now_ns, is_only_node(s, &s->meter[i]));
	for (i = 0; i < s->n; i++)
		if (s->meter[i].rail.contains_cpu)
			subtract_cpu(s, &s->meter[i]);
	for (i = 0; i < s->n; i++) {
		good += hwmon_meter_is_read(&s->meter[i]);
		hwmon_meter_book(&s->meter[i], dt_ns, state, &out);
	}
	if (!good)
		return -EIO;
	*ret = out;
	return 0;
}

static void hwmon_describe(const struct source *s, char *buf, size_t size)
{
	size_t used = 0;
	size_t i, j;

	if (size)
		buf[0] = '\0';
	for (i = 0; i < s->n && used < size; i++) {
		const struct hwmon_meter *m = &s->meter[i];
		size_t same = 0;
		bool is_first = true;
		int n;

		for (j = 0; j < s->n; j++) {
			const struct hwmon_meter *o = &s->meter[j];

			if (strcmp(m->chip, o->chip) != 0 || m->is_energy != o->is_energy ||
			    m->rail.domain != o->rail.domain)
				continue;
			same++;
			is_first &= j >= i;
		}
		if (!is_first)
			continue;
		n = snprintf(buf + used, size - used, "%s%s: %s of %zu %s%s", used ? ", " : "",
			     m->rail.is_whole_node ? "node" : domain_name(m->rail.domain),
			     m->is_energy ? "energy" : "power, integrated,", same, m->chip,
			     same == 1 ? " sensor" : " sensors");
		used += n > 0 ? (size_t)n : size;
	}
}

static const struct source_ops source_hwmon = {
	.id = SOURCE_HWMON,
	.name = "hwmon",
	.is_estimate = false,
	.open = hwmon_open,
	.read = hwmon_read,
	.describe = hwmon_describe,
	.close = hwmon_close,
};

source_module_fn ceems_source;

const struct source_ops *ceems_source(unsigned int abi)
{
	return abi == SOURCE_ABI ? &source_hwmon : NULL;
}
