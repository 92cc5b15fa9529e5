#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=6.1 cost=25
# test: lab=page_idle,6.12 thorough cost=146
#
# In the lab, on every kernel: method mglru on KVM guests in a control group of their own. Its census is held against the
# truth on each backing, at rest and while others age or reclaim the same memory, and it leaves `enabled` as it was. What it
# cannot see it must refuse by name: on Linux 6.1 a KVM guest at all.
#
#   mglru.sh [PART...]   anon refusals thp folios memfd lists batches, and on page_idle swap; all of them unless told otherwise

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

lru_gen=/sys/kernel/debug/lru_gen
enabled=/sys/kernel/mm/lru_gen/enabled
group=/sys/fs/cgroup/guest
params="total=96M hot=32M"
t=$(truth "$params")
huge=$((($(truth "$params" hot_huge_pages) + 1) * 2097152))

start_in_group() {
	echo $$ >$group/cgroup.procs
	start_payload "$@"
	local status=$?
	echo $$ >/sys/fs/cgroup/cgroup.procs
	return $status
}
refused() { expect_exit "refused: $1" 2 "$2" "$vmwss" measure --pid "$pid" -m mglru -w 0.1; }

# age: one ageing of the guest's memory, on every node, by somebody else.
age() {
	local order
	while read -r order; do echo "$order" >$lru_gen; done < <(
		awk '$1 == "memcg" { id = $3 == "/guest" ? $2 : "" } $1 == "node" { node = $2; next }
			id != "" && $1 != "memcg" { max[node] = $1; of = id }
			END { for (node in max) print "+", of, node, max[node], 1, 1 }' $lru_gen
	)
}
three_times() { age && age && age; }
reclaim() { echo 24M >$group/memory.reclaim; }

youngest() { awk '$1 == "memcg" { ours = $3 == "/guest"; next } ours && NF >= 4 { max = $1 } END { print max }' $lru_gen; }
has_begun() { (($(youngest) > $1)); }

# during WHAT COMMAND: measures; COMMAND is done once the window has begun. Sets record.
during() {
	local measuring was
	was=$(youngest)
	"$vmwss" measure --json --pid "$pid" -w 4 -m mglru >"$guests_dir/record" 2>"$guests_dir/messages" &
	measuring=$!
	check "$1: the window begins" settles has_begun "$was"
	$2
	check "$1: measured" wait $measuring
	cat "$guests_dir/messages"
	record=$(<"$guests_dir/record")
	[[ -n $record ]] || record='{}'
	printf '# %s: %s [%s, %s] of %s, flags %s\n' "$1" "$(field wss_bytes)" "$(field wss_low_bytes)" \
		"$(field wss_high_bytes)" "$t" "$(jq -c .flags <<<"$record")"
	check "$1: the bounds hold the truth" holds "$(field wss_low_bytes) <= $t && $(field wss_high_bytes) >= 0.99 * $t"
}

# cpu_of METHOD: prints the CPU time of a census, to be read beside the others', not to be judged.
cpu_of() {
	measure --pid "$pid" -m "$1" --census -w 2 && printf '# CPU of a census by %s: %s s\n' "$1" "$(field cpu_seconds)"
}

echo "+memory" >/sys/fs/cgroup/cgroup.subtree_control
mkdir $group
echo y >$enabled
before=$(<$enabled)

if [[ ${VMWSS_LAB_KERNEL:-} == 6.1 ]]; then
	if start_in_group old kvm "$params" -m 128; then
		refused "Linux 6.1" 'blind to KVM guests on Linux 6\.1'
		stop_guest "$pid"
	fi
	finish
	exit
fi

