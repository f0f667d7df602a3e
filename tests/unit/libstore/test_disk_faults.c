/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A disk that is full (ENOSPC) or broken (EIO), from its first, second, third ... call on or now and then:
 * nothing is acknowledged that is not on the disk, the trouble is one line in the log, and all goes on when
 * the disk is well again.
 */
#define _GNU_SOURCE /* memmem, off64_t */
#include "disk_faults.h"

#include <dirent.h>
#include <stdlib.h>

#include "counted_log.h"
#include "scratch.h"
#include "src/libledger/ledger.h"
#include "src/libsink/sink.h"
#include "src/libstore/inbox.h"
#include "src/libstore/store.h"
#include "src/libstore/store_view.h"
#include "tap.h"

#define ENTRIES 6
#define CALLS_MAX 500 /* no work below takes as many */

static char dir[] = SCRATCH_TEMPLATE;
static char work[sizeof(dir) + 8], copy[sizeof(dir) + 8];

/* The work on a disk that fails from call FROM on. Returns what is wrong with the outcome; "": nothing. */
typedef const char *work_fn(unsigned int from, int error);

static void test_error(const char *what, work_fn *fn, int error)
{
	const char *wrong = "";
	bool was_hit = true;
	unsigned int from;

	for (from = 1; from < CALLS_MAX && was_hit && !*wrong; from++) {
		scratch_clear(dir);
		(void)mkdir(work, 0700);
		(void)mkdir(copy, 0700);
		forget_log();
		wrong = fn(from, error);
		was_hit = disk.has_failed;
	}
	ok(!*wrong && from > 3, "%s: %s %s any of %u calls", what, strerror(error),
	   disk_now_and_then ? "at" : "from", from - 2);
	if (*wrong)
		diag("call %u: %s", from - 1, wrong);
	disk.dir = NULL;
}

static void test_work(const char *what, work_fn *fn)
{
	int i;

	for (i = 0; i < 2; i++) {
		disk_now_and_then = i;
		test_error(what, fn, ENOSPC);
		test_error(what, fn, EIO);
	}
}

/* --- inbox -------------------------------------------------------------------------------------- */

/* Notes in HAS which entries are in the inbox. */
static const char *find_entries(bool has[ENTRIES + 1])
{
	static const struct inbox_pos begin;
	struct inbox_reader *r = NULL;
	struct inbox_entry e;
	struct errmsg err = { 0 };
	int rc = inbox_reader_open(work, &begin, &r, &err);
	uint64_t n;

	memset(has, 0, (ENTRIES + 1) * sizeof(*has));
	while (rc >= 0 && (rc = inbox_read(r, &e, &err)) > 0)
		if (e.kind == INBOX_END) {
			memcpy(&n, e.data, sizeof(n));
			has[n <= ENTRIES ? n : 0] = true;
		} /* INBOX_LOST is right: the sync has lost the start of a file */
	inbox_reader_close(r);
	if (rc < 0)
		diag("%s %s", strerror(-rc), err.text);
	return rc < 0 ? "the inbox cannot be read" : has[0] ? "an entry that nobody wrote" : "";
}

static const char *inbox_work(unsigned int from, int error)
{
	static const struct cluster_facts site = { .cluster = "c" };
	struct inbox_writer *w = NULL;
	struct errmsg err = { 0 };
	const char *wrong = "";
	bool has[ENTRIES + 1];
	uint64_t n, acked = 0;
	bool was_name_lost = false;

	disk_begin(work, 0, 0, false);
	if (inbox_writer_open(work, &site, &w, &err) < 0)
		return "it does not open";
	disk_begin(work, from, error, /* loses= */ true);
	for (n = 1; n <= ENTRIES && !*wrong; n++) {
		char entry[400] = { 0 };

		memcpy(entry, &n, sizeof(n));
		if (inbox_append(w, INBOX_END, entry, sizeof(entry)) < 0)
			wrong = "no memory";
		if (inbox_flush(w, &err) == 0) {
			acked = n;
			was_name_lost = disk.is_name_lost;
		}
	}
	if (!*wrong)
		wrong = find_entries(has);
	for (n = 1; n <= acked && !*wrong; n++)
		if (!has[n] || was_name_lost)
			wrong = "an entry was acknowledged and is lost";
	disk_mend();
	if (!*wrong && inbox_flush(w, &err) < 0)
		wrong = "it does not go on";
	if (!*wrong && disk.is_name_lost)
		wrong = "the name of the file may be lost";
	if (!*wrong)
		wrong = find_entries(has);
	for (n = 1; n <= ENTRIES && !*wrong; n++)
		if (!has[n])
			wrong = "an entry is lost";
	inbox_writer_close(w);
	return wrong;
}

