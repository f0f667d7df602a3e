/* SPDX-License-Identifier: GPL-2.0-or-later */
/* With fake sources: which is used for which domain, what the node's sensor adds, and sources that fail. */
#include "src/libnode/sources.h"

#include <errno.h>
#include <stdarg.h>

#include "rnd.h"
#include "scratch.h"
#include "src/libcore/doubt.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"
#include "tap.h"

/* A node of fake sources, which show what the test sets. */
struct fake {
	int open_rc, read_rc;
	uint32_t late;
	uint32_t nparts;
	struct part part[4];
	unsigned int reads;
	bool is_open;
	size_t gpus;
};
static struct fake fake[SOURCE_N];

static int fake_open(enum source_id id, struct source **ret, struct errmsg *err)
{
	if (fake[id].open_rc < 0)
		return errmsg_errno(err, fake[id].open_rc, "/sys/%s", source_name(id));
	fake[id].is_open = true;
	*ret = (struct source *)&fake[id];
	return 0;
}

static int fake_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
		     struct reading *ret)
{
	struct fake *f = (struct fake *)s;
	unsigned int i;

	(void)dt_ns, (void)busy_ppm;
	f->reads++;
	ret->rejected = f->read_rc < 0;
	ret->late = f->late;
	if (f->read_rc < 0)
		return f->read_rc;
	ret->nparts = f->nparts;
	memcpy(ret->part, f->part, sizeof(f->part));
	for (i = 0; i < f->nparts; i++)
		ret->rejected += f->part[i].is_unread;
	return source_state_put(state, "fake", 1);
}

static size_t fake_gpus(const struct source *s, struct gpu_reading *ret, size_t max)
{
	const struct fake *f = (const struct fake *)s;
	size_t i;

	for (i = 0; i < f->gpus && i < max; i++)
		ret[i].unit = (uint8_t)(10 * (f - fake) + i);
	return i;
}

static void fake_describe(const struct source *s, char *buf, size_t size)
{
	(void)s;
	snprintf(buf, size, "fake");
}

static void fake_close(struct source *s)
{
	((struct fake *)s)->is_open = false;
}

#define FAKE(ID)                                                                                     \
	static int open_##ID(const struct source_env *env, struct source **ret, struct errmsg *err)  \
	{                                                                                            \
		(void)env;                                                                           \
		return fake_open(SOURCE_##ID, ret, err);                                             \
	}                                                                                            \
	static const struct source_ops ops_##ID = {                                                  \
		.id = SOURCE_##ID,                                                                   \
		.logs_failures = SOURCE_##ID == SOURCE_NVML,                                         \
		.open = open_##ID,                                                                   \
		.read = fake_read,                                                                   \
		.gpus = SOURCE_##ID == SOURCE_NVML || SOURCE_##ID == SOURCE_ROCM ? fake_gpus : NULL, \
		.describe = fake_describe,                                                           \
		.close = fake_close,                                                                 \
	}
FAKE(EXTERNAL);
FAKE(CRAY);
FAKE(RAPL);
FAKE(HWMON);
FAKE(NVML);
FAKE(ROCM);
FAKE(INTELGPU);
FAKE(REDFISH);
FAKE(IPMI);
FAKE(MODEL);

/* in no order: the order here must not matter */
static const struct source_ops *const all[] = {
	&ops_MODEL, &ops_IPMI, &ops_RAPL,    &ops_NVML,	    &ops_ROCM,
	&ops_HWMON, &ops_CRAY, &ops_REDFISH, &ops_EXTERNAL, &ops_INTELGPU,
};
static const struct source_env env = { .sys_root = "/" };

static char logged[4096];

static void keep_lines(enum logger_level level, const char *line)
{
	size_t used = strlen(logged);

	(void)level;
	(void)snprintf(logged + used, sizeof(logged) - used, "%s\n", line);
}

/* --- a machine -------------------------------------------------------------------------- */

struct machine {
	struct sources *s;
	struct source_state state[SOURCE_N];
	struct sources_reading r;
	struct errmsg err;
	uint64_t now_ns;
};

static void no_sources(void)
{
	unsigned int id;

	memset(fake, 0, sizeof(fake));
	for (id = 0; id < SOURCE_N; id++)
		fake[id].open_rc = -ENODEV;
	logged[0] = '\0';
}

/* ID is there and shows UJ of DOMAIN in every tick; DOMAIN_N: of the whole node. */
static void shows(enum source_id id, enum domain d, uint8_t unit, uint64_t uj)
{
	struct fake *f = &fake[id];
	struct part *p = &f->part[f->nparts++];

	f->open_rc = 0;
	*p = (struct part){
		.domain = d == DOMAIN_N ? DOMAIN_OTHER : (uint8_t)d,
		.scope = d == DOMAIN_N ? SCOPE_NODE : SCOPE_UNIT,
		.unit = unit,
		.energy_uj = uj,
		.quality = id == SOURCE_MODEL ? QUALITY_ESTIMATE : QUALITY_COUNTER,
	};
}

