#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A function that grep finds: a static one whose name is one word ("find", "add") is in one file only; in more, each
# has its file's name in front.
. "$top_srcdir/tests/tap/tap.sh"
cd "$top_srcdir" || exit 1

# Still to do: they are being replaced.
todo='^(jobcomp/|acct/|src/sources/|src/libsink/|src/librecord/(jsonin|jsonout|record_read)\.c|'
todo="$todo"'src/libmeter/sensor/(gpu|gpu_poll|nvml|rocm|external|reading|integrate)\.c|src/libemission/factor_feed\.c|'
todo="$todo"'src/libnode/bpfload\.c|src/cmd/(spool_[a-z]*|check_spool|check_sinks|cmd_spool)\.c)'

names() {
	find src bpf spank acct_gather -name '*.c' ! -path '*/build*' | sort | grep -vE "$todo" |
		xargs grep -HoE '^static [a-z_0-9 ]*[ *][a-z]+\(' | sed -E 's/^([^:]*):.*[ *]([a-z]+)\($/\2 \1/' | sort -u
}
is "$(names | awk '{ if ($1 == last) print $0 " and " file; last = $1; file = $2 }')" "" \
	"no static function with a name of one word in two files"
done_testing
