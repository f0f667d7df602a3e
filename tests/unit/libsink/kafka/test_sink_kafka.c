/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sink kafka against librdkafka's own mock cluster: no broker is needed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "page_end.h"
#include "scratch.h"
#include "src/libsink/kafka/kafka_conf.h"
#include "src/libsink/sink.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "tap.h"

#define TOPIC "ceems.jobs"
#define SECOND NSEC_PER_SEC

static char dir[] = SCRATCH_TEMPLATE;
static char conf_path[PATH_MAX];
static struct errmsg err;
static struct settings settings;
static char logged[65536];

static void keep_log(enum logger_level level, const char *line)
{
	(void)level;
	if (strlen(logged) + strlen(line) + 2 < sizeof(logged)) {
		strcat(logged, line);
		strcat(logged, "\n");
	}
}

static int open_with(const char *text, struct sink **ret)
{
	scratch_write(conf_path, text, strlen(text));
	err.text[0] = '\0';
	return sink_kafka.open(&settings, ret, &err);
}

/* --- the properties file ----------------------------------------------------------------- */

static void test_conf(void)
{
	static const struct {
		const char *text, *err; /* NULL: accepted */
	} table[] = {
		{ "bootstrap.servers", ":1: not key=value" },
		{ "\n\nno.such.key=1\n", ":3: no.such.key is not a property of librdkafka" },
		{ "bootstrap.server=b1\n",
		  ":1: bootstrap.server is not a property of librdkafka; did you mean bootstrap.servers?" },
		{ "linger.ms=soon\n", ":1: linger.ms: " },
		{ "enable.idempotence=false\n", ":1: enable.idempotence cannot be set, it is true" },
		{ "acks=1", ":1: acks cannot be set, it is all" },
		{ " request.required.acks = 0", ":1: request.required.acks cannot be set, it is -1" },
		{ "transactional.id=x", ":1: transactional.id cannot be set: " },
		{ "message.timeout.ms=1", ":1: message.timeout.ms cannot be set: " },
		{ "plugin.library.paths=/tmp/x.so", ":1: plugin.library.paths cannot be set: " },
		{ "ssl.engine.location=/tmp/x.so", ":1: ssl.engine.location cannot be set: " },
		{ "ssl.providers=x", ":1: ssl.providers cannot be set: " },
		{ "sasl.kerberos.kinit.cmd=id", ":1: sasl.kerberos.kinit.cmd cannot be set: " },
		{ "sasl.kerberos.principal=a;id", ":1: sasl.kerberos.principal has a character that" },
		{ "sasl.kerberos.keytab=$(id)", ":1: sasl.kerberos.keytab has a character that" },
		{ "sasl.mechanism=PLAIN\nssl.key.password\x01=abc", "is not a property" },
		{ "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER",
		  ": sasl.mechanism=OAUTHBEARER needs sasl.oauthbearer.method=oidc" },
		{ "", NULL },
		{ "# only\n\n  # comments\r\n", NULL },
		{ "enable.idempotence=true\nacks=all\n", NULL },
		{ "bootstrap.servers = localhost:1\r\nclient.id=x\n", NULL },
		{ "sasl.kerberos.principal=kafka/n1.example.org@EXAMPLE.ORG", NULL },
		{ "sasl.username=a\nsasl.password=se=cr#et\nsasl.mechanism=PLAIN", NULL },
	};
	struct sink *k = NULL;
	size_t i;

	settings.kafka_conf[0] = '\0';
	is_int(sink_kafka.open(&settings, &k, &err), -EINVAL, "KafkaConf empty");
	is_str(err.text, "KafkaConf is not set", "says so");
	snprintf(settings.kafka_conf, sizeof(settings.kafka_conf), "%s", conf_path);
	is_int(sink_kafka.open(&settings, &k, &err), -ENOENT, "no such file");
	ok(strstr(err.text, conf_path) != NULL, "%s", err.text);
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		int rc = open_with(table[i].text, &k);

		if (table[i].err) {
			ok(rc == -EINVAL && strstr(err.text, table[i].err), "%s", err.text);
		} else {
			ok(rc == 0, "accepted: %.30s %s", table[i].text, err.text);
			if (rc == 0)
				sink_kafka.close(k);
		}
	}
	/* the value of a secret is in no message */
	is_int(open_with("ssl.key.pem=hunter2\nsecurity.protocol=ssl", &k), -EINVAL, "bad key");
	ok(!strstr(err.text, "hunter2"), "no secret: %s", err.text);
	scratch_write(conf_path, "sasl.password=hunter2\n", 22);
	chmod(conf_path, 0604);
	is_int(sink_kafka.open(&settings, &k, &err), -EACCES, "everybody may read a secret");
	ok(strstr(err.text, "chmod") != NULL && !strstr(err.text, "hunter2"), "%s", err.text);
	chmod(conf_path, 0640);
	is_int(sink_kafka.open(&settings, &k, &err), -EACCES, "the group may read a secret");
	chmod(conf_path, 0600);
	is_int(sink_kafka.open(page_end_copy(&settings, sizeof(settings)), &k, &err), 0,
	       "only the owner may");
	sink_kafka.close(k);
	sink_kafka.close(NULL);
	ok(!strstr(logged, "hunter"), "nor in the log");
}

