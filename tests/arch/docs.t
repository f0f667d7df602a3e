#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Documents: links lead to files and headings that are there, README is short, words are spelled right, each document is
# in the tarball, the log lines that one explains are in the code, and none tells how the code was before.
. "$top_srcdir/tests/tap/tap.sh"
cd "$top_srcdir" || exit 1
documents=$(find README.md CONTRIBUTING.md SECURITY.md doc contrib -name '*.md' | sort)
# What we wrote, without tests: the words of test data are not English.
texts=$(find README.md CONTRIBUTING.md SECURITY.md NEWS doc src bpf spank jobcomp recorder acct_gather sql contrib -type f \
	! -name '*.csv' ! -name Makefile ! -name Makefile.in ! -path '*/.*' | sort)

# anchors FILE: of each heading the name that a link gives it, as GitHub and GitLab make them
anchors() {
	sed -n 's/^##*  *//p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# links FILE: what its links name, without those to other sites
links() {
	grep -oE '\]\([^)]+\)' "$1" | sed 's/^](//; s/)$//' | grep -vE '^https?:'
}

for document in $documents; do
	dead=
	for link in $(links "$document"); do
		file=${link%%#*}
		if [ -z "$file" ]; then
			file=$document
		else
			file=$(dirname "$document")/$file
		fi
		case $link in
		*'#'*) anchors "$file" 2>/dev/null | grep -qxF -e "${link#*#}" || dead="$dead $link" ;;
		*) [ -e "$file" ] || dead="$dead $link" ;;
		esac
	done
	is "$dead" "" "links of $document"
	grep -qwF -e "$document" -e "${document#contrib/}" Makefile.am contrib/Makefile.am
	ok $? "$document is in the tarball"
done

missing=
for file in $(grep -ohE '\<(src|recorder|jobcomp|acct_gather|spank|bpf|sql|m4|contrib|tests)/[A-Za-z0-9_./-]+\.[a-z0-9]+' \
	README.md CONTRIBUTING.md SECURITY.md doc/*.md | grep -vE 'NAME|^tests/arch/metrics.md' | sort -u); do
	[ -e "$file" ] || missing="$missing $file"
done
is "$missing" "" "files that documents name are there"

# The attributes of spans are those of doc/traces.md, also the ones that are OpenTelemetry's.
missing=
for name in $(grep -ohE '"(slurm|service|user|host|hw|process|error)\.[a-z_.]+"' src/libsink/otlp_names.c src/libsink/otlp_spans.c |
	tr -d '"' | sort -u); do
	grep -qF "\`$name\`" doc/traces.md || missing="$missing $name"
done
is "$missing" "" "attributes of spans are in doc/traces.md"
unknown=
for name in $(sed -n '/^## Names/,/^## Delivery/p' doc/traces.md | grep -oE '`(slurm|service|user|host|hw|process|error)\.[a-z_.]+`' |
	tr -d '\`' | sort -u); do
	grep -qF "\"$name\"" src/libsink/otlp_names.c src/libsink/otlp_spans.c || unknown="$unknown $name"
done
is "$unknown" "" "and no others"

# The lines of a log that the guide explains are those of the code: what is between its names for values.
code=$(find acct_gather spank jobcomp recorder src bpf -name '*.c' | sort | xargs cat | tr '\n' ' ' |
	sed 's/"[ \t]*"//g; s/"[ \t]*PRI[a-z0-9]*[ \t]*"//g')
unknown=$(sed -n '/^## Troubleshooting by log line/,/^### What a user/s/^| `\(.*\)` |.*/\1/p' doc/admin-guide.md |
	sed -E 's/[A-Z]{2,}|\<N\>/\n/g' | sed 's/^[ .:;,]*//; s/[ .:;,-]*$//' | grep ... | sort -u |
	while IFS= read -r part; do
		case $code in
		*"$part"*) ;;
		*) echo "$part" ;;
		esac
	done)
is "$unknown" "" "log lines of doc/admin-guide.md are in the code"

lines=$(wc -l <README.md)
[ "$lines" -le 150 ]
ok $? "README.md has at most 150 lines, $lines now"

# An older state of the code is in git; texts tell of the present one.
is "$(grep -nEiw 'previously|formerly|used to be|(this|old|last) tree|tree [0-9a-f]{7}|until now|in the past|(was|were) tried' \
	README.md CONTRIBUTING.md SECURITY.md NEWS doc/*.md doc/*.in)" "" "no document tells how the code was before"
# shellcheck disable=SC2046 # several files
is "$(grep -nEiw 'previously|formerly|used to be|in the past|(was|were) renamed (to|from)|old (code|tree)' \
	$(find src bpf spank jobcomp recorder acct_gather sql -name '*.[ch]' -o -name '*.[1-8].in' -o -name '*.sql.in'))" "" \
	"nor does a comment or a manual page"

if command -v codespell >/dev/null; then
	# ans: Arrays; bu: a bullet of roff; ND: nodes; perimetre: RTE's; renderD: a device; upto: an end; ypes: of a pattern
	# shellcheck disable=SC2086 # several files
	is "$(codespell -q 3 -L ans,bu,nd,perimetre,renderd,upto,ypes $texts 2>&1)" "" "codespell"
else
	skip "no codespell"
fi
done_testing
