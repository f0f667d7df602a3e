/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets of a step against the running kernel: what programs on its cgroup count must be what was sent,
 * to the packet and to the byte, and what the devices of an isolated wire saw. Needs root, the right to
 * load BPF programs, a v2 cgroup hierarchy and `ip`. Some cases are those that a collector which
 * counts calls in the socket layer gets wrong (CEEMS 0.10: packets are calls, MSG_PEEK counts, IPv4 by an
 * IPv6 socket counts twice, every process of the node is taxed).
 */
#define _GNU_SOURCE
#include "src/libmeter/activity/netcount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <linux/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netlab.h"
#include "src/libnode/bpfload.h"
#include "src/libutil/clock.h"

#define TIMEOUT_NS (60 * NSEC_PER_SEC)
#define IP4 20
#define IP6 40
#define UDP 8

static char scratch[] = "/tmp/test_netcount-XXXXXX";
static char dir[PATH_MAX];
static char top[PATH_MAX]; /* our cgroup: everything that is not a step's */
static struct netlab lab;
static struct probes *probes;

/* --- cgroups and steps -------------------------------------------------------------------- */

static bool join(const char *folder)
{
	char path[PATH_MAX + 16];
	int fd;
	bool done;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, "0", 1) == 1;
	util_closep(&fd);
	return done;
}

/* A dead task's cgroup can be removed only a moment after wait() has returned. */
static void remove_folder(const char *path)
{
	uint64_t deadline = clock_mono_ns() + TIMEOUT_NS;

	while (rmdir(path) < 0 && errno == EBUSY && clock_mono_ns() < deadline)
		(void)usleep(1000);
}

struct step {
	char folder[PATH_MAX + 32], task[PATH_MAX + 64];
	int fd;
	struct netcount *n;
	struct values f;
	struct step_detail d;
};

static bool step_make(struct step *s, const char *name)
{
	*s = (struct step){ .fd = -1 };
	(void)snprintf(s->folder, sizeof(s->folder), "%s/%s", top, name);
	(void)snprintf(s->task, sizeof(s->task), "%s/task_0", s->folder);
	if (mkdir(s->folder, 0755) < 0 || mkdir(s->task, 0755) < 0)
		return ok(false, "cgroup %s: %s", s->task, strerror(errno));
	s->fd = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->fd >= 0;
}

static bool step_start(struct step *s, const char *name)
{
	struct errmsg err = { 0 };

	return step_make(s, name) && is_int(netcount_open(probes, s->fd, &s->n, &err), 0,
					    err.text[0] ? err.text : "a step's packets are counted");
}

static void step_stop(struct step *s)
{
	netcount_close(s->n);
	util_closep(&s->fd);
	if (s->folder[0]) {
		remove_folder(s->task);
		remove_folder(s->folder);
	}
	*s = (struct step){ .fd = -1 };
}

/* Made in a folder below the step's, as Slurm's tasks and a container's processes are. */
static int step_socket(const struct step *s, int side, int family, int type, int protocol)
{
	int fd;

	if (!join(s->task))
		return -1;
	fd = netlab_socket(&lab, side, family, type, protocol);
	(void)join(top);
	return fd;
}

static int step_read(struct step *s)
{
	values_init(&s->f);
	return netcount_read(s->n, &s->f, &s->d);
}

static struct detail_net kind_of(const struct step *s, const char *kind)
{
	uint32_t i;

	for (i = 0; i < s->d.nnet; i++)
		if (!strcmp(s->d.net[i].kind, kind))
			return s->d.net[i];
	return (struct detail_net){ 0 };
}

static void is_kind(struct step *s, const char *kind, struct detail_net want)
{
	struct detail_net got;

	(void)step_read(s);
	got = kind_of(s, kind);
	is_u64(got.in_packets, want.in_packets, "packets in");
	is_u64(got.in_bytes, want.in_bytes, "bytes in");
	is_u64(got.out_packets, want.out_packets, "packets out");
	is_u64(got.out_bytes, want.out_bytes, "bytes out");
}

/*
 * Of IP. Where a veth joins packets, which depends on the kernel, its peer counts them without their
 * frames.
 */
static uint64_t wire_bytes(const struct netlab_wire *w, uint64_t want)
{
	return w->bytes == want ? want : w->bytes - w->packets * NETLAB_ETHERNET;
}

/* --- UDP ---------------------------------------------------------------------------------- */

static char data[70000];

static bool move_one(int from, int to, size_t size, bool peek)
{
	char buf[sizeof(data)];
	int i;

	if (send(from, data, size, 0) != (ssize_t)size)
		return false;
	for (i = 0; peek && i < 3; i++)
		if (recv(to, buf, sizeof(buf), MSG_PEEK) != (ssize_t)size)
			return false;
	return recv(to, buf, sizeof(buf), 0) == (ssize_t)size;
}

