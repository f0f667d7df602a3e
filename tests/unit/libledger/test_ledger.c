/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger in one process; test_ledger_kill.c has the ones that die. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_sampler.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"
#include "tap.h"

#define S NSEC_PER_SEC

static char dir[] = "/tmp/test_ledger.XXXXXX";
static char path[128];

static const struct ledger_identity batch = {
	.job_id = 7,
	.step_id = LEDGER_STEP_BATCH,
	.uid = 1000,
	.node_count = 1,
	.job_cpus = 4,
	.step_cpus = 4,
	.job_mem_mb = 4000,
	.step_mem_mb = 4000,
	.start_wall_ns = 1000,
};

static struct ledger_identity ident(uint32_t job_id, uint32_t step_id)
{
	struct ledger_identity id = batch;

	id.job_id = job_id;
	id.step_id = step_id;
	return id;
}

/* --- files ------------------------------------------------------------------------------ */

static void test_no_file(void)
{
	struct ledger *l = NULL;
	struct errmsg err = { 0 };
	char deep[192];
	bool fresh;

	is_int(ledger_open(dir, "n1", true, &l, &err), -ENOENT, "no ledger file yet");
	is_int(ledger_create(dir, "a/b", &l, &fresh, &err), -EINVAL, "no path as node name");
	is_int(ledger_create(dir, "", &l, &fresh, &err), -EINVAL, "nor an empty one");
	is_int(ledger_create("/proc/nowhere", "n1", &l, &fresh, &err), -ENOENT,
	       "a folder that cannot be made");
	ok(strstr(err.text, "/proc/nowhere") != NULL, "is named: %s", err.text);
	snprintf(deep, sizeof(deep), "%s/a/b", dir);
	is_int(ledger_create(deep, "n1", &l, &fresh, &err), 0, "folders are made");
	ledger_close(l);
	snprintf(path, sizeof(path), "%s/a/b/n1.ledger", dir);
	unlink(path);
	rmdir(deep);
	snprintf(deep, sizeof(deep), "%s/a", dir);
	rmdir(deep);
	ledger_close(NULL);
	ok(true, "closing nothing is fine");
}

/* The lowest descriptor that is free: the same before and after, if none was left open. */
static int free_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static void test_files(void)
{
	int fd = free_fd();
	struct fake_sampler f;
	struct fake_sampler g;
	struct ledger *l = NULL;
	struct errmsg err = { 0 };
	struct stat st;
	unsigned int slot;

	snprintf(path, sizeof(path), "%s/n1.ledger", dir);
	is_int(fake_start(&f, dir, "n1", &err), 0, "a new ledger");
	ok(f.fresh, "is marked fresh");
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600, "mode 0600");
	ok((uint64_t)st.st_blocks * 512 >= sizeof(struct ledger_file), "no holes in the file");
	is_int(fake_start(&g, dir, "n1", &err), -EBUSY, "a second sampler is refused");
	is_int(fake_start(&g, dir, "n2", &err), 0, "another node is not");
	fake_stop(&g);
	unlink("n2.ledger");

	is_int(ledger_open(dir, "n1", false, &l, &err), 0, "read-only");
	is_int(ledger_find(l, getpid(), &slot), -ENOENT, "no slot is claimed");
	is_str(ledger_node(l), "n1", "its node");
	ledger_close(l);
	is_int(fake_tick(&f, 0, 0, 0), 0, "first tick");
	is_int(fake_tick(&f, 0, 5000, 300), 0, "second tick");
	fake_stop(&f);

	is_int(fake_start(&f, dir, "n1", &err), 0, "taken over");
	ok(!f.fresh, "and not fresh");
	is_u64(account_total_uj(&ledger_current(f.l)->measured), 5300, "goes on from there");
	fake_stop(&f);
	is_int(free_fd(), fd, "no descriptor is left");
}

enum damage {
	TRUNCATE,
	GROW,
	GARBAGE,
	MAGIC,
	VERSION,
	BOOT,
	NODE,
	INDEX,
	HIDDEN,
	TEXT,
	SHARED,
	FOREIGN,
	DAMAGES
};

