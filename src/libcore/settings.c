/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/settings.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "src/libcore/forbid.h"
#include "src/libcore/fsroles.h"
#include "src/libcore/metric.h"
#include "src/libcore/perf_request.h"
#include "src/libcore/profile_request.h"
#include "src/libutil/clock.h"
#include "src/libutil/items.h"
#include "src/libutil/parse.h"

static int parse_url(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	if (*value && strncmp(value, "http://", 7) != 0 && strncmp(value, "https://", 8) != 0)
		return errmsg_set(err, -EINVAL, "'%s' begins with neither http:// nor https://", value);
	return kvconf_text(value, field, key, err);
}

static int parse_users_dir(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	return !strcmp(value, SETTINGS_NONE) ? kvconf_text(value, field, key, err) :
					       kvconf_path(value, field, key, err);
}

static int parse_profile_rate(const char *value, void *field, const struct kvconf_key *key,
			      struct errmsg *err)
{
	uint64_t hz;
	int rc = kvconf_u64(value, &hz, key, err);

	if (rc < 0)
		return rc;
	if (hz < 1 || hz > PROFILE_REQUEST_HZ_MAX)
		return errmsg_set(err, -ERANGE, "'%s' is not between 1 and %d", value,
				  PROFILE_REQUEST_HZ_MAX);
	*(uint64_t *)field = hz;
	return 0;
}

static int parse_interval(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	uint64_t ns;
	int rc = kvconf_duration(value, &ns, key, err);

	if (rc < 0)
		return rc;
	/* RAPL updates every millisecond; beyond a minute its counters may wrap unnoticed. */
	if (ns < UINT64_C(50000000) || ns > UINT64_C(60000000000))
		return errmsg_set(err, -ERANGE, "'%s' is not between 50ms and 1m", value);
	*(uint64_t *)field = ns;
	return 0;
}

/*
 * Only the owner, root, may write the file, or others could forge what Prometheus reads. Root must
 * be able to read it.
 */
static int parse_mode(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	uint64_t mode = 0;
	const char *p;

	(void)key;
	for (p = value; *p >= '0' && *p <= '7' && mode <= 0777; p++)
		mode = mode << 3 | (uint64_t)(*p - '0');
	if (!*value || *p || mode > 0777)
		return errmsg_set(err, -EINVAL, "'%s' is not a mode in octal, such as 0640", value);
	if (!(mode & 0400) || mode & ~UINT64_C(0644))
		return errmsg_set(err, -EINVAL, "'%s' is not one of 0400 to 0644: others may read, not write",
				  value);
	*(uint64_t *)field = mode;
	return 0;
}

static int parse_pue(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	uint64_t milli;
	int rc = kvconf_milli(value, &milli, key, err);

	if (rc < 0)
		return rc;
	/* ISO/IEC 30134-2: facility energy / IT energy, so never below 1 */
	if (milli < 1000 || milli > 5000)
		return errmsg_set(err, -ERANGE, "'%s' is not between 1 and 5", value);
	*(uint64_t *)field = milli;
	return 0;
}

/* A minute is shorter than any grid's interval, a month is longer than any outage. */
static int parse_age(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	uint64_t ns;
	int rc = kvconf_duration(value, &ns, key, err);

	if (rc < 0)
		return rc;
	if (ns < 60 * NSEC_PER_SEC || ns > 31 * 86400 * NSEC_PER_SEC)
		return errmsg_set(err, -ERANGE, "'%s' is not between 1m and 31d", value);
	*(uint64_t *)field = ns;
	return 0;
}

static int parse_market(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	uint64_t mg = SETTINGS_NO_MARKET;
	int rc = *value ? kvconf_milli(value, &mg, key, err) : 0;

	if (rc < 0)
		return rc;
	if (mg > EMISSION_MAX_MG_PER_KWH && mg != SETTINGS_NO_MARKET)
		return errmsg_set(err, -ERANGE, "'%s' is above any grid, in g/kWh", value);
	*(uint64_t *)field = mg;
	return 0;
}

