#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra tcg libvirt cost=200
#
# A TCG guest that vmwssd or `vmwss ages` follows, and others at its memory: what they unmap, clear or read between two readings is
# flagged, and the bounds of each window that has it hold the truth; left alone, there is no flag.

# In a namespace of processes of its own: vmwssd would follow every QEMU of this machine, those of other tests too.
[[ -n ${VMWSS_OWN_PROCESSES:-} ]] || VMWSS_OWN_PROCESSES=yes exec unshare --pid --fork --kill-child --mount-proc -- "$BASH" "$0" "$@"
libs=(libvirtd guests outsiders vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

others='["read-by-others", "bits-taken", "first-mapping"]'

# all_hold WHAT TRUTH: of the records in $records, all of them.
all_hold() {
	local record
	check "$1: $(jq length <<<"$records") records" test "$(jq length <<<"$records")" -gt 5
	record=$(jq -c '[.[].windows[]] | {mode: "panel", windows: .}' <<<"$records")
	record=$(jq -c --argjson t "$2" '.windows |= map(select(
		(2 * .wss_low_bytes - .wss_bytes > $t * 1.01) or (2 * .wss_high_bytes - .wss_bytes < $t * 0.99)))' <<<"$record")
	check "$1: outside of the bounds: $(jq -c '[.windows[] | .wss_low_bytes, .wss_high_bytes]' <<<"$record") of $2" \
		record_has '.windows == []'
}
# bins_hold WHAT TRUTH: what was touched belongs to the youngest, nothing to those between, the rest to the oldest.
bins_hold() {
	local outside
	outside=$(jq -c --argjson t "$2" '[.[] | .resident_bytes as $all | .ages | . as $bins | to_entries[] |
		(if .key == 0 then $t elif .key == ($bins | length) - 1 then $all - $t else 0 end) as $true | .value |
		select((2 * .low_bytes - .bytes > $true * 1.01 + 65536) or (2 * .high_bytes - .bytes < $true * 0.99 - 65536))]' <<<"$records")
	check "$1: ages outside of the bounds: $outside" test "$outside" = '[]'
}
flagged() { jq -e "any(.[]; .flags | index(\"$1\") != null)" <<<"$records" >/dev/null; }
flags() { jq -c 'map(.flags | join(",")) | unique' <<<"$records"; }
without() { jq -e "all(.[]; .flags - $others == .flags)" <<<"$records" >/dev/null; }

# by_ages EVENT...: followed from before the event, which comes twice: the second time QEMU maps around what is hot only.
by_ages() {
	"$vmwss" ages --json --pid "$pid" -m pageout -w 1,2,4 -t 0.5 -i 0.5 -k 26 >"$guests_dir/records" 2>"$guests_dir/messages" &
	local following=$!
	settles measured_by "$pid" "$following"
	sleep 4
	"$@"
	sleep 3
	"$@"
	wait "$following" || cat "$guests_dir/messages" >&2
	records=$(jq -s . "$guests_dir/records")
}

# by_vmwssd EVENT...: likewise, of the records that it keeps; the last ones come when the event is in no window any more.
newest_ms() { sql 'SELECT coalesce(max(time_ms), 0) FROM sample'; }
has_newer() { (($(sql "SELECT count(*) FROM sample WHERE time_ms > $1") >= $2)); }
by_vmwssd() {
	local since
	since=$(newest_ms)
	"$@"
	eventually has_newer "$since" 3
	"$@"
	check "vmwssd goes on" eventually has_newer "$since" 14
	records=$(sql "SELECT json_object('flags', flags, 'windows', json(windows)) FROM sample WHERE time_ms > $since" | jq -s 'map(
		.flags |= split(",") | .windows |= map({wss_bytes: .[2], wss_low_bytes: .[3], wss_high_bytes: .[4]}))')
}

# elsewhere COMMAND...: as in a container, which has a /run of its own.
elsewhere() { unshare --mount -- sh -c 'mount -t tmpfs none /run && exec "$@"' sh "$@" >/dev/null; }
has_pidfs() { [[ $(printf '6.9\n%s\n' "$(uname -r)" | sort -V | head -n 1) == 6.9 ]]; }

# start_memfd PARAMS
start_memfd() {
	MACHINE=pc,memory-backend=mem start_payload guest tcg "$1" -m 256 -object memory-backend-memfd,id=mem,size=256M,share=on \
		-qmp "unix:$guests_dir/qmp,server=on,wait=off"
}

vmwssd_conf 'connect = processes' 'window = 2,4' 'samples = 2000' 'budget = 100%' 'guest-budget = 90%' 'method = pageout'
# Each range of 64 KiB has a hot page, so whatever is unmapped is mapped again.
params="total=64M pattern=strided stride=64K hot=4M"
t=$(truth "$params")
acts=("bits-taken outsider pageout 0 256" "bits-taken outsider pageout 48 12" "read-by-others outsider mem 60 8" "read-by-others outsider readv 60 8"
	"read-by-others monitor")

if start_memfd "$params"; then
	by_ages true
	all_hold "ages, left alone" "$t"
	check "ages, left alone: no flag of others" without
	for act in "${acts[@]}"; do
		# shellcheck disable=SC2086 # a flag, an event and its words
		set -- $act
		by_ages "${@:2}"
		check "ages, ${*:2}: flag $1" flagged "$1"
		all_hold "ages, ${*:2}" "$t"
		bins_hold "ages, ${*:2}" "$t"
	done
	vmwssd_begin --config "$guests_dir/conf"
	if ! settles logged 'domain guest: measured by pageout'; then
		fail "vmwssd follows the guest" "$(tail -n 5 "$log")"
		finish
		exit
	fi
	check "for a while" eventually has_newer 0 6
	by_vmwssd true
	all_hold "vmwssd, left alone" "$t"
	check "vmwssd, left alone: no flag of others: $(flags)" without
	# Before 6.9 the two cannot know of each other.
	if has_pidfs; then
		by_vmwssd elsewhere "$vmwss" list --processes
		check "vmwssd, and list with a /run of its own: no flag of others: $(flags)" without
	fi
	# The second is made of the same part of RAM several times, for whether it is seen must not depend on where sentinels were lost.
	acts=("${acts[@]:0:2}" "${acts[1]}" "${acts[1]}" "${acts[@]:2}")
	for act in "${acts[@]}"; do
		# shellcheck disable=SC2086
		set -- $act
		by_vmwssd "${@:2}"
		check "vmwssd, ${*:2}: flag $1" flagged "$1"
		all_hold "vmwssd, ${*:2}" "$t"
	done
	by_vmwssd true
	check "vmwssd, left alone again: no flag of others: $(flags)" without
	check "SIGTERM: exit 0" vmwssd_end TERM
fi
finish
