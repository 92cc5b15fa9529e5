#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=6.12 thorough cost=110
#
# In the lab, whose stock kernel has vhost_vsock: the agent in a guest of real KVM, reached through AF_VSOCK by vmwss and by
# vmwssd. The domain has the virtio-serial port too, which nobody in the guest opens.

libs=(libvirtd guests linux_guest vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

if ! libvirtd_begin; then
	fail "libvirtd starts"
	finish
	exit
fi
check "the host has vsock" modprobe vhost_vsock
linux_image --kernel 6.12 "$agent_program" || exit 1
# Programs of a nested guest must spin, or it may sleep for ever.
vsock() { echo "<vsock model='virtio'><cid auto='no' address='$1'/></vsock>"; }
EMBED_TYPE=kvm linux_create g1 256 "guest.run=vmwss-guest,serve,--vsock toucher.total=64M toucher.hot=16M" "$(vsock 7)" ||
	fail "g1 starts"

measured() {
	measure -c "$embed_uri" g1 -w 2 --agent && record_has '.guest.source == "agent" and .guest.total_bytes > 200 * 1048576'
}
check "the agent answers" until_so 60 told g1
check "with what the guest has" view '.hello.protocol == 1 and (.hello.kernel | startswith("6.12")) and
	.report.memory.total_bytes > 200 * 1048576 and .guest.source == "agent"'
check "nobody has the port open" bash -c "virsh -q -c '$embed_uri' dumpxml g1 | grep -q \"org.vmwss.guest.0' state='disconnected'\""
check "the next host is answered too" until_so 60 told g1
check "measure has its word beside the host's number" until_so 60 measured
echo "# host: $(field wss_bytes) [$(field wss_low_bytes), $(field wss_high_bytes)] by $(field method); guest: $(jq -c .guest <<<"$record")"

# Without a network, as the unit has it.
vmwssd_under=(unshare --net)
start_daemon() {
	: >"$log"
	vmwssd_begin --connect "$embed_uri" --database "$db" --period 1 --window 3 --samples 1000 --budget 30% --guest-budget 20%
}
keeps() {
	"$vmwss" history --database "$db" --since 1h --window 3 --step record --json g1 2>/dev/null | tail -n 1 >"$guests_dir/kept"
	jq -e '.guest.source == "agent" and .guest.total_bytes > 200 * 1048576' "$guests_dir/kept" >/dev/null
}
start_daemon
check "vmwssd hears it" eventually logged 'domain g1: its agent answers .*Linux 6\.12'
check "and keeps what it says beside its own number" eventually keeps
jq -c .guest "$guests_dir/kept" | sed 's/^/# /'
# A guest that answers late is let go of for a while.
disturbed() { grep -cE 'domain g1: its agent \((busy|connect)\)' "$log"; }
before=$(disturbed)
in_use() { ! guest g1 >/dev/null 2>"$guests_dir/messages" && grep -q 'domain g1: .*vsock 7:19178: in use, by vmwssd' "$guests_dir/messages"; }
check "whoever asks meanwhile is told that it is in use" until_so 60 in_use
check "which disturbs vmwssd not" test "$(disturbed)" = "$before"
check "it ends when it is told to" vmwssd_end TERM
embed_virsh destroy g1 >/dev/null 2>&1

EMBED_TYPE=kvm NO_AGENT=yes linux_create g2 256 "toucher.total=64M toucher.hot=16M" "$(vsock 8)" || fail "g2 starts"
linux_says g2 'vmwss-toucher ready' 400 || fail "g2 gets ready"
nobody_listens() { ! guest g2 >/dev/null 2>"$guests_dir/messages" && grep -q 'domain g2: .*no program listens in the guest' "$guests_dir/messages"; }
check "nobody listens there" until_so 60 nobody_listens
start_daemon
# A guest that is slow to say so is said to be that.
check "which vmwssd says, too" eventually logged 'domain g2: its agent \(connect\): '
check "and ends when it is told to" vmwssd_end TERM
embed_virsh destroy g2 >/dev/null 2>&1

echo "# vsock and no port"
EMBED_TYPE=kvm NO_AGENT=yes linux_create g3 256 "guest.run=vmwss-guest,serve,--vsock toucher.total=64M toucher.hot=16M" \
	"$(vsock 9)" || fail "g3 starts"
start_daemon
check "vmwssd hears that one, too" eventually logged 'domain g3: its agent answers'
check "it ends" vmwssd_end TERM
embed_virsh destroy g3 >/dev/null 2>&1
finish
