#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=102
#
# Guests that move, under vmwssd: saved and restored, and migrated live between two libvirtds of this machine, which
# vmwssd watches both, or one only. The second has namespaces of its own: other directories, another host name.

libs=(libvirtd guests vmwssd migrate published)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

moving=''
uuid=$(cat /proc/sys/kernel/random/uuid)
elements="<uuid>$uuid</uuid>$memfd"
# Small, for there are many migrations, and a busy machine gives each little time.
params="total=8M hot=2M"
want=$(truth "$params")

end_all() {
	local process
	for process in $moving $daemon $(processes); do kill -KILL "$process" 2>/dev/null; done
	end_there
	libvirtd_end
	end_guests
}
trap end_all EXIT

of="sample JOIN guest ON guest.id = guest_id WHERE guest.name = 'one'"
newest_id() { sql "SELECT coalesce(max(sample.id), 0) FROM $of"; }
newest_pid() { sql "SELECT pid FROM $of ORDER BY sample.id DESC LIMIT 1"; }
records_after() { (($(sql "SELECT count(*) FROM $of AND sample.id > $1") >= $2)); }
goes_on() { eventually records_after "$(newest_id)" "$1"; }
# said TIMES PATTERN: in the log.
said() { (($(grep -cE -- "$2" "$log") == $1)); }

# The process of the guest that runs, wherever; while it moves there are two.
processes() { pgrep -f -- "-uuid $uuid"; }
runs_as() { [[ $(processes) == "$1" ]]; }
newest_is_of() { [[ $(newest_pid) == "$1" ]]; }

# The guest ran at all in these records: it gets through 2 MiB in milliseconds.
ran="vcpu_s >= 0.003 * json_extract(windows, '\$[#-1][1]')"
ran_since() { [[ -n $(sql "SELECT sample.id FROM $of AND sample.id > $1 AND $ran LIMIT 1") ]]; }
# holds_truth: the newest record of a time in which the guest ran, three records from now on.
holds_truth() {
	local first window
	goes_on 3 || return 1
	first=$(newest_id)
	eventually ran_since "$first" || return 1
	window=$(sql "SELECT windows FROM $of AND sample.id > $first AND $ran ORDER BY sample.id DESC LIMIT 1")
	jq -e --argjson t "$want" '.[0] | $t >= .[2] - 2 * (.[2] - .[3]) and $t <= .[2] + 2 * (.[4] - .[2])' \
		<<<"$window" >/dev/null || { echo "# $window, truth $want"; return 1; }
}

# watched_anew WHAT: the only process of the guest has records, which hold the truth.
watched_anew() {
	local pid
	pid=$(processes)
	check "$1: watched as process $pid" eventually newest_is_of "$pid"
	check "$1: the truth" holds_truth
}
# gap FROM-PID TO-PID: ms between the last record of the one and the first of the other.
gap() {
	sql "SELECT (SELECT min(time_ms) FROM $of AND pid = $2) - (SELECT max(time_ms) FROM $of AND pid = $1)"
}

# The budget is not what is tested: where a busy machine exceeds it the panel becomes smaller, and with it a new one.
watch() {
	vmwssd_conf "${@/#/connect = }" 'window = 2,4' 'samples = 1000' 'budget = 100%' 'guest-budget = 90%' \
		'publish = yes' 'log-level = debug'
}

if ! libvirtd_begin || ! begin_there; then
	fail "two libvirtds start" "$(tail -n 3 "$there/messages")"
	finish
	exit 1
fi
watch "$embed_uri" "$there_uri"
vmwssd_begin --config "$guests_dir/conf"
check "both are connected" eventually said 2 ': connected'
check "a guest starts" embed_create one 32 "$params" "$elements"
embed_virsh dumpxml one --inactive >"$guests_dir/one.xml"
check "which is kept when it does not run" quietly embed_virsh define "$guests_dir/one.xml"
watched_anew "started"

echo "# saved and restored"
let_go='domain one: (no longer measured|its process has ended)'
check "managed save" quietly embed_virsh managedsave one
check "let go, once" eventually said 1 "$let_go"
check "started from it" quietly embed_virsh start one
watched_anew "managed save"
check "save" quietly embed_virsh save one "$guests_dir/saved"
check "let go, once" eventually said 2 "$let_go"
check "restore" quietly embed_virsh restore "$guests_dir/saved"
watched_anew "restore"

