/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - what the parts of `ceems report` share. cmd_report.c parses the arguments.
 */
#ifndef CEEMS_CMD_REPORT_H
#define CEEMS_CMD_REPORT_H

#include "src/cmd/jobs/jobs_choice.h"
#include "src/cmd/jobs/jobs_group.h"
#include "src/cmd/report/period.h"
#include "src/libsink/sink.h"

enum report_form { REPORT_TEXT, REPORT_JSON, REPORT_CSV, REPORT_HTML };

struct report_options {
	const struct cmd_info *self; /* for errors of usage */
	struct jobs_choice choice;
	const char *trace_dir; /* --dir: where traces and profiles for a job's page are */
	enum jobs_group_by by;
	struct period period;
	bool has_period;
	enum report_form form;
	const char *out;		 /* file to write; NULL: stdout */
	const char *site;		 /* --site: folder for pages of a web server; NULL: not given */
	const struct sink_ops *database; /* where jobs are read; NULL: from slurmdbd */
	const char *database_name;
	const char *database_file; /* replaces the file in ceems.conf; NULL: not given */
	const char *mail_to;	   /* address of a mail; NULL: no mail */
	bool rank;		   /* --rank: show the user's place among all users */
	uint64_t now;
};

/* Each writes one form of report. Returns CMD_OK, or another exit code after printing the reason. */
int report_period(const struct report_options *o);
int report_mail(const struct report_options *o);
int report_job(const struct report_options *o, const char *ids);
int report_site(const struct report_options *o);

/* Writes whose jobs these are: "all users", "user ann", "account physics". */
#define REPORT_WHOSE_MAX 512
void report_whose(const struct report_options *o, char *buf, size_t size);
/* Returns the end of period P, or now if P is not over. */
uint64_t report_end(const struct report_options *o, const struct period *p);

/* report_output.c: opens o->out, or returns stdout. NULL: it failed, and the reason was printed. */
FILE *report_open(const struct report_options *o);
int report_close(const struct report_options *o, FILE *out, int rc);

#endif