static const struct {
	const char *name;
	int open_rc;
} damage[DAMAGES] = {
	[TRUNCATE] = { "truncated", -EPROTO },
	[GROW] = { "too long", -EPROTO },
	[GARBAGE] = { "garbage", -EPROTO },
	[MAGIC] = { "bad checksum", -EPROTO },
	[VERSION] = { "another version", -EPROTO },
	[BOOT] = { "another boot", -ENOENT },
	[NODE] = { "another node's", -EPROTO },
	[INDEX] = { "indices out of range", 0 },
	[HIDDEN] = { "indices out of range where no step is yet", 0 },
	[TEXT] = { "a path without a NUL byte", 0 },
	[SHARED] = { "others may write to it", -EPROTO },
	[FOREIGN] = { "owned by another user", -EPROTO },
};

/* In both pages: whichever is the current one. */
static void hurt_pages(int fd, size_t field, uint32_t value)
{
	size_t page;

	for (page = 0; page < 2; page++)
		(void)!pwrite(fd, &value, sizeof(value),
			      (off_t)(offsetof(struct ledger_file, page[page]) + field));
}

static void hurt(enum damage how)
{
	char endless[CGROUP_PATH_MAX];
	static struct ledger_header h; /* zeroed beyond */
	uint32_t many = LEDGER_STEPS + 1;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct errmsg err;

	if (pread(fd, &h, sizeof(h), 0) != sizeof(h))
		diag("cannot read the header");
	switch (how) {
	case TRUNCATE:
		(void)!ftruncate(fd, 1000);
		break;
	case GROW:
		(void)!ftruncate(fd, sizeof(struct ledger_file) + 1);
		break;
	case GARBAGE:
		memset(&h, 0xa5, sizeof(h));
		break;
	case MAGIC:
		h.magic[0]++;
		break;
	case VERSION:
		h.version++;
		h.crc32c = ledger_map_crc(&h);
		break;
	case BOOT:
		h.boot_id[0]++;
		h.crc32c = ledger_map_crc(&h);
		break;
	case NODE:
		(void)ledger_map_header(&h, "n9", &err);
		break;
	case INDEX:
		hurt_pages(fd, offsetof(struct ledger_page, nsteps), many);
		break;
	case HIDDEN:
		hurt_pages(fd, offsetof(struct ledger_page, step[9].job), many);
		break;
	case TEXT:
		memset(endless, 'x', sizeof(endless));
		(void)!pwrite(fd, endless, sizeof(endless), offsetof(struct ledger_file, slot[3].cgroup.v2));
		break;
	case SHARED:
		(void)fchmod(fd, 0622);
		break;
	case FOREIGN:
		(void)!fchown(fd, 65534, (gid_t)-1);
		break;
	case DAMAGES:
		break;
	}
	if (how != TRUNCATE && how != GROW)
		(void)!pwrite(fd, &h, sizeof(h), 0);
	close(fd);
}

static void test_damage(void)
{
	struct fake_sampler f;
	struct errmsg err = { 0 };
	unsigned int i;

	for (i = 0; i < DAMAGES; i++) {
		struct ledger *l = NULL;

		if (i == FOREIGN && geteuid()) {
			skip(4, "only root can give a file away");
			continue;
		}
		hurt((enum damage)i);
		is_int(ledger_open(dir, "n1", true, &l, &err), damage[i].open_rc, damage[i].name);
		ledger_close(l);
		is_int(fake_start(&f, dir, "n1", &err), 0, "a sampler opens it all the same");
		ok(f.fresh, "but starts afresh");
		is_u64(account_total_uj(&ledger_current(f.l)->measured), 0, "with empty accounts");
		(void)fake_tick(&f, 0, 0, 0);
		(void)fake_tick(&f, 0, 77, 0);
		fake_stop(&f);
	}
	unlink(path);
	is_int(symlink("/etc/passwd", path), 0, "a planted link");
	ok(fake_start(&f, dir, "n1", &err) < 0, "is not followed: %s", err.text);
	unlink(path);
}

static void test_replaced(void)
{
	const uint32_t version = LEDGER_VERSION + 1;
	struct fake_sampler f;
	struct errmsg err = { 0 };
	struct ledger *l = NULL;
	int fd;

	is_int(fake_start(&f, dir, "n1", &err), 0, "a sampler");
	is_int(ledger_open(dir, "n1", true, &l, &err), 0, "and a step");
	fake_stop(&f);
	is_int(fake_start(&f, dir, "n1", &err), 0, "the next sampler");
	ok(!ledger_is_replaced(l, dir), "goes on with the ledger");
	fake_stop(&f);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok(pwrite(fd, &version, sizeof(version), offsetof(struct ledger_header, version)) == sizeof(version),
	   "the ledger is of another version");
	close(fd);
	is_int(fake_start(&f, dir, "n1", &err), 0, "the next sampler");
	ok(ledger_is_replaced(l, dir), "begins another one");
	ledger_close(l);
	fake_stop(&f);
	unlink(path);
}

