/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/intake.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "jobcomp/resizes.h"
#include "src/libstore/inbox.h"

#include "tap.h"

static char dir[PATH_MAX];
static const struct cluster_facts site = { .cluster = "c",
					   .state_dir = "/state",
					   .flags = SITE_HAS_SLURMDBD };
static struct job_facts facts;
static struct hook_time hook_time;

/* A stub for the half that needs Slurm. */
void resizes_load(void)
{
}

static struct intake *begin(void)
{
	struct intake *in = NULL;
	struct errmsg err = { 0 };

	ok(intake_start(dir, &site, &hook_time, &in, &err) == 0, "the thread starts");
	return in;
}

static int push(struct intake *in, uint32_t job_id, uint32_t flags)
{
	memset(&facts, 0, offsetof(struct job_facts, text));
	facts.job_id = job_id;
	facts.flags = flags;
	return feed_push(intake_feed(in), &facts, job_facts_size(&facts));
}

struct seen {
	unsigned int n[INBOX_HOOK + 1];
	uint32_t last_end;
	uint64_t lost;
	struct hook_cost hook;
};

static void look(struct seen *s)
{
	static const struct inbox_pos from;
	struct inbox_reader *r = NULL;
	struct errmsg err = { 0 };
	struct inbox_entry e;

	*s = (struct seen){ 0 };
	if (inbox_reader_open(dir, &from, &r, &err) < 0)
		return;
	while (inbox_read(r, &e, &err) > 0) {
		s->n[e.kind]++;
		if (e.kind == INBOX_END)
			s->last_end = ((const struct job_facts *)e.data)->job_id;
		if (e.kind == INBOX_HOOK)
			memcpy(&s->hook, e.data, sizeof(s->hook));
		if (e.kind == INBOX_LOST)
			s->lost = *(const uint64_t *)e.data;
	}
	inbox_reader_close(r);
}

static void test_all_is_written(void)
{
	struct intake *in = begin();
	struct seen s;
	uint32_t i;

	hook_time_add(&hook_time, 20000);
	for (i = 1; i <= 1000; i++)
		if (push(in, i, 0) < 0)
			break;
	is_u64(i, 1001, "1,000 ends are queued");
	is_int(push(in, 7, FACT_IS_START), 0, "and a start");
	ok(intake_stop(in), "the thread ends");
	look(&s);
	is_u64(s.n[INBOX_SITE], 1, "the inbox has what is known of the site");
	is_u64(s.n[INBOX_BEGIN], 1, "that the plugin was loaded");
	is_u64(s.n[INBOX_END], 1000, "all ends");
	is_u64(s.last_end, 1000, "in order");
	is_u64(s.n[INBOX_START], 1, "and the start");
	ok(s.n[INBOX_HOOK] && s.hook.n == 1 && s.hook.sum_ns == 20000, "and what the hook costs");
}

static void test_no_folder(void)
{
	struct timespec nap = { .tv_nsec = 200000000 };
	char saved[sizeof(dir)];
	struct intake *in;
	struct job_key key = { .job_id = 9 };
	struct seen s;
	uint32_t kept;
	int fd;

	memcpy(saved, dir, sizeof(dir));
	(void)snprintf(dir + strlen(dir), sizeof(dir) - strlen(dir), "/blocked/inbox");
	*strrchr(dir, '/') = '\0';
	fd = creat(dir, 0600); /* a file where a folder is to be */
	(void)close(fd);
	dir[strlen(dir)] = '/';
	in = begin();
	for (kept = 0; push(in, kept + 1, 0) == 0; kept++)
		;
	ok(kept > 1000, "ends wait in the queue: %u", kept);
	is_int(feed_push_key(intake_feed(in), &key), 0, "then their keys");
	feed_note_lost(intake_feed(in), 10);
	(void)nanosleep(&nap, NULL);
	*strrchr(dir, '/') = '\0';
	(void)unlink(dir);
	(void)mkdir(dir, 0700);
	dir[strlen(dir)] = '/';
	ok(intake_stop(in), "the thread ends when the folder can be made");
	look(&s);
	is_u64(s.n[INBOX_END], kept, "all that waited is written");
	is_u64(s.n[INBOX_KEY], 1, "the key, too");
	is_u64(s.lost, 1, "and that one was lost");
	memcpy(dir, saved, sizeof(dir));
}

int main(void)
{
	char command[PATH_MAX + 16];
	char base[] = "/tmp/ceems-intake-XXXXXX";

	if (!mkdtemp(base))
		return skip_all("no folder in /tmp");
	(void)snprintf(dir, sizeof(dir), "%s/inbox", base);
	test_all_is_written();
	test_no_folder();
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", base);
	ok(system(command) == 0, "clean");
	return done_testing();
}
