/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink_kafka.c - records as messages of one topic, by librdkafka's idempotent producer: message key =
 * record key, headers "schema" and "cluster". A message counts as delivered when its delivery
 * report says that all in-sync replicas have it.
 *
 * What has no report when the time is over stays in the spool. A broker may still have stored it,
 * so it can be there twice; consumers go by the key, as they must after a crash.
 *
 * When a broker says no the client is closed and the next try makes a new one: it reads KafkaConf
 * again and remembers nothing (librdkafka keeps a topic's authorization error for minutes). When
 * nobody answers it is kept for some tries, since connecting may take longer than one of them.
 */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <librdkafka/rdkafka.h>

#include "src/libsink/kafka_conf.h"
#include "src/libsink/sink.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#define SCHEMA "ceems.job.v1"
#define MAX_BATCH 1000
#define CLOSE_TIMEOUT_NS (900 * NSEC_PER_MSEC)
#define POLL_MS 100
#define PURGE_POLLS 20
#define PURGE_POLL_MS 10
/* With deliver.c's back-off, this many tries take about half a minute. */
#define TIMEOUTS_MAX 5
/* Not blocking, as a thread of the client may be busy for long. */
#define PURGE_ALL                                                                        \
	(RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING)

struct sink {
	rd_kafka_t *rk; /* NULL: to be made again */
	char conf_path[PATH_MAX];
	char topic[250];
	unsigned int timeouts; /* tries without an answer, in a row */
	/* the batch on its way; reports of an earlier one carry another number and are ignored */
	uint32_t batch;
	size_t waiting;
	rd_kafka_resp_err_t report[MAX_BATCH];
	bool has_report[MAX_BATCH];
	char last_error[256]; /* what the client said last about its connections */
};

/* --- callbacks: all run inside rd_kafka_poll() in our own thread ---------------------------- */

static void *opaque_of(uint32_t batch, size_t i)
{
	return (void *)((uintptr_t)batch * MAX_BATCH + i);
}

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *m, void *arg)
{
	struct sink *k = arg;
	uintptr_t i = (uintptr_t)m->_private % MAX_BATCH;

	(void)rk;
	if ((uintptr_t)m->_private / MAX_BATCH != k->batch || k->has_report[i])
		return;
	k->has_report[i] = true;
	k->report[i] = m->err;
	k->waiting--;
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *arg)
{
	struct sink *k = arg;

	(void)rk;
	/* The last line of a series, and it says the least. */
	if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || !k->last_error[0])
		(void)snprintf(k->last_error, sizeof(k->last_error), "%s", reason);
	logger_debug("ceems: kafka: %s", reason);
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
	(void)rk;
	(void)level; /* deliver.c tells the outage, once; the client's view is for debugging */
	logger_debug("ceems: kafka: %s: %s", facility, text);
}

/* --- the client -------------------------------------------------------------------------- */

/*
 * rd_kafka_destroy() joins the client's threads, and one of them may sit in a DNS query for long.
 * It gets a thread of its own that runs nothing of ours, so that this module can be unmapped in
 * the meantime; librdkafka itself stays mapped.
 */
static void destroy_client(struct sink *k)
{
	rd_kafka_t *rk = k->rk;
	uint64_t deadline = clock_mono_ns() + CLOSE_TIMEOUT_NS;
	struct timespec nap = { .tv_nsec = 2000000 };
	void *(*start)(void *);
	pthread_t thread;
	sigset_t all;
	sigset_t old;
	Dl_info where;
	int rc;

	if (!rk)
		return;
	k->rk = NULL;
	(void)rd_kafka_purge(rk, PURGE_ALL);
	(void)rd_kafka_poll(rk, 0);
	rd_kafka_set_log_level(rk, 0);
	if (dladdr((void *)(uintptr_t)rd_kafka_destroy, &where))
		(void)dlopen(where.dli_fname, RTLD_LAZY | RTLD_NODELETE | RTLD_NOLOAD);
	/* It returns nothing and nobody reads what the thread returned. */
	start = (void *(*)(void *))(uintptr_t)rd_kafka_destroy;
	(void)sigfillset(&all); /* the host's signals are for its own threads */
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, start, rk);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		rd_kafka_destroy(rk);
		return;
	}
	while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
		if (clock_mono_ns() > deadline) {
			logger_info("ceems: kafka: the client takes long to close; left to it");
			(void)pthread_detach(thread);
			return;
		}
		(void)nanosleep(&nap, NULL);
	}
}

