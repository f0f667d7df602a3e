/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RAPL source: the energy of packages, DRAM and, if there is a psys zone, the whole platform.
 * Over wraps, failed readings and restarts, the sum of all readings is the increase of the raw
 * counters, to the microjoule.
 *
 * If the driver is unloaded while a zone is open, energy_uj returns ENODEV for ever, even if the
 * driver is loaded again, since the file stays open. The next slurmd finds the zone again and goes
 * on from its saved base.
 *
 * If powercap has no readable counter, the perf PMU is used (powerpmu.h); never both.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libcore/settings.h"
#include "src/libmeter/sensor/counter_state.h"
#include "src/libmeter/sensor/rapl/powerpmu.h"
#include "src/libmeter/sensor/rapl/rapl_note.h"
#include "src/libmeter/sensor/rapl/rapl_zone.h"
#include "src/libmeter/sensor/source.h"
#include "src/libmeter/sensor/topology.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"

/* The most zones. Their raw values fill the state but for some entries, which are for ages. */
#define MAX_ZONES (SOURCE_MAX_COUNTERS - 4)

/* The longest SampleInterval that ceems.conf accepts. */
#define MAX_INTERVAL_S 60

/*
 * Two readings of the same counter differ by at most this, what a package uses in a millisecond at full load.
 */
#define MIRROR_UJ UINT64_C(1000000)
#define MIRROR_ROUNDS 3

struct zone {
	struct rapl_zone z;
	struct counter counter;
	unsigned int socket; /* unit of domain.h */
	int mirror_of;	     /* index of another zone with the same counter; -1: none */
};

struct source {
	struct zone *zone;
	size_t n;
	struct powerpmu *pmu; /* the perf PMU, used instead of zones; NULL: powercap is used */
};

static uint64_t rapl_distance(uint64_t a, uint64_t b, uint64_t range)
{
	uint64_t d = a > b ? a - b : b - a;

	return range != UINT64_MAX && d > range / 2 && d <= range ? range - d + 1 : d;
}

/*
 * Returns 1 if B's value is between two readings of A, so that both seem to be the same counter,
 * else 0. -EAGAIN: unclear.
 */
static int is_same_counter(const struct zone *a, const struct zone *b)
{
	uint64_t before, value, after;
	uint64_t range = a->z.range_uj;

	if (fileio_pread_u64(a->z.fd, &before) < 0 || fileio_pread_u64(b->z.fd, &value) < 0 ||
	    fileio_pread_u64(a->z.fd, &after) < 0)
		return -EAGAIN;
	return rapl_distance(before, value, range) <= MIRROR_UJ + rapl_distance(before, after, range) &&
	       rapl_distance(value, after, range) <= MIRROR_UJ + rapl_distance(before, after, range);
}

/*
 * Finds zones with the same counter. On AMD's first Zens, the zone of each die has the package's
 * counter (package-0-die-0 and package-0-die-1 have the same value), while Intel has a counter per
 * die. The labels do not show which, so values are compared. Zones of different packages are not,
 * since two idle sockets may have like values.
 */
static void find_mirrors(struct source *s)
{
	size_t i, j;
	int round;

	for (i = 0; i < s->n; i++) {
		struct zone *b = &s->zone[i];

		for (j = 0; j < i && b->z.die >= 0 && b->mirror_of < 0; j++) {
			const struct zone *a = &s->zone[j];

			if (a->mirror_of >= 0 || a->z.kind != b->z.kind || a->z.die < 0 ||
			    a->z.package != b->z.package || a->z.range_uj != b->z.range_uj)
				continue;
			for (round = 0; round < MIRROR_ROUNDS; round++) {
				if (is_same_counter(a, b) != 1)
					break;
			}
			if (round < MIRROR_ROUNDS)
				continue;
			b->mirror_of = (int)j;
			logger_debug("rapl: %s shows the counter of %s, counted once", b->z.name, a->z.name);
		}
	}
}

static void rapl_close(struct source *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->n; i++) {
		if (s->zone[i].z.fd >= 0)
			(void)close(s->zone[i].z.fd);
	}
	free(s->zone);
	powerpmu_close(s->pmu);
	free(s);
}

/*
 * A reading is unsure after a gap in which the counter may have wrapped at a power that no hardware has for
 * seconds. At each of the site's SampleIntervals, what the hardware is rated for must do.
 */
static uint64_t rapl_sure_ns(const struct settings *settings, uint64_t sure_ns)
{
	uint64_t interval_ns = settings ? settings->sample_interval_ns / 4 * 5 : 0;

	return sure_ns > interval_ns ? sure_ns : interval_ns;
}

