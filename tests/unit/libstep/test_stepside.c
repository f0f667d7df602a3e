/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmstepd's side of a step, mostly with a sampler that does not answer.
 */
#define _GNU_SOURCE /* pipe2, posix_openpt */
#include "src/libstep/stepside.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "fake_sampler.h"
#include "src/libcore/forbid.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

static const struct {
	const char *list;
	uint32_t n;
} lists[] = {
	{ NULL, 0 },	  { "", 0 },  { "x", 0 }, { "3-", 0 },	{ "4-2", 0 },	{ "1;2", 0 },
	{ "0-99999", 0 }, { "0", 1 }, { "7", 1 }, { "0-3", 4 }, { "0-1,8", 3 }, { "0,2,4-7", 6 },
};

static void test_lists(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		is_u64(stepside_count_cores(lists[i].list), lists[i].n,
		       lists[i].list ? lists[i].list : "no list");
}

static const struct {
	const char *name, *list;
	uint32_t node_cores;
	uint32_t socket_cpus[SOCKETS_MAX];
	uint32_t cpus[SOCKETS_MAX];
} spreads[] = {
	{ "no list", NULL, 8, { 8, 8 }, { 0 } },
	{ "a malformed one", "0-3,x", 8, { 8, 8 }, { 0 } },
	{ "a core that the node has not", "0-8", 8, { 8, 8 }, { 0 } },
	{ "the sampler has not ticked yet", "0-3", 8, { 0 }, { 0 } },
	{ "cores that do not divide", "0-3", 9, { 8, 8 }, { 0 } },
	{ "cores are not known", "0-3", 0, { 8, 8 }, { 0 } },
	{ "one socket", "0-3", 8, { 16 }, { 8 } },
	{ "the first of two", "0-3", 8, { 8, 8 }, { 8, 0 } },
	{ "both", "2-5,7", 8, { 8, 8 }, { 4, 6 } },
	{ "sockets 0 and 2", "2-5,7", 8, { 8, 0, 8 }, { 4, 0, 6 } },
};

static void test_spread(void)
{
	struct stepside_cores cores = { .cpus_per_core = 2 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(spreads); i++) {
		uint32_t cpus[SOCKETS_MAX] = { 99 };

		cores.node_cores = spreads[i].node_cores;
		stepside_spread_cores(spreads[i].list, &cores, spreads[i].socket_cpus, cpus);
		ok(!memcmp(cpus, spreads[i].cpus, sizeof(cpus)), "sockets: %s", spreads[i].name);
	}
}

/* Nothing is known of sockets. */
static const struct stepside_cores no_cores;

static void test_no_sampler(const char *dir)
{
	const struct ledger_identity id = { .job_id = 1, .job_cpus = 1, .step_cpus = 1 };
	struct stepside *st = NULL;
	struct settings s = { 0 };
	struct errmsg err = { 0 };

	snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s", dir);
	is_int(stepside_open(&s, "n1", &id, &no_cores, &st, &err), -ENOENT, "no sampler ran on this node");
	ok(!st && err.text[0], "  which is said: %s", err.text);
	stepside_close(NULL);
}

/* A report of a step whose stderr is a pipe that nobody reads. */
static void test_report(struct stepside *st, struct ledger_slot *slot, const struct values *f)
{
	char buf[8192] = "";
	ssize_t n;
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return;
	stepside_report(st, f, p[1]);
	(void)fcntl(p[0], F_SETFL, O_NONBLOCK);
	ok(read(p[0], buf, sizeof(buf)) < 0, "no report without --ceems-report");
	slot->flags |= LEDGER_FLAG_REPORT;
	stepside_report(st, f, p[1]);
	n = read(p[0], buf, sizeof(buf) - 1);
	ok(n > 0, "a report with it");
	buf[n > 0 ? n : 0] = '\0';
	ok(strstr(buf, "n/a") != NULL, "  that says what is not known");
	(void)fcntl(p[1], F_SETFL, O_NONBLOCK);
	while (write(p[1], buf, sizeof(buf)) > 0)
		;
	(void)fcntl(p[1], F_SETFL, 0);
	stepside_report(st, f, p[1]);
	ok(true, "a full pipe does not hold us up");
	close(p[0]);
	close(p[1]);
}