static void start(struct machine *m, const char *choice)
{
	memset(m, 0, sizeof(*m));
	is_int(sources_open(choice, all, ARRAY_SIZE(all), &env, &m->s, &m->err), 0, choice);
}

static void tick(struct machine *m)
{
	m->now_ns += NSEC_PER_SEC;
	sources_read(m->s, m->now_ns, NSEC_PER_SEC, 0, m->state, &m->r);
}

static void finish(struct machine *m)
{
	unsigned int id;
	bool left = false;

	sources_close(m->s);
	for (id = 0; id < SOURCE_N; id++)
		left |= fake[id].is_open;
	ok(!left, "  all are closed");
}

static uint64_t sum_uj(const struct machine *m, enum domain d)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < m->r.nparts; i++)
		sum += m->r.part[i].domain == d ? m->r.part[i].energy_uj : 0;
	return sum;
}

static void is_from(const struct machine *m, enum domain d, enum source_id id, uint64_t uj, const char *what)
{
	ok(m->r.from[d] == id && sum_uj(m, d) == uj, "%s: %s from %s, %" PRIu64 " uJ", what, domain_name(d),
	   source_name((enum source_id)m->r.from[d]), sum_uj(m, d));
}

/* --- tests ------------------------------------------------------------------------------ */

static void test_open(void)
{
	static const struct {
		const char *choice;
		int rapl_rc;
		const char *used;
		const char *why;
	} t[] = {
		{ "rapl", -ENODEV, "none", "rapl: /sys/rapl: No such device" },
		{ "rapl,ipmi", -EACCES, "none",
		  "rapl: /sys/rapl: Permission denied; ipmi: /sys/ipmi: No such device" },
		{ "auto", -ENODEV, "model (fake)", "" },
		{ "auto", 0, "rapl (fake), nvml (fake)", "" },
		{ "AUTO", 0, "rapl (fake), nvml (fake)", "" },
		{ "model", 0, "model (fake)", "" },
		{ "model, rapl", 0, "rapl (fake)", "" },
		{ "model,rapl", -ENODEV, "model (fake)", "" },
		{ "rapl,rapl", 0, "rapl (fake)", "" },
		{ "nvml,rapl", 0, "nvml (fake), rapl (fake)", "" },
	};
	struct machine m;
	char what[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		no_sources();
		fake[SOURCE_MODEL].open_rc = 0;
		fake[SOURCE_RAPL].open_rc = t[i].rapl_rc;
		fake[SOURCE_NVML].open_rc = t[i].rapl_rc;
		start(&m, t[i].choice);
		sources_describe(m.s, what, sizeof(what));
		is_str(what, t[i].used, "  what is used");
		is_str(m.err.text, t[i].why, "  why not");
		finish(&m);
	}
	sources_close(NULL);
}

/* One domain, one source. */
static void test_domains(void)
{
	struct machine m;

	no_sources();
	shows(SOURCE_EXTERNAL, DOMAIN_CPU, 0, 1);
	shows(SOURCE_RAPL, DOMAIN_CPU, 0, 10);
	shows(SOURCE_RAPL, DOMAIN_DRAM, 1, 20);
	shows(SOURCE_HWMON, DOMAIN_DRAM, 0, 100);
	shows(SOURCE_HWMON, DOMAIN_GPU, 0, 200);
	shows(SOURCE_NVML, DOMAIN_GPU, 0, 1000);
	shows(SOURCE_MODEL, DOMAIN_CPU, 0, 10000);
	start(&m, "auto");
	tick(&m);
	tick(&m);
	is_from(&m, DOMAIN_CPU, SOURCE_EXTERNAL, 1, "auto");
	is_from(&m, DOMAIN_DRAM, SOURCE_RAPL, 20, "auto");
	is_from(&m, DOMAIN_GPU, SOURCE_HWMON, 200, "a GPU inside of a module is not added");
	is_from(&m, DOMAIN_OTHER, SOURCE_N, 0, "no source measures the node");
	is_u64(fake[SOURCE_NVML].reads, 2, "a source that is not used is read all the same");
	finish(&m);

	start(&m, "nvml,hwmon,rapl");
	tick(&m);
	is_from(&m, DOMAIN_CPU, SOURCE_RAPL, 10, "by list");
	is_from(&m, DOMAIN_DRAM, SOURCE_HWMON, 100, "by list");
	is_from(&m, DOMAIN_GPU, SOURCE_NVML, 1000, "by list");
	finish(&m);

	no_sources();
	shows(SOURCE_NVML, DOMAIN_GPU, 0, 7);
	shows(SOURCE_ROCM, DOMAIN_GPU, 0, 70);
	shows(SOURCE_ROCM, DOMAIN_GPU, 1, 700);
	start(&m, "auto");
	tick(&m);
	is_from(&m, DOMAIN_GPU, SOURCE_NVML, 777, "GPUs of two makers");
	is_u64(m.r.nparts, 3, "  are three");
	finish(&m);
}

