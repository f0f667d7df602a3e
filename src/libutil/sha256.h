/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sha256.h - SHA-256 (FIPS 180-4) of a text that is in memory, for ids that others can compute. Not for secrets.
 */
#ifndef CEEMS_SHA256_H
#define CEEMS_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

void sha256(const void *data, size_t len, uint8_t ret[SHA256_SIZE]);

#endif
