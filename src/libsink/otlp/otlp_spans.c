/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ceems_config.h"
#include "src/libsink/otlp/otlp_spans.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/libcore/trace_context.h"
#include "src/libledger/ledger.h"
#include "src/librecord/record.h"
#include "src/librecord/record_field.h"
#include "src/libsink/otlp/otlp.pb-c.h"
#include "src/libsink/otlp/otlp_names.h"
#include "src/libsink/otlp/otlp_pack.h"
#include "src/libutil/clock.h"
#include "src/libutil/utf8.h"

#define KIND_INTERNAL 1
#define STATUS_ERROR 2

/* A piece of memory that lives as long as the request; a failed record's pieces are freed at once. */
struct chunk {
	struct chunk *next;
	max_align_t memory[];
};

struct otlp_spans {
	bool with_users;
	struct chunk *chunks;
	bool is_short;		    /* an allocation failed, so the record must be dropped */
	Otlp__ResourceSpans **list; /* one per record */
	size_t n, room;
	size_t nspans;
};

/* The spans of one record, and the ids that they share. */
struct trace {
	struct otlp_spans *o;
	const struct record *record;
	struct trace_context parent; /* parent of the span "job"; its span is all zeros if there is none */
	uint8_t job[TRACE_SPAN_SIZE];
	const char *key;
	size_t key_len;
	Otlp__Span **span;
	size_t n;
};

/* The attributes of the span that is being made. */
struct attributes {
	struct otlp_spans *o;
	Otlp__KeyValue **list; /* grows with keep() */
	size_t n, room;
};

/* --- memory ---------------------------------------------------------------------------------------- */

/* Allocates SIZE zeroed bytes. NULL: out of memory; sets is_short. */
static void *keep(struct otlp_spans *o, size_t size)
{
	struct chunk *c = calloc(1, sizeof(*c) + size);

	if (!c) {
		o->is_short = true;
		return NULL;
	}
	c->next = o->chunks;
	o->chunks = c;
	return c->memory;
}

static void *keep_copy(struct otlp_spans *o, const void *from, size_t size)
{
	void *copy = keep(o, size);

	return copy && size ? memcpy(copy, from, size) : copy;
}

/* Returns a copy of TEXT as UTF-8, by utf8_escape() if it is not valid. NULL: out of memory. */
static char *keep_text(struct otlp_spans *o, const char *text)
{
	char *escaped;
	size_t len;
	char *copy;

	if (utf8_escape(text, strlen(text), &escaped, &len) < 0) {
		o->is_short = true;
		return NULL;
	}
	copy = keep_copy(o, escaped ? escaped : text, (escaped ? len : strlen(text)) + 1);
	free(escaped);
	return copy;
}

static ProtobufCBinaryData keep_id(struct otlp_spans *o, const uint8_t *id, size_t size)
{
	uint8_t *copy = keep_copy(o, id, size);

	return (ProtobufCBinaryData){ .len = copy ? size : 0, .data = copy };
}

static void free_chunks(struct otlp_spans *o, const struct chunk *until)
{
	while (o->chunks != until) {
		struct chunk *next = o->chunks->next;

		free(o->chunks);
		o->chunks = next;
	}
}

/* --- attributes ------------------------------------------------------------------------------------ */

/* Makes room for one more attribute. */
static int grow_attributes(struct attributes *a)
{
	size_t room = a->room ? 2 * a->room : 32;
	Otlp__KeyValue **list;

	if (a->n < a->room)
		return 0;
	list = keep(a->o, room * sizeof(*list));
	if (!list)
		return -ENOMEM;
	if (a->n)
		memcpy(list, a->list, a->n * sizeof(*list));
	a->list = list;
	a->room = room;
	return 0;
}

/* Adds the attribute NAME and returns its value, for the caller to set. NULL: out of memory. */
static Otlp__AnyValue *put(struct attributes *a, const char *name, Otlp__AnyValue__ValueCase type)
{
	struct {
		Otlp__KeyValue pair;
		Otlp__AnyValue value;
	} * kept;

	if (grow_attributes(a) < 0)
		return NULL;
	kept = keep(a->o, sizeof(*kept));
	if (!kept)
		return NULL;
	otlp__key_value__init(&kept->pair);
	otlp__any_value__init(&kept->value);
	kept->pair.key = keep_text(a->o, name);
	if (!kept->pair.key)
		return NULL;
	kept->pair.value = &kept->value;
	kept->value.value_case = type;
	a->list[a->n++] = &kept->pair;
	return &kept->value;
}

static void put_text(struct attributes *a, const char *name, const char *text)
{
	char *copy = text && *text ? keep_text(a->o, text) : NULL;
	Otlp__AnyValue *v = copy ? put(a, name, OTLP__ANY_VALUE__VALUE_STRING_VALUE) : NULL;

	if (v)
		v->string_value = copy;
}

