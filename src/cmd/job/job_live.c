/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/job/job_live.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "src/cmd/job/job_ids.h"
#include "src/libcore/tresmap.h"

#define DEADLINE_S "10"
#define TIMED_OUT 124 /* exit status of timeout(1) when the time is over */
#define NOT_FOUND 127 /* exit status of a shell that does not find the command */
#define NFIELDS 5     /* fields in a line of sstat's output, see make_command() */

static bool is_running(const struct record *r)
{
	return r->start && !r->end;
}

static bool is_told(const struct record_step *s)
{
	return !s->end && (values_has(&s->values, METRIC_CPU_TIME) || values_has(&s->values, METRIC_ENERGY));
}

static struct record_step *find_step(struct record *r, uint32_t step_id)
{
	size_t i;

	for (i = 0; i < r->nsteps; i++)
		if (r->steps[i].step_id == step_id && !r->steps[i].end)
			return &r->steps[i];
	return NULL;
}

/* Adds a step to a record without steps. NULL: out of memory. */
static struct record_step *add_step(struct record *r, uint32_t step_id)
{
	struct record_step *more = realloc(r->steps, (r->nsteps + 1) * sizeof(*more));

	if (!more)
		return NULL;
	r->steps = more;
	r->steps[r->nsteps] = (struct record_step){ .step_id = step_id };
	values_init(&r->steps[r->nsteps].values);
	return &r->steps[r->nsteps++];
}

/* Splits LINE at '|' into FIELD[]. False: the number of fields is wrong. */
static bool split(char *line, char *field[NFIELDS])
{
	size_t n = 0;

	for (; line && n < NFIELDS; n++) {
		field[n] = line;
		line = strchr(line, '|');
		if (line)
			*line++ = '\0';
	}
	return n == NFIELDS && !line;
}

static void set_values(struct record_step *s, char *const field[NFIELDS])
{
	struct values *f = &s->values;
	uint64_t rss;

	tresmap_read_named(field[1], field[2], SIDE_IN, f);
	tresmap_read_named(field[3], field[4], SIDE_OUT, f);
	values_miss_untold_joules(f);
	if (tresmap_named_value(field[2], "mem", &rss) == 0 && rss)
		s->max_rss_bytes = (struct maybe_u64){ rss, true };
}

/* Parses a line such as "12.batch|cpu=..." and sets the values of that step, if R[n] has it. */
static void read_line(char *line, struct record *const *r, size_t n)
{
	struct job_ids ids = { 0 };
	struct record_step *s = NULL;
	char *field[NFIELDS];
	size_t i;

	if (split(line, field))
		(void)job_ids_add(&ids, field[0], NULL);
	for (i = 0; i < n && ids.n == 1 && ids.id[0].has_step && !s; i++)
		if (r[i]->job_id == ids.id[0].job_id && is_running(r[i])) {
			s = find_step(r[i], ids.id[0].step_id);
			if (!s && !r[i]->steps_known)
				s = add_step(r[i], ids.id[0].step_id);
		}
	job_ids_fini(&ids);
	if (s)
		set_values(s, field);
}

/* Shortens "sstat: error: ... request to n1 rc = Invalid user id" to "sstat: Invalid user id". */
static void keep_reason(const char *line, char *why)
{
	static const char prefix[] = "sstat: error: ";
	const char *text = strncmp(line, prefix, sizeof(prefix) - 1) ? line : line + sizeof(prefix) - 1;
	const char *rc = strstr(text, "rc = ");

	(void)snprintf(why, JOB_LIVE_WHY_MAX, "sstat: %s", rc ? rc + 5 : text);
}

/* Returns true if each running job of R[n] has a step with known values. */
static bool are_told(struct record *const *r, size_t n)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < r[i]->nsteps && !is_told(&r[i]->steps[k]); k++)
			;
		if (is_running(r[i]) && k == r[i]->nsteps)
			return false;
	}
	return true;
}

void job_live_read(FILE *from, struct record *const *r, size_t n, char why[JOB_LIVE_WHY_MAX])
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	*why = '\0';
	while ((len = getline(&line, &size, from)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (strchr(line, '|'))
			read_line(line, r, n);
		else if (*line && !*why)
			keep_reason(line, why);
	}
	free(line);
	if (are_told(r, n))
		*why = '\0'; /* nothing is missing: the error was about a step that has just ended */
	else if (!*why)
		(void)snprintf(why, JOB_LIVE_WHY_MAX, "sstat shows nothing of them");
}

/*
 * Writes the command "sstat ... -j 12,13" for the first JOB_LIVE_MAX running jobs of R[n]. Returns
 * their number.
 */
static size_t make_command(struct record *const *r, size_t n, char *buf, size_t size)
{
	size_t used = (size_t)snprintf(buf, size,
				       "exec timeout " DEADLINE_S " sstat -a -n -P --noconvert -o JobID,"
				       "TRESUsageInTot,TRESUsageInMax,TRESUsageOutTot,TRESUsageOutMax -j ");
	size_t asked = 0;
	size_t i;

	for (i = 0; i < n && asked < JOB_LIVE_MAX; i++)
		if (is_running(r[i]))
			used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu32, asked++ ? "," : "",
						 r[i]->job_id);
	(void)snprintf(buf + used, size - used, " 2>&1");
	return asked;
}

void job_live_ask(struct record *const *r, size_t n, char why[JOB_LIVE_WHY_MAX])
{
	char command[256 + JOB_LIVE_MAX * 11];
	size_t asked = make_command(r, n, command, sizeof(command));
	int status;
	FILE *p;

	*why = '\0';
	if (!asked)
		return;
	p = popen(command, "re");
	if (!p) {
		(void)snprintf(why, JOB_LIVE_WHY_MAX, "sstat cannot be started");
		return;
	}
	job_live_read(p, r, n, why);
	status = pclose(p);
	if (status == -1 || !WIFEXITED(status) || !*why)
		return;
	if (WEXITSTATUS(status) == TIMED_OUT)
		(void)snprintf(why, JOB_LIVE_WHY_MAX, "sstat did not answer within " DEADLINE_S " s");
	else if (WEXITSTATUS(status) == NOT_FOUND)
		(void)snprintf(why, JOB_LIVE_WHY_MAX, "sstat is not installed here");
	else if (asked == JOB_LIVE_MAX)
		(void)snprintf(why, JOB_LIVE_WHY_MAX, "only %d jobs are asked for at once", JOB_LIVE_MAX);
}
