#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=250 limit=1500
#
# vmwssd beside a libvirtd of its own and real TCG guests: it finds them, its history holds the truth, and it goes on
# whatever happens to the guests, to libvirtd, or to itself.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# guest_pid NAME: of our libvirtd's domain; its directory is ours alone.
guest_pid() { cat "/run/libvirt/qemu/$1.pid"; }

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
	[[ $(sql "SELECT windows FROM $of '$1' ORDER BY sample.id DESC LIMIT 1" | jq -c '[.[][0] + 0]') == "$2" ]]
}
goes_on() { records_after "$1" "$(newest_id "$1")" "${2:-1}"; }

let_go='(no longer measured|its process has ended)'

# Records count in which the guest had 3 % of a core: with less it may not get through its set.
ran="vcpu_s >= 0.03 * json_extract(windows, '\$[#-1][1]')"
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
	NOTIFY_SOCKET=$guests_dir/notify WATCHDOG_USEC=120000000 vmwssd_begin --config "$guests_dir/conf"
}
files_open() { find "/proc/$daemon/fd" -mindepth 1 | wc -l; }
panel_pages() { sql "SELECT samples FROM $of '$1' ORDER BY sample.id DESC LIMIT 1"; }

# A service manager would receive these messages.
python3 -c 'import os, socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
while True:
    print(listener.recv(4096).decode(), flush=True)' "$guests_dir/notify" >"$guests_dir/notified" &
pids+=($!)
notified() { grep -qE -- "$1" "$guests_dir/notified"; }
eventually test -S "$guests_dir/notify"

vmwssd_conf 'window = 2,6' 'samples = 1000' 'budget = 20%' 'guest-budget = 10%' 'keep-records = 2d' \
	'log-level = debug'

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
check "watched" eventually logged 'domain one: measured by pageout'
check "both" eventually logged 'domain two: measured by pageout'
check "records come" records_after one 0 3
check "of both" records_after two 0 3
check "one: the truth" holds_truth one "$(truth "$one")"
check "two: the truth" holds_truth two "$(truth "$two")"
# Drawn at the third look, when two have shown what pages cost: late, beside the tenth of 6 s in which panels are drawn anew.
samples=$(sql "SELECT samples FROM $of 'one' ORDER BY sample.id LIMIT 1 OFFSET 4")
check "the panel was as large as wanted by the fifth record: $samples pages" holds "$samples > 700"
check "the record says what precision could be had" holds "$(sql "SELECT precision FROM $of 'one' ORDER BY sample.id DESC LIMIT 1") > 0"
expect_exit "one vmwssd per host" 2 "process $daemon .*vmwssd" "$vmwssd" --config "$guests_dir/conf"
# The daemon holds its libvirt client, its guests' agents and its history; its child measures.
capabilities() { awk '/^CapPrm/ {print $2}' "/proc/$1/status"; }
scanner=$(pgrep -P "$daemon" -x vmwssd-scanner)
check "no capability is left" test "$(capabilities "$daemon")" = 0000000000000000
check "but for the scanner's few" test "$(capabilities "$scanner")" = 0000000000a84006

check "the service manager hears of it" notified '^READY=1'
check "how it goes" eventually notified '^STATUS=2 guests .*0 not measurable.*, 1 connection; a scan every'
check "and that it lives" eventually notified '^WATCHDOG=1'

echo "# guests come, go, stand still"
embed_virsh suspend one >/dev/null
check "suspended: said" eventually logged 'domain one: suspended'
check "the other goes on" goes_on two
before=$(newest_id one) still=$SECONDS
# Longer than from one record to the next, however busy the machine: the other's are as far apart.
check "while it stands still the other is recorded" goes_on two 10
check "and it is not" test "$(newest_id one)" = "$before"
still=$((SECONDS - still))
embed_virsh resume one >/dev/null
check "resumed: goes on" records_after one "$before" 2
check "the record stands for the time in which it ran" holds \
	"$(sql "SELECT period_s FROM $of 'one' AND sample.id > $before ORDER BY sample.id LIMIT 1") < $still"