/* The limit is generous: a server of 10 t, used for 4 years, with a single CPU has 300 g/h. */
static int parse_embodied(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	uint64_t ug = 0;
	int rc = *value ? parse_decimal(value, 1000000, &ug) : 0;

	(void)key;
	if (rc < 0)
		return errmsg_set(err, rc, "'%s' is not a decimal", value);
	if (ug > 1000 * UINT64_C(1000000))
		return errmsg_set(err, -ERANGE, "'%s' is above 1000 g per hour of a CPU", value);
	*(uint64_t *)field = ug;
	return 0;
}

/* No control characters, because the text goes into records. */
static int parse_source_text(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	const char *p;

	for (p = value; *p; p++)
		if (iscntrl((unsigned char)*p))
			return errmsg_set(err, -EINVAL, "control characters");
	return kvconf_text(value, field, key, err);
}

/* At least a month, because tables have monthly partitions. */
static int parse_retention(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	uint64_t ns;
	int rc = kvconf_duration(value, &ns, key, err);

	if (rc < 0)
		return rc;
	if (ns && ns < UINT64_C(31) * 86400 * UINT64_C(1000000000))
		return errmsg_set(err, -ERANGE, "'%s' is below 31d; 0 is for ever", value);
	*(uint64_t *)field = ns;
	return 0;
}

static bool is_in_list(const char *item, const char *const *names)
{
	for (; *names; names++)
		if (!strcasecmp(item, *names))
			return true;
	return false;
}

/* Writes NAMES, separated by commas, into BUF. */
static const char *names_join(const char *const *names, char *buf, size_t size)
{
	size_t used = 0;

	for (; *names && used < size; names++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "", *names);
	return buf;
}

static int parse_list(const char *value, void *field, const struct kvconf_key *key, const char *const *names,
		      struct errmsg *err)
{
	const char *list = value;
	char known[256] = "";
	char item[64];

	while (items_next(&list, item, sizeof(item)))
		if (!is_in_list(item, names))
			return errmsg_set(err, -EINVAL, "'%s' is not one of %s", item,
					  names_join(names, known, sizeof(known)));
	return kvconf_text(value, field, key, err);
}

static int parse_sources(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	const char *names[METRIC_N + 2] = { "auto" };
	enum metric m;
	unsigned int n;

	for (n = 0; (m = metric_of_kind(KIND_SOURCE, n)) < METRIC_N; n++)
		names[n + 1] = metric_source_name(m);
	if (!*value)
		return errmsg_set(err, -EINVAL, "empty; use auto or a list of sources");
	return parse_list(value, field, key, names, err);
}

/*
 * The sink mariadb writes to MySQL, too, so mysql is another name for it. All others read mariadb in its
 * place.
 */
static int parse_sinks(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	static const char *const names[] = {
#define SINK(name, have) #name,
#include "src/libcore/sinks.def"
#undef SINK
		"mysql", NULL
	};
	int rc = parse_list(value, field, key, names, err);
	char list[256] = "";
	size_t len = 0;
	char item[64];

	while (rc == 0 && len < sizeof(list) && items_next(&value, item, sizeof(item)))
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", len ? "," : "",
					strcmp(item, "mysql") ? item : "mariadb");
	return rc == 0 ? kvconf_text(list, field, key, err) : rc;
}

static int parse_otlp_encoding(const char *value, void *field, const struct kvconf_key *key,
			       struct errmsg *err)
{
	(void)key;
	if (strcasecmp(value, "protobuf") != 0 && strcasecmp(value, "json") != 0)
		return errmsg_set(err, -EINVAL, "'%s' is neither protobuf nor json", value);
	*(bool *)field = !strcasecmp(value, "json");
	return 0;
}

/* Empty is nothing here, where --ceems-perf without an argument is hw. */
static int parse_perf(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	struct perf_request request;
	int rc = *value ? perf_request_parse(value, &request, err) : 0;

	return rc < 0 ? rc : kvconf_text(value, field, key, err);
}

static int parse_forbid(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	uint32_t mask;
	int rc = forbid_find(value, NULL, NULL, &mask, err);

	return rc < 0 ? rc : kvconf_text(value, field, key, err);
}

static int parse_filesystems(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	int rc = fsroles_check(value, err);

	return rc < 0 ? rc : kvconf_text(value, field, key, err);
}

