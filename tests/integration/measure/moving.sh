#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core tcg cost=98
# test: lab=page_idle_module core args=idle,zap cost=230
# test: name=moving_all lab=page_idle thorough cost=460
#
# While memory moves: what a balloon takes is gone from the number at once, cold or touched. A TCG guest, and in the lab one of
# KVM by every method of its kernel, or those named.

libs=(guests moving)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

mib=1048576
methods=(pageout)
if [[ $accel == kvm ]]; then
	methods+=(zap)
	[[ ! -e /sys/kernel/mm/page_idle/bitmap ]] || methods+=(idle)
	[[ ! -e /sys/kernel/mm/damon ]] || methods+=(damon)
fi

# start_moving PARAMS METHOD: a guest of 96 MiB with a balloon and a monitor, its RAM as the method wants it.
start_moving() {
	monitor_begin
	local memory=()
	[[ $2 != pageout && ${MEMORY:-} != memfd ]] || memory=(-object "memory-backend-memfd,id=mem,size=96M,share=on")
	MACHINE=pc${memory[0]:+,memory-backend=mem} start_payload "moving-$2" "$accel" "$1" -m 96 "${memory[@]}" \
		-device virtio-balloon-pci "${monitor[@]}" || return 1
	monitor_read
}

# punch OFFSET BYTES: discards part of the guest's RAM file as QEMU does.
punch() {
	local fd
	for fd in "/proc/$pid/fd"/*; do
		[[ $(readlink "$fd") != *memfd:memory-backend-memfd* ]] || break
	done
	fallocate --punch-hole --offset "$1" --length "$2" "$fd"
}

# balloon_takes MIB: and waits until it is gone.
balloon_takes() {
	local before
	before=$(tail -n 1 "$followed" | jq .resident_bytes)
	hmp "balloon $((96 - $1))"
	settles last_is ".resident_bytes < $before - $1 * mib * 0.95"
}

(($# == 0)) || methods=("$@")
for method in "${methods[@]}"; do
	echo "# $method: a balloon takes 40 MiB of cold memory; 16 MiB are hot"
	params="total=64M hot=16M balloon=host"
	if start_moving "$params" "$method"; then
		t=$(truth "$params")
		begin_following -m "$method" -w 2,6,20 -n 4000
		check "$method: followed" eventually has_records 8
		# While the guest gives its pages back it does not touch its set, which may take longer than the shortest window.
		began=$(records)
		check "$method: the balloon takes 40 MiB" balloon_takes 40
		after=$(records)
		check "$method: followed on" eventually has_records $((after + 8))
		end_following
		check_all "$method, cold memory ballooned" "$after" "$t"
		check_all "$method, before it" 0 "$t" 0 "$began"
		stop_guest "$pid"
	fi

	echo "# $method: the same between the readings of two windows of one measurement"
	if start_moving "$params" "$method"; then
		followed=$guests_dir/measured.json
		"$vmwss" measure --pid "$pid" -m "$method" -w 1,10 -n 4000 --json >"$followed" &
		measuring=$!
		settles measured_by "$pid" "$measuring"
		sleep 4
		hmp "balloon 56"
		check "$method: measured" wait "$measuring"
		check_all "$method, two windows" 0 "$(truth "$params")"
		check "$method: it left before the end" last_is '.resident_bytes < 32 * mib'
		check "$method: each window is of what was resident when it was read" last_is '.flags | index("unsettled") == null'
		stop_guest "$pid"
	fi

	echo "# $method: 56 MiB were touched; the guest steps down to 8 MiB, and 40 of the 48 that cooled down are discarded"
	# On a slow machine the records after the step come so late that the window no longer reaches back beyond it: then a longer one.
	for long in 50 150 450; do
		MEMORY=memfd start_moving "total=64M phases=$((long + 4)):56M,3600:8M" "$method" || break
		begin_following -m "$method" -w "2,$long" -n 4000
		check "$method: the short window sees the step" eventually last_is "window(2).wss_bytes < 12 * mib and window($long)"
		punch $((24 * mib)) $((40 * mib))
		after=$(($(records) + 1))
		check "$method: followed on" eventually has_records $((after + 3))
		end_following
		stop_guest "$pid"
		if ((long == 450)) || reaches_back "$after" "$long"; then break; fi
	done
	check_all "$method, touched and still there" "$after" $((16 * mib)) "$long"
	check_gone "$method" "$after" $((40 * mib)) "$long"
done

finish
