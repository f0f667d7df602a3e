/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/advise/sbatch_name.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libutil/util.h"

#include "tap.h"

static const struct {
	const char *script, *name, *what;
} cases[] = {
	{ "", "train.sh", "an empty script" },
	{ "#!/bin/sh\nsrun a\n", "train.sh", "no options: the file's base name" },
	{ "#!/bin/sh\n#SBATCH -J train\n", "train", "-J NAME" },
	{ "#SBATCH -Jtrain\n", "train", "-JNAME" },
	{ "#SBATCH --job-name=train\n", "train", "--job-name=NAME" },
	{ "#SBATCH --job-name train -n 4\n", "train", "--job-name NAME" },
	{ "#SBATCH --job-n=train\n", "train", "as short as getopt takes it" },
	{ "#SBATCH --job-names=train\n", "train.sh", "another option" },
	{ "#SBATCH -n 4 -J a\n#SBATCH -J b", "b", "the last one counts" },
	{ "#SBATCH -J \"my job\" -n 4\n", "my job", "quotes" },
	{ "#SBATCH --job-name='my \"job'\n", "my \"job", "the other quotes" },
	{ "#SBATCH -J my\\ job\n", "my job", "a backslash" },
	{ "#SBATCH -n 4 # -J train\n", "train.sh", "a comment" },
	{ "#SBATCH -J train#1\n", "train", "a comment in a word, as sbatch takes it" },
	{ "# SBATCH -J no\n##SBATCH -J no\n\n \t\n#SBATCH\t-J train\n", "train",
	  "comments and empty lines before it" },
	{ "cd /tmp\n#SBATCH -J late\n", "train.sh", "options end at the first command" },
	{ "#SBATCH -J a\n#SBATCH hetjob\n#SBATCH -J b\n", "a", "the first component of a het job" },
	{ "#SBATCH -J\n", "train.sh", "an option without its name" },
	{ "#SBATCH -J \"open\n", "open", "a quote that does not end" },
	{ "#SBATCH -J a\\", "a\\", "a backslash at the end" },
};

int main(void)
{
	struct errmsg err = { 0 };
	char *name;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		name = sbatch_name_of(cases[i].script, "../jobs/train.sh");
		is_str(name, cases[i].name, cases[i].what);
		free(name);
	}
	is_int(sbatch_name_read("/nonexistent/train.sh", &name, &err), -ENOENT, "a file that is not there");
	return done_testing();
}
