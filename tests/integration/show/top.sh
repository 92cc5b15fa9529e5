#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=3
#
# vmwss top in a real terminal emulator, tmux: what it shows of known records, keys, sizes, a hostile name; and that the
# terminal is as it was afterwards.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-top.XXXX)
terminals=0
# The terminal in use: each has a server of its own, for one that was told to end answers a little longer.
terminal() { tmux -u -S "$dir/socket$terminals" -f /dev/null "$@"; }
trap 'terminal kill-server 2>/dev/null; rm -rf -- "$dir"' EXIT
export LC_ALL=C.UTF-8

# record NAME NUMBER AGE MIB
record() { printf '%s %08d-1111-4111-8111-111111111111 %d %d 60 2000\n' "$1" "$2" $(($(date +%s) - $3)) "$4"; }
write() { "$build/tests/integration/keep_writer" "$dir/history.db" ask | grep -c '^0 '; }

written=$(
	{
		for ((minute = 30; minute >= 0; minute--)); do
			record web1 1 $((minute * 60)) $((100 + minute))
			record db1 2 $((minute * 60)) 200
		done
		record $'evil\033[2J\377\007' 3 0 20
		record gone 4 2000 300
	} | write
)
check "64 records are kept" test "$written" = 64

# run WIDTH HEIGHT ARGS...: top in a terminal of that size, from a shell that says what became of it.
run() {
	local width=$1 height=$2
	shift 2
	terminal kill-server 2>/dev/null
	terminals=$((terminals + 1))
	printf '#!/bin/sh\n"%s" top --database "%s" --delay 0.2 %s\necho "it ended with $?"\nstty -a | grep -o -- "-*echo "\nsleep 60\n' \
		"$build/host/vmwss" "$dir/history.db" "$*" >"$dir/run"
	terminal new-session -d -s top -x "$width" -y "$height" "sh $dir/run"
}
screen() { terminal capture-pane -p -t top; }
keys() { terminal send-keys -t top "$@"; }
shows() { screen | grep -E -- "$1" >/dev/null; }
lacks() { ! shows "$1"; }
# line N PATTERN: of the screen, from 1, which may be half painted yet.
line() { screen | sed -n "${1}p" | grep -E -- "$2" >/dev/null; }

run 120 20
check "the sums" settles line 1 '^3 guests  WSS 320.0 MiB  resident 1.5 GiB  RAM 3.0 GiB'
check "the machine, and what its guests have of it" settles line 2 '^host: [0-9.]+ [GT]iB of RAM, .*; assigned [0-9]+% of RAM'
check "headings with the windows" settles line 3 'DOMAIN +WSS 10s +± +WSS 1m .*RAM.*RECLAIMABLE'
check "the largest first" settles line 4 '^db1 +200.0 MiB'
check "then the next" settles line 5 '^web1 +100.0 MiB'
check "a hostile name moves nothing" settles line 6 '^evil\?\[2J\?\? +20.0 MiB'
check "who is not measured any more is not shown" settles lacks '^gone'
keys a
check "unless asked for" settles shows '^gone +300.0 MiB'
keys a r
check "the other way round" settles line 4 '^evil'
keys r Down Enter
check "more of the selected one: its windows" settles shows '^ +10s +10.10s +100.0 MiB'
check "how long ago its memory was touched" settles shows '^ +0s \.\. 10s +100.0 MiB +19.5% +#'
check "and what was not" settles shows '^ +> 60s +412.0 MiB +80.5% +#{24}$'
check "its last hour" settles shows 'the last hour .*█'
check "from 100 to 130 MiB" settles shows 'over 10s: 100.0 MiB to 130.0 MiB'
record web1 1 0 400 | write >/dev/null
check "a new record is seen" settles shows '^ +10s +10.10s +400.0 MiB'
keys q
check "the order has changed" settles line 4 '^web1 +400.0 MiB'
keys h
check "help" settles shows 'RECLAIMABLE +resident, and not touched'
keys Escape
for size in 60x12 30x6 12x4 5x2 1x1 200x50; do
	terminal resize-window -t top -x "${size%x*}" -y "${size#*x}"
	sleep 0.3
done
check "any size" settles line 4 '^web1 +400.0 MiB'
terminal resize-window -t top -x 44 -y 10
check "a narrow one leaves columns out" settles line 3 '^DOMAIN +WSS 10s +± +RAM *$'
keys q
check "q ends it" settles shows 'it ended with 0'
check "the terminal echoes again" settles shows '^echo'

run 100 20 --sort name
check "sorted by name" settles line 4 '^db1'
pkill -TERM -f "^$build/host/vmwss top --database $dir/history.db"
check "SIGTERM ends it" settles shows 'it ended with 0'
check "and the terminal is as it was" settles shows '^echo'

# As OpenStack calls them, on the narrowest terminal in use.
for n in 11 12; do record "instance-000000$n" $n 0 $((n * 10)); done | write >/dev/null
run 80 10 "'inst*'"
check "names have room before columns" settles line 4 '^instance-00000012  +120.0 MiB'
check "both of them" settles line 5 '^instance-00000011  +110.0 MiB'
check "and no others" settles line 1 '^2 guests'
run 80 10 --above 20% --output wss,domain
check "above a share of RAM, in columns of one's own" settles line 3 '^ *WSS 10s DOMAIN *$'
check "who is above" settles line 4 '^ *400.0 MiB web1'
check "and nobody else" settles line 1 '^1 guest '
keys Enter
check "more of who is above" settles shows '^ +10s +10.10s +400.0 MiB'
record db1 2 0 300 | write >/dev/null
record web1 1 0 100 | write >/dev/null
check "who is no longer above is not replaced by another guest: the list" settles line 4 '^ *300.0 MiB db1'
run 80 10 "'wbe*'"
check "guests there are, but none of that name" settles shows '^no guest that is being measured is wanted'
expect_exit "a column that is not there" 1 'output wss,size: expected domain, wss' "$build/host/vmwss" top --output wss,size
expect_exit "a share that is none" 1 'above 0: expected more than 0%' "$build/host/vmwss" top --above 0
expect_exit "without a terminal" 2 'needs a terminal.*watch --json' "$build/host/vmwss" top -D "$dir/history.db"
expect_exit "no history" 2 'no history there' "$build/host/vmwss" top -D "$dir/none.db"
expect_exit "an unknown key" 1 'sort size: expected name, ram' "$build/host/vmwss" top --sort size
finish
