/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp.bpf.h - adds the kernel's counters of a TCP socket to its step's row when the socket closes,
 * and lists the connected sockets. Nothing runs per packet or call. A connection of no step costs
 * one look into the cache of slot.bpf.h.
 *
 * The step's slot (the number of its row, slot.bpf.h) is looked up when the counts are added, and never kept.
 * So if a socket outlives its step, no slot is found, and its counts do not go to the next step in that slot.
 *
 * A closing socket is first marked, so that the iterator skips it, and then its counters are added
 * to the row. So a reader that reads the row first and the list second counts no socket twice. It
 * misses none if no counts were added meanwhile, which row->begun and row->done show.
 *
 * Two programs do the same work, and the mark tells the second that the first has done it. Since
 * 6.1 (05b24ff9b2cf) the kernel skips a program on a CPU that is already running that program. With
 * one program, a socket that closes in a softirq while a process is closing another one would be
 * lost. With two programs, one can always run, since sockets change state at two
 * levels only: in a process, and in a softirq that interrupts it.
 */
#ifndef CEEMS_TCP_BPF_H
#define CEEMS_TCP_BPF_H

#include "slot.bpf.h"

/* include/net/tcp_states.h; RFC 793's, part of the user space API (tcpi_state) */
enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT = 2,
	TCP_SYN_RECV = 3,
	TCP_FIN_WAIT1 = 4,
	TCP_FIN_WAIT2 = 5,
	TCP_CLOSE = 7,
	TCP_LAST_ACK = 9,
	TCP_LISTEN = 10,
	TCP_CLOSING = 11,
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
} KERNEL;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBES_SLOTS + 1);
	__type(key, __u32);
	__type(value, struct probes_tcp_row);
} tcp_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct probes_tcp_mark);
} tcp_socks SEC(".maps");

/* Set by the loader: bpf_sk_storage_get() works in tracing programs (since 5.11, 8e4597c627fb). */
const volatile bool has_marks;

/*
 * Returns the payload bytes sent, each counted once. There are two counts, and each can be too
 * high: `stream`, from the sequence numbers, in which SYN and FIN take one each; and `handed`, what
 * was handed to the network, without retransmissions.
 *
 *	stream	too high by our SYN, if we opened the connection; the mark tells
 *	handed	too high if the node's own queue refused a segment, which is then sent again but is
 *		no retransmission
 *
 * So the smaller one is right. Without a mark it may be one byte too high if both errors occur.
 *
 * The socket is not locked while it is listed. The order of the reads makes the result too low
 * rather than too high.
 */
static __always_inline __u64 tcp_sent(struct tcp_sock *tp, int state, struct probes_tcp_mark *mark)
{
	bool is_closing = state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2 || state == TCP_CLOSING ||
			  state == TCP_LAST_ACK;
	__u64 handed = *(volatile __u64 *)&tp->bytes_sent;
	__u32 next = *(volatile __u32 *)&tp->snd_nxt;
	__u64 stream = tp->bytes_acked + (__u32)(next - tp->snd_una);

	handed -= *(volatile __u64 *)&tp->bytes_retrans;
	/* our FIN is the last thing to write, and may have to wait for the window */
	if (is_closing && next == tp->write_seq && stream)
		stream--;
	if (mark && mark->has_syn && stream)
		stream--;
	return handed < stream ? handed : stream;
}

/*
 * Returns the payload bytes received. bytes_received counts sequence numbers, so the peer's FIN is
 * subtracted: tcp_fin() sets SOCK_DONE when it was counted, for a listed socket some nanoseconds
 * later.
 */
static __always_inline __u64 tcp_received(struct tcp_sock *tp, struct sock *sk)
{
	unsigned long done = 1UL << bpf_core_enum_value(enum sock_flags, SOCK_DONE);
	__u64 bytes = tp->bytes_received;

	return bytes && sk->__sk_common.skc_flags & done ? bytes - 1 : bytes;
}

