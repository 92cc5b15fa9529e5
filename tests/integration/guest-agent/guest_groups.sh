#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=29
#
# What control groups do to memory, in a real Linux guest (TCG) with vmwss-guest. Pages of a file are evicted by the limit of the
# group that read it, so that the kernel remembers them: vmwss-guest cache. One group stalls for memory all the time, for it
# wants twice what it may have, and one beside it does nothing: vmwss-guest pressure.

# shellcheck disable=SC2016 # jq's variables

libs=(guest_program)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

vg=$build/guest-agent/vmwss-guest
dir=$(mktemp -d /tmp/vmwss-gg.XXXX)
pid=
trap '[[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null; rm -rf -- "$dir"' EXIT

# The guest prints each answer as one line "NAME ANSWER", and a table line by line. It waits no longer than a minute for an
# answer, for some come only when tasks stall.
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
until grep -q '^/dev/zram0' /proc/swaps && grep -q ' /disk ' /proc/mounts; do sleep 0.2; done

# A page that was evicted counts as recent when fewer were evicted since than its group has active pages of files, and of
# anonymous ones where there is swap (workingset_test_recent() in mm/workingset.c): here some 512 of the toucher. With
# MGLRU it is a matter of generations.
echo n >/sys/kernel/mm/lru_gen/enabled
mkdir $groups/evicts
echo 8M >$groups/evicts/memory.max
: >/tmp/toucher
sh -c "echo \$\$ >$groups/evicts/cgroup.procs; exec toucher --total 2M --hot 2M --op write" >>/tmp/toucher &
toucher=$!
until grep -q ready /tmp/toucher; do sleep 0.5; done
sh -c "echo \$\$ >$groups/evicts/cgroup.procs; exec cat /disk/read" >/dev/null
# The kernel may add up the group's pages two seconds late (FLUSH_TIME in mm/memcontrol.c).
sleep 5
says evicted vmwss-guest cache --json /disk/read /disk/unread
says evicted-mincore vmwss-guest cache --json --method mincore /disk/read
says evicted-table vmwss-guest cache --bytes /disk/read
echo "stolen $(sed -n 's/^pgsteal //p' $groups/evicts/memory.stat)"
kill $toucher
wait $toucher
until rmdir $groups/evicts; do sleep 0.5; done
# The group is known to the kernel as long as something of it is swapped, and the slots of a process that ended are given back in
# batches (mm/swap_slots.c), or when swap goes; and then it is taken down when no CPU looks at it any more.
swapoff /dev/zram0
for _ in $(seq 30); do
	if vmwss-guest cache --json /disk/read | grep -q '"recently_evicted_pages": *0\b'; then break; fi
	sleep 1
done
swapon /dev/zram0
says forgotten vmwss-guest cache --json /disk/read

mkdir $groups/stalls $groups/calm
echo 12M >$groups/stalls/memory.max
: >/tmp/toucher
sh -c "echo \$\$ >$groups/stalls/cgroup.procs; exec toucher --total 24M --hot 24M --op write" >>/tmp/toucher &
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
pages=6144 # of the files of 24 MiB
mkdir "$dir/files"
for file in read unread; do head -c 24M /dev/urandom >"$dir/files/$file"; done
mkfs.ext4 -qF -d "$dir/files" "$dir/disk" 64M >/dev/null || exit 1
guest_program_run guest-groups 192 "guest.zram=64M"
# is NAME FILTER: the filter is true of its lines, as an array.
is() { said "$1" | jq -se "${@:2}" >/dev/null; }

echo "# what was evicted of a file"
counts=$(said evicted | jq -c '.files[0] | [.cached_pages, .evicted_pages, .recently_evicted_pages]')
check "evicted, and some of it lately: cached, evicted and recent are $counts of $pages" is evicted '.[0].files[0] | .method == "cachestat" and
	.recently_evicted_pages > 0 and .recently_evicted_pages < .evicted_pages'
check "no more than the limit stayed" is evicted '.[0].files[0] | .cached_pages > 0 and .cached_pages <= 2048'
check "cached is what mincore says" test "$(jq '.[0]' <<<"$counts")" = "$(said evicted-mincore | jq '.files[0].cached_pages')"
check "what is not cached was evicted" is evicted --argjson pages $pages '.[0].files[0] | .pages == $pages and .cached_pages + .evicted_pages <= $pages and
	.cached_pages + .evicted_pages >= 0.98 * $pages'
check "no more than was reclaimed in the group, $(said stolen)" is evicted --argjson stolen "$(said stolen)" '.[0].files[0].evicted_pages <= $stolen'
check "nothing of it was to be written" is evicted '.[0].files[0] | .dirty_pages == 0 and .writeback_pages == 0'
check "nothing of a file that nobody read" is evicted '.[0].files[1] | .pages > 0 and .cached_pages + .evicted_pages + .recently_evicted_pages == 0'
# How many are recent wavers a little, for the kernel adds up late how many pages the group has.
check "the table has it in its columns" test "$(said evicted-table | awk '
	NR == 1 { print $3, $8, $9 }
	NR == 2 { print "[" $3 "," $8 "]", ($9 > 0 && $9 < $8) }')" = "CACHED EVICTED RECENT"$'\n'"$(jq -c '.[:2]' <<<"$counts") 1"
# Recent is a word of the group's, which is no more.
check "with the group gone as much was evicted, and none of it lately: $(said forgotten | jq -c '.files[0] |
	[.cached_pages, .evicted_pages, .recently_evicted_pages]')" is forgotten --argjson counts "$counts" '.[0].files[0] |
	.evicted_pages >= $counts[1] and .cached_pages + .evicted_pages <= .pages and .recently_evicted_pages == 0'
for name in evicted evicted-table forgotten; do check "$name: it ends well" ended $name 0; done

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
check "as the schema has them" quietly "$root/tests/lib/schema.py" check <(said stall)
check "of both kinds" is stall 'map(.stall.kind) | unique == ["full", "some"]'
check "for people: $(said stall-text)" test -n "$(said stall-text | grep -E ' memory some: more than 50 ms of 1000 ms: [0-9]+ ms of [0-9]+ ms, avg10 [0-9.]+%$')"
check "with what violated the trigger" is stall 'all(.[].stall; .stalled_us > 0 and .stalled_us <= .over_us and .total_us >= .stalled_us)'
check "of the group that does not stall nothing is told meanwhile" ended calm 'waits 0'

echo "# what cannot be"
check "a group that is not there" ended none 2
check "is named" test -n "$(said none | grep 'cgroup/.*none: there is no such control group$')"
check "nor is it waited for" ended none-stall 2
check "one group and all" ended both 1
finish