check "the same panel: not begun anew" test -z "$(sql "SELECT sample.id FROM $of 'one' AND sample.id > $before AND flags LIKE '%new-panel%' LIMIT 1")"
embed_virsh reset two >/dev/null
check "reset: said" eventually logged "domain two: reset; its panel goes on"
check "reset: goes on" goes_on two
embed_create three 128 "total=96M hot=16M" "$memfd"
check "a third is found" eventually logged 'domain three: measured'
check "and recorded" records_after three 0 2
check "with the truth" holds_truth three "$(truth "total=96M hot=16M")"
embed_virsh destroy three >/dev/null
check "and let go" eventually logged "domain three: $let_go"
last_event() { [[ $(sql "SELECT kind FROM event JOIN guest ON guest.id = guest_id WHERE name = '$1' ORDER BY event.id DESC LIMIT 1") == "$2" ]]; }
check "its end is kept" eventually last_event three end
check "so it is not exported any more" test -z "$("$build/host/vmwss-exporter" --database "$db" --print | grep 'domain="three"')"
check "nor does it run" test "$("$vmwss" report --database "$db" --window 2 --json | jq -c '[.guests[] | select(.domain == "three").running]')" = '[false]'

echo "# somebody measures by hand"
pid=$(guest_pid one)
before=$(newest_id one)
longest=10
check "vmwss measure of a watched guest" "$vmwss" measure --pid "$pid" -w $longest -m pageout --wait 60
check "afterwards it goes on" records_after one "$before" 1
check "the record does not stand for what it did not see" holds \
	"$(sql "SELECT max(period_s) FROM $of 'one' AND sample.id > $before") < $longest"
check "with the panel that it had" test -z "$(sql "SELECT sample.id FROM $of 'one' AND sample.id > $before AND flags LIKE '%new-panel%' LIMIT 1")"
check "the truth again" holds_truth one "$(truth "$one")"

echo "# libvirtd goes and comes back"
check "both windows are answered" eventually newest_windows_are one '[2,6]'
before=$(newest_id one) lines=$(wc -l <"$log")
libvirtd_stop
check "lost: said" eventually logged 'the connection is lost; its guests are still measured'
check "guests are watched without it" goes_on one 3
libvirtd_begin || fail "libvirtd starts again"
connected() { (($(grep -c ': connected' "$log") >= 2)); }
check "it connects again" eventually connected
check "and goes on" goes_on one
# One that is opened again has a panel of which nothing says that it is new, and no long window for a while.
watched_anew() { tail -n "+$((lines + 1))" "$log" | grep -E "domain (one|two): ($let_go|measured by)"; }
check "no guest was let go" test -z "$(watched_anew)"
check "the longest window goes on" test "$(sql "SELECT count(*) FROM $of 'one' AND sample.id > $before AND json_extract(windows, '\$[#-1][0]') < 6")" = 0
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

echo "# a guest's own budget"
# with_guest_budget SHARE SAMPLES
with_guest_budget() {
	sed -i "s/^samples.*/samples = $2/; s/^guest-budget.*/guest-budget = $1/" "$guests_dir/conf"
	before=$(newest_id one)
	kill -HUP "$daemon"
}
panel_is() { holds "$(panel_pages one) >= $1 && $(panel_pages one) < $2"; }
# Prints the share of a core, in percent, of the last twenty scans since the reload.
share_of_one() {
	sql "SELECT round(100 * sum(cpu_s) / sum(period_s), 2) FROM (SELECT cpu_s, period_s FROM $of 'one' AND sample.id > $before
		ORDER BY sample.id DESC LIMIT 20)"
}
# Where system calls are slow (tests/run) the smallest panel, 100 pages and those beside them, takes more than this budget: 0.45 %.
is_kept() { holds "$(share_of_one) < 0.375 || ($patience > 1 && $(panel_pages one) < 150)"; }
# A guest of 192 MiB in memfd has 3,072 places for pages of pageout: half as much more has to fit.
with_guest_budget 0.25% 30000
check "it decides the panel, not the pages that were asked for" eventually panel_is 100 20000
check "for twenty looks" records_after one "$before" 20
pages=$(panel_pages one)
# The plan learns from the last ten what the next will cost, and a busy machine charges more for some: then the next twenty are
# cheaper.
check "and is kept: $(share_of_one) % of a core for $pages pages" eventually is_kept
with_guest_budget 1% 30000
check "of four times as much the panel is larger" eventually panel_is $((pages * 3 / 2)) 30000
with_guest_budget 10% 300
check "back to few pages" eventually panel_is 100 450
sed -i 's/^max-period.*/max-period = 2/' "$guests_dir/conf"
# period_is NAME FROM TO: of the newest record: what it stands for, which is the time since the one before.
period_is() {
	local period
	period=$(sql "SELECT period_s FROM $of '$1' ORDER BY sample.id DESC LIMIT 1")
	holds "${period:-0} >= $2 && ${period:-0} < $3"
}
kill -HUP "$daemon"
check "a guest that does not change is looked at less often" eventually period_is one 1.9 2.5
check "start one that changes" embed_create four 96 "total=64M phases=5:8M,5:48M" "$memfd<features><acpi/></features>"
check "looked at less often while it does not change" eventually period_is four 1.9 2.5
check "and more often once it did" eventually period_is four 0.9 1.5
embed_virsh destroy four >/dev/null
echo 'nonsense = 1' >>"$guests_dir/conf"
kill -HUP "$daemon"
check "a bad file is refused" eventually logged "^<3>not reloaded: .*conf:[0-9]+: unknown key 'nonsense'"
check "and changes nothing" goes_on one
sed -i '/nonsense/d' "$guests_dir/conf"

