#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core tcg cost=6
#
# What cannot be measured is refused in one line that says why, with the right exit status.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

echo "# usage: exit 1"
expect_exit "no guest named" 1 'name either a DOMAIN or a --pid' "$vmwss" measure
expect_exit "both named" 1 'name either a DOMAIN or a --pid' "$vmwss" measure --pid 1 name
expect_exit "two guests" 1 'one guest at a time' "$vmwss" ages a b
expect_exit "all, and one of them" 1 'only one of them' "$vmwss" measure --all a
expect_exit "pid is no number" 1 'not a process id' "$vmwss" measure --pid 12x
expect_exit "window is no number" 1 'window' "$vmwss" measure --pid 1 -w 1,x
expect_exit "a window of no unit that there is" 1 'from 1ms to 1000000s' "$vmwss" measure --pid 1 -w 10x
expect_exit "writes of a panel" 1 '--writes examines every page' "$vmwss" measure --pid 1 --writes -n 5
expect_exit "writes in 17 windows" 1 'at most 16 windows' "$vmwss" measure --pid 1 --writes -w 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17
expect_exit "a map of writes over time" 1 'no --csv, no --over' "$vmwss" map --pid 1 --writes --over 10
expect_exit "a map of writes as CSV" 1 'no --csv, no --over' "$vmwss" map --pid 1 --writes --csv
expect_exit "window is not finite" 1 'window' "$vmwss" measure --pid 1 -w inf
expect_exit "no such method" 1 'expected auto, idle' "$vmwss" measure --pid 1 -m magic
expect_exit "samples out of range" 1 'samples' "$vmwss" measure --pid 1 -n 0
expect_exit "census and samples" 1 'exclude each other' "$vmwss" measure --pid 1 --census -n 5
expect_exit "interval below window" 1 'shorter than' "$vmwss" measure --pid 1 -w 10 -i 1
expect_exit "no such command" 1 'no command' "$vmwss" frobnicate
check "help COMMAND is COMMAND --help" cmp -s <("$vmwss" help measure) <("$vmwss" measure --help)
expect_exit "--debug alone is no command" 1 'Usage' "$vmwss" --debug
expect_exit "help of no command" 1 'no command' "$vmwss" help frobnicate
expect_exit "unknown option" 1 '' "$vmwss" measure --frobnicate

echo "# cannot measure: exit 2"
sleep 1000 &
sleeper=$!
pids+=("$sleeper")
expect_exit "not QEMU" 2 "$sleeper" "$vmwss" measure --pid "$sleeper"
hostile=$guests_dir/$'\e[31m\n<0>forged'
mkdir "$hostile" && cp -- "$(command -v sleep)" "$hostile/sleep"
"$hostile/sleep" 1000 &
pids+=("$!")
runs() { [[ /proc/$1/exe -ef $2 ]]; }
settles runs "$!" "$hostile/sleep"
expect_exit "one printable line, whatever the program is called" 2 'it runs [^'$'\e\n'']*/\?\[31m\?<0>forged' \
	"$vmwss" measure --pid "$!"
expect_exit "no such process" 2 '4194200' "$vmwss" measure --pid 4194200
expect_exit "LIBVIRT_DEFAULT_URI is asked" 2 'qemu:///nowhere' env LIBVIRT_DEFAULT_URI=qemu:///nowhere "$vmwss" measure some
expect_exit "but --connect first" 2 'embed' \
	env LIBVIRT_DEFAULT_URI=qemu:///nowhere "$vmwss" measure -c 'qemu:///embed?root=/nonexistent/x' some
expect_exit "no libvirt" 2 'libvirt' "$vmwss" measure -c 'qemu:///embed?root=/nonexistent/x' some
expect_exit "no libvirt, beside a directory that is there" 2 'no such directory' \
	"$vmwss" measure -c "qemu:///embed?root=$guests_dir/no" some
