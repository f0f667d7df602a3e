/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MariadbDefaultsFile as far as we read it ourselves, and the folder of migrations. */
#include "src/libsink/mariadb_client.h"
#include "src/libsink/migrate.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* without a file of credentials nobody is asked */
	struct migrate_options options = { .sql_dir = fuzz_dir(), .defaults_file = "/nowhere" };
	static struct settings settings = { .mariadb_database = "ceems" };
	struct errmsg err = { 0 };

	fuzz_check_error(mariadb_client_check(fuzz_file(data, size), &err), &err);
	fuzz_write(fuzz_dir(), "0001-init.sql", data, size);
	err.text[0] = '\0';
	assert(migrate_run(&settings, &options, &err) < 0);
	fuzz_check_error(-1, &err);
	return 0;
}
