#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=15
# shellcheck disable=SC2016 # jq has variables of its own
#
# vmwss map: what a payload touches at known guest-physical addresses, below and above 4 GiB, is what the map says chunk by
# chunk; and the picture in several terminals, CSV and SVG. By pageout, which looks at one page in 64 KiB; to the page:
# tests/lab/map.sh.

libs=(guests)
# shellcheck source=../lib/preamble.sh
. "$(dirname "$0")/../lib/preamble.sh"

# As many pages as pageout can look at: one in 64 KiB.
all=(-n 2000000)
start() { MACHINE=pc,memory-backend=mem start_payload "$1" tcg "$2" -m "$3" -object "memory-backend-memfd,id=mem,size=$3,share=on"; }
map() { "$vmwss" map --pid "$pid" "$@"; }
# map_json ARG...: into $json.
map_json() { json=$(map --json "$@" 2>"$guests_dir/messages") || { cat "$guests_dir/messages" >&2; json=null; return 1; }; }
# again COMMAND...: as measure_it_running, of what does not tell: a guest that gets no processor touches nothing.
again() {
	local i
	for ((i = 0; i < 5; i++)); do "$@" && return; done
	return 1
}
# map_of_all BYTES ARGS...: likewise, of a guest that has not got through its whole set within the window.
map_of_all() {
	local i
	for ((i = 0; i < 5; i++)); do
		map_json "${@:2}" || return 1
		! holds_json "\$chunks | map(.windows[0].wss_bytes) | add >= $1" || return 0
	done
}
# holds_json FILTER: a jq filter that is true of it; $chunk: of each chunk.
holds_json() { jq -e '[.regions[].chunks[]] as $chunks | .regions as $regions | '"$1" >/dev/null <<<"$json"; }
# truth_of PARAMS CHUNK: of each chunk of RAM the payload's hot bytes, without its own few pages, as a JSON array.
truth_of() {
	# shellcheck disable=SC2086 # parameters are words
	"$truth_tool" --list-ram $1 | awk -v pages=$(($2 / 4096)) '{ n[int($1 / pages)]++ } END { for (c in n) print c, n[c] * 4096 }' |
		jq -Rs '[split("\n")[] | select(. != "") | split(" ") | {key: .[0], value: .[1] | tonumber}] | from_entries'
}

echo "# below 4 GiB: a stretch, from 32 MiB on"
params="total=64M hot=16M start=32M"
if ! start low "$params" 128M; then finish; exit; fi
check "all pages" map_of_all $((16 << 20)) "${all[@]}" -m pageout -w 0.5,1 --chunk 2M
check "all of RAM is in it, from address 0" holds_json '[$chunks[].gpa] == [range(64) * 2097152] and ($chunks | map(.bytes) | add) == 134217728'
check "pages of each were looked at" holds_json 'all($chunks[]; .pages >= 30 and .pages <= 34)'
want=$(truth_of "$params memory=128M" $((2 << 20)))
# The payload's own pages, code, stack and tables, are below 16 MiB.
check "every chunk from 16 MiB on: its hot bytes" holds_json "$want"' as $want |
	all(range(8; 64); . as $c | ($want[$c | tostring] // 0) as $hot | $chunks[$c].windows[-1] |
		.wss_bytes == $hot and .wss_low_bytes <= $hot and .wss_high_bytes >= $hot)'
check "8 chunks of 2 MiB were touched there" holds_json '[$chunks[8:][] | select(.windows[-1].wss_bytes == 2097152) | .gpa] == [range(8) * 2097152 + 33554432]'
check "no later window has less" holds_json 'all($chunks[].windows; .[0].wss_bytes <= .[1].wss_bytes)'
check "what is resident" holds_json '($chunks[16:48] | all(.resident_bytes == 2097152)) and ($chunks[48:62] | map(.resident_bytes) | add) < 1048576'
check "a region, a block, no node" holds_json '$regions | length == 1 and .[0].block == "mem" and .[0].node == null and .[0].gpa == 0 and (.[0].dimm | not)'

echo "# a panel"
check "it is made" map_of_all $((16 << 20)) -n 4000 -m pageout -w 1 --chunk 16M
check "its intervals hold the truth, at twice their width" holds_json '[0, 0, 16777216, 0, 0, 0, 0, 0] as $want | all(range(1; 8); . as $c |
	$chunks[$c].windows[0] | 2 * .wss_low_bytes - .wss_bytes - 8192 <= $want[$c] and $want[$c] <= 2 * .wss_high_bytes - .wss_bytes + 8192)'
