#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# In a lab that was started with --oracle: the oracle against what KVM guests are known to touch, to the page, and a census
# against the oracle.

set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BUILD:-$root/build/release}
# shellcheck source=../lib/check.sh
. "$root/tests/lib/check.sh"
# shellcheck source=../lib/guests.sh
. "$root/tests/lib/guests.sh"

nested_truth=$build/tests/oracle/nested-truth
census=idle
[[ -e /sys/kernel/mm/page_idle/bitmap ]] || census=zap

ask() { asked=$("$nested_truth" --pid "$pid" --window "$1"); }
answer() { jq -r "$1" <<<"$asked"; }

# Both bounds of the data, of the fetches, and of all that a method of the lab can see.
counts() { answer '[.low, .high] | map(.data.pages, .fetch.pages, .visible.pages) | join(" ")'; }

# counted DATA FETCH VISIBLE: after a window of a second. On a busy machine a guest may get no processor for a whole one.
counted() { ask 1 && [[ $(counts) == "$* $*" ]]; }

# exact PARAMS: data are the hot pages and one of state and stack; the payload's own code is one page; what the emulated MMU
# walks makes it all that payload-truth knows.
exact() {
	local hot huge bytes
	# shellcheck disable=SC2086 # parameters are words
	read -r hot huge bytes < <("$truth_tool" $1 | jq -r '[.hot_pages, .hot_huge_pages, .truth_bytes] | join(" ")')
	check "$1: $((hot + 1)) pages of data, 1 of code, $((bytes / 4096)) in all" settles counted $((hot + 1)) 1 $((bytes / 4096))
	check "$1: in pages of 2 MiB, and nothing moved or unresolved" test \
		"$(answer '[.high.both.huge_pages, .moved_pages, .unresolved, .unwalked] | join(" ")')" = "$((huge + 1)) 0 0 0"
}

for pattern in contiguous "strided stride=16K" "random seed=5"; do
	params="total=32M hot=6M pattern=$pattern"
	if start_payload "${pattern%% *}" kvm "$params" -m 64; then
		exact "$params"
		check_census "$census, ${pattern%% *}" "$(answer .high.visible.bytes)" 1 --pid "$pid" -m "$census" -w 2
		# What the lab does meanwhile, the reading of this guest's page tables for instance, is not the guest's.
		kill -STOP "$pid"
		check "${pattern%% *}, stopped: nothing" settles counted 0 0 0
		stop_guest "$pid"
	fi
done

# Pages that come into being within the window are said, and lie between the bounds.
if start_payload growing kvm "total=32M populate=none op=write phases=1:4M,3:24M" -m 64; then
	grew() { ask 1.5 && (($(answer .moved_pages) > 1000 && $(answer .high.data.pages) - $(answer .low.data.pages) > 1000)); }
	check "pages that appear are counted as such" settles grew
	stop_guest "$pid"
fi

expect_exit "no port" 2 'start the lab with --oracle' env -u VMWSS_LAB_ORACLE "$nested_truth" --pid $$ --window 1
expect_exit "not a guest" 2 'QEMU' "$nested_truth" --pid $$ --window 1

finish
