/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netlab.h - two network namespaces of the test's own and a wire between them on which there is
 * nothing but what the test sends: no ARP, no neighbour discovery, no multicast reports. Needs root
 * and `ip`.
 *
 *	0: 10.77.0.1 fd77::1 <--> 1: 10.77.0.2 fd77::2
 */
#ifndef CEEMS_NETLAB_H
#define CEEMS_NETLAB_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/libutil/util.h"
#include "tap.h"

#define NETLAB_ETHERNET 14 /* bytes of a frame's header: a device counts them */

struct netlab {
	int home, ns[2];
};

static const char *const netlab_v4[2] = { "10.77.0.1", "10.77.0.2" };
static const char *const netlab_v6[2] = { "fd77::1", "fd77::2" };

/* The calling thread; -1: where it was. Call from the main thread: /proc/net is its. */
static inline void netlab_enter(const struct netlab *lab, int side)
{
	if (setns(side < 0 ? lab->home : lab->ns[side], CLONE_NEWNET) < 0)
		diag("setns: %s", strerror(errno));
}

static inline bool netlab_shell(const struct netlab *lab, int side, const char *fmt, ...) _printf_(3, 4);
static inline bool netlab_shell(const struct netlab *lab, int side, const char *fmt, ...)
{
	char cmd[512];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	(void)vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	netlab_enter(lab, side);
	rc = system(cmd);
	netlab_enter(lab, -1);
	return rc == 0;
}

/*
 * Both ends have the same address: a device without ARP sends to its own.
 */
static inline bool netlab_configure(const struct netlab *lab, int side)
{
	return netlab_shell(lab, side,
			    "{ ip link set lo up && "
			    "ip link set wire%d address 02:00:00:00:00:77 arp off multicast off "
			    "addrgenmode none && ip link set wire%d up && "
			    "ip addr add %s/24 dev wire%d && "
			    "ip -6 addr add %s/64 dev wire%d nodad; } >/dev/null 2>&1",
			    side, side, netlab_v4[side], side, netlab_v6[side], side);
}

/*
 * Waits, at most 20 s, until the kernel has noticed that the other end is up. Before that, it drops what is
 * sent, and on a busy machine its work queue may take its time. The second command waits for what the kernel
 * does in the same turn.
 */
static inline bool netlab_await_up(const struct netlab *lab, int side)
{
	return netlab_shell(
		lab, side,
		"i=0; until ip link show wire%d | grep -q 'state UP'; do "
		"i=$((i + 1)); [ $i -lt 1000 ] || exit 1; sleep 0.02; done; ip link set wire%d up",
		side, side);
}

static inline void netlab_close(struct netlab *lab)
{
	util_closep(&lab->ns[0]); /* the wire goes with the namespaces */
	util_closep(&lab->ns[1]);
	util_closep(&lab->home);
}

static inline bool netlab_open(struct netlab *lab)
{
	int i;

	lab->ns[0] = lab->ns[1] = -1;
	lab->home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	for (i = 0; i < 2; i++) {
		if (unshare(CLONE_NEWNET) < 0)
			return false;
		lab->ns[i] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	}
	/* from the second: a device can be given to the namespace of a process */
	if (!netlab_shell(lab, 0, "ip link add wire0 type veth peer name wire1 2>/dev/null"))
		return false;
	if (setns(lab->ns[1], CLONE_NEWNET) < 0)
		return false;
	if (fork() == 0) {
		char cmd[128];

		(void)setns(lab->ns[0], CLONE_NEWNET);
		(void)snprintf(cmd, sizeof(cmd), "ip link set wire1 netns %d", (int)getppid());
		_exit(system(cmd) == 0 ? 0 : 1);
	}
	(void)wait(NULL);
	netlab_enter(lab, -1);
	return netlab_configure(lab, 0) && netlab_configure(lab, 1) && netlab_await_up(lab, 0) &&
	       netlab_await_up(lab, 1);
}

/* Segmentation by the sender's device (TSO), joining at the receiver's (GRO). */
static inline bool netlab_offload(const struct netlab *lab, int side, uint32_t cmd, bool on)
{
	struct ethtool_value value = { .cmd = cmd, .data = on };
	struct ifreq ifr = { .ifr_data = (void *)&value };
	int fd, rc;

	(void)snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "wire%d", side);
	netlab_enter(lab, side);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	rc = ioctl(fd, SIOCETHTOOL, &ifr);
	(void)close(fd);
	netlab_enter(lab, -1);
	return rc == 0;
}

struct netlab_wire {
	uint64_t packets, bytes;
};

/* What SIDE's device sent: /proc/net/dev is of the namespace, /sys/class/net of its mount's. */
static inline struct netlab_wire netlab_sent(const struct netlab *lab, int side)
{
	struct netlab_wire w = { 0 };
	char line[512], name[16];
	FILE *f;

	(void)snprintf(name, sizeof(name), "wire%d:", side);
	netlab_enter(lab, side);
	f = fopen("/proc/net/dev", "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, name);
		uint64_t v[10];
		int i, used;

		for (i = 0, at = at ? at + strlen(name) : NULL; at && i < 10; i++, at += used)
			if (sscanf(at, "%" SCNu64 "%n", &v[i], &used) != 1)
				break;
		if (at && i == 10)
			w = (struct netlab_wire){ .bytes = v[8], .packets = v[9] };
	}
	if (f)
		(void)fclose(f);
	netlab_enter(lab, -1);
	return w;
}

/* Segments that TCP sent again in SIDE since it exists. */
static inline uint64_t netlab_repeats(const struct netlab *lab, int side)
{
	uint64_t repeats = UINT64_MAX;
	char line[512];
	FILE *f;

	netlab_enter(lab, side);
	f = fopen("/proc/net/snmp", "re");
	while (f && fgets(line, sizeof(line), f)) /* the line of names does not match */
		if (sscanf(line, "Tcp: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %" SCNu64, &repeats) == 1)
			break;
	if (f)
		(void)fclose(f);
	netlab_enter(lab, -1);
	return repeats;
}

/* A socket of SIDE; it stays there. */
static inline int netlab_socket(const struct netlab *lab, int side, int family, int type, int protocol)
{
	struct timeval patience = { .tv_sec = 30 };
	int fd;

	netlab_enter(lab, side);
	fd = socket(family, type | SOCK_CLOEXEC, protocol);
	netlab_enter(lab, -1);
	if (fd >= 0) { /* no test hangs */
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	}
	return fd;
}

/* SIDE's address for a socket of FAMILY; IS_MAPPED: its IPv4 address as an IPv6 socket writes it. */
static inline socklen_t netlab_address(int side, int family, bool is_mapped, uint16_t port,
				       struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	char text[64];

	memset(ret, 0, sizeof(*ret));
	ret->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		v4->sin_port = htons(port);
		(void)inet_pton(AF_INET, netlab_v4[side], &v4->sin_addr);
		return sizeof(*v4);
	}
	(void)snprintf(text, sizeof(text), "%s%s", is_mapped ? "::ffff:" : "",
		       is_mapped ? netlab_v4[side] : netlab_v6[side]);
	v6->sin6_port = htons(port);
	(void)inet_pton(AF_INET6, text, &v6->sin6_addr);
	return sizeof(*v6);
}

#endif
