#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=6.1 turn cost=150
#
# In the lab, Debian's stock 6.1 (neither page_idle nor PAGEMAP_SCAN): method zap-all, and pageout as it works
# before Linux 6.9.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# A page that KVM has to map again costs the emulated lab about 0.1 ms: where all mappings are dropped (a census by
# zap, zap-all), the window must be long enough for the guest to fault on its whole working set.
params="total=448M hot=64M"
t=$(truth "$params")
# KVM maps the first 2 MiB, where ROMs lie between and the payload itself lives, in pages of 4 KiB.
kvm_huge=$(($(truth "$params" hot_huge_pages) * 2097152 + $(truth "$params" own_pages) * 4096))

echo "# anonymous memory, 4 KiB pages"
if start_payload anon4k kvm "$params" -m 512; then
	expect_exit "idle names what is missing" 2 'CONFIG_IDLE_PAGE_TRACKING' \
		"$vmwss" measure --pid "$pid" -m idle
	expect_exit "zap names what is missing" 2 'Linux 6.7' "$vmwss" measure --pid "$pid" -m zap
	expect_exit "referenced is refused" 2 'blind to KVM guests' "$vmwss" measure --pid "$pid" -m referenced
	check "auto takes zap-all" measure --pid "$pid" -w 6
	check "auto took zap-all" record_has '.method == "zap-all"'
	check_census "zap-all, anon 4K" "$t" 1 --pid "$pid" -w 6 -m zap-all
	stop_guest "$pid"
fi

echo "# memfd; less of it, for a guest takes seconds to populate a hundred MiB"
less="total=192M hot=32M"
less_t=$(truth "$less")
if MACHINE=pc,memory-backend=mem start_payload memfd kvm "$less" -m 256 \
	-object memory-backend-memfd,id=mem,size=256M,share=on; then
	check_panel "pageout, memfd" "$less_t" --pid "$pid" -w 2 -m pageout
	check_panel "pageout, memfd, again" "$less_t" --pid "$pid" -w 2 -m pageout
	check_census "zap-all, memfd" "$less_t" 1 --pid "$pid" -w 6 -m zap-all
	stop_guest "$pid"
fi

# All of its pages were touched once, so all of them would read touched if one call did not unmap them.
if MACHINE=pc,memory-backend=mem start_payload emulated tcg "$less" -m 256 \
	-object memory-backend-memfd,id=mem,size=256M,share=on; then
	check_panel "pageout, memfd, of a TCG guest, which gets one call" "$less_t" --pid "$pid" -w 2 -m pageout
	stop_guest "$pid"
fi

echo "# hugetlb"
echo 300 >/proc/sys/vm/nr_hugepages
if MACHINE=pc,memory-backend=mem start_payload hugetlb kvm "$params" -m 512 \
	-object memory-backend-memfd,id=mem,size=512M,hugetlb=on,hugetlbsize=2M; then
	check_census "zap-all, hugetlb" "$kvm_huge" 1 --pid "$pid" -w 6 -m zap-all
	stop_guest "$pid"
fi

finish
