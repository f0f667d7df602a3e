/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/sources/hwmon_meter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"
#include "src/sources/asker.h"

#define UW_PER_MW 1000

/* Beyond ceems-meter's own limit for one reading. */
#define SILENCE_NS (90 * NSEC_PER_SEC)

/* More answers than this in one tick are not a sensor's: it has a minute at most. */
#define ANSWERS_MAX 64

/* What a slow meter needs; in one piece, as the asker borrows it. */
struct hwmon_slow {
	struct asker *asker;
	char helper[PATH_MAX];
	char path[PATH_MAX];
	char interval_ms[24];
	char *argv[5];
};

static int open_slow(struct hwmon_meter *m, const char *path, const struct source_env *env,
		     struct errmsg *err)
{
	struct hwmon_slow *slow = calloc(1, sizeof(*slow));
	int rc;

	if (!slow)
		return errmsg_errno(err, -ENOMEM, "%s", path);
	if ((size_t)snprintf(slow->helper, sizeof(slow->helper), "%s/ceems-meter",
			     env->helper_dir) >= sizeof(slow->helper)) {
		free(slow);
		return errmsg_errno(err, -ENAMETOOLONG, "HelperDir");
	}
	(void)snprintf(slow->path, sizeof(slow->path), "%s", path);
	(void)snprintf(slow->interval_ms, sizeof(slow->interval_ms), "%" PRIu64,
		       env->slow_interval_ns / NSEC_PER_MSEC);
	slow->argv[0] = slow->helper;
	slow->argv[1] = (char *)"--interval-ms"; /* posix_spawn() changes nothing */
	slow->argv[2] = slow->interval_ms;
	slow->argv[3] = slow->path;
	rc = asker_open(slow->argv, SILENCE_NS + env->slow_interval_ns, &slow->asker, err);
	if (rc < 0)
		free(slow);
	else
		m->slow = slow;
	return rc;
}

static int open_fast(struct hwmon_meter *m, const char *path, struct errmsg *err)
{
	m->fd = open(path, O_RDONLY | O_CLOEXEC);
	return m->fd < 0 ? errmsg_errno(err, -errno, "%s", path) : 0;
}

int hwmon_meter_open(struct hwmon_meter *m, const struct hwmon_sensor *sensor,
		     const struct hwmon_rail *rail, const struct source_env *env,
		     struct errmsg *err)
{
	*m = (struct hwmon_meter){ .rail = *rail, .is_energy = sensor->is_energy, .fd = -1 };
	(void)snprintf(m->name, sizeof(m->name), "%.13s:%.10s:%.12s", sensor->chip,
		       sensor->device, sensor->feature);
	(void)snprintf(m->chip, sizeof(m->chip), "%s", sensor->chip);
	m->counter.range_uj = UINT64_MAX; /* all these drivers add up in 64 bits */
	m->counter.max_w = rail->max_w;
	m->integrate.max_mw = rail->max_w * 1000;
	m->integrate.max_gap_ns = INTEGRATE_GAP_NS;
	return rail->is_slow ? open_slow(m, sensor->path, env, err) :
			       open_fast(m, sensor->path, err);
}

void hwmon_meter_stop(struct hwmon_meter *m)
{
	if (m->slow)
		asker_kill(m->slow->asker);
}

void hwmon_meter_close(struct hwmon_meter *m, uint64_t deadline_ns)
{
	if (m->fd >= 0)
		(void)close(m->fd);
	if (m->slow)
		asker_close(m->slow->asker, deadline_ns);
	free(m->slow);
}

void hwmon_meter_wait(const struct hwmon_meter *m, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_mono_ns();

	if (m->slow && now_ns < deadline_ns)
		(void)asker_poll(m->slow->asker, deadline_ns - now_ns);
}

/* --- a tick ------------------------------------------------------------------------------- */

/* The last of what was told since; -EAGAIN: nothing. */
static int take_answers(struct hwmon_meter *m)
{
	struct answer answer;
	int rc = -EAGAIN;
	int i;

	for (i = 0; i < ANSWERS_MAX; i++) {
		if (asker_next(m->slow->asker, clock_mono_ns(), &answer) < 0)
			break;
		m->is_told_bad = answer.kind != ANSWER_VALUE;
		if (m->is_told_bad) {
			rc = -EIO;
			continue;
		}
		rc = 0;
		m->value = answer.value;
		m->t_ns = answer.t_ns;
	}
	return rc;
}

void hwmon_meter_sample(struct hwmon_meter *m, uint64_t now_ns, bool zero_is_wrong)
{
	m->t_ns = now_ns;
	m->rc = m->slow ? take_answers(m) : fileio_pread_u64(m->fd, &m->value);
	if (m->rc < 0 || m->is_energy)
		return;
	m->value /= UW_PER_MW;
	if ((zero_is_wrong && !m->value) || m->value > m->integrate.max_mw)
		m->rc = -ERANGE;
}

/* What is not known yet is not claimed: the part reaches to the slowest sensor's last sample. */
static void hold_back(const struct hwmon_meter *m, struct reading_part *part)
{
	if (m->good_ns && (!part->until_ns || m->good_ns < part->until_ns))
		part->until_ns = m->good_ns;
}

static int book_counter(struct hwmon_meter *m, uint64_t dt_ns, struct source_state *state,
			struct reading *out, struct reading_part *part)
{
	bool wrapped = false;
	uint64_t uj = 0;
	int rc = counter_state_advance(&m->counter, state, m->name, m->rc, m->value, dt_ns, &uj,
				       &wrapped);

	out->rejected += rc < 0 && rc != -EAGAIN;
	if (rc == 0)
		part->energy_uj += uj;
	part->is_new_base |= rc == 1;
	if (m->slow)
		hold_back(m, part);
	return rc;
}

static int book_power(struct hwmon_meter *m, struct source_state *state, struct reading *out,
		      struct reading_part *part)
{
	if (m->rc == 0)
		return integrate_book(&m->integrate, state, m->name, m->value, m->t_ns, out,
				      part);
	hold_back(m, part);
	out->rejected += m->rc != -EAGAIN;
	return m->rc;
}

void hwmon_meter_book(struct hwmon_meter *m, uint64_t dt_ns, struct source_state *state,
		      struct reading *out)
{
	struct reading_part *part =
		reading_part(out, m->rail.domain, m->rail.unit,
			     m->is_energy ? QUALITY_COUNTER : QUALITY_INTEGRATED);
	int rc;

	part->is_whole_node = m->rail.is_whole_node;
	if (m->rc == 0)
		m->good_ns = m->t_ns;
	rc = m->is_energy ? book_counter(m, dt_ns, state, out, part) :
			    book_power(m, state, out, part);
	if (rc < 0 && rc != -EAGAIN && !m->is_failing)
		logger_debug("hwmon: %s: %s", m->name, strerror(-rc));
	m->is_failing = rc < 0 && (rc != -EAGAIN || m->is_failing);
}

bool hwmon_meter_is_read(const struct hwmon_meter *m)
{
	return m->rc == 0 || m->rc == -ERANGE ||
	       (m->rc == -EAGAIN && m->good_ns && !m->is_told_bad);
}