static void put_bool(struct attributes *a, const char *name, bool value)
{
	Otlp__AnyValue *v = put(a, name, OTLP__ANY_VALUE__VALUE_BOOL_VALUE);

	if (v)
		v->bool_value = value;
}

static void put_int(struct attributes *a, const char *name, int64_t value)
{
	Otlp__AnyValue *v = put(a, name, OTLP__ANY_VALUE__VALUE_INT_VALUE);

	if (v)
		v->int_value = value;
}

static void put_double(struct attributes *a, const char *name, double value)
{
	Otlp__AnyValue *v = put(a, name, OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE);

	if (v)
		v->double_value = value;
}

/*
 * Puts the number VALUE / SCALE: an integer if SCALE is 0 or 1, else a double. OTLP's integers are
 * signed, so above INT64_MAX it is a double too.
 */
static void put_number(struct attributes *a, const char *name, uint64_t value, uint64_t scale)
{
	if (scale > 1 || value > INT64_MAX)
		put_double(a, name, (double)value / (double)(scale ? scale : 1));
	else
		put_int(a, name, (int64_t)value);
}

/* --- the members of a record or step ------------------------------------------------------------- */

static void put_values(struct attributes *a, const struct values *values, const struct record_field *f,
		       bool is_step)
{
	char buf[OTLP_NAME_MAX];
	enum metric m;

	metric_foreach(m) {
		const char *name;

		if (!values_has(values, m) || (m == METRIC_ENERGY && f->flags & FIELD_NO_ENERGY))
			continue;
		name = otlp_name(metric_table[m].json, is_step, a->o->with_users, buf, sizeof(buf));
		/*
		 * by its scale, a metric in joules, grams or seconds is a double even if it is a
		 * whole number
		 */
		if (name)
			put_number(a, name, values->value[m], record_metric_scale(m));
	}
}

static void put_ratios(struct attributes *a, const void *object, const struct record_field *f, bool is_step)
{
	char path[OTLP_NAME_MAX], buf[OTLP_NAME_MAX];
	unsigned int d;
	double v;

	for (d = 0; d < DERIVED_N; d++)
		if (f->ratio(object, d, &v)) {
			(void)snprintf(path, sizeof(path), "%s%s", f->path, derived_table[d].name);
			put_double(a, otlp_name(path, is_step, a->o->with_users, buf, sizeof(buf)), v);
		}
}

static void put_field(struct attributes *a, const char *name, const struct record_field *f,
		      const void *object)
{
	const void *p = (const char *)object + f->offset;
	uint64_t number;
	double ratio;

	switch (f->kind) {
	case FIELD_TEXT:
		put_text(a, name, *(const char *const *)p);
		break;
	case FIELD_CHARS:
		put_text(a, name, p);
		break;
	case FIELD_EXIT:
		put_int(a, name, *(const int32_t *)p);
		break;
	case FIELD_BOOL:
		put_bool(a, name, *(const bool *)p);
		break;
	case FIELD_CO2E_METHOD:
		put_text(a, name, record_co2e_method_name(*(const enum record_co2e_method *)p));
		break;
	case FIELD_RATIO:
		if (f->ratio(object, f->which, &ratio))
			put_double(a, name, ratio);
		break;
	default:
		if (!record_field_number(f, object, &number))
			break;
		/* a job's energy is whole joules; hw.energy must be a double, as it is for steps */
		if (!strcmp(name, "hw.energy"))
			put_double(a, name, (double)number);
		else
			put_number(a, name, number, f->scale);
	}
}

static void put_fields(struct attributes *a, const struct record_field *f, const void *object, bool is_step)
{
	for (; f->path; f++) {
		char buf[OTLP_NAME_MAX];
		const char *name;

		if (f->has && !f->has(object))
			continue;
		if (f->kind == FIELD_VALUES)
			put_values(a, (const struct values *)(const void *)((const char *)object + f->offset),
				   f, is_step);
		else if (f->kind == FIELD_RATIOS)
			put_ratios(a, object, f, is_step);
		else if (f->kind != FIELD_OBJECT && f->kind != FIELD_TIME &&
			 (name = otlp_name(f->path, is_step, a->o->with_users, buf, sizeof(buf))))
			put_field(a, name, f, object);
	}
}

/* Returns whether STATE is an error. CANCELLED is none: whoever cancels a job knows why it ended. */
static bool is_failure(const char *state)
{
	static const char *const ends[] = { "BOOT_FAIL", "DEADLINE",	  "FAILED", "LAUNCH_FAILED",
					    "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT" };
	size_t i;

	for (i = 0; state && i < ARRAY_SIZE(ends); i++)
		if (!strcmp(state, ends[i]))
			return true;
	return false;
}

