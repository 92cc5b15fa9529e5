#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=15
# test: lab=page_idle thorough cost=60
# shellcheck disable=SC2016 # jq has variables of its own
#
# vmwss map: what a payload touches at known guest-physical addresses, below and above 4 GiB, is what the map says chunk by
# chunk. A TCG guest by pageout, which looks at one page in 64 KiB, and the picture in several terminals, CSV and SVG; in the
# lab a KVM guest to the page, by a census of idle: patterns, two nodes, huge pages.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

mib=$((1 << 20))
if [[ $accel == tcg ]]; then
	# As many pages as pageout can look at.
	chunk=$((2 * mib)) windows=0.5,1 all=(-n 2000000 -m pageout)
else
	chunk=$mib windows=1,2 all=(--census -m idle)
fi
# start_memfd NAME PARAMS SIZE
start_memfd() { MACHINE=pc,memory-backend=mem start_payload "$1" "$accel" "$2" -m "$3" -object "memory-backend-memfd,id=mem,size=$3,share=on"; }
map() { "$vmwss" map --pid "$pid" "$@"; }
# map_json ARG...: into $json.
map_json() { json=$(map --json "$@" 2>"$guests_dir/messages") || { cat "$guests_dir/messages" >&2; json=null; return 1; }; }
# holds_json FILTER: a jq filter that is true of it; $chunks: in the order of RAM.
holds_json() { jq -e '[.regions[].chunks[]] as $chunks | .regions as $regions | '"$1" >/dev/null <<<"$json"; }
# truth_of PARAMS: the payload's hot bytes by the number of the chunk in RAM, without its own few pages, as a JSON object.
truth_of() {
	# shellcheck disable=SC2086 # parameters are words
	"$truth_tool" --list-ram $1 | awk -v pages=$((chunk / 4096)) '{ n[int($1 / pages)]++ } END { for (c in n) print c, n[c] * 4096 }' |
		jq -Rs '[split("\n")[] | select(. != "") | split(" ") | {key: .[0], value: .[1] | tonumber}] | from_entries'
}
# From here on: the payload's own pages, code, stack and tables, are below 16 MiB.
first=$((16 * mib / chunk))
# map_of_all PARAMS: of all pages; again when the guest has not got through its whole set within the window.
map_of_all() {
	local i
	for ((i = 0; i < 5; i++)); do
		map_json "${all[@]}" -w "$windows" --chunk "$chunk" || return 1
		! holds_json "$(truth_of "$1") as \$want | $first as \$first"' | ($chunks[$first:] | map(.windows[-1].wss_bytes) | add) >=
			([$want | to_entries[] | select((.key | tonumber) >= $first) | .value] | add)' || return 0
		comment "not all of it was touched, attempt $i"
	done
}
is_exact() {
	holds_json "$(truth_of "$1") as \$want | $first as \$first"' | [range($chunks | length)] | map(select(. >= $first) | . as $c |
		($want[$c | tostring] // 0) as $hot | $chunks[$c].windows[-1] |
		select(.wss_bytes != $hot or .wss_low_bytes > $hot or .wss_high_bytes < $hot)) | if . == [] then true else debug | false end'
}
check_map() { # WHAT PARAMS
	check "$1: all pages" map_of_all "$2"
	check "$1: every chunk is what was touched there" is_exact "$2"
	check "$1: no later window has less" holds_json 'all($chunks[].windows; .[0].wss_bytes <= .[1].wss_bytes)'
	[[ $accel == kvm ]] || return 0
	check "$1: the sums are the record's" holds_json '. as $all | ([$chunks[].windows[-1].wss_bytes] | add) == $all.windows[-1].wss_bytes'
	check "$1: every page was looked at" holds_json 'all($chunks[]; .pages * 4096 == .bytes)'
}

