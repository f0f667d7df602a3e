#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Documents: links must lead to existing files and headings, README must be short and words spelled right. Each document must
# be in the tarball. Log lines that a document explains must be in the code. No text may describe an earlier state of the
# code.
. "$top_srcdir/tests/tap/tap.sh"
cd "$top_srcdir" || exit 1
sources='acct_gather spank jobcomp slurmdb recorder bpf sql src'
documents=$(find README.md CONTRIBUTING.md SECURITY.md tests/README.md doc contrib -name '*.md' | sort)
# Our files without tests, because test data has words that are not English.
# shellcheck disable=SC2086 # several folders
texts=$(find README.md CONTRIBUTING.md SECURITY.md MAINTAINERS NEWS tests/README.md .github doc contrib $sources -type f \
	! -name '*.csv' ! -name Makefile ! -name Makefile.in ! -path '*/.*' | sort)

# anchors FILE: prints the anchor of each heading, as GitHub and GitLab make it
anchors() {
	sed -n 's/^##*  *//p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# links FILE: prints the targets of its links, without links to other sites
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
	grep -qwF -e "$document" Makefile.am || grep -qwF -e "${document#*/}" "${document%%/*}/Makefile.am"
	ok $? "$document is in the tarball"
done

folders="$sources m4 config contrib tests doc .ci .github"
# paths FILE: prints the paths of our tree that it names, also patterns such as src/cmd/check_*.c. NAME stands for a name;
# jobcomp/kafka is a value in slurm.conf; metrics.md is made in the build.
paths() {
	grep -oE '(^|[^A-Za-z0-9_./-])(\.\./)?('"$(echo "$folders" | tr ' ' '|')"')/[A-Za-z0-9_./*-]*' "$1" |
		sed -E 's/^[^A-Za-z0-9_.]//; s|^\.\./||; s/[.]$//' |
		grep -vE 'NAME|NNNN|^jobcomp/[a-z]+$|^tests/arch/metrics\.md$' | sort -u
}

# is_path PATH: is it there, or what it is made of, or a test that begins so? Programs of unit tests are built in tests/unit.
is_path() {
	# shellcheck disable=SC2086 # may be a pattern
	for found in $1 $1.c $1.in $1-*; do
		[ ! -e "$found" ] || return 0
	done
	case $1 in
	tests/unit/*) [ -n "$(find tests/unit -name "${1##*/}.c")" ] ;;
	*) return 1 ;;
	esac
}

# names FILE: prints the names of files without their folder, as in "src/libledger/split.c, split_static.c"
names() {
	grep -oE '(`|, |  )[a-z0-9_-]+\.(c|h|def|t|am|awk|py)\>' "$1" | sed 's/^[`, ]*//' | sort -u
}

# shellcheck disable=SC2086 # several folders
files=$(find $folders -type f 2>/dev/null | sed 's|.*/||' | sort -u)
for document in $documents MAINTAINERS $(find .github -type f | sort); do
	missing=
	for path in $(paths "$document"); do
		is_path "$path" || missing="$missing $path"
	done
	for name in $(names "$document"); do
		echo "$files" | grep -qxF -e "$name" || missing="$missing $name"
	done
	is "$missing" "" "files that $document names are there"
done

missing=
for folder in $(sed -n 's/^SUBDIRS = //p' Makefile.am | sed 's/\<src\>//') src/*/; do
	grep -qF -e " ${folder%/}/" MAINTAINERS || missing="$missing $folder"
done
is "$missing" "" "each folder has an area in MAINTAINERS"

missing=
for folder in tests/*/; do
	grep -qF -e "\`${folder%/}\`" tests/README.md || missing="$missing $folder"
done
is "$missing" "" "tests/README.md says what each folder of tests is for"

# The code's span attributes must be those of doc/traces.md, including OpenTelemetry's.
missing=
for name in $(grep -ohE '"(slurm|service|user|host|hw|process|error)\.[a-z_.]+"' src/libsink/otlp/otlp_names.c src/libsink/otlp/otlp_spans.c |
	tr -d '"' | sort -u); do
	grep -qF "\`$name\`" doc/traces.md || missing="$missing $name"
done
is "$missing" "" "attributes of spans are in doc/traces.md"
unknown=
for name in $(sed -n '/^## Names/,/^## Delivery/p' doc/traces.md | grep -oE '`(slurm|service|user|host|hw|process|error)\.[a-z_.]+`' |
	tr -d '\`' | sort -u); do
	grep -qF "\"$name\"" src/libsink/otlp/otlp_names.c src/libsink/otlp/otlp_spans.c || unknown="$unknown $name"
done
is "$unknown" "" "and no others"

# Log lines that the guide explains must be in the code: compares the text between the placeholders for values.
# shellcheck disable=SC2086 # several folders
code=$(find $sources -name '*.c' | sort | xargs cat | tr '\n' ' ' |
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

is "$(awk '/^[^ ]/ { section = $0; n = 0 } /^ / && ++n == 61 { print section }' NEWS)" "" \
	"a section of NEWS has at most 60 lines"

# Texts must describe the present code only; git has the earlier ones.
is "$(grep -nEiw 'previously|formerly|used to be|(this|old|last) tree|tree [0-9a-f]{7}|until now|in the past|(was|were) tried' \
	README.md CONTRIBUTING.md SECURITY.md NEWS doc/*.md doc/*.in)" "" "no document describes an earlier state of the code"
# shellcheck disable=SC2046,SC2086 # several files, folders
is "$(grep -nEiw 'previously|formerly|used to be|in the past|(was|were) renamed (to|from)|old (code|tree)' \
	$(find $sources -name '*.[ch]' -o -name '*.[1-8].in' -o -name '*.sql.in'))" "" \
	"nor does a comment or a manual page"

if command -v codespell >/dev/null; then
	# ans: Arrays; bu: a bullet of roff; ND: nodes; perimetre: RTE's; renderD: a device; upto: an end; ypes: of a pattern
	# shellcheck disable=SC2086 # several files
	is "$(codespell -q 3 -L ans,bu,nd,perimetre,renderd,upto,ypes $texts 2>&1)" "" "codespell"
else
	skip "no codespell"
fi
done_testing
