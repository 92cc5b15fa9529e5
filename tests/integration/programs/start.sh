#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=5
#
# What vmwss loads: neither libvirt nor libcurl, unless a command needs them. libvirt brings fifty libraries with it, and loading
# them takes as much CPU time as a panel of 2,000 pages; both are optional.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

late='lib(virt|curl)[-.]'

needs_none() { ! readelf -d "$vmwss" | grep NEEDED | grep -E "$late"; }
check "vmwss is not linked with what a measurement does not need" needs_none

# maps_while COMMAND...: what it has mapped when it has locked the guest.
maps_while() {
	"$@" >/dev/null 2>&1 &
	local it=$!
	settles measured_by "$pid" "$it"
	mapped=$(awk '{ print $6 }' "/proc/$it/maps")
	wait "$it"
}
maps_none() { [[ -n $mapped ]] && ! grep -E "$late" <<<"$mapped"; }
if start_payload start tcg "total=16M hot=4M" -m 64; then
	check "a guest by its pid is measured" maps_while "$vmwss" measure --pid "$pid" --method cold --window 3
	check "nor is any of it loaded" maps_none
	stop_guest "$pid"
fi

finish
