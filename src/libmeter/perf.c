/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/perf.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "ceems_config.h"
#include "src/libjob/settings.h"
#include "src/libutil/logger.h"
#ifdef HAVE_LIBPFM
#include <perfmon/pfmlib_perf_event.h>
#endif

#define PFM_LIBRARY "libpfm.so.4"
#define KEEP_FDS 1024 /* for the process we are in; of a small limit, half */

/* --- what can be counted ------------------------------------------------------------------ */

enum {
	GROUP_SW = 1 << 0,
	GROUP_HW = 1 << 1,
};

static const struct {
	const char *name;
	unsigned int groups;
} group_names[] = {
	{ "hw", GROUP_HW | GROUP_SW },
	{ "sw", GROUP_SW },
};

/*
 * NAME is libpfm4's. Without libpfm4 the kernel's own generic event is taken, which is the same
 * one wherever the kernel knows the machine.
 */
static const struct event {
	enum metric metric;
	unsigned int group;
	uint32_t type;
	uint64_t config;
	const char *name;
} events[] = {
	{ METRIC_TASK_CLOCK, GROUP_SW, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, NULL },
	{ METRIC_CONTEXT_SWITCHES, GROUP_SW, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES,
	  NULL },
	{ METRIC_CPU_MIGRATIONS, GROUP_SW, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS,
	  NULL },
	{ METRIC_PAGE_FAULTS, GROUP_SW, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, NULL },
	{ METRIC_CYCLES, GROUP_HW, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
	  "PERF_COUNT_HW_CPU_CYCLES" },
	{ METRIC_INSTRUCTIONS, GROUP_HW, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
	  "PERF_COUNT_HW_INSTRUCTIONS" },
	{ METRIC_CACHE_REFERENCES, GROUP_HW, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES,
	  "PERF_COUNT_HW_CACHE_REFERENCES" },
	{ METRIC_CACHE_MISSES, GROUP_HW, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES,
	  "PERF_COUNT_HW_CACHE_MISSES" },
	{ METRIC_BRANCHES, GROUP_HW, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	  "PERF_COUNT_HW_BRANCH_INSTRUCTIONS" },
	{ METRIC_BRANCH_MISSES, GROUP_HW, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES,
	  "PERF_COUNT_HW_BRANCH_MISSES" },
};
#define NEVENTS ARRAY_SIZE(events)

struct counter {
	int fd;
	uint32_t event; /* index into events[] */
	uint64_t id;	/* the kernel's, to know our fd again */
};

struct perf {
	unsigned int groups;
	struct perf_event_attr attr[NEVENTS];
	enum metric_reason reason[NEVENTS]; /* why an attach failed, if one did */
	struct counter *counter;
	size_t ncounters, size;
};

/* --- groups ------------------------------------------------------------------------------- */

static int parse_groups(const char *groups, unsigned int *ret, struct errmsg *err)
{
	const char *list = groups;
	unsigned int set = 0;
	char item[32];
	size_t i;

	while (settings_next_item(&list, item, sizeof(item))) {
		for (i = 0; i < ARRAY_SIZE(group_names); i++)
			if (!strcasecmp(item, group_names[i].name))
				break;
		if (i == ARRAY_SIZE(group_names))
			return errmsg_set(err, -EINVAL, "unknown counter group '%s'; known are hw "
					  "(counters of the CPU and all of sw) and sw", item);
		set |= group_names[i].groups;
	}
	*ret = set ? set : GROUP_HW | GROUP_SW;
	return 0;
}

int perf_check_groups(const char *groups, struct errmsg *err)
{
	unsigned int set;

	return parse_groups(groups, &set, err);
}

/* --- names to events ---------------------------------------------------------------------- */

#ifdef HAVE_LIBPFM
/* Its functions, found at run time. */
struct pfm {
	void *lib;
	__typeof__(pfm_initialize) *initialize;
	__typeof__(pfm_terminate) *terminate;
	__typeof__(pfm_get_os_event_encoding) *encode;
};

static bool pfm_open(struct pfm *pfm)
{
	pfm->lib = dlopen(PFM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!pfm->lib)
		return false;
	pfm->initialize = (__typeof__(pfm->initialize))dlsym(pfm->lib, "pfm_initialize");
	pfm->terminate = (__typeof__(pfm->terminate))dlsym(pfm->lib, "pfm_terminate");
	pfm->encode = (__typeof__(pfm->encode))dlsym(pfm->lib, "pfm_get_os_event_encoding");
	if (pfm->initialize && pfm->terminate && pfm->encode &&
	    pfm->initialize() == PFM_SUCCESS)
		return true;
	(void)dlclose(pfm->lib);
	return false;
}

static void encode_hardware(struct perf *p)
{
	struct pfm pfm = { 0 };
	size_t i;

	if (!pfm_open(&pfm)) {
		logger_debug("perf: no " PFM_LIBRARY ", using the kernel's generic events");
		return;
	}
	for (i = 0; i < NEVENTS; i++) {
		struct perf_event_attr attr = { .size = sizeof(attr) };
		pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg) };

		if (!events[i].name ||
		    pfm.encode(events[i].name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg) !=
			    PFM_SUCCESS)
			continue;
		p->attr[i].type = attr.type;
		p->attr[i].config = attr.config;
		p->attr[i].config1 = attr.config1;
		p->attr[i].config2 = attr.config2;
	}
	pfm.terminate();
	(void)dlclose(pfm.lib);
}
#else
static void encode_hardware(struct perf *p)
{
	(void)p;
}
#endif

