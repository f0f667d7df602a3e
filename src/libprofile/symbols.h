/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbols.h - finds the function at an offset in an ELF file. The files are a user's and may be
 * forged. So all sizes are bounded, and files are read, not mapped: truncating a mapped file would
 * kill us by SIGBUS.
 */
#ifndef CEEMS_SYMBOLS_H
#define CEEMS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libprofile/symbol_table.h"
#include "src/libprofile/unwind.h"
#include "src/libutil/errmsg.h"

#define SYMBOLS_BUILD_ID_SIZE 41 /* bytes of a build id in hexadecimal, with NUL */
#define SYMBOLS_INLINES_MAX 64u

struct symbols;

/*
 * Opens "<root><path>". ROOT is "" or a container's root such as "/proc/PID/root"; links do not
 * lead out of ROOT. The file must have the BUILD_ID, in hexadecimal; NULL or "": any.
 *
 * Names come from the first of these that has functions: the file's .symtab, its debug file's .symtab, its
 * .dynsym and .gnu_debugdata together. The debug file is found by build id in /usr/lib/debug of ROOT, then of
 * the host, or by .gnu_debuglink.
 *
 * Returns 0; -ESTALE: the file has another build id, so it was replaced; -ENOEXEC: not an ELF file,
 * or damaged; -EFBIG: its tables are too large; or another -errno.
 */
int symbols_open(const char *root, const char *path, const char *build_id, struct symbols **ret,
		 struct errmsg *err) _must_check_;
/*
 * As symbols_open(), but of the open file FD, which stays the caller's. It serves for deleted files, by
 * /proc/PID/exe. ROOT and PATH only say where debug files are; PATH may be NULL.
 */
int symbols_open_fd(int fd, const char *root, const char *path, const char *build_id, struct symbols **ret,
		    struct errmsg *err) _must_check_;
/* Opens the kernel's vdso of this process. All processes of the same word size have the same. */
int symbols_open_vdso(struct symbols **ret, struct errmsg *err) _must_check_;
void symbols_close(struct symbols *s);

/* Returns the build id in hexadecimal; "" if the file has none. */
const char *symbols_build_id(const struct symbols *s);
/*
 * Sets *RET to the address, as in the symbol table, of the byte at OFFSET in the file. False: it is
 * in no executable segment.
 */
bool symbols_address(const struct symbols *s, uint64_t offset, uint64_t *ret) _must_check_;
/* Returns the function at OFFSET in the file, or NULL. It lives as long as S. */
const struct symbol *symbols_find(const struct symbols *s, uint64_t offset);

/*
 * Sets *RET to the row of the file's .eh_frame for the code at OFFSET. False: there is no row, or
 * we do not support it.
 */
bool symbols_unwind_row(struct symbols *s, const struct unwind_machine *machine, uint64_t offset,
			struct unwind_row *ret) _must_check_;

struct symbol_line {
	const char *name; /* not demangled */
	const char *file; /* "" if not known */
	int line;
};
/*
 * Sets RET to the functions at OFFSET by DWARF: the inlined ones, the innermost first, then the
 * function into which they were inlined. Returns how many, at most SYMBOLS_INLINES_MAX; 0: unknown.
 * Their texts live as long as S.
 */
size_t symbols_inlines(struct symbols *s, uint64_t offset, struct symbol_line *ret);

#endif
