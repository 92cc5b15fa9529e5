#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=arm64 cost=60 needs=@ROOT@/build/arm64/host/vmwss,@ROOT@/build/arm64/vm-images/payload/vmwss-payload.elf
#
# In the arm64 lab: RAM of a QEMU whose configuration does not tell it, by proof (host/measure/ram_proof.h).

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=96M hot=16M"
mib=1048576
t=$(truth "$params memory=256M")
printf '[memory]\n  size = "256M"\n' >"$guests_dir/gone.conf"
if start_payload gone kvm "$params" -readconfig "$guests_dir/gone.conf"; then
	rm "$guests_dir/gone.conf"
	"$vmwss" --debug list --processes 2>&1 | grep -E 'proof|slot' | sed 's/^/# /'
	check "its file is gone: measured" measure --pid "$pid" -w 6 --census -m zap
	check "its RAM: $(field ram_bytes)" record_has ".ram_bytes == $((256 * mib))"
	check "what it touches: $(field wss_bytes) of $t" holds "$(field wss_low_bytes) <= $t && $(field wss_high_bytes) >= 0.95 * $t"
	# KVM on arm64 does not count the flushes of a drop, so nothing tells that it maps nothing of QEMU's other memory.
	check "the rest may be RAM" has_flag partial
	stop_guest "$pid"
fi
finish
