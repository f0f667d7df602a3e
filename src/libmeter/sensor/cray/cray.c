/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HPE Cray's pm_counters: the blade controller measures the node, its CPUs, memory and accelerators
 * about ten times a second. Each file is like "12044825101 J 7810213855886 us"; the second number
 * is the controller's own time, from an unknown start. `freshness` counts the scans: it tells
 * whether values are of one scan, and whether the controller has stopped. `startup` changes when
 * the controller restarts; its counters may then restart, too. `generation` is not read: HPE's
 * documentation says that it counts changes of the power cap, which do not affect the energy
 * counters.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "src/libcore/unit.h"
#include "src/libmeter/sensor/counter_state.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"

#define PM_COUNTERS "/sys/cray/pm_counters/"
#define DRM "/sys/class/drm"
#define STARTUP "startup" /* name of the file, and of its value in the state */

/* The most tries to read one scan. A new one comes every 100 ms, and reading takes microseconds. */
#define SCAN_TRIES 3
/* If there was no new scan for this time, which is that of twenty scans, the controller has stopped. */
#define STALE_NS (2 * NSEC_PER_SEC)

/* How much slower than ours the controller's clock may run. */
#define DRIFT_PPM 100
/* The largest difference of two stamps that is valid; in ns it fits 63 bits. */
#define STAMP_MAX_US (INT64_MAX / 2000)
/* If a new scan seems older than this, the controller's clock was set. */
#define STAMP_JUMP_NS ((int64_t)(2 * NSEC_PER_SEC))

struct meter {
	char name[24]; /* name of the file, and of the counter in the state */
	enum domain domain;
	unsigned int unit;
	enum part_scope scope;
	int fd;
	struct counter counter;
};

/*
 * Converts the controller's time to CLOCK_MONOTONIC. The offset is that of the scan that was read
 * with the least delay.
 */
struct stamp_clock {
	bool is_known;
	/* CLOCK_MONOTONIC minus the controller's time, by the scan read with the least delay */
	int64_t ahead_ns;
	uint64_t seen_ns; /* CLOCK_MONOTONIC of the last scan */
};

struct source {
	struct meter meter[3 + GPUS_MAX];
	size_t n;
	int freshness_fd;
	int startup_fd; /* -1: there is no such file */
	unsigned int naccels_left_out;

	bool has_scan;
	uint64_t freshness; /* number of the last scan that was read */
	uint64_t age_ns;    /* time since that scan was read */
	uint64_t until_ns;  /* when the controller took that scan; 0: not known */
	struct stamp_clock clock;
};

/* --- one value ---------------------------------------------------------------------------- */

struct value {
	uint64_t energy_uj;
	uint64_t stamp_us; /* time of the controller; 0: the file does not have it */
};

/* Parses the content of a file, "N J" or "N J N us". */
static int parse_value(char *text, struct value *ret)
{
	const char *number, *unit, *stamp, *stamp_unit;
	struct value v = { 0 };

	text[strcspn(text, "\n")] = '\0';
	number = strsep(&text, " ");
	unit = strsep(&text, " ");
	stamp = strsep(&text, " ");
	stamp_unit = text;
	if (parse_u64(number, &v.energy_uj) < 0 || !unit || strcmp(unit, "J") ||
	    __builtin_mul_overflow(v.energy_uj, UJ_PER_J, &v.energy_uj))
		return -EINVAL;
	if (stamp && (!stamp_unit || strcmp(stamp_unit, "us") || parse_u64(stamp, &v.stamp_us) < 0 ||
		      v.stamp_us > STAMP_MAX_US))
		return -EINVAL;
	*ret = v;
	return 0;
}

static int read_value(int fd, struct value *ret)
{
	char text[80];
	ssize_t n = fileio_pread_all(fd, text, sizeof(text));

	return n < 0 ? (int)n : parse_value(text, ret);
}

static uint64_t stamp_to_mono(struct stamp_clock *c, uint64_t stamp_us, uint64_t now_ns)
{
	int64_t stamp_ns = (int64_t)stamp_us * 1000;
	int64_t ahead_ns = (int64_t)now_ns - stamp_ns;
	uint64_t drift_ns = (now_ns - c->seen_ns) / 1000000 * DRIFT_PPM;

	c->ahead_ns += (int64_t)drift_ns;
	if (!c->is_known || ahead_ns < c->ahead_ns || ahead_ns - c->ahead_ns > STAMP_JUMP_NS)
		c->ahead_ns = ahead_ns;
	c->is_known = true;
	c->seen_ns = now_ns;
	return (uint64_t)(stamp_ns + c->ahead_ns);
}

