/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job in the recorder, from its end to the final record, with a fake slurmdbd and slurmctld.
 */
#include "ceems_config.h"

#include "recorder/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/librecord/record.h"
#include "src/libstore/store_view.h"
#include "src/libutil/clock.h"

#include "counted_log.h"
#include "tap.h"

/* --- what the recorder asks ------------------------------------------------------------------------ */

struct slurmdb_client {
	struct {
		struct slurmdb_want want;
		uint64_t tag;
	} asked[RECORDER_ASKED_MAX + 1];
	size_t nasked;
	uint64_t window_from, window_to, window_tag;
	struct slurmdb_answer answer[3 * RECORDER_ASKED_MAX];
	size_t nanswers, ntaken;
};

static struct slurmdb_client dbd, ctld;
static struct marker {
	int unused;
} marker;
static char others_key[RECORD_KEY_MAX]; /* of the job that the other controller's recorder has */

int slurmdb_client_ask(struct slurmdb_client *c, const struct slurmdb_want *want, uint64_t tag)
{
	if (c->nasked == ARRAY_SIZE(c->asked))
		return -ENOMEM;
	c->asked[c->nasked].want = *want;
	c->asked[c->nasked++].tag = tag;
	return 0;
}

int slurmdb_client_ask_window(struct slurmdb_client *c, uint64_t from, uint64_t to, uint64_t tag)
{
	c->window_from = from;
	c->window_to = to;
	c->window_tag = tag;
	return 0;
}

int slurmdb_client_take(struct slurmdb_client *c, uint64_t now_mono_ns, struct slurmdb_answer *ret)
{
	(void)now_mono_ns;
	if (c->ntaken == c->nanswers) {
		c->ntaken = c->nanswers = 0;
		return 0;
	}
	*ret = c->answer[c->ntaken++];
	return 1;
}

void slurmdb_client_destroy(struct slurmdb_client *c)
{
	(void)c;
}

void slurmdb_client_get_stats(const struct slurmdb_client *c, struct slurmdb_client_stats *ret)
{
	*ret = c == &ctld ? (struct slurmdb_client_stats){ 0 } :
			    (struct slurmdb_client_stats){
				    .questions = 7, .failures = 2, .ns = 1500000000, .is_up = true
			    };
}

/* --- sinks, as they are -------------------------------------------------------------------------- */

const struct sink_ops *sink_find(const char *name)
{
	static const struct sink_ops ops = { .name = "mariadb", .kinds = STORE_MASK(STORE_RECORD) };

	return !strcmp(name, ops.name) ? &ops : NULL;
}

bool deliveries_get_stats(struct deliveries *all, const char *name, struct deliver_stats *ret)
{
	(void)all;
	if (strcmp(name, "mariadb") != 0)
		return false;
	*ret = (struct deliver_stats){ .acked = 5, .refused = 1, .retries = 3, .acked_wall_s = 1799999999 };
	return true;
}

/* --- the store, which counts transactions and may refuse them --------------------------------------- */

int __real_store_begin(struct store *s, struct errmsg *err);
int __real_store_begin_read(struct store *s, struct errmsg *err);
int __real_store_commit(struct store *s, struct errmsg *err);
void __real_store_rollback(struct store *s);
int __wrap_store_begin(struct store *s, struct errmsg *err);
int __wrap_store_begin_read(struct store *s, struct errmsg *err);
int __wrap_store_commit(struct store *s, struct errmsg *err);
void __wrap_store_rollback(struct store *s);

static bool begin_fails, has_ended_none;
static unsigned int nopen;

int __wrap_store_begin(struct store *s, struct errmsg *err)
{
	int rc = begin_fails ? errmsg_set(err, -EBUSY, "another program has the lock") :
			       __real_store_begin(s, err);

	nopen += rc == 0;
	return rc;
}

int __wrap_store_begin_read(struct store *s, struct errmsg *err)
{
	int rc = __real_store_begin_read(s, err);

	nopen += rc == 0;
	return rc;
}

int __wrap_store_commit(struct store *s, struct errmsg *err)
{
	nopen--;
	return __real_store_commit(s, err);
}

void __wrap_store_rollback(struct store *s)
{
	if (!nopen) {
		has_ended_none = true;
		return;
	}
	nopen--;
	__real_store_rollback(s);
}

/* --- the other controller -------------------------------------------------------------------------- */

void marker_ask(struct marker *m, uint64_t after)
{
	(void)m;
	(void)after;
}

void marker_ask_end(struct marker *m)
{
	(void)m;
}

bool marker_others_have(struct marker *m, const char *key, uint64_t end, uint64_t now_s)
{
	(void)m;
	(void)end;
	(void)now_s;
	return !strcmp(key, others_key);
}

uint64_t marker_others_since(struct marker *m)
{
	(void)m;
	return 0;
}

void marker_set(struct marker *m, const char *dir, const struct marker_state *state, uint64_t now_s)
{
	(void)m;
	(void)dir;
	(void)state;
	(void)now_s;
}

/* --- the rig --------------------------------------------------------------------------------------- */

static struct recorder r;
static char base[] = "/tmp/ceems-recorder-XXXXXX";
static uint64_t wall = 1800000000;
static uint64_t mono;
static struct inbox_writer *inbox;
static struct job_facts facts;

static uint64_t wall_s(void)
{
	return wall;
}

static void begin(void)
{
	static const struct cluster_facts site = { .cluster = "c",
						   .state_dir = "/state",
						   .flags = SITE_HAS_SLURMDBD };
	struct store_options o = { .dir = r.settings.store_dir, .max_bytes = 1 << 20, .now = wall_s };
	struct errmsg err = { 0 };

	if (settings_load("/nonexistent/ceems.conf", &r.settings, &err) != -ENOENT)
		diag("%s", err.text);
	(void)snprintf(r.settings.inbox_dir, sizeof(r.settings.inbox_dir), "%s/inbox", base);
	(void)snprintf(r.settings.store_dir, sizeof(r.settings.store_dir), "%s/store", base);
	r.wall_s = wall_s;
	r.started_s = wall;
	r.reconcile.due_ns = UINT64_MAX;
	mono = clock_mono_ns();
	ok(store_open(&o, &r.store, &err) == 0, "the store: %s", err.text);
	ok(store_set_sinks(r.store, "file", &err) == 0, "a sink");
	ok(inbox_writer_open(r.settings.inbox_dir, &site, &inbox, &err) == 0, "the inbox: %s", err.text);
	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	(void)inbox_flush(inbox, &err);
	r.client = &dbd;
	r.ctld = &ctld;
}

static void run(uint64_t seconds)
{
	wall += seconds;
	mono += seconds * NSEC_PER_SEC;
	while (recorder_inbox_take(&r, mono))
		;
	r.jobs_due_ns = 0;
	while (recorder_jobs_run(&r, mono))
		;
	recorder_reconcile_run(&r, mono);
}