/* --- a slot's life ---------------------------------------------------------------------- */

static void claim_at(struct ledger *l, const struct ledger_identity *id, uint64_t t, unsigned int *slot)
{
	*slot = 0;
	is_int(ledger_claim(l, id, slot), 0, "claimed");
	ledger_slot(l, *slot)->t_open_mono_ns = t;
}

static void close_at(struct ledger *l, unsigned int slot, uint64_t t, uint64_t busy_ns)
{
	struct ledger_slot *s = ledger_slot(l, slot);

	s->final_busy_ns = busy_ns;
	s->t_close_mono_ns = t;
	atomic_store(&s->state, SLOT_CLOSING);
}

static void test_life(void)
{
	struct fake_sampler f;
	struct ledger *l = NULL;
	struct errmsg err = { 0 };
	const struct ledger_page *page;
	struct account a;
	struct values fig;
	uint64_t busy;
	uint64_t t = clock_mono_ns();
	unsigned int slot;
	unsigned int step;
	unsigned int found;
	struct ledger_identity id = ident(7, 0);

	is_int(fake_start(&f, dir, "n1", &err), 0, "sampler");
	is_int(fake_tick(&f, t, 0, 0), 0, "base");
	is_int(ledger_open(dir, "n1", true, &l, &err), 0, "stepd");
	id.job_id = 0;
	is_int(ledger_claim(l, &id, &slot), -EINVAL, "no job, no slot");
	is_int(ledger_job_total(l, 7, &a, &fig, &busy), -ENOENT, "no such job yet");

	claim_at(l, &batch, t, &slot);
	ok(ledger_wait_request(f.l, 0, 0), "a claim asks for a tick");
	ok(!ledger_wait_request(f.l, 0, 0), "once");
	is_int(ledger_find(l, getpid(), &found), 0, "spank finds it");
	is_u64(found, slot, "the same slot");
	is_int(ledger_step_energy(l, slot, &a), -ENODATA, "no tick yet, so no energy, not 0");
	ok(ledger_slot(l, LEDGER_STEPS) == NULL, "no slot beyond the last");

	/* 1 s: 10 W idle on 4 of 8 cores, 10 J dynamic by 1 of 2 s of CPU time */
	f.busy_ns[slot] = 1 * S;
	f.node_busy_ns = 2 * S;
	is_int(fake_tick(&f, t + S, 20000000, 0), 0, "tick");
	is_int(ledger_step_energy(l, slot, &a), 0, "energy");
	is_u64(account_total_uj(&a), 10000000, "half of static and dynamic");
	is_u64(account_static_uj(&a), 5000000, "static");
	is_u64(a.source_uj[SOURCE_RAPL], 10000000, "from RAPL");
	is_u64(account_co2e_ng(&a), 166667, "10 J x 50 g/kWh x 1.2");
	page = ledger_current(f.l);
	is_u64(account_total_uj(&page->unallocated), 5000000, "free cores");
	is_u64(account_total_uj(&page->system), 5000000, "the system");
	is_u64(account_co2e_ng(&page->measured),
	       account_co2e_ng(&a) + account_co2e_ng(&page->unallocated) + account_co2e_ng(&page->system),
	       "emissions add up as well");
	is_u64(a.factor_uj[FACTOR_STATIC], 10000000, "all by the yearly mean");

	/* a step inside the job: 2 cores for half a second, then it closes with values */
	id = ident(7, 0);
	id.step_cpus = 2;
	claim_at(l, &id, t + S, &step);
	values_set(&ledger_slot(l, step)->values, METRIC_IO_READ_BYTES, 42);
	close_at(l, step, t + S + S / 2, S / 2);
	is_int(fake_tick(&f, t + 2 * S, 10000000, 0), 0, "tick");
	is_int(ledger_step_energy(l, step, &a), 0, "step energy");
	is_u64(account_total_uj(&a), 1250000, "2 of 8 cores for half of 10 J");
	is_int(atomic_load(&ledger_slot(l, step)->state), SLOT_CLOSED, "closed");
	is_int(ledger_finish(l, step, 0, 0, &a), 0, "finish of a closed slot returns at once");
	is_u64(account_total_uj(&a), 1250000, "with its account");
	is_int(ledger_job_total(l, 7, &a, &fig, &busy), 0, "the whole job");
	is_u64(account_total_uj(&a), 15000000, "batch and step");
	is_u64(fig.value[METRIC_IO_READ_BYTES], 42, "values of a slot");
	is_u64(busy, S + S / 2, "CPU time");

	ledger_leave(l, step);
	is_int(fake_tick(&f, t + 3 * S, 0, 0), 0, "tick");
	is_int(atomic_load(&ledger_slot(l, step)->state), SLOT_FREE, "free again");
	is_int(ledger_job_total(l, 7, &a, &fig, &busy), 0, "the whole job");
	is_u64(account_total_uj(&a), 15000000, "has not changed");
	is_u64(fig.value[METRIC_IO_READ_BYTES], 42, "nor have values");
	is_u64(busy, S + S / 2, "nor CPU time");

	claim_at(l, &id, t + 3 * S, &found);
	is_u64(found, step, "the slot is used again");
	is_int(ledger_step_energy(l, found, &a), -ENODATA, "by a step that has nothing of the old one");
	ok(!values_has(&ledger_slot(l, found)->values, METRIC_IO_READ_BYTES), "no values");
	ledger_leave(l, found);
	ledger_leave(l, slot);
	is_int(ledger_find(l, getpid(), &found), -ENOENT, "left slots are not found");
	is_int(fake_tick(&f, t + 4 * S, 10000000, 0), 0, "tick");
	page = ledger_current(f.l);
	is_u64(ledger_page_error_uj(page), 0, "all is there");
	is_u64(page->lost_steps, 0, "and none is lost");

	is_int(fake_tick(&f, t + 4 * S + LEDGER_JOB_LINGER_NS - 1, 0, 0), 0, "tick");
	is_int(ledger_job_total(l, 7, NULL, NULL, NULL), 0, "the job lingers");
	is_int(fake_tick(&f, t + 4 * S + LEDGER_JOB_LINGER_NS, 0, 0), 0, "tick");
	is_int(ledger_job_total(l, 7, NULL, NULL, NULL), -ENOENT, "then it is gone");
	page = ledger_current(f.l);
	is_u64(account_total_uj(&page->retired), 15000000, "its energy is with the retired");
	is_u64(ledger_page_error_uj(page), 0, "all is there");
	is_u64(page->conservation_error_uj, 0, "in every tick");
	is_int(fake_tick(&f, t, 0, 0), -EINVAL, "time does not go back");
	ledger_close(l);
	fake_stop(&f);
	unlink(path);
}

