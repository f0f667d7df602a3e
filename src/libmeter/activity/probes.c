/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/probes.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "src/libmeter/activity/probes_internal.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define PIN_PATH_MAX (PATH_MAX + sizeof("/" PROBES_DIR "/prog_") + sizeof(((struct probes_fd *)0)->name))
/* The pause between two tries. */
#define RETRY_NS (NSEC_PER_MSEC / 2)

static const struct {
	const char *name;
	enum probes_group group;
} links[LINK_N] = {
	[LINK_TASK_EXIT] = { "task_exit", PROBES_TASKS },
	[LINK_TCP_STATE] = { "tcp_state", PROBES_TCP },
	[LINK_TCP_AGAIN] = { "tcp_state_again", PROBES_TCP },
	[LINK_IO_READ] = { "io_read", PROBES_IO },
	[LINK_IO_WRITE] = { "io_write", PROBES_IO },
	[LINK_IO_READV] = { "io_readv", PROBES_IO },
	[LINK_IO_WRITEV] = { "io_writev", PROBES_IO },
	[LINK_IO_SENDFILE] = { "io_sendfile", PROBES_IO },
	[LINK_IO_SPLICE] = { "io_splice", PROBES_IO },
	[LINK_IO_COPY_RANGE] = { "io_copy_range", PROBES_IO },
	[LINK_IO_AIO_READ] = { "io_aio_read", PROBES_IO },
	[LINK_IO_AIO_WRITE] = { "io_aio_write", PROBES_IO },
	[LINK_IO_URING] = { "io_uring", PROBES_IO },
	[LINK_HW_SWITCH] = { "hw_switch", PROBES_HW },
};

/* --- opening ------------------------------------------------------------------------------ */

static int map_meta(struct probes *p, struct errmsg *err)
{
	struct bpf_map_info info;
	int fd;
	int rc = probes_map(p, "meta", &fd);

	if (rc == 0)
		rc = bpfsys_map_info(fd, &info);
	if (rc < 0)
		return errmsg_errno(err, rc, "cannot open %s/" PROBES_DIR "/meta", p->dir);
	if (info.type != BPF_MAP_TYPE_ARRAY || info.value_size != sizeof(*p->meta))
		return errmsg_set(err, -EPROTO, "%s/" PROBES_DIR "/meta is not a map of ours", p->dir);
	rc = probes_map_memory(p, "meta", sizeof(*p->meta), PROT_READ | PROT_WRITE, &p->meta);
	if (rc < 0)
		return errmsg_errno(err, rc, "cannot map %s/" PROBES_DIR "/meta", p->dir);
	if (p->meta->abi != PROBES_ABI)
		return errmsg_set(err, -EPROTO, "%s/" PROBES_DIR " has ABI %u, not %u", p->dir, p->meta->abi,
				  PROBES_ABI);
	return 0;
}

/*
 * Opens the maps that every user needs. All pins appear by one rename, so if one is missing, the
 * object is being removed.
 */
static int open_core(struct probes *p, struct errmsg *err)
{
	static const char *const core[] = { "cgroups", "owners", "task_rows" };
	size_t i;
	int fd, rc;

	for (i = 0; i < ARRAY_SIZE(core); i++) {
		rc = probes_map(p, core[i], &fd);
		if (rc < 0)
			return errmsg_errno(err, rc, "cannot open %s/" PROBES_DIR "/%s", p->dir, core[i]);
	}
	return 0;
}

