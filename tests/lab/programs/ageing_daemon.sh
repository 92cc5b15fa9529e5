#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle libvirt thorough cost=85
#
# In the lab, with page_idle, MGLRU on: vmwssd follows a guest by idle; then the host begins to age its memory. The records
# in between say so and hold the truth, and the guest gets a method that does not mind.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

of="sample JOIN guest ON guest.id = guest_id WHERE guest.name = 'one'"
by() { [[ -n $(sql "SELECT sample.id FROM $of AND method = '$1' LIMIT 1") ]]; }
newest() { sql "SELECT $1 FROM $of ORDER BY sample.id DESC LIMIT 1"; }

# age: each group, on each node.
age() {
	local order
	awk '$1 == "memcg" { id = $2 } $1 == "node" { node = $2; next } NF >= 4 && $1 != "memcg" { max[id " " node] = $1 }
		END { for (at in max) print "+", at, max[at], 1, 1 }' /sys/kernel/debug/lru_gen >"$guests_dir/age"
	while read -r order; do echo "$order" >/sys/kernel/debug/lru_gen; done <"$guests_dir/age"
}

EMBED_TYPE=kvm
params="total=96M hot=32M"
t=$(truth "$params")
echo y >/sys/kernel/mm/lru_gen/enabled
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
if ! libvirtd_begin || ! embed_create one 128 "$params" "<cpu mode='host-passthrough'/>"; then
	fail "a KVM guest starts under libvirtd"
	finish
	exit 1
fi
: >"$log"
vmwssd_begin --connect qemu:///system --database "$db" --period 1 --max-period none --window 3,6 --samples 2000 \
	--budget 30% --guest-budget 20%
check "followed by idle" eventually by idle
check "no flag" test -z "$(sql "SELECT sample.id FROM $of AND flags LIKE '%ageing%' LIMIT 1")"
age
check "then by zap" eventually by zap
echo "# $(sql "SELECT method, flags, windows FROM $of ORDER BY sample.id" | tail -n 6)"
check "the last one by idle had the flag" \
	test -n "$(sql "SELECT sample.id FROM $of AND method = 'idle' AND flags LIKE '%ageing%' LIMIT 1")"
check "up to now each record's windows held the truth" test -z "$(sql "SELECT sample.id FROM $of AND EXISTS
	(SELECT 1 FROM json_each(windows) w WHERE w.value ->> 4 < 0.9 * $t) LIMIT 1")"
age
sleep 2
check "by zap there is no flag" test "$(newest "method || (flags LIKE '%ageing%')")" = zap0
check "ends" vmwssd_end TERM

finish
