#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=arm64,arm64_16k,arm64_64k thorough cost=240 needs=@ROOT@/build/arm64/host/vmwss,@ROOT@/build/arm64/vm-images/payload/vmwss-payload.elf
#
# In the arm64 lab, with base pages of 4, 16 and 64 KiB: folios of sizes between a base page and a huge page, or above it. Of
# multi-size THP QEMU's page table has base pages (the hardware may join some of them), and so has KVM's: zap and damon are exact,
# mglru and idle, which count folios, say so. Contiguous hugetlb, 64 KiB and 32 MiB with pages of 4 KiB, else 2 MiB, KVM maps in base
# pages or in huge ones: zap sees these, and damon refuses it by name.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

base=$(getconf PAGESIZE)
# One base page in eight: a figure in units of a folio would be several times as large.
params="total=192M hot=24M pattern=strided stride=$((base >> 7))K run=$((base >> 10))K"
case $VMWSS_LAB_KERNEL in
arm64) sizes=(16 64 1024) ;;
arm64_16k) sizes=(64 2048) ;;
arm64_64k)
	sizes=(256 2048)
	echo y >/sys/kernel/mm/lru_gen/enabled
	;;
esac
t=$(truth "$params")
thp=/sys/kernel/mm/transparent_hugepage
hugetlb=/sys/kernel/mm/hugepages

# The five pages of the payload's own are of 4 KiB; of the host's they are one or more.
bounds_hold() { holds "$(field wss_low_bytes) <= $t + 5 * $base && $(field wss_high_bytes) >= $t"; }
in_base_pages() { record_has ".granularity_bytes == $base"; }

echo never >$thp/enabled
# Some are of files only, and have no such switch.
for size in "$thp"/hugepages-*kB; do
	[[ ! -w $size/enabled ]] || { echo never >"$size/enabled"; } 2>/dev/null
done
for kib in "${sizes[@]}"; do
	echo "# multi-size THP of $kib KiB"
	size=$thp/hugepages-${kib}kB
	before=$(<"$size/stats/anon_fault_alloc")
	echo always >"$size/enabled"
	if THP=yes start_in_group "mthp$kib" kvm "$params" -m 256; then
		folios=$(($(<"$size/stats/anon_fault_alloc") - before))
		check "its region is in them: $folios" holds "$folios * $kib >= 192 * 1024"
		check_census "zap, mTHP of $kib KiB" "$t" 1 --pid "$pid" -w 4 -m zap
		check "in base pages" in_base_pages
		check_panel "zap, mTHP of $kib KiB" "$t" --pid "$pid" -w 2 -m zap
		check_panel "damon, mTHP of $kib KiB" "$t" --pid "$pid" -w 2 -m damon
		check "in base pages, too" in_base_pages
		check "mglru, mTHP of $kib KiB: measures" measure_it_running --pid "$pid" -w 2 -m mglru
		check "flag thp" has_flag thp
		check "[$(field wss_low_bytes), $(field wss_high_bytes)] holds the truth, $t" bounds_hold
		if [[ -e /sys/kernel/mm/page_idle && $base == 65536 ]]; then
			check "idle, mTHP of $kib KiB: measures" measure_it_running --pid "$pid" -w 2 -m idle
			check "flag thp" has_flag thp
			check "[$(field wss_low_bytes), $(field wss_high_bytes)] holds the truth, $t" bounds_hold
		fi
		stop_guest "$pid"
	fi
	echo never >"$size/enabled"
done

# contiguous KIB BYTES: a guest whose RAM is hugetlb of that size, of which zap sees so many bytes.
contiguous() {
	local kib=$1 seen=$2 pages=$((256 * 1024 / $1))
	echo "# hugetlb of $kib KiB"
	echo $pages >"$hugetlb/hugepages-${kib}kB/nr_hugepages"
	check "the lab has $pages of them" test "$(<"$hugetlb/hugepages-${kib}kB/nr_hugepages")" = $pages
	if MACHINE=$machine,memory-backend=mem start_payload "hugetlb$kib" kvm "$params" -m 256 \
		-object "memory-backend-memfd,id=mem,size=256M,hugetlb=on,hugetlbsize=${kib}K"; then
		check_census "zap, hugetlb of $kib KiB" "$seen" 1 --pid "$pid" -w 4 -m zap
		check "flag hugetlb" has_flag hugetlb
		check "[$(field wss_low_bytes), $(field wss_high_bytes)] holds the truth in base pages, $t" bounds_hold
		check_panel "zap, hugetlb of $kib KiB" "$seen" --pid "$pid" -w 2 -m zap
		expect_exit "damon says why not" 2 "huge pages of $kib KiB that KVM maps in smaller pieces, as it has none of that size" \
			"$vmwss" measure --pid "$pid" -w 1 -m damon
		expect_exit "nor does mglru see it" 2 'hugetlb or locked' "$vmwss" measure --pid "$pid" -w 1 -m mglru
		stop_guest "$pid"
	fi
	echo 0 >"$hugetlb/hugepages-${kib}kB/nr_hugepages"
}
if ((base > 4096)); then
	contiguous 2048 "$t"
	finish
	exit
fi
contiguous 64 "$t"
contiguous 32768 $((($(truth "$params" hot_huge_pages) + 1) * 2097152))

finish
