#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core tcg cost=255
#
# Others at a TCG guest's memory: what they unmap, clear or read within a window is flagged, and the bounds hold the truth. RAM that
# its file has and QEMU does not map is counted with its neighbours; large folios of a file on a disk take no marks.

libs=(guests outsiders)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

mib=1048576

# Memory of its own kind for each guest: anon, memfd, a private file on a disk, or a file that is full already and was never mapped here.
memory() {
	MACHINE=pc,memory-backend=mem
	# shellcheck disable=SC2054 # as QEMU has them
	case $1 in
	anon) options=(-object memory-backend-ram,id=mem,size=256M) ;;
	memfd) options=(-object memory-backend-memfd,id=mem,size=256M,share=on) ;;
	private) options=(-object "memory-backend-file,id=mem,size=256M,mem-path=$disk,share=off") ;;
	full-*)
		head -c 256M /dev/zero | tr '\0' '\1' >"$ram"
		options=(-object "memory-backend-file,id=mem,size=256M,mem-path=$ram,share=${1#full-}")
		;;
	esac
}

# start_with MEMORY PARAMS QEMU-OPTION...
start_with() {
	memory "$1"
	start_payload "guest-$1" tcg "$2" -m 256 "${options[@]}" "${@:3}"
}

# within WINDOWS METHOD AFTER EVENT...: measures, with the event so many seconds after it has begun.
within() {
	local windows=$1 method=$2 after=$3
	shift 3
	"$vmwss" measure --json --pid "$pid" -w "$windows" -m "$method" >"$guests_dir/record" 2>"$guests_dir/messages" &
	local measuring=$!
	settles measured_by "$pid" "$measuring"
	sleep "$after"
	"$@"
	wait "$measuring" || cat "$guests_dir/messages" >&2
	record=$(<"$guests_dir/record")
}

ram=$(mktemp /dev/shm/vmwss-t.XXXX)
disk=$(mktemp /var/tmp/vmwss-t.XXXX)
trap 'rm -f -- "$ram" "$disk"; end_guests' EXIT

echo "# bits that others take: 40 MiB were hot for 4 s, then 4"
params="total=96M phases=4:40M,600:4M"
for act in clear_refs "outsider cold 0 256"; do
	for method in cold referenced; do
		[[ $act == clear_refs || $method == cold ]] || continue
		if start_with anon "$params"; then
			# shellcheck disable=SC2086 # an event and its words
			within 8 "$method" 5 $act
			check "$method, $act: flag bits-taken" has_flag bits-taken
			holds_truth "$method, $act" $((40 * mib))
			# shellcheck disable=SC2086
			within 1,2,4 "$method" 3 $act
			check "$method, $act: no window less than a shorter one" record_has '[.windows[].wss_bytes] | . == sort'
			holds_truth "$method, $act, in steady state" "$(truth "total=96M hot=4M")"
			stop_guest "$pid"
		fi
	done
done

# Pages of a private mapping that were only read leave it, those among them that came after the marking.
private_left() {
	local params="total=96M populate=none phases=$1"
	start_with private "$params" || return
	within "$2" referenced "$3" outsider pageout 0 256
	check "pageout, a private mapping, $1: flag bits-taken" has_flag bits-taken
	check "pageout, a private mapping, $1: pages have left" record_has ".resident_bytes < $((20 * mib))"
	holds_truth "pageout, a private mapping, $1" $((40 * mib))
	stop_guest "$pid"
}
private_left 4:40M,600:4M 8 5
private_left 3:1M,3:40M,600:1M 10 7

# Huge pages that are mapped as such have no flag to lose: their sum falls.
for method in cold referenced; do
	act=clear_refs
	[[ $method == referenced ]] || act="outsider cold 0 256"
	if THP=yes start_with anon "total=96M phases=10:40M,600:4M"; then
		# shellcheck disable=SC2086
		within 20 "$method" 13 $act
		check "$method, $act, huge pages: flags bits-taken, thp" record_has '.flags | index("bits-taken") and index("thp")'
		check "$method, $act, huge pages: no less than before: $(field wss_bytes)" holds "$(field wss_bytes) >= $((40 * mib))"
		holds_truth "$method, $act, huge pages" $((40 * mib))
		measure --pid "$pid" -m "$method" -w 2
		check "$method, huge pages, left alone: no flag" lacks_flag bits-taken
		stop_guest "$pid"
	fi
done

# Locked memory cannot be marked cold, and its pages keep the flags by which this is known.
if start_with anon "$params" -overcommit mem-lock=on; then
	within 6 auto 5 clear_refs
	check "locked memory by $(field method), clear_refs: flag bits-taken" has_flag bits-taken
	holds_truth "locked memory, clear_refs" $((40 * mib))
	measure --pid "$pid" -w 1
	check "locked memory, left alone: no flag" lacks_flag bits-taken
	stop_guest "$pid"
fi

