/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/job_rows.h"

#include <inttypes.h>
#include <string.h>

#include "src/libcore/metric_text.h"
#include "src/librecord/lower_bound.h"
#include "src/libutil/round.h"
#include "src/libutil/text.h"

#define SHARE_FAIR 0.65	 /* share of use below which a bar is yellow; limits of jobstats */
#define SHARE_BAD 0.25	 /* share of use below which a bar is red */
#define MEMORY_FULL 0.95 /* share of memory above which a bar is red */
#define UJ_PER_KWH UINT64_C(3600000000000)
#define UNEVEN 0.05 /* nodes that differ by less than this share are shown as alike */

/* Writes ", 3 of 4 parts" if a value is KNOWN for fewer parts than started; else "". */
static const char *of_parts(const struct job_sums *sum, size_t known, char *buf)
{
	buf[0] = '\0';
	if (known < sum->started)
		(void)snprintf(buf, SCREEN_TEXT_MAX, ", %zu of %zu parts", known, sum->started);
	return buf;
}

static enum screen_colour colour_of(double share)
{
	return share < SHARE_BAD ? SCREEN_BAD : share < SHARE_FAIR ? SCREEN_FAIR : SCREEN_GOOD;
}

/* Says why M is unknown. A value that is known may be 0, which of some metrics says that none was taken. */
static const char *reason_text(const struct values *f, enum metric m)
{
	if (m == METRIC_CO2E && !values_has(f, m) && values_has(f, METRIC_ENERGY_DOUBT))
		return metric_reason_text(REASON_DOUBT);
	return metric_reason_text(values_has(f, m) ? REASON_NOT_MEASURED : (enum metric_reason)f->reason[m]);
}

/*
 * Writes "n/a: " and why M is unknown. Omits the reason if a note of the screen gives it: running
 * steps could not be asked.
 */
static const char *missing(const struct job_screen *s, const struct job_sums *sum, enum metric m, char *buf)
{
	const char *why = reason_text(&sum->f, m);
	bool is_noted = sum->running && s->not_live;

	(void)snprintf(buf, SCREEN_TEXT_MAX, "n/a%s%s", is_noted ? "" : ": ", is_noted ? "" : why);
	return buf;
}

/* Writes ", waited 5 s" for a job that started; "" if unknown. */
static const char *waited(const struct record *r, char *buf)
{
	/* slurmctld may store an eligible time after the start for a job that started at once */
	uint64_t from = r->eligible && r->eligible <= r->start ? r->eligible : r->submit;
	char text[SCREEN_TEXT_MAX];

	buf[0] = '\0';
	if (from && from <= r->start)
		(void)snprintf(buf, 2 * SCREEN_TEXT_MAX, ", waited %s",
			       screen_seconds(r->start - from, text));
	return buf;
}

/* Writes ", suspended 5 s"; "" if the job was not. */
static const char *suspended(const struct record *r, char *buf)
{
	char text[SCREEN_TEXT_MAX];

	buf[0] = '\0';
	if (r->suspended_s.value)
		(void)snprintf(buf, 2 * SCREEN_TEXT_MAX, ", suspended %s",
			       screen_seconds(r->suspended_s.value, text));
	return buf;
}

/* Writes " of 5m00s (20 %)", the time limit; "" if unknown. */
static const char *of_limit(const struct record *r, uint64_t elapsed, char *buf)
{
	char limit[SCREEN_TEXT_MAX], share[SCREEN_TEXT_MAX];
	uint64_t limit_s = r->time_limit_min.value * 60;

	buf[0] = '\0';
	if (r->time_limit_min.known && limit_s)
		(void)snprintf(buf, 3 * SCREEN_TEXT_MAX, " of %s (%s)", screen_seconds(limit_s, limit),
			       screen_share((double)elapsed / (double)limit_s, share));
	return buf;
}