static int open_powercap(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	struct rapl_zone *found = NULL;
	_cleanup_free_ struct topology *topology = NULL;
	struct source *s = NULL;
	size_t n = 0;
	size_t i;
	int readable = 0;
	int read_rc = -EIO;
	int rc;

	rc = rapl_zone_scan(env->sys_root, &found, &n, err);
	if (rc < 0)
		return rc;
	if (n > MAX_ZONES) {
		rc = errmsg_set(err, -E2BIG, "rapl: %zu zones, only %d can be kept", n, MAX_ZONES);
		goto fail;
	}
	s = calloc(1, sizeof(*s));
	if (s)
		s->zone = calloc(n, sizeof(*s->zone));
	if (!s || !s->zone || topology_read(env->sys_root, /* ncpus= */ 1, &topology) < 0) {
		rc = errmsg_set(err, -ENOMEM, "rapl: out of memory");
		goto fail;
	}
	for (i = 0; i < n; i++) {
		struct zone *z = &s->zone[i];
		uint64_t v;

		z->z = found[i];
		z->mirror_of = -1;
		z->socket = z->z.package < 0 ? SOCKET_UNKNOWN :
					       topology_socket(topology, (uint64_t)z->z.package);
		z->counter = rapl_zone_counter(&z->z);
		z->counter.sure_ns = rapl_sure_ns(env->settings, z->counter.sure_ns);
		z->counter.note = rapl_note_of(env->notes, z->z.name);
		rc = fileio_pread_u64(z->z.fd, &v);
		if (rc == 0)
			readable++;
		else if (z->z.fd >= 0)
			read_rc = rc;
	}
	if (!readable) {
		rc = errmsg_errno(err, read_rc, "rapl: none of %zu counters can be read", n);
		goto fail;
	}
	free(found); /* not rapl_zone_free(): the zones and their fds have moved */
	s->n = n;
	find_mirrors(s);
	*ret = s;
	return 0;
fail:
	rapl_zone_free(found, n);
	rapl_close(s);
	return rc;
}

static int open_pmu(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	struct source *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return errmsg_set(err, -ENOMEM, "rapl: out of memory");
	rc = powerpmu_open(env->sys_root, &perf_event_kernel, NULL, &s->pmu, err);
	if (rc < 0) {
		rapl_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

/*
 * Tries powercap first, since it counts while slurmd restarts. Its wraps do no harm: at any rated
 * power, a wrap takes longer than the longest SampleInterval, and while slurmd is away, slurmstepds read
 * the counters (rapl_note.h).
 */
static int rapl_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	struct errmsg pmu_err = { 0 };
	int rc = open_powercap(env, ret, err);
	int pmu_rc;

	if (rc == 0 || rc == -ENOMEM)
		return rc;
	pmu_rc = open_pmu(env, ret, &pmu_err);
	if (pmu_rc == 0)
		return 0;
	if (rc != -ENODEV || pmu_rc == -ENODEV)
		return rc;
	return errmsg_set(err, pmu_rc, "%s", pmu_err.text); /* only the PMU exists, so its error matters */
}

static bool is_ours(const struct source *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (!strcmp(name, s->zone[i].z.name))
			return true;
	}
	return false;
}

/* Drops entries of STATE that are not needed: the value of a zone that is gone, or a zone's age. */
static void make_room(const struct source *s, struct source_state *state)
{
	uint32_t i;

	for (i = 0; state->ncounters >= SOURCE_MAX_COUNTERS && i < SOURCE_MAX_COUNTERS; i++) {
		char other[sizeof(state->counter[i].name) + 1] = "";

		memcpy(other, state->counter[i].name, sizeof(state->counter[i].name));
		if (!is_ours(s, other))
			source_state_drop(state, other);
	}
}

/* Reads the energy of one counter. 1: this is its first base, so there is no energy yet. */
static int read_zone(const struct source *s, struct zone *z, uint64_t dt_ns, struct source_state *state,
		     uint64_t *ret_uj, bool *ret_wrapped)
{
	uint64_t cur = 0;
	int rc = z->z.fd < 0 ? -EACCES : fileio_pread_u64(z->z.fd, &cur);

	if (rc == 0 && !source_state_find(state, z->z.name))
		make_room(s, state);
	return counter_state_advance(&z->counter, state, z->z.name, rc, cur, dt_ns, ret_uj, ret_wrapped);
}

/* Adds psys as the whole node: it contains packages, DRAM and the rest of the platform. */
static struct part *part_of_node(struct reading *out)
{
	return reading_part_of(out, SCOPE_NODE, 0, DOMAIN_OTHER, 0, QUALITY_COUNTER);
}

static int rapl_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
		     struct reading *ret)
{
	struct reading out = { 0 };
	size_t good = 0;
	size_t i;

