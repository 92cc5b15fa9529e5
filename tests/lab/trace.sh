#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle cost=60
# shellcheck disable=SC2016 # jq has variables of its own
#
# In the lab, kernel page_idle: the trace of a guest under KVM is the payload's own list of pages, page for page and period by
# period, by a census of idle: of a set that stays, and of one that grows and shrinks.

libs=(guests traced)
# shellcheck source=../lib/preamble.sh
. "$(dirname "$0")/../lib/preamble.sh"

census=(--census -m idle)
# trace_it ARG...: and what it says; a guest that does not get through its set in some period is asked again.
trace_it() {
	trace "${census[@]}" "$@" && show || return 1
	traced_pages >"$guests_dir/pages"
}

echo "# a set that stays"
params="total=96M hot=16M pattern=random"
stays() {
	local i
	for i in 1 2 3; do
		trace_it -w 1,2 --count 4 || return 1
		n=$(periods_of "$params memory=128M")
		comment "$n of 4 periods are the payload's set, page for page"
		((n < 4)) || return 0
	done
	return 1
}
if start_payload stays kvm "$params" -m 128; then
	check "random pages: each period is the payload's set, page for page" stays
	check "all of it was reused, from 16 MiB on" holds_json 'all(.periods[1:][]; .reused > 0.999)'
	check "every page was looked at" holds_json 'all(.periods[]; .pages == 32768)'
	check "no window has more than the first" holds_json '.windows | map(select(.periods > 0)) | .[-1].wss_bytes - .[0].wss_bytes <= 65536'
	check "nothing was missed" holds_json '.windows | map(.missed | numbers) | all(. < 0.001)'
	check "the figures are counts" holds_json 'all(.periods[]; .readings[-1].wss_bytes == .touched_pages * 4096)'
	stop_guest "$pid"
fi

echo "# a set that grows and shrinks"
# Of ranks 0 to 1023, and to 4095: the smaller set is part of the larger.
params="total=96M pattern=random phases=8:16M,8:4M"
changes() {
	local i large small
	for i in 1 2 3; do
		trace_it -w 1,2 --count 10 || return 1
		large=$(periods_of "total=96M hot=16M pattern=random memory=128M")
		small=$(periods_of "total=96M hot=4M pattern=random memory=128M")
		comment "of 10 periods $large are the larger set, page for page, and $small the smaller"
		((large < 2 || small < 2)) && continue
		if holds_json '[.periods[1:][] | .departed.bytes] | max == 12582912' && grew; then return 0; fi
	done
	return 1
}
# The payload's own few pages come and go with its steps.
grew() { holds_json '[.periods[1:][] | .new.bytes] | max | . >= 12582912 and . < 12582912 + 65536'; }
if start_payload changes kvm "$params" -m 128; then
	check "both sets, page for page, and all 3072 pages between them as departed and as new" changes
	check "their union is the larger set" holds_json '.windows[-1] | .periods == 8 and .wss_bytes >= 16777216 and .wss_bytes < 16777216 + 65536'
	check "of a period after one much is missed, after eight nothing" holds_json '.windows | map(.missed | numbers) | .[0] > 0.02 and .[-1] < 0.001'
	stop_guest "$pid"
fi

echo "# huge pages"
if THP=yes start_payload huge kvm "total=64M hot=16M start=32M" -m 128; then
	check "a census" trace_it -w 1 --count 2
	check "8 huge pages, at their address" test "$(awk '$1 == 2 && $2 >= 8192' "$guests_dir/pages" | wc -l)" = 4096
	check "and that they are huge" test "$("$vmwss" trace --show "$trace_file" --csv | awk -F, '$13 == "touched" && $9 >= 33554432 && $12 != 2097152' | wc -l)" = 0
	stop_guest "$pid"
fi
finish
