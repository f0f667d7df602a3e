/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* O_PATH */
#include "src/libprofile/symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <zlib.h>

#include "src/libprofile/symbols_internal.h"
#include "src/libutil/util.h"

#define FILE_MAX ((off_t)4 << 30) /* the checksum of a debug file covers no more than this */
#define NOTES_MAX ((uint64_t)64 << 10)
#define VDSO_MAX ((size_t)64 << 10)

/* --- files -------------------------------------------------------------------------------------- */

static int open_regular(int at, const char *path, uint64_t resolve)
{
	/* O_NONBLOCK: do not wait for the other end if PATH is a pipe */
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, .resolve = resolve };
	int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	(void)close(fd);
	return -EINVAL;
}

int elf_open_below(const char *root, const char *path)
{
	_cleanup_close_ int at = open(root && *root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return at < 0 ? -errno : open_regular(at, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/* --- one ELF file ------------------------------------------------------------------------------- */

static void object_close(struct elf_object *o)
{
	if (o->elf)
		(void)elf_end(o->elf);
	if (o->fd >= 0)
		(void)close(o->fd);
	*o = (struct elf_object){ .fd = -1 };
}

/* Opens the ELF file FD; RET owns FD, and on error FD is closed. Returns 0 or -ENOEXEC. */
static int object_open(int fd, struct elf_object *ret)
{
	struct elf_object o = { .fd = fd };

	(void)elf_version(EV_CURRENT);
	o.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!o.elf || elf_kind(o.elf) != ELF_K_ELF || !gelf_getehdr(o.elf, &o.header)) {
		object_close(&o);
		return -ENOEXEC;
	}
	*ret = o;
	return 0;
}

Elf_Scn *elf_find_section(Elf *elf, uint32_t type, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *its;

		if (!gelf_getshdr(scn, ret) || (type && ret->sh_type != type))
			continue;
		its = name ? elf_strptr(elf, names, ret->sh_name) : NULL;
		if (!name || (its && !strcmp(its, name)))
			return scn;
	}
	return NULL;
}

static Elf_Data *section_data(Elf_Scn *scn, const GElf_Shdr *header, uint64_t max)
{
	return scn && header->sh_type != SHT_NOBITS && header->sh_size <= max ? elf_getdata(scn, NULL) : NULL;
}

/* Looks for NT_GNU_BUILD_ID in one block of notes. */
static bool take_build_id(Elf_Data *data, char *ret)
{
	GElf_Nhdr note;
	size_t at = 0, name, desc, next, i;

	while ((next = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		const unsigned char *id = (const unsigned char *)data->d_buf + desc;

		at = next;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp((const char *)data->d_buf + name, "GNU", sizeof("GNU")) != 0 || !note.n_descsz ||
		    note.n_descsz > (SYMBOLS_BUILD_ID_SIZE - 1) / 2)
			continue;
		for (i = 0; i < note.n_descsz; i++)
			(void)snprintf(ret + 2 * i, 3, "%02x", id[i]);
		return true;
	}
	return false;
}

static void read_build_id(const struct elf_object *o, char *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr section;
	GElf_Phdr segment;
	Elf_Data *data;
	size_t n, i;

	ret[0] = '\0';
	if (elf_getphdrnum(o->elf, &n) < 0)
		n = 0;
	for (i = 0; i < n && i < INT_MAX; i++) {
		if (!gelf_getphdr(o->elf, (int)i, &segment) || segment.p_type != PT_NOTE ||
		    segment.p_filesz > NOTES_MAX)
			continue;
		data = elf_getdata_rawchunk(o->elf, (int64_t)segment.p_offset, segment.p_filesz,
					    segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data && take_build_id(data, ret))
			return;
	}
	/* the segments of a debug file may have no data, so look at its sections too */
	while ((scn = elf_nextscn(o->elf, scn))) {
		if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_NOTE)
			continue;
		data = section_data(scn, &section, NOTES_MAX);
		if (data && take_build_id(data, ret))
			return;
	}
}

static int read_segments(const struct elf_object *o, struct symbols *s)
{
	GElf_Phdr segment;
	size_t n, i;

	if (elf_getphdrnum(o->elf, &n) < 0)
		return -ENOEXEC;
	for (i = 0; i < n && s->nsegments < ARRAY_SIZE(s->segment); i++)
		if (gelf_getphdr(o->elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    segment.p_flags & PF_X)
			s->segment[s->nsegments++] = (struct elf_segment){ segment.p_offset, segment.p_filesz,
									   segment.p_vaddr };
	return 0;
}

/* --- symbols ------------------------------------------------------------------------------------ */

/* Returns the rank of a name: with a size before without one, then global before weak before local. */
static uint32_t rank_of(const GElf_Sym *sym)
{
	const int bind = GELF_ST_BIND(sym->st_info);

	return (sym->st_size ? 4u : 0u) + (bind == STB_GLOBAL ? 2u : bind == STB_WEAK ? 1u : 0u);
}

static bool is_code(const GElf_Sym *sym)
{
	const int type = GELF_ST_TYPE(sym->st_info);

	/* labels of assembly code have no type; those with a size are functions */
	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && sym->st_size));
}

