/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink_kafka.c - sends each record as a Kafka message, with librdkafka's idempotent producer. The
 * message key is the record key. The headers are "schema", "cluster" and, with a job's record,
 * "final" and "origin". A record is acknowledged when the delivery report of its message says that
 * all in-sync replicas have it.
 *
 * A call waits only for the first half of its messages. The broker works on the second half while the
 * caller prepares the next call; otherwise most of the time would be spent waiting for the network. When
 * time is over, messages without a report stay in the client, and a later call asks for their reports. The
 * client repeats such messages in order and, as the producer is idempotent, without duplicates.
 *
 * The client is closed after an error from the broker, a change of KafkaConf or TIMEOUTS_MAX calls without
 * an answer. The next call makes a new client. It reads KafkaConf again and knows no earlier errors, while
 * the old client would keep a topic's authorization error for minutes. All messages without a report are
 * sent again. The broker may have stored some of them, so a record can be there twice, as after a crash.
 * Consumers recognise it by the key.
 */
#define _GNU_SOURCE /* pthread_tryjoin_np, memmem */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <librdkafka/rdkafka.h>

#include "src/librecord/record.h"
#include "src/libsink/kafka/kafka_check.h"
#include "src/libsink/kafka/kafka_conf.h"
#include "src/libsink/sink.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/thread.h"

/*
 * The most records in the client at a time. With max_bytes, they fill about 8 requests of its default size.
 */
#define KAFKA_BATCH 8192
#define WINDOW KAFKA_BATCH
#define CLOSE_TIMEOUT_NS (900 * NSEC_PER_MSEC)
#define POLL_MS 100
/*
 * After so many tries without an answer, about half a minute with deliver.c's pauses, the client is replaced.
 */
#define TIMEOUTS_MAX 5
/* A broker that just started may not know its topics yet. */
#define START_TOPIC_WAIT_NS (5 * NSEC_PER_SEC)
/* Without NON_BLOCKING, a purge would wait for threads of the client, which may be busy for long. */
#define PURGE_ALL (RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING)

/* The delivery report of an item; slot[I] is of the item whose seq modulo WINDOW is I. */
struct slot {
	rd_kafka_resp_err_t report;
	bool has_report;
};

struct sink {
	rd_kafka_t *rk; /* the client; NULL: the next call makes one */
	char conf_path[SETTINGS_PATH_MAX];
	struct stat conf_stat; /* of KafkaConf when the client read it */
	char topic[250];
	char start_topic[250];	/* empty: records of job starts are not sent */
	uint64_t start_lost_ns; /* since when the topic for starts is missing or forbidden; 0: it is usable */
	unsigned int timeouts;	/* tries without an answer, in a row */
	bool was_refused;	/* the broker refused our credentials, or TLS failed */
	struct slot slot[WINDOW];
	char last_error[384]; /* the client's last message about its connections */
};

/* --- callbacks; all run in this thread, inside rd_kafka_poll() --------------------------------- */

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *m, void *arg)
{
	struct slot *s = m->_private;

	(void)rk;
	(void)arg;
	s->has_report = true;
	s->report = m->err;
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *arg)
{
	struct sink *k = arg;

	k->was_refused |= code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL;
	/*
	 * "all brokers are down" comes last in a series of errors; keep an earlier one, which has the cause
	 */
	if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || !k->last_error[0])
		(void)snprintf(k->last_error, sizeof(k->last_error), "%s%s", reason,
			       code == RD_KAFKA_RESP_ERR__AUTHENTICATION ? kafka_conf_scram_cause(rk) : "");
	logger_debug("ceems: kafka: %s", reason);
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
	(void)rk;
	(void)level; /* deliver.c logs an outage once; the client's messages are for debugging */
	logger_debug("ceems: kafka: %s: %s", facility, text);
}

/* --- the client -------------------------------------------------------------------------- */

/*
 * Makes a socket that drops unsent data when it is closed, also if the process is killed. Otherwise the
 * kernel could send on for minutes, and an old record could overwrite its correction, which the next client
 * sent. Runs in threads of the client.
 */
static int make_socket(int domain, int type, int protocol, void *arg)
{
	const struct linger drop = { .l_onoff = 1 };
	int fd = socket(domain, type | SOCK_CLOEXEC, protocol);

	(void)arg;
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &drop, sizeof(drop));
	return fd;
}

/*
 * Destroys the client in a thread of its own, and waits for that thread at most CLOSE_TIMEOUT_NS.
 * rd_kafka_destroy() joins the client's threads, and one of them may be in a long DNS query.
 */
