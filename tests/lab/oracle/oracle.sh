#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle options=--oracle,@BUILD@/tests/oracle thorough cost=80
#
# Not integration/oracle/oracle.sh under KVM: that oracle is a plugin of the guest's QEMU, this one of the QEMU that is the lab.
# In a lab that was started with --oracle: the oracle against what KVM guests are known to touch, to the page, and a census
# against the oracle.

# It counts data and code apart; the return from an interrupt, of a guest that rests, reads data in the page of the code.
export REST=no
libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

nested_truth=$build/tests/oracle/nested-truth
census=idle
[[ -e /sys/kernel/mm/page_idle/bitmap ]] || census=zap

# jq would take some ten seconds in this lab, which is slow, so JSON is cut up here.
# number JSON KEY: the number behind the first such key.
number() {
	local rest=${1#*\""$2"\":}
	echo "${rest%%[!0-9.]*}"
}

# ask SECONDS: sets low and high to the bounds of the oracle's answer.
ask() {
	asked=$("$nested_truth" --pid "$pid" --window "$1") || return 1
	low=${asked#*\"low\":} high=${asked#*\"high\":}
	low=${low%%\"high\":*}
}

# pages BOUND KIND
pages() { number "${1#*\""$2"\":}" pages; }

# Both bounds of the data, of the fetches, and of all that a method of the lab can see.
counts() {
	local bound
	for bound in "$low" "$high"; do echo "$(pages "$bound" data) $(pages "$bound" fetch) $(pages "$bound" visible)"; done
}

# counted DATA FETCH VISIBLE: after a window of a second. On a busy machine a guest may get no processor for a whole one.
counted() { ask 1 && [[ $(counts) == "$*"$'\n'"$*" ]]; }

# exact PARAMS: data are the hot pages and one of state and stack; the payload's own code is one page; what the emulated MMU
# walks makes it all that payload-truth knows. Sets all.
exact() {
	local truth hot huge
	# shellcheck disable=SC2086 # parameters are words
	truth=$("$truth_tool" $1)
	hot=$(number "$truth" hot_pages) huge=$(number "$truth" hot_huge_pages) all=$(($(number "$truth" truth_bytes) / 4096))
	check "$1: $((hot + 1)) pages of data, 1 of code, $all in all" settles counted $((hot + 1)) 1 "$all"
	check "$1: in pages of 2 MiB" test "$(number "${high#*\"both\":}" huge_pages)" = $((huge + 1))
	check "$1: nothing moved, unresolved or unwalked" test \
		"$(number "$asked" moved_pages) $(number "$asked" unresolved) $(number "$asked" unwalked)" = "0 0 0"
}

# A census of all pages says the same, within 1 %.
same_census() {
	record=$("$vmwss" measure --json --census --pid "$pid" -m "$census" -w "$1") || return 1
	holds "$(number "$record" wss_bytes) / 4096 >= 0.99 * $all && $(number "$record" wss_bytes) / 4096 <= 1.01 * $all"
}

for pattern in contiguous "strided stride=16K" "random seed=5"; do
	params="total=32M hot=6M pattern=$pattern"
	if start_payload "${pattern%% *}" kvm "$params" -m 64; then
		exact "$params"
		check "${pattern%% *}: $census by census says $all pages, too" same_census 2
		# The lab's own work, the reading of this guest's page tables for instance, is not the guest's.
		kill -STOP "$pid"
		check "${pattern%% *}, stopped: nothing" settles counted 0 0 0
		stop_guest "$pid"
	fi
done

expect_exit "no port" 2 'start the lab with --oracle' env -u VMWSS_LAB_ORACLE "$nested_truth" --pid $$ --window 1
expect_exit "not a guest" 2 'QEMU' "$nested_truth" --pid $$ --window 1

finish