/* Two connected sockets: A is the step's, on side 0; B belongs to no step. */
static bool udp_pair(const struct step *s, int family, bool is_mapped, uint16_t port, int *ret_a, int *ret_b)
{
	/* B is plain IPv4 where A's IPv6 socket is mapped */
	int family_b = is_mapped ? AF_INET : family;
	struct sockaddr_storage aa, ab, ba, bb;
	socklen_t la = netlab_address(0, family, is_mapped, port, &aa);
	socklen_t lb = netlab_address(1, family_b, false, port, &bb);

	(void)netlab_address(1, family, is_mapped, port, &ab);
	(void)netlab_address(0, family_b, false, port, &ba);
	*ret_a = step_socket(s, 0, family, SOCK_DGRAM, 0);
	*ret_b = netlab_socket(&lab, 1, family_b, SOCK_DGRAM, 0);
	return ok(*ret_a >= 0 && *ret_b >= 0 && bind(*ret_a, (struct sockaddr *)&aa, la) == 0 &&
			  bind(*ret_b, (struct sockaddr *)&bb, lb) == 0 &&
			  connect(*ret_a, (struct sockaddr *)&ab, la) == 0 &&
			  connect(*ret_b, (struct sockaddr *)&ba, lb) == 0,
		  "two UDP sockets: %s", strerror(errno));
}

static void test_udp(int family, bool is_mapped)
{
	uint64_t header = UDP + (family == AF_INET || is_mapped ? IP4 : IP6);
	const char *kind = header == UDP + IP4 ? "udp4" : "udp6";
	struct netlab_wire before[2], after[2], w;
	uint64_t out = 0, in = 0, n_out = 0, n_in = 0;
	struct step s;
	int a = -1, b = -1;
	bool moved = true;

	diag("UDP by an %s socket%s", family == AF_INET ? "IPv4" : "IPv6",
	     is_mapped ? ", to an IPv4 address" : "");
	if (!step_start(&s, "udp") || !udp_pair(&s, family, is_mapped, 5001, &a, &b))
		goto out;
	before[0] = netlab_sent(&lab, 0);
	before[1] = netlab_sent(&lab, 1);
	for (size_t size = 0; size <= 1400; size += 7, out += size - 7, n_out++)
		moved &= move_one(a, b, size, false);
	for (size_t size = 1; size <= 1000; size += 9, in += size - 9, n_in++)
		moved &= move_one(b, a, size, true);
	after[0] = netlab_sent(&lab, 0);
	after[1] = netlab_sent(&lab, 1);
	ok(moved, "datagrams arrive, also empty ones; the step reads each of its own after three MSG_PEEK");
	is_kind(&s, kind,
		(struct detail_net){ .in_packets = n_in,
				     .in_bytes = in + n_in * header,
				     .out_packets = n_out,
				     .out_bytes = out + n_out * header });
	is_u64(s.d.nnet, 1, "nothing of another kind, and so nothing counted twice");
	is_u64(s.f.value[METRIC_UDP_SENT_BYTES], out, "payload sent");
	is_u64(s.f.value[METRIC_UDP_RECEIVED_BYTES], in, "payload received: MSG_PEEK does not count");
	is_u64(s.f.value[METRIC_IPV6_SENT_BYTES], header == UDP + IP6 ? s.f.value[METRIC_IP_SENT_BYTES] : 0,
	       "part of it by IPv6");
	w.packets = after[0].packets - before[0].packets;
	w.bytes = after[0].bytes - before[0].bytes;
	is_u64(w.packets, n_out, "the wire saw as many packets out");
	is_u64(wire_bytes(&w, out + n_out * header), out + n_out * header, "as many bytes out");
	w.packets = after[1].packets - before[1].packets;
	w.bytes = after[1].bytes - before[1].bytes;
	is_u64(w.packets, n_in, "and in");
	is_u64(wire_bytes(&w, in + n_in * header), in + n_in * header, "and in");
out:
	util_closep(&a);
	util_closep(&b);
	step_stop(&s);
}

/* One call is not one packet. */
static void test_udp_batches(int family)
{
	uint64_t header = UDP + (family == AF_INET ? IP4 : IP6);
	int size = 1000, on = 1, a = -1, b = -1;
	struct mmsghdr msg[30] = { 0 };
	struct iovec iov = { data, 100 };
	char buf[sizeof(data)];
	struct step s;
	uint64_t in = 0;
	ssize_t got;

	diag("batches, family %d", family);
	if (!step_start(&s, "batches") || !udp_pair(&s, family, false, 5002, &a, &b))
		goto out;
	for (size_t i = 0; i < ARRAY_SIZE(msg); i++)
		msg[i].msg_hdr = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1 };
	is_int(sendmmsg(a, msg, ARRAY_SIZE(msg), 0), ARRAY_SIZE(msg), "sendmmsg() of 30");
	is_kind(&s, family == AF_INET ? "udp4" : "udp6",
		(struct detail_net){ .out_packets = 30, .out_bytes = 30 * (100 + header) });
	for (size_t i = 0; i < ARRAY_SIZE(msg); i++)
		in += recv(b, buf, sizeof(buf), 0) == 100;
	is_u64(in, 30, "arrive");

	if (setsockopt(a, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)) < 0 ||
	    setsockopt(b, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)) < 0 ||
	    setsockopt(a, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) < 0) {
		skip(9, "no UDP segmentation in this kernel");
		goto out;
	}
	is_int(send(a, data, 10500, 0), 10500, "one send(), eleven datagrams");
	for (got = 0; got < 10500;) {
		ssize_t n = recv(b, buf, sizeof(buf), 0);

		if (n <= 0)
			break;
		got += n;
	}
	is_int(got, 10500, "arrive");
	is_int(send(b, data, 7001, 0), 7001, "eight datagrams to the step");
	for (got = 0; got < 7001;) {
		ssize_t n = recv(a, buf, sizeof(buf), 0);

		if (n <= 0)
			break;
		got += n;
	}
	is_int(got, 7001, "arrive, however many at a time");
	is_kind(&s, family == AF_INET ? "udp4" : "udp6",
		(struct detail_net){ .in_packets = 8,
				     .in_bytes = 7001 + 8 * header,
				     .out_packets = 41,
				     .out_bytes = 3000 + 10500 + 41 * header });