static void destroy_client(struct sink *k)
{
	uint64_t deadline = clock_mono_ns() + CLOSE_TIMEOUT_NS;
	rd_kafka_t *rk = k->rk;
	struct timespec nap = { .tv_nsec = 2000000 };
	void *(*start)(void *);
	pthread_t thread;

	k->timeouts = 0;
	k->was_refused = false;
	if (!rk)
		return;
	k->rk = NULL;
	(void)rd_kafka_purge(rk, PURGE_ALL);
	(void)rd_kafka_poll(rk, 0);
	rd_kafka_set_log_level(rk, 0);
	/* The cast is safe: nobody reads the thread's result. */
	start = (void *(*)(void *))(uintptr_t)rd_kafka_destroy;
	if (thread_start(&thread, start, rk) < 0) {
		rd_kafka_destroy(rk);
		return;
	}
	while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
		if (clock_mono_ns() > deadline) {
			logger_info(
				"ceems: kafka: librdkafka takes long to close; its thread is left running");
			(void)pthread_detach(thread);
			return;
		}
		(void)nanosleep(&nap, NULL);
	}
}

static int make_client(struct sink *k, struct errmsg *err)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char reason[256] = "";
	int rc;

	if (!conf)
		return errmsg_set(err, -ENOMEM, "out of memory");
	if (stat(k->conf_path, &k->conf_stat) < 0)
		memset(&k->conf_stat, 0, sizeof(k->conf_stat));
	rc = kafka_conf_producer(k->conf_path, conf, err);
	if (rc < 0) {
		rd_kafka_conf_destroy(conf);
		return rc;
	}
	rd_kafka_conf_set_opaque(conf, k);
	rd_kafka_conf_set_dr_msg_cb(conf, on_report);
	rd_kafka_conf_set_error_cb(conf, on_error);
	rd_kafka_conf_set_log_cb(conf, on_log);
	rd_kafka_conf_set_socket_cb(conf, make_socket);
	k->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
	if (!k->rk) {
		rd_kafka_conf_destroy(conf);
		return errmsg_set(err, -EINVAL, "%s: %s", k->conf_path, reason);
	}
	(void)rd_kafka_set_log_queue(k->rk, NULL); /* NULL: rd_kafka_poll() calls on_log() */
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
	memcpy(k->start_topic, s->kafka_start_topic, sizeof(k->start_topic));
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

/* Returns true if the fault is in the message itself, not in the cluster or its configuration. */
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

static struct slot *slot_of(struct sink *k, const struct sink_item *item)
{
	return &k->slot[item->seq % WINDOW];
}

/* Whether the value has MEMBER. A user's text cannot pass for it, since JSON escapes its quotes. */
static bool has_member(const struct sink_item *item, const char *member)
{
	return memmem(item->json, item->json_len, member, strlen(member)) != NULL;
}

/* The caller, or the message it is given to, owns it. NULL: out of memory. */
static rd_kafka_headers_t *make_headers(const struct sink_item *item)
{
	static const char *const schemas[] = { [STORE_RECORD] = RECORD_SCHEMA,
					       [STORE_STEPS] = RECORD_STEPS_SCHEMA,
					       [STORE_START] = RECORD_START_SCHEMA };
	const char *slash = memchr(item->key, '/', item->key_len);
	size_t cluster_len = slash ? (size_t)(slash - item->key) : item->key_len;
	rd_kafka_headers_t *h = rd_kafka_headers_new(4);

	if (!h)
		return NULL;
	(void)rd_kafka_header_add(h, "schema", -1, schemas[item->kind], -1);
	(void)rd_kafka_header_add(h, "cluster", -1, item->key, (ssize_t)cluster_len);
	if (item->kind != STORE_RECORD)
		return h;
	/* for consumers that route without reading values */
	(void)rd_kafka_header_add(h, "final", -1, has_member(item, "\"final\":false") ? "false" : "true", -1);
	if (has_member(item, "\"origin\":\"" RECORD_HISTORY "\""))
		(void)rd_kafka_header_add(h, "origin", -1, RECORD_HISTORY, -1);
	return h;
}

