/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct open_source {
	const struct source_ops *ops;
	struct source *source;
	bool was_read; /* once: then it is known which domains it has */
};

struct sources {
	struct open_source open[SOURCE_N];
	size_t nopen;
	uint32_t from[DOMAIN_N];
};

struct source_env sources_env(const struct settings *s)
{
	return (struct source_env){
		.sys_root = s->sys_root,
		.model_idle_mw = s->model_idle_mw,
		.model_max_mw = s->model_max_mw,
		.external_file = s->external_source,
		.redfish_conf = s->redfish_conf,
		.ipmi_sensor = s->ipmi_sensor,
		.slow_interval_ns = s->slow_interval_ns,
		.nvml_library = s->nvml_library,
		.rocm_library = s->rocm_library,
	};
}

static void note_why(struct errmsg *all, const char *name, const struct errmsg *one)
{
	size_t used = strlen(all->text);

	(void)snprintf(all->text + used, sizeof(all->text) - used, "%s%s: %s", used ? "; " : "",
		       name, one->text[0] ? one->text : "failed");
}

static bool open_one(struct sources *s, const struct source_ops *ops,
		     const struct source_env *env, struct errmsg *why)
{
	struct open_source *o = &s->open[s->nopen];
	struct errmsg err = { 0 };

	if (s->nopen == SOURCE_N || ops->open(env, &o->source, &err) < 0) {
		note_why(why, ops->name, &err);
		return false;
	}
	o->ops = ops;
	s->nopen++;
	return true;
}

static bool is_open(const struct sources *s, enum source_id id)
{
	size_t i;

	for (i = 0; i < s->nopen; i++)
		if (s->open[i].ops->id == id)
			return true;
	return false;
}

static void open_named(struct sources *s, const char *choice, bool estimates,
		       const struct source_ops *const *all, size_t nall,
		       const struct source_env *env, struct errmsg *why)
{
	char item[64];
	size_t i;

	while (settings_next_item(&choice, item, sizeof(item)))
		for (i = 0; i < nall; i++)
			if (!strcasecmp(all[i]->name, item) &&
			    all[i]->is_estimate == estimates && !is_open(s, all[i]->id))
				(void)open_one(s, all[i], env, why);
}

int sources_open(const char *choice, const struct source_ops *const *all, size_t nall,
		 const struct source_env *env, struct sources **ret, struct errmsg *err)
{
	struct sources *s = calloc(1, sizeof(*s));
	struct errmsg why = { 0 };
	size_t i;

	if (!s)
		return errmsg_errno(err, -ENOMEM, "energy sources");
	for (i = 0; i < DOMAIN_N; i++)
		s->from[i] = SOURCE_N;
	if (!strcasecmp(choice, "auto")) {
		for (i = 0; i < nall && !s->nopen; i++)
			(void)open_one(s, all[i], env, &why);
	} else {
		open_named(s, choice, /* estimates= */ false, all, nall, env, &why);
		if (!s->nopen)
			open_named(s, choice, /* estimates= */ true, all, nall, env, &why);
	}
	if (!s->nopen)
		(void)errmsg_set(err, 0, "%s", why.text[0] ? why.text : "no source is named");
	*ret = s;
	return 0;
}

void sources_close(struct sources *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->nopen; i++)
		s->open[i].ops->close(s->open[i].source);
	free(s);
}

void sources_describe(const struct sources *s, char *buf, size_t size)
{
	size_t used = 0;
	size_t i;

	(void)snprintf(buf, size, "none");
	for (i = 0; i < s->nopen && used < size; i++) {
		const struct open_source *o = &s->open[i];
		char what[128] = "";
		int n;

		if (o->ops->describe)
			o->ops->describe(o->source, what, sizeof(what));
		n = snprintf(buf + used, size - used, "%s%s (%s)", used ? ", " : "",
			     o->ops->name, what);
		used += n > 0 ? (size_t)n : size;
	}
}

static struct sources_part *part_of(struct sources_reading *ret, const struct reading_part *p,
				    enum source_id from)
{
	struct sources_part *part;
	uint32_t i;

	for (i = 0; i < ret->nparts; i++) {
		part = &ret->part[i];
		if (part->domain == p->domain && part->unit == p->unit)
			return part;
	}
	if (ret->nparts == READING_PARTS_MAX)
		return &ret->part[READING_PARTS_MAX - 1];
	part = &ret->part[ret->nparts++];
	*part = (struct sources_part){
		.domain = p->domain,
		.unit = p->unit,
		.source = (uint8_t)from,
		.quality = p->quality,
		.idle_mw = p->idle_mw,
	};
	return part;
}

static void take_domains(struct sources *s, const struct open_source *o,
			 const struct reading *r, struct sources_reading *ret)
{
	uint32_t i;

	for (i = 0; i < r->nparts; i++) {
		const struct reading_part *p = &r->part[i];

		if (p->domain >= DOMAIN_N)
			continue;
		if (s->from[p->domain] == SOURCE_N)
			s->from[p->domain] = o->ops->id;
		if (s->from[p->domain] == o->ops->id)
			part_of(ret, p, o->ops->id)->energy_uj += p->energy_uj;
	}
}

void sources_read(struct sources *s, uint64_t dt_ns, uint32_t busy_ppm,
		  struct source_state *state, struct sources_reading *ret)
{
	unsigned int id;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	for (id = 0; id < SOURCE_N; id++)
		if (state[id].ncounters && !is_open(s, (enum source_id)id))
			memset(&state[id], 0, sizeof(state[id]));
	for (i = 0; i < s->nopen; i++) {
		struct open_source *o = &s->open[i];
		struct reading r = { 0 };
		int rc = o->ops->read(o->source, dt_ns, busy_ppm, &state[o->ops->id], &r);

		ret->rejected += r.rejected;
		ret->wraps += r.wraps;
		ret->late += r.late;
		if (rc < 0) {
			ret->failed = rc;
			ret->failed_id = o->ops->id;
			if (!o->was_read)
				break; /* a later one must not take what may be its */
			continue;
		}
		o->was_read = true;
		take_domains(s, o, &r, ret);
	}
	memcpy(ret->from, s->from, sizeof(ret->from));
}
