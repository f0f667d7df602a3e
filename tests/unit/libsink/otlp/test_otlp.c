/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records as spans, their bytes, and what a collector's answer means. */
#include <errno.h>
#include <jansson.h>

#include "otlp_records.h"
#include "scratch.h"
#include "src/libcore/trace_context.h"
#include "src/libhttps/https_headers.h"
#include "src/libsink/otlp/otlp_answer.h"
#include "src/libsink/otlp/otlp_names.h"
#include "src/libsink/otlp/otlp_spans.h"
#include "src/libutil/clock.h"

static struct errmsg err;

/* The request of R, which is freed. */
static void *pack_one(struct record *r, bool with_users, bool is_json, size_t *ret_len)
{
	struct otlp_spans *o = otlp_spans_create(with_users);
	struct otlp_record record;
	struct sink_item item;
	void *data = NULL;

	otlp_write(r, &record);
	item = otlp_item(&record);
	if (otlp_spans_add(o, &item, &err) < 0 || otlp_spans_pack(o, is_json, &data, ret_len) < 0)
		diag("%s", err.text);
	otlp_spans_destroy(o);
	free(record.json);
	return data;
}

static Otlp__Request *request_of(struct record *r, bool with_users)
{
	size_t len = 0;
	void *data = pack_one(r, with_users, /* is_json= */ false, &len);
	Otlp__Request *request = otlp_read(data, len);

	free(data);
	return request;
}

static const Otlp__ScopeSpans *spans_of(const Otlp__Request *r)
{
	return r->resource_spans[0]->scope_spans[0];
}

static const char *text_of(const Otlp__Span *s, const char *name)
{
	const Otlp__AnyValue *v = otlp_find(s->attributes, s->n_attributes, name);

	return v && v->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE ? v->string_value : "none";
}

static double double_of(const Otlp__Span *s, const char *name)
{
	const Otlp__AnyValue *v = otlp_find(s->attributes, s->n_attributes, name);

	return v && v->value_case == OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE ? v->double_value : -1;
}

static int64_t int_of(const Otlp__Span *s, const char *name)
{
	const Otlp__AnyValue *v = otlp_find(s->attributes, s->n_attributes, name);

	return v && v->value_case == OTLP__ANY_VALUE__VALUE_INT_VALUE ? v->int_value : -1;
}

static bool is_id(const ProtobufCBinaryData *got, const uint8_t *want, size_t n)
{
	return got->len == n && !memcmp(got->data, want, n);
}

static void check_place(const Otlp__Span *s, const char *name, const uint8_t *id, const uint8_t *parent,
			uint64_t start, uint64_t end)
{
	static const char key[] = "c1/7,1700000000,2/0";
	uint8_t trace[TRACE_ID_SIZE];

	trace_id_of_job(key, sizeof(key) - 1, trace);
	is_str(s->name, name, "span");
	ok(is_id(&s->trace_id, trace, sizeof(trace)), "  in the job's trace");
	ok(is_id(&s->span_id, id, TRACE_SPAN_SIZE), "  its id");
	ok(parent ? is_id(&s->parent_span_id, parent, TRACE_SPAN_SIZE) : !s->parent_span_id.len,
	   "  its parent");
	is_u64(s->start_time_unix_nano, start * NSEC_PER_SEC, "  its start");
	is_u64(s->end_time_unix_nano, end * NSEC_PER_SEC, "  its end");
}

