/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the store into a real broker: TLS, users, rights, limits, and a broker that stops, hangs and dies.
 * Whatever is wrong is logged once; the records wait, and are delivered when it is right again.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "private_broker.h"
#include "scratch.h"
#include "src/libsink/deliver.h"
#include "src/libsink/kafka/kafka_conf.h"
#include "src/libsink/kafka/kafka_probe.h"
#include "src/libstore/store_view.h"
#include "src/libutil/logger.h"
#include "store_rig.h"
#include "tap.h"

#define S NSEC_PER_SEC
#define TOPIC "ceems.jobs"
#define SCRAM_CAUSE "librdkafka before 2.6.1 cannot log in by SCRAM at Kafka 4.0 or later"
#define LIMIT_NS (120 * S) /* for what has to come sooner or later */

static char dir[] = SCRATCH_TEMPLATE;
static char conf_path[PATH_MAX];
static char store_dir[PATH_MAX];
static struct errmsg err;
static struct settings settings;
static struct private_broker broker;

static char errors[65536];
static int nerrors;

static void keep_log(enum logger_level level, const char *line)
{
	if (level == LOGGER_ERROR) {
		nerrors++;
		if (strlen(errors) + strlen(line) + 2 < sizeof(errors)) {
			strcat(errors, line);
			strcat(errors, "\n");
		}
	}
	if (getenv("VERBOSE"))
		fprintf(stderr, "# %s\n", line);
}

/* --- what is sent ------------------------------------------------------------------------ */

static struct store *store;
static unsigned int revision; /* of the records, so that none looks like another */

static void put(const char *key, size_t size)
{
	static char text[300000];
	int n = snprintf(text, sizeof(text), "{\"key\":\"%s\",\"r\":%u,\"pad\":\"", key, ++revision);

	memset(text + n, 'x', size);
	memcpy(text + n + size, "\"}", 3);
	(void)store_rig_put(store, STORE_RECORD, key, text, strlen(text));
}

static void write_conf(int port, const char *host, const char *more)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "bootstrap.servers=%s:%u\nbroker.address.family=v4\n"
		 "reconnect.backoff.max.ms=500\n%s",
		 host, broker.port[port], more);
	scratch_write(conf_path, text, strlen(text));
}

static void conf_tls(int port, const char *host, const char *ca, const char *mechanism, const char *user,
		     const char *password)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "security.protocol=sasl_ssl\nssl.ca.location=%s/%s.pem\nsasl.mechanism=%s\n"
		 "sasl.username=%s\nsasl.password=%s\n",
		 dir, ca, mechanism, user, password);
	write_conf(port, host, text);
}

static void conf_certificate(const char *name)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "security.protocol=ssl\nssl.ca.location=%s/ca.pem\nssl.certificate.location=%s/%s.%s\n"
		 "ssl.key.location=%s/%s.key\n",
		 dir, dir, name, strcmp(name, "otherca") ? "crt" : "pem", dir, name);
	write_conf(BROKER_CERT, "localhost", text);
}

static struct deliver *make(const char *topic)
{
	struct deliver *d = NULL;

	snprintf(settings.kafka_topic, sizeof(settings.kafka_topic), "%s", topic);
	errors[0] = '\0';
	nerrors = 0;
	if (deliver_create(store, store_dir, &sink_kafka, &settings, &d, &err) < 0)
		diag("%s", err.text);
	return d;
}

/* One try, now: whatever back-off says. */
static int run(struct deliver *d, uint64_t timeout_ns)
{
	struct deliver_stats st;
	uint64_t now = clock_mono_ns();

	deliver_get_stats(d, &st);
	return deliver_run(d, st.next_try_mono_ns > now ? st.next_try_mono_ns : now, timeout_ns);
}

/* Until N more are settled. */
static bool settle(struct deliver *d, uint64_t n)
{
	uint64_t deadline = clock_mono_ns() + LIMIT_NS;
	uint64_t done = 0;

	while (done < n && clock_mono_ns() < deadline)
		done += (uint64_t)run(d, 3 * S);
	return done == n;
}

