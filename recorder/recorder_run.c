/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#define OPEN_AGAIN_MS 2000
#define BUSY_AGAIN_MS 200
#define BUSY_TRIES 50
#define SINKS_STOP_NS (3 * NSEC_PER_SEC)
#define PROM_NS (5 * NSEC_PER_SEC)
#define POLL_INBOX_NS (5 * NSEC_PER_SEC) /* in case an inotify event is lost */

static uint64_t run_earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* --- begin and end ------------------------------------------------------------------------------- */

/* Whether an administrator must correct the error; a full disk is no such error. */
static bool run_is_hopeless(int rc)
{
	return rc == -EREMOTE || rc == -EPROTO || rc == -EACCES || rc == -EPERM || rc == -ENAMETOOLONG;
}

/* Opens the store, and retries until it succeeds. -ECANCELED: STOP_FD became readable. */
static int run_open_store(struct recorder *r, int stop_fd, struct errmsg *err)
{
	struct store_options o = { .dir = r->settings.store_dir,
				   .max_bytes = r->settings.store_max_bytes,
				   .now = r->wall_s };
	struct logger_once trouble = { 0 };
	struct pollfd p = { .fd = stop_fd, .events = POLLIN };
	unsigned int busy = 0;
	int rc;

	while ((rc = store_open(&o, &r->store, err)) < 0 && !run_is_hopeless(rc)) {
		/* a killed recorder holds the lock until its last thread has left the kernel */
		if (rc == -EBUSY && ++busy > BUSY_TRIES)
			break;
		if (rc == -EBUSY) {
			if (poll(&p, 1, BUSY_AGAIN_MS) > 0)
				return -ECANCELED;
			continue;
		}
		logger_log_once(&trouble, LOGGER_ERROR,
				"ceems: %s; the recorder tries again, job ends wait in the inbox", err->text);
		if (poll(&p, 1, OPEN_AGAIN_MS) > 0)
			return -ECANCELED;
	}
	if (rc == 0 && logger_once_reset(&trouble))
		logger_info("ceems: the store can be opened now");
	return rc;
}

/* Jobs that ended before are left to `ceems export`. */
static int run_note_begin(struct recorder *r, struct errmsg *err)
{
	uint64_t now_s = r->wall_s();
	int rc = store_begin(r->store, err);

	if (rc < 0)
		return rc;
	rc = store_meta_set(r->store, STORE_META_BEGUN, &now_s, sizeof(now_s), err);
	if (rc == 0)
		return store_commit(r->store, err);
	store_rollback(r->store);
	return rc;
}

static int run_open(struct recorder *r, int stop_fd, struct errmsg *err)
{
	int rc = run_open_store(r, stop_fd, err);

	if (rc == 0)
		rc = marker_start(&r->marker, err);
	if (rc == 0)
		rc = recorder_inbox_load(r, err);
	if (rc == 0)
		rc = deliveries_start(r->store, r->settings.store_dir, &r->settings, &r->sinks, err);
	if (rc == 0 && store_is_new(r->store))
		rc = run_note_begin(r, err);
	if (rc == 0 && store_is_new(r->store))
		rc = recorder_reconcile_all(r, err);
	return rc;
}

static void run_close(struct recorder *r)
{
	recorder_jobs_fini(r);
	inbox_reader_close(r->inbox);
	marker_stop(r->marker);
	factors_close(&r->factors);
	if (r->store)
		store_end_waits(r->store);
	if (r->sinks && !deliveries_stop(r->sinks, SINKS_STOP_NS)) {
		logger_error("ceems: a sink does not stop; its thread is left running");
		return; /* the sink uses the store */
	}
	store_close(r->store);
}

