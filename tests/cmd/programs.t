#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A command that is a program of its own: ceems must find the program, pass on all arguments, and execute no program that
# another account could have put beside ceems.
. "$top_srcdir/tests/tap/tap.sh"
built=$top_builddir/src/cmd
[ -x "$built/ceems" ] || skip_all "the ceems command is not built"
[ "$(id -u)" = 0 ] || skip_all "needs root, to give a file to another user"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cp "$built/ceems" "$dir/ceems"
ceems=$dir/ceems
installed=$(strings -a "$ceems" 2>/dev/null | grep '/commands/%s$' | head -n 1)
installed=$(printf '%s' "${installed%/*}")
[ -n "$installed" ] || skip_all "no strings"
[ ! -e "$installed" ] || skip_all "$installed is installed"

# runs ARG...: the output is in $out
runs() {
	out=$("$ceems" "$@" 2>&1)
	out="$?/$out"
}
missing="1/ceems: db: $installed"
is_refused() {
	runs db status
	case $out in
	"$missing"*) true ;;
	*) false ;;
	esac
	ok $? "$1"
}
printf '#!/bin/sh\nfor word; do echo "<$word>"; done\nexit 7\n' >"$dir/ceems-db"
chmod 755 "$dir/ceems-db"
runs db status "two words" ""
is "$out" "7/<db>
<status>
<two words>
<>" "the program beside ceems has all arguments, and its exit code is that of ceems"
runs help db
is "$out" "7/<help>
<db>" "also for ceems help"
chown 12345 "$dir/ceems-db"
is_refused "a program of another account is not executed"
mv "$dir/ceems-db" "$dir/other"
chown 0 "$dir/other"
ln -s other "$dir/ceems-db"
is_refused "nor is a link, which another account may have made"
rm "$dir/ceems-db"
is_refused "without the program the command fails"
runs jobs --help
has "$out" "0/usage: ceems jobs" "the commands in ceems work without any program"
done_testing