/* The counter has stood still for 3 s when two of three steps end: these lack energy. */
static void test_end_doubt(void)
{
	struct fake_sampler f;
	struct ledger *l = NULL;
	struct errmsg err = { 0 };
	uint64_t t = clock_mono_ns();
	struct ledger_identity id = ident(7, 0);
	unsigned int slot[3];
	struct account a[3];
	unsigned int i;

	is_int(fake_start(&f, dir, "n1", &err), 0, "sampler");
	is_int(fake_tick(&f, t, 0, 0), 0, "base");
	is_int(ledger_open(dir, "n1", true, &l, &err), 0, "stepd");
	for (i = 0; i < 3; i++) {
		id.step_id = i;
		claim_at(l, &id, t + (i == 2 ? 3 * S : 0), &slot[i]);
		if (i == 1)
			is_int(fake_tick(&f, t + 3 * S, 10000000, 0), 0, "tick");
	}
	f.is_due = true;
	close_at(l, slot[1], t + 4 * S, S);
	close_at(l, slot[2], t + 4 * S, S);
	is_int(fake_tick(&f, t + 4 * S, 0, 0), 0, "tick");
	for (i = 0; i < 3; i++)
		is_int(ledger_step_energy(l, slot[i], &a[i]), 0, "energy");
	is_u64(a[0].doubt[DOMAIN_CPU], DOUBT_NONE, "a step that goes on is not in doubt");
	is_u64(a[1].doubt[DOMAIN_CPU], DOUBT_SILENT, "one that ends is");
	is_u64(a[1].lost_ns, 3 * S, "  it lacks three seconds");
	is_u64(a[2].lost_ns, 1 * S, "  a shorter one all its time");
	is_u64(a[1].doubt[DOMAIN_DRAM], DOUBT_NONE, "another domain does not matter");
	for (i = 0; i < 3; i++)
		ledger_leave(l, slot[i]);
	ledger_close(l);
	fake_stop(&f);
	unlink(path);
}

