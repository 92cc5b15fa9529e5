#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# vmwss-guest pressure of control groups, in a real Linux guest (TCG): one group stalls for memory all the time, for it wants
# twice what it may have, and one beside it does nothing.

# shellcheck disable=SC2016 # jq's variables

set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BUILD:-$root/build/release}
# shellcheck source=../lib/check.sh
. "$root/tests/lib/check.sh"

vg=$build/guest-agent/vmwss-guest
dir=$(mktemp -d /tmp/vmwss-gg.XXXX)
pid=
trap '[[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null; rm -rf -- "$dir"' EXIT

# What the guest does: each answer becomes one line "NAME ANSWER", of a table line after line. No answer is waited for longer than
# a minute of the guest's, for some come only when tasks stall.
cat >"$dir/guest-groups" <<'END'
#!/bin/busybox sh
groups=/sys/fs/cgroup
# says NAME COMMAND...: and "NAME-status STATUS".
says() {
	name=$1
	shift
	timeout 60 "$@" >/tmp/out 2>&1
	status=$?
	sed "s/^/$name /" /tmp/out
	echo "$name-status $status"
}
kernel_says() { echo "kernel-$1 $(sed -n 's/^some .*total=//p' $groups/stalls/memory.pressure)"; }

echo +memory >$groups/cgroup.subtree_control
mkdir $groups/stalls $groups/calm
echo 12M >$groups/stalls/memory.max
until grep -q '^/dev/zram0' /proc/swaps; do sleep 0.2; done
sh -c "echo \$\$ >$groups/stalls/cgroup.procs; exec toucher --total 24M --hot 24M --op write" >/tmp/toucher &
sh -c "echo \$\$ >$groups/calm/cgroup.procs; exec sleep 100000" &
until grep -q ready /tmp/toucher; do sleep 0.5; done
# The kernel brings its averages up to date every two seconds.
until awk '/^full/ { sub("avg10=", "", $2); stalls = $2 + 0 > 0 } END { exit !stalls }' $groups/stalls/memory.pressure; do sleep 0.5; done

vmwss-guest pressure --cgroup /calm --trigger memory:some:1000:1000000 --json >/tmp/calm &
calm=$!
kernel_says before
says one vmwss-guest pressure --cgroup /stalls --json
says all vmwss-guest pressure --cgroups --json
kernel_says after
says table vmwss-guest pressure --cgroups
says over vmwss-guest pressure --cgroups --interval 2 --count 3 --json
says over-table vmwss-guest pressure -g stalls -i 1 -k 1
says stall vmwss-guest pressure --cgroup /stalls --trigger memory:some:50000:1000000 --trigger memory:full:50000:1000000 \
	--count 4 --json
says stall-text vmwss-guest pressure -g /stalls -t memory:some:50000:1000000 -k 1
says none vmwss-guest pressure --cgroup /none --json
says none-stall vmwss-guest pressure --cgroup /none --trigger memory:some:50000:1000000 --count 1
says both vmwss-guest pressure --cgroups --cgroup /stalls
# It waits still, and has told nothing.
echo "calm-status $(kill -0 $calm && echo waits) $(wc -c </tmp/calm)"
kill $calm
echo "guest-groups: done"
poweroff -f
END

image=$("$root/vm-images/linux/make-linux-guest" --kernel 6.12 --add "$vg" --add "$dir/guest-groups") || exit 1
: >"$dir/console"
qemu-system-x86_64 -accel tcg -m 192 -nodefaults -no-user-config -display none -vga none -no-reboot \
	-serial "file:$dir/console" -kernel "$image/vmlinuz" -initrd "$image/initrd.gz" \
	-append "console=ttyS0 quiet no_timer_check panic=-1 psi=1 guest.zram=64M guest.run=guest-groups guest.toucher=no" &
pid=$!
for ((i = 0; i < 1200; i++)); do
	if grep -q 'guest-groups: done' "$dir/console" || ! kill -0 "$pid" 2>/dev/null; then break; fi
	sleep 0.5
done
kill -KILL "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
pid=
tr -d '\r' <"$dir/console" >"$dir/said"
if ! grep -q 'guest-groups: done' "$dir/said"; then
	fail "the guest does its part" "$(tail -n 5 "$dir/said")"
	finish
	exit
