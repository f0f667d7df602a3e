/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmdb/slurmdb_worker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "slurmdb/ctld_rows.h"
#include "slurmdb/slurm_compat.h"
#include "slurmdb/slurmdb_rows.h"
#include "slurmdb/slurmdb_wire.h"

struct worker {
	bool from_slurmctld;
	FILE *in, *out;
	struct slurmdb_rows *rows; /* NULL: nothing was asked yet */
	struct slurmdb_wire_ask ask;
	struct slurmdb_want want[SLURMDB_ASK_MAX];
};

/* Reads a line and removes its newline. -EPIPE: end of input. */
static int worker_read_line(struct worker *w, char *buf, size_t size)
{
	size_t len;

	if (!fgets(buf, (int)size, w->in))
		return -EPIPE;
	len = strlen(buf);
	if (!len || buf[len - 1] != '\n')
		return -EPIPE;
	buf[len - 1] = '\0';
	return 0;
}

static int worker_read_wants(struct worker *w)
{
	char line[SLURMDB_WIRE_LINE_MAX];
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < w->ask.count; i++) {
		rc = worker_read_line(w, line, sizeof(line));
		if (rc == 0)
			rc = slurmdb_wire_get_want(line, &w->want[i]);
	}
	return rc;
}

static int worker_create_rows(struct worker *w, struct errmsg *err)
{
	struct slurmdb_options o = { .cluster = *w->ask.cluster ? w->ask.cluster : NULL,
				     .no_usage = w->ask.no_usage };

	return w->rows ? 0 : slurmdb_rows_create(&o, &w->rows, err);
}

static int worker_get_from_slurmctld(struct worker *w, struct slurmdb_jobs *jobs, struct errmsg *err)
{
	switch (w->ask.kind) {
	case SLURMDB_WIRE_JOBS:
		return ctld_rows_get(w->ask.cluster, w->want, w->ask.count, jobs, err);
	case SLURMDB_WIRE_WINDOW:
		return ctld_rows_window(w->ask.cluster, w->ask.from, w->ask.to, jobs, err);
	case SLURMDB_WIRE_PING:
		return 0;
	}
	return -EINVAL;
}

static int worker_get(struct worker *w, struct slurmdb_jobs *jobs, struct errmsg *err)
{
	int rc;

	if (w->from_slurmctld)
		return worker_get_from_slurmctld(w, jobs, err);
	rc = worker_create_rows(w, err);
	if (rc < 0)
		return rc;
	switch (w->ask.kind) {
	case SLURMDB_WIRE_JOBS:
		return slurmdb_rows_get(w->rows, w->want, w->ask.count, jobs, err);
	case SLURMDB_WIRE_WINDOW:
		return slurmdb_rows_window(w->rows, w->ask.from, w->ask.to, jobs, err);
	case SLURMDB_WIRE_PING:
		return slurmdb_rows_ping(w->rows, err);
	}
	return -EINVAL;
}

/* Whether JOB was asked for: a question about jobs also returns rows of other runs. */
static bool worker_is_wanted(const struct worker *w, const struct slurmdb_job *job)
{
	size_t i;

	if (w->ask.kind != SLURMDB_WIRE_JOBS)
		return true;
	for (i = 0; i < w->ask.count; i++)
		if (slurmdb_want_is(&w->want[i], job->record))
			return true;
	return false;
}

static void worker_answer(struct worker *w)
{
	struct slurmdb_jobs jobs = { 0 };
	struct errmsg err = { 0 };
	size_t told = 0;
	size_t i;
	int rc = worker_get(w, &jobs, &err);

	for (i = 0; rc == 0 && i < jobs.n; i++)
		if (worker_is_wanted(w, &jobs.job[i])) {
			rc = slurmdb_wire_put_job(w->out, &jobs.job[i]);
			told += rc == 0;
		}
	if (rc == 0)
		slurmdb_wire_put_done(w->out, w->ask.number, told);
	else
		slurmdb_wire_put_failed(w->out, w->ask.number, rc, *err.text ? err.text : strerror(-rc));
	(void)fflush(w->out);
	slurmdb_jobs_free(&jobs);
}

int slurmdb_worker_main(int fd, bool from_slurmctld)
{
	static struct worker w;
	char line[SLURMDB_WIRE_LINE_MAX];
	int rc = 0;

	/*
	 * Ends with the recorder: libslurm may wait 900 s for slurmdbd, and nothing else would end
	 * this process.
	 */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	w.from_slurmctld = from_slurmctld;
	if (from_slurmctld)
		slurm_init(NULL);
	w.in = fdopen(fd, "r");
	w.out = fdopen(dup(fd), "w");
	if (!w.in || !w.out)
		return EXIT_FAILURE;
	while (rc == 0 && worker_read_line(&w, line, sizeof(line)) == 0) {
		rc = slurmdb_wire_get_ask(line, &w.ask);
		if (rc == -EPROTO)
			(void)fprintf(w.out, "it is of another version: restart ceems-recorder\n");
		if (rc == 0)
			rc = worker_read_wants(&w);
		if (rc == 0)
			worker_answer(&w);
	}
	slurmdb_rows_destroy(w.rows);
	return rc < 0 || ferror(w.out) ? EXIT_FAILURE : EXIT_SUCCESS;
}
