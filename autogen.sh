#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes configure and its helpers from a git checkout; a release tarball has them.
set -e
cd "$(dirname "$0")"
mkdir -p config
# the folders of each sink and sensor
sed -n 's|^SINK(\([^,]*\),.*|include \1/build.am|p' src/libcore/sinks.def >src/libsink/sinks.am
sed -n 's|^SOURCE([^,]*, \([^,]*\),.*|include sensor/\1/build.am|p' src/libcore/sources.def >src/libmeter/sources.am
# and of each helper program
for file in src/helpers/*/build.am; do
	echo "include ${file#src/helpers/}"
done >src/helpers/helpers.am
exec autoreconf --install --warnings=all
