/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstore/inbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tap.h"

static char dir[PATH_MAX];
static const struct inbox_pos begin;
static const struct cluster_facts site = { .cluster = "c" };

static void bail(const char *why)
{
	diag("%s", why);
	exit(1);
}

static void empty_dir(void)
{
	char command[PATH_MAX + 32];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		bail("cannot empty the folder");
}

static struct inbox_writer *writer(void)
{
	struct inbox_writer *w = NULL;
	struct errmsg err = { 0 };

	if (inbox_writer_open(dir, &site, &w, &err) < 0)
		bail(err.text);
	return w;
}

static struct inbox_reader *reader(const struct inbox_pos *from)
{
	struct inbox_reader *r = NULL;
	struct errmsg err = { 0 };

	if (inbox_reader_open(dir, from, &r, &err) < 0)
		bail(err.text);
	return r;
}

static void put(struct inbox_writer *w, uint64_t number, size_t len)
{
	_cleanup_free_ unsigned char *data = calloc(1, len);
	struct errmsg err = { 0 };

	memcpy(data, &number, sizeof(number));
	if (inbox_append(w, INBOX_END, data, len) < 0 || inbox_flush(w, &err) < 0)
		bail(err.text);
}

/* How many entries there are, and what the last has in it. */
static unsigned int read_all(struct inbox_reader *r, uint64_t *ret_last)
{
	struct errmsg err = { 0 };
	struct inbox_entry e;
	unsigned int n = 0;
	int rc;

	while ((rc = inbox_read(r, &e, &err)) > 0) {
		if (e.kind != INBOX_END)
			continue;
		memcpy(ret_last, e.data, sizeof(*ret_last));
		n++;
	}
	is_int(rc, 0, "reading ends without an error");
	return n;
}

/* Reads all entries. Returns the numbers of the ends, and "lost" for each loss. */
static const char *read_text(struct inbox_reader *r, char *buf, size_t size)
{
	struct errmsg err = { 0 };
	struct inbox_entry e;
	uint64_t number = 0;
	size_t used = 0;

	buf[0] = '\0';
	while (inbox_read(r, &e, &err) > 0) {
		if (e.kind == INBOX_END)
			memcpy(&number, e.data, sizeof(number));
		if (e.kind == INBOX_END && used < size)
			used += (size_t)snprintf(buf + used, size - used, "%" PRIu64 " ", number);
		else if (e.kind == INBOX_LOST && used < size)
			used += (size_t)snprintf(buf + used, size - used, "lost ");
	}
	return buf;
}

static unsigned int count_files(const char *prefix)
{
	DIR *d = opendir(dir);
	unsigned int n = 0;
	struct dirent *e;

	while (d && (e = readdir(d)))
		n += !strncmp(e->d_name, prefix, strlen(prefix));
	if (d)
		(void)closedir(d);
	return n;
}

static void newest(char *path, size_t size)
{
	DIR *d = opendir(dir);
	char name[256] = "";
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, "inbox-", 6) && strcmp(e->d_name, name) > 0)
			(void)snprintf(name, sizeof(name), "%s", e->d_name);
	if (d)
		(void)closedir(d);
	if (snprintf(path, size, "%s/%s", dir, name) >= (int)size)
		bail("path");
}

