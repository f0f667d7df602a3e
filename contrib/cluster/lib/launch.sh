#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# launch.sh DIR NAME CMD...: run inside; becomes the daemon.
set -eu
DIR=$1 name=$2
shift 2

cd /
echo $$ >"$DIR/run/pid/$name"
exec "$@" </dev/null >>"$DIR/log/$name.out" 2>&1
