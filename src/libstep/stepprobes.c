/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstep/stepprobes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libmeter/activity/cgprocs.h"
#include "src/libmeter/activity/fsio.h"
#include "src/libmeter/activity/taskcount.h"
#include "src/libmeter/activity/netcount.h"
#include "src/libmeter/activity/perf.h"
#include "src/libmeter/activity/probes.h"
#include "src/libmeter/activity/rdma.h"
#include "src/libmeter/activity/stepgroup.h"
#include "src/libmeter/activity/tcpcount.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

/*
 * A poll reads the mounts of at most so many processes, and for at most this time; the
 * next poll reads the rest.
 */
#define LEARN_MAX 32
#define LEARN_NS (20 * NSEC_PER_MSEC)

struct stepprobes {
	const struct settings *settings;
	struct perf_request request;
	bool has_ports, is_extern;
	struct stepgroup *group;
	int v2_fd, freezer_fd; /* the step's folders; negative: there is none */
	struct probes *probes;
	uint32_t slot;
	/* probes_lost() and probes_skipped() of each group when the step began */
	uint64_t lost[PROBES_GROUP_N], skipped[PROBES_GROUP_N];
	/* the counters; if one is NULL, why[] has the reason */
	struct taskcount *taskcount;
	struct tcpcount *tcp;
	struct fsio *io;
	struct netcount *net;
	struct perf *perf;
	enum metric_reason why[PROBES_GROUP_N];
	struct rdma *rdma;
	enum metric_reason why_rdma;
};

int stepprobes_create(const struct stepprobes_setup *setup, struct stepprobes **ret)
{
	struct stepprobes *sp = calloc(1, sizeof(*sp));
	unsigned int g;

	if (!sp)
		return -ENOMEM;
	sp->settings = setup->settings;
	sp->has_ports = setup->has_ports;
	sp->is_extern = setup->is_extern;
	if (!sp->is_extern)
		sp->request = *setup->request;
	sp->v2_fd = sp->freezer_fd = -1;
	for (g = 0; g < PROBES_GROUP_N; g++)
		sp->why[g] = REASON_NOT_MEASURED;
	sp->why_rdma = REASON_NOT_MEASURED;
	*ret = sp;
	return 0;
}

static bool wants(const struct stepprobes *sp, enum perf_group group)
{
	return sp->request.groups & group;
}

/* --- what cannot be had ------------------------------------------------------------------- */

static enum metric_reason reason_of(const struct stepprobes *sp, enum probes_group group, int rc)
{
	switch (rc) {
	case 0:
		return REASON_NONE;
	case -EPERM:
	case -EACCES:
		return REASON_NO_PERMISSION;
	case -ENOSPC:
		return REASON_NO_SLOT;
	case -EOPNOTSUPP:
		return sp->probes && probes_why(sp->probes, group) == PROBES_NO_HOOK ? REASON_NO_HOOK :
										       REASON_NO_BPF;
	default:
		return REASON_FAILED;
	}
}

static void conclude(struct stepprobes *sp, enum probes_group group, int rc, const struct errmsg *err)
{
	sp->why[group] = reason_of(sp, group, rc);
	if (rc < 0) /* logged, since the reason shown to users is "failed, see slurmd's log" */
		logger_log(sp->why[group] == REASON_FAILED ? LOGGER_ERROR : LOGGER_DEBUG,
			   "%s is not counted: %s", probes_group_name(group),
			   err->text[0] ? err->text : strerror(-rc));
}

/* Sets REASON for all BPF groups that have no other reason. */
static void have_no_probes(struct stepprobes *sp, enum metric_reason reason)
{
	unsigned int g;

	for (g = 0; g < PROBES_GROUP_N; g++)
		sp->why[g] = reason;
}

/*
 * Writes what cannot be counted, such as "io: no function hooks; events: FLOPS (no such event on
 * this CPU)".
 */
static void tell_lacking(const struct stepprobes *sp, struct errmsg *lacking)
{
	static const struct {
		enum perf_group request;
		enum probes_group group;
	} t[] = { { PERF_GROUP_IO, PROBES_IO }, { PERF_GROUP_NET, PROBES_NET } };
	char event[PERF_REQUEST_NAME_MAX + 64];
	char text[256] = "";
	size_t used = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t) && used < sizeof(text); i++)
		if (wants(sp, t[i].request) && sp->why[t[i].group] != REASON_NONE)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %s",
						 used ? "; " : "", probes_group_name(t[i].group),
						 metric_reason_text(sp->why[t[i].group]));
	if (sp->perf && perf_lacks_own(sp->perf, event, sizeof(event)) && used < sizeof(text))
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%sevents: %s", used ? "; " : "",
					 event);
	if (used)
		(void)errmsg_set(lacking, 0, "%s", text);
}

