/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/crc32c.h"

#include "tap.h"

int main(void)
{
	unsigned char buf[48];
	uint32_t parts;
	size_t i;

	/* RFC 3720, appendix B.4 */
	memset(buf, 0, 32);
	is_u64(crc32c(0, buf, 32), 0x8a9136aa, "32 zero bytes");
	memset(buf, 0xff, 32);
	is_u64(crc32c(0, buf, 32), 0x62a8ab43, "32 bytes of ones");
	for (i = 0; i < 32; i++)
		buf[i] = (unsigned char)i;
	is_u64(crc32c(0, buf, 32), 0x46dd794e, "incrementing bytes");
	is_u64(crc32c(0, "123456789", 9), 0xe3069283, "the check value");
	for (i = 0; i <= 32; i++) {
		parts = crc32c(crc32c(0, buf, i), buf + i, 32 - i);
		if (parts != 0x46dd794e)
			break;
	}
	is_u64(i, 33, "in two pieces, at every border");
	is_u64(crc32c(0, "", 0), 0, "nothing");
	return done_testing();
}
