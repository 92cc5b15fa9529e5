#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: thorough lab=page_idle cost=120
#
# In the lab, with page_idle: what comes of a dispute. `auto` goes on with a method that counts touches by vCPUs; mglru, which
# works on no pages, has a witness of its own; huge pages of which QEMU reads one page each; and guests that are
# left alone are not disputed.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=192M hot=16M"
t=$(truth "$params")
bounds_hold() { holds "$(field wss_low_bytes) <= 1.01 * $1 && $(field wss_high_bytes) >= 0.99 * $1"; }
show() {
	printf '# %s: %s [%s, %s], flags %s; %s\n' "$1" "$(field wss_bytes)" "$(field wss_low_bytes)" "$(field wss_high_bytes)" \
		"$(jq -c .flags <<<"$record")" "$(witness_counts)"
}

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
pmemsave() {
	qmp '{"execute":"pmemsave","arguments":{"val":104857600,"size":67108864,"filename":"/tmp/saved"}}'
	rm -f /tmp/saved
}
# Its own thread reads the memory, and says when it has.
dirty_rate() {
	qmp '{"execute":"calc-dirty-rate","arguments":{"calc-time":1}}'
	settles rate_is_measured
}
rate_is_measured() { qmp '{"execute":"query-dirty-rate"}' && grep -q '"status": "measured"' "$guests_dir/answer"; }
reads() { python3 "$guests_dir/read.py" "$pid" "$@"; }

# while_watched COMMAND...: once pages are watched by the measurement that writes its steps to $guests_dir/messages.
while_watched() {
	settles grep -q 'witness: watches' "$guests_dir/messages"
	"$@" >/dev/null 2>&1
	date +%s.%N >"$guests_dir/ended"
}

# disturbed WHAT TRUTH SECONDS ARGS... -- COMMAND...: if the command ends too late, or the guest did not run, once more, in a longer
# window.
disturbed() {
	local what=$1 truth=$2 window=$3 args=() attempt
	passes=()
	shift 3
	while [[ $1 != -- ]]; do args+=("$1"); shift; done
	shift
	for attempt in 1 2 4; do
		: >"$guests_dir/messages"
		while_watched "$@" &
		local other=$!
		record=$("$vmwss" --debug measure --json --pid "$pid" -w $((window * attempt)) "${args[@]}" 2>"$guests_dir/messages") || record=
		wait "$other"
		if [[ -z $record ]] || { ended_in_time "$(<"$guests_dir/ended")" && guest_ran && witness_was_prompt; }; then break; fi
		show "$what: in $((window * attempt)) s the event came too late, pages were dropped late, or the guest did not run"
	done
	check "$what: measured" test -n "$record"
	show "$what"
	check "$what: the bounds hold the truth" bounds_hold "$truth"
	check "$what: disputed" has_flag disputed
}

alone() {
	local what=$1
	shift
	check "$what: measured" measure_it_running --pid "$pid" "$@"
	show "$what"
	check "$what: not disputed" lacks_flag disputed
	check "$what: the bounds hold the truth" bounds_hold "$t"
}

# --- mglru, and auto ------------------------------------------------------------------------------------------------------

echo y >/sys/kernel/mm/lru_gen/enabled
if start_in_group mglru kvm "$params" -m 256 -qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
	alone "mglru, left alone" -m mglru -w 4
	# It does not see /proc/PID/mem, which goes by no table.
	disturbed "mglru, pmemsave of 64 MiB" "$t" 5 -m mglru -- pmemsave
	echo n >/sys/kernel/mm/lru_gen/enabled
	passes=()
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
rm -f "$guests_dir/qmp"

# --- huge pages -----------------------------------------------------------------------------------------------------------

# QEMU reads one page of most huge pages.
echo always >/sys/kernel/mm/transparent_hugepage/enabled
if THP=yes start_payload thp kvm "$params" -m 256 -qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
	alone "huge pages, left alone" -m idle --census -w 4
	disturbed "huge pages, calc-dirty-rate" "$t" 5 -m idle -n 2000 -- dirty_rate
	stop_guest "$pid"
fi

t=$(truth "total=192M hot=192M")
if start_payload stream kvm "total=192M hot=192M" -m 256; then
	# A pass takes 0.6 s of a core.
	ran_share=0.3
	alone "all of it touched again and again" -m idle -n 2000 -w 4
	stop_guest "$pid"
fi
finish
