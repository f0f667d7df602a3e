# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# A node's GPUs: this machine's own (--gpus), or simulated ones (--fake-gpus). For simulated GPUs, each node has
# a state file, which tests/fake's library (NVML, AMD SMI) reads at every call (format: tests/fake/fake_gpu.h), and one
# device file per GPU for gres.conf.

# gpu_library: the stand-in for the maker's library, below the build folder; none: there are only files.
gpu_library() {
	case $GPU_MAKER in
	nvidia) echo tests/fake/.libs/fake_nvml.so ;;
	amd) echo tests/fake/.libs/fake_amdsmi26.so ;;
	esac
}

# gpu_file NODE GPU: its device file.
gpu_file() {
	case $GPU_MAKER in
	nvidia) echo "$DIR/gpus/$1/nvidia$2" ;;
	*) echo "$DIR/gpus/$1/renderD$((128 + $2))" ;;
	esac
}

# gpu_create_amd NODE GPU: a node of the kernel's topology. The address is that of tests/fake/fake_gpu.h.
gpu_create_amd() {
	local kfd=$DIR/sysroot/$1/sys/class/kfd/kfd/topology

	mkdir -p "$kfd/nodes/$2"
	echo 1 >"$kfd/generation_id"
	printf 'device_id 29857\nlocation_id %d\ndomain 0\ndrm_render_minor %d\nunique_id %d\n' \
		$(((0x40 + $2) << 8)) $((128 + $2)) $((4711 + $2)) >"$kfd/nodes/$2/properties"
}

# gpu_create_intel NODE GPU: the hwmon files of the driver xe.
gpu_create_intel() {
	local sys=$DIR/sysroot/$1/sys pci hwmon

	pci=0000:$((40 + $2)):00.0
	hwmon=devices/$pci/hwmon/hwmon$2
	mkdir -p "$sys/$hwmon" "$sys/devices/$pci/drm/renderD$((128 + $2))" "$sys/class/hwmon"
	ln -s "../../$hwmon" "$sys/class/hwmon/hwmon$2"
	ln -s "../../../$pci" "$sys/$hwmon/device"
	echo 0x8086 >"$sys/devices/$pci/vendor"
	echo 0x0bd5 >"$sys/devices/$pci/device"
	echo xe >"$sys/$hwmon/name"
	echo card >"$sys/$hwmon/energy1_label"
	echo 00000000001000000 >"$sys/$hwmon/energy1_input"
}

# mig_words: a line per instance of --fake-mig: GPU GI TYPE [?]
mig_words() {
	tr ' ' '\n' <<<"$FAKE_MIG" | sed -n 's/?$/ ?/; s/:/ /gp'
}

# mig_flags GPU: its flags in the state file; an A100 of 40 GB has 7 slices and 40192 MB.
mig_flags() {
	mig_words | awk -v gpu="$1" '
		$1 != gpu { next }
		!text { text = "mig=7.40192" }
		$4 != "?" { split($3, size, /g[.b]?/); text = text "+" $2 ".0." size[1] "." size[1] "." size[2] * 1004 }
		END { print text ? text : "ok" }'
}

# Minor numbers as NVIDIA's driver gives them. gres.conf names only the file of the compute instance.
mig_create() {
	local dir=$DIR/gpus/$1 gpu gi type proc=$DIR/sysroot/$1/proc/driver/nvidia-caps

	mkdir -p "$dir/nvidia-caps" "$proc"
	cp "$SRCDIR/tests/fixtures/a100-mig/proc/driver/nvidia-caps/mig-minors" "$proc"
	while read -r gpu gi type _; do
		mknod "$dir/nvidia-caps/nvidia-cap$((4 + 135 * gpu + 9 * gi))" c 1 7
	done < <(mig_words)
}

gpu_create() {
	local n g library

	library=$(gpu_library)
	if [ -n "$library" ]; then
		[ -e "$BUILDDIR/$library" ] || die "--fake-gpus: $BUILDDIR/$library is not built"
		conf_install modules "$BUILDDIR/$library"
	fi
	[ "$GPU_MAKER" != amd ] || ln -s "${library##*/}" "$DIR/modules/libamd_smi.so.26"
	for ((n = 1; n <= NODES; n++)); do
		mkdir -p "$DIR/gpus/n$n"
		for ((g = 0; g < FAKE_GPUS; g++)); do
			# /dev/full: harmless to open, and no program fails if Slurm denies a job access
			mknod "$(gpu_file "n$n" "$g")" c 1 7
			[ "$GPU_MAKER" = nvidia ] || "gpu_create_$GPU_MAKER" "n$n" "$g"
			echo "$g 1000000 50000 0 0 81920 $(mig_flags "$g")"
		done >"$DIR/gpus/n$n/state"
		[ -z "$FAKE_MIG" ] || mig_create "n$n"
	done
}

