/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/nodeprobes.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/libmeter/activity/bperf.h"
#include "src/libmeter/activity/fsio.h"
#include "src/libmeter/activity/taskcount.h"
#include "src/libmeter/activity/netcount.h"
#include "src/libmeter/activity/probes.h"
#include "src/libmeter/activity/stepgroup.h"
#include "src/libmeter/activity/tcpcount.h"
#include "src/libnode/bpfload.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/pages.h"

/* How long the first tick waits for ceems-bpf, so that steps that start with slurmd are counted. */
#define START_WAIT_NS (5 * NSEC_PER_SEC)
/*
 * When ceems-bpf is killed. Ticks do not wait for it so long. It may be slow on a node that boots or is busy,
 * and there is no other try until slurmd starts again.
 */
#define LOAD_TIMEOUT_NS (100 * NSEC_PER_SEC)
#define UNLOAD_TIMEOUT_NS (20 * NSEC_PER_SEC) /* slurmd's end waits for it */

struct nodeprobes {
	const struct settings *settings;
	char helper[PATH_MAX];
	struct bpfload *load;	 /* ceems-bpf, which runs; NULL: it does not */
	struct probes *probes;	 /* NULL: no BPF programs are loaded */
	bool keeps_io, drops_io; /* slurmd holds the hooks of PROBES_IO; it is letting go of them */
	uint64_t looked_ns;	 /* when it last looked for dead processes, CLOCK_MONOTONIC; 0: never */
	bool has_looked;	 /* it looked in this tick, so DUE is valid */
	struct probes_dead dead, due;
};

/* --- from slurmd's start to its end ------------------------------------------------------- */

/* Holds the groups that every step needs. A step that starts opens their links without a lock. */
static void hold(struct nodeprobes *np)
{
	static const enum probes_group all_steps[] = { PROBES_TASKS, PROBES_TCP };
	struct errmsg err = { 0 };
	size_t i;
	int rc;

	for (i = 0; i < ARRAY_SIZE(all_steps); i++) {
		rc = probes_hold(np->probes, all_steps[i], &err);
		if (rc < 0)
			logger_log(rc == -EOPNOTSUPP ? LOGGER_INFO : LOGGER_ERROR, "bpf: %s", err.text);
	}
}

/* Waits for ceems-bpf until UNTIL_NS, and takes over what it has loaded. */
static int nodeprobes_load(struct nodeprobes *np, uint64_t until_ns, struct errmsg *err)
{
	int rc = bpfload_wait(np->load, until_ns, err);

	if (rc == -EAGAIN)
		return rc;
	np->load = NULL;
	if (rc == 0)
		rc = probes_open(np->settings->bpf_dir, &np->probes, err);
	if (rc == 0)
		hold(np);
	return rc;
}

static void tell_failure(int rc, const struct errmsg *err)
{
	logger_log(rc == -EOPNOTSUPP ? LOGGER_INFO : LOGGER_ERROR,
		   "bpf: %s; I/O and network are not counted on this node", err->text);
}

void nodeprobes_start(const struct settings *s, const char *helper_dir, struct nodeprobes **ret)
{
	struct nodeprobes *np = pages_alloc(sizeof(*np));
	struct errmsg err = { 0 };
	int rc;

	*ret = np;
	if (!np)
		return;
	np->settings = s;
	(void)snprintf(np->helper, sizeof(np->helper), "%s/ceems-bpf", helper_dir);
	(void)stepgroup_reap(/* everywhere= */ true);
	if (!s->bpf_dir[0])
		return;
	rc = bpfload_start(np->helper, s->bpf_dir, LOAD_TIMEOUT_NS, &np->load, &err);
	if (rc == 0)
		rc = nodeprobes_load(np, clock_mono_ns() + START_WAIT_NS, &err);
	if (rc == -EAGAIN)
		logger_info("bpf: %s takes long; I/O and network are not counted for steps that start before "
			    "it ends",
			    np->helper);
	else if (rc < 0)
		tell_failure(rc, &err);
}

