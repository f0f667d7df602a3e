/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/bperf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>

#include "src/libmeter/activity/probes_internal.h"
#include "src/libmeter/sensor/perf_event.h"
#include "src/libutil/procstat.h"
#include "src/libutil/util.h"

/* The group's maps, borrowed from struct probes. */
struct maps {
	int owners, slots, rows, events;
	struct probes_hw_config *config; /* mapped; changed with the lock only */
};

struct bperf {
	struct probes *probes;
	uint32_t slot;
	struct maps maps;
	const struct probes_hw_cpu *running; /* a BPF map in memory: what runs on each CPU */
	/* the program that adds counts now; -1: this kernel cannot run it */
	int flush;
	uint32_t nevents;
	int place[PROBES_HW_EVENTS]; /* index of an event's counts in the rows; -errno: it is not counted */
	size_t ncpus;
	uint32_t cpu[];
};

/* --- maps --------------------------------------------------------------------------------- */

static int open_maps(struct probes *p, struct maps *m)
{
	const struct {
		const char *name;
		int *fd;
	} want[] = {
		{ "owners", &m->owners },
		{ "hw_slots", &m->slots },
		{ "hw_rows", &m->rows },
		{ "hw_events", &m->events },
	};
	size_t i;
	int rc;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		rc = probes_map(p, want[i].name, want[i].fd);
		if (rc < 0)
			return rc;
	}
	return probes_map_memory(p, "hw_config", sizeof(*m->config), PROT_READ | PROT_WRITE, &m->config);
}

static void close_maps(struct maps *m)
{
	if (m->config)
		(void)munmap(m->config, sizeof(*m->config));
}

/* --- who asked ---------------------------------------------------------------------------- */

/*
 * Notes that SLOT asks for counters, or no longer does: in the map "owners" for other processes, and in the
 * map "hw_slots" for the BPF programs.
 */
static int bperf_claim(struct maps *m, uint32_t slot, bool asks)
{
	const uint32_t bit = 1u << PROBES_HW;
	struct probes_hw_slot s = { 0 };
	struct probes_owner owner;
	int rc = bpfsys_lookup(m->owners, &slot, &owner);

	if (rc < 0)
		return rc;
	if (owner.pid != (uint32_t)getpid())
		return -EPERM;
	owner.groups = asks ? owner.groups | bit : owner.groups & ~bit;
	s.owner = asks ? owner.tgid : 0;
	rc = bpfsys_update(m->owners, &slot, &owner, BPF_EXIST);
	return rc < 0 ? rc : bpfsys_update(m->slots, &slot, &s, BPF_ANY);
}

/* Returns true if a living process asked for counters for a slot other than EXCEPT. */
static bool somebody_asks(struct maps *m, uint32_t except)
{
	struct probes_owner owner;
	uint32_t slot, prev, seen;
	int rc = bpfsys_next_key(m->owners, NULL, &slot);

	for (seen = 0; rc == 0 && seen < PROBES_SLOTS; seen++) {
		if (slot != except && bpfsys_lookup(m->owners, &slot, &owner) == 0 &&
		    owner.groups & 1u << PROBES_HW && procstat_is_alive((pid_t)owner.pid, owner.start))
			return true;
		prev = slot;
		rc = bpfsys_next_key(m->owners, &prev, &slot);
	}
	return false;
}

/* --- putting counters into the map and removing them; the caller holds probes_lock() ---------- */

static void set_counters(struct probes_hw_config *c, uint32_t cpu, uint32_t serial)
{
	__atomic_store_n(&c->counters[cpu], serial, __ATOMIC_RELEASE);
}

/* Removes the counters of CPU. The BPF programs are told before, so that none reads a removed counter. */
static void take_out(struct maps *m, uint32_t cpu)
{
	uint32_t i, key;

	set_counters(m->config, cpu, 0);
	for (i = 0; i < PROBES_HW_EVENTS; i++) {
		key = i * PROBES_HW_CPUS + cpu;
		(void)bpfsys_delete(m->events, &key);
	}
}

