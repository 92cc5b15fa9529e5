#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=50
#
# Memory that QEMU maps while a guest is followed by its process, by its monitor and not by libvirt: DIMMs as large as the RAM it
# has, as its VRAM, in files, of virtio-mem. Nothing says whether the guest uses it, so each record is "partial" and its upper
# bound holds all of it that is resident; when it is gone the bound is what it was.

# In a namespace of processes of its own: vmwssd would follow every QEMU of this machine.
[[ -n ${VMWSS_OWN_PROCESSES:-} ]] || VMWSS_OWN_PROCESSES=yes exec unshare --pid --fork --kill-child --mount-proc -- "$BASH" "$0" "$@"
libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=96M hot=16M"
want=$(truth "$params memory=256M")
mib=1048576
records=$guests_dir/records
measuring=

# begin_guest NAME QEMU-OPTION...: with room for DIMMs.
begin_guest() {
	local name=$1
	shift
	start_payload "$name" tcg "$params" -m 256,slots=8,maxmem=4G -qmp "unix:$guests_dir/qmp,server=on,wait=off" "$@"
}
end_guest() {
	stop_guest "$pid"
	rm -f "$guests_dir/qmp"
}
# backend ID TYPE BYTES [,MORE]: a memory backend with its pages; a device of it: device ID DRIVER [,MORE].
backend() {
	qmp '{"execute":"object-add","arguments":{"qom-type":"'"$2"'","id":"'"$1"'","size":'"$3"',"prealloc":true'"${4:-}"'}}'
}
device() { qmp '{"execute":"device_add","arguments":{"driver":"'"$2"'","id":"dev-'"$1"'","memdev":"'"$1"'"'"${3:-}"'}}'; }
unplug() { qmp '{"execute":"object-del","arguments":{"id":"'"$1"'"}}'; }
dimm() { backend "$1" memory-backend-ram "$2" && device "$1" pc-dimm; } # ID BYTES

# told FILTER: a record of measure's says so; with --pid and an interval, in the background.
told() { jq -es "any(.[]; $1)" "$records" >/dev/null 2>&1; }
begin() {
	: >"$records"
	"$vmwss" measure --pid "$pid" --json "$@" >>"$records" 2>"$guests_dir/messages" &
	measuring=$!
}
stop() {
	kill -INT "$measuring" 2>/dev/null
	wait "$measuring" 2>/dev/null
	measuring=
}
within='(.windows[-1].wss_bytes - '$want' | fabs) < 0.01 * '$want
plain="(.flags | index(\"partial\") | not) and .windows[-1].wss_high_bytes < 1.05 * $want and $within"
# high BYTES: so much may be touched besides.
high() { echo "(.flags | index(\"partial\")) and .windows[-1].wss_high_bytes >= $want + $1 and $within"; }

# follow WHAT BYTES PLUG...: measure --interval, before, with and after.
follow() {
	local what=$1 bytes=$2
	shift 2
	begin -m cold --census -w 1 -i 1
	check "$what: before it, the bounds are close" eventually told "$plain"
	check "$what: is plugged" "$@"
	check "$what: $bytes more may be touched, and that is said" eventually told "$(high "$bytes")"
	stop
}

echo "# as large as the RAM"
begin_guest same || { finish; exit 1; }
follow "a DIMM as large as the RAM" $((256 * mib)) dimm d1 $((256 * mib))
"$vmwss" list --processes --json >"$records"
check "list does not know its RAM, and says how much it may have more" told \
	'.pid == '"$pid"' and .ram_bytes == null and .unclaimed_bytes == 256 * '$mib
begin -m cold --census -w 1 -i 1
check "a second one" dimm d2 $((256 * mib))
stop
end_guest

echo "# smaller than any that Linux uses"
begin_guest small || { finish; exit 1; }
"$vmwss" list --processes --json >"$records"
check "before it, list knows its RAM" told '.pid == '"$pid"' and .ram_bytes == 256 * '$mib
for i in 2 4 8; do check "a module of $i MiB" dimm "d$i" $((i * mib)); done
"$vmwss" measure --pid "$pid" --json -m cold --census -w 1 >"$records"
check "measure that begins later says that they may be touched" told "$(high $((14 * mib)))"
"$vmwss" list --processes --json >"$records"
check "and list that its RAM is not known" told '.pid == '"$pid"' and .ram_bytes == null and .unclaimed_bytes == 14 * '$mib
end_guest

echo "# within one window"
begin_guest once || { finish; exit 1; }
begin -m cold --census -w 4
until measured_by "$pid" "$measuring"; do sleep 0.1; done
check "a DIMM in the window" dimm d1 $((256 * mib))
wait "$measuring"
measuring=
check "the record has it" told "$(high $((256 * mib)))"
end_guest