anon() {
	echo "# anonymous memory, 4 KiB pages"
	start_in_group anon4k kvm "$params" -m 128 || return
	check_census "mglru, anon 4K" "$t" 1 --pid "$pid" -w 2 -m mglru
	check "no flag" lacks_flag ageing
	check "all of it could be measured" holds "$(field unmeasurable_bytes) <= 1048576"
	check_census "mglru, two windows" "$t" 1 --pid "$pid" -w 1,2 -m mglru
	check "the first window, too" record_has ".windows[0] | .wss_bytes > 0.99 * $t and .wss_bytes < 1.01 * $t"
	expect_exit "three windows are refused" 2 'at most 2 windows' "$vmwss" measure --pid "$pid" -m mglru -w 1,2,3
	cpu_of mglru
	[[ ${VMWSS_LAB_KERNEL:-} == 6.12 ]] || cpu_of idle
	cpu_of zap

	echo "# others age"
	during "aged once" age
	check "within 1 %" holds "$(field wss_bytes) < 1.01 * $t"
	during "aged three times" three_times
	check "flag ageing" has_flag ageing
	stop_guest "$pid"
}

# dd has read 32 MiB, which nobody takes from it.
dd_pid() { pgrep -x dd; }
dd_is_full() { grep -Eq 'RssAnon:[[:space:]]+3[0-9]{4} kB' "/proc/$(dd_pid)/status"; }

refusals() {
	echo "# what is refused"
	start_in_group refused kvm "$params" -m 128 || return
	# shellcheck disable=SC2216 # so that dd waits
	(echo $BASHPID >$group/cgroup.procs && exec dd if=/dev/zero bs=32M count=1 2>/dev/null) | sleep 600 &
	local reader=$!
	check "another process in the group" settles dd_is_full
	refused "a shared group" 'share its control group /guest.* dd\)'
	kill "$(dd_pid)" $reader
	echo 5 >$enabled
	refused "no walks" 'lacks 0x2'
	echo n >$enabled
	refused "MGLRU off" 'MGLRU is off'
	echo y >$enabled
	echo "$pid" >/sys/fs/cgroup/cgroup.procs
	refused "the root group" 'root control group'
	stop_guest "$pid"
}

swap_is_flagged() { grep -Eq 'VmSwap:[[:space:]]+0 kB' "/proc/$pid/status" || has_flag swap; }

swap() {
	echo "# swap"
	echo 256M >/sys/block/zram0/disksize
	mkswap /dev/zram0 >/dev/null
	swapon /dev/zram0
	if start_in_group swapped kvm "$params" -m 128; then
		during "reclaimed" reclaim
		# Reclaim takes the group's page cache first.
		check "flag swap if any was swapped" swap_is_flagged
		stop_guest "$pid"
	fi
	swapoff /dev/zram0
}

thp() {
	echo "# transparent huge pages"
	echo always >/sys/kernel/mm/transparent_hugepage/enabled
	if THP=yes start_in_group thp kvm "$params" -m 128; then
		measure_it_running --pid "$pid" -w 2 -m mglru
		printf '# THP: %s [%s, %s], in huge pages %s\n' "$(field wss_bytes)" "$(field wss_low_bytes)" \
			"$(field wss_high_bytes)" $huge
		check "mglru, THP: within a huge page" holds \
			"$(field wss_bytes) - $huge <= 2097152 && $huge - $(field wss_bytes) <= 2097152"
		check "mglru, THP: the bounds hold the truth in base pages" holds \
			"$(field wss_low_bytes) <= $t && $(field wss_high_bytes) >= $t"
		check "flag thp" has_flag thp
		stop_guest "$pid"
	fi
	echo never >/sys/kernel/mm/transparent_hugepage/enabled
}

