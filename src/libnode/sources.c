/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/libnode/source_module.h"

/* In libraries of their own; all others are part of the plugin. */
static const enum source_id modules[] = { SOURCE_HWMON, SOURCE_REDFISH, SOURCE_IPMI };

struct open_source {
	const struct source_ops *ops;
	struct source *source;
	struct source_module *module; /* that OPS are in; NULL: part of the plugin */
	bool was_read;		      /* once: then it is known which domains it has */
};

struct sources {
	struct open_source open[SOURCE_N];
	size_t nopen;
	uint32_t from[DOMAIN_N];
};

/* What sources_open() chooses from. */
struct offer {
	const struct source_ops *const *builtin;
	size_t nbuiltin;
	const struct source_env *env;
};

static void log_for_module(enum logger_level level, const char *line)
{
	logger_log(level, "%s", line);
}

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
		.module_dir = s->source_dir[0] ? s->source_dir : CEEMS_LIBDIR,
		.log = log_for_module,
	};
}

/* --- opening ---------------------------------------------------------------------------- */

static void note_why(struct errmsg *all, const char *name, const struct errmsg *one)
{
	size_t used = strlen(all->text);

	(void)snprintf(all->text + used, sizeof(all->text) - used, "%s%s: %s", used ? "; " : "",
		       name, one->text[0] ? one->text : "failed");
}

static bool is_module(enum source_id id)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modules); i++)
		if (modules[i] == id)
			return true;
	return false;
}

static int find_ops(const struct offer *of, enum source_id id, struct open_source *o,
		    struct errmsg *err)
{
	size_t i;
	int rc;

	for (i = 0; i < of->nbuiltin; i++)
		if (of->builtin[i]->id == id) {
			o->ops = of->builtin[i];
			return 0;
		}
	if (!is_module(id) || !of->env->module_dir)
		return errmsg_set(err, -ENOENT, "not in this version");
	rc = source_module_load(of->env->module_dir, id, &o->module, err);
	if (rc == 0)
		o->ops = source_module_ops(o->module);
	return rc;
}

static bool open_one(struct sources *s, const struct offer *of, enum source_id id,
		     struct errmsg *why)
{
	struct open_source o = { 0 };
	struct errmsg err = { 0 };
	int rc = find_ops(of, id, &o, &err);

	if (rc == 0)
		rc = o.ops->open(of->env, &o.source, &err);
	if (rc < 0) {
		note_why(why, source_name(id), &err);
		source_module_unload(o.module);
		return false;
	}
	s->open[s->nopen++] = o;
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
		       const struct offer *of, struct errmsg *why)
{
	char item[64];
	unsigned int id;

	while (settings_next_item(&choice, item, sizeof(item)))
		for (id = 0; id < SOURCE_N; id++)
			if (!strcasecmp(source_name((enum source_id)id), item) &&
			    (id == SOURCE_MODEL) == estimates &&
			    !is_open(s, (enum source_id)id))
				(void)open_one(s, of, (enum source_id)id, why);
}

int sources_open(const char *choice, const struct source_ops *const *all, size_t nall,
		 const struct source_env *env, struct sources **ret, struct errmsg *err)
{
	const struct offer of = { .builtin = all, .nbuiltin = nall, .env = env };
	struct sources *s = calloc(1, sizeof(*s));
	struct errmsg why = { 0 };
	unsigned int i;

	if (!s)
		return errmsg_errno(err, -ENOMEM, "energy sources");
	for (i = 0; i < DOMAIN_N; i++)
		s->from[i] = SOURCE_N;
	if (!strcasecmp(choice, "auto")) {
		for (i = 0; i < SOURCE_N && !s->nopen; i++)
			(void)open_one(s, &of, (enum source_id)i, &why);
	} else {
		open_named(s, choice, /* estimates= */ false, &of, &why);
		if (!s->nopen)
			open_named(s, choice, /* estimates= */ true, &of, &why);
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
	for (i = 0; i < s->nopen; i++) {
		s->open[i].ops->close(s->open[i].source);
		source_module_unload(s->open[i].module);
	}
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
