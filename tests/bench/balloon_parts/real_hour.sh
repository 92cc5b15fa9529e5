# shellcheck shell=bash disable=SC2034,SC2154 # shared with the script that sources this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An hour of three guests whose loads rise and fall in turn, in a shorter form: see tests/bench/balloon --help. Times of the
# controller are shorter in the same proportion. The host is as large as is said: what the controller reads as /proc/meminfo is a
# file, in this mount namespace, and its free memory is what the guests' resident memory leaves of it.

names=(one two three)
host_mib=1400 own_mib=100
# The load of each is up for more than a quarter of a period; two periods are the hour.
period=$((hour / 2))
up=$((period * 3 / 10))

# A file without blocks: what is read of it fills the page cache all the same.
hour_disk() {
	mkdir -p "$guests_dir/tree"
	truncate -s 400M "$guests_dir/tree/file"
	truncate -s 450M "$guests_dir/$1.disk"
	mke2fs -q -t ext4 -d "$guests_dir/tree" "$guests_dir/$1.disk"
}
cat >"$guests_dir/fill" <<-'END'
	#!/bin/busybox sh
	cat /disk/file >/dev/null
	echo "filled"
END
chmod +x "$guests_dir/fill"
hour_guest() {
	local i=$1 name=${names[$1]} serve=guest.run=vmwss-guest,serve no_agent=''
	hour_disk "$name" || return
	[[ $statistics == agent ]] || serve='' no_agent=yes
	NO_AGENT=$no_agent QEMU_ARGS="-plugin $build/tests/oracle/count-plugin.so,map=$guests_dir/$name.count" linux_create "$name" "$assigned" \
		"psi=1 guest.toucher=no guest.mount=vda $serve guest.run=fill guest.run=counted,heap,100,30,112,$period,$((i * period / 3)),$up" \
		"$(linux_disk "$guests_dir/$name.disk" vda)" || return
	[[ $statistics == none ]] || embed_virsh dommemstat "$name" --period 1 --live >/dev/null
}
# scaled S: of an hour's seconds.
scaled() { awk -v s="$1" -v hour="$hour" 'BEGIN { printf "%.2f", s * hour / 3600 }'; }
hour_conf() {
	balloond_conf "act = $1" 'interval = 1' 'window = 4,20,60' "shrink-after = $(scaled 600)" "min-uptime = $(scaled 600)" 'prove-after = 2' \
		"pause-after-panic = $(scaled 600)" "pause-after-growth = $(scaled 3600)"
}

linux_image "$agent_program" "$guests_dir/counted" "$guests_dir/fill" >/dev/null || die "the guests' image"
vmwssd_conf 'window = 4,20,60' 'samples = 1000' 'budget = 60%' 'guest-budget = 20%' 'agents = yes'
for i in 0 1 2; do hour_guest $i 2>"$guests_dir/messages" || die "guest ${names[$i]}"; done
for name in "${names[@]}"; do
	for said in 'vmwss-work ready' '^filled'; do
		linux_says "$name" "$said" 300 2>"$guests_dir/messages" || die "guest $name works"
	done
done
echo "# all at work after $SECONDS s"
: >"$guests_dir/meminfo"
chmod 644 "$guests_dir/meminfo"
echo begin >"$guests_dir/phase"
real hour --host "$host_mib" --own "$own_mib" --journal "$journal" --hour "$hour" "${names[@]}" &
recorder=$!
settles test -s "$guests_dir/meminfo" || die "the recorder begins"
# Only where nobody else sees it.
[[ -n ${VMWSS_LIBVIRTD_NAMESPACE:-} ]] || die "a mount namespace of our own"
mount --bind "$guests_dir/meminfo" /proc/meminfo || die "a host of its own"
vmwssd_begin --config "$guests_dir/conf"
# phase NAME ACT SECONDS
phase() {
	hour_conf "$2"
	controller_begin
	echo "$1" >"$guests_dir/phase"
	sleep "$3"
	kill -0 "$controller" || die "vmwss-balloond goes on"
	echo "end of $1" >"$guests_dir/phase"
	controller_end TERM || fail "vmwss-balloond ends with status 0"
}
# At least what the longest window needs.
phase dry no "$((period > 70 ? period : 70))"
# --most is when it is to end, at the latest.
left=$((most - SECONDS - 10))
((left >= period)) || die "the machine is slow: $left s are left"
((left >= hour)) || echo "# the machine is slow: $left s are left for the hour's $hour"
phase acting yes "$((left < hour ? left : hour))"
echo end >"$guests_dir/phase"
wait "$recorder" || die "not recorded"
# The host could not hold all that was taken.
for name in "${names[@]}"; do echo "# $name has $(actual "$name") MiB at the end"; done
grep -E '^<[0-4]>' "$controller_log" | sort | uniq -c | sort -rn | head -8 | sed 's/^/# log: /'
vmwssd_end TERM
umount /proc/meminfo
finish
