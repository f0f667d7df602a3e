# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later

say() {
	echo "cluster: $*"
}

die() {
	echo "cluster: $*" >&2
	exit 1
}

# wait_until SECONDS CMD...: true as soon as CMD is; false after SECONDS.
wait_until() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}
