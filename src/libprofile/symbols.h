/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbols.h - names for places in ELF files: (file, offset in it) -> function. Files are a user's: they are read and
 * never mapped, as who cuts a mapped file ends its reader; and all sizes are bounded.
 */
#ifndef CEEMS_SYMBOLS_H
#define CEEMS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libprofile/symbol_table.h"
#include "src/libprofile/unwind.h"
#include "src/libutil/errmsg.h"

#define SYMBOLS_BUILD_ID_SIZE 41 /* hexadecimal, with its NUL */
#define SYMBOLS_INLINES_MAX 64u

struct symbols;

/*
 * Opens "<root><path>"; ROOT is "" or a container's, as "/proc/PID/root": no link leaves it. BUILD_ID is what the file
 * must have, in hexadecimal; NULL or "": any. Names are from .symtab; if there is none, from the .symtab of the file's
 * debug file (by build id below ROOT's /usr/lib/debug or the host's, or by .gnu_debuglink), else from .dynsym.
 * -ESTALE: the file has another build id: it was replaced (a debug file does not say where the code was in its file);
 * -ENOEXEC: no ELF file, or a damaged one; -EFBIG: its tables are too large.
 */
int symbols_open(const char *root, const char *path, const char *build_id, struct symbols **ret, struct errmsg *err);
/*
 * The same of an open file, which is the caller's: /proc/PID/map_files/... or /proc/PID/exe of a deleted one. ROOT and
 * PATH say where debug files are; PATH may be NULL.
 */
int symbols_open_fd(int fd, const char *root, const char *path, const char *build_id, struct symbols **ret,
		    struct errmsg *err);
/* The kernel's vdso, as this process has it: that of every process of the same word size. */
int symbols_open_vdso(struct symbols **ret, struct errmsg *err);
void symbols_close(struct symbols *s);

/* "" if the file has none. */
const char *symbols_build_id(const struct symbols *s);
/* The address of a byte of the file as symbols have it; false: no segment has it. */
bool symbols_address(const struct symbols *s, uint64_t offset, uint64_t *ret);
/* The function at OFFSET in the file, or NULL. Lives as long as S. */
const struct symbol *symbols_find(const struct symbols *s, uint64_t offset);

/* How the code at OFFSET in the file is unwound, by the file's .eh_frame. False: it does not say. */
bool symbols_unwind_row(struct symbols *s, const struct unwind_machine *machine, uint64_t offset, struct unwind_row *ret);

struct symbol_line {
	const char *name; /* as in the file: not demangled */
	const char *file; /* "" if not known */
	int line;
};
/*
 * By DWARF: the functions inlined at OFFSET, the innermost first, the one that is there in the machine code last.
 * Returns how many, at most SYMBOLS_INLINES_MAX; 0: not known. They live as long as S.
 */
size_t symbols_inlines(struct symbols *s, uint64_t offset, struct symbol_line *ret);

#endif
