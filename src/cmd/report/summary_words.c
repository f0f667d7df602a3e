/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/report/summary_words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/libcore/metric_text.h"
#include "src/librecord/equivalent.h"
#include "src/librecord/screen_text.h"
#include "src/libutil/round.h"

#define UM_PER_KM UINT64_C(1000000000)

const char *summary_count(uint64_t n, char *buf)
{
	return metric_text_value(UNIT_COUNT, n, buf, SCREEN_TEXT_MAX);
}

const char *summary_energy(bool known, double uj, char *buf)
{
	if (!known)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "n/a");
	else if (uj < 0.5)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "0");
	else
		(void)screen_wh(round_u64(uj), buf);
	return buf;
}

const char *summary_co2e(bool known, double ng, char *buf)
{
	if (!known)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "n/a");
	else if (ng < 0.5)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "0");
	else
		(void)metric_text_value(UNIT_NG, round_u64(ng), buf, SCREEN_TEXT_MAX);
	return buf;
}

const char *summary_part(double part, double whole, char *buf)
{
	if (!(whole > 0) || isnan(part))
		(void)snprintf(buf, SCREEN_TEXT_MAX, "n/a");
	else
		(void)screen_share(part / whole, buf);
	return buf;
}

const char *summary_title(const struct summary *s, char *buf)
{
	char title[PERIOD_TEXT_MAX];

	(void)snprintf(buf, SUMMARY_WORDS_MAX, "%s%s", period_title(&s->period, title),
		       summary_is_over(s) ? "" : ", so far");
	return buf;
}

/* Writes ", 12 % more than in October 2026"; "" if the change is unknown. */
static void put_change(const struct summary *s, char *buf, size_t size)
{
	char title[PERIOD_TEXT_MAX], percent[SCREEN_TEXT_MAX];
	double now = (double)s->sum.energy_uj;
	double then = (double)s->sum_before.energy_uj;

	(void)period_title(&s->before, title);
	title[0] = title[0] == 'W' ? 'w' : title[0]; /* "week 47" within a sentence */
	buf[0] = '\0';
	if (!(then > 0))
		return;
	if (!summary_is_over(s))
		(void)snprintf(buf, size, " (%s in all: %s)", title,
			       screen_wh(s->sum_before.energy_uj, percent));
	else if (fabs(now - then) < then / 200)
		(void)snprintf(buf, size, ", as much as in %s", title);
	else
		(void)snprintf(buf, size, ", %s %s than in %s",
			       screen_share(fabs(now - then) / then, percent), now > then ? "more" : "less",
			       title);
}

const char *summary_lead(const struct summary *s, char *buf)
{
	const struct jobs_sum *sum = &s->sum;
	char jobs[SCREEN_TEXT_MAX], wh[SCREEN_TEXT_MAX], mass[SCREEN_TEXT_MAX];
	char change[PERIOD_TEXT_MAX + SCREEN_TEXT_MAX + 32];
	char way[EQUIVALENT_TEXT_MAX], car[64] = "";

	if (!sum->jobs) {
		(void)snprintf(buf, SUMMARY_WORDS_MAX, "No job ended in this time.");
		return buf;
	}
	put_change(s, change, sizeof(change));
	if (sum->co2e_n && equivalent_car_um(sum->co2e_ng) >= UM_PER_KM)
		(void)snprintf(car, sizeof(car), ", as much as an average car over %s",
			       equivalent_text(sum->co2e_ng, way, sizeof(way)));
	if (!sum->energy_n)
		(void)snprintf(buf, SUMMARY_WORDS_MAX, "%s job%s ended; of none the energy is known.",
			       summary_count(sum->jobs, jobs), sum->jobs == 1 ? "" : "s");
	else
		(void)snprintf(buf, SUMMARY_WORDS_MAX, "%s job%s used %s of electricity%s.%s%s%s%s",
			       summary_count(sum->jobs, jobs), sum->jobs == 1 ? "" : "s",
			       summary_energy(true, (double)sum->energy_uj, wh), change,
			       sum->co2e_n ? " That caused " : "",
			       sum->co2e_n ? summary_co2e(true, (double)sum->co2e_ng, mass) : "",
			       sum->co2e_n ? " of CO2e" : " Its emissions are not known",
			       sum->co2e_n ? car : "");
	if (sum->energy_n)
		(void)strncat(buf, ".", SUMMARY_WORDS_MAX - strlen(buf) - 1);
	return buf;
}

