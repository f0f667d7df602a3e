#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Names must be easy to grep. Two files may not have static functions with the same one-word name ("find", "add"); prefix
# each with its file's name. A struct of a header has its name alone: no other header and no C file has one of that name.
. "$top_srcdir/tests/tap/tap.sh"
cd "$top_srcdir" || exit 1

code() {
	find src bpf spank jobcomp slurmdb recorder acct_gather -name "$1" ! -name '*.bpf.[ch]' ! -path '*/build*' | sort
}
names() {
	code '*.c' | xargs grep -HoE '^static [a-z_0-9 ]*[ *][a-z]+\(' | sed -E 's/^([^:]*):.*[ *]([a-z]+)\($/\2 \1/' | sort -u
}
is "$(names | awk '{ if ($1 == last) print $0 " and " file; last = $1; file = $2 }')" "" \
	"no static function with a name of one word in two files"

structs() {
	code '*.[ch]' | xargs grep -HoE '^struct [a-z_0-9]+ \{' | sed -E 's/^([^:]*):struct ([a-z_0-9]+) \{$/\2 \1/'
}
# reads "STRUCT FILE" lines
same_structs() {
	awk '{ if ($1 in file && (file[$1] ~ /\.h$/ || $2 ~ /\.h$/)) print "struct " $1 ": " file[$1] " and " $2
		if (!($1 in file) || $2 ~ /\.h$/) file[$1] = $2 }'
}
is "$(structs | same_structs)" "" "no struct has the name of a public one"
is "$(printf '%s\n' 'a x.h' 'a y.h' 'b x.c' 'b y.c' 'c x.c' 'c y.h' | same_structs)" "struct a: x.h and y.h
struct c: x.c and y.h" "such a struct is found, and two private ones may have one name"

# the glossary has other words: metric values, fallback spool, startup reconciliation, correction, request, task counters,
# emission charge, sensor client, sensor helper, validate, run
private() {
	xargs grep -nwE '([a-z0-9]+_)*(figures|refuge|census|followup|wish|harvest|price|asker|teller|judge|incarnation)(_[a-z0-9]+)*'
}
is "$(code '*.[ch]' | private)" "" "no word that only its author understands"
done_testing
