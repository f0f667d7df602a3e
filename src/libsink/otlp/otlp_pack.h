/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_pack.h - makes a gzip-compressed request body of an OTLP message, as protobuf or as JSON.
 * OTLP's JSON has names in camelCase, ids in hexadecimal, 64-bit integers as strings and enums as
 * numbers.
 */
#ifndef CEEMS_OTLP_PACK_H
#define CEEMS_OTLP_PACK_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "src/libutil/must_check.h"

/*
 * Writes M as JSON (IS_JSON) or protobuf, compressed, to *RET, which the caller frees. Returns 0 or
 * -ENOMEM.
 */
int otlp_pack(const ProtobufCMessage *m, bool is_json, void **ret, size_t *ret_len) _must_check_;

#endif
