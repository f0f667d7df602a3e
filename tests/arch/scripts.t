#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
. "$top_srcdir/tests/tap/tap.sh"
grep -q fsanitize "$top_builddir/config.log" && skip_all "the other build looks at scripts"
cd "$top_srcdir" || exit 1

scripts() {
	find contrib tests .ci autogen.sh -type f | sort | while read -r f; do
		head -n 1 "$f" | grep -qE '^#!.*/(ba)?sh' && echo "$f"
	done
}

# With pipefail, a pipe fails if its reader ends before its writer: the writer gets SIGPIPE. So a pipe ends in a reader of all:
# grep with >/dev/null in place of -q, sed -n 1p in place of head or grep -m 1, awk without exit but in END.
# early_readers FILE...: each pipe into one that may end early, with continued lines joined.
early_readers() {
	awk '
		FNR == 1 { text = "" }
		/^[ \t]*#/ { next }
		{ if (text == "") at = FNR; text = text $0 " " }
		/[|\\][ \t]*$/ { sub(/\\ $/, "", text); next }
		{
			pipes = text
			gsub(/\|\|/, ";", pipes) # no pipe
			gsub(/END *\{[^}]*\}/, "", pipes) # after the last line
			text = ""
			if (pipes ~ /\|[ \t]*(grep[^|;)]* (-[A-Za-z]*[qLlm]|--quiet|--silent|--max-count|--files-with)|head( |$)|read |sed [^|]*[0-9\/]q|awk [^|]*[{; ]exit|true( |$)|cmp )/)
				printf "%s:%d: the pipe'"'"'s last command may end first\n", FILENAME, at
		}' "$@"
}

with_pipefail=$(for f in $(scripts); do
	grep -qE '^[[:blank:]]*set .*pipefail' "$f" || continue
	echo "$f"
	# what it sources has its options
	for name in $(sed -nE 's/^[[:blank:]]*(\.|source) .*\/([^/"]*\.sh)"?.*/\2/p' "$f"); do
		find contrib tests -name "$name"
	done
done | sort -u)
# shellcheck disable=SC2086 # several files
is "$(early_readers $with_pipefail)" "" "no pipe fails since its reader ended early, where pipefail is set"

# Examples that early_readers must find, and some that it must not.
example=$(mktemp "${TMPDIR:-/tmp}/ceems-scripts-XXXXXX")
trap 'rm -f "$example"' EXIT
cat >"$example" <<'EOT'
a | grep -q b
a |
	grep -xqE b
if a | head -n 1; then
a=$(b | grep -m 1 c)
a | b | awk 'NR == 3 { print; exit }'
a | sed -n '/b/q;p'
a | read -r b
a || grep -q b file
a | grep b >/dev/null
a | sed -n 1p | sort
a | awk '{ n++ } END { exit n != 2 }'
grep -q a <<<"$b"
EOT
is "$(early_readers "$example" | sed 's/^[^:]*:\([0-9]*\):.*/\1/' | tr '\n' ' ')" "1 2 4 5 6 7 8 " \
	"the check above finds grep -q, grep -m, head, read, sed's q and awk's exit"

command -v shellcheck >/dev/null || { skip "shellcheck is not installed (contrib/deps test)"; done_testing; }
# With -x, shellcheck reads the library of each test again, which takes a minute more. Without it, it takes variables that the
# library uses for unused.
options=${CEEMS_SHELLCHECK:--e SC2034}
for f in $(scripts); do
	# shellcheck disable=SC2086 # several options
	out=$(shellcheck $options -P SCRIPTDIR -S warning -e SC2119,SC2120,SC2154 "$f" 2>&1)
	is "$out" "" "shellcheck $f"
done
done_testing
