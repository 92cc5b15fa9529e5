#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt thorough cost=150
#
# vmwss-balloond on Linux guests with a virtio-mem device: without virtio-mem = yes the balloon alone is set; a dry run changes
# nothing; acting, blocks are unplugged, and plugged again at the end, after kill -9, by vmwss balloon release, and at once when a
# load grows. Migrated, a guest keeps what it has, is adopted when it is back, and gets back what it had. Of a guest that has not
# plugged what is requested the balloon alone is used, and one that unplugs nothing is inhibited, and asked for nothing any more.

libs=(libvirtd guests linux_guest vmwssd balloond migrate)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

end_all() {
	[[ -z $controller ]] || kill -KILL "$controller" 2>/dev/null
	[[ -z $daemon ]] || kill -KILL "$daemon" 2>/dev/null
	end_there
	libvirtd_end
	end_guests
}

# 512 MiB of the device are requested, and 128 kept in store.
base=256 requested=512 size=640 assigned=$((base + requested))
cat >"$guests_dir/grow" <<-'END'
	#!/bin/busybox sh
	was=$(cat /sys/block/vda/size)
	while [ "$(cat /sys/block/vda/size)" = "$was" ]; do sleep 0.2; done
	echo "the load grows"
	# By less in two seconds, in which it is answered, than the working reserve of 128 MiB: the guest has no swap, and what is
	# unplugged does not come back as a balloon does (deflate-on-oom).
	for piece in 1 2 3 4 5 6 7 8; do
		toucher --total 50M --hot 50M >/tmp/piece.$piece &
		sleep 1
	done
	until [ "$(cat /tmp/piece.* | grep -c ready)" = 8 ]; do sleep 0.2; done
	echo "the load has grown"
END
export BALLOON=virtio
# linux NAME WORDS...: a guest with a cold heap.
linux() {
	truncate -s 1M "$guests_dir/$1.disk"
	RAM_XML="<maxMemory slots='2' unit='MiB'>2048</maxMemory>
		<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>
		<cpu><numa><cell id='0' cpus='0' memory='$base' unit='MiB'/></numa></cpu>" \
		linux_create "$1" $((base + size)) "psi=1 toucher.total=100M toucher.hot=8M ${*:2}" \
		"$(linux_disk "$guests_dir/$1.disk" vda)<memory model='virtio-mem'><target><size unit='MiB'>$size</size><node>0</node>
			<block unit='KiB'>2048</block><requested unit='MiB'>$requested</requested></target></memory>" &&
		embed_virsh dommemstat "$1" --period 1 --live >/dev/null
}
# of NAME requested|current: in MiB.
of() { echo $(($(embed_virsh dumpxml "$1" | xmllint --xpath "string(//memory/target/$2)" -) / 1024)); }
is_of() { test "$(of "$1" "$2")" "$3" "$4"; }
# balloon NAME OP MIB: what its balloon leaves it of the memory that it was started with.
balloon() { test "$(actual "$1")" "$2" "$3"; }
or_why() {
	eventually "${@:2}" && return
	"$vmwss" balloon log "$1" --last 6 --journal "$journal" | sed 's/^/# /'
	return 1
}
# begin ACT [LINE...]
begin() {
	balloond_conf "act = $1" 'interval = 1' "${@:2}"
	controller_begin
}
restored() { is_of "$1" requested -eq $requested && is_of "$1" current -eq $requested && balloon "$1" -eq $base; }

vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 40%' 'guest-budget = 20%' 'agents = yes'
if ! libvirtd_begin || ! linux_image "$agent_program" "$guests_dir/grow" ||
	! linux moves "memhp_default_state=online_movable guest.run=vmwss-guest,serve guest.run=grow"; then
	fail "libvirtd and the guest start"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"
check "the guest is ready" linux_says moves 'vmwss-toucher ready' 400
check "all that is requested is plugged" eventually is_of moves current -eq $requested

echo "# it is off by default"
begin yes
check "the balloon gives" or_why moves balloon moves -lt $((base - 20))
check "nothing else is requested" is_of moves requested -eq $requested
check "SIGTERM: exit 0" controller_end TERM
check "it has what it had" eventually restored moves

echo "# a dry run"
begin no 'virtio-mem = yes'
check "it would unplug" or_why moves decided "name = 'moves' AND action = 'shrink' AND NOT acted AND plug_bytes < $requested << 20"
check "the log says by what" test -n "$("$vmwss" balloon log moves --last 50 --journal "$journal" |
	grep -E "would shrink .*of virtio-mem [0-9]+ of $requested MiB are requested")"
check "SIGTERM: exit 0" controller_end TERM
check "nothing changed" restored moves

