#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core serial tcg cost=37
#
# The oracle against what payload guests are known to touch, to the page; then vmwss against the oracle.

libs=(guests oracle)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# The payload's own pages are code, one of state and stack, and the page tables that are walked. The oracle sees the
# first two, one each: the emulated MMU's walks call no plugin.
own_seen=2

# same_pages PARAMS: the oracle's pages are the payload's hot ones and one page of each kind of its own, in every slot.
same_pages() {
	local pages=$guests_dir/pages
	ask_oracle --ago 0.2 --window 0.6 || return 1
	# There may be a slot in which the guest got no processor.
	test "$(answer .low.data.pages)" = "$(answer .high.data.pages)" || return 1
	"$oracle" --map "$map" --from "$(answer .from)" --to "$(answer .to)" --list >"$pages" || return 1
	# shellcheck disable=SC2086 # parameters are words
	"$truth_tool" --list-ram $1 | LC_ALL=C sort >"$pages.truth"
	awk '{ print $1 }' "$pages" | LC_ALL=C sort | LC_ALL=C comm -3 "$pages.truth" - >"$pages.differ"
	# Lines that comm prints behind a tab only the oracle has; nothing may be missing.
	test "$(grep -c . "$pages.differ")" = "$own_seen" -a "$(grep -c $'^\t' "$pages.differ")" = "$own_seen"
}

# exact PARAMS WHAT: every bound of a steady guest is the same number, at both granularities.
exact() {
	local hot huge own data=1
	# The return from an interrupt reads segment descriptors, which lie in the page of the code.
	[[ $1 == *rest=no* ]] || data=2
	hot=$(truth "$1" hot_pages) huge=$(truth "$1" hot_huge_pages) own=$(truth "$1" own_pages)
	check "$2: the very pages" settles same_pages "$1"
	check "$2: data $(answer .low.data.pages)..$(answer .high.data.pages), fetch $(answer .high.fetch.pages)" \
		test "$(answer '[.low, .high] | map(.data.pages) | join(",")')" = "$((hot + data)),$((hot + data))" \
		-a "$(answer '[.low, .high] | map(.fetch.pages) | join(",")')" = 1,1
	check "$2: payload-truth is that and its page tables" \
		holds "$(truth "$1" truth_bytes) == 4096 * ($(answer .high.both.pages) + $own - $own_seen)"
	# All of the payload itself lies in one page of 2 MiB.
	check "$2: 2 MiB pages" test "$(answer .high.both.huge_pages)" = $((huge + 1))
	check "$2: nothing unresolved" test "$(answer .unresolved)" = 0
}

# A payload that touches N pages in a loop covers them in every slot only if a pass is shorter than a slot.
hot=8M
for pattern in contiguous "contiguous rest=no" "strided stride=64K" "random seed=5"; do
	params="total=192M hot=$hot pattern=$pattern"
	echo "# $pattern"
	if oracle_payload "${pattern// /_}" "$params" -m 256; then
		exact "$params" "$pattern"
		for method in cold referenced; do
			check_against_oracle "$method, $pattern" 1 --census --pid "$pid" -w 1 -m "$method"
		done
		stop_guest "$pid"
	fi
done

echo "# stores"
params="total=64M hot=8M write=2M"
stores() { ask_oracle --ago 0.2 --window 0.6 && test "$(answer '[.low, .high] | map(.stores.bytes) | join(",")')" = "$1,$1"; }
if oracle_payload stores "$params" -m 128; then
	check "of 8 MiB that are touched 2 are written, and its state" settles stores "$(truth "$params" written_bytes)"
	check "stores are data" test "$(answer .low.data.bytes)" -ge $((8 << 20))
	stop_guest "$pid"
fi

echo "# memfd"
params="total=192M hot=$hot"
if MACHINE=pc,memory-backend=mem oracle_payload memfd "$params" -m 256 \
	-object memory-backend-memfd,id=mem,size=256M,share=on; then
	exact "$params" memfd
	check_panel_against_oracle "pageout, memfd" --pid "$pid" -w 1 -m pageout -n 2000
	stop_guest "$pid"
