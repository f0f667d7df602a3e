/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * push_queue.h - the queue of profiles for ProfilePushUrl: a folder of root's, with one file per part of a
 * profile. The programs ceems-profile of the node's steps add parts; ceems-push of slurmd sends them, the
 * oldest first. While the backend is away, parts wait, until the queue is full. Then new parts are dropped
 * and counted.
 */
#ifndef CEEMS_PUSH_QUEUE_H
#define CEEMS_PUSH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

/* bytes of the compressed profile of a part; Pyroscope takes less by default */
#define PUSH_PART_MAX ((size_t)8 << 20)
#define PUSH_SERIES_MAX 1024u
#define PUSH_NAME_MAX 64u /* of a part's file */

struct push_queue;

struct push_part {
	char series[PUSH_SERIES_MAX]; /* such as "42{cluster=c,node=n1,step=0,user=u}" */
	uint64_t from_ns, until_ns;   /* wall clock */
	const void *data;	      /* a profile in pprof's format, with gzip */
	size_t len;
};

/*
 * Opens the queue in the folder DIR, which is created if it is missing. MAX are the most bytes of all parts.
 * -EPERM: DIR is not our user's own, or others can write in it; or -errno.
 */
int push_queue_open(const char *dir, uint64_t max, struct push_queue **ret, struct errmsg *err) _must_check_;
void push_queue_close(struct push_queue *q);

/*
 * Adds PART. -ENOSPC: the queue is full; the part is dropped and counted. Or -errno: it is
 * neither added nor counted.
 */
int push_queue_put(struct push_queue *q, const struct push_part *part, struct errmsg *err);
/* Returns how many parts were dropped since the last call. */
uint64_t push_queue_take_dropped(struct push_queue *q);

/*
 * Lists the names of at most MAX parts, the oldest first. The caller frees *RET.
 * Returns their number or -errno.
 */
int push_queue_list(struct push_queue *q, size_t max, char (**ret)[PUSH_NAME_MAX]) _must_check_;
/*
 * Reads the part NAME into RET. RET->data points into *BUF, which the caller frees. Returns 0; -ENOENT: the
 * part was removed meanwhile; -EINVAL: its file is damaged; or -errno.
 */
int push_queue_read(struct push_queue *q, const char *name, struct push_part *ret, char **buf,
		    struct errmsg *err) _must_check_;
void push_queue_remove(struct push_queue *q, const char *name);

/*
 * Writes the name of a series to RET. Characters that the name cannot contain become '_'. Pyroscope and CEEMS
 * show it as service_name=JOB_ID with the other texts as labels. False: it is too long.
 */
bool push_series(const char *job_id, const char *cluster, const char *node, const char *step,
		 const char *user, char ret[PUSH_SERIES_MAX]) _must_check_;

#endif
