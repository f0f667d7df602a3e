/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/crc32c.h"

#include "tap.h"

int main(void)
{
	static unsigned char many[1024];
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
	/* the instruction and the table agree, at every length and alignment */
	for (i = 0; i < sizeof(many); i++)
		many[i] = (unsigned char)(i * 167 + i / 251);
	for (i = 0; i < 64 * 16; i++) {
		const unsigned char *at = many + i % 16;
		size_t len = i / 16 + (i % 3 ? 0 : 900);

		if (crc32c((uint32_t)i, at, len) != crc32c_by_table((uint32_t)i, at, len))
			break;
	}
	is_u64(i, 64 * 16, "by table the same as by instruction");
	return done_testing();
}
