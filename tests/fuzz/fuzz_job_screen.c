/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job's screen, whatever its names and numbers are: one page without control characters. */
#include "src/librecord/job_screen.h"
#include "tests/fuzz/fuzz.h"

#define NTEXTS 9
#define NPARTS 30

static void check_screen(const struct job_screen *s)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert(f && job_screen_print(f, s) == 0 && fclose(f) == 0);
	assert(fuzz_check_lines(text, JOB_SCREEN_COLUMNS) <= JOB_SCREEN_LINES);
	free(text);
}

static void set_numbers(struct fuzz_parts *p, struct record *r, struct record_step *step)
{
	unsigned int m;

	r->job_id = (uint32_t)fuzz_number(p);
	r->submit = fuzz_number(p);
	r->start = fuzz_number(p);
	r->end = fuzz_number(p);
	r->total_cpus = (uint32_t)fuzz_number(p);
	r->time_limit_min = (struct maybe_u64){ fuzz_number(p) & UINT32_MAX, true };
	r->exit_code = (int32_t)fuzz_number(p);
	r->emissions.pue_milli = fuzz_number(p);
	r->emissions.factor_ug_per_kwh = (struct maybe_u64){ fuzz_number(p), true };
	step->nnodes = (uint32_t)fuzz_number(p);
	step->cpu_time.max = step->energy.max = (struct maybe_u64){ fuzz_number(p), true };
	metric_foreach(m)
		if (p->size)
			values_set(&r->values, (enum metric)m, fuzz_number(p));
	step->values = r->values;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts p = { data, size };
	const struct record *part[NPARTS];
	static struct record r;
	static struct record_step step;
	char *text[NTEXTS];
	size_t i, n;

	for (i = 0; i < NTEXTS; i++) {
		const uint8_t *t = fuzz_next(&p, &n);

		text[i] = fuzz_text(t, n);
	}
	r = (struct record){ .job_name = text[0],
			     .user_name = text[1],
			     .account = text[2],
			     .partition = text[3],
			     .nodes = text[4],
			     .state = text[5],
			     .cluster = text[6],
			     .tres_alloc = text[7],
			     .steps = &step,
			     .nsteps = 1 };
	step = (struct record_step){ .step_id = 0 };
	values_init(&r.values);
	values_init(&step.values);
	(void)snprintf(r.emissions.source, sizeof(r.emissions.source), "%s", text[8]);
	(void)snprintf(r.emissions.region, sizeof(r.emissions.region), "%s", text[8]);
	(void)snprintf(step.cpu_time.max_node, sizeof(step.cpu_time.max_node), "%s", text[8]);
	set_numbers(&p, &r, &step);
	for (i = 0; i < NPARTS; i++)
		part[i] = &r;
	check_screen(&(struct job_screen){ .part = part, .n = 1, .now = 1764000000, .not_live = text[8] });
	r.array_job_id = (struct maybe_u64){ r.submit, true };
	r.array_tasks = text[7];
	check_screen(&(struct job_screen){ .part = part, .n = NPARTS, .now = 1764000000, .cluster = "c" });
	for (i = 0; i < NTEXTS; i++)
		free(text[i]);
	return 0;
}
