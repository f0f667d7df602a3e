#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions must be easy to grep: two files may not have static functions with the same one-word name ("find", "add");
# prefix each with its file's name.
. "$top_srcdir/tests/tap/tap.sh"
cd "$top_srcdir" || exit 1

names() {
	find src bpf spank jobcomp slurmdb recorder acct_gather -name '*.c' ! -path '*/build*' | sort |
		xargs grep -HoE '^static [a-z_0-9 ]*[ *][a-z]+\(' | sed -E 's/^([^:]*):.*[ *]([a-z]+)\($/\2 \1/' | sort -u
}
is "$(names | awk '{ if ($1 == last) print $0 " and " file; last = $1; file = $2 }')" "" \
	"no static function with a name of one word in two files"
done_testing