static void take_all_out(struct maps *m)
{
	struct probes_hw_config *c = m->config;
	uint32_t cpu;

	for (cpu = 0; cpu < c->cpu_end && cpu < PROBES_HW_CPUS; cpu++)
		take_out(m, cpu);
	c->n = 0;
	c->count = 0;
	c->cpu_end = 0;
}

static void describe(const struct hwevent *e, struct probes_hw_event *ret)
{
	const struct perf_event_attr *a = &e->attr;

	*ret = (struct probes_hw_event){
		.type = a->type,
		.exclude = (uint16_t)(a->exclude_user | a->exclude_kernel << 1 | a->exclude_hv << 2 |
				      a->exclude_idle << 3 | a->exclude_host << 4 | a->exclude_guest << 5),
		.group = e->group,
		.config = a->config,
		.config1 = a->config1,
		.config2 = a->config2,
	};
}

static bool is_same(const struct probes_hw_config *c, const struct hwevents *events, uint32_t n)
{
	struct probes_hw_event e;
	uint32_t i;

	if (c->n != n)
		return false;
	for (i = 0; i < n; i++) {
		describe(&events->event[i], &e);
		e.error = c->event[i].error; /* set when the event was opened for the first time */
		if (memcmp(&e, &c->event[i], sizeof(e)) != 0)
			return false;
	}
	return true;
}

/* Opens a counter on one CPU. hwevents.h leaves sampling, inheritance and the CPU to the opener. */
static int open_event(const struct hwevent *e, uint32_t cpu, int leader)
{
	struct perf_event_attr attr = e->attr;

	attr.size = sizeof(attr);
	return perf_event_kernel.open(NULL, &attr, /* pid= */ -1, (int)cpu, leader, /* flags= */ 0);
}

/*
 * Opens the events that have no error so far on CPU. DECIDES: this is the first CPU, and an event
 * that fails here gets an error. Returns the first error if no event could be opened, or if one
 * failed that other CPUs can count.
 */
static int open_on(struct probes_hw_config *c, const struct hwevents *events, uint32_t cpu, bool decides,
		   int fd[PROBES_HW_EVENTS])
{
	int leader = -1, first = 0;
	bool is_any = false;
	uint32_t i;

	for (i = 0; i < c->n; i++) {
		if (i && c->event[i].group != c->event[i - 1].group)
			leader = -1;
		if (decides)
			c->event[i].error = events->event[i].reason != REASON_NONE ? -ENOENT : 0;
		if (c->event[i].error)
			continue;
		fd[i] = open_event(&events->event[i], cpu, leader);
		if (fd[i] >= 0) {
			leader = leader < 0 ? fd[i] : leader;
			is_any = true;
			continue;
		}
		if (!decides)
			return fd[i];
		c->event[i].error = fd[i];
		first = first ? first : fd[i];
	}
	return is_any ? 0 : first ? first : -ENOENT;
}

static int put_on(struct maps *m, const struct hwevents *events, uint32_t cpu, bool decides)
{
	struct probes_hw_config *c = m->config;
	int fd[PROBES_HW_EVENTS];
	uint32_t i, key, count = 0;
	int rc;

	memset(fd, -1, sizeof(fd));
	if (c->cpu_end <= cpu)
		c->cpu_end = cpu + 1;
	rc = open_on(c, events, cpu, decides, fd);
	for (i = 0; i < c->n && rc == 0; i++) {
		if (fd[i] < 0)
			continue;
		key = count++ * PROBES_HW_CPUS + cpu;
		rc = bpfsys_update(m->events, &key, &fd[i], BPF_ANY);
	}
	for (i = 0; i < PROBES_HW_EVENTS; i++)
		util_closep(&fd[i]); /* the map keeps the events open */
	if (rc < 0) {
		take_out(m, cpu);
		return rc;
	}
	c->count = count;
	c->serial = c->serial == UINT32_MAX ? 1 : c->serial + 1;
	set_counters(c, cpu, c->serial);
	return 0;
}

