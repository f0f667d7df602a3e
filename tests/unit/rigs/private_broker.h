/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * private_broker.h - an Apache Kafka broker of the test's own on 127.0.0.1, ended with the test whatever
 * happens to it. What it has is in tests/unit/private_broker, the script that prepares it. The caller
 * includes _GNU_SOURCE's headers.
 */
#ifndef CEEMS_PRIVATE_BROKER_H
#define CEEMS_PRIVATE_BROKER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <librdkafka/rdkafka.h>

#include "scratch.h"
#include "src/libutil/clock.h"

enum { BROKER_PLAIN, BROKER_TLS, BROKER_EXPIRED, BROKER_CONTROLLER, BROKER_CERT, BROKER_PORTS };
#define BROKER_WAIT_NS (180 * NSEC_PER_SEC)

struct private_broker {
	pid_t pid; /* 0: does not run */
	unsigned int port[BROKER_PORTS];
	char log[PATH_MAX];
	char command[8192];
};

/* Ports that are free now. */
static inline void broker_pick_ports(struct private_broker *b)
{
	int fd[BROKER_PORTS];
	int i;

	for (i = 0; i < BROKER_PORTS; i++) {
		struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		socklen_t len = sizeof(a);

		fd[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (bind(fd[i], (struct sockaddr *)&a, len) == 0 &&
		    getsockname(fd[i], (struct sockaddr *)&a, &len) == 0)
			b->port[i] = ntohs(a.sin_port);
	}
	for (i = 0; i < BROKER_PORTS; i++)
		close(fd[i]);
}

/* NULL, or why there is none. DIR is the caller's, to be removed by him. */
static inline const char *broker_prepare(struct private_broker *b, const char *script, const char *dir)
{
	static char why[sizeof(b->command)];
	char command[2 * PATH_MAX];
	size_t n;
	FILE *f;
	int rc;

	broker_pick_ports(b);
	snprintf(b->log, sizeof(b->log), "%s/broker.log", dir);
	snprintf(command, sizeof(command), "%s %s %u %u %u %u %u", script, dir, b->port[0], b->port[1],
		 b->port[2], b->port[3], b->port[4]);
	f = popen(command, "r");
	n = f ? fread(b->command, 1, sizeof(b->command) - 1, f) : 0;
	b->command[n] = '\0';
	rc = f ? pclose(f) : -1;
	if (rc == 0)
		return NULL;
	memcpy(why, b->command, n + 1);
	why[strcspn(why, "\n")] = '\0';
	return why[0] ? why : "the broker cannot be prepared";
}

static inline bool broker_knock(const struct private_broker *b)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)b->port[BROKER_PLAIN]) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool up = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;

	close(fd);
	return up;
}

/* Starts it and waits until it answers. */
static inline bool broker_start(struct private_broker *b)
{
	uint64_t deadline = clock_mono_ns() + BROKER_WAIT_NS;
	struct timespec nap = { .tv_nsec = 100000000 };
	pid_t parent = getpid();
	int fd;

	b->pid = fork();
	if (b->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(126);
		fd = open(b->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
		dup2(fd, 1);
		dup2(fd, 2);
		execl("/bin/bash", "bash", "-c", b->command, NULL);
		_exit(127);
	}
	while (!broker_knock(b)) {
		if (clock_mono_ns() > deadline || waitpid(b->pid, NULL, WNOHANG) != 0)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

static inline void broker_stop(struct private_broker *b, int sig)
{
	if (!b->pid)
		return;
	kill(b->pid, sig);
	kill(b->pid, SIGCONT);
	waitpid(b->pid, NULL, 0);
	b->pid = 0;
}

/* MORE, if not NULL, is one "key=value" of the topic. */
static inline bool broker_add_topic(const struct private_broker *b, const char *topic, int partitions,
				    const char *key, const char *value)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_NewTopic_t *t;
	rd_kafka_queue_t *q;
	rd_kafka_event_t *e;
	const rd_kafka_topic_result_t **r = NULL;
	char servers[64];
	size_t n = 0;
	bool done;
	rd_kafka_t *rk;

	snprintf(servers, sizeof(servers), "127.0.0.1:%u", b->port[BROKER_PLAIN]);
	rd_kafka_conf_set(conf, "bootstrap.servers", servers, NULL, 0);
	rd_kafka_conf_set(conf, "log_level", "0", NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	if (!rk)
		return false;
	q = rd_kafka_queue_new(rk);
	t = rd_kafka_NewTopic_new(topic, partitions, 1, NULL, 0);
	if (key)
		rd_kafka_NewTopic_set_config(t, key, value);
	rd_kafka_CreateTopics(rk, &t, 1, NULL, q);
	e = rd_kafka_queue_poll(q, 60000);
	if (e && !rd_kafka_event_error(e))
		r = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(e), &n);
	done = n == 1 && (!rd_kafka_topic_result_error(r[0]) ||
			  rd_kafka_topic_result_error(r[0]) == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS);
	if (e)
		rd_kafka_event_destroy(e);
	rd_kafka_NewTopic_destroy(t);
	rd_kafka_queue_destroy(q);
	rd_kafka_destroy(rk);
	return done;
}

#endif