echo "# pages that others unmap, of memory that is shared: a fault at one maps its neighbours"
params="total=192M pattern=strided stride=64K hot=4M"
t=$(truth "$params")
if start_with memfd "$params"; then
	for method in cold referenced pageout; do
		# The second time QEMU maps the neighbours of what is hot only, and all of them come back.
		for again in "" ", again"; do
			within 3 "$method" 1 outsider pageout 0 256
			check "$method, pageout within the window$again: flag bits-taken" has_flag bits-taken
			holds_truth "$method, pageout within the window$again" "$t"
		done
		outsider pageout 0 256
		measure --pid "$pid" -m "$method" -w 2
		holds_truth "$method, pageout before the window" "$t"
		[[ $method == pageout ]] || check_census "$method, then" "$t" 1 --pid "$pid" -m "$method" -w 1
		[[ $method != pageout ]] || check_panel "$method, then" "$t" --pid "$pid" -m "$method" -w 1 -n 4000
		check "$method, then: no flag" lacks_flag bits-taken
	done
	stop_guest "$pid"
fi

echo "# and a panel that is followed, of a guest whose every page comes back as a neighbour"
params="total=64M pattern=strided stride=64K hot=4M"
t=$(truth "$params")
records=$guests_dir/records
n_records() { wc -l <"$records"; }
calm() { jq -es 'all(.[]; .flags | index("bits-taken") | not)' "$records" >/dev/null; }
has_records() { (($(n_records) >= $1)); }
# since N FILTER: a record after the first N says so.
since() { tail -n "+$(($1 + 1))" "$records" | jq -es "any(.[]; $2)" >/dev/null 2>&1; }
if start_with memfd "$params"; then
	"$vmwss" ages --json --pid "$pid" -m pageout -w 1 -i 1 -n 4000 >"$records" 2>"$guests_dir/messages" &
	following=$!
	check "ages: follows it" settles has_records 3
	check "ages: no flag at first" calm
	for again in "" ", again"; do
		n=$(n_records)
		outsider pageout 0 256
		check "ages, pageout within the window$again: flag bits-taken" settles since "$n" '.flags | index("bits-taken")'
		n=$(n_records)
		check "ages, then$again: no flag" settles since "$n" '.flags | index("bits-taken") | not'
	done
	kill -INT "$following"
	wait "$following"
	record=$(jq -cs '{mode: "panel", windows: [.[] | select(.flags | index("bits-taken") | not).windows[]]}' "$records")
	holds_truth "ages, records without the flag" "$t"
	stop_guest "$pid"
fi

echo "# bits that others take beside pageout, which counts by mappings: from above the number holds"
both() { outsider "$1" 0 256 && outsider "$2" 0 256; }
read_and_clear() { outsider mem 100 32 && clear_refs; }
if start_with memfd "$params"; then
	within 3 pageout 1 both pageout cold
	check "pageout, pageout and cold: flag bits-taken" has_flag bits-taken
	holds_truth "pageout, pageout and cold" "$t"
	stop_guest "$pid"
fi
params="total=192M hot=8M pattern=random"
t=$(truth "$params")
if start_with memfd "$params"; then
	for act in clear_refs "outsider cold 0 256" read_and_clear; do
		# shellcheck disable=SC2086
		within 3 pageout 1 $act
		check "pageout, $act: flag bits-taken" has_flag bits-taken
		holds_truth "pageout, $act" "$t"
		# A page that was read once more, before its flag was cleared, looks like one that others unmapped.
		[[ $act == read_and_clear ]] ||
			check "pageout, $act: the upper bound is the interval's: $(field wss_bytes), $(field wss_high_bytes)" \
				holds "$(field wss_high_bytes) < $(field wss_bytes) + 0.05 * $(field resident_bytes)"
	done
	stop_guest "$pid"
fi

echo "# a file that was full when QEMU mapped it: 16 MiB come, a page of each 64 KiB"
params="total=192M pattern=strided stride=64K populate=none phases=2:64K,600:8M"
t=$((8 * mib))
for share in on off; do
	for method in cold referenced pageout; do
		[[ $share == on || $method == cold ]] || continue
		if start_with full-$share "$params"; then
			within 4 "$method" 0 true
			holds_truth "$method, share=$share" "$t"
			[[ $method == pageout ]] || check "$method, share=$share: flag first-mapping" has_flag first-mapping
			[[ $method == pageout ]] || check_census "$method, share=$share, then" "$t" 1 --pid "$pid" -m "$method" -w 2
			check "$method, share=$share, then: no flag" lacks_flag first-mapping
			stop_guest "$pid"
		fi
	done
done

echo "# a file that others fill within the window, before the guest reads a page of each 64 KiB"
fill() { map_ram 0 160 && unmap_ram; }
for method in cold pageout; do
	if start_with memfd "total=192M pattern=strided stride=64K populate=none phases=8:64K,600:8M"; then
		within 12 "$method" 0 fill
		check "$method, filled by others: flag first-mapping" has_flag first-mapping
		check "$method, filled by others: no flag dump" lacks_flag dump
		holds_truth "$method, filled by others" "$t"
		stop_guest "$pid"
	fi
