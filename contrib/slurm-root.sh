# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# For slurm-root and slurm-root-run, whose trees root runs programs of.

# is_roots FOLDER: nobody but root can have put it there, or into it.
is_roots() {
	local dir=$1 owner mode

	[ -d "$dir" ] && [ ! -L "$dir" ] || return
	dir=$(readlink -f "$dir")
	read -r owner mode <<<"$(stat -c '%u %a' "$dir")"
	[ "$owner" = 0 ] && [ $((0$mode & 022)) = 0 ] || return
	while [ "$dir" != / ]; do
		dir=$(dirname "$dir")
		read -r owner mode <<<"$(stat -c '%u %a' "$dir")"
		# sticky: what is root's there stays
		[ "$owner" = 0 ] && { [ $((0$mode & 022)) = 0 ] || [ $((0$mode & 01000)) != 0 ]; } || return
	done
}
