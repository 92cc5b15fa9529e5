#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: thorough lab=page_idle options=--numa serial cost=150
#
# Not integration/measure/disturbances.sh under KVM: there QEMU, or another vmwss, disturbs, here the kernel of the host does.
# In the lab, with page_idle, two NUMA nodes: what the host does to guest RAM on its own account, NUMA balancing and
# KSM. The truth stays within the bounds, with a flag where it bears on the number. And mglru of memory on both nodes.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=192M hot=32M"
t=$(truth "$params")
lacks_flag() { record_has ".flags | index(\"$1\") == null"; }

# look WHAT ARGS...: an idle census whose bounds must hold the truth to 1 %.
look() {
	local what=$1
	shift
	check "$what: measured" measure --pid "$pid" -m idle --census -w 4 "$@"
	printf '# %s: wss %s of %s, unmeasurable %s, flags %s\n' "$what" "$(field wss_bytes)" "$t" \
		"$(field unmeasurable_bytes)" "$(jq -c .flags <<<"$record")"
	check "$what: the bounds hold the truth" \
		holds "$(field wss_low_bytes) <= 1.01 * $t && $(field wss_high_bytes) >= 0.99 * $t"
}

unmapped_pages() { awk '$1 == "numa_pte_updates" { print $2 }' /proc/vmstat; }
echo "# NUMA balancing"
check "there are two nodes" test -d /sys/devices/system/node/node1
if start_payload numa kvm "$params" -m 256 -machine mem-merge=off; then
	echo 0 >/proc/sys/kernel/numa_balancing
	look "NUMA balancing off"
	check "no flag" lacks_flag numa-balancing
	unmapped=$(unmapped_pages)
	echo 1 >/proc/sys/kernel/numa_balancing
	for ((i = 0; i < 3; i++)); do look "NUMA balancing on"; done
	check "it unmapped pages: $(($(unmapped_pages) - unmapped))" test "$(unmapped_pages)" -gt "$unmapped"
	check "no flag: KVM's accessed bits are carried, or it would be ageing" lacks_flag numa-balancing
	echo 0 >/proc/sys/kernel/numa_balancing
	stop_guest "$pid"
fi

echo "# KSM"
if start_payload ksm kvm "$params populate=all" -m 256; then
	look "KSM off"
	check "no flag" lacks_flag ksm
	echo 2000 >/sys/kernel/mm/ksm/pages_to_scan
	echo 1 >/sys/kernel/mm/ksm/run
	sleep 5
	look "KSM on, nothing to merge"
	check "a flag only if something was unmeasurable" record_has '(.unmeasurable_bytes > 0) == (.flags | index("ksm") != null)'
	# Half of them are hot.
	have_twins 4096 8192
	check "KSM merges" settles twins_are_merged 7000
	look "KSM on, $(cat /sys/kernel/mm/ksm/pages_sharing) pages merged"
	check "flag ksm" has_flag ksm
	check_panel "zap, which sees merged pages" "$t" --pid "$pid" -m zap -n 2000 -w 8
	check "no flag" lacks_flag ksm
	check "auto measures" measure --pid "$pid" -n 2000 -w 8
	check "by zap" record_has '.method == "zap"'
	echo 2 >/sys/kernel/mm/ksm/run
	look "KSM off again"
	check "no flag any more" lacks_flag ksm
	stop_guest "$pid"
fi

echo "# MGLRU on two nodes"
group=/sys/fs/cgroup/guest
# To be read, not judged: pages of each node in the group's generations.
pages_of_nodes() {
	awk '$1 == "memcg" { ours = $3 == "/guest" } !ours || $1 == "memcg" { next } $1 == "node" { node = $2; next }
		NF >= 4 { sum[node] += $3 } END { for (node in sum) printf "# node %s: %d pages\n", node, sum[node] }' /sys/kernel/debug/lru_gen
}
echo y >/sys/kernel/mm/lru_gen/enabled
echo "+memory" >/sys/fs/cgroup/cgroup.subtree_control
mkdir $group
echo $$ >$group/cgroup.procs
if MACHINE=pc,memory-backend=mem start_payload nodes kvm "$params" -m 256 \
	-object memory-backend-ram,id=mem,size=256M,host-nodes=0-1,policy=interleave; then
	echo $$ >/sys/fs/cgroup/cgroup.procs
	check_census "mglru, memory on two nodes" "$t" 1 --pid "$pid" -w 2 -m mglru
	pages_of_nodes
	stop_guest "$pid"
fi

finish