/* The fault is logged once, without secrets, and nothing is settled meanwhile. */
static void is_told(struct deliver *d, const char *want, const char *what)
{
	int settled = run(d, 20 * S);

	settled += run(d, 2 * S);
	ok(settled == 0 && nerrors == 1 && strcasestr(errors, want) != NULL, "%s: %s", what, errors);
	ok(!strstr(errors, "secret-"), "no secret is logged");
}

/* --- what is there ------------------------------------------------------------------------ */

#define SEEN_MAX 200000
static struct seen {
	int32_t partition;
	unsigned int job, revision;
} seen[SEEN_MAX];

/* All messages of the topic. */
static size_t consume(const char *topic, int partitions)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(partitions);
	uint64_t deadline = clock_mono_ns() + LIMIT_NS;
	char servers[64];
	int ended = 0;
	size_t n = 0;
	rd_kafka_t *rk;
	int i;

	snprintf(servers, sizeof(servers), "127.0.0.1:%u", broker.port[BROKER_PLAIN]);
	rd_kafka_conf_set(conf, "bootstrap.servers", servers, NULL, 0);
	rd_kafka_conf_set(conf, "group.id", "test", NULL, 0);
	rd_kafka_conf_set(conf, "enable.partition.eof", "true", NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
	rd_kafka_poll_set_consumer(rk);
	for (i = 0; i < partitions; i++)
		rd_kafka_topic_partition_list_add(list, topic, i)->offset = RD_KAFKA_OFFSET_BEGINNING;
	rd_kafka_assign(rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	while (ended < partitions && n < SEEN_MAX && clock_mono_ns() < deadline) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 200);

		if (m && m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			ended++;
		else if (m && !m->err &&
			 sscanf(m->payload, "{\"key\":\"c/%u,%*[^\"]\",\"r\":%u", &seen[n].job,
				&seen[n].revision) == 2)
			seen[n++].partition = m->partition;
		if (m)
			rd_kafka_message_destroy(m);
	}
	rd_kafka_consumer_close(rk);
	rd_kafka_destroy(rk);
	return n;
}

/* --- the cases --------------------------------------------------------------------------- */

/* As ceems check does: reaches it and sees the topic. */
static int probe(void)
{
	struct kafka_probe p = { 0 };
	int rc;

	err.text[0] = '\0';
	rc = kafka_probe(settings.kafka_conf, settings.kafka_topic, "", 10 * NSEC_PER_SEC, &p, &err);
	return rc == 0 && p.partitions < 1 ? -ENOENT : rc;
}

