#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems export without slurmdbd: arguments, and what it refuses. tests/e2e/t0413-export.t has real jobs.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
"$ceems" --help | grep -q '^  export ' || skip_all "built without libslurm"
command -v sqlite3 >/dev/null || skip_all "no sqlite3"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

for args in "" "--since" "--since yesterdays" "--since 2026-01-31 --until 2026-01-30" "--since 2026-01-31 12" "--foo"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$("$ceems" export $args 2>/dev/null)
	is "$?/$out" "2/" "'ceems export $args' is refused"
done

: >"$dir/slurm.conf"
cat >"$dir/ceems.conf" <<END
StoreDir=$dir/store
RecordFile=$dir/jobs.jsonl
Sinks=file
END
export SLURM_CONF="$dir/slurm.conf"
export_says() {
	out=$("$ceems" export "$@" 2>&1)
	rc=$?
}
mkdir -m 700 "$dir/store"
export_says --since 2026-01-31
is "$rc/$out" "1/ceems: $dir/store: ceems-recorder has not run yet: start it first" "before the recorder's first start"

chmod 0 "$dir/ceems.conf"
is "$(without_rights "$ceems" export --since 2026-01-31 2>&1)" "ceems: $dir/ceems.conf: cannot open: Permission denied" \
	"a ceems.conf that may not be read is an error"
chmod 644 "$dir/ceems.conf"
echo Nonsense=1 >>"$dir/ceems.conf"
export_says --since 2026-01-31
is "$rc/$out" "1/ceems: $dir/ceems.conf:4: Nonsense: unknown key" "so is one with a wrong line"
sed -i '$d' "$dir/ceems.conf"

"$top_builddir/recorder/ceems-recorder" --help >/dev/null 2>&1 || skip_all "ceems-recorder is not built"
"$top_builddir/recorder/ceems-recorder" -D -f "$dir/ceems.conf" >"$dir/log" 2>&1 &
recorder=$!
for _ in $(seq 200); do
	[ -e "$dir/store/store.db" ] && [ "$(sqlite3 "$dir/store/store.db" \
		"SELECT length(value) FROM meta WHERE name = 'begun'" 2>/dev/null)" = 8 ] && break
	sleep 0.1
done
kill $recorder
wait $recorder
is "$(sqlite3 "$dir/store/store.db" "SELECT count(*) FROM meta WHERE name = 'begun'")" 1 "the recorder notes when its store was made"
export_says --since 2026-01-31 --until tomorrow
is "$rc" 1 "the recorder's jobs are not exported"
has "$out" "--until must not be later" "and the reason is said"
[ ! -e "$dir/store/export" ]
ok $? "nothing was made"

echo 'MariadbDefaultsFile=/nonexistent' >>"$dir/ceems.conf"
sed -i 's/^Sinks=.*/Sinks=file,mariadb/' "$dir/ceems.conf"
echo 'MariadbRetention=40d' >>"$dir/ceems.conf"
if "$ceems" store status --conf "$dir/ceems.conf" 2>/dev/null | grep -q mariadb; then
	export_says --since 2020-01-31
	has "$out" "keeps jobs for 40 days" "what a database would drop is refused"
else
	skip "no sink mariadb"
fi
: >"$dir/store/store.db.corrupt-1"
export_says --since 2026-01-31
has "$out" "give --until" "a store that is not the recorder's first"
rm "$dir/store/store.db.corrupt-1"
sqlite3 "$dir/store/store.db" "DELETE FROM meta WHERE name = 'begun'"
export_says --since 2026-01-31
has "$out" "give --until" "a store that does not say when it was made"
done_testing
