#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The ceems command must accept the commands and options in README, doc/, man pages and its own hints; the examples of
# ceems.conf(5) must be valid.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$(readlink -f "$top_builddir/src/cmd/ceems")
[ -x "$ceems" ] || skip_all "the ceems command is not built"
cd "$top_srcdir" || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# Prints for each command its options and, after "usage", the words that its first argument may be.
for command in $("$ceems" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	echo "$command command"
	"$ceems" help "$command" | sed -nE "
		s/^usage: ceems [a-z]+ ([a-z|]+)( .*|$)/$command usage \1/p
		s/^  (-.), (--[a-z0-9-]+).*/$command \1\n$command \2/p
		s/^      (--[a-z0-9-]+).*/$command \1/p"
done >"$dir/help"

# typed FILE...: prints "FILE COMMAND WORD..." for each example
typed() {
	for file in "$@"; do
		sed -e 's/\\-/-/g; s/\\(aq/'\''/g; s/\\f.//g; s/^\.[BI]R* *//; s/" *"//g; s/"//g' "$file" |
			grep -oE '(^|[^a-z/_.<-])ceems (help )?[a-z]+([ =]+[^]`'\''|>;&()" ]+)*' |
			sed -E "s/.*ceems (help )?//; s/=[^ ]*//g; s/[.,:]( |\$)/ /g; s,^,$file ,"
	done
}

{
	find README.md doc contrib -name '*.md'
	find src bpf spank jobcomp recorder acct_gather -name '*.[1-8].in' -o -name '*.c'
} | sort >"$dir/files"

# Leaves out commands that a build without MariaDB, libcurl or libslurm lacks.
# shellcheck disable=SC2046 # several files
typed $(cat "$dir/files") | awk -v helpfile="$dir/help" '
	BEGIN {
		while ((getline line <helpfile) > 0) {
			n = split(line, w, " ")
			if (w[2] == "usage")
				usage[w[1]] = "|" w[3] "|"
			else
				known[w[1], w[2]] = 1
		}
	}
	!(($2, "command") in known) { next }
	{
		examples++
		if (usage[$2] && $3 ~ /^[a-z]+$/ && !index(usage[$2], "|" $3 "|"))
			print $1 ": ceems " $2 " has no " $3
		for (i = 3; i <= NF; i++)
			if ($i ~ /^--[a-z]/ && !(($2, $i) in known))
				print $1 ": ceems " $2 " has no option " $i
			else if ($i ~ /^-[A-Za-z]$/ && !(($2, $i) in known))
				print $1 ": ceems " $2 " has no option " $i
	}
	END { print examples + 0 >"/dev/stderr" }
' >"$dir/wrong" 2>"$dir/n"
is "$(cat "$dir/wrong")" "" "ceems takes what the texts say to type"
n=$(cat "$dir/n")
[ "$n" -gt 100 ]
ok $? "  in $n places"

awk '/^Example:$/ { getline; print substr($0, 4) }' "$top_builddir/src/cmd/ceems.conf.5" | sed 's/\\-/-/g' >"$dir/ceems.conf"
[ -s "$dir/ceems.conf" ]
ok $? "ceems.conf(5) has examples of keys"
is "$("$ceems" check --quiet --conf "$dir/ceems.conf" | grep -A1 '^error  ceems.conf')" "" "  which are right"
done_testing