/* From when on the CPU time was used that is read for a step. */
static void test_told(void)
{
	struct fake_sampler f;
	struct errmsg err = { 0 };
	uint64_t t = clock_mono_ns();
	unsigned int slot;

	is_int(fake_start(&f, dir, "n1", &err), 0, "sampler");
	(void)fake_tick(&f, t, 0, 0);
	claim_at(f.l, &batch, t + 1, &slot);
	(void)fake_tick(&f, t + S, 0, 0);
	(void)fake_tick(&f, t + 2 * S, 0, 0);
	is_u64(f.line[0].since_ns, t + 1, "never read: since the step began");
	f.busy_ns[slot] = S;
	(void)fake_tick(&f, t + 3 * S, 0, 0);
	is_u64(f.line[0].since_ns, t + 1, "the first reading: also since the step began");
	f.busy_ns[slot] = 0;
	fake_stop(&f);
	is_int(fake_start(&f, dir, "n1", &err), 0, "another sampler");
	close_at(f.l, slot, t + 4 * S, 2 * S);
	(void)fake_tick(&f, t + 5 * S, 0, 0);
	is_u64(f.line[0].since_ns, t + 3 * S, "then since the last reading");
	ok(f.line[0].is_told, "and the CPU time that the step reports at its end counts as read");
	fake_stop(&f);
	unlink(path);
}

/* Two jobs of half the memory each; one then gives three quarters of its own back. */
static void test_memory(void)
{
	struct fake_sampler f;
	struct ledger *l = NULL;
	struct errmsg err = { 0 };
	struct ledger_identity other = ident(8, 0);
	struct account before[2], a[2];
	uint64_t t = clock_mono_ns();
	unsigned int slot[3];
	unsigned int i;

	is_int(fake_start(&f, dir, "n1", &err), 0, "sampler");
	f.dram_idle_mw = 10000;
	(void)fake_tick(&f, t, 0, 0);
	is_int(ledger_open(dir, "n1", true, &l, &err), 0, "stepd");
	claim_at(l, &batch, t, &slot[0]);
	claim_at(l, &other, t, &slot[1]);
	(void)fake_tick(&f, t + S, 0, 10000000);
	for (i = 0; i < 2; i++) {
		require(ledger_step_energy(l, slot[i], &before[i]) == 0);
		is_u64(account_total_uj(&before[i]), 5000000, "half of the idle energy of memory");
	}
	ledger_set_memory(l, slot[0], 1000, 1000, 900);
	ledger_set_memory(l, LEDGER_STEPS, 1, 1, 1); /* no such slot */
	(void)fake_tick(&f, t + 2 * S, 0, 10000000);
	for (i = 0; i < 2; i++)
		require(ledger_step_energy(l, slot[i], &a[i]) == 0);
	is_u64(account_total_uj(&a[0]) - account_total_uj(&before[0]), 1250000, "with a quarter: an eighth");
	is_u64(account_total_uj(&a[1]) - account_total_uj(&before[1]), 5000000, "the other job: as before");
	is_u64(account_total_uj(&ledger_current(f.l)->unallocated), 3750000, "the rest is nobody's");
	is_u64(ledger_current(f.l)->job[0].mem_mb, 1000, "the job has less");
	is_u64(ledger_slot(l, slot[0])->id.limit_mem_mb, 900, "the step's limit");
	/* another step of the job does not know it yet */
	other = ident(7, 3);
	claim_at(l, &other, t + 2 * S, &slot[2]);
	(void)fake_tick(&f, t + 3 * S, 0, 10000000);
	(void)fake_tick(&f, t + 4 * S, 0, 10000000);
	is_u64(ledger_current(f.l)->job[0].mem_mb, 1000, "the smaller size counts");
	is_u64(ledger_current(f.l)->conservation_error_uj, 0, "all energy is booked");
	ledger_close(l);
	fake_stop(&f);
	unlink(path);
}