static void test_tls(void)
{
	bool no_scram = kafka_conf_scram_fails(rd_kafka_version(), "SCRAM-SHA-512");
	struct deliver *d;

	conf_tls(BROKER_TLS, "localhost", "ca", "PLAIN", "alice", "secret-alice");
	d = make(TOPIC);
	put("c/1,1,0/0", 100);
	ok(settle(d, 1), "SASL PLAIN over TLS");
	/* on a loaded machine the first try may be too short for it, which is no refusal */
	ok(!strcasestr(errors, "handshake failed") && !strcasestr(errors, "authentication"),
	   "without trouble: %s", errors);
	deliver_destroy(d);

	is_int(probe(), 0, "the probe of ceems check succeeds with the same");
	conf_tls(BROKER_TLS, "localhost", "ca", "SCRAM-SHA-512", "alice", "secret-wrong");
	/* to a library that cannot do it, the right password would be wrong, too */
	is_int(probe(), no_scram ? -EPROTONOSUPPORT : -EACCES, "the probe with a wrong password");
	ok(!!strstr(err.text, SCRAM_CAUSE) == no_scram && strstr(err.text, "uthentication") &&
		   !strstr(err.text, "secret"),
	   "%s", err.text);
	d = make(TOPIC);
	put("c/2,1,0/0", 100);
	is_told(d, "authentication", "a wrong password");
	ok(!!strstr(errors, SCRAM_CAUSE) == no_scram, "the log names the library if that is the cause");
	conf_tls(BROKER_TLS, "localhost", "ca", no_scram ? "PLAIN" : "SCRAM-SHA-512", "alice",
		 "secret-alice");
	ok(settle(d, 1), "it is corrected: %s, by the same sink", no_scram ? "PLAIN" : "SCRAM-SHA-512");
	deliver_destroy(d);

	conf_tls(BROKER_TLS, "localhost", "otherca", "PLAIN", "alice", "secret-alice");
	is_int(probe(), -EACCES, "the probe with another CA");
	ok(strstr(err.text, "certificate") != NULL, "%s", err.text);
	d = make(TOPIC);
	put("c/3,1,0/0", 100);
	is_told(d, "certificate verify failed", "a certificate of another CA");
	conf_tls(BROKER_EXPIRED, "localhost", "ca", "PLAIN", "alice", "secret-alice");
	is_int(run(d, 3 * S), 0, "an expired certificate in its place: nothing is delivered");
	deliver_destroy(d);
	d = make(TOPIC);
	is_told(d, "certificate", "a certificate that has expired");
	conf_tls(BROKER_TLS, "127.0.0.1", "ca", "PLAIN", "alice", "secret-alice");
	deliver_destroy(d);
	d = make(TOPIC);
	is_told(d, "certificate", "a certificate of another host");
	conf_tls(BROKER_TLS, "localhost", "ca", "PLAIN", "alice", "secret-alice");
	ok(settle(d, 1), "when all is right the record is delivered");
	deliver_destroy(d);
	conf_certificate("otherca");
	d = make(TOPIC);
	put("c/4,1,0/0", 100);
	is_told(d, "ssl", "a client certificate that is none");
	conf_certificate("alice");
	ok(settle(d, 1), "a client certificate in place of a password");
	deliver_destroy(d);
	is_u64(consume(TOPIC, 1), 4, "once each");
}

static char refused[2048];

static int keep_refused(void *ctx, const struct store_row *row)
{
	size_t used = strlen(refused);

	(void)ctx;
	(void)snprintf(refused + used, sizeof(refused) - used, "%s;%s;", row->key, row->reason);
	return 0;
}

static void test_rights(void)
{
	struct store_view *v = NULL;
	struct deliver *d;

	conf_tls(BROKER_TLS, "localhost", "ca", "PLAIN", "bob", "secret-bob");
	d = make("denied");
	put("c/1,1,0/0", 100);
	is_told(d, "authoriz", "a topic that bob may not write to");
	conf_tls(BROKER_TLS, "localhost", "ca", "PLAIN", "alice", "secret-alice");
	ok(settle(d, 1), "alice may");
	deliver_destroy(d);

	write_conf(BROKER_PLAIN, "127.0.0.1", "");
	d = make("missing");
	put("c/2,1,0/0", 100);
	is_told(d, "topic", "a topic that is not there");
	ok(broker_add_topic(&broker, "missing", 1, NULL, NULL), "the topic is created");
	ok(settle(d, 1), "and the record is delivered");
	deliver_destroy(d);

	/* the broker's limit is lower than the client's; it is one of compressed bytes */
	write_conf(BROKER_PLAIN, "127.0.0.1", "compression.type=none\n");
	d = make("small");
	put("c/1,1,0/0", 100);
	put("c/2,1,0/0", 100000);
	put("c/3,1,0/0", 100);
	ok(settle(d, 3), "one of three is too large for the broker");
	deliver_destroy(d);
	is_u64(consume("small", 1), 2, "the others are there");
	ok(seen[0].job == 1 && seen[1].job == 3, "in order");
	is_int(store_view_open(store_dir, /* writable= */ false, &v, &err), 0, "the store");
	is_int(store_view_records(v, &(struct store_pick){ .refused = "kafka" }, keep_refused, NULL, &err), 0,
	       "the refused record");
	ok(!strncmp(refused, "c/2,1,0/0;", 10) && strcasestr(refused, "too large"),
	   "is kept, with the reason: %s", refused);
	store_view_close(v);
}