/* Gives the item to the client, which copies it. */
static rd_kafka_resp_err_t produce(struct sink *k, const struct sink_item *item)
{
	const char *topic = item->kind == STORE_START ? k->start_topic : k->topic;
	rd_kafka_headers_t *headers = make_headers(item);
	struct slot *s = slot_of(k, item);
	struct sink_item it = *item;
	rd_kafka_resp_err_t e;

	if (!headers)
		return RD_KAFKA_RESP_ERR__FAIL;
	s->has_report = false;
	e = rd_kafka_producev(k->rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(it.key, it.key_len),
			      RD_KAFKA_V_VALUE((void *)(uintptr_t)it.json, it.json_len),
			      RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
			      RD_KAFKA_V_OPAQUE(s), RD_KAFKA_V_END);
	if (e)
		rd_kafka_headers_destroy(headers);
	return e;
}

/* Waits a moment for reports. False: time is over, or the broker refuses us. */
static bool poll_until(struct sink *k, uint64_t deadline_ns)
{
	uint64_t now = clock_mono_ns();
	uint64_t left_ms = now < deadline_ns ? (deadline_ns - now) / NSEC_PER_MSEC + 1 : 0;

	if (!left_ms || k->was_refused)
		return false;
	(void)rd_kafka_poll(k->rk, left_ms < POLL_MS ? (int)left_ms : POLL_MS);
	return true;
}

/* One call of kafka_deliver(). */
struct round {
	struct sink *sink;
	struct sink_item *item;
	enum sink_result *result;
	size_t n;
	uint64_t deadline_ns;
	rd_kafka_resp_err_t failure; /* the first error that is not about a message */
	bool needs_alone;	     /* a request with several messages was refused: find the faulty one */
};

/*
 * Returns true if ITEM is a record of a job start, and its topic has been missing for START_TOPIC_WAIT_NS.
 * Such a record is refused: starts are optional and must not hold up the records behind them.
 */
static bool is_start_lost(struct sink *k, const struct sink_item *item, rd_kafka_resp_err_t e)
{
	uint64_t now = clock_mono_ns();

	if (item->kind != STORE_START)
		return false;
	switch (e) {
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		if (!k->start_lost_ns)
			k->start_lost_ns = now;
		return now - k->start_lost_ns >= START_TOPIC_WAIT_NS;
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		k->start_lost_ns = 0;
		return false;
	default:
		return false;
	}
}

/*
 * Sets the result of item I by error E of its report or of rd_kafka_producev(). ALONE: no other message was
 * in its request, so the fault is its own.
 */
static void note_outcome(struct round *r, size_t i, rd_kafka_resp_err_t e, bool alone)
{
	bool start_lost = is_start_lost(r->sink, &r->item[i], e);

	r->result[i] = e ? SINK_RETRY : SINK_ACKED;
	if (!e)
		return;
	if (start_lost) {
		sink_refuse(&r->item[i], &r->result[i], rd_kafka_err2str(e));
	} else if (!is_about_message(e)) {
		if (!r->failure)
			r->failure = e;
	} else if (alone) {
		sink_refuse(&r->item[i], &r->result[i], rd_kafka_err2str(e));
	} else {
		r->needs_alone = true;
	}
}

static void collect(struct sink *k, struct round *r)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct slot *s = slot_of(k, &r->item[i]);

		if (r->result[i] == SINK_SENT && s->has_report)
			note_outcome(r, i, s->report, r->n == 1);
	}
}