static void test_requeue(void)
{
	struct ledger_identity id = ident(9, LEDGER_STEP_EXTERN);
	struct fake_sampler f;
	struct errmsg err = { 0 };
	struct account a;
	uint64_t t = clock_mono_ns();
	unsigned int slot;

	is_int(fake_start(&f, dir, "n1", &err), 0, "sampler");
	(void)fake_tick(&f, t, 0, 0);
	claim_at(f.l, &id, t, &slot);
	(void)fake_tick(&f, t + S, 10000000, 0);
	ledger_leave(f.l, slot);
	(void)fake_tick(&f, t + 2 * S, 0, 0);
	is_int(ledger_job_total(f.l, 9, &a, NULL, NULL), 0, "first run");
	is_u64(account_total_uj(&a), 5000000, "its energy");
	claim_at(f.l, &id, t + 2 * S, &slot);
	(void)fake_tick(&f, t + 3 * S, 8000000, 0);
	is_int(ledger_job_total(f.l, 9, &a, NULL, NULL), 0, "requeued");
	is_u64(account_total_uj(&a), 4000000, "has its own energy only");
	is_u64(ledger_page_error_uj(ledger_current(f.l)), 0, "nothing is lost");
	fake_stop(&f);
	unlink(path);
}

static void test_full(void)
{
	struct fake_sampler f;
	struct errmsg err = { 0 };
	uint64_t t = clock_mono_ns() + 3600 * S; /* steps open and close by the real clock, before */
	unsigned int slot = 0;
	unsigned int i;
	int rc = 0;

	is_int(fake_start(&f, dir, "n1", &err), 0, "sampler");
	(void)fake_tick(&f, t, 0, 0);
	for (i = 0; i < LEDGER_STEPS && rc == 0; i++) {
		struct ledger_identity id = ident(i + 1, LEDGER_STEP_BATCH);

		if (i == LEDGER_STEPS_OF_USER)
			is_int(ledger_claim(f.l, &id, &slot), -ENOSPC, "one user has half of them");
		id.uid += i >= LEDGER_STEPS_OF_USER;
		rc = ledger_claim(f.l, &id, &slot);
	}
	is_int(rc, 0, "every slot can be claimed");
	is_int(ledger_claim(f.l, &batch, &slot), -ENOSPC, "then no slot is left");
	(void)fake_tick(&f, t + S, 1000000007, 13);
	is_u64(f.nlines, LEDGER_STEPS, "each of its own job");
	is_u64(ledger_current(f.l)->slots_full, 2, "refused claims are counted");
	is_u64(ledger_page_error_uj(ledger_current(f.l)), 0, "all energy is booked");
	for (i = 0; i < LEDGER_STEPS; i++)
		ledger_leave(f.l, i);
	(void)fake_tick(&f, t + 2 * S, 5, 5);
	for (i = 0; i < 10; i++) {
		struct ledger_identity id = ident(5000 + i, LEDGER_STEP_BATCH);

		rc |= ledger_claim(f.l, &id, &slot);
	}
	(void)fake_tick(&f, t + 3 * S, 1000000, 13);
	is_int(rc, 0, "left slots are free again");
	is_u64(f.nlines, 10, "and jobs that linger make room");
	is_int(ledger_job_total(f.l, 5009, NULL, NULL, NULL), 0, "for the new ones");
	is_u64(ledger_page_error_uj(ledger_current(f.l)), 0, "all energy is booked");
	fake_stop(&f);
	unlink(path);
}

/* --- no sampler, and one that fails ------------------------------------------------------ */

