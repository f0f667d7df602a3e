/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flame_energy.c - flame_files_by_energy(). A sample has no time, so each sample gets an equal share of the
 * energy of its step on its node. This is an estimate.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "ceems_config.h"
#include "src/cmd/cmd.h"
#include "src/cmd/flame/flame_files.h"
#include "src/cmd/trace/trace_files.h"
#ifdef HAVE_SLURMDB
#include "src/cmd/job/job_ask.h"
#include "src/cmd/job/job_step.h"
#endif

/* Energy of a step: its CPU energy or, if that is not known, its whole energy. */
struct step_joules {
	double j;
	bool is_cpu;
};

/* --- traces ------------------------------------------------------------------------------------- */

/* Returns the last value in column NAME. NAN: there is no such column or value. */
static double last_value(const struct trace_table *t, const char *name)
{
	const int column = trace_table_find(t, name);
	size_t row;

	for (row = t->nrows; column >= 0 && row-- > 0;)
		if (!isnan(t->value[row * t->ncolumns + (size_t)column]))
			return t->value[row * t->ncolumns + (size_t)column];
	return NAN;
}

static bool joules_of_trace(const struct trace_table *t, struct step_joules *ret)
{
	const double cpu = last_value(t, "cpu_energy_j"), all = last_value(t, "energy_j");

	*ret = (struct step_joules){ isnan(cpu) ? all : cpu, !isnan(cpu) };
	return ret->j >= 0;
}

/* Finds the energy in a trace of the file's step and node. False: there is no such trace. */
static bool find_trace(const struct flame_file *file, const char *const *dir, size_t ndirs,
		       struct step_joules *ret)
{
	struct trace_files traces = { 0 };
	struct job_ids ids = { 0 };
	char id[48];
	bool found = false;
	size_t i;

	(void)snprintf(id, sizeof(id), "%s.%s", file->job, file->step);
	if (job_ids_add(&ids, id, NULL) == 0 && trace_files_look(&traces, &ids, id, dir, ndirs) == CMD_OK)
		for (i = 0; i < traces.n && !found; i++)
			found = !strcmp(traces.table[i].node, file->node) &&
				joules_of_trace(&traces.table[i], ret);
	trace_files_fini(&traces);
	job_ids_fini(&ids);
	return found;
}

/* --- slurmdbd ----------------------------------------------------------------------------------- */

#ifdef HAVE_SLURMDB
static bool joules_of_step(const struct record_step *s, struct step_joules *ret)
{
	const bool is_cpu = values_has(&s->values, METRIC_CPU_ENERGY);

	if (!is_cpu && !values_has(&s->values, METRIC_ENERGY))
		return false;
	*ret = (struct step_joules){
		(double)s->values.value[is_cpu ? METRIC_CPU_ENERGY : METRIC_ENERGY] / 1e6, is_cpu
	};
	return true;
}

/*
 * Asks slurmdbd for the energy of the file's step. False: it is not known; if that is
 * an error, it was printed.
 */
static bool ask_slurmdbd(const struct flame_file *file, struct step_joules *ret)
{
	static struct job_site site;
	struct job_ids ids = { 0 };
	const struct job_question q = { .ids = &ids };
	struct job_answer a = { .site = &site };
	char id[48];
	bool found = false;
	size_t i;

	(void)snprintf(id, sizeof(id), "%s.%s", file->job, file->step);
	if (job_ids_add(&ids, id, NULL) < 0 || job_ask_check_conf() != CMD_OK) {
		job_ids_fini(&ids);
		return false;
	}
	job_site_load(&site);
	if (job_ask(&q, &a) == CMD_OK)
		for (i = 0; i < a.jobs.n && !found; i++) {
			const struct record_step *s = job_id_is_of(&ids.id[0], a.jobs.job[i].record) ?
							      job_step_find(a.jobs.job[i].record,
									    ids.id[0].step_id) :
							      NULL;

			found = s && joules_of_step(s, ret);
		}
	job_answer_free(&a);
	job_site_fini(&site);
	job_ids_fini(&ids);
	return found;
}
#else
static bool ask_slurmdbd(const struct flame_file *file, struct step_joules *ret)
{
	(void)file;
	(void)ret;
	return false;
}
#endif

/* --- both --------------------------------------------------------------------------------------- */

static bool is_same_step(const struct flame_file *a, const struct flame_file *b)
{
	return !strcmp(a->job, b->job) && !strcmp(a->step, b->step);
}

/* Returns whether the files have the same type of value, so that both values can be added. */
static bool is_same_type(const struct flame_file *a, const struct flame_file *b)
{
	const struct profile_type *x = &a->profile->type[a->type], *y = &b->profile->type[b->type];

	return !strcmp(x->type, y->type) && !strcmp(x->unit, y->unit);
}

/* Sets the scale of file I, and of all later files of the same step. */
static int scale_step(struct flame_files *f, size_t i, const char *const *dir, size_t ndirs, bool *is_cpu,
		      bool *is_traced)
{
	struct step_joules joules;
	double total = 0;
	bool all = true, is_one_type = true;
	size_t k;

	for (k = i; k < f->n; k++)
		if (is_same_step(&f->file[i], &f->file[k])) {
			is_one_type = is_one_type && is_same_type(&f->file[i], &f->file[k]);
			all = all && find_trace(&f->file[k], dir, ndirs, &joules);
			if (all) {
				f->file[k].scale = f->file[k].total > 0 ? joules.j / f->file[k].total : 0;
				*is_cpu = *is_cpu && joules.is_cpu;
			}
			total += f->file[k].total;
		}
	if (all)
		return CMD_OK;
	*is_traced = false;
	if (!is_one_type)
		return cmd_error("step %s.%s has samples of time and of cycles, so each node needs a trace",
				 f->file[i].job, f->file[i].step);
	if (!ask_slurmdbd(&f->file[i], &joules))
		return cmd_error(
			"the energy of step %s.%s is not known: not every node has a trace, and slurmdbd "
			"has none",
			f->file[i].job, f->file[i].step);
	*is_cpu = *is_cpu && joules.is_cpu;
	for (k = i; k < f->n; k++)
		if (is_same_step(&f->file[i], &f->file[k]))
			f->file[k].scale = total > 0 ? joules.j / total : 0;
	return CMD_OK;
}

int flame_files_by_energy(struct flame_files *f, const char *const *dir, size_t ndirs, char *note,
			  size_t size)
{
	bool is_cpu = true, is_traced = true;
	size_t i, k;
	int rc = CMD_OK;

	for (i = 0; rc == CMD_OK && i < f->n; i++) {
		if (!*f->file[i].job || !*f->file[i].step)
			return cmd_error(
				"a profile does not name its job and step, so its energy is not known");
		for (k = 0; k < i && !is_same_step(&f->file[k], &f->file[i]); k++)
			;
		if (k == i)
			rc = scale_step(f, i, dir, ndirs, &is_cpu, &is_traced);
	}
	(void)snprintf(note, size, "estimate: the %senergy of each step%s, shared by samples",
		       is_cpu ? "CPU " : "", is_traced ? " and node, by its trace" : ", by slurmdbd");
	return rc;
}
