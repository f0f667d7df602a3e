/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user's program or library, a perf map, a mangled name: names are found or not. */
#include "src/libprofile/demangle.h"
#include "src/libprofile/perf_map.h"
#include "src/libprofile/symbols.h"
#include "tests/fuzz/fuzz.h"

static void read_elf(const uint8_t *data, size_t size)
{
	struct symbol_line line[SYMBOLS_INLINES_MAX];
	struct symbols *s = NULL;
	struct errmsg err = { 0 };
	size_t at, length = 0;
	int rc = symbols_open_fd(fuzz_fd(data, size), "", NULL, NULL, &s, &err);

	fuzz_check_error(rc, &err);
	if (rc < 0)
		return;
	for (at = 0; at < size + 4096; at += 64) {
		const struct symbol *symbol = symbols_find(s, at);

		length += symbol ? strlen(symbol->name) : 0;
	}
	assert(symbols_inlines(s, size / 2, line) <= SYMBOLS_INLINES_MAX);
	assert(length <= size * (size + 4096));
	symbols_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *name = NULL;
	struct perf_map m;

	read_elf(data, size);
	assert(demangle(text, &name) == 0);
	free(name);
	assert(perf_map_parse(text, size, &m) == 0);
	(void)perf_map_find(&m, size);
	perf_map_fini(&m);
	return 0;
}
