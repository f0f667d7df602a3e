#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installed programs and plugins must have the hardening that configure chose (m4/x_ac_hardening.m4), and no executable
# stack, text relocation or library path (RPATH, RUNPATH).
. "$top_srcdir/tests/tap/tap.sh"
command -v readelf >/dev/null || skip_all "no readelf"
grep -q fsanitize "$top_builddir/config.log" && skip_all "a build with sanitizers is not hardened"
cflags=$(sed -n 's/^CEEMS_CFLAGS = //p; s/^CFLAGS = //p; s/^CPPFLAGS = //p' "$top_builddir/Makefile" | tr '\n' ' ')

# taken FLAG: configure chose FLAG
taken() {
	case " $cflags " in
	*"$1"*) ;;
	*) return 1 ;;
	esac
}

# A new program or plugin needs no line here.
objects=$(find "$top_builddir" \( -path "$top_builddir/tests" -o -path "$top_builddir/*build*" \) -prune -o -type f \
	\( -path '*/.libs/*.so' -o -perm -100 ! -name '*.so' \) -print | sort | while read -r file; do
	! readelf -h "$file" >/dev/null 2>&1 || echo "$file"
done)
[ "$(echo "$objects" | wc -l)" -gt 4 ]
ok $? "programs and plugins are found"

for object in $objects; do
	name=${object#"$top_builddir"/}
	dynamic=$(readelf -dW "$object")
	bad=
	headers=$(readelf -hlW "$object")
	symbols=$(readelf -W --dyn-syms "$object")
	case $headers in
	*GNU_RELRO*) ;;
	*) bad="$bad no-relro" ;;
	esac
	case $dynamic in
	*BIND_NOW* | *Flags:*NOW*) ;;
	*) bad="$bad lazy-binding" ;;
	esac
	case $headers in
	*'Type: '*DYN*) ;;
	*) bad="$bad no-pie" ;;
	esac
	echo "$headers" | grep -qE 'GNU_STACK +([^ ]+ +){5}RW +' || bad="$bad executable-stack"
	case $dynamic in
	*TEXTREL*) bad="$bad text-relocations" ;;
	esac
	case $dynamic in
	*RPATH* | *RUNPATH*) bad="$bad rpath" ;;
	esac
	if taken -fstack-protector-strong; then
		case $symbols in
		*__stack_chk_fail*) ;;
		*) bad="$bad no-canary" ;;
		esac
	fi
	if taken -D_FORTIFY_SOURCE; then
		case $symbols in
		*_chk@*) ;;
		*) bad="$bad no-fortify" ;;
		esac
	fi
	is "$bad" "" "$name"
done
done_testing