/* Writes up to LEN bytes without waiting; how many were taken. */
static size_t stuff(int fd, size_t len)
{
	size_t done = 0;
	ssize_t n;

	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	while (done < len && (n = write(fd, "x", 1)) == 1)
		done++;
	(void)fcntl(fd, F_SETFL, 0);
	return done;
}

static int open_terminal(int *ret_master)
{
	char name[64];
	int fd = -1;

	*ret_master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*ret_master >= 0 && grantpt(*ret_master) == 0 && unlockpt(*ret_master) == 0 &&
	    ptsname_r(*ret_master, name, sizeof(name)) == 0)
		fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return fd;
}

/* A terminal polls writable as long as it has room for one byte, and then waits for the rest. */
static void test_report_terminal(struct stepside *st, const struct values *f)
{
	int master[2], slave[2];
	size_t room;

	slave[0] = open_terminal(&master[0]);
	slave[1] = open_terminal(&master[1]);
	if (slave[0] < 0 || slave[1] < 0) {
		skip(1, "no pseudo-terminal");
	} else {
		room = stuff(slave[0], SIZE_MAX);
		(void)stuff(slave[1], room > 100 ? room - 100 : 0);
		(void)alarm(60); /* the default action ends us, which is the failure */
		stepside_report(st, f, slave[1]);
		(void)alarm(0);
		ok(true, "a terminal with little room does not hold us up");
	}
	for (room = 0; room < 2; room++) {
		if (master[room] >= 0)
			close(master[room]);
		if (slave[room] >= 0)
			close(slave[room]);
	}
}

/* Its reader may be slow, or gone. */
static void test_report_socket(struct stepside *st, const struct values *f)
{
	char buf[8192];
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) < 0)
		return;
	stepside_report(st, f, s[0]);
	ok(recv(s[1], buf, sizeof(buf), MSG_DONTWAIT) > 0, "a socket gets it too");
	while (send(s[0], buf, 64, MSG_DONTWAIT) > 0)
		;
	stepside_report(st, f, s[0]);
	ok(true, "a full socket does not hold us up");
	close(s[1]);
	stepside_report(st, f, s[0]);
	ok(true, "nor does one that is closed");
	close(s[0]);
}

/* A file gets it at the end of what is there, whoever wrote that. */
static void test_report_file(struct stepside *st, const struct values *f)
{
	FILE *file = tmpfile();
	char buf[16] = "";

	if (!file)
		return;
	is_int(write(fileno(file), "before\n", 7), 7, "a file");
	stepside_report(st, f, fileno(file));
	ok(lseek(fileno(file), 0, SEEK_CUR) > 100, "  gets the report");
	is_int(pread(fileno(file), buf, 12, 0), 12, "  and");
	is_str(buf, "before\nceems", "  keeps what it has");
	fclose(file);
}

