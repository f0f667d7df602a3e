/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tap.h"

int main(void)
{
	char dir[] = "/tmp/test_fileio.XXXXXX";
	char path[128];
	char deep[128];
	char buf[8];
	struct errmsg err = { 0 };
	struct stat st;
	char *text = NULL;
	uint64_t v = 5;
	size_t len;
	int fd;

	if (!mkdtemp(dir))
		return 99;
	snprintf(path, sizeof(path), "%s/file", dir);
	is_int(fileio_write_atomic(path, "12345", 5, 0640, &err), 0, "write");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640, "mode as asked");
	is_int(fileio_write_for_group(path, "12345", 5, 0640, getgid(), &err), 0, "write for a group");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640 && st.st_gid == getgid(),
	   "the file has that group");
	fd = fileio_open_at_root(dir, "/file");
	ok(fd >= 0, "open below a root");
	is_int(fileio_pread_u64(fd, &v), 0, "number");
	is_u64(v, 12345, "its value");
	is_int(fileio_pread_all(fd, buf, 5), -EFBIG, "no room for the NUL");
	is_int(fileio_pread_all(fd, buf, 6), 5, "just room");
	close(fd);
	is_int(fileio_write_atomic(path, "", 0, 0600, &err), 0, "replace by nothing");
	fd = open(path, O_RDONLY);
	is_int(fileio_pread_u64(fd, &v), -EINVAL, "an empty file is no number");
	is_u64(v, 12345, "result untouched on failure");
	close(fd);
	is_int(fileio_read_alloc(path, 10, &text, &len, &err), 0, "read all of an empty file");
	is_u64(len, 0, "length 0");
	free(text);
	is_int(fileio_read_alloc(dir, 10, &text, &len, &err), -EINVAL, "a folder is refused");
	is_int(fileio_write_atomic("/nonexistent/x", "a", 1, 0600, &err), -ENOENT, "no folder");
	is_str(err.text, "/nonexistent/x.tmp: cannot create: No such file or directory",
	       "the message names the file");
	snprintf(deep, sizeof(deep), "%s/a/b/c", dir);
	is_int(fileio_mkdir_p(deep, 0755, &err), 0, "mkdir -p");
	is_int(fileio_mkdir_p(deep, 0755, &err), 0, "mkdir -p of a folder that exists");
	rmdir(deep);
	snprintf(deep, sizeof(deep), "%s/a/b", dir);
	rmdir(deep);
	snprintf(deep, sizeof(deep), "%s/a", dir);
	rmdir(deep);
	unlink(path);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
