#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=37
#
# DIMMs plugged into a guest while it is being measured, by a real libvirtd: measure --interval, ages and vmwssd go on
# with the RAM that there is then, and with the same panel where it was a disk. (Unplugging needs an operating system
# that lets go of the DIMM: unit.locate.)

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

measuring=
end_all() {
	[[ -z $measuring ]] || kill "$measuring" 2>/dev/null
	[[ -z $daemon ]] || kill -KILL "$daemon" 2>/dev/null
	libvirtd_end
	end_guests
}

records=$guests_dir/records
# Populated, so that a DIMM is resident though nobody touches it.
elements="<maxMemory slots='8' unit='MiB'>2048</maxMemory>
	<memoryBacking><source type='memfd'/><access mode='shared'/><allocation mode='immediate'/></memoryBacking>
	<cpu><numa><cell id='0' cpus='0' memory='256' unit='MiB'/></numa></cpu>
	<features><acpi/></features>"
params="total=96M hot=16M"
base=$((256 << 20)) dimm=$((128 << 20))
want=$(truth "$params memory=256M")

plug() {
	cat >"$guests_dir/dimm.xml" <<-END
		<memory model='dimm'><target><size unit='MiB'>128</size><node>0</node></target></memory>
	END
	embed_virsh attach-device plugged "$guests_dir/dimm.xml" --live
}

# told FILTER: a record says so.
told() { jq -es "any(.[]; $1)" "$records" >/dev/null 2>&1; }

# begin ARGS...: vmwss in the background, its records in $records.
begin() {
	: >"$records"
	"$vmwss" "$@" --json >"$records" 2>"$guests_dir/messages" &
	measuring=$!
}
stop() {
	kill -INT "$measuring" 2>/dev/null
	wait "$measuring" 2>/dev/null
	measuring=
}

if ! libvirtd_begin || ! embed_create plugged 256 "$params" "$elements"; then
	fail "a guest with slots for DIMMs starts"
	finish
	exit 1
fi

echo "# measure --interval"
begin measure plugged -m cold --census -w 1 -i 2
check "the RAM it began with" eventually told ".ram_bytes == $base"
check "a DIMM is plugged" plug
check "the RAM there is then" eventually told ".ram_bytes == $base + $dimm"
stop
record=$(jq -cs 'last' "$records")
check "guest ran ($(field vcpu_seconds) s)" guest_ran
check "the DIMM is resident ($(field resident_bytes))" record_has ".resident_bytes >= $base + $dimm - 1048576"
check "the working set is what it was: $(field wss_bytes) of $want" \
	holds "$(field wss_bytes) > 0.99 * $want && $(field wss_bytes) < 1.01 * $want"

echo "# ages"
begin ages plugged -m pageout -w 1,2 -i 1 -n 2000
check "a panel of the RAM it began with" eventually told ".ram_bytes == $base + $dimm"
check "another DIMM is plugged" plug
check "a new panel" eventually told ".ram_bytes == $base + 2 * $dimm and (.flags | index(\"new-panel\"))"
check "which is said once" eventually told ".ram_bytes == $base + 2 * $dimm and (.flags | index(\"new-panel\") | not)"
check "both windows again" eventually told ".ram_bytes == $base + 2 * $dimm and (.windows | length == 2)"
stop
check "the message" grep -q 'RAM changed from 384 to 512 MiB' "$guests_dir/messages"
record=$(jq -cs 'last' "$records")
check "guest ran ($(field vcpu_seconds) s)" guest_ran
low=$(field wss_low_bytes) wss=$(field wss_bytes) high=$(field wss_high_bytes)
check "its interval holds the truth: $wss [$low, $high] of $want" \
	holds "$want >= $wss - 2*($wss-$low) - 8192 && $want <= $wss + 2*($high-$wss) + 8192"

echo "# vmwssd"
newest_ram() {
	"$vmwss" history plugged --database "$db" --window 2 --since 1h --json 2>/dev/null | jq -s 'last.ram_bytes // 0'
}
ram_is() { [[ $(newest_ram) == "$1" ]]; }
# Access without a source: the XML does not say what the RAM is made of, only QEMU's command line does. So it is without
# <memoryBacking>, but such a guest cannot be followed by every kernel.
kept="sample JOIN guest ON guest.id = guest_id WHERE guest.name = 'kept'"
n_windows() { sql "SELECT json_array_length(windows) FROM $kept ORDER BY sample.id DESC LIMIT 1"; }
both_windows() { [[ $(n_windows) == 2 ]]; }
# The budget is not what is tested: where a busy machine exceeds it the panel becomes smaller, and with it a new one.
vmwssd_begin --connect qemu:///system --database "$db" --period 1 --max-period none --window 2,8 --samples 1000 \
	--budget 100% --guest-budget 90%
check "a record of the RAM it began with" eventually ram_is $((base + 2 * dimm))
check "another guest" embed_create kept 256 "$params" \
	"<memoryBacking><access mode='shared'/></memoryBacking><features><acpi/></features>"
check "both of its windows" eventually both_windows
before=$(sql "SELECT max(sample.id) FROM $kept")
truncate -s 1M "$guests_dir/disk"
check "it gets a disk" embed_virsh attach-disk kept "$guests_dir/disk" vda --targetbus virtio --live
check "a third DIMM is plugged" plug
check "a record of the RAM there is then" eventually ram_is $((base + 3 * dimm))
goes_on() { (($(sql "SELECT count(*) FROM $kept AND sample.id > $before") >= 3)); }
check "who got the disk goes on" eventually goes_on
check "and was not let go" test "$(grep -cE 'domain kept: (measured by|no longer measured)' "$log")" = 1
# The short one is left out where a look was late.
check "the longest window all the time" test \
	"$(sql "SELECT count(*) FROM $kept AND sample.id > $before AND json_extract(windows, '\$[#-1][0]') < 8")" = 0
check "vmwssd ends" vmwssd_end TERM

finish