/* Appends of how much energy the waste is unknown or too low for want of idle power. */
static void put_waste_lacks(const struct jobs_sum *sum, char *buf)
{
	char jobs[SCREEN_TEXT_MAX], wh[SCREEN_TEXT_MAX];
	size_t used = strlen(buf);

	if (sum->waste_lacks_n)
		(void)snprintf(buf + used, SUMMARY_WORDS_MAX - used,
			       " Of %s job%s (%s) the idle energy is not known: nodes have not learned their "
			       "idle power yet.",
			       summary_count(sum->waste_lacks_n, jobs), sum->waste_lacks_n == 1 ? "" : "s",
			       summary_energy(true, (double)sum->waste_lacks_uj, wh));
}

const char *summary_waste_lead(const struct summary *s, char *buf)
{
	const struct jobs_sum *sum = &s->sum;
	char share[SCREEN_TEXT_MAX], wh[SCREEN_TEXT_MAX], most[SCREEN_TEXT_MAX];
	unsigned int worst = 0;
	unsigned int w;
	double uj, ng;

	buf[0] = '\0';
	if (!jobs_sum_wasted(sum, &uj, &ng)) {
		if (sum->waste_lacks_n)
			(void)snprintf(
				buf, SUMMARY_WORDS_MAX,
				"What was wasted is not known: nodes have not learned their idle power yet.");
		return buf;
	}
	for (w = 1; w < WASTE_N; w++)
		worst = sum->waste[w].uj > sum->waste[worst].uj ? w : worst;
	if (uj < 0.5)
		(void)snprintf(buf, SUMMARY_WORDS_MAX, "None of it is known to be wasted.");
	else
		(void)snprintf(buf, SUMMARY_WORDS_MAX,
			       "%s%s of the energy (%s) was wasted. The largest cause: %c%s (%s).",
			       sum->waste_lacks_n ? "At least " : "",
			       summary_part(uj, (double)sum->energy_uj, share), summary_energy(true, uj, wh),
			       strncmp(jobs_waste_table[worst].title, "Jobs", 4) ?
				       jobs_waste_table[worst].title[0] :
				       'j',
			       jobs_waste_table[worst].title + 1,
			       summary_energy(true, sum->waste[worst].uj, most));
	put_waste_lacks(sum, buf);
	return buf;
}

const char *summary_place_words(const struct summary *s, char *buf)
{
	const struct summary_place *p = s->place;
	char wasted[128] = "";

	buf[0] = '\0';
	if (!p)
		return buf;
	if (p->wasted)
		(void)snprintf(wasted, sizeof(wasted),
			       ", and place %zu of %zu by the part of it that was wasted", p->wasted,
			       p->wasted_of);
	if (p->why)
		(void)snprintf(buf, SUMMARY_WORDS_MAX, "Place among all users: n/a (%s).", p->why);
	else if (!p->energy)
		(void)snprintf(buf, SUMMARY_WORDS_MAX,
			       "Place among all users: n/a (the energy is not known).");
	else
		(void)snprintf(buf, SUMMARY_WORDS_MAX,
			       "Place %zu of %zu user%s by energy%s. Place 1 is the largest.", p->energy,
			       p->energy_of, p->energy_of == 1 ? "" : "s", wasted);
	return buf;
}

/* --- method and coverage ----------------------------------------------------------------------- */

