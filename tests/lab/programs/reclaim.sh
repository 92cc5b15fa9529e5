#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle libvirt thorough cost=300 limit=1800
#
# In the lab, with page_idle, cgroup v2 and zram: vmwss-balloond reclaims from real KVM guests without a balloon. A dry run
# takes nothing; acting, what is cold leaves and what is touched stays; a guest that shares its group is refused; a guest whose
# load grows is left alone; nothing but pages in swap is left behind, also after kill -9.

libs=(libvirtd guests vmwssd balloond)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

cgroups=/sys/fs/cgroup
slice=$cgroups/machine.slice
echo +memory >$cgroups/cgroup.subtree_control
mkdir -p $slice
echo +memory >$slice/cgroup.subtree_control
echo 1G >/sys/block/zram0/disksize
mkswap /dev/zram0 >/dev/null
swapon -p 100 /dev/zram0

EMBED_TYPE=kvm
# A guest with phases goes by the timer that ACPI brings.
machine_xml="<cpu mode='host-passthrough'/><features><acpi/></features>"
# create NAME MIB PARAMS: a guest in a control group of its own; libvirt puts it where libvirtd is, whose own memory stays.
create() {
	local scope=$slice/machine-qemu-$1.scope status=0
	mkdir "$scope"
	echo "$libvirtd_pid" >"$scope/cgroup.procs"
	embed_create "$1" "$2" "$3" "$machine_xml" || status=1
	echo "$libvirtd_pid" >$cgroups/cgroup.procs
	return $status
}
# group NAME FILE, number NAME FILE KEY
group() { cat "$slice/machine-qemu-$1.scope/$2"; }
number() { group "$1" "$2" | awk -v key="$3" '$1 == key { print $2 }'; }
swapped() { group "$1" memory.swap.current; }
mib() { echo $(($1 >> 20)); }
reclaimed() { journal "SELECT coalesce(sum(reclaimed_bytes), 0) FROM decision WHERE name = '$1'"; }
taken() { (($(swapped "$1") >= $2 << 20)); }
conf() { balloond_conf "act = $1" 'interval = 1' "reclaim = $2"; }
# The status of the process that reclaims; of one that has ended and waits for init to notice there is none.
helpers() {
	local file
	while read -r file; do
		grep -q '^State:.Z' "${file%comm}status" 2>/dev/null || echo "${file%comm}status"
	done < <(grep -lx vmwss-reclaimer /proc/[0-9]*/comm 2>/dev/null)
}
no_helper() { [[ -z $(helpers) ]]; }

vmwssd_conf 'window = 2,4' 'samples = 2000' 'budget = 100%' 'guest-budget = 90%'
params="total=320M hot=16M"
t=$(truth "$params")
if ! libvirtd_begin || ! create cold 400 "$params"; then
	fail "a KVM guest starts under libvirtd"
	finish
	exit 1
fi
vmwssd_begin --config "$guests_dir/conf"

echo "# a dry run"
conf no zram
controller_begin
check "it would reclaim" eventually decided "name = 'cold' AND action = 'reclaim' AND NOT acted AND reclaim_bytes > 0"
check "vmwss balloon log shows how much" test -n "$("$vmwss" balloon log cold --last 1000 --journal "$journal" | grep -E ' cold .* would reclaim [0-9.]+ MiB .*are kept')"
check "the log, too" controller_logged 'domain cold: would reclaim [0-9]+ MiB: .*memory.reclaim of'
user=$(awk '/^Uid:/ { print $3 }' "$(helpers)" 2>/dev/null)
check "its process is vmwss-balloond's user" test "$user" = "$(id -u vmwss-balloond)"
check "SIGTERM: exit 0" controller_end TERM
check "its process has ended" settles no_helper
check "it took nothing" test "$(swapped cold)" = 0

echo "# acting, with another process in its group"
sleep 1000 &
stranger=$!
pids+=("$stranger")
echo $stranger >$slice/machine-qemu-cold.scope/cgroup.procs
conf yes zram
controller_begin
check "refused, by name" eventually decided "name = 'cold' AND why LIKE '%nothing is reclaimed: process $stranger (sleep) is in the group, too%'"
check "it took nothing" test "$(swapped cold)" = 0
check "SIGTERM: exit 0" controller_end TERM
kill $stranger

