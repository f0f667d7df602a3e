#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# settings_join.sh TOP_SRCDIR NAME OUTPUT [FOLDER..]: writes OUTPUT, the files NAME (settings.def or settings.man) of the
# core, of each sink and of each sensor, one after the other. OUTPUT is not touched if it has that text already. FOLDER is
# one more folder with such a file, for a test.
set -e
case $3 in
/*) out=$3 ;;
*) out=$PWD/$3 ;;
esac
tmp=$out.$$
name=$2
cd "$1"
shift 3
for folder in src/libcore src/libsink/* src/libmeter/sensor/* "$@"; do
	[ -f "$folder/$name" ] || continue
	# messages of the compiler name the file that the row is in
	[ "$name" = settings.man ] || echo "#line 1 \"$folder/$name\""
	cat "$folder/$name"
done >"$tmp"
if cmp -s "$tmp" "$out"; then
	rm "$tmp"
else
	mv "$tmp" "$out"
fi