# gpu_files NODE: the device files of its GPUs, one a line; none: it has no GPU.
gpu_files() {
	local g

	for ((g = 0; g < FAKE_GPUS; g++)); do
		gpu_file "$1" "$g"
	done
	[ "$WITH_GPUS" = no ] || find /dev -maxdepth 1 -name 'nvidia[0-9]*' | sort -V
}

# The type of a whole GPU where there are instances, which have types of their own.
gpu_types() {
	{
		gpu_files n1 | grep -vE "nvidia($(mig_words | cut -d ' ' -f 1 | paste -s -d '|'))\$" | sed 's/.*/whole/'
		mig_words | cut -d ' ' -f 3
	} | sort | uniq -c | awk '{ print "gpu:" $2 ":" $1 }' | paste -s -d ,
}

# Whole GPUs first, so that tests see whether the instances that follow are taken for theirs.
gpu_gres_mig() {
	local gpu gi type

	gpu_files "$1" | grep -vE "nvidia($(mig_words | cut -d ' ' -f 1 | paste -s -d '|'))\$" |
		sed "s/.*/NodeName=$1 Name=gpu Type=whole File=&/"
	while read -r gpu gi type _; do
		echo "NodeName=$1 Name=gpu Type=$type" \
			"File=$DIR/gpus/$1/nvidia-caps/nvidia-cap$((4 + 135 * gpu + 9 * gi))"
	done < <(mig_words)
}

# Lines of gres.conf.
gpu_gres() {
	local n files

	for ((n = 1; n <= NODES && ${#FAKE_MIG}; n++)); do
		gpu_gres_mig "n$n"
	done
	[ -z "$FAKE_MIG" ] || return 0
	for ((n = 1; n <= NODES; n++)); do
		mapfile -t files < <(gpu_files "n$n")
		printf "NodeName=n$n Name=gpu File=%s\n" "${files[@]}"
		echo "NodeName=n$n Name=shard Count=$((4 * ${#files[@]}))"
	done
}

# gpu_advance_intel NODE GPU MJ: in place, because the reader keeps the file open.
gpu_advance_intel() {
	local file=$DIR/sysroot/$1/sys/class/hwmon/hwmon$2/energy1_input old

	[ -e "$file" ] || die "gpu: $1 has no GPU $2"
	exec 9<"$file"
	flock 9
	read -r old <"$file"
	printf '%0*d\n' ${#old} $((10#$old + $3 * 1000)) |
		dd of="$file" conv=notrunc bs=64 iflag=fullblock status=none
}

# gpu_advance NODE GPU +MJ [FLAGS [BUSY USED]]: advances its energy counter, and sets its flags and use.
gpu_advance() {
	local node=${1:-} gpu=${2:-} step=${3:-} flags=${4:-} busy=${5:-} used=${6:-} state

	[[ $gpu =~ ^[0-9]+$ && $step =~ ^\+[0-9]{1,15}$ ]] ||
		die "gpu: DIR NODE GPU +MILLIJOULES [FLAGS [BUSY USED]], not '$*'"
	state=$DIR/gpus/$node/state
	[ -e "$state" ] || die "gpu: no $state (start --fake-gpus N makes N per node)"
	if [ "$GPU_MAKER" = intel ]; then
		gpu_advance_intel "$node" "$gpu" "${step#+}"
		return
	fi
	exec 9<"$DIR/gpus/$node"
	flock 9
	awk -v gpu="$gpu" -v step="${step#+}" -v flags="$flags" -v busy="$busy" -v used="$used" '
		$1 == gpu { $2 = sprintf("%d", $2 + step); found = 1 }
		found == 1 && (flags || $7 !~ /^mig=/) { $7 = flags ? flags : "ok" }
		found == 1 && busy != "" { $4 = busy }
		found == 1 && used != "" { $5 = used }
		found { found = 2 }
		{ print }
		END { exit !found }
	' "$state" >"$state.new" || die "gpu: $node has no GPU $gpu"
	mv "$state.new" "$state"
}
