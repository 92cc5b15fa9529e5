#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: serial tcg cost=92
#
# What makes a number wrong: a second vmwss is kept out, other disturbances are flagged.

# A spinning guest is part of what is tested here.
export REST=no
libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=96M hot=16M"
t=$(truth "$params")

# hold ARGS...: measures in the background, and is back when it has locked the guest.
hold() {
	"$vmwss" measure --pid "$pid" -m cold "$@" >/dev/null 2>&1 &
	holder=$!
	settles measured_by "$pid" "$holder"
}

end_holder() {
	kill -KILL "$holder"
	wait "$holder" 2>/dev/null
}

# all_exact FILE...: every record but those of windows in which the guest got no processor, which say nothing.
all_exact() {
	jq -es "map(select(.vcpu_seconds > 0.03 * .windows[0].est_window_s)) | length > 1 and
		all(.[].windows[0]; .wss_bytes > 0.99 * $t and .wss_bytes < 1.01 * $t)" "$@" >/dev/null
}

echo "# two vmwss at once on one guest, and on two"
start_payload other tcg "$params" -m 128
other=$pid
if start_payload one tcg "$params" -m 128; then
	hold -w 60
	expect_exit "a second measurement is refused and names the first" 2 \
		"process $holder \\(.*vmwss measure --pid $pid .*--wait SECONDS" "$vmwss" measure --pid "$pid" -w 0.5
	expect_exit "so does doctor" 2 "process $holder" "$vmwss" doctor --pid "$pid"
	check "list says busy, and why" test \
		"$("$vmwss" list --processes --json | jq "select(.pid == $pid) | .ram_bytes > 0 and (.error | test(\"$holder\"))")" = true
	expect_exit "waiting is bounded" 2 'for the last 0.3 s' "$vmwss" measure --pid "$pid" -w 0.5 --wait 0.3
	check "another guest is measured meanwhile" measure --pid "$other" -m cold -w 0.5
	end_holder
	check_census "cold, after kill -9 of the holder" "$t" 1 --pid "$pid" -w 1 -m cold

	hold -w 2
	check_census "cold, waited for its turn" "$t" 1 --pid "$pid" -w 1 -m cold --wait 60
	wait "$holder" 2>/dev/null

	echo "# two that repeat take turns"
	"$vmwss" measure --pid "$pid" -m cold -w 0.5 -i 4 -k 4 --json >"$guests_dir/first" 2>&1 &
	first=$!
	"$vmwss" measure --pid "$pid" -m cold -w 0.5 -i 4 -k 4 --json >"$guests_dir/second" 2>&1
	check "the second ends well" test $? = 0
	wait "$first"
	check "so does the first" test $? = 0
	check "all eight periods are measured" test "$(cat "$guests_dir/first" "$guests_dir/second" | jq -s length)" = 8
	check "and within 1 % of the truth" all_exact "$guests_dir/first" "$guests_dir/second"

	rm -f -- "$guests_dir/first"
	"$vmwss" measure --pid "$pid" -m cold -w 0.3 -i 4 -k 3 --json >"$guests_dir/first" 2>"$guests_dir/messages" &
	first=$!
	settles test -s "$guests_dir/first"
	hold -w 60 --wait 10
	wait "$first"
	check "periods in which the guest is never free are skipped" test "$?,$(jq -s length "$guests_dir/first")" = 0,1
	check "and said so" grep -q "period skipped: .*process $holder" "$guests_dir/messages"
	end_holder
	check "the lock file stays only with a holder that was killed" test -e "/run/vmwss/guest-$pid.lock" \
		-a ! -e "/run/vmwss/guest-$other.lock"
	stop_guest "$pid"
fi
stop_guest "$other"

echo "# what QEMU itself does to all of guest RAM"
# A monitor without another program: QEMU reads one FIFO, and writes the other.
mkfifo "$guests_dir/hmp.in" "$guests_dir/hmp.out"
hmp() { printf '%s\n' "$*" >"$guests_dir/hmp.in"; }
has_thread() { cat "/proc/$pid/task/"*/comm 2>/dev/null | grep "$1" >/dev/null; }
lacks_thread() { ! has_thread "$1"; }
migration='live_migration\|mig/src' # as QEMU called it up to 8.2, and calls it since 9.0
lacks_flags() { record_has "[.flags[] | select(test(\"$1\"))] == []"; }
look() { check "$1: measured" measure --pid "$pid" -m cold -w 0.5; }
# monitor_busy SECONDS [BEFORE AFTER]: QEMU is asked for its disks again and again, for so long, between two other commands.
monitor_busy() {
	python3 - "$guests_dir/qmp" "$@" <<-'END'
	import json, socket, sys, time
	stream = socket.socket(socket.AF_UNIX)
	stream.connect(sys.argv[1])
	lines = stream.makefile("rw")
	lines.readline()
	def ask(command, **arguments):
	    lines.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
	    lines.flush()
	    while "return" not in json.loads(lines.readline()):
	        pass
	for command in ["qmp_capabilities"] + sys.argv[3:4]:
	    ask(command)
	end, asked = time.monotonic() + float(sys.argv[2]), 0
	while time.monotonic() < end:
	    ask("human-monitor-command", **{"command-line": "info block"})
	    asked += 1
	for command in sys.argv[4:]:
	    ask(command)
	print(f"# {asked} questions")
	END
}
if start_payload jobs tcg "$params" -m 128 -chardev "pipe,id=hmp,path=$guests_dir/hmp" -mon chardev=hmp,mode=readline \
	-qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
	cat "$guests_dir/hmp.out" >"$guests_dir/hmp.log" &
	look "no job"
	check "no flag of a job" lacks_flags 'migrating|dirty-rate|dump|reporting'
	hmp calc_dirty_rate 10
	settles has_thread dirtyrate
	look "calc-dirty-rate"
	check "flag dirty-rate" has_flag dirty-rate
	check "and the bounds hold whatever it read" record_has \
		".windows[0] | .wss_low_bytes <= $t and .wss_high_bytes >= 0.99 * $t"
	check "and not migrating" lacks_flags migrating
	hmp migrate_set_parameter max-bandwidth 1M
	hmp migrate -d '"exec:cat >/dev/null"'
	settles has_thread "$migration"
	look "migration"
	check "flag migrating" has_flag migrating
	check "and the low bound holds whatever it read" record_has '.windows[0].wss_low_bytes == 0'
	hmp migrate_cancel
	settles lacks_thread "$migration"
	look "migration cancelled"
	check "no flag any more" lacks_flags migrating
	"$vmwss" measure --pid "$pid" -m cold -w 4 --json >"$guests_dir/first" &
	first=$!
	sleep 1.5
	mkfifo "$guests_dir/dump"
	(sleep 1 && exec cat) <"$guests_dir/dump" >/dev/null &
	hmp dump-guest-memory -d "$guests_dir/dump"
	wait "$first"
	record=$(cat "$guests_dir/first")
	check "a dump that begins and ends within the window" has_flag dump
	# By QEMU's main thread, and most of what it writes is left out.
	rm -f -- "$guests_dir/first"
	"$vmwss" measure --pid "$pid" -m cold -w 4 --json >"$guests_dir/first" &
	first=$!
	sleep 1
	hmp dump-guest-memory -z "$guests_dir/dump.z"
	wait "$first"
	record=$(cat "$guests_dir/first")
	check "one that has no thread, and is compressed" has_flag dump
	check "and the bounds hold" record_has ".windows[0] | .wss_low_bytes <= $(truth "$params") and .wss_high_bytes >= $(truth "$params")"

	echo "# a monitor that keeps QEMU busy while no vCPU runs"
	settles lacks_thread dirtyrate
	rm -f -- "$guests_dir/first"
	"$vmwss" measure --pid "$pid" -m cold -w 4 --json >"$guests_dir/first" &
	first=$!
	settles measured_by "$pid" "$first"
	sleep 1
	monitor_busy 1.5 stop cont
	wait "$first"
	record=$(cat "$guests_dir/first")
	check "is no dump" lacks_flags dump
	# The dumps have read the guest's holes, which are the zero page since; answers through a socket do not count as written.
	check "nobody reads its memory" lacks_flags read-by-others
	check "and the working set is right" holds "$(field wss_low_bytes) > 0.99 * $t && $(field wss_bytes) < 1.01 * $t"

	echo "# a guest that is suspended while it is measured again and again"
	rm -f -- "$guests_dir/first"
	"$vmwss" measure --pid "$pid" -m cold -w 1 -i 3 -k 4 --json >"$guests_dir/first" 2>&1 &
	first=$!
	settles test -s "$guests_dir/first"
	hmp stop
	sleep 6.5
	hmp cont
	wait "$first"
	check "the series goes on" test "$?,$(jq -s length "$guests_dir/first")" = 0,4
	check "and says in which periods it stood still" quietly jq -es '[.[] | .flags | index("paused") != null] |
		.[0] == false and any and .[3] == false' "$guests_dir/first"
	check "of which nothing is known" quietly jq -es '[.[] | select(.flags | index("paused"))] |
		all(.[]; .windows[0].wss_bytes == 0 and .windows[0].wss_high_bytes == .resident_bytes)' "$guests_dir/first"
	stop_guest "$pid"
fi

echo "# a guest that takes most of its memory within the window, while a monitor keeps QEMU busy"
# It writes: reading what it never wrote would take no memory but the zero page.
grows="total=110M populate=none op=write phases=6:64K,600:96M"
if start_payload grows tcg "$grows" -m 128 -qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
	rm -f -- "$guests_dir/first"
	"$vmwss" measure --pid "$pid" -m cold -w 10 --json >"$guests_dir/first" &
	first=$!
	settles measured_by "$pid" "$first"
	monitor_busy 8
	wait "$first"
	record=$(cat "$guests_dir/first")
	check "it has taken its memory: $(field wss_bytes)" holds "$(field wss_bytes) > 50 * 1048576"
	check "it is no dump" lacks_flags dump
	stop_guest "$pid"
fi

echo "# a dump of which the window has a part only, and one of huge pages, of which each is touched by one read"
# start_dumpable NAME PARAMS QEMU-OPTION...: with a monitor, and a FIFO to dump into.
start_dumpable() {
	rm -f -- "$guests_dir"/hmp.* "$guests_dir/dump"
	mkfifo "$guests_dir/hmp.in" "$guests_dir/hmp.out" "$guests_dir/dump"
	start_payload "$1" tcg "$2" -m 128 "${@:3}" -chardev "pipe,id=hmp,path=$guests_dir/hmp" -mon chardev=hmp,mode=readline || return 1
	cat "$guests_dir/hmp.out" >"$guests_dir/hmp.log" &
}
# check_dumped METHOD PARAMS WAIT...: by QEMU's main thread, with the vCPUs stopped, which waits for whoever reads.
check_dumped() {
	rm -f -- "$guests_dir/first"
	"$vmwss" measure --pid "$pid" -m "$1" -w 6 --json >"$guests_dir/first" &
	first=$!
	settles measured_by "$pid" "$first"
	sleep 1
	{
		head -c 20M
		sleep 0.7
		head -c 30M
		sleep 0.7
		head -c 30M
		"${@:3}"
		cat
	} <"$guests_dir/dump" >/dev/null &
	reader=$!
	hmp dump-guest-memory "$guests_dir/dump"
	wait "$first"
	record=$(cat "$guests_dir/first")
	printf '# %s: %s [%s, %s], flags %s\n' "$1" "$(field wss_bytes)" "$(field wss_low_bytes)" "$(field wss_high_bytes)" \
		"$(jq -c .flags <<<"$record")"
	check "$1: flag dump" has_flag dump
	check "$1: and the bounds hold" record_has ".windows[0] | .wss_low_bytes <= $(truth "$2") and .wss_high_bytes >= $(truth "$2")"
	wait "$reader"
	check "$1: then it is measured" measure --pid "$pid" -m "$1" -w 1
	check "$1: without that flag" lacks_flags dump
}
if MACHINE=pc,memory-backend=mem start_dumpable part "$params" -object memory-backend-memfd,id=mem,size=128M,share=on; then
	# The rest comes after the window. One method has pages, the other only sums.
	check_dumped pageout "$params" settles test -s "$guests_dir/first"
	check_dumped cold "$params" settles test -s "$guests_dir/first"
	stop_guest "$pid"
fi
# 4 KiB for each of these huge pages are more than what the guest touches.
few="total=96M hot=64K"
if THP=yes start_dumpable huge "$few"; then
	check_dumped cold "$few" true
	check "huge: of huge pages" has_flag thp
	stop_guest "$pid"
fi
# All of these pages are compressed within a tenth of a second, and little is written.
few="total=96M hot=64K"
if THP=yes start_payload short tcg "$few" -m 128 -qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
	for after in 0.8 1.1 1.5; do
		"$vmwss" measure --pid "$pid" -m cold -w 3 --json >"$guests_dir/first" &
		first=$!
		settles measured_by "$pid" "$first"
		sleep "$after"
		began=$EPOCHREALTIME
		qmp '{"execute":"dump-guest-memory","arguments":{"paging":false,"protocol":"file:'"$guests_dir/short.dump"'","format":"kdump-zlib"}}'
		took=$(awk "BEGIN { print $EPOCHREALTIME - $began }")
		wait "$first"
		record=$(cat "$guests_dir/first")
		check "a short, compressed dump: flag dump ($(field wss_bytes) bytes; $took s)" has_flag dump
		check "a short, compressed dump: the bounds hold" record_has ".windows[0] | .wss_low_bytes <= $(truth "$few")"
	done
	stop_guest "$pid"
fi

echo "# a snapshot is loaded: a window that ends while QEMU writes memory, and no vCPU runs"
monitor() { qmp '{"execute":"human-monitor-command","arguments":{"command-line":"'"$*"'"}}'; }
rm -f -- "$guests_dir/qmp"
qemu-img create -q -f qcow2 "$guests_dir/disk" 1G
few="total=192M hot=16M"
if MACHINE=pc,memory-backend=mem start_payload loads tcg "$few" -m 256 -object memory-backend-memfd,id=mem,size=256M,share=on \
	-qmp "unix:$guests_dir/qmp,server=on,wait=off" -drive "if=virtio,file=$guests_dir/disk,format=qcow2"; then
	check "a snapshot is taken" monitor savevm one
	# The snapshot takes a second or less: one of these ends within it, if not on every machine.
	for how in "measure -m cold" "ages -m pageout -n 2000"; do
		for after in 1.1 1.2 1.3 1.4 1.5; do
			# shellcheck disable=SC2086 # a command and its words
			"$vmwss" $how --json --pid "$pid" -w 2 >"$guests_dir/first" 2>"$guests_dir/messages" &
			first=$!
			settles measured_by "$pid" "$first"
			sleep "$after"
			monitor loadvm one
			wait "$first"
			record=$(<"$guests_dir/first")
			check "$how, a snapshot is loaded after $after s ($(field wss_bytes) bytes, flags $(jq -c .flags <<<"$record")): the bounds hold" \
				record_has ".windows[0] | .wss_low_bytes <= $(truth "$few") * 1.01"
		done
	done
	stop_guest "$pid"
fi

echo "# memory that comes in by migration: QEMU's main thread writes it before the vCPUs run"
slowly=$guests_dir/slowly
printf 'for ((i = 0; i < 100; i++)); do head -c 1M; sleep 0.05; done <%s\n' "$guests_dir/state" >"$slowly"
saved() { qmp '{"execute":"query-migrate"}' && grep -q '"status": "completed"' "$guests_dir/answer"; }
rm -f -- "$guests_dir/qmp"
if start_payload source tcg "$params" -m 128 -qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
	qmp '{"execute":"migrate","arguments":{"uri":"exec:cat >'"$guests_dir/state"'"}}'
	check "a guest is saved" settles saved
	stop_guest "$pid"
	"$nothp" "$qemu" -machine "$machine" -accel tcg -m 128 -nodefaults -no-user-config -display none -vga none -kernel "$payload" \
		-append "$params" -name guest=incoming,debug-threads=on -pidfile "$guests_dir/incoming.pid" \
		-serial "file:$guests_dir/incoming.out" -incoming "exec:bash $slowly" -daemonize
	pid=$(<"$guests_dir/incoming.pid")
	pids+=("$pid")
	check "it comes in: measured" measure --pid "$pid" -m cold -w 1.5
	check "it comes in: flag migrating" has_flag migrating
	check "it comes in: $(field wss_bytes) bytes were written, and all of them may be QEMU's own" \
		record_has '.windows[0] | .wss_bytes > 0 and .wss_low_bytes == 0'
	check "it begins to run: measured" measure --pid "$pid" -m cold -w 10
	check "it begins to run: flag migrating" has_flag migrating
	check "it begins to run: the bounds hold" record_has ".windows[0] | .wss_low_bytes <= $t and .wss_high_bytes >= $t"
	check_census "then" "$t" 1 --pid "$pid" -m cold -w 1
	check "then: no flag" lacks_flags migrating
	stop_guest "$pid"
fi

echo "# a guest that spins without touching anything"
# Instead of a BIOS, 64 KiB of ROM, so that nothing else runs in it: for twenty changes of the clock's second it adds to
# a word in memory, then it jumps to itself. A processor begins 16 bytes below the end, with a jump to the first.
{
	printf '\xfa\xb3\x14\xb4\xff\xff\x06\x00\x90\x30\xc0\xe6\x70\xe4\x71\x38\xe0\x74\xf2\x88\xc4\xfe\xcb\x75\xec\xeb\xfe'
	head -c $((65536 - 16 - 27)) /dev/zero
	printf '\xea\x00\x00\x00\xf0'
	head -c 11 /dev/zero
} >"$guests_dir/rom"
# A megabyte that is there, and that no instruction names.
head -c 1M /dev/zero >"$guests_dir/zeros"
"$nothp" qemu-system-x86_64 -accel tcg -m 64 -nodefaults -no-user-config -display none -vga none \
	-machine pc,memory-backend=mem -object memory-backend-memfd,id=mem,size=64M,share=on \
	-device "loader,file=$guests_dir/zeros,addr=0x100000,force-raw=on" \
	-pidfile "$guests_dir/spins.pid" -name guest=spins,debug-threads=on -bios "$guests_dir/rom" -daemonize
pid=$(<"$guests_dir/spins.pid")
pids+=("$pid")
began=$SECONDS
# On one kind of machine the word's page was found touched in every window, long after the last instruction that names it:
# by speculation, it seems, which may set an accessed bit. A page that is not there has none to set.
of_ram() { find "/proc/$pid/fd" -lname '*memfd:memory-backend-memfd*' | head -n 1; }
take_the_word_away() {
	while ((SECONDS - began < 22)); do sleep 0.2; done
	fallocate --punch-hole --offset $((0x9000)) --length 4096 "$(of_ram)"
}
take_the_word_away &
touches() { measure --pid "$pid" -m cold -w 0.3 && holds "$(field wss_bytes) > 0"; }
check "it touches" settles touches
status=0
"$vmwss" measure --pid "$pid" -m cold -w 0.5 -i 2 -k 15 --json >"$guests_dir/first" 2>"$guests_dir/messages" || status=$?
numbers=$(jq -c '[.windows[0].wss_bytes, .vcpu_seconds]' "$guests_dir/first" | tr '\n' ' ')
check "the series goes on when it does not" test "$status" = 0
check "each of 15 periods has a number: $numbers" test "$(jq -s length "$guests_dir/first")" = 15
# As in the series: a page that QEMU itself touches, now and then, is a number.
spins() {
	measure --pid "$pid" -m cold -w 0.5 && holds "$(field wss_bytes) == 0 && $(field wss_high_bytes) == 0" && has_flag idle-guest
}
if jq -es 'any(.[]; .windows[0].wss_bytes == 0 and (.flags | index("idle-guest")))' "$guests_dir/first" >/dev/null; then
	pass "of some it is 0, flagged idle-guest"
	check "of one measurement too" settles spins
elif jq -es 'all(.[]; .windows[0].wss_bytes == 4096)' "$guests_dir/first" >/dev/null; then
	skip "0, flagged idle-guest" "here one page is found touched in each window, though the guest names none;
		$(stat -Lc %b "$(of_ram)") blocks of its RAM are there; $(grep -m 1 'model name' /proc/cpuinfo)"
else
	fail "of some it is 0, flagged idle-guest" "$numbers"
fi
stop_guest "$pid"

echo "# free page reporting"
if start_payload balloon tcg "$params" -m 128 -device virtio-balloon-pci,free-page-reporting=on; then
	look "free page reporting"
	check "flag free-page-reporting" has_flag free-page-reporting
	stop_guest "$pid"
fi

finish
