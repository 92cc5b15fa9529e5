#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt thorough cost=179
# shellcheck disable=SC2016 # jq has variables of its own
#
# What reads all of a guest's RAM between two looks of vmwssd is said of every window that reaches back over it, with bounds
# that hold the truth, and of none after that.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=192M hot=16M"
truth=$(truth "$params")
of="sample JOIN guest ON guest.id = guest_id WHERE guest.name = 'one'"

newest_id() { sql "SELECT coalesce(max(sample.id), 0) FROM $of"; }
# from_now: one_more will wait for the next record there is.
from_now() { before=$(newest_id); }
has_newer() {
	look=$(sql "SELECT coalesce(min(sample.id), 0) FROM $of AND sample.id > $before")
	((look > before))
}
# one_more: waits for the record after that of the look before, and sets look to it. However late a busy machine lets us see
# it, it is five seconds younger.
one_more() { eventually has_newer && before=$look; }
newest_has_all() { [[ $(sql "SELECT json_array_length(windows) FROM $of ORDER BY sample.id DESC LIMIT 1") == 2 ]]; }
# The record of that scan has the flag.
has_job_flag() { [[ $(sql "SELECT flags FROM $of AND sample.id = $look") =~ migrating|dump ]]; }
lacks_job_flag() { ! has_job_flag; }
# no_more: nor is it said of the next, or of one after it.
no_more() { one_more && lacks_job_flag; }
# Prints the windows of that record whose interval, at twice its width, does not hold the truth.
wrong_windows() {
	sql "SELECT windows FROM $of AND sample.id = $look" | jq -c --argjson t "$truth" \
		'[.[] | select($t < .[2] - 2 * (.[2] - .[3]) or $t > .[2] + 2 * (.[4] - .[2]))]'
}
# Printed for whoever reads the log.
show() { echo "# $(sql "SELECT flags || ' ' || windows FROM $of AND sample.id = $look")"; }

# The budget is not what is tested: where a busy machine exceeds it the panel becomes smaller, and with it a new one.
vmwssd_conf 'period = 5' 'window = 6,20' 'samples = 1000' 'budget = 100%' 'guest-budget = 90%' \
	'log-level = debug'
if ! libvirtd_begin || ! embed_create one 256 "$params" "$memfd"; then
	fail "libvirtd and the guest start"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"
check "watched for as long as its longest window" eventually newest_has_all
look=$(newest_id)
check "no job, no flag" lacks_job_flag

# dumped_between HOW...: a dump that begins and ends between two looks.
dumped_between() {
	from_now
	one_more
	check "dump $*" quietly embed_virsh dump --live "$@" one "$embed_dir/dump"
	rm -f -- "$embed_dir/dump"
	from_now
	one_more
	show
	check "dump $*: said at the next look" has_job_flag
	check "and bounds that hold the truth" test "$(wrong_windows)" = '[]'
	one_more
	one_more
	show
	check "while the longest window reaches back over it" has_job_flag
	check "and bounds that hold the truth" test "$(wrong_windows)" = '[]'
	check "not for ever" eventually no_more
	show
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
# It goes on once vmwssd has looked, or a minute later: a libvirt that waits for it might keep vmwssd from the guest.
{
	for ((i = 0; i < 600; i++)); do
		[[ ! -e $embed_dir/looked ]] || break
		sleep 0.1
	done
	exec cat
} <"$embed_dir/dump" >/dev/null &
embed_virsh dump --live one "$embed_dir/dump" >/dev/null 2>&1 &
dump=$!
has_thread() { cat "/proc/$pid/task/"*/comm 2>/dev/null | grep 'live_migration\|mig/src' >/dev/null; }
settles has_thread
from_now
vmwssd_begin --config "$guests_dir/conf"
one_more
: >"$embed_dir/looked"
check "said" has_job_flag
wait "$dump"
rm -f -- "$embed_dir/dump"
check "and no more when it is over" eventually no_more
check "SIGTERM: exit 0" vmwssd_end TERM
finish