static void test_life(const char *dir)
{
	const struct ledger_identity id = {
		.job_id = 1,
		.step_id = 0,
		.het_comp = LEDGER_HET_NONE,
		.node_count = 1,
		.job_cpus = 1,
		.step_cpus = 1,
	};
	struct settings s = { 0 };
	struct errmsg err = { 0 };
	struct stepside *st = NULL;
	struct ledger *l = NULL;
	struct values f;
	unsigned int slot = 0;
	uint64_t uj, mw, elapsed_ns = 0;
	const pid_t gone = 0x7fffffff, self = getpid();
	bool fresh;

	snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s", dir);
	snprintf(s.perf_default, sizeof(s.perf_default), "sw");
	snprintf(s.forbid_options, sizeof(s.forbid_options), "partition:debug:sw+trace");
	if (ledger_create(dir, "n1", &l, &fresh, &err) < 0 ||
	    stepside_open(&s, "n1", &id, &no_cores, &st, &err) < 0) {
		ok(false, "opens: %s", err.text);
		return;
	}
	is_int(ledger_find(l, getpid(), &slot), 0, "the step has a slot");
	is_u64(ledger_slot(l, slot)->request.groups, PERF_GROUP_SW, "PerfDefault is its request");
	stepside_forbid(st, "batch", "physics");
	is_u64(ledger_slot(l, slot)->request.groups, PERF_GROUP_SW, "  also for a job that no rule is about");
	stepside_forbid(st, NULL, "physics");
	is_u64(ledger_slot(l, slot)->forbidden, PERF_GROUP_SW | FORBID_TRACE,
	       "a partition that is not known may have nothing");
	is_u64(ledger_slot(l, slot)->request.groups, 0, "  of PerfDefault either");
	is_int(stepside_energy(st, &uj, &mw), -ENODATA, "no tick, no energy: not 0");
	ledger_slot(l, slot)->request = (struct perf_request){ .groups = PERF_GROUP_NET }; /* as spank does */
	stepside_poll(st);
	ok(!stepside_attach(st, &gone, 1), "no such task");
	ok(stepside_attach(st, &self, 1), "a task");
	ok(stepside_attach(st, &gone, 1), "the first time counts");
	stepside_poll(st);
	stepside_finish(st, UINT64_C(5000000000000), &f, &elapsed_ns);
	ok(elapsed_ns < 60 * NSEC_PER_SEC, "the end does not wait for a sampler that is gone");
	ok(!values_has(&f, METRIC_ENERGY), "energy is not known");
	is_u64(f.value[METRIC_CPU_TIME], UINT64_C(5000000000000), "CPU time is the larger one, wait4's");
	is_int(f.reason[METRIC_IO_READ_BYTES], REASON_NO_BPF, "I/O was not counted: no BPF");
	is_int(f.reason[METRIC_SENT_PACKETS], REASON_NO_BPF, "nor were packets, which were asked for");
	is_int(f.reason[METRIC_HOME_READ_BYTES], REASON_NOT_ASKED, "what was not asked for says so");
	test_report(st, ledger_slot(l, slot), &f);
	test_report_terminal(st, &f);
	test_report_socket(st, &f);
	test_report_file(st, &f);
	stepside_close(st);
	ledger_close(l);
}

#define MIB (UINT64_C(1) << 20)

/* --- less memory, pauses ------------------------------------------------------------------------ */

/* What the sampler saw of a step of 100 MiB, and the memory that Slurm left it then; 0: it left all. */
struct past {
	uint32_t step_id;
	uint64_t peak_bytes, limit_mb, suspended_ns;
};

static void finish_after(const char *dir, const struct past *past, struct values *ret,
			 uint64_t *ret_elapsed_ns)
{
	const struct ledger_identity id = { .job_id = 71,
					    .step_id = past->step_id,
					    .het_comp = LEDGER_HET_NONE,
					    .job_mem_mb = 100,
					    .step_mem_mb = 100,
					    .limit_mem_mb = 100 };
	struct settings s = { 0 };
	struct errmsg err = { 0 };
	struct fake_sampler f;
	struct stepside *st = NULL;
	struct ledger_page *page;
	unsigned int i;

	snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s", dir);
	require(fake_start(&f, dir, "n1", &err) == 0);
	require(stepside_open(&s, "n1", &id, &no_cores, &st, &err) == 0);
	(void)fake_tick(&f, 0, 0, 0);
	page = ledger_begin(f.l);
	page->t_mono_ns = 1; /* so long ago that the extern step does not wait for slurmd */
	for (i = 0; i < page->nsteps; i++) {
		page->step[i].memory = (struct ledger_memory){ .read_mono_ns = 1,
							       .peak_bytes = past->peak_bytes };
		page->step[i].suspended_ns = past->suspended_ns;
	}
	ledger_turn(f.l);
	if (past->limit_mb)
		stepside_set_memory(st, past->limit_mb, past->limit_mb, past->limit_mb);
	stepside_wait(st, 0);
	stepside_finish(st, 0, ret, ret_elapsed_ns);
	stepside_close(st);
	fake_stop(&f);
}

static void test_memory(const char *dir)
{
	static const struct {
		const char *what;
		struct past past;
		uint64_t mib;
	} t[] = {
		{ "the memory that the step had from the start", { .peak_bytes = 1 }, 100 },
		{ "the memory that Slurm left the step", { .limit_mb = 20 }, 20 },
		{ "  but no less than it held before", { .peak_bytes = 30 * MIB - 1, .limit_mb = 20 }, 30 },
		{ "  nor more than it had", { .peak_bytes = 200 * MIB, .limit_mb = 20 }, 100 },
		{ "of the job: the extern step's", { .step_id = LEDGER_STEP_EXTERN, .limit_mb = 20 }, 20 },
	};
	struct values values;
	uint64_t elapsed_ns;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		finish_after(dir, &t[i].past, &values, &elapsed_ns);
		is_u64(values.value[METRIC_MEMORY_ALLOCATED], t[i].mib * MIB, t[i].what);
	}
}