/* Creates the clients that ask slurmdbd and slurmctld, once the cluster is known. */
static void run_start_client(struct recorder *r)
{
	struct errmsg err = { 0 };
	static char program[] = "/proc/self/exe";
	static char dbd[] = "--ask-slurmdbd";
	static char ctld[] = "--ask-slurmctld";
	static char *const ask_dbd[] = { program, dbd, NULL };
	static char *const ask_ctld[] = { program, ctld, NULL };
	static char cluster[sizeof(r->site.cluster)];
	struct slurmdb_client_options o = { .argv = ask_dbd,
					    .cluster = cluster,
					    .no_usage = r->site.flags & SITE_NO_USAGE };
	bool has_dbd = r->site.flags & SITE_HAS_SLURMDBD;
	int rc;

	if (!r->has_site || (r->client && !strcmp(cluster, r->site.cluster) && has_dbd == !!r->ctld))
		return;
	if (r->client) {
		recorder_jobs_fini(r);
		recorder_reconcile_missed(r, clock_mono_ns());
	}
	(void)snprintf(cluster, sizeof(cluster), "%s", r->site.cluster);
	rc = has_dbd ? slurmdb_client_create(&o, &r->client, &err) : 0;
	o.argv = ask_ctld;
	if (rc == 0)
		rc = slurmdb_client_create(&o, has_dbd ? &r->ctld : &r->client, &err);
	if (rc < 0) {
		logger_error("ceems: cannot prepare requests to Slurm: %s", err.text);
		recorder_jobs_fini(r);
	}
}

/* --- the loop ------------------------------------------------------------------------------------ */

static void run_prom(struct recorder *r, uint64_t now_ns)
{
	if (!r->prom || now_ns < r->prom_due_ns)
		return;
	r->prom_due_ns = now_ns + PROM_NS;
	recorder_prom_write(r, /* has_ended= */ false);
}

static int run_timeout_ms(const struct recorder *r, uint64_t now_ns)
{
	uint64_t next = now_ns + POLL_INBOX_NS;

	next = run_earlier(next, r->reclaim_due_ns);
	next = run_earlier(next, r->mark_due_ns);
	if (r->prom)
		next = run_earlier(next, r->prom_due_ns);
	if (!r->inbox || r->inbox_retry_ns > now_ns)
		next = run_earlier(next, r->inbox_retry_ns);
	if (r->client) {
		next = run_earlier(next, slurmdb_client_due(r->client));
		if (r->ctld)
			next = run_earlier(next, slurmdb_client_due(r->ctld));
		next = run_earlier(next, r->nasked < RECORDER_ASKED_MAX ? r->jobs_due_ns : UINT64_MAX);
		if (!r->reconcile.tag && r->reconcile.due_ns)
			next = run_earlier(next, r->reconcile.due_ns);
	}
	if (next < r->store_retry_ns)
		next = r->store_retry_ns;
	return next > now_ns ? (int)((next - now_ns) / NSEC_PER_MSEC) + 1 : 0;
}

static bool run_wait(struct recorder *r, int stop_fd, int timeout_ms)
{
	struct pollfd p[] = {
		{ .fd = stop_fd, .events = POLLIN },
		{ .fd = r->inbox ? inbox_reader_fd(r->inbox) : -1, .events = POLLIN },
		{ .fd = r->client ? slurmdb_client_fd(r->client) : -1, .events = POLLIN },
		{ .fd = r->ctld ? slurmdb_client_fd(r->ctld) : -1, .events = POLLIN },
	};

	(void)poll(p, ARRAY_SIZE(p), timeout_ms);
	return !(p[0].revents & POLLIN);
}

int recorder_run(struct recorder *r, int stop_fd, struct errmsg *err)
{
	bool more = true;
	int rc;

	r->started_s = r->wall_s();
	r->reconcile.due_ns = UINT64_MAX;
	factors_open(&r->factors, &r->settings);
	rc = run_open(r, stop_fd, err);
	if (rc == 0)
		recorder_prom_open(r);
	if (rc == 0)
		logger_info("ceems: recorder: takes job ends from %s, keeps records in %s until they are "
			    "delivered to: %s",
			    r->settings.inbox_dir, r->settings.store_dir,
			    *r->settings.sinks ? r->settings.sinks : "no sink (Sinks is empty)");
	while (rc == 0) {
		uint64_t now_ns = clock_mono_ns();

		if (!run_wait(r, stop_fd, more ? 0 : run_timeout_ms(r, now_ns)))
			break;
		now_ns = clock_mono_ns();
		more = recorder_inbox_take(r, now_ns);
		run_start_client(r);
		more |= recorder_jobs_run(r, now_ns);
		recorder_reconcile_run(r, now_ns);
		recorder_upkeep_run(r, now_ns);
		run_prom(r, now_ns);
	}
	if (r->prom && rc == 0)
		recorder_prom_write(r, /* has_ended= */ true);
	recorder_prom_close(r);
	run_close(r);
	return rc == -ECANCELED ? 0 : rc;
}
