/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/libnode/sources_internal.h"
#include "src/libutil/items.h"
#include "src/libutil/pages.h"

/* The sources among which sources_open() chooses. */
struct offer {
	const struct source_ops *const *builtin;
	size_t nbuiltin;
	const struct source_env *env;
};

struct source_env sources_env(const struct settings *s)
{
	const char *nvml = getenv("CEEMS_NVML_LIBRARY"); /* set by tests only */

	return (struct source_env){
		.settings = s,
		.sys_root = s->sys_root,
		.slow_interval_ns = SOURCES_SLOW_NS,
		.nvml_library = nvml ? nvml : "libnvidia-ml.so.1",
		.rocm_library = "auto",
		.helper_dir = s->helper_dir[0] ? s->helper_dir : CEEMS_LIBEXECDIR,
	};
}

static int find_ops(const struct offer *of, struct sources_entry *e)
{
	size_t i;

	for (i = 0; i < of->nbuiltin; i++)
		if (of->builtin[i]->id == e->id) {
			e->ops = of->builtin[i];
			return 0;
		}
	return errmsg_set(&e->why, -ENOENT, "not in this version");
}

static void close_entry(struct sources_entry *e)
{
	if (e->source)
		e->ops->close(e->source);
	e->source = NULL;
	e->ops = NULL;
}

/* Returns true if this source has a setting of its own that is set. Then it must exist, even with "auto". */
static bool has_setting(const struct source_env *env, enum source_id id)
{
	enum setting setting = (enum setting)source_table[id].setting;
	const char *text;

	if (!env->settings || setting >= SETTING_N)
		return false;
	text = settings_text(env->settings, setting);
	return *text && strcmp(text, settings_keys[setting].initial) != 0;
}

static void open_entry(struct sources *s, const struct offer *of, enum source_id id)
{
	struct sources_entry *e = &s->entry[s->n++];

	e->id = id;
	e->is_configured = !s->is_auto || has_setting(of->env, id);
	e->rc = find_ops(of, e);
	if (e->rc == 0)
		e->rc = e->ops->open(of->env, &e->source, &e->why);
	if (e->rc == 0) {
		s->nopen++;
		return;
	}
	e->source = NULL;
	close_entry(e);
	/*
	 * a source that only EnergySources names is not lost if the node has no such sensor:
	 * only some nodes may have it
	 */
	e->is_lost = e->is_configured && !source_is_estimate(id) &&
		     (has_setting(of->env, id) || (e->rc != -ENODEV && e->rc != -ENOENT));
	if (!e->why.text[0])
		(void)errmsg_errno(&e->why, e->rc, "cannot be opened");
	if (e->rc == -EOPNOTSUPP && !e->is_lost) /* log_lost() logs the others */
		logger_info("%s: %s", source_name(id), e->why.text);
}

struct sources_entry *sources_find(struct sources *s, enum source_id id)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->entry[i].id == id)
			return &s->entry[i];
	return NULL;
}

static void open_named(struct sources *s, const char *choice, bool estimates, const struct offer *of)
{
	char item[64];
	unsigned int id;

	while (items_next(&choice, item, sizeof(item)))
		for (id = 0; id < SOURCE_N; id++)
			if (!strcasecmp(source_name((enum source_id)id), item) &&
			    source_is_estimate(id) == estimates && !sources_find(s, (enum source_id)id))
				open_entry(s, of, (enum source_id)id);
}

static void say_why_none(const struct sources *s, struct errmsg *err)
{
	struct errmsg all = { 0 };
	size_t used = 0;
	size_t i;

	for (i = 0; i < s->n && used < sizeof(all.text); i++) {
		int n = snprintf(all.text + used, sizeof(all.text) - used, "%s%s: %s", used ? "; " : "",
				 source_name(s->entry[i].id), s->entry[i].why.text);

		used += n > 0 ? (size_t)n : 0;
	}
	(void)errmsg_set(err, 0, "%s", all.text[0] ? all.text : "no source is named");
}