	(void)busy_ppm;
	if (s->pmu)
		return powerpmu_read(s->pmu, dt_ns, state, ret);
	for (i = 0; i < s->n; i++) {
		struct zone *z = &s->zone[i];
		struct part *part;
		uint64_t uj = 0;
		bool wrapped = false;
		int rc = read_zone(s, z, dt_ns, state, &uj, &wrapped);

		if (z->mirror_of >= 0) {
			if (rc < 0 || is_same_counter(&s->zone[z->mirror_of], z) != 0)
				continue;
			logger_debug("rapl: %s left %s, counted by itself from now on", z->z.name,
				     s->zone[z->mirror_of].z.name);
			z->mirror_of = -1;
		}
		if (z->z.kind == RAPL_PSYS)
			part = part_of_node(&out);
		else
			part = reading_part(&out, z->z.kind == RAPL_DRAM ? DOMAIN_DRAM : DOMAIN_CPU,
					    z->socket, QUALITY_COUNTER);
		if (rc < 0) {
			part->is_unread = true;
			out.rejected++;
			/* an implausible value was still read */
			good += rc == -ERANGE || rc == -EOVERFLOW || rc == -ESTALE;
			continue;
		}
		good++;
		out.wraps += wrapped;
		part->energy_uj += uj;
		part->is_new_base |= rc == 1;
		part->is_unsure |= rc == 0 && z->counter.is_unsure;
	}
	if (!good)
		return -EIO;
	*ret = out;
	return 0;
}

static void rapl_describe(const struct source *s, char *buf, size_t size)
{
	size_t count[3] = { 0 };
	size_t unreadable = 0;
	uint64_t range = UINT64_MAX;
	char text[160] = "";
	int n;
	size_t i;

	if (s->pmu) {
		powerpmu_describe(s->pmu, buf, size);
		return;
	}
	for (i = 0; i < s->n; i++) {
		const struct zone *z = &s->zone[i];

		if (z->mirror_of >= 0)
			continue;
		count[z->z.kind]++;
		unreadable += z->z.fd < 0;
		if (z->z.kind != RAPL_PSYS && z->z.range_uj < range)
			range = z->z.range_uj;
	}
	n = snprintf(text, sizeof(text), "%zu package%s, %zu dram%s", count[RAPL_PACKAGE],
		     count[RAPL_PACKAGE] == 1 ? "" : "s", count[RAPL_DRAM], count[RAPL_PSYS] ? ", psys" : "");
	if (unreadable)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ", %zu not readable", unreadable);
	if (range == UINT64_MAX)
		(void)snprintf(text + n, sizeof(text) - (size_t)n, ", range not stated");
	else
		n += snprintf(text + n, sizeof(text) - (size_t)n, ", %" PRIu64 ".%" PRIu64 " J range",
			      range / 1000000, range / 100000 % 10);
	if (range < MAX_INTERVAL_S * UINT64_C(1000000) * COUNTER_PACKAGE_MAX_W)
		(void)snprintf(text + n, sizeof(text) - (size_t)n,
			       "; at %" PRIu64 " W it wraps in %" PRIu64 " s: keep SampleInterval below",
			       COUNTER_PACKAGE_MAX_W, range / (UINT64_C(1000000) * COUNTER_PACKAGE_MAX_W));
	snprintf(buf, size, "%s", text);
}

/*
 * Lists the zones. CEEMS and node_exporter number them by the package in their label, not by
 * folder; so its socket is the number, as that of a part. If the socket is not known, it is the package, and
 * without a package, as for psys, the number of earlier zones of the kind.
 */
static size_t rapl_zones(const struct source *s, struct source_zone *ret, size_t max)
{
	static const char *const kinds[] = {
		[RAPL_PACKAGE] = "package", [RAPL_DRAM] = "dram", [RAPL_PSYS] = "psys"
	};
	size_t n = 0, i, k;

	if (s->pmu)
		return powerpmu_zones(s->pmu, ret, max);
	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		unsigned int seen = 0;

		for (i = 0; i < s->n && n < max; i++) {
			const struct zone *z = &s->zone[i];

			if (z->z.kind != (enum rapl_kind)k || z->z.fd < 0 || z->mirror_of >= 0)
				continue;
			ret[n++] = (struct source_zone){
				.name = z->z.name,
				.folder = "/sys/class/powercap/",
				.kind = kinds[k],
				.index = z->socket < SOCKET_UNKNOWN ? z->socket :
					 z->z.package < 0	    ? seen :
								      (unsigned int)z->z.package,
			};
			seen++;
		}
	}
	return n;
}

const struct source_ops source_rapl = {
	.id = SOURCE_RAPL,
	.open = rapl_open,
	.read = rapl_read,
	.describe = rapl_describe,
	.zones = rapl_zones,
	.close = rapl_close,
};