/* Prints the time rows of a job that has not started. */
static void put_wait(const struct screen *out, const struct job_screen *s, const struct record *r)
{
	char wait[SCREEN_TEXT_MAX] = "n/a", date[SCREEN_TEXT_MAX], at[SCREEN_TEXT_MAX],
	     limit[SCREEN_TEXT_MAX];
	uint64_t until = r->end ? r->end : s->now;
	bool is_later = r->eligible > s->now;

	(void)screen_date(r->submit, s->now, date);
	if (r->submit && r->submit <= until)
		(void)screen_seconds(until - r->submit, wait);
	if (r->end)
		screen_row(out, "time", "", "never started, waited %s from %s on", wait, date);
	else
		screen_row(out, "time", "", "waits since %s (%s)%s%s", date, wait,
			   is_later ? ", not before " : "",
			   is_later ? screen_date(r->eligible, s->now, at) : "");
	if (r->tres_req)
		screen_row(out, "asked for", "", "%s%s%s", r->tres_req,
			   r->time_limit_min.known ? ", for " : "",
			   r->time_limit_min.known ? screen_seconds(r->time_limit_min.value * 60, limit) :
						     "");
}

static void put_time(const struct screen *out, const struct job_screen *s, const struct job_sums *sum)
{
	const struct record *r = s->part[0];
	char wait[2 * SCREEN_TEXT_MAX], stop[2 * SCREEN_TEXT_MAX], limit[3 * SCREEN_TEXT_MAX];
	char time[SCREEN_TEXT_MAX], date[SCREEN_TEXT_MAX], all[SCREEN_TEXT_MAX];
	size_t i;

	if (!sum->started) {
		put_wait(out, s, r);
		return;
	}
	(void)screen_date(sum->first_start, s->now, date);
	if (s->n == 1) {
		screen_row(out, "time", date, "%s%s%s%s", screen_seconds(sum->elapsed_s, time),
			   of_limit(r, sum->elapsed_s, limit), suspended(r, stop), waited(r, wait));
		return;
	}
	for (i = 0; i < s->n && job_elapsed_s(s, s->part[i]) < sum->longest_s; i++)
		;
	screen_row(out, "time", date, "%s in all, longest %s%s", screen_seconds(sum->elapsed_s, all),
		   screen_seconds(sum->longest_s, time),
		   of_limit(s->part[i < s->n ? i : 0], sum->longest_s, limit));
}

/* Writes " (8 CPUs)", or " (8 CPUs each)" for several parts; "" if the parts differ. */
static const char *cpus_text(const struct job_screen *s, char *buf)
{
	uint32_t cpus = s->part[0]->total_cpus;
	size_t i;

	buf[0] = '\0';
	for (i = 1; i < s->n; i++)
		if (s->part[i]->total_cpus != cpus)
			return buf;
	if (cpus)
		(void)snprintf(buf, SCREEN_TEXT_MAX, " (%" PRIu32 " CPU%s%s)", cpus, cpus == 1 ? "" : "s",
			       s->n > 1 ? " each" : "");
	return buf;
}

static const char *ns_text(double ns, char *buf)
{
	return screen_time(ns < 0x1p63 ? (uint64_t)ns : UINT64_MAX, buf);
}

static void put_cpu(const struct screen *out, const struct job_screen *s, const struct job_sums *sum)
{
	char used[SCREEN_TEXT_MAX], held[SCREEN_TEXT_MAX], cpus[SCREEN_TEXT_MAX], parts[SCREEN_TEXT_MAX];
	double share = sum->cpu_held_ns > 0 ? sum->cpu_ns / sum->cpu_held_ns : 0;

	(void)cpus_text(s, cpus);
	if (!sum->cpu_n)
		screen_row(out, "CPU", "", "%s%s", missing(s, sum, METRIC_CPU_TIME, used), cpus);
	else if (!(sum->cpu_held_ns > 0))
		screen_row(out, "CPU", "", "%s in less than 1 s%s", ns_text(sum->cpu_ns, used), cpus);
	else
		screen_bar(out, "CPU", share, colour_of(share), "%s of %s%s%s", ns_text(sum->cpu_ns, used),
			   ns_text(sum->cpu_held_ns, held), cpus, of_parts(sum, sum->cpu_n, parts));
}

