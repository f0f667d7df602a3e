# SPDX-License-Identifier: GPL-2.0-or-later
# tap.sh - the Test Anything Protocol for shell tests; source it.
tap_count=0
tap_failed=0

# ok RC WHAT: RC 0 passes. Otherwise it returns 1: `ok $? WHAT || diag` says why.
ok() {
	tap_count=$((tap_count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_count - $2"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_count - $2"
		return 1
	fi
}

# is GOT WANT WHAT
is() {
	[ "$1" = "$2" ]
	ok $? "$3"
	[ "$1" = "$2" ] || printf 'got:  %s\nwant: %s\n' "$1" "$2" | sed 's/^/# /'
}

# has TEXT PART WHAT
has() {
	case $1 in
	*"$2"*) ok 0 "$3" ;;
	*)
		ok 1 "$3"
		printf 'no "%s" in:\n%s\n' "$2" "$1" | sed 's/^/# /'
		;;
	esac
}

# without_rights CMD...: runs CMD without root's right to read and write all files.
without_rights() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --bounding-set=-dac_override,-dac_read_search "$@"
	else
		"$@"
	fi
}

skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count # SKIP $1"
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

done_testing() {
	echo "1..$tap_count"
	[ "$tap_failed" -eq 0 ]
	exit
}
