/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sha256.h - SHA-256 (FIPS 180-4), for ids that other programs can compute. Not for secrets: it
 * does not wipe its memory.
 */
#ifndef CEEMS_SHA256_H
#define CEEMS_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

/* Writes the hash of DATA[len] to RET. */
void sha256(const void *data, size_t len, uint8_t ret[SHA256_SIZE]);

#endif