/* --- store -------------------------------------------------------------------------------------- */

static int note_seq(void *ctx, const struct store_row *row)
{
	bool *has = ctx;

	has[row->seq <= ENTRIES ? row->seq : 0] = true;
	return 0;
}

/* As a crash leaves it: without SQLite's shared memory, and with no lock held. */
static bool copy_store(void)
{
	static const char *const names[] = { STORE_FILE, STORE_FILE "-wal" };
	bool is_good = true;
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(names) && is_good; i++) {
		char *data = scratch_read(scratch_path(work, names[i]), &len);

		is_good = data && scratch_write(scratch_path(copy, names[i]), data, len);
		free(data);
	}
	return is_good;
}

static uint64_t put(struct store *s)
{
	static const char json[] = "{\"a\":\"a record of some length\"}";
	struct errmsg err = { 0 };
	uint64_t seq = 0;
	int rc = store_begin(s, &err);

	if (rc == 0) {
		rc = store_record_append(s, STORE_RECORD, "c/1,1,0/0", json, sizeof(json) - 1, 0, &seq, &err);
		if (rc < 0)
			store_rollback(s);
		else
			rc = store_commit(s, &err);
	}
	return rc < 0 ? 0 : seq;
}

static const char *store_work(unsigned int from, int error)
{
	struct store_options o = { .dir = work };
	struct store *s = NULL;
	struct store_view *v = NULL;
	struct errmsg err = { 0 };
	const char *wrong = "";
	bool acked[ENTRIES + 1] = { 0 }, has[ENTRIES + 1] = { 0 };
	unsigned int n;

	disk_begin(work, 0, 0, false);
	if (store_open(&o, &s, &err) < 0)
		return "it does not open";
	forget_log();
	/* SQLite cannot know what a failed sync has lost */
	disk_begin(work, from, error, /* loses= */ false);
	for (n = 1; n <= ENTRIES - 1; n++)
		acked[put(s)] = true;
	if (!disk_now_and_then && errors != disk.has_failed)
		wrong = "not one line of error";
	disk_mend();
	if (!copy_store() || store_view_open(copy, /* writable= */ true, &v, &err) < 0 ||
	    store_view_records(v, &(struct store_pick){ 0 }, note_seq, has, &err) < 0)
		wrong = "what a crash leaves cannot be read";
	store_view_close(v);
	for (n = 1; n <= ENTRIES && !*wrong; n++)
		if (acked[n] && !has[n])
			wrong = "a record was acknowledged and is lost";
	if (!*wrong && !put(s))
		wrong = "it does not go on";
	if (!*wrong && infos != errors)
		wrong = "not one line says that it goes on";
	store_close(s);
	s = NULL;
	if (!*wrong && (store_open(&o, &s, &err) < 0 || store_is_new(s)))
		wrong = "it does not open again";
	store_close(s);
	return wrong;
}

/* --- the sink file ---------------------------------------------------------------------------------- */

