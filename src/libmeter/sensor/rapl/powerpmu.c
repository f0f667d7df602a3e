/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/rapl/powerpmu.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libmeter/sensor/counter_state.h"
#include "src/libmeter/sensor/topology.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"
#include "src/libutil/parse.h"
#include "src/libutil/wide_math.h"

#define PMU "/sys/bus/event_source/devices/power/"

/* count * num / den are exact microjoules. */
struct scale {
	uint64_t num;
	uint64_t den;
};

/* energy-cores and energy-gpu are not listed: the package contains their energy. */
static const struct kind {
	const char *name;
	enum domain domain;
	uint64_t max_w;
	const char *zone;
} kinds[] = {
	{ "energy-pkg", DOMAIN_CPU, COUNTER_PACKAGE_MAX_W, "package" },
	{ "energy-ram", DOMAIN_DRAM, COUNTER_PACKAGE_MAX_W, "dram" },
	{ "energy-psys", DOMAIN_OTHER, COUNTER_PLATFORM_MAX_W, "psys" },
};

struct event {
	char name[32]; /* name of the counter in the state, such as "energy-pkg cpu0" */
	const struct kind *kind;
	uint64_t package;
	unsigned int unit;
	int handle;
	struct scale scale;
	struct counter counter;
};

struct powerpmu {
	const struct perf_event_ops *ops;
	void *ctx;
	struct event event[SOURCE_MAX_COUNTERS];
	size_t n;
	bool was_read;
};

/* --- what sysfs says ---------------------------------------------------------------------- */

static int read_text(const char *root, const char *name, char *buf, size_t size)
{
	char path[128];

	if ((size_t)snprintf(path, sizeof(path), PMU "%s", name) >= sizeof(path))
		return -ENAMETOOLONG;
	return fileio_read_line(root, path, buf, size);
}

/* Parses "event=0x02"; the PMU's format has it in the low bits of config. */
static int parse_config(const char *text, uint64_t *ret)
{
	static const char term[] = "event=";

	return strncmp(text, term, strlen(term)) ? -EINVAL : parse_hex(text + strlen(term), ret);
}

static void reduce(u128 *num, u128 *den, unsigned int by)
{
	while (*num % by == 0 && *den % by == 0) {
		*num /= by;
		*den /= by;
	}
}

/*
 * Parses joules per count, such as "2.3283064365386962890625e-10" (2^-32), without a double: as a
 * fraction, the powers of 2 and 5 cancel. -EINVAL: not a number, or a fraction that does not
 * cancel.
 */
static int parse_scale(const char *s, struct scale *ret)
{
	u128 num = 0;
	u128 den = 1;
	int exponent = 6; /* J to uJ */
	bool in_fraction = false;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	for (; isdigit((unsigned char)*s) || (*s == '.' && !in_fraction); s++) {
		if (*s == '.') {
			in_fraction = true;
			continue;
		}
		if (num > UINT64_MAX * (u128)UINT32_MAX)
			return -EINVAL;
		num = num * 10 + (unsigned int)(*s - '0');
		exponent -= in_fraction;
	}
	if (*s == 'e' || *s == 'E') {
		bool is_negative = s[1] == '-';
		uint64_t e;

		if (parse_u64(s + 1 + (s[1] == '-' || s[1] == '+'), &e) < 0 || e > 99)
			return -EINVAL;
		exponent += is_negative ? -(int)e : (int)e;
		s += strlen(s);
	}
	if (*s || !num || exponent > 6 || exponent < -38)
		return -EINVAL;
	for (; exponent < 0; exponent++)
		den *= 10;
	for (; exponent > 0; exponent--)
		num *= 10;
	reduce(&num, &den, 2);
	reduce(&num, &den, 5);
	if (num > UINT64_MAX || den > UINT64_MAX)
		return -EINVAL;
	*ret = (struct scale){ .num = (uint64_t)num, .den = (uint64_t)den };
	return 0;
}

/* How to count a kind of energy. */
struct spec {
	bool is_there;
	uint64_t config;
	struct scale scale;
};

static int read_spec(const char *root, const struct kind *k, struct spec *ret)
{
	char name[64], text[64];
	struct spec spec = { .is_there = true };
	int rc;

	(void)snprintf(name, sizeof(name), "events/%s", k->name);
	rc = read_text(root, name, text, sizeof(text));
	if (rc == 0)
		rc = parse_config(text, &spec.config);
	if (rc < 0)
		return rc;
	(void)snprintf(name, sizeof(name), "events/%s.unit", k->name);
	rc = read_text(root, name, text, sizeof(text));
	if (rc == 0 && strcmp(text, "Joules") != 0)
		rc = -EINVAL;
	if (rc < 0)
		return rc == -ENOENT ? -EINVAL : rc;
	(void)snprintf(name, sizeof(name), "events/%s.scale", k->name);
	rc = read_text(root, name, text, sizeof(text));
	if (rc == 0)
		rc = parse_scale(text, &spec.scale);
	if (rc < 0)
		return rc == -ENOENT ? -EINVAL : rc;
	*ret = spec;
	return 0;
}

