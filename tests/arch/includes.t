#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The core is tested without Slurm because it does not know Slurm; nor does the lowest library know
# the others.
. "$top_srcdir/tests/tap/tap.sh"
cd "$top_srcdir" || exit 1

slurm='^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*[<"]'
slurm="$slurm(slurm/|slurm|src/(api|common|conmgr|curl|database|interfaces|plugins|slurm[a-z]*)/)"
is "$(grep -rnE "$slurm" src)" "" "no Slurm header below src/"
is "$(grep -rnE '#include "(spank|jobcomp|acct_gather|acct)/' src | grep -v '^src/cmd/cmd_job\.c:')" "" \
	"nor one of the adapters, but for the command that asks slurmdbd"
is "$(grep -rhoE '#include "src/[^"]*"' src/libutil | grep -v '"src/libutil/')" "" \
	"libutil includes only itself"
is "$(grep -rlE '#include .*\.skel\.h' --include='*.c' --include='*.h' . | grep -v '/build' |
	grep -vE '^\./(bpf/|src/cmd/ceems-bpf\.c)')" "" "only the loader includes the BPF skeleton"
is "$(grep -rlE '#include <(librdkafka/|mysql|mariadb|bpf/)' src spank acct_gather jobcomp |
	grep -vE '^src/(libsink/|cmd/ceems-bpf\.c)')" "" "clients of brokers and databases: libsink only"
calls='(^|[^A-Za-z0-9_.>])(exit|abort|assert|xmalloc|fatal|strtok|atoi|sprintf|strcpy|strcat)\('
is "$(grep -rnE "$calls" src spank jobcomp acct_gather --include='*.c' --include='*.h' |
	grep -vE ':[[:blank:]]*(/?\*|//)|_exit\(|^src/cmd/ceems-bpf\.c')" "" \
	"nothing that ends a process, and no unbounded string functions"
done_testing