static void test_plain(void)
{
	struct inbox_writer *w;
	struct inbox_reader *r;
	struct inbox_pos pos;
	struct errmsg err = { 0 };
	struct inbox_status status;
	uint64_t last = 0;

	empty_dir();
	is_int(inbox_reader_open(dir, &begin, &r, &err), -ENOENT, "no folder, no reader");
	w = writer();
	r = reader(&begin);
	is_u64(read_all(r, &last), 0, "nothing is there");
	put(w, 1, 8);
	put(w, 2, 13);
	put(w, 3, INBOX_ENTRY_MAX);
	is_int(inbox_append(w, INBOX_END, dir, INBOX_ENTRY_MAX + 1), -EMSGSIZE, "an entry that is too long");
	is_u64(read_all(r, &last), 3, "three entries");
	is_u64(last, 3, "in order");
	inbox_reader_get_pos(r, &pos);
	put(w, 4, 100);
	is_u64(read_all(r, &last), 1, "one more");
	inbox_reader_rewind(r, &pos);
	is_u64(read_all(r, &last), 1, "it comes again after a rewind");
	is_u64(last, 4, "the same");
	inbox_reader_close(r);
	r = reader(&pos);
	is_u64(read_all(r, &last), 1, "and to another reader from there on");
	inbox_reader_get_pos(r, &pos);
	inbox_reader_release(r, &pos);
	is_u64(count_files("inbox-"), 1, "the file that is written stays");
	inbox_writer_close(w);
	w = writer();
	put(w, 5, 8);
	is_u64(count_files("inbox-"), 2, "a new writer begins a file");
	is_u64(read_all(r, &last), 1, "which is read next");
	inbox_reader_get_pos(r, &pos);
	inbox_reader_release(r, &pos);
	is_u64(count_files("inbox-"), 1, "the first one goes");
	is_int(inbox_get_status(dir, &begin, &status, &err), 0, "status");
	is_u64(status.files, 1, "one file");
	ok(status.bytes > 16 && status.oldest > 0, "its size and time");
	inbox_reader_close(r);
	inbox_writer_close(w);
}

static void test_wakes(void)
{
	struct inbox_writer *w;
	struct inbox_reader *r;
	struct pollfd p;
	uint64_t last;

	empty_dir();
	w = writer();
	r = reader(&begin);
	(void)read_all(r, &last);
	p = (struct pollfd){ .fd = inbox_reader_fd(r), .events = POLLIN };
	is_int(poll(&p, 1, 0), 0, "a reader that has all is not woken");
	put(w, 1, 8);
	is_int(poll(&p, 1, 1000), 1, "an entry wakes it");
	is_u64(read_all(r, &last), 1, "and is there");
	is_int(poll(&p, 1, 0), 0, "then it sleeps again");
	inbox_reader_close(r);
	inbox_writer_close(w);
}

static void test_rotates(void)
{
	struct inbox_writer *w;
	struct inbox_reader *r;
	uint64_t last = 0;
	uint64_t i;

	empty_dir();
	w = writer();
	for (i = 1; i <= 100; i++)
		put(w, i, 200000);
	ok(count_files("inbox-") >= 3, "a file ends at its size");
	r = reader(&begin);
	is_u64(read_all(r, &last), 100, "all are read");
	is_u64(last, 100, "to the last");
	inbox_reader_close(r);
	inbox_writer_close(w);
}

/* Whatever byte the last write ended at, what is whole is read, and the next file. */
static void test_torn(void)
{
	struct inbox_writer *w;
	struct inbox_reader *r;
	char path[PATH_MAX];
	uint64_t last = 0;
	struct stat st;
	bool good = true;
	off_t size;
	off_t cut;

	empty_dir();
	w = writer();
	put(w, 1, 40);
	newest(path, sizeof(path));
	(void)stat(path, &st);
	size = st.st_size;
	put(w, 2, 40);
	inbox_writer_close(w);
	(void)stat(path, &st);
	for (cut = st.st_size - 1; cut >= size; cut--) {
		struct errmsg err = { 0 };
		struct inbox_entry e;
		unsigned int n = 0;

		if (truncate(path, cut) < 0)
			bail("truncate");
		r = reader(&begin);
		while (inbox_read(r, &e, &err) > 0)
			n += e.kind == INBOX_END;
		good = good && n == 1;
		inbox_reader_close(r);
	}
	ok(good, "cut anywhere, the entry before is read");
	r = reader(&begin);
	(void)read_all(r, &last);
	if (truncate(path, size + 5) < 0)
		bail("truncate");
	w = writer();
	put(w, 3, 40);
	is_u64(read_all(r, &last), 1, "behind a torn tail the next file is read");
	is_u64(last, 3, "with its entry");
	inbox_reader_close(r);
	inbox_writer_close(w);
}

/* Writes a file of the entries NUMBER, NUMBER + 1 and NUMBER + 2, of which the second is damaged. */
static struct inbox_writer *write_damaged(uint64_t number)
{
	struct inbox_writer *w = writer();
	char path[PATH_MAX];
	int fd;

	put(w, number, 40);
	put(w, number + 1, 40);
	put(w, number + 2, 40);
	newest(path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, "x", 1, 16 + 16 + sizeof(struct cluster_facts) + 56 + 20) != 1)
		bail("cannot damage it");
	(void)close(fd);
	return w;
}

