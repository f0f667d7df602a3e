/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crc32c.h - CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected), RFC 3720 appendix B.4.
 * zlib has only the other CRC-32.
 */
#ifndef CEEMS_CRC32C_H
#define CEEMS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Start with CRC 0; feeding a buffer in pieces gives the same as feeding it whole. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

/* The same, for machines that have no instruction for it. */
uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t len);

#endif
