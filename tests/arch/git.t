#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What git shows: subjects of commits, the licence of each source file, and whether .gitignore hides a file of ours. Skipped
# in a tarball.
. "$top_srcdir/tests/tap/tap.sh"
# The commits behind this one follow the rules of CONTRIBUTING.md. Some before it have longer subjects.
base=6a375f2d
[ -e "$top_srcdir/.git" ] || skip_all "not a git checkout"
command -v git >/dev/null || skip_all "git is not installed"
cd "$top_srcdir" || exit 1
why=$(git rev-parse HEAD 2>&1 >/dev/null) || skip_all "git does not read the checkout: $(echo "$why" | head -n 1)"

is "$(git ls-files -ci --exclude-standard)" "" ".gitignore hides no file that git has"
is "$(git ls-files '*.[cht]' '*.sh' '*.py' '*.awk' '*.def' '*.m4' '*Makefile.am' |
	xargs awk 'FNR == 1 { has[FILENAME] = 0 }
		FNR <= 3 && /SPDX-License-Identifier: GPL-2\.0/ { has[FILENAME] = 1 }
		END { for (file in has) if (!has[file]) print file }')" "" "each source file says its licence"

if git merge-base --is-ancestor "$base" HEAD 2>/dev/null; then
	subjects=$(git log --no-merges --format='%h %s' "$base..HEAD")
	is "$(echo "$subjects" | grep -E '^[0-9a-f]+ .{61}')" "" "subjects have at most 60 characters"
	is "$(echo "$subjects" | grep . | grep -vE '^[0-9a-f]+ [A-Za-z0-9][A-Za-z0-9_.()/, +-]*: [^ ].*[^.]$')" "" \
		"subjects are 'area: imperative', without a full stop"
	is "$(echo "$subjects" | grep -E ': (add|fix|remov|mov|chang|updat|mak|us)(e?s|ed|ing) ')" "" \
		"subjects are imperative: 'add', not 'adds', 'added' or 'adding'"
elif [ "$(git rev-parse --is-shallow-repository)" = true ]; then
	skip "a shallow clone does not have the commits since $base"
else
	skip "commit $base is not in this history"
fi
done_testing
