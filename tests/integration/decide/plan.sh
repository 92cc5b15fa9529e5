#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=30
# shellcheck disable=SC2016 # jq has variables of its own
#
# vmwss plan over the histories of three hosts whose needs are known: what it says of needs, places, moves, groups, pins
# and hosts that are gone, and what it says of input that is wrong.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
# shellcheck source=../../lib/made_history.sh
. "$(dirname "$0")/../../lib/made_history.sh"

writer=$build/tests/integration/keep_writer
vmwss=$build/host/vmwss
dir=$(mktemp -d /dev/shm/vmwss-plan.XXXX)
trap 'rm -rf -- "$dir"' EXIT

now=$(date +%s)
day=86400 period=1800 # measured every half hour

begin=$((now - 16 * day))
check "three histories" made_history "$dir/a.db" $begin "$now" web1:1:50:150:2 web2:2:50:150:2
check "of which one is of a host where all is busy at once" made_history "$dir/b.db" $begin "$now" db1:3:50:150:10 db2:4:50:150:14
check "and one has a guest that is gone" made_history "$dir/c.db" $begin "$now" ci:5:25:25:0
made_history "$dir/c.db" $((now - 16 * day)) $((now - 3 * day)) old:6:320:320:0

plan() { "$vmwss" plan --from a="$dir/a.db" --from b="$dir/b.db" c="$dir/c.db" --capacity 1G "$@"; }
# says FILTER [OPTION...]: true of its JSON.
says() { plan --json "${@:2}" | jq -e "$1" >/dev/null; }

plan --empty --place 512M | sed 's/^/# /'

echo "# needs"
mib='def mib: . / 1048576; def near($want): mib | . >= $want * 0.99 and . <= $want + 12;'
check "the schema, three hosts, and the guests that run" says '.schema == "vmwss.plan.v1" and
	[.hosts[].host] == ["a", "b", "c"] and [.guests[].domain] == ["web1", "web2", "db1", "db2", "ci"] and .step_s == 60'
check "where guests are busy at once, peaks add up" says "$mib"' .hosts[0] | (.need_p50_bytes | near(200)) and
	(.need_p99_bytes | near(600)) and (.need_risk_bytes | near(600))'
check "where they are not, they do not" says "$mib"' .hosts[1] | (.need_p50_bytes | near(200)) and
	(.need_p99_bytes | near(400)) and (.need_risk_bytes | near(400))'
check "what is planned for has the margin of 16 days" says '.hosts[0] | .planned_bytes / .need_risk_bytes | . > 1.05 and . < 1.08'
check "nothing was short, and all is known" says '[.hosts[] | .short_share == 0 and .longest_short_seconds == 0] | all'
check "with less memory it was, for two hours at a stretch" says '.hosts[0] |
	.longest_short_seconds >= 7200 and .longest_short_seconds <= 9300 and (.short_share * 12 | . > 0.95 and . < 1.3)' --capacity a=512M
check "the worst case: both touch all they have" says '.hosts[0].swap_bytes == 1024 * 1048576'
check "a right size has its margins" says "$mib"' .guests[0].right_size_bytes | mib | . > 300 * 1.15 and . < 300 * 1.3'
check "which hold almost always" says '[.guests[].right_size_risk == 0] | all'
check "a lower percentile is a smaller size, with its risk" says "$mib"' .guests[0] | (.right_size_bytes | mib | . > 100 * 1.05 and . < 120 * 1.3) and
	(.right_size_risk * 12 | . > 0.9 and . < 1.3)' --size-percentile 80% --size-margin 5%
check "which is said" quietly grep -E '^Right sizes, p80 and 5% more: guests needed more than that for [0-9.]+% of their time, at most [0-9.]+% \(' \
	<(plan --size-percentile 80% --size-margin 5%)
