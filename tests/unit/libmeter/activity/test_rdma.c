/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDMA ports in copies of machines' trees: tests/fixtures/ib-roce has an InfiniBand adapter with a virtual
 * function, one for RoCE and a software port that is down; efa has a port with counters of its driver only.
 */
#include "src/libmeter/activity/rdma.h"

#include <errno.h>

#include "machine.h"

#define IB "sys/class/infiniband/mlx5_0/ports/1/"
#define ROCE "sys/class/infiniband/mlx5_1/ports/1/"
#define RXE "sys/class/infiniband/rxe0/ports/1/"
#define EFA "sys/class/infiniband/rdmap0s6/ports/1/"

static struct machine m;
static struct rdma *r;
static struct values f;
static struct step_detail d;

static bool start(const char *fixture)
{
	struct errmsg err = { 0 };

	machine_init(&m, NULL, fixture);
	return is_int(rdma_open(m.root, &r, &err), 0, err.text[0] ? err.text : "open");
}

static void stop(void)
{
	rdma_close(r);
	r = NULL;
	machine_fini(&m);
}

static void take(void)
{
	values_init(&f);
	memset(&d, 0xff, sizeof(d)); /* what is not written shows */
	rdma_read(r, &f, &d);
}

static void is_missing(enum metric_reason reason, const char *what)
{
	take();
	ok(!values_has(&f, METRIC_RDMA_RECEIVED_BYTES) && !values_has(&f, METRIC_RDMA_SENT_BYTES),
	   "%s: no number", what);
	is_int(f.reason[METRIC_RDMA_SENT_BYTES], reason, metric_reason_text(reason));
}

static void is_bytes(uint64_t in, uint64_t out, const char *what)
{
	take();
	diag("%s", what);
	ok(values_has(&f, METRIC_RDMA_RECEIVED_BYTES) && values_has(&f, METRIC_RDMA_SENT_BYTES), "known");
	is_u64(f.value[METRIC_RDMA_RECEIVED_BYTES], in, "received");
	is_u64(f.value[METRIC_RDMA_SENT_BYTES], out, "sent");
}

static void test_no_ports(void)
{
	struct errmsg err = { 0 };

	machine_init(&m, NULL, NULL);
	is_int(rdma_open(m.root, &r, &err), -ENODEV, "no such class");
	diag("%s", err.text);
	machine_shell("mkdir -p %s/sys/class/infiniband", m.root);
	is_int(rdma_open(m.root, &r, NULL), -ENODEV, "no device");
	machine_shell("mkdir -p %s/" RXE " %s/sys/class/infiniband/mlx5_9", m.root, m.root);
	is_int(rdma_open(m.root, &r, NULL), -ENODEV, "an empty port and a device without ports");
	machine_shell("rm -rf %s/sys/class/infiniband && echo > %s/sys/class/infiniband", m.root, m.root);
	ok(rdma_open(m.root, &r, NULL) < 0, "not a folder");
	machine_fini(&m);

	rdma_close(NULL);
	values_init(&f);
	rdma_miss(&f, REASON_SHARED_NODE);
	is_int(f.reason[METRIC_RDMA_RECEIVED_BYTES], REASON_SHARED_NODE, "missing for a reason");
}

