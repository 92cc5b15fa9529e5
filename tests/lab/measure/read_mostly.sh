#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=7.3 cost=90
#
# In the lab, Debian's stock 7.3: vmwss map --writes finds what a payload that reads 32 MiB and writes 8 of them only reads, by
# region: with each backing, with huge pages, and while another process takes the bits that show writes.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=96M hot=32M write=8M"
all=$(truth "$params") written=$(truth "$params" written_bytes)
read_only=$((all - written))
# The tables that the CPU walks count as written, and may be touched: a page for each GiB, and two more.
slack=$((4 * 4096))

map() { "$vmwss" map --writes --pid "$pid" --json -m zap "$@"; }
# map_it ARG...: into $json; again while the guest has not got through its whole set within the window.
map_it() {
	local i
	for ((i = 0; i < 5; i++)); do
		json=$(map "$@" 2>"$guests_dir/messages") || { comment "$(<"$guests_dir/messages")"; json=null; return 1; }
		! holds "$(of wss_bytes) >= $all" || return 0
		comment "not all of it was touched, attempt $i"
	done
}
# of FIELD: of the last window of the only region.
of() { jq ".regions[0].windows[-1].$1" <<<"$json"; }
say() {
	printf '# %s: read-mostly %s [%s, %s] of %s, working set %s, share %s\n' "$1" "$(of read_mostly_bytes)" \
		"$(of read_mostly_low_bytes)" "$(of read_mostly_high_bytes)" "$read_only" "$(of wss_bytes)" "$(of read_mostly_share)"
}
is_exact() { holds "$(of read_mostly_bytes) >= $read_only - $slack && $(of read_mostly_bytes) <= $read_only"; }
bounds_hold() { holds "$(of read_mostly_low_bytes) <= $read_only && $(of read_mostly_high_bytes) >= $read_only - $slack"; }

if start_payload anon kvm "$params" -m 160; then
	check "anon: a map with writes" map_it --census -w 1,4
	say anon
	check "anon: read-mostly is what is read and not written" is_exact
	check "anon: the bounds are the number" holds "$(of read_mostly_low_bytes) == $(of read_mostly_bytes) && $(of read_mostly_high_bytes) == $(of read_mostly_bytes)"
	check "anon: a share of the working set" holds "$(of read_mostly_share) > 0.74 && $(of read_mostly_share) < 0.76"
	json=$("$vmwss" map --pid "$pid" --json --census -m zap -w 1)
	check "without --writes it is not known" jq -e '.regions[0].windows[-1] | .wss_bytes > 0 and .read_mostly_bytes == null and .read_mostly_share == null' <<<"$json" >/dev/null
	in_a_table() { "$vmwss" map --writes --pid "$pid" --census -m zap -w 4 | grep -qE "^ *0x0 +4s +[0-9.]+ MiB +2[34]\.[0-9] MiB"; }
	check "the table has a row for the region" in_a_table
	(sleep 3 && echo 4 >"/proc/$pid/clear_refs") &
	check "while another clears the bits" map_it --census -w 8
	wait
	say "anon, bits cleared after 3 s"
	check "the bounds hold the truth" bounds_hold
	check "a panel: a map with writes" map_it -n 5000 -w 4
	stop_guest "$pid"
fi
if MACHINE=pc,memory-backend=m start_payload memfd kvm "$params" -m 160 -object memory-backend-memfd,id=m,size=160M; then
	check "memfd: a map with writes" map_it --census -w 4
	say memfd
	check "memfd: read-mostly is what is read and not written" is_exact
	expect_exit "pageout unmaps what shows writes" 2 'pageout takes the bits' "$vmwss" map --writes --pid "$pid" -m pageout -w 1
	stop_guest "$pid"
fi
if THP=yes start_payload thp kvm "$params" -m 160; then
	check "huge pages: a map with writes" map_it --census -w 4
	say "huge pages"
	check "huge pages: the bounds hold the truth" bounds_hold
	stop_guest "$pid"
fi
if start_payload reads kvm "total=64M hot=16M" -m 128; then
	all=$(truth "total=64M hot=16M") read_only=$((all - 4096))
	check "a guest that only reads" map_it --census -w 4
	say "reads only"
	check "all but its state is read-mostly" is_exact
	stop_guest "$pid"
fi

finish
