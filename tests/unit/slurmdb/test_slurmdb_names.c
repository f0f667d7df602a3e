/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of TRES and QOS, and TRES in slurmctld's words. */
#include "slurmdb/slurmdb_names.h"

#include <stdlib.h>

#include "src/libutil/util.h"
#include "tap.h"

static void test_tres(const struct slurmdb_names *n)
{
	/* the words are those of scontrol show job on 22.05.8 */
	static const struct {
		const char *simple, *want;
	} t[] = {
		{ NULL, NULL },
		{ "", NULL },
		{ "1=4,2=8192,4=1,5=4", "cpu=4,mem=8G,node=1,billing=4" },
		{ "5=4,4=1,2=8192,1=4", "cpu=4,mem=8G,node=1,billing=4" },
		{ "1=1,2=100", "cpu=1,mem=100M" },
		{ "1=1,2=1000", "cpu=1,mem=1000M" },
		{ "1=1,2=1536", "cpu=1,mem=1.50G" },
		{ "1=1,2=1025", "cpu=1,mem=1025M" },
		{ "1=1,2=1048576", "cpu=1,mem=1T" },
		{ "1=1,2=0", "cpu=1" },
		{ "1=1,3=824,4=1", "cpu=1,node=1" },
		{ "1=1,3=18446744073709551614,4=1", "cpu=1,node=1" },
		{ "1=1,1001=2,1002=1", "cpu=1,gres/gpu=2,gres/gpu:a100=1" },
		{ "1=1,1004=10,1003=3", "cpu=1,license/matlab=3,bb/datawarp=10M" },
		{ "1=1,1005=4096", "cpu=1,fs/lustre=4K" },
		{ "1=18446744073709551614", NULL },
		{ "1=1,9999=7", "cpu=1" },
	};
	char *got = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		is_int(slurmdb_names_tres(n, t[i].simple, &got), 0, t[i].simple ? t[i].simple : "NULL");
		is_str(got, t[i].want, "  in slurmctld's format");
		free(got);
	}
}

int main(void)
{
	struct slurmdb_names n;

	slurmdb_names_init(&n);
	/* in no order, as slurmdbd gives them */
	(void)slurmdb_names_add_tres(&n, 1001, "gres", "gpu");
	(void)slurmdb_names_add_tres(&n, 1, "cpu", NULL);
	(void)slurmdb_names_add_tres(&n, 4, "node", "");
	(void)slurmdb_names_add_tres(&n, 2, "mem", NULL);
	(void)slurmdb_names_add_tres(&n, 3, "energy", NULL);
	(void)slurmdb_names_add_tres(&n, 5, "billing", NULL);
	(void)slurmdb_names_add_tres(&n, 1002, "gres", "gpu:a100");
	(void)slurmdb_names_add_tres(&n, 1003, "license", "matlab");
	(void)slurmdb_names_add_tres(&n, 1004, "bb", "datawarp");
	(void)slurmdb_names_add_tres(&n, 1005, "fs", "lustre");
	is_int(slurmdb_names_add_tres(&n, 1006, NULL, NULL), 0, "a TRES without a type");
	test_tres(&n);
	(void)slurmdb_names_add_qos(&n, 2, "high");
	(void)slurmdb_names_add_qos(&n, 1, "normal");
	is_int(slurmdb_names_add_qos(&n, 3, NULL), 0, "a QOS without a name");
	is_str(slurmdb_names_qos(&n, 1), "normal", "a QOS");
	is_str(slurmdb_names_qos(&n, 2), "high", "another");
	is_str(slurmdb_names_qos(&n, 0), NULL, "none");
	is_str(slurmdb_names_qos(&n, 3), NULL, "one without a name is unknown");
	is_str(slurmdb_names_qos(&n, 77), NULL, "as is one that is not there");
	slurmdb_names_fini(&n);
	return done_testing();
}