expect_exit "a percentile that is none" 1 '--size-percentile 101%: expected 50% to 100%' plan --size-percentile 101%
check "the memory of the fleet does not run out" says '[.hosts[].runway | .slope_bytes_day == 0 and .days == null] | all'
# column NAME SCOPE: of the CSV, in the lines of that scope.
column() { tr -d '\r' | awk -F, -v name="$1" -v scope="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } $1 == scope { print $c }'; }
check "and is of a window that is said" test "$(plan --csv | column right_size_window_s guest | sort -u)" = 60
check "in the table as well" test "$(plan | grep -c 'size of window 60s')" = 5
check "a ratio above 1" says '.overcommit.ratio > 1'

echo "# places and moves"
check "c can be emptied" says '.emptied >= 1 and (.moves | length >= 1) and .moves[0].from == "c" and .short_after == 0' --empty --running-only
check "but for the guest that is gone, for which no other host has room" says "$mib"' [.moves[] | select(.from == "c")] == [] and
	(.hosts[2] | .ended_guests == 1 and (.ended_max_bytes | near(640)) and (.need_p99_bytes | near(690)))' --empty
check "what hosts have afterwards is beside what they have" test "$(plan --empty --running-only | grep -cE '^HOST .*GUESTS +AFTER .*PLANNED +AFTER .*IF IT FAILS +AFTER')" = 1
check "and is not without moves" test "$(plan --moves 0 | grep -c AFTER)" = 0
check "with a host to spare the others can take its guests afterwards" says '.spare == 1 and (.spared_after or .emptied == 0) and
	([.hosts[] | .unplaced_guests_after == 0 and (.unplaced_ended_after | not)] | all) == .spared_after' --empty --spare 1
check "not with no moves" says '.emptied == 0 and .moves == []' --moves 0
check "nor are moves given unasked" says '.moves == null'
check "nor when its guest is pinned" says '[.moves[] | select(.domain == "ci")] == []' --empty --pin ci
check "guests that are to be apart do not meet" says '[.moves[] | select(.to == "a" and .domain == "ci")] == []' --empty --apart ci,web1 --pin web1,web2
check "a new guest has a place" says '.place[0].host != null and .hosts[0].more_guests >= 1' --place 512M
check "one that is too large has none" says '.place == [{"ram_bytes": 68719476736, "host": null}]' --place 64G
check "with a reserve there is less" says '.hosts[0].headroom_bytes < 200 * 1048576' --reserve 256M
check "another host takes c's guest when c fails" says '.hosts[2].unplaced_guests == 0'

echo "# months: of hours whose minutes are not kept any more"
made_history "$dir/monthly.db" $((now - 50 * day)) "$now" monthly:11:50:50:0
made_history "$dir/job.db" $((now - 40 * day)) $((now - 40 * day + 3600)) monthly:11:400:400:0
sqlite3 -batch "$dir/monthly.db" "ATTACH '$dir/job.db' AS job; DELETE FROM bucket WHERE level_s = 3600 AND start_s IN (SELECT start_s FROM job.bucket
	WHERE level_s = 3600); INSERT INTO bucket SELECT * FROM job.bucket WHERE level_s = 3600;
	DELETE FROM bucket WHERE level_s = 60 AND start_s < $((now - 31 * day))"
month() { "$vmwss" plan m="$dir/monthly.db" --capacity 1G --json "$@"; }
check "a job once a month is not in four weeks" test "$(month | jq '.guests[0].need_max_bytes / 1048576 | . < 110')" = true
check "which is said" quietly grep -xE 'monthly on m needed up to 80[0-9]\.[0-9] MiB before this time, and up to 10[0-9]\.[0-9] MiB in it: --since 4[12]d plans for that\.' \
	<("$vmwss" plan m="$dir/monthly.db" --capacity 1G)
check "but not if the plan has it" test "$("$vmwss" plan m="$dir/monthly.db" --capacity 1G --since 42d | grep -c 'before this time')" = 0
check "nor is it in what was never kept" test "$(month --since 60d | jq '.guests[0].days | . > 49 and . <= 50.1')" = true
check "but in the hours of two months" test "$(month --since 60d | jq '.guests[0].need_max_bytes / 1048576 | . > 790 and . < 820')" = true
check "and so it is at the risk" test "$(month --since 60d | jq '.hosts[0].need_risk_bytes / 1048576 | . > 790 and . < 820')" = true

echo "# formats"
check "csv" test "$(plan --csv --empty --running-only | cut -d, -f1 | sort | uniq -c | awk '{ print $2 $1 }' | tr -d '\n')" = \
	"guest5host3move$(plan --json --empty --running-only | jq '.moves | length')scope1"
plan --json --empty --running-only --place 512M,64G --together web1,web2 >"$dir/json"
check "json with moves and places is what the schema promises" quietly "$root/tests/lib/schema.py" check "$dir/json"
check "csv has as many fields in each line" test "$(plan --csv --empty | tr -d '\r' | awk -F, '{ print NF }' | sort -u | wc -l)" = 1
check "the table has the hosts" test "$(plan | grep -cE '^[abc] ')" = 3

