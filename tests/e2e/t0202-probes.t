#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two jobs at once on one node read, write and send different amounts. sacct and Kafka must have each job's amounts, to
# the byte.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
for tool in java kcat perl; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
"$e2e_top/contrib/kafka/get" >/dev/null || bail "the broker's jars are there"
cluster_up --kafka
bpf_is_loaded || skip_all "no BPF here"

# worker CHUNKS DATAGRAMS: waits for the other worker, then writes and reads CHUNKS of 64 KiB, sends them to itself by
# TCP, and sends DATAGRAMS of 1,000 bytes by UDP.
cat >"$DIR/home/worker" <<'EOP'
use strict; use Socket;
my ($chunks, $datagrams, $with) = @ARGV;
my $size = 65536; my $chunk = 'x' x $size; my $buf;
syswrite STDOUT, sprintf "%08d\n", $ENV{SLURM_JOB_ID};
open my $mark, '>', "$with.$ENV{SLURM_JOB_UID}";
for (1 .. 3000) { last if -e "$with.7101" && -e "$with.7102"; select undef, undef, undef, 0.1 }
open my $out, '>', '/dev/null'; open my $in, '<', '/dev/zero';
for (1 .. $chunks) { syswrite $out, $chunk; sysread $in, $buf, $size }
socket my $server, PF_INET, SOCK_STREAM, 0; bind $server, pack_sockaddr_in 0, INADDR_LOOPBACK;
listen $server, 1;
unless (fork) {
	socket my $client, PF_INET, SOCK_STREAM, 0; connect $client, getsockname $server;
	for (1 .. $chunks) { for (my $done = 0; $done < $size;) {
		$done += send $client, substr($chunk, $done), 0 } }
	exit 0;
}
accept my $peer, $server;
while (defined recv $peer, $buf, $size, 0 and length $buf) {}
wait;
socket my $udp, PF_INET, SOCK_DGRAM, 0; bind $udp, pack_sockaddr_in 0, INADDR_LOOPBACK;
for (1 .. $datagrams) { send $udp, 'x' x 1000, 0, getsockname $udp; recv $udp, $buf, 2000, 0 }
EOP
chmod 644 "$DIR/home/worker"

# work USER MARK CHUNKS DATAGRAMS: submits a worker; prints the job's id.
work() {
	as "$1" timeout 600 srun -n 1 --mem=100 --ceems-perf=net perl "$DIR/home/worker" "$3" "$4" "$2" |
		head -n 1 | sed 's/^0*//'
}

# both CHUNKS1 DATAGRAMS1 CHUNKS2 DATAGRAMS2: runs two workers at once; the jobs are $job1 and $job2.
round=0
both() {
	round=$((round + 1))
	work user1 "/tmp/mark$round" "$1" "$2" >"$e2e_work/job1" &
	work user2 "/tmp/mark$round" "$3" "$4" >"$e2e_work/job2"
	wait
	job1=$(cat "$e2e_work/job1")
	job2=$(cat "$e2e_work/job2")
	wait_booked "$job1" || bail "slurmdbd has job '$job1'"
	wait_booked "$job2" || bail "slurmdbd has job '$job2'"
	wait_for 60 is_used "$job1" extern In ic/ceems_net
	wait_for 60 is_used "$job2" extern In ic/ceems_net
}

# check STEP NONE JOB CHUNKS DATAGRAMS WHOSE: JOB must have these amounts more than NONE, a worker with 0 CHUNKS
check() {
	local step=$1 none=$2 job=$3 bytes=$(($4 * 65536)) datagrams=$5 side

	for side in In Out; do
		is "$(difference "$none" "$job" "$step" $side fs/ceems)" $bytes "$6: I/O $side, step $step"
		is "$(difference "$none" "$job" "$step" $side ic/ceems_io_calls)" "$4" "$6: calls $side"
		is "$(usage "$job" "$step" $side ic/ceems_net)" $bytes "$6: TCP $side"
		if [ -n "$(usage "$job" "$step" $side ic/ceems_packets)" ]; then
			is "$(usage "$job" "$step" $side ic/ceems_udp)" $((datagrams * 1000)) "$6: UDP $side"
		else
			skip "no packets are counted here"
		fi
	done
}

both 0 0 0 0
none1=$job1 none2=$job2
# Some kernels run no tracing programs in some tasks, such as a sandbox's process 1, and a socket that closes in an
# interrupt there is not counted. Missing bytes are tried again, surplus bytes never.
lacks() {
	local side bytes

	for side in In Out; do
		bytes=$(usage "$1" 0 $side ic/ceems_net)
		[ "${bytes:-0}" -ge $(($2 * 65536)) ] || return 0
	done
	return 1
}
for attempt in 1 2 3 4 5; do
	both 640 30 160 700
	lacks "$job1" 640 || lacks "$job2" 160 || break
	diag "attempt $attempt: the end of a connection was not seen"
done
for step in 0 extern; do
	check $step "$none1" "$job1" 640 30 "the first job"
	check $step "$none2" "$job2" 160 700 "the second"
done

# in_kafka JOB: its last record in Kafka has the final energy
in_kafka() {
	record=$(inside timeout 60 kcat -b "$KAFKA_BOOTSTRAP" -t ceems.jobs -C -e -q -o beginning |
		jq -c "select(.jobid == $1 and .energy.final)" | tail -n 1)
	[ -n "$record" ]
}
for job in $job1 $job2; do
	wait_for 60 in_kafka "$job"
	ok $? "Kafka has the record of job $job"
	in_kafka "$job"
	is "$(jq -r '.usage | [.io.read_bytes, .io.write_bytes, .net.tcp_received_bytes,
		.net.tcp_sent_bytes] | join(" ")' <<<"$record")" \
		"$(for tres in fs/ceems ic/ceems_net; do
			usage "$job" extern In $tres
			usage "$job" extern Out $tres
		done | paste -sd ' ')" "with the bytes that sacct has"
done
done_testing
