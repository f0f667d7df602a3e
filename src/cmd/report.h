/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - shared by the forms of `ceems report`. cmd_report.c parses the arguments.
 */
#ifndef CEEMS_CMD_REPORT_H
#define CEEMS_CMD_REPORT_H

#include "src/cmd/jobs_choice.h"
#include "src/cmd/jobs_group.h"
#include "src/cmd/period.h"
#include "src/libsink/sink.h"

enum report_form { REPORT_TEXT, REPORT_JSON, REPORT_CSV, REPORT_HTML };

struct report_options {
	struct jobs_choice choice;
	const char *trace_dir; /* of the job's page */
	enum jobs_group_by by;
	struct period period;
	bool has_period;
	enum report_form form;
	const char *out;       /* NULL: stdout */
	const char *site;      /* --site: its folder */
	const struct sink_db *database; /* NULL: slurmdbd */
	const char *database_name;
	const char *database_file; /* NULL: as ceems.conf has it */
	const char *mail_to;   /* NULL: no mail */
	bool rank;	       /* the user's place among all, whose jobs are read, too */
	uint64_t now;
};

/* Each returns CMD_OK, or another exit code after printing the reason. */
int report_period(const struct report_options *o);
int report_mail(const struct report_options *o);
int report_job(const struct report_options *o, const char *ids);
int report_site(const struct report_options *o);

/* Writes whose jobs these are: "all users", "user ann", "account physics". */
#define REPORT_WHOSE_MAX 512
void report_whose(const struct report_options *o, char *buf, size_t size);
/* Returns the time up to which jobs of P may have ended. */
uint64_t report_end(const struct report_options *o, const struct period *p);

/* Opens o->out, or returns stdout. NULL: it failed, and the reason was printed. */
FILE *report_open(const struct report_options *o);
int report_close(const struct report_options *o, FILE *out, int rc);

#endif
