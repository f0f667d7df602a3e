/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* O_PATH */
#include "src/profiler/profile_jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/profiler/profile_maps.h"
#include "src/libprofile/perf_map.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

/* Processes whose files are kept; code of further processes gets no names. */
#define PROCESSES_MAX 64u
/* Bytes of all files together. The memory is charged to the job. */
#define BYTES_MAX ((size_t)128 << 20)
#define READ_EVERY_NS NSEC_PER_SEC
/* Locations of one process that wait for a name; further ones get none. */
#define KEPT_MAX 65536u

struct jit_kept {
	uint64_t address;
	uint32_t location;
};

struct jit_process {
	uint32_t pid;	    /* 0: this entry is free */
	uint32_t inner_pid; /* in its own namespace */
	int root; /* its root folder, open, so that the file can be read after the process has ended */
	struct jit_kept *kept;
	size_t nkept, room;
	uint64_t read_ns; /* time of the last try to read; 0: never */
	size_t size;	  /* bytes of the file that MAP was made of */
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

static void forget_process(struct profile_jit *j, struct jit_process *p)
{
	if (!p->pid)
		return;
	forget_map(j, p);
	free(p->kept);
	(void)close(p->root);
	*p = (struct jit_process){ 0 };
}

void profile_jit_destroy(struct profile_jit *j)
{
	size_t i;

	if (!j)
		return;
	for (i = 0; i < PROCESSES_MAX; i++)
		forget_process(j, &j->process[i]);
	free(j);
}

static struct jit_process *process_of(struct profile_jit *j, uint32_t pid)
{
	size_t i = 0;

	while (i < PROCESSES_MAX && j->process[i].pid != pid)
		i++;
	return i < PROCESSES_MAX ? &j->process[i] : NULL;
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

	(void)snprintf(root, sizeof(root), "/proc/self/fd/%d", p->root);
	(void)snprintf(path, sizeof(path), "/tmp/perf-%u.map", (unsigned int)p->inner_pid);
	if (perf_map_read(root, path, p->size, BYTES_MAX - j->bytes, &map, &size) < 0)
		return;
	forget_map(j, p);
	p->map = map;
	p->size = size;
	j->bytes += size;
}

/* Returns the entry of PID, a new one if there is none. NULL: all are in use, or the process has ended. */
static struct jit_process *find_process(struct profile_jit *j, uint32_t pid)
{
	struct jit_process *p = process_of(j, pid);
	char path[32];
	int root;

	if (p)
		return p;
	p = process_of(j, 0);
	(void)snprintf(path, sizeof(path), "/proc/%u/root", (unsigned int)pid);
	root = p ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (root < 0)
		return NULL;
	*p = (struct jit_process){ .pid = pid, .inner_pid = inner_pid(pid), .root = root };
	return p;
}

/* Adds the function SYMBOL. Returns 1 or an error of profile_add_function(). */
static int add_function(struct profile_jit *j, const struct symbol *symbol, uint32_t *ret)
{
	const struct profile_function function = { .name = symbol->name, .system_name = "", .file = "" };
	int rc = profile_add_function(j->profile, &function, ret);

	return rc < 0 ? rc : 1;
}

bool profile_jit_is_made(const struct profile_mapping *m)
{
	return profile_maps_is_anonymous(m) || !strncmp(m->path, "/memfd:", 7);
}

/* Returns the function at ADDRESS of PID, or NULL. Reads the file again if none is known. */
static const struct symbol *find_symbol(struct profile_jit *j, uint32_t pid, uint64_t address)
{
	struct jit_process *p = find_process(j, pid);
	const struct symbol *symbol = p ? perf_map_find(&p->map, address) : NULL;
	const uint64_t now_ns = clock_mono_ns();

	if (p && !symbol && (!p->read_ns || now_ns - p->read_ns >= READ_EVERY_NS)) {
		p->read_ns = now_ns;
		read_map(j, p);
		symbol = perf_map_find(&p->map, address);
	}
	return symbol;
}

int profile_jit_find(struct profile_jit *j, uint32_t pid, uint64_t address, uint32_t *ret_function)
{
	const struct symbol *symbol = find_symbol(j, pid, address);

	return symbol ? add_function(j, symbol, ret_function) : 0;
}

/*
 * CPython 3.12 and 3.13, Python/asm_trampoline.S: "endbr64; sub $8,%rsp; call *%rcx; add $8,%rsp;
 * ret" has 15 bytes, and 11 without endbr64. The one of 3.14 has 12 or 8 bytes and keeps a frame
 * pointer. The bytes are not read: the process may have ended, or we may not trace it, and memory
 * that the user lets hang would block us.
 */
bool profile_jit_row(struct profile_jit *j, uint32_t pid, uint64_t address, struct unwind_row *ret)
{
	const struct symbol *symbol = find_symbol(j, pid, address);
	uint64_t at, endbr;

	if (!symbol || strncmp(symbol->name, "py::", 4) != 0 || (symbol->size != 11 && symbol->size != 15))
		return false;
	endbr = symbol->size - 11;
	at = address - symbol->start;
	*ret = (struct unwind_row){
		.cfa = UNWIND_CFA_REGISTER,
		.reg = unwind_x86_64.sp,
		.offset = at < endbr + 4 || at >= endbr + 10 ? 8 : 16, /* before sub, and after add */
		.saved = { { .place = UNWIND_AT_CFA, .offset = -8 },
			   { .place = UNWIND_SAME },
			   { .place = UNWIND_SAME } },
	};
	return true;
}

/* --- names that come later ---------------------------------------------------------------------- */

void profile_jit_keep(struct profile_jit *j, uint32_t pid, uint64_t address, uint32_t location)
{
	struct jit_process *p = process_of(j, pid);
	struct jit_kept *more;

	if (!p || p->nkept >= KEPT_MAX)
		return;
	if (p->nkept == p->room) {
		more = realloc(p->kept, (p->room * 2 + 64) * sizeof(*more));
		if (!more)
			return;
		p->kept = more;
		p->room = p->room * 2 + 64;
	}
	p->kept[p->nkept++] = (struct jit_kept){ address, location };
}

static int name_kept(struct profile_jit *j, struct jit_process *p)
{
	const struct symbol *symbol;
	struct profile_line line = { 0 };
	size_t i, n = 0;
	int rc = 0;

	if (p->nkept)
		read_map(j, p);
	for (i = 0; i < p->nkept && rc >= 0; i++) {
		symbol = perf_map_find(&p->map, p->kept[i].address);
		if (symbol)
			rc = add_function(j, symbol, &line.function);
		if (symbol && rc > 0)
			rc = profile_set_lines(j->profile, p->kept[i].location, &line, 1);
		else
			p->kept[n++] = p->kept[i];
	}
	p->nkept = n;
	return rc < 0 ? rc : 0;
}

int profile_jit_name(struct profile_jit *j)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < PROCESSES_MAX && rc == 0; i++)
		rc = name_kept(j, &j->process[i]);
	return rc;
}

int profile_jit_forget(struct profile_jit *j, uint32_t pid)
{
	struct jit_process *p = process_of(j, pid);
	int rc = p ? name_kept(j, p) : 0;

	if (p)
		forget_process(j, p);
	return rc;
}
