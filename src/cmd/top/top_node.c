/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_node.c - the source for --node: the steps of a node, `system` and `unallocated`, as the sampler booked
 * them in the ledger at its last tick.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/top/top_rates.h"
#include "src/cmd/top/top_source.h"
#include "src/libledger/ledger.h"
#include "src/librecord/record_names.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define MIB (UINT64_C(1) << 20)
/* Keys for top_rates_set(). The key of a step is made of its claim number and its slot. */
#define KEY_SYSTEM UINT64_MAX
#define KEY_UNALLOCATED (UINT64_MAX - 1)
#define STALE_NS (60 * NSEC_PER_SEC)

struct top_node {
	struct top_source source;
	struct ledger *ledger;
	struct ledger_page *page; /* owned */
	struct top_rates *rates;
	struct record_names names;
};

static void set_gpus(struct top_row *row, const uint32_t ppm[GPUS_MAX])
{
	size_t i;

	for (i = 0; i < GPUS_MAX; i++)
		row->gpus += ppm[i] > 0;
}

static int add_step(struct top_node *n, unsigned int slot, const struct ledger_slot *s, struct top_frame *f)
{
	const struct ledger_step_account *a = &n->page->step[slot];
	const struct ledger_identity *id = &s->id;
	struct top_row *row = top_frame_add(f);
	uint64_t now = clock_wall_ns();
	struct values values;
	char step[16];
	char *user;
	int rc;

	if (!row)
		return -ENOMEM;
	row->job_id = id->job_id;
	(void)snprintf(row->id, sizeof(row->id), "%u.%s", id->job_id,
		       ledger_step_name(id->step_id, step, sizeof(step)));
	user = record_names_user(&n->names, id->uid);
	if (user)
		(void)snprintf(row->user, sizeof(row->user), "%s", user);
	free(user);
	row->cpus = id->step_cpus;
	row->memory = id->step_mem_mb * MIB;
	set_gpus(row, id->step_gpu_ppm);
	row->elapsed_s = now > id->start_wall_ns ? (now - id->start_wall_ns) / NSEC_PER_SEC : 0;
	if (ledger_step_live(n->ledger, slot, &values) < 0)
		values_init(&values);
	ledger_account_values(n->page, &a->energy, &values);
	values_set(&values, METRIC_CPU_TIME, a->busy_ns);
	if (a->gpu.held_ns)
		ledger_gpu_add(&a->gpu, &values);
	rc = top_rates_set(n->rates, (uint64_t)s->claim << 32 | slot, n->page->t_mono_ns, UINT64_MAX, &values,
			   row);
	if (a->memory.read_mono_ns)
		row->value[TOP_MEMORY] = (double)a->memory.held_bytes;
	return rc;
}

static int add_account(struct top_node *n, const char *name, uint64_t key, const struct account *a,
		       struct top_frame *f)
{
	struct top_row *row = top_frame_add(f);
	struct values values;

	if (!row)
		return -ENOMEM;
	(void)snprintf(row->id, sizeof(row->id), "%s", name);
	values_init(&values);
	ledger_account_values(n->page, a, &values);
	return top_rates_set(n->rates, key, n->page->t_mono_ns, UINT64_MAX, &values, row);
}

static int read_node(struct top_source *s, uint32_t job_id, struct top_frame *f, struct errmsg *err)
{
	struct top_node *n = s->ctx;
	int rc = ledger_snapshot(n->ledger, n->page);
	unsigned int i;

	if (rc < 0)
		return errmsg_set(err, rc, "%s: %s", ledger_node(n->ledger), strerror(-rc));
	if (job_id)
		return errmsg_set(err, -ENOTSUP,
				  "all rows are of one node: there are no nodes to choose from");
	f->t = clock_wall_ns() / NSEC_PER_SEC;
	f->id_title = "STEP";
	(void)snprintf(f->what, sizeof(f->what), "accounts of node %.64s", ledger_node(n->ledger));
	(void)snprintf(f->source, sizeof(f->source), "its ledger");
	if (clock_mono_ns() - n->page->t_mono_ns > STALE_NS)
		(void)snprintf(f->note, sizeof(f->note), "the last tick was %llu s ago: does slurmd run?",
			       (unsigned long long)((clock_mono_ns() - n->page->t_mono_ns) / NSEC_PER_SEC));
	for (i = 0; rc == 0 && i < LEDGER_STEPS; i++) {
		const struct ledger_slot *slot = ledger_slot(n->ledger, i);

		if (n->page->step[i].job && slot && slot->claim == n->page->step[i].claim &&
		    !n->page->step[i].is_final)
			rc = add_step(n, i, slot, f);
	}
	if (rc == 0)
		rc = add_account(n, "system", KEY_SYSTEM, &n->page->system, f);
	if (rc == 0)
		rc = add_account(n, "unallocated", KEY_UNALLOCATED, &n->page->unallocated, f);
	top_rates_sweep(n->rates);
	return rc < 0 ? errmsg_set(err, rc, "out of memory") : 0;
}

static void close_node(struct top_source *s)
{
	struct top_node *n = s->ctx;

	ledger_close(n->ledger);
	top_rates_destroy(n->rates);
	free(n->page);
	free(n);
}

int top_node_open(const struct settings *s, const char *node, uint64_t window_ns, struct top_source **ret,
		  struct errmsg *err)
{
	static const struct top_source_ops ops = { .read = read_node, .close = close_node };
	struct top_node *n = calloc(1, sizeof(*n));
	int rc;

	if (!n)
		return errmsg_set(err, -ENOMEM, "out of memory");
	n->source = (struct top_source){ &ops, n };
	n->page = malloc(sizeof(*n->page));
	n->rates = top_rates_create(window_ns);
	rc = n->page && n->rates ? cmd_ledger_open(s, node, &n->ledger, err) :
				   errmsg_set(err, -ENOMEM, "out of memory");
	if (rc < 0) {
		close_node(&n->source);
		return rc;
	}
	*ret = &n->source;
	return 0;
}
