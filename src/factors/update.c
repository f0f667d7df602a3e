/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/factors/update.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>

#include "src/factors/validate.h"
#include "src/factors/merge.h"
#include "src/libcore/settings.h"
#include "src/libutil/clock.h"
#include "src/libutil/items.h"
#include "src/libutil/nocore.h"
#include "src/libutil/trust.h"

void update_hide_process(void)
{
	(void)unsetenv("SSLKEYLOGFILE"); /* libcurl would write the connections' keys there */
	(void)prctl(PR_SET_DUMPABLE, 0);
	nocore_set();
}

/*
 * Takes the lock: one update at a time. Otherwise the later of two would overwrite the points of
 * the earlier. The folder is checked because others, if they may write to it, could replace the
 * lock by a link.
 */
static int lock_series(const char *path, int *ret_fd, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	char lock[PATH_MAX];
	int rc;

	if ((size_t)snprintf(lock, sizeof(lock), "%s.lock", path) >= sizeof(lock))
		return errmsg_errno(err, -ENAMETOOLONG, "%s", path);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot open", lock);
	rc = trust_check(lock, err);
	if (rc < 0)
		return rc;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ?
			       errmsg_set(err, -EBUSY, "%s: another update is under way", path) :
			       errmsg_errno(err, -errno, "%s: cannot lock", lock);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Asks for one zone and checks the answer; *RET gets the points that passed. */
static int ask_zone(struct fetch *f, const struct provider_ask *ask, const struct factor_series *known,
		    bool accept, struct points *ret, size_t *ret_doubts, struct errmsg *err)
{
	const char *text;
	size_t len;
	int rc;

	*ret_doubts = 0;
	fetch_begin(f);
	rc = ask->provider->fetch(f, ask, &text, &len, err);
	if (rc == 0)
		rc = ask->provider->parse(ask, text, len, ret, err);
	if (rc == 0)
		rc = validate_points(ask, known, accept, ret, ret_doubts, err);
	return rc;
}

struct update_run {
	const struct update *u;
	struct fetch *fetch;
	struct factor_series series;
	int failures;
	bool is_changed;
};

static void do_zone(struct update_run *r, const struct provider *o, const struct factors_zone *zone)
{
	struct provider_ask ask = { .conf = provider_conf_of(o, r->u->conf),
				    .provider = o,
				    .zone = *zone,
				    .now_s = clock_wall_ns() / NSEC_PER_SEC };
	struct update_outcome out = { .ask = &ask };
	struct errmsg why = { 0 };
	struct points p = { 0 };

	if (!*ask.zone.region && o->region)
		o->region(zone->zone, ask.zone.region, sizeof(ask.zone.region));
	else if (!*ask.zone.region)
		(void)snprintf(ask.zone.region, sizeof(ask.zone.region), "%s", zone->zone);
	out.rc = ask_zone(r->fetch, &ask, &r->series, r->u->accept, &p, &out.doubts, &why);
	if (out.rc == 0)
		out.rc = merge_points(&r->series, r->u->conf->providers, o, &p, &why);
	if (out.rc == 0 && p.n)
		r->is_changed = true;
	r->failures += out.rc < 0 || out.doubts;
	out.why = why.text;
	out.points = &p;
	r->u->tell(r->u->ctx, &out);
	points_fini(&p);
}

static int write_series(struct update_run *r, struct errmsg *err)
{
	uint64_t now_s = clock_wall_ns() / NSEC_PER_SEC;
	uint64_t keep_s = r->u->conf->keep_ns / NSEC_PER_SEC;

	factor_series_expire(&r->series, now_s > keep_s ? now_s - keep_s : 0);
	merge_neighbours(&r->series);
	r->is_changed = false;
	return factor_series_write(r->u->series_path, &r->series, err);
}

/*
 * Asks for all zones of a provider and writes the series at once: the next provider may take until
 * we are killed.
 */
static int do_provider(struct update_run *r, const struct provider *o, struct errmsg *err)
{
	struct provider_ask ask = { .conf = provider_conf_of(o, r->u->conf), .provider = o };
	const char *list = o->zones ? o->zones : ask.conf->zones;
	struct factors_zone zone;
	struct update_outcome out = { .ask = &ask, .rc = -EINVAL, .why = "no zone is set for it" };

	if (!o->fetch)
		return 0;
	if (!*list) {
		r->failures++;
		r->u->tell(r->u->ctx, &out);
	}
	/* the list was checked when the configuration was read */
	while (factors_zone_next(&list, &zone, NULL) > 0)
		do_zone(r, o, &zone);
	return r->is_changed && !r->u->is_trial ? write_series(r, err) : 0;
}

static int read_series(const char *path, struct factor_series *ret, struct errmsg *err)
{
	struct errmsg why = { 0 };
	int rc = factor_series_read(path, ret, &why);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		(void)errmsg_set(err, rc, "%s%s", why.text,
				 rc == -EINVAL ? "; correct it, or move the file away to start a new one" :
						 "");
	return rc;
}

int update_run(const struct update *u, struct errmsg *err)
{
	struct factors_conf once = *u->conf;
	_cleanup_close_ int lock = -1;
	struct update_run r = { .u = u };
	const char *list = u->conf->providers;
	char name[64];
	int rc = 0;

	if (u->is_trial)
		once.tries = 1;
	else
		rc = lock_series(u->series_path, &lock, err);
	if (rc == 0)
		rc = read_series(u->series_path, &r.series, err);
	if (rc == 0)
		rc = fetch_create(&once, &r.fetch, err);
	while (rc == 0 && items_next(&list, name, sizeof(name)))
		rc = do_provider(&r, provider_find(name), err);
	fetch_destroy(r.fetch);
	factor_series_fini(&r.series);
	return rc < 0 ? rc : r.failures;
}
