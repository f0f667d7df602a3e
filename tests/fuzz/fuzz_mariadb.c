/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MariadbDefaultsFile as far as we read it ourselves. */
#include "src/libsink/mariadb/mariadb_client.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errmsg err = { 0 };

	fuzz_check_error(mariadb_client_check(fuzz_file(data, size), &err), &err);
	return 0;
}
