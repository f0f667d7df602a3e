/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbols_mini.c - symbols_open_mini(): unpacks .gnu_debugdata ("MiniDebugInfo"). Red Hat strips
 * its files, but leaves an ELF file there, packed by xz, whose .symtab has the functions that
 * .dynsym lacks.
 */
#include "ceems_config.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libprofile/symbols_internal.h"

#ifdef HAVE_LZMA
#include <lzma.h>

/* Bytes. The section of a large library has some 2 MiB, and 10 MiB unpacked. */
#define PACKED_MAX ((uint64_t)16 << 20)
#define IMAGE_MAX ((size_t)64 << 20)
/* Memory of the decoder; "xz -9" needs 65 MiB. */
#define DECODER_MAX ((uint64_t)80 << 20)

/* Doubles the buffer *IMAGE, as STREAM has filled its SIZE bytes, and lets STREAM go on behind them. */
static int make_room(lzma_stream *stream, uint8_t **image, size_t *size)
{
	const size_t room = *size ? 2 * *size : (size_t)64 << 10;
	uint8_t *more = room > IMAGE_MAX ? NULL : realloc(*image, room);

	if (!more)
		return room > IMAGE_MAX ? -EFBIG : -ENOMEM;
	stream->next_out = more + *size;
	stream->avail_out = room - *size;
	*image = more;
	*size = room;
	return 0;
}

/* Unpacks the SIZE bytes at FROM. The caller frees *RET. */
static int unpack(const void *from, size_t size, uint8_t **ret, size_t *ret_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret end = lzma_stream_decoder(&stream, DECODER_MAX, /* flags= */ 0);
	uint8_t *image = NULL;
	size_t room = 0;
	int rc = 0;

	stream.next_in = from;
	stream.avail_in = size;
	while (end == LZMA_OK && rc == 0) {
		if (!stream.avail_out)
			rc = make_room(&stream, &image, &room);
		if (rc == 0)
			end = lzma_code(&stream, LZMA_FINISH);
	}
	*ret_size = stream.total_out;
	lzma_end(&stream);
	if (rc == 0 && end != LZMA_STREAM_END)
		rc = -ENOEXEC;
	if (rc < 0)
		free(image);
	else
		*ret = image;
	return rc;
}

int symbols_open_mini(struct symbols *s)
{
	GElf_Shdr header;
	Elf_Scn *scn = elf_find_section(s->file.elf, SHT_PROGBITS, ".gnu_debugdata", &header);
	Elf_Data *data = scn && header.sh_size <= PACKED_MAX ? elf_getdata(scn, NULL) : NULL;
	size_t size;
	int rc = data && data->d_size ? unpack(data->d_buf, data->d_size, &s->mini_image, &size) : -ENOENT;

	if (rc < 0)
		return rc;
	s->mini = elf_memory((char *)s->mini_image, size);
	return s->mini && elf_kind(s->mini) == ELF_K_ELF ? 0 : -ENOEXEC;
}

#else

int symbols_open_mini(struct symbols *s)
{
	(void)s;
	return -EOPNOTSUPP;
}

#endif

void symbols_close_mini(struct symbols *s)
{
	if (s->mini)
		(void)elf_end(s->mini);
	s->mini = NULL;
	free(s->mini_image);
	s->mini_image = NULL;
}
