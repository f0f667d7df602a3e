#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# contrib/slurm-root and slurm-root-run must refuse a folder that users other than root can write to or replace: root runs
# programs in it, and writes there.
. "$top_srcdir/tests/tap/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "needs root"
work=$(mktemp -d "$PWD/roots-XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
tree=$work/roots/trixie
there() {
	rm -rf "$work/roots" "$work/precious" "$work/elsewhere"
	mkdir -p "$tree/usr/src/slurm" "$tree/etc"
	echo precious >"$work/precious"
	: >"$tree/usr/src/slurm/META"
}
# refused WHAT: both scripts must refuse the folder
refused() {
	out=$(CEEMS_ROOTS=$work/roots "$top_srcdir/contrib/slurm-root" trixie "$top_srcdir" 2>&1)
	isnt=$?
	has "$out" "not root's alone" "slurm-root: $1 is refused"
	[ $isnt -ne 0 ]
	ok $? "and nothing is printed to be used"
	out=$("$top_srcdir/contrib/slurm-root-run" "$tree" "$work" true 2>&1)
	has "$out" "not root's alone" "slurm-root-run: refused"
	is "$(cat "$work/precious")" precious "and what a link may lead to is untouched"
}
there
chown 65534 "$work/roots" "$tree"
ln -s "$work/precious" "$work/roots/trixie.lock"
refused "another user's folder"
there
chmod 777 "$work/roots" "$tree"
ln -s "$work/precious" "$work/roots/trixie.lock"
refused "a folder that all may write to"
there
mv "$work/roots" "$work/elsewhere"
chown 65534 "$work/elsewhere/trixie"
ln -s "$work/elsewhere" "$work/roots"
refused "a link"
there
chmod 777 "$work"
chown 65534 "$tree"
refused "one in a folder that all may write to"
done_testing
