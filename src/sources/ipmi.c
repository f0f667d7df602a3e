/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source ipmi: what the whole node draws, as its BMC shows it over /dev/ipmi0. A BMC answers
 * in 30 ms to some seconds, or not at all, so ceems-ipmi asks it, in a process of its own
 * (asker.h); here its samples are integrated. They are few and late: until_ns says how far they
 * reach, and remainder.h gives the time in between its shape from the faster sources.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "src/libmeter/sensor/counter.h"
#include "src/libmeter/sensor/integrate.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"
#include "src/sources/asker.h"

/* Its own limit for one exchange is a minute, for reading all of the SDR two. */
#define SILENCE_NS (180 * NSEC_PER_SEC)

/* slurmd starts no later than this for a BMC that hangs; most answer in a tenth of it. */
#define FIRST_ANSWER_NS (2 * NSEC_PER_SEC)

/* More answers than this in one tick are not a sensor's: it has a minute at most. */
#define ANSWERS_MAX 64

/* A missed answer or two is bridged, by the mean of those around it. */
#define GAP_INTERVALS 4

struct source {
	struct asker *asker;
	struct integrate integrate;
	uint64_t last_ns; /* the last sample; 0: none yet */
	bool has_first;	  /* FIRST came with open() and was not booked yet */
	struct answer first;
	uint64_t interval_ns;
	bool is_failing;
	/* borrowed by the asker */
	char helper[PATH_MAX];
	char device[PATH_MAX];
	char sensor[64];
	char interval[24];
	char *argv[8];
};

static void ipmi_close(struct source *s)
{
	if (!s)
		return;
	asker_close(s->asker, clock_mono_ns() + ASKER_END_NS);
	free(s);
}

static int prepare(struct source *s, const struct source_env *env)
{
	const char *root = strcmp(env->sys_root, "/") ? env->sys_root : "";

	if ((size_t)snprintf(s->helper, sizeof(s->helper), "%s/ceems-ipmi", env->helper_dir) >=
		    sizeof(s->helper) ||
	    (size_t)snprintf(s->device, sizeof(s->device), "%s/dev/ipmi0", root) >=
		    sizeof(s->device) ||
	    (size_t)snprintf(s->sensor, sizeof(s->sensor), "%s", env->ipmi_sensor) >=
		    sizeof(s->sensor))
		return -ENAMETOOLONG;
	(void)snprintf(s->interval, sizeof(s->interval), "%" PRIu64,
		       env->slow_interval_ns / NSEC_PER_MSEC);
	s->argv[0] = s->helper;
	s->argv[1] = (char *)"--device"; /* posix_spawn() takes char *const and changes nothing */
	s->argv[2] = s->device;
	s->argv[3] = (char *)"--sensor";
	s->argv[4] = s->sensor;
	s->argv[5] = (char *)"--interval-ms";
	s->argv[6] = s->interval;
	s->interval_ns = env->slow_interval_ns;
	s->integrate.max_mw = COUNTER_PLATFORM_MAX_W * 1000;
	s->integrate.max_gap_ns = GAP_INTERVALS * env->slow_interval_ns;
	return 0;
}

/*
 * A machine that has no such sensor is known at once, as a rule. One whose BMC is busy or slow
 * just now is a source all the same: its answers come later.
 */
static int ask_first(struct source *s, struct errmsg *err)
{
	if (asker_poll(s->asker, FIRST_ANSWER_NS) < 0 ||
	    asker_next(s->asker, clock_mono_ns(), &s->first) < 0)
		return 0;
	if (s->first.kind == ANSWER_NEVER)
		return errmsg_set(err, -ENODEV, "%s", s->first.text);
	s->has_first = true;
	return 0;
}

static int ipmi_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	struct source *s = calloc(1, sizeof(*s));
	int rc;

	logger_set_sink(env->log);
	if (!s)
		return errmsg_errno(err, -ENOMEM, "ceems-ipmi");
	rc = prepare(s, env);
	if (rc < 0) {
		(void)errmsg_errno(err, rc, "IpmiSensor, HelperDir or SysRoot");
		goto fail;
	}
	/* the modules are the site's to load, not ours */
	if (access(s->device, F_OK) < 0) {
		rc = errmsg_set(err, -ENODEV, "no %s (kernel modules ipmi_si, ipmi_devintf)",
				s->device);
		goto fail;
	}
	rc = asker_open(s->argv, SILENCE_NS + GAP_INTERVALS * s->interval_ns, &s->asker, err);
	if (rc == 0)
		rc = ask_first(s, err);
	if (rc < 0)
		goto fail;
	*ret = s;
	return 0;
fail:
	ipmi_close(s);
	return rc;
}

/* --- one tick ----------------------------------------------------------------------------- */

static int next(struct source *s, struct answer *ret)
{
	if (!s->has_first)
		return asker_next(s->asker, clock_mono_ns(), ret);
	s->has_first = false;
	*ret = s->first;
	return 0;
}

static void book(struct source *s, const struct answer *a, struct source_state *state,
		 struct reading *out, struct reading_part *part)
{
	int rc;

	if (a->kind != ANSWER_VALUE) {
		out->rejected++;
		if (!s->is_failing)
			logger_debug("ipmi: %s", a->text);
		s->is_failing = true;
		return;
	}
	rc = integrate_book(&s->integrate, state, "ipmi", a->value, a->t_ns, out, part);
	if (rc < 0 && rc != -ETIME)
		return;
	s->last_ns = a->t_ns;
	s->is_failing = false;
}

static int ipmi_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm,
		     struct source_state *state, struct reading *ret)
{
	struct reading out = { 0 };
	struct reading_part *part =
		reading_part(&out, DOMAIN_OTHER, 0, QUALITY_INTEGRATED);
	struct answer answer;
	int i;

	(void)dt_ns;
	(void)busy_ppm;
	part->is_whole_node = true;
	/* what comes after a new base is for the next tick: a base has no energy beside it */
	for (i = 0; i < ANSWERS_MAX && !part->is_new_base && next(s, &answer) == 0; i++)
		book(s, &answer, state, &out, part);
	if (!s->last_ns)
		return -EIO;
	part->until_ns = s->last_ns; /* of several samples the last */
	*ret = out;
	return 0;
}

static void ipmi_describe(const struct source *s, char *buf, size_t size)
{
	(void)snprintf(buf, size, "node: %s, integrated, every %s ms",
		       strcmp(s->sensor, "dcmi") ? s->sensor : "DCMI power reading",
		       s->interval);
}

static const struct source_ops source_ipmi = {
	.id = SOURCE_IPMI,
	.name = "ipmi",
	.is_estimate = false,
	.open = ipmi_open,
	.read = ipmi_read,
	.describe = ipmi_describe,
	.close = ipmi_close,
};

source_module_fn ceems_source;

const struct source_ops *ceems_source(unsigned int abi)
{
	return abi == SOURCE_ABI ? &source_ipmi : NULL;
}