static void test_suspended(const char *dir)
{
	const struct past ran = { .peak_bytes = 1 }, paused = { .suspended_ns = UINT64_MAX / 2 };
	struct values values;
	uint64_t elapsed_ns;

	finish_after(dir, &ran, &values, &elapsed_ns);
	ok(elapsed_ns > 0, "a step that ran");
	finish_after(dir, &paused, &values, &elapsed_ns);
	is_u64(elapsed_ns, 0, "  that was suspended all the time");
}

/* --- a row of a series -------------------------------------------------------------------------- */

/* Answers one request. */
/* How long a step and its sampler wait for each other: as long as it takes on a busy machine. */
#define ANSWER_NS (60 * NSEC_PER_SEC)

static void *sampler_answer(void *arg)
{
	struct fake_sampler *f = arg;

	if (ledger_wait_request(f->l, UINT64_MAX, clock_mono_ns() + ANSWER_NS))
		(void)fake_tick(f, 0, 5000000, 0);
	return NULL;
}

static void test_sample(const char *dir)
{
	const struct ledger_identity id = {
		.job_id = 70,
		.step_id = 0,
		.het_comp = LEDGER_HET_NONE,
		.node_count = 1,
		.job_cpus = 8,
		.step_cpus = 8,
		.step_mem_mb = 100,
		.limit_mem_mb = 100,
	};
	struct settings s = { 0 };
	struct errmsg err = { 0 };
	struct fake_sampler f;
	struct stepside *st = NULL;
	struct account a;
	struct values values;
	bool has_all = true;
	unsigned int slot;
	pthread_t thread;
	uint64_t ticks;

	snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s", dir);
	if (fake_start(&f, dir, "n1", &err) < 0 || stepside_open(&s, "n1", &id, &no_cores, &st, &err) < 0) {
		ok(false, "opens: %s", err.text);
		return;
	}
	is_int(stepside_sample(st, &values, &has_all), -ETIMEDOUT, "no row if the sampler does not answer");
	(void)ledger_wait_request(f.l, 0, 0);
	(void)fake_tick(&f, 0, 0, 0);
	ticks = ledger_current(f.l)->ticks;
	stepside_wait(st, ANSWER_NS);
	if (pthread_create(&thread, NULL, sampler_answer, &f)) {
		ok(false, "a thread");
		return;
	}
	is_int(stepside_sample(st, &values, &has_all), 0, "a row");
	(void)pthread_join(thread, NULL);
	is_u64(ledger_current(f.l)->ticks, ticks + 1, "for which there was a tick");
	is_int(ledger_find(f.l, getpid(), &slot), 0, "the slot");
	is_int(ledger_step_energy(f.l, slot, &a), 0, "its account");
	ok(account_total_uj(&a) > 0, "has energy");
	is_u64(values.value[METRIC_ENERGY], account_total_uj(&a), "which the row has");
	ok(values_has(&values, METRIC_CO2E), "emissions, too");
	ok(!has_all && !values_has(&values, METRIC_IO_READ_BYTES), "I/O was not read yet");
	values_init(&values);
	values_set(&values, METRIC_IO_READ_BYTES, 42);
	ledger_set_live(f.l, slot, ledger_slot(f.l, slot)->claim, &values);
	(void)pthread_create(&thread, NULL, sampler_answer, &f);
	is_int(stepside_sample(st, &values, &has_all), 0, "the next");
	(void)pthread_join(thread, NULL);
	ok(has_all, "has all");
	is_u64(values.value[METRIC_IO_READ_BYTES], 42, "I/O");
	stepside_close(st);
	fake_stop(&f);
}

/* --- RDMA ports ------------------------------------------------------------------------------- */

static void write_port(const char *root, const char *file, unsigned long long value)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/sys/class/infiniband/mlx5_0/ports/1/counters/%s", root, file);
	f = fopen(path, "we");
	if (!f || fprintf(f, "%llu\n", value) < 0 || fclose(f))
		ok(false, "%s", path);
}

