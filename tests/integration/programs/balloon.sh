#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=105
#
# vmwss-balloond on real guests: a dry run changes nothing, an acting one shrinks what is cold,
# inhibits a guest without driver, is the only one, adopts after kill -9, and restores at SIGTERM.

libs=(libvirtd guests vmwssd balloond)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 50%' 'guest-budget = 20%'
# configure ACT: decides every second.
configure() { balloond_conf "act = $1" 'interval = 1' 'shrink-without-statistics = yes' 'reclaim = zram' '[guest spared]' 'exclude = yes'; }

export BALLOON=virtio
if ! libvirtd_begin || ! embed_create cold 256 "total=192M hot=16M balloon=host" "$memfd" ||
	! embed_create spared 256 "total=192M hot=16M balloon=host" "$memfd" ||
	! embed_create deaf 256 "total=192M hot=16M" "$memfd"; then
	fail "libvirtd and the guests start"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"

echo "# a dry run"
configure no
controller_begin
check "it would shrink the cold guest" eventually decided "name = 'cold' AND action = 'shrink' AND NOT acted AND why <> ''"
check "it logs that" eventually controller_logged 'domain cold: would shrink from 256 to 244 MiB, on the way to [0-9]+: '
check "status shows where it would come to" test -n "$("$vmwss" balloon status --journal "$journal" | grep -E ' cold +.* 244.0 MiB +(1[0-9][0-9]|[0-9][0-9])\.[0-9] MiB')"
for name in cold spared deaf; do check "$name has what it had" is $name -eq 256; done
check "no balloon is its own" test "$(journal 'SELECT count(*) FROM balloon')" = 0
check "SIGTERM: exit 0" controller_end TERM
check "it set nothing" test "$(journal 'SELECT count(*) FROM decision WHERE acted')" = 0

echo "# room, of a lazy one"
balloond_conf 'mode = lazy' 'act = no' 'interval = 1' 'shrink-without-statistics = yes'
make_room() { "$vmwss" balloon make-room "$1" --journal "$journal"; }
expect_exit "nobody is asked for room" 2 'vmwss-balloond is not running' make_room 1T
controller_begin
latest() { [[ $(journal "SELECT mode || ' ' || hold || ' ' || action FROM decision WHERE name = 'cold' ORDER BY id DESC LIMIT 1") == "$1" ]]; }
check "a host with enough takes nothing" eventually latest 'lazy ample none'
expect_exit "no decisions as JSON" 1 'only report' "$vmwss" balloon status --json --journal "$journal"
expect_exit "another journal is not made" 2 'has vmwss-balloond run' "$vmwss" balloon make-room 1T --journal "$guests_dir/other.db"
check "it is not there" test ! -e "$guests_dir/other.db"
expect_exit "no size" 2 'make-room much: expected a size' make_room much
check "make-room shows what the guests have" test -n "$(make_room 1T | grep -E ' cold .* 256.0 MiB ')"
check "asked for room, the cold guest would give" eventually latest 'lazy none shrink'
make_room 0 >/dev/null
check "withdrawn, it would not" eventually latest 'lazy ample none'
check "SIGTERM: exit 0" controller_end TERM
controller_begin
check "again, so that the next decisions have rows of their own" eventually latest 'lazy ample none'
echo 28800 >"$guests_dir/set"
LD_PRELOAD=$build/tests/integration/libclock_ahead.so CLOCK_SET=$guests_dir/set \
	"$vmwss" balloon make-room 1T --for 20 --journal "$journal" >"$guests_dir/asked" &
check "asked by a clock that is set back by 8 h then" eventually latest 'lazy none shrink'
check "it lasts as long as it was asked for" eventually latest 'lazy ample none'
wait $! || true
check "SIGTERM: exit 0" controller_end TERM

echo "# one guest is tried"
configure no
printf '%s\n' '[guest *]' 'reservation = 60%' '[guest cold]' 'act = yes' 'reservation = none' >>"$guests_dir/balloond.conf"
controller_begin
check "it shrinks" eventually is cold -lt 250
check "the others would, to the reservation of all" eventually decided "name = 'deaf' AND action = 'shrink' AND NOT acted AND goal_bytes >> 20 = 154"
check "and have what they had" is deaf -eq 256
check "SIGTERM: exit 0" controller_end TERM
check "it has what it had" eventually is cold -eq 256

echo "# acting"
configure yes
controller_begin
check "the cold guest shrinks" eventually is cold -lt 240
check "the journal knows what it had" test "$(journal "SELECT before_bytes >> 20 FROM balloon WHERE name = 'cold'")" = 256
expect_exit "a second controller" 2 'vmwss-balloond: .*balloond' "$build/host/vmwss-balloond" --config "$guests_dir/balloond.conf"
expect_exit "nor is anything released meanwhile" 2 'balloond' "$vmwss" balloon release --journal "$journal"

echo "# kill -9"
controller_end KILL
check "the balloon stays" is cold -lt 240
controller_begin
check "the next one adopts it" eventually controller_logged 'domain cold: its balloon is adopted, it had 256 MiB'
check "a guest without driver is inhibited" eventually decided "name = 'deaf' AND hold = 'inhibited' AND action = 'none' AND why LIKE '%no driver%'"
check "it has what it had" is deaf -eq 256
check "nor is it reclaimed from in a control group that is not its own" eventually decided "name = 'deaf' AND why LIKE '%; nothing is reclaimed: %'"
check "so has one that is excluded" is spared -eq 256
check "what became of a decision" eventually decided "name = 'cold' AND acted AND actual_5s IS NOT NULL"