/* Looks whether a slow ceems-bpf has ended. */
static void look_for_load(struct nodeprobes *np)
{
	struct errmsg err = { 0 };
	int rc = nodeprobes_load(np, 0, &err);

	if (rc == 0)
		logger_info("bpf: %s has ended; I/O and network are counted for steps that start from now on",
			    np->helper);
	else if (rc != -EAGAIN)
		tell_failure(rc, &err);
}

void nodeprobes_stop(struct nodeprobes *np)
{
	struct errmsg err = { 0 };

	if (!np)
		return;
	bpfload_cancel(np->load); /* the next load replaces what it has pinned so far */
	/* -EBUSY: steps or another slurmd use it; the last of them unloads. */
	if (np->probes && bpfload_stop(np->helper, np->settings->bpf_dir, UNLOAD_TIMEOUT_NS, &err) < 0)
		logger_debug("bpf: %s", err.text);
	probes_close(np->probes);
	pages_free(np, sizeof(*np));
}

static bool is_asked(struct nodeprobes *np, enum probes_group group)
{
	struct probes_count c;

	return probes_count(np->probes, &c, NULL) < 0 || c.groups & 1u << group;
}

/*
 * Holds also the programs that a step attached for --ceems-perf=io, so that the next steps need not attach
 * them. On an emulated machine, attaching takes 0.15 s at the start of a step, and detaching 1.3 s at its
 * end. A step requests a tick after its start, so slurmd holds the programs before the step ends. If a
 * program can be attached only once, it is held until slurmd ends. Programs that only another slurmd holds
 * are not held, since then both would hold them for ever.
 */
static void keep_hooks(struct nodeprobes *np)
{
	bool is_once = probes_features(np->probes) & PROBES_FEXIT_ONCE;
	bool had = np->keeps_io;

	if (np->drops_io)
		return;
	np->keeps_io = probes_share(np->probes, PROBES_IO) > 0;
	if (!np->keeps_io || had)
		return;
	np->drops_io = !is_once && !is_asked(np, PROBES_IO);
	if (is_once)
		logger_info("bpf: I/O calls of all processes are hooked from now on: this kernel "
			    "cannot attach the hooks again");
}

/*
 * Detaches unused hooks. The sampler waits for each as long as a grace period of the kernel, about 0.1 s. So
 * a tick spends at most a tenth of its interval on this, and it takes up to a minute until all are detached.
 */
static void drop_hooks(struct nodeprobes *np)
{
	uint64_t deadline_ns = clock_mono_ns() + np->settings->sample_interval_ns / 10;

	if (!np->drops_io)
		return;
	do
		np->drops_io = np->keeps_io = probes_drop(np->probes, PROBES_IO);
	while (np->drops_io && clock_mono_ns() < deadline_ns);
}

/* --- the dead ----------------------------------------------------------------------------- */

/*
 * Looks for dead steps. If several slurmds share BpfDir, a dead step may belong to another one,
 * which must read its counts first. So a slot is freed when the step is found dead a second time.
 */
static void look_for_slots(struct nodeprobes *np)
{
	struct probes_dead before = np->dead;
	struct probes_count c = { 0 };

	np->has_looked = probes_count(np->probes, &c, &np->dead) == 0;
	np->due = c.users > 1 ? before : np->dead;
	np->drops_io = np->has_looked && np->keeps_io && !(c.groups & 1u << PROBES_IO) &&
		       !(probes_features(np->probes) & PROBES_FEXIT_ONCE);
}

void nodeprobes_look(struct nodeprobes *np, uint64_t now_ns)
{
	if (!np)
		return;
	if (np->load)
		look_for_load(np);
	if (np->probes)
		keep_hooks(np);
	if (np->looked_ns && now_ns - np->looked_ns < NODEPROBES_LOOK_NS)
		return;
	np->looked_ns = now_ns;
	if (np->probes)
		look_for_slots(np);
	(void)stepgroup_reap(/* everywhere= */ false);
}

void nodeprobes_clear(struct nodeprobes *np)
{
	_cleanup_close_ int lock = -1;

	if (!np || !np->probes)
		return;
	drop_hooks(np);
	if (!np->has_looked)
		return;
	np->has_looked = false;
	/* if another process has the lock, it is enough to clean up at the next look */
	if (probes_lock(probes_dir(np->probes), /* wait_ns= */ 0, &lock, NULL) < 0)
		return;
	probes_reap(np->probes, &np->due);
	bperf_reap(np->probes);
}

