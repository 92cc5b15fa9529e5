#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg thorough cost=90
#
# vmwss map --over: the hot set of a payload that grows and shrinks in phases is where the cells say, in the periods in which it was
# so: as JSON and CSV while they come, and in the picture. A TCG guest by pageout, which looks at one page in 64 KiB. Interrupted,
# killed, and with a guest that ends.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# As many pages as pageout can look at, and chunks of 32 of them.
all=(-n 2000000 -m pageout --chunk 2M)
map() { "$vmwss" map --pid "$pid" "$@"; }
judge() { python3 "$root/tests/integration/measure/map_over.py" judge "$guests_dir/log" "$@"; }
watcher=
trap '[[ -z $watcher ]] || kill "$watcher" 2>/dev/null; end_guests' EXIT

# again NAME COMMAND...: a guest that gets no processor for long does not get through its hot set: up to three times.
again() {
	local name=$1 i
	shift
	for ((i = 0; i < 3; i++)); do
		if "$@"; then
			pass "$name"
			return
		fi
		cat "$guests_dir/messages"
	done
	fail "$name"
}
json_is_true() { map "${all[@]}" --over 24 -w 1 --json >"$guests_dir/json" 2>"$guests_dir/messages" && judge json "$guests_dir/json"; }
csv_is_true() { map "${all[@]}" --over 24 -w 1 --csv >"$guests_dir/csv" 2>"$guests_dir/messages" && judge csv "$guests_dir/csv"; }
picture_is_true() {
	COLUMNS=100 LC_ALL=C map "${all[@]}" --over 24 -w 1 --svg "$guests_dir/svg" >"$guests_dir/text" 2>"$guests_dir/messages" &&
		judge text "$guests_dir/text"
}
rectangles() { grep -o '<rect[^>]*fill="#0969da"' "$guests_dir/svg" | wc -l; }
# In the picture's periods 2 to 8 cells are hot, and one or two of the payload's own.
svg_has_cells() {
	local periods
	periods=$(grep -cE '^ *\*?[0-9:]{8}\|' "$guests_dir/text")
	holds "$(rectangles) >= 2 * ($periods - 2) && $(rectangles) <= 11 * $periods"
}

MACHINE=pc,memory-backend=mem start_payload steps tcg "total=64M start=32M phases=6:16M,6:4M" -m 128M \
	-object memory-backend-memfd,id=mem,size=128M,share=on || { finish; exit 1; }
python3 "$root/tests/integration/measure/map_over.py" watch "$pid" "$(sed -n 's/.*state=\(0x[0-9a-f]*\).*/\1/p' "$guests_dir/steps.out")" \
	>"$guests_dir/log" &
watcher=$!

again "JSON: the cells say where and when" json_is_true
check "each cell with its precision" jq -se 'all(.[].regions[].chunks[]; .pages >= 30 and .pages <= 34 and
	(.windows[0] | .wss_low_bytes <= .wss_bytes and .wss_bytes <= .wss_high_bytes))' "$guests_dir/json" >/dev/null
check "periods follow each other" jq -se 'length >= 8 and ([.[].time] | . == (sort | unique))' "$guests_dir/json" >/dev/null
again "CSV: likewise" csv_is_true
check "one heading" test "$(grep -c '^time,block,' "$guests_dir/csv")" = 1
again "the picture: likewise" picture_is_true
sed 's/^/# /' "$guests_dir/text"
check "with its precision" grep -qE '^Of a character, that share is right to within [0-9]+ points' "$guests_dir/text"
check "the SVG is one" xmllint --noout "$guests_dir/svg"
check "with the cells that were hot" svg_has_cells
check "half blocks on a terminal, two periods in a line" grep -qE '^ *\*?[0-9:]{8}, \*?[0-9:]{8}\|.*▀' \
	<(LC_ALL=C.UTF-8 COLUMNS=110 script -qec "$vmwss map --pid $pid ${all[*]} -w 0.5 --over 2" /dev/null)
check "a panel" grep -qE '^A panel: [0-9]+ to [0-9]+ pages of each character' \
	<(COLUMNS=60 LC_ALL=C map -m pageout -n 200 -w 0.5 --over 1 2>&1)

echo "# ends"
has_rows() { (($(wc -l <"$guests_dir/csv") >= 129)); }
# begin ARG...: in the background, until two periods have come.
begin() {
	: >"$guests_dir/csv"
	"$vmwss" map --pid "$pid" "${all[@]}" -w 0.5 --over 10m --csv "$@" >"$guests_dir/csv" 2>"$guests_dir/messages" &
	mapping=$!
	settles has_rows
}
whole_periods() { test $((($(wc -l <"$guests_dir/csv") - 1) % 64)) = 0; }
check "rows come as they are" begin --svg "$guests_dir/cut.svg"
kill -INT "$mapping"
wait "$mapping"
check "interrupted: its status" test $? = 130
check "the picture of what was seen until then" xmllint --noout "$guests_dir/cut.svg"
check "with its cells" test "$(grep -o '<rect[^>]*fill="#0969da"' "$guests_dir/cut.svg" | wc -l)" -ge 4
check "one on a full disk" begin --svg /dev/full
kill -INT "$mapping"
wait "$mapping"
check "interrupted: its status" test $? = 130
check "and that there is no picture" grep -qF '/dev/full: No space left on device' "$guests_dir/messages"
# One line, and then the reader goes.
"$vmwss" map --pid "$pid" "${all[@]}" -w 0.5 --over 10m --csv --svg "$guests_dir/unread.svg" 2>"$guests_dir/messages" | head -n 1 >/dev/null
check "a reader that has gone leaves the picture" xmllint --noout "$guests_dir/unread.svg"
check "another" begin
kill -KILL "$mapping"
wait "$mapping" 2>/dev/null
check "killed: whole periods until then" whole_periods
check "and the guest can be measured" quietly map "${all[@]}" -w 0.5
# A picture says nothing until it is made: on a busy machine the first period may take long.
cut_picture() {
	local wait_s status
	for wait_s in 3 9 27; do
		"$vmwss" map --pid "$pid" "${all[@]}" -w 0.5 --over 10m >"$guests_dir/text" 2>"$guests_dir/messages" &
		mapping=$!
		sleep $wait_s
		kill -INT "$mapping"
		wait "$mapping"
		status=$?
		if ((status == 130)) && grep -qE '^ *\*?[0-9:]{8}\|' "$guests_dir/text"; then return 0; fi
	done
	return 1
}
check "interrupted: the picture in the terminal" cut_picture

echo "# refusals"
expect_exit "two windows" 1 '--over takes one --window' "$vmwss" map --pid "$pid" --over 10 -w 1,2
expect_exit "too many periods" 1 'more than 4096 periods' "$vmwss" map --pid "$pid" --over 1h -w 10ms
expect_exit "too many cells" 2 'more than 1048576 c' "$vmwss" map --pid "$pid" -m pageout --over 600 -w 0.2 --chunk 4K
expect_exit "a method that does not say where" 2 'referenced' "$vmwss" map --pid "$pid" -m referenced --over 10

echo "# the guest ends"
check "a map of it" begin
kill "$watcher"
watcher=
stop_guest "$pid"
wait "$mapping"
check "says so" test $? = 3
check "after what was seen until then" whole_periods
finish
