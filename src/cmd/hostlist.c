/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/hostlist.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAMES_MAX 100000 /* in a list; Slurm's own limit is 65,533 nodes */

/* A range such as "1-4" or "08". */
struct range {
	uint64_t first, last;
	int width; /* digits, with zeros before the number */
};

/* Takes the next range off *S, up to ',' or ']'. False: there is none. */
static bool range_next(const char **s, struct range *ret)
{
	char *end;

	if (**s == ',')
		++*s;
	if (**s < '0' || **s > '9')
		return false;
	ret->first = ret->last = strtoull(*s, &end, 10);
	ret->width = (int)(end - *s);
	*s = end;
	if (**s == '-' && (*s)[1] >= '0' && (*s)[1] <= '9') {
		ret->last = strtoull(*s + 1, &end, 10);
		*s = end;
	}
	return ret->last >= ret->first && ret->last - ret->first < NAMES_MAX && ret->width < 20;
}

/* Returns how many numbers the brackets at S, behind '[', hold. */
static uint64_t bracket_count(const char *s)
{
	struct range r;
	uint64_t n = 0;

	while (range_next(&s, &r))
		n += r.last - r.first + 1;
	return n;
}

/* Prints number N of the brackets at S, behind '['. */
static int bracket_print(const char *s, uint64_t n, char *buf, size_t size)
{
	struct range r;

	while (range_next(&s, &r)) {
		if (n <= r.last - r.first)
			return snprintf(buf, size, "%0*" PRIu64, r.width, r.first + n);
		n -= r.last - r.first + 1;
	}
	return -1;
}

/* Returns the length of the item at S, up to a ',' that is not in brackets. */
static size_t item_len(const char *s)
{
	const char *begin = s;
	bool is_in = false;

	for (; *s && (is_in || *s != ','); s++)
		is_in = *s == '[' || (is_in && *s != ']');
	return (size_t)(s - begin);
}

/* Returns how many names the item at S, of LEN bytes, stands for. */
static uint64_t item_count(const char *s, size_t len)
{
	uint64_t n = len > 0;
	size_t i;

	for (i = 0; i < len && n <= NAMES_MAX; i++)
		if (s[i] == '[')
			n *= bracket_count(s + i + 1);
	return n <= NAMES_MAX ? n : 0;
}

/* Writes name N of the item at S, of LEN bytes; the last brackets count fastest. */
static bool item_print(const char *s, size_t len, uint64_t n, char *buf, size_t size)
{
	size_t used = 0, i, close;
	uint64_t rest;
	int wrote;

	for (i = 0; i < len; i++) {
		if (s[i] != '[') {
			if (used + 1 >= size)
				return false;
			buf[used++] = s[i];
			continue;
		}
		close = i + strcspn(s + i, "]");
		if (close >= len)
			return false;
		rest = item_count(s + close, len - close);
		wrote = rest ? bracket_print(s + i + 1, n / rest, buf + used, size - used) : -1;
		if (wrote < 0 || (size_t)wrote >= size - used)
			return false;
		used += (size_t)wrote;
		n %= rest;
		i = close;
	}
	buf[used] = '\0';
	return used > 0;
}

bool hostlist_nth(const char *list, uint64_t n, char *buf, size_t size)
{
	uint64_t count;
	size_t len;

	for (; *list; list += len + (list[len] == ',')) {
		len = item_len(list);
		count = item_count(list, len);
		if (n < count)
			return item_print(list, len, n, buf, size);
		n -= count;
	}
	return false;
}

bool hostlist_find(const char *list, const char *name, uint64_t *ret)
{
	uint64_t before = 0, count, i;
	char buf[256];
	size_t len;

	for (; *list; list += len + (list[len] == ',')) {
		len = item_len(list);
		count = item_count(list, len);
		for (i = 0; i < count && before + i < NAMES_MAX; i++)
			if (item_print(list, len, i, buf, sizeof(buf)) && !strcasecmp(buf, name)) {
				*ret = before + i;
				return true;
			}
		before += count;
	}
	return false;
}
