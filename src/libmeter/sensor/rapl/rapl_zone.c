/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/rapl/rapl_zone.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"

#define POWERCAP "/sys/class/powercap"
#define MSR_PREFIX "intel-rapl:"
#define MMIO_PREFIX "intel-rapl-mmio:"

/* A folder of powercap. It may be a zone that is not used, by LABEL. */
struct found {
	struct rapl_zone zone;
	char path[192]; /* path below sys_root */
	char label[32]; /* text of its file `name`, such as "package-0" or "dram" */
};

struct scan {
	const char *root;
	struct found *found;
	size_t n;
	int open_errno; /* errno of the last zone that could not be opened; 0: all could */
};

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_mmio(const struct found *f)
{
	return has_prefix(f->zone.name, MMIO_PREFIX);
}

static int add_found(struct scan *s, const char *dir, const char *name)
{
	struct found f = { .zone = { .fd = -1, .package = -1, .die = -1 } };
	struct found *grown;
	char path[PATH_MAX];
	size_t i;
	int rc;

	for (i = 0; i < s->n; i++) {
		if (!strcmp(s->found[i].zone.name, name))
			return 0; /* already found: sysfs shows a child zone in its parent and in the class */
	}
	if (strlen(name) >= sizeof(f.zone.name) ||
	    (size_t)snprintf(f.path, sizeof(f.path), "%s/%s", dir, name) >= sizeof(f.path)) {
		logger_debug("rapl: %s/%s: name too long, left out", dir, name);
		return 0;
	}
	memcpy(f.zone.name, name, strlen(name) + 1);
	snprintf(path, sizeof(path), "%s/name", f.path);
	rc = fileio_read_line(s->root, path, f.label, sizeof(f.label));
	if (rc < 0) {
		logger_debug("rapl: %s: %s, left out", path, strerror(-rc));
		return 0;
	}
	grown = reallocarray(s->found, s->n + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->found = grown;
	s->found[s->n++] = f;
	return 0;
}

/* Scans a folder; entries of the class are links, which opendir() and open() follow. */
static int scan_dir(struct scan *s, const char *dir, bool into_zones)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d;
	int rc = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s%s", s->root, dir) >= sizeof(path))
		return -ENAMETOOLONG;
	d = opendir(path);
	if (!d)
		return -errno;
	while (rc == 0 && (e = readdir(d))) {
		char child[PATH_MAX];

		if (!has_prefix(e->d_name, MSR_PREFIX) && !has_prefix(e->d_name, MMIO_PREFIX))
			continue;
		rc = add_found(s, dir, e->d_name);
		if (rc < 0 || !into_zones)
			continue;
		snprintf(child, sizeof(child), "%s/%s", dir, e->d_name);
		if (scan_dir(s, child, false) == -ENOMEM)
			rc = -ENOMEM;
	}
	closedir(d);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->zone.name, ((const struct found *)b)->zone.name);
}

static const struct found *parent_of(const struct scan *s, const struct found *child)
{
	const char *colon = strrchr(child->zone.name, ':');
	size_t len = colon ? (size_t)(colon - child->zone.name) : 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (strlen(s->found[i].zone.name) == len &&
		    !strncmp(s->found[i].zone.name, child->zone.name, len))
			return &s->found[i];
	}
	return NULL;
}

/*
 * Finds the kind from the label. Since 5.3 a die has the label "package-0-die-1"; the psys of a
 * second socket is "psys-1".
 */
static bool classify(const struct scan *s, struct found *f)
{
	const struct found *package = f;

	if (has_prefix(f->label, "package-")) {
		f->zone.kind = RAPL_PACKAGE;
	} else if (!strcmp(f->label, "dram")) {
		f->zone.kind = RAPL_DRAM;
		package = parent_of(s, f);
	} else if (!strcmp(f->label, "psys") || has_prefix(f->label, "psys-")) {
		f->zone.kind = RAPL_PSYS;
		return true;
	} else {
		logger_debug("rapl: %s is '%s', which a package contains: not added", f->path, f->label);
		return false;
	}
	if (package && sscanf(package->label, "package-%9d-die-%9d", &f->zone.package, &f->zone.die) == 1)
		f->zone.die = -1;
	return true;
}