static void tell(enum inbox_kind kind, uint32_t job_id, uint64_t end)
{
	struct errmsg err = { 0 };
	struct job_key key = { .job_id = job_id,
			       .array_job_id = FACT_UNKNOWN,
			       .array_task_id = FACT_UNKNOWN,
			       .het_job_id = FACT_UNKNOWN,
			       .het_job_offset = FACT_UNKNOWN,
			       .submit = 1700000000,
			       .start = 1700000001,
			       .end = end };

	job_facts_from_key(&key, &facts);
	if (kind == INBOX_KEY) {
		(void)inbox_append(inbox, kind, &key, sizeof(key));
	} else {
		job_facts_add_text(&facts, FACT_STATE, "COMPLETED");
		/* the texts come in order: only this one is there */
		facts.nsteps = 1;
		facts.flags = FACT_HAS_NSTEPS | FACT_HAS_BATCH;
		(void)inbox_append(inbox, kind, &facts, job_facts_size(&facts));
	}
	ok(inbox_flush(inbox, &err) == 0, "job %u ends", job_id);
	run(0);
}

/* The tag of the one question that waits for an answer. */
static uint64_t question(struct slurmdb_client *c)
{
	uint64_t tag = c->nasked ? c->asked[0].tag : 0;

	c->nasked = 0;
	return tag;
}

static struct record *row(uint32_t job_id, uint64_t end, bool steps)
{
	struct record *record = record_create();

	record->cluster = strdup("c");
	record->job_id = job_id;
	record->submit = 1700000000;
	record->start = 1700000001;
	record->end = end;
	record->state = strdup("COMPLETED");
	record->account = strdup("project");
	record->energy.row_j = (struct maybe_u64){ 42, true };
	record->steps_known = steps;
	if (steps) {
		record->steps = calloc(1, sizeof(*record->steps));
		values_init(&record->steps->values);
		record->nsteps = 1;
	}
	return record;
}

static void answer(struct slurmdb_client *c, uint64_t tag, enum slurmdb_answer_kind kind,
		   enum slurmdb_state state, struct record *record)
{
	c->answer[c->nanswers++] = (struct slurmdb_answer){
		.kind = kind,
		.tag = tag,
		.job = { .state = state,
			 .missing = state == SLURMDB_OPEN ? SIGN_END : SIGN_NONE,
			 .record = record },
	};
	if (kind == SLURMDB_NO_ANSWER)
		(void)snprintf(c->answer[c->nanswers - 1].reason, sizeof(c->answer[0].reason), "away");
}

/* The last record of a job, and how many there are; NULL: none. The caller's to destroy. */
struct found {
	uint32_t job_id;
	unsigned int n;
	enum store_kind kind;
	struct record *record;
};

static int find_record(void *ctx, const struct store_row *stored)
{
	struct found *f = ctx;
	struct record *record = NULL;

	if (stored->kind != STORE_RECORD ||
	    record_from_json(stored->json, stored->json_len, &record, NULL) < 0)
		return 0;
	if (record->job_id != f->job_id) {
		record_destroy(record);
		return 0;
	}
	record_destroy(f->record);
	f->record = record;
	f->n++;
	return 0;
}

static unsigned int records(uint32_t job_id, struct record **ret)
{
	struct found f = { .job_id = job_id };
	struct store_pick pick = { .max_rows = SIZE_MAX, .max_bytes = SIZE_MAX };
	struct store_view *view = NULL;

	if (store_view_open(r.settings.store_dir, false, &view, NULL) == 0)
		(void)store_view_records(view, &pick, find_record, &f, NULL);
	store_view_close(view);
	*ret = f.record;
	return f.n;
}

static void has_record(uint32_t job_id, unsigned int n, bool final, bool steps, const char *what)
{
	struct record *record;
	unsigned int found = records(job_id, &record);

	ok(found == n && (!n || (record->energy.final == final && record->steps_known == steps)),
	   "%s: %u records, the last %sfinal, %s steps", what, found,
	   record && record->energy.final ? "" : "not ", record && record->steps_known ? "with" : "without");
	record_destroy(record);
}

/* --- tests ----------------------------------------------------------------------------------------- */

static void test_final(void)
{
	uint64_t tag;

	tell(INBOX_END, 1, wall);
	run(2);
	is_u64(dbd.nasked, 1, "slurmdbd is asked");
	is_u64(dbd.asked[0].want.job_id, 1, "for the job");
	ok(dbd.asked[0].want.known.has_batch && dbd.asked[0].want.known.nsteps == 1,
	   "with what the hook knows");
	tag = question(&dbd);
	run(5);
	is_u64(dbd.nasked, 0, "once at a time");
	answer(&dbd, tag, SLURMDB_JOB, SLURMDB_FINAL, row(1, wall, true));
	run(0);
	has_record(1, 1, true, true, "a final answer");
	run(600);
	is_u64(dbd.nasked, 0, "it is not asked for again");
	tell(INBOX_END, 1, wall - 607);
	run(5);
	is_u64(dbd.nasked, 0, "nor when its end is told again");
	tell(INBOX_END, 1, wall);
	run(5);
	is_u64(dbd.nasked, 1, "but for another end");
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(1, wall - 5, true));
	run(0);
	has_record(1, 2, true, true, "which has a record, too");
}

static void test_late(void)
{
	uint64_t end = wall;
	unsigned int tries = 0;
	unsigned int i;

	tell(INBOX_END, 2, end);
	for (i = 0; i < 59; i++) {
		run(1);
		if (!dbd.nasked)
			continue;
		tries++;
		answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_OPEN, row(2, 0, true));
		run(0);
	}
	has_record(2, 0, false, false, "an open job");
	ok(tries > 5 && tries < 40, "is asked for at growing intervals: %u times in a minute", tries);
	for (i = 0; i < 20; i++) {
		run(2);
		if (dbd.nasked)
			answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_OPEN, row(2, 0, true));
		run(0);
	}
	has_record(2, 1, false, true, "after FinalEnergyWait");
	run(300);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(2, end, true));
	run(0);
	has_record(2, 2, true, true, "the correction");
	run(600);
	is_u64(dbd.nasked, 0, "is final: slurmdbd is not asked again");
}

/* A part of a resized job, with a step that runs for hours in the parts after it. */
static void test_resized(void)
{
	uint64_t end = wall;
	int hours;

	tell(INBOX_END, 29, end);
	for (hours = 0; hours < 3; hours++) {
		struct record *open = row(29, end, true);

		run(hours ? 3600 : 100);
		free(open->state);
		open->state = strdup("RESIZING");
		answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_OPEN, open);
		dbd.answer[dbd.nanswers - 1].job.missing = SIGN_STEP_USAGE;
		run(0);
	}
	has_record(29, 1, false, true, "a part of a resized job whose step runs on");
	run(3600);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(29, end, true));
	run(0);
	has_record(29, 2, true, true, "is corrected hours later, when the step has ended");
}

