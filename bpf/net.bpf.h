/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net.bpf.h - counts the packets of a step's sockets. Each step that asks for it attaches
 * cgroup_skb programs to its own v2 cgroup (src/libmeter/activity/netcount.c). They do not run for
 * packets of other cgroups.
 *
 * Both hooks see IP packets as sockets do: outgoing ones before they are cut into segments or
 * fragments, incoming ones after they were put together. A super-packet (GSO, GRO) is counted as
 * its segments on the wire, with the headers of each. A datagram that IP fragments is counted as
 * one packet, without the IP headers of its further fragments.
 *
 * Counted are packets that arrive at a socket, even if its buffer is full; both ends of a
 * connection within the step; and TCP retransmissions. Not counted are packets without a socket:
 * ICMP errors, resets sent for no socket, and the peer's FIN with its ACK if our socket closed
 * first (TIME_WAIT has no socket).
 *
 * bpf_get_local_storage() returns the row of the cgroup to which the program is attached, also for
 * sockets of the cgroups below it. Several CPUs share a row, so additions are atomic. Even on one
 * CPU they must be: a softirq that sends may interrupt a system call that sends.
 */
#ifndef CEEMS_NET_BPF_H
#define CEEMS_NET_BPF_H

#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>

#include "slot.bpf.h"

/*
 * The key is the cgroup id alone, so both directions share the rows. Before 5.9 (7d9c3427894f) that
 * is not possible: each program would need its own map, and loading fails.
 */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__type(key, __u64);
	__type(value, struct probes_net_rows);
} net_rows SEC(".maps");

#define NET_EXTENSIONS 8	/* headers walked; no honest packet has more */
#define IP4_OFFSET 0x1fff	/* IP_OFFSET in net/ip.h */
#define IP6_OFFSET 0xfff8	/* net/ipv6.h */
#define IP6_TLV_JUMBO 194	/* IPV6_TLV_JUMBO in linux/in6.h */
#define NET_GSO_BY_FRAGS 0xffff /* GSO_BY_FRAGS in linux/skbuff.h: sizes differ (SCTP) */

struct net_packet {
	__u32 protocol;
	__u32 headers;	   /* bytes of the IP header with extensions; later, of the TCP or UDP header, too */
	__u32 pseudo;	   /* the part of HEADERS that is not on the wire */
	__u32 is_fragment; /* a fragment other than the first; no TCP or UDP header follows */
};

struct net_extension {
	__u8 next, length;
	/*
	 * in a fragment header: offset and flags; in a hop-by-hop header: type and length of the first option
	 */
	__be16 rest;
};

/*
 * Walks IPv6 extension headers with a helper, which also reads data that is not linear. They are
 * rare, so its cost does not matter.
 */
static __noinline int net_walk_extensions(struct __sk_buff *skb, struct net_packet *p)
{
	struct net_extension ext;
	int i;

	for (i = 0; i < NET_EXTENSIONS && !p->is_fragment; i++) {
		__u32 bytes;

		if (p->protocol != IPPROTO_HOPOPTS && p->protocol != IPPROTO_ROUTING &&
		    p->protocol != IPPROTO_DSTOPTS && p->protocol != IPPROTO_FRAGMENT &&
		    p->protocol != IPPROTO_AH)
			return 0;
		if (bpf_skb_load_bytes(skb, p->headers, &ext, sizeof(ext)) < 0)
			break;
		bytes = (ext.length + 1) * 8;
		if (p->protocol == IPPROTO_AH)
			bytes = (ext.length + 2) * 4;
		if (p->protocol == IPPROTO_FRAGMENT) {
			bytes = 8;
			p->is_fragment = !!(ext.rest & bpf_htons(IP6_OFFSET));
		}
		/*
		 * BIG TCP: the kernel adds a header with the length of the super-packet, which is
		 * not on the wire
		 */
		if (p->protocol == IPPROTO_HOPOPTS && bpf_ntohs(ext.rest) >> 8 == IP6_TLV_JUMBO)
			p->pseudo = bytes;
		p->headers += bytes;
		p->protocol = ext.next;
	}
	if (!p->is_fragment)
		p->protocol = IPPROTO_NONE;
	return 0;
}

