# shellcheck shell=bash disable=SC2034,SC2154 # shared with the script that sources this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Hazards to vmwss-balloond, and to what it depends on: see hazards.sh. A hazard begins with its guests, and leaves no
# vmwss-balloond.

two_cold() {
	begin_or_die cold one
	begin_or_die cold two
	vmwssd_begin --config "$guests_dir/conf"
}

# A quarter of the kills is of one that gives back, which takes it some hundredths of a second. A guest is asked for memory three
# seconds after a start.
hazard_kill_balloond() {
	local i restoring=0
	two_cold
	controller_begin
	shrunk one
	controller_end KILL
	for ((i = 0; i < times; i++)); do
		controller_begin
		sleep "$(random_seconds 5)"
		if ((i % 4 == 3)); then
			kill -TERM "$controller"
			sleep "0.0$((RANDOM % 4))"
			if kill -0 "$controller" 2>/dev/null; then restoring=$((restoring + 1)); fi
		fi
		controller_end KILL 2>/dev/null
		look
	done
	echo "# after $less of $times kills a guest had less than is assigned; $restoring were of one that gave back"
	controller_begin
	sleep 2
	gives_back
}

# Either half may have ended: each ends with the other.
ended() { ! kill -0 "$daemon" 2>/dev/null; }
records() { sql 'SELECT coalesce(max(id), 0) FROM sample'; }
more_than() { (($(records) > $1)); }
hazard_kill_vmwssd() {
	local i half before lost=0 orphans=0
	two_cold
	controller_begin
	shrunk one
	for ((i = 0; i < times; i++)); do
		sleep "$(random_seconds 2)"
		before=$(records)
		half=$daemon
		((i % 2)) || half=$(pgrep -P "$daemon" -x vmwssd-scanner || echo "$daemon")
		kill -KILL "$half"
		settles ended || orphans=$((orphans + 1))
		wait "$daemon" 2>/dev/null
		(($(records) >= before)) || lost=$((lost + 1))
		[[ $(sql 'PRAGMA integrity_check') == ok ]] || damaged=$((damaged + 1))
		kill -0 "$controller" || fail "vmwss-balloond goes on"
		look
		vmwssd_begin --config "$guests_dir/conf"
	done
	before=$(records)
	check "no record that was there is lost" test $lost = 0
	check "no half stays without the other" test $orphans = 0
	check "it measures again" eventually more_than "$before"
	gives_back
}

hazard_kill_libvirtd() {
	local i downs
	two_cold
	controller_begin
	shrunk one
	for ((i = 0; i < times; i++)); do
		downs=$(grep -c 'nothing is decided: ' "$controller_log")
		sleep "$(random_seconds 2)"
		kill -KILL "$libvirtd_pid"
		wait "$libvirtd_pid" 2>/dev/null
		eventually logged_times 'nothing is decided: ' $((downs + 1)) || fail "it notices"
		libvirtd_begin
		eventually logged_times 'deciding again' $((downs + 1)) || fail "it decides again"
		look
	done
	gives_back
}

hazard_libvirtd() {
	local status=0
	two_cold
	controller_begin
	shrunk one
	libvirtd_stop
	check "it notices that libvirtd has stopped" eventually logged_times 'nothing is decided: ' 1
	libvirtd_begin
	check "and decides again" eventually logged_times 'deciding again' 1
	look
	libvirtd_stop
	controller_end TERM || status=$?
	check "SIGTERM without libvirtd: exit 2" test $status = 2
	check "the journal keeps what is to be restored" test "$(journal "SELECT before_bytes >> 20 FROM balloon WHERE name = 'one'")" = "$assigned"
	libvirtd_begin
	look
	controller_begin
	sleep 2
	gives_back
}

# on_a_small_disk DIR: a file system of its own.
on_a_small_disk() { mount -t tmpfs -o size=2M,mode=755 tmpfs "$1" && chown "$2" "$1"; }
# Space that SQLite gives back at the end of a transaction is taken as well, except for the page of one that it has just
# tried.
fill() {
	local i
	for ((i = 0; i < 20; i++)); do
		head -c 3M /dev/zero >>"$1/fill" 2>/dev/null
		sleep 0.1
	done
	test "$(df --output=avail "$1" | tail -n 1)" -le 8
}
# No guest is touched that the journal does not know; what is to get more gets it.
hazard_disk_full() {
	begin_or_die on_a_small_disk "$guests_dir/balloond" vmwss-balloond
	begin_or_die on_a_small_disk "${db%/*}" vmwss
	begin_or_die cold one
	vmwssd_begin --config "$guests_dir/conf"
	controller_begin
	shrunk one
	check "the journal's disk is full" fill "$guests_dir/balloond"
	begin_or_die cold two
	sleep 8
	look
	check "nothing is taken from a guest that it does not know" is two -eq "$assigned"
	check "it says so" eventually controller_logged 'full'
	gives_back
	check "SIGTERM with a full disk: what was taken is given back" eventually is one -eq "$assigned"
	whole || damaged=$((damaged + 1))
	controller_begin
	sleep 2
	kill -0 "$controller" 2>/dev/null || echo "# it does not start with a full disk"
	controller_end KILL
	look
	rm "$guests_dir/balloond/fill"
	controller_begin
	shrunk two
	check "the history's disk is full" fill "${db%/*}"
	sleep 5
	kill -0 "$controller" || fail "vmwss-balloond goes on"
	look
	rm "${db%/*}/fill"
	gives_back
}

# Both daemons get the wrong clock, as they would on a real host.
hazard_clock() {
	local ahead
	export CLOCK_SET=$guests_dir/ahead
	echo 0 >"$CLOCK_SET"
	vmwssd_under=(env "LD_PRELOAD=$build/tests/integration/libclock_ahead.so")
	two_cold
	LD_PRELOAD=$build/tests/integration/libclock_ahead.so controller_begin
	shrunk one
	for ahead in 86400 -86400 0; do
		echo $ahead >"$CLOCK_SET"
		sleep 6
		kill -0 "$controller" || fail "vmwss-balloond goes on"
		look
		echo "# $ahead s: one has $(actual one) MiB, two $(actual two)"
	done
	echo 86400 >"$CLOCK_SET"
	sleep 3
	controller_end KILL
	echo -86400 >"$CLOCK_SET"
	LD_PRELOAD=$build/tests/integration/libclock_ahead.so controller_begin
	check "the next one adopts them, two days earlier" eventually logged_times 'domain one: its balloon is adopted' 1
	look
	gives_back
}
