#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: serial tcg libvirt cost=38
#
# measure --pause: the guest stands still while it is marked and read, for a bounded time, and runs afterwards
# whatever happened to us: through QMP, and through libvirt.

libs=(libvirtd guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

trap 'libvirtd_end; end_guests' EXIT

params="total=96M hot=16M"
t=$(truth "$params")
hold_tool=$build/tests/integration/pause_hold

# hold LIMIT-MS HOLD-MS GUEST...: in the background, and back when the guest is paused.
hold() {
	: >"$guests_dir/hold"
	"$hold_tool" "$@" >"$guests_dir/hold" 2>&1 &
	holder=$!
	for ((i = 0; i < 600; i++)); do
		if grep -q paused "$guests_dir/hold"; then return 0; fi
		kill -0 "$holder" 2>/dev/null || break
		sleep 0.05
	done
	if grep -q paused "$guests_dir/hold"; then return 0; fi
	cat "$guests_dir/hold" >&2
	return 1
}

end_holder() {
	kill -KILL "$holder" 2>/dev/null
	wait "$holder" 2>/dev/null
}

# The state as QEMU's other monitor tells it: FIFOs, so that no program is needed to speak to it.
mkfifo "$guests_dir/hmp.in" "$guests_dir/hmp.out"
hmp() { printf '%s\n' "$*" >"$guests_dir/hmp.in"; }
# state_is WORDS: in a while.
state_is() {
	local i
	for ((i = 0; i < 150; i++)); do
		hmp info status
		sleep 0.2
		if grep -a 'VM status' "$guests_dir/hmp.log" | tail -n 1 | grep -q "$1"; then return 0; fi
	done
	return 1
}

echo "# through QMP"
if start_payload qmp tcg "$params" -m 128 -qmp "unix:$guests_dir/q,server=on,wait=off" \
	-chardev "pipe,id=hmp,path=$guests_dir/hmp" -mon chardev=hmp,mode=readline; then
	cat "$guests_dir/hmp.out" >"$guests_dir/hmp.log" &

	check "without --pause nothing stands still" measure --pid "$pid" -m cold -w 0.3
	check "pause_seconds is 0" record_has '.pause_seconds == 0'
	check_census "cold, paused while marked and read" "$t" 1 --pid "$pid" -m cold -w 0.3,1 --pause=2000
	# As many times as a machine that stands still itself may spoil.
	for _ in 1 2 3 4; do
		if record_has '.pause_seconds < 2 and (.flags | index("pause-cut") == null) and
			(.windows | all((.est_window_s - .window_s) | fabs < 0.1))'; then break; fi
		echo "# late: once more"
		measure --pid "$pid" -m cold -w 0.3,1 --pause=2000
	done
	check "it stood still, and not for long" record_has '.pause_seconds > 0 and .pause_seconds < 2'
	check "not cut" record_has '.flags | index("pause-cut") == null'
	check "est windows are of the guest's time" record_has '.windows | all((.est_window_s - .window_s) | fabs < 0.1)'
	check "three periods, each paused" test \
		"$("$vmwss" measure --pid "$pid" -m cold -w 0.1 -i 0.4 -k 3 --pause --json | jq -s 'map(select(.pause_seconds > 0)) | length')" = 3
	check "then it runs" state_is running

	check "held for longer than its limit" hold 200 5000 "$pid"
	wait "$holder"
	check "the limit cuts a pause ($(tail -n 1 "$guests_dir/hold"))" \
		holds "$(awk '/^cut/ { print $2 }' "$guests_dir/hold") + 0 >= 200 && $(awk '/^cut/ { print $2 }' "$guests_dir/hold") + 0 < 4500"
	check "a pause that was cut is flagged" measure --pid "$pid" -m cold -w 0.3 --pause=1
	check "flag pause-cut" has_flag pause-cut

	echo "# whatever becomes of us"
	check "held" hold 60000 60000 "$pid"
	check "it is paused" state_is paused
	expect_exit "meanwhile nobody else is let in" 2 'pause: .*(no answer|does not run)' \
		"$vmwss" measure --pid "$pid" -m cold -w 0.1 --pause
	check "and it stays paused" state_is paused
	end_holder
	check "after kill -9 it runs" state_is running

	check "held for a while" hold 700 60000 "$pid"
	kill -STOP "$holder"
	check "stopped in the pause (ctrl-Z): at the limit it runs" state_is running
	kill -CONT "$holder"
	end_holder

	check "held once more" hold 60000 5000 "$pid"
	kill -KILL "$(pgrep -P "$holder")"
	wait "$holder"
	check "the process that resumes is killed: exit 2" test $? = 2
	check "and it says so" grep -q 'was killed' "$guests_dir/hold"
	check "and it runs" state_is running

	check "held, while what resumes it is stopped" hold 700 1000 "$pid"
	kill -STOP "$(pgrep -P "$holder")"
	check "it runs soon after the limit" state_is running
	wait "$holder"
	check "and the program goes on: exit 0" test $? = 0
	check "held, while what resumes it is stopped" hold 60000 60000 "$pid"
	kill -STOP "$(pgrep -P "$holder")"
	end_holder
	check "after kill -9 of the other it runs" state_is running

	stuck=0
	for ((n = 0; n < 12; n++)); do
		"$vmwss" measure --pid "$pid" -m cold -w 0.01 -i 0.02 --pause >/dev/null 2>&1 &
		holder=$!
		sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
		end_holder
		state_is running || stuck=$((stuck + 1))
	done
	check "killed at twelve random moments: it always runs" test "$stuck" = 0

	echo "# a guest that others have paused is theirs"
	hmp stop
	check "paused" state_is paused
	expect_exit "is refused" 2 'pause: .*does not run' "$vmwss" measure --pid "$pid" -m cold -w 0.1 --pause
	check "and left paused" state_is paused
	hmp cont
	stop_guest "$pid"
fi

echo "# a monitor that is an object, as libvirt 12.9 makes it, where QEMU has that (11.1)"
monitor=(-mon "chardev=m,mode=control")
! "$qemu" -object help | grep -q monitor-qmp || monitor=(-object '{"qom-type":"monitor-qmp","id":"qmp","chardev":"m"}')
if start_payload object tcg "$params" -m 128 -chardev "socket,id=m,path=$guests_dir/m,server=on,wait=off" "${monitor[@]}"; then
	check "paused by ${monitor[0]}" measure --pid "$pid" -m cold -w 0.1 --pause=2000
	check "it stood still" record_has '.pause_seconds > 0'
	stop_guest "$pid"
fi

echo "# what cannot be paused is refused"
if start_payload abstract tcg "$params" -m 128 -qmp "unix:$guests_dir/a,abstract=on,server=on,wait=off"; then
	expect_exit "an abstract QMP socket" 2 'pause: .*\(it is an abstract one\)' "$vmwss" measure --pid "$pid" -m cold -w 0.1 --pause
	stop_guest "$pid"
fi
if start_payload noqmp tcg "$params" -m 128; then
	expect_exit "no QMP socket" 2 'pause: .*-qmp unix:' "$vmwss" measure --pid "$pid" -m cold -w 0.1 --pause
	stop_guest "$pid"
fi
expect_exit "no number of milliseconds" 1 'pause' "$vmwss" measure --pid 1 --pause=0

echo "# through libvirt"
if libvirtd_begin && embed_create paused 128 "$params"; then
	domstate() { embed_virsh domstate paused | head -n 1; }
	runs() { [[ $(domstate) == running ]]; }
	check_census "cold, domain paused while marked and read" "$t" 1 -c "$embed_uri" paused -m cold -w 1 --pause=2000
	check "it stood still" record_has '.pause_seconds > 0 and (.flags | index("pause-cut") == null)'
	check "then it runs" settles runs

	check "held through libvirt" hold 60000 60000 "$embed_uri" paused
	check "held, it is paused" test "$(domstate)" = paused
	end_holder
	check "after kill -9 it runs" settles runs

	check "held for a while" hold 300 1000 "$embed_uri" paused
	kill -STOP "$holder"
	check "stopped in the pause (ctrl-Z): after the limit it runs" settles runs
	kill -CONT "$holder"
	end_holder

	check "held" hold 60000 60000 "$embed_uri" paused
	libvirtd_stop
	end_holder
	sleep 1
	check "killed while libvirtd is away: resumed when it is back" libvirtd_begin
	check "it runs" settles runs

	embed_virsh suspend paused >/dev/null
	expect_exit "a domain that others have paused is refused" 2 'paused is paused' \
		"$vmwss" measure -c "$embed_uri" paused -m cold -w 0.1 --pause
	check "and left paused" test "$(domstate)" = paused
else
	fail "domain starts"
fi
none_left() { [[ -z $(pgrep -x pause_hold) ]]; }
check "no process is left" settles none_left

finish