static void test_alone(void)
{
	struct fake_sampler f;
	struct ledger *l = NULL;
	struct errmsg err = { 0 };
	struct account a;
	struct values fig;
	uint64_t t;
	unsigned int slot;

	is_int(fake_start(&f, dir, "n1", &err), 0, "sampler");
	t = clock_mono_ns();
	(void)fake_tick(&f, t, 0, 0);
	is_int(ledger_open(dir, "n1", true, &l, &err), 0, "stepd");
	fake_stop(&f);

	is_int(ledger_claim(l, &batch, &slot), 0, "a step starts while slurmd is away");
	values_set(&ledger_slot(l, slot)->values, METRIC_PAGE_FAULTS, 3);
	is_int(ledger_finish(l, slot, S, 5 * NSEC_PER_MSEC, &a), -ENODATA, "and ends without a tick");
	is_int(ledger_job_total(l, 7, &a, &fig, NULL), 0, "its values are there");
	is_u64(fig.value[METRIC_PAGE_FAULTS], 3, "all the same");
	is_int(ledger_wait_others(l, 7, slot, 0), 0, "nobody else to wait for");
	is_int(ledger_wait_others(l, 7, LEDGER_STEPS, 1), -ETIMEDOUT,
	       "if it does not leave itself out it waits for itself");
	ledger_leave(l, slot);

	is_int(fake_start(&f, dir, "n1", &err), 0, "slurmd is back");
	ok(ledger_wait_request(f.l, 0, 0), "and is asked at once");
	f.node_busy_ns = S;
	(void)fake_tick(&f, 0, 30000000, 0);
	is_int(ledger_job_total(l, 7, &a, &fig, NULL), 0, "the job");
	is_int(ledger_values(l, &a, &fig), 0, "its values, with the energy of the page");
	is_u64(fig.value[METRIC_ENERGY], account_total_uj(&a), "its energy is among them");
	ok(account_total_uj(&a) > 20000000, "and includes what it used in the gap");
	is_u64(fig.value[METRIC_PAGE_FAULTS], 3, "its values once");
	is_int(atomic_load(&ledger_slot(l, slot)->state), SLOT_FREE, "the slot is free");

	(void)fake_book(&f, 0, 1000, 0);
	is_u64(ledger_current(f.l)->measured.total_uj[0], 30000000,
	       "a tick that is not turned has not happened");
	ledger_request_tick(l);
	ok(ledger_wait_request(f.l, 0, 0), "a request after it is seen");
	ok(!ledger_wait_request(f.l, 0, 0), "and does not spin");
	t = clock_mono_ns() + 5 * NSEC_PER_MSEC;
	ledger_hint_tick(l);
	ok(ledger_wait_request(f.l, t, UINT64_MAX / 2) && clock_mono_ns() >= t, "a hint waits");
	ledger_hint_tick(l);
	ledger_request_tick(l);
	ok(ledger_wait_request(f.l, UINT64_MAX / 2, UINT64_MAX / 2), "but not if a request comes after it");
	(void)fake_tick(&f, 0, 1000, 0);
	is_u64(ledger_current(f.l)->measured.total_uj[0], 30001000, "counted once");
	ledger_close(l);
	fake_stop(&f);
	unlink(path);
}

/* One hint is there when the tick fails, another comes when the sampler sleeps. */
static void test_hint_after_failure(void)
{
	const struct timespec nap = { .tv_nsec = 50 * NSEC_PER_MSEC };
	struct fake_sampler f;
	struct errmsg err = { 0 };
	uint64_t deadline;
	pid_t child;

	is_int(fake_start(&f, dir, "n1", &err), 0, "sampler");
	(void)fake_tick(&f, 0, 0, 0);
	ledger_hint_tick(f.l);
	(void)fake_book(&f, 0, 0, 0);
	deadline = clock_mono_ns() + 60 * S;
	child = fork();
	if (child == 0) {
		(void)nanosleep(&nap, NULL);
		ledger_hint_tick(f.l);
		_exit(0);
	}
	ok(ledger_wait_request(f.l, 0, deadline) && clock_mono_ns() < deadline,
	   "a hint is seen after a tick that failed");
	(void)waitpid(child, NULL, 0);
	(void)fake_book(&f, 0, 0, 0);
	ok(!ledger_wait_request(f.l, 0, clock_mono_ns() + 50 * NSEC_PER_MSEC),
	   "a hint from before it does not repeat it at once");
	fake_stop(&f);
	unlink(path);
}

static void test_values(void)
{
	struct ledger_page *page = calloc(1, sizeof(*page));
	struct account a = { 0 };
	struct values f;
	unsigned int d;

	values_init(&f);
	for (d = 0; d < DOMAIN_N; d++)
		page->domain_source[d] = SOURCE_N;
	ledger_account_values(page, &a, &f);
	is_int(f.reason[METRIC_ENERGY], REASON_NOT_MEASURED, "no tick yet");
	page->ticks = 1;
	ledger_account_values(page, &a, &f);
	is_int(f.reason[METRIC_ENERGY], REASON_NO_SENSOR, "no sensor");
	is_int(f.reason[METRIC_CO2E], REASON_NO_SENSOR, "hence no emissions");
	page->domain_source[DOMAIN_CPU] = SOURCE_MODEL;
	ledger_account_values(page, &a, &f);
	ok(values_has(&f, METRIC_ENERGY), "zero joules are a value");
	is_int(f.reason[METRIC_DRAM_ENERGY], REASON_NO_SENSOR, "but not of DRAM");
	is_int(f.reason[METRIC_SOURCE_RAPL], REASON_NO_SENSOR, "nor by RAPL");
	ok(values_has(&f, METRIC_SOURCE_MODEL), "the model is the source");
	is_int(f.reason[METRIC_CO2E], REASON_NO_FACTOR, "no factor");
	page->factor_known = 1;
	a.total_uj[DOMAIN_CPU] = 5;
	a.co2e_ng[DOMAIN_CPU] = 9;
	ledger_account_values(page, &a, &f);
	is_u64(f.value[METRIC_ENERGY], 5, "energy");
	is_u64(f.value[METRIC_CO2E], 9, "emissions");
	is_u64(f.value[METRIC_CPU_CO2E], 9, "of the CPU");
	is_int(f.reason[METRIC_GPU_CO2E], REASON_NO_SENSOR, "unknown for a domain without sensor");
	ok(values_has(&f, METRIC_LAST_FACTOR), "0 J by the last factor is a value");
	is_int(f.reason[METRIC_CO2E_MARKET], REASON_NO_CONTRACT, "no contract is not 0");
	page->market_known = 1;
	ledger_account_values(page, &a, &f);
	ok(values_has(&f, METRIC_CO2E_MARKET), "but a contract may say 0");
	free(page);
}