int probes_open(const char *dir, struct probes **ret, struct errmsg *err)
{
	struct probes *p;
	struct stat st;
	size_t i;
	int rc;

	if (!*dir)
		return errmsg_set(err, -ENOENT, "BpfDir is empty");
	p = calloc(1, sizeof(*p));
	if (!p)
		return errmsg_errno(err, -ENOMEM, "probes");
	for (i = 0; i < LINK_N; i++)
		p->link[i] = -1;
	rc = snprintf(p->dir, sizeof(p->dir), "%s", dir);
	if (rc < 0 || (size_t)rc >= sizeof(p->dir)) {
		rc = errmsg_errno(err, -ENAMETOOLONG, "%s", dir);
		goto fail;
	}
	rc = lstat(dir, &st) < 0 ? errmsg_errno(err, -errno, "%s", dir) : probes_check_folder(dir, &st, err);
	if (rc == 0)
		rc = map_meta(p, err);
	if (rc == 0)
		rc = open_core(p, err);
	if (rc < 0)
		goto fail;
	*ret = p;
	return 0;
fail:
	probes_close(p);
	return rc;
}

void probes_close(struct probes *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < LINK_N; i++)
		util_closep(&p->link[i]);
	for (i = 0; i < p->npins; i++)
		util_closep(&p->pin[i].fd);
	if (p->meta)
		(void)munmap(p->meta, sizeof(*p->meta));
	free(p);
}

const char *probes_dir(const struct probes *p)
{
	return p->dir;
}

uint32_t probes_features(const struct probes *p)
{
	return p->meta->features;
}

uint32_t probes_shards(const struct probes *p)
{
	return p->meta->shards;
}

enum probes_why probes_why(const struct probes *p, enum probes_group group)
{
	return (enum probes_why)p->meta->why[group];
}

uint64_t probes_lost(const struct probes *p, enum probes_group group)
{
	return __atomic_load_n(&p->meta->lost[group], __ATOMIC_RELAXED);
}

uint64_t probes_skipped(struct probes *p, enum probes_group group)
{
	uint64_t sum = 0, misses;
	unsigned int i;
	int fd;

	for (i = 0; i < LINK_N; i++) {
		if (links[i].group != group || probes_program(p, links[i].name, &fd) < 0 ||
		    bpfsys_program_misses(fd, &misses) < 0)
			continue; /* this kernel has no such hook */
		/* an event is lost only if both programs skipped it */
		if (i == LINK_TCP_AGAIN)
			sum = misses < sum ? misses : sum;
		else
			sum += misses;
	}
	return sum;
}

const char *probes_why_text(enum probes_why why)
{
	switch (why) {
	case PROBES_OK:
		return "on";
	case PROBES_NO_HOOK:
		return "this kernel has no hook for it, or refuses it";
	case PROBES_NO_FIELD:
		return "this kernel does not count it";
	case PROBES_NO_HELPER:
		return "too old a kernel: its verifier refuses";
	case PROBES_NOT_BUILT:
		return "not built";
	}
	return "not known";
}

const char *probes_group_name(enum probes_group group)
{
	static const char *const name[PROBES_GROUP_N] = {
		[PROBES_TASKS] = "tasks", [PROBES_TCP] = "tcp", [PROBES_IO] = "io",
		[PROBES_NET] = "net",	  [PROBES_HW] = "hw",
	};

	return group < PROBES_GROUP_N ? name[group] : "";
}

/* --- maps and programs -------------------------------------------------------------------- */

const struct probes_by_slot probes_by_slot[PROBES_BY_SLOT_N] = {
	{ "task_rows", PROBES_TASKS, sizeof(struct probes_task_row), 0, false },
	{ "tcp_rows", PROBES_TCP, sizeof(struct probes_tcp_row), 0, false },
	{ "fs_rows", PROBES_IO, PROBES_FS_SIZE(0), PROBES_FS_SIZE(1) - PROBES_FS_SIZE(0), false },
	{ "hw_rows", PROBES_HW, sizeof(struct probes_hw_row), 0, true },
	{ "hw_slots", PROBES_HW, sizeof(struct probes_hw_slot), 0, false },
};

static const struct probes_by_slot *find_by_slot(const char *name)
{
	size_t i;

	for (i = 0; i < PROBES_BY_SLOT_N; i++)
		if (!strcmp(probes_by_slot[i].name, name))
			return &probes_by_slot[i];
	return NULL;
}

uint32_t probes_rows_of_slot(const char *name, uint32_t shards)
{
	const struct probes_by_slot *m = find_by_slot(name);

	return !m ? 0 : m->is_sharded ? shards : 1;
}