/* Writes LABEL and names, such as "rapl (12 jobs); model (3 jobs)". False: there is no name. */
static bool put_names(const struct summary_names *names, const char *label, char *buf)
{
	char jobs[SCREEN_TEXT_MAX];
	size_t used = (size_t)snprintf(buf, SUMMARY_WORDS_MAX, "%s", label);
	size_t i;

	for (i = 0; i < names->n && used < SUMMARY_WORDS_MAX; i++)
		used += (size_t)snprintf(buf + used, SUMMARY_WORDS_MAX - used, "%s %s (%s job%s)",
					 i ? ";" : "", names->text[i], summary_count(names->jobs[i], jobs),
					 names->jobs[i] == 1 ? "" : "s");
	if (used < SUMMARY_WORDS_MAX)
		(void)snprintf(buf + used, SUMMARY_WORDS_MAX - used, "%s.",
			       names->others ? "; and others" : "");
	return names->n > 0;
}

static bool put_known(const struct jobs_sum *sum, char *buf)
{
	char known[SCREEN_TEXT_MAX], all[SCREEN_TEXT_MAX], co2e[SCREEN_TEXT_MAX];

	(void)snprintf(
		buf, SUMMARY_WORDS_MAX,
		"Energy is known of %s of %s jobs, emissions of %s. Sums hold those alone: what is not "
		"known is left out, and not counted as 0.",
		summary_count(sum->energy_n, known), summary_count(sum->jobs, all),
		summary_count(sum->co2e_n, co2e));
	return sum->jobs > 0;
}

static bool put_idle_known(const struct jobs_sum *sum, char *buf)
{
	char part[SCREEN_TEXT_MAX], all[SCREEN_TEXT_MAX];

	(void)snprintf(
		buf, SUMMARY_WORDS_MAX,
		"What CPUs that were not used wasted is known of %s of %s jobs; of the others it may be "
		"more.",
		summary_count(sum->waste[WASTE_CPU].n, part), summary_count(sum->energy_n, all));
	return sum->waste[WASTE_CPU].n < sum->energy_n - sum->failed_n;
}

const char *summary_note(const struct summary *s, unsigned int i, char *buf)
{
	static const char *const fixed[] = {
		"A job counts with all of its energy on the day on which it ended. Jobs that still run "
		"are not in it.",
		"Energy is what the job's share of its nodes used: processors, memory and, where there "
		"are any, GPUs, with the share of idle power that belongs to what the job held. A machine "
		"that no job held is in no job's energy.",
		"CO2e is carbon dioxide and other greenhouse gases, counted as the carbon dioxide that "
		"warms as much.",
		"Wasted is all energy of jobs that failed, and for other jobs the idle power of CPUs, "
		"memory and GPUs that they held and did not use. A cancelled job counts like one that "
		"completed: only what it held and did not use. Jobs whose energy is unknown are not "
		"counted as waste.",
	};
	char title[PERIOD_TEXT_MAX];
	bool is_there = false;

	switch (i) {
	case 0:
		is_there = put_known(&s->sum, buf);
		break;
	case 1:
		is_there = put_names(&s->sources, "Energy sources:", buf);
		break;
	case 2:
		is_there = put_names(&s->factors, "Emissions per kWh from:", buf);
		break;
	case 3:
		(void)snprintf(
			buf, SUMMARY_WORDS_MAX,
			"Of %" PRIu64
			" jobs emissions were worked out afterwards, with the energy spread evenly over the "
			"job's life.",
			s->spread);
		is_there = s->spread > 0;
		break;
	case 4:
		is_there = put_idle_known(&s->sum, buf);
		break;
	case 5:
		(void)snprintf(buf, SUMMARY_WORDS_MAX,
			       "Nothing is compared with %s, because some of its jobs are no longer in the "
			       "database.",
			       period_title(&s->before, title));
		is_there = s->lacks_before;
		break;
	case 6:
		(void)snprintf(
			buf, SUMMARY_WORDS_MAX,
			"Energy from Slurm is of jobs before ceems measured. On a node that jobs share, "
			"Slurm may count the whole node for each of them.");
		is_there = s->sum.quality[JOBS_QUALITY_HISTORY].jobs > 0;
		break;
	default:
		if (i - 7 >= ARRAY_SIZE(fixed))
			return NULL;
		(void)snprintf(buf, SUMMARY_WORDS_MAX, "%s", fixed[i - 7]);
		return buf;
	}
	if (!is_there)
		buf[0] = '\0';
	return buf;
}