static void test_spans(void)
{
	static const char key[] = "c1/7,1700000000,2/0";
	Otlp__Request *r = request_of(otlp_record(7, 2), /* with_users= */ false);
	const Otlp__ScopeSpans *scope = spans_of(r);
	const Otlp__Resource *resource = r->resource_spans[0]->resource;
	uint8_t job[TRACE_SPAN_SIZE], id[TRACE_SPAN_SIZE];
	const Otlp__Span *s;

	is_u64(r->n_resource_spans, 1, "one resource");
	is_str(otlp_find(resource->attributes, resource->n_attributes, "service.name")->string_value, "slurm",
	       "a service");
	is_str(otlp_find(resource->attributes, resource->n_attributes, "service.namespace")->string_value,
	       "c1", "of a cluster");
	is_u64(scope->n_spans, 5, "spans: the job, its queue, three steps");

	s = scope->spans[0];
	trace_span_of_job(key, sizeof(key) - 1, "job", job);
	check_place(s, "job", job, NULL, SUBMIT, SUBMIT + 3610);
	is_int(int_of(s, "slurm.job.id"), 7, "  job id");
	is_int(int_of(s, "slurm.job.restarts"), 2, "  restarts");
	is_str(text_of(s, "slurm.job.state"), "COMPLETED", "  state");
	is_str(text_of(s, "slurm.partition"), "long", "  partition");
	is_str(text_of(s, "host.name"), "n1", "  its only node");
	is_int(int_of(s, "process.exit.code"), 3, "  exit code");
	ok(double_of(s, "hw.energy") == 7200, "  energy");
	ok(double_of(s, "hw.power") == 2, "  power, over the time that it ran");
	ok(double_of(s, "ceems.energy.by_domain.cpu_j") == 7000.5, "  energy of a domain");
	ok(double_of(s, "ceems.emissions.co2e_g") == 1.5, "  CO2e");
	is_str(text_of(s, "ceems.energy.method"), "cpu-time", "  method");
	is_str(text_of(s, "ceems.energy.source"), "rapl", "  source");
	is_str(text_of(s, "user.name"), "none", "  no user name");
	is_str(text_of(s, "slurm.account"), "none", "  no account");
	is_str(text_of(s, "slurm.job.name"), "none", "  no job name");
	ok(!otlp_find(s->attributes, s->n_attributes, "ceems.energy.by_domain.gpu_j"),
	   "  no attribute of an unknown value");
	ok(!s->status, "  no error");

	trace_span_of_job(key, sizeof(key) - 1, "queue", id);
	check_place(scope->spans[1], "queue", id, job, SUBMIT, SUBMIT + 10);
	s = scope->spans[2];
	trace_span_of_step("c1", 7, 2, 0, 0, id);
	check_place(s, "step", id, job, SUBMIT + 11, SUBMIT + 13);
	ok(double_of(s, "hw.energy") == 1.5, "  energy");
	ok(double_of(s, "hw.power") == 0.75, "  power");
	is_int(int_of(s, "slurm.step.id"), 0, "  step id");
	is_str(text_of(s, "slurm.step.name"), "none", "  no step name");
	ok(s->status && s->status->code == 2, "  an error");
	is_str(text_of(s, "error.type"), "FAILED", "  its type");
	s = scope->spans[4];
	trace_span_of_step("c1", 7, 2, 4294967291u, 0, id);
	check_place(s, "batch", id, job, SUBMIT + 13, SUBMIT + 15);
	otlp__request__free_unpacked(r, NULL);

	r = request_of(otlp_record(7, 1), /* with_users= */ true);
	s = spans_of(r)->spans[0];
	is_str(text_of(s, "user.name"), "alice", "with OtlpUsers: the user");
	is_str(text_of(s, "slurm.account"), "physics", "  the account");
	is_str(text_of(s, "slurm.job.name"), "secret project", "  the job's name");
	is_str(text_of(spans_of(r)->spans[2], "slurm.step.name"), "a.out", "  the step's");
	otlp__request__free_unpacked(r, NULL);
}