/*
 * Returns true for AMD, which has one counter per package. Kernels before 6.12 show it for each
 * die.
 */
static bool is_per_package(const char *root)
{
	_cleanup_close_ int fd = fileio_open_at_root(root, "/proc/cpuinfo");
	char text[1024];
	ssize_t n = fd < 0 ? fd : pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return false;
	text[n] = '\0';
	return strstr(text, "AuthenticAMD") || strstr(text, "HygonGenuine");
}

/* --- open --------------------------------------------------------------------------------- */

struct opening {
	struct powerpmu *p;
	uint32_t type;
	struct spec spec[ARRAY_SIZE(kinds)];
	const struct topology *topology;
	bool is_per_package;
};

static int open_one(struct powerpmu *p, uint32_t type, const struct kind *k, const struct spec *spec,
		    uint32_t cpu, uint64_t package, unsigned int socket)
{
	struct event *e = &p->event[p->n];
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .config = spec->config };
	int handle;

	if (p->n == ARRAY_SIZE(p->event))
		return -E2BIG;
	handle = p->ops->open(p->ctx, &attr, /* pid= */ -1, (int)cpu, /* group= */ -1, /* flags= */ 0);
	if (handle < 0)
		return handle;
	*e = (struct event){
		.kind = k,
		.package = package,
		.unit = k->domain == DOMAIN_OTHER ? 0 : socket,
		.handle = handle,
		.scale = spec->scale,
		.counter = { .range_uj = UINT64_MAX, .max_w = k->max_w },
	};
	(void)snprintf(e->name, sizeof(e->name), "%s cpu%" PRIu32, k->name, cpu);
	p->n++;
	return 0;
}

/* Returns true if the events of the package are open. Where no CPU says its package, there is one. */
static bool has_package(const struct powerpmu *p, uint64_t package)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->event[i].package == package)
			return true;
	return false;
}

/*
 * Opens all energy events of the PMU on one CPU. With one counter per package, only on
 * the first CPU of a socket.
 */
static int open_cpu(struct opening *o, uint32_t cpu, struct errmsg *err)
{
	uint64_t package = cpu < o->topology->ncpus ? o->topology->cpu_package[cpu] : TOPOLOGY_NO_PACKAGE;
	size_t i;

	if (o->is_per_package && has_package(o->p, package))
		return 0;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		int rc = o->spec[i].is_there ? open_one(o->p, o->type, &kinds[i], &o->spec[i], cpu, package,
							topology_socket(o->topology, package)) :
					       0;

		if (rc < 0)
			return errmsg_errno(err, rc, "perf PMU power, %s on CPU %" PRIu32, kinds[i].name,
					    cpu);
	}
	return 0;
}

/* Opens the events on each CPU in MASK ("0,18" or "0-1"), one per package or die. */
static int open_cpumask(struct opening *o, char *mask, struct errmsg *err)
{
	char *item;
	int rc = 0;

	while (rc == 0 && (item = strsep(&mask, ","))) {
		const char *first = strsep(&item, "-");
		uint64_t cpu, last;

		if (parse_u64(first, &cpu) < 0 || parse_u64(item ? item : first, &last) < 0 ||
		    last > UINT16_MAX)
			return errmsg_set(err, -EINVAL, PMU "cpumask: not a list of CPUs");
		for (; rc == 0 && cpu <= last; cpu++)
			rc = open_cpu(o, (uint32_t)cpu, err);
	}
	return rc;
}

static int read_specs(struct opening *o, const char *root, struct errmsg *err)
{
	char text[32];
	uint64_t type = 0;
	size_t i;
	int rc;

	rc = read_text(root, "type", text, sizeof(text));
	if (rc == -ENOENT || rc == -ENOTDIR)
		return errmsg_set(err, -ENODEV, "no perf PMU " PMU);
	if (rc == 0)
		rc = parse_u64(text, &type);
	if (rc == 0 && type > UINT32_MAX)
		rc = -ERANGE;
	if (rc < 0)
		return errmsg_errno(err, rc, PMU "type");
	o->type = (uint32_t)type;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		rc = read_spec(root, &kinds[i], &o->spec[i]);
		if (rc < 0 && rc != -ENOENT)
			return errmsg_errno(err, rc, PMU "events/%s", kinds[i].name);
	}
	return 0;
}

/*
 * Returns true if psys is the only event. No CPU has psys alone, but a virtual machine may: it is
 * the only event that the kernel lists without a test, and its counter stands still.
 */
static bool has_only_psys(const struct powerpmu *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->event[i].kind->domain != DOMAIN_OTHER)
			return false;
	return p->n > 0;
}

