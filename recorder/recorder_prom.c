/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recorder_prom.c - writes ceems_controller.prom, the recorder's state for node_exporter's textfile
 * collector. Counts come from struct recorder, the rest from the store through a connection that
 * only reads.
 */
#include "ceems_config.h"

#include "recorder/recorder.h"

#include <errno.h>
#include <string.h>

#include "src/libcore/controller_metric.h"
#include "src/libstore/store_view.h"
#include "src/libutil/clock.h"
#include "src/libutil/items.h"
#include "src/libutil/logger.h"
#include "src/libutil/textfile_feed.h"

struct recorder_prom {
	struct textfile_feed *feed;
	struct store_view *view; /* NULL: not open */
	char host[256];		 /* without the domain */
};

static const struct prom_family *prom_of(enum controller_metric m)
{
	return &controller_metrics[m];
}

static void prom_put_plain(struct prom *p, enum controller_metric m, uint64_t value)
{
	prom_put(p, prom_of(m), value, "%s", "");
}

/* Seconds since SINCE; 0 if SINCE is 0 (none). */
static uint64_t prom_age(uint64_t now_s, uint64_t since)
{
	return since && now_s > since ? now_s - since : 0;
}

/* --- the recorder itself ------------------------------------------------------------------------- */

static void prom_put_self(const struct recorder *r, struct prom *p, bool has_ended)
{
	prom_put_plain(p, CONTROLLER_RUNNING, !has_ended);
	prom_put(p, prom_of(CONTROLLER_BUILD), 1, ",version=\"%s\"", PACKAGE_VERSION);
	prom_put_plain(p, CONTROLLER_START, r->started_s);
	prom_put_plain(p, CONTROLLER_UPDATED, r->wall_s());
}

static void prom_put_inbox(const struct recorder *r, struct prom *p)
{
	struct inbox_status inbox;

	if (inbox_get_status(r->settings.inbox_dir, &r->taken, &inbox, NULL) == 0) {
		prom_put_plain(p, CONTROLLER_INBOX_BYTES, inbox.unread);
		prom_put_plain(p, CONTROLLER_INBOX_LAG, prom_age(r->wall_s(), inbox.oldest));
	}
	prom_put_plain(p, CONTROLLER_JOB_ENDS, r->total.ends);
	prom_put_plain(p, CONTROLLER_JOB_ENDS_FOUND, r->total.found);
}

static void prom_put_jobs(const struct recorder *r, struct prom *p, const struct store_counts *c)
{
	if (c) {
		prom_put_plain(p, CONTROLLER_JOBS_WAITING, c->jobs[STORE_JOB_ENDED]);
		prom_put_plain(p, CONTROLLER_JOBS_AGE, prom_age(r->wall_s(), c->oldest_end));
		prom_put_plain(p, CONTROLLER_JOBS_CORRECTABLE, c->jobs[STORE_JOB_FINAL]);
	}
	prom_put(p, prom_of(CONTROLLER_RECORDS), r->total.records[1], ",state=\"final\"");
	prom_put(p, prom_of(CONTROLLER_RECORDS), r->total.records[0], ",state=\"open\"");
	prom_put_plain(p, CONTROLLER_CORRECTIONS, r->total.corrected);
	prom_put_plain(p, CONTROLLER_GIVEN_UP, r->ngiven_up);
	prom_put_plain(p, CONTROLLER_DEFAULT_FACTOR, r->defaults.records);
}

static void prom_put_store(const struct recorder *r, struct prom *p, const struct store_counts *c)
{
	struct store_size size;

	store_get_size(r->store, &size);
	prom_put_plain(p, CONTROLLER_STORE_USED, size.used_bytes);
	if (c)
		prom_put_plain(p, CONTROLLER_STORE_FILE, c->file_bytes);
	if (size.max_bytes)
		prom_put_plain(p, CONTROLLER_STORE_MAX, size.max_bytes);
	if (c)
		prom_put_plain(p, CONTROLLER_STORE_RECORDS, c->records);
	prom_put_plain(p, CONTROLLER_STORE_FULL, size.is_full);
}

/* --- sinks --------------------------------------------------------------------------------------- */

#define SINKS_MAX 8

struct sink_state {
	char name[STORE_SINK_NAME_MAX];
	struct deliver_stats stats;
	bool has_thread;
	struct store_sink_lag lag;
	bool has_lag;
};