/* --- open --------------------------------------------------------------------------------- */

static int open_file(const char *root, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), PM_COUNTERS "%s", name);
	return fileio_open_at_root(root, path);
}

static int add_meter(struct source *s, const char *root, const char *name, enum domain d, unsigned int unit)
{
	struct meter *m = &s->meter[s->n];
	int fd = open_file(root, name);

	if (fd < 0)
		return fd;
	*m = (struct meter){ .domain = d, .unit = unit, .fd = fd };
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->scope = d == DOMAIN_OTHER ? SCOPE_NODE : SCOPE_UNIT;
	/* the counter never wraps: if it goes back, the controller was restarted */
	m->counter.range_uj = UINT64_MAX;
	m->counter.max_w = d == DOMAIN_GPU ? COUNTER_PACKAGE_MAX_W : COUNTER_PLATFORM_MAX_W;
	s->n++;
	return 0;
}

static void drop_meters(struct source *s, size_t from)
{
	while (s->n > from)
		(void)close(s->meter[--s->n].fd);
}

/* Counts the GPUs that have a device node; 0 if the driver makes none. */
static unsigned int count_gpus(const char *root)
{
	char path[PATH_MAX];
	struct dirent *e;
	unsigned int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s" DRM, strcmp(root, "/") ? root : "");
	d = opendir(path);
	while (d && (e = readdir(d)))
		n += !strncmp(e->d_name, "renderD", strlen("renderD"));
	if (d)
		(void)closedir(d);
	return n;
}

/*
 * Adds the accelerators. Their counters are by module. If a module is several GPUs for jobs (MI250X: two),
 * its counter does not show which GPU used the energy, so its energy counts to the rest of the node.
 */
static void add_accelerators(struct source *s, const char *root)
{
	size_t before = s->n;
	unsigned int unit;
	char name[24];

	for (unit = 0; unit < GPUS_MAX; unit++) {
		snprintf(name, sizeof(name), "accel%u_energy", unit);
		if (add_meter(s, root, name, DOMAIN_GPU, unit) < 0)
			break;
	}
	if (!unit) /* on a Cray XC, the only accelerator has no number */
		(void)add_meter(s, root, "accel_energy", DOMAIN_GPU, 0);
	if (count_gpus(root) > s->n - before) {
		s->naccels_left_out = (unsigned int)(s->n - before);
		drop_meters(s, before);
	}
}

static void cray_close(struct source *s)
{
	if (!s)
		return;
	drop_meters(s, 0);
	if (s->freshness_fd >= 0)
		(void)close(s->freshness_fd);
	if (s->startup_fd >= 0)
		(void)close(s->startup_fd);
	free(s);
}

static int cray_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	struct source *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return errmsg_set(err, -ENOMEM, "cray: out of memory");
	s->freshness_fd = s->startup_fd = -1;
	rc = add_meter(s, env->sys_root, "energy", DOMAIN_OTHER, 0);
	if (rc == -ENOENT || rc == -ENOTDIR) {
		rc = errmsg_set(err, -ENODEV, "no %s" PM_COUNTERS "energy",
				strcmp(env->sys_root, "/") ? env->sys_root : "");
		goto fail;
	}
	if (rc == 0)
		rc = s->freshness_fd = open_file(env->sys_root, "freshness");
	if (rc < 0) {
		rc = errmsg_errno(err, rc, PM_COUNTERS "%s: cannot open", s->n ? "freshness" : "energy");
		goto fail;
	}
	s->startup_fd = open_file(env->sys_root, STARTUP);
	(void)add_meter(s, env->sys_root, "cpu_energy", DOMAIN_CPU, 0);
	(void)add_meter(s, env->sys_root, "memory_energy", DOMAIN_DRAM, 0);
	add_accelerators(s, env->sys_root);
	*ret = s;
	return 0;
fail:
	cray_close(s);
	return rc;
}

/* --- read --------------------------------------------------------------------------------- */

struct scan {
	uint64_t freshness;
	struct value value[3 + GPUS_MAX];
	int rc[3 + GPUS_MAX];
};

