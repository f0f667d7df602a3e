/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/kernel_btf.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/fileio.h"
#include "src/libutil/util.h"

#define FILE_MAX_BYTES ((size_t)64 << 20)
#define DEPTH_MAX 8 /* levels of nested anonymous structs and unions */

struct kernel_btf {
	char *data;
	const char *text; /* all names; the last byte is a NUL */
	uint32_t text_size;
	const struct btf_type **type; /* by type id; id 0 is void and has no entry */
	uint32_t n;
};

/* Sets *RET to the bytes that follow the btf_type T, by its kind. False: a kind unknown to us. */
static bool tail_size(const struct btf_type *t, size_t *ret)
{
	const size_t n = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		*ret = n * sizeof(struct btf_member);
		return true;
	case BTF_KIND_ENUM:
		*ret = n * sizeof(struct btf_enum);
		return true;
	case BTF_KIND_FUNC_PROTO:
		*ret = n * sizeof(struct btf_param);
		return true;
	case BTF_KIND_ARRAY:
		*ret = sizeof(struct btf_array);
		return true;
	case BTF_KIND_DATASEC:
		*ret = n * sizeof(struct btf_var_secinfo);
		return true;
	case 19: /* BTF_KIND_ENUM64, Linux 6.0 */
		*ret = n * 3 * sizeof(uint32_t);
		return true;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case 17: /* BTF_KIND_DECL_TAG, 5.16 */
		*ret = sizeof(uint32_t);
		return true;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case 16: /* BTF_KIND_FLOAT, 5.13 */
	case 18: /* BTF_KIND_TYPE_TAG, 5.17 */
		*ret = 0;
		return true;
	default:
		return false;
	}
}

static int number_types(struct kernel_btf *b, const char *at, size_t size)
{
	const struct btf_type *t;
	size_t tail;

	b->type = calloc(size / sizeof(*t) + 1, sizeof(*b->type));
	if (!b->type)
		return -ENOMEM;
	b->n = 1;
	while (size >= sizeof(*t)) {
		t = (const void *)at;
		if (!tail_size(t, &tail) || tail > size - sizeof(*t))
			return -EINVAL;
		b->type[b->n++] = t;
		at += sizeof(*t) + tail;
		size -= sizeof(*t) + tail;
	}
	return 0;
}

static int read_parts(struct kernel_btf *b, size_t size)
{
	const struct btf_header *h = (const void *)b->data;
	size_t left;

	if (size < sizeof(*h) || h->magic != BTF_MAGIC || h->hdr_len < sizeof(*h) || h->hdr_len > size || h->hdr_len % 4)
		return -EINVAL;
	left = size - h->hdr_len;
	if (h->type_off > left || h->type_len > left - h->type_off || h->type_off % 4 || h->str_off > left ||
	    h->str_len > left - h->str_off || !h->str_len)
		return -EINVAL;
	b->text = b->data + h->hdr_len + h->str_off;
	b->text_size = h->str_len;
	if (b->text[b->text_size - 1])
		return -EINVAL;
	return number_types(b, b->data + h->hdr_len + h->type_off, h->type_len);
}

int kernel_btf_open(const char *path, struct kernel_btf **ret, struct errmsg *err)
{
	struct kernel_btf *b = calloc(1, sizeof(*b));
	size_t size;
	int rc = b ? fileio_read_alloc(path, FILE_MAX_BYTES, &b->data, &size, err) : errmsg_errno(err, -ENOMEM, "%s", path);

	if (rc == 0) {
		rc = read_parts(b, size);
		if (rc < 0)
			(void)errmsg_errno(err, rc, "%s", path);
	}
	if (rc < 0) {
		kernel_btf_close(b);
		return rc;
	}
	*ret = b;
	return 0;
}

void kernel_btf_close(struct kernel_btf *b)
{
	if (!b)
		return;
	free(b->type);
	free(b->data);
	free(b);
}

static bool is_composite(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info) == BTF_KIND_STRUCT || BTF_INFO_KIND(t->info) == BTF_KIND_UNION;
}

static bool has_name(const struct kernel_btf *b, uint32_t name, const char *wanted)
{
	return name < b->text_size && !strcmp(b->text + name, wanted);
}

static bool find_member(const struct kernel_btf *b, const struct btf_type *t, const char *member, int depth, uint64_t *bits)
{
	const struct btf_member *m = (const void *)(t + 1);
	uint32_t i;

	for (i = 0; i < BTF_INFO_VLEN(t->info); i++) {
		const uint64_t here = *bits + (BTF_INFO_KFLAG(t->info) ? BTF_MEMBER_BIT_OFFSET(m[i].offset) : m[i].offset);
		const struct btf_type *inner = m[i].type < b->n ? b->type[m[i].type] : NULL;
		uint64_t deeper = here;

		if (has_name(b, m[i].name_off, member)) {
			*bits = here;
			return true;
		}
		if (!m[i].name_off && inner && is_composite(inner) && depth < DEPTH_MAX &&
		    find_member(b, inner, member, depth + 1, &deeper)) {
			*bits = deeper;
			return true;
		}
	}
	return false;
}

int kernel_btf_offset(const struct kernel_btf *b, const char *type, const char *member, uint32_t *ret)
{
	uint64_t bits;
	uint32_t i;

	for (i = 1; i < b->n; i++) {
		bits = 0;
		if (BTF_INFO_KIND(b->type[i]->info) != BTF_KIND_STRUCT || !has_name(b, b->type[i]->name_off, type) ||
		    !find_member(b, b->type[i], member, 0, &bits))
			continue;
		*ret = (uint32_t)(bits / 8);
		return 0;
	}
	return -ENOENT;
}
