# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# How often a payload guest got through its hot set while it was measured: on a busy machine it may not have done so once, and the
# number then says nothing of the set. Needs: build.

# count_passes SERIAL PID FILE: sets passes, to be put before a measurement of the guest in that process, which has written SERIAL.
count_passes() { passes=("$build/vm-images/payload/payload-passes" "$1" "$2" "$3"); }

# whole_passes RECORD FILE: between the moment when all pages were marked and that when the first was read.
whole_passes() {
	jq --slurpfile seen "$2" '
		. as $r | (.time | (sub("\\..*"; "Z") | fromdate) + (capture("\\.(?<d>[0-9]+)").d // "0" | "0." + . | tonumber)) as $read |
		($read - .reading_seconds / 2 - (.windows + (.writes.windows // []))[-1].est_window_s + .marking_seconds / 2) as $marked |
		[$seen[] | select(.[0] >= $marked and .[0] <= $read - $r.reading_seconds)[1]] |
		if length < 2 then 0 else [.[-1] - .[0] - 1, 0] | max end' <<<"$1"
}

# steady_passes SECONDS FILE: whether it got through its set within any stretch of so many seconds.
steady_passes() {
	jq -es --argjson seconds "$1" '(reduce .[] as $at ({since: .[0], longest: 0};
		if $at[1] > .since[1] then {since: $at, longest: ([.longest, $at[0] - .since[0]] | max)} else . end)) as $r |
		[$r.longest, .[-1][0] - $r.since[0]] | max < $seconds / 2' "$2" >/dev/null
}
