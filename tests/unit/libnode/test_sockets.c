/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the counters of a node of two sockets to accounts: a step that computes on one socket is not
 * charged for the other.
 */
#include "busy_node.h"
#include "src/libledger/ledger_book.h"
#include "src/libnode/sampler.h"
#include "tap.h"

#define S UINT64_C(1000000000)
#define J UINT64_C(1000000)

static struct ledger_page page;

/* A step with one CPU on each of SOCKETS, which computes for BUSY_NS while UJ are used. */
static struct account run_step(struct busy_node *n, struct sampler *s, struct ledger *l,
			       const uint32_t sockets[BUSY_NODE_SOCKETS], uint64_t busy_ns,
			       const uint64_t uj[BUSY_NODE_SOCKETS])
{
	struct ledger_identity id = { .job_id = 7, .het_comp = LEDGER_HET_NONE };
	struct account a = { 0 };
	unsigned int slot;
	unsigned int i;

	for (i = 0; i < BUSY_NODE_SOCKETS; i++) {
		id.job_cpus = id.step_cpus += sockets[i];
		id.job_socket_cpus[i] = id.step_socket_cpus[i] = sockets[i];
		n->package_uj[i] += uj[i];
	}
	if (ledger_claim(l, &id, &slot) < 0)
		return a;
	n->busy_ticks += 100; /* a second of each processor */
	busy_node_write(n);
	require(ledger_finish(l, slot, busy_ns, /* timeout_ns= */ 0, &a) < 0); /* nobody ticks meanwhile */
	(void)sampler_tick(s);
	require(ledger_step_energy(l, slot, &a) == 0);
	ledger_leave(l, slot);
	(void)sampler_tick(s);
	return a;
}

static void test_steps(struct busy_node *n, struct sampler *s, struct ledger *l)
{
	static const uint64_t uj[] = { 10 * J, 30 * J };
	static const uint32_t first[] = { 1, 0 };
	static const uint32_t second[] = { 0, 1 };
	static const uint32_t both[] = { 1, 1 };
	struct account a;

	(void)sampler_tick(s); /* the base */
	a = run_step(n, s, l, first, S, uj);
	is_u64(account_total_uj(&a), 5 * J, "half of the work on socket 0: half of its energy");
	a = run_step(n, s, l, second, S, uj);
	is_u64(account_total_uj(&a), 15 * J, "the same on socket 1: half of that one's");
	a = run_step(n, s, l, both, 2 * S, uj);
	is_u64(account_total_uj(&a), 20 * J, "on both: half of both");
	is_u64(a.source_uj[SOURCE_RAPL], 20 * J, "all of it from RAPL");
	is_int(ledger_snapshot(l, &page), 0, "the page");
	is_u64(page.measured.total_uj[DOMAIN_CPU], 120 * J, "all is measured");
	is_u64(account_total_uj(&page.system), 80 * J, "the rest is the system's");
	is_u64(ledger_page_error_uj(&page), 0, "and the accounts add up");
	is_u64(page.nparts, 2 * BUSY_NODE_SOCKETS, "sockets and their memory are told apart");
	is_u64(page.socket_cpus[1], BUSY_NODE_CPUS / BUSY_NODE_SOCKETS, "with their processors");
}

int main(void)
{
	struct settings settings;
	struct errmsg err = { 0 };
	struct sampler *s = NULL;
	struct ledger *l = NULL;
	struct busy_node n;

	if (!busy_node_make(&n))
		return 99;
	busy_node_settings(&n, &settings);
	if (sampler_create(&settings, "n1", &s, &err) < 0 || ledger_open(n.top, "n1", true, &l, &err) < 0)
		ok(false, "a sampler: %s", err.text);
	else
		test_steps(&n, s, l);
	ledger_close(l);
	sampler_destroy(s);
	busy_node_remove(&n);
	return done_testing();
}