static void test_resized_later(void)
{
	struct job_key key = {
		.job_id = 17, .array_job_id = FACT_UNKNOWN, .het_job_id = FACT_UNKNOWN, .start = 1
	};
	struct slurmdb_want want;

	r.site.flags |= SITE_HAS_EXTERN;
	job_facts_from_key(&key, &facts);
	facts.flags = FACT_HAS_BATCH | FACT_HAS_NSTEPS;
	recorder_want(&r, &facts, &want);
	ok(want.known.has_batch && want.known.has_nsteps && want.known.has_extern, "a job has steps");
	facts.flags |= FACT_NO_STEPS;
	recorder_want(&r, &facts, &want);
	ok(!want.known.has_batch && !want.known.has_nsteps && !want.known.has_extern,
	   "a part whose steps are in the first part's row has none");
	r.site.flags &= ~SITE_HAS_EXTERN;
}

static void test_het(void)
{
	struct job_key key = {
		.job_id = 19, .array_job_id = FACT_UNKNOWN, .het_job_id = 18, .het_job_offset = 1
	};
	struct slurmdb_want want;

	job_facts_from_key(&key, &facts);
	recorder_want(&r, &facts, &want);
	ok(want.job_id == 19 && !want.het_job_id, "a component of a het job is asked for by its own id");
}

static void test_given_up(void)
{
	tell(INBOX_END, 3, wall);
	run(100);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_ABSENT, NULL);
	run(0);
	has_record(3, 1, false, false, "a job that slurmdbd does not have");
	run(8 * 86400);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_ABSENT, NULL);
	run(0);
	run(600);
	is_u64(dbd.nasked, 0, "after CorrectionWait it is given up");
	has_record(3, 1, false, false, "and stays as it was");
}

static void test_alone(void)
{
	tell(INBOX_END, 4, wall);
	tell(INBOX_END, 5, wall);
	run(2);
	is_u64(dbd.nasked, 2, "two jobs");
	answer(&dbd, dbd.asked[0].tag, SLURMDB_JOB_ALONE, SLURMDB_FINAL, row(4, wall, false));
	answer(&dbd, dbd.asked[1].tag, SLURMDB_JOB, SLURMDB_FINAL, row(5, wall, true));
	(void)question(&dbd);
	run(0);
	has_record(4, 1, false, false, "one whose steps slurmdbd does not tell");
	has_record(5, 1, true, true, "does not delay another's");
	run(600);
	is_u64(dbd.nasked, 0, "it is not asked for again soon");
	run(1300);
	is_u64(dbd.nasked, 1, "but later");
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(4, wall - 1902, true));
	run(0);
	has_record(4, 2, true, true, "and corrected");
}

static unsigned int nlines; /* logged about nodes without the site's factor */
static char default_line[512];

static void keep_default_lines(enum logger_level level, const char *line)
{
	if (level != LOGGER_ERROR || !strstr(line, "world mean"))
		return;
	nlines++;
	(void)snprintf(default_line, sizeof(default_line), "%s", line);
}

/* A job of 3.6 kJ on NODE, which charged it with the world mean. */
static void end_by_default(uint32_t job_id, const char *node)
{
	struct record *record = row(job_id, wall, true);
	struct values *f = &record->steps[0].values;

	record->energy.row_j.value = 3600;
	record->nodes = strdup(node);
	record->total_nodes = 1;
	record->steps[0].nodes = strdup(node);
	record->steps[0].nnodes = 1;
	values_set(f, METRIC_ENERGY, 3600 * UINT64_C(1000000));
	values_set(f, METRIC_DEFAULT_FACTOR, 3600 * UINT64_C(1000000));
	values_set(f, METRIC_CO2E, 475000000);
	tell(INBOX_END, job_id, wall);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, record);
	run(0);
}

static void test_default_factor(void)
{
	struct recorder_factors before = r.factors;
	struct record *got = NULL;
	struct errmsg err = { 0 };
	char name[16];
	int i;

	r.factors.has_chain = true;
	r.factors.chain.fixed = (struct emission_factor){ .mg_per_kwh = 44000,
							  .kind = EMISSION_STATIC,
							  .region = "FR" };
	logger_set_sink(keep_default_lines);
	end_by_default(201, "n1");
	is_u64(records(201, &got), 1, "a job whose node has no ceems.conf has a record");
	if (got)
		ok(got->values.value[METRIC_CO2E] == 44000000 && got->emissions.method == CO2E_MEAN_POWER,
		   "with this host's factor: %" PRIu64 " ng", got->values.value[METRIC_CO2E]);
	record_destroy(got);
	ok(nlines == 1 && strstr(default_line, "n1: ") && strstr(default_line, "FR"), "the node is named: %s",
	   default_line);
	end_by_default(202, "n1");
	is_u64(nlines, 1, "once a day");
	end_by_default(203, "n2");
	is_u64(nlines, 2, "and node");
	run(86400);
	end_by_default(204, "n1");
	is_u64(nlines, 3, "the next day again");
	is_u64(r.defaults.records, 4, "the metric counts the records");
	r.defaults.n = 0;
	ok(store_begin_read(r.store, &err) == 0 && recorder_defaults_load(&r, &err) == 0,
	   "read from the store");
	store_rollback(r.store);
	ok(r.defaults.n == 2 && !strcmp(r.defaults.node[0].nodes, "n1") &&
		   r.defaults.node[0].seen_s == wall && !strcmp(r.defaults.node[1].nodes, "n2"),
	   "the nodes are there, and when");
	for (i = 0; i < 2 * RECORDER_DEFAULT_NODES; i++) {
		wall++;
		(void)snprintf(name, sizeof(name), "m%d", i);
		ok(store_begin(r.store, &err) == 0 && recorder_defaults_saw(&r, name, &err) == 0 &&
			   store_commit(r.store, &err) == 0,
		   "%s", name);
	}
	is_u64(r.defaults.n, RECORDER_DEFAULT_NODES, "the list is bounded; the oldest make room");
	logger_set_sink(NULL);
	r.factors = before;
}

/* The usual pause before the next try is longer than CorrectionWait. */
static void test_alone_at_the_end(void)
{
	uint64_t correction_wait_ns = r.settings.correction_wait_ns;
	uint64_t end = wall;

	r.settings.correction_wait_ns = 180 * NSEC_PER_SEC;
	tell(INBOX_END, 15, end);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB_ALONE, SLURMDB_FINAL, row(15, end, false));
	run(0);
	has_record(15, 1, false, false, "a job whose steps slurmdbd does not tell");
	run(170);
	is_u64(dbd.nasked, 0, "is left alone");
	run(10);
	is_u64(dbd.nasked, 1, "until CorrectionWait ends");
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(15, end, true));
	run(0);
	has_record(15, 2, true, true, "and corrected");
	r.settings.correction_wait_ns = correction_wait_ns;
}

