#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt thorough cost=85
#
# An acting vmwss-balloond on Linux guests, one with the agent and swap, one with its balloon's statistics only: it takes cold
# memory, gives it back after kill -9 and beside a libvirtd that is started anew, and gives all at once when a load grows.

libs=(libvirtd guests linux_guest vmwssd balloond)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

assigned=400
# The guests' load grows when their disk does: grow MIB PIECE puts so many MiB more to use, a PIECE each half second.
cat >"$guests_dir/grow" <<-'END'
	#!/bin/busybox sh
	was=$(cat /sys/block/vda/size)
	while [ "$(cat /sys/block/vda/size)" = "$was" ]; do sleep 0.2; done
	echo "the load grows"
	left=$1
	while [ "$left" -gt 0 ]; do
		toucher --total "${2}M" --hot "${2}M" >/tmp/piece.$left &
		left=$((left - $2))
		sleep 0.5
	done
	until [ "$(cat /tmp/piece.* | grep -c ready)" = $(($1 / $2)) ]; do sleep 0.2; done
	echo "the load has grown"
END
# linux NAME WORDS...: a guest with a cold heap.
linux() {
	truncate -s 1M "$guests_dir/$1.disk"
	linux_create "$1" "$assigned" "psi=1 toucher.total=100M toucher.hot=8M ${*:2}" "$(linux_disk "$guests_dir/$1.disk" vda)" &&
		embed_virsh dommemstat "$1" --period 1 --live >/dev/null
}
load_grows() { embed_virsh blockresize "$1" vda 2M >/dev/null; }

vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 40%' 'guest-budget = 20%' 'agents = yes'
export BALLOON=virtio RAM_XML="$memfd"
if ! libvirtd_begin || ! linux_image "$agent_program" "$guests_dir/grow" ||
	! linux agent "guest.zram=256M guest.run=vmwss-guest,serve guest.run=grow,200,200" ||
	! NO_AGENT=yes linux driver "guest.run=grow,160,8"; then
	fail "libvirtd and the guests start"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"
for name in agent driver; do check "$name is ready" linux_says $name 'vmwss-toucher ready' 400; done

echo "# cold memory"
# or_why NAME COMMAND...: eventually; else what the controller thinks of it.
or_why() {
	eventually "${@:2}" && return
	"$vmwss" balloon log "$1" --last 6 --journal "$journal" | sed 's/^/# /'
	return 1
}
# begin INTERVAL
begin() {
	balloond_conf 'act = yes' "interval = $1"
	controller_begin
}
begin 1
for name in agent driver; do
	check "$name gives" or_why $name decided "name = '$name' AND action = 'shrink' AND acted AND actual_5s < $((390 << 20))"
done

echo "# kill -9, and a libvirtd that is started anew"
controller_end KILL
for name in agent driver; do check "$name keeps what it has" is $name -lt $assigned; done
begin 1
for name in agent driver; do
	check "the next one adopts $name" eventually controller_logged "domain $name: its balloon is adopted, it had $assigned MiB"
done
libvirtd_stop
check "it notices that libvirtd is gone" eventually controller_logged 'nothing is decided: '
libvirtd_begin
check "and decides again" eventually controller_logged 'deciding again'
check "SIGTERM: exit 0" controller_end TERM
for name in agent driver; do check "$name has what it had" eventually is $name -eq $assigned; done

echo "# loads grow"
watching=()
begin 1
check "agent gives again, and with its swap more" or_why agent is agent -le 345
check "driver gives again" or_why driver is driver -le 381
controller_end KILL
begin 10
adopted_twice() { (($(grep -c "domain $1: its balloon is adopted" "$controller_log") >= 2)); }
for name in agent driver; do
	check "$name is adopted" eventually adopted_twice $name
done
# full NAME: since its load grew it was given all that it is assigned: in a panic, or, where it grows slowly, before that, as its
# floor has reached it.
full_size="time_s > $EPOCHREALTIME AND acted AND (action = 'full' OR (action = 'grow' AND target_bytes = assigned_bytes))"
full() { decided "name = '$1' AND $full_size"; }
# watch NAME: prints how long after the first PSI stall that vmwssd kept, and after the first statistics with next to nothing
# left, its balloon was set: to a tenth of a second or two.
watch() {
	local i stall='' low='' usable
	for ((i = 0; i < 600; i++)); do
		[[ -n $stall ]] || stall=$(sql "SELECT time_ms / 1000.0 FROM event e JOIN guest g ON g.id = e.guest_id
			WHERE kind = 'stall' AND name = '$1'")
		usable=$(embed_virsh dommemstat "$1" | awk '$1 == "usable" { print $2 }')
		[[ -n $low ]] || ((usable >= 64 * 1024)) || low=$EPOCHREALTIME
		! full "$1" || break
		sleep 0.1
	done
	awk -v stall="$stall" -v low="$low" -v full="$(journal "SELECT time_s FROM decision WHERE name = '$1' AND $full_size LIMIT 1")" \
		-v name="$1" 'BEGIN { if (stall) printf "# %s: full size %.1f s after its PSI stall\n", name, full - stall
			if (low) printf "# %s: full size %.1f s after 64 MiB were available\n", name, full - low }'
}
for name in agent driver; do
	watch $name &
	watching+=($!)
done
for name in agent driver; do load_grows $name; done
for name in agent driver; do
	check "$name gets all at once" or_why $name full $name
	check "and has it" eventually is $name -eq $assigned
	check "its load has grown" linux_says $name 'the load has grown' 300
	check "no OOM killer" test -z "$(grep -E 'Out of memory|oom-kill|Kernel panic' "$embed_dir/$name.out")"
	"$vmwss" balloon log $name --journal "$journal" --last 3 | sed 's/^/# /'
done

wait "${watching[@]}"

echo "# the end"
configured() { [[ $(embed_virsh dumpxml "$1" | xmllint --xpath 'string(//currentMemory)' -) == $((assigned * 1024)) ]]; }
check "SIGTERM: exit 0" controller_end TERM
for name in agent driver; do
	check "$name has what is configured" eventually is $name -eq $assigned
	check "and so libvirt says" eventually configured $name
done
check "no balloon is left to restore" test "$(journal 'SELECT count(*) FROM balloon WHERE before_bytes > 0 AND restored_s = 0')" = 0
check "SIGTERM ends vmwssd" vmwssd_end TERM
finish