/* Finds the node with the memory peak PEAK; "" if unknown, or if the job had one node. */
static const char *largest_node(const struct record *r, uint64_t peak)
{
	size_t i;

	for (i = 0; i < r->nsteps; i++)
		if (r->steps[i].memory.max.known && r->steps[i].memory.max.value == peak)
			return r->steps[i].memory.max_node;
	return "";
}

static void put_memory(const struct screen *out, const struct job_screen *s, const struct job_sums *sum)
{
	static const char *const kind[] = {
		[JOB_MEMORY_SAMPLED] = "",
		[JOB_MEMORY_KERNEL] = " (kernel's peak)",
		[JOB_MEMORY_TASK] = " (a task's MaxRSS)",
	};
	char used[SCREEN_TEXT_MAX], of[SCREEN_TEXT_MAX], where[96], id[64];
	struct job_memory worst = { 0 };
	struct job_memory m;
	const char *node;
	size_t at = 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		job_memory_find(s->part[i], &m);
		if (m.peak && (m.share > worst.share || !worst.peak)) {
			worst = m;
			at = i;
		}
	}
	if (!worst.peak) {
		screen_row(out, "memory", "", "%s", missing(s, sum, METRIC_MEMORY_PEAK, used));
		return;
	}
	node = largest_node(s->part[at], worst.peak);
	job_id_text(s->part[at], id, sizeof(id));
	(void)snprintf(where, sizeof(where), "%s%s%s%s%s", kind[worst.kind], *node ? " on " : "", node,
		       s->n > 1 ? " in " : "", s->n > 1 ? id : "");
	(void)metric_text_value(UNIT_BYTES, worst.peak, used, sizeof(used));
	if (!worst.allocated)
		screen_row(out, "memory", "", "%s%s, limit n/a", used, where);
	else
		screen_bar(out, "memory", worst.share, worst.share > MEMORY_FULL ? SCREEN_BAD : SCREEN_PLAIN,
			   "%s of %s%s", used, metric_text_value(UNIT_BYTES, worst.allocated, of, sizeof(of)),
			   where);
}

static void put_gpu_memory(const struct screen *out, const struct values *f)
{
	char used[SCREEN_TEXT_MAX], of[SCREEN_TEXT_MAX];
	uint64_t peak = f->value[METRIC_GPU_MEMORY_PEAK];
	uint64_t all = f->value[METRIC_GPU_MEMORY_ALLOCATED];

	if (!values_has(f, METRIC_GPU_MEMORY_PEAK) || !values_has(f, METRIC_GPU_MEMORY_ALLOCATED) || !all)
		screen_row(out, "GPU memory", "", "n/a: %s", reason_text(f, METRIC_GPU_MEMORY_PEAK));
	else
		screen_bar(out, "GPU memory", (double)peak / (double)all, SCREEN_PLAIN, "%s of %s",
			   metric_text_value(UNIT_BYTES, peak, used, sizeof(used)),
			   metric_text_value(UNIT_BYTES, all, of, sizeof(of)));
}

static void put_gpu(const struct screen *out, const struct job_screen *s, const struct job_sums *sum)
{
	const struct values *f = &sum->f;
	char busy[SCREEN_TEXT_MAX], held[SCREEN_TEXT_MAX], gpus[SCREEN_TEXT_MAX] = "";
	double share;

	if (!sum->gpus && !values_has(f, METRIC_GPU_HELD))
		return;
	if (sum->gpus)
		(void)snprintf(gpus, sizeof(gpus), " (%" PRIu64 " GPU%s)", sum->gpus,
			       sum->gpus == 1 ? "" : "s");
	if (!derived_value(DERIVED_GPU_UTILIZATION, f, 0, 0, &share)) {
		screen_row(out, "GPU", "", "%s%s", missing(s, sum, METRIC_GPU_BUSY, busy), gpus);
		return;
	}
	screen_bar(out, "GPU", share, colour_of(share), "%s of %s%s",
		   screen_time(f->value[METRIC_GPU_BUSY], busy), screen_time(f->value[METRIC_GPU_HELD], held),
		   gpus);
	put_gpu_memory(out, f);
}