/* Both directions, in the adapter's unit of 4 bytes. */
static void carry(const char *root, unsigned long long bytes)
{
	write_port(root, "port_rcv_data", bytes / 4);
	write_port(root, "port_xmit_data", bytes / 4);
}

static struct stepside *step_begin(const struct settings *s, uint32_t step_id, uint32_t job_id)
{
	const struct ledger_identity id = {
		.job_id = job_id,
		.step_id = step_id,
		.het_comp = LEDGER_HET_NONE,
		.node_count = 1,
		.job_cpus = 8,
		.step_cpus = 8,
	};
	const struct stepside_cores all = {
		.job = "0-3", .step = "0-3", .node_cores = 4, .cpus_per_core = 2
	};
	const pid_t self = getpid();
	struct stepside *st;
	struct ledger *l;
	unsigned int i;

	if (stepside_open(s, "n1", &id, &all, &st, NULL) < 0)
		return NULL;
	if (ledger_open(s->ledger_dir, "n1", true, &l, NULL) == 0) { /* as spank does */
		for (i = 0; i < LEDGER_STEPS; i++)
			if (ledger_slot(l, i)->id.job_id == job_id &&
			    ledger_slot(l, i)->id.step_id == step_id)
				ledger_slot(l, i)->request.groups = PERF_GROUP_NET;
		ledger_close(l);
	}
	(void)stepside_attach(st, &self, 1);
	return st;
}

/* Bytes received; 0: somebody else's. */
static uint64_t step_end(struct stepside *st)
{
	uint64_t elapsed_ns;
	struct values f;

	stepside_finish(st, 0, &f, &elapsed_ns);
	stepside_close(st);
	return values_has(&f, METRIC_RDMA_RECEIVED_BYTES) ? f.value[METRIC_RDMA_RECEIVED_BYTES] :
	       f.reason[METRIC_RDMA_RECEIVED_BYTES] == REASON_SHARED_NODE ? 0 :
									    UINT64_MAX;
}

/* All steps of a job see the same ports: their sum must not have them twice. */
static void test_ports(const char *dir)
{
	struct stepside *batch, *first, *second, *third, *other;
	struct settings s = { 0 };
	struct ledger *l;
	bool fresh;
	char cmd[320];

	snprintf(s.ledger_dir, sizeof(s.ledger_dir), "%s", dir);
	snprintf(s.sys_root, sizeof(s.sys_root), "%s", dir);
	snprintf(cmd, sizeof(cmd), "mkdir -p '%s/sys/class/infiniband/mlx5_0/ports/1/counters'", dir);
	if (system(cmd) || ledger_create(dir, "n1", &l, &fresh, NULL) < 0) {
		ok(false, "a port");
		return;
	}
	carry(dir, 4000);
	batch = step_begin(&s, LEDGER_STEP_BATCH, 9);
	first = step_begin(&s, 0, 9);
	second = step_begin(&s, 1, 9);
	other = step_begin(&s, 0, 10);
	if (!ok(batch && first && second && other, "a batch step, two in it, another job's"))
		return;
	carry(dir, 7000);
	is_u64(step_end(second), 0, "of two steps at once the second does not count ports");
	is_u64(step_end(first), 3000, "the first does");
	third = step_begin(&s, 2, 9);
	carry(dir, 9000);
	is_u64(step_end(third), 2000, "the next one goes on where it ended");
	is_u64(step_end(batch), 0, "the batch step does not, or the job had it twice");
	is_u64(step_end(other), 5000, "another job is none of theirs");
	ledger_close(l);
}

/* --- one step, and a sampler that has ticked before it ------------------------------------------- */

#define STEP_BUSY_NS 1000

struct rig {
	struct fake_sampler sampler;
	const char *dir, *node;
	struct settings s;
	struct stepside *st;
	struct values f;
	uint64_t elapsed_ns;
};

/* The sampler's last tick was AGO_NS before. */
static bool rig_open(struct rig *r, uint32_t job_id, uint32_t step_id, uint64_t ago_ns)
{
	const struct ledger_identity id = {
		.job_id = job_id,
		.step_id = step_id,
		.het_comp = LEDGER_HET_NONE,
		.node_count = 1,
		.job_cpus = 1,
		.step_cpus = 1,
	};

	snprintf(r->s.ledger_dir, sizeof(r->s.ledger_dir), "%s", r->dir);
	return ok(fake_start(&r->sampler, r->dir, r->node, NULL) == 0 &&
			  fake_tick(&r->sampler, clock_mono_ns() - ago_ns, 0, 0) == 0 &&
			  stepside_open(&r->s, r->node, &id, &no_cores, &r->st, NULL) == 0,
		  "job %u on %s", job_id, r->node);
}

