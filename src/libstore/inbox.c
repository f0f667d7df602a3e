/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstore/inbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

#include "src/libutil/crc32c.h"
#include "src/libutil/fileio.h"
#include "src/libutil/localfs.h"
#include "src/libutil/logger.h"

#define INBOX_KEY_NAME "InboxDir"
#define INBOX_ALIGN 8

struct inbox_header {
	char magic[8];
	uint32_t layout; /* version of the frames and of the structs in them */
	uint32_t zero;
};
#define INBOX_MAGIC "CEEMSIN\n"
#define INBOX_LAYOUT 3

struct inbox_frame {
	uint32_t len; /* length of the entry, without the zeros behind it */
	uint32_t kind;
	uint32_t crc;
	uint32_t zero;
};
_Static_assert(sizeof(struct inbox_header) % INBOX_ALIGN == 0, "frames are aligned");
_Static_assert(sizeof(struct inbox_frame) % INBOX_ALIGN == 0, "entries are aligned");
_Static_assert(sizeof(struct cluster_facts) % INBOX_ALIGN == 0, "and what is behind them");

static const uint64_t inbox_unknown_number; /* data of an INBOX_LOST */

static size_t inbox_padded(size_t len)
{
	return (len + INBOX_ALIGN - 1) / INBOX_ALIGN * INBOX_ALIGN;
}

static uint32_t inbox_crc(const struct inbox_frame *f, const void *data)
{
	return crc32c(crc32c(0, f, offsetof(struct inbox_frame, crc)), data, f->len);
}

/* --- the folder ---------------------------------------------------------------------------------- */

/* Parses a file's name, "inbox-0123456789abcdef", into its number. */
static bool inbox_parse_name(const char *name, uint64_t *ret)
{
	int end = 0;

	return strlen(name) == 22 && sscanf(name, "inbox-%16" SCNx64 "%n", ret, &end) == 1 && end == 22;
}

static void inbox_name(uint64_t number, char name[32])
{
	(void)snprintf(name, 32, "inbox-%016" PRIx64, number);
}

/* Lists the numbers of all inbox files, sorted; the caller frees *RET. */
static int inbox_list(int dir, uint64_t **ret, size_t *ret_n)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	uint64_t *list = NULL;
	size_t n = 0;
	size_t i;
	struct dirent *e;

	if (!d) {
		int rc = -errno;

		util_closep(&fd);
		return rc;
	}
	while ((e = readdir(d))) {
		uint64_t number;
		uint64_t *more;

		if (!inbox_parse_name(e->d_name, &number))
			continue;
		more = realloc(list, (n + 1) * sizeof(*list));
		if (!more) {
			free(list);
			(void)closedir(d);
			return -ENOMEM;
		}
		list = more;
		for (i = n++; i > 0 && list[i - 1] > number; i--)
			list[i] = list[i - 1];
		list[i] = number;
	}
	(void)closedir(d);
	*ret = list;
	*ret_n = n;
	return 0;
}