uint32_t probes_row_size(const char *name, uint32_t shards)
{
	const struct probes_by_slot *m = find_by_slot(name);

	return m ? m->value_size + m->shard_size * shards : 0;
}

static struct probes_fd *find_pin(struct probes *p, const char *file)
{
	size_t i;

	for (i = 0; i < p->npins; i++)
		if (!strcmp(p->pin[i].name, file))
			return &p->pin[i];
	return NULL;
}

static int open_pin(struct probes *p, const char *prefix, const char *name, int *ret_fd)
{
	char path[PIN_PATH_MAX];
	struct probes_fd *pin = &p->pin[p->npins];
	struct probes_fd *known;
	int rc;

	if (p->npins == PROBES_PINS_MAX ||
	    (size_t)snprintf(pin->name, sizeof(pin->name), "%s%s", prefix, name) >= sizeof(pin->name))
		return -ENAMETOOLONG;
	known = find_pin(p, pin->name);
	if (known) {
		*ret_fd = known->fd;
		return 0;
	}
	(void)snprintf(path, sizeof(path), "%s/" PROBES_DIR "/%s", p->dir, pin->name);
	rc = bpfsys_open(path, &pin->fd);
	if (rc < 0)
		return rc;
	*ret_fd = pin->fd;
	p->npins++;
	return 0;
}

int probes_map(struct probes *p, const char *name, int *ret_fd)
{
	return open_pin(p, "", name, ret_fd);
}

int probes_map_memory(struct probes *p, const char *name, size_t size, int prot, void *ret)
{
	void *at;
	int fd;
	int rc = probes_map(p, name, &fd);

	if (rc < 0)
		return rc;
	at = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	memcpy(ret, &at, sizeof(at));
	return 0;
}

int probes_program(struct probes *p, const char *name, int *ret_fd)
{
	return open_pin(p, "prog_", name, ret_fd);
}

void probes_index_make(struct probes_index *x, const struct probes_step *step, size_t n)
{
	size_t i;

	memset(x, 0, sizeof(*x));
	for (i = 0; i < n; i++)
		if (step[i].slot <= PROBES_SLOTS)
			x->of[step[i].slot] = (uint16_t)(i + 1);
}

size_t probes_index_find(const struct probes_index *x, uint32_t slot)
{
	return slot <= PROBES_SLOTS ? x->of[slot] : 0;
}

void probes_add(void *to, const void *from, size_t size)
{
	const uint64_t *v = from;
	uint64_t *sum = to;
	size_t i;

	for (i = 0; i < size / sizeof(*v); i++)
		sum[i] += v[i];
}

void probes_subtract(void *to, const void *from, size_t size)
{
	const uint64_t *v = from;
	uint64_t *rest = to;
	size_t i;

	for (i = 0; i < size / sizeof(*v); i++)
		rest[i] -= v[i];
}

/* --- links -------------------------------------------------------------------------------- */

/*
 * Opens the link that attaches a program. -ENOENT: there is no link. The id in `meta` cannot belong to
 * another link: the kernel reuses an id only after 2^31 others.
 */
static int join(struct probes *p, enum probes_link which, int *ret_fd)
{
	uint32_t id = __atomic_load_n(&p->meta->link[which], __ATOMIC_ACQUIRE);

	return id ? bpfsys_open_link(id, ret_fd) : -ENOENT;
}

static void pause_ns(uint64_t ns)
{
	const struct timespec ts = clock_ns_to_timespec(ns);

	(void)nanosleep(&ts, NULL);
}

/*
 * Attaches a program. The caller holds the lock. If the last holder of a link is just ending, the link cannot
 * be opened, but no second link can be made until the kernel has removed it; so this tries for some time.
 */