static void test_damaged(void)
{
	struct inbox_writer *w;
	struct inbox_reader *r;
	struct errmsg err = { 0 };
	struct inbox_entry e;
	struct inbox_pos pos;
	uint64_t last = 0;
	bool lost = false;

	empty_dir();
	w = write_damaged(1);
	r = reader(&begin);
	is_u64(read_all(r, &last), 1, "what is in front of the damage is read");
	inbox_writer_close(w);
	w = writer();
	put(w, 4, 40);
	while (inbox_read(r, &e, &err) > 0)
		if (e.kind == INBOX_LOST)
			lost = true;
		else if (e.kind == INBOX_END)
			memcpy(&last, e.data, sizeof(last));
	ok(lost, "the loss of entries is reported");
	is_u64(last, 4, "and the next file is read");
	inbox_reader_get_pos(r, &pos);
	inbox_reader_release(r, &pos);
	is_u64(count_files("damaged-"), 1, "the damaged one is kept under another name");
	is_u64(count_files("inbox-"), 1, "and the next one stays");
	inbox_reader_close(r);
	inbox_writer_close(w);
}

/* What could not be stored comes again, the loss of entries as well. */
static void test_damaged_not_stored(void)
{
	static const char want[] = "1 lost 4 lost 7 ";
	struct inbox_writer *w;
	struct inbox_reader *r;
	struct inbox_pos pos;
	char seen[64];

	empty_dir();
	inbox_writer_close(write_damaged(1));
	inbox_writer_close(write_damaged(4));
	w = writer();
	put(w, 7, 40);
	r = reader(&begin);
	is_str(read_text(r, seen, sizeof(seen)), want, "two damaged files and a good one");
	inbox_reader_rewind(r, &begin);
	is_str(read_text(r, seen, sizeof(seen)), want, "the same after a rewind");
	inbox_reader_close(r);
	r = reader(&begin);
	is_str(read_text(r, seen, sizeof(seen)), want, "the same to another reader");
	inbox_reader_get_pos(r, &pos);
	is_u64(count_files("inbox-"), 3, "until then all files keep their names");
	inbox_reader_release(r, &pos);
	is_u64(count_files("inbox-"), 1, "when all is stored, they go");
	is_u64(count_files("damaged-"), 2, "and the damaged ones are kept");
	inbox_reader_close(r);
	inbox_writer_close(w);
}

/* Gives the newest file the layout of another version. */
static void spoil_layout(void)
{
	const uint32_t layout = 1;
	char path[PATH_MAX];
	int fd;

	newest(path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, &layout, sizeof(layout), 8) != sizeof(layout))
		bail("cannot change the layout");
	(void)close(fd);
}

static void test_foreign(void)
{
	struct errmsg err = { 0 };
	struct inbox_writer *w;
	struct inbox_reader *r;
	struct inbox_entry e;
	struct inbox_pos pos;
	uint64_t last = 0;
	unsigned int lost = 0;

	empty_dir();
	w = writer();
	put(w, 1, 8);
	r = reader(&begin);
	is_u64(read_all(r, &last), 1, "an entry");
	inbox_reader_get_pos(r, &pos);
	inbox_reader_close(r);
	spoil_layout();
	r = reader(&pos);
	is_u64(read_all(r, &last), 0, "a file of another layout that was read");
	put(w, 2, 8);
	is_u64(read_all(r, &last), 0, "its next entry is not taken");
	is_u64(count_files("damaged-"), 0, "and waits");
	inbox_writer_close(w);
	w = writer();
	put(w, 3, 8);
	while (inbox_read(r, &e, &err) > 0) {
		if (e.kind == INBOX_LOST)
			lost++;
		else if (e.kind == INBOX_END)
			memcpy(&last, e.data, sizeof(last));
	}
	is_u64(lost, 1, "a successor: what was not read is reported lost");
	is_u64(last, 3, "and the successor is read");
	inbox_reader_get_pos(r, &pos);
	inbox_reader_release(r, &pos);
	is_u64(count_files("damaged-"), 1, "the file is kept under another name");
	spoil_layout();
	inbox_reader_get_pos(r, &pos);
	inbox_reader_close(r);
	inbox_writer_close(w);
	w = writer();
	put(w, 4, 8);
	r = reader(&pos);
	is_u64(read_all(r, &last), 1, "a file that was read completely is left");
	is_u64(last, 4, "for the next one");
	inbox_reader_get_pos(r, &pos);
	inbox_reader_release(r, &pos);
	is_u64(count_files("damaged-"), 1, "and not kept");
	inbox_reader_close(r);
	inbox_writer_close(w);
}