# Their page tables map base pages, of which smaps says nothing; but a touch moves the whole folio.
folios() {
	echo "# folios of 64 KiB, of each of which one page is hot"
	local size=/sys/kernel/mm/transparent_hugepage/hugepages-64kB
	local strided="total=64M pattern=strided stride=64K" hot
	hot=$(truth "$strided")
	echo never >/sys/kernel/mm/transparent_hugepage/enabled
	echo always >$size/enabled
	if THP=yes start_in_group folios kvm "$strided" -m 128; then
		check "its RAM is in such folios" holds "$(<$size/stats/nr_anon) >= 1024"
		check "none is mapped by a huge page" holds "$(awk '/AnonHugePages/ { n += $2 } END { print n }' "/proc/$pid/smaps") == 0"
		check "mglru, folios: measures" measure_it_running --pid "$pid" -w 2 -m mglru
		check "mglru, folios: $(field wss_bytes), ten times of $hot and more" holds "$(field wss_bytes) > 10 * $hot"
		check "mglru, folios: [$(field wss_low_bytes), $(field wss_high_bytes)] holds $hot" holds \
			"$(field wss_low_bytes) <= $hot && $(field wss_high_bytes) >= $hot"
		check "flag thp" has_flag thp
		check "by zap the pages are single ones" measure_it_running --pid "$pid" -w 2 -m zap
		check_interval "zap, folios" "$hot"
		stop_guest "$pid"
	fi
	echo never >$size/enabled
}

memfd() {
	echo "# memfd, and a guest that stands still"
	MACHINE=pc,memory-backend=mem start_in_group memfd kvm "$params" -m 128 \
		-object memory-backend-memfd,id=mem,size=128M,share=on -qmp "unix:$guests_dir/qmp,server=on,wait=off" || return
	check_census "mglru, memfd" "$t" 1 --pid "$pid" -w 2 -m mglru
	qmp '{"execute":"stop"}'
	measure --pid "$pid" -w 1 -m mglru
	check "it stands still: nothing touched" holds "$(field wss_bytes) <= 524288"
	stop_guest "$pid"
}

lists() {
	echo "# on no list"
	if start_in_group mlocked kvm "$params" -m 128 -overcommit mem-lock=on; then
		refused "mlocked" 'hugetlb or locked'
		stop_guest "$pid"
	fi
	echo 66 >/proc/sys/vm/nr_hugepages
	if MACHINE=pc,memory-backend=mem start_in_group hugetlb kvm "$params" -m 128 \
		-object memory-backend-memfd,id=mem,size=128M,hugetlb=on,hugetlbsize=2M; then
		refused "hugetlb" 'hugetlb or locked'
		stop_guest "$pid"
	fi
	echo 0 >/proc/sys/vm/nr_hugepages
}

# start_waiting BACKING: a guest whose last new pages wait in the batch of its CPU, on which nothing else runs. A process that ends
# there empties it.
start_waiting() {
	local nothp=$guests_dir/pinned
	MACHINE=pc,memory-backend=mem start_in_group "waiting-$1" kvm "$params" -m 128 \
		-object "memory-backend-$1,id=mem,size=128M"
}
end_there() { taskset -c 1 true; }

batches() {
	(($(nproc) > 1)) || return 0
	echo "# new pages that wait in a CPU's batch"
	printf '#!/bin/sh\nexec taskset -c 1 %s "$@"\n' "$nothp" >"$guests_dir/pinned"
	chmod +x "$guests_dir/pinned"
	taskset -p -c 0 $$ >/dev/null
	if start_waiting memfd; then
		during "come to their list" end_there
		check "what was touched before does not count" holds "$(field wss_bytes) <= $t + 4096"
		stop_guest "$pid"
	fi
	if [[ ${VMWSS_LAB_KERNEL:-} == page_idle* ]] && start_waiting ram; then
		measure --pid "$pid" -w 1 -m idle --census
		check "idle: none is missing" holds "$(field unmeasurable_bytes) == 0"
		stop_guest "$pid"
	fi
	taskset -p -c "0-$(($(nproc) - 1))" $$ >/dev/null
}

(($# > 0)) || set -- anon refusals thp folios memfd lists batches
# zram is built in there.
[[ $# -lt 7 || ${VMWSS_LAB_KERNEL:-} != page_idle ]] || set -- "$@" swap
for part; do $part; done
check "enabled is as it was" test "$(<$enabled)" = "$before"
finish