echo "# a migration that is given up"
before=$(newest_id) pid=$(processes)
patience=600 migrate one "$embed_uri" "$there_uri" --bandwidth 1 >/dev/null 2>&1 &
moving=$!
copying() { embed_virsh domjobinfo one | grep 'Memory processed: *[1-9]' >/dev/null; }
check "under way" eventually copying
flagged() { [[ -n $(sql "SELECT sample.id FROM $of AND sample.id > $before AND flags LIKE '%migrating%' LIMIT 1") ]]; }
check "its records say so" eventually flagged
check "two processes" test "$(processes | wc -l)" = 2
check "records are of the one that runs" goes_on 3
check "only" test -z "$(sql "SELECT sample.id FROM $of AND sample.id > $before AND pid <> $pid LIMIT 1")"
check "given up" embed_virsh domjobabort one
status=0
wait "$moving" || status=$?
moving=
check "virsh says so ($status)" test "$status" -ne 0
check "one process" eventually runs_as "$pid"
check "it stays watched" goes_on 3
check "the same panel" test -z "$(sql "SELECT sample.id FROM $of AND sample.id > $before AND flags LIKE '%new-panel%' LIMIT 1")"
check "the truth" holds_truth
check "it was never let go" said 2 "$let_go"

echo "# a migration there, and back"
check "migrated" migrate one "$embed_uri" "$there_uri"
moved=$(date -u +%FT%T.%3NZ)
watched_anew "there"
echo "# $(gap "$pid" "$(processes)") ms without a record"
element_uri=$there_uri
# The metadata that it brought along is older.
published_there() { [[ $(element one | xmllint --xpath 'string(/wss/@at)' - 2>/dev/null) > $moved ]]; }
check "published there" eventually published_there
check "as the history has it" as_kept one
check "let go here, once" eventually said 3 "$let_go"
check "of the old process nothing more" test -z "$(sql "SELECT sample.id FROM $of AND pid = $pid AND sample.id > (SELECT min(id) FROM sample WHERE pid = $(processes)) LIMIT 1")"
pid=$(processes)
check "and back" migrate one "$there_uri" "$embed_uri"
watched_anew "back"
echo "# $(gap "$pid" "$(processes)") ms without a record"
check "let go there, once" eventually said 4 "$let_go"

echo "# one of the two is watched"
watch "$embed_uri"
kill -HUP "$daemon"
check "reloaded" eventually said 1 '^<5>reloaded'
check "goes on" goes_on 2
check "migrated away" migrate one "$embed_uri" "$there_uri"
check "let go" eventually said 5 "$let_go"
pid=$(processes)
check "no record of it any more" test -z "$(sql "SELECT sample.id FROM $of AND pid = $pid")"
none_is_locked() { [[ -z $(find /run/vmwss -name '*.lock' ! -name vmwssd.lock) ]]; }
check "nothing of it is locked" settles none_is_locked
check "migrated here" migrate one "$there_uri" "$embed_uri"
watched_anew "here again"

echo "# all in all"
# events KIND: how many of the kind.
events() { sql "SELECT count(*) FROM event JOIN guest ON guest.id = guest_id WHERE guest.name = 'one' AND kind = '$1'"; }
printed=$("$vmwss" history one --database "$db" --events --json | jq -r .event | sort | uniq -c | xargs)
check "migrated away three times, and not when it was given up" test "$(events migrate-out)" = 3
check "here or there three times" test "$(events migrate-in)" = 3
check "saved and restored twice" test "$(events save),$(events restore)" = 2,2
check "begun and ended as often, the first time too, but for the last" test "$(events start)" = $(($(events end) + 1))
check "history prints them ($printed)" test "$(sql "SELECT group_concat(n || ' ' || kind, ' ') FROM (SELECT count(*) AS n, kind FROM event
	JOIN guest ON guest.id = guest_id WHERE guest.name = 'one' GROUP BY kind ORDER BY kind)")" = "$printed"
check "the guest is one, whatever its process" test "$(sql "SELECT count(*) FROM guest WHERE name = 'one'")" = 1
check "six processes of it were watched" test "$(sql "SELECT count(DISTINCT pid) FROM $of")" = 6
# The source stands still before the destination runs: with a record of the one after the other's first there are more.
check "one after the other" test "$(sql "SELECT total(pid <> last) FROM (SELECT pid, lag(pid) OVER (ORDER BY sample.id) AS last FROM $of)")" = 5.0
check "no record has more than there is" test -z "$(sql "SELECT sample.id FROM $of AND (resident_bytes > ram_bytes OR
	EXISTS (SELECT 1 FROM json_each(windows) w WHERE w.value ->> 4 > resident_bytes OR w.value ->> 2 > w.value ->> 4 OR w.value ->> 3 > w.value ->> 2))")"
mapped() { awk '/^RssShmem/ {print $2}' "/proc/$(processes)/status"; }
kib=$(mapped)
check "SIGTERM: exit 0" vmwssd_end TERM
check "what was unmapped is mapped again: $(mapped) kB instead of $kib" holds "$(mapped) > $kib + 100"
check "nothing is locked" test -z "$(find /run/vmwss -name '*.lock')"
grep -v '^<7>' "$log" | sed 's/^/# /'
finish
