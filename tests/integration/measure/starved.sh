#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: serial tcg cost=45
# test: lab=page_idle thorough cost=90
#
# Windows in which the vCPUs stood still, hardly ran, or were kept from running: each window says for how long they ran, and the
# flag idle-guest is about every one of them; and an est window that is far from the window that was asked for has a flag.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# A guest that spins runs all the time, unless it is kept from it.
export REST=no
method=cold
[[ $accel == tcg ]] || method=idle
params="total=96M hot=16M"
socket=(-qmp "unix:$guests_dir/qmp,server=on,wait=off")
truth=$(truth "$params")

# begin_measure ARGS...: in the background; end_measure has the record.
begin_measure() {
	"$vmwss" measure --json --pid "$pid" --census -m $method "$@" >"$guests_dir/record" 2>"$guests_dir/messages" &
	measuring=$!
	settles measured_by "$pid" "$measuring" || fail "measure begins" "$(<"$guests_dir/messages")"
}
end_measure() {
	wait "$measuring" || fail "measure ends" "$(<"$guests_dir/messages")"
	record=$(<"$guests_dir/record")
	comment "$(jq -c '{flags, vcpu_seconds, windows: [.windows[] | [.est_window_s, .vcpu_seconds, .wss_bytes, .wss_high_bytes]]}' \
		<<<"$record")"
}

# window N FILTER: true of that window of the record.
window() { record_has ".windows[$1] | $2"; }
# The vCPUs ran, all the while or for a part of it; touched: all of the set, and at most a hundredth more.
touched=".wss_bytes >= 0.99 * $truth and .wss_bytes <= 1.01 * $truth"

start_payload starved "$accel" "$params" -m 128 "${socket[@]}" || { finish; exit; }

begin_measure -w 1,2
end_measure
check "it runs: each window says for how long" record_has \
	'(.windows | all(.vcpu_seconds > 0.01 and .vcpu_seconds < 1.1 * .est_window_s)) and .windows[0].vcpu_seconds <= .windows[1].vcpu_seconds'
check "it runs: not idle" lacks_flag idle-guest

# The second window is read after it went on: only the first one is of a guest that stood still.
qmp '{"execute":"stop"}'
begin_measure -w 1,6
sleep 2
qmp '{"execute":"cont"}'
end_measure
check "suspended in one window of two: nothing touched in it, and it did not run" window 0 '.wss_bytes == 0 and .vcpu_seconds < 0.01'
check "suspended in one window of two: its upper bound holds what the guest needs when it runs" window 0 ".wss_high_bytes >= 0.99 * $truth"
check "suspended in one window of two: the other has all of it" window 1 "$touched and .vcpu_seconds > 0.01"
check "suspended in one window of two: idle-guest" has_flag idle-guest
check "suspended in one window of two: not paused, for it ran" lacks_flag paused

# It touched all that it uses before it was stopped, and that is what the windows say.
begin_measure -w 2,5
sleep 0.5
kill -STOP "$pid"
sleep 2.5
kill -CONT "$pid"
end_measure
check "stopped by a signal: the first window says how long it ran" window 0 '.vcpu_seconds < 0.6 * .est_window_s'
check "stopped by a signal: bounds that hold the truth" record_has ".windows | all(.wss_high_bytes >= 0.99 * $truth)"

# A vCPU of the lowest weight beside a thread that wants all of its processor; and so is its session, where each is a group of
# its own (CONFIG_SCHED_AUTOGROUP).
starve() {
	[[ ! -e /proc/$pid/autogroup ]] || echo 19 >"/proc/$pid/autogroup"
	local task
	for task in /proc/"$pid"/task/*; do
		[[ $(<"$task/comm") != CPU* ]] || { vcpu=${task##*/}; }
	done
	taskset -cp 0 "$vcpu" >/dev/null
	chrt -i -p 0 "$vcpu"
	taskset -c 0 bash -c 'while :; do :; done' &
	hog=$!
}
starve
begin_measure -w 1,2
end_measure
kill "$hog"
check "starved: each window has less than a tenth of its time" record_has '.windows | all(.vcpu_seconds < 0.1 * .est_window_s)'
check "starved: idle-guest, or it was seen to touch something" record_has \
	'(.flags | index("idle-guest")) or (.windows | all(.wss_bytes > 0))'
stop_guest "$pid"

# The reader is kept from its work for longer than the window: what it reads then is of another window.
if start_payload late "$accel" "$params" -m 128; then
	begin_measure -w 1,6
	sleep 0.5
	kill -STOP "$measuring"
	sleep 3
	kill -CONT "$measuring"
	end_measure
	check "a late reading: the est window says so" window 0 '.est_window_s > 2'
	check "a late reading: stretched" has_flag stretched
	begin_measure -w 3
	end_measure
	check "in time: not stretched" record_has '(.windows[0].est_window_s > 3.3) or (.flags | index("stretched") == null)'
	stop_guest "$pid"
fi

finish
