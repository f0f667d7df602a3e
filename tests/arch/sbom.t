#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The SBOM of this build (contrib/sbom) must have each program and plugin, each library that they need by readelf, and
# each library's package on this machine.
. "$top_srcdir/tests/tap/tap.sh"
for tool in jq readelf python3; do
	command -v $tool >/dev/null || skip_all "no $tool"
done
grep -q fsanitize "$top_builddir/config.log" && skip_all "the other build has an SBOM"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sbom=$work/sbom.json
mkdir "$work/bin"
if dpkg=$(command -v dpkg-query); then
	printf '#!/bin/sh\necho "$1" >>%s/asked\nexec %s "$@"\n' "$work" "$dpkg" >"$work/bin/dpkg-query"
	chmod 755 "$work/bin/dpkg-query"
fi
PATH=$work/bin:$PATH SOURCE_DATE_EPOCH=1 python3 "$top_srcdir/contrib/sbom" "$top_builddir" >"$sbom"
ok $? "an SBOM is written"
if [ -n "$dpkg" ]; then
	is "$(tr '\n' ' ' <"$work/asked")" "-S -W " "dpkg is asked once for the packages of all libraries, and once for their versions"
fi
is "$(jq -r '"\(.spdxVersion) \(.dataLicense) \(.creationInfo.created)"' "$sbom")" "SPDX-2.3 CC0-1.0 1970-01-01T00:00:01Z" "as SPDX 2.3"
is "$(jq -r '[.packages[], .files[] | .SPDXID] | group_by(.) | map(select(length > 1)) | length' "$sbom")" 0 "each id is there once"
is "$(jq -r '([.packages[], .files[] | .SPDXID] + ["SPDXRef-DOCUMENT"]) as $ids |
	[.relationships[] | .spdxElementId, .relatedSpdxElement] - $ids | length' "$sbom")" 0 "and each that is named is there"

# prints "FILE LIBRARY" by readelf; only tests have programs that are not installed
find "$top_builddir" \( -path "$top_builddir/tests" -o -path "$top_builddir/*build*" \) -prune -o -type f \
	\( -path '*/.libs/*.so' -o -perm -100 ! -name '*.so' \) -print | while read -r object; do
	readelf -dW "$object" 2>/dev/null | sed -n "s|.*(NEEDED).*\[\(.*\)\]|.${object#"$top_builddir"} \1|p"
done | sort -u >"$work/needed"
jq -r '(.packages | map({key: .SPDXID, value: (.comment // "")}) | from_entries) as $libraries |
	(.files | map({key: .SPDXID, value: .fileName}) | from_entries) as $files |
	.relationships[] | select(.relationshipType == "DYNAMIC_LINK") |
	$files[.spdxElementId] as $file | ($libraries[.relatedSpdxElement] | split(", ")[]) as $library | "\($file) \($library)"' \
	"$sbom" | sort -u >"$work/linked"
[ -s "$work/needed" ]
ok $? "readelf knows of $(wc -l <"$work/needed") libraries of objects"
is "$(comm -23 "$work/needed" "$work/linked")" "" "the SBOM has each of them"
# a package may have several libraries, of which an object needs one
cut -d ' ' -f 2 "$work/needed" | sort -u >"$work/libraries"
is "$(cut -d ' ' -f 2 "$work/linked" | sort -u | comm -13 "$work/libraries" -)" "" "and no library that none needs"
is "$(jq -r '.files[].fileName' "$sbom" | sort)" "$(cut -d ' ' -f 1 "$work/needed" | sort -u)" "its files are these objects"
if command -v dpkg-query >/dev/null; then
	is "$(jq -r '.packages[] | select(.name != "slurm-ceems" and .versionInfo) | "\(.name) \(.versionInfo)"' "$sbom" | sort)" \
		"$(jq -r '.packages[] | select(.name != "slurm-ceems") | .name' "$sbom" | sort |
			xargs dpkg-query -W -f '${Package} ${Version}\n' | sort -u)" "versions are those of the installed packages"
fi
done_testing
