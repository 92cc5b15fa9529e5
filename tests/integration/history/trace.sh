#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=70
# test: lab=page_idle thorough cost=60
# shellcheck disable=SC2016 # jq has variables of its own
#
# vmwss trace: the set of a payload that changes its set, in the file and in what is said of it. A TCG guest by pageout, which
# looks at one page in 64 KiB, and ends of all kinds: its own, --max-size, interrupt, kill -9, a full disk, the guest's; and files
# that are none. In the lab a KVM guest, page for page, by a census of idle, also of a set that stays, and of huge pages.

libs=(guests traced)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# Sets of 16 and of 4 MiB, the smaller of which is part of the larger; how each is told by the pages in $guests_dir/pages.
if [[ $accel == tcg ]]; then
	# As many pages as pageout can look at: one of each 64 KiB, from 32 MiB on.
	all=(-n 2000000 -m pageout) params="total=64M start=32M phases=6:16M,6:4M"
	windows=(0.5 1) count=20 longest=16
	start() { MACHINE=pc,memory-backend=mem start_payload "$1" tcg "$2" -m "$3" -object "memory-backend-memfd,id=mem,size=$3,share=on"; }
	# in_stretch FROM TO PERIOD: so many of the period's pages are within these MiB.
	in_stretch() { awk -v from="$(($1 * 256))" -v to="$(($2 * 256))" -v period="$3" '$1 == period && $2 >= from && $2 < to' "$guests_dir/pages" | wc -l; }
	count_sets() {
		local period other=0
		large=0 small=0
		for period in $(seq "$(jq '.periods | length' <<<"$json")"); do
			case "$(in_stretch 32 36 "$period") $(in_stretch 36 48 "$period") $(in_stretch 16 32 "$period") $(in_stretch 48 128 "$period")" in
			'64 192 0 0') large=$((large + 1)) ;;
			'64 0 0 0') small=$((small + 1)) ;;
			*' 0 0') ;; # the set changed meanwhile, or the guest did not get through it
			*) other=$((other + 1)) ;;
			esac
		done
		comment "periods with pages elsewhere: $other"
		((other == 0))
	}
	# 192 pages of the panel are 12 MiB, the payload's own page or two beside.
	grew() { holds_json '[.periods[1:][] | select(.touched_pages - .kept_pages >= 192 and .touched_pages - .kept_pages <= 200 and .kept_pages >= 64)] | length > 0'; }
	shrank() { holds_json '[.periods[1:][] | select(.departed.bytes > 11.5 * 1048576 and .departed.bytes < 13 * 1048576 and .kept_pages >= 64)] | length > 0'; }
	is_union() { holds_json '.windows[-1] | .wss_low_bytes <= 16777216 and .wss_high_bytes >= 16777216 and .wss_bytes > 15.5 * 1048576 and .wss_bytes < 17.5 * 1048576'; }
	# It grew once or twice in 20 periods, by three quarters of what it then was; after 8 periods nothing is new.
	misses() { holds_json '[.windows[] | .missed | numbers] | .[0] > 0.02 and .[0] < 0.15 and .[-1] < 0.01'; }
else
	all=(--census -m idle) params="total=96M pattern=random phases=8:16M,8:4M"
	windows=(1 2) count=10 longest=8
	start() { start_payload "$1" kvm "$2" -m "$3"; }
	count_sets() {
		large=$(periods_of "total=96M hot=16M pattern=random memory=128M")
		small=$(periods_of "total=96M hot=4M pattern=random memory=128M")
	}
	# The payload's own few pages come and go with its steps.
	grew() { holds_json '[.periods[1:][] | .new.bytes] | max | . >= 12582912 and . < 12582912 + 65536'; }
	shrank() { holds_json '[.periods[1:][] | .departed.bytes] | max == 12582912'; }
	is_union() { holds_json '.windows[-1] | .wss_bytes >= 16777216 and .wss_bytes < 16777216 + 65536'; }
	misses() { holds_json '.windows | map(.missed | numbers) | .[0] > 0.02 and .[-1] < 0.001'; }
