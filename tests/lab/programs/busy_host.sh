#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=7.3 libvirt cost=290
# test: lab=page_idle libvirt thorough cost=290
#
# In the lab: a host where everything is at work at once while vmwssd follows its guests. An exporter is scraped and libvirt is
# asked for statistics. KSM, khugepaged and DAMON_STAT run. One guest is left alone; one has its dirty rate calculated, is read by
# QEMU's monitor for a backup and by a debugger; one is a file of tmpfs that a new QEMU takes over (x-ignore-shared); and one is
# all that KSM and khugepaged may change. Each record is right, or flagged with bounds that hold the truth, and the guest that is
# left alone has few flags. BUSY_SECONDS=3600 makes it an hour, with windows of 1 and 5 minutes.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

seconds=${BUSY_SECONDS:-150}
if ((seconds >= 1200)); then
	scrapes=15 rates=60 backups=300 period=30 windows=60,300
else
	scrapes=5 rates=20 backups=20 period=5 windows=10,30
fi
params="total=96M hot=16M"
t=$(truth "$params")
# Pages of the region that have twins elsewhere: half of the hot ones, and as many MiB again and twice of the cold ones.
twins="2048 8192"
EMBED_TYPE=kvm
alone="<memoryBacking><nosharepages/></memoryBacking><cpu mode='host-passthrough'/>"
read_from=$((64 << 20)) read_bytes=$((32 << 20))
disturbances=()

# every SECONDS COMMAND...: again and again until the end, in the background; $guests_dir/COMMAND has a byte for each success.
every() {
	local pause=$1 end=$((SECONDS + seconds))
	shift
	while ((SECONDS < end)); do
		"$@" >/dev/null 2>&1 && printf . >>"$guests_dir/$1"
		sleep "$pause"
	done &
	disturbances+=($!)
}

