#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle libvirt thorough cost=85
#
# In the lab, with page_idle: vmwssd follows a guest by idle; then somebody begins to read the guest's RAM through
# /proc/PID/mem. The records in between say that they are disputed and hold the truth, and the guest gets a method that counts
# what vCPUs touch.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

of="sample JOIN guest ON guest.id = guest_id WHERE guest.name = 'one'"
count() { sql "SELECT count(*) FROM $of AND $1"; }
some() { (($(count "$1") >= ${2:-1})); }

EMBED_TYPE=kvm
params="total=96M hot=16M"
t=$(truth "$params")
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
if ! libvirtd_begin || ! embed_create one 128 "$params" "<cpu mode='host-passthrough'/>"; then
	fail "a KVM guest starts under libvirtd"
	finish
	exit 1
fi
: >"$log"
vmwssd_begin --connect qemu:///system --database "$db" --period 1 --max-period none --window 3,6 --samples 2000 \
	--budget 30% --guest-budget 20%
check "followed by idle" eventually some "method = 'idle' AND json_array_length(windows) = 2" 3
check "not disputed" test "$(count "flags LIKE '%disputed%'")" = 0

python3 - "$(pgrep -f -- '-name guest=one,' | head -n 1)" <<-'END' &
	import os, sys, time
	for line in open(f"/proc/{sys.argv[1]}/maps"):
	    begin, end = [int(x, 16) for x in line.split()[0].split("-")]
	    if end - begin == 128 << 20 and "rw" in line.split()[1]: break
	mem = os.open(f"/proc/{sys.argv[1]}/mem", os.O_RDONLY)
	while True:
	    for mib in range(48, 96):
	        os.pread(mem, 1 << 20, begin + (mib << 20))
	    time.sleep(0.3)
END
reader=$!
check "then by zap" eventually some "method = 'zap' AND json_array_length(windows) = 2" 2
kill "$reader"
echo "# $(sql "SELECT method, flags, windows FROM $of ORDER BY sample.id" | tail -n 8)"
check "the last one by idle was disputed" some "method = 'idle' AND flags LIKE '%disputed%'"
check "by zap none is" test "$(count "method = 'zap' AND flags LIKE '%disputed%'")" = 0
check "each record's windows held the truth" test -z "$(sql "SELECT sample.id FROM $of AND EXISTS
	(SELECT 1 FROM json_each(windows) w WHERE w.value ->> 3 > 1.1 * $t OR w.value ->> 4 < 0.9 * $t) LIMIT 1")"
check "ends" vmwssd_end TERM

finish
