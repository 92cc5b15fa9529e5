#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=179
# shellcheck disable=SC2016 # jq has variables of its own
#
# What reads all of a guest's RAM between two looks of vmwssd is said of every window that reaches back over it, with bounds
# that hold the truth, and of none after that.

libs=(libvirtd guests vmwssd)
# shellcheck source=../lib/preamble.sh
. "$(dirname "$0")/../lib/preamble.sh"

memfd="<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"
params="total=192M hot=16M"
truth=$(truth "$params")
of="sample JOIN guest ON guest.id = guest_id WHERE guest.name = 'one'"

newest_id() { sql "SELECT coalesce(max(sample.id), 0) FROM $of"; }
has_newer() { (($(newest_id) > before)); }
# one_more: waits for the next record.
one_more() {
	before=$(newest_id)
	eventually has_newer
}
newest_has_all() { [[ $(sql "SELECT json_array_length(windows) FROM $of ORDER BY sample.id DESC LIMIT 1") == 2 ]]; }
flags() { sql "SELECT flags FROM $of ORDER BY sample.id DESC LIMIT 1"; }
has_job_flag() { [[ $(flags) =~ migrating|dump ]]; }
lacks_job_flag() { ! has_job_flag; }
# Of the newest record, those whose interval, at twice its width, does not hold the truth.
wrong_windows() {
	sql "SELECT windows FROM $of ORDER BY sample.id DESC LIMIT 1" | jq -c --argjson t "$truth" \
		'[.[] | select($t < .[2] - 2 * (.[2] - .[3]) or $t > .[2] + 2 * (.[4] - .[2]))]'
}
# Printed for whoever reads the log.
show_newest() { echo "# $(sql "SELECT flags || ' ' || windows FROM $of ORDER BY sample.id DESC LIMIT 1")"; }

vmwssd_conf 'period = 5' 'window = 6,20' 'samples = 1000' 'budget = 20%' 'guest-budget = 10%' \
	'log-level = debug'
if ! libvirtd_begin || ! embed_create one 256 "$params" "$memfd"; then
	fail "libvirtd and the guest start"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"
check "watched for as long as its longest window" eventually newest_has_all
check "no job, no flag" lacks_job_flag

# dumped_between HOW...: a dump that begins and ends between two looks.
dumped_between() {
	one_more
	check "dump $*" quietly embed_virsh dump --live "$@" one "$embed_dir/dump"
	rm -f -- "$embed_dir/dump"
	one_more
	show_newest
	check "dump $*: said at the next look" has_job_flag
	check "and bounds that hold the truth" test "$(wrong_windows)" = '[]'
	one_more
	one_more
	show_newest
	check "while the longest window reaches back over it" has_job_flag
	check "and bounds that hold the truth" test "$(wrong_windows)" = '[]'
	check "not for ever" eventually lacks_job_flag
	show_newest
	check "then it is right without" test "$(wrong_windows)" = '[]'
}
echo "# by QEMU's dump_thread"
dumped_between --memory-only
echo "# by a migration into a file"
dumped_between

echo "# a job that was there when the guest was opened"
vmwssd_end TERM
pid=$(cat /run/libvirt/qemu/one.pid)
mkfifo "$embed_dir/dump"
{ sleep 12 && exec cat; } <"$embed_dir/dump" >/dev/null &
embed_virsh dump --live one "$embed_dir/dump" >/dev/null 2>&1 &
dump=$!
has_thread() { cat "/proc/$pid/task/"*/comm 2>/dev/null | grep live_migration >/dev/null; }
settles has_thread
vmwssd_begin --config "$guests_dir/conf"
one_more
check "said" has_job_flag
wait "$dump"
rm -f -- "$embed_dir/dump"
check "and no more when it is over" eventually lacks_job_flag
check "SIGTERM: exit 0" vmwssd_end TERM
finish