/* slurmdbd is down when CorrectionWait ends. */
static void test_away_at_the_end(void)
{
	uint64_t correction_wait_ns = r.settings.correction_wait_ns;
	uint64_t end = wall;

	r.settings.correction_wait_ns = 180 * NSEC_PER_SEC;
	tell(INBOX_END, 26, end);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB_ALONE, SLURMDB_OPEN, row(26, end, false));
	run(0);
	has_record(26, 1, false, false, "a job whose steps slurmdbd does not tell");
	run(180);
	answer(&dbd, question(&dbd), SLURMDB_NO_ANSWER, SLURMDB_ABSENT, NULL);
	run(0);
	run(25);
	is_u64(dbd.nasked, 1, "slurmdbd is down when CorrectionWait ends: the job is asked for again");
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(26, end, true));
	run(0);
	has_record(26, 2, true, true, "and corrected");

	tell(INBOX_END, 27, wall);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB_ALONE, SLURMDB_OPEN, row(27, wall - 2, false));
	run(0);
	run(360);
	answer(&dbd, question(&dbd), SLURMDB_NO_ANSWER, SLURMDB_ABSENT, NULL);
	run(0);
	run(600);
	is_u64(dbd.nasked, 0, "after twice CorrectionWait a job is given up, though slurmdbd is down");
	has_record(27, 1, false, false, "and its record stays as it was");
	r.settings.correction_wait_ns = correction_wait_ns;
}

static void test_slurmdbd_away(void)
{
	struct record *record;
	uint64_t end = wall;

	tell(INBOX_END, 6, end);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_NO_ANSWER, SLURMDB_ABSENT, NULL);
	run(0);
	has_record(6, 0, false, false, "slurmdbd does not answer");
	run(100);
	answer(&dbd, question(&dbd), SLURMDB_NO_ANSWER, SLURMDB_ABSENT, NULL);
	run(0);
	is_u64(ctld.nasked, 1, "after FinalEnergyWait slurmctld is asked");
	answer(&ctld, question(&ctld), SLURMDB_JOB, SLURMDB_FINAL, row(6, end, false));
	run(0);
	has_record(6, 1, false, false, "which knows the energy");
	is_u64(records(6, &record), 1, "the record is not final, as the steps are missing");
	is_u64(record ? record->energy.total_j.value : 0, 42, "and has the energy");
	record_destroy(record);
	run(300);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(6, end, true));
	run(0);
	has_record(6, 2, true, true, "the steps come with slurmdbd");
}

/* A site without slurmdbd: slurmctld knows all that there will ever be. */
static void test_no_slurmdbd(void)
{
	r.client = &ctld;
	r.ctld = NULL;
	tell(INBOX_END, 16, wall);
	run(2);
	answer(&ctld, question(&ctld), SLURMDB_JOB, SLURMDB_FINAL, row(16, wall, false));
	run(0);
	has_record(16, 1, true, false, "without slurmdbd slurmctld's answer");
	run(600);
	is_u64(ctld.nasked, 0, "is final: slurmctld is not asked again");
	r.client = &dbd;
	r.ctld = &ctld;
}

/* A slurmctld that was killed had started a task; the next one cancels the array. */
static void test_task_of_array(void)
{
	struct errmsg err = { 0 };
	struct record *task = row(30, wall, false);
	struct job_key key = { .job_id = 30,
			       .array_job_id = 30,
			       .array_task_id = FACT_UNKNOWN,
			       .het_job_id = FACT_UNKNOWN,
			       .het_job_offset = FACT_UNKNOWN,
			       .submit = 1700000000,
			       .end = wall };

	(void)inbox_append(inbox, INBOX_KEY, &key, sizeof(key));
	(void)inbox_flush(inbox, &err);
	run(0);
	run(2);
	is_u64(dbd.asked[0].want.array_task_id, SLURMDB_NO_TASK, "an array as a whole is asked for");
	task->array_job_id = (struct maybe_u64){ 30, true };
	task->array_task_id = (struct maybe_u64){ 4, true };
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, task);
	run(0);
	is_u64(dbd.nasked, 1, "slurmdbd has a task under its id: that one is asked for");
	is_u64(dbd.asked[0].want.array_task_id, 4, "by its number");
	has_record(30, 0, false, false, "until then");
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(30, key.end, true));
	run(0);
	has_record(30, 1, true, true, "the record");
}

/* slurmdbd was told the end of an array's first task and not its start: its row does not name the array. */
static void test_task_without_start(void)
{
	struct errmsg err = { 0 };
	struct job_key key = { .job_id = 31,
			       .array_job_id = 31,
			       .array_task_id = 3,
			       .het_job_id = FACT_UNKNOWN,
			       .het_job_offset = FACT_UNKNOWN,
			       .submit = 1700000000,
			       .start = 1700000001,
			       .end = wall };

	(void)inbox_append(inbox, INBOX_KEY, &key, sizeof(key));
	(void)inbox_flush(inbox, &err);
	run(0);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_ABSENT, NULL);
	run(0);
	is_u64(dbd.nasked, 0, "a task without a row is waited for");
	run(100);
	is_u64(dbd.asked[0].want.array_task_id, 3, "it is asked for by its number");
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_ABSENT, NULL);
	run(0);
	ok(dbd.nasked == 1 && !dbd.asked[0].want.array_job_id && dbd.asked[0].want.job_id == 31,
	   "and after FinalEnergyWait by its id");
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(31, key.end, true));
	run(0);
	has_record(31, 1, true, true, "which finds it");
}

static void test_key_only(void)
{
	struct record *record;

	tell(INBOX_KEY, 7, wall);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(7, wall, true));
	run(0);
	is_u64(records(7, &record), 1, "an end with the key alone has a record");
	is_str(record ? record->account : NULL, "project", "filled from slurmdbd");
	is_str(record ? record->state : NULL, "COMPLETED", "with its state");
	record_destroy(record);
}

static void test_other_run(void)
{
	struct record *other = row(8, wall + 50, true);

	other->start += 20;
	tell(INBOX_END, 8, wall);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, other);
	run(0);
	has_record(8, 1, false, false, "slurmdbd has a later run under this key");
	run(600);
	is_u64(dbd.nasked, 0, "nothing follows");
}

