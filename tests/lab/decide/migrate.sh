#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=6.12 cost=330
#
# In the lab, under real KVM: vmwss migrate --pid asks QEMU for what is set for a guest and foretells by that, and says what it
# cannot foretell; then guests really move, of which one arrives and one does not, as foretold.

libs=(guests moving)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

foretell() { answer=$("$vmwss" migrate --pid "$pid" -w 0.1,0.5 --json "$@"); }
answer_has() { jq -e "$1" <<<"$answer" >/dev/null; }
words_have() { "$vmwss" migrate --pid "$pid" -w 0.1,0.5 | quietly grep -F "$1"; }

mkdir "$guests_dir/fat"
monitor_begin
if start_payload asked kvm "total=24M hot=1M op=write" -m 64 -qmp "unix:$guests_dir/qmp,server=on,wait=off" "${monitor[@]}" \
	-drive "if=none,file=fat:rw:$guests_dir/fat,format=raw"; then
	monitor_read
	check "QEMU's own limits" foretell
	check "are those of the forecast" answer_has '.settings.source == "qmp" and .settings.capabilities == [] and
		.bandwidth_bytes_per_second.value == 134217728 and .allowed_downtime_s == 0.3 and (.bandwidth_assumed | not)'
	check "disks in a directory do not migrate" answer_has '.settings.blocked_reason | test("does not support live migration")'
	check "as it says" words_have 'QEMU refuses to migrate this guest: The '

	hmp "migrate_set_parameter max-bandwidth 3M"
	hmp "migrate_set_parameter downtime-limit 100"
	hmp "migrate_set_capability xbzrle on"
	check "others" foretell
	check "which are set, and a capability" answer_has '.bandwidth_bytes_per_second.value == 3145728 and .allowed_downtime_s == 0.1 and
		.settings.capabilities == ["xbzrle"] and .writes.method == "soft-dirty"'
	check "with which it may converge" answer_has '.verdict == "may-converge" and .total_seconds.value == null'
	hmp "migrate_set_capability xbzrle off"
	check "and without it" foretell
	check "not" answer_has '.verdict == "diverges"'
	check "a speed that is given goes before" foretell -b 100MiB/s
	check "its own" answer_has '.verdict == "converges" and .settings.bandwidth_bytes_per_second == 3145728'

	hmp "migrate_set_parameter max-bandwidth 0"
	check "no limit" words_have 'the bandwidth is assumed'
	hmp stop
	check "a guest that stands still" words_have 'hardly ran while it was measured'
	stop_guest "$pid"
fi

echo "# real moves"
runs=$guests_dir/runs
"$root/tests/bench/migrate_parts/main.py" --wire 1 --guest lab-128K:1,lab-3M:1 --append "$runs" | sed 's/^/# /'
run_is() { jq -se --arg guest "$1" "map(select(.guest == \$guest)) | length == 1 and (.[0] | $2)" "$runs" >/dev/null; }
for guest in lab-128K lab-3M; do
	check "$guest: by QEMU's limits" run_is $guest '.forecast.settings.source == "qmp" and .forecast.allowed_downtime_s == 0.6'
done
check "foretold to converge" run_is lab-128K '.forecast.verdict == "converges"'
check "it does" run_is lab-128K '.outcome.converged'
check "foretold not to converge" run_is lab-3M '.forecast.verdict == "diverges"'
check "it does not" run_is lab-3M '.outcome.converged | not'
finish
