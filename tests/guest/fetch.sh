# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# fetch.sh - fetches Debian packages, of this machine's release or another, or for another CPU, and unpacks them into a
# cache without installing them. For tests/guest/kernel and tests/arm64/root, which set $work.
PATH=$PATH:/usr/sbin:/sbin
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/slurm-ceems

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# Packages of other releases are looked up with apt settings and lists of our own.
apt_options=()

# there PATTERN: prints the folder that is complete in the cache, even if the archive now has a newer version.
there() {
	local dir

	for dir in "$cache"/$1; do
		if [ -e "$dir/complete" ]; then
			echo "$dir"
			return 0
		fi
	done
	return 1
}

# fetch PACKAGE...: unpacks them into $work/root
fetch() {
	local deb

	echo "${0##*/}: fetching $* into $cache" >&2
	mkdir "$work/deb" "$work/root"
	(cd "$work/deb" && apt-get "${apt_options[@]}" download -q -o APT::Sandbox::User=root "$@") \
		>"$work/log" 2>&1 || die "apt-get download failed: $(grep -m 1 '^E:' "$work/log")"
	for deb in "$work"/deb/*.deb; do
		dpkg -x "$deb" "$work/root"
	done
}

# use_release SUITE [ARCHITECTURE]: makes apt's commands use this release, from the mirror of this machine.
use_release() {
	local keys=/usr/share/keyrings/debian-archive-keyring.gpg mirror

	# shellcheck disable=SC2016
	mirror=$(apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed -n 1p)
	[ -n "$mirror" ] || die "apt has no mirror of Debian (apt-get update)"
	mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial"
	[ -e "$keys" ] && keys="[signed-by=$keys] " || keys=
	echo "deb $keys$mirror $1 main" >"$work/apt/sources.list"
	apt_options=(-o "Dir::Etc::SourceList=$work/apt/sources.list" -o Dir::Etc::SourceParts=-
		-o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt"
		-o APT::Sandbox::User=root -o Acquire::Languages=none
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
		-o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false
		-o "APT::Architecture=${2:-amd64}" -o "APT::Architectures=${2:-amd64}"
		-o Dir::State::Status=/dev/null)
	apt-get "${apt_options[@]}" update -q >"$work/log" 2>&1 || true
	! grep -q '^[EW]:' "$work/log" || # apt reports a failed download only as a warning
		die "apt-get update of $1 failed: $(grep -m 1 '^[EW]:' "$work/log")"
}

# fetch_all PACKAGE...: unpacks packages and all their dependencies
fetch_all() {
	local deb

	echo "${0##*/}: fetching $* into $cache" >&2
	apt-get "${apt_options[@]}" install -q -y --download-only --no-install-recommends "$@" >"$work/log" 2>&1 ||
		die "apt-get failed: $(grep -m 1 '^E:' "$work/log")"
	mkdir "$work/root"
	for deb in "$work"/apt/archives/*.deb; do
		dpkg -x "$deb" "$work/root"
	done
}
