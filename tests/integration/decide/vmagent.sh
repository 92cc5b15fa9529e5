#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=60
#
# VictoriaMetrics as a fleet has it: vmagent scrapes the exporters of several hosts and vmalert evaluates our rules. Each is
# killed and started anew, the server and an exporter as well; then what the server answers is what the histories say.

libs=(http)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
# shellcheck source=../../lib/made_history.sh
. "$(dirname "$0")/../../lib/made_history.sh"

# shellcheck disable=SC2034 # made_history's
writer=$build/tests/integration/keep_writer period=60 jitter=6
vmwss=$build/host/vmwss
exporter=$build/host/vmwss-exporter
for program in victoria-metrics vmagent vmalert; do
	[[ -n $(command -v $program) ]] || { echo "1..0 # SKIP $program is not installed (Debian: victoria-metrics)"; exit 77; }
done
dir=$(mktemp -d /dev/shm/vmwss-vmagent.XXXX)
declare -A pid=()
end_all() {
	((${#pid[@]} == 0)) || kill -KILL "${pid[@]}" 2>/dev/null
	rm -rf -- "$dir"
}
trap end_all EXIT

get() { curl --silent --fail --max-time 10 "$@"; }
quietly_gets() { get "$1" >/dev/null; }

# Up to an hour from now, as vmwssd goes on measuring: an exporter shows what is of the past.
now=$(date +%s)
begin=$((now - 7200))
check "histories of three hosts" made_history "$dir/a.db" $begin $((now + 3600)) web1:1:50:150:2 web2:2:60:150:2
made_history "$dir/b.db" $begin $((now + 3600)) db1:3:70:150:10 db2:4:50:200:14
made_history "$dir/c.db" $begin $((now + 3600)) ci:5:25:25:0
declare -A port=()
for host in a b c; do
	sqlite3 -batch "$dir/$host.db" "UPDATE guest SET host = '$host'"
	port[$host]=$(free_port)
done
for program in server agent alert; do port[$program]=$(free_port); done
url=http://127.0.0.1:${port[server]}

# --- programs that are started again and again -----------------------------------------------------------------------

cat >"$dir/scrape.yml" <<-END
	global: {scrape_interval: 1s}
	scrape_configs:
	  - job_name: vmwss
	    static_configs: [{targets: ['127.0.0.1:${port[a]}', '127.0.0.1:${port[b]}', '127.0.0.1:${port[c]}']}]
END
start() {
	case $1 in
	server) set -- "$1" victoria-metrics -storageDataPath="$dir/data" -httpListenAddr="127.0.0.1:${port[server]}" \
		-retentionPeriod=1y -search.latencyOffset=0s ;;
	agent) set -- "$1" vmagent -promscrape.config="$dir/scrape.yml" -remoteWrite.url="$url/api/v1/write" \
		-remoteWrite.tmpDataPath="$dir/queue" -httpListenAddr="127.0.0.1:${port[agent]}" ;;
	alert) set -- "$1" vmalert -rule="$root/host/prometheus/vmwss.rules.yml" -datasource.url="$url" -remoteWrite.url="$url" \
		-remoteRead.url="$url" -notifier.url="$url" -evaluationInterval=2s -httpListenAddr="127.0.0.1:${port[alert]}" ;;
	*) set -- "$1" "$exporter" --database "$dir/$1.db" --listen "127.0.0.1:${port[$1]}" ;;
	esac
	"${@:2}" 2>>"$dir/$1.log" &
	pid[$1]=$!
	disown
}
# hit NAME: kill -9, and a new one a few seconds later.
hit() {
	kill -KILL "${pid[$1]}"
	sleep "${2:-3}"
	start "$1"
}
for program in a b c server agent alert; do start $program; done
check "the server runs" settles quietly_gets "$url/health"

# query EXPRESSION: "host/guest value", sorted.
query() {
	get -G "$url/api/v1/query" --data-urlencode "query=$1" |
		jq -r '.data.result[] | "\(.metric.host // "")/\(.metric.domain // "") \(.value[1])"' | sort
}
# Reads each guest's newest record from the histories, by a query of its own.
records() {
	local host
	for host in a b c; do
		sqlite3 -batch -separator ' ' "$dir/$host.db" "SELECT '$host/' || guest.name, $1 FROM sample JOIN guest ON guest.id = guest_id
			WHERE sample.id IN (SELECT max(id) FROM sample GROUP BY guest_id)"
	done | sort
}
answers() { query "$1" >"$dir/answer"; cmp -s "$dir/answer" <(echo "$2"); }

ram=$(records ram_bytes)
check "the server has the RAM of each guest" settles answers vmwss_plan_ram_bytes "$ram"
up() { query 'count(up == 1)'; }
check "all three are scraped" test "$(up)" = "/ 3"

# needs TIME: of each guest in the minute before that of the time, the largest upper bound, as the history has it.
needs() {
	local host
	for host in a b c; do
		sqlite3 -batch -separator ' ' "$dir/$host.db" "SELECT '$host/' || guest.name, max(json_extract(value, '\$[5]'), json_extract(value, '\$[7]'))
			FROM bucket JOIN guest ON guest.id = guest_id, json_each(bucket.windows)
			WHERE level_s = 60 AND start_s = $(($1 / 60 * 60 - 60)) AND json_extract(value, '\$[0]') = 60"
	done | sort
}
needs_agree() {
	local at
	at=$(date +%s)
	# Not where a minute begins.
	((at % 60 >= 4 && at % 60 < 58)) || { sleep 6 && at=$(date +%s); }
	needs "$at" >"$dir/needs"
	[[ -s $dir/needs ]] && answers vmwss_plan_need_bytes "$(<"$dir/needs")"
}
check "and the need of each in the last minute" settles needs_agree
rule_agrees() {
	query 'vmwss:working_set:ratio{window="60"}' | sed 's/^\///' >"$dir/ratio"
	query 'vmwss_working_set_bytes{window="60"} / ignoring (window) vmwss_ram_bytes' | sed 's/^\///' >"$dir/quotient"
	[[ -s $dir/ratio ]] && cmp -s "$dir/ratio" "$dir/quotient"
}
check "vmalert records our rules" settles rule_agrees
alerts() { get "http://127.0.0.1:${port[alert]}/api/v1/groups" | jq -r '[.data.groups[].rules[]?, .data.groups[].alerting_rules[]?, .data.groups[].recording_rules[]? | .lastError // .last_error // ""] | unique | join("")'; }
check "none of them fails" test -z "$(alerts)"

# --- killed, and started anew ----------------------------------------------------------------------------------------

for program in agent alert server a; do
	hit $program
	check "after kill -9 of $program the server has all guests" settles answers vmwss_plan_ram_bytes "$ram"
done
check "their needs" settles needs_agree
check "and what the rules record" settles rule_agrees

# vmagent keeps what it cannot deliver.
kill -KILL "${pid[server]}"
sleep 8
back=$(date +%s)
start server
check "the server is there again" settles quietly_gets "$url/health"
delivered() {
	local n
	n=$(query "count_over_time(vmwss_plan_reserve_bytes{host=\"b\"}[7s] @ $back)" | cut -d ' ' -f 2)
	((${n:-0} >= 5))
}
check "and gets what was scraped meanwhile" settles delivered

plan() { "$vmwss" plan "$@" --since 1h --capacity 1G --json 2>/dev/null | jq -c '[.guests[] | [.host, .domain, .ram_bytes]] | sort'; }
check "a plan has the same guests as one from the histories" test "$(plan --from "$url")" = "$(plan "$dir"/[abc].db)"
finish
