/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* memfd_create */
#include "src/profiler/profile_push.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/profiler/push_queue.h"
#include "src/libprofile/profile_pprof.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

/* What comes before the bytes of a part. */
struct push_head {
	uint64_t from_ns, until_ns, len;
};

/* --- the process that adds parts ------------------------------------------------------------- */

/* Returns 1; 0: the other end is closed before the first byte; -EPIPE: it is closed later. */
static int receive_all(int fd, void *to, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = recv(fd, (char *)to + done, size - done, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return done ? -EPIPE : 0;
		done += (size_t)n;
	}
	return 1;
}

/* Returns 1; 0: there are no more parts; or -errno. */
static int keep_part(struct push_queue *q, struct push_part *part, char *buf, int fd, struct errmsg *err)
{
	struct push_head head;
	int rc = receive_all(fd, &head, sizeof(head));

	if (rc <= 0)
		return rc;
	if (!head.len || head.len > PUSH_PART_MAX)
		return -EPROTO;
	if (receive_all(fd, buf, head.len) <= 0)
		return 0; /* the writing half was killed */
	part->from_ns = head.from_ns;
	part->until_ns = head.until_ns;
	part->data = buf;
	part->len = head.len;
	rc = push_queue_put(q, part, err);
	return rc < 0 && rc != -ENOSPC ? rc : 1;
}

int profile_push_keep(const struct profile_push_setup *setup, int fd, struct errmsg *err)
{
	_cleanup_free_ char *buf = malloc(PUSH_PART_MAX);
	struct push_part part = { .len = 0 };
	struct push_queue *q = NULL;
	const struct passwd *pw;
	char user[32];
	int rc;

	if (!buf)
		return errmsg_errno(err, -ENOMEM, "parts of the profile");
	/* only this process waits for a directory service that hangs */
	pw = getpwuid(setup->uid);
	(void)snprintf(user, sizeof(user), "%u", (unsigned int)setup->uid);
	if (!push_series(setup->job_id, setup->cluster, setup->node, setup->step, pw ? pw->pw_name : user,
			 part.series))
		return errmsg_errno(err, -ENAMETOOLONG, "labels of the profile");
	rc = push_queue_open(setup->dir, setup->max, &q, err);
	if (rc < 0)
		return rc;
	while ((rc = keep_part(q, &part, buf, fd, err)) > 0)
		;
	push_queue_close(q);
	return rc;
}

/* --- the writing half ------------------------------------------------------------------------- */

static int send_all(int fd, const void *from, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = send(fd, (const char *)from + done, size - done, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

/* Not by sendfile(): SIGPIPE would end the process that writes the file if the keeper is killed. */
static int send_file(int to, int from, size_t size)
{
	void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, from, 0);
	int rc = data == MAP_FAILED ? -errno : send_all(to, data, size);

	if (data != MAP_FAILED)
		(void)munmap(data, size);
	return rc;
}

/* Keeps the values of P's samples for the next part. */
static int push_note(struct profile_push *push, const struct profile *p)
{
	const size_t size = p->ntypes * sizeof(*push->seen);
	int64_t *seen = realloc(push->seen, (p->nsamples + 1) * size);
	size_t i;

	if (!seen)
		return -ENOMEM;
	for (i = 0; i < p->nsamples; i++)
		memcpy(seen + i * p->ntypes, p->sample[i].value, size);
	push->seen = seen;
	push->nseen = p->nsamples;
	return 0;
}

static int push_make(const struct profile_push *push, const struct profile *p, uint64_t until_ns,
		     struct profile **ret)
{
	struct profile *part;
	int rc = profile_create(p->type, p->ntypes, &part);

	if (rc < 0)
		return rc;
	rc = profile_merge_since(part, p, push->seen, push->nseen);
	if (rc == 0 && p->period_type.type)
		rc = profile_set_period(part, p->period_type.type, p->period_type.unit, p->period);
	if (rc < 0) {
		profile_destroy(part);
		return rc;
	}
	part->time_ns = (int64_t)push->from_ns;
	part->duration_ns = (int64_t)(until_ns - push->from_ns);
	*ret = part;
	return 0;
}

int profile_push_part(struct profile_push *push, const struct profile *p, uint64_t until_ns)
{
	_cleanup_close_ int fd = memfd_create("ceems-part", MFD_CLOEXEC);
	struct push_head head = { .from_ns = push->from_ns, .until_ns = until_ns };
	struct profile *part = NULL;
	struct stat st;
	int rc = fd < 0 ? -errno : push_make(push, p, until_ns, &part);

	if (rc == 0 && part->nsamples) {
		rc = profile_write(part, fd, PUSH_PART_MAX, NULL);
		if (rc == 0 && fstat(fd, &st) < 0)
			rc = -errno;
		head.len = rc == 0 ? (uint64_t)st.st_size : 0;
		if (rc == 0)
			rc = send_all(push->fd, &head, sizeof(head));
		if (rc == 0)
			rc = send_file(push->fd, fd, head.len);
	}
	profile_destroy(part);
	if (rc == 0)
		rc = push_note(push, p);
	push->from_ns = until_ns;
	push->due_ns = clock_mono_ns() + PROFILE_PUSH_EVERY_NS;
	return rc;
}

void profile_push_fini(struct profile_push *push)
{
	free(push->seen);
	push->seen = NULL;
}