/* Puts the node's name if there is one node. A comma or bracket in NODES means a list of several. */
static void put_host(struct attributes *a, const char *nodes, uint32_t n)
{
	if (n == 1 && nodes && !strpbrk(nodes, ",["))
		put_text(a, "host.name", nodes);
}

static void put_power(struct attributes *a, double joules, uint64_t ran_s)
{
	if (ran_s)
		put_double(a, "hw.power", joules / (double)ran_s);
}

/* --- spans ----------------------------------------------------------------------------------------- */

/* Adds a span without attributes, from START to END in seconds since 1970. NULL: out of memory. */
static Otlp__Span *add_span(struct trace *t, const char *name, const uint8_t *id, const uint8_t *parent,
			    uint64_t start, uint64_t end)
{
	Otlp__Span *s = keep(t->o, sizeof(*s));

	if (!s)
		return NULL;
	otlp__span__init(s);
	s->trace_id = keep_id(t->o, t->parent.trace, sizeof(t->parent.trace));
	s->span_id = keep_id(t->o, id, TRACE_SPAN_SIZE);
	if (parent)
		s->parent_span_id = keep_id(t->o, parent, TRACE_SPAN_SIZE);
	s->name = keep_text(t->o, name);
	s->kind = KIND_INTERNAL;
	s->start_time_unix_nano = start * NSEC_PER_SEC;
	s->end_time_unix_nano = (end > start ? end : start) * NSEC_PER_SEC;
	s->flags = t->parent.flags;
	t->span[t->n++] = s;
	return s;
}

static void give_attributes(Otlp__Span *s, struct attributes *a, const char *state)
{
	if (is_failure(state)) {
		s->status = keep(a->o, sizeof(*s->status));
		if (s->status) {
			otlp__span_status__init(s->status);
			s->status->code = STATUS_ERROR;
		}
		put_text(a, "error.type", state);
	}
	s->attributes = a->list;
	s->n_attributes = a->n;
}

static void add_job(struct trace *t)
{
	const struct record *r = t->record;
	static const uint8_t none[TRACE_SPAN_SIZE];
	uint64_t submit = r->submit ? r->submit : r->start;
	struct attributes a = { .o = t->o };
	uint8_t queue[TRACE_SPAN_SIZE];
	uint64_t ran_s;
	bool has_parent = memcmp(t->parent.span, none, sizeof(none)) != 0;
	Otlp__Span *s = add_span(t, "job", t->job, has_parent ? t->parent.span : NULL, submit, r->end);

	if (!s)
		return;
	put_fields(&a, record_job_fields, r, /* is_step= */ false);
	put_host(&a, r->nodes, r->total_nodes);
	if (r->energy.total_j.known && record_run_s(r, /* now= */ 0, &ran_s))
		put_power(&a, (double)r->energy.total_j.value, ran_s);
	give_attributes(s, &a, r->state);
	trace_span_of_job(t->key, t->key_len, "queue", queue);
	(void)add_span(t, "queue", queue, t->job, submit, r->start ? r->start : r->end);
}

/* "batch", "extern" or "interactive", and "step" for a step with a number: a span's name has few values. */
static const char *step_kind(uint32_t id)
{
	char number[16];
	const char *name = ledger_step_name(id, number, sizeof(number));

	return name == number ? "step" : name;
}

static void add_step(struct trace *t, const struct record_step *step)
{
	struct attributes a = { .o = t->o };
	uint8_t id[TRACE_SPAN_SIZE];
	uint64_t ran_s;
	Otlp__Span *s;

	if (!step->start) /* it never began */
		return;
	trace_span_of_step(t->record->cluster, t->record->job_id, t->record->restart_count, step->step_id,
			   step->het_component.known ? step->het_component.value : 0, id);
	s = add_span(t, step_kind(step->step_id), id, t->job, step->start, step->end);
	if (!s)
		return;
	put_fields(&a, record_step_fields, step, /* is_step= */ true);
	put_host(&a, step->nodes, step->nnodes);
	if (values_has(&step->values, METRIC_ENERGY) && record_step_run_s(step, &ran_s))
		put_power(&a,
			  (double)step->values.value[METRIC_ENERGY] /
				  (double)record_metric_scale(METRIC_ENERGY),
			  ran_s);
	give_attributes(s, &a, step->state);
}

/* --- a record -------------------------------------------------------------------------------------- */

