/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm.conf, as ceems check reads it. */
#include "src/cmd/slurmconf.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errmsg err = { 0 };
	struct slurmconf *sc;
	int rc;

	/* an Include would read the machine's own files */
	if (memmem(data, size, "nclude", 6) || memmem(data, size, "NCLUDE", 6))
		return -1;
	rc = slurmconf_read(fuzz_file(data, size), &sc, &err);
	fuzz_check_error(rc, &err);
	if (rc < 0)
		return 0;
	(void)slurmconf_list_has(slurmconf_get(sc, "AccountingStorageTRES"), "energy");
	(void)slurmconf_get(sc, "PluginDir");
	slurmconf_destroy(sc);
	return 0;
}
