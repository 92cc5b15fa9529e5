#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: thorough lab=page_idle options=--numa cost=120
#
# In the lab, with page_idle, two NUMA nodes: the host migrates the guest's pages to other frames within the window, or
# splits its huge pages. KVM's mappings are dropped for that, and their accessed bits are lost where MGLRU is on or the
# kernel is 6.13 or later. What waits for accessed bits must say so, with bounds that hold the truth.

libs=(guests moving)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

mib=1048576
lru_gen=/sys/kernel/mm/lru_gen/enabled
thp=/sys/kernel/mm/transparent_hugepage/enabled

other_node() {
	check "its pages go to the other node" migrated "$pid" "$node" "$((1 - node))"
	node=$((1 - node))
}
# Another process does, with half as much memory.
other_process() { check "the mover moves itself" migrated 0 0 1 && migrated 0 1 0; }
# The mapping of 80 MiB that is guest RAM.
split() {
	local range rest
	while read -r range rest; do
		if ((0x${range#*-} - 0x${range%-*} == 80 << 20)); then
			echo "$pid,0x${range%-*},0x${range#*-}" >/sys/kernel/debug/split_huge_pages
		fi
	done <"/proc/$pid/maps"
}
# How far the high bound is above the number, in MiB.
spread() { jq '(.windows[-1] | .wss_high_bytes - .wss_bytes) / 1048576 | floor' <<<"$record"; }
# in_doubt WHAT: a number with bounds that hold, and a flag; or none, when nothing was measurable.
in_doubt() {
	if ((status == 2)); then
		check "$1: refused, for nothing could be seen" grep -q 'nothing could be measured.* unmeasurable by this method' "$guests_dir/messages"
		return
	fi
	check "$1: measured" test "$status" = 0
	check "$1: the bounds hold the truth" bounds_hold
	check "$1: flag partial" has_flag partial
}
start_suspendable() {
	monitor_begin
	start_payload "$1" kvm "$params" -m 80 "${monitor[@]}" || return 1
	monitor_read
	migrated "$pid" 1 0
	node=0
}

mover_begin
echo 0 >/proc/sys/kernel/numa_balancing
echo never >$thp
params="total=48M hot=16M"
t=$(truth "$params")

echo "# MGLRU on: KVM's bits are lost"
echo y >$lru_gen
if start_suspendable lost; then
	for method in damon "idle --census"; do
		# shellcheck disable=SC2086 # words
		during "$method, migrated" other_node -m $method
		in_doubt "$method, migrated"
	done
	# It moves there and back, which has taken 4 s and more.
	during_s=16 during "another process" other_process -m idle --census
	check "the bounds hold the truth" bounds_hold
	check "nothing is in doubt" holds "$(spread) < 2"

	echo "# followed over time"
	"$vmwss" ages --json --pid "$pid" -m idle -w 2,8 >"$guests_dir/ages" &
	measuring=$!
	settles measured_by "$pid" "$measuring"
	sleep 3
	hmp stop
	other_node
	check "ages: measured" wait $measuring
	hmp cont
	record=$(<"$guests_dir/ages")
	jq -c '[.windows, .ages, .flags]' <<<"$record"
	check "the window that reaches back over it holds the truth" record_has ".windows[1].wss_high_bytes >= $t"
	stop_guest "$pid"
fi

echo "# the classic LRU, before Linux 6.13: they are carried along"
echo n >$lru_gen
if start_suspendable carried; then
	during "idle --census, migrated" other_node -m idle --census
	check "the bounds hold the truth" bounds_hold
	check "nothing is in doubt" holds "$(spread) < 2"
	stop_guest "$pid"
fi

echo "# huge pages that are split"
echo y >$lru_gen
echo always >$thp
t=$(($(truth "$params" hot_huge_pages) * 2 * mib))
if THP=yes start_suspendable split; then
	# Splitting each of them takes a lab that is busy 4 s and more.
	during_s=16 during "idle --census, split" split -m idle --census
	in_doubt "idle --census, split"
	stop_guest "$pid"
fi

finish