fi
# trace_it ARG...: and what it says.
trace_it() {
	trace "${all[@]}" "$@" && show || return 1
	traced_pages >"$guests_dir/pages"
}
# has_both: a trace in which the set grew and shrank by 12 MiB between two of its periods. A guest that gets no processor for
# the whole of a period touches nothing, so once more.
has_both() {
	local i
	for ((i = 0; i < 3; i++)); do
		trace_it -w "${windows[0]},${windows[1]}" --count $count || return 1
		count_sets || continue
		comment "of $count periods $large are the larger set, and $small the smaller"
		if ((large > 1 && small > 1)) && grew && shrank; then return 0; fi
	done
	return 1
}
csv() { "$vmwss" trace --show "$trace_file" --csv; }

# A census of idle, of KVM: each page.
check_set_that_stays() {
	local params="total=96M hot=16M pattern=random"
	stays() {
		local i n
		for ((i = 0; i < 3; i++)); do
			trace_it -w 1,2 --count 4 || return 1
			n=$(periods_of "$params memory=128M")
			comment "$n of 4 periods are the payload's set, page for page"
			((n < 4)) || return 0
		done
		return 1
	}
	if start stays "$params" 128; then
		check "random pages: each period is the payload's set, page for page" stays
		check "all of it was reused, from 16 MiB on" holds_json 'all(.periods[1:][]; .reused > 0.999)'
		check "every page was looked at" holds_json 'all(.periods[]; .pages == 32768)'
		check "no window has more than the first" holds_json '.windows | map(select(.periods > 0)) | .[-1].wss_bytes - .[0].wss_bytes <= 65536'
		check "nothing was missed" holds_json '.windows | map(.missed | numbers) | all(. < 0.001)'
		check "the figures are counts" holds_json 'all(.periods[]; .readings[-1].wss_bytes == .touched_pages * 4096)'
		stop_guest "$pid"
	fi
}
check_huge_pages() {
	if THP=yes start_payload huge kvm "total=64M hot=16M start=32M" -m 128; then
		check "a census" trace_it -w 1 --count 2
		check "8 huge pages, at their address" test "$(awk '$1 == 2 && $2 >= 8192' "$guests_dir/pages" | wc -l)" = 4096
		check "and that they are huge" test "$(csv | awk -F, '$13 == "touched" && $9 >= 33554432 && $12 != 2097152' | wc -l)" = 0
		stop_guest "$pid"
	fi
}
if [[ $accel == kvm ]]; then
	echo "# a set that stays"
	check_set_that_stays
	echo "# huge pages"
	check_huge_pages
fi

echo "# a set that changes"
if ! start changes "$params" 128M; then finish; exit; fi
check "$count periods: sets of 16 and of 4 MiB, and between them 12 that are new, and 12 that departed" has_both
check "it says how many, and why it ended" grep -qE "$count periods, .* complete\$" "$guests_dir/said"
check "it is not cut" holds_json "(.cut | not) and .ended == \"complete\" and (.periods | length) == $count"
check "where the set stayed it was reused" holds_json '[.periods[1:][] | select(.reused > 0.98)] | length > 4'
check "the longest window is so many periods" holds_json ".windows[-1].periods == $longest"
check "and has all 16 MiB, the union of both sets" is_union
check "no longer window has less" holds_json '[.windows[] | .wss_bytes] | . == sort'
check "the windows are as long as they should be" holds_json "${windows[0]} as \$w"' | (.windows[0] | .periods == 0 and .window_s > 0.8 * $w and
	.window_s < 2 * $w) and all(.windows[1:][]; .window_s >= .periods * 0.9 and .watched_s <= .window_s + 1e-6)'
check "what a period had that one before it had not, and eight had" misses
check "a touch is between two readings" test "$(csv | awk -F, 'NR > 1 && $13 == "touched" && !($4 < $5)' | wc -l)" = 0
table=$("$vmwss" trace --show "$trace_file")
check "tables" grep -qE "^ +$longest .* MiB" <<<"$table"
comment "$table"
if [[ $accel == kvm ]]; then finish; exit; fi

check "the panel's claim is in it" grep -q 'A panel of [0-9]* pages' <<<"$table"
echo "# a panel"
check "it is made" trace -n 4000 -m pageout -w 0.5 --count 3
show
check "and holds the truth of its longest window, at twice its width" holds_json '.windows[-1] | 2 * .wss_low_bytes - .wss_bytes <= 16777216 and
	2 * .wss_high_bytes - .wss_bytes >= 4194304'