/* Reads the socket's counters. STATE is its state; for a closing one, the state before. */
static __always_inline void tcp_take(struct tcp_sock *tp, struct sock *sk, int state,
				     struct probes_tcp_mark *mark, struct probes_tcp_counters *c)
{
	c->received_bytes = tcp_received(tp, sk);
	c->sent_bytes = tcp_sent(tp, state, mark);
	c->retransmitted_bytes = tp->bytes_retrans;
	c->received_segments = tp->segs_in;
	c->sent_segments = tp->segs_out;
	c->retransmitted_segments = tp->total_retrans;
	c->connections = state != TCP_SYN_SENT && state != TCP_SYN_RECV;
	c->failed = state == TCP_SYN_SENT;
}

static __always_inline void tcp_book(struct sock *sk, struct tcp_sock *tp, __u32 slot, int state,
				     struct probes_tcp_mark *mark)
{
	struct probes_tcp_row *r = bpf_map_lookup_elem(&tcp_rows, &slot);
	struct probes_tcp_counters c = { 0 };
	__u64 *to, *from;
	unsigned int i;

	if (!r)
		return;
	tcp_take(tp, sk, state, mark, &c);
	__sync_fetch_and_add(&r->begun, 1);
	if (mark)
		*(volatile __u32 *)&mark->is_booked = 1;
	to = (__u64 *)&r->closed;
	from = (__u64 *)&c;
#pragma unroll
	for (i = 0; i < sizeof(c) / sizeof(*to); i++)
		__sync_fetch_and_add(&to[i], from[i]);
	__sync_fetch_and_add(&r->done, 1);
}

/*
 * Handles a change of a socket's state. The counters are still valid, since tcp_disconnect() clears
 * them only after the change. A socket that is closed already, or that listens, has none. All
 * changes of a socket are made under its lock, so the mark needs no atomic operation.
 */
static __always_inline int tcp_change(struct sock *sk, int oldstate, int newstate, bool is_second)
{
	struct probes_tcp_mark *mark = NULL;
	struct tcp_sock *tp;
	__u32 slot;

	if (newstate == TCP_CLOSE) {
		if (oldstate == TCP_CLOSE || oldstate == TCP_LISTEN)
			return 0;
	} else if (!has_marks || (newstate != TCP_ESTABLISHED && newstate != TCP_SYN_SENT)) {
		return 0;
	}
	tp = bpf_skc_to_tcp_sock(sk); /* NULL: DCCP, SCTP, or an MPTCP socket (its subflows are TCP) */
	if (!tp)
		return 0;
	slot = slot_of_sock(sk);
	if (!slot)
		return 0;
	if (has_marks)
		mark = bpf_sk_storage_get(&tcp_socks, sk, NULL,
					  newstate == TCP_SYN_SENT ? 0 : BPF_SK_STORAGE_GET_F_CREATE);
	if (newstate == TCP_CLOSE) {
		if (mark ? !mark->is_booked : !is_second)
			tcp_book(sk, tp, slot, oldstate, mark);
	} else if (mark) {
		mark->has_syn = oldstate == TCP_SYN_SENT;
		mark->is_booked = 0; /* connected again after a failure or a close */
	} else if (newstate == TCP_ESTABLISHED && !is_second) {
		count_lost(PROBES_TCP); /* until it closes */
	}
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tcp_state, struct sock *sk, int oldstate, int newstate)
{
	return tcp_change(sk, oldstate, newstate, /* is_second= */ false);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tcp_state_again, struct sock *sk, int oldstate, int newstate)
{
	return tcp_change(sk, oldstate, newstate, /* is_second= */ true);
}

/*
 * Lists the marked sockets, in all network namespaces. A mark may be older than the slot, if the
 * socket closed or was connected anew while no step was registered.
 */
SEC("iter/bpf_sk_storage_map")
int sockets(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct probes_socket out = { 0 };
	struct probes_tcp_mark *mark = ctx->value;
	struct sock *sk = ctx->sk;
	struct tcp_sock *tp;
	int state;

	if (!sk || !mark || *(volatile __u32 *)&mark->is_booked)
		return 0;
	state = sk->__sk_common.skc_state;
	if (state == TCP_CLOSE || state == TCP_SYN_SENT)
		return 0;
	out.slot = slot_of_sock(sk);
	if (!out.slot)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	tcp_take(tp, sk, state, mark, &out.c);
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}

#endif
