#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# vmwssd beside a libvirtd of its own and real TCG guests: it finds them, its history holds the truth, and it goes on
# whatever happens to the guests, to libvirtd, or to itself.

set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BUILD:-$root/build/release}
# shellcheck source=../lib/check.sh
. "$root/tests/lib/check.sh"
# shellcheck source=../lib/embed.sh
. "$root/tests/lib/embed.sh"
# shellcheck source=../lib/libvirtd.sh
. "$root/tests/lib/libvirtd.sh"
libvirtd_reexec "$@"
embed_reexec "$@"
# shellcheck source=../lib/guests.sh
. "$root/tests/lib/guests.sh"

vmwssd=$build/host/vmwssd
db=$guests_dir/history.db
log=$guests_dir/vmwssd.log
daemon=
memfd="<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"

end_all() {
	[[ -z $daemon ]] || kill -KILL "$daemon" 2>/dev/null
	libvirtd_end
	end_guests
}
trap end_all EXIT

# guest_pid NAME: of our libvirtd's domain; its directory is ours alone.
guest_pid() { cat "/run/libvirt/qemu/$1.pid"; }

# sql QUERY: its only value.
sql() { python3 -c 'import sqlite3, sys
row = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute(sys.argv[2]).fetchone()
print("" if row is None or row[0] is None else row[0])' "$db" "$1" 2>/dev/null; }

of="sample JOIN guest ON guest.id = guest_id WHERE guest.name ="

# newest_id NAME: of its last record; 0 when there is none.
newest_id() {
	local id
	id=$(sql "SELECT max(sample.id) FROM $of '$1'")
	echo "${id:-0}"
}

# records_after NAME ID N: there are N newer ones, within two minutes.
records_after() {
	local i
	for ((i = 0; i < 240; i++)); do
		if (($(sql "SELECT count(*) FROM $of '$1' AND sample.id > $2") >= $3)); then return 0; fi
		sleep 0.5
	done
	return 1
}
newest_windows_are() {
	[[ $(sql "SELECT windows FROM $of '$1' ORDER BY sample.id DESC LIMIT 1" | jq -c '[.[][0]]') == "$2" ]]
}
goes_on() { records_after "$1" "$(newest_id "$1")" "${2:-1}"; }

# eventually COMMAND...: it succeeds within a minute.
eventually() {
	local i
	for ((i = 0; i < 120; i++)); do
		if "$@"; then return 0; fi
		sleep 0.5
	done
	return 1
}
let_go='(no longer watched|its process has ended)'
logged() { grep -qE -- "$1" "$log"; }

# Of a time in which the guest had a tenth of a core: with less it may not get through its set.
ran="vcpu_s >= 0.1 * json_extract(windows, '\$[#-1][1]')"
has_run() { (($(sql "SELECT count(*) FROM $of '$1' AND $ran") > 0)); }

# holds_truth NAME TRUTH: so does the shortest window of the newest such record, at twice its width as check_panel has
# it. Not of the time before: a guest that has just got ready has filled all of its memory within that window.
holds_truth() {
	local window
	goes_on "$1" 3 || return 1
	eventually has_run "$1" || { echo "# $1 hardly ran"; return 1; }
	window=$(sql "SELECT windows FROM $of '$1' AND $ran ORDER BY sample.id DESC LIMIT 1")
	jq -e --argjson t "$2" '.[0] | $t >= .[2] - 2 * (.[2] - .[3]) and $t <= .[2] + 2 * (.[4] - .[2])' \
		<<<"$window" >/dev/null || { echo "# $1: $window, truth $2"; return 1; }
}

start_daemon() {
	NOTIFY_SOCKET=$guests_dir/notify WATCHDOG_USEC=120000000 "$vmwssd" --foreground --config "$guests_dir/conf" 2>>"$log" &
	daemon=$!
}
files_open() { find "/proc/$daemon/fd" -mindepth 1 | wc -l; }
panel_pages() { sql "SELECT samples FROM $of '$1' ORDER BY sample.id DESC LIMIT 1"; }

# What a service manager would be told.
python3 -c 'import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
while True:
    print(listener.recv(4096).decode(), flush=True)' "$guests_dir/notify" >"$guests_dir/notified" &
pids+=($!)
notified() { grep -qE -- "$1" "$guests_dir/notified"; }
eventually test -S "$guests_dir/notify"

cat >"$guests_dir/conf" <<-END
	[vmwssd]
	connect = qemu:///system
	database = $db
	period = 1
	window = 2,6
	samples = 1000
	budget = 20%
	guest-budget = 10%
	keep-records = 2d
	log-level = debug
END

echo "# what it is told"
expect_exit "an unknown option" 1 'unrecognized' "$vmwssd" --nosuch
expect_exit "a bad value" 1 '--period soon: expected' "$vmwssd" --period soon
printf '[vmwssd]\nperiod = 1\nnosuch = 2\n' >"$guests_dir/bad"
expect_exit "an unknown key, with file and line" 2 "$guests_dir/bad:3: unknown key 'nosuch'" "$vmwssd" --config "$guests_dir/bad"
"$vmwssd" --config "$guests_dir/conf" --period 2 --keep-minutes=2w --dump-config >"$guests_dir/dumped"
check "the dump has the file, and the option over it" test \
	"$(grep -cxE 'period = 2|samples = 1000|window = 2,6|budget = 20%|keep-records = 2d|keep-minutes = 14d' "$guests_dir/dumped")" = 6
expect_exit "records kept for less than reports need" 2 'at least 100 minutes of records' "$vmwssd" --keep-records=90m --dump-config
check "and can be read again" test "$("$vmwssd" --config "$guests_dir/dumped" --dump-config)" = "$(<"$guests_dir/dumped")"

echo "# it starts before libvirtd does, and finds what is there"
start_daemon
check "no libvirtd yet: it says so and waits" eventually logged '^<4>qemu:///system: .*trying again'
check "every thread is filtered" test "$(grep -h ^Seccomp: "/proc/$daemon/task"/*/status | sort -u)" = $'Seccomp:\t2'
if ! libvirtd_begin; then
	fail "libvirtd starts"
	finish
	exit
fi
one="total=192M hot=32M" two="total=192M hot=96M pattern=random seed=3"
check "guests start" embed_create one 256 "$one" "$memfd"
check "both" embed_create two 256 "$two" "$memfd"
check "watched" eventually logged 'domain one: watched, by pageout'
check "both" eventually logged 'domain two: watched, by pageout'
check "records come" records_after one 0 3
check "of both" records_after two 0 3
check "one: the truth" holds_truth one "$(truth "$one")"
check "two: the truth" holds_truth two "$(truth "$two")"
check "the record says what precision could be had" holds "$(sql "SELECT precision FROM $of 'one' ORDER BY sample.id DESC LIMIT 1") > 0"
expect_exit "one vmwssd per host" 2 "process $daemon .*vmwssd" "$vmwssd" --config "$guests_dir/conf"
check "few capabilities are left" test "$(awk '/^CapEff/ {print $2}' "/proc/$daemon/status")" = 0000000000a84004

check "the service manager hears of it" notified '^READY=1'
check "how it goes" eventually notified '^STATUS=2 guests .*0 not measurable.*, 1 connections; a look every'
check "and that it lives" notified '^WATCHDOG=1'

echo "# guests come, go, stand still"
embed_virsh suspend one >/dev/null
check "suspended: said" eventually logged 'domain one: suspended'
check "the other goes on" goes_on two
before=$(newest_id one)
check "no record of a guest that stands still" goes_on two 3
check "indeed" test "$(newest_id one)" = "$before"
embed_virsh resume one >/dev/null
check "resumed: goes on" records_after one "$before" 2
check "the same panel: not begun anew" test -z "$(sql "SELECT sample.id FROM $of 'one' AND sample.id > $before AND flags LIKE '%new-panel%' LIMIT 1")"
embed_virsh reset two >/dev/null
check "reset: said" eventually logged 'reset; its panel goes on'
check "reset: goes on" goes_on two
embed_create three 128 "total=96M hot=16M" "$memfd"
check "a third is found" eventually logged 'domain three: watched'
check "and recorded" records_after three 0 2
check "with the truth" holds_truth three "$(truth "total=96M hot=16M")"
embed_virsh destroy three >/dev/null
check "and let go" eventually logged "domain three: $let_go"

echo "# somebody measures by hand"
pid=$(guest_pid one)
before=$(newest_id one)
check "vmwss measure of a watched guest" "$vmwss" measure --pid "$pid" -w 1 -m pageout --wait 10
check "afterwards it goes on" records_after one "$before" 1
check "with a new panel, and says so" eventually test -n \
	"$(records_after one "$before" 3; sql "SELECT sample.id FROM $of 'one' AND sample.id > $before AND flags LIKE '%new-panel%' LIMIT 1")"
check "the truth again" holds_truth one "$(truth "$one")"

echo "# libvirtd goes and comes back"
before=$(newest_id one)
libvirtd_stop
check "lost: said" eventually logged 'the connection is lost; its guests stay watched'
check "guests are watched without it" goes_on one 3
libvirtd_begin || fail "libvirtd starts again"
connected() { (($(grep -c ': connected' "$log") >= 2)); }
check "it connects again" eventually connected
check "and goes on" goes_on one
check "panels were kept" test -z "$(sql "SELECT sample.id FROM $of 'one' AND sample.id > $before AND flags LIKE '%new-panel%' LIMIT 1")"

echo "# a guest is killed"
pid=$(guest_pid two)
[[ -z $pid ]] || kill -KILL "$pid"
check "killed: let go" eventually logged "domain two: $let_go"

echo "# reload"
sed -i 's/^samples.*/samples = 300/; s/^window.*/window = 2,4/' "$guests_dir/conf"
kill -HUP "$daemon"
check "reloaded" eventually logged '^<5>reloaded'
before=$(newest_id one)
check "goes on" records_after one "$before" 3
# The longer one is answered once the panel was watched for so long.
check "with the new windows" eventually newest_windows_are one '[2,4]'
check "and a smaller panel" test "$(panel_pages one)" -lt 450
echo 'nonsense = 1' >>"$guests_dir/conf"
kill -HUP "$daemon"
check "a bad file is refused" eventually logged "^<3>not reloaded: .*conf:[0-9]+: unknown key 'nonsense'"
check "and changes nothing" goes_on one
sed -i '/nonsense/d' "$guests_dir/conf"

echo "# no growth"
before=$(files_open)
for _ in 1 2 3; do
	embed_create brief 64 "total=32M hot=8M" "$memfd" && records_after brief "$(newest_id brief)" 1
	embed_virsh destroy brief >/dev/null
done
no_more_files() { (($(files_open) <= before)); }
check "three guests later no more files are open than $before" eventually no_more_files

echo "# endings"
integrity() { test "$(sql 'PRAGMA quick_check')" = ok; }
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null
check "kill -9: the history is whole" integrity
check "minutes and hours are kept of what was recorded" test \
	"$(sql "SELECT count(DISTINCT level_s) FROM bucket JOIN guest ON guest.id = guest_id WHERE guest.name = 'one'")" = 2
before=$(newest_id one)
start_daemon
check "started again: goes on" records_after one "$before" 2
check "the truth" holds_truth one "$(truth "$one")"
mapped() { awk '/^RssShmem/ {print $2}' "/proc/$(guest_pid one)/status"; }
before=$(mapped)
stopping=$(date +%s%3N)
kill -TERM "$daemon"
check "SIGTERM: exit 0" wait "$daemon"
daemon=
echo "# after $(($(date +%s%3N) - stopping)) ms, everything restored:"
check "the service manager hears of that too" notified '^STOPPING=1'
check "nothing is locked any more" test -z "$(find /run/vmwss -name '*.lock')"
check "what was unmapped is mapped again: $(mapped) kB instead of $before" holds "$(mapped) > $before + 256"
finish