static Otlp__Resource *make_resource(struct otlp_spans *o, const char *cluster)
{
	struct attributes a = { .o = o };
	Otlp__Resource *r = keep(o, sizeof(*r));

	if (!r)
		return NULL;
	otlp__resource__init(r);
	put_text(&a, "service.name", "slurm");
	put_text(&a, "service.namespace", cluster);
	put_text(&a, "slurm.cluster.name", cluster);
	r->attributes = a.list;
	r->n_attributes = a.n;
	return r;
}

static Otlp__ResourceSpans *wrap(struct trace *t)
{
	struct {
		Otlp__ResourceSpans resource;
		Otlp__ScopeSpans scoped, *list;
		Otlp__Scope scope;
	} *w = keep(t->o, sizeof(*w));

	if (!w)
		return NULL;
	otlp__resource_spans__init(&w->resource);
	otlp__scope_spans__init(&w->scoped);
	otlp__scope__init(&w->scope);
	w->scope.name = keep_text(t->o, PACKAGE_NAME);
	w->scope.version = keep_text(t->o, PACKAGE_VERSION);
	w->scoped.scope = &w->scope;
	w->scoped.spans = t->span;
	w->scoped.n_spans = t->n;
	w->list = &w->scoped;
	w->resource.resource = make_resource(t->o, t->record->cluster);
	w->resource.scope_spans = &w->list;
	w->resource.n_scope_spans = 1;
	return &w->resource;
}

/*
 * Returns RESTARTS of a record's key "...,RESTARTS/OFFSET". A part with steps has this number only
 * in its key.
 */
static uint32_t restarts_of(const char *key)
{
	const char *comma = strrchr(key, ',');

	return comma ? (uint32_t)strtoul(comma + 1, NULL, 10) : 0;
}

static int grow_list(struct otlp_spans *o)
{
	size_t room = o->room ? 2 * o->room : 16;
	Otlp__ResourceSpans **list;

	if (o->n < o->room)
		return 0;
	list = reallocarray(o->list, room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	o->list = list;
	o->room = room;
	return 0;
}

static int add_record(struct otlp_spans *o, const struct record *r, const char *key, bool is_part)
{
	struct trace t = { .o = o, .record = r, .key = key, .key_len = strlen(key) };
	size_t i;

	t.span = keep(o, (r->nsteps + 2) * sizeof(Otlp__Span *));
	if (!t.span || grow_list(o) < 0)
		return -ENOMEM;
	/* trace_parent is a text of the user's: validate it */
	if (!trace_context_parse(r->trace_parent, /* may_begin= */ true, &t.parent)) {
		t.parent = (struct trace_context){ .flags = TRACE_SAMPLED };
		trace_id_of_job(key, t.key_len, t.parent.trace);
	}
	trace_span_of_job(key, t.key_len, "job", t.job);
	if (!is_part)
		add_job(&t);
	for (i = 0; i < r->nsteps; i++)
		add_step(&t, &r->steps[i]);
	o->list[o->n] = wrap(&t);
	if (o->is_short)
		return -ENOMEM;
	o->n++;
	o->nspans += t.n;
	return 0;
}

int otlp_spans_add(struct otlp_spans *o, const struct sink_item *item, struct errmsg *err)
{
	const struct chunk *before = o->chunks;
	char key[RECORD_KEY_MAX];
	struct record *r = NULL;
	bool is_part = item->kind == STORE_STEPS;
	int rc;

	(void)snprintf(key, sizeof(key), "%.*s", (int)item->key_len, item->key);
	rc = is_part ? record_from_steps_json(item->json, item->json_len, &r, key, err) :
		       record_from_json(item->json, item->json_len, &r, err);
	if (rc < 0)
		return rc;
	r->restart_count = restarts_of(key);
	rc = add_record(o, r, key, is_part);
	record_destroy(r);
	if (rc < 0) {
		free_chunks(o, before);
		o->is_short = false;
		return errmsg_set(err, rc, "out of memory");
	}
	return 0;
}

/* --- the request ----------------------------------------------------------------------------------- */

struct otlp_spans *otlp_spans_create(bool with_users)
{
	struct otlp_spans *o = calloc(1, sizeof(*o));

	if (o)
		o->with_users = with_users;
	return o;
}

void otlp_spans_destroy(struct otlp_spans *o)
{
	if (!o)
		return;
	free_chunks(o, NULL);
	free(o->list);
	free(o);
}

size_t otlp_spans_count(const struct otlp_spans *o)
{
	return o->nspans;
}

int otlp_spans_pack(const struct otlp_spans *o, bool is_json, void **ret, size_t *ret_len)
{
	Otlp__Request request = OTLP__REQUEST__INIT;

	request.resource_spans = o->list;
	request.n_resource_spans = o->n;
	return otlp_pack(&request.base, is_json, ret, ret_len);
}