check "it is for nobody else to read" test "$(stat -c %a "$trace_file")" = 600
check "the file is small" test "$(stat -c %s "$trace_file")" -lt 20000

echo "# ends"
# ends_as REASON: an end that says so, after two periods or more.
ends_as() { show && jq -e --arg reason "$1" '(.cut | not) and (.ended | contains($reason)) and (.periods | length) >= 2' >/dev/null <<<"$json"; }
# is_cut PERIODS: it was not ended, and so many can be read.
is_cut() { show && jq -e --argjson n "$1" '.cut and .ended == null and (.periods | length) == $n' >/dev/null <<<"$json"; }
check "a limit" trace "${all[@]}" -w 0.2 --count 200 --max-size 8K
check "the file is no larger" test "$(stat -c %s "$trace_file")" -le 8192
check "and ends properly" ends_as 'the size limit was reached'
expect_exit "an existing file is not touched" 2 'the file exists' "$vmwss" trace --pid "$pid" --out "$trace_file" -m pageout -w 0.2
check "and still is a trace" show

# begin_trace: in the background, until two periods are in the file.
begin_trace() {
	local i
	rm -f "$trace_file"
	"$vmwss" trace --pid "$pid" --out "$trace_file" "${all[@]}" -w 0.2,0.5 >"$guests_dir/said" 2>"$guests_dir/messages" &
	tracer=$!
	for ((i = 0; i < 300; i++)); do
		if show 2>/dev/null && holds_json '.periods | length >= 2'; then return 0; fi
		sleep 0.2
	done
	return 1
}
ended_with() { wait "$tracer"; (($? == $1)); }
check "one is begun; it can be shown meanwhile" begin_trace
kill -INT "$tracer"
check "interrupt: status 130" ended_with 130
check "and a proper end" ends_as interrupted
check "one is begun" begin_trace
kill -KILL "$tracer"
check "kill -9" ended_with 137
show
whole=$(jq '.periods | length' <<<"$json")
check "it is read up to its last whole period, and says that it is cut" is_cut "$whole"
check "of which there are two or more" test "$whole" -ge 2
check "on standard error, too" grep -q 'cut at byte' "$guests_dir/messages"
truncate -s -10 "$trace_file"
check "without its last bytes it has a period less" is_cut $((whole - 1))
check "nobody holds the guest after kill -9" trace "${all[@]}" -w 0.2 --count 1

mkdir "$guests_dir/disk"
# In a mount namespace of its own, on a disk of 16 KiB.
on_full_disk() {
	unshare -m -- bash -c 'mount -t tmpfs -o size=16k none "$1/disk" && shift && "$@"; status=$?; cp "$0/disk/trace" "$0/trace"; exit $status' \
		"$guests_dir" "$guests_dir" "$vmwss" trace --pid "$pid" --out "$guests_dir/disk/trace" "${all[@]}" -w 0.05 --count 300
}
rm -f "$trace_file"
expect_exit "a full disk" 2 'No space left on device' on_full_disk
check "what was written is a trace with an end that says so" ends_as 'No space left'

check "one is begun" begin_trace
stop_guest "$pid"
check "the guest ends: status 3" ended_with 3
check "and the trace with it" ends_as 'the guest ended'

echo "# refusals"
echo 'not a trace at all' >"$guests_dir/text"
expect_exit "another file" 2 'not a trace of vmwss' "$vmwss" trace --show "$guests_dir/text"
expect_exit "a directory" 2 'not a regular file' "$vmwss" trace --show "$guests_dir"
mkfifo "$guests_dir/fifo"
expect_exit "a FIFO" 2 'not a regular file' timeout 5 "$vmwss" trace --show "$guests_dir/fifo"
printf 'X' | dd of="$trace_file" bs=1 seek=60 conv=notrunc status=none
expect_exit "a damaged file" 2 'damaged at byte' "$vmwss" trace --show "$trace_file"
expect_exit "nowhere to write" 1 'one of them' "$vmwss" trace --pid 1
expect_exit "both" 1 'one of them' "$vmwss" trace --pid 1 --out x --csv
expect_exit "a guest to show" 1 'no guest' "$vmwss" trace --show x web1
expect_exit "an interval that is too short" 1 'shorter than the longest' "$vmwss" trace --pid 1 --out x -i 1 -w 2
finish
