#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: serial tcg cost=15
#
# The oracle's plugin in qemu-system-aarch64, against what payload guests of virt are known to touch, to the page; then vmwss, on
# this host, against the oracle. The payload is the cross-built one: cmake --preset arm64 && cmake --build --preset arm64.

libs=(guests oracle)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# shellcheck disable=SC2034 # guests.sh's
qemu=qemu-system-aarch64 machine=virt payload=$root/build/arm64/vm-images/payload/vmwss-payload.elf
if [[ ! -e $payload ]]; then
	skip "an arm64 guest under the oracle" "no $payload: cmake --preset arm64 && cmake --build --preset arm64"
	finish
	exit
fi

# Code, and one page of state and stack: the emulated MMU's walks of page tables call no plugin.
own_seen=2

# very_pages PARAMS: the oracle's pages are the payload's hot ones and one of each kind of its own.
very_pages() {
	local pages=$guests_dir/pages
	ask_oracle --ago 0.2 --window 0.6 || return 1
	"$oracle" --map "$map" --from "$(answer .from)" --to "$(answer .to)" --list >"$pages" || return 1
	# shellcheck disable=SC2086 # parameters are words
	"$truth_tool" --list-ram $1 machine=virt | LC_ALL=C sort >"$pages.truth"
	awk '{ print $1 }' "$pages" | LC_ALL=C sort | LC_ALL=C comm -3 "$pages.truth" - >"$pages.differ"
	test "$(grep -c . "$pages.differ")" = "$own_seen" -a "$(grep -c $'^\t' "$pages.differ")" = "$own_seen"
}

for pattern in contiguous "random seed=5"; do
	params="total=96M hot=8M pattern=$pattern" name=${pattern%% *}
	echo "# $name"
	oracle_payload "$name" "$params" -cpu cortex-a57 -m 192 || continue
	hot=$(truth "$params machine=virt" hot_pages)
	check "$name: the very pages" settles very_pages "$params"
	check "$name: $hot hot pages are data, and one more; one is code" test \
		"$(answer '[.low, .high] | map(.data.pages, .fetch.pages) | join(",")')" = "$((hot + 1)),1,$((hot + 1)),1"
	check "$name: nothing unresolved" test "$(answer .unresolved)" = 0
	check_against_oracle "cold, $name" 1 --census --pid "$pid" -w 1 -m cold
	stop_guest "$pid"
done

expect_exit "lab=on is for x86's lab" 1 'lab=on: not of aarch64' "$qemu" -machine virt -nodefaults -display none -S \
	-plugin "$plugin,map=$map,lab=on"

finish
