#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: thorough lab=page_idle serial cost=170
#
# In the lab, with page_idle: somebody else touches the guest's memory, or takes its accessed bits, within the window. The
# witness (host/measure/witness.h) knows none of these by name. Each disturbance of each method is flagged, and the truth stays
# within the bounds; a guest that is left alone is never flagged, and its census stays exact.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=192M hot=16M"
t=$(truth "$params")
bounds_hold() { holds "$(field wss_low_bytes) <= 1.01 * $t && $(field wss_high_bytes) >= 0.99 * $t"; }
# At 95 % one of twenty intervals misses: not at twice its width.
truth_is_near() { holds "2 * $(field wss_low_bytes) - $(field wss_bytes) <= 1.01 * $t && 2 * $(field wss_high_bytes) - $(field wss_bytes) >= 0.99 * $t"; }
show() {
	printf '# %s: %s [%s, %s] of %s, flags %s; %s\n' "$1" "$(field wss_bytes)" "$(field wss_low_bytes)" "$(field wss_high_bytes)" "$t" \
		"$(jq -c .flags <<<"$record")" "$(witness_counts)"
}

cat >"$guests_dir/read.py" <<-'END'
	import ctypes, os, sys
	pid, how, mib = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
	libc = ctypes.CDLL(None, use_errno=True)
	class iovec(ctypes.Structure): _fields_ = [("base", ctypes.c_size_t), ("len", ctypes.c_size_t)]
	for line in open(f"/proc/{pid}/maps"):
	    begin, end = [int(x, 16) for x in line.split()[0].split("-")]
	    if end - begin == 256 << 20 and "rw" in line.split()[1]: break
	at = begin + (100 << 20)
	if how == "mem":
	    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
	    for i in range(mib): os.pread(fd, 1 << 20, at + (i << 20))
	elif how == "readv":
	    buffer = ctypes.create_string_buffer(1 << 20)
	    for i in range(mib):
	        libc.process_vm_readv(pid, ctypes.byref(iovec(ctypes.addressof(buffer), 1 << 20)), 1, ctypes.byref(iovec(at + (i << 20), 1 << 20)), 1, 0)
END

window=5 delay=1
# watched_measure ARGS...: as measure, and says step by step what it does.
watched_measure() { record=$("$vmwss" --debug measure --json "$@" 2>"$guests_dir/messages") || record=; }
# The guest is as it was before the event.
prepare_again() { :; }
# disturbed WHAT METHOD ARGS -- COMMAND...: the command runs $delay s after the pages were marked. If it ends too late, once more, in a
# longer window.
disturbed() {
	local what=$1 method=$2 args=() attempt
	shift 2
	while [[ $1 != -- ]]; do args+=("$1"); shift; done
	shift
	for attempt in 1 2 4; do
		rm -f "$guests_dir/messages"
		(settles grep -qs "witness: watches" "$guests_dir/messages"; sleep "$delay"; "$@" >/dev/null 2>&1; date +%s.%N >"$guests_dir/ended") &
		local other=$!
		watched_measure --pid "$pid" -m "$method" -w $((window * attempt)) "${args[@]}"
		wait "$other"
		if [[ -z $record ]] || { ended_in_time "$(<"$guests_dir/ended")" && witness_was_prompt; }; then break; fi
		show "$what: in $((window * attempt)) s the event came too late, or the pages were dropped late"
		prepare_again || return
	done
	check "$what: measured" test -n "$record"
	show "$what"
	check "$what: the bounds hold the truth" bounds_hold
	check "$what: disputed" has_flag disputed
}

pmemsave() {
	qmp '{"execute":"pmemsave","arguments":{"val":125829120,"size":67108864,"filename":"/tmp/saved"}}'
	rm -f /tmp/saved
}
# Another user of page_idle, wss-v2 say: it marks every frame of the host.
mark_all_idle() {
	python3 -c 'import os
fd = os.open("/sys/kernel/mm/page_idle/bitmap", os.O_WRONLY)
for at in range(0, 1 << 20, 4096):
    try: os.pwrite(fd, b"\377" * 4096, at)
    except OSError: break'
}

if start_payload witness kvm "$params" -m 256 -qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
	for how in "idle --census" "idle -n 2000" damon; do
		# shellcheck disable=SC2086
		check "$how, left alone: measured" measure --pid "$pid" -m $how -w 4
		show "$how, left alone"
		check "$how, left alone: not disputed" lacks_flag disputed
		check "$how, left alone: the truth is near" truth_is_near
		[[ $how != *census* ]] || check "the census is exact" holds "$(field wss_low_bytes) == $(field wss_bytes) && \
			$(field wss_bytes) >= 0.99 * $t && $(field wss_bytes) <= 1.01 * $t"
		# shellcheck disable=SC2086
		{
			disturbed "$how, 64 MiB read by /proc/PID/mem" $how -- python3 "$guests_dir/read.py" "$pid" mem 64
			disturbed "$how, 16 MiB read by process_vm_readv" $how -- python3 "$guests_dir/read.py" "$pid" readv 16
			disturbed "$how, pmemsave of 64 MiB" $how -- pmemsave
		}
	done
	stop_guest "$pid"
fi

# The 64 MiB are touched before the bits are taken, and not afterwards.
params="total=96M phases=9:64M,60:4M" delay=10 window=13
t=$(truth "$params")
start_taken() { start_payload taken kvm "$params" -m 128; }
prepare_again() { stop_guest "$pid"; start_taken; }
for how in "idle --census" "idle -n 2000" damon; do
	if start_taken; then
		# shellcheck disable=SC2086
		disturbed "$how, another user of page_idle" $how -- mark_all_idle
		stop_guest "$pid"
	fi
done
finish