/* Says where the energy value comes from: its sources, an estimate, or a lower bound. */
static const char *energy_note(const struct job_screen *s, const struct job_sums *sum, char *buf)
{
	enum lower_bound bound = LOWER_BOUND_NONE;
	char sources[METRIC_SOURCES_MAX];
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct record *r = s->part[i];
		enum lower_bound one = lower_bound_of(r);

		if (strcmp(r->energy.quality, "lower-bound") != 0)
			continue;
		if (r->energy.missing[0])
			return "at least: see note";
		if (r->is_resized)
			return "the job was resized";
		/* a record without its steps tells no reason */
		one = one > LOWER_BOUND_NONE ? one : LOWER_BOUND_NODE;
		bound = one > bound ? one : bound;
	}
	if (bound > LOWER_BOUND_NONE)
		return lower_bound_text(bound);
	(void)metric_text_sources(&sum->f, "", sources, sizeof(sources));
	if (!*sources)
		return "source n/a";
	if (!strcmp(sources, "model"))
		return "estimate: no sensor";
	if (strstr(sources, "model"))
		return "partly an estimate";
	(void)snprintf(buf, SCREEN_TEXT_MAX, "%.20s", sources);
	return buf;
}

/* Writes ", 96 % idle", the share of static energy; "" if it is not known of all energy. */
static const char *idle_text(const struct job_sums *sum, char *buf)
{
	char share[SCREEN_TEXT_MAX];

	buf[0] = '\0';
	if (sum->idle_of_uj > 0 && !sum->idle_lacks)
		(void)snprintf(buf, 2 * SCREEN_TEXT_MAX, ", %s idle",
			       screen_share(sum->idle_uj / sum->idle_of_uj, share));
	return buf;
}

/* Says that, and why, the share of idle power is unknown or known of a part of the energy only. */
static void put_idle(const struct screen *out, const struct job_sums *sum)
{
	const char *why = metric_reason_text(REASON_NO_IDLE);
	char share[SCREEN_TEXT_MAX], wh[SCREEN_TEXT_MAX];

	if (!values_has(&sum->f, METRIC_IDLE_UNKNOWN) || !sum->f.value[METRIC_IDLE_UNKNOWN])
		return;
	if (sum->idle_of_uj > 0)
		screen_row(out, "", "", "%s of %s idle, rest n/a: %s",
			   screen_share(sum->idle_uj / sum->idle_of_uj, share),
			   screen_wh(round_u64(sum->idle_of_uj), wh), why);
	else
		screen_row(out, "", "", "idle n/a: %s", why);
}

static void put_energy(const struct screen *out, const struct job_screen *s, const struct job_sums *sum)
{
	char wh[SCREEN_TEXT_MAX], joules[METRIC_TEXT_MAX + 4] = "", watts[SCREEN_TEXT_MAX],
							   note[SCREEN_TEXT_MAX];
	char idle[2 * SCREEN_TEXT_MAX], mean[2 * SCREEN_TEXT_MAX] = "", parts[SCREEN_TEXT_MAX];
	uint64_t uj = sum->f.value[METRIC_ENERGY];
	bool is_doubt = s->n == 1 && s->part[0]->energy.missing[0];

	if (!sum->energy_n || (!uj && is_doubt)) {
		screen_row(out, "energy", "", "%s%s", is_doubt ? "n/a: " : missing(s, sum, METRIC_ENERGY, wh),
			   is_doubt ? s->part[0]->energy.missing : "");
		return;
	}
	if (!uj) {
		screen_row(out, "energy", "", "less than 1 J%s", of_parts(sum, sum->energy_n, parts));
		return;
	}
	if (sum->energy_ns > 0)
		(void)snprintf(mean, sizeof(mean), ", %s%s%s", s->n > 1 ? "" : "mean ",
			       screen_watts((double)uj * 1e3 / sum->energy_ns, watts),
			       s->n > 1 ? " each" : "");
	if (s->n == 1 && uj < UJ_PER_KWH) {
		char text[METRIC_TEXT_MAX];

		(void)snprintf(joules, sizeof(joules), " (%s)",
			       metric_text_value(UNIT_UJ, uj, text, sizeof(text)));
	}
	screen_row(out, "energy", energy_note(s, sum, note), "%s%s%s%s%s", screen_wh(uj, wh), joules, mean,
		   idle_text(sum, idle), of_parts(sum, sum->energy_n, parts));
	put_idle(out, sum);
}

