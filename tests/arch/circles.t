#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Files that call each other in a circle must be one module: NAME.c and its NAME_*.c. Two modules that need each other are
# one, or have a third in common that is not written yet.
. "$top_srcdir/tests/tap/tap.sh"
command -v nm >/dev/null || skip_all "no nm"
command -v python3 >/dev/null || skip_all "no python3"
grep -q fsanitize "$top_builddir/config.log" && skip_all "the other build looks at who calls whom"
[ -e "$top_builddir/src/cmd/ceems" ] || skip_all "not all parts are built"
cd "$top_builddir" || exit 1
is "$(find src bpf slurmdb recorder spank jobcomp acct_gather -name '*.o' ! -name '*.pb-c.o' -print0 | xargs -0 nm -A |
	python3 "$top_srcdir/tests/arch/circles.py")" "" "no circle between files of different modules"
# the test sees a circle: two files of one made program that call each other
is "$(printf '%s\n' 'a/one.o:0 T one' 'a/one.o: U two' 'a/two.o:0 T two' 'a/two.o: U one' \
	'a/two_more.o: U two' 'a/two_more.o:0 T more' 'a/two.o: U more' | python3 "$top_srcdir/tests/arch/circles.py")" \
	"a/one.c calls two() of a/two.c
a/two.c calls one() of a/one.c
a/two.c calls more() of a/two_more.c
a/two_more.c calls two() of a/two.c" "a circle is found"
is "$(printf '%s\n' 'a/two.o:0 T two' 'a/two_more.o: U two' 'a/two_more.o:0 T more' 'a/two.o: U more' |
	python3 "$top_srcdir/tests/arch/circles.py")" "" "but not within a module"
done_testing
