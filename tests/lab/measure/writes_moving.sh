#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=7.3 cost=230
# test: extra lab=6.12 turn cost=230
#
# In the lab, Debian's stock 7.3 and 6.12: the write working set of a guest whose memory moves after it was written. It reads 32
# MiB and writes 8 of them, is stopped within the window once it has got through them, and then its pages are swapped out and
# in, migrated, joined, split, or merged. No number is wrong without a flag.

libs=(guests moving outsiders writes)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

thp=/sys/kernel/mm/transparent_hugepage
params="total=96M hot=32M write=8M"
t=$(truth "$params" written_bytes)

start_moving() {
	monitor_begin
	start_payload "$1" kvm "$params" -m 256 "${monitor[@]}" "${@:2}" || return 1
	monitor_read
}

passes_now() { tail -n 2 "$guests_dir/passes" | head -n 1 | jq '.[1]'; }
got_to() { (($(passes_now) >= $1)); }
begun() { measured_by "$pid" "$(pgrep -P "$measuring")" && [[ -s $guests_dir/passes ]]; }

right_or_flagged() { is_truth "$t" || ! in_no_doubt; }

# moves WHAT ACT...: a measurement of writes, in which the guest gets through its set, is stopped, and then ACT happens.
moves() {
	local what=$1 window measuring in_time=
	for window in 20 60; do
		count_passes "${serial_of[$pid]}" "$pid" "$guests_dir/passes"
		rm -f "$guests_dir/passes"
		"${passes[@]}" "$vmwss" measure --writes --json --pid "$pid" -w "$window" >"$guests_dir/record" 2>"$guests_dir/messages" &
		measuring=$!
		settles begun
		sleep 1
		settles got_to $(($(passes_now) + 3))
		hmp stop
		sleep 0.5
		check "$what: done" "${@:2}"
		if kill -0 $measuring 2>/dev/null; then in_time=yes; fi
		wait "$measuring"
		hmp cont
		if [[ -n $in_time ]]; then break; fi
	done
	cat "$guests_dir/messages"
	check "$what: within the window" test -n "$in_time"
	record=$(<"$guests_dir/record")
	if [[ -z $record ]]; then
		fail "$what: measured"
		return
	fi
	check "$what: the guest got through" guest_ran
	say "$what" "$t"
	check "$what: the bounds hold the truth" holds_truth "$t"
	check "$what: wrong only with a flag" right_or_flagged
}

echo 512M >/sys/block/zram0/disksize
mkswap /dev/zram0 >/dev/null
swapon /dev/zram0
echo 0 >/proc/sys/vm/swappiness

out_and_in() { outsider pageout 0 128 && outsider mem 0 128; }
merged() { (($(</proc/"$pid"/ksm_merging_pages) >= $1)); }
merges() {
	echo 20000 >/sys/kernel/mm/ksm/pages_to_scan
	echo 1 >/sys/kernel/mm/ksm/run
	settles merged 1500
	local status=$?
	echo 0 >/sys/kernel/mm/ksm/run
	return $status
}
# Those that were written, and some of those that were not.
migrates() {
	python3 - "$pid" <<-'END'
	import sys
	for line in open(f"/proc/{sys.argv[1]}/maps"):
	    begin, end = (int(x, 16) for x in line.split()[0].split("-"))
	    if end - begin == 256 << 20:
	        break
	with open(f"/proc/{sys.argv[1]}/pagemap", "rb", 0) as file:
	    file.seek(begin // 4096 * 8)
	    entries = memoryview(file.read((end - begin) // 4096 * 8)).cast("Q")
	pages = [e for e in entries if e >> 63 & 1]
	moving = [e for e in pages if e >> 55 & 1][::32] + [e for e in pages if not e >> 55 & 1][::128]
	migrated = 0
	for entry in moving:
	    try:
	        with open("/sys/devices/system/memory/soft_offline_page", "w") as file:
	            file.write(hex((entry & ((1 << 55) - 1)) << 12))
	        migrated += 1
	    except OSError: # the zero page
	        pass
	sys.exit(migrated < 200)
	END
}
ram_begin() {
	local range rest
	while read -r range rest; do
		if ((0x${range#*-} - 0x${range%-*} == 256 << 20)); then echo "$((0x${range%-*}))"; fi
	done <"/proc/$pid/maps"
}
huge_mib() { awk '/^AnonHugePages:/ { print int($2 / 1024) }' "/proc/$pid/smaps_rollup"; }
# It fails for what is absent, and Linux 6.12 ends there.
joins() {
	outsider collapse 0 128
	(($(huge_mib) >= 2))
}
# The pages that it works on are split: to split all of them takes a lab long.
splits() {
	local before begin
	before=$(huge_mib)
	begin=$(ram_begin)
	printf '%d,%#x,%#x' "$pid" $((begin + (16 << 20))) $((begin + (48 << 20))) >/sys/kernel/debug/split_huge_pages
	((before - $(huge_mib) >= 24))
}

# guest KIND ACT...: what happens to one guest, one after the other.
guest() {
	local kind=$1 act
	if ! start_moving "$kind" "${options[@]}"; then return; fi
	for act in "${@:2}"; do moves "$kind, $act" "$act"; done
	stop_guest "$pid"
}

options=()
# Huge pages are allowed for this process, but none come by faults.
echo never >$thp/enabled
THP=yes guest joined joins
echo always >$thp/enabled
# Or it joins again what was split.
echo 0 >$thp/khugepaged/defrag
echo 3600000 >$thp/khugepaged/scan_sleep_millisecs
THP=yes guest huge splits
guest anonymous out_and_in migrates merges
options=(-object "memory-backend-memfd,id=m,size=256M")
MACHINE=pc,memory-backend=m guest memfd out_and_in

finish