echo "# vmwss balloon"
check "status" test -n "$("$vmwss" balloon status --journal "$journal" | grep -E ' deaf .* 256.0 MiB .*no driver')"
exported() { "$build/host/vmwss-exporter" --print --database "$db" --journal "$journal" | grep -E "$1"; }
check "the exporter" test -n "$(exported '^vmwss_balloon_state\{domain="deaf",action="none",hold="inhibited",mode="proactive"\} 1')"
check "why" test -n "$("$vmwss" balloon why cold --journal "$journal" | grep -E '^  actual +[0-9.]+ MiB')"
check "log" test -n "$("$vmwss" balloon log cold --last 1000 --journal "$journal" | grep -E ' cold .* 256.0 MiB .* 244.0 MiB +[0-9.]+ MiB +shrink')"
report() { "$vmwss" balloon report --database "$db" --journal "$journal" --window 2,4 --since 1h "$@"; }
report | sed 's/^/# /'
check "report" test -n "$(report | grep -E '^cold +yes ')"
check "who is in a dry run is not acted on in it" test -n "$(report | grep -E '^spared +no ')"
check "report, as its schema says" test -n "$(report --json | "$root/tests/lib/schema.py" "${SCHEMA_MODE:-check}" | tee "$guests_dir/schema")"
for verb in why log; do
	expect_exit "$verb of no such guest" 2 'domain nosuch: the journal has no decision' "$vmwss" balloon $verb nosuch --journal "$journal"
done

echo "# the end"
check "SIGTERM: exit 0" controller_end TERM
for name in cold spared deaf; do check "$name has what it had" eventually is $name -eq 256; done
check "no balloon is left to restore" test "$(journal 'SELECT count(*) FROM balloon WHERE restored_s = 0')" = 0
check "the journal knows that it is on its way" test "$(journal "SELECT set_bytes >> 20 FROM balloon WHERE name = 'cold' AND restored_s > 0")" = 256

echo "# SIGTERM while it starts, after a kill -9"
controller_begin
check "it shrinks again" eventually is cold -lt 250
controller_end KILL
coproc sqlite3 -batch "$journal"
printf '%s\n' 'BEGIN EXCLUSIVE;' 'SELECT 1;' >&"${COPROC[1]}"
read -r _ <&"${COPROC[0]}"
controller_begin
# It waits for the journal, at most two seconds, so this must not be late; the bit is SIGTERM's.
blocks_sigterm() { (($(awk '/^SigBlk:/ { print "0x" $2 }' "/proc/$controller/status") & 1 << 14)); }
check "SIGTERM is taken while it waits for the journal" settles blocks_sigterm
kill -TERM "$controller"
echo 'COMMIT;' >&"${COPROC[1]}"
eval "exec ${COPROC[1]}>&-"
check "it ends: exit 0" wait "$controller"
controller=
check "what the earlier one took is restored" eventually is cold -eq 256
check "no balloon is left to restore" test "$(journal 'SELECT count(*) FROM balloon WHERE restored_s = 0')" = 0

echo "# release, after a kill -9"
controller_begin
check "it shrinks again" eventually is cold -lt 250
controller_end KILL
expect_exit "nothing of no such guest is released" 2 'domain nosuch: it has no balloon' "$vmwss" balloon release nosuch -c "$embed_uri" --journal "$journal"
# As if 64 MiB had been plugged since the balloon was set.
sqlite3 -batch "$journal" "UPDATE balloon SET before_bytes = before_bytes - (64 << 20), set_bytes = set_bytes - (64 << 20),
	assigned_bytes = assigned_bytes - (64 << 20) WHERE name = 'cold'"
check "released" test -n "$("$vmwss" balloon release -c "$embed_uri" --journal "$journal" | grep '^cold: 256.0 MiB')"
check "it has what it had" eventually is cold -eq 256
expect_exit "what is restored is not released again" 2 'domain cold: it has no balloon' "$vmwss" balloon release cold -c "$embed_uri" --journal "$journal"
sqlite3 -batch "$journal" "WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < 300)
	INSERT INTO balloon (uuid, name, domain_id, before_bytes, set_bytes, panic_bytes, panic_s, trouble)
	SELECT printf('00000000-0000-4000-8000-%012d', n), 'many' || n, n, 2, 1, 0, 0, 0 FROM many"
check "there are many" test "$(journal "SELECT count(*) FROM balloon WHERE name LIKE 'many%'")" = 300
check "all are released, however many" "$vmwss" balloon release -c "$embed_uri" --journal "$journal"
check "none is left" test "$(journal "SELECT count(*) FROM balloon WHERE name LIKE 'many%'")" = 0
configure maybe
expect_exit "a word that means nothing" 2 'balloond.conf:11: act = maybe: expected yes or no' \
	"$build/host/vmwss-balloond" --config "$guests_dir/balloond.conf"
configure no
"$build/host/vmwss-balloond" --config "$guests_dir/balloond.conf" --dump-config >"$guests_dir/dumped"
check "its configuration is dumped" grep -qx 'act = no' "$guests_dir/dumped"
check "and can be read again" test \
	"$("$build/host/vmwss-balloond" --config "$guests_dir/dumped" --dump-config)" = "$(<"$guests_dir/dumped")"
finish
