#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=7.3 core cost=270
# test: extra lab=6.12 turn cost=270
#
# In the lab, Debian's stock 7.3 and 6.12 (no page_idle): method zap under real KVM, for every backing; and that
# nothing is left behind, also after kill -9. What auto takes there is damon, see damon.sh.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# A page that KVM has to map again costs the emulated lab about 0.1 ms: where all mappings are dropped (a census by
# zap, zap-all), the window must be long enough for the guest to fault on its whole working set.
# A guest takes seconds to populate a hundred MiB.
params="total=192M hot=32M"
t=$(truth "$params")
huge=$((($(truth "$params" hot_huge_pages) + 1) * 2097152))
# KVM maps the first 2 MiB, where ROMs lie between and the payload itself lives, in pages of 4 KiB.
kvm_huge=$(($(truth "$params" hot_huge_pages) * 2097152 + $(truth "$params" own_pages) * 4096))

# A measurement could leave these in the kernel: enabled events, probes, filters, tracers.
tracing_state() {
	local dir=/sys/kernel/tracing
	cat "$dir/set_event" "$dir/kprobe_events" "$dir/uprobe_events" "$dir/current_tracer" "$dir/tracing_on" \
		"$dir/events/kvm/kvm_page_fault/enable" "$dir/events/kvm/kvm_page_fault/filter" 2>&1
	ls "$dir/instances" "$dir/events" 2>&1
}

# Descriptors of perf events that any process holds.
perf_events() { find /proc/[0-9]*/fd -lname 'anon_inode:*perf_event*' 2>/dev/null; }
has_perf_events() { [[ -n $(perf_events) ]]; }
no_perf_event() { [[ -z $(perf_events) ]]; }
none_left() { [[ -z $(pgrep -x vmwss) ]]; }

echo "# anonymous memory, 4 KiB pages"
if start_payload anon4k kvm "$params" -m 256; then
	expect_exit "idle names what is missing" 2 'CONFIG_IDLE_PAGE_TRACKING' \
		"$vmwss" measure --pid "$pid" -m idle
	expect_exit "referenced is refused" 2 'blind to KVM guests' "$vmwss" measure --pid "$pid" -m referenced
	check_panel "zap, anon 4K" "$t" --pid "$pid" -w 2 -m zap -n 2000
	check_panel "zap, anon 4K, n=10000" "$t" --pid "$pid" -w 2 -m zap -n 10000
	check_census "zap, anon 4K" "$t" 1 --pid "$pid" -w 6 -m zap
	check_census "zap-all, anon 4K" "$t" 1 --pid "$pid" -w 6 -m zap-all

	echo "# kill -9 in the middle"
	before=$(tracing_state)
	"$vmwss" measure --pid "$pid" -w 60 -m zap >/dev/null 2>&1 &
	measuring=$!
	check "while it measures, it holds perf events" settles has_perf_events
	sleep 2
	kill -KILL "$measuring"
	wait "$measuring" 2>/dev/null
	check "after kill -9 there is no perf event" settles no_perf_event
	check "tracing is as before" test "$(tracing_state)" = "$before"
	check "no process is left" settles none_left
	check_panel "zap, anon 4K, after kill -9" "$t" --pid "$pid" -w 2 -m zap
	stop_guest "$pid"
fi

echo "# transparent huge pages"
echo always >/sys/kernel/mm/transparent_hugepage/enabled
if THP=yes start_payload thp kvm "$params" -m 256; then
	thp_kb=$(awk '/AnonHugePages/ { n += $2 } END { print n }' "/proc/$pid/smaps")
	check_panel "zap, anon THP" "$huge" --pid "$pid" -w 2 -m zap
	check "flag thp" has_flag thp
	check "huge pages are as before" holds \
		"$(awk '/AnonHugePages/ { n += $2 } END { print n }' "/proc/$pid/smaps") >= $thp_kb"
	check_census "zap-all, anon THP" "$kvm_huge" 1 --pid "$pid" -w 6 -m zap-all
	stop_guest "$pid"
fi

echo "# memfd"
if MACHINE=pc,memory-backend=mem start_payload memfd kvm "$params" -m 256 \
	-object memory-backend-memfd,id=mem,size=256M,share=on; then
	check_panel "zap, memfd" "$t" --pid "$pid" -w 2 -m zap
	check_panel "pageout, memfd" "$t" --pid "$pid" -w 2 -m pageout
	stop_guest "$pid"
fi

echo "# hugetlb"
echo 140 >/proc/sys/vm/nr_hugepages
if MACHINE=pc,memory-backend=mem start_payload hugetlb kvm "$params" -m 256 \
	-object memory-backend-memfd,id=mem,size=256M,hugetlb=on,hugetlbsize=2M; then
	check_panel "zap, hugetlb" "$huge" --pid "$pid" -w 2 -m zap
	check "flag hugetlb" has_flag hugetlb
	check_census "zap-all, hugetlb" "$kvm_huge" 1 --pid "$pid" -w 6 -m zap-all
	stop_guest "$pid"
fi
echo 0 >/proc/sys/vm/nr_hugepages

echo "# mlocked"
if start_payload mlocked kvm "$params" -m 256 -overcommit mem-lock=on; then
	check_panel "zap, mlocked" "$t" --pid "$pid" -w 2 -m zap
	stop_guest "$pid"
fi

echo "# above the PCI hole, and two RAM blocks on q35"
p="total=512M hot=64M start=4G populate=hot"
if start_payload big kvm "$p" -m 4096; then
	check_census "zap, 4 GiB" "$(truth "$p memory=4G")" 1 --pid "$pid" -w 6 -m zap
	stop_guest "$pid"
fi
p="total=128M hot=64M start=480M"
if MACHINE=q35 start_payload numa kvm "$p" -m 1024 -smp 2 \
	-object memory-backend-ram,id=m0,size=512M -object memory-backend-ram,id=m1,size=512M \
	-numa node,cpus=0,memdev=m0 -numa node,cpus=1,memdev=m1; then
	check_panel "zap, two RAM blocks" "$(truth "$p memory=1G machine=q35")" --pid "$pid" -w 2 -m zap -n 4000
	check_census "zap, two RAM blocks" "$(truth "$p memory=1G machine=q35")" 1 --pid "$pid" -w 6 -m zap
	stop_guest "$pid"
fi

finish
