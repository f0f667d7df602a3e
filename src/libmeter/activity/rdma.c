/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/rdma.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "src/libutil/fileio.h"
#include "src/libutil/muldiv.h"

#define CLASS "/sys/class/infiniband"

/*
 * InfiniBand ports (IBTA, attribute PortCounters) have 32-bit counters that stop at
 * this value and do not wrap.
 */
#define STUCK UINT32_MAX

enum what { IN_BYTES, OUT_BYTES, IN_PACKETS, OUT_PACKETS, RETRIES, CONGESTION, WAIT, WHAT_N };

/*
 * The files that are read. Files of the same kind are added. If a port has a file in `counters`, the driver's
 * own file in `hw_counters` is not used. Those in `hw_counters` are of mlx5_core, as NVIDIA documents them;
 * rx_bytes and others are of EFA and bnxt_re.
 */
static const struct file {
	enum what what;
	const char *path;
	uint8_t unit;	 /* bytes per count, in files that count bytes */
	bool is_standin; /* only used if the port has no other file of this kind */
} files[] = {
	{ IN_BYTES, "counters/port_rcv_data", 4, false },
	{ IN_BYTES, "hw_counters/rx_bytes", 1, true },
	{ OUT_BYTES, "counters/port_xmit_data", 4, false },
	{ OUT_BYTES, "hw_counters/tx_bytes", 1, true },
	{ IN_PACKETS, "counters/port_rcv_packets", 1, false },
	{ IN_PACKETS, "hw_counters/rx_pkts", 1, true },
	{ OUT_PACKETS, "counters/port_xmit_packets", 1, false },
	{ OUT_PACKETS, "hw_counters/tx_pkts", 1, true },
	{ RETRIES, "hw_counters/packet_seq_err", 1, false },
	{ RETRIES, "hw_counters/local_ack_timeout_err", 1, false },
	{ RETRIES, "hw_counters/rnr_nak_retry_err", 1, false },
	{ CONGESTION, "hw_counters/rp_cnp_handled", 1, false },
	{ WAIT, "counters/port_xmit_wait", 1, false },
};

struct count {
	int fd; /* kept open: a device that is plugged in later under this name would be another port */
	uint64_t base, last;
};

struct port {
	struct detail_rdma d; /* port, link and reason; a reason stays once it is set */
	struct count count[ARRAY_SIZE(files)];
	bool has[WHAT_N];
};

struct rdma {
	int class; /* descriptor of the folder /sys/class/infiniband */
	struct port *port;
	size_t n, room;
	bool is_incomplete; /* ports were added since the start */
};

/* --- finding ports ------------------------------------------------------------------------ */

/* DEVICE/ports/PORT, below the class's folder. */
struct place {
	const char *device, *port;
};

typedef int (*place_fn)(struct rdma *r, const struct place *at);

static int open_below(const struct rdma *r, const struct place *at, const char *file, int flags)
{
	char path[PATH_MAX];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/ports%s%s%s%s", at->device, at->port ? "/" : "",
			     at->port ? at->port : "", file ? "/" : "", file ? file : "") >= sizeof(path))
		return -ENAMETOOLONG;
	fd = openat(r->class, path, O_RDONLY | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

/* Opens the folder FD, which this function owns. NULL: -errno is in *RET_RC. */
static DIR *open_list(int fd, int *ret_rc)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		*ret_rc = fd < 0 ? fd : -errno;
		util_closep(&fd);
	}
	return d;
}

static int each_port(struct rdma *r, const char *device, place_fn fn)
{
	struct place at = { .device = device };
	struct dirent *e;
	int rc = 0;
	DIR *d = open_list(open_below(r, &at, NULL, O_DIRECTORY), &rc);

	if (!d) /* a device that is just being added or removed has no folder of ports */
		return rc == -ENOENT || rc == -ENOTDIR ? 0 : rc;
	while (rc == 0 && (e = readdir(d))) {
		at.port = e->d_name;
		if (*e->d_name != '.')
			rc = fn(r, &at);
	}
	(void)closedir(d);
	return rc;
}