const struct kvconf_key settings_keys[] = {
#define SETTING(key, type, member, parse, initial, section, readers, help, example) \
	{ key, parse, offsetof(struct settings, member), sizeof(type), initial, help },
#include "src/libcore/settings_rows.h"
#undef SETTING
};
const size_t settings_nkeys = ARRAY_SIZE(settings_keys);

unsigned int settings_readers(enum setting setting)
{
	static const unsigned int readers[] = {
#define SETTING(key, type, member, parse, initial, section, readers, ...) readers,
#include "src/libcore/settings_rows.h"
#undef SETTING
	};

	return readers[setting];
}

const char *settings_text(const struct settings *s, enum setting setting)
{
	return (const char *)s + settings_keys[setting].offset;
}

int settings_path(const char *slurm_conf, char *buf, size_t size)
{
	static const char configured[] = SLURM_SYSCONFDIR "/ceems.conf";
	const char *slash = slurm_conf ? strrchr(slurm_conf, '/') : NULL;
	int n;

	n = slash ? snprintf(buf, size, "%.*s/ceems.conf", (int)(slash - slurm_conf), slurm_conf) :
		    snprintf(buf, size, "%s", configured);
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	if (slash && access(buf, F_OK) < 0 && access(configured, F_OK) == 0 && sizeof(configured) <= size)
		memcpy(buf, configured, sizeof(configured));
	return 0;
}

/* A factor needs its source, or nobody can check it. */
static int check_sources(const char *path, const struct settings *s, kvconf_error_fn *on_error, void *arg,
			 struct errmsg *err)
{
	const struct {
		bool is_lacking;
		const char *key, *source;
	} pairs[] = {
		{ s->market_mg_per_kwh != SETTINGS_NO_MARKET && !s->market_source[0], "MarketFactor",
		  "MarketSource" },
		{ s->embodied_ug_per_cpu_hour && !s->embodied_source[0], "EmbodiedGramsPerCpuHour",
		  "EmbodiedSource" },
	};
	struct errmsg why;
	size_t i;
	int rc;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (!pairs[i].is_lacking)
			continue;
		rc = errmsg_set(on_error ? &why : err, -EINVAL, "%s: %s needs %s", path, pairs[i].key,
				pairs[i].source);
		if (!on_error)
			return rc;
		on_error(arg, /* line= */ 0, why.text);
	}
	return 0;
}

int settings_load_all(const char *path, struct settings *ret, kvconf_error_fn *on_error, void *arg,
		      struct errmsg *err)
{
	int rc = kvconf_defaults(settings_keys, settings_nkeys, ret, err);

	if (rc == 0)
		rc = kvconf_read_all(path, settings_keys, settings_nkeys, ret, on_error, arg, err);
	return rc == 0 ? check_sources(path, ret, on_error, arg, err) : rc;
}

int settings_load(const char *path, struct settings *ret, struct errmsg *err)
{
	return settings_load_all(path, ret, /* on_error= */ NULL, NULL, err);
}

static int expand_node(char *path, size_t size, const char *node, struct errmsg *err)
{
	char out[SETTINGS_PATH_MAX];
	size_t used = 0;
	const char *p;
	int n;

	for (p = path; *p; p++) {
		bool is_node = p[0] == '%' && p[1] == 'n';

		n = is_node ? snprintf(out + used, sizeof(out) - used, "%s", node) :
			      snprintf(out + used, sizeof(out) - used, "%c", *p);
		if (n < 0 || (size_t)n >= sizeof(out) - used || used + (size_t)n >= size)
			return errmsg_set(err, -ENAMETOOLONG, "%s: too long for node %s", path, node);
		used += (size_t)n;
		p += is_node;
	}
	memcpy(path, out, used);
	path[used] = '\0';
	return 0;
}

int settings_for_node(struct settings *s, const char *node, struct errmsg *err)
{
	int rc = expand_node(s->ledger_dir, sizeof(s->ledger_dir), node, err);

	if (rc == 0)
		rc = expand_node(s->textfile_dir, sizeof(s->textfile_dir), node, err);
	if (rc == 0)
		rc = expand_node(s->sys_root, sizeof(s->sys_root), node, err);
	if (rc == 0)
		rc = expand_node(s->profile_push_dir, sizeof(s->profile_push_dir), node, err);
	return rc;
}