echo "# what moves cost"
period=3600 made_history "$dir/writes.db" $begin "$now" calm:21:25:25:0:2 night:22:25:25:0:500:5 never:23:25:25:0:400 dark:24:25:25:0
priced() { "$vmwss" plan w="$dir/writes.db" b="$dir/b.db" --capacity 8G --drain w "$@"; }
costs() { priced --json "${@:2}" | jq -e "$1" >/dev/null; }
priced | sed 's/^/# /'
check "the cheapest goes first, and what waits for its hour last" costs '[.moves[].domain] == ["calm", "dark", "night"]'
# 218 pages of firmware's and 6 % of the rest are taken for zeroes: 480.5 MiB.
check "512 MiB take four seconds, at any hour" costs '.moves[0].migration | .verdict == "converges" and .hour == "any" and
	(.total_seconds | . > 3.8 and . < 5) and .total_low_seconds < .total_seconds and .total_high_seconds > .total_seconds and
	(.sent_bytes / 1048576 | . > 480 and . < 530) and .downtime_seconds > 0 and .curves >= 384'
check "without a measurement there is no price" costs '.moves[1].migration == null'
check "one that is quiet for an hour of the week moves then" costs '.moves[2].migration | .verdict == "converges" and .hour == "Sun 03:00" and
	.curves >= 2 and .total_seconds < 6'
check "one that never is stays" costs '.hosts[] | select(.host == "w") | .guests_after == 1'
check "and it is said what it would need" quietly grep -E \
	'^never on w is not moved: at no hour of the week would its migration converge with 128\.0 MiB/s and 300 ms of downtime, but with [0-9.]+ [MG]iB/s\.$' <(priced)
period=3600 made_history "$dir/short.db" $((now - 7200)) "$now" never:26:25:25:0:400 calm:27:25:25:0:2
short_plan() { "$vmwss" plan w="$dir/short.db" b="$dir/b.db" --capacity 8G --drain w; }
check "of a short history it is said which hours that are" quietly grep -E \
	'^never on w is not moved: at none of the 3 hours of the week that are known would its migration converge with ' \
	<(short_plan)
check "also of a move at any hour" quietly grep -xF 'For 1 move any hour is one of those whose writes are known: less than a week.' <(short_plan)
check "of a long history it is not" eval '! priced | grep -q "less than a week"'
check "which is then enough" costs '[.moves[] | select(.domain == "never") | .migration.hour] == ["any"]' --bandwidth 10GiB/s
check "as is a longer standstill" costs '[.moves[] | select(.domain == "never")] | length == 1' --downtime 10s
check "which is in the JSON" costs '.migration.allowed_downtime_s == 10 and .moves[0].migration.verdict == "converges"' --downtime 10s
check "in the table, too" test "$(priced | grep -cE '^(calm +w +b .* [0-9.]+s \[.*\] .* any|night +w +b .* Sun 03:00|dark +w +b .* - +- +-) +drains w$')" = 3
check "all together" quietly grep -xE 'One after the other, 2 moves take [0-9.]+s and send 9[6-9][0-9]\.[0-9] MiB, with 128\.0 MiB/s and 300 ms of downtime\.' <(priced)
check "but for the unknown one" quietly grep -F 'How long 1 move takes is not known' <(priced)
check "in CSV an unknown price is empty" test "$(priced --csv | column migration_hour move | tr '\n' ,)" = 'any,,Sun 03:00,'
priced --html "$dir/priced.html"
check "on the page, too" quietly grep -F ', Sun 03:00 UTC</li>' "$dir/priced.html"
priced --json >"$dir/json"
check "json with prices is what the schema promises" quietly "$root/tests/lib/schema.py" check "$dir/json"
expect_exit "a speed without its unit" 1 '10G: expected a speed with its unit' priced --bandwidth 10G
expect_exit "a downtime that QEMU refuses" 1 '--downtime: QEMU allows at most 2000 s' priced --downtime 3000s

echo "# the hours of a week, of one guest"
hours() { "$vmwss" migrate "$1" --at "$dir/writes.db" "${@:2}"; }
of_hours() { hours "$1" --json "${@:3}" | jq -e "$2" >/dev/null; }
check "the best is the one that is quiet" of_hours night '.best_hour == 147 and (.hours[] | select(.hour == 147) | .verdict == "converges" and
	.name == "Sun 03:00" and .total_seconds.value < 6 and .curves >= 2)'
