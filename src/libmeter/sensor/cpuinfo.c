/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/cpuinfo.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

/* Returns the value in a line "KEY<tabs>: VALUE" of /proc/cpuinfo. NULL: the line has another key. */
static const char *value_of(const char *line, const char *key)
{
	size_t len = strlen(key);

	if (strncmp(line, key, len))
		return NULL;
	line += len;
	line += strspn(line, "\t ");
	if (*line != ':')
		return NULL;
	line++;
	return line + strspn(line, " ");
}

static char vendor_of(const char *name)
{
	static const struct {
		const char *name;
		char vendor;
	} vendors[] = {
		{ "GenuineIntel", 'I' },
		{ "AuthenticAMD", 'A' },
		{ "0x41", 'R' },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vendors); i++)
		if (!strcmp(name, vendors[i].name))
			return vendors[i].vendor;
	return '?';
}

static void read_cpuinfo(FILE *f, struct cpuinfo *c)
{
	static const struct {
		const char *key;
		size_t offset;
	} numbers[] = {
		{ "cpu family", offsetof(struct cpuinfo, family) },
		{ "model", offsetof(struct cpuinfo, model) },
		{ "stepping", offsetof(struct cpuinfo, stepping) },
		{ "CPU architecture", offsetof(struct cpuinfo, family) },
		{ "CPU part", offsetof(struct cpuinfo, model) },
		{ "CPU revision", offsetof(struct cpuinfo, stepping) },
	};
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	const char *v;
	size_t i;

	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (value_of(line, "processor"))
			c->cpus++;
		if (c->cpus > 1)
			continue; /* all CPUs are assumed to be like the first */
		v = value_of(line, "vendor_id");
		if (!v)
			v = value_of(line, "CPU implementer");
		if (v)
			c->vendor = vendor_of(v);
		for (i = 0; i < ARRAY_SIZE(numbers); i++) {
			v = value_of(line, numbers[i].key);
			if (v) {
				uint64_t *n = (void *)((char *)c + numbers[i].offset);

				if (parse_u64(v, n) < 0 && parse_hex(v, n) < 0)
					*n = UINT64_MAX;
			}
		}
	}
}

void cpuinfo_read(const char *sys_root, struct cpuinfo *ret)
{
	_cleanup_fclose_ FILE *f = NULL;
	struct cpuinfo c = { '?', UINT64_MAX, UINT64_MAX, UINT64_MAX, 0 };
	int fd;

	fd = fileio_open_at_root(sys_root, "/proc/cpuinfo");
	if (fd < 0)
		fd = fileio_open_at_root("", "/proc/cpuinfo");
	if (fd >= 0) {
		f = fdopen(fd, "r");
		if (f)
			read_cpuinfo(f, &c);
		else
			(void)close(fd);
	}
	if (!c.cpus) {
		long online = sysconf(_SC_NPROCESSORS_ONLN);

		c.cpus = online > 0 ? (uint64_t)online : 1;
	}
	*ret = c;
}
