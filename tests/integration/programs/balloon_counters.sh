#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt thorough cost=420 limit=3000
#
# The six statistics that a balloon driver has since Linux 6.12: what QEMU calls them, and that a squeeze in a real guest without an
# agent is seen by them within 10 s, and none in quiet minutes. QEMU has them since 9.1; where it is older, Debian 13's is put
# in its place, in this script's own mount namespace.

# shellcheck source=../../lib/debian.sh
. "$(dirname "$0")/../../lib/debian.sh"
DEBIAN_MIRROR=$(debian_mirror)
export DEBIAN_MIRROR
libs=(libvirtd guests linux_guest vmwssd balloond)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

rounds=${COUNTER_ROUNDS:-3} quiet_s=${COUNTER_QUIET_S:-60}

# newer_qemu: nothing else of that Debian is used, but what its QEMU is linked with.
newer_qemu() {
	local tree=$guests_dir/trixie debian_suite=trixie
	debian_tree "$tree" && debian_inside "$tree" sh -c \
		'apt-get update -qq && apt-get install -y -qq --no-install-recommends qemu-system-x86' >"$tree.log" 2>&1 || return 1
	cat >"$guests_dir/qemu" <<-END
		#!/bin/sh
		exec unshare --mount sh -c 'mount --bind "$tree/usr" /usr && exec /usr/bin/qemu-system-x86_64 "\$@"' qemu "\$@"
	END
	chmod 755 "$guests_dir/qemu" && mount --bind "$guests_dir/qemu" /usr/bin/qemu-system-x86_64
}
qemu_version() { qemu-system-x86_64 --version | sed -n 's/^QEMU emulator version \([0-9]*\.[0-9]*\).*/\1/p'; }
# A newer QEMU has a mount namespace of its own, into which qemus_end does not look.
end_here() {
	local pid
	pid=$(embed_pid guest 2>/dev/null) && kill -KILL "$pid"
	end_all
	umount /usr/bin/qemu-system-x86_64 2>/dev/null
}
trap end_here EXIT

# Each time its disk grows, for 20 s: 150 MiB are taken and kept, and a file is read that is larger than what is left.
cat >"$guests_dir/squeeze" <<-'END'
	#!/bin/busybox sh
	mkdir -p /big
	mount -t tmpfs -o size=100% big /big
	was=$(cat /sys/block/vda/size)
	now() { cut -d. -f1 /proc/uptime; }
	stalls() { awk '/allocstall/ { n += $2 } END { print n " allocations have waited" }' /proc/vmstat; }
	while :; do
		while [ "$(cat /sys/block/vda/size)" = "$was" ]; do sleep 0.2; done
		was=$(cat /sys/block/vda/size)
		echo "squeezed: $(stalls)"
		end=$(($(now) + 20))
		for i in 1 2 3 4 5 6; do dd if=/dev/zero of=/big/$i bs=1M count=25 2>/dev/null & done
		while [ "$(now)" -lt "$end" ]; do cat /dev/vdb >/dev/null; done
		rm -f /big/*
		echo "released: $(stalls)"
	done
END
truncate -s 1M "$guests_dir/signs.disk"
truncate -s 192M "$guests_dir/file.disk"

vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 40%' 'guest-budget = 20%'
export BALLOON=virtio NO_AGENT=yes RAM_XML="<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"
if dpkg --compare-versions "$(qemu_version)" lt 9.1 && ! newer_qemu; then
	fail "a newer QEMU can be had" "$(tail -n 3 "$guests_dir/trixie.log")"
	finish
	exit
fi
echo "# QEMU $(qemu_version), Linux 6.12 as the guest"
if ! libvirtd_begin || ! linux_image --kernel 6.12 "$guests_dir/squeeze" ||
	! linux_create guest 512 "guest.run=squeeze toucher.total=240M toucher.hot=8M" \
		"$(linux_disk "$guests_dir/signs.disk" vda)$(linux_disk "$guests_dir/file.disk" vdb)"; then
	fail "libvirtd and the guest start"
	finish
	exit
fi
embed_virsh dommemstat guest --period 5 --live
vmwssd_begin --config "$guests_dir/conf"
check "the guest is ready" linux_says guest 'vmwss-toucher ready' 400

echo "# their names"
statistics() {
	embed_virsh qemu-monitor-command guest \
		'{"execute":"qom-get","arguments":{"path":"/machine/peripheral/balloon0","property":"guest-stats"}}'
}
# reported NAME: it is there, and no 2^64 - 1, which is a counter that the driver does not report.
reported() { statistics | jq -e --arg name "$1" '.return.stats[$name] | . != null and . >= 0 and . < 1e15' >/dev/null; }
settles reported stat-oom-kills
statistics | jq -c .return.stats | sed 's/^/# /'
mapfile -t names < <(sed -n 's/.*{"\(stat-[a-z-]*\)", offsetof.*/\1/p' "$root/host/guest/domain/balloon_counters.c")
check "six are read" test "${#names[@]}" -eq 6
for name in "${names[@]}"; do check "QEMU has $name" reported "$name"; done

echo "# squeezes, in a dry run: it could not be squeezed again once it has what it needed"
balloond_conf 'act = no' 'interval = 2' 'qemu-statistics = yes'
controller_begin
# latest PATTERN: of the last decision.
# shellcheck disable=SC2053 # a pattern
latest() { [[ $(journal 'SELECT why FROM decision ORDER BY id DESC LIMIT 1') == $1 ]]; }
calm() { latest '?*' && ! latest 'all of it at once*'; }
released() { (($(grep -c released "$embed_dir/guest.out") >= round)); }
round=0 size=1 seen=0 by_counters=0 longest=0
for ((round = 1; round <= rounds; round++)); do
	settles calm
	((round == 1)) || sleep 70 # shortages less than a minute apart are one, in the journal
	since=$EPOCHREALTIME size=$((size + 1))
	embed_virsh blockresize guest vda "${size}M" >/dev/null
	settles released
	first="FROM decision WHERE panic AND time_s > $since ORDER BY id LIMIT 1"
	after=$(journal "SELECT printf('%.1f', time_s - $since) $first")
	why=$(journal "SELECT why $first")
	echo "# round $round: ${after:--} s after the sign: ${why:0:160}"
	awk -v after="${after:-99}" 'BEGIN { exit !(after <= 10) }' && seen=$((seen + 1))
	[[ $why != *"allocations a second wait"* ]] || by_counters=$((by_counters + 1))
	longest=$(printf '%s\n' "${after:-99}" "$longest" | sort -g | tail -n 1)
done
settles calm
grep -E 'squeezed|released' "$embed_dir/guest.out" | sed 's/^/# /'
echo "# seen within 10 s: $seen of $rounds, $by_counters by stalls; the longest took $longest s"
check "each is seen within 10 s" test "$seen" -eq "$rounds"
risen() { statistics | jq -e --arg name "$1" '.return.stats[$name] > 0' >/dev/null; }
for name in stat-alloc-stalls stat-async-scans stat-direct-scans; do check "$name has risen" risen "$name"; done
check "it has not come to the OOM killer" test -z "$(grep -E 'Out of memory|oom-kill' "$embed_dir/guest.out")"

echo "# quiet"
since=$EPOCHREALTIME
sleep "$quiet_s"
check "no panic in $quiet_s s" test "$(journal "SELECT count(*) FROM decision WHERE why LIKE 'all of it at once%' AND time_s > $since")" -eq 0
check "SIGTERM: exit 0" controller_end TERM
check "SIGTERM ends vmwssd" vmwssd_end TERM
finish
