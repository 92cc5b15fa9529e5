#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=18
#
# The history: a hundred kill -9, a full disk, readers while it is written, who may not write, and what `vmwss history`
# and `vmwss report` say of records whose statistics are known.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# The full disk is a small tmpfs in a mount namespace, where all the rest happens too.
if [[ -z ${VMWSS_KEEP_NAMESPACE:-} ]]; then
	VMWSS_KEEP_NAMESPACE=1 exec unshare --mount --propagation private -- bash "$0" "$@"
fi

writer=$build/tests/integration/keep_writer
dir=$(mktemp -d /tmp/vmwss-k.XXXX)
chmod 755 "$dir"
# As the directory of the package: what is made in it is of its group, which may read it.
mount -t tmpfs -o mode=2755,gid=65534 tmpfs "$dir" || exit 1
# Where everybody may run it.
cp "$build/host/vmwss" "$dir/vmwss"
vmwss=$dir/vmwss
writer_pid=

end() {
	[[ -z $writer_pid ]] || kill -KILL "$writer_pid" 2>/dev/null
	cd /
	umount --lazy "$dir"
	rmdir "$dir"
}
trap end EXIT

# shellcheck disable=SC2053 # a pattern
matches() { [[ $1 == $2 ]]; }
sql() { sqlite3 -batch "$1" "$2"; }
utc() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
uuid() { printf '%08d-1111-4111-8111-111111111111\n' "$1"; }

# --- kill -9 -------------------------------------------------------------------------------------------------------

# Drops what the previous writer wrote to it: the next one's shell may come late to do so, and be killed before.
forget_acknowledged() { : >"$dir/acknowledged"; }

