#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle cost=60
# shellcheck disable=SC2016 # jq has variables of its own
#
# In the lab, kernel page_idle: the map of a guest under KVM against the payload's own list of pages, chunk by chunk and to the
# page, by a census of idle: patterns, two nodes, above 4 GiB, huge pages.

libs=(guests)
# shellcheck source=../lib/preamble.sh
. "$(dirname "$0")/../lib/preamble.sh"

chunk=$((1 << 20))
map_json() {
	json=$("$vmwss" map --pid "$pid" --json --census -m idle -w 1,2 --chunk "$chunk" 2>"$guests_dir/messages") && return
	cat "$guests_dir/messages" >&2
	json=null
	return 1
}
# holds_json FILTER: a jq filter that is true of it; $chunks: in the order of RAM.
holds_json() { jq -e '[.regions[].chunks[]] as $chunks | .regions as $regions | '"$1" >/dev/null <<<"$json"; }
# truth_of PARAMS: hot bytes by the number of the chunk in RAM, as a JSON object.
truth_of() {
	# shellcheck disable=SC2086 # parameters are words
	"$truth_tool" --list-ram $1 | awk -v pages=$((chunk / 4096)) '{ n[int($1 / pages)]++ } END { for (c in n) print c, n[c] * 4096 }' |
		jq -Rs '[split("\n")[] | select(. != "") | split(" ") | {key: .[0], value: .[1] | tonumber}] | from_entries'
}
# To the page, but for the lowest 16 MiB, where the payload's own pages are.
is_exact() {
	holds_json "$(truth_of "$1")"' as $want | [range($chunks | length)] | map(select(. >= 16) | . as $c |
		select($chunks[$c].windows[-1].wss_bytes != ($want[$c | tostring] // 0))) | if . == [] then true else debug | false end'
}
check_map() { # WHAT PARAMS
	local i
	check "$1: a census" map_json
	# A guest that does not get through its whole set within the window touched less: then once more.
	for i in 1 2 3; do
		holds_json "$(truth_of "$2")"' as $want | ($chunks[16:] | map(.windows[-1].wss_bytes) | add) >=
			([$want | to_entries[] | select((.key | tonumber) >= 16) | .value] | add)' && break
		echo "# $1: not all of it was touched, attempt $i"
		map_json
	done
	check "$1: every chunk is what was touched there, to the page" is_exact "$2"
	check "$1: the sums are the record's" holds_json '. as $all | ([$chunks[].windows[-1].wss_bytes] | add) == $all.windows[-1].wss_bytes'
	check "$1: every page was looked at" holds_json 'all($chunks[]; .pages * 4096 == .bytes)'
}

params="total=96M hot=16M pattern=random"
if start_payload random kvm "$params" -m 128; then
	check_map "random pages" "$params memory=128M"
	stop_guest "$pid"
fi

echo "# two nodes"
params="total=160M hot=8M pattern=strided stride=64K"
if start_payload nodes kvm "$params" -m 256 -object memory-backend-ram,id=a,size=128M -object memory-backend-ram,id=b,size=128M \
	-numa node,memdev=a -numa node,memdev=b; then
	check_map "strided pages" "$params memory=256M"
	check "nodes" holds_json '[$regions[] | [.block, .node, .gpa]] == [["a", 0, 0], ["b", 1, 134217728]]'
	stop_guest "$pid"
fi

echo "# above 4 GiB"
params="total=32M hot=8M start=4098M populate=hot"
if MACHINE=pc,memory-backend=mem start_payload high kvm "$params" -m 4G -object memory-backend-memfd,id=mem,size=4G,share=on; then
	check_map "above 4 GiB" "$params memory=4G"
	check "at its address" holds_json '[$regions[1].chunks[] | select(.windows[-1].wss_bytes > 0) | .gpa] == [range(8) * 1048576 + 4297064448]'
	stop_guest "$pid"
fi

echo "# huge pages"
chunk=$((2 << 20))
if THP=yes start_payload huge kvm "total=64M hot=16M start=32M" -m 128; then
	check "huge pages: a census" map_json
	check "huge pages: what was touched, and that they are huge" holds_json '$chunks[16:24] | all(.windows[-1].wss_bytes == 2097152 and .huge_bytes == 2097152)'
	check "huge pages: and what was not" holds_json '$chunks[24:48] | all(.windows[-1].wss_bytes == 0 and .resident_bytes == 2097152)'
	stop_guest "$pid"
fi
finish