static int probes_attach(struct probes *p, enum probes_link which, int program, int *ret_fd)
{
	uint64_t deadline_ns = clock_mono_ns() + PROBES_HOLD_WAIT_NS;
	uint32_t event = p->meta->event[which];
	struct bpfsys_link info;
	_cleanup_close_ int fd = -1;
	int rc;

	while ((rc = event ? bpfsys_attach_event(program, event, &fd) : bpfsys_attach(program, &fd)) ==
		       -EEXIST ||
	       rc == -EBUSY) {
		if (clock_mono_ns() >= deadline_ns)
			return -EBUSY;
		pause_ns(RETRY_NS);
	}
	if (rc == 0)
		rc = bpfsys_link_info(fd, &info);
	/* before 5.13, ENOENT is returned for an fexit program that was detached, not for a missing pin */
	if (rc < 0)
		return rc == -ENOENT ? -EOPNOTSUPP : rc;
	__atomic_store_n(&p->meta->link[which], info.id, __ATOMIC_RELEASE);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/*
 * Opens the link, or if there is none, takes the lock to make it. If another step has the lock, this waits
 * for its link, as long as that step makes progress: attaching ten function hooks takes 0.15 s on an emulated
 * machine.
 */
static int join_or_lock(struct probes *p, enum probes_link which, int *lock)
{
	uint64_t deadline_ns = clock_mono_ns() + PROBES_HOLD_WAIT_NS;
	int rc;

	/* never attach without the lock: a second link would count everything twice */
	while ((rc = join(p, which, &p->link[which])) == -ENOENT && *lock < 0) {
		rc = probes_lock(p->dir, /* wait_ns= */ 0, lock, NULL);
		if (rc == 0)
			continue; /* the former holder of the lock may have attached it */
		if (rc != -EWOULDBLOCK)
			return rc;
		if (clock_mono_ns() >= deadline_ns)
			return -EBUSY;
		pause_ns(RETRY_NS);
	}
	return rc;
}

static int hold_one(struct probes *p, enum probes_link which, int *lock)
{
	int program;
	int rc;

	if (p->link[which] >= 0)
		return 0;
	rc = join(p, which, &p->link[which]);
	if (rc != -ENOENT)
		return rc;
	/* open the program first: the lock is not needed for a hook that this kernel does not have */
	rc = probes_program(p, links[which].name, &program);
	if (rc < 0)
		return rc;
	rc = join_or_lock(p, which, lock);
	return rc == -ENOENT ? probes_attach(p, which, program, &p->link[which]) : rc;
}

unsigned int probes_share(struct probes *p, enum probes_group group)
{
	unsigned int held = 0;
	size_t i;

	for (i = 0; i < LINK_N; i++) {
		if (links[i].group != group)
			continue;
		if (p->link[i] < 0)
			(void)join(p, (enum probes_link)i, &p->link[i]);
		held += p->link[i] >= 0;
	}
	return held;
}

bool probes_drop(struct probes *p, enum probes_group group)
{
	size_t i;

	for (i = 0; i < LINK_N; i++)
		if (links[i].group == group && p->link[i] >= 0) {
			(void)close(TAKE_FD(p->link[i]));
			return true;
		}
	return false;
}

int probes_hold(struct probes *p, enum probes_group group, struct errmsg *err)
{
	_cleanup_close_ int lock = -1;
	unsigned int held = 0;
	unsigned int i;
	int rc;

	if (p->meta->why[group] != PROBES_OK)
		return errmsg_set(err, -EOPNOTSUPP, "%s: %s", probes_group_name(group),
				  probes_why_text(probes_why(p, group)));
	for (i = 0; i < LINK_N; i++) {
		if (links[i].group != group)
			continue;
		rc = hold_one(p, (enum probes_link)i, &lock);
		if (rc == -ENOENT)
			continue; /* not loaded, since this kernel has no such hook */
		if (rc < 0) {
			while (probes_drop(p, group))
				;
			return errmsg_errno(err, rc, "cannot attach %s", links[i].name);
		}
		held++;
	}
	return held || group == PROBES_NET ?
		       0 :
		       errmsg_set(err, -EOPNOTSUPP, "%s: nothing to attach", probes_group_name(group));
}