/*
 * Mean grams per kWh of all parts, weighted by their energy. False: unknown for a part that has
 * emissions.
 */
static bool mean_factor(const struct job_screen *s, double *ret)
{
	double grams = 0;
	double uj = 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct record *r = s->part[i];

		if (!values_has(&r->values, METRIC_CO2E))
			continue;
		if (!r->emissions.factor_ug_per_kwh.known || !values_has(&r->values, METRIC_ENERGY))
			return false;
		grams += (double)r->emissions.factor_ug_per_kwh.value / (double)UG_PER_G *
			 (double)r->values.value[METRIC_ENERGY];
		uj += (double)r->values.value[METRIC_ENERGY];
	}
	if (!(uj > 0))
		return false;
	*ret = grams / uj;
	return true;
}

/*
 * Length of SOURCE without the licence behind it: "Ember (CC BY 4.0)". Several sources are not cut.
 */
static size_t licence_at(const char *source)
{
	const char *p = strstr(source, " (");

	return p && !strchr(source, ';') ? (size_t)(p - source) : strlen(source);
}

/* Prints where the factor comes from: "FR 2024, yearly mean, life-cycle; Ember". */
static void put_origin(const struct screen *out, const struct record_emissions *e, const struct values *f)
{
	/* left out: it says that all energy had one kind of factor */
	static const char all[] = "100 % ";
	char text[METRIC_FACTORS_MAX];
	const char *shares = metric_text_factors(f, text, sizeof(text));
	char year[16] = "";

	if (!strncmp(shares, all, sizeof(all) - 1))
		shares += sizeof(all) - 1;
	if (e->year)
		(void)snprintf(year, sizeof(year), " %" PRIu32, e->year);
	if (*e->region || *e->source || *shares)
		screen_row(out, "", "", "%s%s%s%s%s%s%s%.*s", *e->region ? e->region : "factor", year,
			   *shares ? ", " : "", shares, *e->scope ? ", " : "", e->scope,
			   *e->source ? "; " : "", (int)licence_at(e->source), e->source);
}

static void put_co2e(const struct screen *out, const struct job_screen *s, const struct job_sums *sum)
{
	const struct record_emissions *e = &s->part[0]->emissions;
	char mass[SCREEN_TEXT_MAX], wh[SCREEN_TEXT_MAX], factor[2 * SCREEN_TEXT_MAX] = "";
	char pue[SCREEN_TEXT_MAX] = "", parts[SCREEN_TEXT_MAX];
	uint64_t pue_milli = e->pue_milli;
	double g;
	size_t i;

	if (!sum->co2e_n) {
		screen_row(out, "CO2e", "", "%s", missing(s, sum, METRIC_CO2E, wh));
		return;
	}
	for (i = 1; i < s->n; i++)
		pue_milli = s->part[i]->emissions.pue_milli == pue_milli ? pue_milli : 0;
	if (pue_milli)
		(void)snprintf(pue, sizeof(pue), " x PUE %g", (double)pue_milli / 1e3);
	if (sum->co2e_n == sum->energy_n && mean_factor(s, &g))
		(void)snprintf(factor, sizeof(factor), " = %s x %.1f g/kWh%s",
			       screen_wh(sum->f.value[METRIC_ENERGY], wh), g, pue);
	screen_row(out, "CO2e", "", "%s%s%s", metric_text(&sum->f, METRIC_CO2E, mass, sizeof(mass)), factor,
		   of_parts(sum, sum->co2e_n, parts));
	put_origin(out, e, &sum->f);
}