out:
	util_closep(&a);
	util_closep(&b);
	step_stop(&s);
}

/*
 * What arrives counts, though the buffer is full and nobody reads it; and a datagram that IP fragments is
 * one.
 */
static void test_udp_meaning(void)
{
	int small = 2048, a = -1, b = -1, i;
	struct netlab_wire before, after;
	struct step s;

	diag("what a packet is");
	if (!step_start(&s, "meaning") || !udp_pair(&s, AF_INET, false, 5003, &a, &b))
		goto out;
	(void)setsockopt(a, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	for (i = 0; i < 50; i++)
		(void)send(b, data, 1000, 0);
	is_kind(&s, "udp4", (struct detail_net){ .in_packets = 50, .in_bytes = 50 * (1000 + UDP + IP4) });
	before = netlab_sent(&lab, 0);
	ok(move_one(a, b, 4000, false), "a datagram larger than the MTU");
	after = netlab_sent(&lab, 0);
	is_u64(after.packets - before.packets, 3, "went in fragments");
	(void)step_read(&s);
	is_u64(kind_of(&s, "udp4").out_packets, 1, "is one packet, as the documentation says");
	is_u64(kind_of(&s, "udp4").out_bytes, 4000 + UDP + IP4, "of its own size");
out:
	util_closep(&a);
	util_closep(&b);
	step_stop(&s);
}

/* --- headers ------------------------------------------------------------------------------ */

static void test_ip_options(void)
{
	uint8_t nops[8] = { 1, 1, 1, 1, 1, 1, 1, 0 };
	struct step s;
	int a = -1, b = -1;

	diag("IPv4 options");
	if (!step_start(&s, "options") || !udp_pair(&s, AF_INET, false, 5004, &a, &b))
		goto out;
	is_int(setsockopt(a, IPPROTO_IP, IP_OPTIONS, nops, sizeof(nops)), 0, "set");
	ok(move_one(a, b, 500, false), "send");
	is_kind(&s, "udp4", (struct detail_net){ .out_packets = 1, .out_bytes = 500 + UDP + IP4 + 8 });
	is_u64(s.f.value[METRIC_UDP_SENT_BYTES], 500, "are no payload");
out:
	util_closep(&a);
	util_closep(&b);
	step_stop(&s);
}

static void test_ip6_extensions(void)
{
	struct {
		uint8_t next, length, pad[6];
	} hop = { .pad = { 1, 4 } }, dst = hop; /* PadN; Linux drops more than 7 bytes of it */
	struct step s;
	int a = -1, b = -1;

	diag("IPv6 extension headers");
	if (!step_start(&s, "extensions") || !udp_pair(&s, AF_INET6, false, 5005, &a, &b))
		goto out;
	is_int(setsockopt(a, IPPROTO_IPV6, IPV6_HOPOPTS, &hop, sizeof(hop)), 0, "hop by hop");
	is_int(setsockopt(a, IPPROTO_IPV6, IPV6_DSTOPTS, &dst, sizeof(dst)), 0, "destination");
	is_int(setsockopt(b, IPPROTO_IPV6, IPV6_DSTOPTS, &dst, sizeof(dst)), 0, "theirs");
	ok(move_one(a, b, 500, false) && move_one(b, a, 300, false), "send and receive");
	is_kind(&s, "udp6",
		(struct detail_net){ .in_packets = 1,
				     .in_bytes = 300 + UDP + IP6 + 8,
				     .out_packets = 1,
				     .out_bytes = 500 + UDP + IP6 + 16 });
	is_u64(s.f.value[METRIC_UDP_SENT_BYTES], 500, "are no payload");
	is_u64(s.f.value[METRIC_UDP_RECEIVED_BYTES], 300, "in neither direction");
out:
	util_closep(&a);
	util_closep(&b);
	step_stop(&s);
}

/* Packets as a program with CAP_NET_RAW may write them. */
static void send_raw4(int fd, uint8_t protocol, uint16_t fragment, uint8_t first, size_t payload)
{
	struct sockaddr_storage to;
	socklen_t len = netlab_address(1, AF_INET, false, 0, &to);
	char packet[2000] = { 0 };
	struct iphdr *ip = (struct iphdr *)packet;

	*ip = (struct iphdr){ .version = 4, .ihl = 5, .ttl = 8, .protocol = protocol };
	ip->frag_off = htons(fragment);
	(void)inet_pton(AF_INET, netlab_v4[0], &ip->saddr);
	(void)inet_pton(AF_INET, netlab_v4[1], &ip->daddr);
	packet[IP4] = (char)first;
	ok(sendto(fd, packet, IP4 + payload, 0, (struct sockaddr *)&to, len) == (ssize_t)(IP4 + payload),
	   "protocol %u, offset %u, %zu bytes", protocol, fragment, payload);
}

static void test_raw(void)
{
	struct icmphdr echo = { .type = ICMP_ECHO, .checksum = htons(0xf7ff) };
	struct sockaddr_storage to;
	socklen_t len = netlab_address(1, AF_INET, false, 0, &to);
	struct step s;
	int raw = -1, icmp = -1;
	char buf[2000];

	diag("packets made by hand");
	if (!step_start(&s, "raw"))
		goto out;
	raw = step_socket(&s, 0, AF_INET, SOCK_RAW, IPPROTO_RAW);
	icmp = step_socket(&s, 0, AF_INET, SOCK_RAW, IPPROTO_ICMP);
	if (!ok(raw >= 0 && icmp >= 0, "raw sockets"))
		goto out;
	send_raw4(raw, IPPROTO_UDP, 185, 0xff, 1000); /* at 1480: no header of UDP in it */
	is_kind(&s, "udp4", (struct detail_net){ .out_packets = 1, .out_bytes = IP4 + 1000 });
	is_u64(s.f.value[METRIC_UDP_SENT_BYTES], 1000, "a later fragment is all payload");
	send_raw4(raw, IPPROTO_UDP, 0, 0, 3); /* shorter than its header */
	(void)step_read(&s);
	is_u64(s.f.value[METRIC_UDP_SENT_BYTES], 1000, "too short a packet has no payload");
	is_u64(kind_of(&s, "udp4").out_packets, 2, "but is one");
	send_raw4(raw, IPPROTO_TCP, 0, 0, 1); /* the data offset is not there */
	is_kind(&s, "tcp4", (struct detail_net){ .out_packets = 1, .out_bytes = IP4 + 1 });

	is_int(sendto(icmp, &echo, sizeof(echo), 0, (struct sockaddr *)&to, len), sizeof(echo), "ping");
	is_int(recv(icmp, buf, sizeof(buf), 0), IP4 + sizeof(echo), "pong");
	is_kind(&s, "other4",
		(struct detail_net){ .in_packets = 1,
				     .in_bytes = IP4 + sizeof(echo),
				     .out_packets = 1,
				     .out_bytes = IP4 + sizeof(echo) });
out:
	util_closep(&raw);
	util_closep(&icmp);
	step_stop(&s);
}

/* --- TCP ---------------------------------------------------------------------------------- */

#define TCP_OUT (6 << 20)
#define TCP_IN (3 << 20)

static bool send_all(int fd, size_t size)
{
	while (size) {
		ssize_t n = send(fd, data, size < sizeof(data) ? size : sizeof(data), MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		size -= (size_t)n;
	}
	return true;
}

static uint64_t receive_all(int fd)
{
	char buf[sizeof(data)];
	uint64_t sum = 0;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		sum += (uint64_t)n;
	return n < 0 ? UINT64_MAX : sum;
}

/* Closes second, so that all of the other side's packets go by its socket. */
static void *tcp_peer(void *arg)
{
	int *listener = arg;
	int fd = accept4(*listener, NULL, NULL, SOCK_CLOEXEC);
	bool done = fd >= 0 && receive_all(fd) == TCP_OUT && send_all(fd, TCP_IN);

	util_closep(&fd);
	return done ? arg : NULL;
}

struct tcp_mode {
	const char *name;
	bool tso, gro;
};

struct transfer {
	struct step a, b;
	struct detail_net at_a, at_b;
	struct netlab_wire out, in;
	struct tcp_info info; /* A's */
	bool is_clean;	      /* nothing was sent twice */
};

static bool transfer_run(struct transfer *t, int family, const char *kind)
{
	struct netlab_wire before[2], after[2];
	struct sockaddr_storage to;
	socklen_t len = netlab_address(1, family, false, 5006, &to), info_len = sizeof(t->info);
	uint64_t repeats[2], deadline;
	int fd = -1, listener = -1, on = 1, i;
	bool done = false;
	pthread_t peer;
	void *peer_done = NULL;

	listener = step_socket(&t->b, 1, family, SOCK_STREAM, 0);
	fd = step_socket(&t->a, 0, family, SOCK_STREAM, 0);
	(void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	for (i = 0; i < 2; i++) {
		before[i] = netlab_sent(&lab, i);
		repeats[i] = netlab_repeats(&lab, i);
	}
	if (bind(listener, (struct sockaddr *)&to, len) < 0 || listen(listener, 1) < 0 ||
	    pthread_create(&peer, NULL, tcp_peer, &listener) != 0)
		goto out;
	done = connect(fd, (struct sockaddr *)&to, len) == 0 && send_all(fd, TCP_OUT) &&
	       shutdown(fd, SHUT_WR) == 0 && receive_all(fd) == TCP_IN;
	(void)pthread_join(peer, &peer_done);
	done = done && peer_done;
	(void)getsockopt(fd, IPPROTO_TCP, TCP_INFO, &t->info, &info_len);

	/* the last acknowledgement is on its way when the last byte is read */
	deadline = clock_mono_ns() + TIMEOUT_NS;
	do {
		(void)usleep(1000);
		(void)step_read(&t->a);
		(void)step_read(&t->b);
		t->at_a = kind_of(&t->a, kind);
		t->at_b = kind_of(&t->b, kind);
		t->is_clean = netlab_repeats(&lab, 0) == repeats[0] && netlab_repeats(&lab, 1) == repeats[1];
	} while (t->is_clean && t->at_a.out_packets != t->at_b.in_packets && clock_mono_ns() < deadline);
	for (i = 0; i < 2; i++)
		after[i] = netlab_sent(&lab, i);
	t->out.packets = after[0].packets - before[0].packets;
	t->out.bytes = after[0].bytes - before[0].bytes;
	t->in.packets = after[1].packets - before[1].packets;
	t->in.bytes = after[1].bytes - before[1].bytes;
out:
	util_closep(&fd);
	util_closep(&listener);
	return done;
}

/* Both ends are steps: A's out is B's in, whatever the packets look like in between. */
static void check_transfer(const struct transfer *t, int family, const struct tcp_mode *mode)
{
	uint64_t header = family == AF_INET ? IP4 : IP6;
	const struct detail_net *a = &t->at_a, *b = &t->at_b;
	/* the kernel asks no program about the listener's answer to an IPv6 SYN: 6.1 not, 6.12 does */
	uint64_t unseen = family == AF_INET6 && b->out_packets + 1 == a->in_packets;

	is_u64(b->in_packets, a->out_packets, "what one step sends the other receives");
	is_u64(b->in_bytes, a->out_bytes, "to the byte");
	is_u64(b->out_packets + unseen, a->in_packets, "and back");
	is_u64(b->out_bytes + unseen * (IP6 + 40), a->in_bytes, "to the byte");
	/* 32: the header of TCP with its time stamps, 8 more in a SYN; more where it reports disorder */
	if (!t->info.tcpi_rcv_ooopack)
		is_u64(a->out_bytes, TCP_OUT + 8 + a->out_packets * (header + 32),
		       "payload and a header for each packet");
	else
		skip(1, "packets overtook each other");
	if (mode->tso) /* the devices count super-packets as one */
		return;
	is_u64(a->out_packets, t->out.packets, "the wire saw as many packets out");
	is_u64(a->out_bytes, wire_bytes(&t->out, a->out_bytes), "of as many bytes");
	is_u64(a->in_packets, t->in.packets, "as many in");
	is_u64(a->in_bytes, wire_bytes(&t->in, a->in_bytes), "of as many bytes");
}

/*
 * A slow machine sends segments again for want of an answer, and some of those meet a socket that is closed:
 * then the two sides differ, and it is tried again.
 */
static void test_tcp(int family, const struct tcp_mode *mode)
{
	const char *kind = family == AF_INET ? "tcp4" : "tcp6";
	struct transfer t = { .a.fd = -1, .b.fd = -1 };
	uint64_t enough = clock_mono_ns() + 5 * NSEC_PER_SEC;
	int i;

	diag("TCP, family %d, %s", family, mode->name);
	for (i = 0; i < 2; i++)
		if (!netlab_offload(&lab, i, ETHTOOL_STSO, mode->tso) ||
		    !netlab_offload(&lab, i, ETHTOOL_SGRO, mode->gro)) {
			skip(1, "this kernel's veth has no such offload");
			return;
		}
	for (i = 0; !t.is_clean && (i < 3 || clock_mono_ns() < enough); i++) {
		step_stop(&t.a);
		step_stop(&t.b);
		if (!step_start(&t.a, "tcp_a") || !step_start(&t.b, "tcp_b") ||
		    !ok(transfer_run(&t, family, kind), "all arrives"))
			goto out;
		is_u64(t.at_a.out_packets, t.info.tcpi_segs_out, "packets out are TCP's segments, not calls");
		is_u64(t.at_a.in_packets, t.info.tcpi_segs_in, "packets in");
	}
	is_u64(t.a.d.nnet, 1, "nothing of another kind");
	is_u64(t.a.f.value[METRIC_SENT_PACKETS], t.at_a.out_packets, "packets of all kinds");
	is_u64(t.a.f.value[METRIC_UDP_SENT_BYTES], 0, "no UDP is 0");
	if (t.is_clean)
		check_transfer(&t, family, mode);
	else
		skip(1, "this machine is too slow for a transfer without repeats");
out:
	step_stop(&t.a);
	step_stop(&t.b);
}

/* --- whose ------------------------------------------------------------------------------- */

static void test_whose(void)
{
	struct detail_net none = { 0 };
	struct step s, other, nobody = { 0 };
	int a = -1, b = -1, c = -1, d = -1;

	diag("whose packets");
	(void)snprintf(nobody.task, sizeof(nobody.task), "%s", top);
	if (!step_start(&s, "mine") || !step_start(&other, "theirs") ||
	    !udp_pair(&other, AF_INET, false, 5007, &a, &b) ||
	    !udp_pair(&nobody, AF_INET6, false, 5008, &c, &d))
		goto out;
	ok(move_one(a, b, 10, false), "another step sends: %s", strerror(errno));
	ok(move_one(c, d, 10, false), "nobody's process, too: %s", strerror(errno));
	is_kind(&s, "udp4", none);
	is_kind(&s, "udp6", none);
	is_u64(s.d.nnet, 0, "nothing is this step's");
	ok(values_has(&s.f, METRIC_UDP_SENT_BYTES) && s.f.value[METRIC_SENT_PACKETS] == 0,
	   "that is 0, and not unknown");
	is_kind(&other, "udp4", (struct detail_net){ .out_packets = 1, .out_bytes = 10 + UDP + IP4 });
out:
	util_closep(&a);
	util_closep(&b);
	util_closep(&c);
	util_closep(&d);
	step_stop(&s);
	step_stop(&other);
}

static void test_loopback(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(5009) };
	struct step s;
	int a = -1;

	diag("loopback");
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!step_start(&s, "loopback"))
		goto out;
	a = step_socket(&s, 0, AF_INET, SOCK_DGRAM, 0);
	ok(bind(a, (struct sockaddr *)&to, sizeof(to)) == 0 &&
		   connect(a, (struct sockaddr *)&to, sizeof(to)) == 0 && move_one(a, a, 30000, false),
	   "a socket talks to itself");
	is_kind(&s, "udp4",
		(struct detail_net){ .in_packets = 1,
				     .in_bytes = 30000 + UDP + IP4,
				     .out_packets = 1,
				     .out_bytes = 30000 + UDP + IP4 });
out:
	util_closep(&a);
	step_stop(&s);
}

/* --- rights and lifetime ------------------------------------------------------------------ */

static void test_refusals(void)
{
	struct errmsg err = { 0 };
	struct netcount *n = NULL;
	struct step s;
	int status, fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid;

	diag("refusals");
	netcount_close(NULL);
	ok(netcount_open(probes, -1, &n, &err) < 0, "refused without a cgroup: %s", err.text);
	ok(netcount_open(probes, fd, &n, &err) < 0, "refused for a folder that is no cgroup: %s", err.text);
	util_closep(&fd);
	if (!step_make(&s, "refused"))
		return;
	pid = fork();
	if (pid == 0) {
		struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
		struct __user_cap_data_struct cap[2];
		int rc;

		(void)syscall(SYS_capget, &head, cap);
		/* which includes the other */
		cap[0].effective &= ~(1u << CAP_NET_ADMIN | 1u << CAP_SYS_ADMIN);
		(void)syscall(SYS_capset, &head, cap);
		rc = netcount_open(probes, s.fd, &n, &err);
		diag("%s", err.text);
		_exit(rc == -EPERM && netcount_reason(rc) == REASON_NO_PERMISSION ? 0 : 1);
	}
	ok(waitpid(pid, &status, 0) == pid && status == 0, "refused without CAP_NET_ADMIN, with a reason");
	step_stop(&s);

	if (!step_make(&s, "gone"))
		return;
	remove_folder(s.task);
	remove_folder(s.folder);
	is_int(netcount_open(probes, s.fd, &n, &err), -ENODEV, "a cgroup that is gone");
	diag("%s", err.text);
	is_int(netcount_reason(-ENODEV), REASON_NO_CGROUP, "its reason");
	is_int(netcount_reason(-EOPNOTSUPP), REASON_NO_BPF, "that of programs that are not there");
	step_stop(&s);
	values_init(&s.f);
	netcount_miss(&s.f, REASON_NOT_ASKED);
	ok(!values_has(&s.f, METRIC_SENT_PACKETS) && s.f.reason[METRIC_IPV6_SENT_BYTES] == REASON_NOT_ASKED,
	   "missing for a reason");
}

/* Ids of the programs attached to the step; how many. */
static int attached(const struct step *s, enum bpf_attach_type type)
{
	union bpf_attr attr;
	uint32_t id[8];

	memset(&attr, 0, sizeof(attr));
	attr.query.target_fd = (uint32_t)s->fd;
	attr.query.attach_type = type;
	attr.query.prog_ids = (uint64_t)(uintptr_t)id;
	attr.query.prog_cnt = ARRAY_SIZE(id);
	return syscall(SYS_bpf, BPF_PROG_QUERY, &attr, sizeof(attr)) < 0 ? -errno : (int)attr.query.prog_cnt;
}

static void test_killed_holder(void)
{
	struct netcount *n;
	struct step s;
	int a = -1, b = -1, pipefd[2] = { -1, -1 }, status;
	uint64_t deadline;
	char byte;
	pid_t pid;

	diag("a holder that is killed");
	if (!step_make(&s, "killed") || !udp_pair(&s, AF_INET, false, 5010, &a, &b) ||
	    pipe2(pipefd, O_CLOEXEC) < 0)
		goto out;
	pid = fork();
	if (pid == 0) {
		_exit(netcount_open(probes, s.fd, &n, NULL) == 0 && write(pipefd[1], "", 1) == 1 ? pause() :
												   1);
	}
	ok(read(pipefd[0], &byte, 1) == 1, "a child counts");
	is_int(attached(&s, BPF_CGROUP_INET_INGRESS), 1, "its program is attached");
	ok(move_one(a, b, 100, false), "a packet");
	(void)kill(pid, SIGKILL);
	ok(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "kill -9");
	deadline = clock_mono_ns() + TIMEOUT_NS;
	while ((attached(&s, BPF_CGROUP_INET_INGRESS) || attached(&s, BPF_CGROUP_INET_EGRESS)) &&
	       clock_mono_ns() < deadline)
		(void)usleep(1000);
	is_int(attached(&s, BPF_CGROUP_INET_INGRESS), 0, "nothing is attached any more");
	is_int(attached(&s, BPF_CGROUP_INET_EGRESS), 0, "in either direction");
	ok(move_one(a, b, 100, false), "a packet that nobody counts");

	is_int(netcount_open(probes, s.fd, &s.n, NULL), 0, "another holder");
	is_kind(&s, "udp4", (struct detail_net){ 0 });
	ok(move_one(a, b, 100, false), "a packet");
	is_kind(&s, "udp4", (struct detail_net){ .out_packets = 1, .out_bytes = 100 + UDP + IP4 });
out:
	util_closep(&a);
	util_closep(&b);
	util_closep(&pipefd[0]);
	util_closep(&pipefd[1]);
	step_stop(&s);
}

static void test_cgroup_goes_first(void)
{
	struct step s;
	int a = -1, b = -1, rc;
	uint64_t deadline = clock_mono_ns() + TIMEOUT_NS;

	diag("a cgroup that goes away first");
	if (!step_start(&s, "first") || !udp_pair(&s, AF_INET, false, 5011, &a, &b))
		goto out;
	ok(move_one(a, b, 100, false), "a packet");
	is_kind(&s, "udp4", (struct detail_net){ .out_packets = 1, .out_bytes = 100 + UDP + IP4 });
	util_closep(&a);
	a = -1;
	remove_folder(s.task);
	remove_folder(s.folder);
	ok(access(s.folder, F_OK) < 0, "the programs do not hold the cgroup");
	while ((rc = step_read(&s)) == 0 && clock_mono_ns() < deadline)
		(void)usleep(1000); /* freed later */
	is_int(rc, -ENOENT, "reading reports that the cgroup is gone");
	is_u64(s.f.value[METRIC_SENT_PACKETS], 1, "with what was read last");
	is_u64(kind_of(&s, "udp4").out_bytes, 100 + UDP + IP4, "in detail, too");
	step_stop(&s);

	if (!step_start(&s, "unread"))
		goto out;
	remove_folder(s.task);
	remove_folder(s.folder);
	deadline = clock_mono_ns() + TIMEOUT_NS;
	for (;;) {
		values_init(&s.f);
		rc = netcount_read(s.n, &s.f, NULL);
		if (rc < 0 || clock_mono_ns() > deadline)
			break;
		netcount_close(s.n); /* was still there: try again unread */
		s.n = NULL;
		(void)close(s.fd);
		if (!step_start(&s, "unread"))
			goto out;
		remove_folder(s.task);
		remove_folder(s.folder);
		(void)usleep(100000);
	}
	is_int(rc, -ENOENT, "gone before it was ever read");
	ok(!values_has(&s.f, METRIC_SENT_PACKETS), "its packets are unknown, not 0");
	is_int(s.f.reason[METRIC_SENT_PACKETS], REASON_NO_CGROUP, "its reason");
out:
	util_closep(&a);
	util_closep(&b);
	step_stop(&s);
}

/* Any root may: the ids of links are no secret. */
static bool detach_links_of(uint64_t cgroup)
{
	struct bpf_link_info info;
	union bpf_attr attr;
	uint32_t id = 0;
	bool done = false;
	long fd;

	for (;;) {
		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
		if (syscall(SYS_bpf, BPF_LINK_GET_NEXT_ID, &attr, sizeof(attr)) < 0)
			return done;
		id = attr.next_id;
		memset(&attr, 0, sizeof(attr));
		attr.link_id = id;
		fd = syscall(SYS_bpf, BPF_LINK_GET_FD_BY_ID, &attr, sizeof(attr));
		if (fd < 0)
			continue;
		memset(&attr, 0, sizeof(attr));
		memset(&info, 0, sizeof(info));
		attr.info.bpf_fd = (uint32_t)fd;
		attr.info.info_len = sizeof(info);
		attr.info.info = (uint64_t)(uintptr_t)&info;
		if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0 &&
		    info.type == BPF_LINK_TYPE_CGROUP && info.cgroup.cgroup_id == cgroup) {
			memset(&attr, 0, sizeof(attr));
			attr.link_detach.link_fd = (uint32_t)fd;
			done |= syscall(SYS_bpf, BPF_LINK_DETACH, &attr, sizeof(attr)) == 0;
		}
		(void)close((int)fd);
	}
}