echo "# no growth"
before=$(files_open)
brief=0
for _ in 1 2 3; do
	embed_create brief 64 "total=32M hot=8M" "$memfd" && records_after brief "$(newest_id brief)" 1 && brief=$((brief + 1))
	embed_virsh destroy brief >/dev/null
done
no_more_files() { (($(files_open) <= before)); }
check "three guests came and went" test "$brief" = 3
check "no more files are open than $before" eventually no_more_files

echo "# endings"
integrity() { test "$(sql 'PRAGMA quick_check')" = ok; }
vmwssd_end KILL
check "kill -9: the history is whole" integrity
check "minutes and hours are kept of what was recorded" test \
	"$(sql "SELECT count(DISTINCT level_s) FROM bucket JOIN guest ON guest.id = guest_id WHERE guest.name = 'one'")" = 2

echo "# too few files"
vmwssd_under=(prlimit --nofile=100 setpriv --bounding-set=-sys_resource)
vmwssd_begin --config "$guests_dir/conf"
vmwssd_under=()
check "no guest is opened, and it says why" eventually logged 'not opened: [0-9]+ files are open of the 100 that the limit allows'
check "it ends as ever" vmwssd_end TERM

echo "# what is old goes, while others read"
# Records, each with the word of an agent: more than are deleted at once, of a day; three of one minute; of a week ago, of
# two months ago, and of now.
mib=1048576 now=$(date +%s)
minute=$(((now - 10800) / 60 * 60))
week=$(((now - 7 * 86400) / 3600 * 3600))
# From the begin of an hour: none of these may have as few records as those below.
day=$(((now - 86400) / 3600 * 3600))
old_guest=11111111-1111-4111-8111-111111111111 ancient_guest=22222222-2222-4222-8222-222222222222
{
	awk -v guest="old $old_guest" -v day="$day" 'BEGIN { for (i = 0; i < 5500; i++) print guest, day + 10 * i, 64, 10, i, 500 }'
	for i in 0 1 2; do echo "old $old_guest $((minute + 20 * i)) 10$i 20 1 $((700 - 100 * i))"; done
	for i in 0 1; do echo "old $old_guest $((week + 60 * i)) 80 60 1 $((300 + i))"; done
	echo "old $old_guest $((now - 60)) 90 60 1 200"
	echo "ancient $ancient_guest $((now - 60 * 86400)) 64 60 1 400"
} >"$guests_dir/seeds"
check "a history that is old" test "$("$build/tests/integration/keep_writer" "$db" ask <"$guests_dir/seeds" | grep -c '^0 ')" = 5507
sed -i 's/^keep-records.*/keep-records = 6000s\nkeep-minutes = 100h\nkeep-hours = 30d/' "$guests_dir/conf"
echo 0 >"$guests_dir/ahead"
before=$(newest_id one)
LD_PRELOAD=$build/tests/integration/libclock_ahead.so CLOCK_AHEAD=$guests_dir/ahead start_daemon
check "started again: goes on" records_after one "$before" 2
n_old() { sql "SELECT (SELECT count(*) FROM $of 'old') || ' ' || (SELECT count(*) FROM word JOIN sample s ON s.id = sample_id
	JOIN guest g ON g.id = s.guest_id WHERE g.name = 'old')"; }
