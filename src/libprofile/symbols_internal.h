/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbols_internal.h - struct symbols, shared by the files symbols*.c.
 */
#ifndef CEEMS_SYMBOLS_INTERNAL_H
#define CEEMS_SYMBOLS_INTERNAL_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <link.h>

#include "src/libprofile/symbols.h"

typedef ElfW(Ehdr) ElfW_Ehdr;

#define TABLE_MAX ((uint64_t)512 << 20) /* the largest section that is read, in bytes */

struct elf_object {
	int fd; /* -1: not open, or an image in memory */
	Elf *elf;
	GElf_Ehdr header;
};

/* An executable segment: its offset and size in the file, and its address in the symbol table. */
struct elf_segment {
	uint64_t offset, size, address;
};

struct symbols {
	struct elf_object file, debug;
	Elf *mini; /* of .gnu_debugdata, which is unpacked to MINI_IMAGE; NULL: it is not used */
	uint8_t *mini_image;
	char build_id[SYMBOLS_BUILD_ID_SIZE];
	struct elf_segment segment[8];
	size_t nsegments;
	struct symbol_table table;
	Dwarf *dwarf;
	bool dwarf_tried;
	Dwarf_CFI *cfi;
	bool cfi_tried;
};

/* Opens the regular file "<root><path>"; links do not lead out of ROOT. Returns an fd or -errno. */
int elf_open_below(const char *root, const char *path);
/*
 * Returns the first section with type TYPE (0: any) and name NAME (NULL: any), and sets *RET to its
 * header; or NULL.
 */
Elf_Scn *elf_find_section(Elf *elf, uint32_t type, const char *name, GElf_Shdr *ret);

/*
 * Unpacks .gnu_debugdata to S->mini. Returns 0; -ENOENT: there is none; -EFBIG: it is too large;
 * -ENOEXEC: it is damaged; -EOPNOTSUPP: built without liblzma.
 */
int symbols_open_mini(struct symbols *s);
void symbols_close_mini(struct symbols *s);
void symbols_close_dwarf(struct symbols *s);
void symbols_close_unwind(struct symbols *s);

#endif