static void test_forced_detach(void)
{
	struct step s;
	struct stat st;

	diag("somebody detaches the programs");
	if (!step_start(&s, "detached") || fstat(s.fd, &st) < 0)
		goto out;
	is_int(step_read(&s), 0, "read");
	if (!detach_links_of(st.st_ino)) {
		skip(3, "this kernel does not detach links by force");
		goto out;
	}
	is_int(step_read(&s), -ENOLINK, "reading reports that they are detached");
	ok(!values_has(&s.f, METRIC_SENT_PACKETS), "an incomplete count is unknown");
	is_int(s.f.reason[METRIC_SENT_PACKETS], REASON_FAILED, "its reason");
out:
	step_stop(&s);
}

/* --- iperf3 ------------------------------------------------------------------------------- */

/* The number behind KEY, after what AFTER begins with. */
static uint64_t json_number(const char *text, const char *after, const char *key)
{
	char quoted[64];
	const char *at = strstr(text, after);

	(void)snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = at ? strstr(at, quoted) : NULL;
	return at ? strtoull(at + strlen(quoted), NULL, 10) : UINT64_MAX;
}

static void test_iperf3(void)
{
	static char text[1 << 20];
	char cmd[PATH_MAX * 2];
	uint64_t packets, bytes;
	struct detail_net udp;
	struct step s = { .fd = -1 };
	size_t len;
	FILE *f = NULL;

	diag("iperf3");
	if (system("command -v iperf3 >/dev/null 2>&1") != 0) {
		skip(1, "no iperf3");
		return;
	}
	if (!step_start(&s, "iperf3"))
		goto out;
	/*
	 * a server takes one client, and on a busy machine ends with one that came too
	 * early: so there is a next
	 */
	if (!netlab_shell(&lab, 1,
			  "(while [ -d %s ]; do timeout 10 iperf3 -s -1 -p 5201; sleep 0.1; done) "
			  ">/dev/null 2>&1 </dev/null &",
			  s.task))
		goto out;
	/* iperf3 -J exits with status 0 even if the connection was refused: look for "error" */
	(void)snprintf(cmd, sizeof(cmd),
		       "echo 0 >%s/cgroup.procs; exec 2>&1; for i in $(seq 300); do "
		       "json=$(iperf3 -J -c %s -p 5201 -u -l 1400 -b 200M -t 2); "
		       "case $json in *'\"error\":'*) sleep 0.1 ;; *) break ;; esac; done; echo \"$json\"",
		       s.task, netlab_v4[1]);
	netlab_enter(&lab, 0);
	f = popen(cmd, "re");
	netlab_enter(&lab, -1);
	len = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[len] = '\0';
	if (f)
		(void)pclose(f);
	/* an interval has a number called end */
	packets = json_number(text, "\"end\":\t{", "packets");
	bytes = json_number(text, "\"end\":\t{", "bytes");
	(void)step_read(&s);
	udp = kind_of(&s, "udp4");
	/* 3.18 (Debian 13) may have the last datagram in one of its two values only */
	if (!ok(packets != UINT64_MAX && (bytes == packets * 1400 || bytes == (packets - 1) * 1400),
		"iperf3 says what it sent"))
		diag("%.300s", text);
	diag("iperf3: %" PRIu64 " packets, %" PRIu64 " bytes", packets, bytes);
	/* and one datagram of 4 bytes that tells the server where the client is */
	is_u64(udp.out_packets, packets + 1, "packets are iperf3's");
	is_u64(udp.out_bytes, packets * 1400 + 4 + udp.out_packets * (UDP + IP4),
	       "and bytes, with 28 for each");
out:
	step_stop(&s);
}

