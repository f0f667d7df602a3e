#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems factors with fake providers over real HTTPS (factors.py).
. "$top_srcdir/tests/tap/tap.sh"
"$top_builddir/src/cmd/ceems" --help 2>/dev/null | grep -q '^  factors ' ||
	skip_all "built without ceems factors"
command -v openssl >/dev/null || skip_all "no openssl"
command -v python3 >/dev/null || skip_all "no python3"
exec python3 "$top_srcdir/tests/cmd/factors.py" "$top_builddir/src/cmd/ceems"
