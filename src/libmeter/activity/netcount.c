/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/netcount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "src/libutil/util.h"

struct netcount {
	int map;
	int cgroup;
	uint64_t id;
	int link[2];
	bool is_blind; /* another program detached ours while the cgroup exists */
	bool was_read;
	/* counts at the start, if the programs were attached to this cgroup before */
	struct probes_net_row base;
	struct probes_net_row last; /* the last reading, without BASE */
};

static const struct {
	const char *program;
	enum bpf_attach_type type;
} hook[] = {
	{ "net_in", BPF_CGROUP_INET_INGRESS },
	{ "net_out", BPF_CGROUP_INET_EGRESS },
};

static const char *const kind_name[NET_KIND_N] = {
	[NET_TCP4] = "tcp4", [NET_TCP6] = "tcp6",     [NET_UDP4] = "udp4",
	[NET_UDP6] = "udp6", [NET_OTHER4] = "other4", [NET_OTHER6] = "other6",
};
_Static_assert(ARRAY_SIZE(((struct step_detail *)0)->net) >= NET_KIND_N, "all kinds fit");

static const enum metric metrics[] = {
	METRIC_UDP_RECEIVED_BYTES, METRIC_UDP_SENT_BYTES, METRIC_RECEIVED_PACKETS,    METRIC_SENT_PACKETS,
	METRIC_IP_RECEIVED_BYTES,  METRIC_IP_SENT_BYTES,  METRIC_IPV6_RECEIVED_BYTES, METRIC_IPV6_SENT_BYTES,
};

/* --- rows --------------------------------------------------------------------------------- */

/*
 * Reads the sum of all shards. -ENOENT: programs were never attached to the cgroup, or it is gone.
 */
static int read_sum(struct netcount *n, struct probes_net_row *ret)
{
	struct probes_net_row sum = { 0 };
	struct probes_net_rows rows;
	size_t i;
	int rc = bpfsys_lookup(n->map, &n->id, &rows);

	if (rc < 0)
		return rc;
	for (i = 0; i < PROBES_NET_SHARDS; i++)
		probes_add(&sum, &rows.shard[i], sizeof(sum));
	*ret = sum;
	return 0;
}

/* --- opening ------------------------------------------------------------------------------ */

/* Sets the error for a missing pin, which means that the BPF object is being removed. */
static int not_there(struct errmsg *err, int rc, const char *what)
{
	return errmsg_errno(err, rc == -ENOENT ? -EOPNOTSUPP : rc, "packets: cannot open %s", what);
}

/*
 * Attaches one program. Before 5.11, the kernel charges the rows to the locked-memory limit of this
 * process, in addition to all charges of the user, and returns ENOMEM above it. So the limit is
 * raised, and restored before tasks, which inherit it, are made.
 */
static int attach_one(int prog, int cgroup, enum bpf_attach_type type, int *ret_link)
{
	int rc = bpfsys_attach_cgroup(prog, cgroup, type, ret_link);
	struct rlimit was, most;

	if (rc != -ENOMEM || getrlimit(RLIMIT_MEMLOCK, &was) < 0)
		return rc;
	most = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
	if (setrlimit(RLIMIT_MEMLOCK, &most) < 0)
		return rc;
	rc = bpfsys_attach_cgroup(prog, cgroup, type, ret_link);
	(void)setrlimit(RLIMIT_MEMLOCK, &was);
	return rc;
}

static int netcount_attach(struct netcount *n, struct probes *p, struct errmsg *err)
{
	size_t i;
	int prog, rc;

	for (i = 0; i < ARRAY_SIZE(hook); i++) {
		rc = probes_program(p, hook[i].program, &prog);
		if (rc < 0)
			return not_there(err, rc, hook[i].program);
		rc = attach_one(prog, n->cgroup, hook[i].type, &n->link[i]);
		if (rc == -EPERM)
			return errmsg_set(
				err, rc,
				"packets: cannot attach to the step's cgroup: CAP_NET_ADMIN is missing, "
				"or a BPF program of a parent cgroup allows no others below it");
		if (rc == -ENOENT)
			rc = -ENODEV;
		if (rc < 0)
			return errmsg_errno(err, rc, "packets: cannot attach to the step's cgroup");
	}
	return 0;
}

static int open_cgroup(struct netcount *n, int fd, struct errmsg *err)
{
	struct stat st;

	n->cgroup = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (n->cgroup < 0 || fstat(n->cgroup, &st) < 0)
		return errmsg_errno(err, -errno, "packets: cannot open the step's cgroup");
	n->id = st.st_ino;
	return 0;
}

static int open_row(struct netcount *n, struct probes *p, struct errmsg *err)
{
	int rc = probes_map(p, "net_rows", &n->map);

	if (rc < 0)
		return not_there(err, rc, "net_rows");
	rc = read_sum(n, &n->base);
	if (rc < 0 && rc != -ENOENT)
		return errmsg_errno(err, rc, "packets: cannot read net_rows");
	return 0;
}