/* The node's sensor, and what is left of it. */
static void test_node(void)
{
	static const enum source_id by_rank[] = { SOURCE_EXTERNAL, SOURCE_CRAY, SOURCE_HWMON,
						  SOURCE_REDFISH,  SOURCE_IPMI, SOURCE_RAPL };
	struct machine m;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(by_rank); i++) {
		no_sources();
		shows(SOURCE_RAPL, DOMAIN_CPU, 0, 30);
		shows(SOURCE_NVML, DOMAIN_GPU, 2, 50);
		shows(SOURCE_MODEL, DOMAIN_CPU, 0, 1000);
		for (k = i; k < ARRAY_SIZE(by_rank); k++)
			shows(by_rank[k], DOMAIN_N, 0, 100 + by_rank[k]);
		start(&m, "auto");
		tick(&m);
		is_u64(sum_uj(&m, DOMAIN_OTHER), 0, "the first reading is the base");
		tick(&m);
		is_from(&m, DOMAIN_OTHER, by_rank[i], 20 + by_rank[i], "auto");
		is_from(&m, DOMAIN_CPU, SOURCE_RAPL, 30, "beside it");
		finish(&m);
	}

	no_sources();
	shows(SOURCE_IPMI, DOMAIN_N, 0, 100);
	shows(SOURCE_CRAY, DOMAIN_N, 0, 200);
	shows(SOURCE_MODEL, DOMAIN_CPU, 0, 1000);
	start(&m, "ipmi,cray");
	tick(&m);
	tick(&m);
	is_from(&m, DOMAIN_OTHER, SOURCE_IPMI, 100, "by list");
	is_from(&m, DOMAIN_CPU, SOURCE_N, 0, "no estimate beside it");
	finish(&m);

	no_sources();
	shows(SOURCE_RAPL, DOMAIN_CPU, 0, 30);
	shows(SOURCE_RAPL, DOMAIN_N, 0, 100);
	shows(SOURCE_IPMI, DOMAIN_N, 0, 200);
	start(&m, "auto");
	tick(&m);
	finish(&m);
	fake[SOURCE_IPMI].read_rc = -EIO;
	is_int(sources_open("auto", all, ARRAY_SIZE(all), &env, &m.s, NULL), 0, "a restart");
	tick(&m);
	is_from(&m, DOMAIN_OTHER, SOURCE_IPMI, 0, "the one of before is waited for");
	for (i = 0; i < 20; i++)
		tick(&m);
	is_from(&m, DOMAIN_OTHER, SOURCE_RAPL, 70, "but not for ever");
	finish(&m);

	no_sources();
	shows(SOURCE_RAPL, DOMAIN_CPU, 0, 150);
	shows(SOURCE_IPMI, DOMAIN_N, 0, 100);
	start(&m, "auto");
	for (i = 0; i < 3; i++)
		tick(&m);
	is_from(&m, DOMAIN_OTHER, SOURCE_IPMI, 0, "parts that are ahead");
	ok(source_state_find(&m.state[SOURCE_IPMI], "node pool") != NULL, "  are kept in mind");
	is_u64(m.r.failed, 0, "  and no failure");
	finish(&m);
}

/* Estimates: only where nothing measures CPU or node. */
static void test_estimates(void)
{
	struct machine m;

	no_sources();
	shows(SOURCE_NVML, DOMAIN_GPU, 0, 50);
	shows(SOURCE_MODEL, DOMAIN_CPU, 0, 7);
	fake[SOURCE_MODEL].part[0].idle_mw = 5;
	start(&m, "auto");
	tick(&m);
	is_from(&m, DOMAIN_CPU, SOURCE_MODEL, 7, "only GPUs are measured: CPU by the model");
	is_from(&m, DOMAIN_GPU, SOURCE_NVML, 50, "only GPUs are measured: they are");
	is_u64(m.r.part[1].idle_mw, 5, "an estimate states its idle power");
	is_u64(m.r.part[1].quality, QUALITY_ESTIMATE, "  and is marked an estimate");
	is_str(logged, "model: an estimate is used, as no source measures CPU or node\n",
	       "  and is logged once");
	shows(SOURCE_NVML, DOMAIN_CPU, 0, 30);
	tick(&m);
	is_from(&m, DOMAIN_CPU, SOURCE_NVML, 30, "a sensor takes over");
	is_u64(sum_uj(&m, DOMAIN_CPU), 30, "  alone");
	is_u64(m.r.nparts, 2, "  and the model has no part any more");
	finish(&m);

	no_sources();
	shows(SOURCE_NVML, DOMAIN_GPU, 0, 50);
	shows(SOURCE_MODEL, DOMAIN_OTHER, 0, 7);
	start(&m, "auto");
	tick(&m);
	is_from(&m, DOMAIN_OTHER, SOURCE_MODEL, 7, "an estimate of all but the GPUs");
	shows(SOURCE_NVML, DOMAIN_CPU, 0, 30);
	tick(&m);
	is_from(&m, DOMAIN_OTHER, SOURCE_N, 0, "is not used beside a sensor of the CPU");
	is_u64(m.r.nparts, 2, "  and has no part any more");
	finish(&m);
}

