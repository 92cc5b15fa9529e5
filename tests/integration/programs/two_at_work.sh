#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core tcg libvirt cost=84
# shellcheck disable=SC2016 # jq has variables of its own
#
# Two of our own at one guest: what is measured by hand while vmwssd follows the guest is right, and vmwssd keeps its panel;
# `list` and `doctor`, which only look, take nothing from it.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=192M hot=16M"
truth=$(truth "$params")
of="sample JOIN guest ON guest.id = guest_id WHERE guest.name = 'one'"

newest_id() { sql "SELECT coalesce(max(sample.id), 0) FROM $of"; }
records_since() { sql "SELECT count(*) FROM $of AND sample.id > $1"; }
goes_on() {
	local from
	from=$(newest_id)
	has_more() { (($(records_since "$from") >= ${1:-2})); }
	eventually has_more "${1:-2}"
}
new_panels_since() { sql "SELECT count(*) FROM $of AND sample.id > $1 AND flags LIKE '%new-panel%'"; }
longest_is_there() {
	(($(sql "SELECT count(*) FROM $of AND sample.id > $1 AND json_extract(windows, '\$[#-1][0]') < 20") == 0))
}
newest_has_all() { [[ $(sql "SELECT json_array_length(windows) FROM $of ORDER BY sample.id DESC LIMIT 1") == 2 ]]; }

# The budget is not what is tested: where a busy machine exceeds it the panel becomes smaller, and with it a new one.
vmwssd_conf 'window = 5,20' 'samples = 1000' 'budget = 100%' 'guest-budget = 90%' 'log-level = debug'
if ! libvirtd_begin || ! embed_create one 256 "$params" "$memfd"; then
	fail "libvirtd and the guest start"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"
check "watched" eventually logged 'domain one: measured by pageout'
check "for as long as its longest window" eventually newest_has_all
pid=$(cat /run/libvirt/qemu/one.pid)
before=$(newest_id)

echo "# measured by hand, while vmwssd waits for its turn"
for i in 1 2 3 4; do
	check_panel "by hand $i" "$truth" --pid "$pid" -n 2000 -w 4 -m pageout --wait 30
	goes_on 1 || fail "vmwssd goes on"
done
check "vmwssd has kept its panel" test "$(new_panels_since "$before")" = 0
check "and its longest window" longest_is_there "$before"
check_census "a census by cold" "$truth" 2 --pid "$pid" -w 4 -m cold --wait 30
check "goes on" goes_on 2
check "the panel is kept again" test "$(new_panels_since "$before")" = 0

echo "# what only looks"
check "list" quietly "$vmwss" list --processes
check "goes on" goes_on 2
check "doctor" quietly "$vmwss" doctor --pid "$pid"
check "goes on" goes_on 2
check "they take no panel" test "$(new_panels_since "$before")" = 0
check "list names the method by which vmwssd measures it" test \
	"$("$vmwss" list --processes --json | jq -r "select(.pid == $pid).method")" = pageout

echo "# ages by hand"
"$vmwss" ages --pid "$pid" -m pageout --window 1,4 --json --wait 30 >"$guests_dir/ages"
check "nothing is old and touched" quietly jq -es \
	'.[-1].ages[1] as $bin | $bin.low_bytes < 2 * 1024 * 1024' "$guests_dir/ages"
check "goes on" goes_on 2
check "the panel is kept" test "$(new_panels_since "$before")" = 0

echo "# one that does take the marks: the panel begins anew, under the lock"
"$vmwss" measure --pid "$pid" -m pageout -n 500 -w 60 --wait 30 >/dev/null 2>&1 &
killed=$!
settles measured_by "$pid" "$killed"
sleep 2
kill -KILL "$killed"
wait "$killed" 2>/dev/null
was_begun_anew() { (($(new_panels_since "$before") > 0)); }
check "kill -9 of the one that measures: its marks are still there, so the panel begins anew" eventually was_begun_anew
"$vmwss" measure --pid "$pid" -m pageout -n 2000 -w 6 --json --wait 30 >"$guests_dir/by-hand" 2>&1 &
hand=$!
settles measured_by "$pid" "$hand"
sleep 1
sed -i 's/^window.*/window = 5,15/' "$guests_dir/conf"
kill -HUP "$daemon"
wait "$hand"
check "what was measured meanwhile: $(jq -c '.windows[0] | [.wss_bytes, .wss_low_bytes, .wss_high_bytes]' "$guests_dir/by-hand") of $truth" \
	quietly jq -e --argjson t "$truth" '.windows[0] | $t >= .wss_bytes - 2 * (.wss_bytes - .wss_low_bytes) - 8192 and
		$t <= .wss_bytes + 2 * (.wss_high_bytes - .wss_bytes) + 8192' "$guests_dir/by-hand"

echo "# the end"
check "SIGTERM: exit 0" vmwssd_end TERM
check "nothing is left in /run/vmwss" test -z "$(find /run/vmwss -type f)"
finish