static void rig_finish(struct rig *r)
{
	stepside_finish(r->st, STEP_BUSY_NS, &r->f, &r->elapsed_ns);
}

static void rig_close(struct rig *r)
{
	stepside_close(r->st);
	fake_stop(&r->sampler);
}

/* Returns METRIC_ENERGY_NODES, or -1. */
static int rig_energy_nodes(const struct rig *r)
{
	return values_has(&r->f, METRIC_ENERGY) && values_has(&r->f, METRIC_ENERGY_NODES) ?
		       (int)r->f.value[METRIC_ENERGY_NODES] :
		       -1;
}

/*
 * A node that lost a source while the step ran does not count as one whose energy is
 * known. The lag is the largest.
 */
static void test_lost_source(const char *dir, bool is_lost)
{
	struct rig r = { .dir = dir, .node = "n1" };
	pthread_t thread;
	uint64_t uj;

	if (!rig_open(&r, 4, 0, 0))
		return;
	r.sampler.is_lost = is_lost;
	r.sampler.lag_ns = 5 * NSEC_PER_SEC;
	ok(fake_tick(&r.sampler, 0, 1000, 0) == 0, "ticks");
	r.sampler.lag_ns = NSEC_PER_SEC;
	stepside_wait(r.st, ANSWER_NS);
	if (pthread_create(&thread, NULL, sampler_answer, &r.sampler)) {
		ok(false, "a thread");
		return;
	}
	rig_finish(&r);
	(void)pthread_join(thread, NULL);
	is_int(rig_energy_nodes(&r), !is_lost,
	       is_lost ? "  its energy is a lower bound" : "  its energy is known");
	ok(values_has(&r.f, METRIC_ENERGY_DOUBT) == is_lost &&
		   (!is_lost || r.f.value[METRIC_ENERGY_DOUBT] == 1000 * DOUBT_LOST),
	   "  and which domain, and why");
	ok(values_has(&r.f, METRIC_LATE_NODES) && !r.f.value[METRIC_LATE_NODES],
	   "  its last tick came in time");
	ok(values_has(&r.f, METRIC_SENSOR_LAG) && r.f.value[METRIC_SENSOR_LAG] == 5 * NSEC_PER_SEC,
	   "  and its sensors were at most 5 s behind");
	uj = r.f.value[METRIC_ENERGY];
	stepside_round(r.st, &r.f);
	ok(r.f.value[METRIC_ENERGY] == UJ_PER_J * unit_round(uj, UJ_PER_J) && uj % UJ_PER_J,
	   "  and of its microjoules Slurm is told whole joules");
	rig_close(&r);
}

/* While slurmd is away, RAPL is read in its place, once in STEPSIDE_NOTE_NS; not while it lives. */
static void test_stands_in(const char *dir)
{
	struct rig r = { .dir = dir, .node = "n1" };
	const struct ledger_identity id = { .job_id = 5, .het_comp = LEDGER_HET_NONE };
	struct source_notes notes;
	struct ledger_page *page;
	char cmd[512];

	if (!rig_open(&r, 4, 0, 0))
		return;
	(void)snprintf(
		cmd, sizeof(cmd),
		"d='%s'/sys/class/powercap/intel-rapl:0; mkdir -p \"$d\" && echo package-0 >\"$d/name\" && "
		"echo 1000 >\"$d/max_energy_range_uj\" && echo 7 >\"$d/energy_uj\"",
		dir);
	is_int(system(cmd), 0, "a counter");
	(void)snprintf(r.s.sys_root, sizeof(r.s.sys_root), "%s", dir);
	page = ledger_map_page(r.sampler.l, atomic_load(&r.sampler.l->file->turns));
	is_int(source_state_put(&page->state[SOURCE_RAPL], "intel-rapl:0", 990), 0, "its base");
	page->t_mono_ns -= 60 * NSEC_PER_SEC;
	stepside_poll(r.st);
	ledger_notes(r.sampler.l, &notes);
	is_u64(notes.n, 0, "slurmd holds the ledger, so it is not away");
	stepside_close(r.st);
	is_int(stepside_open(&r.s, "n1", &id, &no_cores, &r.st, NULL), 0, "another step");
	fake_stop(&r.sampler);
	stepside_poll(r.st);
	is_int(fake_start(&r.sampler, dir, "n1", NULL), 0, "slurmd is back");
	ledger_notes(r.sampler.l, &notes);
	ok(notes.n == 1 && notes.note[0].note.used_uj == 18 &&
		   notes.note[0].note.after_ns >= 60 * NSEC_PER_SEC,
	   "it finds what the counter had meanwhile");
	ok(fake_tick(&r.sampler, 0, 0, 0) == 0, "ticks");
	ledger_notes(r.sampler.l, &notes);
	is_u64(notes.n, 0, "and then it is of the past");
	rig_close(&r);
}