/* A job that came with a trace, or with the option that begins one. */
static void test_parent(void)
{
	static const char with[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
	static const char begins[] = "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01";
	struct record *r = otlp_record(7, 1);
	struct trace_context c;
	const Otlp__Span *s;
	Otlp__Request *request;

	ok(trace_context_parse(with, /* may_begin= */ false, &c), "a trace");
	r->trace_parent = strdup(with);
	request = request_of(r, false);
	s = spans_of(request)->spans[0];
	ok(is_id(&s->trace_id, c.trace, sizeof(c.trace)), "  the job is in it");
	ok(is_id(&s->parent_span_id, c.span, sizeof(c.span)), "  below its span");
	is_u64(s->flags, 0, "  with its flags");
	s = spans_of(request)->spans[2];
	ok(is_id(&s->trace_id, c.trace, sizeof(c.trace)), "  so is the step");
	ok(is_id(&s->parent_span_id, spans_of(request)->spans[0]->span_id.data, TRACE_SPAN_SIZE),
	   "  below the job");
	otlp__request__free_unpacked(request, NULL);

	r = otlp_record(7, 1);
	r->trace_parent = strdup(begins);
	request = request_of(r, false);
	s = spans_of(request)->spans[0];
	ok(is_id(&s->trace_id, c.trace, sizeof(c.trace)) && !s->parent_span_id.len,
	   "a trace that begins with the job");
	otlp__request__free_unpacked(request, NULL);
	r = otlp_record(7, 1);
	r->trace_parent = strdup("junk");
	request = request_of(r, false);
	ok(!is_id(&spans_of(request)->spans[0]->trace_id, c.trace, sizeof(c.trace)),
	   "an invalid trace is ignored");
	otlp__request__free_unpacked(request, NULL);
}

/* Jobs that never ran, steps that never began, texts that are not UTF-8. */
static void test_odd(void)
{
	struct record *odd = otlp_record(7, 1);
	Otlp__Request *r;

	odd->start = 0;
	odd->end = SUBMIT + 60;
	free(odd->state);
	odd->state = strdup("CANCELLED");
	odd->steps[0].start = odd->steps[1].start = 0;
	free(odd->job_name);
	odd->job_name = strdup("a\xff\x1b[31m");
	free(odd->nodes);
	odd->nodes = strdup("n[1-2]");
	odd->energy.total_j.known = false;
	r = request_of(odd, /* with_users= */ true);
	ok(r != NULL, "an odd record is sent");
	is_u64(spans_of(r)->n_spans, 2, "  without the steps that never began");
	is_u64(spans_of(r)->spans[1]->end_time_unix_nano, (SUBMIT + 60) * NSEC_PER_SEC,
	       "  it waited until it was cancelled");
	is_str(text_of(spans_of(r)->spans[0], "slurm.job.name"), "a\\xff\x1b[31m",
	       "  a byte that is not UTF-8 is escaped");
	is_str(text_of(spans_of(r)->spans[0], "host.name"), "none", "  a list of nodes is no host");
	ok(double_of(spans_of(r)->spans[0], "hw.energy") == -1, "  unknown energy has no attribute");
	ok(!spans_of(r)->spans[0]->status, "  a cancelled job has no error status");
	otlp__request__free_unpacked(r, NULL);
}

/* Counts the metrics that S has as an attribute. */
static unsigned int metrics_of(const Otlp__Span *s)
{
	unsigned int n = 0;
	enum metric m;

	metric_foreach(m) {
		char name[OTLP_NAME_MAX];

		(void)snprintf(name, sizeof(name), "ceems.%s", metric_table[m].json);
		n += otlp_find(s->attributes, s->n_attributes, m == METRIC_ENERGY ? "hw.energy" : name) !=
		     NULL;
	}
	return n;
}

/* However many metrics there are, a span has all that are known. */
static void test_all_metrics(void)
{
	struct record *r = otlp_record(7, 1);
	Otlp__Request *request;
	enum metric m;

	metric_foreach(m) {
		values_set(&r->values, m, 1000000 + m);
		values_set(&r->steps[0].values, m, 1000000 + m);
	}
	free(r->steps[0].nodes);
	r->steps[0].nodes = strdup("n[1-2]");
	request = request_of(r, /* with_users= */ true);
	is_u64(metrics_of(spans_of(request)->spans[0]), METRIC_N, "a job has all metrics");
	is_u64(metrics_of(spans_of(request)->spans[2]), METRIC_N, "a step, too");
	is_str(text_of(spans_of(request)->spans[2], "error.type"), "FAILED", "  and what is put last");
	diag("%zu and %zu attributes", spans_of(request)->spans[0]->n_attributes,
	     spans_of(request)->spans[2]->n_attributes);
	otlp__request__free_unpacked(request, NULL);
}

struct parts {
	struct otlp_spans *spans;
	size_t n;
};

static int add_part(void *ctx, size_t part, const char *key, const char *json, size_t len,
		    struct errmsg *part_err)
{
	struct parts *p = ctx;
	struct sink_item item = { .kind = part ? STORE_STEPS : STORE_RECORD,
				  .key = key,
				  .key_len = strlen(key),
				  .json = json,
				  .json_len = len };

	p->n++;
	if (otlp_spans_add(p->spans, &item, part_err) < 0)
		diag("%s", part_err->text);
	return 0;
}

/* The parts of a record make the trace that the whole would. */
static void test_parts(void)
{
	struct record *r = otlp_record(7, 40);
	struct otlp_spans *o = otlp_spans_create(false);
	struct parts p = { .spans = o };
	Otlp__Request *request;
	size_t len, i;
	void *data;
	bool same = true;

	r->trace_parent = strdup("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
	ok(record_write_parts(r, 6000, add_part, &p, &err) == 0 && p.n > 2, "a record in %zu parts", p.n);
	record_destroy(r);
	is_u64(otlp_spans_count(o), 43, "has the spans of all");
	is_int(otlp_spans_pack(o, false, &data, &len), 0, "packed");
	request = otlp_read(data, len);
	for (i = 0; i < p.n; i++) {
		const Otlp__Span *s = request->resource_spans[i]->scope_spans[0]->spans[i ? 0 : 2];
		uint8_t id[TRACE_SPAN_SIZE];

		trace_span_of_step("c1", 7, 2, (uint32_t)int_of(s, "slurm.step.id"), 0, id);
		same &= is_id(&s->span_id, id, sizeof(id)) &&
			is_id(&s->trace_id, spans_of(request)->spans[0]->trace_id.data, TRACE_ID_SIZE) &&
			is_id(&s->parent_span_id, spans_of(request)->spans[0]->span_id.data, TRACE_SPAN_SIZE);
	}
	ok(same, "in the same trace, below the same job");
	otlp__request__free_unpacked(request, NULL);
	free(data);
	otlp_spans_destroy(o);
}

static void test_bad(void)
{
	struct otlp_spans *o = otlp_spans_create(false);
	struct sink_item item = {
		.kind = STORE_RECORD, .key = "k", .key_len = 1, .json = "{}", .json_len = 2
	};

	is_int(otlp_spans_add(o, &item, &err), -EINVAL, "JSON that is no record is refused");
	item.kind = STORE_STEPS;
	is_int(otlp_spans_add(o, &item, &err), -EINVAL, "as is JSON that is no part");
	is_u64(otlp_spans_count(o), 0, "and neither leaves a span");
	otlp_spans_destroy(o);
}

/* OTLP's JSON: hex ids, camelCase, 64-bit integers as texts, enums as numbers. */
static void test_json(void)
{
	size_t len = 0, n = 0;
	void *data = pack_one(otlp_record(7, 0), false, /* is_json= */ true, &len);
	char *text = otlp_unpack(data, len, &n);
	json_t *o = json_loads(text ? text : "", 0, NULL);
	json_t *span = json_array_get(
		json_object_get(
			json_array_get(json_object_get(json_array_get(json_object_get(o, "resourceSpans"), 0),
						       "scopeSpans"),
				       0),
			"spans"),
		0);
	const char *id = json_string_value(json_object_get(span, "traceId"));
	json_t *attribute;
	size_t i;

	ok(id && strlen(id) == 32 && strspn(id, "0123456789abcdef") == 32, "JSON: trace id %s",
	   id ? id : "none");
	is_str(json_string_value(json_object_get(span, "startTimeUnixNano")), "1700000000000000000",
	       "  a time");
	is_int(json_integer_value(json_object_get(span, "kind")), 1, "  an enum");
	ok(!json_object_get(span, "parentSpanId"), "  no parent is no member");
	json_array_foreach(json_object_get(span, "attributes"), i, attribute) {
		const char *key = json_string_value(json_object_get(attribute, "key"));
		json_t *value = json_object_get(attribute, "value");

		if (!strcmp(key, "slurm.job.id"))
			is_str(json_string_value(json_object_get(value, "intValue")), "7", "  an integer");
		if (!strcmp(key, "hw.energy"))
			ok(json_real_value(json_object_get(value, "doubleValue")) == 7200, "  a double");
		if (!strcmp(key, "ceems.energy.final"))
			ok(json_is_true(json_object_get(value, "boolValue")), "  a boolean");
	}
	json_decref(o);
	free(text);
	free(data);
}

static void test_answers(void)
{
	static const struct {
		long status;
		enum otlp_verdict verdict;
	} rows[] = {
		{ 200, OTLP_TAKEN },  { 202, OTLP_TAKEN },  { 301, OTLP_DENIED }, { 400, OTLP_BAD },
		{ 401, OTLP_DENIED }, { 403, OTLP_DENIED }, { 404, OTLP_DENIED }, { 408, OTLP_BAD },
		{ 413, OTLP_BAD },    { 429, OTLP_LATER },  { 500, OTLP_BAD },	  { 501, OTLP_BAD },
		{ 502, OTLP_LATER },  { 503, OTLP_LATER },  { 504, OTLP_LATER },  { 0, OTLP_BAD },
	};
	Otlp__PartialSuccess partial = OTLP__PARTIAL_SUCCESS__INIT;
	Otlp__Answer answer = OTLP__ANSWER__INIT;
	char said[] = "no\x1b room";
	uint8_t bytes[64];
	struct otlp_answer a;
	const char *json;
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		otlp_answer_read(rows[i].status, "", 0, i % 2, &a);
		ok(a.verdict == rows[i].verdict, "HTTP %ld", rows[i].status);
	}
	partial.rejected_spans = 3;
	partial.error_message = said;
	answer.partial_success = &partial;
	n = otlp__answer__pack(&answer, bytes);
	otlp_answer_read(200, (char *)bytes, n, false, &a);
	ok(a.verdict == OTLP_TAKEN && a.rejected == 3 && !strcmp(a.text, "no? room"), "taken in part: %s",
	   a.text);
	otlp_answer_read(400,
			 "\x08\x03\x12\x03"
			 "bad",
			 7, false, &a);
	is_str(a.text, "bad", "google.rpc.Status");
	json = "{\"partialSuccess\":{\"rejectedSpans\":\"4\",\"errorMessage\":\"full\"}}";
	otlp_answer_read(200, json, strlen(json), true, &a);
	ok(a.rejected == 4 && !strcmp(a.text, "full"), "the same in JSON");
	json = "{\"partialSuccess\":{\"rejectedSpans\":-1}}";
	otlp_answer_read(200, json, strlen(json), true, &a);
	is_u64(a.rejected, 0, "a negative number of rejected spans is 0");
	otlp_answer_read(503, "<html>", 6, true, &a);
	ok(a.verdict == OTLP_LATER && !*a.text, "a proxy's page: try again later");
}

static void test_headers(void)
{
	static const struct {
		const char *text;
		int rc;
		const char *what;
	} rows[] = {
		{ "Authorization Bearer x\n", -EINVAL, "no colon" },
		{ ": x\n", -EINVAL, "no name" },
		{ "A B: x\n", -EINVAL, "a blank in the name" },
		{ "X-Token:\n", -EINVAL, "no value, with which libcurl drops a header" },
		{ "X-Token: hunter2\x01\n", -EINVAL, "a control character" },
		{ "content-type: text/plain\n", -EINVAL, "one of ours" },
		{ "", 0, "empty" },
		{ "# comment\n\nAuthorization: Bearer hunter2=#x \r\nX-Scope-OrgID: hpc", 0, "two" },
	};
	char dir[] = SCRATCH_TEMPLATE;
	struct curl_slist *list = NULL;
	const char *path;
	size_t i;

	if (!mkdtemp(dir))
		return;
	path = scratch_path(dir, "headers");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		scratch_write(path, rows[i].text, strlen(rows[i].text));
		err.text[0] = '\0';
		is_int(https_headers_read(path, &list, &err), rows[i].rc, rows[i].what);
		ok(!strstr(err.text, "hunter2"), "  no secret in: %s", err.text);
	}
	ok(list && !strcmp(list->data, "Authorization: Bearer hunter2=#x") && list->next && !list->next->next,
	   "both are there");
	curl_slist_free_all(list);
	list = NULL;
	chmod(path, 0644);
	is_int(https_headers_read(path, &list, &err), -EACCES, "a file that others can read");
	unlink(path);
	is_int(https_headers_read(path, &list, &err), -ENOENT, "none");
	rmdir(dir);
}

int main(void)
{
	test_spans();
	test_parent();
	test_odd();
	test_all_metrics();
	test_parts();
	test_bad();
	test_json();
	test_answers();
	test_headers();
	return done_testing();
}