/* With CommitDelay, slurmdbd shows an earlier run's row until it commits. */
static void test_earlier_run(void)
{
	struct record *earlier;

	tell(INBOX_END, 13, wall);
	earlier = row(13, 1700000000, true);
	earlier->start = 1700000000;
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, earlier);
	run(0);
	is_u64(records(13, &earlier), 0, "of an earlier run's row there is no record");
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(13, wall, true));
	run(0);
	has_record(13, 1, true, true, "it waits for this run's");
}

static void test_reconcile(void)
{
	struct errmsg err = { 0 };
	struct record *others = row(12, wall, false);
	struct record *part = row(10, wall, false);
	uint64_t known_end = r.known_end;
	uint64_t tag;

	free(part->state);
	part->state = strdup("RESIZING");

	r.marker = &marker;
	require(record_key(others, others_key, sizeof(others_key)) == 0);
	dbd.window_tag = 0;
	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	(void)inbox_flush(inbox, &err);
	run(1);
	memset(&r.reconcile, 0, sizeof(r.reconcile));
	r.reconcile.due_ns = UINT64_MAX;
	is_int(recorder_inbox_load(&r, &err), 0, "the recorder is killed and starts again");
	run(11);
	ok(dbd.window_tag, "after a start of slurmctld slurmdbd is asked who ended");
	ok(dbd.window_from && dbd.window_from <= known_end, "since the last end that is known");
	tag = dbd.window_tag;
	answer(&dbd, tag, SLURMDB_WINDOW_JOB, SLURMDB_OPEN, row(7, known_end, false));
	answer(&dbd, tag, SLURMDB_WINDOW_JOB, SLURMDB_OPEN, row(9, wall, false));
	answer(&dbd, tag, SLURMDB_WINDOW_JOB, SLURMDB_OPEN, others);
	answer(&dbd, tag, SLURMDB_WINDOW_JOB, SLURMDB_OPEN, part);
	answer(&dbd, tag, SLURMDB_WINDOW_END, SLURMDB_ABSENT, NULL);
	run(0);
	is_u64(ctld.nasked, 1,
	       "slurmctld is asked for the job that neither this recorder nor the other one knows");
	is_u64(ctld.asked[0].want.job_id, 9, "by its id");
	answer(&ctld, question(&ctld), SLURMDB_JOB, SLURMDB_ABSENT, NULL);
	run(0);
	is_u64(dbd.nasked, 1, "slurmctld has forgotten it: slurmdbd is asked");
	is_u64(dbd.asked[0].want.job_id, 9, "for the same one");
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(9, wall, false));
	run(0);
	run(2);
	is_u64(dbd.nasked, 1, "then it is asked for like any job");
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(9, wall - 2, true));
	run(0);
	has_record(9, 1, true, true, "and has its record");
}

/* slurmdbd lists a job in the window; then the question about that job fails. */
static void test_reconcile_without_answer(void)
{
	struct errmsg err = { 0 };
	uint64_t tag;

	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	(void)inbox_flush(inbox, &err);
	run(1);
	for (tag = 0; r.reconcile.step < 2; run(300)) /* the first two windows */
		if (dbd.window_tag > tag) {
			tag = dbd.window_tag;
			answer(&dbd, tag, SLURMDB_WINDOW_END, SLURMDB_ABSENT, NULL);
		}
	run(300);
	tag = dbd.window_tag;
	answer(&dbd, tag, SLURMDB_WINDOW_JOB, SLURMDB_OPEN, row(14, wall, false));
	answer(&dbd, tag, SLURMDB_WINDOW_END, SLURMDB_ABSENT, NULL);
	run(0);
	answer(&ctld, question(&ctld), SLURMDB_NO_ANSWER, SLURMDB_ABSENT, NULL);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_NO_ANSWER, SLURMDB_ABSENT, NULL);
	run(2);
	run(20);
	run(20);
	ok(dbd.window_tag > tag, "without an answer on a job the last window is asked for again");
	tag = dbd.window_tag;
	answer(&dbd, tag, SLURMDB_WINDOW_END, SLURMDB_ABSENT, NULL);
	run(1);
	run(600);
	run(600);
	is_u64(dbd.window_tag, tag, "and then no more");
	is_u64(r.reconcile.due_ns, UINT64_MAX, "the search is over");
}

static void reclaim(void)
{
	r.reclaim_due_ns = 0;
	recorder_upkeep_run(&r, mono);
}

static bool store_has(uint32_t job_id)
{
	struct errmsg err = { 0 };
	struct record *record = row(job_id, 0, false);
	char key[RECORD_KEY_MAX];
	struct store_job job;
	bool has;

	require(record_key(record, key, sizeof(key)) == 0);
	(void)store_begin_read(r.store, &err);
	has = store_job_get(r.store, key, &job, &err) > 0;
	store_rollback(r.store);
	record_destroy(record);
	return has;
}

/* Answers all windows of the search with JOB, which is in the store. */
static void search(uint32_t job_id, uint64_t end)
{
	unsigned int i;

	for (i = 0, run(11); i < 50 && r.reconcile.due_ns != UINT64_MAX; i++, run(60)) {
		uint64_t tag = r.reconcile.tag;

		if (!tag)
			continue;
		if (end >= dbd.window_from && end <= dbd.window_to)
			answer(&dbd, tag, SLURMDB_WINDOW_JOB, SLURMDB_OPEN, row(job_id, end, false));
		answer(&dbd, tag, SLURMDB_WINDOW_END, SLURMDB_ABSENT, NULL);
		run(0);
		reclaim();
	}
}

/* The recorder is down for hours, while slurmctld restarts and then a job ends. */
static void test_reconcile_recorded(void)
{
	struct errmsg err = { 0 };
	uint64_t end = wall + 300;

	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	wall = end;
	mono += 300 * NSEC_PER_SEC;
	tell(INBOX_END, 40, end);
	run(7200);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(40, end, true));
	run(0);
	has_record(40, 1, true, true, "a job of hours ago");
	reclaim();
	search(40, end);
	is_u64(ctld.nasked, 0, "is in the store when the search for lost ends comes to it");
	has_record(40, 1, true, true, "so that there is no second record");
	reclaim();
	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	(void)inbox_flush(inbox, &err);
	run(7200);
	search(40, end);
	is_u64(ctld.nasked, 0, "nor after the next start of slurmctld, if no job has ended since");
	tell(INBOX_END, 41, wall);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(41, wall - 2, true));
	run(0);
	reclaim();
	ok(!store_has(40), "once a later job has ended, it is no longer kept");
	run(7200);
	reclaim();
	ok(store_has(41), "but the last job is");
}

