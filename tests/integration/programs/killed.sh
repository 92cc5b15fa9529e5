#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=77
#
# kill -9 of vmwssd with real guests, at many moments: as it begins, while it writes, right after somebody has read what is
# new, right after it has told the service manager how much is kept. What was acknowledged is there afterwards, unchanged.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

rounds=${1:-32}
params="total=32M hot=8M"
if ! libvirtd_begin || ! embed_create one 64 "$params" "$memfd" || ! embed_create two 64 "$params" "$memfd"; then
	fail "guests start"
	finish
	exit 1
fi
options=(--connect "$embed_uri" --database "$db" --period 0.1 --max-period none --window "0.5,2" --samples 200 --budget 60%
	--guest-budget 20%)
records() { sql "SELECT count(*) FROM sample"; }
last_id() { sql "SELECT coalesce(max(id), 0) FROM sample"; }
more_than() { (($(last_id) > $1)); }

vmwssd_begin "${options[@]}"
check "records come" eventually more_than 8
vmwssd_end KILL
"$vmwss" watch --database "$db" --json >"$guests_dir/watched" &
pids+=($!)

said=$(python3 "$root/tests/integration/programs/killed.py" "$rounds" "${SEED:-1}" "$db" "$guests_dir/notify" \
	"${vmwssd_under[@]}" "$vmwssd" --foreground "${options[@]}" 2>>"$log")
says() { jq -e "$1" <<<"$said" >/dev/null; }
check "it was killed $rounds times" says ".kills == $rounds"
check "nothing that was seen or told is lost, of $(jq -c '[.records, .told]' <<<"$said") records" says '.lost == []'
check "records and their minutes and hours are whole each time" says '.wrong == []'
check "a record that lacks would have been noticed" says .notices
check "there was much to lose" says ".records > 10 * $rounds and .told > $rounds"
jq -r '(.lost + .wrong)[] | "# " + .' <<<"$said"
# It gathers for a second (programs/vmwssd/sinks/writer.c), and looks ten times in one.
printf '# the newest record that was kept was at most %s s old\n' "$(jq '.behind_s | max' <<<"$said")"
check "what is not kept is of the last seconds" says '.behind_s | length > 0 and max < 3'
complaints() { grep -E 'set aside|damaged|malformed|^<3>' "$log"; }
complaints | sed 's/^/#   /'
check "the history was never found damaged" test -z "$(complaints)"

before=$(last_id)
vmwssd_begin "${options[@]}"
check "it goes on as ever" eventually more_than "$before"
check "and ends as ever" vmwssd_end TERM
# All lines that "vmwss watch" has printed are in the history.
watched() { jq -r '.domain + " " + .time' "$guests_dir/watched" 2>/dev/null | sort -u; }
sql "SELECT DISTINCT domain || ' ' || time FROM wss" | sort >"$guests_dir/kept"
check "vmwss watch saw them too" test "$(watched | wc -l)" -gt $((5 * rounds))
check "and nothing that is not there" test -z "$(watched | comm -23 - "$guests_dir/kept")"
check "nothing is locked" test -z "$(find /run/vmwss -name '*.lock' 2>/dev/null)"
finish
