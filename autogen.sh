#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes configure and its helpers from a git checkout; a release tarball has them.
set -e
cd "$(dirname "$0")"
mkdir -p config
# the folder of each sink
sed -n 's|^SINK(\([^,]*\),.*|include \1/build.am|p' src/libcore/sinks.def >src/libsink/sinks.am
exec autoreconf --install --warnings=all