int perf_create(const char *groups, struct perf **ret, struct errmsg *err)
{
	struct perf *p;
	unsigned int set;
	size_t i;
	int rc = parse_groups(groups, &set, err);

	if (rc < 0)
		return rc;
	p = calloc(1, sizeof(*p));
	if (!p)
		return errmsg_errno(err, -ENOMEM, "perf");
	p->groups = set;
	for (i = 0; i < NEVENTS; i++)
		p->attr[i] = (struct perf_event_attr){
			.type = events[i].type,
			.config = events[i].config,
			.size = sizeof(p->attr[i]),
			/* one read per event: inherited groups cannot be read before 6.13 */
			.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
				       PERF_FORMAT_TOTAL_TIME_RUNNING,
			.disabled = 1,
			.inherit = 1,
			.enable_on_exec = 1,
			.exclude_hv = 1,
		};
	if (set & GROUP_HW)
		encode_hardware(p);
	*ret = p;
	return 0;
}

/* --- counting ----------------------------------------------------------------------------- */

static enum metric_reason reason_of(int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
	case ENOSYS:
		return REASON_NO_PMU;
	case EACCES:
	case EPERM:
		return REASON_NO_PERMISSION;
	case EMFILE:
	case ENFILE:
	case EINVAL:
	case EBUSY:
		return REASON_NO_COUNTER;
	default:
		return REASON_FAILED;
	}
}

static int grow(struct perf *p)
{
	size_t size = p->size ? p->size * 2 : 2 * NEVENTS;
	struct counter *more;

	if (p->ncounters < p->size)
		return 0;
	more = reallocarray(p->counter, size, sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->counter = more;
	p->size = size;
	return 0;
}

/*
 * Ten events of 400 tasks are as many descriptors as a process may have on some machines, and
 * slurmstepd could then neither take a message nor read a file until its step ends.
 */
static int last_fd(void)
{
	struct rlimit limit;
	uint64_t keep;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > INT_MAX)
		return INT_MAX;
	keep = limit.rlim_cur / 2 < KEEP_FDS ? limit.rlim_cur / 2 : KEEP_FDS;
	return (int)(limit.rlim_cur - keep);
}

static int open_event(struct perf *p, size_t i, pid_t pid, int last)
{
	int fd = (int)syscall(SYS_perf_event_open, &p->attr[i], pid, /* cpu= */ -1,
			      /* group= */ -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fd <= last)
		return fd;
	(void)close(fd);
	return -EMFILE;
}

int perf_attach(struct perf *p, pid_t pid)
{
	int last = last_fd();
	struct counter c;
	size_t i;
	int rc;

	for (i = 0; i < NEVENTS; i++) {
		if (!(events[i].group & p->groups))
			continue;
		rc = grow(p);
		if (rc < 0) {
			p->reason[i] = REASON_FAILED;
			return rc;
		}
		c.event = (uint32_t)i;
		c.fd = open_event(p, i, pid, last);
		if (c.fd < 0) {
			p->reason[i] = reason_of(-c.fd);
			logger_debug("perf: %s on process %d: %s",
				     metric_table[events[i].metric].name, (int)pid,
				     strerror(-c.fd));
			continue;
		}
		if (ioctl(c.fd, PERF_EVENT_IOC_ID, &c.id) < 0)
			c.id = 0;
		p->counter[p->ncounters++] = c;
	}
	return 0;
}

/*
 * With contain_spank (24.05) Slurm calls us in a process that shares our memory and not our
 * fds: the number may be somebody else's file here, not to be read and not to be closed.
 */
static bool is_ours(const struct counter *c)
{
	uint64_t id;

	return ioctl(c->fd, PERF_EVENT_IOC_ID, &id) == 0 && id == c->id;
}

static enum metric_reason read_one(const struct counter *c, uint64_t *ret)
{
	struct {
		uint64_t value, enabled, running;
	} now;

	if (!is_ours(c) || read(c->fd, &now, sizeof(now)) != sizeof(now))
		return REASON_FAILED;
	if (now.running == now.enabled) {
		*ret = now.value;
		return REASON_NONE;
	}
	if (!now.running) /* it never got its turn on the PMU */
		return REASON_NO_COUNTER;
	*ret = (uint64_t)((unsigned __int128)now.value * now.enabled / now.running);
	return REASON_NONE;
}

void perf_read(const struct perf *p, struct figures *figures)
{
	enum metric_reason reason[NEVENTS];
	uint64_t sum[NEVENTS] = { 0 };
	size_t i;

	memcpy(reason, p->reason, sizeof(reason));
	for (i = 0; i < p->ncounters; i++) {
		const struct counter *c = &p->counter[i];
		enum metric_reason why;
		uint64_t value = 0;

		why = read_one(c, &value);
		if (why != REASON_NONE)
			reason[c->event] = why;
		sum[c->event] += value;
	}
	for (i = 0; i < NEVENTS; i++) {
		enum metric m = events[i].metric;

		if (!(events[i].group & p->groups))
			reason[i] = REASON_NOT_ASKED;
		else if (!p->ncounters && reason[i] == REASON_NONE)
			reason[i] = REASON_NOT_MEASURED; /* no task was attached */
		if (reason[i] == REASON_NONE)
			figures_set(figures, m, sum[i]);
		else if (!figures_has(figures, m))
			figures_miss(figures, m, reason[i]);
	}
}

void perf_not_asked(struct figures *figures)
{
	size_t i;

	for (i = 0; i < NEVENTS; i++)
		if (figures->reason[events[i].metric] == REASON_NOT_MEASURED)
			figures_miss(figures, events[i].metric, REASON_NOT_ASKED);
}

void perf_destroy(struct perf *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < p->ncounters; i++)
		if (is_ours(&p->counter[i]))
			(void)close(p->counter[i].fd);
	free(p->counter);
	free(p);
}
