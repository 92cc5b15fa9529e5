#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle thorough cost=60
#
# In the lab, with page_idle: what control groups touch. A KVM guest's RAM against the payload's own list of pages, a program
# that touches a part of its heap, shared memory that is read and that is not; by a census and by samples; what it does not
# disturb, what it refuses, and that it leaves nothing.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

cgroups=/sys/fs/cgroup
echo +memory >$cgroups/cgroup.subtree_control
mkdir $cgroups/guest.scope $cgroups/user.slice
echo +memory >$cgroups/user.slice/cgroup.subtree_control
mkdir $cgroups/user.slice/heap $cgroups/user.slice/shared

# in_group GROUP COMMAND...
in_group() {
	local status=0
	echo $$ >"$cgroups/$1/cgroup.procs"
	"${@:2}" || status=$?
	echo $$ >$cgroups/cgroup.procs
	return $status
}
# Maps 64 MiB, writes to each page, and from then on touches the first 24.
heap() {
	python3 -c '
import mmap, sys
heap = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE)
heap.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(0, 64 << 20, 4096):
    heap[page] = 1
print("ready", flush=True)
while True:
    for page in range(0, 24 << 20, 4096):
        heap[page] = 1
' >"$guests_dir/heap" &
	pids+=($!)
	check "the heap is there" settles grep -q ready "$guests_dir/heap"
}
# 12 MiB of tmpfs, of which 4 are read again and again.
shared() {
	dd if=/dev/zero of="$guests_dir/shared" bs=1M count=12 status=none
	(while :; do dd if="$guests_dir/shared" of=/dev/null bs=1M count=4 status=none; done) &
	pids+=($!)
}
# groups OPTION...: sets json.
groups_json() {
	json=$("$vmwss" cgroups --json "$@" 2>"$guests_dir/messages") && return
	cat "$guests_dir/messages" >&2
	json=null
	return 1
}
# of GROUP FILTER: of the group with that path.
of() { jq ".groups[] | select(.path == \"$1\") | $2" <<<"$json"; }
near() { holds "($2) >= ($3) && ($2) <= ($3) + ($4)" || { echo "# $1: $2, not $3 to $3 + $4"; false; }; }
# holds_truth GROUP KIND TRUTH: within twice the width of the 95 % interval, as check_panel has it: one in twenty of the
# intervals themselves misses.
holds_truth() {
	local low high at
	low=$(of "$1" ".kinds[\"$2\"].touched_low_bytes")
	high=$(of "$1" ".kinds[\"$2\"].touched_high_bytes")
	at=$(of "$1" ".kinds[\"$2\"].touched_bytes")
	echo "# $1 $2: $at [$low, $high] of $3"
	holds "2 * $low - $at <= $3 && 2 * $high - $at >= $3"
}

params="total=96M hot=16M"
t=$(truth "$params")
in_group guest.scope start_payload web kvm "$params" -m 128 || finish
in_group user.slice/heap heap
in_group user.slice/shared shared

check "a census" groups_json -w 2 --census
echo "# $(jq -c '.groups[] | [.path, .touched_bytes, .bytes, .flags]' <<<"$json" | paste -sd' ')"
check "the guest is named" test '"web"' = "$(of /guest.scope .guests)"
check "its RAM: what it touches, to 1 %" near guest "$(of /guest.scope '.kinds["guest-ram"].touched_bytes')" "0.99 * $t" "0.02 * $t"
check "its RAM: all that is resident" near resident "$(of /guest.scope '.kinds["guest-ram"].bytes')" "96 * 1048576" "24 * 1048576"
check "QEMU's own memory is not in it" holds "$(of /guest.scope '.kinds.anon.bytes') > 1048576"
check "a program's heap: 24 of 64 MiB" near heap "$(of /user.slice/heap '.kinds.anon.touched_bytes')" "24 * 1048576" "6 * 1048576"
check "a program's heap: all of it" near heap "$(of /user.slice/heap '.kinds.anon.bytes')" "64 * 1048576" "16 * 1048576"
check "tmpfs: 4 of 12 MiB" near shmem "$(of /user.slice/shared '.kinds.shmem.touched_bytes')" "4 * 1048576" "65536"
check "tmpfs: all of it" near shmem "$(of /user.slice/shared '.kinds.shmem.bytes')" "12 * 1048576" "65536"
check "little could not be seen" jq -e 'all(.groups[]; .unmeasurable_bytes * 20 <= .bytes + 4194304)' <<<"$json"

check "by samples" groups_json -w 2 -n 1000
check "by samples: the guest" holds_truth /guest.scope guest-ram "$t"
check "by samples: the heap" holds_truth /user.slice/heap anon 25165824
check "by samples: tmpfs" holds_truth /user.slice/shared shmem 4194304
check "by samples: with a margin" holds "$(of /guest.scope '.touched_high_bytes - .touched_low_bytes') > 1048576"

check "of one group, and those below" groups_json /user.slice -w 0.5 --census
check "no other group" jq -e '[.groups[].path] - ["/user.slice", "/user.slice/heap", "/user.slice/shared"] == []' <<<"$json"
check "both below" jq -e '[.groups[].path] | contains(["/user.slice/heap", "/user.slice/shared"])' <<<"$json"
check "the most first" jq -e '[.groups[].touched_bytes] == ([.groups[].touched_bytes] | sort | reverse)' <<<"$json"
table=$("$vmwss" cgroups -w 0.5 --census --kinds 2>&1)
echo "$table"
check "a table" grep -qE "^web .* guest-ram .*/guest.scope" <<<"$table"
csv=$("$vmwss" cgroups -w 0.5 --top 1 --csv)
check "CSV: a line for each kind and one for all" test 6 = "$(wc -l <<<"$csv")"

# A guest that stands still touches nothing, whatever its group does.
kill -STOP "$pid"
check "a guest that stands still" groups_json /guest.scope -w 1 --census
check "none of its RAM" holds "$(of /guest.scope '.touched_bytes') < 262144"
kill -CONT "$pid"

"$vmwss" measure --pid "$pid" -w 4 -m idle >/dev/null 2>&1 &
measuring=$!
is_locked() { [[ -e /run/vmwss/guest-$pid.lock ]]; }
settles is_locked
expect_exit "another measures the guest: refused" 2 "$pid" "$vmwss" cgroups -w 0.1
check "or waited for" "$vmwss" cgroups -w 0.1 --wait 30
wait $measuring
expect_exit "no such group" 2 "/no.such" "$vmwss" cgroups /no.such
expect_exit "no path" 1 "machine.slice" "$vmwss" cgroups machine.slice
check "nothing is left" test -z "$(ls /run/vmwss)"
finish
