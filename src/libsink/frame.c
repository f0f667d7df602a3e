/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/frame.h"

#include <string.h>

#include "src/libutil/crc32c.h"

static const uint8_t magic[4] = { 0xce, 0xee, 0x5b, 0x01 };

static void put_u32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
}

static uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

static uint32_t header_crc(const uint8_t *header)
{
	return crc32c(crc32c(0, header, 4), header + 8, FRAME_HEADER - 8);
}

void frame_encode(uint8_t header[FRAME_HEADER], const struct frame *f, const void *key,
		  const void *data)
{
	uint32_t crc;

	memcpy(header, magic, sizeof(magic));
	put_u32(header + 8, (uint32_t)f->data_len);
	header[12] = (uint8_t)f->key_len;
	header[13] = (uint8_t)(f->key_len >> 8);
	header[14] = f->kind;
	header[15] = 0;
	crc = header_crc(header);
	crc = crc32c(crc, key, f->key_len);
	crc = crc32c(crc, data, f->data_len);
	put_u32(header + 4, crc);
}

bool frame_is_other_layout(const uint8_t header[FRAME_HEADER])
{
	return !memcmp(header, magic, sizeof(magic) - 1) && header[3] != magic[3];
}

bool frame_decode(const uint8_t header[FRAME_HEADER], struct frame *ret)
{
	struct frame f = {
		.kind = header[14],
		.key_len = (size_t)header[12] | (size_t)header[13] << 8,
		.data_len = get_u32(header + 8),
		.crc = get_u32(header + 4),
	};

	if (memcmp(header, magic, sizeof(magic)) || header[15] ||
	    f.key_len > FRAME_KEY_MAX || f.data_len > FRAME_DATA_MAX)
		return false;
	*ret = f;
	return true;
}

bool frame_is_intact(const uint8_t *buf, const struct frame *f)
{
	uint32_t crc = header_crc(buf);

	return crc32c(crc, buf + FRAME_HEADER, f->key_len + f->data_len) == f->crc;
}

size_t frame_find(const uint8_t *buf, size_t len)
{
	const uint8_t *p = buf;
	const uint8_t *end = buf + len;
	size_t n;

	while (p < end && (p = memchr(p, magic[0], (size_t)(end - p)))) {
		n = (size_t)(end - p) < sizeof(magic) ? (size_t)(end - p) : sizeof(magic);
		if (!memcmp(p, magic, n))
			return (size_t)(p - buf);
		p++;
	}
	return len;
}
