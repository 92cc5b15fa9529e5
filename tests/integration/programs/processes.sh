#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=67
#
# vmwssd with connect = processes: guests that no libvirt knows, started by hand and as Proxmox VE starts them, are found, told
# apart, measured and let go; and a guest that libvirt knows is libvirt's.

# In a namespace of processes of its own: it would follow every QEMU of this machine, those of other tests too.
[[ -n ${VMWSS_OWN_PROCESSES:-} ]] || VMWSS_OWN_PROCESSES=yes exec unshare --pid --fork --kill-child --mount-proc -- "$BASH" "$0" "$@"
libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

smbios=0b6f1c9e-3a6e-4b8e-9d7c-2f6a1b1c0d5e
shared=(-m 128 -object "memory-backend-memfd,id=mem,size=128M,share=on")
configure() { # CONNECT...
	{
		echo "[vmwssd]"
		printf 'connect = %s\n' "$@"
		cat <<-END
			database = $db
			period = 1
			window = 2,4
			samples = 500
			budget = 30%
			guest-budget = 10%
			log-level = debug
		END
	} >"$guests_dir/conf"
}
# As qemu-server writes them, in its order. -id is an option of its own QEMU only.
proxmox() { # NAME PARAMS
	MACHINE=type=pc,memory-backend=mem run_payload "$1" tcg "$2" -name "$1,debug-threads=on" -no-shutdown \
		-chardev "socket,id=qmp,path=$guests_dir/$1.qmp,server=on,wait=off" -mon chardev=qmp,mode=control \
		-smbios "type=1,uuid=$smbios" -smp 1,sockets=1,cores=1,maxcpus=1 "${shared[@]}"
}
by_hand() { MACHINE=pc,memory-backend=mem run_payload "$1" tcg "$2" "${shared[@]}" "${@:3}"; } # NAME PARAMS OPTION...
rows() { sql "SELECT count(*) FROM sample JOIN guest ON guest.id = guest_id WHERE $1"; }
has_rows() { (($(rows "$1") >= ${2:-1})); }
window() { sql "SELECT json_extract(windows, '\$[0]') FROM sample JOIN guest ON guest.id = guest_id WHERE $1 ORDER BY sample.id DESC LIMIT 1"; }
# near WHERE MIB: the newest record's interval, at twice its width as check_panel has it: 500 pages alone are 2 MiB to and fro.
near() {
	window "$1" | jq -e --argjson t "$(truth "total=96M hot=$2M")" \
		'$t >= .[2] - 2 * (.[2] - .[3]) and $t <= .[2] + 2 * (.[4] - .[2])' >/dev/null
}

# may_override: its scanner may have CAP_DAC_OVERRIDE, by which it connects to guests' agents.
scanner() { pgrep -P "$daemon" -x vmwssd-scanner; }
may_override() { (($(awk '/^CapPrm:/ { print "0x" $2 }' "/proc/$(scanner)/status") & 2)); }
may_not_override() { ! may_override; }

configure processes
without_libvirt() { mkdir -p "$guests_dir/empty" && : >"$guests_dir/empty/libvirt.so.0"; }
without_libvirt
vmwssd_under=(env "LD_LIBRARY_PATH=$guests_dir/empty")
vmwssd_begin --config "$guests_dir/conf"
check "it begins where no libvirt is installed" eventually logged 'vmwssd [0-9]'
check "no agent is asked, nor can be" may_not_override
if ! proxmox pve "total=96M hot=16M" || ! by_hand plain "total=96M hot=32M"; then
	fail "the guests start"
	finish
	exit
