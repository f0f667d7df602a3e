/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h - a source on a copy of a machine's /sys and /proc, whose files are changed under it.
 */
#ifndef CEEMS_MACHINE_H
#define CEEMS_MACHINE_H

#include "reading_sums.h"
#include "scratch.h"
#include "src/libcore/settings.h"
#include "src/libutil/clock.h"
#include "tap.h"

struct machine {
	const struct source_ops *ops;
	char root[64];
	struct settings settings;
	struct source_env env;
	struct source *source;
	struct source_state state;
	struct reading r;
	struct errmsg err;
};

static inline void machine_shell(const char *fmt, ...) _printf_(1, 2);
static inline void machine_shell(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	if (system(cmd) != 0)
		diag("failed: %s", cmd);
}

/* FIXTURE is a folder of tests/fixtures; NULL: an empty machine. */
static inline void machine_init(struct machine *m, const struct source_ops *ops, const char *fixture)
{
	memset(m, 0, sizeof(*m));
	m->ops = ops;
	strcpy(m->root, SCRATCH_TEMPLATE);
	if (!mkdtemp(m->root)) {
		diag("cannot make a folder below /tmp");
		exit(99);
	}
	m->env.settings = &m->settings;
	m->env.sys_root = m->root;
	if (fixture) /* distcheck's are read-only */
		machine_shell("cp -R '" FIXTURES "/%s'/. '%s' && chmod -R u+w '%s'", fixture, m->root,
			      m->root);
}

static inline void machine_close(struct machine *m)
{
	if (m->source)
		m->ops->close(m->source);
	m->source = NULL;
}

static inline void machine_fini(struct machine *m)
{
	machine_close(m);
	machine_shell("rm -rf '%s'", m->root);
}

static inline int machine_open(struct machine *m)
{
	m->err.text[0] = '\0';
	return m->ops->open(&m->env, &m->source, &m->err);
}

/* As after a restart of slurmd: another process, the same state. */
static inline int machine_reopen(struct machine *m)
{
	machine_close(m);
	return machine_open(m);
}

static inline int machine_read(struct machine *m, uint64_t dt_ns)
{
	m->r = (struct reading){ 0 };
	return m->ops->read(m->source, dt_ns, 0, &m->state, &m->r);
}

/* In place, as a kernel's file changes: no new inode. */
static inline void machine_put(const struct machine *m, const char *path, const char *text)
{
	if (!scratch_write(scratch_path(m->root, path), text, strlen(text)))
		diag("cannot write %s", path);
}

static inline const struct part *machine_part(const struct machine *m, enum domain d, unsigned int unit)
{
	uint32_t i;

	for (i = 0; i < m->r.nparts; i++)
		if (m->r.part[i].domain == d && m->r.part[i].unit == unit)
			return &m->r.part[i];
	return NULL;
}

/* UINT64_MAX: no such part. */
static inline uint64_t machine_uj(const struct machine *m, enum domain d, unsigned int unit)
{
	const struct part *p = machine_part(m, d, unit);

	return p ? p->energy_uj : UINT64_MAX;
}

#endif
