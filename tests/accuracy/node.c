/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "node.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "played.h"
#include "scratch.h"
#include "src/libcore/settings.h"
#include "src/libledger/ledger_book.h"
#include "src/libnode/sampler.h"

#define RANGE_UJ UINT64_C(262143328850)
#define FIRST_UJ (RANGE_UJ - UINT64_C(4000000000)) /* it wraps within a minute */
#define USER_HZ_NS UINT64_C(10000000)

static const char *const mode_node[MODES] = { "counters", "cputime" };

/* What a counter shows, and when it moves next. */
struct counter_show {
	uint64_t uj;
	uint64_t next_ns;
};

/* The files that change at each tick. */
enum node_file { FILE_PACKAGE, FILE_DRAM = SOCKETS, FILE_STAT = 2 * SOCKETS, FILE_MEMINFO, FILES };

#define COUNTERS (2 * SOCKETS) /* the packages, then their memory */

struct node {
	const struct physics *physics;
	const struct scenario *scenario;
	char top[64];
	struct sampler *sampler[MODES];
	struct ledger *ledger[MODES];
	unsigned int slot[MODES][MAX_STEPS];
	bool has_finished[MAX_STEPS]; /* its account is not copied yet */
	struct account account[MODES][MAX_STEPS];
	uint64_t first_uj, last_uj; /* of all sensors, at the first tick and the last */
	bool has_ticked;
	struct counter_show shown[COUNTERS];
	uint32_t draws;
	int fd[FILES]; /* 0: not open yet */
};

static void fail(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(99);
}

/* --- files ------------------------------------------------------------------------------ */

/*
 * Overwrites a file in place with a text of the same length: truncating it first makes some file systems
 * wait for the disk. The files of each tick stay open.
 */
static void put(struct node *n, enum node_file file, const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX];

	if (n->fd[file] <= 0) {
		(void)snprintf(path, sizeof(path), "%s/%s/%s", n->top, folder, name);
		n->fd[file] = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	}
	if (n->fd[file] < 0 || pwrite(n->fd[file], text, strlen(text), 0) != (ssize_t)strlen(text))
		fail("cannot write the node's files");
}

static void put_once(const struct node *n, const char *folder, const char *file, const char *text)
{
	char path[PATH_MAX];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s/%s", n->top, folder, file);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || fileio_write_full(fd, text, strlen(text)) < 0)
		fail("cannot write the node's files");
	(void)close(fd);
}

static void put_new(const struct node *n, const char *folder, const char *file, const char *text)
{
	(void)fileio_mkdir_p(scratch_path(n->top, folder), 0755, NULL);
	put_once(n, folder, file, text);
}

static void put_zone(struct node *n, unsigned int socket, bool is_dram, uint64_t uj)
{
	char folder[64];
	char text[32];

	(void)snprintf(folder, sizeof(folder), "sys/class/powercap/intel-rapl:%u%s", socket,
		       is_dram ? ":0" : "");
	(void)snprintf(text, sizeof(text), "%012llu\n", (unsigned long long)(uj % (RANGE_UJ + 1)));
	put(n, is_dram ? FILE_DRAM + socket : FILE_PACKAGE + socket, folder, "energy_uj", text);
}

static uint64_t sensor_uj(double j)
{
	return (uint64_t)(j * 1e6);
}

static uint64_t now_uj(const struct physics *p, unsigned int counter)
{
	return sensor_uj(counter < SOCKETS ? p->socket_j[counter] : p->dram_socket_j[counter - SOCKETS]);
}

static uint64_t all_shown_uj(const struct node *n)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < COUNTERS; i++)
		sum += n->shown[i].uj;
	return sum;
}

/* A counter that is slow is also a little irregular. */
void node_move_counters(struct node *n)
{
	uint64_t now_ns = n->physics->now_ns;
	uint64_t every_ns = n->scenario->counter_ns;
	unsigned int i;

	for (i = 0; i < COUNTERS; i++) {
		struct counter_show *c = &n->shown[i];

		if (!c->next_ns && every_ns)
			c->next_ns = now_ns + (uint64_t)((double)every_ns * physics_random(&n->draws));
		if (now_ns < c->next_ns)
			continue;
		c->uj = now_uj(n->physics, i);
		c->next_ns += (uint64_t)((double)every_ns * (0.97 + 0.06 * physics_random(&n->draws)));
	}
}