# again COMMAND...: as measure_it_running, of what does not tell: a guest that gets no processor touches nothing.
again() {
	local i
	for ((i = 0; i < 5; i++)); do "$@" && return; done
	return 1
}
in_ascii() {
	plain=$(COLUMNS=100 LC_ALL=C map "${all[@]}" -w 0.5,1 --chunk 2M --svg "$guests_dir/map.svg")
	grep -qE '^ +in 0.5s\|.{16}#{8} {40}\| +[0-9.]+ MiB$' <<<"$plain"
}
in_blocks() {
	utf8=$(COLUMNS=50 LC_ALL=C.UTF-8 map "${all[@]}" -w 0.5 --chunk 2M)
	grep -qE '^ +in 0.5s\|.{16}████████' <<<"$utf8"
}
wide() { awk -v width="$1" 'length($0) > width { wide = 1 } END { exit wide }'; }
on_terminal() { LC_ALL=C.UTF-8 COLUMNS=100 script -qec "$vmwss map --pid $pid ${all[*]} -w 0.5,1 --chunk 2M" /dev/null; }
csv_has() {
	csv=$(map --csv "${all[@]}" -w 0.5,1 --chunk 16M | tr -d '\r')
	grep -qxE "$1" <<<"$csv"
}
# Pictures show the stretch from 32 MiB on, of 16 MiB.
check_pictures() {
	check "in ASCII: which characters" again in_ascii
	comment "$plain"
	check "and what is resident" grep -qE '^ +resident\|.{16}#{32} ' <<<"$plain"
	check "nothing but ASCII" test -z "$(LC_ALL=C grep -P '[^\x00-\x7f]' <<<"$plain")"
	check "in blocks, over several lines" again in_blocks
	check "which begin with their addresses" grep -qE '^ +0x3000000$' <<<"$utf8"
	check "no line is wider than that" wide 50 < <(grep -E '\||0x' <<<"$utf8" | LC_ALL=C.UTF-8 sed 's/[^\x00-\x7f]/x/g')
	check "half blocks on a terminal" grep -qF '▀' <(on_terminal)
	check "the SVG is one" xmllint --noout "$guests_dir/map.svg"
	expect_exit "a full disk" 2 '/dev/full: No space' "$vmwss" map --pid "$pid" "${all[@]}" -w 0.1 --svg /dev/full
	expect_exit "no directory" 2 '--svg /nowhere/map.svg: No such' "$vmwss" map --pid "$pid" -w 0.1 --svg /nowhere/map.svg
	check "with a rectangle for each chunk that was touched" test "$(grep -o '<rect[^>]*fill="#0969da"' "$guests_dir/map.svg" | wc -l)" -ge 16
	check "CSV: a chunk with its figures" again csv_has 'mem,0,,33554432,33554432,16777216,2[0-9]{2},16777216,0,0,0,1,16777216,1[0-9]{7},16777216'
	check "a line for each chunk and window" test "$(wc -l <<<"$csv")" = 17
}

# By pageout, on TCG.
check_stretch() {
	echo "# below 4 GiB: a stretch, from 32 MiB on"
	local params="total=64M hot=16M start=32M"
	if ! start_memfd low "$params" 128M; then return 1; fi
	check_map "a stretch" "$params memory=128M"
	check "all of RAM is in it, from address 0" holds_json '[$chunks[].gpa] == [range(64) * 2097152] and ($chunks | map(.bytes) | add) == 134217728'
	check "pages of each were looked at" holds_json 'all($chunks[]; .pages >= 30 and .pages <= 34)'
	check "8 chunks of 2 MiB were touched there" holds_json '[$chunks[8:][] | select(.windows[-1].wss_bytes == 2097152) | .gpa] == [range(8) * 2097152 + 33554432]'
	check "what is resident" holds_json '($chunks[16:48] | all(.resident_bytes == 2097152)) and ($chunks[48:62] | map(.resident_bytes) | add) < 1048576'
	check "a region, a block, no node" holds_json '$regions | length == 1 and .[0].block == "mem" and .[0].node == null and .[0].gpa == 0 and (.[0].dimm | not)'

	echo "# a panel"
	check "it is made" map_panel
	check "its intervals hold the truth, at twice their width" holds_json '[0, 0, 16777216, 0, 0, 0, 0, 0] as $want | all(range(1; 8); . as $c |
		$chunks[$c].windows[0] | 2 * .wss_low_bytes - .wss_bytes - 8192 <= $want[$c] and $want[$c] <= 2 * .wss_high_bytes - .wss_bytes + 8192)'
	check "with fewer pages than a census" holds_json '$chunks | map(.pages) | add < 32768 and min > 100'

	echo "# pictures"
	check_pictures

	echo "# refusals"
	expect_exit "a chunk that is no number of pages" 1 'multiple of 4096' "$vmwss" map --pid "$pid" --chunk 5000
	expect_exit "JSON and CSV" 1 'not both' "$vmwss" map --pid "$pid" --json --csv
	expect_exit "a method that does not say where" 2 'counts touched pages, but not their addresses' \
		"$vmwss" map --pid "$pid" -m referenced -w 0.1 --census
	stop_guest "$pid"
}
# All touched pages are on the second node, except the payload's own few.
of_one_node() {
	local i
	for ((i = 0; i < 5; i++)); do
		map_json -n 4000 -m pageout -w 1 --chunk 16M || return 1
		! holds_json '.nodes[1].windows[0].wss_bytes >= 7 * 1048576' || return 0
	done
}
check_nodes() {
	echo "# two nodes"
	if ! start_payload nodes tcg "total=32M hot=8M start=80M" -m 128 -object memory-backend-memfd,id=a,size=64M,share=on \
		-object memory-backend-memfd,id=b,size=64M,share=on -numa node,memdev=a -numa node,memdev=b; then return 1; fi
	check "a panel of them" of_one_node
	check "their numbers and sizes" holds_json '[.nodes[] | [.node, .bytes]] == [[0, 67108864], [1, 67108864]]'
	check "nothing of the first is touched, but for the payload itself" holds_json '.nodes[0].windows[0] | .wss_bytes < 1048576'
	check "of the second the truth, at twice the interval's width" holds_json '.nodes[1].windows[0] |
		2 * .wss_low_bytes - .wss_bytes <= 8388608 and 8388608 <= 2 * .wss_high_bytes - .wss_bytes'
	check "for people" test "$(LC_ALL=C map -n 4000 -m pageout -w 0.5,1 | awk '$1 == "NODE" { table = 1 } table && $1 ~ /^[01]$/' | wc -l)" = 4
	stop_guest "$pid"
}
map_panel() {
	local i
	for ((i = 0; i < 5; i++)); do
		map_json -n 4000 -m pageout -w 1 --chunk 16M || return 1
		! holds_json "\$chunks | map(.windows[0].wss_bytes) | add >= 16 * $mib" || return 0
	done
}