/* CPU time of a tick with 64 steps, for people: benchmarks are elsewhere. */
static void show_tick_cost(void)
{
	struct fake_sampler f;
	struct errmsg err = { 0 };
	uint64_t spent;
	unsigned int slot;
	unsigned int i;

	if (fake_start(&f, dir, "n1", &err) < 0)
		return;
	for (i = 0; i < 64; i++) {
		struct ledger_identity id = ident(1 + i / 2, i % 2 ? 0 : LEDGER_STEP_EXTERN);

		require(ledger_claim(f.l, &id, &slot) == 0);
		f.busy_ns[slot] = i;
	}
	(void)fake_tick(&f, 0, 0, 0);
	spent = clock_thread_cpu_ns();
	for (i = 0; i < 200; i++)
		(void)fake_tick(&f, 0, 1000000, 1000);
	spent = clock_thread_cpu_ns() - spent;
	diag("a tick with 64 steps: %" PRIu64 " us of CPU time", spent / 200 / 1000);
	fake_stop(&f);
	unlink(path);
}

/* A child in the place of slurmstepd: it waits for a tick, and reads what that booked. */
static void test_await_tick(void)
{
	const struct ledger_identity id = { .job_id = 5, .job_cpus = 1, .step_cpus = 1, .node_count = 1 };
	const uint64_t begin_ns = clock_mono_ns();
	struct fake_sampler f;
	struct ledger_view view;
	unsigned int slot;
	int status = -1;
	pid_t child;

	(void)unlink(path);
	if (fake_start(&f, dir, "n1", NULL) < 0)
		return;
	is_int(ledger_await_tick(f.l, 20 * NSEC_PER_MSEC), -ETIMEDOUT, "no tick comes");
	ok(clock_mono_ns() - begin_ns >= 20 * NSEC_PER_MSEC, "  until the timeout");
	(void)fake_tick(&f, 0, 0, 0);
	is_int(ledger_claim(f.l, &id, &slot), 0, "a step");
	is_int(ledger_step_view(f.l, slot, &view), -ENODATA, "  that no tick has seen");
	(void)ledger_wait_request(f.l, 0, 0);
	child = fork();
	if (child == 0)
		_exit(ledger_await_tick(f.l, 60 * NSEC_PER_SEC) < 0);
	ok(ledger_wait_request(f.l, UINT64_MAX / 2, clock_mono_ns() + 60 * NSEC_PER_SEC),
	   "a process that waits asks for a tick");
	f.busy_ns[slot] = 7000000;
	(void)fake_tick(&f, 0, 5000, 0);
	ok(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
	   "  and is woken");
	is_int(ledger_step_view(f.l, slot, &view), 0, "what that tick booked");
	is_u64(view.t_mono_ns, ledger_current(f.l)->t_mono_ns, "  has the time of that tick");
	is_u64(view.busy_ns, 7000000, "  CPU time");
	ok(account_total_uj(&view.energy) > 0, "  energy");
	is_int(ledger_step_view(f.l, LEDGER_STEPS, &view), -EINVAL, "no slot");
	fake_stop(&f);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	test_no_file();
	test_files();
	test_damage();
	test_replaced();
	test_life();
	test_end_doubt();
	test_told();
	test_memory();
	test_requeue();
	test_full();
	test_alone();
	test_hint_after_failure();
	test_await_tick();
	test_values();
	show_tick_cost();
	snprintf(path, sizeof(path), "%s/n2.ledger", dir);
	unlink(path);
	is_int(rmdir(dir), 0, "no file is left over");
	is_u64(fake_miscopied, 0, "every tick began with the jobs of the one before");
	return done_testing();
}
