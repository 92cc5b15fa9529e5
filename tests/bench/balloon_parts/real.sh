#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Real Linux guests at work, emulated, at sizes by their balloons: real.sh [--hour] OPTION...; see tests/bench/balloon --help.
# Here guests, vmwssd and vmwss-balloond are started; what is measured of them is real.py's.

# shellcheck disable=SC2154 # what the libraries set: shellcheck finds them from a folder beside lib/ only
libs=(libvirtd guests linux_guest vmwssd balloond)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

works=redis,heap sizes=T,0.9T,0.8T,0.7T,1 swap=no statistics=agent seconds=10 rounds=3 record=/dev/null hour=no oracle=no assigned=512 most=600 words=
while (($#)); do
	case $1 in
	--work) works=$2 ;;
	--sizes) sizes=$2 ;;
	--swap) swap=$2 ;;
	--statistics) statistics=$2 ;;
	--seconds) seconds=$2 ;;
	--rounds) rounds=$2 ;;
	--record) record=$2 ;;
	--hour) hour=$2 ;;
	--oracle) oracle=$2 ;;
	--most) most=$2 ;;
	--words) words=$2 ;; # of the guests' kernel
	*) fail "real.sh: $1: there is no such option"; exit 2 ;;
	esac
	shift 2
done

die() {
	fail "$1"
	[[ ! -s $guests_dir/messages ]] || sed 's/^/# /' "$guests_dir/messages"
	exit 1
}
for program in tcc redis-cli redis-benchmark redis-check-rdb mke2fs; do
	command -v $program >/dev/null || { echo "1..0 # SKIP missing $program: apt-get install redis-tools tcc e2fsprogs"; exit 77; }
done
export BALLOON=virtio RAM_XML="$memfd"
# vmwssd writes that as another user.
chmod o+x "$guests_dir"

image() {
	gcc -std=gnu11 -O2 -static -Wall "$root/vm-images/linux/counted.c" -o "$guests_dir/counted" &&
		linux_image "$agent_program" "$guests_dir/counted" "$root/vm-images/linux/work" "$(command -v tcc)" \
			"$(command -v redis-cli)" "$(command -v redis-benchmark)" "$(command -v redis-check-rdb)"
}
# Reads 200 MiB once, and 60 MiB again and again, for "files".
disk() {
	local i
	mkdir "$guests_dir/tree" "$guests_dir/tree/cold" "$guests_dir/tree/hot"
	for ((i = 0; i < 50; i++)); do head -c 4M /dev/urandom >"$guests_dir/tree/cold/$i"; done
	for ((i = 0; i < 15; i++)); do head -c 4M /dev/urandom >"$guests_dir/tree/hot/$i"; done
	truncate -s 320M "$guests_dir/disk"
	mke2fs -q -t ext4 -d "$guests_dir/tree" "$guests_dir/disk" && rm -r "$guests_dir/tree"
}
# at_work NAME WORDS: a guest of this name; its instructions are counted in $guests_dir/NAME.count; or what it touches is noted
# in $guests_dir/NAME.map.
at_work() {
	local words="psi=1 guest.toucher=no $words $2" disk='' no_agent=''
	[[ $swap == no ]] || words+=" guest.zram=256M"
	case $statistics in
	agent) words+=" guest.run=vmwss-guest,serve" ;;
	*) no_agent=yes ;;
	esac
	if [[ $2 == *guest.run=work,files* ]]; then
		words="guest.mount=vda $words"
		disk=$(linux_disk "$guests_dir/disk" vda)
	fi
	local plugin=count-plugin.so,map=$guests_dir/$1.count
	[[ $oracle == no ]] || plugin=oracle-plugin.so,map=$guests_dir/$1.map,slot_ms=5000,slots=16
	# The guest's clock goes by what it has executed, 4 ns an instruction: by wall time a busy machine gives it more ticks, and a
	# redis more of what it does ten times a second, for each unit of work, and has it wait for memory while others run.
	QEMU_ARGS="-icount shift=2 -plugin $build/tests/oracle/$plugin" NO_AGENT=$no_agent \
		linux_create "$1" "$assigned" "$words" "$disk" || return
	[[ $statistics == none ]] || embed_virsh dommemstat "$1" --period 1 --live >/dev/null
}
real() {
	python3 "$root/tests/bench/balloon_parts/real.py" "$1" --uri "$embed_uri" --vmwss "$vmwss" --database "$db" --dir "$guests_dir" \
		--consoles "$embed_dir" --assigned "$assigned" --swap "$swap" --statistics "$statistics" --seconds "$seconds" \
		--record "$record" "${@:2}"
}

IFS=, read -ra names <<<"$works"
[[ $works != *files* ]] || disk || die "the disk of files"
image || die "the guests' image"
libvirtd_begin || die "libvirtd"
if [[ $hour != no ]]; then
	# shellcheck source=real_hour.sh
	. "$(dirname "$0")/real_hour.sh"
	exit
fi
vmwssd_conf 'window = 5,20,60' 'samples = 2000' 'budget = 40%' 'guest-budget = 20%' \
	"agents = $([[ $statistics == agent ]] && echo yes || echo no)"
for name in "${names[@]}"; do at_work "$name" "guest.run=work,$name" 2>"$guests_dir/messages" || die "guest $name"; done
for name in "${names[@]}"; do
	linux_says "$name" 'vmwss-work ready' 300 2>"$guests_dir/messages" || die "guest $name works"
	echo "# $name is at work after $SECONDS s"
done
if [[ $oracle != no ]]; then
	echo "# what they touch in a minute"
	sleep 70
	for name in "${names[@]}"; do
		"$build/tests/oracle/oracle" --map "$guests_dir/$name.map" --ago 6 --window 55 |
			jq -c --arg work "$name" --arg swap "$swap" '{kind: "oracle", work: $work, swap: $swap, touched_bytes: .high.both.bytes}' |
			tee -a "$record"
	done
	exit
fi
vmwssd_begin --config "$guests_dir/conf"
real advise "${names[@]}" || die "vmwss advise"
# From here on the guest alone is measured.
vmwssd_end TERM
real sizes --until $((EPOCHSECONDS + most - SECONDS)) --sizes "$sizes" --rounds "$rounds" "${names[@]}" || die "not measured"
