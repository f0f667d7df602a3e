#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rpm.t [--builddir DIR] [--tarball FILE]: builds RPMs of the release tarball (make dist in DIR) by
# contrib/rpm/slurm-ceems.spec with Debian's rpmbuild, with all parts and with as few as an old distribution allows. Prints
# TAP. --nodeps, since Debian does not have the packages of an EL that the RPMs need.
set -u
top=$(readlink -f "$(dirname "$0")/../..")
# shellcheck disable=SC1091
. "$top/tests/tap/tap.sh"
build=$top/build tarball=
while [ $# -gt 0 ]; do
	case $1 in
	--builddir) build=$(readlink -f "${2:?--builddir: which?}"); shift ;;
	--tarball) tarball=$(readlink -f "${2:?--tarball: which?}"); shift ;;
	*) sed -n '/^# rpm.t /,/^[^#]/s/^# //p' "$0" >&2; exit 2 ;;
	esac
	shift
done
for tool in rpmbuild bzip2; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
work=$(mktemp -d /tmp/ceems-rpm-XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

slurm_src=$(sed -n 's/^slurm_src = //p' "$build/Makefile")
version=$(sed -n 's/^SLURM_VERSION = //p' "$build/Makefile")
[ -e "$slurm_src/META" ] || skip_all "the source of Slurm that this was built with is gone"
if [ -z "$tarball" ]; then
	make -s -C "$build" dist-xz >"$work/log" 2>&1 </dev/null
	tarball=$(echo "$build"/slurm-ceems-*.tar.xz)
fi
mkdir "$work/SOURCES"
cp "$tarball" "$work/SOURCES/"
# as SchedMD's package, but only with the files that the build reads
(cd "$slurm_src" && find . -name '*.h' -o -name META -o -name config.h.in) |
	tar -C "$slurm_src" -cjf "$work/SOURCES/slurm-$version.tar.bz2" --transform "s|^\.|slurm-$version|" -T -

# rpms WHAT OPTION...: builds them into $work/RPMS
rpms() {
	local what=$1 built

	shift
	rm -rf "$work"/{RPMS,BUILD,BUILDROOT}
	# no optimising: only the installed files matter
	rpmbuild -bb --nodeps --define "_topdir $work" --define "slurm_version $version" \
		--define 'optflags -O0' --define '_smp_mflags -j2' --define 'debug_package %{nil}' --define '_build_id_links none' "$@" \
		"$top/contrib/rpm/slurm-ceems.spec" >"$work/log" 2>&1 </dev/null
	built=$?
	ok $built "RPMs build $what"
	if [ $built -ne 0 ]; then
		tail -n 30 "$work/log" | sed 's/^/# /'
		done_testing
	fi
	is "$(grep 'File listed twice' "$work/log")" "" "  no file is listed twice"
}
# of PACKAGE QUERY...: prints the answer of rpm about slurm-ceems-PACKAGE
of() {
	local package=$1

	shift
	rpm -qp --nosignature "$@" "$work"/RPMS/*/slurm-ceems"${package:+-$package}"-[0-9]*.rpm
}
next=${version%.*}.$((${version##*.} + 1))

rpms "with all parts"
is "$(cd "$work"/RPMS/* && printf '%s\n' ./*.rpm | sed 's|^\./slurm-ceems-\?||; s|-\?0\..*||' | sort | tr '\n' ' ')" \
	" energy ipmi jobcomp node spank " "  six packages"
for package in energy:slurm jobcomp:slurm-slurmctld; do
	requires=$(of "${package%:*}" --requires)
	has "$requires" "${package#*:}(x86-64) >= $version" "  ${package%:*} is for one version of Slurm"
	has "$requires" "${package#*:}(x86-64) < $next" "  and no later one"
done
is "$(for p in node energy spank; do of "$p" --requires; done | grep -E 'freeipmi|rdkafka|mariadb|sqlite')" "" \
	"  a node needs no client library"
requires=$(of jobcomp --requires)
for library in libcurl libjansson libmariadb libprotobuf-c librdkafka libslurm libsqlite3; do
	has "$requires" "$library.so" "  the recorder needs $library"
done
files=$(of jobcomp -l)
for file in /usr/sbin/ceems-recorder /usr/lib/systemd/system/ceems-recorder.service ceems-recorder.8; do
	has "$files" "$file" "  jobcomp has $file"
done
is "$(for p in '' spank energy jobcomp node ipmi; do of "$p" --scripts; done |
	grep -E 'systemctl.* (enable|start|restart) ')" "" "  none enables or starts anything"
is "$(of jobcomp -l | grep -c /var/spool)" 0 "  what is not delivered is no package's to remove"

rpms "without what EL 8 lacks" --without kafka --without bpf --without curl --without mariadb
is "$(for p in '' jobcomp; do of "$p" --requires; done | grep -E 'rdkafka|mariadb|curl')" "" \
	"  neither the recorder nor the command needs their libraries"
done_testing