#define JOBS 500
#define REVISIONS 8

/* Every job's revisions came in order, repeats aside, and the last is the last that was put. */
static void check_order(const char *topic, int partitions, unsigned int first)
{
	static unsigned int newest[JOBS];
	static int32_t where[JOBS];
	size_t n = consume(topic, partitions);
	size_t wrong = 0;
	size_t moved = 0;
	size_t last = 0;
	size_t i;

	memset(newest, 0, sizeof(newest));
	for (i = 0; i < n; i++) {
		if (seen[i].job >= JOBS)
			continue;
		moved += newest[seen[i].job] && where[seen[i].job] != seen[i].partition;
		where[seen[i].job] = seen[i].partition;
		wrong += seen[i].revision > newest[seen[i].job] + JOBS && newest[seen[i].job];
		newest[seen[i].job] = seen[i].revision;
	}
	for (i = 0; i < JOBS; i++)
		last += newest[i] == first + (REVISIONS - 1) * JOBS + i;
	ok(n >= (size_t)JOBS * REVISIONS, "nothing is lost (%zu messages for %d)", n, JOBS * REVISIONS);
	is_u64(wrong, 0, "no revision was skipped");
	is_u64(moved, 0, "a job has one partition");
	is_u64(last, JOBS, "the last of each job is its last revision");
}

/* The same jobs again and again, corrected each time, while the broker hangs and dies. */
static void test_bad_days(void)
{
	unsigned int first = revision + 1;
	uint64_t deadline = clock_mono_ns() + LIMIT_NS;
	struct deliver_stats st;
	struct deliver *d;
	uint64_t acked = 0;
	char key[32];
	int step = 0;
	int r;
	int j;

	write_conf(BROKER_PLAIN, "127.0.0.1", "");
	d = make("corrected");
	for (r = 0; r < REVISIONS; r++)
		for (j = 0; j < JOBS; j++) {
			snprintf(key, sizeof(key), "c/%d,1,0/0", j);
			put(key, 8000);
		}
	while (acked < (uint64_t)JOBS * REVISIONS && clock_mono_ns() < deadline) {
		run(d, S);
		deliver_get_stats(d, &st);
		acked = st.acked;
		if (step == 0 && acked > 300) {
			kill(broker.pid, SIGSTOP);
			step = 1;
		} else if (step == 1 && st.retries) {
			kill(broker.pid, SIGCONT); /* what it had not read comes now */
			step = 2;
		} else if (step == 2 && acked > 1500) {
			broker_stop(&broker, SIGKILL);
			step = 3;
		} else if (step == 3 && st.is_down) {
			ok(broker_start(&broker), "the broker hung, was killed, and is back");
			step = 4;
		}
	}
	is_int(step, 4, "each of these faults happened on the way");
	is_u64(acked, JOBS * REVISIONS, "all are acknowledged");
	deliver_destroy(d);
	check_order("corrected", 3, first);
}

int main(void)
{
	const char *why;

	if (!mkdtemp(dir))
		return 99;
	logger_set_sink(keep_log);
	snprintf(conf_path, sizeof(conf_path), "%s/kafka.properties", dir);
	snprintf(store_dir, sizeof(store_dir), "%s/store", dir);
	snprintf(settings.kafka_conf, sizeof(settings.kafka_conf), "%s", conf_path);
	why = broker_prepare(&broker, BROKER_SCRIPT, dir);
	if (!why && !broker_start(&broker))
		why = "the broker does not start";
	if (why) {
		skip(1, why);
	} else {
		store = store_rig_open(store_dir);
		ok(broker_add_topic(&broker, TOPIC, 1, NULL, NULL) &&
			   broker_add_topic(&broker, "denied", 1, NULL, NULL) &&
			   broker_add_topic(&broker, "small", 1, "max.message.bytes", "20000") &&
			   broker_add_topic(&broker, "corrected", 3, NULL, NULL),
		   "topics are made");
		test_tls();
		test_rights();
		test_bad_days();
		store_close(store);
	}
	broker_stop(&broker, SIGKILL);
	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