fi
# said NAME: the answer of this name. is NAME FILTER: the filter is true of its lines, as an array.
said() { sed -n "s/^$1 //p" "$dir/said"; }
is() { said "$1" | jq -se "${@:2}" >/dev/null; }
ended() { [[ $(said "$1-status") == "$2" ]]; }

echo "# pressure of one group, and of all"
before=$(said kernel-before) after=$(said kernel-after)
check "one group stalls: $(said one | jq -c '.groups[0].memory.some')" is one 'length == 1 and (.[0] | .schema == "vmwss.guest_pressure.v1" and
	(.groups | length == 1) and (has("interval_s") | not) and (.groups[0] | .cgroup == "/stalls" and
	.memory.some.total_us > 0 and .memory.full.total_us > 0 and .memory.full.total_us <= .memory.some.total_us and
	(.memory.some | .avg10 > 0 and .avg10 <= 100 and has("interval_percent") == false)))'
in_between() { is "$1" --argjson a "$before" --argjson b "$after" '.[0].groups[] | select(.cgroup == "/stalls").memory.some.total_us | . >= $a and . <= $b'; }
check "so much as its kernel says before and after, $before and $after us" in_between one
check "of all: the guest first, and each group by name" is all '.[0].groups | map(.cgroup) == [null, "/calm", "/stalls"]'
check "the same of all" in_between all
check "the whole guest stalls with it" is all '.[0].groups[0].memory.some.total_us > 0'
check "the group beside it does not" is all '.[0].groups[1].memory | .some.total_us == 0 and .full.total_us == 0 and .some.avg10 == 0'
check "a table" test "$(said table | grep -cE '^/stalls +memory +(some|full) +[0-9.]+% +[0-9.]+% +[0-9.]+% +[0-9.]+ ?[a-z]+$')" = 2
check "with its heading, and the guest" test "$(said table | grep -cE '^CGROUP +RESOURCE +KIND +AVG10 +AVG60 +AVG300 +TOTAL$|^\(all\) +memory +some ')" = 2
for name in one all table over over-table stall stall-text; do check "$name: it ends well" ended $name 0; done

echo "# over intervals"
said over | jq -c '[.interval_s, (.groups[2].memory.some | .interval_percent, .total_us)]' | sed 's/^/# /'
check "three of them" is over 'length == 3 and all(.[]; .interval_s > 0)'
check "in each of which the group stalled" is over 'all(.[].groups[2]; .cgroup == "/stalls" and .memory.some.interval_percent > 0 and
	.memory.full.interval_percent > 0)'
check "and the other did not" is over 'all(.[].groups[1]; .cgroup == "/calm" and .memory.some.interval_percent == 0)'
# The share is that of the difference of the totals, which the kernel brings up to date at each reading.
check "the share is what was added" is over '. as $l | all(range(1; 3); . as $i |
	[$l[$i - 1, $i].groups[2].memory.some.total_us] as [$a, $b] |
	(($b - $a) / 1e4 / $l[$i].interval_s - $l[$i].groups[2].memory.some.interval_percent) | fabs < 0.01)'
check "a table with the interval" test "$(said over-table | grep -cE '^CGROUP .* INTERVAL$|^stalls +memory +some .* [0-9]+\.[0-9]+%$')" = 2

echo "# stalls, when they happen"
said stall | sed 's/^/# /'
check "four, each as it was asked for" is stall 'length == 4 and all(.[]; .schema == "vmwss.guest_pressure.v1" and (.time | test("^[0-9]{4}-")) and
	(.stall | .resource == "memory" and .threshold_us == 50000 and .window_us == 1000000))'
check "of both kinds" is stall 'map(.stall.kind) | unique == ["full", "some"]'
check "for people: $(said stall-text)" test -n "$(said stall-text | grep -E ' memory some: more than 50 ms of 1000 ms$')"
check "of the group that does not stall nothing is told meanwhile" ended calm 'waits 0'

echo "# what cannot be"
check "a group that is not there" ended none 2
check "is named" test -n "$(said none | grep 'cgroup/none/')"
check "nor is it waited for" ended none-stall 2
check "one group and all" ended both 1
finish