check "in the first hour all of it stays" test "$(n_old)" = "5506 5506"
# history ARG...: the values of the jq filter $filter.
history_is() {
	local filter=$1 want=$2
	shift 2
	[[ $("$vmwss" history old --database "$db" --json --window 60 "$@" 2>/dev/null | jq -sc "$filter") == "$want" ]]
}
(
	while [[ ! -e $guests_dir/read ]]; do
		for step in record minute hour; do
			"$vmwss" history old --database "$db" --since 30d --step $step --json >"$guests_dir/out" && jq -es 'length > 0' "$guests_dir/out" >/dev/null &&
				echo "$step" || echo "failed: $step"
		done
	done >"$guests_dir/reads" 2>&1
) &
reading=$!
check "somebody reads it all the time" settles grep -q hour "$guests_dir/reads"
# Not because something is written: no guest runs.
read -ra stopped <<<"$(embed_virsh list --name --state-running | xargs)"
for name in "${stopped[@]}"; do embed_virsh suspend "$name" >/dev/null; done
no_more_records() {
	local id
	id=$(sql 'SELECT max(id) FROM sample')
	sleep 5
	[[ $(sql 'SELECT max(id) FROM sample') == "$id" ]]
}
check "no guest runs" eventually no_more_records
echo 3700 >"$guests_dir/ahead"
gone() { [[ $(n_old) == "1 1" ]]; }
check "an hour later records and words are gone but for the last" eventually gone
check "no word without a record" test "$(sql "SELECT count(*) FROM word WHERE sample_id NOT IN (SELECT id FROM sample)")" = 0
# left_of CONDITION: how many of its minutes or hours, and of their words.
left_of() { sql "SELECT (SELECT count(*) FROM bucket b JOIN guest g ON g.id = b.guest_id WHERE g.name = 'old' AND $1) || ' ' ||
	(SELECT count(*) FROM word_bucket b JOIN guest g ON g.id = b.guest_id WHERE g.name = 'old' AND $1)"; }
no_minutes() { [[ $(left_of "level_s = 60 AND start_s < $now - 500000") == "0 0" ]]; }
for name in "${stopped[@]}"; do embed_virsh resume "$name" >/dev/null; done
check "of a week ago there are no minutes" eventually no_minutes
check "but its hour" test "$(left_of "level_s = 3600 AND start_s = $week")" = "1 1"
check "of yesterday the minutes" test "$(left_of "level_s = 60 AND start_s = $minute")" = "1 1"
no_trace() {
	[[ $(sql "SELECT (SELECT count(*) FROM guest WHERE name = 'ancient') || ' ' || (SELECT count(*) FROM bucket
		WHERE start_s < $now - 5000000) || ' ' || (SELECT count(*) FROM word_bucket WHERE start_s < $now - 5000000)") == "0 0 0" ]]
}
check "of two months ago nothing" eventually no_trace
read_thrice() { (($(grep -c hour "$guests_dir/reads") >= 3)); }
check "and has read it thrice since" settles read_thrice
: >"$guests_dir/read"
wait "$reading"
check "whoever read meanwhile always could ($(wc -l <"$guests_dir/reads") times)" test "$(grep -vcxE 'record|minute|hour' "$guests_dir/reads")" = 0
check "what is left of a minute: its highest use, the least available" history_is \
	"map(select(.records == 3) | [.wss_bytes / $mib, .guest.used_bytes / $mib, .guest.available_bytes / $mib])" \
	'[[101,524,500]]' --step minute --since 4h
check "of an hour" history_is "map(select(.records == 2) | [.wss_bytes / $mib, .guest.available_bytes / $mib])" '[[80,300]]' \
	--step hour --since 8d
check "the truth" holds_truth one "$(truth "$one")"

echo "# the end"
mapped() { awk '/^RssShmem/ {print $2}' "/proc/$(guest_pid one)/status"; }
before=$(mapped)
check "SIGTERM: exit 0" vmwssd_end TERM
check "the service manager hears of that too" eventually notified '^STOPPING=1'
check "nothing is locked any more" test -z "$(find /run/vmwss -name '*.lock')"
check "what was unmapped is mapped again: $(mapped) kB instead of $before" holds "$(mapped) > $before + 256"
watches_again() { start_daemon && goes_on one 3; }
check "it has ended within a second" ends_in_a_second watches_again
finish
