#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The series in ceems.prom and the TRES in sstat of a job with one long step must change while it runs, not only when
# it ends.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank
. "$(dirname "$0")/energy.sh"
command -v perl >/dev/null || skip_all "perl is not installed (contrib/deps test)"
cluster_up --plugins acct_gather,spank --fake-rapl --cpus 4
prom=$TEXTFILE_DIR/n1/ceems.prom

# Burns CPU in user and in kernel mode, reads and writes files, sends itself bytes and datagrams, and takes
# 128 KiB more of memory each round.
cat >"$DIR/home/worker" <<'EOP'
use strict; use Socket;
my $size = 65536; my $chunk = 'x' x $size; my (@held, $buf);
my ($y, $z) = ('y', 'z'); # of constants, Perl 5.42 makes one string, however often it is held
open my $out, '>', '/dev/null'; open my $in, '<', '/dev/zero';
socket my $server, PF_INET, SOCK_STREAM, 0; bind $server, pack_sockaddr_in 0, INADDR_LOOPBACK;
listen $server, 1;
socket my $client, PF_INET, SOCK_STREAM, 0; connect $client, getsockname $server;
accept my $peer, $server;
socket my $udp, PF_INET, SOCK_DGRAM, 0; bind $udp, pack_sockaddr_in 0, INADDR_LOOPBACK;
for (1 .. 6000) {
	push @held, $z x 4096; # a page more, for ever
	for (1 .. 200) { syswrite $out, $chunk; sysread $in, $buf, $size }
	for (1 .. 8) { send $client, substr($chunk, 0, 8192), 0; recv $peer, $buf, 8192, 0 }
	send $udp, 'x' x 1000, 0, getsockname $udp; recv $udp, $buf, 2000, 0;
	my $x = 0; $x += $_ for 1 .. 50000;
	push @held, $y x 131072 if @held < 2000;
	select undef, undef, undef, 0.05;
}
EOP
chmod 644 "$DIR/home/worker"
job=$(submit user1 --mem=400 --ceems-perf=net -o /dev/null --wrap "exec timeout 600 perl $DIR/home/worker")
job_is "$job" RUNNING || wait_for 60 job_is "$job" RUNNING

# value NAME FILE: prints the job's value of a series; NAME may have labels after a comma.
value() {
	awk -v name="${1%%,*}{hostname=\"n1\",manager=\"slurm\",uuid=\"$job\"${1#"${1%%,*}"}}" \
		'$1 == name { print $2 }' "$2"
}

memory="ceems_compute_unit_memory_rss_bytes ceems_compute_unit_memory_working_set_bytes"
counters="ceems_compute_unit_cpu_seconds_total ceems_compute_unit_energy_joules_total
ceems_compute_unit_domain_energy_joules_total,domain=\"cpu\""
[ -z "$(find /sys/fs/cgroup -name 'cpu.stat' -o -name 'cpuacct.usage_user' 2>/dev/null | head -n 1)" ] ||
	counters="$counters ceems_compute_unit_cpu_user_seconds_total ceems_compute_unit_cpu_system_seconds_total"
if bpf_is_loaded; then
	counters="$counters ceems_compute_unit_io_read_bytes_total ceems_compute_unit_io_write_bytes_total
ceems_perf_context_switches_total ceems_perf_page_faults_total
ceems_ebpf_ingress_bytes_total,proto=\"udp\" ceems_ebpf_ingress_packets_total"
else
	diag "no BPF here: no I/O and no network"
fi
if bpf_counts 'live sockets'; then
	counters="$counters ceems_ebpf_ingress_bytes_total,proto=\"tcp\" ceems_ebpf_egress_bytes_total,proto=\"tcp\""
else
	diag "this kernel does not list sockets: TCP counts when a connection closes"
fi

is_there() {
	local name
	for name in $counters $memory; do
		[ "$(value "$name" "$prom" | tr -d 0.)" != "" ] || return 1
	done
}
feed 5000000 0
wait_for 60 is_there
ok $? "the step's series are there while it runs"