/* Which library cannot log in at Kafka 4.0 with which mechanism. */
static void test_scram(void)
{
	static const struct {
		int version; /* 0xMMmmrrxx, xx 0xff: a release */
		const char *mechanism;
		bool fails;
	} table[] = {
		{ 0x010600ff, "SCRAM-SHA-256", true },	{ 0x020002ff, "SCRAM-SHA-512", true },
		{ 0x020600ff, "scram-sha-512", true },	{ 0x020601ff, "SCRAM-SHA-512", false },
		{ 0x020800ff, "SCRAM-SHA-512", false }, { 0x020002ff, "PLAIN", false },
		{ 0x020002ff, "OAUTHBEARER", false },	{ 0x020002ff, "", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		ok(kafka_conf_scram_fails(table[i].version, table[i].mechanism) == table[i].fails, "%08x, %s",
		   (unsigned int)table[i].version, table[i].mechanism);
}

/* --- a mock cluster ---------------------------------------------------------------------- */

static rd_kafka_t *mock_client;
static rd_kafka_mock_cluster_t *mock;

static bool mock_start(void)
{
	char reason[256];

	mock_client = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), reason, sizeof(reason));
	if (!mock_client)
		return false;
	mock = rd_kafka_mock_cluster_new(mock_client, 1);
	return mock && !rd_kafka_mock_topic_create(mock, TOPIC, 1, 1) &&
	       !rd_kafka_mock_topic_create(mock, TOPIC ".start", 1, 1);
}

static struct sink *open_mock(const char *more)
{
	char text[1024];
	struct sink *k = NULL;

	snprintf(text, sizeof(text), "bootstrap.servers=%s\nreconnect.backoff.max.ms=200\n%s",
		 rd_kafka_mock_cluster_bootstraps(mock), more);
	if (open_with(text, &k) < 0)
		diag("%s", err.text);
	return k;
}

static struct sink_item item_of(const char *key, const char *json)
{
	return (struct sink_item){ STORE_RECORD, key, strlen(key), json, strlen(json), 0, NULL, false };
}

static void fill(struct sink_item *item, enum sink_result *r, size_t n)
{
	static char keys[1000][48];
	size_t i;

	for (i = 0; i < n; i++) {
		snprintf(keys[i], sizeof(keys[i]), "c%zu/1,%zu,0/0", i % 2, i);
		item[i] = item_of(keys[i], "{}");
		item[i].seq = i;
		r[i] = SINK_RETRY;
	}
}

/* As deliver.c would, until all are settled or there is trouble. */
static int send_all(struct sink *k, struct sink_item *item, size_t n, enum sink_result *r,
		    uint64_t timeout_ns)
{
	size_t i = 0;
	int rc;

	err.text[0] = '\0';
	do {
		rc = sink_kafka.deliver(k, item, n, r, timeout_ns, &err);
		for (i = 0; i < n && r[i] >= SINK_ACKED; i++)
			;
	} while (rc == 0 && i < n);
	return rc;
}