static void put_sensors(struct node *n)
{
	unsigned int s;

	for (s = 0; s < SOCKETS; s++) {
		put_zone(n, s, false, FIRST_UJ + n->shown[s].uj);
		put_zone(n, s, true, FIRST_UJ + n->shown[SOCKETS + s].uj);
	}
}

static void put_proc_stat(struct node *n)
{
	char text[CPUS * 64 + 64];
	uint64_t sum_ns = 0;
	unsigned int i;
	int len;

	for (i = 0; i < CPUS; i++)
		sum_ns += n->physics->cpu_ns[i];
	len = snprintf(text, sizeof(text), "cpu  %010llu 0 0 0 0 0 0 0 0 0\n",
		       (unsigned long long)(sum_ns / USER_HZ_NS));
	for (i = 0; i < CPUS; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "cpu%u %010llu 0 0 0 0 0 0 0 0 0\n",
				i, (unsigned long long)(n->physics->cpu_ns[i] / USER_HZ_NS));
	put(n, FILE_STAT, "proc", "stat", text);
}

static void put_machine(const struct node *n)
{
	char folder[96];
	char text[128];
	unsigned int i;

	for (i = 0; i < SOCKETS; i++) {
		(void)snprintf(folder, sizeof(folder), "sys/class/powercap/intel-rapl:%u", i);
		(void)snprintf(text, sizeof(text), "package-%u\n", i);
		put_new(n, folder, "name", text);
		put_new(n, folder, "max_energy_range_uj", "262143328850\n");
		(void)snprintf(folder, sizeof(folder), "sys/class/powercap/intel-rapl:%u:0", i);
		put_new(n, folder, "name", "dram\n");
		put_new(n, folder, "max_energy_range_uj", "262143328850\n");
	}
	(void)fileio_mkdir_p(scratch_path(n->top, "proc"), 0755, NULL);
	for (i = 0; i < CPUS; i++) {
		(void)snprintf(folder, sizeof(folder), "sys/devices/system/cpu/cpu%u/topology", i);
		(void)snprintf(text, sizeof(text), "%u\n", i / SOCKET_CPUS);
		put_new(n, folder, "physical_package_id", text);
		(void)snprintf(text, sizeof(text), "%u-%u\n", i & ~1u, i | 1);
		put_new(n, folder, "thread_siblings_list", text);
	}
}

/* The memory that the present steps and the system hold. */
static void put_meminfo(struct node *n)
{
	const struct scenario *s = n->scenario;
	uint64_t mb = SYSTEM_MEM_MB;
	char text[128];
	unsigned int i;

	for (i = 0; i < s->nsteps; i++)
		if (n->physics->now_ns >= s->step[i].from_ns && n->physics->now_ns < s->step[i].until_ns)
			mb += s->step[i].used_mb;
	(void)snprintf(text, sizeof(text), "MemTotal: %llu kB\nAnonPages: %010llu kB\nShmem: 0 kB\n",
		       (unsigned long long)NODE_MEM_MB << 10, (unsigned long long)mb << 10);
	put(n, FILE_MEMINFO, "proc", "meminfo", text);
}

/* --- the samplers ----------------------------------------------------------------------- */

static void open_sampler(struct node *n, enum node_mode mode)
{
	struct errmsg err = { 0 };
	struct settings s = { 0 };

	(void)kvconf_defaults(settings_keys, settings_nkeys, &s, NULL);
	s.bpf_dir[0] = '\0';
	(void)snprintf(s.energy_sources, sizeof(s.energy_sources), "rapl");
	(void)snprintf(s.sys_root, sizeof(s.sys_root), "%s", n->top);
	(void)snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s", n->top);
	played_set_counters(mode == MODE_COUNTERS);
	if (sampler_create(&s, mode_node[mode], &n->sampler[mode], &err) < 0 ||
	    ledger_open(n->top, mode_node[mode], /* writable= */ true, &n->ledger[mode], &err) < 0)
		fail(err.text);
	sampler_set_capacity(n->sampler[mode], CPUS, NODE_MEM_MB);
}

struct node *node_create(const struct physics *p, const struct scenario *s)
{
	struct node *n = calloc(1, sizeof(*n));
	unsigned int m;

	if (!n)
		fail("no memory");
	n->physics = p;
	n->scenario = s;
	(void)snprintf(n->top, sizeof(n->top), "%s", SCRATCH_TEMPLATE);
	if (!mkdtemp(n->top))
		fail("no scratch folder");
	n->draws = 2463534242u;
	put_machine(n);
	put_sensors(n);
	put_proc_stat(n);
	put_meminfo(n);
	played_set(p, s);
	for (m = 0; m < MODES; m++)
		open_sampler(n, m);
	return n;
}

