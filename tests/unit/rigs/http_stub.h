/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * http_stub.h - an HTTP server on a port of its own, for tests of clients. Before including it, define
 * http_stub_answer(), which writes the answer to a request.
 */
#ifndef CEEMS_HTTP_STUB_H
#define CEEMS_HTTP_STUB_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int http_stub_fd;

/* HEAD ends before the empty line. */
static void http_stub_answer(int fd, const char *head, const char *body, size_t len);

static void http_stub_serve(int fd)
{
	static char buf[1 << 20];
	size_t used = 0;
	ssize_t n;

	while ((n = read(fd, buf + used, sizeof(buf) - 1 - used)) > 0) {
		char *body, *length;
		size_t len;

		used += (size_t)n;
		buf[used] = '\0';
		body = memmem(buf, used, "\r\n\r\n", 4);
		length = body ? strcasestr(buf, "Content-Length:") : NULL;
		if (!length)
			continue;
		body += 4;
		len = strtoul(length + strlen("Content-Length:"), NULL, 10);
		if (used < (size_t)(body - buf) + len)
			continue;
		body[-1] = '\0';
		http_stub_answer(fd, buf, body, len);
		used = 0;
	}
	close(fd);
}

static void *http_stub_run(void *arg)
{
	int fd;

	while ((fd = accept(http_stub_fd, NULL, NULL)) >= 0)
		http_stub_serve(fd);
	return arg;
}

/* Starts the server. Returns its port, or 0. */
static unsigned int http_stub_start(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	pthread_t thread;

	http_stub_fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(http_stub_fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(http_stub_fd, 4) < 0 ||
	    getsockname(http_stub_fd, (struct sockaddr *)&a, &len) < 0 ||
	    pthread_create(&thread, NULL, http_stub_run, NULL))
		return 0;
	pthread_detach(thread);
	return ntohs(a.sin_port);
}

#endif
