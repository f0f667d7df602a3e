#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A slurmdbd that accepts connections and never answers: each command that asks it must end in time and say why.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
"$ceems" --help | grep -q '^  job ' || skip_all "built without libslurm"
command -v python3 >/dev/null || skip_all "no python3"
# cred/munge asks munged nothing when it is loaded. cred_none.so of Slurm 24.11 needs get_log_level(), which
# libslurm does not have, and ends each program that is not Slurm's own.
for plugin in auth_none cred_munge; do
	[ -n "$(find /usr/lib* /usr/local/lib* -name $plugin.so 2>/dev/null | head -n 1)" ] || skip_all "no $plugin.so of Slurm"
done

work=$(mktemp -d) || exit 1
trap 'kill "$pid"; rm -rf "$work"' EXIT
python3 - "$work/port" <<'EOF' &
import os, socket, sys
s = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1] + ".new", "w") as f:
    print(s.getsockname()[1], file=f)
os.rename(sys.argv[1] + ".new", sys.argv[1])
accepted = []
while True:
    accepted.append(s.accept())
EOF
pid=$!
until [ -e "$work/port" ]; do
	kill -0 "$pid" || { ok 1 "the stand-in starts"; done_testing; }
	sleep 0.05
done
cat >"$work/slurm.conf" <<EOF
ClusterName=c
SlurmctldHost=localhost
AuthType=auth/none
CredType=cred/munge
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$(cat "$work/port")
NodeName=localhost
PartitionName=p Nodes=ALL
EOF

for args in "job 1" "jobs -a" "compare 1 2" "advise x" "report --month last" "report job 1"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$(CEEMS_SLURMDBD_TIMEOUT=1 SLURM_CONF=$work/slurm.conf timeout 120 "$ceems" $args 2>&1)
	is "$?/$out" "1/ceems: slurmdbd did not answer within 1 s; CEEMS_SLURMDBD_TIMEOUT=SECONDS is another limit" \
		"ceems $args ends"
done
out=$(CEEMS_SLURMDBD_TIMEOUT=-1 SLURM_CONF=/nonexistent "$ceems" jobs 2>&1)
is "$out" "ceems: CEEMS_SLURMDBD_TIMEOUT=-1 is not a number of seconds up to 86400
ceems: SLURM_CONF=/nonexistent: No such file or directory" "an invalid limit is named"
done_testing
