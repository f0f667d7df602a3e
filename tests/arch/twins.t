#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A function stands in one place: those that need it share it, in the lowest layer of them (tests/unit/rigs, tests/fuzz/fuzz.h
# and tests/bench/*.h for tests).
. "$top_srcdir/tests/tap/tap.sh"
command -v python3 >/dev/null || skip_all "no python3"
cd "$top_srcdir" || exit 1

files() {
	find acct_gather bpf jobcomp recorder slurmdb spank src tests '(' -name build -o -name '*.pb-c.*' ')' -prune -o \
		-name '*.[ch]' -print | sort
}
is "$(files | python3 tests/arch/twins.py)" "" "no function of more than four lines is in two places"
echo "# alike but for names, texts and numbers: $(files | python3 tests/arch/twins.py --like)"

# the test sees twins, and only them
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/one.c" <<-'EOT'
	int one(int a)
	{
		/* adds */
		a += 1;
		return a;
	}
	int short_one(int a)
	{
		return a + 1;
	}
EOT
cat >"$work/two.c" <<-'EOT'
	static int two(int a)
	{
		a += 1; // the same
		return  a;
	}
	int other(long a)
	{
		a += 1;
		return a;
	}
	int short_two(int a)
	{
		return a + 1;
	}
EOT
cd "$work" || exit 1
is "$(printf '%s\n' one.c two.c | python3 "$top_srcdir/tests/arch/twins.py")" "one.c:1: one() and two.c:1: two()" \
	"twins are found"
done_testing