/* A limit on file size stands in for a full disk. */
static void test_full(void)
{
	struct rlimit limit = { 16 + 16 + sizeof(struct cluster_facts) + 100, RLIM_INFINITY };
	struct inbox_writer *w;
	struct inbox_reader *r;
	struct errmsg err = { 0 };
	uint64_t number = 7;
	uint64_t last = 0;
	char entry[400] = { 0 };

	empty_dir();
	(void)signal(SIGXFSZ, SIG_IGN);
	w = writer();
	memcpy(entry, &number, sizeof(number));
	(void)inbox_append(w, INBOX_END, entry, sizeof(entry));
	(void)setrlimit(RLIMIT_FSIZE, &limit);
	is_int(inbox_flush(w, &err), -EFBIG, "the disk takes a part");
	is_int(inbox_flush(w, &err), -EFBIG, "and no more");
	r = reader(&begin);
	is_u64(read_all(r, &last), 0, "which is no entry yet");
	limit.rlim_cur = RLIM_INFINITY;
	(void)setrlimit(RLIMIT_FSIZE, &limit);
	is_int(inbox_flush(w, &err), 0, "there is room: it goes on where it was");
	is_u64(read_all(r, &last), 1, "the entry is there");
	is_u64(last, 7, "whole");
	inbox_reader_close(r);
	inbox_writer_close(w);
}

/* A writer that is killed at any moment leaves what it flushed. */
static void test_killed(void)
{
	struct inbox_reader *r;
	uint64_t told = 0;
	uint64_t last = 0;
	int fd[2];
	pid_t pid;

	empty_dir();
	if (pipe(fd) < 0)
		bail("pipe");
	pid = fork();
	if (pid == 0) {
		struct inbox_writer *w = writer();
		uint64_t i;

		for (i = 1;; i++) {
			put(w, i, 300);
			if (write(fd[1], &i, sizeof(i)) < 0)
				_exit(1);
		}
	}
	while (told < 50)
		if (read(fd[0], &told, sizeof(told)) != sizeof(told))
			bail("no writer");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	(void)close(fd[1]);
	while (read(fd[0], &told, sizeof(told)) == sizeof(told))
		;
	(void)close(fd[0]);
	r = reader(&begin);
	ok(read_all(r, &last) >= told, "all that was flushed is there");
	inbox_reader_close(r);
}

static void remove_newest_file(void)
{
	char path[PATH_MAX];

	newest(path, sizeof(path));
	if (unlink(path) < 0)
		bail("cannot remove the file");
}

/* Somebody removes the file: nothing goes into it, and the loss of what was in it is told. */
static void test_file_removed(void)
{
	struct inbox_writer *w;
	struct inbox_reader *r;
	char seen[64];

	empty_dir();
	w = writer();
	put(w, 1, 40);
	remove_newest_file();
	put(w, 2, 40);
	put(w, 3, 40);
	r = reader(&begin);
	is_str(read_text(r, seen, sizeof(seen)), "2 lost 3 ", "what is written then is in a new file");
	is_u64(count_files("inbox-"), 1, "in one");
	inbox_reader_close(r);
	inbox_writer_close(w);
}

/* Writes two entries. The reader has the file open, and has read the first. */
static struct inbox_writer *write_two(struct inbox_reader **ret_reader)
{
	struct inbox_writer *w;
	char seen[64];

	empty_dir();
	w = writer();
	put(w, 1, 40);
	*ret_reader = reader(&begin);
	is_str(read_text(*ret_reader, seen, sizeof(seen)), "1 ", "an entry");
	put(w, 2, 40);
	return w;
}

