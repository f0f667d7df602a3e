/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/doubt.h"

#include <stdio.h>

#define DIGIT 10

const char *doubt_text(unsigned int doubt)
{
	static const char *const text[DOUBT_N] = {
		[DOUBT_NONE] = "",
		[DOUBT_DEAD] = "never counted",
		[DOUBT_PARTIAL] = "lacks a part",
		[DOUBT_SILENT] = "had no new readings",
		[DOUBT_LOST] = "could not be read",
		[DOUBT_STANDING] = "stood still",
	};

	return doubt < DOUBT_N ? text[doubt] : "is doubtful";
}

uint64_t doubt_pack(const uint8_t doubt[DOMAIN_N])
{
	uint64_t packed = 0;
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		packed = packed * DIGIT + doubt[d] % DIGIT;
	return packed;
}

void doubt_unpack(uint64_t packed, uint8_t ret[DOMAIN_N])
{
	unsigned int d;

	for (d = DOMAIN_N; d-- > 0; packed /= DIGIT)
		ret[d] = (uint8_t)(packed % DIGIT);
}

void doubt_list(uint64_t packed, char *buf, size_t size)
{
	uint8_t doubt[DOMAIN_N];
	size_t used = 0;
	unsigned int d;

	doubt_unpack(packed, doubt);
	buf[0] = '\0';
	for (d = 0; d < DOMAIN_N && used < size; d++)
		if (doubt[d])
			used += (size_t)snprintf(buf + used, size - used, "%s%s: %s", used ? "; " : "",
						 domain_name((enum domain)d), doubt_text(doubt[d]));
}
