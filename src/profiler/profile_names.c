/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/profile_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libprofile/demangle.h"
#include "src/libprofile/symbols.h"
#include "src/libutil/util.h"

/* Files whose symbols are kept in memory; functions of further files get no name. */
#define FILES_MAX 512

/* The file of one mapping. */
struct names_file {
	struct symbols *symbols; /* owned; NULL: it cannot be read */
	bool is_tried;
};

/*
 * Size of the cache of answers, a power of two. Hot functions are looked up at each sample, and
 * demangling takes the most time of a look-up.
 */
#define CACHE_SIZE 4096u

struct names_answer {
	uint64_t address;
	uint32_t mapping, function;
	bool is_known; /* this entry is in use */
	bool has_name;
};

struct profile_names {
	struct profile *profile;
	struct names_answer cache[CACHE_SIZE];
	struct names_file *file; /* by the mapping's index */
	size_t n;
	size_t nopen; /* files that were opened, up to FILES_MAX */
};

int profile_names_create(struct profile *p, struct profile_names **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->profile = p;
	return 0;
}

void profile_names_destroy(struct profile_names *n)
{
	size_t i;

	if (!n)
		return;
	for (i = 0; i < n->n; i++)
		symbols_close(n->file[i].symbols);
	free(n->file);
	free(n);
}

/*
 * Opens a deleted program by /proc/PID/exe. Mapping M may be a library instead, so the build id
 * must match.
 */
static int open_program(const struct profile_mapping *m, uint32_t pid, const char *root, struct symbols **ret)
{
	_cleanup_close_ int fd = -1;
	char path[32];

	if (!*m->build_id)
		return -ENOENT;
	(void)snprintf(path, sizeof(path), "/proc/%u/exe", (unsigned int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : symbols_open_fd(fd, root, m->path, m->build_id, ret, NULL);
}

/*
 * Opens the file of M below the process's root, or below our own root if the process is gone. NULL:
 * cannot.
 */
static struct symbols *open_symbols(const struct profile_mapping *m, uint32_t pid)
{
	struct symbols *s = NULL;
	char root[32];

	if (!strcmp(m->path, "[vdso]"))
		return symbols_open_vdso(&s, NULL) == 0 ? s : NULL;
	if (m->path[0] != '/' || m->path[1] == '/')
		return NULL;
	(void)snprintf(root, sizeof(root), "/proc/%u/root", (unsigned int)pid);
	if (symbols_open(root, m->path, m->build_id, &s, NULL) == 0 ||
	    symbols_open("", m->path, m->build_id, &s, NULL) == 0 || open_program(m, pid, root, &s) == 0)
		return s;
	return NULL;
}

static int names_grow(struct profile_names *n, uint32_t mapping)
{
	const size_t more = (size_t)mapping + 64;
	struct names_file *file = realloc(n->file, more * sizeof(*file));

	if (!file)
		return -ENOMEM;
	memset(file + n->n, 0, (more - n->n) * sizeof(*file));
	n->file = file;
	n->n = more;
	return 0;
}

/* Adds the function SYMBOL with its demangled name. Returns 1 or -errno. */
static int add_named(struct profile *p, const char *symbol, uint32_t *ret)
{
	_cleanup_free_ char *name = NULL;
	struct profile_function function = { .system_name = symbol, .file = "" };
	int rc = demangle(symbol, &name);

	function.name = name ? name : symbol;
	rc = rc < 0 ? rc : profile_add_function(p, &function, ret);
	return rc < 0 ? rc : 1;
}

int profile_names_open(struct profile_names *n, uint32_t pid, uint32_t mapping, uint64_t address,
		       struct symbols **ret, uint64_t *ret_offset)
{
	const struct profile_mapping *m;
	struct names_file *f;
	int rc;

	if (mapping >= n->n && (rc = names_grow(n, mapping)) < 0)
		return rc;
	m = &n->profile->mapping[mapping];
	f = &n->file[mapping];
	if (!f->is_tried && n->nopen < FILES_MAX) {
		f->symbols = open_symbols(m, pid);
		n->nopen += f->symbols != NULL;
	}
	f->is_tried = true;
	*ret = f->symbols;
	*ret_offset = address - m->start + m->offset;
	return 0;
}

static int find_function(struct profile_names *n, uint32_t pid, uint32_t mapping, uint64_t address,
			 uint32_t *ret)
{
	const struct symbol *symbol;
	struct symbols *symbols;
	uint64_t offset;
	int rc = profile_names_open(n, pid, mapping, address, &symbols, &offset);

	symbol = rc == 0 && symbols ? symbols_find(symbols, offset) : NULL;
	return symbol ? add_named(n->profile, symbol->name, ret) : rc;
}

int profile_names_find(struct profile_names *n, uint32_t pid, uint32_t mapping, uint64_t address,
		       uint32_t *ret_function)
{
	struct names_answer *a = &n->cache[(address ^ mapping) & (CACHE_SIZE - 1)];
	int rc;

	if (mapping == PROFILE_NONE)
		return 0;
	if (!a->is_known || a->address != address || a->mapping != mapping) {
		*a = (struct names_answer){ .address = address, .mapping = mapping };
		rc = find_function(n, pid, mapping, address, &a->function);
		if (rc < 0)
			return rc;
		a->has_name = rc > 0;
		a->is_known = true;
	}
	*ret_function = a->function;
	return a->has_name;
}
