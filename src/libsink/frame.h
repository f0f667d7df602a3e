/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame.h - the bytes of one spool entry, little-endian, as ceems-spool(5) describes them:
 *
 *	 0  u8[4]  magic ce ee 5b 01; the last byte is the version of the layout
 *	 4  u32    CRC-32C of the other 12 header bytes, the key and the data
 *	 8  u32    length of the data
 *	12  u16    length of the key
 *	14  u8     kind
 *	15  u8     0
 *	16         key, data
 *
 * "ce ee" is in no valid UTF-8 text, so that no job name inside a record can look like the start
 * of an entry when a damaged place is skipped.
 */
#ifndef CEEMS_FRAME_H
#define CEEMS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER 16
#define FRAME_KEY_MAX 1024
#define FRAME_DATA_MAX (UINT32_C(4) << 20)
#define FRAME_MAX (FRAME_HEADER + FRAME_KEY_MAX + FRAME_DATA_MAX)

struct frame {
	uint8_t kind;
	size_t key_len;
	size_t data_len;
	uint32_t crc;
};

static inline size_t frame_size(const struct frame *f)
{
	return FRAME_HEADER + f->key_len + f->data_len;
}

/* Fills HEADER, checksum included. The lengths are the caller's to bound. */
void frame_encode(uint8_t header[FRAME_HEADER], const struct frame *f, const void *key,
		  const void *data);

/* Reads a header; false: cannot be one. The checksum is not looked at. */
bool frame_decode(const uint8_t header[FRAME_HEADER], struct frame *ret);

/* An entry, but of another version of the layout. */
bool frame_is_other_layout(const uint8_t header[FRAME_HEADER]);

/* Whether the whole entry at BUF (frame_size() bytes) is as it was written. */
bool frame_is_intact(const uint8_t *buf, const struct frame *f);

/* Offset of the next byte in BUF that may start a magic, LEN if there is none. */
size_t frame_find(const uint8_t *buf, size_t len);

#endif