/*
 * Returns true if the slot of the BPF maps still belongs to that slurmstepd. Another one may have
 * freed it when the table was full.
 */
static bool is_still_of(struct nodeprobes *np, const struct ledger_slot *s, struct probes_owner *ret)
{
	return s->bpf_slot && probes_owner(np->probes, s->bpf_slot, ret) == 0 &&
	       ret->pid == (uint32_t)atomic_load(&s->stepd_pid) && ret->start == s->stepd_start;
}

static int read_tasks(struct nodeprobes *np, uint32_t slot, struct values *values)
{
	struct taskcount *h;
	int rc = taskcount_open(np->probes, slot, &h);

	if (rc < 0)
		return rc;
	rc = taskcount_read(h, /* is_empty= */ false, values);
	taskcount_close(h);
	return rc;
}

static void read_sockets(struct nodeprobes *np, uint32_t slot, struct values *values)
{
	struct tcpcount *t;

	if (tcpcount_open(np->probes, slot, &t) < 0)
		return;
	(void)tcpcount_read(t, values);
	tcpcount_close(t);
}

/*
 * Reads I/O by file system, with the mount points of this process, since those of the job may have
 * gone with its tasks.
 */
static void read_filesystems(struct nodeprobes *np, uint32_t slot, struct values *values)
{
	struct step_detail detail = { 0 };
	struct probes_owner owner;
	struct fsio *io;

	if (probes_owner(np->probes, slot, &owner) < 0 || !(owner.groups & 1u << PROBES_IO) ||
	    fsio_open(np->probes, slot, np->settings, &io, NULL) < 0)
		return;
	fsio_learn(io, getpid());
	(void)fsio_read(io, values, &detail);
	fsio_close(io);
}

void nodeprobes_salvage(struct nodeprobes *np, struct ledger_book *book, const struct book_line *line,
			size_t n)
{
	struct probes_owner owner;
	struct values values;
	size_t i;

	for (i = 0; np && np->probes && i < n; i++) {
		/* from SLOT_CLOSING on, slurmstepd has written its metric values */
		if (!line[i].is_dead || line[i].state >= SLOT_CLOSING || !is_still_of(np, line[i].s, &owner))
			continue;
		values_init(&values);
		if (read_tasks(np, line[i].s->bpf_slot, &values) < 0)
			continue;
		read_sockets(np, line[i].s->bpf_slot, &values);
		read_filesystems(np, line[i].s->bpf_slot, &values);
		ledger_book_salvage(book, line[i].slot, &values);
		logger_info("job %u: slurmstepd %d was killed; slurmd keeps the BPF counts of its step",
			    line[i].s->id.job_id, (int)atomic_load(&line[i].s->stepd_pid));
	}
}

/* --- running steps ------------------------------------------------------------------------ */

void nodeprobes_read_steps(struct nodeprobes *np, const struct nodeprobes_step *step, size_t n)
{
	_cleanup_free_ struct probes_step *of = calloc(n + 1, sizeof(*of));
	struct probes_owner owner;
	size_t i, found = 0;

	for (i = 0; np && np->probes && of && i < n; i++) {
		if (!is_still_of(np, step[i].slot, &owner))
			continue;
		of[found++] = (struct probes_step){ step[i].slot->bpf_slot, step[i].values };
		if (owner.groups & 1u << PROBES_NET && owner.cgroup_v2)
			(void)netcount_read_of(np->probes, owner.cgroup_v2, step[i].values);
	}
	if (!found)
		return;
	(void)taskcount_read_steps(np->probes, of, found);
	(void)tcpcount_read_steps(np->probes, of, found);
}

bool nodeprobes_lost(struct nodeprobes *np, struct nodeprobes_lost *ret)
{
	unsigned int g;

	if (!np || !np->probes)
		return false;
	for (g = 0; g < PROBES_GROUP_N; g++) {
		ret->lost[g] = probes_lost(np->probes, (enum probes_group)g);
		ret->skipped[g] = probes_skipped(np->probes, (enum probes_group)g);
	}
	return true;
}