# By a census of idle, of KVM.
check_pages() {
	local params
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
		# shellcheck disable=SC2016 # jq's variables
		check "their sums are exact" holds_json '.nodes | [.[].node] == [0, 1] and all(.[]; .node as $node | .windows[-1].wss_bytes ==
			([$regions[] | select(.node == $node) | .chunks[].windows[-1].wss_bytes] | add))'
		exact=$(jq -c '[.nodes[].windows[-1].wss_bytes]' <<<"$json")
		check "a panel of them" map_json -n 2000 -w "$windows" --chunk 2M
		# At twice the width, as all panels.
		# shellcheck disable=SC2016 # jq's variables
		check "each node's interval holds what a census saw ($exact)" quietly jq -e --argjson exact "$exact" \
			'[.nodes[].windows[-1] | .wss_bytes as $w | [$w - 2 * ($w - .wss_low_bytes), $w + 2 * (.wss_high_bytes - $w)]] |
			length == 2 and ([., $exact] | transpose | all(.[0][0] <= .[1] and .[1] <= .[0][1]))' <<<"$json"
		check "a row of each node and window" test "$("$vmwss" map --pid "$pid" -n 2000 -w 0.5,1 | grep -cE '^ *[01] ')" = 4
		stop_guest "$pid"
	fi

	echo "# huge pages"
	if THP=yes start_payload huge kvm "total=64M hot=16M start=32M" -m 128; then
		check "huge pages: a census" map_json "${all[@]}" -w "$windows" --chunk 2M
		check "huge pages: what was touched, and that they are huge" holds_json '$chunks[16:24] | all(.windows[-1].wss_bytes == 2097152 and .huge_bytes == 2097152)'
		check "huge pages: and what was not" holds_json '$chunks[24:48] | all(.windows[-1].wss_bytes == 0 and .resident_bytes == 2097152)'
		stop_guest "$pid"
	fi
}

if [[ $accel == tcg ]]; then
	check_stretch
	check_nodes
else
	check_pages
fi

echo "# above 4 GiB"
# All of it is populated: the last pages of a process on a quiet processor wait to be put on their LRU list, where pageout cannot
# take them, and are not to be of those that are touched.
params="total=32M hot=8M start=4098M"
if start_memfd high "$params" 4G; then
	check_map "above 4 GiB" "$params memory=4G"
	check "two regions" holds_json '[$regions[] | [.gpa, .bytes]] == [[0, 3221225472], [4294967296, 1073741824]]'
	check "8 MiB at 4 GiB and 2 MiB" holds_json "$chunk as \$chunk"' | [$regions[1].chunks[] | select(.windows[-1].wss_bytes > 0) |
		[.gpa, .windows[-1].wss_bytes]] == [range(8388608 / $chunk) | [4297064448 + . * $chunk, $chunk]]'
	check "and below only the payload itself" holds_json '([$regions[0].chunks[].windows[-1].wss_bytes] | add) < 1048576'
	stop_guest "$pid"
fi
finish