/* Returns true if RC means that the CPU is offline or does not exist. */
static bool is_of_cpu(int rc)
{
	return rc == -ENODEV || rc == -ENXIO || rc == -EINVAL;
}

static int put_first(struct bperf *b, const struct hwevents *events)
{
	struct probes_hw_config *c = b->maps.config;
	int rc = -ENODEV, first = 0;
	size_t i;

	for (i = 0; i < b->nevents; i++)
		describe(&events->event[i], &c->event[i]);
	c->n = b->nevents;
	for (i = 0; i < b->ncpus; i++) {
		rc = put_on(&b->maps, events, b->cpu[i], /* decides= */ true);
		first = first ? first : rc;
		if (!is_of_cpu(rc))
			break;
	}
	if (rc == 0)
		return 0;
	take_all_out(&b->maps);
	return first;
}

static int bperf_put(struct bperf *b, const struct hwevents *events, struct errmsg *err)
{
	struct probes_hw_config *c = b->maps.config;
	uint32_t i, places = 0;
	size_t n;
	int rc;

	if (c->n && !is_same(c, events, b->nevents)) {
		if (somebody_asks(&b->maps, b->slot))
			return errmsg_set(err, -EBUSY, "hw: other events are being counted for another step");
		take_all_out(&b->maps);
	}
	if (!c->n) {
		rc = put_first(b, events);
		if (rc < 0)
			return errmsg_errno(err, rc, "hw: cannot open %s on CPU %u", events->event[0].name,
					    b->cpu[0]);
	}
	for (n = 0; n < b->ncpus; n++)
		if (!c->counters[b->cpu[n]])
			(void)put_on(&b->maps, events, b->cpu[n], /* decides= */ false);
	for (i = 0; i < b->nevents; i++)
		b->place[i] = c->event[i].error ? c->event[i].error : (int)places++;
	return 0;
}

/* --- a step's ----------------------------------------------------------------------------- */

static int put_and_claim(struct bperf *b, const struct hwevents *events, struct errmsg *err)
{
	_cleanup_close_ int lock = -1;
	int rc = probes_lock(probes_dir(b->probes), PROBES_LOCK_WAIT_NS, &lock, err);

	if (rc < 0)
		return rc;
	rc = bperf_put(b, events, err);
	if (rc < 0)
		return rc;
	rc = bperf_claim(&b->maps, b->slot, /* asks= */ true);
	if (rc == 0)
		probes_void_cache(b->probes); /* CPUs that run the step found at their last switch that it did
						 not ask */
	if (rc < 0 && !somebody_asks(&b->maps, b->slot))
		take_all_out(&b->maps);
	return rc < 0 ? errmsg_errno(err, rc, "hw: slot %u", b->slot) : 0;
}

int bperf_open(struct probes *p, uint32_t slot, const struct hwevents *events, const uint32_t *cpu, size_t n,
	       struct bperf **ret, struct errmsg *err)
{
	struct bperf *b;
	size_t i;
	int rc;

	if (probes_why(p, PROBES_HW) != PROBES_OK)
		return errmsg_set(err, -EOPNOTSUPP, "hw: %s", probes_why_text(probes_why(p, PROBES_HW)));
	if (!slot || slot > PROBES_SLOTS || !events->n || !n)
		return errmsg_errno(err, -EINVAL, "hw");
	b = calloc(1, sizeof(*b) + n * sizeof(b->cpu[0]));
	if (!b)
		return errmsg_errno(err, -ENOMEM, "hw");
	b->probes = p;
	b->slot = slot;
	b->flush = -1;
	b->nevents = events->n < PROBES_HW_EVENTS ? events->n : PROBES_HW_EVENTS;
	for (i = 0; i < n; i++)
		if (cpu[i] < PROBES_HW_CPUS)
			b->cpu[b->ncpus++] = cpu[i];
	rc = open_maps(p, &b->maps);
	if (rc == 0)
		rc = probes_map_memory(p, "hw_cpus", PROBES_HW_CPUS * sizeof(*b->running), PROT_READ,
				       &b->running);
	if (rc < 0) {
		(void)errmsg_errno(err, rc, "hw: cannot open the maps");
		goto fail;
	}
	if (probes_program(p, "hw_flush", &b->flush) < 0)
		b->flush = -1; /* this kernel cannot run it */
	rc = put_and_claim(b, events, err);
	if (rc < 0)
		goto fail;
	/*
	 * last: the program runs at every switch, so attach it only if there is something to count
	 */
	rc = probes_hold(p, PROBES_HW, err);
	if (rc < 0) {
		/* here -EBUSY means the lock; for our caller it means other events */
		rc = rc == -EBUSY ? -EWOULDBLOCK : rc;
		goto fail;
	}
	*ret = b;
	return 0;
fail:
	bperf_close(b);
	return rc;
}

