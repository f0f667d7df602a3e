# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034,SC2154
# scale.sh - for tests that repeat the same with growing sizes, after lib.sh: what each kind of process used, and how it grows.

[ -x /usr/bin/python3 ] || skip_all "python3 is not installed (contrib/deps test)"
scale_py=$e2e_top/tests/e2e/scale.py
: >"$e2e_work/figures"

# figure WHAT SIZE VALUE UNIT: notes and prints one value.
figure() {
	printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" >>"$e2e_work/figures"
	diag "$1, $2: $3 $4"
}

ms() {
	local t=${EPOCHREALTIME/./}

	echo $((t / 1000))
}

# cpu_us: CPU time of all processes of the cluster so far.
cpu_us() {
	if [ -e "/sys/fs/cgroup/cpuacct/$CGROUP_NAME/cpuacct.usage" ]; then
		echo $(($(cat "/sys/fs/cgroup/cpuacct/$CGROUP_NAME/cpuacct.usage") / 1000))
	else
		awk '$1 == "usage_usec" { print $2 }' "/sys/fs/cgroup/$CGROUP_NAME/cpu.stat"
	fi
}

# used_begin; used_end WHAT SIZE [IDLE]: what each kind of process used between the two; also those that ended, as "steps and
# forks". It is also in the file $e2e_work/used. With IDLE, such a file of a time without jobs, less what is used in that time:
# what WHAT costs does not depend on how long it takes then.
used_begin() {
	inside /usr/bin/python3 "$scale_py" procs "$DIR" >"$e2e_work/procs.begin"
	printf 'all\t%s\n' "$(($(cpu_us) / 1000))" >>"$e2e_work/procs.begin"
	begun_ms=$(ms)
}

used_end() {
	local what=$1 size=$2 took=$(($(ms) - begun_ms)) kind cpu pss n

	figure "$what: time" "$size" "$took" ms
	inside /usr/bin/python3 "$scale_py" procs "$DIR" >"$e2e_work/procs.end"
	printf 'all\t%s\n' "$(($(cpu_us) / 1000))" >>"$e2e_work/procs.end"
	/usr/bin/python3 "$scale_py" used "$e2e_work/procs.begin" "$e2e_work/procs.end" "$took" ${3:+"$3"} >"$e2e_work/used"
	while IFS=$'\t' read -r kind cpu pss n; do
		[ "$cpu" = - ] || figure "$what: CPU, $kind" "$size" "$cpu" ms
		[ -z "$pss" ] || figure "$what: memory, $kind ($n)" "$size" "$pss" KiB
	done < <(sed 1d "$e2e_work/used")
}

# grown: prints each value by size, with the exponent of its growth.
grown() {
	/usr/bin/python3 "$scale_py" fit "$e2e_work/figures" | diag
}

# grows WHAT MOST: from the smallest to the largest size, WHAT grows by an exponent of at most MOST.
grows() {
	local is

	is=$(/usr/bin/python3 "$scale_py" exponent "$e2e_work/figures" "$1") || return 0
	awk -v is="$is" -v most="$2" 'BEGIN { exit !(is <= most) }'
	ok $? "$1 grows with the size to the power of $is, at most $2"
}
