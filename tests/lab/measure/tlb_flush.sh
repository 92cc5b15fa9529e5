#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle thorough cost=90
#
# In the lab, with page_idle: after accessed bits were cleared KVM flushes the guest's TLB, however few of its pages are
# present (tlb_flush.h). Whether it did, KVM's own counter tells; what a flush that was left out hides, the emulated SVM
# cannot show.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

flushes() { cat "/sys/kernel/debug/kvm/$pid-"*/remote_tlb_flush_requests; }

# marks METHOD: twenty short measurements; sets skipped, how many of them had KVM flush nothing, and flagged.
marks() {
	local i before
	skipped_flushes=0 flagged=0
	for ((i = 0; i < 20; i++)); do
		before=$(flushes)
		measure --pid "$pid" -m "$1" -n 500 -w 0.1 || return 1
		(($(flushes) > before)) || skipped_flushes=$((skipped_flushes + 1))
		if has_flag stale-tlb; then flagged=$((flagged + 1)); fi
	done
}

if start_payload sparse kvm "total=40M hot=8M" -m 1024; then
	for method in idle damon; do
		check "$method: measured" marks $method
		printf '# %s, 4 %% of RAM present: %s of 20 markings without a flush, %s flagged\n' $method "$skipped_flushes" "$flagged"
		check "$method: each marking was followed by a flush" test "$skipped_flushes" = 0
		check "$method: so no flag" test "$flagged" = 0
	done
	stop_guest "$pid"
fi

finish
