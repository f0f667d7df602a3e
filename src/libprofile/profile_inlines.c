/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libprofile/profile_inlines.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libprofile/demangle.h"
#include "src/libprofile/symbols.h"
#include "src/libutil/util.h"

#define FILES_MAX 256u /* files that are open at a time, each perhaps with its debug file */

/* Files by mapping. */
struct files {
	struct symbols **symbols; /* NULL: not opened, or it could not be */
	bool *is_tried;
	size_t nopen;
};

static struct symbols *open_file(const struct profile *p, uint32_t mapping, struct files *f)
{
	const struct profile_mapping *m = &p->mapping[mapping];

	if (!f->is_tried[mapping] && *m->path == '/' && f->nopen < FILES_MAX) {
		f->is_tried[mapping] = true;
		if (symbols_open("", m->path, m->build_id, &f->symbols[mapping], NULL) == 0)
			f->nopen++;
	}
	return f->symbols[mapping];
}

static void close_files(const struct profile *p, struct files *f)
{
	size_t i;

	for (i = 0; f->symbols && i < p->nmappings; i++)
		symbols_close(f->symbols[i]);
	free(f->symbols);
	free(f->is_tried);
}

static int add_line(struct profile *p, const struct symbol_line *from, struct profile_line *ret)
{
	_cleanup_free_ char *name = NULL;
	struct profile_function function = { .system_name = from->name, .file = from->file };
	int rc = demangle(from->name, &name);

	function.name = name ? name : from->name;
	ret->line = from->line;
	return rc < 0 ? rc : profile_add_function(p, &function, &ret->function);
}

/* Returns 1 if LOCATION was found, 0 if not, or -errno. */
static int find_location(struct profile *p, uint32_t location, struct files *f)
{
	const struct profile_location *l = &p->location[location];
	const struct profile_mapping *m = &p->mapping[l->mapping];
	struct symbols *symbols = open_file(p, l->mapping, f);
	struct symbol_line found[SYMBOLS_INLINES_MAX];
	struct profile_line line[SYMBOLS_INLINES_MAX];
	size_t n = symbols ? symbols_inlines(symbols, l->address - m->start + m->offset, found) : 0;
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < n; i++)
		rc = add_line(p, &found[i], &line[i]);
	if (rc == 0 && n)
		rc = profile_set_lines(p, location, line, n);
	return rc < 0 ? rc : n > 0;
}

int profile_add_inlines(struct profile *p, size_t *ret_found)
{
	struct files f = { calloc(p->nmappings + 1, sizeof(*f.symbols)),
			   calloc(p->nmappings + 1, sizeof(*f.is_tried)), 0 };
	size_t i;
	int rc = f.symbols && f.is_tried ? 0 : -ENOMEM;

	*ret_found = 0;
	for (i = 0; rc >= 0 && i < p->nlocations; i++) {
		if (p->location[i].mapping == PROFILE_NONE)
			continue;
		rc = find_location(p, (uint32_t)i, &f);
		*ret_found += rc > 0;
	}
	close_files(p, &f);
	return rc < 0 ? rc : 0;
}
