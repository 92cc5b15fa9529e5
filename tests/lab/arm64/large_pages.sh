#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=arm64_16k thorough cost=120 needs=@ROOT@/build/arm64/host/vmwss,@ROOT@/build/arm64/vm-images/payload/vmwss-payload.elf
#
# In the arm64 lab, Debian's stock 6.12 with pages of 16 KiB, and huge pages of 32 MiB: zap, damon, pageout and mglru against the
# truth. QEMU aligns RAM to 2 MiB, so KVM seldom maps such a huge page as one, and zap then tells its base pages apart; damon, which
# cannot, calls it unmeasurable. Methods that were never held against the truth here are refused by name, before anything of the
# guest is touched, and doctor promises none of them.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

reason='base pages have 16 KiB'
huge_bytes=$(</sys/kernel/mm/transparent_hugepage/hpage_pmd_size)

check "arm64, pages of 16 KiB" test "$(uname -m) $(getconf PAGESIZE)" = 'aarch64 16384'
check "huge pages of 32 MiB" test "$huge_bytes" = $((32 << 20))

# One base page in four, of which all is touched.
params="total=256M hot=32M pattern=strided stride=64K run=16K"
t=$(truth "$params")

group=/sys/fs/cgroup/guest
echo "+memory" >/sys/fs/cgroup/cgroup.subtree_control
mkdir $group
start_in_group() {
	local status=0
	echo $$ >$group/cgroup.procs
	start_payload "$@" || status=$?
	echo $$ >/sys/fs/cgroup/cgroup.procs
	return $status
}

echo "# anonymous memory, pages of 16 KiB"
if start_in_group anon kvm "$params" -m 320; then
	check_census "zap, anon" "$t" 1 --pid "$pid" -w 4 -m zap
	check_panel "zap, anon" "$t" --pid "$pid" -w 2 -m zap
	check_panel "damon, anon" "$t" --pid "$pid" -w 2 -m damon
	check_census "mglru, anon" "$t" 1 --pid "$pid" -w 2 -m mglru
	check "auto takes a method that proved itself" measure --pid "$pid" -w 2
	check_interval "auto ($(jq -r .method <<<"${record:-null}"))" "$t"
	for method in zap-all idle referenced cold; do
		expect_exit "$method is refused" 2 "$reason" "$vmwss" measure --pid "$pid" -w 1 -m "$method"
	done
	expect_exit "--fine is refused" 2 "$reason" "$vmwss" measure --pid "$pid" -w 1 -m zap --fine
	expect_exit "trace is refused" 2 "$reason" "$vmwss" trace --pid "$pid" --out "$guests_dir/trace"
	check "the guest still runs" kill -0 "$pid"
	stop_guest "$pid"
fi

# The huge pages in which KVM maps no larger piece than a base page: RAM and its GPA do not lie alike.
huge_kb() { awk '/AnonHugePages/ { n += $2 } END { print n }' "/proc/$pid/smaps"; }
ram_hva() { awk -F '[- ]' '/^[0-9a-f]+-/ { hva = $1 } /^Size: *327680 kB/ { print hva; exit }' "/proc/$pid/smaps"; }

echo "# huge pages of 32 MiB"
echo always >/sys/kernel/mm/transparent_hugepage/enabled
if THP=yes start_in_group thp kvm "$params" -m 320; then
	thp_kb=$(huge_kb) hva=0x$(ram_hva)
	pieces=$((hva % huge_bytes != 0))
	echo "# RAM at $hva: KVM maps it in $( ((pieces)) && echo pieces || echo 'huge pages')"
	check "most of its region is on huge pages: $thp_kb KiB" holds "$thp_kb >= 192 * 1024"
	check "mglru, THP: measures" measure_it_running --pid "$pid" -w 2 -m mglru
	check "mglru, THP: $(field wss_bytes) [$(field wss_low_bytes), $(field wss_high_bytes)] holds the truth, $t" holds \
		"$(field wss_low_bytes) <= $t && $(field wss_high_bytes) >= $t"
	check "flag thp" has_flag thp
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
echo never >/sys/kernel/mm/transparent_hugepage/enabled

echo "# memfd"
if MACHINE=$machine,memory-backend=mem start_payload memfd kvm "$params" -m 320 \
	-object memory-backend-memfd,id=mem,size=320M,share=on; then
	check_panel "pageout, memfd" "$t" --pid "$pid" -w 2 -m pageout
	check_panel "zap, memfd" "$t" --pid "$pid" -w 2 -m zap
	stop_guest "$pid"
fi
expect_exit "cgroups is refused" 2 "$reason" "$vmwss" cgroups --window 1

"$vmwss" doctor >"$guests_dir/doctor" 2>&1
sed 's/^/# /' "$guests_dir/doctor"
for method in zap damon mglru pageout; do
	check "doctor: $method yes" grep -qE "^$method +yes " "$guests_dir/doctor"
done
for method in idle zap-all referenced cold; do
	check "doctor: $method no" grep -qE "^$method +no .*$reason, and $method is known to be right only with those of 4 KiB" \
		"$guests_dir/doctor"
done

finish