/* The ends that the search would miss are still in the inbox. */
static void test_reconcile_behind(void)
{
	struct errmsg err = { 0 };
	uint64_t tag = dbd.window_tag;
	unsigned int i;

	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	for (i = 0; i < 400; i++)
		(void)inbox_append(inbox, INBOX_START, &facts, job_facts_size(&facts));
	(void)inbox_flush(inbox, &err);
	ok(recorder_inbox_take(&r, mono), "slurmctld starts, and there is more in the inbox");
	mono += 11 * NSEC_PER_SEC;
	recorder_reconcile_run(&r, mono);
	is_u64(dbd.window_tag, tag, "the search waits");
	ok(r.reconcile.due_ns > mono, "  and does not keep the recorder busy");
	run(1);
	ok(dbd.window_tag > tag, "until the inbox was read to its end");
	search(0, 0);
}

/* slurmdbd lists jobs that neither it nor slurmctld finds by their ids. */
static bool was_asked[3 * RECORDER_ASKED_MAX / 2];

static void answer_absent(struct slurmdb_client *c)
{
	size_t i;

	for (i = 0; i < c->nasked; i++) {
		was_asked[(c->asked[i].want.job_id - 1000) % ARRAY_SIZE(was_asked)] = true;
		answer(c, c->asked[i].tag, SLURMDB_JOB, SLURMDB_ABSENT, NULL);
	}
	c->nasked = 0;
}

/* Has the search find as many jobs as WAS_ASKED holds, which ended EACH_S seconds after each other. */
static void find_many(uint64_t each_s)
{
	struct errmsg err = { 0 };
	uint64_t end = wall - 600;
	unsigned int i, round;

	memset(was_asked, 0, sizeof(was_asked));
	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	(void)inbox_flush(inbox, &err);
	for (round = 0, run(11); round < 2000 && r.reconcile.due_ns != UINT64_MAX; round++, run(11)) {
		uint64_t tag = r.reconcile.tag;

		for (i = 0; i < ARRAY_SIZE(was_asked) && tag; i++)
			if (end - i * each_s >= dbd.window_from && end - i * each_s <= dbd.window_to)
				answer(&dbd, tag, SLURMDB_WINDOW_JOB, SLURMDB_OPEN,
				       row(1000 + i, end - i * each_s, false));
		if (tag)
			answer(&dbd, tag, SLURMDB_WINDOW_END, SLURMDB_ABSENT, NULL);
		run(0);
		answer_absent(&ctld);
		run(0);
		answer_absent(&dbd);
	}
	ok(r.reconcile.due_ns == UINT64_MAX, "the search ends, after %u rounds", round);
}

static void test_reconcile_many(void)
{
	uint64_t end = wall;
	size_t i, n = 0;

	r.known_end = wall - 3600;
	run(600);
	find_many(2);
	for (i = 0; i < ARRAY_SIZE(was_asked); i++)
		n += was_asked[i];
	is_u64(n, ARRAY_SIZE(was_asked),
	       "more jobs in an hour than can be asked for at a time: all are asked for");
	r.known_end = end;
	run(600);
	find_many(0);
	tell(INBOX_END, 43, wall);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(43, wall - 2, true));
	run(0);
}

static void test_starts(void)
{
	struct record *none;

	tell(INBOX_START, 10, 0);
	run(2);
	is_u64(records(10, &none), 0, "a start makes no record");
	is_u64(dbd.nasked, 0, "and nothing to ask for");
}

/* A rollback without a transaction would release the lock that another thread holds. */
static void test_no_transaction(void)
{
	tell(INBOX_END, 44, wall);
	run(2);
	begin_fails = true;
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(44, wall - 2, true));
	run(0);
	ok(!has_ended_none, "the store begins no transaction for an answer: none is ended");
	tell(INBOX_END, 45, wall);
	ok(!has_ended_none, "nor for a job end");
	begin_fails = false;
	run(2);
	run(2);
	is_u64(dbd.nasked, 2, "both jobs are asked for, once it does");
	answer(&dbd, dbd.asked[0].tag, SLURMDB_JOB, SLURMDB_FINAL, row(dbd.asked[0].want.job_id, wall, true));
	answer(&dbd, dbd.asked[1].tag, SLURMDB_JOB, SLURMDB_FINAL, row(dbd.asked[1].want.job_id, wall, true));
	(void)question(&dbd);
	run(0);
	has_record(44, 1, true, true, "the first has its record");
	has_record(45, 1, true, true, "the second, too");
}

static void fill_store(void)
{
	struct errmsg err = { 0 };
	char json[4096];
	unsigned int n;

	memset(json, 'x', sizeof(json));
	do {
		(void)store_begin(r.store, &err);
		for (n = 0; n < 16; n++)
			if (store_record_append(r.store, STORE_RECORD, "k", json, sizeof(json), 1, NULL,
						&err) < 0)
				break;
	} while (n == 16 && store_commit(r.store, &err) == 0);
	if (n < 16)
		store_rollback(r.store);
}

static void empty_store(void)
{
	struct errmsg err = { 0 };

	(void)store_sink_settle(r.store, "file", 1000000, NULL, 0, &err);
	while (store_reclaim(r.store, 0, &err) > 0)
		;
}

/* What the store has no room for stays in the inbox. */
static void test_full(void)
{
	uint64_t known_end = r.known_end;

	fill_store();
	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	tell(INBOX_END, 11, wall);
	run(2);
	is_u64(dbd.nasked, 0, "a full store takes no end");
	is_u64(r.known_end, known_end, "and does not count as known what is only in the inbox");
	ok(!r.reconcile.from && !r.reconcile.is_saved, "nor does a search begin");
	empty_store();
	run(2);
	run(2);
	is_u64(dbd.nasked, 1, "when there is room it does");
	is_u64(r.known_end, wall - 6, "and knows the end");
	is_u64(r.reconcile.from, known_end, "and searches from the last end before");
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(11, wall, true));
	run(0);
	has_record(11, 1, true, true, "and nothing is lost");
}

/* The store has no room for records either: it is no use to ask for them. */
static void test_over(void)
{
	uint64_t end = wall;
	int i;

	tell(INBOX_END, 42, end);
	run(2);
	fill_store();
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(42, end, true));
	run(0);
	has_record(42, 0, false, false, "the store has no room for a record");
	for (i = 0; i < 10; i++)
		run(10);
	is_u64(dbd.nasked, 0, "so slurmdbd is not asked again");
	empty_store();
	run(5);
	is_u64(dbd.nasked, 1, "until there is room");
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(42, end, true));
	run(0);
	has_record(42, 1, true, true, "then it has its record");
}