check "all others diverge, and one of them is the worst" of_hours night '(.hours | length == 168) and .worst_hour != 147 and
	all(.hours[] | select(.hour != 147); .verdict == "diverges" and .total_seconds.value == null)'
check "with more bandwidth all converge" of_hours night 'all(.hours[]; .verdict == "converges")' --bandwidth 10GiB/s
check "the same price as in the plan" test "$(hours night --json | jq -c '.hours[147].total_seconds.value')" = \
	"$(priced --json | jq -c '.moves[2].migration.total_seconds')"
check "in words" quietly grep -E '^best hour: Sun 03:00 UTC, converges: [0-9.]+s' <(hours night)
hours night --json >"$dir/json"
check "as its schema says" quietly "$root/tests/lib/schema.py" check "$dir/json"
expect_exit "a guest without writes" 2 'the history has no writes of it' hours dark
expect_exit "a guest that is not there" 2 'nobody' hours nobody
expect_exit "no domain" 1 'takes one DOMAIN' "$vmwss" migrate --at "$dir/writes.db"

echo "# a host that is gone, one file of a guest that moved"
made_history "$dir/stale.db" $((now - 16 * day)) $((now - 2 * day)) lost:7:50:50:0
check "stale, and nothing is moved to it" says '(.hosts[] | select(.host == "d")).stale and
	([.moves[] | select(.to == "d" or .from == "d")] == [])' --from d="$dir/stale.db" --empty
check "and said" quietly grep -F 'd: no record since' <(plan --from d="$dir/stale.db")
bell=$'d\a'
check "names are printed without what a terminal obeys" quietly grep -F 'd?: no record since' \
	<(plan --from "$bell=$dir/stale.db")
check "nor does a report print it" test "$(cp "$dir/a.db" "$dir/bell.db" && sqlite3 -batch "$dir/bell.db" "UPDATE guest SET host = 'd' || char(7)" &&
	"$vmwss" report -D "$dir/bell.db" | head -1 | cut -d, -f1)" = 'd?'
made_history "$dir/moved.db" $((now - 16 * day)) $((now - 4 * day)) mover:8:100:100:0
made_history "$dir/there.db" $((now - 4 * day + period)) "$now" mover:8:25:25:0
check "a guest that moved is where it is now, with all its history" says '[.guests[] | select(.domain == "mover")] |
	length == 1 and .[0].host == "f" and (.[0].need_p99_bytes > 190 * 1048576)' --from f="$dir/there.db" --from e="$dir/moved.db"

made_history "$dir/young.db" $((now - 3 * day)) "$now" young:10:50:150:2
check "a young host is known for its own days" says '.hosts[] | select(.host == "y") | .days > 2.9 and .days < 3.1 and .runway == null' \
	--from y="$dir/young.db"
check "and said" quietly grep -xF 'y (3.0 days): with less than 14 days of history the need is the mean and 5 standard deviations, and there is no trend.' \
	<(plan --from y="$dir/young.db")

echo "# a suspended guest, hosts without guests"
cp "$dir/stale.db" "$dir/suspended.db"
made_history "$dir/suspended.db" $((now - 2 * day)) "$now" runs:9:50:50:0
made_event "$dir/suspended.db" suspend $((now - day)) lost
check "a suspended guest counts" says '[.guests[] | select(.host == "d") | [.domain, .suspended]] | sort ==
	[["lost", true], ["runs", false]]' --from d="$dir/suspended.db"
cp "$dir/stale.db" "$dir/ended.db"
made_event "$dir/ended.db" end "$(date +%s)" lost
for since in 4w 1d; do
	check "a host without guests is a place, of $since" says '.hosts[] | select(.host == "d") | .stale == false and .guests == 0' \
		--from d="$dir/ended.db" --since $since
done
check "guests that touch all the time get a place there" says '.place[0].host == "d"' --from d="$dir/ended.db" --place 64G --capacity d=128G

"$writer" "$dir/fresh.db" ask </dev/null
check "a fresh host alone is an empty place" test "$("$vmwss" plan fresh="$dir/fresh.db" --capacity 64G --place 4G --json |
	jq -c '[.guests, (.hosts[] | .host, .stale, .last, .more_guests)]')" = '[[],"fresh",false,null,null]'
check "and for whom is not known" quietly grep -F 'no guest to model a new one on' \
	<("$vmwss" plan fresh="$dir/fresh.db" --capacity 64G --place 4G)

