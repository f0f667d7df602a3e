#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What bash completes of a ceems command line.
# shellcheck disable=SC1091,SC2016,SC2154
. "$top_srcdir/tests/tap/tap.sh"
ceems=$(readlink -f "$top_builddir/src/cmd/ceems")
[ -x "$ceems" ] || skip_all "the ceems command is not built"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
top_srcdir=$(readlink -f "$top_srcdir")
mkdir "$dir/bin" "$dir/traces"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$ceems" >"$dir/bin/ceems"
printf '#!/bin/sh\nprintf "%%s\\n" 12 "13_[4-9]" 13_3\n' >"$dir/bin/squeue"
printf '#!/bin/sh\nprintf "%%s\\n" 7 12 8+1 "\\$(touch evil)"\n' >"$dir/bin/sacct"
chmod 755 "$dir"/bin/*
PATH=$dir/bin:$PATH
cd "$dir" || exit 1
. "$top_srcdir/contrib/bash-completion/ceems"

# completes WANT WHAT WORD...: bash must offer WANT for the command line of these WORDs, with the cursor at the last one
completes() {
	local want=$1 what=$2
	shift 2
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_ceems
	is "${COMPREPLY[*]}" "$want" "$what"
}

completes "ledger" "a command" ceems led
completes "trace tres" "commands" ceems tr
completes "tres" "the command that help is about" ceems help tre
completes "" "no command begins so" ceems xyz
completes "--set" "an option" ceems tres --s
completes "--table" "an option of two dashes and a letter" ceems tres --t
completes "basic" "a word of --set=" ceems tres --set = b
completes "basic standard all" "all words of --set=" ceems tres --set =
completes "standard" "the same behind a blank" ceems tres --set st
completes "standard" "or a short option" ceems tres -s st
completes "migrate maintain" "what a command does" ceems db m
completes "replay" "also without its argument" ceems store r
completes "traces" "a folder" ceems trace --dir = tr
for command in job trace; do
	"$ceems" help "$command" >/dev/null 2>&1 || continue
	completes "12 13 13_3 7 8+1" "ceems $command: ids of one's own jobs" ceems "$command" ""
	completes "13 13_3" "  that begin so" ceems "$command" 13
done
if "$ceems" help jobs >/dev/null 2>&1; then
	completes "ConsumedEnergyRaw" "a field" ceems jobs --format = Cons
	completes "JobID,User,NodeList" "a field behind others" ceems jobs --format = JobID,User,NodeL
	completes "major_faults" "a metric is a field" ceems jobs --sort major_f
	completes "FAILED" "a state" ceems jobs -s FA
	completes "account" "a word of --group-by" ceems jobs --group-by = acc
fi
[ ! -e evil ]
ok $? "no word is run"
done_testing
