#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=arm64 thorough cost=150 limit=900 needs=@ROOT@/build/arm64/packages/vmwss_0.1.0-1_arm64.deb,@ROOT@/build/arm64/packages/vmwss-guest_0.1.0-1_arm64.deb,@ROOT@/build/arm64/vm-images/payload/vmwss-payload.elf
#
# The arm64 packages, unpacked into the arm64 lab: vmwssd with connect = processes and beside a libvirtd, the virsh scripts and the
# guest agent. The history holds the truth, and neither SIGTERM nor kill -9 leaves anything in the kernel. The packages:
# cmake --preset arm64 && cmake --build --preset arm64 && (cd build/arm64 && cpack -B packages).

# The lab's root has no mount of util-linux.
if [[ -z $(command -v mount) ]]; then
	mkdir -p /tmp/applets
	ln -s "$(command -v busybox)" /tmp/applets/mount
	ln -s "$(command -v busybox)" /tmp/applets/umount
	PATH+=:/tmp/applets
fi

libs=(libvirtd guests vmwssd kernel_state)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

check "arm64, pages of 4 KiB" test "$(uname -m) $(getconf PAGESIZE)" = 'aarch64 4096'

# --- the packages -----------------------------------------------------------------------------------

control() { busybox dpkg-deb -f "$build/packages/$1_0.1.0-1_arm64.deb" | sed -n "s/^$2: //p"; }
# No package of dpkg's: the lab's root has none of its files.
unpack() {
	local dir=$guests_dir/$1
	busybox dpkg-deb -x "$build/packages/$1_0.1.0-1_arm64.deb" "$dir" && cp -a "$dir/usr/." /usr/ || return 1
	[[ ! -e $dir/etc ]] || cp -a "$dir/etc/." /etc/
}

depends=$(control vmwss Depends)
echo "# $depends"
for package in vmwss vmwss-guest; do
	check "$package: its architecture" test "$(control $package Architecture)" = arm64
	check "$package: it can be unpacked" unpack $package
done
check "vmwss-guest depends on nothing" test -z "$(control vmwss-guest Depends)"
needed() {
	local library
	for library in libc6 libcap-ng0 libinih1 libjansson4 libmicrohttpd12 libncursesw6 libseccomp2 libsmartcols1 libsqlite3-0 libsystemd0 \
		libtinfo6 libxml2; do
		[[ ", $depends," =~ ,\ $library(\ \(>=\ [^\)]+\))?, ]] || { echo "# $library is missing"; return 1; }
	done
}
check "vmwss depends on what its programs are linked with" needed

# shellcheck disable=SC2034 # of guests.sh and vmwssd.sh
vmwss=/usr/bin/vmwss vmwssd=/usr/sbin/vmwssd
for program in vmwss vmwssd vmwss-exporter vmwss-balloond vmwss-guest; do
	check "$program runs" quietly "$program" --version
done
check "the configuration has vmwssd's defaults" \
	diff <("$vmwssd" --config /etc/vmwss/vmwssd.conf --dump-config) <("$vmwssd" --config /dev/null --dump-config)

# --- vmwssd, without a libvirt ----------------------------------------------------------------------

params="total=128M hot=24M"
t=$(truth "$params")
of="sample JOIN guest ON guest.id = guest_id WHERE guest.name ="
rows() { sql "SELECT count(*) FROM $of '$1'"; }
newest() { sql "SELECT $2 FROM $of '$1' ORDER BY sample.id DESC LIMIT 1"; }
more_rows() { (($(rows "$1") >= $2)); }
# goes_on GUEST N: so many records more.
goes_on() { eventually more_rows "$1" $(($(rows "$1") + $2)); }
# holds_truth GUEST: a window that begins from now on, at twice its width, as check_panel has it.
holds_truth() {
	local window
	goes_on "$1" 4 || return 1
	window=$(newest "$1" windows)
	echo "# $1: $window, truth $t, $(newest "$1" "method || ' n=' || samples || ' vcpu ' || vcpu_s || ' ' || flags")"
	jq -e --argjson t "$t" '.[0] | $t >= .[2] - 2 * (.[2] - .[3]) - 8192 and $t <= .[2] + 2 * (.[4] - .[2]) + 8192' \
		<<<"$window" >/dev/null
}
# begin_daemon LINE...: its period is longer than a scan takes here; emulation counts as CPU time what a busy machine takes. Three
# periods are a window: one of 3 s would only be answered by scans that come late, as ages of 2 and of 4 s are too far from it.
begin_daemon() {
	: >"$log"
	vmwssd_conf "$@" 'period = 2' 'window = 6' 'samples = 1000' 'budget = 100%' 'guest-budget = 90%'
	vmwssd_begin --config "$guests_dir/conf"
}

mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
if ! start_payload plain kvm "$params" -m 256; then
	finish
	exit 1
fi
before=$(kernel_state)
as_before() { [[ $(kernel_state) == "$before" ]]; }
begin_daemon 'connect = processes'
check "a guest of no libvirt's is watched" eventually logged 'domain plain: measured by zap'
check "its records hold the truth" holds_truth plain
check "it is a KVM guest" test "$(newest plain accel)" = kvm
check "it ran" holds "$(newest plain vcpu_s) > 0.03 * 3"
"$vmwss" status --database "$db" >"$guests_dir/status" 2>&1
sed 's/^/# /' "$guests_dir/status"
check "vmwss status names it" grep -q 'plain' "$guests_dir/status"
"$vmwss" history --database "$db" --json plain >"$guests_dir/history.json" 2>"$guests_dir/messages"
check "vmwss history shows its records" quietly jq -es 'length > 0' "$guests_dir/history.json"
check "SIGTERM ends it" vmwssd_end TERM
check "nothing is left in the kernel" settles as_before
begin_daemon 'connect = processes'
check "it begins again" eventually logged 'domain plain: measured by zap'
check "and goes on" goes_on plain 2
vmwssd_end KILL
check "kill -9 leaves nothing in the kernel" settles as_before
check_census "by hand after that" "$t" 1 --pid "$pid" -w 6 -m zap
stop_guest "$pid"

# --- beside a libvirtd ------------------------------------------------------------------------------

# shellcheck disable=SC2034 # of embed.sh
EMBED_TYPE=kvm
if libvirtd_begin && embed_create virt 256 "$params" "<cpu mode='host-passthrough'/>"; then
	check_panel "measured by its name" "$t" virt --connect qemu:///system -w 2
	begin_daemon 'publish = yes'
	check "a domain is watched" eventually logged 'domain virt: measured by zap'
	check "its records hold the truth" holds_truth virt
	published() { vmwss-virsh-guest -c qemu:///system --bytes virt >"$guests_dir/published" 2>/dev/null; }
	check "its working set is published" eventually published
	sed 's/^/# /' "$guests_dir/published"
	dashboard=$(vmwss-virsh-dashboard -c qemu:///system --once)
	comment "$dashboard"
	check "vmwss-virsh-dashboard shows it" grep -q '^ *virt .*MiB' <<<"$dashboard"
	check "SIGTERM ends it, too" vmwssd_end TERM
else
	fail "a KVM guest starts under libvirtd"
fi

# --- the guest agent --------------------------------------------------------------------------------

cd "$guests_dir" || exit
# The lab is a guest of QEMU's, so the agent is where it belongs.
dd if=/dev/urandom of=data bs=1M count=8 2>/dev/null
cat data >/dev/null
show_json() { "$@" --json 2>"$guests_dir/messages" || comment "$(<"$guests_dir/messages")"; }
check "vmwss-guest smaps: processes with their memory" \
	quietly jq -es '[.[].processes[] | select(.pss_bytes > 0)] | length > 0' <(show_json vmwss-guest smaps)
cached=$(show_json vmwss-guest cache data | jq .total.cached_bytes)
check "vmwss-guest cache: all 8 MiB of a file that was just read" test "$cached" = $((8 << 20))
mapped=$(show_json vmwss-guest cache --method mincore data | jq .total.cached_bytes)
check "and by mincore" test "$mapped" = $((8 << 20))
vmwss-guest serve --listen socket 2>"$guests_dir/messages" &
agent=$!
ask() { python3 "$root/tests/integration/guest-agent/guest_agent_host.py" socket ask "$1"; }
answers() { [[ $(ask hello 2>/dev/null | jq .hello.protocol) == 1 ]]; }
check "vmwss-guest serve: says hello" settles answers
check "and reports memory" quietly jq -e '.report.memory' <(ask report)
kill "$agent"
wait "$agent" 2>/dev/null

finish