echo "# acting, without swap"
swapoff /dev/zram0
controller_begin
check "refused, by name" eventually decided "name = 'cold' AND why LIKE '%nothing is reclaimed: 0 MiB fit into swap%'"
check "SIGTERM: exit 0" controller_end TERM
swapon -p 100 /dev/zram0

echo "# acting"
high=$(group cold memory.high)
refaults=$(number cold memory.stat workingset_refault_anon)
conf yes zram
controller_begin
check "cold memory leaves" eventually taken cold 40
capabilities=$(awk '/^Cap(Eff|Prm|Bnd):/ { print $2 }' "$(helpers)" | sort -u)
check "its process is root without capabilities" test "$capabilities" = 0000000000000000
check "more leaves" eventually taken cold 80
check "until little is cold" eventually decided "name = 'cold' AND why LIKE '%reclaim: of % MiB resident it keeps%'
	AND id > (SELECT min(id) FROM decision WHERE acted)"
check "what was asked for is in the journal" decided "name = 'cold' AND action = 'reclaim' AND acted AND reclaim_bytes >= 8 << 20"
check "what came of it, too: $(mib "$(reclaimed cold)") of $(mib "$(swapped cold)") MiB" \
	holds "$(reclaimed cold) > 0.8 * $(swapped cold) && $(reclaimed cold) < $(swapped cold) + $((64 << 20))"
kept=$(($(group cold memory.stat | awk '$1 == "anon" || $1 == "shmem" { sum += $2 } END { print sum }')))
check "it keeps what it touches and the reserve ($(mib $kept) MiB)" holds "$kept > $t + $((128 << 20))"
back=$((($(number cold memory.stat workingset_refault_anon) - refaults) * 4))
check "what it touches did not leave: $back KiB came back" holds "$back < 4096"
check_census "what it touches is as much as before" "$t" 2 --pid "$(</run/libvirt/qemu/cold.pid)" -w 3 -m idle --wait 30
# A guest that has got little of a busy machine did not get through all of it.
check "what vmwssd measured up to now held what it touches" test 1 = "$(sql "SELECT 20 * total((SELECT max(w.value ->> 4)
	FROM json_each(windows) w) < 0.9 * $t) <= count(*) FROM sample JOIN guest ON guest.id = guest_id WHERE guest.name = 'cold'")"
check "why" test -n "$("$vmwss" balloon why cold --journal "$journal" | grep -E '^  to be reclaimed')"
exported() { "$build/host/vmwss-exporter" --print --database "$db" --journal "$journal" | grep -E "$1"; }
check "the exporter counts it" test -n "$(exported '^vmwss_balloon_decisions\{action="reclaim",hold="decision"\} [1-9]')"
controller_end KILL
check "kill -9: its process ends by itself" settles no_helper
check "no limit is left" test "$(group cold memory.high)" = "$high"
embed_virsh destroy cold

echo "# a guest whose load grows"
controller_begin
check "it starts" create grows 400 "total=320M phases=90:16M,600:300M"
check "what is cold leaves" eventually taken grows 20
backed_off="name = 'grows' AND why LIKE '%nothing is reclaimed for % MiB of what was taken came back%'"
more_time() { eventually decided "$backed_off" || eventually decided "$backed_off"; }
check "it is backed off from when it comes back" more_time
from=$(journal "SELECT coalesce(min(id), 0) FROM decision WHERE $backed_off")
left() { (($(swapped grows) < 40 << 20)); }
check "it gets it back" eventually left
sleep 5
check "nothing more is taken" test "$(journal "SELECT count(*) FROM decision WHERE name = 'grows' AND action = 'reclaim' AND id > $from")" = 0
journal "SELECT name, action, acted, hold, reclaim_bytes >> 20, reclaimed_bytes >> 20, resident_bytes >> 20, substr(why, -150) FROM decision" | tail -n 60 | sed 's/^/# /'
check "SIGTERM: exit 0" controller_end TERM
check "its process has ended" settles no_helper
finish
