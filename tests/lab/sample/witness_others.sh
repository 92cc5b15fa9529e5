#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle thorough serial cost=60
#
# In the lab, kernel page_idle: after a dispute `auto` goes on with a method that counts touches by vCPUs. Guests that are left
# alone, of huge pages or touched altogether, are not disputed.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=192M hot=16M"
t=$(truth "$params")
bounds_hold() { holds "$(field wss_low_bytes) <= 1.01 * $1 && $(field wss_high_bytes) >= 0.99 * $1"; }
show() { printf '# %s: %s [%s, %s], flags %s\n' "$1" "$(field wss_bytes)" "$(field wss_low_bytes)" "$(field wss_high_bytes)" "$(jq -c .flags <<<"$record")"; }

cat >"$guests_dir/read.py" <<-'END'
	import os, sys, time
	pid, mib, times = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
	for line in open(f"/proc/{pid}/maps"):
	    begin, end = [int(x, 16) for x in line.split()[0].split("-")]
	    if end - begin == 256 << 20 and "rw" in line.split()[1]: break
	mem = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
	for _ in range(times):
	    for page in range(mib * 256):
	        os.pread(mem, 8, begin + (100 << 20) + (page << 12))
	    time.sleep(0.3)
END
reads() { python3 "$guests_dir/read.py" "$pid" "$@"; }

alone() {
	local what=$1
	shift
	check "$what: measured" measure --pid "$pid" "$@"
	show "$what"
	check "$what: not disputed" lacks_flag disputed
	check "$what: the bounds hold the truth" bounds_hold "$t"
}

# --- auto ------------------------------------------------------------------------------------------------------

if start_payload auto kvm "$params" -m 256; then
	reads 64 1000 &
	reader=$!
	"$vmwss" measure --json --pid "$pid" -w 4 -i 4 -k 3 >"$guests_dir/records" 2>"$guests_dir/messages"
	kill "$reader"
	cut -c 1-600 "$guests_dir/records" | sed 's/^/# /'
	first() { record=$(head -n 1 "$guests_dir/records"); }
	last() { record=$(tail -n 1 "$guests_dir/records"); }
	first
	check "auto takes idle first" record_has '.method == "idle"'
	check "which is disputed" has_flag disputed
	check "and holds the truth" bounds_hold "$t"
	last
	check "then zap" record_has '.method == "zap"'
	check "which is not" lacks_flag disputed
	check_interval "zap, beside a reader" "$t"
	stop_guest "$pid"
fi

# --- huge pages -----------------------------------------------------------------------------------------------------------

echo always >/sys/kernel/mm/transparent_hugepage/enabled
if THP=yes start_payload thp kvm "$params" -m 256; then
	alone "huge pages, left alone" -m idle --census -w 4
	stop_guest "$pid"
fi

t=$(truth "total=192M hot=192M")
if start_payload stream kvm "total=192M hot=192M" -m 256; then
	alone "all of it touched again and again" -m idle -n 2000 -w 4
	stop_guest "$pid"
fi
finish
