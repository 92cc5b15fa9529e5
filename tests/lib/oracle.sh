# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# TCG guests under the oracle plugin, and measurements held against what they really touched.
# Needs: check.sh, guests.sh.

oracle=$build/tests/oracle/oracle
plugin=$build/tests/oracle/oracle-plugin.so
# Shared memory: a map of a guest of 512 MiB with 64 slots is 25 MB.
map=$(mktemp /dev/shm/vmwss-oracle.XXXX)
trap 'end_guests; rm -f -- "$map"' EXIT

# oracle_payload NAME PARAMS QEMU-OPTION...: a payload guest under the plugin. ORACLE=slot_ms=20,slots=256 by default 100, 64.
oracle_payload() {
	local name=$1 params=$2
	shift 2
	start_payload "$name" tcg "$params" -plugin "$plugin,map=$map,${ORACLE:-slot_ms=100}" "$@" || return 1
	# The steady state, and slots of it.
	sleep 1.5
}

# ask_oracle ARGS...: the oracle's answer into $asked. The window may end in the slot that still runs: try again.
ask_oracle() {
	local i
	for ((i = 0; i < 20; i++)); do
		if asked=$("$oracle" --map "$map" "$@" 2>"$guests_dir/oracle.messages"); then return 0; fi
		sleep 0.1
	done
	cat "$guests_dir/oracle.messages" >&2
	return 1
}

answer() { jq -r "$1" <<<"$asked"; }

# ask_about_record: the oracle on the very window that $record states.
ask_about_record() {
	ask_oracle --to "$(jq -r .time <<<"$record")" --window "$(field est_window_s)"
}

# measure_with_truth ARGS...: into $record and $asked. On a busy machine a guest may get no processor for the whole of a
# window, which says nothing: then once more.
measure_with_truth() {
	local i
	for ((i = 0; i < 5; i++)); do
		measure "$@" && ask_about_record || return 1
		if (($(answer .low.both.bytes) > 0)) && guest_ran; then return 0; fi
	done
	return 1
}

# check_against_oracle WHAT PERCENT ARGS...: WSS within PERCENT of the oracle's bounds for the record's own window.
check_against_oracle() {
	local what=$1 percent=$2 wss low high
	shift 2
	if ! measure_with_truth "$@"; then
		fail "$what" "no measurement, or no truth"
		return
	fi
	wss=$(field wss_bytes) low=$(answer .low.both.bytes) high=$(answer .high.both.bytes)
	check "$what: $wss within $percent % of the oracle's $low..$high" \
		holds "$low > 0 && $wss >= $low * (1 - $percent/100) && $wss <= $high * (1 + $percent/100)"
}

# check_panel_against_oracle WHAT ARGS...: as check_panel, at twice the width of the interval.
check_panel_against_oracle() {
	local what=$1 wss low high
	shift
	if ! measure_with_truth "$@"; then
		fail "$what" "no measurement, or no truth"
		return
	fi
	wss=$(field wss_bytes) low=$(field wss_low_bytes) high=$(field wss_high_bytes)
	check "$what: $wss [$low, $high] of the oracle's $(answer .high.both.bytes)" \
		holds "$(answer .high.both.bytes) >= $wss - 2*($wss-$low) && $(answer .low.both.bytes) <= $wss + 2*($high-$wss)"
}
