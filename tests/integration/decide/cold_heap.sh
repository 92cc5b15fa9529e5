#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=37
# shellcheck disable=SC2016 # jq has variables of its own
#
# A real Linux guest without swap and with a large cold heap: its working set is small, and what it uses is not. Given what
# vmwss advise and vmwss-virsh-balloon leave it, it has its reserve; given its working set and headroom, its OOM killer runs.

# It publishes later than it starts.
libvirtd_rw_perms=0777
libs=(libvirtd guests linux_guest vmwssd published)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

heap=200
vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 40%' 'guest-budget = 40%' 'agents = yes' 'publish = no'
if ! libvirtd_begin || ! linux_image "$agent_program"; then
	fail "libvirtd starts"
	finish
	exit
fi
BALLOON=virtio RAM_XML=$memfd linux_create cold 512 "psi=1 guest.run=vmwss-guest,serve toucher.total=${heap}M toucher.hot=8M" || fail "it starts"
vmwssd_begin --config "$guests_dir/conf"
check "the heap is touched once" linux_says cold 'vmwss-toucher ready' 400
embed_virsh dommemstat cold --period 1 --live >/dev/null

of() { "$vmwss" advise cold --database "$db" --window 2,4 --connect "$embed_uri" --json | jq -ce "$1"; }
check "its agent tells" eventually quietly of '.statistics == "agent" and .floor == "swapless" and .up_s < 3600'
check "its working set is small" eventually quietly of ".windows[2].wss_high_bytes < $heap * 1048576 / 2"
# A guest is published again after a minute at the earliest: so not before all windows are answered.
sed -i 's/^publish.*/publish = yes/' "$guests_dir/conf"
kill -HUP "$daemon"
published() { element cold | grep -q high-4s; }
check "it is published" eventually published
"$vmwss" advise cold --database "$db" --window 2,4 --connect "$embed_uri" --explain | sed 's/^/# /'
check "but the floor has the heap in it, and the reserve" quietly of \
	".floor_bytes >= ($heap + 128) * 1048576 and .floor_bytes < 448 * 1048576 and .wanted_bytes >= .floor_bytes"

# Without vmwss: the floor is what libvirt says.
# balloon [OPTION...]
balloon() { PATH=/usr/sbin:/usr/bin:/sbin:/bin "$root/host/virsh/vmwss-virsh-balloon" -c "$embed_uri" -w 4s "$@" cold; }
kib() { embed_virsh domstats --balloon cold | sed -n "s/^ *balloon.$1=//p"; }
oom='Out of memory|oom-kill|Kernel panic'
killed() { grep -qE "$oom" "$embed_dir/cold.out"; }
driver_tells() { kib usable | grep -q '^[1-9]'; }
check "so does its balloon driver" eventually driver_tells

# Another job of the domain, as vmwssd's while it publishes, keeps libvirt from asking QEMU: what the guest uses is then not
# taken for unknown. A stopped QEMU holds the job of who asks it.
qemu=$(</run/libvirt/qemu/cold.pid)
# If this asks before the job has begun, it holds the domain itself, and waits for QEMU: libvirt goes on waiting without it.
is_held() { ! timeout 5 virsh -q -c "$embed_uri" domstats --nowait --balloon cold | grep -q balloon.rss; }
hold() {
	kill -STOP "$qemu"
	embed_virsh dommemstat cold >/dev/null &
	job=$!
	eventually is_held
}
let_go() {
	kill -CONT "$qemu"
	wait "$job"
}
# It asks again for a second, which a busy machine may let pass: then once more.
waits_for_a_short_one() {
	local i later found
	for ((i = 0; i < 5; i++)); do
		((i == 0)) || hold || return 1
		found=0
		(sleep 0.5 && exec kill -CONT "$qemu") &
		later=$!
		balloon --headroom 25 --dry-run | grep "limited by its floor, by its balloon driver" >/dev/null && found=1
		wait "$later"
		let_go
		((found == 0)) || return 0
	done
	return 1
}
check "another job holds it" hold
expect_exit "vmwss-virsh-balloon: it keeps what it has" 2 "keeps 512.0 MiB for another job of libvirt" balloon --headroom 25
check "or waits for a short one" waits_for_a_short_one
told=$(balloon --headroom 25)
echo "# $told"
check "vmwss-virsh-balloon leaves it that" test -n "$(grep -E 'goes from 512.0 MiB to (3[2-9]|4[0-4])[0-9]\.0 MiB .* limited by its floor, by its balloon driver' <<<"$told")"
shrunk() { (($(kib current) < 448 * 1024 && $(kib current) >= (heap + 128) * 1024)); }
check "the guest gives the rest" eventually shrunk
echo "# current $(kib current) KiB, usable $(kib usable)"
check "and has its reserve, or nearly" holds "$(kib usable) >= 100 * 1024"
check "and lives" test -z "$(grep -E "$oom" "$embed_dir/cold.out")"

echo "# its working set and headroom"
balloon --headroom 25 --force | sed 's/^/# /'
check "end in its OOM killer" eventually killed
grep -m 2 -E "$oom" "$embed_dir/cold.out" | sed 's/^/# /'
check "SIGTERM: exit 0" vmwssd_end TERM
finish
