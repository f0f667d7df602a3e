/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/profile_request.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define BOTH (PROFILE_REQUEST_USER | PROFILE_REQUEST_KERNEL)

static const struct {
	const char *name;
	uint32_t stacks;
} known[] = {
	{ "user", PROFILE_REQUEST_USER },
	{ "kernel", PROFILE_REQUEST_KERNEL },
	{ "both", BOTH },
	{ "user,offcpu", PROFILE_REQUEST_USER | PROFILE_REQUEST_OFFCPU },
	{ "kernel,offcpu", PROFILE_REQUEST_KERNEL | PROFILE_REQUEST_OFFCPU },
	{ "both,offcpu", BOTH | PROFILE_REQUEST_OFFCPU },
	{ "offcpu", PROFILE_REQUEST_OFFCPU },
	{ "maps", PROFILE_REQUEST_MAPS },
	{ "cycles", PROFILE_REQUEST_CYCLES },
};

static uint32_t find_stacks(const char *word, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i].name) == len && !strncasecmp(known[i].name, word, len))
			return known[i].stacks;
	return 0;
}

static int add_word(const char *word, size_t len, struct profile_request *w, struct errmsg *err)
{
	uint32_t stacks = find_stacks(word, len);
	uint64_t hz;

	if (stacks) {
		if (w->stacks & stacks || (w->stacks & BOTH && stacks & BOTH))
			return errmsg_set(err, -EINVAL, "'%.*s' is there twice, or is a second kind of stack",
					  (int)len, word);
		w->stacks |= stacks;
		return 0;
	}
	/* digits only: parse_u64_n() would also take a newline */
	if (strspn(word, "0123456789") < len || parse_u64_n(word, len, &hz) < 0 || hz < 1 ||
	    hz > PROFILE_REQUEST_HZ_MAX)
		return errmsg_set(err, -EINVAL,
				  "'%.*s' is not a rate from 1 to %d per second, and not user, kernel, both, "
				  "offcpu, cycles or maps",
				  (int)(len < 40 ? len : 40), word, PROFILE_REQUEST_HZ_MAX);
	if (w->hz)
		return errmsg_set(err, -EINVAL, "'%.*s' is a second rate", (int)len, word);
	w->hz = (uint32_t)hz;
	return 0;
}

int profile_request_parse(const char *text, struct profile_request *ret, struct errmsg *err)
{
	const char *whole = text;
	struct profile_request w = { 0 };
	size_t len;
	int rc;

	while (*text) {
		len = strcspn(text, ",");
		rc = add_word(text, len, &w, err);
		if (rc < 0)
			return rc;
		text += len;
		if (text[0] == ',' && *++text == '\0')
			return errmsg_set(err, -EINVAL, "'%.32s': nothing follows the last comma", whole);
	}
	if (!w.hz)
		w.hz = PROFILE_REQUEST_HZ_DEFAULT;
	if (!(w.stacks & BOTH))
		w.stacks |= PROFILE_REQUEST_USER;
	*ret = w;
	return 0;
}

const char *profile_request_stacks_name(uint32_t stacks)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].stacks == (stacks & (BOTH | PROFILE_REQUEST_OFFCPU)))
			return known[i].name;
	return "none";
}
