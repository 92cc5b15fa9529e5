#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt thorough cost=120
#
# vmwss shrink on real Linux guests: the knee of one that reads a disk of known size again and again lies where its page cache
# no longer fits, a guest without swap is not driven into its OOM killer, and whatever ends the experiment, the balloon is
# restored: its end, SIGTERM, kill -9.

libs=(libvirtd guests linux_guest)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

trap 'libvirtd_end; end_guests' EXIT

full=400 cache=100 heap=150
cat >"$guests_dir/reader" <<-'END'
	#!/bin/busybox sh
	while :; do cat /dev/vda >/dev/null; echo "the disk is read"; done
END
truncate -s ${cache}M "$guests_dir/disk"
export BALLOON=virtio
agent="psi=1 toucher.total=16M toucher.hot=4M guest.run=vmwss-guest,serve"
if ! libvirtd_begin || ! linux_image "$agent_program" "$guests_dir/reader" ||
	! linux_create reader $full "$agent guest.run=reader" "$(linux_disk "$guests_dir/disk" vda)"; then
	fail "libvirtd and the guest start"
	finish
	exit
fi
kib() { embed_virsh domstats --balloon "$1" | sed -n 's/^ *balloon.current=//p'; }
has() { test "$(kib "$1")" "$2" $(($3 * 1024)); }
oom='Out of memory|oom-kill|Kernel panic'
lives() { ! grep -qE "$oom" "$embed_dir/$1.out"; }
shrink() { "$vmwss" shrink -c "$embed_uri" "$@"; }
# shrink_json ARG...: into $json. An agent that a busy machine keeps from answering ends the experiment: then once more.
shrink_json() {
	local status
	for _ in 1 2 3; do
		status=0
		json=$(shrink --json --yes "$@" 2>"$guests_dir/messages" </dev/null) || status=$?
		if ((status == 0)); then break; fi
		sed 's/^/# /' "$guests_dir/messages"
		jq -e '.end == "silent"' <<<"$json" >/dev/null || return 1
	done
	((status == 0)) || return 1
	jq -r '.steps[] | "# \(.actual_bytes / 1048576 | floor) MiB: available \((.available_bytes // 0) / 1048576 | floor) MiB, psi \(.psi_some
		), refaults \(.refault_bytes_s), swap-in \(.swap_in_bytes_s), \(.complaints | join(","))"' <<<"$json"
}
holds_json() { jq -e "$1" >/dev/null <<<"$json"; }

echo "# an operator's word"
check "the disk is read" linux_says reader 'the disk is read' 400
expect_exit "without it: refused" 2 "domain reader: it may become slow .* --yes" shrink reader </dev/null
expect_exit "no such domain" 2 "nobody" shrink --yes nobody
expect_exit "a floor above what it has" 2 "less than --min" shrink --yes --min 2G reader
expect_exit "no time to settle" 1 "settle" shrink --yes --settle 1 reader
check "nothing was changed" has reader -eq $full

echo "# page cache that is used"
check "the experiment" shrink_json --settle 3 --step 30M --min 64M reader
check "statistics of its agent" holds_json '.statistics == "agent" and .schema == "vmwss.shrink.v1"'
check "it complains, of refaults" holds_json '.end == "complaint" and (.steps[-1].complaints | any(. == "refaults" or . == "psi-some"))'
check "not before" holds_json 'all(.steps[:-1][]; .complaints == [])'
# Beside the cache the guest has its kernel and some small programs.
check "the knee is where $cache MiB of cache no longer fit" holds_json \
	".knee_low_bytes < .knee_high_bytes and .knee_high_bytes > $cache * 1048576 and .knee_low_bytes < ($cache + 130) * 1048576"
check "each step is smaller" holds_json '[.steps[].actual_bytes] | . == (sort | reverse)'
check "it is restored" holds_json ".full_bytes == $full * 1048576 and .restored_bytes >= .full_bytes - 1048576"
check "and has all" eventually has reader -eq $full
check "it lives" lives reader
embed_virsh destroy reader

echo "# no swap, and a heap that is cold"
NO_AGENT=yes linux_create heap $full "toucher.total=${heap}M toucher.hot=8M"
check "its heap is there" linux_says heap 'vmwss-toucher ready' 400
driver_tells() { embed_virsh domstats --balloon heap | grep -q 'balloon.usable=[1-9]'; }
embed_virsh dommemstat heap --period 1 --live >/dev/null
check "its driver reports" eventually driver_tells
check "the experiment" shrink_json --settle 3 --step 60M --min 64M heap
check "statistics of its driver" holds_json '.statistics == "balloon" and .steps[0].psi_some == null'
check "little left is a complaint" holds_json '.end == "complaint" and (.steps[-1].complaints | index("available"))'
check "before the heap does not fit" holds_json ".steps[-1].actual_bytes > $heap * 1048576"
check "it is restored" eventually has heap -eq $full
check "it lives" lives heap

echo "# however it ends"
# begun ARG...: in the background, until memory is taken.
begun() {
	"$vmwss" shrink -c "$embed_uri" --yes --settle 15 --step 60M heap </dev/null >"$guests_dir/out" 2>&1 &
	shrinking=$!
	eventually has heap -lt $full
}
check "it begins" begun
expect_exit "a second one: refused" 2 "balloond" shrink --yes heap
kill -TERM "$shrinking"
wait "$shrinking"
check "SIGTERM: exit 130" test $? = 130
check "with what was found" grep -q interrupted "$guests_dir/out"
check "restored" eventually has heap -eq $full
check "it begins again" begun
kill -KILL "$shrinking"
wait "$shrinking" 2>/dev/null
check "kill -9: restored" eventually has heap -eq $full
check "and again" begun
embed_virsh destroy heap
wait "$shrinking"
check "the guest vanishes: exit 3" test $? = 3
gone() { [[ -z $(ls /run/vmwss 2>/dev/null) ]]; }
check "nothing is left" eventually gone

echo "# a guest that reports nothing"
NO_AGENT=yes linux_create mute $full "toucher.total=10M toucher.hot=8M"
check "it is ready" linux_says mute 'vmwss-toucher ready' 400
embed_virsh dommemstat mute --period 0 --live >/dev/null
expect_exit "refused, with the remedy" 2 "virsh dommemstat mute --period 1" shrink --yes mute
check "it has all" has mute -eq $full
embed_virsh destroy mute
finish
