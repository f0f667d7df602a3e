/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sink file: lines of JSON at the end of a file that may be torn, rotated away,
 * missing, or on a full disk.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "page_end.h"
#include "scratch.h"
#include "src/libsink/sink.h"
#include "tap.h"

static char dir[] = SCRATCH_TEMPLATE;
static struct errmsg err;
static struct settings settings;

static struct sink *open_at(const char *path)
{
	struct sink *k = NULL;

	snprintf(settings.record_file, sizeof(settings.record_file), "%s", path);
	if (sink_file.open(page_end_copy(&settings, sizeof(settings)), &k, &err) < 0)
		diag("%s", err.text);
	return k;
}

static char why[200]; /* of the first that was refused */

/* Delivers the texts up to NULL; what became of each in RESULT. */
static int send_all(struct sink *k, const char *const *text, enum sink_result *result)
{
	struct sink_item item[8];
	size_t n;
	int rc;

	for (n = 0; text[n]; n++) {
		item[n] = (struct sink_item){
			STORE_RECORD, "k", 1, text[n], strlen(text[n]), n, NULL, false
		};
		result[n] = SINK_RETRY;
	}
	rc = sink_file.deliver(k, item, n, result, 1000000000, &err);
	why[0] = '\0';
	while (n--) {
		if (result[n] == SINK_REFUSED)
			(void)snprintf(why, sizeof(why), "%s", sink_why(&item[n]));
		free(item[n].why);
	}
	return rc;
}

static bool holds(const char *path, const char *want)
{
	size_t len;
	char *got = scratch_read(path, &len);
	bool same = got && len == strlen(want) && !memcmp(got, want, len);

	if (!same)
		diag("%s holds '%s', want '%s'", path, got ? got : "(none)", want);
	free(got);
	return same;
}

int main(void)
{
	static const char *const two[] = { "{\"a\":1}", "{\"a\":2}", NULL };
	static const char *const bad[] = { "{\n}", "{\"a\":3}", "", NULL };
	static const struct {
		const char *before, *after, *what;
	} tails[] = {
		{ "", "{\"a\":1}\n{\"a\":2}\n", "empty" },
		{ "{}\n", "{}\n{\"a\":1}\n{\"a\":2}\n", "whole lines" },
		{ "{}\n{\"a\":1}\n{\"a", "{}\n{\"a\":1}\n{\"a\":1}\n{\"a\":2}\n", "a torn line is cut" },
		{ "{\"b", "{\"a\":1}\n{\"a\":2}\n", "the only line is torn" },
		{ "hosts: x\npassword", "hosts: x\npassword\n{\"a\":1}\n{\"a\":2}\n",
		  "another's last line is not" },
	};
	enum sink_result r[8];
	struct sink *k = NULL;
	struct rlimit old;
	struct rlimit lim;
	struct stat st;
	const char *path;
	char file[PATH_MAX];
	size_t i;

	if (!mkdtemp(dir))
		return 99;
	snprintf(file, sizeof(file), "%s/jobs.jsonl", dir);
	path = file;
	settings.record_file[0] = '\0';
	is_int(sink_file.open(&settings, &k, &err), -EINVAL, "RecordFile empty");
	is_str(err.text, "RecordFile is not set", "says so");
	sink_file.close(NULL);

	k = open_at(scratch_path(dir, "none/x"));
	is_int(send_all(k, two, r), -EAGAIN, "no such folder yet");
	ok(r[0] == SINK_RETRY && r[1] == SINK_RETRY, "try again");
	ok(strstr(err.text, "none/x: cannot open: No such file") != NULL, "%s", err.text);
	mkdir(scratch_path(dir, "none"), 0700);
	is_int(send_all(k, two, r), 0, "it comes");
	sink_file.close(k);
	k = open_at(dir);
	is_int(send_all(k, two, r), -EAGAIN, "a folder is no file");
	sink_file.close(k);
	mkfifo(scratch_path(dir, "fifo"), 0600);
	k = open_at(scratch_path(dir, "fifo"));
	is_int(send_all(k, two, r), -EAGAIN, "a FIFO neither, and it does not hang");
	sink_file.close(k);

	for (i = 0; i < ARRAY_SIZE(tails); i++) {
		scratch_write(path, tails[i].before, strlen(tails[i].before));
		k = open_at(path);
		is_int(send_all(k, two, r), 0, tails[i].what);
		ok(r[0] == SINK_ACKED && r[1] == SINK_ACKED, "both acked");
		ok(holds(path, tails[i].after), "as expected");
		sink_file.close(k);
	}

	unlink(path);
	k = open_at(path);
	is_int(send_all(k, bad, r), 0, "records that are not one line");
	ok(r[0] == SINK_REFUSED && r[1] == SINK_ACKED && r[2] == SINK_REFUSED, "are refused");
	is_str(why, "record is empty or not one line", "for that");
	ok(holds(path, "{\"a\":3}\n"), "the one between them is not");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777 & ~0640) == 0, "mode 0640");
	rename(path, scratch_path(dir, "old"));
	is_int(send_all(k, two, r), 0, "rotated away");
	ok(holds(path, "{\"a\":1}\n{\"a\":2}\n"), "a new file");
	ok(holds(scratch_path(dir, "old"), "{\"a\":3}\n"), "the old one as it was");
	unlink(path);
	is_int(send_all(k, two, r), 0, "removed");
	ok(holds(path, "{\"a\":1}\n{\"a\":2}\n"), "a new file");

	/* a write that is cut short */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	lim = old;
	lim.rlim_cur = 20;
	setrlimit(RLIMIT_FSIZE, &lim);
	is_int(send_all(k, two, r), -EAGAIN, "no room for all of a batch");
	setrlimit(RLIMIT_FSIZE, &old);
	ok(r[0] == SINK_RETRY && r[1] == SINK_RETRY, "none of it is acked");
	ok(holds(path, "{\"a\":1}\n{\"a\":2}\n"), "none of it is in the file");
	is_int(send_all(k, two, r), 0, "and when there is room");
	ok(holds(path, "{\"a\":1}\n{\"a\":2}\n{\"a\":1}\n{\"a\":2}\n"), "all of it");
	sink_file.close(k);

	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