done

echo "# a guest that fills the file itself"
for method in cold pageout; do
	if start_with memfd "total=192M populate=none phases=6:64K,600:96M"; then
		within 12 "$method" 0 true
		check "$method, filled by the guest: no flag ($(jq -c .flags <<<"$record"))" \
			record_has '.flags - ["first-mapping", "dump"] == .flags'
		holds_truth "$method, filled by the guest" $((96 * mib))
		stop_guest "$pid"
	fi
done

others='["read-by-others", "bits-taken", "first-mapping"]'

# measure_alone WINDOW TIMES: sets record, to all of these.
measure_alone() { record=$("$vmwss" measure --json --pid "$pid" -m "$method" -w "$1" -i "$(jq -n "$1 + 0.1")" -k "$2" | jq -s .); }
# Each window that the guest ran in, of the measurement before, has bounds of 16 pages at most around the truth.
all_narrow() {
	record=$(jq '[.[] | select(.flags - ["idle-guest", "paused"] == .flags).windows[0]]' <<<"$record")
	record_has "length > 0 and all(.[]; .wss_high_bytes - .wss_low_bytes <= 65536 and
		.wss_low_bytes <= $t * 1.01 and .wss_high_bytes >= $t * 0.99)"
}
# On a machine that starves the guest a short window may be too short for its set: then in longer ones.
all_narrow_sometime() {
	local window
	for window in 1 4 16 64; do
		if all_narrow; then return; fi
		echo "# not each in time: $(jq -c 'map([.wss_low_bytes, .wss_high_bytes]) | unique' <<<"$record")"
		measure_alone "$window" 4
	done
	all_narrow
}

echo "# RAM that others read, through the kernel or a monitor; and guests that are left alone"
params="total=192M hot=8M pattern=random"
t=$(truth "$params")
for kind in anon memfd private; do
	options=()
	memory "$kind"
	if start_payload "guest-$kind" tcg "$params" -m 256 "${options[@]}" -qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
		for method in cold referenced pageout; do
			[[ $kind == memfd || $method != pageout ]] || continue
			for act in "outsider mem 100 32" "outsider readv 100 32" monitor "outsider mem 0 256"; do
				[[ $method != pageout || $act != *256 ]] || continue # nothing is left to measure
				[[ $kind == memfd || $act == *32 ]] || continue
				# shellcheck disable=SC2086
				within 3 "$method" 1 $act
				check "$kind, $method, $act: flag read-by-others" has_flag read-by-others
				holds_truth "$kind, $method, $act" "$t"
			done
			measure_alone 0.2 20
			check "$kind, $method, left alone 20 times: no flag of others" \
				record_has "length == 20 and all(.[]; .flags - $others == .flags)"
			[[ $method == pageout ]] || check "$kind, $method, left alone: bounds of 16 pages at most, of $t bytes" all_narrow_sometime
		done
		stop_guest "$pid"
	fi
done

echo "# RAM that others map when pages are marked, and no more when they are counted; and the other way round"
if start_with memfd "$params"; then
	for method in cold pageout; do
		map_ram 100 64
		within 3 "$method" 1 unmap_ram
		holds_truth "$method, unmapped by others within the window" "$t"
		within 2,8 "$method" 4 map_ram 100 64
		holds_truth "$method, mapped by others within the window" "$t"
		unmap_ram
	done
	stop_guest "$pid"
fi

echo "# RAM in a shared file of a file system with large folios"
if [[ $(stat -f -c %T "$disk") == ext2/ext3 || $(stat -f -c %T "$disk") == xfs ]]; then
	truncate -s 256M "$disk"
	params="total=192M hot=8M pattern=strided stride=16K"
	t=$(truth "$params")
	MACHINE=pc,memory-backend=mem
	if start_payload disk tcg "$params" -m 256 -object "memory-backend-file,id=mem,size=256M,mem-path=$disk,share=on"; then
		rss() { awk '/^RssFile/ { print $2 }' "/proc/$pid/status"; }
		before=$(rss)
		measure --pid "$pid" -w 2
		holds_truth "auto by $(field method), a file on a disk" "$t"
		measure --pid "$pid" -w 2 -m referenced
		holds_truth "referenced, a file on a disk" "$t"
		if ! measure --pid "$pid" -w 1 -m cold; then
			check "cold is refused by name" grep -q 'cold: marks do not take' "$guests_dir/messages"
		else
			holds_truth "cold, a file on a disk" "$t"
		fi
		check "nothing was unmapped" holds "$(rss) > 0.98 * $before"
		stop_guest "$pid"
	fi
else
	skip "a file on a disk" "$(stat -f -c %T "$disk") has no large folios"
fi

finish