check "and none is made" test ! -e "$guests_dir/no" -a ! -e /nonexistent
mkdir "$guests_dir/empty" && : >"$guests_dir/empty/libvirt.so.0"
without_libvirt=(env "LD_LIBRARY_PATH=$guests_dir/empty" "$vmwss")
expect_exit "libvirt is not installed" 2 'libvirt.so.0: .*without libvirt: list --processes, measure --pid' "${without_libvirt[@]}" measure some
if start_payload refusals tcg "total=64M hot=8M" -m 128; then
	check "--pid needs no libvirt" "${without_libvirt[@]}" measure --pid "$pid" -w 1
	cp -- "$vmwss" "$guests_dir/vmwss" && chmod 755 "$guests_dir" "$guests_dir/vmwss"
	expect_exit "no permission" 2 'ermission|ermitted' \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$guests_dir/vmwss" measure --pid "$pid"
	as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups "$guests_dir/vmwss")
	check "doctor: an ordinary user may not advise QEMU" quietly grep -E '^(cold|pageout) +no .*(CAP_SYS_NICE|swap is active)' <("${as_user[@]}" doctor)
	check "and sees no other user's guests" quietly grep -E '^referenced +yes .*own guests' <("${as_user[@]}" doctor)
	debugged() {
		"$vmwss" --debug measure --pid "$pid" -w 200ms --json >"$guests_dir/json" 2>"$guests_dir/messages" &&
			jq -e . "$guests_dir/json" >/dev/null && grep -qE "^debug \+[0-9.]+: guest '.*', process $pid" "$guests_dir/messages" &&
			grep -qE '^debug .*: RAM block 0 .* 134217728 bytes' "$guests_dir/messages" &&
			grep -qE '^debug .*: method [a-z-]+: can measure this guest' "$guests_dir/messages" &&
			grep -qE '^debug .*: marked in .*; touched ' "$guests_dir/messages" && grep -q 'exit status 0' "$guests_dir/messages"
	}
	check "--debug: guest, RAM, methods and windows, on standard error only" debugged
	check "else nothing of it" test -z "$("$vmwss" measure --pid "$pid" -w 200ms 2>&1 >/dev/null | grep debug)"
	check "units of time" "$vmwss" measure --pid "$pid" -w 500ms,1s
	check "LANG=C: +-" quietly grep -E 'WSS +\+- ' <(LC_ALL=C "$vmwss" measure --pid "$pid" -w 200ms)
	check "UTF-8: ±" quietly grep -E 'WSS +± ' <(LC_ALL=C.UTF-8 "$vmwss" measure --pid "$pid" -w 200ms)
	expect_exit "referenced cannot follow a panel" 2 'use --census' \
		"$vmwss" measure --pid "$pid" -m referenced -n 100
	expect_exit "pageout takes no census" 2 'use --samples' "$vmwss" measure --pid "$pid" -m pageout --census
	kill -STOP "$pid"
	settles grep -q '^State:.T' "/proc/$pid/status"
	expect_exit "stopped process" 2 'kill -CONT' "$vmwss" measure --pid "$pid" -w 1
	kill -CONT "$pid"

	echo "# vanishes meanwhile: exit 3"
	(settles test -s "/run/vmwss/guest-$pid.lock"; kill -KILL "$pid") &
	begin=$SECONDS
	expect_exit "guest killed within the window" 3 'vanished' "$vmwss" measure --pid "$pid" -w 30
	check "and at once, not at the window's end" holds "$SECONDS - $begin < 30"
	expect_exit "then it is not there" 2 "$pid" "$vmwss" measure --pid "$pid"
fi

echo "# interrupted: exit 130, and nothing printed as a number"
if start_payload interrupt tcg "total=64M hot=8M" -m 128; then
	"$vmwss" measure --pid "$pid" -w 30 --json >"$guests_dir/interrupted" 2>&1 &
	measuring=$!
	settles measured_by "$pid" "$measuring"
	kill -INT "$measuring"
	wait "$measuring"
	check "ctrl-C" test $? = 130
	check "no record of an interrupted measurement" test ! -s "$guests_dir/interrupted"

	echo "# a full disk under the output"
	for command in "list --processes" "doctor"; do
		# shellcheck disable=SC2086 # words
		expect_exit "$command" 2 'standard output: No space' sh -c "'$vmwss' $command >/dev/full"
	done
	stop_guest "$pid"
fi

finish