int netcount_open(struct probes *p, int cgroup_fd, struct netcount **ret, struct errmsg *err)
{
	enum probes_why why = probes_why(p, PROBES_NET);
	struct netcount *n;
	int rc;

	if (why != PROBES_OK)
		return errmsg_set(err, -EOPNOTSUPP, "packets: %s", probes_why_text(why));
	n = calloc(1, sizeof(*n));
	if (!n)
		return errmsg_errno(err, -ENOMEM, "packets");
	n->cgroup = n->link[0] = n->link[1] = -1;
	rc = open_cgroup(n, cgroup_fd, err);
	if (rc == 0)
		rc = open_row(n, p, err);
	if (rc == 0)
		rc = netcount_attach(n, p, err);
	if (rc < 0) {
		netcount_close(n);
		return rc;
	}
	*ret = n;
	return 0;
}

void netcount_close(struct netcount *n)
{
	if (!n)
		return;
	util_closep(&n->link[0]);
	util_closep(&n->link[1]);
	util_closep(&n->cgroup);
	free(n);
}

enum metric_reason netcount_reason(int rc)
{
	switch (rc) {
	case -EOPNOTSUPP:
		return REASON_NO_BPF;
	case -EPERM:
	case -EACCES:
		return REASON_NO_PERMISSION;
	case -ENOENT:
	case -ENODEV:
		return REASON_NO_CGROUP;
	default:
		return REASON_FAILED;
	}
}

/* --- reading ------------------------------------------------------------------------------ */

void netcount_miss(struct values *values, enum metric_reason reason)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(metrics); i++)
		values_miss(values, metrics[i], reason);
}

/*
 * Returns true if a link is not attached any more. It is detached also if the cgroup was removed; in that
 * case all packets were counted.
 */
static bool is_detached(const struct netcount *n)
{
	struct bpfsys_link info;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(n->link); i++)
		if (bpfsys_link_info(n->link[i], &info) == 0 && !info.cgroup_id)
			return faccessat(n->cgroup, "cgroup.procs", F_OK, 0) == 0;
	return false;
}

static void netcount_put(struct values *f, const struct probes_net_count *c, const enum metric *to)
{
	struct probes_net_count all = { 0 }, v6 = { 0 };
	size_t i;

	for (i = 0; i < NET_KIND_N; i++) {
		all.packets += c[i].packets;
		all.bytes += c[i].bytes;
		if (i == NET_TCP6 || i == NET_UDP6 || i == NET_OTHER6)
			v6.bytes += c[i].bytes;
	}
	values_set(f, to[0], c[NET_UDP4].payload + c[NET_UDP6].payload);
	values_set(f, to[2], all.packets);
	values_set(f, to[4], all.bytes);
	values_set(f, to[6], v6.bytes);
}

static void detail_put(struct step_detail *d, const struct probes_net_row *row)
{
	size_t i;

	d->nnet = 0;
	for (i = 0; i < NET_KIND_N; i++) {
		struct detail_net *net = &d->net[d->nnet];

		if (!row->in[i].packets && !row->out[i].packets)
			continue;
		*net = (struct detail_net){
			.in_packets = row->in[i].packets,
			.in_bytes = row->in[i].bytes,
			.out_packets = row->out[i].packets,
			.out_bytes = row->out[i].bytes,
		};
		(void)snprintf(net->kind, sizeof(net->kind), "%s", kind_name[i]);
		d->nnet++;
	}
}

int netcount_read_of(struct probes *p, uint64_t cgroup_id, struct values *values)
{
	struct netcount n = { .id = cgroup_id };
	struct probes_net_row sum;
	int rc = probes_map(p, "net_rows", &n.map);

	if (rc == 0)
		rc = read_sum(&n, &sum);
	if (rc < 0)
		return rc;
	netcount_put(values, sum.in, &metrics[0]);
	netcount_put(values, sum.out, &metrics[1]);
	return 0;
}

int netcount_read(struct netcount *n, struct values *values, struct step_detail *detail)
{
	struct probes_net_row sum;
	int rc = read_sum(n, &sum);

	if (rc == 0) {
		probes_subtract(&sum, &n->base, sizeof(sum));
		n->last = sum;
		n->was_read = true;
	}
	n->is_blind |= is_detached(n);
	if (n->is_blind) {
		netcount_miss(values, REASON_FAILED);
		return -ENOLINK;
	}
	if (!n->was_read) {
		netcount_miss(values, netcount_reason(rc));
		return rc;
	}
	netcount_put(values, n->last.in, &metrics[0]);
	netcount_put(values, n->last.out, &metrics[1]);
	if (detail)
		detail_put(detail, &n->last);
	return rc;
}
