/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_replay.h - delivers again: from the segments, the dead letters of a sink, or a file of JSON
 * lines. Beside a running slurmctld, as keys make a repeat harmless.
 */
#ifndef CEEMS_SPOOL_REPLAY_H
#define CEEMS_SPOOL_REPLAY_H

#include <stdio.h>

#include "src/cmd/spool_pick.h"
#include "src/libsink/sink.h"

struct replay {
	const struct sink_ops *ops;
	const char *dir; /* the spool's */
	struct sink *sink;
	uint64_t timeout_ns; /* without any progress */
	bool keep_refused;   /* a refused one goes to the sink's dead letters */
	bool gave_up;	     /* the sink is down */
	uint64_t acked, refused;
	uint64_t left;	     /* not tried, or without an answer */
	uint64_t flushed;    /* batches of which nothing is left */
	/* the batch */
	struct sink_item *item;
	enum sink_result *result;
	size_t n;
	size_t bytes;
};

int replay_open(struct replay *r, const struct settings *s, struct errmsg *err);
void replay_close(struct replay *r);

/*
 * Copies it into the batch, which is delivered when it is full. -EAGAIN: given up; what is in the
 * batch and all that follows is left.
 */
int replay_add(struct replay *r, enum spool_kind kind, const char *key, size_t key_len,
	       const char *json, size_t len, struct errmsg *err);
/* Delivers what is in the batch. 0: nothing of it is left. */
int replay_flush(struct replay *r, struct errmsg *err);

/* Where they come from; each flushes. */
int replay_segments(struct replay *r, const struct spool_pick *pick, struct errmsg *err);
int replay_lines(struct replay *r, FILE *f, const struct spool_pick *pick, struct errmsg *err);
int replay_letters(struct replay *r, struct errmsg *err); /* spool_letters.c */

/* The next dead letter of a file: 1; 0: no more; -EINVAL: the line is none, and in *LINE. */
struct letter {
	enum spool_kind kind;
	char *key;  /* owned, as json */
	char *json;
	size_t json_len;
};
int letter_next(FILE *f, char **line, size_t *room, struct letter *ret);
void letter_clear(struct letter *l);

/* The files of a sink's dead letters, oldest first; those that are taken are among them. */
#define LETTER_FILES 4
bool letter_file(const char *dir, const char *sink, unsigned int i, char *path, size_t size);

#endif
