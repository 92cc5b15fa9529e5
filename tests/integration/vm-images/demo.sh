#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=183
#
# The README's first command: right figures, status 0, and nothing left, neither process nor file, also when it is
# interrupted at any moment, run twice at once, on a narrow terminal, on none. From nothing: tests/bare.

libs=(overlay figures)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

demo=$root/vm-images/demo
dir=$(mktemp -d /tmp/vmwss-demo.XXXX)

# Build output is meant to stay.
written() { overlay_files | grep -v "^/mnt$root/build/\|^/mnt$dir/"; }
# A process that has been ended may take a moment to go on a busy machine; one that stays does not go at all.
no_process() {
	overlay_processes "$dir/processes"
	[[ ! -s $dir/processes ]]
}
nothing_left() {
	settles no_process
	written | comm -13 "$dir/before" - >"$dir/files"
	[[ ! -s $dir/processes && ! -s $dir/files ]] || { sed 's/^/# left: /' "$dir/processes" "$dir/files"; return 1; }
}

"$demo" --seconds 1 >"$dir/out" 2>&1
written >"$dir/before"
# The first run may have built; from here on nothing may be added.
check "nothing is left by the first run in /tmp" test -z "$(grep '/tmp/' "$dir/before")"

"$demo" --seconds 5 >"$dir/out" 2>"$dir/messages" </dev/null
check "it ends with status 0" test $? = 0
check "without a message" test ! -s "$dir/messages"
check "each guest's working set is within 1 % of the truth" right_figures "$dir/out"
check "without a terminal there is no control sequence" test "$(grep -c $'\033' "$dir/out")" = 0
check "nothing is left" nothing_left

# interrupted SIGNAL STATUS SECONDS [LINE]: as a terminal does it, to the whole foreground group; so long after it has begun, or
# has printed LINE.
interrupted() {
	local pid status=0
	: >"$dir/out"
	set -m
	# Where these tests run under nohup the signal would be ignored, and bash keeps what was ignored when it began.
	env --default-signal=HUP,INT,TERM "$demo" --seconds 30 >"$dir/out" 2>&1 </dev/null &
	pid=$!
	set +m
	[[ -z ${4:-} ]] || settles grep -q "$4" "$dir/out"
	sleep "$3"
	kill "-$1" -- "-$pid"
	wait "$pid" || status=$?
	((status == $2)) || { echo "# status $status"; tail -n 3 "$dir/out"; return 1; }
	nothing_left
}
for moment in 0.1 0.5; do
	check "ctrl-C $moment s after its start" interrupted INT 130 "$moment"
done
for moment in 0 0.15 0.3 0.45 0.6 0.8 1 1.2 1.5 2 2.5 3 4; do
	check "ctrl-C $moment s after it began to start guests" interrupted INT 130 "$moment" "^== starting"
done
check "ctrl-C while it measures" interrupted INT 130 0.5 "^== measuring"
for moment in 0.5 1.5; do
	check "SIGTERM while guests start, after $moment s" interrupted TERM 143 "$moment" "^== starting"
done
check "the terminal is closed" interrupted HUP 143 1 "^== starting"

"$demo" --seconds 30 2>&1 | head -n 4 >"$dir/out"
check "who reads it goes away: it ends" test "${PIPESTATUS[0]}" = 141
check "and nothing is left" nothing_left

"$demo" --seconds 4 >"$dir/one" 2>&1 &
first=$!
"$demo" --seconds 4 >"$dir/two" 2>&1
second=$?
wait "$first"
check "two at once both end with status 0" test "$?$second" = 00
check "the first with right figures" right_figures "$dir/one"
check "and so the second" right_figures "$dir/two"
check "and nothing is left" nothing_left

if command -v tmux >/dev/null; then
	tmux -S "$dir/tmux" new-session -d -x 40 -y 24 "$demo --seconds 6; echo status \$?; sleep 1000"
	tmux -S "$dir/tmux" set-option -g history-limit 5000
	eventually bash -c "tmux -S '$dir/tmux' capture-pane -p | grep -q '^status'"
	tmux -S "$dir/tmux" capture-pane -p -S - >"$dir/screen"
	check "40 columns: it ends with status 0" grep -qx 'status 0' "$dir/screen"
	check "and the table is drawn in its own place" test "$(grep -c '^GUEST' "$dir/screen")" = 1
	tmux -S "$dir/tmux" kill-server
	settles nothing_left >/dev/null
	check "and nothing is left" nothing_left
else
	skip "a narrow terminal" "tmux is not installed"
fi

expect_exit "an unknown option" 1 'Usage' "$demo" --nosuch
expect_exit "no number of seconds" 1 'from 1 to 9999' "$demo" --seconds x

rm -rf -- "$dir"
finish
