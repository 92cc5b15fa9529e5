#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=arm64_16k,arm64_64k thorough cost=180 needs=@ROOT@/build/arm64/host/vmwss,@ROOT@/build/arm64/vm-images/payload/vmwss-payload.elf
#
# In the arm64 lab, with pages of 16 KiB (Debian's stock 6.12) and huge pages of 32 MiB, or of 64 KiB and 512 MiB (built, which has
# page_idle): each method that was held against the truth before. QEMU aligns RAM to 2 MiB, so KVM seldom maps such a huge page as
# one, and zap then tells its base pages apart; damon, which cannot, calls it unmeasurable. Methods that were never held against
# the truth here are refused by name, before anything of the guest is touched, and doctor promises none of them.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

base=$(getconf PAGESIZE)
huge_bytes=$(</sys/kernel/mm/transparent_hugepage/hpage_pmd_size)
reason="base pages have $((base >> 10)) KiB"
# One base page in four, of which all is touched. On huge pages of 512 MiB one in 32, over all of 1 GiB.
params="total=256M hot=32M pattern=strided stride=$((base >> 8))K run=$((base >> 10))K" mib=320
measures=(zap damon mglru pageout) refused=(zap-all referenced cold)
case $VMWSS_LAB_KERNEL in
arm64_16k)
	kernel='aarch64 16384 33554432' huge_params=$params huge_mib=$mib
	refused+=(idle)
	;;
arm64_64k)
	kernel='aarch64 65536 536870912' huge_params="total=1024M hot=32M pattern=strided stride=2M run=64K" huge_mib=2048
	measures+=(idle)
	echo y >/sys/kernel/mm/lru_gen/enabled
	;;
esac
check "the sizes of this kernel's pages" test "$(uname -m) $base $huge_bytes" = "$kernel"
measured() { [[ " ${measures[*]} " == *" $1 "* ]]; }

t=$(truth "$params")

echo "# anonymous memory, base pages"
if start_in_group anon kvm "$params" -m $mib; then
	check_census "zap, anon" "$t" 1 --pid "$pid" -w 4 -m zap
	check_panel "zap, anon" "$t" --pid "$pid" -w 2 -m zap
	check_panel "damon, anon" "$t" --pid "$pid" -w 2 -m damon
	check_census "mglru, anon" "$t" 1 --pid "$pid" -w 2 -m mglru
	if measured idle; then
		check_census "idle, anon" "$t" 1 --pid "$pid" -w 2 -m idle
		check "flag stale-tlb: nothing here flushes all of it" has_flag stale-tlb
		check_panel "idle, anon" "$t" --pid "$pid" -w 2 -m idle -n 1000
		check "a small panel is flushed" lacks_flag stale-tlb
	fi
	check "auto takes a method that proved itself" measure --pid "$pid" -w 2
	check_interval "auto ($(jq -r .method <<<"${record:-null}"))" "$t"
	for method in "${refused[@]}"; do
		expect_exit "$method is refused" 2 "$reason" "$vmwss" measure --pid "$pid" -w 1 -m "$method"
	done
	expect_exit "--fine is refused" 2 "$reason" "$vmwss" measure --pid "$pid" -w 1 -m zap --fine
	expect_exit "trace is refused" 2 "$reason" "$vmwss" trace --pid "$pid" --out "$guests_dir/trace"
	check "the guest still runs" kill -0 "$pid"
	stop_guest "$pid"
fi

# The huge pages in which KVM maps no larger piece than a base page: RAM and its GPA do not lie alike.
huge_kb() { awk '/AnonHugePages/ { n += $2 } END { print n }' "/proc/$pid/smaps"; }
ram_hva() { awk -F '[- ]' '/^[0-9a-f]+-/ { hva = $1 } /^Size: *'$((huge_mib * 1024))' kB/ { print hva; exit }' "/proc/$pid/smaps"; }