static int open_events(struct powerpmu *p, const char *root, struct errmsg *err)
{
	_cleanup_free_ struct topology *topology = NULL;
	struct opening o = { .p = p, .is_per_package = is_per_package(root) };
	char mask[1024];
	int rc;

	rc = read_specs(&o, root, err);
	if (rc < 0)
		return rc;
	rc = read_text(root, "cpumask", mask, sizeof(mask));
	if (rc < 0)
		return errmsg_errno(err, rc, PMU "cpumask");
	rc = topology_read(root, /* ncpus= */ 1, &topology);
	if (rc < 0)
		return errmsg_errno(err, rc, "cannot read the topology of processors and sockets");
	o.topology = topology;
	rc = open_cpumask(&o, mask, err);
	if (rc == 0 && has_only_psys(p))
		rc = errmsg_set(err, -ENODEV, PMU "events has only psys, whose counter does not move");
	else if (rc == 0 && !p->n)
		rc = errmsg_set(err, -ENODEV, PMU "events has no energy");
	return rc;
}

int powerpmu_open(const char *sys_root, const struct perf_event_ops *ops, void *ctx, struct powerpmu **ret,
		  struct errmsg *err)
{
	struct powerpmu *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return errmsg_set(err, -ENOMEM, "rapl: out of memory");
	p->ops = ops;
	p->ctx = ctx;
	rc = open_events(p, sys_root, err);
	if (rc < 0) {
		powerpmu_close(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void powerpmu_close(struct powerpmu *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < p->n; i++)
		p->ops->close(p->ctx, p->event[i].handle);
	free(p);
}

/* --- read --------------------------------------------------------------------------------- */

/*
 * Reads a counter in microjoules. They are computed from its total, so that no fraction
 * of a microjoule is lost.
 */
static int read_event(struct powerpmu *p, const struct event *e, uint64_t *ret_uj)
{
	uint64_t count;
	u128 uj;
	ssize_t n = p->ops->read(p->ctx, e->handle, &count, sizeof(count));

	if (n < 0)
		return (int)n;
	if (n != sizeof(count))
		return -EIO; /* nothing was read, because the CPU went offline */
	uj = (u128)count * e->scale.num / e->scale.den;
	if (uj > UINT64_MAX)
		return -ERANGE;
	*ret_uj = (uint64_t)uj;
	return 0;
}

int powerpmu_read(struct powerpmu *p, uint64_t dt_ns, struct source_state *state, struct reading *ret)
{
	/* what was used since an earlier slurmd's last reading is lost */
	bool is_unsure = !p->was_read && state->ncounters;
	struct reading out = { 0 };
	size_t good = 0;
	size_t i;

	if (!p->was_read) /* drop the bases of an earlier slurmd, whose counters began at another time */
		*state = (struct source_state){ 0 };
	for (i = 0; i < p->n; i++) {
		struct event *e = &p->event[i];
		enum domain d = e->kind->domain;
		enum part_scope scope = d == DOMAIN_OTHER ? SCOPE_NODE : SCOPE_UNIT;
		struct part *part = reading_part_of(&out, scope, 0, d, e->unit, QUALITY_COUNTER);
		uint64_t now_uj = 0;
		uint64_t uj = 0;
		bool wrapped;
		int rc = read_event(p, e, &now_uj);

		good += rc == 0;
		rc = counter_state_advance(&e->counter, state, e->name, rc, now_uj, dt_ns, &uj, &wrapped);
		part->energy_uj += uj; /* the dies of a package belong to one unit */
		part->is_new_base |= rc == 1;
		part->is_unsure |= is_unsure || (rc == 0 && e->counter.is_unsure);
		part->is_unread |= rc < 0;
		out.rejected += rc < 0;
	}
	if (!good)
		return -EIO;
	p->was_read = true;
	*ret = out;
	return 0;
}

size_t powerpmu_zones(const struct powerpmu *p, struct source_zone *ret, size_t max)
{
	size_t n = 0, i, k;

	for (k = 0; k < ARRAY_SIZE(kinds); k++)
		for (i = 0; i < p->n && n < max; i++)
			if (p->event[i].kind == &kinds[k])
				ret[n++] = (struct source_zone){
					.name = p->event[i].name,
					.folder = PMU "events/",
					.kind = kinds[k].zone,
					.index = p->event[i].unit,
				};
	return n;
}

void powerpmu_describe(const struct powerpmu *p, char *buf, size_t size)
{
	size_t count[DOMAIN_N] = { 0 };
	size_t i;

	for (i = 0; i < p->n; i++)
		count[p->event[i].kind->domain]++;
	snprintf(buf, size, "%zu package%s, %zu dram%s, by the perf PMU", count[DOMAIN_CPU],
		 count[DOMAIN_CPU] == 1 ? "" : "s", count[DOMAIN_DRAM], count[DOMAIN_OTHER] ? ", psys" : "");
}
