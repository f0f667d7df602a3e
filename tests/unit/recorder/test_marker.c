/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marker files in StateSaveLocation, with which recorders of several controllers avoid duplicate records. */
#include "recorder/recorder.h"

#include <stdlib.h>
#include <unistd.h>

#include "src/libutil/fileio.h"
#include "tap.h"

#define NOW UINT64_C(1800000000)

static char dir[] = "/tmp/test_marker.XXXXXX";
static char host[256];

static void write_marker(const char *of, const char *text)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/ceems-recorder.%s", dir, of);
	if (fileio_write_atomic(path, text, strlen(text), 0600, NULL) < 0)
		diag("cannot write %s", path);
}

static bool file_is(const char *of, const char *text)
{
	char path[512];
	int i;

	(void)snprintf(path, sizeof(path), "%s/ceems-recorder.%s", dir, of);
	for (i = 0; i < 3000; i++) {
		_cleanup_free_ char *is = NULL;
		size_t len;

		if (fileio_read_alloc(path, 4096, &is, &len, NULL) == 0 && !strcmp(is, text))
			return true;
		(void)usleep(10000);
	}
	return false;
}

static bool others_are(struct marker *m, uint64_t since)
{
	int i;

	for (i = 0; i < 3000 && marker_others_since(m) != since; i++)
		(void)usleep(10000);
	return marker_others_since(m) == since;
}

static void test_write(struct marker *m)
{
	struct marker_state state = { .since = NOW - 10, .keys = "c/1,5,0/0\n" };
	char text[128];

	marker_set(m, dir, &state, NOW);
	(void)snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 "\nc/1,5,0/0\n", NOW - 10, NOW);
	ok(file_is(host, text), "time and keys are written");
	marker_set(m, dir, &state, NOW + 100);
	state.has_open = true;
	marker_set(m, dir, &state, NOW + 105);
	(void)snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 "\nc/1,5,0/0\n", NOW - 10, NOW + 105);
	ok(file_is(host, text), "and again while a job is open");
}

static void test_others(struct marker *m)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 "\nc/7,5,0/0\nc/8,5,0/0\n", NOW - 20, NOW);
	write_marker("other", text);
	write_marker("broken", "12");
	marker_ask(m, NOW - 100);
	ok(others_are(m, NOW - 20), "another host's time is read");
	ok(marker_others_have(m, "c/7,5,0/0", NOW - 21, NOW + 1000),
	   "the record of an earlier end is delivered");
	ok(marker_others_have(m, "c/8,5,0/0", NOW - 20, NOW + 29),
	   "a later one will be, as the file is fresh");
	ok(!marker_others_have(m, "c/8,5,0/0", NOW - 20, NOW + 30), "but not if the file is old");
	ok(!marker_others_have(m, "c/9,5,0/0", NOW - 21, NOW),
	   "a key that is not in the file is not delivered");
	ok(!marker_others_have(m, "8,5,0/0", NOW - 21, NOW), "a part of a key does not match");
	ok(!marker_others_have(m, "c/1,5,0/0", NOW - 21, NOW), "this host's own file is not read");
	marker_ask_end(m);
	ok(!marker_others_have(m, "c/7,5,0/0", NOW - 21, NOW), "keys are forgotten at the end");
}

/* After the loss of the store, this host's marker counts with its content of before the start. */
static void test_own(void)
{
	struct marker_state state = { .since = NOW + 1, .keys = "" };
	struct marker *m = NULL;

	ok(marker_start(&m, NULL) == 0, "a recorder whose store was lost");
	marker_ask(m, 0);
	marker_set(m, dir, &state, NOW + 2);
	ok(others_are(m, NOW - 20), "takes the earliest time");
	marker_set(m, dir, &state, NOW + 3);
	ok(marker_others_have(m, "c/1,5,0/0", NOW - 11, NOW + 1000), "and the keys of its own file");
	marker_stop(m);
}

int main(void)
{
	struct marker *m = NULL;

	if (!mkdtemp(dir) || gethostname(host, sizeof(host) - 1) < 0)
		return skip_all("no folder");
	is_int(marker_start(&m, NULL), 0, "the thread starts");
	test_write(m);
	test_others(m);
	marker_stop(m);
	test_own();
	return done_testing();
}
