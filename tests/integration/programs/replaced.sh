#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=45
#
# A QEMU that replaces itself by exec(2), as cpr-exec does for a live update: its pid, start time and executable stay, its memory
# is another one. measure says so, and vmwssd goes on with it; with RAM that is made anew, and with RAM in a file that stays.
# When it becomes another program the guest is gone.

# In a namespace of processes of its own: vmwssd would follow every QEMU of this machine.
[[ -n ${VMWSS_OWN_PROCESSES:-} ]] || VMWSS_OWN_PROCESSES=yes exec unshare --pid --fork --kill-child --mount-proc -- "$BASH" "$0" "$@"
libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=96M hot=16M"
want=$(truth "$params memory=128M")
exec_again=$((34 + 5)) exec_other=$((34 + 6)) # SIGRTMIN is 34, but for the shell's kill: so by number
measuring=
# begin_guest NAME BACKEND: which can be made to replace itself.
begin_guest() {
	LD_PRELOAD=$build/tests/integration/libexec_again.so MACHINE=pc,memory-backend=mem start_payload "$1" tcg "$params" -m 128 \
		-object "$2,id=mem,size=128M,share=on"
}
# replace NAME: and waits until its guest spins again.
replace() {
	: >"$guests_dir/$1.out"
	kill -"$exec_again" "$pid" && wait_ready "$1"
}

shm=$(mktemp /dev/shm/vmwss-t.XXXX)
end_files() {
	end_all
	rm -f -- "$shm"
}
trap end_files EXIT

echo "# measure"
begin_guest measured memory-backend-memfd || { finish; exit 1; }
start=$(awk '{ print $22 }' "/proc/$pid/stat")
for method in "pageout -n 500" "cold --census"; do
	# shellcheck disable=SC2086 # words
	"$vmwss" measure --pid "$pid" -m $method -w 6 >"$guests_dir/record" 2>"$guests_dir/messages" &
	measuring=$!
	settles measured_by "$pid" "$measuring"
	sleep 1
	check "${method%% *}: it replaces itself" replace measured
	status=0
	wait "$measuring" || status=$?
	check "${method%% *}: exit 2 ($status)" test "$status" = 2
	check "${method%% *}: the cause, and what to do: $(<"$guests_dir/messages")" \
		grep -q 'replaced its program (exec).*measure again' "$guests_dir/messages"
	check "${method%% *}: no number" test ! -s "$guests_dir/record"
done
check "the same process all the time" test "$(awk '{ print $22 }' "/proc/$pid/stat")" = "$start"
check_panel "pageout, afterwards" "$want" --pid "$pid" -m pageout -w 3 -n 2000
"$vmwss" measure --pid "$pid" -m cold --census -w 6 >/dev/null 2>"$guests_dir/messages" &
measuring=$!
settles measured_by "$pid" "$measuring"
sleep 1
kill -"$exec_other" "$pid"
status=0
wait "$measuring" || status=$?
check "another program: the guest vanished, exit 3 ($status): $(<"$guests_dir/messages")" test "$status" = 3
stop_guest "$pid"

echo "# vmwssd"
vmwssd_conf 'connect = processes' 'window = 1,3' 'samples = 1000' 'budget = 100%' 'guest-budget = 90%'
give_vmwssd "$guests_dir/conf"
vmwssd_begin --config "$guests_dir/conf"
# of NAME EXPRESSION [AFTER-ID]: of its newest record.
of() { sql "SELECT $2 FROM sample JOIN guest ON guest.id = guest_id WHERE guest.name = '$1' AND sample.id > ${3:-0} ORDER BY sample.id DESC LIMIT 1"; }
# right NAME AFTER-ID: a record after that one has all windows, and the truth within twice its interval.
right() {
	[[ $(of "$1" 'json_array_length(windows)' "$2") == 2 ]] && jq --argjson t "$want" \
		'$t >= .[2] - 2 * (.[2] - .[3]) and $t <= .[2] + 2 * (.[4] - .[2])' <<<"$(of "$1" "json_extract(windows, '\$[0]')" "$2")" | grep -q true
}
# said NAME AFTER-ID: a record after that one has the flag new-panel.
said() {
	[[ $(sql "SELECT count(*) FROM sample JOIN guest ON guest.id = guest_id WHERE name = '$1' AND sample.id > $2 AND
		',' || flags || ',' LIKE '%,new-panel,%'") -ge 1 ]]
}
newest_id() { sql 'SELECT coalesce(max(id), 0) FROM sample'; }
for name in anew kept; do
	backend=memory-backend-memfd
	[[ $name == anew ]] || backend=memory-backend-file,mem-path=$shm
	begin_guest "$name" "$backend" || continue
	check "$name: it is followed" eventually right "$name" 0
	for again in once twice; do
		before=$(newest_id)
		check "$name: it replaces itself, $again" replace "$name"
		check "$name: a new panel, which is said" eventually said "$name" "$before"
		check "$name: it is followed on" eventually right "$name" "$(newest_id)"
	done
	# As if all of its pages were absent: 0 B, though the RAM is there.
	check "$name: no record of a memory that is gone" test "$(sql "SELECT count(*) FROM sample JOIN guest ON guest.id = guest_id
		WHERE name = '$name' AND resident_bytes > 90 * 1048576 AND json_extract(windows, '\$[0][4]') < 2097152")" = 0
	check "$name: it was not let go" test "$(grep -cE "domain $name: (its process has ended|no longer)" "$log")" = 0
	if [[ $name == kept ]]; then
		kill -"$exec_other" "$pid"
		check "as another program it is let go" eventually logged "domain $name: its process has ended"
	fi
	stop_guest "$pid"
done
check "vmwssd ends" vmwssd_end TERM
finish