int bperf_error(const struct bperf *b, uint32_t event)
{
	if (event >= b->nevents)
		return -ERANGE;
	return b->place[event] < 0 ? b->place[event] : 0;
}

/*
 * Makes the CPUs that run this step now add their counts. Other CPUs added theirs when they
 * stopped running the step.
 */
static void flush(struct bperf *b)
{
	const uint64_t slot = b->slot;
	size_t i;

	if (b->flush < 0)
		return;
	for (i = 0; i < b->ncpus; i++)
		if (__atomic_load_n(&b->running[b->cpu[i]].slot, __ATOMIC_RELAXED) == b->slot)
			(void)bpfsys_run_on(b->flush, b->cpu[i], &slot, 1);
}

int bperf_read(struct bperf *b, struct bperf_value ret[PROBES_HW_EVENTS])
{
	struct probes_hw_row row[PROBES_SHARDS_MAX];
	struct bperf_value sum[PROBES_HW_EVENTS] = { 0 };
	uint32_t shards = probes_shards(b->probes);
	uint32_t i, k;
	int rc;

	if (!shards || shards > PROBES_SHARDS_MAX)
		return -EPROTO;
	flush(b);
	rc = bpfsys_read_range(b->maps.rows, b->slot * shards, shards, row);
	if (rc < 0)
		return rc;
	for (i = 0; i < b->nevents; i++) {
		for (k = 0; b->place[i] >= 0 && k < shards; k++) {
			sum[i].count += row[k].value[b->place[i]];
			sum[i].enabled_ns += row[k].enabled_ns[b->place[i]];
			sum[i].running_ns += row[k].running_ns[b->place[i]];
		}
	}
	memcpy(ret, sum, sizeof(sum));
	return 0;
}

int bperf_yield(struct bperf *b)
{
	_cleanup_close_ int lock = -1;
	size_t i;
	int rc = probes_lock(probes_dir(b->probes), PROBES_LOCK_WAIT_NS, &lock, NULL);

	if (rc < 0)
		return rc;
	flush(b);
	for (i = 0; i < b->ncpus; i++)
		take_out(&b->maps, b->cpu[i]);
	return 0;
}

static void give_up(struct bperf *b)
{
	_cleanup_close_ int lock = -1;

	/* this needs no lock: a process that holds the lock sees that we do not ask any more */
	if (bperf_claim(&b->maps, b->slot, /* asks= */ false) < 0)
		return;
	if (probes_lock(probes_dir(b->probes), PROBES_LOCK_WAIT_NS, &lock, NULL) < 0)
		return;
	if (!somebody_asks(&b->maps, b->slot))
		take_all_out(&b->maps);
}

void bperf_close(struct bperf *b)
{
	if (!b)
		return;
	if (b->maps.config)
		give_up(b);
	close_maps(&b->maps);
	if (b->running)
		(void)munmap((void *)(uintptr_t)b->running, PROBES_HW_CPUS * sizeof(*b->running));
	free(b);
}

void bperf_reap(struct probes *p)
{
	struct maps m = { 0 };

	if (probes_why(p, PROBES_HW) != PROBES_OK)
		return;
	if (open_maps(p, &m) == 0 && m.config->n && !somebody_asks(&m, /* except= */ 0))
		take_all_out(&m);
	close_maps(&m);
}