static uint64_t inbox_file_bytes(int dir, uint64_t number, time_t *ret_written)
{
	struct stat st;
	char name[32];

	inbox_name(number, name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (ret_written)
		*ret_written = st.st_mtime;
	return (uint64_t)st.st_size;
}

static int inbox_open_dir(const char *path, struct errmsg *err)
{
	int rc = localfs_check(path, INBOX_KEY_NAME, err);
	int fd;

	if (rc < 0)
		return rc;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? errmsg_errno(err, -errno, INBOX_KEY_NAME "=%s: cannot open", path) : fd;
}

/* Returns true if the file that FD has open was removed. */
static bool inbox_is_removed(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

/*
 * Returns true if the folder that DIR has open is not the one at PATH any more: somebody
 * has removed or moved it.
 */
static bool inbox_is_moved(int dir, const char *path)
{
	struct stat was, is;

	if (fstat(dir, &was) < 0)
		return false;
	if (stat(path, &is) < 0)
		return errno == ENOENT;
	return was.st_dev != is.st_dev || was.st_ino != is.st_ino;
}

/* Bytes of entries behind FROM in file NUMBER of BYTES bytes. */
static uint64_t inbox_unread_bytes(uint64_t number, uint64_t bytes, const struct inbox_pos *from)
{
	uint64_t read = number < from->file ? bytes : sizeof(struct inbox_header);

	if (number == from->file && from->offset > read)
		read = from->offset;
	return bytes > read ? bytes - read : 0;
}

int inbox_get_status(const char *path, const struct inbox_pos *from, struct inbox_status *ret,
		     struct errmsg *err)
{
	_cleanup_close_ int dir = inbox_open_dir(path, err);
	_cleanup_free_ uint64_t *list = NULL;
	size_t n = 0;
	size_t i;
	int rc;

	*ret = (struct inbox_status){ 0 };
	if (dir < 0)
		return dir;
	rc = inbox_list(dir, &list, &n);
	if (rc < 0)
		return errmsg_errno(err, rc, INBOX_KEY_NAME "=%s: cannot read", path);
	for (i = 0; i < n; i++) {
		time_t written = 0;
		uint64_t bytes = inbox_file_bytes(dir, list[i], &written);
		uint64_t unread = inbox_unread_bytes(list[i], bytes, from);

		if (unread && !ret->unread)
			ret->oldest = (uint64_t)written;
		ret->bytes += bytes;
		ret->unread += unread;
	}
	ret->files = n;
	return 0;
}

/* --- the writer ---------------------------------------------------------------------------------- */

struct inbox_writer {
	char path[PATH_MAX];
	struct cluster_facts site;
	int dir;	 /* -1: not open */
	int fd;		 /* -1: the next write must start a file */
	uint64_t number; /* number of the open file */
	uint64_t used;	 /* bytes in the open file */
	/* entries that may not be on the disk yet; the first SENT bytes are written to the file */
	unsigned char *buf;
	size_t len, room, sent;
};

static uint64_t inbox_total_bytes(struct inbox_writer *w)
{
	_cleanup_free_ uint64_t *list = NULL;
	uint64_t total = 0;
	size_t n = 0;
	size_t i;

	if (inbox_list(w->dir, &list, &n) < 0)
		return 0;
	for (i = 0; i < n; i++)
		total += inbox_file_bytes(w->dir, list[i], NULL);
	return total;
}

/* Numbers are microseconds since the epoch: they grow even if the reader has deleted all files. */
static int inbox_next_number(struct inbox_writer *w)
{
	_cleanup_free_ uint64_t *list = NULL;
	struct timespec now;
	uint64_t number;
	size_t n = 0;
	int rc = inbox_list(w->dir, &list, &n);

	if (rc < 0)
		return rc;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	number = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	if (n && list[n - 1] >= number)
		number = list[n - 1] + 1;
	w->number = number > w->number ? number : w->number + 1;
	return 0;
}

static void inbox_end_file(struct inbox_writer *w)
{
	util_closep(&w->fd);
	w->fd = -1;
}

/* Creates the folder. Checks its parent first: mkdir() on a network file system may hang. */
static int inbox_make_dir(const char *path, struct errmsg *err)
{
	char parent[PATH_MAX];
	char *slash;
	int rc;

	(void)snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash > parent)
		*slash = '\0';
	rc = localfs_check(parent, INBOX_KEY_NAME, err);
	if (rc == 0 && mkdir(path, 0700) < 0 && errno != EEXIST)
		rc = errmsg_errno(err, -errno, INBOX_KEY_NAME "=%s: cannot create", path);
	return rc;
}

/* Opens the folder, also if it was removed or moved since. */
static int inbox_ensure_dir(struct inbox_writer *w, struct errmsg *err)
{
	int rc;

	if (w->dir >= 0 && !inbox_is_moved(w->dir, w->path))
		return 0;
	util_closep(&w->dir);
	w->dir = -1;
	rc = inbox_make_dir(w->path, err);
	if (rc == 0)
		rc = inbox_open_dir(w->path, err);
	if (rc < 0)
		return rc;
	w->dir = rc;
	return 0;
}

static int inbox_begin_file(struct inbox_writer *w, struct errmsg *err)
{
	struct {
		struct inbox_header file;
		struct inbox_frame frame;
		struct cluster_facts site;
	} h = { .file = { .magic = INBOX_MAGIC, .layout = INBOX_LAYOUT },
		.frame = { .len = sizeof(w->site), .kind = INBOX_SITE },
		.site = w->site };
	char name[32];
	int rc = inbox_ensure_dir(w, err);

	if (rc < 0)
		return rc;
	if (inbox_total_bytes(w) >= INBOX_MAX_BYTES)
		return errmsg_set(err, -ENOSPC,
				  INBOX_KEY_NAME "=%s is full: ceems-recorder does not "
						 "read it; start the recorder, or see its log",
				  w->path);
	rc = inbox_next_number(w);
	if (rc < 0)
		return errmsg_errno(err, rc, INBOX_KEY_NAME "=%s: cannot read", w->path);
	inbox_name(w->number, name);
	w->fd = openat(w->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (w->fd < 0)
		return errmsg_errno(err, -errno, "%s/%s: cannot create", w->path, name);
	h.frame.crc = inbox_crc(&h.frame, &h.site);
	rc = fileio_write_full(w->fd, &h, sizeof(h));
	/* sync the folder, or a power cut may lose the file's name */
	if (rc == 0 && fsync(w->dir) < 0)
		rc = -errno;
	if (rc < 0) {
		inbox_end_file(w);
		(void)unlinkat(w->dir, name, 0);
		return errmsg_errno(err, rc, "%s/%s: cannot write", w->path, name);
	}
	w->used = sizeof(h);
	w->sent = 0;
	return 0;
}

int inbox_writer_open(const char *path, const struct cluster_facts *site, struct inbox_writer **ret,
		      struct errmsg *err)
{
	struct inbox_writer *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return errmsg_set(err, -ENOMEM, "out of memory");
	w->fd = w->dir = -1;
	w->site = *site;
	(void)snprintf(w->path, sizeof(w->path), "%s", path);
	rc = inbox_begin_file(w, err);
	if (rc < 0) {
		inbox_writer_close(w);
		return rc;
	}
	*ret = w;
	return 0;
}

void inbox_writer_close(struct inbox_writer *w)
{
	if (!w)
		return;
	inbox_end_file(w);
	util_closep(&w->dir);
	free(w->buf);
	free(w);
}

int inbox_append(struct inbox_writer *w, enum inbox_kind kind, const void *data, size_t len)
{
	struct inbox_frame f = { .len = (uint32_t)len, .kind = kind };
	size_t need = sizeof(f) + inbox_padded(len);

	if (len > INBOX_ENTRY_MAX)
		return -EMSGSIZE;
	if (need > w->room - w->len) {
		size_t room = 2 * (w->len + need);
		unsigned char *more = realloc(w->buf, room);

		if (!more)
			return -ENOMEM;
		w->buf = more;
		w->room = room;
	}
	f.crc = inbox_crc(&f, data);
	memcpy(w->buf + w->len, &f, sizeof(f));
	if (len)
		memcpy(w->buf + w->len + sizeof(f), data, len);
	memset(w->buf + w->len + sizeof(f) + len, 0, inbox_padded(len) - len);
	w->len += need;
	return 0;
}

/*
 * Ends a file that was removed, or whose folder was moved. The entries in memory are written again;
 * INBOX_LOST tells the recorder of the others.
 */
static int inbox_end_removed(struct inbox_writer *w, struct errmsg *err)
{
	int rc = inbox_append(w, INBOX_LOST, &inbox_unknown_number, sizeof(inbox_unknown_number));

	if (rc < 0)
		return errmsg_errno(err, rc, INBOX_KEY_NAME "=%s", w->path);
	logger_error("ceems: jobcomp: " INBOX_KEY_NAME
		     "=%s: a file with job ends was removed or moved; ceems-recorder "
		     "looks for them in slurmdbd",
		     w->path);
	inbox_end_file(w);
	return errmsg_set(err, -ESTALE, INBOX_KEY_NAME "=%s: a file was removed or moved", w->path);
}

static int inbox_write_out(struct inbox_writer *w, struct errmsg *err)
{
	int rc;

	if (w->fd < 0) {
		rc = inbox_begin_file(w, err);
		if (rc < 0)
			return rc;
	}
	while (w->sent < w->len) {
		ssize_t n = write(w->fd, w->buf + w->sent, w->len - w->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errmsg_errno(err, -errno, INBOX_KEY_NAME "=%s: cannot write", w->path);
		w->sent += (size_t)n;
		w->used += (uint64_t)n;
	}
	if (fdatasync(w->fd) == 0)
		return inbox_is_removed(w->fd) || inbox_is_moved(w->dir, w->path) ?
			       inbox_end_removed(w, err) :
			       0;
	/*
	 * after a failed sync the state of the pages is unknown: write all of it again, to a new
	 * file
	 */
	(void)errmsg_errno(err, -errno, INBOX_KEY_NAME "=%s: cannot sync", w->path);
	inbox_end_file(w);
	return -EIO;
}

int inbox_flush(struct inbox_writer *w, struct errmsg *err)
{
	int rc;

	if (w->fd >= 0 && !w->sent && w->used >= INBOX_FILE_BYTES)
		inbox_end_file(w);
	if (!w->len)
		return 0;
	rc = inbox_write_out(w, err);
	if (rc == -ESTALE)
		rc = inbox_write_out(w, err);
	if (rc == 0)
		w->len = w->sent = 0;
	return rc;
}

/* --- the reader ---------------------------------------------------------------------------------- */

/*
 * A file that was left before its end. It keeps its name until the store has the loss of its other entries.
 */
struct inbox_damage {
	struct inbox_pos pos; /* of the first entry that cannot be read */
	bool is_foreign;      /* another layout */
};

struct inbox_reader {
	char path[PATH_MAX];
	int dir, watch;
	int fd;		       /* -1: no file is open */
	uint32_t foreign;      /* the open file's layout if it is not ours; else 0 */
	uint64_t foreign_told; /* the last such file of which the log has a line */
	bool is_at_end;	       /* the last inbox_read() found no entry */
	struct inbox_pos pos;
	struct inbox_damage *damage; /* in the order of the files */
	size_t ndamage;
	unsigned char *buf; /* room for a frame and INBOX_ENTRY_MAX bytes */
};

int inbox_reader_open(const char *path, const struct inbox_pos *from, struct inbox_reader **ret,
		      struct errmsg *err)
{
	struct inbox_reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return errmsg_set(err, -ENOMEM, "out of memory");
	r->fd = r->watch = -1;
	r->pos = *from;
	(void)snprintf(r->path, sizeof(r->path), "%s", path);
	rc = r->dir = inbox_open_dir(path, err);
	if (rc >= 0) {
		r->buf = malloc(INBOX_ENTRY_MAX + sizeof(struct inbox_frame));
		rc = r->buf ? 0 : errmsg_set(err, -ENOMEM, "out of memory");
	}
	if (rc == 0) {
		r->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
		if (r->watch < 0 || inotify_add_watch(r->watch, path, IN_CREATE | IN_MODIFY) < 0)
			rc = errmsg_errno(err, -errno, INBOX_KEY_NAME "=%s: cannot watch", path);
	}
	if (rc < 0) {
		inbox_reader_close(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void inbox_reader_close(struct inbox_reader *r)
{
	if (!r)
		return;
	util_closep(&r->fd);
	util_closep(&r->watch);
	util_closep(&r->dir);
	free(r->damage);
	free(r->buf);
	free(r);
}

int inbox_reader_fd(const struct inbox_reader *r)
{
	return r->watch;
}

void inbox_reader_get_pos(const struct inbox_reader *r, struct inbox_pos *ret)
{
	*ret = r->pos;
}

static void inbox_close_file(struct inbox_reader *r)
{
	util_closep(&r->fd);
	r->fd = -1;
}

void inbox_reader_rewind(struct inbox_reader *r, const struct inbox_pos *pos)
{
	inbox_close_file(r);
	r->pos = *pos;
	/* the files from POS on are read again */
	while (r->ndamage && r->damage[r->ndamage - 1].pos.file >= pos->file)
		r->ndamage--;
}

static void inbox_drain_watch(struct inbox_reader *r)
{
	char events[4096];

	while (read(r->watch, events, sizeof(events)) > 0)
		;
}

/* Finds the first file whose number is NUMBER or larger; 0: there is none. */
static int inbox_find_file(struct inbox_reader *r, uint64_t number, uint64_t *ret, struct errmsg *err)
{
	_cleanup_free_ uint64_t *list = NULL;
	size_t n = 0;
	size_t i;
	int rc = inbox_list(r->dir, &list, &n);

	*ret = 0;
	if (rc < 0)
		return errmsg_errno(err, rc, INBOX_KEY_NAME "=%s: cannot read", r->path);
	for (i = 0; i < n && !*ret; i++)
		if (list[i] >= number)
			*ret = list[i];
	return 0;
}

/* Opens the file at the reader's position. 1: it is open; 0: there is none. */
static int inbox_open_file(struct inbox_reader *r, struct errmsg *err)
{
	struct inbox_header h;
	uint64_t number;
	char name[32];
	bool is_whole;
	int rc;

	if (r->fd >= 0)
		return 1;
	rc = inbox_find_file(r, r->pos.file, &number, err);
	if (rc < 0 || !number)
		return rc;
	inbox_name(number, name);
	r->fd = openat(r->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (r->fd < 0)
		return errno == ENOENT ? 0 : errmsg_errno(err, -errno, "%s/%s", r->path, name);
	if (number != r->pos.file)
		r->pos = (struct inbox_pos){ .file = number };
	is_whole = pread(r->fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) &&
		   !memcmp(h.magic, INBOX_MAGIC, sizeof(h.magic));
	r->foreign = is_whole && h.layout != INBOX_LAYOUT ? h.layout : 0;
	/*
	 * The offset stays 0 if the header is not whole (its writer was killed, or still writes it);
	 * inbox_read() then takes the file as damaged.
	 */
	if (is_whole && !r->pos.offset)
		r->pos.offset = sizeof(h);
	return 1;
}

enum inbox_look { INBOX_ENTRY, INBOX_END_OF_FILE, INBOX_TORN, INBOX_DAMAGED, INBOX_UNREADABLE };

static enum inbox_look inbox_look_at(struct inbox_reader *r, struct inbox_entry *ret)
{
	struct inbox_frame f;
	ssize_t n = pread(r->fd, &f, sizeof(f), (off_t)r->pos.offset);

	if (n < 0)
		return INBOX_UNREADABLE;
	if (n == 0)
		return INBOX_END_OF_FILE;
	if (r->foreign)
		return INBOX_DAMAGED; /* an earlier version of the recorder has read it up to here */
	if (n < (ssize_t)sizeof(f))
		return INBOX_TORN;
	if (f.len > INBOX_ENTRY_MAX)
		return INBOX_DAMAGED;
	n = pread(r->fd, r->buf, inbox_padded(f.len), (off_t)(r->pos.offset + sizeof(f)));
	if (n < 0)
		return INBOX_UNREADABLE;
	if (n < (ssize_t)inbox_padded(f.len))
		return INBOX_TORN;
	if (f.crc != inbox_crc(&f, r->buf))
		return INBOX_DAMAGED;
	*ret = (struct inbox_entry){ .kind = f.kind, .data = r->buf, .len = f.len };
	r->pos.offset += sizeof(f) + inbox_padded(f.len);
	return INBOX_ENTRY;
}

static void inbox_tell_foreign(struct inbox_reader *r, enum inbox_look look)
{
	if (!r->foreign || look != INBOX_DAMAGED || r->foreign_told == r->pos.file)
		return;
	r->foreign_told = r->pos.file;
	logger_error("ceems: " INBOX_KEY_NAME
		     "=%s: slurmctld runs another version of jobcomp_ceems.so; job ends wait "
		     "until slurmctld is restarted with the one of this recorder",
		     r->path);
}

static int inbox_note_damage(struct inbox_reader *r, struct errmsg *err)
{
	struct inbox_damage *more = realloc(r->damage, (r->ndamage + 1) * sizeof(*more));

	if (!more)
		return errmsg_set(err, -ENOMEM, "out of memory");
	r->damage = more;
	r->damage[r->ndamage++] = (struct inbox_damage){ .pos = r->pos, .is_foreign = r->foreign };
	return 0;
}

/*
 * Leaves a file that has a successor, so nothing will be added to it. 1: entries in it are lost; 0: none is.
 */
static int inbox_leave_file(struct inbox_reader *r, enum inbox_look look, struct errmsg *err)
{
	char name[32];
	int rc;

	if (look == INBOX_DAMAGED) {
		rc = inbox_note_damage(r, err);
		if (rc < 0)
			return rc;
	} else if (look == INBOX_TORN) {
		inbox_name(r->pos.file, name);
		logger_info("ceems: %s/%s: its last entry is not whole, as the writer was killed or the disk "
			    "was full",
			    r->path, name);
	}
	inbox_close_file(r);
	r->pos = (struct inbox_pos){ .file = r->pos.file + 1 };
	return look == INBOX_DAMAGED;
}

static int inbox_read_next(struct inbox_reader *r, struct inbox_entry *ret, struct errmsg *err)
{
	enum inbox_look look;
	uint64_t next;
	int rc;

	for (;;) {
		rc = inbox_open_file(r, err);
		if (rc < 0)
			return rc;
		look = rc == 0		  ? INBOX_END_OF_FILE :
		       r->pos.offset == 0 ? INBOX_DAMAGED :
					    inbox_look_at(r, ret);
		if (look == INBOX_ENTRY)
			return 1;
		/* clear the events before looking at the folder: a later change is a new event */
		inbox_drain_watch(r);
		if (rc == 0) {
			rc = inbox_find_file(r, r->pos.file, &next, err);
			if (rc < 0 || !next)
				return rc;
			continue;
		}
		rc = inbox_find_file(r, r->pos.file + 1, &next, err);
		if (rc < 0)
			return rc;
		/* look again: the file may have grown before its successor was started */
		look = r->pos.offset == 0 ? INBOX_DAMAGED : inbox_look_at(r, ret);
		if (look == INBOX_ENTRY)
			return 1;
		if (look == INBOX_UNREADABLE)
			return errmsg_set(err, -EIO, INBOX_KEY_NAME "=%s: cannot read a file", r->path);
		if (!next) {
			inbox_tell_foreign(r, look);
			if (r->pos.offset == 0)
				inbox_close_file(r); /* close it: the header may still be written */
			return 0;
		}
		rc = inbox_leave_file(r, look, err);
		if (rc < 0)
			return rc;
		if (rc > 0) {
			*ret = (struct inbox_entry){ .kind = INBOX_LOST,
						     .data = &inbox_unknown_number,
						     .len = sizeof(inbox_unknown_number) };
			return 1;
		}
	}
}

int inbox_read(struct inbox_reader *r, struct inbox_entry *ret, struct errmsg *err)
{
	bool was_at_end = r->is_at_end;
	int rc = inbox_read_next(r, ret, err);

	r->is_at_end = rc == 0;
	/*
	 * not at once, because entries of a removed file cannot be read again: the caller stores them first
	 */
	if (rc == 0 && was_at_end && inbox_is_moved(r->dir, r->path))
		return errmsg_set(err, -ESTALE, INBOX_KEY_NAME "=%s was removed or moved", r->path);
	return rc;
}

/* Keeps a damaged file under another name. */
static void inbox_set_aside(struct inbox_reader *r, const struct inbox_damage *d)
{
	char from[32], to[40];

	inbox_name(d->pos.file, from);
	(void)snprintf(to, sizeof(to), "damaged-%016" PRIx64, d->pos.file);
	(void)renameat(r->dir, from, r->dir, to);
	if (d->is_foreign)
		logger_info("ceems: %s/%s is of another version of jobcomp_ceems.so and renamed to %s; jobs "
			    "that ended then are looked for in slurmdbd",
			    r->path, from, to);
	else
		logger_error("ceems: %s/%s is damaged from byte %" PRIu64 " on and renamed to %s; jobs that "
			     "ended then are looked for in slurmdbd",
			     r->path, from, d->pos.offset, to);
}

void inbox_reader_release(struct inbox_reader *r, const struct inbox_pos *pos)
{
	_cleanup_free_ uint64_t *list = NULL;
	char name[32];
	size_t n = 0;
	size_t i;

	for (i = 0; i < r->ndamage && r->damage[i].pos.file < pos->file; i++)
		inbox_set_aside(r, &r->damage[i]);
	r->ndamage -= i;
	if (i)
		memmove(r->damage, r->damage + i, r->ndamage * sizeof(*r->damage));
	if (inbox_list(r->dir, &list, &n) < 0)
		return;
	for (i = 0; i < n && list[i] < pos->file; i++) {
		inbox_name(list[i], name);
		(void)unlinkat(r->dir, name, 0);
	}
}