/*
 * Adds the functions of the ELF section TYPE (SHT_SYMTAB or SHT_DYNSYM) to TABLE. Returns 1 if TABLE
 * has functions now, 0 if it is still empty, or -errno.
 */
static int read_table(Elf *elf, uint32_t type, struct symbol_table *table)
{
	GElf_Shdr header, text_header;
	Elf_Scn *scn = elf_find_section(elf, type, NULL, &header);
	Elf_Scn *texts = scn ? elf_getscn(elf, header.sh_link) : NULL;
	Elf_Data *data, *text;
	GElf_Sym sym;
	size_t i, n;
	int rc = 0;

	if (!scn || !texts || !gelf_getshdr(texts, &text_header))
		return 0;
	if (header.sh_size > TABLE_MAX || text_header.sh_size > TABLE_MAX)
		return -EFBIG;
	data = section_data(scn, &header, TABLE_MAX);
	text = section_data(texts, &text_header, TABLE_MAX);
	/* the names must end with a NUL, so that no name runs past the end */
	if (!data || !text || !text->d_size || ((const char *)text->d_buf)[text->d_size - 1])
		return 0;
	n = header.sh_entsize ? data->d_size / header.sh_entsize : 0;
	for (i = 0; rc == 0 && i < n && i < INT_MAX; i++) {
		struct symbol s;

		if (!gelf_getsym(data, (int)i, &sym) || !is_code(&sym) || sym.st_name >= text->d_size)
			continue;
		s = (struct symbol){ sym.st_value, sym.st_size, (const char *)text->d_buf + sym.st_name,
				     rank_of(&sym) };
		if (*s.name && *s.name != '$') /* $x and $d are arm64's marks of code and data */
			rc = symbol_table_add(table, &s);
	}
	return rc < 0 ? rc : table->n > 0;
}

/* --- debug files ---------------------------------------------------------------------------------- */

static uint32_t checksum(int fd)
{
	unsigned char buf[65536];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while (at < FILE_MAX && (n = pread(fd, buf, sizeof(buf), at)) > 0) {
		crc = crc32(crc, buf, (uInt)n);
		at += n;
	}
	return (uint32_t)crc;
}

/*
 * Opens PATH below ROOT as the debug file of S. -ESTALE: it belongs to another file, by CRC (NULL:
 * unknown) or build id.
 */
static int try_debug(struct symbols *s, const char *root, const char *path, const uint32_t *crc)
{
	char id[SYMBOLS_BUILD_ID_SIZE];
	struct elf_object o;
	int fd = elf_open_below(root, path);

	if (fd < 0)
		return fd;
	if (crc && checksum(fd) != *crc) {
		(void)close(fd);
		return -ESTALE;
	}
	if (object_open(fd, &o) < 0)
		return -ENOEXEC;
	read_build_id(&o, id);
	if (s->build_id[0] && id[0] && strcmp(id, s->build_id) != 0) {
		object_close(&o);
		return -ESTALE;
	}
	s->debug = o;
	return 0;
}

static int find_by_build_id(struct symbols *s, const char *root)
{
	char path[128];
	int rc;

	if (strlen(s->build_id) < 4)
		return -ENOENT;
	(void)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", s->build_id,
		       s->build_id + 2);
	rc = try_debug(s, root, path, NULL);
	return rc < 0 && root && *root ? try_debug(s, "", path, NULL) : rc;
}

static int find_by_link(struct symbols *s, const char *root, const char *path)
{
	static const char *const places[] = { "%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s" };
	const char *slash = path ? strrchr(path, '/') : NULL;
	GElf_Shdr header;
	Elf_Data *data = section_data(elf_find_section(s->file.elf, 0, ".gnu_debuglink", &header), &header,
				      PATH_MAX);
	char candidate[PATH_MAX];
	const char *name;
	uint32_t crc;
	size_t i, len, at;

	if (!slash || !data || data->d_size < 8)
		return -ENOENT;
	name = data->d_buf;
	len = strnlen(name, data->d_size);
	at = (len + 4) & ~(size_t)3; /* after name and NUL, at a multiple of 4 */
	if (!len || at + sizeof(crc) > data->d_size || memchr(name, '/', len))
		return -ENOENT;
	memcpy(&crc, name + at, sizeof(crc));
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		int n;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		n = snprintf(candidate, sizeof(candidate), places[i], (int)(slash - path), path, name);
#pragma GCC diagnostic pop
		if (n > 0 && (size_t)n < sizeof(candidate) && try_debug(s, root, candidate, &crc) == 0)
			return 0;
	}
	return -ENOENT;
}

