#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=75
#
# The two halves of vmwssd: whichever is killed, or hangs, the other restores what is to be restored and ends, with a failure
# that has a service manager start both again; and nothing is left of either.

# Its guests are all that vmwssd finds, and its halves all that is called so.
[[ -n ${VMWSS_OWN_PROCESSES:-} ]] || VMWSS_OWN_PROCESSES=yes exec unshare --pid --fork --kill-child --mount-proc -- "$BASH" "$0" "$@"
libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# Neither half waits for the other for longer than half of what a service manager would wait for us: six seconds, for a busy
# machine may keep one waiting that does not hang.
vmwssd_under=(env WATCHDOG_USEC=12000000)
records() { sql "SELECT coalesce(max(id), 0) FROM sample"; }
more_than() { (($(records) > $1)); }
# Until both halves are at work; sets scanner.
begin() {
	local before=0
	[[ ! -e $db ]] || before=$(records)
	: >"$log"
	vmwssd_begin --connect processes --database "$db" --period 0.5 --window 1,2 --samples 200 --budget 60% --guest-budget 20%
	eventually more_than "$before" && scanner=$(pgrep -P "$daemon" -x vmwssd-scanner)
}
# ended_with STATUS: so has the half that the shell has started.
ended_with() {
	local status=0
	wait "$daemon" 2>/dev/null || status=$?
	daemon=
	[[ $status == "$1" ]]
}
none_left() { ! pgrep -x vmwssd-scanner >/dev/null && ! pgrep -x vmwssd >/dev/null; }
nothing_locked() { [[ -z $(find /run/vmwss -type f 2>/dev/null) ]]; }
all_gone() {
	check "no process is left" eventually none_left
	check "and nothing is locked or published" eventually nothing_locked
}

MACHINE=pc,memory-backend=mem run_payload one tcg "total=48M hot=16M" -m 128 -object memory-backend-memfd,id=mem,size=128M,share=on ||
	fail "the guest starts"

echo "# the end"
check "both are at work" begin
own_user() { [[ $(awk '/^Uid:/ { print $2, $3, $4, $5 }' "/proc/$daemon/status" | xargs -n 1 | sort -u) == "$(id -u vmwss)" ]]; }
check "the rest as a user of its own" own_user
# effective SET...: of capabilities, in hexadecimal; the keeper has one of them.
effective() { [[ " $* " == *" $(awk '/^CapEff:/ { print $2 }' "/proc/$(pgrep -P "$scanner" -x vmwssd-keeper)/status") "* ]]; }
check "the keeper of locks has CAP_PERFMON, or where it does not suffice CAP_SYS_ADMIN" effective 0000004000000000 0000004000200000
kill -TERM "$scanner"
kill -INT "$scanner"
check "signals to all of a service, or of a terminal, are the other half's" eventually more_than "$(records)"
check "that half ends it" vmwssd_end TERM
all_gone

echo "# kill -9 of the scanner"
check "both are at work" begin
kill -KILL "$scanner"
check "the other ends, as a failure" ended_with 2
check "and says why" logged 'the scanner \(process [0-9]+\) has ended'
check "no process is left" eventually none_left

echo "# kill -9 of the rest"
check "both are at work again" begin
vmwssd_end KILL
all_gone
check "both are at work, though begun at once" begin
vmwssd_end KILL
check "likewise" begin

echo "# the scanner hangs"
kill -STOP "$scanner"
check "the other ends, as a failure" ended_with 2
check "and says why" logged 'the scanner \(process [0-9]+\) hangs'
kill -CONT "$scanner"
all_gone

echo "# the rest hangs"
check "both are at work" begin
kill -STOP "$daemon"
gone() { ! kill -0 "$scanner" 2>/dev/null || [[ $(ps -o state= "$scanner") == Z ]]; }
check "the scanner ends" eventually gone
check "and says why" logged 'the other half of vmwssd hangs: all guests are restored'
check "nothing is locked or published" nothing_locked
kill -CONT "$daemon"
check "the rest ends when it can, as a failure" ended_with 2
all_gone

echo "# both are stopped, for longer than either waits for the other"
check "both are at work" begin
kill -STOP "$daemon" "$scanner"
sleep 8
kill -CONT "$scanner" "$daemon"
check "both go on" eventually more_than "$(records)"
check "and end when they are to" vmwssd_end TERM
all_gone

echo "# the scanner hangs, and a guest ends: the rest's main thread waits for the scanner to restore it"
check "both are at work" begin
kill -STOP "$scanner"
stop_guest "$pid"
ended() { ! kill -0 "$daemon" 2>/dev/null; }
check "the other ends all the same" eventually ended || kill -KILL "$daemon"
check "as a failure" ended_with 2
check "and says why" logged 'the scanner \(process [0-9]+\) hangs'
kill -CONT "$scanner"
all_gone

echo "# each of its processes is killed at any step, as an OOM killer may"
# members PID: that process and all below it.
members() {
	local one
	echo "$1"
	for one in $(pgrep -P "$1"); do members "$one"; done
}
kills=0 stuck=0
declare -A killed=()
# kill_one NUMBER: of its processes, soon after the start.
kill_one() {
	local all victim name
	: >"$log"
	vmwssd_begin --connect processes --database "$db" --period 0.5 --window 1,2 --samples 200 --budget 60% --guest-budget 20% --writes 20s
	sleep "$(($1 % 4 / 3)).$((RANDOM % 10))$((RANDOM % 10))"
	mapfile -t all < <(members "$daemon")
	victim=${all[$1 % ${#all[@]}]}
	name=$(cat "/proc/$victim/comm") && kill -KILL "$victim" || return
	kills=$((kills + 1))
	killed[$name]=$((${killed[$name]:-0} + 1))
	# Without that one there are no writes, and all else goes on.
	[[ $name != vmwssd-clear ]] || kill -TERM "$daemon"
	eventually none_left || { stuck=$((stuck + 1)) && sed "s/^/# $name: /" "$log"; }
	wait "$daemon" 2>/dev/null
	daemon=
}
MACHINE=pc,memory-backend=mem run_payload two tcg "total=48M hot=16M" -m 128 -object memory-backend-memfd,id=mem,size=128M,share=on ||
	fail "a guest starts"
for ((round = 0; round < 20; round++)); do kill_one "$round"; done
for name in "${!killed[@]}"; do echo "# $name: ${killed[$name]} times"; done
check "none of $kills times anything is left" test "$kills" -ge 16 -a "$stuck" = 0
check "each kind was killed" test "${#killed[@]}" -ge 4
check "both are at work after it" begin
check "and end when they are to" vmwssd_end TERM
all_gone
finish