echo "# huge pages"
t=$(truth "$huge_params")
echo always >/sys/kernel/mm/transparent_hugepage/enabled
if THP=yes start_in_group thp kvm "$huge_params" -m "$huge_mib"; then
	thp_kb=$(huge_kb) hva=0x$(ram_hva)
	pieces=$((hva % huge_bytes != 0))
	echo "# RAM at $hva: KVM maps it in $( ((pieces)) && echo pieces || echo 'huge pages')"
	check "much of it is on huge pages: $thp_kb KiB" holds "$thp_kb >= 192 * 1024 && $thp_kb >= $huge_bytes / 1024"
	check "mglru, THP: measures" measure_it_running --pid "$pid" -w 2 -m mglru
	check "mglru, THP: $(field wss_bytes) [$(field wss_low_bytes), $(field wss_high_bytes)] holds the truth, $t" holds \
		"$(field wss_low_bytes) <= $t && $(field wss_high_bytes) >= $t"
	check "flag thp" has_flag thp
	if measured idle; then
		check "idle, THP: measures" measure_it_running --pid "$pid" -w 2 -m idle --census
		check "in huge pages" record_has ".granularity_bytes == $huge_bytes"
		check "idle, THP: $(field wss_bytes) [$(field wss_low_bytes), $(field wss_high_bytes)] holds the truth, $t" holds \
			"$(field wss_low_bytes) <= $t && $(field wss_high_bytes) >= $t"
		check "each huge page has hot ones: $(field wss_bytes) of $thp_kb KiB" holds "$(field wss_bytes) >= $thp_kb * 1024"
		check "flag thp" has_flag thp
	fi
	if ((pieces)); then
		check_census "zap, THP" "$t" 1 --pid "$pid" -w 6 -m zap
		check_panel "zap, THP" "$t" --pid "$pid" -w 2 -m zap
		check "flag thp" has_flag thp
	fi
	if measure --pid "$pid" -w 2 -m damon; then
		check "damon, THP: [$(field wss_low_bytes), $(field wss_high_bytes)] holds the truth, $t" holds \
			"$(field wss_low_bytes) <= $t && $(field wss_high_bytes) >= $t"
		check "flag thp" has_flag thp
	else
		check "damon, THP: refused by name" grep -q '^vmwss.*damon' "$guests_dir/messages"
		((pieces == 0)) || check "damon, THP: and says why" grep -q 'KVM maps in smaller pieces' "$guests_dir/messages"
	fi
	check "huge pages are as before" holds "$(huge_kb) >= $thp_kb"
	stop_guest "$pid"
fi
# Hot pages lie in one huge page, or in two, or beside them: the others read idle, and no more is touched than these. The five
# pages of the payload's own are of 4 KiB; of the host's they are one or more.
if measured idle && THP=yes start_in_group one kvm "total=1024M hot=16M" -m "$huge_mib"; then
	t=$(truth "total=1024M hot=16M") thp_kb=$(huge_kb)
	check "at least two huge pages: $thp_kb KiB" holds "$thp_kb * 1024 >= 2 * $huge_bytes"
	# All pages of what lies outside of huge pages, and the payload's own, are less than one.
	for how in "--census" "-n 3000"; do
		# shellcheck disable=SC2086 # words
		check "idle $how: measures" measure_it_running --pid "$pid" -w 2 -m idle $how
		check "idle $how: [$(field wss_low_bytes), $(field wss_high_bytes)] holds the truth, $t" holds \
			"$(field wss_low_bytes) <= $t + 5 * $base && $(field wss_high_bytes) >= $t"
		check "idle $how: $(field wss_bytes), hot huge pages alone" holds \
			"$(field wss_bytes) <= 2 * $huge_bytes + ($(field resident_bytes) - $thp_kb * 1024)"
		echo "# flags: $(jq -c .flags <<<"$record")"
	done
	stop_guest "$pid"
fi
echo never >/sys/kernel/mm/transparent_hugepage/enabled

echo "# memfd"
t=$(truth "$params")
if MACHINE=$machine,memory-backend=mem start_payload memfd kvm "$params" -m $mib \
	-object "memory-backend-memfd,id=mem,size=${mib}M,share=on"; then
	check_panel "pageout, memfd" "$t" --pid "$pid" -w 2 -m pageout
	check_panel "zap, memfd" "$t" --pid "$pid" -w 2 -m zap
	! measured idle || check_census "idle, memfd" "$t" 1 --pid "$pid" -w 2 -m idle
	stop_guest "$pid"
fi
expect_exit "cgroups is refused" 2 "$reason" "$vmwss" cgroups --window 1

"$vmwss" doctor >"$guests_dir/doctor" 2>&1
sed 's/^/# /' "$guests_dir/doctor"
for method in "${measures[@]}"; do
	check "doctor: $method yes" grep -qE "^$method +yes " "$guests_dir/doctor"
done
for method in "${refused[@]}"; do
	only='those of 4 KiB'
	[[ $method != idle ]] || only='those of 4 and 64 KiB'
	check "doctor: $method no" grep -qE "^$method +no .*$reason, and $method is known to be right only with $only" \
		"$guests_dir/doctor"
done

finish
