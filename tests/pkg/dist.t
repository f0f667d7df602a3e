#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# dist.t [--builddir DIR]: the release tarball is reproducible; prints TAP. `make dist` of two clones at different paths,
# with different times, umasks, languages and parts must give the same bytes, and so must `make dist` of the tarball.
set -u
top=$(readlink -f "$(dirname "$0")/../..")
# shellcheck disable=SC1091
. "$top/tests/tap/tap.sh"
build=$top/build
while [ $# -gt 0 ]; do
	case $1 in
	--builddir) build=$(readlink -f "${2:?--builddir: which?}"); shift ;;
	*) sed -n '/^# dist.t /,/^[^#]/s/^# //p' "$0" >&2; exit 2 ;;
	esac
	shift
done
[ -e "$top/.git" ] || skip_all "no git checkout"
slurm_src=$(sed -n 's/^slurm_src = //p' "$build/Makefile")
work=$(mktemp -d /tmp/ceems-dist-XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# tarball SOURCE BUILD OPTION...: runs make dist in BUILD; prints the file
tarball() {
	local source=$1 build=$2
	shift 2
	{
		if [ ! -x "$source/configure" ]; then "$source/autogen.sh" || return; fi
		mkdir -p "$build" && cd "$build" && "$source/configure" -q --with-slurm-src="$slurm_src" "$@" && make -s dist
	} >"$work/log" 2>&1 </dev/null || { tail -n 20 "$work/log" | sed 's/^/# /' >&2; return 1; }
	echo "$build"/slurm-ceems-*.tar.xz
}

first=$(umask 022 && export TZ=UTC && git clone -q "$top" "$work/a" && tarball "$work/a" "$work/a/build")
ok $? "make dist in a clone"
second=$(umask 077 && export TZ=Asia/Tokyo LC_ALL=C.UTF-8 && mkdir -p "$work/other/path" &&
	git clone -q "$top" "$work/other/path/b" && find "$work/other/path/b" -name .git -prune -o -exec touch -h -d 2001-02-03 {} + &&
	tarball "$work/other/path/b" "$work/other/path/b" --disable-recorder --disable-bpf --prefix=/opt)
ok $? "and in another, at another path, with other times, umask and parts"
cmp "$first" "$second"
ok $? "they have the same bytes"
mkdir "$work/unpacked"
third=$(tar -C "$work/unpacked" --strip-components=1 -xf "$first" && tarball "$work/unpacked" "$work/unpacked/build")
ok $? "make dist in the unpacked tarball"
cmp "$first" "$third"
ok $? "it gives itself"
is "$(tar --numeric-owner -tvf "$first" | awk '{ print substr($1, 1, 10), $2 }' | sort -u | tr '\n' ' ')" \
	"-rw-r--r-- 0/0 -rwxr-xr-x 0/0 drwxr-xr-x 0/0 lrwxr-xr-x 0/0 " "files are root's, and others cannot write them"
is "$(TZ=UTC tar --full-time -tvf "$first" | awk '{ print $4, $5 }' | sort -u)" \
	"$(TZ=UTC git -C "$top" log -1 --date=format-local:'%Y-%m-%d %H:%M:%S' --format=%cd)" "all are of the commit's time"
done_testing