check "with fewer pages than a census" holds_json '$chunks | map(.pages) | add < 32768 and min > 100'

echo "# pictures"
in_ascii() {
	plain=$(COLUMNS=100 LC_ALL=C map "${all[@]}" -m pageout -w 0.5,1 --chunk 2M --svg "$guests_dir/map.svg")
	grep -qE '^ +in 0.5s\|.{16}#{8} {40}\| +[0-9.]+ MiB$' <<<"$plain"
}
check "in ASCII: which characters" again in_ascii
comment "$plain"
check "and what is resident" grep -qE '^ +resident\|.{16}#{32} ' <<<"$plain"
check "nothing but ASCII" test -z "$(LC_ALL=C grep -P '[^\x00-\x7f]' <<<"$plain")"
in_blocks() {
	utf8=$(COLUMNS=50 LC_ALL=C.UTF-8 map "${all[@]}" -m pageout -w 0.5 --chunk 2M)
	grep -qE '^ +in 0.5s\|.{16}████████' <<<"$utf8"
}
check "in blocks, over several lines" again in_blocks
check "which begin with their addresses" grep -qE '^ +0x3000000$' <<<"$utf8"
wide() { awk -v width="$1" 'length($0) > width { wide = 1 } END { exit wide }'; }
check "no line is wider than that" wide 50 < <(grep -E '\||0x' <<<"$utf8" | LC_ALL=C.UTF-8 sed 's/[^\x00-\x7f]/x/g')
on_terminal() { LC_ALL=C.UTF-8 COLUMNS=100 script -qec "$vmwss map --pid $pid ${all[*]} -m pageout -w 0.5,1 --chunk 2M" /dev/null; }
check "half blocks on a terminal" grep -qF '▀' <(on_terminal)
check "the SVG is one" xmllint --noout "$guests_dir/map.svg"
check "with a rectangle for each chunk that was touched" test "$(grep -o '<rect[^>]*fill="#0969da"' "$guests_dir/map.svg" | wc -l)" -ge 16
csv_has() {
	csv=$(map --csv "${all[@]}" -m pageout -w 0.5,1 --chunk 16M | tr -d '\r')
	grep -qxE "$1" <<<"$csv"
}
check "CSV: a chunk with its figures" again csv_has 'mem,0,,33554432,33554432,16777216,2[0-9]{2},16777216,0,0,0,1,16777216,1[0-9]{7},16777216'
check "a line for each chunk and window" test "$(wc -l <<<"$csv")" = 17

echo "# refusals"
expect_exit "a chunk that is no number of pages" 1 'multiple of 4096' "$vmwss" map --pid "$pid" --chunk 5000
expect_exit "JSON and CSV" 1 'not both' "$vmwss" map --pid "$pid" --json --csv
expect_exit "a method that does not say where" 2 'referenced' "$vmwss" map --pid "$pid" -m referenced -w 0.1
stop_guest "$pid"

echo "# above 4 GiB"
params="total=16M hot=8M start=4098M populate=hot"
if ! start high "$params" 4G; then finish; exit; fi
check "all pages" map_of_all $((8 << 20)) "${all[@]}" -m pageout -w 1 --chunk 2M
check "two regions" holds_json '[$regions[] | [.gpa, .bytes]] == [[0, 3221225472], [4294967296, 1073741824]]'
check "4 chunks, at 4 GiB and 2 MiB" holds_json '[$regions[1].chunks[] | select(.windows[0].wss_bytes > 0) | [.gpa, .windows[0].wss_bytes]] ==
	[range(4) | [4297064448 + . * 2097152, 2097152]]'
check "and below only the payload itself" holds_json '([$regions[0].chunks[].windows[0].wss_bytes] | add) < 1048576'
finish
