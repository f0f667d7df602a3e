# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# For slurm-root and slurm-root-run: root runs programs in these trees, so only root may write to them.

# is_roots FOLDER: FOLDER is not a link, and only root can write to it or replace a folder of its path.
is_roots() {
	local dir=$1 owner mode

	[ -d "$dir" ] && [ ! -L "$dir" ] || return
	dir=$(readlink -f "$dir")
	read -r owner mode <<<"$(stat -c '%u %a' "$dir")"
	[ "$owner" = 0 ] && [ $((0$mode & 022)) = 0 ] || return
	while [ "$dir" != / ]; do
		dir=$(dirname "$dir")
		read -r owner mode <<<"$(stat -c '%u %a' "$dir")"
		# sticky, as /tmp: others cannot replace root's folders in it
		[ "$owner" = 0 ] && { [ $((0$mode & 022)) = 0 ] || [ $((0$mode & 01000)) != 0 ]; } || return
	done
}