/* Gives new items to the client until it takes no more. Returns how many it was given. */
static size_t send_new(struct sink *k, struct round *r)
{
	size_t sent = 0;
	size_t i;

	for (i = 0; i < r->n; i++) {
		rd_kafka_resp_err_t e;

		if (r->result[i] != SINK_RETRY)
			continue;
		sent++;
		if (r->item[i].kind == STORE_START && !k->start_topic[0]) {
			r->result[i] = SINK_ACKED;
			continue;
		}
		do
			e = produce(k, &r->item[i]);
		while (e == RD_KAFKA_RESP_ERR__QUEUE_FULL && poll_until(k, r->deadline_ns));
		if (e == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			break;
		if (e)
			note_outcome(r, i, e, /* alone= */ true);
		else
			r->result[i] = SINK_SENT;
		if (r->failure)
			break;
	}
	return sent;
}

/* Waits for the reports of the first N items. False: time is over. */
static bool wait_reports(struct sink *k, const struct round *r, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		while (r->result[i] == SINK_SENT && !slot_of(k, &r->item[i])->has_report)
			if (!poll_until(k, r->deadline_ns))
				return false;
	return true;
}

/* Returns how many items make up the first half of the bytes. */
static size_t first_half(const struct round *r)
{
	size_t all = 0;
	size_t sum = 0;
	size_t i;

	for (i = 0; i < r->n; i++)
		all += r->item[i].key_len + r->item[i].json_len;
	for (i = 0; i < r->n && 2 * sum < all; i++)
		sum += r->item[i].key_len + r->item[i].json_len;
	return i;
}

/* Sends each unsettled item in a request of its own, in order: the broker refuses a request as a whole. */
static void send_alone(struct sink *k, struct round *r)
{
	size_t i;

	sink_keep_order(r->item, r->n, r->result);
	for (i = 0; i < r->n && !r->failure; i++) {
		rd_kafka_resp_err_t e;

		if (r->result[i] != SINK_RETRY)
			continue;
		e = produce(k, &r->item[i]);
		if (!e) {
			r->result[i] = SINK_SENT;
			if (!wait_reports(k, r, i + 1))
				return;
			e = slot_of(k, &r->item[i])->report;
		}
		note_outcome(r, i, e, /* alone= */ true);
	}
}

static bool conf_has_changed(const struct sink *k)
{
	struct stat st;

	return stat(k->conf_path, &st) == 0 &&
	       (st.st_ino != k->conf_stat.st_ino || st.st_size != k->conf_stat.st_size ||
		st.st_mtim.tv_sec != k->conf_stat.st_mtim.tv_sec ||
		st.st_mtim.tv_nsec != k->conf_stat.st_mtim.tv_nsec);
}

/* Closes the client if only a new one can help. Then the items that it still had are sent again. */
static void keep_or_close_client(struct sink *k, struct round *r)
{
	size_t i;

	if (!r->failure && !k->was_refused && ++k->timeouts < TIMEOUTS_MAX && !conf_has_changed(k) &&
	    !rd_kafka_fatal_error(k->rk, NULL, 0))
		return;
	destroy_client(k);
	for (i = 0; i < r->n; i++)
		if (r->result[i] == SINK_SENT)
			r->result[i] = SINK_RETRY;
}

static void say_why(const struct sink *k, const struct round *r, uint64_t timeout_ns, struct errmsg *err)
{
	char fatal[256];

	/* after a fatal error, librdkafka reports each message as "purged", without the cause */
	if (rd_kafka_fatal_error(k->rk, fatal, sizeof(fatal)))
		(void)errmsg_set(err, 0, "%s", fatal);
	else if (r->failure)
		(void)errmsg_set(err, 0, "%s", rd_kafka_err2str(r->failure));
	else if (k->was_refused)
		(void)errmsg_set(err, 0, "%s", k->last_error);
	else
		(void)errmsg_set(err, 0, "no acknowledgement within %" PRIu64 " ms%s%s",
				 timeout_ns / NSEC_PER_MSEC, k->last_error[0] ? ": " : "", k->last_error);
}

static int kafka_deliver(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
			 uint64_t timeout_ns, struct errmsg *err)
{
	struct round r = {
		.sink = k, .item = item, .result = result, .n = n, .deadline_ns = clock_mono_ns() + timeout_ns
	};
	bool in_time = true;

	if (n > WINDOW)
		return errmsg_set(err, -EINVAL, "more than %d records", WINDOW);
	if (!k->rk && make_client(k, err) < 0)
		return -EAGAIN;
	(void)rd_kafka_poll(k->rk, 0);
	(void)wait_reports(k, &r, send_new(k, &r) ? first_half(&r) : n);
	collect(k, &r);
	/* an item failed: wait for all reports before any item is sent again */
	if (r.failure || r.needs_alone) {
		in_time = wait_reports(k, &r, n);
		collect(k, &r);
	}
	if (r.needs_alone && !in_time && !r.failure)
		/* send_alone() needs a client without open messages */
		r.failure = RD_KAFKA_RESP_ERR__TIMED_OUT;
	if (r.needs_alone && !r.failure)
		send_alone(k, &r);
	if (!r.failure && (!n || result[0] >= SINK_ACKED)) {
		k->timeouts = 0;
		k->was_refused = false;
		k->last_error[0] = '\0';
		return 0;
	}
	say_why(k, &r, timeout_ns, err);
	keep_or_close_client(k, &r);
	return -EAGAIN;
}

const struct sink_ops sink_kafka = {
	.name = "kafka",
	.kinds = STORE_MASK(STORE_RECORD) | STORE_MASK(STORE_STEPS) | STORE_MASK(STORE_START),
	.max_batch = KAFKA_BATCH,
	.max_bytes = (size_t)8 << 20,
	.open = kafka_open,
	.deliver = kafka_deliver,
	.close = kafka_close,
	.secret = SINK_SETTING("KafkaConf", kafka_conf),
	.check = kafka_check,
};