/* What the administrator's file cannot change, and what it can. */
static const struct {
	const char *key, *value;
} defaults[] = {
	{ "client.id", "ceems" },
	{ "linger.ms", "5" },
	/* A topic that is not there is an answer, well before a batch's time is over. */
	{ "topic.metadata.propagation.max.ms", "1000" },
}, fixed[] = {
	{ "enable.idempotence", "true" },
	{ "acks", "all" },
	{ "log.queue", "true" }, /* else on_log() runs in threads that outlive a bounded close */
};

static int make_client(struct sink *k, struct errmsg *err)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char reason[256] = "";
	size_t i;
	int rc = 0;

	if (!conf)
		return errmsg_set(err, -ENOMEM, "out of memory");
	for (i = 0; i < ARRAY_SIZE(defaults); i++)
		if (rd_kafka_conf_set(conf, defaults[i].key, defaults[i].value, reason,
				      sizeof(reason)))
			rc = errmsg_set(err, -EINVAL, "%s", reason);
	if (rc == 0)
		rc = kafka_conf_read(k->conf_path, conf, err);
	for (i = 0; rc == 0 && i < ARRAY_SIZE(fixed); i++)
		if (rd_kafka_conf_set(conf, fixed[i].key, fixed[i].value, reason,
				      sizeof(reason)))
			rc = errmsg_set(err, -EINVAL, "%s", reason);
	if (rc < 0) {
		rd_kafka_conf_destroy(conf);
		return rc;
	}
	rd_kafka_conf_set_opaque(conf, k);
	rd_kafka_conf_set_dr_msg_cb(conf, on_report);
	rd_kafka_conf_set_error_cb(conf, on_error);
	rd_kafka_conf_set_log_cb(conf, on_log);
	k->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
	if (!k->rk) {
		rd_kafka_conf_destroy(conf);
		return errmsg_set(err, -EINVAL, "%s: %s", k->conf_path, reason);
	}
	(void)rd_kafka_set_log_queue(k->rk, NULL); /* the one rd_kafka_poll() serves */
	return 0;
}

static int kafka_open(const struct settings *s, struct sink **ret, struct errmsg *err)
{
	struct sink *k;
	int rc;

	if (!s->kafka_conf[0])
		return errmsg_set(err, -EINVAL, "KafkaConf is not set");
	if (!s->kafka_topic[0])
		return errmsg_set(err, -EINVAL, "KafkaTopic is empty");
	k = calloc(1, sizeof(*k));
	if (!k)
		return errmsg_set(err, -ENOMEM, "out of memory");
	memcpy(k->conf_path, s->kafka_conf, sizeof(k->conf_path));
	memcpy(k->topic, s->kafka_topic, sizeof(k->topic));
	rc = make_client(k, err);
	if (rc < 0) {
		free(k);
		return rc;
	}
	*ret = k;
	return 0;
}

static void kafka_close(struct sink *k)
{
	if (!k)
		return;
	destroy_client(k);
	free(k);
}

/* --- delivery ---------------------------------------------------------------------------- */

/* Errors that are about this message; all others are about the cluster, or for the admin. */
static bool is_about_message(rd_kafka_resp_err_t e)
{
	switch (e) {
	case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
	case RD_KAFKA_RESP_ERR_INVALID_MSG:
	case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
	case RD_KAFKA_RESP_ERR_INVALID_RECORD:
	case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
		return true;
	default:
		return false;
	}
}

static rd_kafka_resp_err_t produce(struct sink *k, const struct sink_item *item, size_t i)
{
	const char *slash = memchr(item->key, '/', item->key_len);
	size_t cluster_len = slash ? (size_t)(slash - item->key) : item->key_len;
	struct sink_item it = *item;

	/* librdkafka copies all of it */
	return rd_kafka_producev(
		k->rk, RD_KAFKA_V_TOPIC(k->topic), RD_KAFKA_V_KEY(it.key, it.key_len),
		RD_KAFKA_V_VALUE((void *)(uintptr_t)it.json, it.json_len),
		RD_KAFKA_V_HEADER("schema", SCHEMA, strlen(SCHEMA)),
		RD_KAFKA_V_HEADER("cluster", it.key, (ssize_t)cluster_len),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		RD_KAFKA_V_OPAQUE(opaque_of(k->batch, i)), RD_KAFKA_V_END);
}

/*
 * Sends ITEM[first, first + n) and waits for the reports; report[] has the outcome of each. False:
 * time is over, what has no report got one that says so.
 */