static void test_failures(void)
{
	struct machine m;
	unsigned int i;

	no_sources();
	shows(SOURCE_CRAY, DOMAIN_CPU, 0, 100);
	shows(SOURCE_RAPL, DOMAIN_CPU, 0, 10);
	shows(SOURCE_RAPL, DOMAIN_DRAM, 0, 20);
	fake[SOURCE_CRAY].read_rc = -EIO;
	start(&m, "auto");
	m.state[SOURCE_IPMI].ncounters = 3;
	tick(&m);
	is_int(m.r.failed, -EIO, "a sensor that cannot be read");
	is_u64(m.r.rejected, 1, "  is counted");
	ok(m.r.is_tainted, "  and spoils the tick");
	is_u64(m.state[SOURCE_IPMI].ncounters, 0, "  what a closed source left is forgotten");
	is_from(&m, DOMAIN_CPU, SOURCE_N, 0, "  its domain is not given away");
	is_u64(fake[SOURCE_RAPL].reads, 0, "  others keep their energy until it is clear");
	is_str(logged, "", "  nothing is logged yet");
	fake[SOURCE_CRAY].read_rc = 0;
	tick(&m);
	is_from(&m, DOMAIN_CPU, SOURCE_CRAY, 100, "it comes");
	is_from(&m, DOMAIN_DRAM, SOURCE_RAPL, 20, "and the others");
	fake[SOURCE_CRAY].read_rc = -EIO;
	tick(&m);
	tick(&m);
	is_from(&m, DOMAIN_CPU, SOURCE_CRAY, 0, "it fails: the domain stays its own");
	is_u64(m.r.nparts, 2, "  and its part in place");
	is_u64(m.r.part[0].domain, DOMAIN_CPU, "  in the same order");
	fake[SOURCE_CRAY].read_rc = 0;
	tick(&m);
	is_str(logged,
	       "cray: cannot be read: Input/output error; its energy is missing until it can\n"
	       "cray: can be read again\n",
	       "  one line for it, one when it is back");
	logged[0] = '\0';
	fake[SOURCE_CRAY].late = 1;
	tick(&m);
	tick(&m);
	fake[SOURCE_CRAY].late = 0;
	tick(&m);
	is_str(logged,
	       "cray: has no new readings; what only it measures is missing until it has\n"
	       "cray: has new readings again\n",
	       "  and for one that is late");
	logged[0] = '\0';
	for (i = 0; i < 20; i++) {
		fake[SOURCE_CRAY].read_rc = i % 2 ? 0 : -EIO;
		tick(&m);
	}
	is_str(logged, "", "  one that comes and goes does not fill the log");
	fake[SOURCE_CRAY].read_rc = -EIO;
	m.now_ns += LOGGER_QUIET_NS;
	tick(&m);
	tick(&m);
	is_str(logged, "cray: cannot be read: Input/output error; its energy is missing until it can\n",
	       "  but it is not forgotten");
	finish(&m);

	no_sources();
	shows(SOURCE_NVML, DOMAIN_GPU, 0, 100);
	start(&m, "auto");
	tick(&m);
	logged[0] = '\0';
	fake[SOURCE_NVML].read_rc = -EIO;
	tick(&m);
	fake[SOURCE_NVML].read_rc = 0;
	tick(&m);
	is_str(logged, "", "a source that logs its failures by itself is not doubled");
	finish(&m);

	no_sources();
	shows(SOURCE_CRAY, DOMAIN_CPU, 0, 100);
	shows(SOURCE_RAPL, DOMAIN_CPU, 0, 10);
	fake[SOURCE_CRAY].read_rc = -EIO;
	start(&m, "auto");
	(void)source_state_put(&m.state[SOURCE_CRAY], "kept", 1);
	for (i = 0; i < 20; i++)
		tick(&m);
	is_from(&m, DOMAIN_CPU, SOURCE_RAPL, 10, "one that never comes is not waited for");
	is_u64(m.state[SOURCE_CRAY].ncounters, 0, "  and what it kept is no longer its own");
	ok(m.r.failed < 0 && !m.r.is_tainted, "  nor does it spoil anything");
	fake[SOURCE_CRAY].read_rc = 0;
	tick(&m);
	is_from(&m, DOMAIN_CPU, SOURCE_RAPL, 10, "  nor may it have it later");
	finish(&m);
}

