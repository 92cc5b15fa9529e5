#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=7.3 cost=90
# test: lab=page_idle_7.3 thorough cost=120
#
# In the lab: another program clears the soft-dirty bits of the guest's QEMU, as CRIU does before a dump. That drops all of KVM's
# mappings, and since Linux 6.13 their accessed bits with them. Pages that the witness dropped have faulted, and keep their touches.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# Each window of 10 s has both phases, and most end in the second one.
params="total=96M phases=2:40M,6:4M"
t=$(truth "total=96M hot=40M")
bounds_hold() { holds "$(field wss_low_bytes) <= 1.01 * $t && $(field wss_high_bytes) >= 0.99 * $t"; }

# dirty: again and again while a measurement watches, from when its pages are marked.
dirty() {
	settles grep -q 'witness: watches' "$guests_dir/messages"
	while [[ -e $guests_dir/measuring ]]; do
		sleep 0.7
		echo 4 >"/proc/$pid/clear_refs"
	done
}

# several WHAT ARGS...: beside that.
several() {
	local what=$1 i low=0
	shift
	for i in 1 2 3 4; do
		: >"$guests_dir/messages"
		: >"$guests_dir/measuring"
		dirty &
		local other=$!
		record=$("$vmwss" --debug measure --json --pid "$pid" -w 10 "$@" 2>"$guests_dir/messages") || record=
		rm "$guests_dir/measuring"
		wait "$other"
		check "$what: measured" test -n "$record" || continue
		printf '# %s: %s [%s, %s] of %s, flags %s; %s\n' "$what" "$(field wss_bytes)" "$(field wss_low_bytes)" "$(field wss_high_bytes)" \
			"$t" "$(jq -c .flags <<<"$record")" "$(grep 'witness: of' "$guests_dir/messages")"
		check "$what: the bounds hold the truth" bounds_hold
		! holds "$(field wss_bytes) < 0.8 * $t" || low=$((low + 1))
	done
	echo "# $what: $low of 4 lack touches"
}

mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
[[ ! -e /sys/module/damon_stat ]] || echo N >/sys/module/damon_stat/parameters/enabled
if start_payload dirty kvm "$params" -m 128; then
	if [[ $VMWSS_LAB_KERNEL == page_idle* ]]; then
		several "idle, census" -m idle --census
		several "idle, panel" -m idle -n 2000
	else
		several damon -m damon
	fi
fi
finish