# Copies of ceems.prom of several ticks; between two of them every series must change.
stamp() {
	awk '/^ceems_ledger_last_tick_timestamp_seconds/ { print $2 }' "$1"
}
is_newer() {
	cp "$prom" "$e2e_work/now.prom" && [ "$(stamp "$e2e_work/now.prom")" != "$(stamp "$e2e_work/last.prom")" ]
}

# What sstat shows of the step: "In ic/ceems_cpu_time 1234" and so on.
live() {
	local side
	for side in In Out; do
		inside sstat -n -P -a --noconvert -j "$1" -o "TRESUsage${side}Tot" | tr ',=' '\n ' | sed "s/^/$side /"
	done
}
live_value() {
	awk -v side="$1" -v tres="$2" '$1 == side && $2 == tres { print $3 }' "$3"
}
tres="In/energy In/ic/ceems_cpu_energy In/ic/ceems_co2e In/ic/ceems_source_rapl In/ic/ceems_cpu_time
In/ic/ceems_memory In/ic/ceems_memory_time Out/ic/ceems_memory"
! grep -q cpu_user_seconds <<<"$counters" || tres="$tres In/ic/ceems_cpu_mode Out/ic/ceems_cpu_mode"
! grep -q ebpf <<<"$counters" || tres="$tres In/fs/ceems Out/fs/ceems In/ic/ceems_io_calls Out/ic/ceems_io_calls
In/ic/ceems_udp In/ic/ceems_packets In/ic/ceems_sched Out/ic/ceems_sched"
! grep -q tcp <<<"$counters" || tres="$tres In/ic/ceems_net Out/ic/ceems_net"

# not_moved A B: the TRES that are not more in reading B than in A.
not_moved() {
	local name
	for name in $tres; do
		awk -v a="$(live_value "${name%%/*}" "${name#*/}" "$e2e_work/live$1")" \
			-v b="$(live_value "${name%%/*}" "${name#*/}" "$e2e_work/live$2")" \
			'BEGIN { exit !(b > a) }' || printf ' %s(%s)' "$name" "$2"
	done
}
has_moved() {
	live "$job.batch" >"$e2e_work/live$2" && [ -z "$(not_moved "$1" "$2")" ]
}
still=
unmoved=
live "$job.batch" >"$e2e_work/live0"
for round in 1 2 3; do
	cp "$prom" "$e2e_work/last.prom"
	feed 200000000 0
	wait_for 60 is_newer || bail "ceems.prom is written"
	diag "round $round: $(stamp "$e2e_work/last.prom") to $(stamp "$e2e_work/now.prom")"
	for name in $counters $memory; do
		awk -v a="$(value "$name" "$e2e_work/last.prom")" -v b="$(value "$name" "$e2e_work/now.prom")" \
			'BEGIN { exit !(b > a) }' || still="$still $name($round)"
	done
	cp "$e2e_work/now.prom" "$e2e_work/file$round.prom"
	wait_for 10 has_moved $((round - 1)) "$round"
	unmoved="$unmoved$(not_moved $((round - 1)) "$round")"
done
is "$still" "" "every series moved between each two of four files"
# Consecutive files: between those above sstat took time.
stamps=
for round in 1 2 3 4; do
	cp "$prom" "$e2e_work/last.prom"
	wait_for 60 is_newer || bail "ceems.prom is written"
	stamps="$stamps $(stamp "$e2e_work/now.prom")"
done
within=$(tr ' ' '\n' <<<"$stamps" |
	awk '$1 { if (last && (min == "" || $1 - last < min)) min = $1 - last; last = $1 } END { print (min <= 5.5) }')
is "$within" 1 "which are written every 5 s:$stamps"

is "$unmoved" "" "and every TRES of the running step moved in sstat each time"
is "$(live_value In ic/ceems_nodes "$e2e_work/live3")" 1 "which says that one node's energy is known"

