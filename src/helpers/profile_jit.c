/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/profile_jit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libprofile/perf_map.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

/* Processes whose files are kept; code of further processes gets no names. */
#define PROCESSES_MAX 64u
/* Bytes of all files together. The memory is charged to the job. */
#define BYTES_MAX ((size_t)128 << 20)
#define READ_EVERY_NS NSEC_PER_SEC

struct jit_process {
	uint32_t pid; /* 0: this entry is free */
	uint64_t read_ns; /* time of the last try to read; 0: never */
	size_t size; /* bytes of the file that MAP was made of */
	struct perf_map map;
};

struct profile_jit {
	struct profile *profile;
	struct jit_process process[PROCESSES_MAX];
	size_t bytes; /* sum of all process[].size */
};

int profile_jit_create(struct profile *p, struct profile_jit **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->profile = p;
	return 0;
}

static void forget_map(struct profile_jit *j, struct jit_process *p)
{
	perf_map_fini(&p->map);
	j->bytes -= p->size;
	p->size = 0;
}

void profile_jit_destroy(struct profile_jit *j)
{
	size_t i;

	if (!j)
		return;
	for (i = 0; i < PROCESSES_MAX; i++)
		forget_map(j, &j->process[i]);
	free(j);
}

static struct jit_process *process_of(struct profile_jit *j, uint32_t pid)
{
	size_t i = 0;

	while (i < PROCESSES_MAX && j->process[i].pid != pid)
		i++;
	return i < PROCESSES_MAX ? &j->process[i] : NULL;
}

void profile_jit_forget(struct profile_jit *j, uint32_t pid)
{
	struct jit_process *p = process_of(j, pid);

	if (!p)
		return;
	forget_map(j, p);
	*p = (struct jit_process){ 0 };
}

/*
 * Returns the pid of process PID in its own namespace: the last number of "NSpid: 123     7" in its
 * status.
 */
static uint32_t inner_pid(uint32_t pid)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[32], line[256];
	const char *last;

	(void)snprintf(path, sizeof(path), "/proc/%u/status", (unsigned int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "NSpid:", 6)) {
			last = strrchr(line, '\t');
			return last ? (uint32_t)strtoul(last + 1, NULL, 10) : pid;
		}
	return pid;
}

/* Replaces the map of P by its file. Keeps the old map if the file has not grown or cannot be read. */
static void read_map(struct profile_jit *j, struct jit_process *p)
{
	struct perf_map map;
	char root[32], path[48];
	size_t size;

	(void)snprintf(root, sizeof(root), "/proc/%u/root", (unsigned int)p->pid);
	(void)snprintf(path, sizeof(path), "/tmp/perf-%u.map", (unsigned int)inner_pid(p->pid));
	if (perf_map_read(root, path, p->size, BYTES_MAX - j->bytes, &map, &size) < 0)
		return;
	forget_map(j, p);
	p->map = map;
	p->size = size;
	j->bytes += size;
}

/* Returns the entry of PID, a new one if there is none. NULL: all are in use. */
static struct jit_process *find_process(struct profile_jit *j, uint32_t pid)
{
	struct jit_process *p = process_of(j, pid);

	if (!p) {
		p = process_of(j, 0);
		if (p)
			p->pid = pid;
	}
	return p;
}

int profile_jit_find(struct profile_jit *j, uint32_t pid, uint64_t address, uint32_t *ret_function)
{
	struct jit_process *p = find_process(j, pid);
	struct profile_function function = { .system_name = "", .file = "" };
	const struct symbol *symbol = p ? perf_map_find(&p->map, address) : NULL;
	const uint64_t now_ns = clock_mono_ns();
	int rc;

	if (p && !symbol && (!p->read_ns || now_ns - p->read_ns >= READ_EVERY_NS)) {
		p->read_ns = now_ns;
		read_map(j, p);
		symbol = perf_map_find(&p->map, address);
	}
	if (!symbol)
		return 0;
	function.name = symbol->name;
	rc = profile_add_function(j->profile, &function, ret_function);
	return rc < 0 ? rc : 1;
}