static int each_device(struct rdma *r, place_fn fn)
{
	struct dirent *e;
	int rc = 0;
	/* open the folder again: a second walk through the same descriptor would begin at its end */
	int fd = openat(r->class, ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	DIR *d = open_list(fd < 0 ? -errno : fd, &rc);

	if (!d)
		return rc;
	while (rc == 0 && (e = readdir(d)))
		if (*e->d_name != '.')
			rc = each_port(r, e->d_name, fn);
	(void)closedir(d);
	return rc;
}

/* Reads the first line of a port's file; "" if there is no such file. */
static void read_line(const struct rdma *r, const struct place *at, const char *file, char *buf, size_t size)
{
	_cleanup_close_ int fd = open_below(r, at, file, 0);
	char text[64];

	buf[0] = '\0';
	if (fd < 0 || fileio_pread_all(fd, text, sizeof(text)) < 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	(void)snprintf(buf, size, "%.*s", (int)(size - 1), text);
}

/*
 * Returns true for a virtual function on InfiniBand, since its traffic is counted by its physical
 * function, too.
 */
static bool is_counted_elsewhere(const struct rdma *r, const struct place *at, const char *link)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/device/physfn", at->device);
	return !strcmp(link, "InfiniBand") && faccessat(r->class, path, F_OK, 0) == 0;
}

static void name_port(const struct place *at, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%.*s/%.*s", (int)size - 6, at->device, 3, at->port);
}

/* --- opening ------------------------------------------------------------------------------ */

static void close_port(struct port *p)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		util_closep(&p->count[i].fd);
}

static void open_counts(const struct rdma *r, const struct place *at, struct port *p)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		struct count *c = &p->count[i];

		c->fd = -1;
		if (files[i].is_standin && p->has[files[i].what])
			continue;
		c->fd = open_below(r, at, files[i].path, 0);
		/* the file may have "N/A (no PMA)" */
		if (c->fd >= 0 && fileio_pread_u64(c->fd, &c->base) == 0) {
			c->last = c->base;
			p->has[files[i].what] = true;
			continue;
		}
		util_closep(&c->fd);
		c->fd = -1;
	}
}

static struct port *add_port(struct rdma *r)
{
	struct port *more;

	if (r->n == r->room) {
		more = realloc(r->port, (r->room + 4) * sizeof(*more));
		if (!more)
			return NULL;
		r->port = more;
		r->room += 4;
	}
	return &r->port[r->n++];
}

static int take_port(struct rdma *r, const struct place *at)
{
	struct port p = { .d.reason = REASON_NONE }, *to;
	char state[32];

	read_line(r, at, "link_layer", p.d.link, sizeof(p.d.link));
	if (is_counted_elsewhere(r, at, p.d.link))
		return 0;
	name_port(at, p.d.port, sizeof(p.d.port));
	open_counts(r, at, &p);
	if (!p.has[IN_BYTES] || !p.has[OUT_BYTES]) {
		/* "4: ACTIVE"; a port that is down has no traffic */
		read_line(r, at, "state", state, sizeof(state));
		if (strncmp(state, "4:", 2)) {
			close_port(&p);
			return 0;
		}
		p.d.reason = REASON_NO_SENSOR;
	}
	to = add_port(r);
	if (!to) {
		close_port(&p);
		return -ENOMEM;
	}
	*to = p;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct port *)a)->d.port, ((const struct port *)b)->d.port);
}

int rdma_open(const char *sysroot, struct rdma **ret, struct errmsg *err)
{
	struct rdma *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return errmsg_errno(err, -ENOMEM, "rdma");
	r->class = fileio_open_at_root(sysroot, CLASS);
	rc = r->class;
	if (rc == -ENOENT)
		rc = -ENODEV;
	if (rc >= 0)
		rc = each_device(r, take_port);
	if (rc == 0 && r->n == 0)
		rc = -ENODEV;
	if (rc < 0) {
		rdma_close(r);
		return errmsg_errno(err, rc, "rdma: " CLASS);
	}
	qsort(r->port, r->n, sizeof(*r->port), by_name);
	*ret = r;
	return 0;
}

