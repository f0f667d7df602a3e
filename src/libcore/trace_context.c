/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/trace_context.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/sha256.h"

static const char hex[] = "0123456789abcdef";

/*
 * Reads N bytes in lower-case hexadecimal from TEXT. False: another character, or all zeros while
 * !MAY_BE_ZERO.
 */
static bool parse_hex(const char *text, uint8_t *ret, size_t n, bool may_be_zero)
{
	uint8_t any = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		const char *high = text[2 * i] ? strchr(hex, text[2 * i]) : NULL;
		const char *low = high && text[2 * i + 1] ? strchr(hex, text[2 * i + 1]) : NULL;

		if (!low)
			return false;
		ret[i] = (uint8_t)((high - hex) << 4 | (low - hex));
		any |= ret[i];
	}
	return any || may_be_zero;
}

bool trace_context_parse(const char *text, bool may_begin, struct trace_context *ret)
{
	struct trace_context c;
	uint8_t version;
	size_t len;

	if (!text)
		return false;
	len = strnlen(text, TRACE_PARENT_LEN + 1);
	if (len < TRACE_PARENT_LEN || text[2] != '-' || text[35] != '-' || text[52] != '-' ||
	    !parse_hex(text, &version, 1, /* may_be_zero= */ true) ||
	    !parse_hex(text + 3, c.trace, sizeof(c.trace), /* may_be_zero= */ false) ||
	    !parse_hex(text + 36, c.span, sizeof(c.span), may_begin) ||
	    !parse_hex(text + 53, &c.flags, 1, /* may_be_zero= */ true))
		return false;
	/* version 0 ends here; a later version may go on after a dash; version 255 is invalid */
	if (version == 0xff || (len > TRACE_PARENT_LEN && (!version || text[TRACE_PARENT_LEN] != '-')))
		return false;
	c.flags &= TRACE_SAMPLED;
	*ret = c;
	return true;
}

static char *put_hex(char *p, const uint8_t *from, size_t n)
{
	for (; n--; from++) {
		*p++ = hex[*from >> 4];
		*p++ = hex[*from & 15];
	}
	return p;
}

void trace_context_format(const struct trace_context *c, char buf[TRACE_PARENT_LEN + 1])
{
	char *p = buf;

	memcpy(p, "00-", 3);
	p = put_hex(p + 3, c->trace, sizeof(c->trace));
	*p++ = '-';
	p = put_hex(p, c->span, sizeof(c->span));
	*p++ = '-';
	p = put_hex(p, &c->flags, 1);
	*p = '\0';
}

/*
 * Sets RET to the first N bytes of the hash of TEXT. All zeros would be an invalid id, but no hash
 * begins with 8 zero bytes in practice.
 */
static void hash_text(const char *text, size_t len, uint8_t *ret, size_t n)
{
	uint8_t hash[SHA256_SIZE];

	sha256(text, len, hash);
	memcpy(ret, hash, n);
}

void trace_id_of_job(const char *key, size_t key_len, uint8_t ret[TRACE_ID_SIZE])
{
	hash_text(key, key_len, ret, TRACE_ID_SIZE);
}

void trace_span_of_job(const char *key, size_t key_len, const char *what, uint8_t ret[TRACE_SPAN_SIZE])
{
	char text[512];
	int n = snprintf(text, sizeof(text), "%.*s %s", (int)key_len, key, what);

	hash_text(text, n > 0 && (size_t)n < sizeof(text) ? (size_t)n : 0, ret, TRACE_SPAN_SIZE);
}

void trace_span_of_step(const char *cluster, uint32_t job_id, uint32_t restarts, uint32_t step_id,
			uint64_t component, uint8_t ret[TRACE_SPAN_SIZE])
{
	char text[512];
	int n = snprintf(text, sizeof(text), "%.255s/%" PRIu32 ",%" PRIu32 ".%" PRIu32, cluster, job_id,
			 restarts, step_id);

	if (component && n > 0)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "+%" PRIu64, component);
	hash_text(text, n > 0 ? (size_t)n : 0, ret, TRACE_SPAN_SIZE);
}
