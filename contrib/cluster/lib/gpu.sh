# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# A node's GPUs: this machine's own (--gpus), or such that are only played (--fake-gpus): per node a file of
# them, which a stand-in for NVIDIA's library reads at every call (tests/fake/fake_gpu.h has its form), and a
# device file each, for gres.conf.

gpu_library=tests/fake/.libs/fake_nvml.so

gpu_create() {
	local n g

	[ -e "$BUILDDIR/$gpu_library" ] || die "--fake-gpus: $BUILDDIR/$gpu_library is not built"
	conf_install modules "$BUILDDIR/$gpu_library"
	for ((n = 1; n <= NODES; n++)); do
		mkdir -p "$DIR/gpus/n$n"
		for ((g = 0; g < FAKE_GPUS; g++)); do
			# a character device that is harmless, and that nobody misses who may not open it: full
			mknod "$DIR/gpus/n$n/nvidia$g" c 1 7
			echo "$g 1000000 50000 0 0 81920 ok"
		done >"$DIR/gpus/n$n/state"
	done
}

# gpu_files NODE: the device files of its GPUs, one a line; none: it has no GPU.
gpu_files() {
	local g

	for ((g = 0; g < FAKE_GPUS; g++)); do
		echo "$DIR/gpus/$1/nvidia$g"
	done
	[ "$WITH_GPUS" = no ] || find /dev -maxdepth 1 -name 'nvidia[0-9]*' | sort -V
}

# Lines of gres.conf.
gpu_gres() {
	local n files

	for ((n = 1; n <= NODES; n++)); do
		mapfile -t files < <(gpu_files "n$n")
		printf "NodeName=n$n Name=gpu File=%s\n" "${files[@]}"
		echo "NodeName=n$n Name=shard Count=$((4 * ${#files[@]}))"
	done
}

# gpu_advance NODE GPU +MJ [FLAGS]: its energy counter, and what is the matter with it.
gpu_advance() {
	local node=${1:-} gpu=${2:-} step=${3:-} flags=${4:-ok} state

	[[ $gpu =~ ^[0-9]+$ && $step =~ ^\+[0-9]{1,15}$ ]] ||
		die "gpu: DIR NODE GPU +MILLIJOULES [FLAGS], not '$*'"
	state=$DIR/gpus/$node/state
	[ -e "$state" ] || die "gpu: no $state (start --fake-gpus N makes N per node)"
	exec 9<"$DIR/gpus/$node"
	flock 9
	awk -v gpu="$gpu" -v step="${step#+}" -v flags="$flags" '
		$1 == gpu { $2 = sprintf("%d", $2 + step); $7 = flags; found = 1 }
		{ print }
		END { exit !found }
	' "$state" >"$state.new" || die "gpu: $node has no GPU $gpu"
	mv "$state.new" "$state"
}