/* The store has no room for an end that the search found, nor is the end of the window taken then. */
static void test_reconcile_full(void)
{
	struct errmsg err = { 0 };
	uint64_t found, tag;

	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	(void)inbox_flush(inbox, &err);
	run(1);
	run(11);
	tag = dbd.window_tag;
	answer(&dbd, tag, SLURMDB_WINDOW_JOB, SLURMDB_OPEN, row(28, wall, false));
	run(0);
	answer(&ctld, question(&ctld), SLURMDB_JOB, SLURMDB_ABSENT, NULL);
	run(0);
	found = question(&dbd);
	fill_store();
	answer(&dbd, found, SLURMDB_JOB, SLURMDB_FINAL, row(28, wall, false));
	answer(&dbd, tag, SLURMDB_WINDOW_END, SLURMDB_ABSENT, NULL);
	run(0);
	run(60);
	run(60);
	is_u64(dbd.window_tag, tag, "a full store: slurmdbd is not asked for more");
	empty_store();
	run(31);
	ok(dbd.window_tag > tag, "a window whose answers the store could not take is asked for again");
	tag = dbd.window_tag;
	answer(&dbd, tag, SLURMDB_WINDOW_JOB, SLURMDB_OPEN, row(28, wall - 151, false));
	answer(&dbd, tag, SLURMDB_WINDOW_END, SLURMDB_ABSENT, NULL);
	run(0);
	is_u64(ctld.nasked, 1, "and the job is found again");
	answer(&ctld, question(&ctld), SLURMDB_JOB, SLURMDB_FINAL, row(28, wall - 151, false));
	run(0);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(28, wall - 153, true));
	run(0);
	has_record(28, 1, true, true, "and has its record");
}

/* Answers the piece of a window that is asked for, and has the recorder ask for the next one. */
static void answer_piece(enum slurmdb_answer_kind kind)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t from = dbd.window_from;

	answer(&dbd, dbd.window_tag, kind, SLURMDB_ABSENT, NULL);
	run(0);
	if (dbd.window_from == from)
		ok(r.reconcile.due_ns >= now_ns + 10 * NSEC_PER_SEC, "  not at once");
}

static uint64_t piece_length(void)
{
	return dbd.window_to - dbd.window_from + 1;
}

/* A long window; slurmdbd goes away meanwhile, then answers no question about one of its seconds. */
static void test_reconcile_in_pieces(void)
{
	struct errmsg err = { 0 };
	uint64_t from, next, tag;

	run(12 * 3600);
	tag = dbd.window_tag;
	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	(void)inbox_flush(inbox, &err);
	run(1);
	run(11);
	ok(dbd.window_tag > tag, "a window of 12 hours");
	from = dbd.window_from;
	ok(from <= wall - 12 * 3600, "  from the last end");
	is_u64(piece_length(), 3600, "is asked for by the hour");
	next = dbd.window_to + 1;
	answer_piece(SLURMDB_WINDOW_END);
	is_u64(dbd.window_from, next, "then the next hour");
	answer_piece(SLURMDB_NO_ANSWER);
	is_u64(dbd.window_from, next, "slurmdbd is away: that hour once more, not the one that was answered");
	is_u64(piece_length(), 3600, "  as a whole");
	answer_piece(SLURMDB_WINDOW_FAILED);
	is_u64(dbd.window_from, next, "the question fails");
	is_u64(piece_length(), 1800, "  then half of that hour");
	next = dbd.window_to + 1;
	answer_piece(SLURMDB_WINDOW_END);
	is_u64(dbd.window_from, next, "that half is answered: the next piece");
	is_u64(piece_length(), 3600, "  by the hour again");
	while (piece_length() > 1)
		answer_piece(SLURMDB_WINDOW_FAILED);
	is_u64(dbd.window_from, next, "a second that slurmdbd cannot answer");
	answer_piece(SLURMDB_WINDOW_FAILED);
	answer_piece(SLURMDB_NO_ANSWER);
	answer_piece(SLURMDB_WINDOW_FAILED);
	is_u64(dbd.window_from, next, "is asked for three times");
	answer_piece(SLURMDB_WINDOW_FAILED);
	is_u64(dbd.window_from, next + 1, "  then left out");
	for (tag = 0; r.reconcile.step == 0 && dbd.window_tag > tag;) {
		tag = dbd.window_tag;
		next = dbd.window_to + 1;
		answer_piece(SLURMDB_WINDOW_END);
	}
	is_u64(r.reconcile.step, 1, "all else is asked for");
	is_u64(next, wall + 1, "  up to now");
	is_u64(dbd.window_from, from, "the next window begins where the first one did");
	tag = dbd.window_tag;
	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	(void)inbox_flush(inbox, &err);
	run(1);
	answer(&dbd, tag, SLURMDB_WINDOW_END, SLURMDB_ABSENT, NULL);
	run(11);
	is_u64(dbd.window_from, from, "as does a search that slurmctld's next start begins");
	r.ctld = NULL;
	(void)inbox_append(inbox, INBOX_BEGIN, NULL, 0);
	(void)inbox_flush(inbox, &err);
	run(1);
	run(11);
	is_u64(dbd.window_to, wall, "without slurmdbd slurmctld is asked for all of it at once");
	r.ctld = &ctld;
	for (; r.reconcile.due_ns != UINT64_MAX; run(300))
		if (dbd.window_tag > tag) {
			tag = dbd.window_tag;
			answer(&dbd, tag, SLURMDB_WINDOW_END, SLURMDB_ABSENT, NULL);
		}
	is_u64(r.reconcile.from, 0, "until it is over");
}

/* Somebody removes InboxDir; the plugin makes it again with the next job end. */
static void test_inbox_removed(void)
{
	char command[64];
	uint64_t before;

	run(5); /* all is taken */
	before = r.total.ends;
	logger_set_sink(count_log);
	forget_log();
	(void)snprintf(command, sizeof(command), "rm -rf '%s/inbox'", base);
	ok(system(command) == 0, "InboxDir is removed");
	run(5);
	run(5);
	is_int(errors, 1, "which the recorder logs once");
	ok(strstr(last_line, "inbox was removed or moved; it is opened again when slurmctld has made it") !=
		   NULL,
	   "as: %s", last_line);
	tell(INBOX_END, 20, wall);
	run(5);
	is_u64(r.total.ends, before + 1, "the next job end is taken from the new folder");
	tell(INBOX_END, 21, wall);
	is_u64(r.total.ends, before + 2, "as is the one after it");
	is_int(errors, 2, "the plugin has logged its part");
	logger_set_sink(NULL);
}

/* --- ceems_controller.prom ------------------------------------------------------------------------- */

static const char *prom_text;

/* NAME with its labels behind the host's; NULL: it is not there. */
static const char *prom_value(const char *name, const char *labels)
{
	static char value[32];
	char host[64] = "";
	char line[256];
	const char *at;

	(void)gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	(void)snprintf(line, sizeof(line), "\n%s{hostname=\"%s\"%s} ", name, host, labels);
	at = strstr(prom_text, line);
	if (!at)
		return NULL;
	(void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + strlen(line), "\n"),
		       at + strlen(line));
	return value;
}