static bool send_all(struct sink *k, const struct sink_item *item, size_t first, size_t n,
		     uint64_t deadline_ns)
{
	uint64_t now;
	size_t i;

	k->batch++;
	k->waiting = n;
	for (i = first; i < first + n; i++) {
		k->has_report[i] = false;
		k->report[i] = produce(k, &item[i], i);
		if (k->report[i]) { /* no report will come */
			k->has_report[i] = true;
			k->waiting--;
		}
	}
	while (k->waiting && (now = clock_mono_ns()) < deadline_ns) {
		uint64_t left_ms = (deadline_ns - now) / NSEC_PER_MSEC + 1;

		(void)rd_kafka_poll(k->rk, left_ms < POLL_MS ? (int)left_ms : POLL_MS);
	}
	for (i = first; i < first + n; i++)
		if (!k->has_report[i])
			k->report[i] = RD_KAFKA_RESP_ERR__TIMED_OUT;
	return !k->waiting;
}

/* The client puts many messages in one request, and a broker refuses it whole. */
static bool send_refused_alone(struct sink *k, const struct sink_item *item, size_t n,
			       uint64_t deadline_ns)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (is_about_message(k->report[i]) && !send_all(k, item, i, 1, deadline_ns))
			return false;
	return true;
}

static void say_why(const struct sink *k, rd_kafka_resp_err_t e, uint64_t timeout_ns,
		    struct errmsg *err)
{
	if (e == RD_KAFKA_RESP_ERR__TIMED_OUT)
		(void)errmsg_set(err, 0, "no acknowledgement within %" PRIu64 " ms%s%s",
				 timeout_ns / NSEC_PER_MSEC, k->last_error[0] ? ": " : "",
				 k->last_error);
	else
		(void)errmsg_set(err, 0, "%s", rd_kafka_err2str(e));
}

/* Takes back what the client still holds. False: one of its threads is busy with something else. */
static bool empty_client(struct sink *k)
{
	int i;

	/* The threads purge in their own time, and a late one would hit the next batch. */
	(void)rd_kafka_purge(k->rk, PURGE_ALL);
	for (i = 0; i < PURGE_POLLS && rd_kafka_outq_len(k->rk); i++)
		(void)rd_kafka_poll(k->rk, PURGE_POLL_MS);
	return !rd_kafka_outq_len(k->rk);
}

/* After a batch: keeps the client, empties it, or closes it. */
static void give_up_client(struct sink *k, bool all_settled, bool in_time)
{
	bool is_fatal = rd_kafka_fatal_error(k->rk, NULL, 0) != RD_KAFKA_RESP_ERR_NO_ERROR;

	if (all_settled && !is_fatal) {
		k->timeouts = 0;
		return;
	}
	if (!in_time && !is_fatal && ++k->timeouts < TIMEOUTS_MAX && empty_client(k))
		return;
	k->timeouts = 0;
	destroy_client(k);
}

static int kafka_deliver(struct sink *k, const struct sink_item *item, size_t n,
			 enum sink_result *result, uint64_t timeout_ns, struct errmsg *err)
{
	uint64_t deadline_ns = clock_mono_ns() + timeout_ns;
	bool all_settled = true;
	bool in_time;
	size_t i;

	if (n > MAX_BATCH)
		return errmsg_set(err, -EINVAL, "more than %d records", MAX_BATCH);
	if (!k->rk && make_client(k, err) < 0)
		return -EAGAIN;
	k->last_error[0] = '\0';
	(void)rd_kafka_poll(k->rk, 0); /* what came in since the last time */
	in_time = send_all(k, item, 0, n, deadline_ns);
	if (in_time && n > 1)
		in_time = send_refused_alone(k, item, n, deadline_ns);
	for (i = 0; i < n; i++) {
		/* if time ran out, some were refused together with others only */
		result[i] = !k->report[i] ? SINK_ACKED :
			    in_time && is_about_message(k->report[i]) ? SINK_REFUSED :
									SINK_RETRY;
		if (k->report[i] && (all_settled || result[i] == SINK_RETRY))
			say_why(k, k->report[i], timeout_ns, err);
		all_settled &= result[i] != SINK_RETRY;
	}
	give_up_client(k, all_settled, in_time);
	return all_settled ? 0 : -EAGAIN;
}

const struct sink_ops sink_kafka = {
	.name = "kafka",
	.kinds = SPOOL_MASK(SPOOL_RECORD),
	.max_batch = MAX_BATCH,
	.open = kafka_open,
	.deliver = kafka_deliver,
	.close = kafka_close,
};
