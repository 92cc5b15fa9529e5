#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=arm64_16k thorough cost=60 needs=@ROOT@/build/arm64/host/vmwss,@ROOT@/build/arm64/vm-images/payload/vmwss-payload.elf
#
# In the arm64 lab, Debian's stock 6.12 with pages of 16 KiB: what was never held against the truth is refused by name, by every
# method, before anything of the guest is touched; and doctor promises none.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

reason='base pages have 16 KiB'

check "arm64, pages of 16 KiB" test "$(uname -m) $(getconf PAGESIZE)" = 'aarch64 16384'
if start_payload anon kvm "total=64M hot=16M" -m 128; then
	for method in auto zap damon pageout mglru zap-all idle; do
		expect_exit "$method is refused" 2 "$reason" "$vmwss" measure --pid "$pid" -w 1 -m "$method"
	done
	for command in ages map profile; do
		expect_exit "$command is refused" 2 "$reason" "$vmwss" "$command" --pid "$pid"
	done
	expect_exit "trace is refused" 2 "$reason" "$vmwss" trace --pid "$pid" --out "$guests_dir/trace"
	expect_exit "doctor of the guest" 2 "$reason" "$vmwss" doctor --pid "$pid"
	check "the guest still runs" kill -0 "$pid"
	stop_guest "$pid"
fi
expect_exit "cgroups is refused" 2 "$reason" "$vmwss" cgroups --window 1

"$vmwss" doctor >"$guests_dir/doctor" 2>&1
check "doctor: no method works" test $? = 2
sed 's/^/# /' "$guests_dir/doctor"
for method in idle damon mglru zap pageout zap-all referenced cold; do
	check "doctor: $method no" grep -qE "^$method +no .*$reason" "$guests_dir/doctor"
done

finish