static __always_inline __u32 net_tcp_header(struct __sk_buff *skb, __u32 at)
{
	__u8 *data = (__u8 *)(long)skb->data;
	__u8 *end = (__u8 *)(long)skb->data_end;
	__u8 words = 0;

	at = (at + 12) & 0x3fff; /* the position of the data offset field; bounded for the verifier */
	if (data + at + 1 <= end)
		words = data[at];
	else
		(void)bpf_skb_load_bytes(skb, at, &words, sizeof(words));
	return (words >> 4) * 4;
}

/* False: not IP, or too short to be. */
static __always_inline bool net_parse(struct __sk_buff *skb, struct net_packet *p, bool *ret_v6)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct iphdr *v4 = data;
	struct ipv6hdr *v6 = data;

	if ((void *)(v4 + 1) > end) /* packets of sockets have at least this much linear data */
		return false;
	/* by the packet, not by the socket: an IPv6 socket also sends IPv4 (v4-mapped addresses) */
	*ret_v6 = v4->version == 6;
	if (!*ret_v6) {
		p->protocol = v4->protocol;
		p->headers = v4->ihl * 4;
		p->is_fragment = !!(v4->frag_off & bpf_htons(IP4_OFFSET));
		return true;
	}
	if ((void *)(v6 + 1) > end)
		return false;
	p->protocol = v6->nexthdr;
	p->headers = sizeof(*v6);
	if (p->protocol != IPPROTO_TCP && p->protocol != IPPROTO_UDP)
		net_walk_extensions(skb, p);
	return true;
}

static __always_inline void net_count(struct __sk_buff *skb, struct probes_net_count *direction)
{
	struct net_packet p = { 0 };
	struct probes_net_count *c;
	__u32 bytes = skb->len;
	__u32 payload, size, segments = 1;
	__u32 kind;
	bool is_v6;

	if (!net_parse(skb, &p, &is_v6)) {
		count_lost(PROBES_NET);
		return;
	}
	if (p.protocol == IPPROTO_TCP) {
		kind = is_v6 ? NET_TCP6 : NET_TCP4;
		if (!p.is_fragment)
			p.headers += net_tcp_header(skb, p.headers);
	} else if (p.protocol == IPPROTO_UDP) {
		kind = is_v6 ? NET_UDP6 : NET_UDP4;
		if (!p.is_fragment)
			p.headers += sizeof(struct udphdr);
	} else {
		kind = is_v6 ? NET_OTHER6 : NET_OTHER4;
	}
	payload = bytes > p.headers ? bytes - p.headers : 0;
	/*
	 * The number of segments, computed as the kernel does it. gso_segs cannot be used, as it is
	 * 0 in packets from the host through virtio.
	 */
	size = skb->gso_size;
	if (size && payload > size) {
		segments = size == NET_GSO_BY_FRAGS ? skb->gso_segs : (payload + size - 1) / size;
		bytes = payload + segments * (p.headers - p.pseudo);
	}
	c = &direction[kind];
	__sync_fetch_and_add(&c->packets, segments);
	__sync_fetch_and_add(&c->bytes, bytes);
	__sync_fetch_and_add(&c->payload, payload);
}

static __always_inline struct probes_net_row *net_row(void)
{
	struct probes_net_rows *rows = bpf_get_local_storage(&net_rows, 0);

	return &rows->shard[bpf_get_smp_processor_id() & (PROBES_NET_SHARDS - 1)];
}

/* 1: let it pass. */
SEC("cgroup_skb/ingress")
int net_in(struct __sk_buff *skb)
{
	net_count(skb, net_row()->in);
	return 1;
}

SEC("cgroup_skb/egress")
int net_out(struct __sk_buff *skb)
{
	net_count(skb, net_row()->out);
	return 1;
}

#endif
