/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crc32c.h - CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected), RFC 3720 appendix B.4. zlib has
 * only the CRC-32 of another polynomial.
 */
#ifndef CEEMS_CRC32C_H
#define CEEMS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * Continues the checksum CRC over LEN bytes of DATA; start with CRC 0. The result does not depend
 * on how a buffer is cut into calls.
 */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

/* crc32c() for CPUs without a CRC instruction; slower, same result. */
uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t len);

#endif
