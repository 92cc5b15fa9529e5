#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: thorough lab=page_idle libvirt cost=220
#
# Not integration/programs/daemon.sh under KVM: that is what vmwssd does with guests, libvirtd and its history, whatever the method;
# this is what its methods leave in a kernel.
# In the lab: vmwssd beside a libvirtd with real KVM guests, by idle where the kernel has it, and by zap. Its records hold
# the truth, a DIMM is seen, and after kill -9 nothing of it is left in the kernel.

libs=(libvirtd guests vmwssd kernel_state)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

methods=(zap)
[[ ! -e /sys/kernel/mm/page_idle/bitmap ]] || methods=(idle zap)

of="sample JOIN guest ON guest.id = guest_id WHERE guest.name ="
newest_id() { sql "SELECT coalesce(max(sample.id), 0) FROM $of '$1'"; }
newer() { (($(sql "SELECT count(*) FROM $of '$1' AND sample.id > $2") >= $3)); }
goes_on() { eventually newer "$1" "$(newest_id "$1")" "$2"; }
newest() { sql "SELECT $2 FROM $of '$1' ORDER BY sample.id DESC LIMIT 1"; }

# holds_truth NAME TRUTH: a window that begins from now on, at twice its width, as check_panel has it.
holds_truth() {
	local window
	goes_on "$1" 4 || return 1
	window=$(newest "$1" windows)
	echo "# $1: $window, truth $2, $(newest "$1" "method || ' n=' || samples || ' vcpu ' || vcpu_s || ' cpu ' || cpu_s || ' ' || flags")"
	jq -e --argjson t "$2" '.[0] | $t >= .[2] - 2 * (.[2] - .[3]) - 8192 and $t <= .[2] + 2 * (.[4] - .[2]) + 8192' \
		<<<"$window" >/dev/null
}

# The budget is not what is tested: emulation counts as CPU time what a busy machine takes, and a smaller panel is a new one.
start_daemon() {
	: >"$log"
	vmwssd_begin --connect qemu:///system --database "$db" --period 1 --max-period none --window 3,6 --samples 2000 \
		--budget 100% --guest-budget 90% --method "$1"
}

EMBED_TYPE=kvm
host_cpu="<cpu mode='host-passthrough'/>"
slots="<maxMemory slots='4' unit='MiB'>1024</maxMemory><memoryBacking><allocation mode='immediate'/></memoryBacking>
	<cpu mode='host-passthrough'><numa><cell id='0' cpus='0' memory='256' unit='MiB'/></numa></cpu><features><acpi/></features>"
one="total=192M hot=32M" two="total=192M hot=16M pattern=random seed=5"
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
if ! libvirtd_begin || ! embed_create one 256 "$one" "$host_cpu" || ! embed_create two 256 "$two" "$slots"; then
	fail "KVM guests start under libvirtd"
	finish
	exit 1
fi
before=$(kernel_state)
as_before() { [[ $(kernel_state) == "$before" ]]; }
for method in "${methods[@]}"; do
	echo "# $method"
	start_daemon "$method"
	check "$method: watched" eventually logged "domain one: measured by $method"
	check "$method: both" eventually logged "domain two: measured by $method"
	check "$method: one: the truth" holds_truth one "$(truth "$one")"
	check "$method: two: the truth" holds_truth two "$(truth "$two memory=256M")"
	check "$method: they are KVM guests" test "$(newest one accel)" = kvm
	check "$method: they ran" holds "$(newest one vcpu_s) > 0.03 * 6"
	from=$(newest_id two)
	check_panel "$method: by hand beside vmwssd" "$(truth "$two memory=256M")" --pid "$(</run/libvirt/qemu/two.pid)" \
		-n 1000 -w 3 -m "$method" --wait 30
	check "$method: vmwssd goes on" goes_on two 3
	check "$method: with the panel that it had" test \
		"$(sql "SELECT count(*) FROM $of 'two' AND sample.id > $from AND flags LIKE '%new-panel%'")" = 0
	check "$method: and holds the truth" holds_truth two "$(truth "$two memory=256M")"
	vmwssd_end KILL
	check "$method: kill -9 leaves nothing in the kernel" settles as_before
done

echo "# a DIMM"
start_daemon auto
check "watched again" eventually logged "domain two: measured by ${methods[0]}"
goes_on two 1
cat >"$guests_dir/dimm.xml" <<-END
	<memory model='dimm'><target><size unit='MiB'>128</size><node>0</node></target></memory>
END
check "it is plugged" embed_virsh attach-device two "$guests_dir/dimm.xml" --live
ram_is() { [[ $(newest two ram_bytes) == "$1" ]]; }
check "its RAM has grown" eventually ram_is $((384 << 20))
check "the truth is what it was" holds_truth two "$(truth "$two memory=256M")"
check "SIGTERM ends it" vmwssd_end TERM
check "nothing is left in the kernel" settles as_before

echo "# files"
# In vain: a socket that nobody listens to. It drops what it may all the same.
vmwssd_under=(prlimit --nofile=2000:2000)
vmwssd_begin --connect "qemu:///system?socket=$guests_dir/nobody" --database "$db"
has_many_files() { grep -qE '^Max open files +524288 +524288 ' "/proc/$daemon/limits"; }
check "root raises the limit of open files" eventually has_many_files
settles grep -q '>vmwssd ' "$log" # before it has said so a signal would end it at once
check "SIGTERM ends it without a connection, too" vmwssd_end TERM

finish