static bool shown_by_msr(const struct scan *s, const struct found *mmio)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct rapl_zone *z = &s->found[i].zone;

		if (!is_mmio(&s->found[i]) && z->fd >= 0 && z->kind == mmio->zone.kind &&
		    z->package == mmio->zone.package && z->die == mmio->zone.die)
			return true;
	}
	return false;
}

/* Opens the counter of a zone. -ENOENT: the zone has none that can be used. */
static int open_zone(struct scan *s, struct found *f)
{
	_cleanup_close_ int range_fd = -1;
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/energy_uj", f->path);
	fd = fileio_open_at_root(s->root, path);
	if (fd == -ENOENT) {
		logger_debug("rapl: %s: no such file, zone left out", path);
		return fd;
	}
	if (fd < 0) {
		s->open_errno = fd;
		logger_debug("rapl: %s: %s", path, strerror(-fd));
	}
	f->zone.fd = fd < 0 ? -1 : fd;
	snprintf(path, sizeof(path), "%s/max_energy_range_uj", f->path);
	range_fd = fileio_open_at_root(s->root, path);
	if (range_fd < 0 || fileio_pread_u64(range_fd, &f->zone.range_uj) < 0 || !f->zone.range_uj) {
		logger_debug("rapl: %s: no number, a wrap will be taken for a reset", path);
		f->zone.range_uj = UINT64_MAX;
	}
	return 0;
}

int rapl_zone_scan(const char *sys_root, struct rapl_zone **ret, size_t *ret_n, struct errmsg *err)
{
	struct scan s = { .root = sys_root && strcmp(sys_root, "/") ? sys_root : "" };
	struct rapl_zone *zones = NULL;
	size_t n = 0;
	size_t opened = 0;
	size_t i;
	int rc;

	rc = scan_dir(&s, POWERCAP, true);
	if (rc == -ENOENT || rc == -ENOTDIR || (rc == 0 && !s.n)) {
		rc = errmsg_set(err, -ENODEV, "no intel-rapl zone below %s" POWERCAP, s.root);
		goto out;
	}
	if (rc < 0) {
		rc = errmsg_errno(err, rc, "%s" POWERCAP ": cannot list", s.root);
		goto out;
	}
	qsort(s.found, s.n, sizeof(*s.found), by_name);
	zones = calloc(s.n, sizeof(*zones));
	if (!zones) {
		rc = errmsg_set(err, -ENOMEM, "rapl: out of memory");
		goto out;
	}
	/* two passes, because intel-rapl-mmio:0 sorts before intel-rapl:0, which it repeats */
	for (i = 0; i < 2 * s.n; i++) {
		struct found *f = &s.found[i % s.n];
		bool is_turn_of_mmio = i >= s.n;

		if (is_mmio(f) != is_turn_of_mmio || !classify(&s, f) ||
		    (is_turn_of_mmio && shown_by_msr(&s, f)) || open_zone(&s, f) < 0)
			continue;
		zones[n++] = f->zone;
		opened += f->zone.fd >= 0;
	}
	if (!n)
		rc = errmsg_set(err, -ENODEV, "no package, dram or psys zone below %s" POWERCAP, s.root);
	else if (!opened)
		rc = errmsg_errno(err, s.open_errno, "%s" POWERCAP "/%s/energy_uj: cannot open", s.root,
				  zones[0].name);
out:
	free(s.found);
	if (rc < 0) {
		rapl_zone_free(zones, n);
		return rc;
	}
	*ret = zones;
	*ret_n = n;
	return 0;
}

struct counter rapl_zone_counter(const struct rapl_zone *z)
{
	bool is_psys = z->kind == RAPL_PSYS;

	return (struct counter){
		.range_uj = z->range_uj,
		.max_w = is_psys ? COUNTER_PLATFORM_MAX_W : COUNTER_PACKAGE_MAX_W,
		.sure_ns = counter_sure_ns(z->range_uj,
					   is_psys ? COUNTER_PLATFORM_SURE_W : COUNTER_PACKAGE_SURE_W),
	};
}

void rapl_zone_free(struct rapl_zone *zones, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (zones[i].fd >= 0)
			(void)close(zones[i].fd);
	}
	free(zones);
}