int sources_open(const char *choice, const struct source_ops *const *all, size_t nall,
		 const struct source_env *env, struct sources **ret, struct errmsg *err)
{
	const struct offer of = { .builtin = all, .nbuiltin = nall, .env = env };
	struct sources *s = pages_alloc(sizeof(*s));
	unsigned int i;

	if (!s)
		return errmsg_errno(err, -ENOMEM, "energy sources");
	for (i = 0; i < DOMAIN_N; i++)
		s->from[i] = SOURCE_N;
	s->is_auto = !strcasecmp(choice, "auto");
	if (s->is_auto) {
		for (i = 0; i < SOURCE_N; i++)
			open_entry(s, &of, (enum source_id)i);
	} else {
		open_named(s, choice, /* estimates= */ false, &of);
		if (!s->nopen)
			open_named(s, choice, /* estimates= */ true, &of);
	}
	if (!s->nopen)
		say_why_none(s, err);
	*ret = s;
	return 0;
}

void sources_close(struct sources *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->n; i++)
		close_entry(&s->entry[i]);
	pages_free(s, sizeof(*s));
}

/*
 * Returns true for an estimate that is open beside sensors. It is used only if these measure
 * neither CPUs nor the node.
 */
static bool is_standby(const struct sources *s, const struct sources_entry *e)
{
	return source_is_estimate(e->id) && s->nopen > 1;
}

void sources_describe(const struct sources *s, char *buf, size_t size)
{
	size_t used = 0;
	size_t i;

	(void)snprintf(buf, size, "none");
	for (i = 0; i < s->n && used < size; i++) {
		const struct sources_entry *e = &s->entry[i];
		char what[128] = "";
		int n;

		if (!e->source || is_standby(s, e))
			continue;
		if (e->ops->describe)
			e->ops->describe(e->source, what, sizeof(what));
		n = snprintf(buf + used, size - used, "%s%s (%s)", used ? ", " : "", source_name(e->id),
			     what);
		used += n > 0 ? (size_t)n : size;
	}
}

uint64_t sources_lag(const struct sources_entry *e)
{
	return e->source && e->ops->lag ? e->ops->lag(e->source) : 0;
}

const char *sources_why(const struct sources_entry *e)
{
	if (!e->source)
		return e->why.text;
	return e->ops->why ? e->ops->why(e->source) : "";
}

bool sources_status(struct sources *s, enum source_id id, struct sources_status *ret)
{
	const struct sources_entry *e = sources_find(s, id);

	if (!e)
		return false;
	*ret = (struct sources_status){
		.is_open = e->source != NULL,
		.is_node = s->node == e,
		.has_modules = sources_modules_use(s, e),
		.is_configured = e->is_configured,
		.is_lost = e->is_lost,
		.lag_ns = sources_lag(e),
		.rc = e->rc,
		.why = sources_why(e),
		.notes = e->source && e->ops->notes ? e->ops->notes(e->source) : "",
		.last = e->was_read ? &e->last : NULL,
	};
	if (e->source && e->ops->describe)
		e->ops->describe(e->source, ret->about, sizeof(ret->about));
	return true;
}

const struct gpu_slices *sources_slices(const struct sources *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct gpu_slices *slices = s->entry[i].source && s->entry[i].ops->slices ?
							  s->entry[i].ops->slices(s->entry[i].source) :
							  NULL;

		if (slices && slices->n)
			return slices;
	}
	return NULL;
}

size_t sources_zones(const struct sources *s, struct source_zone *ret, size_t max)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < s->n && n < max; i++)
		if (s->entry[i].source && s->entry[i].ops->zones)
			n += s->entry[i].ops->zones(s->entry[i].source, ret + n, max - n);
	return n;
}

size_t sources_gpus(const struct sources *s, struct gpu_reading *ret, size_t max)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < s->n && n < max; i++)
		if (s->entry[i].source && s->entry[i].ops->gpus)
			n += s->entry[i].ops->gpus(s->entry[i].source, ret + n, max - n);
	return n;
}

size_t sources_instances(const struct sources *s, const struct gpu_instance_reading **ret)
{
	size_t n = 0;
	size_t i;

	*ret = NULL;
	for (i = 0; i < s->n && !n; i++)
		if (s->entry[i].source && s->entry[i].ops->instances)
			n = s->entry[i].ops->instances(s->entry[i].source, ret);
	return n;
}