echo "# of three sizes, and kinds"
memfd=(-object "memory-backend-memfd,id=r,size=256M,share=on")
truncate -s 64M "$guests_dir/nvdimm"
MACHINE=pc,memory-backend=r,nvdimm=on begin_guest kinds "${memfd[@]}" -device VGA || { finish; exit 1; }
follow "a DIMM as large as the VRAM" $((16 * mib)) dimm d1 $((16 * mib))
nvdimm() {
	backend n1 memory-backend-file $((64 * mib)) ',"mem-path":"'"$guests_dir"'/nvdimm","share":true' && device n1 nvdimm
}
begin -m cold --census -w 1 -i 1
check "an NVDIMM is plugged" nvdimm
check "it and the DIMM may be touched" eventually told "$(high $((64 * mib)))"
stop
begin -m cold --census -w 1 -i 1
check "measure that begins later counts both, as the guest has slots" eventually told "$(high $((80 * mib)))"
virtio_mem() { backend v1 memory-backend-memfd $((128 * mib)) ',"share":true' && device v1 virtio-mem-pci; }
check "virtio-mem is plugged" virtio_mem
check "that is said" eventually told "(.flags | index(\"partial\")) and $within"
stop
end_guest

echo "# virtio-mem that QEMU was started with, of which nothing is plugged"
begin_guest devices -object memory-backend-ram,id=v,size=1G -device virtio-mem-pci,memdev=v,requested-size=512M ||
	{ finish; exit 1; }
"$vmwss" measure --pid "$pid" --json -m cold --census -w 1 >"$records"
check "its RAM is what it has, at least, and that is said" told ".ram_bytes >= 256 * $mib and .ram_bytes < 260 * $mib and
	(.flags | index(\"partial\")) and $within and .windows[-1].wss_high_bytes < 1.05 * $want"
"$vmwss" list --processes --json >"$records"
check "list does not know it" told '.pid == '"$pid"' and .ram_bytes == null and .resident_bytes > 0'
end_guest

echo "# what goes again"
begin_guest gone || { finish; exit 1; }
begin -m cold --census -w 1 -i 1
check "before it" eventually told "$plain"
check "a backend that no device uses" backend b1 memory-backend-ram $((256 * mib))
check "it may be touched" eventually told "$(high $((256 * mib)))"
check "it goes" unplug b1
: >"$records"
check "then the bounds are close again" eventually told "$plain"
stop
end_guest

echo "# a machine that is built while it is followed"
# Until QEMU is told to go on it has RAM, and neither vCPUs nor firmware.
"$nothp" "$qemu" --preconfig -machine "$machine,memory-backend=r" -accel tcg -m 256 -name guest=early,debug-threads=on -nodefaults \
	-no-user-config -display none -kernel "$payload" -append "$(resting "$params")" -serial "file:$guests_dir/early.out" \
	-object memory-backend-memfd,id=r,size=256M,share=on,prealloc=on -qmp "unix:$guests_dir/qmp,server=on,wait=off" \
	-pidfile "$guests_dir/early.pid" -daemonize
pid=$(<"$guests_dir/early.pid")
pids+=("$pid")
: >"$records"
"$vmwss" ages --pid "$pid" -m pageout -w 1 -i 1 -n 1000 --json >>"$records" 2>"$guests_dir/messages" &
measuring=$!
check "it is followed" eventually told ".windows | length > 0"
check "it goes on" qmp '{"execute":"x-exit-preconfig"}'
check "its guest runs" wait_ready early
: >"$records"
check "what QEMU has mapped for it is no RAM" eventually told '(.flags | index("partial") | not) and .windows[-1].wss_bytes > 0'
check "nor was it at first" bash -c "! grep -q partial '$records'"
check "a backend, then" backend b1 memory-backend-ram $((64 * mib))
check "is found as ever" eventually told '.flags | index("partial")'
stop
end_guest

echo "# vmwssd"
vmwssd_conf 'connect = processes' 'window = 2,5' 'samples = 1000' 'budget = 100%' 'guest-budget = 90%'
give_vmwssd "$guests_dir/conf"
MACHINE=pc,memory-backend=r begin_guest daemon "${memfd[@]}" || { finish; exit 1; }
vmwssd_begin --config "$guests_dir/conf"
# newest EXPRESSION: of the newest record.
newest() { sql "SELECT $1 FROM sample JOIN guest ON guest.id = guest_id WHERE guest.name = 'daemon' ORDER BY sample.id DESC LIMIT 1"; }
bounds() { newest "json_extract(windows, '\$[0]')"; }
# record_is FILTER: of .[1] est. window, .[2] WSS, .[3], .[4] its bounds.
bounds_are() { jq -e ". != null and ($1)" <<<"$(bounds)" | grep -q true; }
check "it is followed" eventually bounds_are ".[2] > $want / 2"
check "a DIMM as large as the RAM" backend d1 memory-backend-memfd $((256 * mib)) ',"share":true'
check "of it a device" device d1 pc-dimm
check "its bound holds it" eventually bounds_are ".[4] >= $want + 256 * $mib"
resident=$(newest resident_bytes)
check "resident is what the guest has" holds "${resident:-0} > 90 * $mib && ${resident:-0} < 100 * $mib"
check "vmwssd ends" vmwssd_end TERM
finish
