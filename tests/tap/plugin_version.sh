# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# plugin_version.sh - for tests of what becomes of a plugin for another Slurm; source it.

# plugin_version_spoil FILE: as if built for another micro version: 99 is the last part of its number.
plugin_version_spoil() {
	at=$(readelf -Ws "$1" | awk '$8 == "plugin_version" { print $2; exit }')
	in_file=$(readelf -WS "$1" | sed -n 's/.* \.rodata *PROGBITS *\([^ ]*\) \([^ ]*\) .*/0x\2 - 0x\1/p')
	[ -n "$at" ] && [ -n "$in_file" ] || return
	# shellcheck disable=SC2004 # an expression, not a number
	at=$((0x$at + $in_file))
	printf '\143' | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null
}