void node_destroy(struct node *n)
{
	unsigned int m;

	for (m = 0; m < MODES; m++) {
		ledger_close(n->ledger[m]);
		sampler_destroy(n->sampler[m]);
	}
	played_set(NULL, NULL);
	for (m = 0; m < FILES; m++)
		(void)close(n->fd[m]);
	scratch_clear(n->top);
	(void)rmdir(n->top);
	free(n);
}

static void take_account(struct node *n, unsigned int step)
{
	unsigned int m;

	for (m = 0; m < MODES; m++) {
		if (ledger_step_energy(n->ledger[m], n->slot[m][step], &n->account[m][step]) < 0)
			fail("a step has no account");
		ledger_leave(n->ledger[m], n->slot[m][step]);
	}
	n->has_finished[step] = false;
}

void node_tick(struct node *n)
{
	unsigned int i;
	unsigned int m;

	put_sensors(n);
	put_proc_stat(n);
	put_meminfo(n);
	n->last_uj = all_shown_uj(n);
	if (!n->has_ticked)
		n->first_uj = n->last_uj;
	n->has_ticked = true;
	for (m = 0; m < MODES; m++)
		if (sampler_tick(n->sampler[m]) < 0)
			fail("a tick failed");
	for (i = 0; i < n->scenario->nsteps; i++)
		if (n->has_finished[i])
			take_account(n, i);
}

/* --- steps ------------------------------------------------------------------------------ */

void node_claim(struct node *n, unsigned int step)
{
	const struct step_plan *plan = &n->scenario->step[step];
	struct ledger_identity id = {
		.job_id = plan->job_id,
		.step_id = step,
		.het_comp = LEDGER_HET_NONE,
		.node_count = 1,
		.job_cpus = plan->ncpus,
		.step_cpus = plan->ncpus,
		.job_mem_mb = plan->mem_mb,
		.step_mem_mb = plan->mem_mb,
	};
	unsigned int i;
	unsigned int m;

	for (i = 0; i < plan->ncpus; i++)
		id.step_socket_cpus[plan->cpu[i] / SOCKET_CPUS]++;
	memcpy(id.job_socket_cpus, id.step_socket_cpus, sizeof(id.job_socket_cpus));
	for (m = 0; m < MODES; m++)
		if (ledger_claim(n->ledger[m], &id, &n->slot[m][step]) < 0)
			fail("no slot in the ledger");
}

void node_attach(struct node *n, unsigned int step)
{
	unsigned int m;

	for (m = 0; m < MODES; m++) {
		struct ledger_slot *slot = ledger_slot(n->ledger[m], n->slot[m][step]);

		(void)snprintf(slot->cgroup.v2, sizeof(slot->cgroup.v2), "/step_%u", step);
		atomic_store(&slot->cgroup_known, 1);
	}
}

void node_finish(struct node *n, unsigned int step)
{
	struct account unused;
	unsigned int m;

	/* no wait: this thread makes the tick itself, afterwards */
	for (m = 0; m < MODES; m++)
		if (ledger_finish(n->ledger[m], n->slot[m][step], n->physics->step_ns[step],
				  /* timeout_ns= */ 0, &unused) == 0)
			fail("a tick that nobody asked for");
	n->has_finished[step] = true;
}

/* --- results ---------------------------------------------------------------------------- */

const struct account *node_account(const struct node *n, enum node_mode mode, unsigned int step)
{
	return &n->account[mode][step];
}

uint64_t node_unbalanced_uj(const struct node *n, enum node_mode mode)
{
	const struct ledger_page *page = ledger_current(n->ledger[mode]);

	return ledger_page_error_uj(page) + page->conservation_error_uj;
}

uint64_t node_measured_uj(const struct node *n, enum node_mode mode)
{
	return account_total_uj(&ledger_current(n->ledger[mode])->measured);
}

uint64_t node_held_uj(const struct node *n, enum node_mode mode)
{
	const struct ledger_page *page = ledger_current(n->ledger[mode]);
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < page->nparts; i++)
		sum += page->part[i].held_uj;
	return sum;
}

uint64_t node_shown_uj(const struct node *n)
{
	return n->last_uj - n->first_uj;
}