# Everything that was acknowledged is there, at most one record more, and the buckets hold exactly the records.
survived() {
	local first=$1 acknowledged=$2 found
	found=$(sql "$dir/kill.db" "SELECT count(DISTINCT samples) FROM sample WHERE samples BETWEEN $first AND $first + $acknowledged - 1") || return 1
	[[ $found == "$acknowledged" ]] || { echo "round of $first: $found of $acknowledged" >&2; return 1; }
	[[ $(sql "$dir/kill.db" "SELECT count(*) <= $acknowledged + 1 FROM sample WHERE samples >= $first") == 1 ]] || return 1
	[[ $(sql "$dir/kill.db" "PRAGMA integrity_check") == ok ]] || return 1
	[[ $(sql "$dir/kill.db" "SELECT (SELECT count(*) FROM sample) = (SELECT sum(records) FROM bucket WHERE level_s = 3600)
		AND (SELECT count(*) FROM sample) = (SELECT sum(records) FROM bucket WHERE level_s = 60)") == 1 ]]
}

kills=0 rows=0 lost=0
for ((round = 1; round <= 100; round++)); do
	forget_acknowledged
	"$writer" "$dir/kill.db" number $((round * 100000)) >"$dir/acknowledged" 2>"$dir/messages" &
	writer_pid=$!
	# From before the file is open to many records later.
	sleep "0.$(printf '%03d' $((RANDOM % 200)))"
	kill -KILL "$writer_pid" && kills=$((kills + 1))
	wait "$writer_pid" 2>/dev/null
	writer_pid=
	n=$(grep -c . "$dir/acknowledged")
	rows=$((rows + n))
	# Killed before there was a table: the next one makes it.
	if ((n == 0)) && ! sql "$dir/kill.db" "SELECT 1 FROM bucket" >/dev/null 2>&1; then continue; fi
	survived $((round * 100000)) "$n" || lost=$((lost + 1))
	[[ ! -s $dir/messages ]] || { cat "$dir/messages" >&2; lost=$((lost + 1)); }
done
check "a hundred writers were killed ($kills)" test "$kills" = 100
check "nothing acknowledged was lost, of $rows records" test "$lost" = 0
check "they had written something" test "$rows" -gt 1000

# --- readers while it is written -----------------------------------------------------------------------------------

forget_acknowledged
"$writer" "$dir/live.db" number 90000000 >"$dir/acknowledged" &
writer_pid=$!
settles test -s "$dir/acknowledged"
before=0 reads=0
# A writer may be waiting for the disk.
sees_more() {
	n=$("$vmwss" history web1 -D "$dir/live.db" --step record --window 10 --json | jq -s length) && ((n > before))
}
for ((i = 0; i < 10; i++)); do
	settles sees_more || break
	before=$n
	"$vmwss" report -D "$dir/live.db" >/dev/null || break
	reads=$((reads + 1))
done
check "each of ten readers sees more of what is being written ($before records)" test "$reads" = 10

as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --)
nobody() { "${as_nobody[@]}" "$@"; }
check "somebody of its group reads while it is written" \
	quietly nobody "$vmwss" report -D "$dir/live.db" --json
kill -KILL "$writer_pid"
wait "$writer_pid" 2>/dev/null
writer_pid=
check "and after a kill -9" quietly nobody "$vmwss" report -D "$dir/live.db" --json
printf '' | "$writer" "$dir/live.db" ask
check "and after the writer has ended" quietly nobody "$vmwss" report -D "$dir/live.db" --json
mkdir "$dir/copy"
cp "$dir/live.db" "$dir/copy/a?b%.db"
check "and a copy without its WAL" quietly nobody "$vmwss" report -D "$dir/copy/a?b%.db" --json
check "of which nothing was made" test "$(ls "$dir/copy")" = "a?b%.db"
chmod 600 "$dir/copy/a?b%.db"
expect_exit "what may not be read is said" 2 'Permission denied' nobody "$vmwss" report -D "$dir/copy/a?b%.db"
cp "$dir/live.db" "$dir/copy/c.db"
head -c 5000 /dev/zero >"$dir/copy/c.db-wal"
chmod 600 "$dir/copy/c.db-wal"
expect_exit "and a WAL that may not" 2 'its WAL cannot be read' nobody "$vmwss" report -D "$dir/copy/c.db"

# --- records as they are added -------------------------------------------------------------------------------------

coproc asked { "$writer" "$dir/watched.db" ask; }
asked_pid=${asked_PID:-}
# tell NAME UUID-NUMBER MIB NUMBER: a record of this moment.
tell() {
	printf '%s %s %d %d 30 %d\n' "$1" "$(uuid "$2")" "$(date +%s)" "$3" "$4" >&"${asked[1]}"
	read -r said <&"${asked[0]}"
	[[ $said == 0 ]]
}
# seen FILTER: what watch has printed so far.
seen() { jq -es "$1" "$dir/seen" >/dev/null 2>&1; }
tell web1 1 64 1
tell db1 2 32 2
# Not by the function: its process would be a shell's, and to kill that would leave vmwss behind.
"${as_nobody[@]}" "$vmwss" watch -D "$dir/watched.db" --json >"$dir/seen" &
watching=$!
timeout 120 "${as_nobody[@]}" "$vmwss" watch db1 web9 -D "$dir/watched.db" --json --count 2 >"$dir/only" 2>"$dir/messages" &
only=$!
settles test -s "$dir/only"
check "watch: first the last record of each guest" settles seen 'map([.domain, .samples]) | sort == [["db1", 2], ["web1", 1]]'
tell web1 1 65 3 && tell db1 2 33 4
check "watch: then what is added, in order" settles seen 'map(.samples)[2:] == [3, 4]'
wait "$only"
check "watch: of one guest, so many" test "$(jq -c '[.domain, .samples]' "$dir/only" | tr -d '\n')" = '["db1",2]["db1",4]'
check "watch: a name that is not known is said" grep -q 'domain web9: no records in.*waiting' "$dir/messages"
is_free() { [[ $(sql "$dir/watched.db" "PRAGMA wal_checkpoint(TRUNCATE)") == "0|0|0" ]]; }
check "watch: it holds nothing while it waits" settles is_free
eval "exec ${asked[1]}>&-"
wait "$asked_pid"
# As the daemon does with one that is damaged.
for file in "$dir"/watched.db*; do mv "$file" "${file/watched/aside}"; done
printf 'web1 %s %d 66 30 5\n' "$(uuid 1)" "$(date +%s)" | "$writer" "$dir/watched.db" ask >/dev/null
check "watch: it goes on with a new file" settles seen 'last.samples == 5'
kill "$watching"
wait "$watching" 2>/dev/null
check "watch: as a table" bash -c "'$vmwss' watch -D '$dir/watched.db' --count 1 | grep -q '^web1 .*66.0 MiB'"
expect_exit "watch: no history" 2 'no history there' "$vmwss" watch -D "$dir/none.db"
expect_exit "watch: a count of nothing" 1 'count 0: expected' "$vmwss" watch -k 0

# --- a full disk ---------------------------------------------------------------------------------------------------

mkdir "$dir/small"
mount -t tmpfs -o size=1m tmpfs "$dir/small"
head -c 500K /dev/zero >"$dir/small/other"
coproc asked { "$writer" "$dir/small/history.db" ask; }
# add N: one record; its answer in $said
add() {
	printf 'web1 %s %d 64 30 %d\n' "$(uuid 1)" $((1700000000 + 30 * $1)) "$1" >&"${asked[1]}"
	read -r said <&"${asked[0]}"
}
kept=0 said=0
for ((i = 1; i <= 5000; i++)); do
	add "$i"
	[[ ${said%% *} == 0 ]] || break
	kept=$((kept + 1))
done
check "a full disk is an error that says so, after $kept records ($said)" \
	matches "$said" "-28 $dir/small/history.db: *make room*"
add 6000
check "and again" test "${said%% *}" = -28
check "the history is read all the same" \
	test "$("$vmwss" history web1 -D "$dir/small/history.db" --since 5000w --step record --json | jq -s length)" = "$kept"
rm "$dir/small/other"
add 6001
check "with room recording goes on by itself" test "${said%% *}" = 0
asked_pid=${asked_PID:-}
eval "exec ${asked[1]}>&-"
[[ -z $asked_pid ]] || wait "$asked_pid"
check "every record that was kept is there, and no other" \
	test "$(sql "$dir/small/history.db" "SELECT count(*) || ' ' || max(samples) FROM sample")" = "$((kept + 1)) 6001"
check "and its buckets" \
	test "$(sql "$dir/small/history.db" "SELECT sum(records) FROM bucket WHERE level_s = 60")" = "$((kept + 1))"
check "and it is whole" test "$(sql "$dir/small/history.db" "PRAGMA integrity_check")" = ok

# --- what the commands say -----------------------------------------------------------------------------------------

# Ten hours up to now, every five minutes: one guest with 100 MiB always, one with 50 for 65 minutes and 150 for 55 by turns: so 50
# for more than half of the time, with what the last record stands for. What is asked of them goes back an hour more: one may end
# meanwhile.
now=$(date +%s)
first=$((now / 3600 * 3600 - 10 * 3600))
for ((t = first; t < now / 3600 * 3600; t += 300)); do
	printf 'steady %s %d 100 300 1\nwavy,"x" %s %d %d 300 1\n' "$(uuid 1)" "$t" "$(uuid 2)" "$t" \
		$(((t - first) % 7200 >= 3900 ? 150 : 50))
done >"$dir/records"
"$writer" "$dir/history.db" ask <"$dir/records" | sort | uniq -c >"$dir/answers"
check "240 records are kept" grep -qx ' *240 0 ' "$dir/answers"

mib=1048576
report=$("$vmwss" report -D "$dir/history.db" --json --since 12h --capacity 1000M --guest-size 1G --risk 1%)
says() { jq -e "$1" <<<"$report" >/dev/null; }
check "report: a steady guest's quantiles" \
	says ".guests[0] | .domain == \"steady\" and all(.wss_p50_bytes, .wss_p95_bytes, .wss_p99_bytes, .wss_max_bytes; . == 100 * $mib)"
check "report: a wavy guest's, within 1 %" \
	says ".guests[1] | (.wss_p50_bytes / $mib | . >= 49.5 and . <= 50.5) and (.wss_p95_bytes / $mib | . >= 148.5 and . <= 150) and .wss_max_bytes == 150 * $mib"
check "report: reclaimable is resident less WSS less unmeasurable" says ".guests[0].reclaimable_bytes == 410 * $mib"
check "report: assigned and resident" says ".total.ram_bytes == 2048 * $mib and .total.resident_bytes == 1024 * $mib"
# Upper bounds are added up, which are twice as high here.
check "report: all together most of the time 300 MiB, else 500" \
	says "(.total.wss_p50_bytes / $mib | . >= 299 and . <= 301) and (.total.wss_p95_bytes / $mib | . >= 498 and . <= 500)"
check "report: nothing was short of 1000 MiB" says '.total.shortage == 0'
# At the worst hour 500 MiB are free and new guests need 200 or 300 each, by upper bounds as well.
check "report: what fits at 1 % is between the worst and the best of that" says '.fit.guests >= 1 and .fit.guests <= 2'
one=$("$vmwss" report -D "$dir/history.db" --json --since 12h --capacity 400M)
check "report: of 400 MiB nearly half of the time too little" \
	quietly jq -e '.total.shortage > 0.45 and .total.shortage < 0.55' <<<"$one"

# on_terminal COLUMNS ARGS...: what report prints there, of the history above.
on_terminal() { COLUMNS=$1 script -qec "'$vmwss' report -D '$dir/history.db'" /dev/null | tr -d '\r'; }
on_terminal 60 >"$dir/narrow"
check "report: the memory of the host that it is of" grep -qx 'host now: .* of RAM, .*; assigned [0-9]*% of RAM *' \
	<(sed -n '/^DOMAIN/q; /^host now/,$p' "$dir/narrow" | tr -s '\n ' ' ')
check "report: no line is wider" quietly bash -c "! grep -qE '^.{61}' '$dir/narrow'"
check "report: half as wide, names and what they need" grep -q '^DOMAIN .*WSS P95' "$dir/narrow"
check "report: without what is of less use" quietly bash -c "! grep -q '^DOMAIN.*RESIDENT' '$dir/narrow'"
COLUMNS=60 "$vmwss" report -D "$dir/history.db" >"$dir/piped"
check "report: a pipe has all columns" grep -q '^DOMAIN .*RESIDENT.*MEASURED  *LAST' "$dir/piped"
check "report: and no line that scripts have not seen before the headings" test "$(sed -n '2s/ .*//p' "$dir/piped")" = DOMAIN

check "report: all of the time is 100 %" bash -c "'$vmwss' report -D '$dir/history.db' --capacity 1M | grep -q 'more than there is for 100%[.]$'"

# A day of four guests with upper bounds of 800, 800, 800 and 20 MiB. Three are measured each four hours, one after the other, and
# one each minute: they need 2420 at any time.
day=$((now / 3600 * 3600 - 86400))
for ((t = 0; t < 1440; t++)); do
	((t % 80)) || printf 'seldom%d %s %d 400 14400 1\n' $((t / 80 % 3)) "$(uuid $((t / 80 % 3)))" $((day + 60 * t + 5))
	printf 'often %s %d 10 60 1\n' "$(uuid 9)" $((day + 60 * t + 10))
done | "$writer" "$dir/long.db" ask >/dev/null
of_day() { "$vmwss" report -D "$dir/long.db" --since "$(utc $day)" --until "$(utc $((day + 86400)))" --capacity 2G "$@"; }
all_day='.total | (.short_seconds >= 86340 and .shortage == 1 and .longest_short_seconds == .short_seconds) and
	all(.wss_p50_bytes, .wss_p95_bytes, .wss_p99_bytes, .wss_max_bytes; . == 2420 * 1048576)'
check "report: records of hours are added up for all the time that they stand for" quietly jq -es ".[0] | $all_day" <(of_day --json)
check "report: minute by minute" grep -q 'It was short in 1440 of 1440 minutes, for up to 1440 at a stretch' <(of_day)
check "plan: likewise" quietly jq -es '.[0].hosts[0] | (.need_p50_bytes / 1048576 | . >= 2420 and . < 2440) and .short_share == 1' \
	<("$vmwss" plan --json --from a="$dir/long.db" --capacity a=2G --since 26h)
for table in bucket host_need; do sql "$dir/long.db" "DELETE FROM $table WHERE level_s = 60"; done
check "report: also when minutes are not kept any more" quietly jq -es ".[0] | .level == \"hour\" and ($all_day)" <(of_day --json)
sql "$dir/long.db" "DELETE FROM host_minutes"
check "report: and bounds of older files" quietly jq -es '.[0].total | .short_seconds == null and .short_seconds_low >= 86340' <(of_day --json)

# A day in March, every five minutes: no hour of it is there twice, as one in autumn is.
fixed=1773097200
for ((t = fixed; t < fixed + 86400; t += 300)); do printf 'steady %s %d 100 300 1\n' "$(uuid 1)" "$t"; done |
	"$writer" "$dir/fixed.db" ask >/dev/null
# spans FROM UNTIL FORMAT: what is asked for by local time is what is asked for by Unix time.
spans() {
	local from until
	export TZ=CET-1CEST,M3.5.0,M10.5.0/3
	from=$(date -d "@$1" "+$3") until=$(date -d "@$2" "+$3")
	"$vmwss" history steady -D "$dir/fixed.db" --step record --since "$from" --until "$until" --json |
		jq -es --argjson from "$1" --argjson until "$2" 'map(.time | sub("\\.[0-9]+Z"; "Z") | fromdate) |
			length == ($until - $from) / 300 + 1 and min == $from and max == $until' >/dev/null
}
check "history: from one local time to another" spans $((fixed + 3600)) $((fixed + 9000)) %Y-%m-%dT%H:%M:%S
check "history: with a blank, and no seconds" spans $((fixed + 3600)) $((fixed + 9000)) '%Y-%m-%d %H:%M'
unset TZ
check "history: since the epoch" test "$("$vmwss" history steady -D "$dir/fixed.db" --since 1970-01-01Z --step record --json | wc -l)" = 288
expect_exit "history: until the epoch" 1 'not before --until' "$vmwss" history steady -D "$dir/fixed.db" --until 1970-01-01Z --since 1970-01-01Z
expect_exit "history: an end before the beginning" 1 'not before --until' "$vmwss" history steady -D "$dir/history.db" --since 1h --until 2h
expect_exit "history: a day that is none" 1 'since 2026-02-30: expected' "$vmwss" history steady --since 2026-02-30
expect_exit "history: then nothing is kept" 2 'see --since and --until' "$vmwss" history steady -D "$dir/history.db" --until 1w

# Events of a guest within the time that was asked for.
for event in "$((first - 60)) start" "$((first + 4000)) suspend" "$((first + 5000)) resume"; do
	sql "$dir/history.db" "INSERT INTO event(guest_id, time_ms, kind) SELECT id, ${event% *}000, '${event#* }' FROM guest WHERE name = 'steady'"
done
events() { "$vmwss" history steady -D "$dir/history.db" --since "$(utc "$first")" --events "$@"; }
check "history: events" test "$(events --json | jq -c '[.schema, .domain, .event]' | tr -d '\n')" = \
	'["vmwss.event.v1","steady","suspend"]["vmwss.event.v1","steady","resume"]'
check "history: as CSV" test "$(events --csv | sed -n 's/.*,\([a-z]*\)\r$/\1/p' | xargs)" = "event suspend resume"
check "history: for people" test "$(events | awk '{ print $2 }' | xargs)" = "EVENT suspend resume"
check "history: of a guest to which nothing happened" test -z "$("$vmwss" history "$(uuid 2)" -D "$dir/history.db" --events --json)"
"$vmwss" history steady -D "$dir/history.db" --since 12h --svg "$dir/history.svg" >/dev/null
check "history: a picture" xmllint --noout "$dir/history.svg"
check "history: of whom, with what happened" bash -c "for text in 'steady on $(hostname)' suspend resume; do grep -qF \">\$text<\" '$dir/history.svg' || exit 1; done"
expect_exit "history: a picture where there is no directory" 2 'none/x.svg: No such' \
	"$vmwss" history steady -D "$dir/history.db" --svg "$dir/none/x.svg"
expect_exit "history: a picture on a full disk" 2 '/dev/full: No space' "$vmwss" history steady -D "$dir/history.db" --svg /dev/full

# Where vmwssd was told to measure other windows than the usual ones.
cp "$dir/history.db" "$dir/windows.db"
for table in sample bucket host_need; do sql "$dir/windows.db" "UPDATE $table SET windows = json_set(windows, '\$[1][0]', 300)"; done
for command in "history steady" report; do
	# shellcheck disable=SC2086 # words
	check "${command%% *}: the window next to a minute" quietly jq -es 'all(.window_s == 300)' <("$vmwss" $command -D "$dir/windows.db" --json)
done
expect_exit "history: but another that was asked for is not there" 2 'the history has no window of 60 s; it has 10, 300' \
	"$vmwss" history steady -D "$dir/windows.db" --window 60

# Windows are 10, 60, 600 until three hours ago, then 10, 300: only minutes are there at all times.
cp "$dir/history.db" "$dir/changed.db"
for table in sample bucket host_need; do
	at=start_s since=$((first + 7 * 3600))
	[[ $table != sample ]] || at=time_ms since=${since}000
	sql "$dir/changed.db" "UPDATE $table SET windows = json_set(windows, '\$[1][0]', 300) WHERE $at >= $since"
done
check "history: the window that was kept at the time" quietly jq -es 'length > 0 and all(.window_s == 60)' \
	<("$vmwss" history steady -D "$dir/changed.db" --until "$(utc $((first + 6 * 3600)))" --json)
check "report: likewise" quietly jq -es 'all(.window_s == 60)' <("$vmwss" report -D "$dir/changed.db" --json)
check "history: and afterwards the one after it" quietly jq -es 'length > 0 and all(.window_s == 300)' \
	<("$vmwss" history steady -D "$dir/changed.db" --since "$(utc $((first + 8 * 3600)))" --json)

# An hour of long ago: its records are not kept any more, later neither are its minutes.
cp "$dir/history.db" "$dir/old.db"
of_an_hour() {
	"$vmwss" history steady -D "$dir/old.db" --since "$(utc $((first + 3600)))" --until "$(utc $((first + 7199)))" "$@" |
		jq -sr 'map("\(.level) \(.records)") | unique[]'
}
check "history: an hour by its records" test "$(of_an_hour --json)" = "record 1"
sql "$dir/old.db" "DELETE FROM sample WHERE time_ms < $((first + 8000))000"
check "history: by its minutes, when they are deleted" test "$(of_an_hour --json)" = "minute 1"
sql "$dir/old.db" "DELETE FROM bucket WHERE level_s = 60 AND start_s < $((first + 8000))"
check "history: by its hour, when those are, too" test "$(of_an_hour --json)" = "hour 12"
expect_exit "history: but what was asked for by name is not replaced" 2 'see --since and --until' of_an_hour --json --step record

check "history: by name, hours" \
	test "$("$vmwss" history steady -D "$dir/history.db" --step hour --since 12h --json | jq -s "map(select(.wss_bytes == 100 * $mib and .records == 12)) | length")" = 10
check "history: by UUID, records" \
	test "$("$vmwss" history "$(uuid 2)" -D "$dir/history.db" --step record --since 12h --json | jq -s 'map(.wss_bytes) | add / 1048576')" = 11500
"$vmwss" history 'wavy,"x"' -D "$dir/history.db" --step record --since 12h --csv >"$dir/history.csv"
check "history: CSV is what RFC 4180 says" python3 - "$dir/history.csv" <<-'END'
	import csv, sys
	text = open(sys.argv[1], newline="").read()
	rows = list(csv.DictReader(text.splitlines(), strict=True))
	assert text.count("\r\n") == text.count("\n") == 121, text.count("\r\n")
	assert len(rows) == 120 and all(row["domain"] == 'wavy,"x"' and None not in row for row in rows)
	assert sum(int(row["wss_bytes"]) for row in rows) == 11500 * 1048576
END
"$vmwss" report -D "$dir/history.db" --since 12h --csv >"$dir/report.csv"
check "report: CSV too" python3 - "$dir/report.csv" <<-'END'
	import csv, sys
	rows = list(csv.DictReader(open(sys.argv[1], newline=""), strict=True))
	assert [row["scope"] for row in rows] == ["guest", "guest", "host"] and all(None not in row for row in rows)
END
check "report: the table names every guest" \
	matches "$("$vmwss" report -D "$dir/history.db" --since 12h)" "*steady*wavy*all together*"

expect_exit "history: a window that is not kept" 2 'it has 10, 60' "$vmwss" history steady -D "$dir/history.db" --window 30
expect_exit "report: likewise" 2 'recent windows: 10, 60' "$vmwss" report -D "$dir/history.db" --window 30
expect_exit "history: a guest that is not kept" 2 'no records in' "$vmwss" history nosuch -D "$dir/history.db"
expect_exit "no history" 2 'no history there' "$vmwss" report -D "$dir/none.db"
expect_exit "no database" 2 'is not a history' "$vmwss" report -D "$dir/records"
expect_exit "usage" 1 'not both' "$vmwss" report --json --csv
expect_exit "usage: a time" 1 'expected how long ago' "$vmwss" report --since -3d
expect_exit "usage: a size" 1 'expected a size' "$vmwss" report --guest-size 4X

finish