/* All alike: said once, shown, and not replaced by the model. */
static void test_lost(void)
{
	static const enum source_id ids[] = { SOURCE_EXTERNAL, SOURCE_RAPL, SOURCE_REDFISH, SOURCE_IPMI };
	struct sources_status st;
	struct machine m;
	char want[256];
	size_t i;
	int t;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		const char *name = source_name(ids[i]);
		bool is_silent = i % 2; /* else it cannot be read */

		no_sources();
		shows(SOURCE_MODEL, DOMAIN_OTHER, 0, 7);
		shows(ids[i], ids[i] == SOURCE_RAPL ? DOMAIN_CPU : DOMAIN_N, 0, 100);
		start(&m, "auto");
		tick(&m);
		is_u64(m.r.lost, 0, "  is there");
		fake[ids[i]].read_rc = is_silent ? 0 : -EIO;
		fake[ids[i]].late = is_silent;
		for (t = 0; t < 10; t++)
			tick(&m);
		ok(!m.r.lost && sources_status(m.s, ids[i], &st) && !st.is_lost, "%s: ten ticks are no loss",
		   name);
		for (t = 0; t < 10; t++)
			tick(&m);
		ok(m.r.lost == 1u << ids[i] && sources_status(m.s, ids[i], &st) && st.is_lost,
		   "  twenty are");
		(void)snprintf(want, sizeof(want),
			       "%s: is lost: %s; what only it measures is missing until it is back", name,
			       is_silent ? "it has no new readings" : "Input/output error");
		ok(strstr(logged, want) != NULL, "  and it is said: %s", logged);
		ok(m.r.from[DOMAIN_CPU] != SOURCE_MODEL && m.r.from[DOMAIN_OTHER] != SOURCE_MODEL,
		   "  the model does not take over");
		fake[ids[i]].read_rc = 0;
		fake[ids[i]].late = 0;
		tick(&m);
		(void)snprintf(want, sizeof(want), "%s: is back\n", name);
		ok(!m.r.lost && strstr(logged, want), "  until it is back");
		finish(&m);
	}
}

/* Configured, and not there from the start: the model counts, but not in silence. */
static void test_lost_from_start(void)
{
	static const struct settings settings = { .redfish_conf = "/etc/bmc", .ipmi_sensor = "dcmi" };
	static const struct source_env configured = { .settings = &settings, .sys_root = "/" };
	struct sources_status st;
	struct machine m = { 0 };
	int t;

	no_sources();
	shows(SOURCE_MODEL, DOMAIN_OTHER, 0, 7);
	is_int(sources_open("auto", all, ARRAY_SIZE(all), &configured, &m.s, &m.err), 0, "auto");
	tick(&m);
	ok(m.r.lost == 1u << SOURCE_REDFISH && sources_status(m.s, SOURCE_REDFISH, &st) && st.is_lost,
	   "a configured source that cannot be opened is lost");
	is_str(logged,
	       "redfish: is lost: /sys/redfish: No such device; the model's estimate is used meanwhile, "
	       "and ceems check says more\n",
	       "  the log says so");
	tick(&m);
	is_from(&m, DOMAIN_OTHER, SOURCE_MODEL, 7, "  the model counts");
	finish(&m);

	no_sources();
	shows(SOURCE_MODEL, DOMAIN_OTHER, 0, 7);
	shows(SOURCE_REDFISH, DOMAIN_N, 0, 100);
	fake[SOURCE_REDFISH].read_rc = -EIO;
	memset(&m, 0, sizeof(m));
	is_int(sources_open("auto", all, ARRAY_SIZE(all), &configured, &m.s, &m.err), 0,
	       "one that cannot be read");
	for (t = 0; t < 20; t++)
		tick(&m);
	is_u64(m.r.lost, 1u << SOURCE_REDFISH, "  is lost");
	is_from(&m, DOMAIN_OTHER, SOURCE_MODEL, 7, "  the model counts");
	ok(strstr(logged, "redfish: is lost: Input/output error; ") != NULL, "  the log says so: %s", logged);
	fake[SOURCE_REDFISH].read_rc = 0;
	tick(&m);
	is_u64(m.r.lost, 0, "  until it can be read");
	is_from(&m, DOMAIN_OTHER, SOURCE_REDFISH, 0, "  and has the node");
	finish(&m);

	no_sources();
	start(&m, "rapl,nvml");
	tick(&m);
	is_u64(m.r.lost, 0, "a list may name what this node does not have");
	finish(&m);
	no_sources();
	fake[SOURCE_NVML].open_rc = -ENXIO;
	start(&m, "rapl,nvml");
	tick(&m);
	is_u64(m.r.lost, 1u << SOURCE_NVML, "  but not what is there and cannot be used");
	finish(&m);
}