void rdma_close(struct rdma *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->n; i++)
		close_port(&r->port[i]);
	free(r->port);
	util_closep(&r->class);
	free(r);
}

/* --- reading ------------------------------------------------------------------------------ */

static int look_for_news(struct rdma *r, const struct place *at)
{
	char name[sizeof(r->port->d.port)], link[16], state[32];
	size_t i;

	name_port(at, name, sizeof(name));
	for (i = 0; i < r->n; i++)
		if (!strcmp(r->port[i].d.port, name))
			return 0;
	read_line(r, at, "link_layer", link, sizeof(link));
	read_line(r, at, "state", state, sizeof(state));
	if (!strncmp(state, "4:", 2) && !is_counted_elsewhere(r, at, link))
		r->is_incomplete = true;
	return 0;
}

/*
 * Computes the increase of FILE since the start. -ENODEV: the port is gone. -ESTALE: the counter
 * went back, so it was reset. -EOVERFLOW: the counter stopped at the end of its 32 bits.
 */
static int advance(struct count *c, const struct file *file, uint64_t *ret)
{
	uint64_t now;
	int rc = fileio_pread_u64(c->fd, &now);

	if (rc < 0)
		return -ENODEV;
	if (now < c->last)
		return -ESTALE;
	if (now == STUCK)
		return -EOVERFLOW;
	c->last = now;
	*ret = muldiv(now - c->base, file->unit, 1);
	return 0;
}

static uint64_t *value_of(struct detail_rdma *d, enum what what)
{
	uint64_t *const value[WHAT_N] = {
		[IN_BYTES] = &d->in_bytes,	 [OUT_BYTES] = &d->out_bytes, [IN_PACKETS] = &d->in_packets,
		[OUT_PACKETS] = &d->out_packets, [RETRIES] = &d->retries,     [CONGESTION] = &d->congestion,
		[WAIT] = &d->wait_ticks,
	};

	return value[what];
}

static void read_port(struct port *p)
{
	uint64_t value;
	size_t i;
	int w;

	for (w = 0; w < WHAT_N; w++)
		*value_of(&p->d, w) = 0;
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		enum what what = files[i].what;

		if (p->count[i].fd < 0 || !p->has[what])
			continue;
		if (advance(&p->count[i], &files[i], &value) == 0) {
			*value_of(&p->d, what) += value;
			continue;
		}
		p->has[what] = false;
		if (what == IN_BYTES || what == OUT_BYTES)
			p->d.reason = REASON_FAILED;
	}
	p->d.has = (p->has[IN_PACKETS] && p->has[OUT_PACKETS] ? RDMA_HAS_PACKETS : 0) |
		   (p->has[RETRIES] ? RDMA_HAS_RETRIES : 0) | (p->has[CONGESTION] ? RDMA_HAS_CONGESTION : 0) |
		   (p->has[WAIT] ? RDMA_HAS_WAIT : 0);
}

void rdma_miss(struct values *values, enum metric_reason reason)
{
	values_miss(values, METRIC_RDMA_RECEIVED_BYTES, reason);
	values_miss(values, METRIC_RDMA_SENT_BYTES, reason);
}

void rdma_read(struct rdma *r, struct values *values, struct step_detail *detail)
{
	enum metric_reason reason = REASON_NONE;
	uint64_t in = 0, out = 0;
	size_t i;

	if (each_device(r, look_for_news) < 0)
		r->is_incomplete = true;
	if (detail)
		detail->nrdma = 0;
	for (i = 0; i < r->n; i++) {
		struct port *p = &r->port[i];

		read_port(p);
		if (p->d.reason != REASON_NONE)
			reason = (enum metric_reason)p->d.reason;
		in += p->d.in_bytes;
		out += p->d.out_bytes;
		if (detail && i < DETAIL_RDMA)
			detail->rdma[detail->nrdma++] = p->d;
	}
	if (r->is_incomplete)
		reason = REASON_FAILED;
	if (reason != REASON_NONE) {
		rdma_miss(values, reason);
		return;
	}
	values_set(values, METRIC_RDMA_RECEIVED_BYTES, in);
	values_set(values, METRIC_RDMA_SENT_BYTES, out);
}