/* --- the start ---------------------------------------------------------------------------- */

/*
 * Returns the id of a cgroup as BPF programs see it: the inode number of its folder
 * FD. 0: there is no folder.
 */
static uint64_t folder_id(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static int stop_at(void *ctx, pid_t pid)
{
	return pid == *(const pid_t *)ctx ? -EEXIST : 0;
}

/*
 * Opens the step's folder "user", if there is one, which has the tasks. slurmstepd is in "slurm"
 * beside it, so its messages to srun and slurmctld are not counted as the step's traffic.
 */
static int open_v2(const char *v2, pid_t pid)
{
	int step = cgmount_open_step(NULL, v2, ".");
	int user = step < 0 ? -1 : openat(step, "user", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cgprocs procs = { 0 };
	bool is_there = user >= 0 && cgprocs_each(&procs, user, stop_at, &pid) == -EEXIST;

	cgprocs_fini(&procs);
	if (user >= 0)
		(void)close(is_there ? step : user);
	return is_there ? user : step;
}

/*
 * Finds the step's cgroups, and makes a v2 cgroup if needed. Not for the extern step: processes
 * that join it later (pam_slurm_adopt) only join its v1 cgroups, by which they are found.
 */
static void find_cgroups(struct stepprobes *sp, const pid_t *pid, size_t n, struct cgroup_paths *paths)
{
	struct errmsg err = { 0 };

	if (!*paths->v2 && sp->settings->step_cgroup && !sp->is_extern &&
	    stepgroup_create(pid, n, &sp->group, paths->v2, sizeof(paths->v2), &err) < 0)
		logger_debug("no v2 cgroup for this step: %s", err.text);
	/* take the descriptor of the group: perhaps its folder is not in any other mount */
	sp->v2_fd = sp->group ? fcntl(stepgroup_fd(sp->group), F_DUPFD_CLOEXEC, 0) :
				open_v2(paths->v2, pid[0]);
	sp->freezer_fd = cgmount_open_step("freezer", paths->freezer, ".");
}

static uint32_t asked_groups(const struct stepprobes *sp)
{
	return 1u << PROBES_TASKS | 1u << PROBES_TCP | (wants(sp, PERF_GROUP_IO) ? 1u << PROBES_IO : 0) |
	       (wants(sp, PERF_GROUP_NET) ? 1u << PROBES_NET : 0) |
	       (wants(sp, PERF_GROUP_HW) ? 1u << PROBES_HW : 0);
}

static int open_probes(struct stepprobes *sp)
{
	uint64_t v2 = folder_id(sp->v2_fd), v1 = folder_id(sp->freezer_fd);
	struct errmsg err = { 0 };
	unsigned int g;
	int rc;

	rc = probes_open(sp->settings->bpf_dir, &sp->probes, &err);
	if (rc < 0) {
		have_no_probes(sp, REASON_NO_BPF);
		if (rc != -ENOENT) /* if the programs are not loaded, slurmd has logged why */
			logger_info("this step is not counted by BPF: %s", err.text);
		return rc;
	}
	rc = v2 || v1 ? probes_register(sp->probes, v2, v1, asked_groups(sp), &sp->slot) : -ENOENT;
	if (rc == 0) {
		for (g = 0; g < PROBES_GROUP_N; g++) {
			sp->lost[g] = probes_lost(sp->probes, (enum probes_group)g);
			if (asked_groups(sp) & 1u << g)
				sp->skipped[g] = probes_skipped(sp->probes, (enum probes_group)g);
		}
		return 0;
	}
	have_no_probes(sp, rc == -ENOENT ? REASON_NO_CGROUP : reason_of(sp, PROBES_TASKS, rc));
	logger_info("this step is not counted by BPF: %s",
		    rc == -ENOENT ? "it has no cgroup" : strerror(-rc));
	probes_close(sp->probes);
	sp->probes = NULL;
	return rc;
}

static int open_reader(struct stepprobes *sp, enum probes_group group, struct errmsg *err)
{
	switch (group) {
	case PROBES_TASKS:
		return taskcount_open(sp->probes, sp->slot, &sp->taskcount);
	case PROBES_TCP:
		return tcpcount_open(sp->probes, sp->slot, &sp->tcp);
	case PROBES_IO:
		return fsio_open(sp->probes, sp->slot, sp->settings, &sp->io, err);
	case PROBES_NET:
		return netcount_open(sp->probes, sp->v2_fd, &sp->net, err);
	default:
		return -EINVAL;
	}
}

static void open_group(struct stepprobes *sp, enum probes_group group)
{
	struct errmsg err = { 0 };
	int rc = 0;

	/* the kernel knows the v2 cgroup of a socket, but no v1 cgroup */
	if ((group == PROBES_TCP || group == PROBES_NET) && sp->v2_fd < 0) {
		sp->why[group] = REASON_NO_CGROUP;
		return;
	}
	if (group != PROBES_NET) /* the step attaches the programs of PROBES_NET itself (netcount.h) */
		rc = probes_hold(sp->probes, group, &err);
	if (rc == 0)
		rc = open_reader(sp, group, &err);
	conclude(sp, group, rc, &err);
	if (rc < 0 && group == PROBES_NET)
		sp->why[group] = netcount_reason(rc);
}

static void open_rdma(struct stepprobes *sp)
{
	struct errmsg err = { 0 };
	/*
	 * open even on a shared node: if there are no ports, "no device" is a better
	 * reason than "shared node"
	 */
	int rc = rdma_open(sp->settings->sys_root, &sp->rdma, &err);

	sp->why_rdma = rc == -ENODEV ? REASON_NO_DEVICE : rc < 0 ? REASON_FAILED : REASON_NONE;
	if (rc == 0 && !sp->has_ports) {
		rdma_close(TAKE_PTR(sp->rdma));
		sp->why_rdma = REASON_SHARED_NODE;
	}
	if (rc < 0 && rc != -ENODEV)
		logger_info("RDMA ports are not counted: %s", err.text);
}

static void open_perf(struct stepprobes *sp, const pid_t *pid, size_t n)
{
	const struct perf_target target = {
		.request = &sp->request,
		.probes = sp->probes,
		.slot = sp->slot,
		.cgroup_fd = sp->v2_fd < 0 ? -1 : sp->v2_fd,
		.pid = pid,
		.n = n,
	};
	struct errmsg err = { 0 };

	if (perf_open(&target, &sp->perf, &err) < 0)
		logger_info("no events of this step are counted: %s", err.text);
}

void stepprobes_start(struct stepprobes *sp, const pid_t *pid, size_t n, struct cgroup_paths *paths,
		      uint32_t *ret_slot, struct errmsg *lacking)
{
	*ret_slot = 0;
	find_cgroups(sp, pid, n, paths);
	if (open_probes(sp) == 0) {
		*ret_slot = sp->slot;
		open_group(sp, PROBES_TASKS);
		open_group(sp, PROBES_TCP);
		if (wants(sp, PERF_GROUP_IO))
			open_group(sp, PROBES_IO);
		if (sp->io)
			fsio_learn(sp->io, pid[0]);
		if (wants(sp, PERF_GROUP_NET))
			open_group(sp, PROBES_NET);
	}
	if (wants(sp, PERF_GROUP_NET))
		open_rdma(sp);
	if (wants(sp, PERF_GROUP_HW) || wants(sp, PERF_GROUP_SW) || wants(sp, PERF_GROUP_EVENTS))
		open_perf(sp, pid, n);
	tell_lacking(sp, lacking);
}

int stepprobes_cgroup(const struct stepprobes *sp)
{
	return sp ? sp->v2_fd : -1;
}

/* --- while it runs ------------------------------------------------------------------------ */

struct learner {
	struct fsio *io;
	unsigned int left;
	uint64_t end_ns;
};

static int learn_from(void *ctx, pid_t pid)
{
	struct learner *l = ctx;

	if (pid != getpid())
		fsio_learn(l->io, pid);
	return --l->left && clock_mono_ns() < l->end_ns ? 0 : -ECANCELED;
}

void stepprobes_poll(struct stepprobes *sp)
{
	struct learner l = { .io = sp->io, .left = LEARN_MAX, .end_ns = clock_mono_ns() + LEARN_NS };
	struct cgprocs procs = { 0 };

	if (sp->io)
		(void)cgprocs_each(&procs, sp->v2_fd >= 0 ? sp->v2_fd : sp->freezer_fd, learn_from, &l);
	cgprocs_fini(&procs);
	if (sp->perf)
		perf_poll(sp->perf);
}

/* --- the metric values -------------------------------------------------------------------------- */

/* Stops the walk at a process other than slurmstepd, which may be in the step's v1 cgroup. */
static int stop_at_other(void *ctx, pid_t pid)
{
	(void)ctx;
	return pid == getpid() ? 0 : -EBUSY;
}

static bool is_folder_empty(int fd)
{
	struct cgprocs procs = { 0 };
	int rc = fd < 0 ? -ENOENT : cgprocs_are_there(fd);

	if (rc >= 0) /* a v2 cgroup, which knows whether there are processes at any depth */
		return rc == 0;
	rc = fd < 0 ? rc : cgprocs_each(&procs, fd, stop_at_other, NULL);
	cgprocs_fini(&procs);
	return rc == 0 || rc == -ENOENT || rc == -ENODEV; /* -ENOENT, -ENODEV: the folder is gone */
}

static bool is_empty(const struct stepprobes *sp)
{
	return (sp->v2_fd >= 0 || sp->freezer_fd >= 0) && is_folder_empty(sp->v2_fd) &&
	       is_folder_empty(sp->freezer_fd);
}

static void read_net(struct stepprobes *sp, struct values *f, struct step_detail *detail)
{
	if (sp->net) /* netcount_read() sets the reasons itself */
		(void)netcount_read(sp->net, f, detail);
	else
		netcount_miss(f, wants(sp, PERF_GROUP_NET) ? sp->why[PROBES_NET] : REASON_NOT_ASKED);
	if (sp->rdma)
		rdma_read(sp->rdma, f, detail);
	else
		rdma_miss(f, wants(sp, PERF_GROUP_NET) ? sp->why_rdma : REASON_NOT_ASKED);
}

static void read_taskcount(struct stepprobes *sp, struct values *f)
{
	bool empty = is_empty(sp);

	if (!sp->taskcount)
		taskcount_miss(f, sp->why[PROBES_TASKS]);
	else if (taskcount_read(sp->taskcount, empty, f) < 0)
		taskcount_miss(f, REASON_FAILED);
	/* sockets may outlive the last process */
	if (!sp->tcp)
		tcpcount_miss(f, sp->why[PROBES_TCP]);
	else if (tcpcount_read(sp->tcp, f) < 0)
		tcpcount_miss(f, REASON_FAILED);
}

static uint64_t lost_since(const struct stepprobes *sp)
{
	uint64_t lost = 0;
	unsigned int g;

	for (g = 0; sp->probes && g < PROBES_GROUP_N; g++) {
		lost += probes_lost(sp->probes, (enum probes_group)g) - sp->lost[g];
		if (asked_groups(sp) & 1u << g)
			lost += probes_skipped(sp->probes, (enum probes_group)g) - sp->skipped[g];
	}
	return lost;
}

void stepprobes_read(struct stepprobes *sp, struct values *values, struct step_detail *detail)
{
	struct step_detail scratch;
	struct step_detail *d = detail ? detail : &scratch;

	memset(d, 0, sizeof(*d));
	read_taskcount(sp, values);
	if (!sp->is_extern) {
		if (!wants(sp, PERF_GROUP_IO))
			fsio_miss(values, REASON_NOT_ASKED);
		else if (!sp->io)
			fsio_miss(values, sp->why[PROBES_IO]);
		else if (fsio_read(sp->io, values, d) < 0)
			fsio_miss(values, REASON_FAILED);
		read_net(sp, values, d);
		if (sp->perf)
			perf_read(sp->perf, values, d);
		perf_not_asked(values);
	}
	d->lost_events = lost_since(sp);
	if (sp->probes)
		values_set(values, METRIC_LOST_EVENTS, d->lost_events);
	else
		values_miss(values, METRIC_LOST_EVENTS, sp->why[PROBES_TASKS]);
}

void stepprobes_read_own(struct stepprobes *sp, struct values *values)
{
	struct step_detail scratch;

	if (sp->is_extern)
		return;
	memset(&scratch, 0, sizeof(scratch));
	if (sp->io)
		(void)fsio_read(sp->io, values, &scratch);
	if (sp->rdma)
		rdma_read(sp->rdma, values, &scratch);
	if (sp->perf)
		perf_read(sp->perf, values, NULL);
}

void stepprobes_close(struct stepprobes *sp, bool slurmd_lives)
{
	if (!sp)
		return;
	perf_close(sp->perf);
	rdma_close(sp->rdma);
	netcount_close(sp->net);
	fsio_close(sp->io);
	tcpcount_close(sp->tcp);
	taskcount_close(sp->taskcount);
	if (sp->probes) {
		if (slurmd_lives)
			(void)probes_leave(sp->probes, sp->slot);
		else
			probes_release(sp->probes, sp->slot);
		probes_close(sp->probes);
	}
	if (sp->v2_fd >= 0)
		(void)close(sp->v2_fd);
	if (sp->freezer_fd >= 0)
		(void)close(sp->freezer_fd);
	stepgroup_destroy(sp->group);
	free(sp);
}