static void put_uj_of(enum source_id id, unsigned int part, uint64_t uj)
{
	fake[id].part[part].energy_uj = uj;
}

/* A blade whose controller shows the node, but no energy of its processors, or none of its memory. */
static void test_handed_over(void)
{
	struct machine m;
	int i;

	no_sources();
	shows(SOURCE_CRAY, DOMAIN_N, 0, 1000);
	shows(SOURCE_CRAY, DOMAIN_CPU, 0, 100);
	shows(SOURCE_CRAY, DOMAIN_DRAM, 0, 0);
	shows(SOURCE_RAPL, DOMAIN_CPU, 0, 60);
	shows(SOURCE_RAPL, DOMAIN_CPU, 1, 40);
	shows(SOURCE_RAPL, DOMAIN_DRAM, 0, 10);
	start(&m, "auto");
	for (i = 0; i < 10; i++)
		tick(&m);
	is_from(&m, DOMAIN_CPU, SOURCE_CRAY, 100, "processors");
	is_from(&m, DOMAIN_DRAM, SOURCE_CRAY, 0, "memory");
	put_uj_of(SOURCE_CRAY, 1, 0);
	fake[SOURCE_CRAY].part[1].is_unread = true;
	for (i = 0; i < 4; i++)
		tick(&m);
	is_from(&m, DOMAIN_DRAM, SOURCE_CRAY, 0, "14 s without energy");
	tick(&m);
	is_from(&m, DOMAIN_DRAM, SOURCE_RAPL, 10, "then the next has it");
	for (i = 0; i < 10; i++)
		tick(&m);
	is_from(&m, DOMAIN_CPU, SOURCE_RAPL, 100, "processors, too, both sockets");
	is_u64(m.r.lost, 0, "no source is lost");
	ok(sum_uj(&m, DOMAIN_OTHER) <= 1000 - 110, "the rest of the node is not counted twice");
	is_str(strstr(logged, "cray: shows"),
	       "cray: shows no energy of dram any more; rapl measures it until slurmd is restarted\n"
	       "cray: shows no energy of cpu any more; rapl measures it until slurmd is restarted\n",
	       "one line each");
	put_uj_of(SOURCE_CRAY, 1, 5000);
	tick(&m);
	is_from(&m, DOMAIN_CPU, SOURCE_RAPL, 100, "what comes later is not taken");
	sources_close(m.s);
	put_uj_of(SOURCE_CRAY, 1, 100);
	fake[SOURCE_CRAY].part[1].is_unread = false;
	is_int(sources_open("auto", all, ARRAY_SIZE(all), &env, &m.s, &m.err), 0, "slurmd is restarted");
	(void)source_state_put(&m.state[SOURCE_CRAY], "base", 7);
	tick(&m);
	ok(!source_state_find(&m.state[SOURCE_CRAY], "base"), "the first has new bases");
	is_from(&m, DOMAIN_CPU, SOURCE_CRAY, 100, "and its domain");
	ok(m.r.is_tainted, "what was used before is unknown");
	tick(&m);
	ok(!m.r.is_tainted, "  once");
	finish(&m);
}

/*
 * A source dies and perhaps comes back with all its energy; another measures the same. In the end each joule
 * is booked once, and none before it was used.
 */
static void test_each_joule_once(void)
{
	unsigned int n, wrong = 0, handed = 0;
	int i;

	rng = 4711;
	for (n = 0; n < 1000; n++) {
		int dies = 1 + (int)rnd(20), comes = dies + 1 + (int)rnd(40), ticks = comes + 20;
		bool fails = rnd(2);
		uint64_t true_uj = 0, booked_uj = 0, pending_uj = 0;
		struct machine m = { 0 };

		no_sources();
		shows(SOURCE_CRAY, DOMAIN_CPU, 0, 0);
		shows(SOURCE_RAPL, DOMAIN_CPU, 0, 0);
		if (sources_open("auto", all, ARRAY_SIZE(all), &env, &m.s, &m.err) < 0)
			break;
		for (i = 0; i < ticks; i++) {
			bool is_dead = i >= dies && i < comes;
			uint64_t uj = 1 + rnd(1000);

			true_uj += uj;
			pending_uj += uj;
			fake[SOURCE_CRAY].read_rc = is_dead && fails ? -EIO : 0;
			put_uj_of(SOURCE_CRAY, 0, is_dead ? 0 : pending_uj);
			pending_uj = is_dead ? pending_uj : 0;
			put_uj_of(SOURCE_RAPL, 0, uj);
			tick(&m);
			booked_uj += sum_uj(&m, DOMAIN_CPU);
			wrong += booked_uj > true_uj;
		}
		wrong += booked_uj != true_uj;
		handed += m.r.from[DOMAIN_CPU] == SOURCE_RAPL;
		sources_close(m.s);
	}
	ok(n == 1000 && !wrong && handed > 100 && handed < 900,
	   "1000 histories, %u handed over, each joule once", handed);
}

