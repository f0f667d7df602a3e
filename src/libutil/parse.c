/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/parse.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/util.h"

/*
 * Parses the digits at the beginning of S[0..len); *used is how many. Unlike strtoull(), refuses
 * signs and blanks.
 */
static int parse_digits(const char *s, size_t len, uint64_t *ret, size_t *used)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < len && isdigit((unsigned char)s[i]); i++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return -ERANGE;
	}
	if (!i)
		return -EINVAL;
	*ret = v;
	*used = i;
	return 0;
}

int parse_u64_n(const char *s, size_t len, uint64_t *ret)
{
	uint64_t v;
	size_t used;
	int rc = parse_digits(s, len, &v, &used);

	if (rc < 0)
		return rc;
	if (used < len && s[used] == '\n')
		used++;
	if (used != len)
		return -EINVAL;
	*ret = v;
	return 0;
}

const char *parse_find_line(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text && strncmp(text, key, len) != 0) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + len : NULL;
}

int parse_u64(const char *s, uint64_t *ret)
{
	size_t len = strlen(s);

	return len && s[len - 1] == '\n' ? -EINVAL : parse_u64_n(s, len, ret);
}

int parse_next_range(const char **list, uint64_t *ret_from, uint64_t *ret_to)
{
	const char *s = *list;
	size_t len = strcspn(s, ",\n"), head = strcspn(s, "-,\n");
	uint64_t from, to;

	if (!*s || *s == '\n')
		return 0;
	if (parse_u64_n(s, head, &from) < 0)
		return -EINVAL;
	to = from;
	if (head < len && parse_u64_n(s + head + 1, len - head - 1, &to) < 0)
		return -EINVAL;
	if (to < from)
		return -EINVAL;
	*list = s + len + (s[len] == ',');
	*ret_from = from;
	*ret_to = to;
	return 1;
}

bool parse_char(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

int parse_hex(const char *s, uint64_t *ret)
{
	uint64_t v;
	char *end;

	if (strncmp(s, "0x", 2) || !isxdigit((unsigned char)s[2]))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 16);
	if (*end)
		return -EINVAL;
	if (errno)
		return -errno;
	*ret = v;
	return 0;
}

int parse_bool(const char *s, bool *ret)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{ "yes", true }, { "true", true },   { "1", true },
		{ "no", false }, { "false", false }, { "0", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcasecmp(s, words[i].word)) {
			*ret = words[i].value;
			return 0;
		}
	}
	return -EINVAL;
}

struct unit {
	const char *suffix;
	uint64_t factor;
};

static int number_with_unit(const char *s, const struct unit *units, size_t nunits, uint64_t *ret)
{
	uint64_t v;
	size_t used;
	size_t i;
	int rc = parse_digits(s, strlen(s), &v, &used);

	if (rc < 0)
		return rc;
	for (i = 0; i < nunits; i++) {
		if (strcasecmp(s + used, units[i].suffix))
			continue;
		if (__builtin_mul_overflow(v, units[i].factor, &v))
			return -ERANGE;
		*ret = v;
		return 0;
	}
	return -EINVAL;
}

int parse_duration_ns(const char *s, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{ "", UINT64_C(1000000000) },	  { "ms", UINT64_C(1000000) },
		{ "s", UINT64_C(1000000000) },	  { "m", UINT64_C(60000000000) },
		{ "h", UINT64_C(3600000000000) }, { "d", UINT64_C(86400000000000) },
	};

	return number_with_unit(s, units, ARRAY_SIZE(units), ret_ns);
}

int parse_size_bytes(const char *s, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "K", UINT64_C(1) << 10 },
		{ "M", UINT64_C(1) << 20 },
		{ "G", UINT64_C(1) << 30 },
		{ "T", UINT64_C(1) << 40 },
	};

	return number_with_unit(s, units, ARRAY_SIZE(units), ret_bytes);
}

int parse_decimal(const char *s, uint64_t scale, uint64_t *ret)
{
	uint64_t whole;
	uint64_t frac = 0;
	uint64_t unit = scale;
	size_t used;
	int rc = parse_digits(s, strlen(s), &whole, &used);

	if (rc < 0)
		return rc;
	s += used;
	if (*s == '.') {
		if (!isdigit((unsigned char)*++s))
			return -EINVAL;
		for (; isdigit((unsigned char)*s); s++) {
			if (unit > 1) {
				unit /= 10;
				frac += unit * (uint64_t)(*s - '0');
			} else if (unit == 1) { /* the first digit beyond the scale decides the rounding */
				frac += *s >= '5';
				unit = 0;
			}
		}
	}
	if (*s)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, scale, &whole) || __builtin_add_overflow(whole, frac, &whole))
		return -ERANGE;
	*ret = whole;
	return 0;
}
