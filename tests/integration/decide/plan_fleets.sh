#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=30
#
# vmwss plan --from URL of fleets on other people's servers, on a real Prometheus: labels that servers add, answers that are
# partial, values that cannot be read, guests that are off.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

vmwss=$build/host/vmwss
fleets=$root/tests/integration/decide/plan_fleets.py
dir=$(mktemp -d /dev/shm/vmwss-plan-fleets.XXXX)
pids=()
end_all() {
	((${#pids[@]} == 0)) || kill -KILL "${pids[@]}" 2>/dev/null
	rm -rf -- "$dir"
}
trap end_all EXIT

cat >"$dir/fleets.json" <<'END'
{"sites": [
  {"host": "node1", "labels": {"cluster": "east"}, "guests": [{"name": "e1", "id": 1, "need": 300}, {"name": "e2", "id": 2, "need": 300}]},
  {"host": "node1", "labels": {"cluster": "west"}, "skew": 20, "guests": [{"name": "w1", "id": 3, "need": 300}, {"name": "w2", "id": 4, "need": 300}]},
  {"host": "node2", "labels": {"cluster": "east"}, "guests": [{"name": "x", "id": 5, "need": 100}]}],
 "dead": [
  {"host": "node1", "labels": {"cluster": "east"}, "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "labels": {"cluster": "west"}, "to": 3, "guests": [{"name": "w1", "id": 3, "need": 300}]}],
 "idle": [
  {"host": "node1", "labels": {"cluster": "east"}, "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "labels": {"cluster": "west"}, "guests": []}],
 "replicas": [
  {"host": "node1", "labels": {"monitor": "A"}, "guests": [{"name": "e1", "id": 1, "need": 300}, {"name": "e2", "id": 2, "need": 300}]},
  {"host": "node1", "labels": {"monitor": "B"}, "skew": 20, "guests": [{"name": "e1", "id": 1, "need": 300}, {"name": "e2", "id": 2, "need": 300}]},
  {"host": "node2", "labels": {"monitor": "A"}, "guests": [{"name": "x", "id": 5, "need": 100}]}],
 "ports": [
  {"host": "node1", "labels": {"instance": "node1:9200"}, "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "labels": {"instance": "10.0.0.7:9200", "replica": "B"}, "skew": 20, "guests": [{"name": "e1", "id": 1, "need": 300}]}],
 "restarted": [
  {"host": "node1", "labels": {"instance": "node1:9200"}, "to": 5, "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "labels": {"instance": "node1:9300"}, "from": 5, "guests": [{"name": "e1", "id": 1, "need": 300}]}],
 "instances": [
  {"host": "node1", "labels": {"instance": "a:9200"}, "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "labels": {"instance": "b:9200"}, "skew": 20, "guests": [{"name": "w1", "id": 3, "need": 300}]}],
 "young": [
  {"host": "node1", "labels": {"cluster": "east"}, "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "labels": {"cluster": "west"}, "from": 0.25, "guests": [{"name": "w1", "id": 3, "need": 300}]}],
 "turned": [
  {"host": "node1", "labels": {"cluster": "east"}, "to": 0.12, "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "labels": {"cluster": "west"}, "from": 0.12, "guests": [{"name": "e1", "id": 1, "need": 300}]}],
 "overfull": [
  {"host": "node1", "guests": [{"name": "a", "id": 1, "need": 300, "ram": 100}]}],
 "replicated": [
  {"host": "node1", "labels": {"cluster": "east", "replica": "A"}, "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "labels": {"cluster": "east", "replica": "B"}, "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "labels": {"cluster": "west", "replica": "A"}, "to": 3, "guests": [{"name": "w1", "id": 3, "need": 300}]}],
 "retired": [
  {"host": "node1", "to": 5, "guests": [{"name": "old", "id": 1, "need": 100, "to": 6}]},
  {"host": "node2", "guests": [{"name": "b", "id": 3, "need": 100}]}],
 "moved": [
  {"host": "node1", "to": 5, "guests": [{"name": "g", "id": 1, "need": 200}]},
  {"host": "new1", "from": 5, "guests": [{"name": "g", "id": 1, "need": 100}]},
  {"host": "node2", "guests": [{"name": "b", "id": 3, "need": 100}]}],
 "renamed": [
  {"host": "node1", "labels": {"pod": "a"}, "to": 5, "capacity": 4096, "guests": [{"name": "j1", "id": 1, "need": 200}]},
  {"host": "node1", "labels": {"pod": "b"}, "from": 5, "guests": [{"name": "j2", "id": 2, "need": 300}]}],
 "office": [
  {"host": "node1", "guests": [{"name": "base", "id": 1, "need": 100}, {"name": "office", "id": 2, "need": 800, "from": 14, "to": 2}]},
  {"host": "node2", "guests": [{"name": "b", "id": 3, "need": 150}]}],
 "idle-now": [
  {"host": "node1", "guests": [{"name": "office", "id": 2, "need": 800, "from": 14, "to": 2}]},
  {"host": "node2", "guests": [{"name": "b", "id": 3, "need": 150}]}],
 "nightly": [
  {"host": "node1", "guests": [{"name": "base", "id": 1, "need": 100}, {"name": "ci1", "id": 2, "need": 500, "from": 24, "to": 18},
    {"name": "ci2", "id": 3, "need": 300, "from": 20, "to": 16}, {"name": "ci3", "id": 4, "need": 700, "from": 8, "to": 3}]},
  {"host": "node2", "guests": [{"name": "b", "id": 5, "need": 150}]}],
 "rewritten": [
  {"host": "node1", "guests": [{"name": "a", "id": 1, "need": 300, "labels": {"uuid": "00000009-3333-4111-8111-111111111111"}},
    {"name": "b", "id": 2, "need": 400, "labels": {"uuid": "00000009-3333-4111-8111-111111111111"}}]}],
 "lost": [
  {"host": "node1", "guests": [{"name": "a", "id": 1, "need": 100}, {"name": "b", "id": 2, "need": 100, "lost": "ram"}]},
  {"host": "node2", "guests": [{"name": "x", "id": 5, "need": 100}]}],
 "mute": [
  {"host": "node1", "guests": [{"name": "a", "id": 1, "need": 100, "mute": 5}, {"name": "b", "id": 2, "need": 100, "mute": 5}]},
  {"host": "node2", "guests": [{"name": "x", "id": 5, "need": 100}]}],
 "burst": [
  {"host": "node1", "guests": [{"name": "a", "id": 1, "need": 100, "burst": [600, 20, 18]}, {"name": "b", "id": 2, "need": 100}]}],
 "nameless": [
  {"host": "node1", "labels": {"host": null, "exported_host": "node1"}, "guests": [{"name": "a", "id": 1, "need": 300}]}],
 "hostless": [
  {"host": "node1", "lost": "reserve", "guests": [{"name": "a", "id": 1, "need": 300}]},
  {"host": "node2", "guests": [{"name": "b", "id": 2, "need": 300}]}],
 "forgotten": [
  {"host": "node1", "to": 5, "guests": [{"name": "g", "id": 1, "need": 100}, {"name": "office", "id": 2, "need": 800, "to": 8}]},
  {"host": "new1", "from": 5, "guests": [{"name": "g", "id": 1, "need": 100}]},
  {"host": "node2", "guests": [{"name": "b", "id": 3, "need": 100}]}],
 "earlier": [
  {"host": "node1", "guests": [{"name": "g", "id": 1, "need": 100}, {"name": "monthly", "id": 2, "need": 800, "from": 20, "to": 18}]},
  {"host": "node2", "guests": [{"name": "b", "id": 3, "need": 100}]}],
 "grown": [
  {"host": "node1", "capacity": [[99, 4096], [5, 1024]], "guests": [{"name": "g", "id": 1, "need": 100}]},
  {"host": "node2", "capacity": [[99, 512], [5, 2048]], "guests": [{"name": "b", "id": 3, "need": 600, "burst": [600, 20, 18]}]}],
 "resized": [
  {"host": "node1", "guests": [{"name": "g", "id": 1, "need": 100, "burst": [800, 20, 10], "ram": [[99, 1024], [5, 256]]}]},
  {"host": "node2", "guests": [{"name": "b", "id": 3, "need": 250, "ram": [[99, 256], [5, 4096]]}]}],
 "wandering": [
  {"host": "node1", "to": 3, "guests": [{"name": "g", "id": 1, "need": 100, "from": 26, "to": 20.6}, {"name": "g", "id": 1, "need": 100, "from": 17.6, "to": 9.4}, {"name": "g", "id": 1, "need": 100, "from": 7.4, "to": 3}, {"name": "s", "id": 4, "need": 100}]},
  {"host": "node2", "guests": [{"name": "g", "id": 1, "need": 100, "from": 20.58, "to": 17.62}, {"name": "g", "id": 1, "need": 100, "from": 9.38, "to": 7.42}, {"name": "g", "id": 1, "need": 100, "from": 2.9}, {"name": "b", "id": 3, "need": 100}]}],
 "evening": [
  {"host": "node1", "guests": [{"name": "base", "id": 1, "need": 100, "cpus": 1}, {"name": "office", "id": 2, "need": 100, "cpus": 6, "from": 14, "to": 2}]},
  {"host": "node2", "guests": [{"name": "b", "id": 3, "need": 150, "cpus": 3}]}],
 "namesakes": [
  {"host": "node1", "guests": [{"name": "db", "id": 1, "need": 100}, {"name": "x", "id": 2, "need": 100}]},
  {"host": "node2", "guests": [{"name": "db", "id": 3, "need": 300}]}],
 "spared": [
  {"host": "e1", "guests": [{"name": "a", "id": 1, "need": 20}]},
  {"host": "x1", "guests": [{"name": "b", "id": 2, "need": 30}]},
  {"host": "gone", "guests": [{"name": "p", "id": 3, "need": 40}]},
  {"host": "m1", "guests": [{"name": "m", "id": 4, "need": 400}]},
  {"host": "n1", "guests": [{"name": "n", "id": 5, "need": 400}]}],
 "cpus": [
  {"host": "node1", "guests": [{"name": "g1", "id": 1, "need": 100, "cpus": 3}, {"name": "g2", "id": 2, "need": 100, "cpus": 1.5}]},
  {"host": "node2", "guests": [{"name": "g3", "id": 3, "need": 100, "cpus": 2}]},
  {"host": "node3", "guests": [{"name": "g4", "id": 4, "need": 100, "cpus": 5}, {"name": "g5", "id": 5, "need": 100}]}],
 "vacant": [
  {"host": "node1", "guests": [{"name": "a", "id": 1, "need": 300}]},
  {"host": "node2", "guests": []}],
 "equal": [
  {"host": "node1", "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "skew": 20, "guests": [{"name": "w1", "id": 3, "need": 300}]},
  {"host": "node2", "guests": [{"name": "x", "id": 5, "need": 100}]}],
 "equal-idle": [
  {"host": "node1", "guests": []},
  {"host": "node1", "skew": 20, "guests": [{"name": "w1", "id": 3, "need": 300}]}],
 "equal-once": [
  {"host": "node1", "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "skew": 20, "to": 3, "guests": [{"name": "w1", "id": 3, "need": 300}]}],
 "slower": [
  {"host": "node1", "guests": [{"name": "e1", "id": 1, "need": 300}]},
  {"host": "node1", "skew": 30, "to": 3, "guests": [{"name": "e1", "id": 1, "need": 300}]}],
 "deduplicated": [
  {"host": "node1", "guests": [{"name": "e1", "id": 1, "need": 300}, {"name": "e2", "id": 2, "need": 300, "from": 0.4, "skew": -25}]}],
 "churning": [
  {"host": "node1", "guests": [{"name": "base", "id": 1, "need": 100}, {"name": "ci1", "id": 2, "need": 100, "from": 0.5, "to": 0.4},
    {"name": "ci2", "id": 3, "need": 100, "from": 0.4, "to": 0.3}, {"name": "ci3", "id": 4, "need": 100, "from": 0.3, "to": 0.15}]}],
 "domainless": [
  {"host": "node1", "guests": [{"name": "a", "id": 1, "need": 300, "labels": {"domain": null}}]},
  {"host": "node2", "guests": [{"name": "b", "id": 2, "need": 300, "labels": {"domain": "example.com", "exported_domain": "b"}}]}],
 "frozen": [
  {"host": "node1", "frozen": 3, "guests": [{"name": "a", "id": 1, "need": 300}]},
  {"host": "node2", "guests": [{"name": "x", "id": 5, "need": 100}]}],
 "quiet": [
  {"host": "node1", "to": 0.6, "guests": [{"name": "a", "id": 1, "need": 300}]},
  {"host": "node2", "guests": [{"name": "x", "id": 5, "need": 100}]}],
 "paused": [
  {"host": "node1", "to": 0.34, "guests": [{"name": "a", "id": 1, "need": 300}]},
  {"host": "node2", "guests": [{"name": "x", "id": 5, "need": 100}]}],
 "shrunk": [
  {"host": "node1", "capacity": [[99, 2048], [0.05, 256]], "guests": [{"name": "a", "id": 1, "need": 100}]}],
 "filtered": [
  {"host": "node1", "guests": [{"name": "a", "id": 1, "need": 100}, {"name": "b", "id": 2, "need": 700, "lost": "all"}]},
  {"host": "node2", "guests": [{"name": "x", "id": 5, "need": 100}]}],
 "plain": [
  {"host": "node1", "guests": [{"name": "g1", "id": 1, "need": 100}, {"name": "g2", "id": 2, "need": 300}]},
  {"host": "node2", "guests": [{"name": "g3", "id": 3, "need": 100}, {"name": "g4", "id": 4, "need": 100}]},
  {"host": "node3", "guests": [{"name": "g5", "id": 5, "need": 100}]}]}
END
now=$(date +%s)
python3 "$fleets" make "$now" 26 <"$dir/fleets.json" >"$dir/openmetrics"
check "promtool takes the fleets" quietly promtool tsdb create-blocks-from openmetrics -q "$dir/openmetrics" "$dir/tsdb"
port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
url=http://127.0.0.1:$port
echo 'global: {}' >"$dir/prometheus.yml"
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" --storage.tsdb.retention.time=1y --log.level=warn \
	--web.listen-address="127.0.0.1:$port" 2>"$dir/prometheus.log" &
pids+=($!)
disown
ready() { curl --silent "$url/-/ready" | grep Ready >/dev/null; }
check "Prometheus runs" settles ready
python3 "$fleets" spoil "$url" >"$dir/port" &
pids+=($!)
disown
check "the server that spoils answers runs" settles test -s "$dir/port"
spoilt=http://127.0.0.1:$(<"$dir/port")

# plan FLEET [OPTION...], and says FILTER FLEET [OPTION...]: true of its JSON.
plan() { "$vmwss" plan --from "${from:-$url}" --match "fleet=\"$1\"" --step 5m "${@:2}"; }
says() { plan "${@:2}" --json 2>"$dir/err" | jq -e "$1" >/dev/null; }

echo "# whose series these are"
expect_exit "two hosts of one name" 2 'host node1: several hosts have that name, cluster="east" and cluster="west": .*--match' plan sites
check "one of them is chosen" says '[.guests[].domain] == ["e1", "e2", "x"] and [.hosts[].guests] == [2, 1]' sites --match 'cluster="east"'
check "with braces, by a pattern" says '[.guests[].domain] == ["w1", "w2"] and [.hosts[].host] == ["node1"]' sites --match '{cluster!~"ea.*"}'
check "or by its name" says '[.hosts[].host] == ["node2"]' sites --match 'host="node2"'
expect_exit "also if one is not scraped any more" 2 'host node1: several hosts .*cluster="east" and cluster="west"' plan dead
expect_exit "or has no guests" 2 'host node1: several hosts .*cluster="east" and cluster="west"' plan idle
expect_exit "or is there for a quarter of an hour only" 2 'host node1: several hosts .*cluster="east" and cluster="west"' plan young
check "but not if its label has just changed" says '[.guests[].domain] == ["e1"]' turned
check "two servers that scrape one exporter do no harm" says '[.hosts[].guests] == [2, 1] and (.hosts[0].need_p99_bytes / 1048576 |
	. >= 600 and . < 620)' replicas
for fleet in ports restarted; do
	check "nor do two addresses of one exporter: $fleet" says '[.hosts[].guests] == [1] and (.hosts[0].need_p99_bytes / 1048576 |
		. >= 300 and . < 310)' $fleet
done
expect_exit "two instances that serve different guests are two hosts" 2 'node1: several hosts .*instance="a:9200" and instance="b:9200"' plan instances
expect_exit "also of one that two servers scrape" 2 'several hosts .*replica="A" and replica="B", cluster="east" and cluster="west"' plan replicated
expect_exit "two hosts whose labels are equal" 2 'host node1: .* come from different scrapes: .*several hosts' plan equal
expect_exit "one of which has no guests" 2 'host node1: .* come from different scrapes: .*several hosts' plan equal-idle
expect_exit "also if there were two hours ago" 2 'host node1: .* come from different scrapes: .*several hosts' plan equal-once
check "but not if it was only scraped more often" says '[.hosts[].guests] == [1]' slower
check "nor if Thanos has chosen another replica for a new guest than for its host" says '[.hosts[].guests] == [2]' deduplicated
check "a host whose guests come and go is one" says '[.hosts[].guests] == [1]' churning
check "nor does a label that changed, and the memory is that of now" says '[.guests[].domain] == ["j2"] and
	.hosts[0].capacity_bytes == 1024 * 1048576' renamed
expect_exit "a UUID that relabelling gave to several guests" 2 'host node1: two guests have UUID 00000009-.*, a and b: was the label' plan rewritten
expect_exit "no such label" 2 'no vmwss_plan_reserve_bytes.fleet="none". of that time' plan none
expect_exit "matchers that are none" 1 '--match cluster: expected matchers' plan sites --match cluster

expect_exit "series without the label host" 2 'its vmwss_plan_reserve_bytes have no valid label host: was it dropped' plan nameless
check "or one host without the series that names it" quietly grep -F 'host node1 is left out: it has guests, but no vmwss_plan_reserve_bytes' \
	<(plan hostless 2>&1)
check "a guest without the label domain has its UUID as a name, and a label that was renamed counts" says \
	'[.guests[].domain] == ["00000001-3333-4111-8111-111111111111", "b"]' domainless
check "a guest that moved often, at last from a host that died, is one" says '[.guests[] | select(.domain == "g") | .host] == ["node2"]' wandering

echo "# the server's own doubt"
moves='.moves | length > 0'
check "a fleet has moves" says "$moves" plain --empty
for how in partial warnings failed spelled limited cut; do
	from=$spoilt/$how check "not if the answer is partial: $how" says '.moves == [] and ([.hosts[].partial] | all)' plain --empty
	check "which is said" quietly grep -E "$spoilt/$how: its answer is partial: (isP|is_p|error: .store b is gone; st|warnings: ...,.store b is gone.,.st|M3-Re)" "$dir/err"
done
from=$spoilt/partial check "nor is it known whether a host may fail" says '.spared_before == null' plain --spare 1
from=$spoilt/whole check "an answer that M3 has not cut off is whole" says "$moves" plain --empty

echo "# times that were not asked for"
for how in late twice; do
	from=$spoilt/$how expect_exit "are an error: $how" 2 "$spoilt/$how: its answer has values at times that were not asked for, or twice" plan plain
done
from=$spoilt/aligned check "those of Thanos' query frontend give the same plan" says "($moves) and ([.hosts[].need_max_bytes / 1048576 | round] == [403, 202, 101])" \
	plain --empty
check "without a warning" test ! -s "$dir/err"
from=$spoilt/sizes check "of two sizes of a guest the larger counts" says '[.guests[].right_size_bytes > 110e6] | all' plain

echo "# hosts that are switched off or renamed"
check "one without guests does not count" says '[.hosts[].host] == ["node2"] and [.guests[].domain] == ["b"]' retired --empty
check "which is said" quietly grep -F 'host node1 is left out: it has no guests, and no records of late' "$dir/err"
check "nor does the old name of one" says '[.hosts[].host] == ["new1", "node2"] and .guests[0].need_p50_bytes > 100e6' moved

check "one that had guests that have ended is left out with what they needed" quietly grep -F \
	'records of late; 1 that has ended needed up to 800.0 MiB there, which is not planned for' <(plan forgotten 2>&1)

echo "# memory that changed"
check "the capacity of a host" test "$(plan grown 2>&1 | grep -cE 'host node[12]: its capacity was (1.0 GiB to 4.0|512.0 MiB to 2.0) GiB in this time')" = 2
check "the RAM of a guest" test "$(plan resized 2>&1 | grep -cE 'guest [gb] had 256.0 MiB to [14].0 GiB of RAM in this time: .*up to the (256.0 M|4.0 G)iB that')" = 2
check "also minutes ago" quietly grep -F 'host node1: its capacity was 256.0 MiB to 2.0 GiB in this time' <(plan shrunk 2>&1)
check "not if it did not change" test "$(plan plain 2>&1 | grep -c 'in this time')" = 0

check "a need above the RAM is said" quietly grep -F 'a on node1 needed up to 300.0 MiB, more than its RAM: it is planned with up to 100.0 MiB.' \
	<(plan overfull)
check "also if that was larger then" quietly grep -F 'g on node1 needed up to 800.0 MiB, more than its RAM: it is planned' \
	<(plan resized)
echo "# guests that must be apart, and are not"
apart=(plain --apart "g1,g2")
check "they are counted" says '[.hosts[].not_apart_guests] == [1, 0, 0]' "${apart[@]}"
check "which is said" quietly grep -F 'node1: 1 guest must be apart from another guest here.' <(plan "${apart[@]}")
check "and are separated by a move" says '[.hosts[].not_apart_guests_after] == [0, 0, 0] and .moves[0].why == "separate"' "${apart[@]}" --empty
check "unless they are pinned" says '[.hosts[].not_apart_guests_after] == [1, 0, 0]' "${apart[@]}" --pin g1,g2 --empty

echo "# CPUs"
check "memory alone empties two hosts" says '.emptied == 2 and [.hosts[].cpus] == [null, null, null]' cpus --empty
check "what guests use, and what hosts have, is said" says '[.hosts[] | [(.cpus | round), .cpu_limit]] == [[5, 8], [2, 8], [5, 6]] and
	[.guests[].cpus] == [3, 1.5, 2, 5, null]' cpus --cpus 8 --cpus node3=6
check "no move lands where CPUs are short" says '.emptied == 1 and [.moves[] | [.domain, .to]] == [["g3", "node1"]]' cpus --empty --cpus 7 --cpus node3=5
check "nor any at all" says '.moves == []' cpus --empty --cpus 6
check "a guest whose CPUs are not known stays" quietly grep -F 'Of 1 guest the CPUs are not known: it is not moved.' <(plan cpus --cpus 8)
check "nor do others take a host's guests without CPUs" says '[.hosts[].unplaced_guests] == [1, 1, 1]' cpus --cpus 5
check "nor do new guests go there" says '.place[0].host == "node2" and .hosts[0].more_guests == 0' cpus --cpus 5 --place 1G
check "CPUs of libvirt's own metrics, as in the manual" says '[.guests[].cpus | if . then . * 10 | round / 10 else . end] == [3, 1.5, 2, 5, null]' \
	cpus --cpus 8 --cpu-query 'quantile_over_time(0.99, rate(libvirt_domain_info_cpu_time_seconds_total{fleet="cpus"}[5m])[1d:15m])'
check "CPUs of a query by name" says '[.guests[].cpus] == [0.5, null, null, null, null]' cpus --cpus 8 --cpu-query \
	'label_replace(vector(0.5), "domain", "g1", "", "")'
check "guests that have ended had CPUs, too" says '.emptied == 0 and ([.hosts[].cpus | round] == [7, 3])' evening --empty --cpus 8
check "but not with --running-only" says '.emptied == 1' evening --empty --cpus 8 --running-only
check "a name that guests of two hosts have is said" quietly grep -F 'guests of several hosts are called db' <(plan namesakes --cpu-query \
	'label_replace(vector(5), "domain", "db", "", "")' 2>&1)
check "unless the host is" says '[.guests[].cpus] == [5, null, null]' namesakes --cpu-query 'label_replace(label_replace(vector(5), "domain", "db", "", ""), "host", "node1", "", "")'
expect_exit "no CPUs" 1 '--cpus 0: expected a number of CPUs' plan cpus --cpus 0

echo "# guests that belong together"
check "they are counted" says '[.hosts[].parted_guests] == [1, 1, 0] and [.guests[].together] == [true, false, true, false, false]' plain --together g1,g3
check "which is said" quietly grep -F 'node1: 1 guest must be together with a guest elsewhere.' <(plan plain --together g1,g3)
check "and are joined" says '[.hosts[].parted_guests_after] == [0, 0, 0] and (.moves[0] | .why == "join" and (.domain == "g1" or .domain == "g3"))' \
	plain --together g1,g3 --moves 1
check "unless they are pinned" says '[.hosts[].parted_guests_after] == [1, 1, 0] and .moves == []' plain --together g1,g3 --pin g1,g5 --apart g2,g3 --moves 1
check "they leave a host together" says '[.moves[] | select(.domain == "g3" or .domain == "g4") | .to] | length == 2 and .[0] == .[1]' plain --together g3,g4 --drain node2
expect_exit "not if they are to be apart" 2 '--together: --apart keeps g1 and g3 apart' plan plain --together g1,g2 --together g2,g3 --apart g1,g3
expect_exit "nor if they are pinned on two hosts" 2 '--together: --pin keeps g1 on node1 and g3 on node2' plan plain --together g1,g3 --pin g1,g3

echo "# a host is drained"
check "its guests go one after the other" says '[.moves[] | [.domain, .from, .why]] == [["g4", "node2", "drain"], ["g3", "node2", "drain"]] or
	[.moves[] | [.domain, .from, .why]] == [["g3", "node2", "drain"], ["g4", "node2", "drain"]]' plain --drain node2
check "which is said" quietly grep -F 'node2 can be drained: its 2 guests find room when moved in this order.' <(plan plain --drain node2)
check "or stay" quietly grep -F 'node2 cannot be drained: 1 of 2 guests stays, pinned, writing too fast to be moved, or without room on another host.' <(plan plain --drain node2 --pin g3)
expect_exit "no such host" 2 '--drain x: no such host' plan plain --drain x

check "one without guests takes none of others that fail" says '[.hosts[].unplaced_guests] == [0, 0] and [.hosts[].unplaced_guests_after] == [1, 0]' vacant --drain node2
check "one that is not drained completely spares no other" says '.emptied == 1 and .spared_after' spared --drain gone --pin p --empty --spare 1
echo "# limits"
plan plain --empty --json >"$dir/plain.json"
for how in samples chunks searches; do
	from=$spoilt/$how plan plain --empty --json >"$dir/limited.json"
	check "a query that exceeds one is asked for in pieces: $how" test "$(jq -c '.hosts, .guests, .moves' "$dir/plain.json")" = \
		"$(jq -c '.hosts, .guests, .moves' "$dir/limited.json")"
done

echo "# values that cannot be read"
from=$spoilt/inf check "guests without RAM are no guests, and nothing is moved" says '.moves == [] and .guests == [] and
	([.hosts[].partial] | all)' plain --empty
check "but they are named" quietly grep -F 'vmwss_plan_ram_bytes{host="node1",fleet="plain",domain="g1"' "$dir/err"

echo "# series that are missing"
check "a guest without RAM has not ended" quietly grep -F 'host node1: guest b is left out: its vmwss_plan_ram_bytes has no valid value' <(plan lost 2>&1)
check "and nothing is moved from or to its host" says '.moves == [] and [.hosts[].partial] == [true, false]' lost --empty
check "nor where vmwssd is dead, but not the exporter" says '.moves == [] and [.hosts[].stale] == [true, false]' mute --empty
check "which is said" quietly grep -E '^node1: no record since .*: nothing is moved from or to it' <(plan mute --empty)
check "nor where the exporter is not scraped any more" says '.moves == [] and [.hosts[].stale] == [true, false]' quiet --empty
check "one that was not scraped for some minutes is said to be as it was" quietly grep -E 'node1: it was last scraped 2[0-9] minutes ago' <(plan paused 2>&1)
check "nor where its file is not written any more" says '.moves == [] and [.hosts[].partial] == [true, false]' frozen --empty
check "which is said" quietly grep -F 'host node1: its series were not written for five minutes or more' "$dir/err"
check "nor where a guest was filtered out of what was scraped" says '.moves == [] and [.hosts[].partial] == [true, false]' filtered --empty
check "which is said" quietly grep -F 'host node1: its guests needed more together, by its vmwss_plan_host_need_bytes, than those whose needs are there' "$dir/err"

from=$spoilt/lost check "nor where a later answer lacks a guest" says '[.hosts[].partial] == [true, false, false] and ([.moves[].from] | index("node1")) == null' plain --empty
check "which is said" quietly grep -F 'node1: guest g2 has needs in an answer by the hour, but not by steps' "$dir/err"
for how in steps hours; do
	for fleet in office idle-now; do
		from=$spoilt/lost-$how check "or one that has ended, by $how: $fleet" says '.moves == [] and [.hosts[].partial] == [true, false]' $fleet --empty
		check "which is said" quietly grep -E 'node1: guest 00000002-.* has needs in an answer by (the hour|steps), but not by' "$dir/err"
	done
done

for how in no-{name,scrape,doubt,now,size,ram,minute}; do
	from=$spoilt/$how check "nor where an answer lacks a host: $how" says '[.moves[] | select(.from == "node2" or .to == "node2")] == []' plain --empty --capacity 1G --reserve 1M
	check "which is said" quietly grep -E 'node2.*has left something out, unsaid' "$dir/err"
done

echo "# a time that is shorter than the period of a load"
check "what a guest needed before is said" test "$(plan burst --since 12h | grep 'before this time')" = \
	'a on node1 needed up to 600.0 MiB before this time, and up to 100.8 MiB in it: --since 2d plans for that.'
check "and noted" says '[.guests[].need_before_bytes / 1048576 | round] == [600, 100]' burst --since 12h
check "but not if it is in the plan" says '[.guests[] | .need_before_bytes == null] | all' burst

check "so is what guests needed that have ended before" test "$(plan earlier --since 12h | grep 'before this time')" = \
	'Guests that have ended on node1 needed up to 800.0 MiB before this time, and up to 0 B in it: --since 2d plans for that.'
check "but not if it has them" test "$(plan earlier | grep -c 'before this time')" = 0
echo "# guests that are off when the plan is made"
for fleet in "office 1 900" "nightly 3 900"; do
	read -r name n mib <<<"$fleet"
	check "they count: $name" says ".hosts[0] | .guests == 1 and .ended_guests == $n and (.need_max_bytes / 1048576 |
		. > $mib and . < $mib * 1.02)" "$name" --empty
	check "and their host is not emptied" says '.emptied == 0 and .moves == []' "$name" --empty
	check "which is said" quietly grep -E "^node1: $n guests? that ha(s|ve) ended needed up to 800\.[0-9] MiB here, which is planned for\.\$" <(plan "$name")
	check "without them it is" says '.emptied == 1 and .running_only' "$name" --empty --running-only
	check "no other host has room for them if their host fails" says '[.hosts[].unplaced_ended] == [true, false] and .spared_before == false' "$name" --spare 1
	check "nor if it is drained" quietly grep -F 'node1 can be drained: its 1 guest finds room when moved in this order, those that have ended do not.' \
		<(plan "$name" --drain node1)
done

echo "# a server that drops one of two scrapes"
if [[ -n $(command -v victoria-metrics) ]]; then
	victoria=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
	victoria-metrics -storageDataPath="$dir/victoria" -httpListenAddr="127.0.0.1:$victoria" -retentionPeriod=1y -loggerLevel=ERROR \
		-dedup.minScrapeInterval=60s 2>"$dir/victoria.log" &
	pids+=($!)
	disown
	from=http://127.0.0.1:$victoria
	check "VictoriaMetrics runs" settles quietly curl --silent "$from/health"
	grep -E 'fleet="(equal-once|equal|churning|replicas|slower)"' "$dir/openmetrics" | sed -E 's/ ([0-9]+)$/ \1000/' >"$dir/lines"
	check "it takes fleets" quietly curl --silent --fail -T "$dir/lines" -X POST "$from/api/v1/import/prometheus"
	quietly curl --silent "$from/internal/force_flush"
	expect_exit "two hosts whose labels are equal" 2 'host node1: .* come from different scrapes: .*several hosts' plan equal
	check "two that were there until three hours ago" says '[.hosts[].partial] == [true]' equal-once
	check "are said" quietly grep -F 'host node1: its guests needed more together than its vmwss_plan_host_need_bytes' "$dir/err"
	for fleet in churning replicas slower; do
		check "one is one: $fleet" says '[.hosts[].partial] | any | not' $fleet
	done
	unset from
else
	skip "VictoriaMetrics" "not installed: this Debian has no victoria-metrics"
fi

echo "# new guests"
check "after the moves there is room on the hosts that remain" says '([.hosts[] | select(.more_guests_after == 0)] | length) == 2 and
	([.hosts[].more_guests_after] | add) < ([.hosts[].more_guests] | add)' plain --empty --place 300M
check "which is said" quietly grep -E 'As they are, the hosts have room for [0-9]+ more .*, after the moves for [0-9]+\.$' <(plan plain --empty --place 300M)
check "two hosts may fail, but for new guests" says '[.spared_before, .spared_after, .spared_with_new] == [true, true, false]' plain --spare 1 --place 700M
check "which is said" quietly grep -F 'yes before, yes after, no with the new guests.' <(plan plain --spare 1 --place 700M)
finish