/* One tick, and what is in doubt. */
static void assess(struct machine *m)
{
	static const uint64_t socket_ns[SOCKETS_MAX] = { NSEC_PER_SEC };
	static const uint32_t socket_cpus[SOCKETS_MAX] = { 4 };
	const struct sources_load load = {
		.busy_ns = NSEC_PER_SEC, .socket_ns = socket_ns, .socket_cpus = socket_cpus, .cpus = 4
	};

	tick(m);
	sources_assess(m->s, m->now_ns, NSEC_PER_SEC, &load, &m->r);
}

static unsigned int doubt_of(const struct machine *m, enum domain d, uint8_t unit)
{
	uint32_t i;

	for (i = 0; i < m->r.nparts; i++)
		if (m->r.part[i].domain == d && m->r.part[i].unit == unit)
			return m->r.part[i].doubt;
	return DOUBT_N;
}

/* psys that never counts, beside packages that do. */
static void test_dead_node(void)
{
	struct sources_status st;
	struct machine m;
	uint64_t disagreement_uj = 0;
	int t;

	no_sources();
	shows(SOURCE_RAPL, DOMAIN_CPU, 0, 50000000);
	shows(SOURCE_RAPL, DOMAIN_DRAM, 0, 5000000);
	shows(SOURCE_RAPL, DOMAIN_N, 0, 0);
	start(&m, "auto");
	for (t = 0; t < 40; t++) {
		assess(&m);
		disagreement_uj += m.r.disagreement_uj;
	}
	is_from(&m, DOMAIN_OTHER, SOURCE_N, 0, "a sensor of the node that never counts is as none");
	ok(doubt_of(&m, DOMAIN_OTHER, 0) == DOUBT_DEAD && !doubt_of(&m, DOMAIN_CPU, 0) &&
		   !doubt_of(&m, DOMAIN_DRAM, 0),
	   "  it is dead, and the parts are not in doubt");
	ok(!m.r.lost && !m.r.is_tainted && !disagreement_uj, "  no source is lost, and nothing disagrees");
	ok(sources_status(m.s, SOURCE_RAPL, &st) && !st.is_node, "  it is not used");
	ok(strstr(logged, "rapl: the sensor of the whole node never moved") &&
		   !strstr(logged, "new readings"),
	   "  the log says so: %s", logged);
	fake[SOURCE_RAPL].part[2].energy_uj = 70000000;
	assess(&m);
	assess(&m);
	assess(&m);
	is_from(&m, DOMAIN_OTHER, SOURCE_RAPL, 15000000, "it counts: it is used");
	is_u64(doubt_of(&m, DOMAIN_OTHER, 0), DOUBT_NONE, "  without doubt");
	finish(&m);

	no_sources();
	shows(SOURCE_RAPL, DOMAIN_CPU, 0, 50000000);
	shows(SOURCE_RAPL, DOMAIN_CPU, 1, 0);
	start(&m, "auto");
	for (t = 0; t < 12; t++)
		assess(&m);
	ok(doubt_of(&m, DOMAIN_CPU, 0) == DOUBT_NONE && doubt_of(&m, DOMAIN_CPU, 1) == DOUBT_STANDING,
	   "one of two packages stands still");
	fake[SOURCE_RAPL].read_rc = -EIO;
	for (t = 0; t < 20; t++)
		assess(&m);
	ok(doubt_of(&m, DOMAIN_CPU, 0) == DOUBT_LOST, "the source is lost: so is the other");
	finish(&m);

	no_sources();
	shows(SOURCE_CRAY, DOMAIN_CPU, 0, 50000000);
	shows(SOURCE_CRAY, DOMAIN_N, 0, 80000000);
	start(&m, "auto");
	for (t = 0; t < 60; t++) {
		fake[SOURCE_CRAY].part[1].energy_uj = t < 5 ? 80000000 : 0;
		fake[SOURCE_CRAY].part[1].until_ns = m.now_ns + NSEC_PER_SEC;
		disagreement_uj = t < 30 ? 0 : disagreement_uj + m.r.disagreement_uj;
		assess(&m);
	}
	ok(doubt_of(&m, DOMAIN_OTHER, 0) == DOUBT_STANDING && !disagreement_uj && !m.r.lost,
	   "a node's sensor that stops does not disagree for ever");
	finish(&m);

	no_sources();
	fake[SOURCE_NVML].open_rc = -ENXIO;
	shows(SOURCE_RAPL, DOMAIN_CPU, 0, 50000000);
	start(&m, "rapl,nvml");
	assess(&m);
	ok(m.r.doubt[DOMAIN_GPU] == DOUBT_LOST && !m.r.doubt[DOMAIN_OTHER] && !doubt_of(&m, DOMAIN_CPU, 0),
	   "a library of GPUs that cannot be used is no matter of the CPUs");
	finish(&m);
}

