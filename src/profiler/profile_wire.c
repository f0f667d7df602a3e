/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/profile_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "src/libutil/util.h"

#define BUFFER_BYTES (256 * 1024u) /* the longest message is shorter */

struct wire {
	int fd;		 /* -1: BUFFER has all messages, and grows */
	size_t used, at; /* bytes in BUFFER; of these, bytes that the receiver has taken */
	size_t size;
	char *buffer;
};

struct wire_head {
	uint32_t size; /* bytes of the message with head and padding, a multiple of 8 */
	uint32_t text_size;
	struct wire_message m; /* its pointers are not valid for the receiver */
};

int wire_open(int fd, struct wire **ret)
{
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->fd = fd;
	w->size = BUFFER_BYTES;
	w->buffer = malloc(w->size);
	if (!w->buffer) {
		wire_close(w);
		return -ENOMEM;
	}
	*ret = w;
	return 0;
}

void wire_close(struct wire *w)
{
	if (!w)
		return;
	free(w->buffer);
	free(w);
}

size_t wire_kept(const struct wire *w)
{
	return w->used - w->at;
}

/* Removes what the receiver has taken. */
static void wire_shift(struct wire *w)
{
	memmove(w->buffer, w->buffer + w->at, w->used - w->at);
	w->used -= w->at;
	w->at = 0;
}

int wire_flush(struct wire *w)
{
	size_t done = 0;
	ssize_t n;

	while (done < w->used) {
		n = send(w->fd, w->buffer + done, w->used - done, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -EPIPE;
		done += (size_t)n;
	}
	w->used = 0;
	return 0;
}

/* Makes room for a message of SIZE bytes, which is at most BUFFER_BYTES. */
static int wire_make_room(struct wire *w, size_t size)
{
	char *more;

	if (w->used + size <= w->size)
		return 0;
	if (w->fd >= 0)
		return wire_flush(w);
	wire_shift(w);
	if (w->used + size <= w->size / 2)
		return 0;
	more = realloc(w->buffer, 2 * w->size);
	if (!more)
		return -ENOMEM;
	w->buffer = more;
	w->size *= 2;
	return 0;
}

static void wire_put(struct wire *w, const void *from, size_t size)
{
	if (size)
		memcpy(w->buffer + w->used, from, size);
	w->used += size;
}

int wire_send(struct wire *w, const struct wire_message *m)
{
	const struct stacks_record *r = &m->record;
	struct wire_head head = { .text_size = r->text ? (uint32_t)strlen(r->text) + 1 : 0, .m = *m };
	const size_t size = sizeof(head) + (r->nuser + r->nkernel + r->nregs) * sizeof(uint64_t) +
			    r->dump_size + r->build_id_size + head.text_size;
	int rc;

	head.size = (uint32_t)(size + 7) & ~UINT32_C(7);
	if (head.size > BUFFER_BYTES)
		return 0; /* cannot happen, as the kernel's records are shorter */
	rc = wire_make_room(w, head.size);
	if (rc < 0)
		return rc;
	wire_put(w, &head, sizeof(head));
	wire_put(w, r->user, r->nuser * sizeof(uint64_t));
	wire_put(w, r->kernel, r->nkernel * sizeof(uint64_t));
	wire_put(w, r->reg, r->nregs * sizeof(uint64_t));
	wire_put(w, r->dump, r->dump_size);
	wire_put(w, r->build_id, r->build_id_size);
	wire_put(w, r->text, head.text_size);
	memset(w->buffer + w->used, 0, head.size - size);
	w->used += head.size - size;
	return 0;
}

/* Reads more bytes. Returns 1; 0: none came within TIMEOUT_MS; -EPIPE: the sender is gone. */
static int wire_fill(struct wire *w, int timeout_ms)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };
	ssize_t n;

	if (w->fd < 0)
		return 0;
	if (w->at)
		wire_shift(w);
	if (poll(&p, 1, timeout_ms) <= 0)
		return 0;
	n = recv(w->fd, w->buffer + w->used, w->size - w->used, 0);
	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		return -EPIPE;
	w->used += (size_t)n;
	return 1;
}

/* Sets the pointers of R into the arrays that begin at AT. */
static void wire_point(struct stacks_record *r, const char *at, uint32_t text_size)
{
	r->user = (const uint64_t *)(const void *)at;
	r->kernel = r->user + r->nuser;
	r->reg = r->kernel + r->nkernel;
	r->dump = (const uint8_t *)(r->reg + r->nregs);
	r->build_id = r->dump + r->dump_size;
	r->text = text_size ? (const char *)(r->build_id + r->build_id_size) : NULL;
}

int wire_receive(struct wire *w, int timeout_ms, struct wire_message *ret)
{
	struct wire_head head;
	int rc;

	for (;;) {
		if (w->used - w->at >= sizeof(head)) {
			memcpy(&head, w->buffer + w->at, sizeof(head));
			if (w->used - w->at >= head.size)
				break;
		}
		rc = wire_fill(w, timeout_ms);
		if (rc <= 0)
			return rc;
	}
	*ret = head.m;
	wire_point(&ret->record, w->buffer + w->at + sizeof(head), head.text_size);
	w->at += head.size;
	return 1;
}