/* Somebody removes the folder, while the reader has a file of it open. */
static void test_folder_removed(void)
{
	struct errmsg err = { 0 };
	struct inbox_writer *w;
	struct inbox_reader *r;
	struct inbox_entry e;
	struct inbox_pos pos;
	char seen[64];

	w = write_two(&r);
	empty_dir();
	put(w, 3, 40);
	ok(strstr(read_text(r, seen, sizeof(seen)), "2 ") == seen,
	   "the reader gets what is in the removed file");
	is_int(inbox_read(r, &e, &err), -ESTALE, "then hears of the removal");
	ok(strstr(err.text, dir) && strstr(err.text, "was removed"), "as: %s", err.text);
	inbox_reader_get_pos(r, &pos);
	inbox_reader_close(r);
	r = reader(&pos);
	is_str(read_text(r, seen, sizeof(seen)), "3 lost ", "the new folder has the rest");
	put(w, 4, 40);
	is_str(read_text(r, seen, sizeof(seen)), "4 ", "and is written on");
	inbox_reader_close(r);
	inbox_writer_close(w);
}

/* Somebody moves the folder away and makes a new one, perhaps on another disk. */
static void test_folder_moved(void)
{
	struct errmsg err = { 0 };
	char cmd[3 * PATH_MAX];
	struct inbox_writer *w;
	struct inbox_reader *r;
	struct inbox_entry e;
	struct inbox_pos pos;
	char seen[64];

	w = write_two(&r);
	(void)snprintf(cmd, sizeof(cmd), "mv '%s' '%s.away' && mkdir -m 700 '%s'", dir, dir, dir);
	if (system(cmd))
		bail("cannot move the folder");
	put(w, 3, 40);
	ok(strstr(read_text(r, seen, sizeof(seen)), "2 ") == seen,
	   "the reader gets what is in the moved folder");
	is_int(inbox_read(r, &e, &err), -ESTALE, "then hears of the move");
	inbox_reader_get_pos(r, &pos);
	inbox_reader_close(r);
	r = reader(&pos);
	is_str(read_text(r, seen, sizeof(seen)), "3 lost ", "the new folder has the rest");
	inbox_reader_close(r);
	inbox_writer_close(w);
	(void)snprintf(cmd, sizeof(cmd), "rm -rf '%s.away'", dir);
	if (system(cmd))
		bail("cannot remove the moved folder");
}

/* The folder cannot be made again at once: the entries wait in memory. */
static void test_parent_removed(void)
{
	struct errmsg err = { 0 };
	char parent[PATH_MAX];
	struct inbox_writer *w;
	struct inbox_reader *r;
	uint64_t number = 2;
	char seen[64];

	empty_dir();
	w = writer();
	put(w, 1, 40);
	empty_dir();
	(void)snprintf(parent, sizeof(parent), "%s", dir);
	*strrchr(parent, '/') = '\0';
	(void)rmdir(parent);
	(void)inbox_append(w, INBOX_END, &number, sizeof(number));
	is_int(inbox_flush(w, &err), -ENOENT, "no place for the folder");
	is_int(inbox_flush(w, &err), -ENOENT, "nor later");
	(void)mkdir(parent, 0700);
	is_int(inbox_flush(w, &err), 0, "now there is");
	r = reader(&begin);
	is_str(read_text(r, seen, sizeof(seen)), "2 lost ", "and the entry is there");
	inbox_reader_close(r);
	inbox_writer_close(w);
}

static void test_refused(void)
{
	struct inbox_writer *w = NULL;
	struct errmsg err = { 0 };

	is_int(inbox_writer_open("/proc/1/nothing", &site, &w, &err), -ENOENT,
	       "a folder that cannot be made");
	ok(strstr(err.text, "/proc/1"), "is named in the error");
}

int main(void)
{
	char base[] = "/tmp/ceems-inbox-XXXXXX";

	if (!mkdtemp(base))
		bail("mkdtemp");
	(void)snprintf(dir, sizeof(dir), "%s/inbox", base);
	test_plain();
	test_wakes();
	test_rotates();
	test_torn();
	test_damaged();
	test_damaged_not_stored();
	test_foreign();
	test_full();
	test_killed();
	test_file_removed();
	test_folder_removed();
	test_folder_moved();
	test_parent_removed();
	test_refused();
	empty_dir();
	(void)rmdir(base);
	return done_testing();
}
