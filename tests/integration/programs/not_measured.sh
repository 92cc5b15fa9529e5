#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=12
# shellcheck disable=SC2016 # jq has variables of its own
#
# A guest that runs and that no method can follow has a row everywhere, and counts as large as it is.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

cat >"$guests_dir/conf" <<-END
	[vmwssd]
	connect = qemu:///system
	database = $db
	period = 1
	window = 2,4
	samples = 500
	budget = 20%
	guest-budget = 10%
	writes = 20
END
if ! libvirtd_begin || ! embed_create seen 128 "total=96M hot=16M" "$memfd" ||
	! embed_create unseen 128 "total=96M hot=16M"; then
	fail "libvirtd and the guests start"
	finish
	exit
fi
if [[ -e /sys/kernel/mm/page_idle/bitmap ]]; then
	skip "a guest that nothing can follow" "page_idle follows every guest"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"
check "one is measured" eventually logged 'domain seen: measured by pageout'
check "the other is not" eventually logged 'domain unseen is not measured: no method can follow'
check "page_idle: its reason is doctor's" logged 'unseen is not measured: .*idle: this kernel has no page_idle'
vmwss=$build/host/vmwss
follows() { "$vmwss" doctor "$1" --json | jq -r '.findings[] | select(.what == "vmwssd").outcome'; }
check "doctor tells them apart" test "$(follows seen) $(follows unseen)" = "yes no"
user=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
expect_exit "another user does not see its process" 2 'only root sees' "${user[@]}" "$vmwss" measure seen -w 0.1
check "nor any other, and is told so" test "$("${user[@]}" "$vmwss" list --processes)" = "QEMU processes of other users are shown to root only"
of="sample JOIN guest ON guest.id = guest_id WHERE guest.name ="
is_kept() { (($(sql "SELECT count(*) FROM $of '$1'") > 0)); }
check "both are kept" eventually is_kept unseen
# A kernel without soft-dirty bits is named; on one with them there is a curve.
writes_known() { logged 'domain seen: its writes are not measured: .*CONFIG_MEM_SOFT_DIRTY' || (($(sql "SELECT count(*) FROM write_set") > 0)); }
check "writes: a curve, or why there is none" eventually writes_known
check "with its size" holds "$(sql "SELECT resident_bytes FROM $of 'unseen' LIMIT 1") >= 96 * 1048576"
check "and the flag" test "$(sql "SELECT flags, method, windows FROM $of 'unseen' LIMIT 1")" = "not-measured|none|[]"
check "both" eventually is_kept seen

report() { "$build/host/vmwss" report --database "$db" --window 2 --capacity 1G --guest-size 128M "$@"; }
report | sed 's/^/# /'
check "report: a row" test "$(report | awk '$1 == "unseen" { print $2 $3, $(NF - 1), $NF }')" = "128.0MiB not measured"
# Where a minute begins between the first record of the one and that of the other, the minute before has one guest only, and
# the median of two may be that minute's.
check "report: as large as it is in what all need" jq -e '
	(.guests[] | select(.domain == "unseen")) as $u | $u.running and ($u.measured | not) and $u.wss_p95_bytes == null and
	.total.ram_bytes == 256 * 1048576 and .total.wss_p50_bytes >= $u.resident_bytes and
	.total.wss_p99_bytes > $u.resident_bytes' <<<"$(report --json)"
check "watch: a row" quietly grep -E '^unseen .*not-measured' <("$build/host/vmwss" watch unseen --database "$db" --count 1)
check "watch: when each was" quietly grep -qE '^unseen .* [0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z not-measured' <("$build/host/vmwss" watch unseen --database "$db" --count 1)
check "watch: JSON" test "$("$build/host/vmwss" watch unseen --database "$db" --count 1 --json | jq -c '[.flags, .windows]')" = \
	'[["not-measured"],[]]'
metrics=$("$build/host/vmwss-exporter" --database "$db" --print)
check "exporter: its size" grep -q '^vmwss_resident_bytes{domain="unseen"} [0-9]' <<<"$metrics"
check "exporter: no working set" test -z "$(grep '^vmwss_working_set.*unseen' <<<"$metrics")"
check "exporter: how many" grep -qx 'vmwss_guests_not_measured 1' <<<"$metrics"
terminal() { tmux -u -S "$guests_dir/tmux" -f /dev/null "$@"; }
terminal new-session -d -s top -x 160 -y 10 "'$build/host/vmwss' top --database '$db'"
top_shows() { quietly grep -E "$1" <(terminal capture-pane -p -t top); }
check "top: a row" settles top_shows '^unseen .* 128.0 MiB .*not-measured'
terminal capture-pane -p -t top | sed -n 's/^/# /; 1,4p'
terminal kill-server
check "SIGTERM: exit 0" vmwssd_end TERM
finish
