/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/otlp/otlp_pack.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "src/libutil/util.h"

#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, and a gzip header */
#define GZIP_MEMORY 8	      /* zlib's default */
#define NAME_MAX_JSON 64

/* --- JSON ------------------------------------------------------------------------------------------ */

static json_t *message_to_json(const ProtobufCMessage *m);

/* resource_spans -> resourceSpans */
static void camel_case(const char *from, char *to, size_t size)
{
	size_t n = 0;

	for (; *from && n + 1 < size; from++) {
		char c = *from;

		if (c == '_' && from[1] >= 'a' && from[1] <= 'z')
			c = (char)(*++from - 'a' + 'A');
		to[n++] = c;
	}
	to[n] = '\0';
}

static json_t *bytes_to_json(const ProtobufCBinaryData *b)
{
	char *text = malloc(2 * b->len + 1);
	json_t *v;
	size_t i;

	if (!text)
		return NULL;
	text[0] = '\0';
	for (i = 0; i < b->len; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", b->data[i]);
	v = json_string(text);
	free(text);
	return v;
}

/* Returns a JSON string, as OTLP requires for 64-bit integers. VALUE has the bits of the integer. */
static json_t *integer_to_json(bool is_negative, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%s%" PRIu64, is_negative ? "-" : "",
		       is_negative ? -value : value);
	return json_string(text);
}

/* Returns the value at P as JSON. NULL: out of memory, or a type that otlp.proto does not use. */
static json_t *value_to_json(const ProtobufCFieldDescriptor *f, const void *p)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		return message_to_json(*(const ProtobufCMessage *const *)p);
	case PROTOBUF_C_TYPE_STRING:
		return json_string(*(const char *const *)p);
	case PROTOBUF_C_TYPE_BYTES:
		return bytes_to_json(p);
	case PROTOBUF_C_TYPE_INT64:
		return integer_to_json(*(const int64_t *)p < 0, *(const uint64_t *)p);
	case PROTOBUF_C_TYPE_FIXED64:
		return integer_to_json(/* is_negative= */ false, *(const uint64_t *)p);
	case PROTOBUF_C_TYPE_INT32:
		return json_integer(*(const int32_t *)p);
	case PROTOBUF_C_TYPE_FIXED32:
		return json_integer(*(const uint32_t *)p);
	case PROTOBUF_C_TYPE_DOUBLE:
		return json_real(*(const double *)p);
	case PROTOBUF_C_TYPE_BOOL:
		return json_boolean(*(const protobuf_c_boolean *)p);
	default:
		return NULL;
	}
}

static json_t *list_to_json(const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m)
{
	size_t n = *(const size_t *)(const void *)((const char *)m + f->quantifier_offset);
	const ProtobufCMessage *const *item = *(
		const ProtobufCMessage *const *const *)(const void *)((const char *)m + f->offset);
	json_t *list = json_array();

	for (; list && n; n--, item++)
		if (json_array_append_new(list, message_to_json(*item)) < 0) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

/*
 * Returns whether field F of M is left out: a member of a oneof that is not the chosen one, or an empty
 * message, bytes or string. Numbers are never left out.
 */
static bool is_absent(const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m)
{
	const void *p = (const char *)m + f->offset;

	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		return *(const uint32_t *)(const void *)((const char *)m + f->quantifier_offset) != f->id;
	if (f->type == PROTOBUF_C_TYPE_MESSAGE)
		return !*(const ProtobufCMessage *const *)p;
	if (f->type == PROTOBUF_C_TYPE_BYTES)
		return !((const ProtobufCBinaryData *)p)->len;
	return f->type == PROTOBUF_C_TYPE_STRING && !**(const char *const *)p;
}

static json_t *message_to_json(const ProtobufCMessage *m)
{
	json_t *o = json_object();
	unsigned int i;

	for (i = 0; o && i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
		bool is_list = f->label == PROTOBUF_C_LABEL_REPEATED;
		char name[NAME_MAX_JSON];

		if (!is_list && is_absent(f, m))
			continue;
		camel_case(f->name, name, sizeof(name));
		if (json_object_set_new(o, name,
					is_list ? list_to_json(f, m) :
						  value_to_json(f, (const char *)m + f->offset)) < 0) {
			json_decref(o);
			o = NULL;
		}
	}
	return o;
}

/* --- bytes ----------------------------------------------------------------------------------------- */

static char *to_json(const ProtobufCMessage *m, size_t *ret_len)
{
	json_t *o = message_to_json(m);
	char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;

	json_decref(o);
	if (text)
		*ret_len = strlen(text);
	return text;
}

static uint8_t *to_protobuf(const ProtobufCMessage *m, size_t *ret_len)
{
	uint8_t *data = malloc(protobuf_c_message_get_packed_size(m) + 1);

	if (data)
		*ret_len = protobuf_c_message_pack(m, data);
	return data;
}

static int to_gzip(const void *data, size_t len, void **ret, size_t *ret_len)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len };
	size_t room;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	room = deflateBound(&z, len);
	*ret = malloc(room);
	if (*ret) {
		z.next_out = *ret;
		z.avail_out = (uInt)room;
		(void)deflate(&z, Z_FINISH); /* cannot fail: the output buffer has deflateBound() bytes */
		*ret_len = room - z.avail_out;
	}
	(void)deflateEnd(&z);
	return *ret ? 0 : -ENOMEM;
}

int otlp_pack(const ProtobufCMessage *m, bool is_json, void **ret, size_t *ret_len)
{
	_cleanup_free_ void *data = NULL;
	size_t len = 0;

	data = is_json ? (void *)to_json(m, &len) : (void *)to_protobuf(m, &len);
	return data ? to_gzip(data, len, ret, ret_len) : -ENOMEM;
}