static void test_two_adapters(void)
{
	if (!start("ib-roce"))
		return;
	is_bytes(0, 0, "what was carried before the step is not the step's");
	is_u64(d.nrdma, 2, "not the virtual function, which would count twice, nor the port that is down");
	is_str(d.rdma[0].port, "mlx5_0/1", "the first");
	is_str(d.rdma[0].link, "InfiniBand", "its link");
	is_str(d.rdma[1].port, "mlx5_1/1", "the second");
	is_u64(d.rdma[0].has, RDMA_HAS_PACKETS | RDMA_HAS_RETRIES | RDMA_HAS_WAIT,
	       "InfiniBand has no notices of congestion");

	machine_put(&m, IB "counters/port_rcv_data", "58193740113873\n");  /* + 1000 */
	machine_put(&m, IB "counters/port_xmit_data", "57911120034412\n"); /* + 1 */
	machine_put(&m, IB "counters/port_xmit_wait", "4128944\n");
	machine_put(&m, IB "counters/port_rcv_packets", "113298455122\n");
	machine_put(&m, ROCE "counters/port_xmit_data", "9123847811\n"); /* + 100 */
	machine_put(&m, ROCE "hw_counters/packet_seq_err", "42\n");
	machine_put(&m, ROCE "hw_counters/rnr_nak_retry_err", "4\n");
	machine_put(&m, ROCE "hw_counters/rp_cnp_handled", "5513\n");
	is_bytes(4000, 404, "words of 4 bytes, of all ports");
	is_u64(d.rdma[0].in_bytes, 4000, "by port");
	is_u64(d.rdma[0].in_packets, 2, "packets");
	is_u64(d.rdma[0].wait_ticks, 100, "ticks without credit");
	is_u64(d.rdma[1].out_bytes, 400, "the other port");
	is_u64(d.rdma[1].retries, 3, "retries of all kinds");
	is_u64(d.rdma[1].congestion, 1, "congestion");
	machine_put(&m, "sys/class/infiniband/mlx5_2/ports/1/counters/port_rcv_data", "5000\n");
	is_bytes(4000, 404, "a virtual function is in its physical function's counters");
	stop();
}

static void test_stuck(void)
{
	if (!start("ib-roce"))
		return;
	machine_put(&m, IB "counters/port_xmit_wait", "4294967295\n");
	take();
	ok(!(d.rdma[0].has & RDMA_HAS_WAIT) && values_has(&f, METRIC_RDMA_SENT_BYTES),
	   "ticks at the end of 32 bits are unknown, bytes are not");
	stop();

	machine_init(&m, NULL, "ib-roce");
	machine_put(&m, ROCE "counters/port_rcv_data", "4294960000\n");
	is_int(rdma_open(m.root, &r, NULL), 0, "an old adapter, 32 bits");
	machine_put(&m, ROCE "counters/port_rcv_data", "4294967294\n");
	is_bytes(7294 * 4, 0, "near the end");
	machine_put(&m, ROCE "counters/port_rcv_data", "4294967295\n");
	is_missing(REASON_FAILED, "at the end, where it stops and does not wrap");
	is_int(d.rdma[0].reason, REASON_NONE, "the other port is still known");
	is_int(d.rdma[1].reason, REASON_FAILED, "this one is not");
	machine_put(&m, ROCE "counters/port_rcv_data", "17\n");
	is_missing(REASON_FAILED, "somebody reset it: what it did not count is still unknown");
	stop();
}

static void test_reset(void)
{
	if (!start("ib-roce"))
		return;
	machine_put(&m, IB "counters/port_rcv_data", "58193740112973\n");
	is_bytes(400, 0, "counts");
	machine_put(&m, IB "counters/port_rcv_data", "58193740112972\n"); /* above the base, still */
	is_missing(REASON_FAILED, "back by one word is a reset");
	stop();
}

static void test_plugging(void)
{
	if (!start("ib-roce"))
		return;
	machine_put(&m, IB "counters/port_rcv_data", "58193740112973\n");
	is_bytes(400, 0, "counts");
	machine_put(&m, IB "counters/port_rcv_data", ""); /* sysfs: ENODEV */
	is_missing(REASON_FAILED, "unplugged");
	is_int(d.rdma[0].reason, REASON_FAILED, "and says which");
	machine_put(&m, IB "counters/port_rcv_data", "58193740112999\n");
	is_missing(REASON_FAILED, "back again: what it carried meanwhile is unknown");
	stop();

	if (!start("ib-roce"))
		return;
	machine_put(&m, RXE "state", "4: ACTIVE\n");
	is_missing(REASON_FAILED, "a port that comes later and does not count");
	stop();

	if (!start("efa"))
		return;
	machine_shell("cp -R '" FIXTURES "/ib-roce'/. '%s'", m.root);
	is_missing(REASON_FAILED, "an adapter that comes later");
	stop();

	if (!start("efa"))
		return;
	machine_shell("rm -rf %s/sys/class/infiniband", m.root);
	machine_shell("mkdir %s/sys/class/infiniband", m.root);
	take();
	ok(true, "the class goes away, and nothing breaks");
	stop();
}

