#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=6.12 thorough cost=150
# test: lab=page_idle thorough cost=140
#
# Not integration/measure/fine.sh under KVM: that splits pages of a process of its own, since TCG has no method for single pages.
# In the lab: measure --fine, which splits a few huge pages of the guest and measures them by base pages. Against the exact
# truth; and that all is joined again, its bytes unchanged, also after ctrl-C and kill -9.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

echo always >/sys/kernel/mm/transparent_hugepage/enabled

method=zap
[[ ! -e /sys/kernel/mm/page_idle/bitmap ]] || method=idle

# ram_range: first and last address of the mapping of 512 MiB that is guest RAM, as maps and smaps write them.
ram_range() {
	local range rest
	while read -r range rest; do
		if ((0x${range#*-} - 0x${range%-*} == 512 << 20)); then
			echo "$range"
			return
		fi
	done <"/proc/$pid/maps"
}
ram_hva() {
	local range
	range=$(ram_range)
	echo $((0x${range%-*}))
}
huge_bytes() {
	awk -v range="$(ram_range)" '/^[0-9a-f]+-/ { ram = $1 == range } /^AnonHugePages:/ && ram { n += $2 * 1024 }
		END { print n + 0 }' "/proc/$pid/smaps"
}

# 128 MiB of what the payload only reads.
contents() {
	dd if="/proc/$pid/mem" iflag=skip_bytes,count_bytes,fullblock bs=2M skip=$(($(ram_hva) + 16777216)) \
		count=128M status=none | md5sum
}

none_left() { [[ -z $(pgrep -x vmwss)$(pgrep -x vmwss-guardian) ]]; }
huge_again() { (($(huge_bytes) >= $1)); }
some_split() { (($(huge_bytes) < $1)); }

# check_fine WHAT TRUTH ARGS...: like check_panel, of the fine figure.
check_fine() {
	local what=$1 truth=$2
	shift 2
	if ! measure_it_running "$@"; then
		fail "$what" "no measurement"
		return
	fi
	local coarse wss low high
	coarse=$(field wss_bytes) wss=$(field fine.wss_bytes) low=$(field fine.wss_low_bytes) high=$(field fine.wss_high_bytes)
	check "$what: guest ran ($(field vcpu_seconds) s)" guest_ran
	check "$what: $wss [$low, $high] of $truth bytes; by huge pages $coarse" \
		holds "$truth >= $wss - 2*($wss-$low) - 8192 && $truth <= $wss + 2*($high-$wss) + 8192"
	echo "# $(jq -c .fine <<<"$record")"
}

echo "# hot pages 64 KiB apart: every huge page is touched, a sixteenth of it"
p="total=448M pattern=strided stride=64K"
t=$(truth "$p")
if THP=yes start_payload strided kvm "$p" -m 512; then
	huge=$(huge_bytes)
	before=$(contents)
	check "the guest is in huge pages ($huge bytes)" holds "$huge >= 440 * 1048576"
	check_fine "fine, $method, strided" "$t" --pid "$pid" -w 3 --fine
	check "by huge pages it is more than ten times too large" holds "$(field wss_bytes) > 10 * $t"
	check "the fine figure is within a tenth of the truth" holds "$(field fine.wss_bytes) > 0.9 * $t && $(field fine.wss_bytes) < 1.1 * $t"
	check "its granularity is 4 KiB" record_has '.fine.granularity_bytes == 4096 and .granularity_bytes == 2097152'
	check "most of the 32 were measured" record_has '.fine.huge_pages_sampled >= 24'
	check "all were joined" record_has '.fine.huge_pages_not_joined == 0'
	check "the guest is in huge pages as before" huge_again "$huge"
	check_fine "fine, zap, strided, 8 huge pages" "$t" --pid "$pid" -w 3 -m zap --fine=8
	check "the guest is in huge pages as before" huge_again "$huge"
	check "its memory holds what it held" test "$(contents)" = "$before"

	measure --pid "$pid" -w 1
	check "without --fine nothing is split" record_has '.fine == null'

	for signal in INT KILL; do
		"$vmwss" measure --pid "$pid" -w 8 --fine=64 >/dev/null 2>"$guests_dir/messages" &
		measuring=$!
		for ((i = 0; i < 300; i++)); do
			if some_split "$huge"; then break; fi
			sleep 0.1
		done
		check "SIG$signal: huge pages are split ($(huge_bytes) of $huge left)" some_split "$huge"
		kill -s "$signal" "$measuring"
		wait "$measuring" 2>/dev/null
		check "SIG$signal: they are joined again" settles huge_again "$huge"
		check "SIG$signal: no process is left" settles none_left
	done
	check "its memory holds what it held" test "$(contents)" = "$before"
	stop_guest "$pid"
fi

echo "# dense: the touched huge pages are full"
p="total=448M hot=64M"
if THP=yes start_payload dense kvm "$p" -m 512; then
	huge=$(huge_bytes)
	check_fine "fine, $method, contiguous" "$(truth "$p")" --pid "$pid" -w 4 --fine
	check "the guest is in huge pages as before" huge_again "$huge"
	stop_guest "$pid"
fi

echo "# base pages: nothing to split"
p="total=96M hot=16M"
if start_payload anon4k kvm "$p" -m 128; then
	check_fine "fine, $method, base pages" "$(truth "$p")" --pid "$pid" -w 2 --fine
	check "nothing was split" record_has '.fine.huge_pages_sampled == 0'
	stop_guest "$pid"
fi

if [[ $method == idle ]]; then
	echo "# TCG: fewer huge pages than are asked for, so all of them are measured"
	# More than the 33 huge pages up to which the kernel flushes one by one, and so not what is stale beside them (tlb_flush.h).
	p="total=96M pattern=strided stride=64K"
	if THP=yes start_payload tcg tcg "$p" -m 128; then
		check_fine "fine, idle, TCG" "$(truth "$p")" --pid "$pid" -w 4 --fine=64
		stop_guest "$pid"
	fi
fi

echo "# refused"
if THP=yes start_payload locked kvm "total=448M hot=16M" -m 512 -overcommit mem-lock=on; then
	expect_exit "locked memory" 2 'fine: the guest.s RAM is locked' "$vmwss" measure --pid "$pid" -w 1 --fine
	stop_guest "$pid"
fi
echo 300 >/proc/sys/vm/nr_hugepages
if MACHINE=pc,memory-backend=mem start_payload hugetlb kvm "total=448M hot=16M" -m 512 \
	-object memory-backend-memfd,id=mem,size=512M,hugetlb=on,hugetlbsize=2M; then
	expect_exit "hugetlb" 2 'fine: the guest.s RAM is hugetlb' "$vmwss" measure --pid "$pid" -w 1 --fine
	stop_guest "$pid"
fi
echo 0 >/proc/sys/vm/nr_hugepages
if [[ $method == zap ]] && THP=yes start_payload tcg tcg "total=64M hot=8M" -m 128; then
	expect_exit "a TCG guest without page_idle" 2 'no method' "$vmwss" measure --pid "$pid" -w 1 --fine
	stop_guest "$pid"
fi

finish
