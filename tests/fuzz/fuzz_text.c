/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of jobs and mounts, which users choose, on their way to a terminal. */
#include "src/libutil/text.h"
#include "src/libutil/utf8.h"
#include "tests/fuzz/fuzz.h"

static void check_masked(const char *text)
{
	size_t len = strlen(text);
	size_t i, n;

	for (i = 0; i < len; i += n) {
		const unsigned char *p = (const unsigned char *)text + i;

		n = utf8_sequence(text + i, len - i);
		assert(n);
		assert(*p >= ' ' && *p != 0x7f);
		assert(*p != 0xc2 || p[1] >= 0xa0);					      /* C1 */
		assert(n != 3 || p[0] != 0xe2 || p[1] != 0x80 || p[2] < 0xa8 || p[2] > 0xae); /* bidi */
		assert(n != 3 || p[0] != 0xe2 || p[1] != 0x81 || p[2] < 0xa0 || p[2] > 0xaf);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	size_t len = strlen(text);
	char *copy = malloc(len + 1);
	size_t columns = size ? data[0] % 16 + 1 : 1;
	char cell[4 * 16 + 1];

	assert(copy);
	check_masked(text_mask(text, copy, len + 1));
	assert(strlen(copy) <= len);
	check_masked(text_cell(text, columns, cell, 4 * columns + 1));
	assert(text_columns(cell) <= columns);
	(void)text_mask(text, text, len + 1);
	assert(!strcmp(text, copy));
	free(copy);
	free(text);
	return 0;
}