/* A node all of whose sensors were lost or stood still: the energy is not 0 J, but unknown. */
static void test_all_lost(const char *dir)
{
	struct rig r = { .dir = dir, .node = "n1" };
	pthread_t thread;

	if (!rig_open(&r, 5, 0, 0))
		return;
	r.sampler.is_lost = r.sampler.is_silent = true;
	ok(fake_tick(&r.sampler, 0, 0, 1000) == 0, "ticks");
	stepside_wait(r.st, ANSWER_NS);
	if (pthread_create(&thread, NULL, sampler_answer, &r.sampler)) {
		ok(false, "a thread");
		return;
	}
	rig_finish(&r);
	(void)pthread_join(thread, NULL);
	ok(!values_has(&r.f, METRIC_CPU_ENERGY) && !values_has(&r.f, METRIC_SOURCE_RAPL),
	   "CPU energy of 0 J from a lost sensor is unknown");
	is_str(metric_reason_text((enum metric_reason)r.f.reason[METRIC_CPU_ENERGY]), "a sensor failed",
	       "  for that reason");
	ok(values_has(&r.f, METRIC_DRAM_ENERGY), "  that of the memory is known");
	is_int(rig_energy_nodes(&r), 0, "  so the whole is a lower bound");
	rig_close(&r);
}

/* A sampler that is gone when the step begins. */
static void test_unseen(const char *dir)
{
	struct rig r = { .dir = dir, .node = "n1" };

	if (!rig_open(&r, 3, 0, 0))
		return;
	rig_finish(&r);
	ok(!values_has(&r.f, METRIC_ENERGY), "no tick has seen the step: its energy is not 0");
	is_u64(r.f.value[METRIC_LATE_NODES], 1, "  as its last tick did not come");
	ok(values_has(&r.f, METRIC_ENERGY_NODES) && !r.f.value[METRIC_ENERGY_NODES], "  no node knows it");
	ok(values_has(&r.f, METRIC_CPU_TIME), "what it says itself is there");
	rig_close(&r);
}

/* With jobacct_gather/none no task is seen here; the SPANK plugin counts, and publishes in the slot. */
static void test_counted_by_spank(const char *dir)
{
	struct rig r = { .dir = dir, .node = "n1" };
	struct values told;
	unsigned int slot;

	if (!rig_open(&r, 4, 0, 0) || !ok(ledger_find(r.sampler.l, getpid(), &slot) == 0, "its slot"))
		return;
	values_init(&told);
	values_set(&told, METRIC_HOME_READ_BYTES, 4096);
	values_miss(&told, METRIC_CYCLES, REASON_NO_PMU);
	ledger_tell(r.sampler.l, slot, &told);
	rig_finish(&r);
	is_u64(values_has(&r.f, METRIC_HOME_READ_BYTES) ? r.f.value[METRIC_HOME_READ_BYTES] : 0, 4096,
	       "what the SPANK plugin counted is among the final values");
	is_int(r.f.reason[METRIC_CYCLES], REASON_NO_PMU, "  and why it counted no cycles");
	is_u64(r.f.value[METRIC_CPU_TIME], STEP_BUSY_NS, "  beside what the step knows itself");
	ok(ledger_told(ledger_slot(r.sampler.l, slot), &told) && values_has(&told, METRIC_HOME_READ_BYTES) &&
		   values_has(&told, METRIC_CPU_TIME),
	   "  the sampler has both");
	rig_close(&r);
}

