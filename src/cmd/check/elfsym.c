/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/check/elfsym.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "src/libutil/fileio.h"
#include "src/libutil/util.h"

#define ELFSYM_MAX_BYTES (256u << 20)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ELFDATA_HOST ELFDATA2LSB
#else
#define ELFDATA_HOST ELFDATA2MSB
#endif

struct image {
	const char *data;
	size_t len;
	Elf64_Ehdr head;
};

/*
 * Copies SIZE bytes of the file at OFFSET, since they may not be aligned. False: they
 * are not all in the file.
 */
static bool get(const struct image *im, uint64_t offset, void *ret, size_t size)
{
	if (offset > im->len || size > im->len - offset)
		return false;
	memcpy(ret, im->data + offset, size);
	return true;
}

static bool name_is(const struct image *im, uint64_t offset, const char *name)
{
	size_t len = strlen(name) + 1;

	return offset < im->len && len <= im->len - offset && !memcmp(im->data + offset, name, len);
}

/* Reads the four bytes that the program will have at address ADDR. */
static bool get_at_address(const struct image *im, uint64_t addr, uint32_t *ret)
{
	Elf64_Phdr ph;
	unsigned int i;

	for (i = 0; i < im->head.e_phnum; i++) {
		if (!get(im, im->head.e_phoff + (uint64_t)i * sizeof(ph), &ph, sizeof(ph)))
			return false;
		if (ph.p_type != PT_LOAD || addr < ph.p_vaddr || addr - ph.p_vaddr >= ph.p_memsz)
			continue;
		addr -= ph.p_vaddr;
		if (addr >= ph.p_filesz) { /* the address is in .bss, which is not in the file */
			*ret = 0;
			return true;
		}
		return get(im, ph.p_offset + addr, ret, sizeof(*ret));
	}
	return false;
}

static int elfsym_find(const struct image *im, const char *symbol, uint32_t *ret)
{
	Elf64_Shdr table;
	Elf64_Shdr strings;
	unsigned int i;
	uint64_t k;

	for (i = 0; i < im->head.e_shnum; i++) {
		uint64_t sections = im->head.e_shoff;

		if (!get(im, sections + (uint64_t)i * sizeof(table), &table, sizeof(table)))
			return -ENOEXEC;
		if (table.sh_type != SHT_DYNSYM)
			continue;
		if (!get(im, sections + (uint64_t)table.sh_link * sizeof(strings), &strings, sizeof(strings)))
			return -ENOEXEC;
		for (k = 0; k < table.sh_size / sizeof(Elf64_Sym); k++) {
			Elf64_Sym sym;

			if (!get(im, table.sh_offset + k * sizeof(sym), &sym, sizeof(sym)))
				return -ENOEXEC;
			if (sym.st_shndx == SHN_UNDEF ||
			    !name_is(im, strings.sh_offset + sym.st_name, symbol))
				continue;
			return get_at_address(im, sym.st_value, ret) ? 0 : -ENOEXEC;
		}
	}
	return -ENOENT;
}

int elfsym_read_u32(const char *path, const char *symbol, uint32_t *ret, struct errmsg *err)
{
	_cleanup_free_ char *data = NULL;
	struct image im = { 0 };
	int rc;

	rc = fileio_read_alloc(path, ELFSYM_MAX_BYTES, &data, &im.len, err);
	if (rc < 0)
		return rc;
	im.data = data;
	if (!get(&im, 0, &im.head, sizeof(im.head)) || memcmp(im.head.e_ident, ELFMAG, SELFMAG) ||
	    im.head.e_ident[EI_CLASS] != ELFCLASS64 || im.head.e_ident[EI_DATA] != ELFDATA_HOST ||
	    im.head.e_shentsize != sizeof(Elf64_Shdr) || im.head.e_phentsize != sizeof(Elf64_Phdr))
		return errmsg_set(err, -ENOEXEC, "%s is not a shared object of this machine", path);
	rc = elfsym_find(&im, symbol, ret);
	if (rc == -ENOENT)
		return errmsg_set(err, rc, "%s has no symbol %s", path, symbol);
	return rc < 0 ? errmsg_set(err, rc, "%s is damaged", path) : 0;
}