static size_t count(const enum sink_result *r, size_t n, enum sink_result which)
{
	size_t found = 0;

	while (n--)
		found += r[n] == which;
	return found;
}

static void (*on_message)(const rd_kafka_message_t *m);

/*
 * Reads the topic from its beginning, up to its end at most; counts messages of SCHEMA whose headers are
 * right.
 */
static size_t consume(const char *topic, const char *schema, size_t want, char *ret_keys, size_t size)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	uint64_t deadline = clock_mono_ns() + 20 * SECOND;
	char reason[256];
	size_t n = 0;
	rd_kafka_t *rk;

	rd_kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(mock), NULL, 0);
	rd_kafka_conf_set(conf, "group.id", "test", NULL, 0);
	rd_kafka_conf_set(conf, "enable.partition.eof", want == SIZE_MAX ? "true" : "false", NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof(reason));
	rd_kafka_poll_set_consumer(rk);
	rd_kafka_topic_partition_list_add(list, topic, 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
	rd_kafka_assign(rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	ret_keys[0] = '\0';
	while (n < want && clock_mono_ns() < deadline) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 200);
		rd_kafka_headers_t *headers = NULL;
		const void *v = NULL;
		size_t len = 0;

		if (!m)
			continue;
		if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			want = n;
		if (!m->err && on_message)
			on_message(m);
		if (!m->err && !rd_kafka_message_headers(m, &headers) &&
		    !rd_kafka_header_get_last(headers, "schema", &v, &len) && len == strlen(schema) &&
		    !memcmp(v, schema, len) && !rd_kafka_header_get_last(headers, "cluster", &v, &len) &&
		    len == 2 && !memcmp(v, m->key, 2)) {
			n++;
			if (strlen(ret_keys) + m->key_len + 2 < size) {
				strncat(ret_keys, m->key, m->key_len);
				strcat(ret_keys, ";");
			}
		}
		rd_kafka_message_destroy(m);
	}
	rd_kafka_consumer_close(rk);
	rd_kafka_destroy(rk);
	return n;
}

/* The broker refuses the first try as not permitted: what it was asked to take is tried again later. */
static void test_not_permitted(struct sink *k, const char *what)
{
	struct sink_item item[2];
	enum sink_result r[2];

	fill(item, r, 2);
	is_int(send_all(k, item, 2, r, 20 * SECOND), -EAGAIN, what);
	is_u64(count(r, 2, SINK_RETRY), 2, "is for the admin: try again");
	ok(strstr(err.text, "authorization") != NULL, "%s", err.text);
	is_int(send_all(k, item, 2, r, 20 * SECOND), 0, "later");
	is_u64(count(r, 2, SINK_ACKED), 2, "it works");
}

static char seen_final[64];

static void see_final(const rd_kafka_message_t *m)
{
	rd_kafka_headers_t *headers = NULL;
	const void *v = NULL;
	size_t len = 0;

	if (m->key_len < 3 || memcmp(m->key, "c8/", 3))
		return;
	if (rd_kafka_message_headers(m, &headers) || rd_kafka_header_get_last(headers, "final", &v, &len))
		v = "none", len = 4;
	strncat(seen_final, v, len < 8 ? len : 8);
	strcat(seen_final, headers && !rd_kafka_header_get_last(headers, "origin", &v, &len) ? "h;" : ";");
}

