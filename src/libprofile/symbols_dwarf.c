/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbols_dwarf.c - symbols_inlines(): finds inlined functions and source lines by DWARF.
 */
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>

#include "src/libprofile/symbols_internal.h"
#include "src/libutil/util.h"

/* Also .zdebug_str, .gnu.debuglto_.debug_str and .debug_str.dwo, but not .debug_str_offsets. */
static bool is_string_table(const char *section)
{
	static const char *const tables[] = { "debug_str", "debug_str.dwo", "debug_line_str",
					      "debug_line_str.dwo" };
	const char *name = strstr(section, "debug_");
	size_t i;

	for (i = 0; name && i < ARRAY_SIZE(tables); i++)
		if (!strcmp(name, tables[i]))
			return true;
	return false;
}

/* Returns false if a table of strings does not end with a NUL, so that libdw would read beyond it. */
static bool strings_end(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
		const Elf_Data *data;

		if (!name || !is_string_table(name))
			continue;
		data = elf_getdata(scn, NULL);
		if (data && data->d_buf && data->d_size && ((const char *)data->d_buf)[data->d_size - 1])
			return false;
	}
	return true;
}

/*
 * Returns whether a part of D is in a file that dwz(1) made. libdw opens that file by itself, by the path in
 * D. It may be a pipe without a writer, which open(2) waits for, or a file that strings_end() has not seen.
 */
static bool has_second_file(Dwarf *d)
{
	const char *path;
	const void *build_id;

	return dwelf_dwarf_gnu_debugaltlink(d, &path, &build_id) > 0;
}

static Dwarf *begin_dwarf(Elf *elf)
{
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL); /* unpacks compressed tables */

	if (dwarf && (!strings_end(elf) || has_second_file(dwarf))) {
		(void)dwarf_end(dwarf);
		dwarf = NULL;
	}
	return dwarf;
}

static Dwarf *open_dwarf(struct symbols *s)
{
	if (!s->dwarf_tried) {
		s->dwarf_tried = true;
		s->dwarf = begin_dwarf(s->file.elf);
		if (!s->dwarf && s->debug.elf)
			s->dwarf = begin_dwarf(s->debug.elf);
	}
	return s->dwarf;
}

void symbols_close_dwarf(struct symbols *s)
{
	if (s->dwarf)
		(void)dwarf_end(s->dwarf);
	s->dwarf = NULL;
}

/*
 * Finds the compilation unit of ADDRESS. If .debug_aranges lacks it, which not all compilers write,
 * tries all units.
 */
static bool find_unit(Dwarf *dwarf, uint64_t address, Dwarf_Die *ret)
{
	Dwarf_CU *unit = NULL;

	if (dwarf_addrdie(dwarf, address, ret))
		return true;
	/*
	 * NULL: for this argument libdw would open the split file of a unit (gcc
	 * -gsplit-dwarf), see has_second_file()
	 */
	while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, ret, NULL) == 0)
		if (dwarf_haspc(ret, address) > 0)
			return true;
	return false;
}

static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	return name ? name : dwarf_diename(die);
}

/* Returns the line of the call that was inlined; 0: unknown. */
static int call_line(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word line;

	return dwarf_attr(die, DW_AT_call_line, &attr) && dwarf_formudata(&attr, &line) == 0 ? (int)line : 0;
}

static const char *call_file(Dwarf_Die *unit, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word at;
	size_t n;
	const char *name = NULL;

	if (dwarf_attr(die, DW_AT_call_file, &attr) && dwarf_formudata(&attr, &at) == 0 &&
	    dwarf_getsrcfiles(unit, &files, &n) == 0 && at < n)
		name = dwarf_filesrc(files, at, NULL, NULL);
	return name ? name : "";
}

size_t symbols_inlines(struct symbols *s, uint64_t offset, struct symbol_line *ret)
{
	Dwarf *dwarf = open_dwarf(s);
	_cleanup_free_ Dwarf_Die *inner = NULL, *scope = NULL;
	struct symbol_line here = { .file = "" };
	Dwarf_Die unit;
	Dwarf_Line *line;
	uint64_t address;
	size_t n = 0;
	int i, nscopes;

	if (!dwarf || !symbols_address(s, offset, &address) || !find_unit(dwarf, address, &unit))
		return 0;
	line = dwarf_getsrc_die(&unit, address);
	if (line) {
		const char *file = dwarf_linesrc(line, NULL, NULL);

		(void)dwarf_lineno(line, &here.line);
		here.file = file ? file : "";
	}
	/*
	 * dwarf_getscopes() ends with the scopes of the inlined function's definition; we need
	 * those into which it was inlined
	 */
	if (dwarf_getscopes(&unit, address, &inner) <= 0)
		return 0;
	nscopes = dwarf_getscopes_die(&inner[0], &scope);
	for (i = 0; i < nscopes && n < SYMBOLS_INLINES_MAX; i++) {
		const int tag = dwarf_tag(&scope[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		here.name = die_name(&scope[i]);
		if (!here.name)
			return 0;
		ret[n++] = here;
		if (tag == DW_TAG_subprogram)
			return n;
		here = (struct symbol_line){ .file = call_file(&unit, &scope[i]),
					     .line = call_line(&scope[i]) };
	}
	return 0;
}