dirty_rate() { embed_virsh domdirtyrate-calc busy --seconds 1; }
backup() {
	local arguments="\"val\":$read_from,\"size\":$read_bytes,\"filename\":\"$guests_dir/saved\""
	embed_virsh qemu-monitor-command busy "{\"execute\":\"pmemsave\",\"arguments\":{$arguments}}"
	rm "$guests_dir/saved"
}
debugger() {
	python3 - "$(<"/run/libvirt/qemu/busy.pid")" "$read_from" "$read_bytes" <<-'END'
	import os, sys
	pid, offset, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
	for line in open(f"/proc/{pid}/maps"):
	    begin, end = [int(x, 16) for x in line.split()[0].split("-")]
	    if end - begin == 128 << 20 and line.split()[1].startswith("rw"):
	        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
	        for mib in range(size >> 20):
	            os.pread(memory, 1 << 20, begin + offset + (mib << 20))
	        sys.exit(0)
	sys.exit(1)
	END
}
scrape() { curl -sf http://127.0.0.1:19177/metrics; }
statistics() { embed_virsh dommemstat calm && embed_virsh dommemstat busy; }

# start_live OPTION...: a QEMU whose RAM is a file of tmpfs; sets live.
start_live() {
	"$nothp" "$qemu" -machine pc,memory-backend=r -accel kvm -cpu host -m 128 -name guest=live,debug-threads=on -nodefaults \
		-no-user-config -display none -vga none -kernel "$payload" -append "$(resting "$params")" \
		-object memory-backend-file,id=r,size=128M,mem-path="$guests_dir/ram",share=on -serial "file:$guests_dir/live.out" \
		-pidfile "$guests_dir/live.pid" -qmp "unix:$guests_dir/qmp,server=on,wait=off" -daemonize "$@" || return 1
	pid=$(<"$guests_dir/live.pid")
	pids+=("$pid")
}
ignore='{"execute":"migrate-set-capabilities","arguments":{"capabilities":[{"capability":"x-ignore-shared","state":true}]}}'
status_is() {
	python3 - "$guests_dir/qmp" "$1" <<-'END'
	import json, socket, sys
	stream = socket.socket(socket.AF_UNIX)
	stream.connect(sys.argv[1])
	lines = stream.makefile("rw")
	lines.readline()
	for command in "qmp_capabilities", "query-migrate":
	    lines.write(json.dumps({"execute": command}) + "\n")
	    lines.flush()
	    answer = json.loads(lines.readline())
	sys.exit(answer["return"].get("status") != sys.argv[2])
	END
}
migrate() { qmp "{\"execute\":\"$1\",\"arguments\":{\"uri\":\"$2\"}}" && settles status_is completed; }
update() {
	local old=$pid
	qmp "$ignore" && qmp '{"execute":"stop"}' && migrate migrate "exec:cat >$guests_dir/state" || return 1
	stop_guest "$old"
	start_live -incoming defer -S && qmp "$ignore" && migrate migrate-incoming "exec:cat $guests_dir/state" &&
		qmp '{"execute":"cont"}'
}

# judge GUEST: of its records since $from, how many there are, are right, hold the truth with a flag, hold it without one, are
# wrong with and without a flag, and have a flag, or one that does not tell of how busy this machine is. thp counts as none. A
# 95 % interval misses by chance: a bound may be off by as much as that is wide.
judge() {
	sql "SELECT windows || '|' || flags || '|' || resident_bytes || '|' || samples || '|' || method FROM sample
		JOIN guest ON guest.id = guest_id WHERE guest.name = '$1' AND sample.id > $from" | python3 -c '
import collections, json, math, sys
truth, name = float(sys.argv[1]), sys.argv[2]
worst = ["right", "held", "unflagged", "missed", "wrong"]
seen, flags_seen = collections.Counter(), collections.Counter()
for line in sys.stdin:
    windows, flags, resident, samples, method = line.rstrip("\n").split("|")
    flags = [flag for flag in flags.split(",") if flag and flag != "thp"]
    seen["records"] += 1
    seen["flagged"] += bool(flags)
    seen["but for stretched"] += bool([flag for flag in flags if flag != "stretched"])
    flags_seen.update(flags)
    verdict = "held" if flags else "right"
    for _, est, wss, low, high, _, _, vcpu, *_ in json.loads(windows):
        # A guest that stands still touches an unknown amount, but no more than that.
        least = 0 if vcpu < 0.01 * est else truth
        share = min(max(wss / float(resident), 0.02), 0.98)
        chance = 8192 + 1.96 * math.sqrt(share * (1 - share) / float(samples)) * float(resident)
        if low - chance > truth or high + chance < least:
            now = "missed" if flags else "wrong"
        elif flags:
            now = "held"
        else:
            now = "right" if abs(wss - truth) <= 2 * chance else "unflagged"
        if worst.index(now) >= 2:
            print(f"# {name}: {now}: {est} s: {wss} [{low}, {high}] of {truth}, {resident} resident, {method} n={samples}, {flags}")
        verdict = max(verdict, now, key=worst.index)
    seen[verdict] += 1
print("#", name, dict(seen), "flags", dict(flags_seen))
print(seen["records"], *[seen[verdict] for verdict in worst], seen["flagged"], seen["but for stretched"])' "$t" "$1"
}

of="sample JOIN guest ON guest.id = guest_id WHERE guest.name ="
records() { sql "SELECT count(*) FROM $of '$1' AND sample.id > $from"; }
has_records() { (($(records "$1") >= $2)); }
has_all_windows() { [[ $(sql "SELECT flags LIKE '%young-panel%' FROM $of '$1' ORDER BY sample.id DESC LIMIT 1") == 0 ]]; }

mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
echo never >/sys/kernel/mm/transparent_hugepage/enabled
: >"$guests_dir/ram"
if ! libvirtd_begin || ! embed_create calm 128 "$params" "$alone" || ! embed_create busy 128 "$params" "$alone" ||
	! THP=yes start_payload merged kvm "$params" -m 128 || ! start_live || ! wait_ready live; then
	fail "KVM guests start"
	finish
	exit 1
fi
# shellcheck disable=SC2086 # words
have_twins $twins
echo 2000 >/sys/kernel/mm/ksm/pages_to_scan
echo 1 >/sys/kernel/mm/ksm/run
check "KSM merges" eventually twins_are_merged 7000
echo 100 >/sys/kernel/mm/ksm/pages_to_scan
echo 1000 >/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs
echo always >/sys/kernel/mm/transparent_hugepage/enabled
[[ ! -e /sys/module/damon_stat ]] || check "DAMON_STAT is on" eval 'echo Y >/sys/module/damon_stat/parameters/enabled'

vmwssd_begin --connect qemu:///system --connect processes --database "$db" --period "$period" --max-period none --window "$windows" \
	--samples 2000 --budget 100% --guest-budget 50%
"$build/host/vmwss-exporter" --database "$db" >/dev/null 2>&1 &
exporter=$!
pids+=("$exporter")
sleep "${windows#*,}"
for name in calm busy merged live; do
	check "$name is followed for as long as the longest window" eventually has_all_windows "$name"
done

from=$(sql "SELECT max(id) FROM sample")
every "$rates" dirty_rate
every "$backups" backup
every "$backups" debugger
every "$scrapes" scrape
every "$scrapes" statistics
sleep $((seconds / 2))
check "a new QEMU takes the guest over" update
for job in "${disturbances[@]}"; do wait "$job"; done
for job in dirty_rate backup debugger scrape statistics; do
	check "$job: $(wc -c <"$guests_dir/$job") times" test -s "$guests_dir/$job"
done
echo "# KSM shares $(<"/sys/kernel/mm/ksm/pages_sharing") pages; huge: $(grep AnonHugePages /proc/meminfo)"

check "the guest that KSM merged is followed by zap" test "$(sql "SELECT method FROM $of 'merged' ORDER BY sample.id DESC LIMIT 1")" = zap
all=0 flagged=0
for name in calm busy merged live; do
	check "$name: there are records" eventually has_records "$name" 10
	judged=$(judge "$name")
	grep '^#' <<<"$judged"
	read -r n right held unflagged missed wrong marked deserved <<<"${judged##*$'\n'}"
	check "$name: none of $n is wrong without a flag" test "$wrong" = 0
	check "$name: the bounds of 93 % of those with a flag hold the truth" holds "$missed <= 0.07 * ($held + $missed)"
	all=$((all + n)) flagged=$((flagged + marked))
	echo "# $name: of $n records $right are right, $unflagged have wide bounds without a flag, $marked have a flag"
	[[ $name != calm ]] || check "calm: at most 5 % have a flag but for stretched" holds "$deserved <= 0.05 * $n"
done
echo "# of $all records $flagged have a flag other than thp: $(awk "BEGIN { printf \"%.1f\", 100 * $flagged / $all }") %"
kill "$exporter"
check "SIGTERM ends vmwssd" vmwssd_end TERM
finish