/* --- all ---------------------------------------------------------------------------------- */

static void run_tests(void)
{
	static const struct tcp_mode modes[] = {
		{ "segmented before the wire", false, false },
		{ "and put together after it", false, true },
		{ "super-packets on the wire", true, false },
		{ "the same with GRO", true, true },
	};
	size_t i;

	/* a queue of their own where the kernel has it: all others share one per CPU, and drop */
	for (i = 0; i < 2; i++) {
		(void)netlab_offload(&lab, (int)i, ETHTOOL_STSO, false);
		(void)netlab_offload(&lab, (int)i, ETHTOOL_SGRO, true);
	}
	test_refusals();
	test_whose();
	test_udp(AF_INET, false);
	test_udp(AF_INET6, false);
	test_udp(AF_INET6, true);
	test_udp_batches(AF_INET);
	test_udp_batches(AF_INET6);
	test_udp_meaning();
	test_loopback();
	test_ip_options();
	test_ip6_extensions();
	test_raw();
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		test_tcp(AF_INET, &modes[i]);
		test_tcp(AF_INET6, &modes[i]);
	}
	test_killed_holder();
	test_cgroup_goes_first();
	test_forced_detach();
	test_iperf3();
}

static bool make_top(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char probe[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(roots); i++) {
		(void)snprintf(probe, sizeof(probe), "%s/cgroup.controllers", roots[i]);
		if (access(probe, F_OK) < 0)
			continue;
		(void)snprintf(top, sizeof(top), "%s/test_netcount-%d", roots[i], (int)getpid());
		return mkdir(top, 0755) == 0;
	}
	return false;
}