fi

echo "# above 4 GiB"
if oracle_payload high "total=4800M hot=$hot pattern=random seed=3 populate=none op=write" -m 5120; then
	exact "total=4800M hot=$hot pattern=random seed=3 memory=5120M" "5 GiB"
	stop_guest "$pid"
fi

echo "# stepping"
if oracle_payload steps "total=192M phases=2:32M,2:4M" -m 256; then
	# When the guest got ready: the 64 slots of 0.1 s have come round since when all is done.
	gone=$(date -d '-1.5 seconds' +%s.%6N)
	# Whole slots of one step count; windows across a step, and slots in which the guest got no processor, differ.
	seen=
	for ((i = 0; i < 24; i++)); do
		ask_oracle --ago 0.2 --window 0.6 || break
		seen+=" $(answer .low.both.pages)"
		sleep 0.2
	done
	check "both steps are seen to the page:$seen" \
		test "$(tr ' ' '\n' <<<"$seen" | grep -cx $((1024 + own_seen)))" -gt 2 -a \
		"$(tr ' ' '\n' <<<"$seen" | grep -cx $((8192 + own_seen)))" -gt 2
	stop_guest "$pid"
fi

echo "# what is refused"
expect_exit "no map" 2 'No such file' "$oracle" --map "$guests_dir/none" --ago 1 --window 1
head -c 100000 /dev/urandom >"$guests_dir/garbage"
expect_exit "garbage" 2 'not a map' "$oracle" --map "$guests_dir/garbage" --ago 1 --window 1
: >"$guests_dir/empty"
expect_exit "an empty file" 2 'not a map' "$oracle" --map "$guests_dir/empty" --ago 1 --window 1
head -c 60000 "$map" >"$guests_dir/short"
expect_exit "a cut map" 2 'not a map' "$oracle" --map "$guests_dir/short" --ago 1 --window 1
expect_exit "a window before the oracle began" 2 'before anything was noted' "$oracle" --map "$map" --ago 600 --window 1
# Every digit counts: by awk's default of six, the end would lie up to an hour before or after the beginning.
expect_exit "a window that is gone" 2 'does not cover' "$oracle" --map "$map" --from "$gone" \
	--to "$(awk "BEGIN { printf \"%.6f\", $gone + 0.1 }")"
expect_exit "a window to come" 2 'does not cover' "$oracle" --map "$map" --from 4000000000 --to 4000000001
expect_exit "no window" 1 'Usage' "$oracle" --map "$map"
expect_exit "several RAM blocks" 1 'several blocks' qemu-system-x86_64 -accel tcg -nodefaults -display none -m 256 \
	-object memory-backend-ram,id=a,size=128M -object memory-backend-ram,id=b,size=128M \
	-numa node,memdev=a -numa node,memdev=b -plugin "$plugin,map=$map"
expect_exit "a wrong option of the plugin" 1 'not an option' qemu-system-x86_64 -accel tcg -nodefaults -display none \
	-plugin "$plugin,map=$map,slots=1"

echo "# compare"
line='{"cell":{"method":"cold"},"record":{"mode":"census","granularity_bytes":4096,"resident_bytes":4096000,
	"cpu_seconds":0.01,"windows":[{"est_window_s":1,"wss_bytes":%d,"wss_low_bytes":%d,"wss_high_bytes":%d}]},"truth":%s}\n'
compare() {
	# shellcheck disable=SC2059 # the format is ours
	{ printf "${line//$'\n'/ }" 990000 980000 1010000 1000000
	printf "${line//$'\n'/ }" 1050000 1040000 1060000 1000000; } | "$root/tests/bench/compare" --json | jq -r "$1"
}
check "bias, worst, coverage" test "$(compare '[.bias_percent, .worst_percent, .coverage, .periods, .cpu_us_per_page] |
	map(. * 1000 | round / 1000) | join(" ")')" = "2 5 0.5 2 10"
expect_exit "a line that is not of the format" 2 'the line has no cell' \
	bash -c "echo '{}' | '$root/tests/bench/compare'"

finish
