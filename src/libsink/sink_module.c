/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/sink_module.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/module.h"
#include "src/libutil/util.h"

static void log_for_module(enum logger_level level, const char *line)
{
	logger_log(level, "%s", line);
}

/* What is mapped, each once, until sink_modules_unmap(). */
static pthread_mutex_t mapped_lock = PTHREAD_MUTEX_INITIALIZER;
static void *mapped[4];

static void keep_mapped(void *handle)
{
	size_t i = 0;

	(void)pthread_mutex_lock(&mapped_lock);
	while (i < ARRAY_SIZE(mapped) && mapped[i] && mapped[i] != handle)
		i++;
	if (i < ARRAY_SIZE(mapped)) {
		if (mapped[i])
			module_close(handle); /* once is enough */
		mapped[i] = handle;
	}
	(void)pthread_mutex_unlock(&mapped_lock);
}

void sink_modules_unmap(void)
{
	size_t i;

	(void)pthread_mutex_lock(&mapped_lock);
	for (i = 0; i < ARRAY_SIZE(mapped); i++)
		module_close(TAKE_PTR(mapped[i]));
	(void)pthread_mutex_unlock(&mapped_lock);
}

static int load(const struct settings *s, const char *name, sink_module_fn **ret_get,
		const struct sink_module **ret, struct errmsg *err)
{
	const char *dir = s->sink_dir[0] ? s->sink_dir : CEEMS_LIBDIR;
	const struct sink_module *m;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/ceems_sink_%s.so", dir, name);
	sink_module_fn *get;
	module_fn *fn;
	void *handle;
	int rc;

	if (n < 0 || (size_t)n >= sizeof(path))
		return errmsg_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	rc = module_open(path, SINK_MODULE_SYMBOL, &handle, &fn, err);
	if (rc < 0)
		return rc;
	get = (sink_module_fn *)fn;
	m = get(SINK_ABI, log_for_module);
	if (!m)
		rc = errmsg_set(err, -EPROTO, "%s: is of another version of slurm-ceems", path);
	else if (strcmp(m->ops->name, name) != 0)
		rc = errmsg_set(err, -EPROTO, "%s: is the module of another sink, %s", path,
				m->ops->name);
	if (rc < 0) {
		module_close(handle);
		return rc;
	}
	keep_mapped(handle);
	*ret_get = get;
	*ret = m;
	return 0;
}

int sink_module_load(const struct settings *s, const char *name, const struct sink_module **ret,
		     struct errmsg *err)
{
	sink_module_fn *get;

	return load(s, name, &get, ret, err);
}

const char *sink_module_hint(const char *name)
{
	return !strcmp(name, "kafka") ? "apt install slurm-ceems-kafka, or build with librdkafka" :
					"apt install slurm-ceems-mariadb, or build with libmariadb";
}

/* --- a sink of a module ---------------------------------------------------------------------- */

struct sink {
	const struct sink_ops *ops; /* the module's */
	sink_module_fn *get;
	struct sink *inner; /* and its sink */
};

/* We may be unmapped before the module is. */
static void let_go(sink_module_fn *get)
{
	(void)get(SINK_ABI, NULL);
}

static int open_module(const char *name, const struct settings *s, struct sink **ret,
		       struct errmsg *err)
{
	struct sink *k = calloc(1, sizeof(*k));
	const struct sink_module *m;
	int rc;

	if (!k)
		return errmsg_set(err, -ENOMEM, "out of memory");
	rc = load(s, name, &k->get, &m, err);
	if (rc == 0) {
		k->ops = m->ops;
		rc = k->ops->open(s, &k->inner, err);
		if (rc < 0)
			let_go(k->get);
	}
	if (rc < 0) {
		free(k);
		return rc;
	}
	*ret = k;
	return 0;
}

static int open_kafka(const struct settings *s, struct sink **ret, struct errmsg *err)
{
	return open_module("kafka", s, ret, err);
}

static int open_mariadb(const struct settings *s, struct sink **ret, struct errmsg *err)
{
	return open_module("mariadb", s, ret, err);
}

static int module_deliver(struct sink *k, struct sink_item *item, size_t n,
			  enum sink_result *result, uint64_t timeout_ns, struct errmsg *err)
{
	return k->ops->deliver(k->inner, item, n, result, timeout_ns, err);
}

static void module_closed(struct sink *k)
{
	k->ops->close(k->inner);
	let_go(k->get);
	free(k);
}

const struct sink_ops *sink_find(const char *name)
{
	static const struct sink_ops kafka = { SINK_KAFKA,
					       .open = open_kafka,
					       .deliver = module_deliver,
					       .close = module_closed };
	static const struct sink_ops mariadb = { SINK_MARIADB,
						 .open = open_mariadb,
						 .deliver = module_deliver,
						 .close = module_closed };
	static const struct sink_ops *const sinks[] = { &sink_file, &kafka, &mariadb };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sinks); i++)
		if (!strcmp(sinks[i]->name, name))
			return sinks[i];
	return NULL;
}
