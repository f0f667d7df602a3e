/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spoolwrite - writes a spool as slurmctld's plugin does, for tests of what looks into one:
 *
 *	append KIND KEY JSON	the rest of the line is the JSON
 *	ack NAME N		the reader is past the first N entries it had not yet acknowledged
 *	dead SINK KIND KEY JSON	a dead letter, its reason is "no"
 *
 * one command per line; "ok" when it is done. The spool is held until the input ends.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/libsink/deadletter.h"
#include "src/libsink/spool.h"

static int append(struct spool *s, const char *kind, const char *key, const char *json,
		  struct errmsg *err)
{
	int rc = spool_append(s, spool_kind_by_name(kind), key, json, strlen(json), err);

	return rc < 0 ? rc : spool_sync(s, err);
}

static int ack(struct spool *s, const char *name, unsigned int n, struct errmsg *err)
{
	struct spool_cursor *c = NULL;
	struct spool_entry e;
	int rc = spool_cursor_open(s, name, &c, err);

	if (rc < 0)
		return rc;
	memset(&e, 0, sizeof(e));
	while (rc >= 0 && n--)
		rc = spool_read(c, &e, err);
	if (rc > 0)
		rc = spool_ack(c, &e.next, err);
	spool_cursor_close(c);
	return rc;
}

static int run(struct spool *s, const char *dir, char *line, struct errmsg *err)
{
	char word[4][200] = { "", "", "", "" };
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "append %199s %199s %n", word[0], word[1], &at) == 2 && at)
		return append(s, word[0], word[1], line + at, err);
	if (sscanf(line, "ack %199s %199s", word[0], word[1]) == 2)
		return ack(s, word[0], (unsigned int)strtoul(word[1], NULL, 10), err);
	if (sscanf(line, "dead %199s %199s %199s %n", word[0], word[1], word[2], &at) == 3 && at) {
		struct sink_item item = { .kind = spool_kind_by_name(word[1]),
					  .key = word[2],
					  .key_len = strlen(word[2]),
					  .json = line + at,
					  .json_len = strlen(line + at) };

		return deadletter_write(dir, word[0], &(struct deadletter){ &item, "no" }, 1, err);
	}
	return errmsg_set(err, -EINVAL, "not understood: %s", line);
}

int main(int argc, char **argv)
{
	struct errmsg err = { 0 };
	struct spool *s = NULL;
	char *line = NULL;
	size_t room = 0;
	int rc;

	if (argc != 2)
		return 2;
	rc = spool_open(argv[1], UINT64_C(1) << 30, &s, &err);
	while (rc >= 0 && getline(&line, &room, stdin) >= 0) {
		rc = run(s, argv[1], line, &err);
		if (rc >= 0)
			puts("ok");
		fflush(stdout);
	}
	if (rc < 0)
		fprintf(stderr, "spoolwrite: %s\n", err.text);
	free(line);
	spool_close(s);
	return rc < 0;
}