static void test_prom_values(void)
{
	static const struct {
		const char *name, *labels, *value; /* NULL: not there */
	} want[] = {
		{ "ceems_recorder_running", "", "1" },
		{ "ceems_recorder_build_info", ",version=\"" PACKAGE_VERSION "\"", "1" },
		{ "ceems_recorder_inbox_waiting_bytes", "", "0" },
		{ "ceems_recorder_inbox_lag_seconds", "", "0" },
		{ "ceems_recorder_job_ends_total", "", "2" },
		{ "ceems_recorder_jobs_waiting", "", "1" },
		{ "ceems_recorder_jobs_waiting_age_seconds", "", "90" },
		{ "ceems_recorder_records_total", ",state=\"final\"", "1" },
		{ "ceems_recorder_records_total", ",state=\"open\"", "0" },
		{ "ceems_recorder_sink_up", ",sink=\"mariadb\"", "1" },
		{ "ceems_recorder_sink_up", ",sink=\"kafka\"", "0" },
		{ "ceems_recorder_sink_lag_seconds", ",sink=\"mariadb\"", "90" },
		{ "ceems_recorder_sink_waiting_records", ",sink=\"mariadb\"", "1" },
		{ "ceems_recorder_sink_refused_records", ",sink=\"mariadb\"", "0" },
		{ "ceems_recorder_store_records", "", "1" },
		{ "ceems_recorder_sink_refusals_total", ",sink=\"mariadb\"", "1" },
		{ "ceems_recorder_sink_delivered_records_total", ",sink=\"mariadb\"", "5" },
		{ "ceems_recorder_sink_delivered_records_total", ",sink=\"kafka\"", NULL },
		{ "ceems_recorder_sink_last_success_timestamp_seconds", ",sink=\"mariadb\"", "1799999999" },
		{ "ceems_recorder_sink_last_success_timestamp_seconds", ",sink=\"kafka\"", NULL },
		{ "ceems_recorder_store_max_bytes", "", "1048576" },
		{ "ceems_recorder_store_full", "", "0" },
		{ "ceems_recorder_slurm_up", ",daemon=\"slurmdbd\"", "1" },
		{ "ceems_recorder_slurm_up", ",daemon=\"slurmctld\"", NULL }, /* it was not asked */
		{ "ceems_recorder_slurm_questions_total", ",daemon=\"slurmdbd\"", "7" },
		{ "ceems_recorder_slurm_questions_total", ",daemon=\"slurmctld\"", "0" },
		{ "ceems_recorder_slurm_question_seconds_total", ",daemon=\"slurmdbd\"", "1.500000000" },
		{ "ceems_controller_hook_seconds_bucket", ",le=\"0.000004096\"", "2" },
		{ "ceems_controller_hook_seconds_bucket", ",le=\"+Inf\"", "3" },
		{ "ceems_controller_hook_seconds_sum", "", "0.000020000" },
		{ "ceems_controller_hook_max_seconds", "", "0.000015000" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		const char *value = prom_value(want[i].name, want[i].labels);

		ok(want[i].value ? value && !strcmp(value, want[i].value) : !value, "%s{%s}: %s",
		   want[i].name, want[i].labels, value ? value : "absent");
	}
}

static void test_prom_check(void)
{
	FILE *p;

	if (access("/usr/bin/promtool", X_OK) < 0) {
		skip(1, "promtool is not installed (Debian: prometheus)");
		return;
	}
	p = popen("/usr/bin/promtool check metrics 2>&1 | grep -c . >&2", "w");
	if (p)
		fputs(prom_text, p);
	ok(p && pclose(p) != 0, "promtool check metrics has nothing to say");
}

/* The file, by its helper. */
static void test_prom_file(void)
{
	char path[128], text[4096] = "";
	FILE *f;

	recorder_prom_write(&r, /* has_ended= */ true);
	recorder_prom_close(&r);
	(void)snprintf(path, sizeof(path), "%s/ceems_controller.prom", base);
	f = fopen(path, "r");
	ok(f != NULL, "the file is there");
	if (!f)
		return;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	(void)fclose(f);
	ok(strstr(text, "ceems_recorder_running{hostname=\"") && strstr(text, "\"} 0\n"),
	   "it says that the recorder ended");
	ok(!strstr(text, "sink"), "and has no sink");
}

static void test_prom(void)
{
	static const struct hook_cost cost = {
		.n = 3, .sum_ns = 20000, .max_ns = 15000, .upto = { 2, 3, 3, 3, 3, 3, 3, 3 }
	};
	_cleanup_free_ char *text = NULL;
	size_t len;

	(void)store_reclaim(r.store, wall, NULL); /* the sink file has all so far */
	r.total.records[0] = r.total.records[1] = r.total.ends = 0;
	tell(INBOX_END, 901, wall);
	run(2);
	answer(&dbd, question(&dbd), SLURMDB_JOB, SLURMDB_FINAL, row(901, wall - 2, true));
	run(0);
	tell(INBOX_END, 900, wall);
	(void)inbox_append(inbox, INBOX_HOOK, &cost, sizeof(cost));
	(void)inbox_flush(inbox, NULL);
	run(90);
	(void)snprintf(r.settings.sinks, sizeof(r.settings.sinks), "mariadb,kafka");
	(void)snprintf(r.settings.helper_dir, sizeof(r.settings.helper_dir), "%s", HELPER_DIR);
	(void)snprintf(r.settings.textfile_dir, sizeof(r.settings.textfile_dir), "%s", base);
	recorder_prom_open(&r);
	if (!r.prom || recorder_prom_format(&r, /* has_ended= */ false, &text, &len) < 0) {
		ok(false, "ceems_controller.prom");
		return;
	}
	prom_text = text;
	test_prom_values();
	test_prom_check();
	test_prom_file();
}

int main(void)
{
	char command[64];

	if (!mkdtemp(base))
		return skip_all("no folder in /tmp");
	begin();
	run(0);
	test_final();
	test_late();
	test_resized();
	test_resized_later();
	test_het();
	test_given_up();
	test_default_factor();
	test_alone();
	test_alone_at_the_end();
	test_away_at_the_end();
	test_slurmdbd_away();
	test_no_slurmdbd();
	test_key_only();
	test_task_of_array();
	test_task_without_start();
	test_other_run();
	test_earlier_run();
	test_reconcile();
	test_reconcile_without_answer();
	test_reconcile_recorded();
	test_reconcile_behind();
	test_reconcile_many();
	test_starts();
	test_no_transaction();
	test_full();
	test_over();
	test_reconcile_full();
	test_reconcile_in_pieces();
	test_prom();
	test_inbox_removed();
	recorder_jobs_fini(&r);
	inbox_reader_close(r.inbox);
	inbox_writer_close(inbox);
	store_close(r.store);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", base);
	ok(system(command) == 0, "clean");
	return done_testing();
}