static void add_io(const struct values *f, enum metric m, const char *what, char *buf, size_t size)
{
	char text[METRIC_TEXT_MAX];
	size_t used = strlen(buf);

	if (values_has(f, m))
		(void)snprintf(buf + used, size - used, "%s%s %s", used ? ", " : "", what,
			       metric_text(f, m, text, sizeof(text)));
}

static void put_io(const struct screen *out, const struct job_sums *sum)
{
	enum metric_reason why = (enum metric_reason)sum->f.reason[METRIC_IO_READ_BYTES];
	bool is_bound = values_has(&sum->f, METRIC_LOST_EVENTS) && sum->f.value[METRIC_LOST_EVENTS];
	char text[256] = "", lost[METRIC_TEXT_MAX];

	add_io(&sum->f, METRIC_IO_READ_BYTES, "read", text, sizeof(text));
	add_io(&sum->f, METRIC_IO_WRITE_BYTES, "written", text, sizeof(text));
	add_io(&sum->f, METRIC_TCP_RECEIVED_BYTES, "TCP in", text, sizeof(text));
	add_io(&sum->f, METRIC_TCP_SENT_BYTES, "out", text, sizeof(text));
	if (!*text && why != REASON_NOT_MEASURED && why != REASON_NOT_ASKED)
		(void)snprintf(text, sizeof(text), "n/a: %s", metric_reason_text(why));
	else if (*text && is_bound)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), ", at least: %s events lost",
			       metric_text(&sum->f, METRIC_LOST_EVENTS, lost, sizeof(lost)));
	if (*text)
		screen_row(out, "I/O", "", "%s", text);
}

/* --- nodes, notes ------------------------------------------------------------------------------ */

/*
 * Finds the step with the most CPU time among those on several nodes that have a per-node maximum.
 */
static const struct record_step *widest_step(const struct record *r)
{
	const struct record_step *best = NULL;
	size_t i;

	for (i = 0; i < r->nsteps; i++) {
		const struct record_step *s = &r->steps[i];
		uint64_t cpu = s->values.value[METRIC_CPU_TIME];

		if (s->nnodes > 1 && (s->cpu_time.max.known || s->energy.max.known) &&
		    (!best || cpu > best->values.value[METRIC_CPU_TIME]))
			best = s;
	}
	return best;
}

struct uneven {
	const char *what, *node;
	double above; /* share by which the node exceeds the mean; negative: unknown */
};

static void find_uneven(const struct record_step *step, enum metric m, const char *what,
			const struct record_spread *spread, struct uneven *ret)
{
	*ret = (struct uneven){ .what = what, .node = *spread->max_node ? spread->max_node : "a node" };
	if (!record_step_imbalance(step, m, &ret->above))
		ret->above = -1;
}

/*
 * Prints the more uneven of CPU time and energy first. slurmdbd stores only the node with the
 * maximum.
 */
static void put_nodes(const struct screen *out, const struct record *r)
{
	const struct record_step *step = widest_step(r);
	struct uneven cpu, energy, worst, other;

	if (!step)
		return;
	find_uneven(step, METRIC_CPU_TIME, "CPU time", &step->cpu_time, &cpu);
	find_uneven(step, METRIC_ENERGY, "energy", &step->energy, &energy);
	worst = energy.above > cpu.above ? energy : cpu;
	other = energy.above > cpu.above ? cpu : energy;
	if (worst.above < UNEVEN) {
		screen_row(out, "nodes", "", "%" PRIu32 ", alike", step->nnodes);
		return;
	}
	if (other.above >= UNEVEN && !strcmp(worst.node, other.node)) {
		screen_row(out, "nodes", "", "%s: %s %.0f %%, %s %.0f %% above the mean of %" PRIu32,
			   worst.node, worst.what, 100 * worst.above, other.what, 100 * other.above,
			   step->nnodes);
		return;
	}
	screen_row(out, "nodes", "", "%s: %s %.0f %% above the mean of %" PRIu32, worst.node, worst.what,
		   100 * worst.above, step->nnodes);
	if (other.above >= UNEVEN)
		screen_row(out, "", "", "%s: %s %.0f %% above it", other.node, other.what, 100 * other.above);
}