static const char *sink_work(unsigned int from, int error)
{
	static struct settings settings;
	enum sink_result result[ENTRIES];
	char json[ENTRIES][32], *text, *line, *rest;
	bool has[ENTRIES] = { 0 };
	struct errmsg err = { 0 };
	struct sink *k = NULL;
	const char *wrong = "";
	unsigned int n, turn;
	size_t len;

	(void)snprintf(settings.record_file, sizeof(settings.record_file), "%s/jobs", work);
	disk_begin(work, from, error, /* loses= */ true);
	if (sink_file.open(&settings, &k, &err) < 0)
		return "it does not open";
	/* batches of two, each repeated until it is taken; after some turns the disk is well again */
	for (n = 0, turn = 0; n < ENTRIES && turn < 20; turn++) {
		struct sink_item item[2];
		unsigned int i;

		if (turn == 4)
			disk_mend();
		for (i = 0; i < 2; i++) {
			len = (size_t)snprintf(json[n + i], sizeof(json[n]), "{\"n\":%u}", n + i);
			item[i] = (struct sink_item){ STORE_RECORD, "k",   1,	 json[n + i],
						      len,	    n + i, NULL, false };
			result[i] = SINK_RETRY;
		}
		if (sink_file.deliver(k, item, 2, result, 1000000000, &err) == 0 && result[0] == SINK_ACKED &&
		    result[1] == SINK_ACKED) {
			if (!disk.is_name_kept)
				wrong = "the name of the file may be lost";
			n += 2;
		}
	}
	sink_file.close(k);
	if (n < ENTRIES)
		return "it does not go on";
	text = scratch_read(settings.record_file, &len);
	for (rest = text; rest && (line = strsep(&rest, "\n")) && *line;)
		if (sscanf(line, "{\"n\":%u}", &n) == 1 && n < ENTRIES)
			has[n] = true;
		else
			wrong = "a line is no record";
	free(text);
	for (n = 0; n < ENTRIES && !*wrong; n++)
		if (!has[n])
			wrong = "a record was acknowledged and is lost";
	return wrong;
}

/* --- a file that is replaced: ceems.prom, the recorder's, the marker for a backup ---------------------- */

static const char *replace_work(unsigned int from, int error)
{
	const char *path = scratch_path(work, "file");
	struct errmsg err = { 0 };
	const char *wrong = "";
	char *text;
	size_t len;
	int rc;

	disk_begin(NULL, 0, 0, false);
	(void)scratch_write(path, "old", 3);
	disk_begin(work, from, error, /* loses= */ true);
	rc = fileio_write_durable(path, "the new one", 11, 0600, &err);
	disk_mend();
	text = scratch_read(path, &len);
	if (rc == 0 && disk.has_failed)
		wrong = "an error is not told";
	else if (!text || (len != 3 && len != 11) || memcmp(text, len == 3 ? "old" : "the new one", len) != 0)
		wrong = "it is neither the old nor the new one";
	else if (rc == 0 && len == 3)
		wrong = "it is still the old one";
	else if (access(scratch_path(work, "file.tmp"), F_OK) == 0)
		wrong = "the file beside it stays";
	free(text);
	rc = fileio_write_durable(path, "the new one", 11, 0600, &err);
	if (!*wrong && rc < 0)
		wrong = "it does not go on";
	return wrong;
}

/* --- the ledger ------------------------------------------------------------------------------------- */

static unsigned int count_files(void)
{
	DIR *d = opendir(work);
	const struct dirent *e;
	unsigned int n = 0;

	while (d && (e = readdir(d)))
		n += *e->d_name != '.';
	if (d)
		(void)closedir(d);
	return n;
}

/* All its room is taken when it is made, as writes to memory cannot fail. */
static const char *ledger_work(unsigned int from, int error)
{
	struct ledger *l = NULL;
	struct errmsg err = { 0 };
	bool is_fresh = false;
	int rc;

	disk_begin(work, from, error, /* loses= */ false);
	rc = ledger_create(work, "n1", &l, &is_fresh, &err);
	disk_mend();
	if (rc == 0 && disk.has_failed)
		return "an error is not told";
	if (rc < 0 && count_files())
		return "a part of it stays";
	if (rc == 0)
		ledger_turn(l);
	ledger_close(l);
	if (ledger_create(work, "n1", &l, &is_fresh, &err) < 0)
		return "it does not go on";
	ledger_close(l);
	return "";
}

int main(void)
{
	logger_set_sink(count_log);
	if (!mkdtemp(dir))
		return skip_all("no scratch folder");
	(void)snprintf(work, sizeof(work), "%s/work", dir);
	(void)snprintf(copy, sizeof(copy), "%s/copy", dir);
	test_work("inbox", inbox_work);
	test_work("store", store_work);
	test_work("sink file", sink_work);
	test_work("a file that is replaced", replace_work);
	test_work("ledger", ledger_work);
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