/* A requeued job that came back before the next tick would go on with the account of its last run. */
static void test_extern_leaves(const char *dir)
{
	struct rig r = { .dir = dir, .node = "n1" };

	if (!rig_open(&r, 2, LEDGER_STEP_EXTERN, 0))
		return;
	(void)ledger_wait_request(r.sampler.l, 0, 0);
	stepside_close(r.st);
	ok(ledger_wait_request(r.sampler.l, 0, 0), "the extern step has its job's account closed");
	fake_stop(&r.sampler);
}

/* --- slurmd is not there when a step ends --------------------------------------------------------- */

#define MEANWHILE_UJ 50000000 /* more than an idle node needs */

/* slurmd, which is started again a second after the step has asked for its last tick. */
static void *sampler_return(void *arg)
{
	struct rig *r = arg;

	(void)usleep(1000000);
	if (fake_start(&r->sampler, r->dir, r->node, NULL) < 0)
		return NULL;
	r->sampler.node_busy_ns = STEP_BUSY_NS; /* nobody else used the CPUs */
	(void)fake_tick(&r->sampler, 0, MEANWHILE_UJ, 0);
	return NULL;
}

/* Ends step STEP_ID, whose slurmd was last seen AGO_NS before. Returns how long that took. */
static uint64_t rig_end_without(struct rig *r, uint32_t step_id, uint64_t ago_ns, bool returns)
{
	uint64_t took_ns;
	pthread_t thread;

	if (!rig_open(r, 5, step_id, ago_ns))
		return 0;
	ok(fake_tick(&r->sampler, clock_mono_ns() - ago_ns, 1000, 0) == 0, "  has a tick");
	fake_stop(&r->sampler);
	if (returns && pthread_create(&thread, NULL, sampler_return, r))
		return 0;
	took_ns = clock_mono_ns();
	rig_finish(r);
	took_ns = clock_mono_ns() - took_ns;
	if (returns)
		(void)pthread_join(thread, NULL);
	rig_close(r);
	return took_ns;
}

static void test_absence(const char *dir)
{
	struct rig step = { .dir = dir, .node = "n2" }, seen = { .dir = dir, .node = "n3" };
	struct rig silent = { .dir = dir, .node = "n4" }, gone = { .dir = dir, .node = "n5" };

	ok(rig_end_without(&step, 0, 0, /* returns= */ false) < STEPSIDE_RESTART_NS,
	   "a step does not wait for slurmd");
	is_int(rig_energy_nodes(&step), 0, "  its energy is a lower bound");
	ok(rig_end_without(&seen, LEDGER_STEP_EXTERN, 0, /* returns= */ true) < STEPSIDE_RESTART_NS,
	   "the extern step waits until slurmd is there again");
	ok(values_has(&seen.f, METRIC_ENERGY) && seen.f.value[METRIC_ENERGY] >= MEANWHILE_UJ / 2,
	   "  and reports what was used meanwhile");
	is_int(rig_energy_nodes(&seen), 1, "  which is all");
	ok(rig_end_without(&silent, LEDGER_STEP_EXTERN, STEPSIDE_SILENCE_NS, /* returns= */ false) <
		   STEPSIDE_RESTART_NS,
	   "it does not wait for a slurmd that has not ticked for long");
	ok(rig_end_without(&gone, LEDGER_STEP_EXTERN, 0, /* returns= */ false) >= STEPSIDE_RESTART_NS,
	   "nor longer than %u s otherwise", (unsigned int)(STEPSIDE_RESTART_NS / NSEC_PER_SEC));
	is_int(rig_energy_nodes(&gone), 0, "  the energy is a lower bound then");
}

int main(void)
{
	char dir[] = "/tmp/test_stepside.XXXXXX";
	char cmd[64];

	if (!mkdtemp(dir))
		return 99;
	test_lists();
	test_spread();
	test_no_sampler(dir);
	test_life(dir);
	test_stands_in(dir);
	test_all_lost(dir);
	test_unseen(dir);
	test_counted_by_spank(dir);
	test_lost_source(dir, false);
	test_lost_source(dir, true);
	test_extern_leaves(dir);
	test_sample(dir);
	test_ports(dir);
	test_absence(dir);
	test_memory(dir);
	test_suspended(dir);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	return system(cmd) ? 99 : done_testing();
}
