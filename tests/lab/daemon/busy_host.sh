#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle libvirt cost=260
#
# In the lab: an operator's host, where everything is at work at once while vmwssd follows its guests. An exporter is scraped,
# libvirt is asked for statistics, one guest has its dirty rate calculated again and again, another is backed up through
# QEMU's monitor, a third is read by a debugger, KSM merges, khugepaged joins pages, DAMON_STAT watches where the kernel has
# it, and one guest gets a new QEMU (x-ignore-shared). Every record is right, or flagged with bounds that hold the truth, and
# a guest that nobody disturbs has few flags. BUSY_SECONDS=3600 makes it an hour.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

seconds=${BUSY_SECONDS:-120}
pause=$((seconds >= 1800 ? 60 : 15)) # between two jobs of one kind
params="total=160M hot=24M"
t=$(truth "$params")
EMBED_TYPE=kvm
host_cpu="<cpu mode='host-passthrough'/>"
memfd="<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>$host_cpu"
disturbances=()

# every WHAT COMMAND...: again and again until the end, in the background.
every() {
	local end=$((SECONDS + seconds))
	while ((SECONDS < end)); do
		"$@" >/dev/null 2>&1
		sleep "$pause"
	done &
	disturbances+=($!)
}

pid_of() { cat "/run/libvirt/qemu/$1.pid"; }
monitor() { embed_virsh qemu-monitor-command "$1" "$2"; }
dirty_rate() { monitor rated '{"execute":"calc-dirty-rate","arguments":{"calc-time":1}}'; }
backup() {
	monitor saved '{"execute":"pmemsave","arguments":{"val":117440512,"size":50331648,"filename":"/tmp/vmwss-saved"}}'
	rm -f /tmp/vmwss-saved
}
debugger() {
	python3 - "$(pid_of read)" <<-'END'
	import os, sys
	for line in open(f"/proc/{sys.argv[1]}/maps"):
	    begin, end = [int(x, 16) for x in line.split()[0].split("-")]
	    if end - begin == 192 << 20 and "rw" in line.split()[1]:
	        fd = os.open(f"/proc/{sys.argv[1]}/mem", os.O_RDONLY)
	        for i in range(48):
	            os.pread(fd, 1 << 20, begin + ((112 + i) << 20))
	        break
	END
}
scrape() { curl -s http://127.0.0.1:19177/metrics; }
statistics() { for name in calm rated saved read; do embed_virsh dommemstat "$name"; done; }

# A QEMU whose RAM is a file of tmpfs, and the QEMU that takes it over.
live=(-m 192 -object "memory-backend-file,id=r,size=192M,mem-path=/dev/shm/vmwss-live,share=on" -name "guest=live,debug-threads=on" -cpu host)
ignore='{"execute":"migrate-set-capabilities","arguments":{"capabilities":[{"capability":"x-ignore-shared","state":true}]}}'
start_live() {
	rm -f "$guests_dir/live.out"
	"$nothp" "$qemu" -machine pc,memory-backend=r -accel kvm -nodefaults -no-user-config -display none -vga none -kernel "$payload" \
		-append "$(resting "$params")" -serial "file:$guests_dir/live.out" -pidfile "$guests_dir/live.pid" \
		-qmp "unix:$guests_dir/qmp,server=on,wait=off" -daemonize "${live[@]}" "$@" || return 1
	pid=$(<"$guests_dir/live.pid")
	pids+=("$pid")
}
update() {
	local old=$pid
	qmp "$ignore" && qmp '{"execute":"stop"}' &&
		qmp '{"execute":"migrate","arguments":{"uri":"exec:cat >'"$guests_dir"'/state"}}' || return 1
	settles test -s "$guests_dir/state"
	sleep 2
	stop_guest "$old"
	start_live -incoming defer -S && qmp "$ignore" &&
		qmp '{"execute":"migrate-incoming","arguments":{"uri":"exec:cat '"$guests_dir"'/state"}}' || return 1
	sleep 2
	qmp '{"execute":"cont"}'
}

# judge GUEST: of its records, how many there are, are right, flagged with bounds that hold, wrong, and flagged with anything but thp.
# A window of an interval that misses by chance is within twice its width.
judge() {
	sql "SELECT windows || '|' || flags || '|' || resident_bytes || '|' || vcpu_s FROM sample JOIN guest ON guest.id = guest_id
		WHERE guest.name = '$1' AND sample.id > $from" | python3 -c '
import collections, json, sys
truth, name = float(sys.argv[1]), sys.argv[2]
seen, flags_seen = collections.Counter(), collections.Counter()
for line in sys.stdin:
    windows, flags, resident, vcpu = line.rstrip("\n").split("|")
    flags = [flag for flag in flags.split(",") if flag and flag != "thp"]
    seen["records"] += 1
    seen["flagged"] += bool(flags)
    flags_seen.update(flags)
    verdict = "right"
    for _, _, wss, low, high, *_ in json.loads(windows):
        page = 8192
        holds = low - page <= truth <= high + page
        near = abs(wss - truth) <= 0.022 * float(resident) or wss - 2 * (wss - low) - page <= truth <= wss + 2 * (high - wss) + page
        now = "right" if near and not flags else "held" if holds else "WRONG" if not near else "held"
        if now == "WRONG":
            print(f"# {name}: wrong: {windows} of {truth}, {flags}, vcpu {vcpu}")
        verdict = max(verdict, now, key=["right", "held", "WRONG"].index)
    seen[verdict] += 1
print("#", name, dict(seen), "flags", dict(flags_seen))
print(seen["records"], seen["right"], seen["held"], seen["WRONG"], seen["flagged"])' "$t" "$1"
}

mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
if ! libvirtd_begin || ! embed_create calm 192 "$params" "$host_cpu" || ! embed_create rated 192 "$params" "$host_cpu" ||
	! embed_create saved 192 "$params" "$memfd" || ! embed_create read 192 "$params" "$host_cpu" || ! start_live || ! wait_ready live; then
	fail "KVM guests start"
	finish
	exit 1
fi
echo 500 >/sys/kernel/mm/ksm/pages_to_scan
echo 1 >/sys/kernel/mm/ksm/run
echo always >/sys/kernel/mm/transparent_hugepage/enabled
[[ ! -e /sys/module/damon_stat/parameters/enabled ]] || echo Y >/sys/module/damon_stat/parameters/enabled

vmwssd_begin --connect qemu:///system --connect processes --database "$db" --period 2 --max-period none --window 5,15 --samples 2000 \
	--budget 100% --guest-budget 50%
check "vmwssd follows them" eventually logged "watched, by"
"$build/host/vmwss-exporter" --database "$db" &
exporter=$!
pids+=("$exporter")
for name in calm rated saved read; do
	has_two() { (($(sql "SELECT count(*) FROM sample JOIN guest ON guest.id = guest_id WHERE guest.name = '$name'") >= 2)); }
	check "$name has records" eventually has_two
done
tail -20 "$log" | sed "s/^/# /"
from=$(sql "SELECT coalesce(max(id), 0) FROM sample")
every dirty_rate
every backup
every debugger
every scrape
every statistics
sleep $((seconds / 2))
check "the guest's QEMU is replaced" update
sleep $((seconds / 2))
for job in "${disturbances[@]}"; do wait "$job"; done

echo "# truth $t; each guest's records, and how many are right, flagged with bounds that hold, wrong, and flagged"
all=0 flagged=0 right=0
for name in calm rated saved read live; do
	judged=$(judge "$name")
	grep '^#' <<<"$judged"
	read -r n good held wrong marked <<<"${judged##*$'\n'}"
	check "$name: there are records" test "$n" -ge 10
	check "$name: none is wrong without a flag, and 93 % of the flagged hold the truth" \
		holds "$wrong <= 0.07 * ($held + $wrong)"
	all=$((all + n)) flagged=$((flagged + marked)) right=$((right + good))
	[[ $name != calm ]] || check "calm: at most 5 % are flagged" holds "$marked <= 0.05 * $n"
done
echo "# of $all records $right are right and $flagged have a flag other than thp"
kill "$exporter"
check "SIGTERM ends vmwssd" vmwssd_end TERM
finish