/* --- opening --------------------------------------------------------------------------------------- */

static int read_tables(struct symbols *s, const char *root, const char *path)
{
	int rc = read_table(s->file.elf, SHT_SYMTAB, &s->table);

	if (rc == 0 && (find_by_build_id(s, root) == 0 || find_by_link(s, root, path) == 0))
		rc = read_table(s->debug.elf, SHT_SYMTAB, &s->table);
	if (rc > 0) {
		symbol_table_sort(&s->table);
		return 0;
	}
	if (rc == 0)
		rc = read_table(s->file.elf, SHT_DYNSYM, &s->table);
	if (rc >= 0 && symbols_open_mini(s) == 0)
		rc = read_table(s->mini, SHT_SYMTAB, &s->table);
	if (rc < 0)
		return rc;
	symbol_table_sort(&s->table);
	return 0;
}

/* Makes *RET, which owns FILE; on error FILE is closed. */
static int make_symbols(struct elf_object *file, const char *root, const char *path, const char *build_id,
			struct symbols **ret)
{
	struct symbols *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (!s) {
		object_close(file);
		return -ENOMEM;
	}
	s->file = *file;
	s->debug.fd = -1;
	read_build_id(&s->file, s->build_id);
	if (build_id && *build_id && strcmp(build_id, s->build_id) != 0)
		rc = -ESTALE;
	if (rc == 0)
		rc = read_segments(&s->file, s);
	if (rc == 0)
		rc = read_tables(s, root, path);
	if (rc < 0) {
		symbols_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

int symbols_open_fd(int fd, const char *root, const char *path, const char *build_id, struct symbols **ret,
		    struct errmsg *err)
{
	struct elf_object file;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int rc = own < 0 ? -errno : object_open(own, &file);

	if (rc == 0)
		rc = make_symbols(&file, root, path, build_id, ret);
	return rc < 0 ? errmsg_errno(err, rc, "%s", path ? path : "a deleted file") : 0;
}

int symbols_open(const char *root, const char *path, const char *build_id, struct symbols **ret,
		 struct errmsg *err)
{
	struct elf_object file;
	int fd = elf_open_below(root, path);
	int rc = fd < 0 ? fd : object_open(fd, &file);

	if (rc == 0)
		rc = make_symbols(&file, root, path, build_id, ret);
	return rc < 0 ? errmsg_errno(err, rc, "%s", path) : 0;
}

int symbols_open_vdso(struct symbols **ret, struct errmsg *err)
{
	char *image = (char *)getauxval(AT_SYSINFO_EHDR); /* mapped by the kernel for our whole life */
	struct elf_object file = { .fd = -1 };
	size_t size;
	int rc;

	if (!image)
		return errmsg_set(err, -ENOENT, "this process has no vdso");
	/* the image ends with its table of sections */
	size = ((const ElfW_Ehdr *)image)->e_shoff +
	       (size_t)((const ElfW_Ehdr *)image)->e_shnum * ((const ElfW_Ehdr *)image)->e_shentsize;
	(void)elf_version(EV_CURRENT);
	file.elf = size && size <= VDSO_MAX ? elf_memory(image, size) : NULL;
	if (!file.elf || !gelf_getehdr(file.elf, &file.header)) {
		object_close(&file);
		return errmsg_set(err, -ENOEXEC, "the vdso is not as expected");
	}
	rc = make_symbols(&file, "", NULL, NULL, ret);
	return rc < 0 ? errmsg_errno(err, rc, "vdso") : 0;
}

void symbols_close(struct symbols *s)
{
	if (!s)
		return;
	symbols_close_dwarf(s);
	symbols_close_unwind(s);
	symbol_table_fini(&s->table);
	symbols_close_mini(s);
	object_close(&s->file);
	object_close(&s->debug);
	free(s);
}

/* --- asking ---------------------------------------------------------------------------------------- */

const char *symbols_build_id(const struct symbols *s)
{
	return s->build_id;
}

bool symbols_address(const struct symbols *s, uint64_t offset, uint64_t *ret)
{
	size_t i;

	for (i = 0; i < s->nsegments; i++)
		if (offset >= s->segment[i].offset && offset - s->segment[i].offset < s->segment[i].size) {
			*ret = offset - s->segment[i].offset + s->segment[i].address;
			return true;
		}
	return false;
}

const struct symbol *symbols_find(const struct symbols *s, uint64_t offset)
{
	uint64_t address;

	return symbols_address(s, offset, &address) ? symbol_table_find(&s->table, address) : NULL;
}
