/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of a site's own meter. */
#include <errno.h>

#include "src/helpers/external/external_text.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct external_line lines[EXTERNAL_LINES_MAX];
	struct errmsg err = { 0 };
	char *text = fuzz_text(data, size);
	size_t n = 0;
	size_t i;
	int rc = external_text_parse(text, size, lines, &n, &err);

	fuzz_check_error(rc, &err);
	assert(rc == 0 || rc == -EINVAL);
	assert((rc == 0) == (n > 0) && n <= EXTERNAL_LINES_MAX);
	for (i = 0; i < n; i++)
		assert(lines[i].domain < DOMAIN_N && lines[i].stamp_ns);
	free(text);
	return 0;
}
