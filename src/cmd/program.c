/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/libutil/trust.h"

#define SELF "/proc/self/exe"

int program_beside(const char *name, char *path, size_t size)
{
	char self[PATH_MAX];
	ssize_t len = readlink(SELF, self, sizeof(self) - 1);
	char *slash;

	if (len < 0)
		return -errno;
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return (size_t)snprintf(path, size, "%s/%s", self, name) < size ? 0 : -ENAMETOOLONG;
}

/* Returns true if PATH is a file of the owner of the running program, who could also replace that program. */
static bool is_of_our_owner(const char *path)
{
	struct stat st, self;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && stat(SELF, &self) == 0 &&
	       st.st_uid == self.st_uid;
}

int program_of(const char *command, char *path, size_t size, struct errmsg *err)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "ceems-%s", command);
	if (program_beside(name, path, size) == 0 && is_of_our_owner(path))
		return 0;
	if ((size_t)snprintf(path, size, CEEMS_COMMANDDIR "/%s", name) >= size)
		return errmsg_errno(err, -ENAMETOOLONG, "%s", name);
	return trust_check(path, err);
}
