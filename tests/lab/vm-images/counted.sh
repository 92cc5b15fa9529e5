#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=6.12 options=--icount thorough cost=95
#
# In lab --icount: a KVM guest runs, and CPU seconds are counts of instructions: those of the same work repeat to within
# 1 %, which those of a busy machine do not.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# A loop whose iterations execute the same instructions.
spin() {
	/usr/bin/python3 -S -c 'import sys, time
times = []
for _ in range(4):
    began = time.process_time_ns()
    for _ in range(200000): pass
    times.append(time.process_time_ns() - began)
times = times[1:]
print(max(times) / min(times))'
}

check "the lab says what an instruction takes" grep -qx '[1-9][0-9]*' <<<"${VMWSS_LAB_INSTRUCTION_NS:-}"
ratio=$(spin)
check "a program's CPU time repeats: $ratio" holds "$ratio < 1.01"

start_payload counted kvm "total=64M hot=16M" -m 128 || { finish; exit; }
"$vmwss" measure --json --pid "$pid" -m zap --census -w 1 -i 2 -k 4 >"$guests_dir/records"
check "a KVM guest is measured" test "$(wc -l <"$guests_dir/records")" = 4
wss=$(jq -s '.[3].windows[0].wss_bytes' "$guests_dir/records")
t=$(truth "total=64M hot=16M")
check "to within 64 KiB: $wss of $t bytes" holds "$wss >= $t - 65536 && $wss <= $t + 65536"
ratio=$(jq -s '[.[1:][].cpu_seconds] | max / min' "$guests_dir/records")
check "the CPU time of a census repeats: $ratio" holds "$ratio < 1.01"
finish
