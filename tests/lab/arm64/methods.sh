#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=arm64 cost=200 needs=@ROOT@/build/arm64/host/vmwss,@ROOT@/build/arm64/vm-images/payload/vmwss-payload.elf
#
# In the arm64 lab, Debian's stock 6.12 with pages of 4 KiB: zap, damon, pageout and mglru against the truth under real KVM, in an
# emulated EL2, on base pages and on huge pages of 2 MiB; what this kernel cannot do is refused by name. The programs are
# cross-built: cmake --preset arm64 && cmake --build --preset arm64.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=128M hot=24M"
t=$(truth "$params")

# The bytes of the guest that were touched are these 24 MiB and five pages, wherever it is computed.
check "arm64, pages of 4 KiB" test "$(uname -m) $(getconf PAGESIZE)" = 'aarch64 4096'
check "the truth: $t" test "$t" = $((24 * 1048576 + 5 * 4096))

# ready_field KEY GUEST: what its payload said of itself.
ready_field() { sed -nE "s/.*ready .*\b$1=([^ \r]*).*/\1/p" "$guests_dir/$2.out"; }

echo "# anonymous memory, 4 KiB pages, in a control group of its own"
if start_in_group anon kvm "$params" -m 256; then
	check "the guest's own pages are the truth's" test "$(ready_field own_pages anon)" = "$(truth "$params" own_pages)"
	check "its region begins 16 MiB behind the begin of RAM" test "$(ready_field ranges anon)" = 0x41000000-0x49000000
	check_census "zap, anon" "$t" 1 --pid "$pid" -w 6 -m zap
	check_panel "zap, anon" "$t" --pid "$pid" -w 2 -m zap
	check_panel "damon, anon" "$t" --pid "$pid" -w 2 -m damon
	check_census "mglru, anon" "$t" 1 --pid "$pid" -w 2 -m mglru
	check "flag stale-tlb: nothing here flushes all of it" has_flag stale-tlb
	expect_exit "idle names what is missing" 2 'CONFIG_IDLE_PAGE_TRACKING' "$vmwss" measure --pid "$pid" -m idle
	expect_exit "zap-all: KVM does not count here" 2 'pages_4k' "$vmwss" measure --pid "$pid" -m zap-all
	check "auto takes a method that proved itself" measure --pid "$pid" -w 2
	check_interval "auto ($(jq -r .method <<<"${record:-null}"))" "$t"
	"$vmwss" list --processes --json >"$guests_dir/list"
	# shellcheck disable=SC2016 # jq's variable
	check "list has it" quietly jq -e --argjson pid "$pid" 'any(.. | objects; .pid? == $pid)' "$guests_dir/list"
	stop_guest "$pid"
fi

# The truth in huge pages: those of the hot set, and that of code, state and page tables.
huge_bytes=$(</sys/kernel/mm/transparent_hugepage/hpage_pmd_size)
huge=$((($(truth "$params" hot_huge_pages) + 1) * huge_bytes))
huge_kb() { awk '/AnonHugePages/ { n += $2 } END { print n }' "/proc/$pid/smaps"; }

echo "# transparent huge pages"
echo always >/sys/kernel/mm/transparent_hugepage/enabled
if THP=yes start_in_group thp kvm "$params" -m 256; then
	thp_kb=$(huge_kb)
	check "its region is on huge pages: $thp_kb KiB" holds "$thp_kb >= 128 * 1024"
	check_census "zap, THP" "$huge" 1 --pid "$pid" -w 4 -m zap
	check "flag thp" has_flag thp
	check_panel "zap, THP" "$huge" --pid "$pid" -w 2 -m zap
	check_panel "damon, THP" "$huge" --pid "$pid" -w 2 -m damon
	check "flag thp" has_flag thp
	check "mglru, THP: measures" measure_it_running --pid "$pid" -w 2 -m mglru
	check "mglru, THP: $(field wss_bytes) of $huge, within a huge page" holds \
		"$(field wss_bytes) - $huge <= $huge_bytes && $huge - $(field wss_bytes) <= $huge_bytes"
	check "mglru, THP: [$(field wss_low_bytes), $(field wss_high_bytes)] holds the truth in base pages, $t" holds \
		"$(field wss_low_bytes) <= $t && $(field wss_high_bytes) >= $t"
	check "flag thp" has_flag thp
	check "huge pages are as before" holds "$(huge_kb) >= $thp_kb"
	stop_guest "$pid"
fi
echo never >/sys/kernel/mm/transparent_hugepage/enabled

echo "# memfd"
if MACHINE=$machine,memory-backend=mem start_payload memfd kvm "$params" -m 256 \
	-object memory-backend-memfd,id=mem,size=256M,share=on; then
	check_panel "pageout, memfd" "$t" --pid "$pid" -w 2 -m pageout
	check_panel "zap, memfd" "$t" --pid "$pid" -w 2 -m zap
	stop_guest "$pid"
fi

"$vmwss" doctor >"$guests_dir/doctor" 2>&1
sed 's/^/# /' "$guests_dir/doctor"
for works in zap:yes damon:yes mglru:yes pageout:yes zap-all:no idle:no; do
	check "doctor: ${works/:/ }" grep -qE "^${works/:/ +} " "$guests_dir/doctor"
done

finish