static void test_status(void)
{
	struct sources_status st = { 0 };
	struct gpu_reading gpu[4];
	struct machine m;

	no_sources();
	shows(SOURCE_IPMI, DOMAIN_N, 0, 100);
	shows(SOURCE_NVML, DOMAIN_GPU, 0, 50);
	shows(SOURCE_ROCM, DOMAIN_GPU, 0, 50);
	fake[SOURCE_NVML].gpus = 1;
	fake[SOURCE_ROCM].gpus = 3;
	start(&m, "ipmi,nvml,rocm,rapl");
	ok(!sources_status(m.s, SOURCE_CRAY, &st), "one that was not asked for");
	ok(sources_status(m.s, SOURCE_RAPL, &st) && !st.is_open && st.rc == -ENODEV, "one that is not there");
	is_str(st.why, "/sys/rapl: No such device", "  and why");
	ok(sources_status(m.s, SOURCE_IPMI, &st) && st.is_open && !st.last, "one that is");
	tick(&m);
	ok(sources_status(m.s, SOURCE_IPMI, &st) && st.is_node && st.last && st.last->nparts == 1,
	   "  and was read");
	is_str(st.about, "fake", "  what it is");
	is_u64(sources_gpus(m.s, gpu, 3), 3, "GPUs of all sources, as many as there is room for");
	ok(gpu[0].unit == 40 && gpu[1].unit == 50 && gpu[2].unit == 51, "  in their order: %u %u %u",
	   gpu[0].unit, gpu[1].unit, gpu[2].unit);
	finish(&m);
}

static void put_uj(const char *dir, const char *zone, uint64_t uj)
{
	char path[PATH_MAX];
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", uj);

	snprintf(path, sizeof(path), "%s/client-psys/sys/class/powercap/%s/energy_uj", dir, zone);
	ok(scratch_write(path, text, (size_t)n), "%s: %s", zone, text);
}

/* RAPL as it is: package, DRAM and the platform that they are in. */
static void test_psys(void)
{
	static const struct {
		const char *name;
		uint64_t package, dram, psys; /* used in the tick */
		uint64_t other, sum;	      /* sum: all that was booked so far */
		bool is_restart;
	} t[] = {
		{ "the base", 0, 0, 0, 0, 0, false },
		{ "a rest", 1000, 200, 1500, 300, 1500, false },
		{ "parts ahead by 100", 1000, 200, 1100, 0, 2700, false },
		{ "slurmd is restarted", 1000, 200, 1700, 400, 4300, true },
	};
	char dir[] = SCRATCH_TEMPLATE;
	char root[PATH_MAX];
	char command[2 * PATH_MAX];
	const struct source_env here = { .sys_root = root };
	uint64_t package = 1000000, dram = 1000000, psys = 1000000;
	struct machine m = { 0 };
	uint64_t sum = 0;
	size_t i;

	ok(mkdtemp(dir) != NULL, "a folder");
	snprintf(root, sizeof(root), "%s/client-psys", dir);
	snprintf(command, sizeof(command), "cp -r '%s/client-psys' '%s'", FIXTURES, dir);
	is_int(system(command), 0, "a client with psys");
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		put_uj(dir, "intel-rapl:0", package += t[i].package);
		put_uj(dir, "intel-rapl:0:2", dram += t[i].dram);
		put_uj(dir, "intel-rapl:1", psys += t[i].psys);
		if (t[i].is_restart)
			sources_close(m.s);
		if (t[i].is_restart || !i)
			is_int(sources_open("rapl", source_builtin, source_nbuiltin, &here, &m.s, &m.err), 0,
			       "open");
		tick(&m);
		is_from(&m, DOMAIN_OTHER, SOURCE_RAPL, t[i].other, t[i].name);
		is_from(&m, DOMAIN_CPU, SOURCE_RAPL, t[i].package, t[i].name);
		sum += sum_uj(&m, DOMAIN_CPU) + sum_uj(&m, DOMAIN_DRAM) + sum_uj(&m, DOMAIN_OTHER);
		is_u64(sum, t[i].sum, "  and all that is booked");
	}
	is_u64(sum, psys - 1000000, "in the end it is what the platform used");
	sources_close(m.s);
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	is_int(system(command), 0, "away");
}

int main(void)
{
	logger_set_sink(keep_lines);
	test_open();
	test_domains();
	test_node();
	test_estimates();
	test_failures();
	test_lost();
	test_lost_from_start();
	test_handed_over();
	test_each_joule_once();
	test_dead_node();
	test_status();
	test_psys();
	return done_testing();
}
