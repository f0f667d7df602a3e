/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbols_internal.h - an open file of symbols, for its parts.
 */
#ifndef CEEMS_SYMBOLS_INTERNAL_H
#define CEEMS_SYMBOLS_INTERNAL_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <link.h>

#include "src/libprofile/symbols.h"

typedef ElfW(Ehdr) ElfW_Ehdr;

#define TABLE_MAX ((uint64_t)512 << 20) /* bytes of a section that is read */

struct elf_object {
	int fd; /* -1: none, or it is in memory */
	Elf *elf;
	GElf_Ehdr header;
};

/* A part of the file that is mapped to be run. */
struct elf_segment {
	uint64_t offset, size, address;
};

struct symbols {
	struct elf_object file, debug;
	char build_id[SYMBOLS_BUILD_ID_SIZE];
	struct elf_segment segment[8];
	size_t nsegments;
	struct symbol_table table;
	Dwarf *dwarf;
	bool dwarf_tried;
	Dwarf_CFI *cfi;
	bool cfi_tried;
};

/* A regular file; no link leaves ROOT. fd or -errno. */
int elf_open_below(const char *root, const char *path);
/* The section of that type, or with that name; its data is NULL if it has none in the file. */
Elf_Scn *elf_find_section(Elf *elf, uint32_t type, const char *name, GElf_Shdr *ret);

void symbols_close_dwarf(struct symbols *s);
void symbols_close_unwind(struct symbols *s);

#endif