# At the step's end no counter may decrease: Prometheus would take that for a reset.
live_s=$(date +%s)
inside scancel "$job"
has_ended() {
	grep -q '^ceems_compute_units{.*} 0$' "$prom"
}
wait_for 60 has_ended || bail "the job is over in ceems.prom"
back=
for name in $counters; do
	awk -v a="$(value "$name" "$e2e_work/file3.prom")" -v b="$(value "$name" "$prom")" \
		'BEGIN { exit !(b >= a) }' || back="$back $name"
done
is "$back" "" "and no counter went back when the step ended"

# While a step runs, Slurm adds up what it polled; at the end it stores the final values.
wait_for 60 is_used "$job" batch In ic/ceems_cpu_time || bail "sacct has the step"
run_s=$(($(date +%s) - live_s + 6)) # since the reading that sstat showed last
more=
for name in $tres; do
	awk -v a="$(live_value "${name%%/*}" "${name#*/}" "$e2e_work/live3")" \
		-v b="$(usage "$job" batch "${name%%/*}" "${name#*/}")" \
		'BEGIN { exit !(b >= a && a > 0) }' || more="$more $name"
done
is "$more" "" "sstat's last values are not above sacct's"
awk -v a="$(live_value In ic/ceems_cpu_time "$e2e_work/live3")" -v b="$(usage "$job" batch In ic/ceems_cpu_time)" \
	-v s="$run_s" 'BEGIN { exit !(b - a <= s * 4e6) }'
ok $? "and close: no more CPU time came than the step can have used since"

# --- pressure --------------------------------------------------------------------------------------

# Two processes on one CPU, so that one of them always waits; with the step in a v2 cgroup, if there is v2.
cat >"$DIR/home/stalled" <<'EOS'
go=$1
v2=$(findmnt -fno TARGET -t cgroup2)$(sed -n 's/^0:://p' /proc/self/cgroup)
if [ -r "$v2/cpu.pressure" ]; then echo PSI; else echo none; fi
taskset -pc "$(taskset -pc $$ | sed 's/.*: \([0-9]*\).*/\1/')" $$ >/dev/null
until [ -e "$go" ]; do :; done &
until [ -e "$go" ]; do :; done
wait
EOS
chmod 644 "$DIR/home/stalled"
begin=$(date +%s)
job=$(submit user1 -o "$DIR/home/user1/stalled.out" --wrap \
	"srun --ceems-perf=net sh $DIR/home/stalled $e2e_work/go")
wait_for 60 job_is "$job" RUNNING
waiting=ceems_compute_unit_cpu_pressure_waiting_seconds_total
has_waited() {
	[ "$(value $waiting "$prom" | tr -d 0.)" != "" ]
}
wait_for 60 test -s "$DIR/home/user1/stalled.out"
if grep -q PSI "$DIR/home/user1/stalled.out"; then
	wait_for 60 has_waited
	ok $? "what a running step waits for a CPU is shown"
	live=$(value $waiting "$prom")
	: >"$e2e_work/go"
	wait_for 60 is_used "$job" 0 In ic/ceems_cpu_psi
	us=$(usage "$job" 0 In ic/ceems_cpu_psi)
	awk -v us="$us" -v live="$live" -v s="$(($(date +%s) - begin))" \
		'BEGIN { exit !(us / 1e6 >= live && us / 1e6 <= s + 1 && live > 0) }'
	ok $? "sacct has as much or more, and no more than it ran: $us us, $live s by then"
	isnt "$(usage "$job" 0 In ic/ceems_mem_psi)" "" "memory pressure is known"
	isnt "$(usage "$job" 0 Out ic/ceems_io_psi)" "" "and I/O pressure"
else
	: >"$e2e_work/go"
	wait_for 60 is_used "$job" 0 In ic/ceems_cpu_time
	is "$(usage "$job" 0 In ic/ceems_cpu_psi)" "" "without PSI pressure is unknown, not 0"
fi
done_testing
