#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Documents, examples and schemas must have every metric and setting of the tables in metrics.def and settings.def.
. "$top_srcdir/tests/tap/tap.sh"
tables=$(./tables) || exit 1
# each NAMES FILES WHAT PATTERN: PATTERN ("%" is the name) must be found in FILES for each of NAMES; lists those missing
each() {
	missing=
	for name in $1; do
		# shellcheck disable=SC2086 # several files
		grep -qE "$(echo "$4" | sed "s/%/$name/g")" $2 || missing="$missing $name"
	done
	is "$missing" "" "$3"
}

settings=$(echo "$tables" | sed -n 's/^setting \([^=]*\)=.*/\1/p')
if [ -e "$top_builddir/src/cmd/ceems.conf.5" ]; then
	each "$settings" "$top_builddir/src/cmd/ceems.conf.5" "ceems.conf(5) has every key" '^\.B %$'
else
	skip "built without the manual"
fi
is "$(grep -oE '^#?[A-Z][A-Za-z]*=[^#]*' "$top_builddir/contrib/ceems.conf.example" | sed 's/^#//' | sort)" \
	"$(echo "$tables" | sed -n 's/^setting //p' | sort)" "ceems.conf.example has every key with its default"
fragments=$(cd "$top_srcdir" && ls src/libsink/*/settings.* src/libmeter/sensor/*/settings.* 2>/dev/null)
for file in $fragments; do
	grep -qE "^EXTRA_DIST .*%D%/${file##*/}([[:blank:]]|\$)" "$top_srcdir/${file%/*}/build.am" 2>/dev/null ||
		grep -rqE "(^|[[:blank:]/])${file#src/lib*/}([[:blank:]]|\$)" --include='*.am' "$top_srcdir/src" || echo "$file"
done >undistributed
is "$(cat undistributed)" "" "make dist takes every settings.def and settings.man of a sink or sensor"
rm undistributed

factors=$(echo "$tables" | sed -n 's/^factors \([^=]*\)=.*/\1/p')
if [ -n "$factors" ]; then
	each "$factors" "$top_srcdir/src/factors/ceems-factors.conf.5.in" \
		"ceems-factors.conf(5) has every key" '^\.B %$'
	is "$(grep -oE '^#?[A-Z][A-Za-z]*=[^#]*' "$top_srcdir/contrib/ceems-factors.conf.example" |
		sed 's/^#//')" "$(echo "$tables" | sed -n 's/^factors //p')" \
		"ceems-factors.conf.example has every key with its default"
else
	skip "built without ceems factors"
fi

cmp metrics.md "$top_srcdir/doc/metrics.md"
ok $? "doc/metrics.md is what metrics.def says, else copy $PWD/metrics.md there"

version=$(sed -n 's/^AC_INIT(\[[^]]*\], \[\(.*\)\])$/\1/p' "$top_srcdir/configure.ac")
grep -q "^$version " "$top_srcdir/NEWS"
ok $? "NEWS has a section for $version"
done_testing