/* Reads all values of one scan. -EAGAIN: a new scan came during each try. */
static int read_scan(const struct source *s, struct scan *ret)
{
	uint64_t after;
	size_t i;
	int try;
	int rc;

	for (try = 0; try < SCAN_TRIES; try++) {
		rc = fileio_pread_u64(s->freshness_fd, &ret->freshness);
		for (i = 0; rc == 0 && i < s->n; i++)
			ret->rc[i] = read_value(s->meter[i].fd, &ret->value[i]);
		if (rc == 0)
			rc = fileio_pread_u64(s->freshness_fd, &after);
		if (rc < 0)
			return rc;
		if (after == ret->freshness)
			return 0;
	}
	return -EAGAIN;
}

/* Forgets the bases if the controller restarted, since its counters may begin anew. */
static void check_startup(struct source *s, struct source_state *state)
{
	const uint64_t *saved = source_state_find(state, STARTUP);
	uint64_t startup;
	size_t i;

	if (s->startup_fd < 0 || fileio_pread_u64(s->startup_fd, &startup) < 0)
		return;
	for (i = 0; saved && *saved != startup && i < s->n; i++)
		counter_state_forget(&s->meter[i].counter, state, s->meter[i].name);
	(void)source_state_put(state, STARTUP, startup);
}

static void note_scan(struct source *s, const struct scan *scan, uint64_t now_ns)
{
	uint64_t until_ns = 0;
	size_t i;

	s->has_scan = true;
	s->freshness = scan->freshness;
	s->age_ns = 0;
	for (i = 0; i < s->n && !until_ns; i++)
		if (scan->rc[i] == 0 && scan->value[i].stamp_us)
			until_ns = stamp_to_mono(&s->clock, scan->value[i].stamp_us, now_ns);
	/* until_ns must not go back, also if the offset of the clocks was corrected */
	if (!until_ns || until_ns > s->until_ns)
		s->until_ns = until_ns;
}

static int cray_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
		     struct reading *ret)
{
	struct reading out = { 0 };
	struct scan scan = { 0 };
	size_t good = 0;
	size_t i;
	int rc;

	(void)busy_ppm;
	check_startup(s, state);
	s->age_ns += dt_ns;
	rc = read_scan(s, &scan);
	if (rc == 0 && s->has_scan && scan.freshness == s->freshness)
		rc = -EALREADY;
	if (rc == 0)
		note_scan(s, &scan, clock_mono_ns());
	for (i = 0; i < s->n; i++) {
		struct meter *m = &s->meter[i];
		struct part *part = reading_part_of(&out, m->scope, 0, m->domain, m->unit, QUALITY_COUNTER);
		int one = rc < 0 ? rc : scan.rc[i];
		bool wrapped;

		part->until_ns = s->until_ns;
		good += one == 0;
		one = counter_state_advance(&m->counter, state, m->name, one, scan.value[i].energy_uj, dt_ns,
					    &part->energy_uj, &wrapped);
		part->is_new_base = one == 1;
		part->is_unsure = one == 0 && m->counter.is_unsure;
		part->is_unread = one < 0 && one != -EALREADY;
		out.rejected += part->is_unread;
	}
	if (rc == -EALREADY)
		out.late += s->age_ns > STALE_NS;
	else if (!good && rc != -EAGAIN)
		return -EIO;
	*ret = out;
	return 0;
}

static void cray_describe(const struct source *s, char *buf, size_t size)
{
	unsigned int ngpus = 0;
	bool has[DOMAIN_N] = { false };
	size_t i;
	int n;

	for (i = 0; i < s->n; i++) {
		has[s->meter[i].domain] = true;
		ngpus += s->meter[i].domain == DOMAIN_GPU;
	}
	n = snprintf(buf, size, "node%s%s", has[DOMAIN_CPU] ? ", cpu" : "",
		     has[DOMAIN_DRAM] ? ", memory" : "");
	if (n < 0 || (size_t)n >= size)
		return;
	if (ngpus)
		snprintf(buf + n, size - (size_t)n, ", %u accelerator%s", ngpus, ngpus == 1 ? "" : "s");
	else if (s->naccels_left_out)
		snprintf(buf + n, size - (size_t)n,
			 "; %u accelerators have several GPUs each; left to rocm or nvml",
			 s->naccels_left_out);
}

const struct source_ops source_cray = {
	.id = SOURCE_CRAY,
	.open = cray_open,
	.read = cray_read,
	.describe = cray_describe,
	.close = cray_close,
};
