#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=10
# test: lab=6.12 thorough cost=60
#
# vmwss cache: what it refuses, by name and with the reason, and that it leaves nothing. A guest of TCG is none that it can see. A
# KVM guest (in the lab) is measured where the host has a PMU or resctrl; the lab's emulated CPU has neither. What it counts and
# answers is tested on trees of files (unit.resctrl, unit.cache_measure), and by the kernel's software events (unit.counters).

# A spinning guest is part of what is tested here.
export REST=no
libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

cache() { "$vmwss" cache "$@"; }
# Only this guest counts: others may be measured at the same time.
nothing_left() {
	[[ ! -e /run/vmwss/cache-$pid.lock && -z $(find /sys/fs/resctrl -name "vmwss-cache-$pid" 2>/dev/null) ]]
}

echo "# usage: exit 1"
expect_exit "no guest named" 1 'name a DOMAIN or a --pid' cache
expect_exit "both named" 1 'one DOMAIN or one --pid' cache --pid 1 name
expect_exit "a window that is none" 1 'from 1ms to 1000000s' cache --pid 1 -w 0
expect_exit "unknown option" 1 '' cache --frobnicate
check "help" quietly grep -F 'vmwss.cache.v1' <("$vmwss" cache --help)

echo "# cannot: exit 2"
sleep 1000 &
pids+=("$!")
expect_exit "not QEMU" 2 "$!" cache --pid "$!"
expect_exit "no such process" 2 '4194200' cache --pid 4194200
doctor=$("$vmwss" doctor --json | jq -c '.findings[] | select(.what == "cache")')
echo "# doctor: $doctor"
has() { jq -e "$1" >/dev/null <<<"$doctor"; }
check "doctor has a line of it" has '.outcome == "yes" or (.text | test("resctrl|counter"))'

if start_payload cache "$accel" "total=64M hot=8M" -m 128; then
	if [[ $accel == tcg ]]; then
		expect_exit "a guest of TCG" 2 "process $pid: the guest is emulated \(TCG\)" cache --pid "$pid" -w 1
	elif has '.outcome == "no"'; then
		expect_exit "no PMU and no resctrl: both reasons" 2 'cache references and misses: .*PMU; resctrl: ' cache --pid "$pid" -w 1
	else
		json=$(cache --pid "$pid" -w 1 --json)
		measured() { jq -e "$1" >/dev/null <<<"$json"; }
		check "it is measured" measured '.schema == "vmwss.cache.v1" and .vcpus_ran == 1 and .vcpu_seconds > 0.3'
		check "an answer has its reason" measured '(.answer | IN("fits", "larger", "unknown")) and (.reason | length > 0)'
		check "and what is missing is named" measured '(.counts != null or .not_counted != null) and (.caches != [] or .not_monitored != null)'
	fi
	if [[ $accel == kvm ]]; then
		kill -STOP "$pid"
		settles grep -q '^State:.T' "/proc/$pid/status"
		expect_exit "a stopped process" 2 "kill -CONT" cache --pid "$pid" -w 1
		kill -CONT "$pid"
	fi
	cp -- "$vmwss" "$guests_dir/vmwss" && chmod 755 "$guests_dir" "$guests_dir/vmwss"
	expect_exit "an ordinary user" 2 'ermission|ermitted' \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$guests_dir/vmwss" cache --pid "$pid" -w 1
	check "nothing is left" nothing_left
	stop_guest "$pid"
fi
finish