/* Whether a record will be corrected is in a header; what a user wrote is not taken for it. */
static void test_final(void)
{
	struct sink_item item[] = {
		item_of("c8/1", "{\"job_name\":\"a \\\"final\\\":false\",\"energy\":{\"final\":true},"
				"\"origin\":\"history\"}"),
		item_of("c8/2", "{\"job_name\":\"a \\\"final\\\":true\",\"energy\":{\"final\":false}}"),
		item_of("c8/2#1", "{\"steps\":[]}"),
	};
	enum sink_result r[3] = { SINK_RETRY, SINK_RETRY, SINK_RETRY };
	struct sink *k = open_mock("");
	char keys[64];

	item[2].kind = STORE_STEPS;
	item[1].seq = 1;
	item[2].seq = 2;
	is_int(send_all(k, item, 3, r, 20 * SECOND), 0, "a final record, one that is not, and a part");
	sink_kafka.close(k);
	on_message = see_final;
	(void)consume(TOPIC, "ceems.job.v1", SIZE_MAX, keys, sizeof(keys));
	on_message = NULL;
	is_str(seen_final, "trueh;false;none;", "say so in a header, as does a record of history");
}

static void test_delivery(void)
{
	static struct sink_item item[1000];
	static enum sink_result r[1000];
	static char big[200000];
	char keys[1024];
	struct sink *k;

	k = open_mock("");
	fill(item, r, 1000);
	is_int(send_all(k, item, 3, r, 20 * SECOND), 0, "three records");
	is_u64(count(r, 3, SINK_ACKED), 3, "acked");
	is_u64(consume(TOPIC, "ceems.job.v1", 3, keys, sizeof(keys)), 3,
	       "are in the topic, with their headers");
	is_str(keys, "c0/1,0,0/0;c1/1,1,0/0;c0/1,2,0/0;", "by key, in order");
	is_int(send_all(k, item, 1000, r, 20 * SECOND), 0, "a full batch");
	is_u64(count(r, 1000, SINK_ACKED), 1000, "acked");
	sink_kafka.close(k);

	/* too large for the client: that one only */
	memset(big, 'x', sizeof(big));
	k = open_mock("message.max.bytes=100000\n");
	fill(item, r, 3);
	item[1].json = big;
	item[1].json_len = sizeof(big);
	is_int(send_all(k, item, 3, r, 20 * SECOND), 0, "one is too large");
	ok(r[0] == SINK_ACKED && r[1] == SINK_REFUSED && r[2] == SINK_ACKED, "it is refused");
	ok(strstr(sink_why(&item[1]), "too large") != NULL, "for: %s", sink_why(&item[1]));
	free(item[1].why);
	/* the broker refuses a request of several: each gets a second chance, alone */
	fill(item, r, 3);
	rd_kafka_mock_push_request_errors(mock, /* Produce */ 0, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	is_int(send_all(k, item, 3, r, 20 * SECOND), 0, "a request refused");
	is_u64(count(r, 3, SINK_ACKED), 3, "its messages pass alone");
	fill(item, r, 1);
	rd_kafka_mock_push_request_errors(mock, 0, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	is_int(send_all(k, item, 1, r, 20 * SECOND), 0, "a single one refused");
	is_int(r[0], SINK_REFUSED, "is set aside");
	free(item[0].why);
	/* not about the message */
	rd_kafka_mock_push_request_errors(mock, /* Produce */ 0, 1,
					  RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	test_not_permitted(k, "no permission");
	sink_kafka.close(k);
	/*
	 * librdkafka takes this one as fatal and drops all messages; the sink makes another client. The
	 * broker knows it before the client exists, because the client asks for its producer id unbidden.
	 */
	rd_kafka_mock_push_request_errors(mock, /* InitProducerId */ 22, 1,
					  RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED);
	k = open_mock("");
	test_not_permitted(k, "no permission to produce");
	sink_kafka.close(k);
}

static void test_kinds(void)
{
	struct sink_item item[4] = { item_of("c0/1,5,0/0#1", "{}"), item_of("c0/1,5,0/0", "{}"),
				     item_of("c0/2,5,0/0", "{}"), item_of("c0/1,5,0/0#2", "{}") };
	enum sink_result r[4] = { SINK_RETRY };
	char keys[256];
	struct sink *k;
	size_t i;

	item[0].kind = item[3].kind = STORE_STEPS;
	item[1].kind = item[2].kind = STORE_START;
	for (i = 0; i < 4; i++)
		item[i].seq = 7 + i;
	ok(sink_kafka.kinds == (STORE_MASK(STORE_RECORD) | STORE_MASK(STORE_STEPS) | STORE_MASK(STORE_START)),
	   "records, steps and starts");
	k = open_mock("");
	is_int(send_all(k, item, 4, r, 20 * SECOND), 0, "no topic for starts");
	is_u64(count(r, 4, SINK_ACKED), 4, "they pass");
	sink_kafka.close(k);
	snprintf(settings.kafka_start_topic, sizeof(settings.kafka_start_topic), TOPIC ".start");
	memset(r, 0, sizeof(r));
	k = open_mock("");
	is_int(send_all(k, item, 4, r, 20 * SECOND), 0, "and with one");
	is_u64(consume(TOPIC ".start", "ceems.job_start.v1", 2, keys, sizeof(keys)), 2, "they are in it");
	is_str(keys, "c0/1,5,0/0;c0/2,5,0/0;", "by key");
	is_u64(consume(TOPIC, "ceems.steps.v1", 4, keys, sizeof(keys)), 4, "steps are beside the records");
	is_str(keys, "c0/1,5,0/0#1;c0/1,5,0/0#2;c0/1,5,0/0#1;c0/1,5,0/0#2;", "by key and part");
	sink_kafka.close(k);
	settings.kafka_start_topic[0] = '\0';
}

/* The broker of librdkafka before 1.8 has every topic. */
static bool broker_lacks_topics(unsigned int tests)
{
	if (rd_kafka_version() >= 0x01080000)
		return true;
	skip(tests, "librdkafka is older than 1.8");
	return false;
}

/* Starts come first in the store, and their topic is not there: what is behind them goes all the same. */
static void test_start_lost(void)
{
	static char big[200000];
	struct sink_item item[3] = { item_of("c0/9,5,0/0", "{}"), item_of("c0/9,5,0/0", "{}"),
				     item_of("c0/9,6,0/0", "{}") };
	enum sink_result r[3] = { SINK_RETRY };
	uint64_t deadline = clock_mono_ns() + 60 * SECOND;
	struct sink *k;
	size_t i;
	int rc;

	if (!broker_lacks_topics(5))
		return;
	item[0].kind = STORE_START;
	for (i = 0; i < 3; i++)
		item[i].seq = i;
	snprintf(settings.kafka_start_topic, sizeof(settings.kafka_start_topic), TOPIC ".lost");
	rd_kafka_mock_topic_set_error(mock, TOPIC ".lost", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	k = open_mock("message.max.bytes=100000\n");
	do
		rc = send_all(k, item, 3, r, SECOND);
	while (r[0] == SINK_SENT && clock_mono_ns() < deadline);
	is_int(rc, -EAGAIN, "the start topic is not there");
	ok(r[0] == SINK_RETRY, "it may come: %s", err.text);
	while (count(r, 3, SINK_ACKED) + count(r, 3, SINK_REFUSED) < 3 && clock_mono_ns() < deadline) {
		(void)send_all(k, item, 3, r, SECOND);
		(void)nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	ok(r[0] == SINK_REFUSED && r[1] == SINK_ACKED && r[2] == SINK_ACKED,
	   "the start is set aside, the records are there");
	ok(strstr(sink_why(&item[0]), "opic") != NULL, "for: %s", sink_why(&item[0]));
	r[0] = r[1] = SINK_RETRY;
	item[0].seq = 3;
	memset(big, 'x', sizeof(big));
	item[1].json = big;
	item[1].json_len = sizeof(big);
	item[1].seq = 4;
	(void)send_all(k, item, 2, r, 20 * SECOND);
	is_int(r[0], SINK_REFUSED, "the next one is not waited for");
	is_int(r[1], SINK_REFUSED, "a record with it is too large");
	ok(strstr(sink_why(&item[0]), "opic") && strstr(sink_why(&item[1]), "too large"),
	   "each has its own reason: %s; %s", sink_why(&item[0]), sink_why(&item[1]));
	sink_kafka.close(k);
	for (i = 0; i < 3; i++)
		free(item[i].why);
	settings.kafka_start_topic[0] = '\0';
}

#define FLAP_KEYS 7
#define FLAP_ITEMS 700
static int last_seen[FLAP_KEYS];
static unsigned int gaps;

/* One behind the other for each key; from an earlier one on again after a client that was given up. */
static void see_flap(const rd_kafka_message_t *m)
{
	char text[16] = "";
	int key;
	int v;

	if (m->key_len < 4 || memcmp(m->key, "c9/", 3))
		return;
	key = ((const char *)m->key)[3] - '0';
	memcpy(text, m->payload, m->len < sizeof(text) ? m->len : sizeof(text) - 1);
	v = atoi(text);
	if (key < 0 || key >= FLAP_KEYS || v > last_seen[key] + 1)
		gaps++;
	else
		last_seen[key] = v;
}

/* Up and down all the time: nothing is lost, and each key's messages are in order. */
static void test_flapping(void)
{
	static struct sink_item item[FLAP_ITEMS];
	static enum sink_result r[FLAP_ITEMS];
	static char key[FLAP_KEYS][8];
	static char json[FLAP_ITEMS][8];
	uint64_t deadline = clock_mono_ns() + 120 * SECOND;
	struct sink *k = open_mock("");
	size_t done = 0;
	size_t whole = 0;
	char keys[8];
	size_t n = 20;
	int turn;
	size_t i;

	for (i = 0; i < FLAP_ITEMS; i++) {
		snprintf(key[i % FLAP_KEYS], sizeof(key[0]), "c9/%zu", i % FLAP_KEYS);
		snprintf(json[i], sizeof(json[0]), "%zu", i / FLAP_KEYS + 1);
		item[i] = item_of(key[i % FLAP_KEYS], json[i]);
		item[i].seq = i;
	}
	/* as deliver.c: a window that moves on over what is settled, of more and more items */
	for (turn = 0; done < FLAP_ITEMS && clock_mono_ns() < deadline; turn++) {
		if (turn % 2 && turn < 12)
			rd_kafka_mock_broker_set_down(mock, 1);
		else
			rd_kafka_mock_broker_set_up(mock, 1);
		(void)sink_kafka.deliver(k, item + done, n - done, r + done, SECOND / 2, &err);
		sink_keep_order(item + done, n - done, r + done);
		while (done < n && r[done] == SINK_ACKED)
			done++;
		n = n + 35 < FLAP_ITEMS ? n + 35 : FLAP_ITEMS;
	}
	rd_kafka_mock_broker_set_up(mock, 1);
	ok(done == FLAP_ITEMS, "all acked in %d turns", turn);
	sink_kafka.close(k);
	on_message = see_flap;
	(void)consume(TOPIC, "ceems.job.v1", SIZE_MAX, keys, sizeof(keys));
	on_message = NULL;
	for (i = 0; i < FLAP_KEYS; i++)
		whole += last_seen[i] == FLAP_ITEMS / FLAP_KEYS;
	is_u64(whole, FLAP_KEYS, "the last of each key is there, last");
	is_u64(gaps, 0, "and none before it is missing");
}

/* Batches in a row: while one is under way the next is taken, and all stays in order. */
static void test_window(void)
{
	static struct sink_item item[2000];
	static enum sink_result r[2000];
	static char keys[2000][24];
	static char big[5000];
	size_t left_sent = 0;
	size_t first = 0;
	size_t calls = 0;
	size_t n = 0;
	size_t i;
	struct sink *k;

	memset(big, 'x', sizeof(big));
	for (i = 0; i < 2000; i++) {
		snprintf(keys[i], sizeof(keys[i]), "w0/%zu,1,0/0", i);
		item[i] = item_of(keys[i], "");
		item[i].json = big;
		item[i].json_len = sizeof(big);
		item[i].seq = 100 + i;
	}
	k = open_mock("");
	rd_kafka_mock_broker_set_rtt(mock, 1, 50);
	while (first < 2000 && calls++ < 1000) {
		n = first + 1000 < 2000 ? first + 1000 : 2000;
		if (sink_kafka.deliver(k, item + first, n - first, r + first, 20 * SECOND, &err))
			break;
		for (i = first; i < n; i++)
			left_sent += r[i] == SINK_SENT;
		while (first < 2000 && r[first] == SINK_ACKED)
			first++;
	}
	rd_kafka_mock_broker_set_rtt(mock, 1, 0);
	is_u64(first, 2000, "a window moves over them");
	ok(left_sent > 0, "some are left on their way (%zu)", left_sent);
	sink_kafka.close(k);
}

/* KafkaConf is corrected: the next try has it, though the client was still trying. */
static void test_corrected(void)
{
	static struct sink_item item[3];
	static enum sink_result r[3];
	struct sink *k = NULL;
	char text[256];

	fill(item, r, 3);
	is_int(open_with("bootstrap.servers=127.0.0.1:1\n", &k), 0, "a wrong port");
	is_int(send_all(k, item, 3, r, SECOND / 2), -EAGAIN, "nobody is there");
	is_u64(count(r, 3, SINK_SENT), 3, "the client goes on trying");
	snprintf(text, sizeof(text), "bootstrap.servers=%s\n# corrected\n",
		 rd_kafka_mock_cluster_bootstraps(mock));
	scratch_write(conf_path, text, strlen(text));
	is_int(send_all(k, item, 3, r, SECOND / 2), -EAGAIN, "the file is corrected");
	is_u64(count(r, 3, SINK_RETRY), 3, "which ends that client");
	is_int(send_all(k, item, 3, r, 20 * SECOND), 0, "the next one delivers");
	sink_kafka.close(k);
}

/* A broker that accepts the connection and never answers: at close, what was sent to it is given up. */
static void test_abandoned(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct timeval patience = { .tv_sec = 20 };
	socklen_t len = sizeof(a);
	struct sink_item item[3];
	enum sink_result r[3];
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sink *k = NULL;
	char buf[4096];
	ssize_t n;
	int fd;

	ok(bind(listener, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(listener, 8) == 0 &&
		   getsockname(listener, (struct sockaddr *)&a, &len) == 0,
	   "a listener");
	setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	snprintf(buf, sizeof(buf), "bootstrap.servers=127.0.0.1:%d\n", ntohs(a.sin_port));
	is_int(open_with(buf, &k), 0, "its client");
	fill(item, r, 3);
	is_int(send_all(k, item, 3, r, SECOND / 10), -EAGAIN, "waits");
	fd = accept(listener, NULL, NULL);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	ok(recv(fd, buf, sizeof(buf), 0) > 0, "it asked something");
	sink_kafka.close(k);
	do
		n = recv(fd, buf, sizeof(buf), 0);
	while (n > 0);
	ok(n < 0 && errno == ECONNRESET, "the connection is dropped, not closed (%zd, %s)", n,
	   n < 0 ? strerror(errno) : "end of file");
	close(fd);
	close(listener);
}

static void test_no_topic(struct sink_item *item, enum sink_result *r)
{
	struct sink *k;
	int tries, rc;

	if (!broker_lacks_topics(4))
		return;
	k = open_mock("");
	rd_kafka_mock_topic_set_error(mock, TOPIC, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	fill(item, r, 100);
	is_int(send_all(k, item, 3, r, 20 * SECOND), -EAGAIN, "no such topic");
	is_u64(count(r, 3, SINK_RETRY), 3, "for the admin: try again");
	ok(strstr(err.text, "opic") != NULL, "%s", err.text);
	rd_kafka_mock_topic_set_error(mock, TOPIC, RD_KAFKA_RESP_ERR_NO_ERROR);
	for (tries = 0, rc = -EAGAIN; rc < 0 && tries < 20; tries++)
		rc = send_all(k, item, 3, r, 5 * SECOND);
	is_int(rc, 0, "it comes");
	sink_kafka.close(k);
}

static void test_outage(void)
{
	static struct sink_item item[100];
	static enum sink_result r[100];
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	struct sink *k;
	char text[128];
	uint64_t t;
	int tries;
	int rc;
	int fd;

	k = open_mock("");
	fill(item, r, 100);
	rd_kafka_mock_broker_set_down(mock, 1);
	t = clock_mono_ns();
	is_int(send_all(k, item, 100, r, SECOND / 2), -EAGAIN, "broker down");
	t = clock_mono_ns() - t;
	ok(t >= SECOND / 2 && t < 5 * SECOND, "gives up when told (%" PRIu64 " ms)", t / NSEC_PER_MSEC);
	is_u64(count(r, 100, SINK_SENT), 100, "the client keeps all");
	ok(strstr(err.text, "no acknowledgement within 500 ms") != NULL, "%s", err.text);
	rd_kafka_mock_broker_set_up(mock, 1);
	for (tries = 0, rc = -EAGAIN; rc < 0 && tries < 20; tries++)
		rc = send_all(k, item, 100, r, 2 * SECOND);
	is_int(rc, 0, "back");
	is_u64(count(r, 100, SINK_ACKED), 100, "all acked");
	/* gone in the middle of a request */
	fill(item, r, 100);
	rd_kafka_mock_push_request_errors(mock, 0, 2, RD_KAFKA_RESP_ERR__TRANSPORT,
					  RD_KAFKA_RESP_ERR__TRANSPORT);
	for (tries = 0, rc = -EAGAIN; rc < 0 && tries < 20; tries++)
		rc = send_all(k, item, 100, r, 2 * SECOND);
	is_int(rc, 0, "over broken connections");
	/* the answers get lost: the client asks again */
	fill(item, r, 100);
	rd_kafka_mock_broker_set_rtt(mock, 1, 3000);
	is_int(send_all(k, item, 100, r, SECOND / 2), -EAGAIN, "answers too late");
	rd_kafka_mock_broker_set_rtt(mock, 1, 0);
	for (tries = 0, rc = -EAGAIN; rc < 0 && tries < 20; tries++)
		rc = send_all(k, item, 100, r, 5 * SECOND);
	is_int(rc, 0, "delivered again");
	is_u64(count(r, 100, SINK_ACKED), 100, "all acked");
	sink_kafka.close(k);

	test_no_topic(item, r);

	/* more tries without an answer than a client is kept for */
	k = open_mock("");
	fill(item, r, 100);
	rd_kafka_mock_broker_set_down(mock, 1);
	for (tries = 0; tries < 7; tries++)
		if (send_all(k, item, 3, r, SECOND / 10) != -EAGAIN)
			break;
	is_int(tries, 7, "a long outage");
	rd_kafka_mock_broker_set_up(mock, 1);
	for (tries = 0, rc = -EAGAIN; rc < 0 && tries < 20; tries++)
		rc = send_all(k, item, 3, r, 2 * SECOND);
	is_int(rc, 0, "ends");
	sink_kafka.close(k);

	/* a listener that never answers */
	fill(item, r, 100);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 5) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		diag("no socket");
	snprintf(text, sizeof(text), "bootstrap.servers=127.0.0.1:%u\n", ntohs(a.sin_port));
	is_int(open_with(text, &k), 0, "a socket that hangs: open does not");
	t = clock_mono_ns();
	is_int(send_all(k, item, 1, r, SECOND / 2), -EAGAIN, "nor deliver");
	sink_kafka.close(k);
	t = clock_mono_ns() - t;
	ok(t < 5 * SECOND, "nor close (%" PRIu64 " ms)", t / NSEC_PER_MSEC);
	close(fd);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	snprintf(conf_path, sizeof(conf_path), "%s/kafka.properties", dir);
	snprintf(settings.kafka_topic, sizeof(settings.kafka_topic), TOPIC);
	logger_set_sink(keep_log);
	test_conf();
	test_scram();
	if (mock_start()) {
		test_delivery();
		test_kinds();
		test_window();
		test_final();
		test_corrected();
		test_abandoned();
		test_outage();
		test_start_lost();
		test_flapping();
		rd_kafka_mock_cluster_destroy(mock);
	} else {
		skip(1, "librdkafka has no mock cluster");
	}
	rd_kafka_destroy(mock_client);
	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
