#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# C files are as clang-format 14 writes them with .clang-format, and no line of them has more than 110 columns.
# "clang-format -i FILE" mends a file, except its long comments and strings.
. "$top_srcdir/tests/tap/tap.sh"
cd "$top_srcdir" || exit 1
if [ -e .git ] && command -v git >/dev/null && git ls-files >/dev/null 2>&1; then
	sources() { git ls-files '*.[ch]'; }
elif [ -e config.status ]; then
	skip_all "built in the source folder, and git does not tell what is generated"
else
	sources() { find acct_gather bpf jobcomp recorder slurmdb spank src tests -name '*.[ch]' ! -path '*/build*'; }
fi

# a tab goes to the next multiple of 8
is "$(sources | xargs awk '{
	n = split($0, part, "\t")
	columns = 0
	for (i = 1; i < n; i++)
		columns = 8 * (int((columns + length(part[i])) / 8) + 1)
	columns += length(part[n])
	if (columns > 110)
		print FILENAME ":" FNR ": " columns " columns"
}')" "" "no line has more than 110 columns"

version=$(clang-format --version 2>/dev/null | grep -oE 'version [0-9]+')
if [ "$version" != "version 14" ]; then
	skip "clang-format is not installed in version 14, but as: ${version:-nothing}"
	done_testing
fi
found=$(sources | xargs -n 50 -P "$(getconf _NPROCESSORS_ONLN)" clang-format --dry-run 2>&1)
ok $? "clang-format reads .clang-format and all files"
is "$(echo "$found" | sed -nE 's/^([^: ]+):[0-9]+:[0-9]+: .*clang-formatted.*/\1/p' | sort -u)" "" \
	"each file is as clang-format writes it"
done_testing