static void test_no_counters(void)
{
	machine_init(&m, NULL, "ib-roce");
	machine_put(&m, RXE "state", "4: ACTIVE\n");
	is_int(rdma_open(m.root, &r, NULL), 0, "a software port is up");
	is_missing(REASON_NO_SENSOR, "the rest alone would look like all");
	stop();

	machine_init(&m, NULL, "ib-roce");
	machine_put(&m, ROCE "counters/port_rcv_data", "N/A (no PMA)\n");
	is_int(rdma_open(m.root, &r, NULL), 0, "a driver without such counters");
	is_missing(REASON_NO_SENSOR, "N/A is not 0");
	stop();
}

static void test_drivers_own(void)
{
	if (!start("efa"))
		return;
	machine_put(&m, EFA "hw_counters/rx_bytes", "81230048\n");
	machine_put(&m, EFA "hw_counters/tx_bytes", "73110078\n");
	machine_put(&m, EFA "hw_counters/tx_pkts", "9178\n");
	is_bytes(1, 20, "bytes, not words");
	is_u64(d.rdma[0].has, RDMA_HAS_PACKETS, "packets too");
	is_u64(d.rdma[0].out_packets, 1, "the packets sent");
	stop();

	machine_init(&m, NULL, "ib-roce");
	machine_shell("echo 100 > %s/" IB "hw_counters/rx_bytes", m.root);
	is_int(rdma_open(m.root, &r, NULL), 0, "a port with counters of the class and of its driver");
	machine_shell("echo 900 > %s/" IB "hw_counters/rx_bytes", m.root);
	is_bytes(0, 0, "counted once");
	stop();
}

/* What a file may hold: each time either a number or none, and never a crash. */
static void test_garbage(void)
{
	static const char *const text[] = { "",	      "\n",    "-1\n",		 "18446744073709551616\n",
					    "0x10\n", "1 2\n", "58193740112873", "\xff\xfe" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(text); i++) {
		machine_init(&m, NULL, "ib-roce");
		machine_put(&m, IB "counters/port_rcv_data", text[i]);
		if (rdma_open(m.root, &r, NULL) == 0) {
			take();
			ok(values_has(&f, METRIC_RDMA_SENT_BYTES) == (i == 6), "base, case %zu", i);
			rdma_close(r);
		}
		machine_put(&m, IB "counters/port_rcv_data", "58193740112873\n");
		is_int(rdma_open(m.root, &r, NULL), 0, "open");
		machine_put(&m, IB "counters/port_rcv_data", text[i]);
		take();
		ok(values_has(&f, METRIC_RDMA_SENT_BYTES) == (i == 6), "reading, case %zu", i);
		stop();
	}
}

static void test_many_ports(void)
{
	int i;

	machine_init(&m, NULL, "efa");
	for (i = 1; i < 20; i++)
		machine_shell("cp -R %s/sys/class/infiniband/rdmap0s6 %s/sys/class/infiniband/rdmap%ds6",
			      m.root, m.root, i);
	is_int(rdma_open(m.root, &r, NULL), 0, "20 adapters");
	machine_put(&m, EFA "hw_counters/rx_bytes", "81230048\n");
	machine_put(&m, "sys/class/infiniband/rdmap19s6/ports/1/hw_counters/rx_bytes", "81230049\n");
	is_bytes(3, 0, "all count");
	is_u64(d.nrdma, DETAIL_RDMA, "some are shown");
	stop();
}

int main(void)
{
	test_no_ports();
	test_two_adapters();
	test_stuck();
	test_reset();
	test_plugging();
	test_no_counters();
	test_drivers_own();
	test_garbage();
	test_many_ports();
	return done_testing();
}