/* Values of sinks, one row per metric: all series of a metric must be written together. */
enum sink_value_of { OF_LAG, OF_THREAD };
static const struct sink_value {
	enum controller_metric metric;
	enum sink_value_of of;
	size_t offset; /* in struct store_sink_lag or struct deliver_stats */
} sink_values[] = {
	{ CONTROLLER_SINK_WAITING, OF_LAG, offsetof(struct store_sink_lag, waiting) },
	{ CONTROLLER_SINK_REFUSED, OF_LAG, offsetof(struct store_sink_lag, refused) },
	{ CONTROLLER_SINK_DELIVERED, OF_THREAD, offsetof(struct deliver_stats, acked) },
	{ CONTROLLER_SINK_REFUSALS, OF_THREAD, offsetof(struct deliver_stats, refused) },
	{ CONTROLLER_SINK_PARTIAL, OF_THREAD, offsetof(struct deliver_stats, partial) },
	{ CONTROLLER_SINK_FAILED, OF_THREAD, offsetof(struct deliver_stats, retries) },
};

static void prom_put_sink(struct prom *p, enum controller_metric m, const struct sink_state *k,
			  uint64_t value)
{
	prom_put(p, prom_of(m), value, ",sink=\"%s\"", k->name);
}

static void prom_put_sink_value(struct prom *p, const struct sink_value *v, const struct sink_state *k)
{
	const void *state = v->of == OF_LAG ? (const void *)&k->lag : (const void *)&k->stats;
	uint64_t value;

	if (v->of == OF_LAG ? !k->has_lag : !k->has_thread)
		return;
	memcpy(&value, (const char *)state + v->offset, sizeof(value));
	prom_put_sink(p, v->metric, k, value);
}

static size_t prom_look_at_sinks(const struct recorder *r, struct sink_state *ret)
{
	const char *list = r->settings.sinks;
	size_t n = 0;

	while (n < SINKS_MAX && items_next(&list, ret[n].name, sizeof(ret[n].name))) {
		struct sink_state *k = &ret[n++];
		const struct sink_ops *ops = sink_find(k->name);

		k->has_thread = deliveries_get_stats(r->sinks, k->name, &k->stats);
		k->has_lag = r->prom->view &&
			     store_view_sink_lag(r->prom->view, k->name, ops ? ops->kinds : UINT32_MAX,
						 &k->lag, NULL) == 0;
	}
	return n;
}

static void prom_put_sinks(const struct recorder *r, struct prom *p)
{
	struct sink_state sink[SINKS_MAX] = { 0 };
	size_t n = prom_look_at_sinks(r, sink);
	size_t i, k;

	for (k = 0; k < n; k++)
		prom_put_sink(p, CONTROLLER_SINK_UP, &sink[k], sink[k].has_thread && !sink[k].stats.is_down);
	for (k = 0; k < n; k++)
		if (sink[k].has_lag)
			prom_put_sink(p, CONTROLLER_SINK_LAG, &sink[k],
				      prom_age(r->wall_s(), sink[k].lag.oldest));
	for (i = 0; i < ARRAY_SIZE(sink_values); i++)
		for (k = 0; k < n; k++)
			prom_put_sink_value(p, &sink_values[i], &sink[k]);
	for (k = 0; k < n; k++)
		if (sink[k].stats.acked_wall_s)
			prom_put_sink(p, CONTROLLER_SINK_SUCCESS, &sink[k], sink[k].stats.acked_wall_s);
}

/* --- Slurm --------------------------------------------------------------------------------------- */

static void prom_put_daemon(struct prom *p, enum controller_metric m, bool is_dbd, uint64_t value)
{
	prom_put(p, prom_of(m), value, ",daemon=\"%s\"", is_dbd ? "slurmdbd" : "slurmctld");
}

static void prom_put_slurm(const struct recorder *r, struct prom *p)
{
	const struct slurmdb_client *client[] = { r->client, r->ctld };
	struct slurmdb_client_stats stats[ARRAY_SIZE(client)] = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(client); i++)
		if (client[i])
			slurmdb_client_get_stats(client[i], &stats[i]);
			/* on a site without slurmdbd, r->client asks slurmctld */
#define IS_DBD(i) ((i) == 0 && r->ctld)
	for (i = 0; i < ARRAY_SIZE(client); i++)
		if (stats[i].questions)
			prom_put_daemon(p, CONTROLLER_SLURM_UP, IS_DBD(i), stats[i].is_up);
	for (i = 0; i < ARRAY_SIZE(client); i++)
		if (client[i])
			prom_put_daemon(p, CONTROLLER_SLURM_QUESTIONS, IS_DBD(i), stats[i].questions);
	for (i = 0; i < ARRAY_SIZE(client); i++)
		if (client[i])
			prom_put_daemon(p, CONTROLLER_SLURM_FAILURES, IS_DBD(i), stats[i].failures);
	for (i = 0; i < ARRAY_SIZE(client); i++)
		if (client[i])
			prom_put_daemon(p, CONTROLLER_SLURM_TIME, IS_DBD(i), stats[i].ns);
#undef IS_DBD
}

