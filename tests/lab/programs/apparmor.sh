#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: thorough lab=6.12 cost=400
#
# In the lab, Debian's stock kernel, which enforces AppArmor: vmwssd and vmwss-exporter under the profiles of the package, and a KVM
# guest under one as libvirt's. doctor names a denial, of a program where none is expected, and its remedy; with that the guest's
# records hold the truth, and nothing of ours is denied.

libs=(guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# end_all calls it, and there is no libvirtd here.
libvirtd_end() { :; }
policies=$root/host/package/apparmor
uuid=5e1f0b6c-6a0e-4c0e-9d5c-0c1d2e3f4a5b
params="total=96M hot=16M"
db=/var/lib/vmwss/history.db
vmwssd=/usr/local/sbin/vmwssd
exporter=/usr/local/sbin/vmwss-exporter
local_rules=/etc/apparmor.d/local/abstractions/libvirt-qemu

[[ $(</sys/module/apparmor/parameters/enabled) == Y ]] || { fail "the kernel has AppArmor" && finish && exit 1; }
mount -t securityfs securityfs /sys/kernel/security 2>/dev/null
echo "vmwss:x:64056:" >>/etc/group
echo "vmwss:x:64056:64056::/nonexistent:/usr/sbin/nologin" >>/etc/passwd
mkdir -p /var/lib/vmwss /run/vmwss "$(dirname "$local_rules")"
install "$build/host/vmwssd" "$build/host/vmwss-exporter" /usr/local/sbin/
install -m 644 "$policies/vmwssd" "$policies/vmwss-exporter" /etc/apparmor.d/

# As libvirt's abstraction, and where the package's rule goes. The abstraction base lets every process read the others.
cat >/etc/apparmor.d/libvirt-guest <<-END
	abi <abi/3.0>,
	include <tunables/global>
	profile libvirt-$uuid flags=(attach_disconnected) {
	  include <abstractions/base>
	  capability,
	  network,
	  unix,
	  file,
	  ptrace (readby, tracedby) peer=libvirtd,
	  signal (receive) peer=libvirtd,
	  signal (receive) peer=unconfined,
	  include if exists <local/abstractions/libvirt-qemu>
	}
END
load() { apparmor_parser --replace --skip-cache --quiet "/etc/apparmor.d/$1"; }
for profile in vmwssd vmwss-exporter libvirt-guest; do check "loaded: $profile" load "$profile"; done

confined_qemu=$guests_dir/confined-$(basename "$qemu")
printf '#!/bin/sh\nexec aa-exec -p libvirt-%s -- %s "$@"\n' "$uuid" "$(type -P "$qemu")" >"$confined_qemu"
chmod +x "$confined_qemu"
qemu=$confined_qemu
# profiles_of NAME: those of all processes of this name.
profiles_of() {
	local one
	for one in $(pgrep -x "$1"); do cat "/proc/$one/attr/current"; done | sort -u
}
denials() { dmesg | grep -c 'apparmor="DENIED".*vmwss'; }
daemon_begin() { vmwssd_begin --connect processes --database "$db" --period 1 --max-period none --window 3 --samples 2000 \
	--budget 100% --guest-budget 90% --agents no --method zap; }
records() { sql 'SELECT count(*) FROM sample'; }
has_records() { (($(records) >= $1)); }
denied() { (($(denials) > 0)); }
doctor_says() { "$vmwss" doctor --json | jq -e --arg text "$1" '.findings[] | select(.what == "denied") | .text | contains($text)' >/dev/null; }

start_payload guest kvm "$params" -m 128 -uuid "$uuid" || { finish && exit 1; }
check "the guest is confined" test "$(</proc/"$pid"/attr/current)" = "libvirt-$uuid (enforce)"
check "nothing was denied yet" test "$(denials)" = 0

cat "$policies/libvirt-qemu" >>"$local_rules"
check "loaded, with the package's rule" load libvirt-guest

echo "# a program where none is expected: the lab's init"
daemon_begin
check "denied" eventually denied
check "its processes are confined" test "$(profiles_of vmwssd; profiles_of vmwssd-scanner; profiles_of vmwssd-keeper)" = \
	"$(printf '%s\n' 'vmwssd (enforce)' 'vmwssd (enforce)' 'vmwssd (enforce)')"
check "doctor names it, and the remedy" eventually doctor_says \
	"AppArmor's profile vmwssd denies open of /run/lab/busybox: allow it in /etc/apparmor.d/local/vmwssd"
vmwssd_end TERM

echo "# with the remedy"
echo "/run/lab/** r," >>/etc/apparmor.d/local/vmwssd
check "loaded" load vmwssd
dmesg --clear
daemon_begin
check "records" eventually has_records 6
check "a record holds the truth" holds "$(sql "SELECT count(*) FROM sample WHERE json_extract(windows, '\$[0][3]') <= $(truth "$params") * 1.05
	AND json_extract(windows, '\$[0][4]') >= $(truth "$params") * 0.95") > 0"
sql 'SELECT windows, flags FROM sample ORDER BY id DESC LIMIT 3' | sed 's/^/# /'
"$exporter" --database "$db" --listen 127.0.0.1:19177 2>"$guests_dir/exporter.log" &
exporting=$!
metrics() { curl -s http://127.0.0.1:19177/metrics | grep -q '^vmwss_working_set_bytes'; }
check "the exporter's metrics" eventually metrics
check "it is confined" test "$(</proc/$exporting/attr/current)" = "vmwss-exporter (enforce)"
kill "$exporting"
wait "$exporting" 2>/dev/null
check "vmwssd ends" vmwssd_end TERM
check "nothing was denied" test "$(denials)" = 0
dmesg | grep 'apparmor="DENIED"' | sed 's/^/# /' | head -n 5

finish
