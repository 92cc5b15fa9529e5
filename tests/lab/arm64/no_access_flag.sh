#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=arm64 options=--cpu,cortex-a72 cost=60 needs=@ROOT@/build/arm64/host/vmwss,@ROOT@/build/arm64/vm-images/payload/vmwss-payload.elf
#
# In the arm64 lab on a CPU without VHE and without a hardware access flag, as Graviton 1 has: each access to a page that was
# marked is a fault, in which Linux sets the flag. MGLRU then walks no page tables, an ageing finds 0 pages touched, and mglru is
# refused; zap and damon against the truth.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=64M hot=16M"
t=$(truth "$params")
enabled=/sys/kernel/mm/lru_gen/enabled

check "arm64, pages of 4 KiB" test "$(uname -m) $(getconf PAGESIZE)" = 'aarch64 4096'
echo y >$enabled
check "MGLRU is on, and walks no page tables: $(<$enabled)" test $(($(<$enabled) & 3)) = 1

"$vmwss" doctor >"$guests_dir/doctor" 2>&1
sed 's/^/# /' "$guests_dir/doctor"
check "doctor: mglru no, and why" grep -qE '^mglru +no +.*lacks 0x2.*no hardware access flag' "$guests_dir/doctor"
check "doctor: zap yes" grep -qE '^zap +yes ' "$guests_dir/doctor"

if start_payload anon kvm "$params" -m 128; then
	expect_exit "mglru is refused" 2 'lacks 0x2.*no hardware access flag' "$vmwss" measure --pid "$pid" -w 1 -m mglru
	check_census "zap, anon" "$t" 1 --pid "$pid" -w 4 -m zap
	check_panel "damon, anon" "$t" --pid "$pid" -w 2 -m damon
	stop_guest "$pid"
fi

finish
