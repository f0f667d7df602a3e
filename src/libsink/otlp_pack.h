/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_pack.h - a message of OTLP as bytes to send: protobuf, or the JSON that OTLP defines (names in camelCase, ids in
 * hex, 64-bit integers as texts, enums as numbers), packed by gzip.
 */
#ifndef CEEMS_OTLP_PACK_H
#define CEEMS_OTLP_PACK_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/* The caller frees *RET. -ENOMEM. */
int otlp_pack(const ProtobufCMessage *m, bool is_json, void **ret, size_t *ret_len);

#endif