static void put_notes(const struct screen *out, const struct job_screen *s, const struct job_sums *sum)
{
	const struct record *r = s->part[0];
	const char *label = "note";
	char text[METRIC_TEXT_MAX];

	if (values_has(&sum->f, METRIC_OOM_KILLS) && sum->f.value[METRIC_OOM_KILLS]) {
		screen_row(out, label, "", "memory ran out; processes that the kernel killed: %s",
			   metric_text(&sum->f, METRIC_OOM_KILLS, text, sizeof(text)));
		label = "";
	}
	if (sum->running && s->not_live) {
		screen_row(out, label, "", "running steps: %s", s->not_live);
		label = "";
	}
	if (r->energy.missing[0] && sum->f.value[METRIC_ENERGY]) {
		screen_row(out, label, "", "energy lacks %s", r->energy.missing);
		label = "";
	}
	if (s->n > 1)
		return;
	if (r->end && !r->exit_code && !r->exit_signal && (r->derived_exit_code || r->derived_exit_signal)) {
		screen_row(out, label, "", "a step ended with %" PRId32 ":%" PRId32, r->derived_exit_code,
			   r->derived_exit_signal);
		label = "";
	}
	if (r->restart_count) {
		screen_row(out, label, "", "run %" PRIu32 " of this job: --duplicates shows the others",
			   r->restart_count + 1);
		label = "";
	}
	if (r->start && r->end && !r->energy.final)
		screen_row(out, label, "", "not final: slurmdbd does not have all steps yet");
}

void job_usage_print(const struct screen *out, const struct job_screen *s, const struct job_sums *sum)
{
	if (sum->started) {
		put_cpu(out, s, sum);
		put_memory(out, s, sum);
		put_gpu(out, s, sum);
		put_energy(out, s, sum);
		put_co2e(out, s, sum);
		put_io(out, sum);
	}
	if (s->n == 1)
		put_nodes(out, s->part[0]);
	put_notes(out, s, sum);
}

void job_rows_print(const struct screen *out, const struct job_screen *s, const struct job_sums *sum)
{
	put_time(out, s, sum);
	job_usage_print(out, s, sum);
}

/* --- advice ------------------------------------------------------------------------------------ */

#define ADVICE_WHAT 22 /* columns, so that the lines of advice are aligned */
#define ADVICE_TYPE 27

static size_t at_least(size_t columns, const char *text)
{
	size_t n = text_columns(text);

	return n > columns ? n : columns;
}

static bool is_one_line(const struct job_screen_advice *a)
{
	return at_least(ADVICE_WHAT, a->what) + 2 + at_least(ADVICE_TYPE, a->type) + 2 +
		       text_columns(a->saved) <=
	       SCREEN_ROW_COLUMNS;
}

void job_advice_print(const struct screen *out, const struct job_screen *s, size_t lines)
{
	const char *label = "advice";
	size_t i;

	for (i = 0; i < s->nadvice && i < JOB_SCREEN_ADVICE; i++) {
		const struct job_screen_advice *a = &s->advice[i];
		size_t need = is_one_line(a) ? 1 : 2;

		if (need > lines)
			return;
		lines -= need;
		if (need == 1) {
			screen_row(out, label, "", "%-*s  %-*s  %s", ADVICE_WHAT, a->what, ADVICE_TYPE,
				   a->type, a->saved);
		} else {
			screen_row(out, label, "", "%s", a->what);
			screen_row(out, "", a->saved, "  %s", a->type);
		}
		label = "";
	}
}