static void prom_put_factors(struct recorder *r, struct prom *p)
{
	static const enum emission_kind kinds[] = { EMISSION_AVERAGE, EMISSION_MARGINAL };
	const struct factor_series *series = factors_look(&r->factors);
	const char *name = r->factors.chain.region;
	char region[2 * sizeof(r->factors.chain.region)];
	uint64_t now_s = r->wall_s();
	size_t i;

	prom_escape(name, region, sizeof(region));
	for (i = 0; series && i < ARRAY_SIZE(kinds); i++) {
		const struct factor_point *f = factor_series_at(series, name, kinds[i], now_s);

		if (f)
			prom_put(p, prom_of(CONTROLLER_FACTOR_AGE), prom_age(now_s, f->until_s),
				 ",region=\"%s\",kind=\"%s\"", region, emission_kind_name(kinds[i]));
	}
}

static void prom_put_hook(const struct recorder *r, struct prom *p)
{
	uint64_t bound[HOOK_COST_BUCKETS];
	const struct prom_histogram h = { .bound = bound,
					  .upto = r->hook.upto,
					  .n = HOOK_COST_BUCKETS,
					  .count = r->hook.n,
					  .sum = r->hook.sum_ns };
	unsigned int i;

	if (!r->hook.n)
		return;
	for (i = 0; i < HOOK_COST_BUCKETS; i++)
		bound[i] = hook_cost_bound_ns(i);
	prom_put_histogram(p, prom_of(CONTROLLER_HOOK), &h);
	prom_put_plain(p, CONTROLLER_HOOK_MAX, r->hook.max_ns);
}

/* --- the text ------------------------------------------------------------------------------------ */

/*
 * Counts what is in the store. After a failure the view is opened again next time: the recorder may
 * have created a new store.
 */
static bool prom_count(struct recorder *r, struct store_counts *ret)
{
	struct recorder_prom *rp = r->prom;

	if (!rp->view && store_view_open(r->settings.store_dir, /* writable= */ false, &rp->view, NULL) < 0)
		return false;
	if (store_view_counts(rp->view, ret, NULL) == 0)
		return true;
	store_view_close(TAKE_PTR(rp->view));
	return false;
}

static void prom_put_all(struct recorder *r, struct prom *p)
{
	struct store_counts counts;
	bool is_known = prom_count(r, &counts);

	prom_put_inbox(r, p);
	prom_put_jobs(r, p, is_known ? &counts : NULL);
	prom_put_sinks(r, p);
	prom_put_store(r, p, is_known ? &counts : NULL);
	prom_put_slurm(r, p);
	prom_put_factors(r, p);
	prom_put_hook(r, p);
}

int recorder_prom_format(struct recorder *r, bool has_ended, char **ret, size_t *ret_len)
{
	struct prom p = { 0 };
	char *text = NULL;
	bool is_bad;

	p.out = open_memstream(&text, ret_len);
	if (!p.out)
		return -ENOMEM;
	prom_escape(r->prom->host, p.host, sizeof(p.host));
	prom_put_self(r, &p, has_ended);
	if (!has_ended)
		prom_put_all(r, &p);
	is_bad = ferror(p.out) != 0;
	if (fclose(p.out) || is_bad) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
	return 0;
}

void recorder_prom_write(struct recorder *r, bool has_ended)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;

	if (recorder_prom_format(r, has_ended, &text, &len) == 0)
		(has_ended ? textfile_feed_end : textfile_feed_put)(r->prom->feed, text, len);
}

static int prom_open(struct recorder *r, struct errmsg *err)
{
	struct recorder_prom *rp = calloc(1, sizeof(*rp));
	struct textfile_feed_options o = { .dir = r->settings.textfile_dir,
					   .file = CONTROLLER_PROM,
					   .mode = 0644, /* has nothing about jobs and users */
					   .helper_dir = r->settings.helper_dir,
					   .who = "ceems: recorder: " };
	int rc;

	if (!rp)
		return errmsg_set(err, -ENOMEM, "out of memory");
	if (gethostname(rp->host, sizeof(rp->host) - 1) < 0)
		(void)snprintf(rp->host, sizeof(rp->host), "unknown");
	rp->host[strcspn(rp->host, ".")] = '\0';
	rc = settings_for_node(&r->settings, rp->host, err);
	if (rc == 0)
		rc = textfile_feed_open(&o, &rp->feed, err);
	if (rc < 0) {
		free(rp);
		return rc;
	}
	r->prom = rp;
	return 0;
}

void recorder_prom_open(struct recorder *r)
{
	struct errmsg err = { 0 };

	if (*r->settings.textfile_dir && prom_open(r, &err) < 0)
		logger_error("ceems: recorder: textfile: %s; " CONTROLLER_PROM " is not written", err.text);
}

void recorder_prom_close(struct recorder *r)
{
	if (!r->prom)
		return;
	textfile_feed_close(r->prom->feed);
	store_view_close(r->prom->view);
	free(TAKE_PTR(r->prom));
}