echo "# acting"
begin yes 'virtio-mem = yes'
check "blocks are unplugged" or_why moves is_of moves current -lt $((requested - 100))
check "the balloon is not needed" balloon moves -eq $base
check "the journal follows both" eventually decided "name = 'moves' AND acted AND plug_bytes < $requested << 20 AND actual_5s < $assigned << 20"
check "why" test -n "$("$vmwss" balloon why moves --journal "$journal" | grep -E 'of that requested of virtio-mem +[0-9.]+ MiB')"
check "status" test -n "$("$vmwss" balloon status --journal "$journal" | grep moves)"
check "the exporter" test -n "$("$build/host/vmwss-exporter" --print --database "$db" --journal "$journal" |
	grep '^vmwss_balloon_virtio_mem_bytes{.*moves')"

echo "# kill -9"
controller_end KILL
check "it keeps what it has" is_of moves requested -lt $((requested - 100))
check "the journal knows what was requested" test "$(journal "SELECT plug_bytes >> 20 FROM balloon WHERE name = 'moves'")" = $requested
check "and so does the domain" test -n "$(embed_virsh dumpxml moves | grep -E "plug_bytes=.$((requested << 20))\W")"
check "release" "$vmwss" balloon release moves -c qemu:///system --journal "$journal"
check "it has what it had" eventually restored moves
begin yes 'virtio-mem = yes'
check "it is taken from again" or_why moves is_of moves current -lt $((requested - 100))
controller_end KILL
# A daemon started without virtio-mem gives back all the same.
begin yes
check "the next one adopts it" eventually controller_logged "domain moves: its balloon is adopted, it had $assigned MiB"
check "SIGTERM: exit 0" controller_end TERM
check "it has what it had" eventually restored moves

echo "# migrated"
there_domain() { virsh -q -c "$there_uri" dumpxml moves | xmllint --xpath "string(//memory/target/$1)" -; }
begin yes 'virtio-mem = yes'
check "it gives once more" or_why moves is_of moves current -lt $((requested - 100))
# The disk is the same file for both.
if begin_there && migrate moves "$embed_uri" "$there_uri" --unsafe; then
	check "there it keeps what it has" holds "$(there_domain current) < ($requested - 100) * 1024"
	check "vmwss-balloond goes on" kill -0 "$controller"
	check "it comes back" migrate moves "$there_uri" "$embed_uri" --unsafe
	check "it is adopted" eventually controller_logged "domain moves: its balloon is adopted, it had $assigned MiB"
else
	fail "a second libvirtd, and the guest is migrated there"
fi
check "SIGTERM: exit 0" controller_end TERM
check "it has what it had" eventually restored moves

echo "# its load grows"
begin yes 'virtio-mem = yes'
check "it gives again" or_why moves is_of moves current -lt $((requested - 100))
embed_virsh blockresize moves vda 2M >/dev/null
# In a panic, or as its floor is above all that it has by then.
full() { decided "name = 'moves' AND acted AND (action = 'full' OR action = 'grow') AND plug_bytes = $requested << 20"; }
check "all is requested again" or_why moves full
check "and never more" eventually is_of moves current -eq $requested
check "its load has grown" linux_says moves 'the load has grown' 300
check "no OOM killer" test -z "$(grep -E 'Out of memory|oom-kill|Kernel panic' "$embed_dir/moves.out")"
check "SIGTERM: exit 0" controller_end TERM
check "it has what it had" eventually restored moves
embed_virsh destroy moves

echo "# a guest without a driver for it"
base=600 # its balloon takes from that alone
check "it starts" linux without "module_blacklist=virtio_mem"
check "it is ready" linux_says without 'vmwss-toucher ready' 400
begin yes 'virtio-mem = yes'
check "its balloon gives" or_why without balloon without -lt $((base - 20))
check "and it is said why" eventually decided "name = 'without' AND why LIKE '%virtio-mem is left alone: the guest has not plugged%'"
check "SIGTERM: exit 0" controller_end TERM
check "its balloon gives back" eventually balloon without -eq $base
check "what is requested is as before" is_of without requested -eq $requested
embed_virsh destroy without

echo "# a guest that unplugs nothing"
base=256
check "it starts" linux refuses "memhp_default_state=online_movable virtio_mem.unplug_online=0"
check "it is ready" linux_says refuses 'vmwss-toucher ready' 400
check "all that is requested is plugged" eventually is_of refuses current -eq $requested
begin yes 'virtio-mem = yes'
check "it is asked" or_why refuses decided "name = 'refuses' AND acted AND plug_bytes < $requested << 20"
check "it is inhibited" or_why refuses decided "name = 'refuses' AND hold = 'inhibited' AND why LIKE '%unplugs no block of its virtio-mem%'"
check "all is requested again" eventually is_of refuses requested -eq $requested
check "it never unplugged" is_of refuses current -eq $requested
asked=$(journal "SELECT count(*) FROM decision WHERE name = 'refuses' AND acted AND action = 'shrink'")
sleep 20
check "and is asked no more after $asked times" test \
	"$(journal "SELECT count(*) FROM decision WHERE name = 'refuses' AND acted AND action = 'shrink'")" = "$asked"
check "SIGTERM: exit 0" controller_end TERM
check "it has what it had" eventually restored refuses
check "SIGTERM ends vmwssd" vmwssd_end TERM
finish