echo "# a drain, carried out"
for i in 1 2 3; do made_history "$dir/d$i.db" $begin "$now" "x$i:4$i:40:80:$((2 * i))" "y$i:5$i:60:90:$((3 * i))"; done
made_history "$dir/d4.db" $begin "$now" z:61:30:60:3
of_all=(d1="$dir/d1.db" d2="$dir/d2.db" d3="$dir/d3.db" d4="$dir/d4.db")
fleet() { "$vmwss" plan "$@" --capacity 500M --json; }
fleet "${of_all[@]}" --drain d1 >"$dir/drain.json"
check "all guests of the host move" quietly jq -e '[.moves[].domain] | sort == ["x1", "y1"]' "$dir/drain.json"
moved=()
for to in $(jq -r '[.moves[].to] | unique[]' "$dir/drain.json"); do
	cp "$dir/d1.db" "$dir/to-$to.db"
	stays=$(jq -r --arg to "$to" '[.moves[] | select(.to != $to) | "\u0027\(.domain)\u0027"] | join(",")' "$dir/drain.json")
	sqlite3 -batch "$dir/to-$to.db" "UPDATE guest SET host = '$to'; DELETE FROM guest WHERE name IN ($stays)"
	moved+=("$to=$dir/to-$to.db")
done
fleet "${of_all[@]:1}" "${moved[@]}" >"$dir/drained.json"
check "planned again, the other hosts have them, and need what the plan said" quietly jq -en --slurpfile a "$dir/drain.json" \
	--slurpfile b "$dir/drained.json" '[$b[0].hosts[].guests] == [$a[0].hosts[1:][].guests_after] and ([range(3) |
	$b[0].hosts[.].planned_bytes / $a[0].hosts[. + 1].planned_after_bytes | . > 0.99 and . < 1.01] | all)'
check "none of them short" quietly jq -e '[.hosts[] | .short_share == 0 and .headroom_bytes > 0] | all' "$dir/drained.json"

echo "# input that is wrong"
expect_exit "no history" 1 'name the histories of the hosts' "$vmwss" plan
expect_exit "no such file" 2 'none\.db: no history there' "$vmwss" plan "$dir/none.db"
echo text >"$dir/text"
expect_exit "no history in it" 2 'text: is not a history' "$vmwss" plan "$dir/text"
expect_exit "no capacity" 2 'host b: set with --capacity b=SIZE' "$vmwss" plan --capacity a=1G a="$dir/a.db" b="$dir/b.db"
expect_exit "a capacity of no host" 2 '--capacity x=1G: no such host' plan --capacity x=1G
check "a reserve of one host" says '[.hosts[].reserve_bytes / 1048576] == [64, 256, 64]' --reserve b=256M --reserve 64M
expect_exit "a capacity without its unit" 1 '--capacity 1024: expected a size with its unit, M, G or T' plan --capacity 1024
expect_exit "a reserve without its unit" 1 '--reserve a=4: expected a size with its unit' plan --reserve a=4
expect_exit "a reserve of no host" 2 '--reserve x=1G: no such host' plan --reserve x=1G
expect_exit "a reserve of everything" 2 'host a: --reserve leaves nothing' plan --reserve 1G
expect_exit "a guest that is not there" 2 '--pin nobody: no guest of that name' plan --pin nobody
expect_exit "no such window" 2 'a\.db: no minutes are kept .* of 7 s.*--window.* 10, 60' plan --window 7
expect_exit "nothing of that time" 2 'stale\.db: nothing is kept of that time' "$vmwss" plan "$dir/stale.db" --since 1d --capacity 1G
cp "$dir/a.db" "$dir/copy.db"
expect_exit "guests that are on two hosts at once" 2 '00000001-1111-.*: two guests have it at once, web1 on a and web1 on e' \
	plan --from e="$dir/copy.db"
expect_exit "an empty host without a name" 2 'fresh\.db: no guest was there .* name the empty host' \
	"$vmwss" plan "$dir/fresh.db" --capacity 64G
expect_exit "two files of one name" 2 'b\.db are both its history.* HOST1=' "$vmwss" plan "$dir/a.db" "$dir/b.db"
expect_exit "a size that is none" 1 '--place 4G,8X: expected' plan --place 4G,8X
expect_exit "too many hosts to spare" 1 '--spare 3: expected' plan --spare 3
expect_exit "a risk that is none" 1 '--risk 0' plan --risk 0
finish