fi
pve_pid=$(<"$guests_dir/pve.pid") plain_pid=$(<"$guests_dir/plain.pid")
check "a guest of Proxmox VE's kind is found" eventually logged 'domain pve: measured by pageout'
check "and one started by hand" eventually logged 'domain plain: measured by pageout'
check "the one has the UUID of its firmware" eventually has_rows "uuid = '$smbios' AND name = 'pve'" 5
check "the other one of its own" eventually has_rows "name = 'plain' AND uuid GLOB '????????-????-8???-[89ab]???-????????????'" 5
check "16 MiB" eventually near "name = 'pve'" 16
check "32 MiB" eventually near "name = 'plain'" 32
plain_uuid=$(sql "SELECT uuid FROM guest WHERE name = 'plain'")

echo "# two of one name, two of one UUID"
twin=00000000-0000-4000-8000-00000000007e
check "a second of one name starts" by_hand plain "total=96M hot=8M" -pidfile "$guests_dir/second.pid"
check "it is another guest" eventually has_rows "name = 'plain' AND uuid <> '$plain_uuid'" 3
check "the first goes on" eventually near "uuid = '$plain_uuid'" 32
stop_guest "$pid"
check "it is let go when it ends" eventually logged 'domain plain: (its process has ended|ended|no longer measured)'

check "two of one UUID start" by_hand twin "total=96M hot=8M" -uuid "$twin"
twin_pid=$pid
check "and the other" by_hand twin2 "total=96M hot=8M" -uuid "$twin"
check "the one has it" eventually has_rows "uuid = '$twin'" 3
each() { [[ $(sql "SELECT count(DISTINCT uuid) FROM guest WHERE name GLOB 'twin*'") == 2 ]]; }
check "the other is a guest of its own" eventually each
check "with records" eventually has_rows "name GLOB 'twin*' AND uuid <> '$twin'" 3
stop_guest "$pid"
stop_guest "$twin_pid"

echo "# a new process of the same guest"
stop_guest "$plain_pid"
before=$(rows "uuid = '$plain_uuid'")
check "it starts again" by_hand plain "total=96M hot=24M"
check "its history goes on" eventually has_rows "uuid = '$plain_uuid'" $((before + 3))
check "24 MiB" eventually near "uuid = '$plain_uuid'" 24

echo "# beside libvirt"
check "SIGTERM: exit 0" vmwssd_end TERM
vmwssd_under=()
configure qemu:///system processes
check "libvirtd starts" libvirtd_begin
vmwssd_begin --config "$guests_dir/conf"
check "agents can be asked" eventually may_override
check "a guest of libvirt's starts" embed_create lv 128 "total=96M hot=16M" "$memfd"
lv_uuid=$(virsh -c qemu:///system domuuid lv | head -n 1)
check "it is watched under its UUID" eventually has_rows "uuid = '$lv_uuid'" 3
check "the others, too" eventually has_rows "uuid = '$smbios' AND time_ms > $(($(date +%s) * 1000))" 3
check "each guest once" test "$(sql "SELECT count(DISTINCT uuid) FROM guest WHERE name = 'lv'")" = 1
configure processes
kill -HUP "$daemon"
check "libvirt is let go: it is a process" eventually has_rows "uuid = '$lv_uuid' AND time_ms > $((($(date +%s) + 5) * 1000))" 3
configure qemu:///system processes
kill -HUP "$daemon"
check "and libvirt's again" eventually logged 'qemu:///system: connected'
watched_again() { (($(grep -c 'domain lv: measured' "$log") >= 3)); }
check "which takes it over" eventually watched_again
check "SIGTERM: exit 0" vmwssd_end TERM

echo "# libvirt is named later"
configure processes
: >"$log"
vmwssd_begin --config "$guests_dir/conf"
check "it begins" eventually logged 'vmwssd [0-9]'
configure qemu:///system processes
kill -HUP "$daemon"
check "agents are asked after the next start" eventually logged '^<4>agents: are asked after the next start'
check "SIGTERM: exit 0" vmwssd_end TERM
check "nothing is left locked" test -z "$(find /run/vmwss -name "guest-${pve_pid}[.-]*" 2>/dev/null)"
finish
