#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: thorough lab=page_idle cost=120
#
# In the lab: khugepaged makes huge pages of a guest's memory within the window. It joins pages that were marked one by one,
# and fills holes with pages nobody touched; and DAMON follows huge pages that several cohorts share.

libs=(guests moving)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

mib=1048576
thp=/sys/kernel/mm/transparent_hugepage
methods=(zap)
[[ ! -e /sys/kernel/mm/page_idle/bitmap ]] || methods+=(idle)
[[ ! -e /sys/kernel/mm/damon ]] || methods+=(damon)

# With huge pages from the start, or with khugepaged in a hurry.
huge_pages() { echo "$1" >$thp/enabled; }
echo 0 >$thp/khugepaged/alloc_sleep_millisecs
echo 65536 >$thp/khugepaged/pages_to_scan
echo 511 >$thp/khugepaged/max_ptes_none
# It scans processes only that had a huge page, or could have had one, since it was allowed: the guest gets one where the
# payload leaves its RAM alone, 80 to 95 MiB. It leaves alone what was not touched lately.
khugepaged_works() {
	echo 100 >$thp/khugepaged/scan_sleep_millisecs
	huge_pages always
	printf '\0' | dd "of=/proc/$pid/mem" bs=1 seek="$(($(ram_end) - 10 * mib))" conv=notrunc status=none
}

# Where the mapping of 96 MiB ends that is guest RAM.
ram_end() {
	local range rest
	while read -r range rest; do
		if ((0x${range#*-} - 0x${range%-*} == 96 << 20)); then
			echo "$((0x${range#*-}))"
			return
		fi
	done <"/proc/$pid/maps"
}

# The guest's huge pages in KiB, of /proc/PID/smaps_rollup.
huge_kib() { awk '/^AnonHugePages:/ { print $2 }' "/proc/$pid/smaps_rollup"; }
huge_above() { (($(huge_kib) > $1)); }

# begin_collapsing WINDOW METHOD MIB: measures a window in whose middle khugepaged makes so many MiB of huge pages. khugepaged has
# the idlest of the machine's time.
begin_collapsing() {
	"$vmwss" measure --pid "$pid" -m "$2" -n 4000 -w "$1" --json >"$guests_dir/record" 2>"$guests_dir/messages" &
	measuring=$!
	settles measured_by "$pid" "$measuring"
	sleep 3
	khugepaged_works
	settles huge_above "$(($3 * 1024))" && kill -0 "$measuring" 2>/dev/null
}

# collapsed_within WHAT PARAMS METHOD MIB: in a longer window of a new guest if khugepaged came too late.
collapsed_within() {
	local what=$1 params=$2 method=$3 truth wss low high flags window measuring in_time=
	truth=$(truth "$params")
	for window in 12 36 72; do
		huge_pages never
		if ! THP=yes start_payload "${what//[, ]/-}-$window" kvm "$params" -m 96; then return; fi
		if begin_collapsing "$window" "$method" "$4"; then in_time=yes && break; fi
		echo "# $what: $(huge_kib) KiB of huge pages came too late for $window s"
		wait "$measuring"
		stop_guest "$pid"
	done
	check "$what: khugepaged makes huge pages within the window" test -n "$in_time"
	[[ -n $in_time ]] || return
	wait "$measuring"
	local status=$?
	if ((status == 2)); then
		check "$what: refused, for nothing could be seen" grep -q 'nothing could be measured.* unmeasurable by this method' "$guests_dir/messages"
		stop_guest "$pid"
		return
	fi
	check "$what: measured" test $status = 0
	record=$(cat "$guests_dir/record")
	read -r wss low high < <(jq -r '.windows[-1] | [.wss_bytes, .wss_low_bytes, .wss_high_bytes]
		| map(. / 1048576 * 10 | round / 10) | join(" ")' <<<"$record")
	flags=$(jq -r '.flags | join(",")' <<<"$record")
	# At twice its width, as check_panel has it.
	check "$what: $(awk "BEGIN { printf \"%.1f\", $truth / $mib }") MiB is in $wss [$low, $high] MiB, $flags" holds \
		"2 * $(field wss_low_bytes) - $(field wss_bytes) <= $truth && $truth <= 2 * $(field wss_high_bytes) - $(field wss_bytes)"
	check "$what: flagged" record_has '.flags | index("thp") or index("partial")'
	stop_guest "$pid"
}

for method in "${methods[@]}"; do
	echo "# $method: marked pages are joined; 16 of 64 MiB are hot"
	collapsed_within "$method, joined" "total=64M hot=16M" "$method" 14

	echo "# $method: holes are filled; every fourth page of 64 MiB is there, and hot"
	collapsed_within "$method, filled" "total=64M hot=16M pattern=strided stride=16K populate=hot" "$method" 56
done

if [[ -e /sys/kernel/mm/damon ]]; then
	echo "# damon: huge pages that the cohorts share; half of them are hot"
	huge_pages always
	params="total=128M hot=64M"
	if THP=yes start_payload shared kvm "$params" -m 256; then
		begin_following -m damon -w 2,4 -n 2000
		check "followed over five times the longest window" eventually has_records 12
		end_following
		hot=$((($(truth "$params" hot_huge_pages) + 1) * 2 * mib))
		read -r least most < <(jq -rs '[.[2:][] | .windows[].wss_bytes / 1048576 | round] | "\(min) \(max)"' "$followed")
		check "$((hot / mib)) MiB of huge pages: $least to $most MiB in every window" holds "$least > 0.85 * $hot / $mib && $most < 1.15 * $hot / $mib"
		stop_guest "$pid"
	fi
fi

finish
