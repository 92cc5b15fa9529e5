#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle_module core cost=280
# test: lab=page_idle thorough cost=280
#
# In the lab, with page_idle: method idle under real KVM, for every backing.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# A page that KVM has to map again costs the emulated lab about 0.1 ms: where all mappings are dropped (a census by
# zap, zap-all), the window must be long enough for the guest to fault on its whole working set.
# A guest takes seconds to populate a hundred MiB. More than the 128 MiB of one read of the bitmap.
params="total=192M hot=32M"
t=$(truth "$params")

echo "# anonymous memory, 4 KiB pages"
if start_payload anon4k kvm "$params" -m 256; then
	check "auto takes idle" measure --pid "$pid" -w 2
	check "auto took idle" record_has '.method == "idle" and .accel == "kvm"'
	check "default is within 1 % ($(field wss_bytes) of $t)" \
		holds "$(field wss_bytes) > 0.99 * $t && $(field wss_bytes) < 1.01 * $t"
	check_census "idle, anon 4K" "$t" 1 --pid "$pid" -w 2 -m idle
	check_panel "idle, anon 4K" "$t" --pid "$pid" -w 2 -m idle -n 2000
	check_panel "zap, anon 4K" "$t" --pid "$pid" -w 2 -m zap -n 2000
	check_census "zap, anon 4K" "$t" 1 --pid "$pid" -w 6 -m zap
	check_census "zap-all, anon 4K" "$t" 1 --pid "$pid" -w 6 -m zap-all
	check_panel "zap, anon 4K, n=40000" "$t" --pid "$pid" -w 6 -m zap -n 40000
	"$vmwss" measure --pid "$pid" -w 60 -m idle >/dev/null 2>&1 &
	measuring=$!
	settles measured_by "$pid" "$measuring"
	sleep 2
	kill -KILL "$measuring"
	wait "$measuring" 2>/dev/null
	check_census "idle, anon 4K, after kill -9" "$t" 1 --pid "$pid" -w 2 -m idle
	check "no process is left" test -z "$(pgrep -x vmwss)"
	expect_exit "referenced is refused" 2 'referenced: blind to KVM guests' \
		"$vmwss" measure --pid "$pid" -m referenced
	expect_exit "cold is refused" 2 'cold: blind to KVM guests' "$vmwss" measure --pid "$pid" -m cold
	stop_guest "$pid"
fi

echo "# a random hot set, and a small one"
for p in "total=192M hot=24M pattern=random seed=3" "total=192M hot=4M pattern=strided stride=128K"; do
	if start_payload "p${#p}" kvm "$p" -m 256; then
		check_census "idle, anon 4K, ${p#* }" "$(truth "$p")" 1 --pid "$pid" -w 2 -m idle
		check_panel "idle, anon 4K, ${p#* }" "$(truth "$p")" --pid "$pid" -w 2 -m idle -n 2000
		stop_guest "$pid"
	fi
done

echo "# transparent huge pages"
echo always >/sys/kernel/mm/transparent_hugepage/enabled
if THP=yes start_payload thp kvm "$params" -m 256; then
	huge=$((($(truth "$params" hot_huge_pages) + 1) * 2097152))
	check_census "idle, anon THP" "$huge" 3 --pid "$pid" -w 2 -m idle
	check "flag thp" has_flag thp
	check "granularity is 2 MiB" record_has '.granularity_bytes == 2097152'
	check_panel "idle, anon THP" "$huge" --pid "$pid" -w 2 -m idle -n 2000
	stop_guest "$pid"
fi

echo "# memfd"
if MACHINE=pc,memory-backend=mem start_payload memfd kvm "$params" -m 256 \
	-object memory-backend-memfd,id=mem,size=256M,share=on; then
	check_census "idle, memfd" "$t" 1 --pid "$pid" -w 2 -m idle
	check_panel "pageout, memfd" "$t" --pid "$pid" -w 2 -m pageout -n 2000
	stop_guest "$pid"
fi

echo "# mlocked"
if start_payload mlocked kvm "$params" -m 256 -overcommit mem-lock=on; then
	check_census "idle, mlocked" "$t" 1 --pid "$pid" -w 2 -m idle
	stop_guest "$pid"
fi

echo "# hugetlb: unmeasurable, not hot"
echo 280 >/proc/sys/vm/nr_hugepages
if MACHINE=pc,memory-backend=mem start_payload hugetlb kvm "$params" -m 256 \
	-object memory-backend-memfd,id=mem,size=256M,hugetlb=on,hugetlbsize=2M; then
	expect_exit "idle is refused" 2 'idle: .*hugetlb' "$vmwss" measure --pid "$pid" -w 1 -m idle
	check "auto takes another method" measure --pid "$pid" -w 2
	check "auto took damon" record_has '.method == "damon"'
	check_panel "zap, hugetlb" "$((($(truth "$params" hot_huge_pages) + 1) * 2097152))" --pid "$pid" -w 2 -m zap
	stop_guest "$pid"
fi

echo "# half hugetlb, half anonymous: the one part measured, the other said to be unmeasurable"
p="total=512M hot=64M start=448M"
if start_payload mixed kvm "$p" -m 1024 -smp 2 \
	-object memory-backend-ram,id=m0,size=512M \
	-object memory-backend-memfd,id=m1,size=512M,hugetlb=on,hugetlbsize=2M \
	-numa node,cpus=0,memdev=m0 -numa node,cpus=1,memdev=m1; then
	check "idle, mixed" measure --census --pid "$pid" -w 2 -m idle
	check "flag partial" has_flag partial
	check "the hugetlb half is unmeasurable ($(field unmeasurable_bytes))" \
		holds "$(field unmeasurable_bytes) > 400 * 1048576"
	check "the truth is within the bounds" \
		holds "$(field wss_low_bytes) <= $(truth "$p memory=1G") && $(truth "$p memory=1G") <= $(field wss_high_bytes)"
	stop_guest "$pid"
fi
echo 0 >/proc/sys/vm/nr_hugepages

echo "# partly populated, and memory that arrives within the window"
p="total=448M hot=64M populate=hot"
if start_payload partly kvm "$p" -m 512; then
	check_census "idle, partly populated" "$(truth "$p")" 1 --pid "$pid" -w 2 -m idle
	check_panel "idle, partly populated" "$(truth "$p")" --pid "$pid" -w 2 -m idle -n 2000
	stop_guest "$pid"
fi

echo "# a TCG guest beside: accessed bits of QEMU's own page tables"
if start_payload tcg tcg "total=96M hot=16M" -m 128; then
	check_census "idle, TCG anon 4K" "$(truth "total=96M hot=16M")" 1 --pid "$pid" -w 4 -m idle
	check "accel" record_has '.accel == "tcg"'
	stop_guest "$pid"
fi

finish