/* Why not; NULL: go on. */
static const char *prepare(const char *helper)
{
	struct errmsg err = { 0 };
	int rc;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return "no private mount namespace";
	(void)snprintf(dir, sizeof(dir), "%s/bpf", scratch);
	if (mkdir(dir, 0700) < 0 || mount("bpf", dir, "bpf", 0, NULL) < 0)
		return "no bpf file system";
	(void)strcat(dir, "/ceems");
	rc = bpfload_run(helper, dir, TIMEOUT_NS, &err);
	if (rc == 0)
		rc = probes_open(dir, &probes, &err);
	if (rc < 0) {
		diag("%s", err.text);
		return "the kernel or our rights do not allow BPF";
	}
	if (probes_why(probes, PROBES_NET) != PROBES_OK)
		return probes_why_text(probes_why(probes, PROBES_NET));
	if (!netlab_open(&lab))
		return "no network namespaces, or no ip";
	return make_top() ? NULL : "no v2 cgroups that can be made";
}

int main(void)
{
	const char *builddir = getenv("top_builddir"), *why;
	char helper[PATH_MAX], home[PATH_MAX];

	(void)snprintf(helper, sizeof(helper), "%s/bpf/ceems-bpf", builddir ? builddir : "../..");
	if (access(helper, X_OK) < 0)
		return skip_all("ceems-bpf is not built");
	if (geteuid() != 0)
		return skip_all("not root");
	if (!mkdtemp(scratch))
		return skip_all("no folder below /tmp");
	why = prepare(helper);
	if (why) {
		(void)skip_all(why);
	} else if (!join(top)) {
		(void)skip_all("cannot move into a cgroup");
	} else {
		run_tests();
		(void)done_testing();
	}
	if (top[0]) {
		(void)snprintf(home, sizeof(home), "%.*s", (int)(strrchr(top, '/') - top), top);
		(void)join(home);
		remove_folder(top);
	}
	probes_close(probes);
	netlab_close(&lab);
	(void)bpfload_stop(helper, dir, TIMEOUT_NS, NULL);
	dir[strlen(scratch) + strlen("/bpf")] = '\0';
	(void)umount2(dir, MNT_DETACH);
	(void)rmdir(dir);
	(void)rmdir(scratch);
	return tap_failed ? 1 : 0;
}
