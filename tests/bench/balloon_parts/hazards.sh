#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What may happen to an acting vmwss-balloond: killed at any moment, again and again (HAZARD_KILLS times, 5 by default; see
# tests/bench/balloon --hazards), libvirtd stopped and killed, a guest suspended, the clock set, an agent that lies. Afterwards
# every balloon is as configured, and the journal whole.

# shellcheck disable=SC2154 # what the libraries set: shellcheck finds them from a folder beside lib/ only
libs=(libvirtd guests linux_guest vmwssd balloond)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

kills=${HAZARD_KILLS:-5}
assigned=256
vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 50%' 'guest-budget = 20%' 'agents = yes'
balloond_conf 'act = yes' 'interval = 1' 'shrink-without-statistics = yes'
export BALLOON=virtio RAM_XML="<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"
if ! libvirtd_begin || ! embed_create cold $assigned "total=192M hot=16M balloon=host" "$RAM_XML" ||
	! embed_create halted $assigned "total=192M hot=16M balloon=host" "$RAM_XML" ||
	! gcc -std=gnu11 -O2 -static "$root/vm-images/linux/hostile.c" -o "$guests_dir/hostile" ||
	! linux_image "$guests_dir/hostile" ||
	! linux_create liar $assigned "guest.run=hostile,needs-all,needs-nothing,alternates"; then
	fail "libvirtd and the guests start"
	finish
	exit
fi
guests=(cold halted liar)
check "the liar is ready" linux_says liar 'hostile: ready' 120
vmwssd_begin --config "$guests_dir/conf"

whole() { [[ $(sqlite3 -batch -cmd '.timeout 10000' "$journal" 'PRAGMA integrity_check' 2>&1) == ok ]]; }
# What has less than is assigned is known to the journal, with what it had.
known() {
	local name
	for name in "${guests[@]}"; do
		(($(actual "$name") >= assigned)) ||
			[[ $(journal "SELECT before_bytes >> 20 FROM balloon WHERE name = '$name'") == "$assigned" ]] || return 1
	done
}
as_configured() {
	local name
	for name in "${guests[@]}"; do is "$name" -eq $assigned || return 1; done
}
all_is_well() {
	check "$1: every balloon is as configured" eventually as_configured
	check "$1: the journal is whole" whole
	check "$1: and has nothing left to restore" test "$(journal 'SELECT count(*) FROM balloon WHERE before_bytes > 0 AND restored_s = 0')" = 0
}
times() { (($(grep -cE -- "$1" "$controller_log") >= $2)); }

echo "# killed $kills times"
controller_begin
check "cold memory is taken" eventually is cold -lt 250
controller_end KILL
lost=0 broken=0 taken=0
for ((i = 0; i < kills; i++)); do
	controller_begin
	sleep "$((RANDOM % 3)).$((RANDOM % 10))"
	controller_end KILL
	whole || broken=$((broken + 1))
	known || lost=$((lost + 1))
	as_configured || taken=$((taken + 1))
done
echo "# after $taken of $kills kills a guest had less than is assigned"
check "the journal was whole after each of $kills" test $broken = 0
check "it knew each balloon" test $lost = 0
# The next one waits for the journal, and is told to end meanwhile.
{
	echo 'BEGIN EXCLUSIVE;'
	sleep 1.5
} | sqlite3 "$journal" &
sleep 0.3
controller_begin
sleep 0.7
check "SIGTERM while it starts: exit 0" controller_end TERM
all_is_well "killed $kills times"

echo "# libvirtd"
controller_begin
check "cold memory is taken" eventually is cold -lt 250
downs=$(grep -c 'nothing is decided: ' "$controller_log")
libvirtd_stop
check "it notices that libvirtd has stopped" eventually times 'nothing is decided: ' $((downs + 1))
libvirtd_begin
check "and decides again" eventually times 'deciding again' $((downs + 1))
kill -KILL "$libvirtd_pid"
libvirtd_stop
check "it notices that libvirtd was killed" eventually times 'nothing is decided: ' $((downs + 2))
status=0
controller_end TERM || status=$?
check "SIGTERM without libvirtd: exit 2" test $status = 2
check "the journal keeps what is to be restored" test "$(journal "SELECT before_bytes >> 20 FROM balloon WHERE name = 'cold'")" = $assigned
libvirtd_begin
controller_begin
sleep 2
check "SIGTERM of the next one: exit 0" controller_end TERM
all_is_well "libvirtd"

echo "# a suspended guest, whose balloon cannot move"
controller_begin
check "cold memory is taken" eventually is halted -lt 250
embed_virsh suspend halted >/dev/null
check "SIGTERM: exit 0" controller_end TERM
check "the journal knows that it is on its way" test "$(journal "SELECT set_bytes >> 20 FROM balloon WHERE name = 'halted' AND restored_s > 0")" = $assigned
controller_begin
check "the next one adopts it" eventually controller_logged "domain halted: its balloon is adopted, it had $assigned MiB, and is on its way there"
sleep 7
embed_virsh resume halted >/dev/null
check "SIGTERM: exit 0" controller_end TERM
all_is_well "suspended"

echo "# the clock"
echo 0 >"$guests_dir/ahead"
LD_PRELOAD=$build/tests/integration/libclock_ahead.so CLOCK_SET=$guests_dir/ahead controller_begin
check "cold memory is taken" eventually is cold -lt 250
for ahead in 86400 -86400 0; do
	echo $ahead >"$guests_dir/ahead"
	sleep 2
done
check "SIGTERM: exit 0" controller_end TERM
all_is_well "the clock"

echo "# an agent that lies"
controller_begin
for how in needs-all needs-nothing alternates; do
	sleep 8
	vmwssd_end TERM
	check "$how: the guest has no more than is assigned" is liar -le $assigned
	vmwssd_begin --config "$guests_dir/conf"
done
check "the others are still asked" eventually is cold -lt 250
check "it is decided about" decided "name = 'liar'"
echo "# decisions: $(journal "SELECT group_concat(n || ' ' || name, ', ') FROM (SELECT count(*) AS n, name FROM decision GROUP BY name)")"
check "SIGTERM: exit 0" controller_end TERM
all_is_well "lies"
check "no guest's OOM killer ran" test -z "$(grep -E 'Out of memory|oom-kill|Kernel panic' "$embed_dir/liar.out")"
check "vmwssd ends" vmwssd_end TERM
finish
