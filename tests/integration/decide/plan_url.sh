#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=45
# shellcheck disable=SC2016 # jq has variables of its own
#
# vmwss plan --from URL: a real Prometheus, with TLS and a password, that has what the exporter of each host would have
# served of its history gives the same plan as the histories, and so does VictoriaMetrics; and servers that refuse, hang,
# lie or send without end are an error that names the URL and the remedy.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
# shellcheck source=../../lib/made_history.sh
. "$(dirname "$0")/../../lib/made_history.sh"

writer=$build/tests/integration/keep_writer
samples=$build/tests/integration/plan_samples
vmwss=$build/host/vmwss
dir=$(mktemp -d /dev/shm/vmwss-plan-url.XXXX)
pids=()
end_all() {
	((${#pids[@]} == 0)) || kill -KILL "${pids[@]}" 2>/dev/null
	rm -rf -- "$dir"
}
trap end_all EXIT

# A record is scraped up to 77 s later. So that each step has the same records in the histories and in what was scraped, none is made
# within that of a step's end, and the last is of the hour in which the script runs.
into_hour=$(($(date +%s) % 3600))
((into_hour >= 200)) || sleep $((200 - into_hour))
now=$(date +%s)
day=86400 period=600 jitter=6
last=$((now - 120))
((last % 300 < 220)) || last=$((last - 80))
# No whole number of days: the margin for them would be one that is just on the edge of rounding.
begin=$((last - 29 * 3600))
# Guests end in the middle of a step of a quarter of an hour, for what was scraped of them ends a minute or two earlier.
went=$(((now - day) / 900 * 900 + 450)) over=$(((now - 1050) / 900 * 900 + 450))

# history HOST FROM TO GUEST...: of the host called as the file, with a record each ten minutes.
history() {
	made_history "$dir/$1.db" "${@:2}" && sqlite3 -batch "$dir/$1.db" "UPDATE guest SET host = '$1'"
}
# event HOST NAME KIND AGO
event() { made_event "$dir/$1.db" "$3" $((now - $4)) "$2"; }
check "histories of three hosts" history a $begin $last web1:1:50:150:2 web2:2:60:150:2
history b $begin $last db1:3:50:150:10 db2:4:50:200:14
history b $begin $((now - day / 2)) sleeper:5:80:80:0
event b sleeper suspend $((day / 2 - 60))
history c $begin $last ci:6:25:25:0
history c $begin $went gone:7:200:200:0
event c gone end $((now - went - 60))
history c $begin $((over - 100)) brief:10:20:20:0
# Measured each four hours, the last time two and a half hours ago. What it needs is in the middle of a bin of a sketch.
period=14400 history c $((last - 9000 - 6 * 14400)) $last seldom:11:99:99:0
# The first record of e is up to half an hour before those of others, in the second half of an hour; its scrapes begin before it.
# The last one holds over the end of its hour, and then its guest ends: in the middle of a step as well, and ten seconds into a
# minute, so that one minute of it is missing from what was scraped.
boundary=$((now / 3600 * 3600 - 3600)) quit=$((boundary + 430))
history e $((boundary - 60 - 99000)) $((boundary - 60)) only:8:25:25:0
# The same of c until a day ago, when its guest that is gone was there: the exporter served that then.
history before $begin $went ci:6:25:25:0
history before $begin $went gone:7:200:200:0
history before $begin $went brief:10:20:20:0
period=14400 history before $((last - 9000 - 6 * 14400)) $went seldom:11:99:99:0
sqlite3 -batch "$dir/before.db" "UPDATE guest SET host = 'c'"
capacity=$((1 << 30)) reserve=$((64 << 20))

# --- what was scraped ------------------------------------------------------------------------------------------------

# scrape HOST FROM TO: each minute.
scrape() { "$samples" "$dir/$1.db" "$2" "$3" $capacity $reserve || fail "samples of $1"; }
first=$((begin / 60 * 60 + 17))
ended=$((first + (over - first) / 60 * 60))
late=$((first + (quit - first) / 60 * 60))
left=$((first + (went - first) / 60 * 60))
{
	for host in a b; do scrape $host $first "$(date +%s)"; done
	# A guest of each was scraped until it ended.
	scrape before $first $left
	scrape c $((left + 60)) $ended
	scrape e $((first - 3600)) $late
	event c brief end $((now - over))
	event e only end $((now - quit))
	scrape c $((ended + 60)) "$(date +%s)"
	scrape e $((late + 60)) "$(date +%s)"
} >"$dir/samples"
(cat "$dir/samples" && echo '# EOF') >"$dir/openmetrics"
check "promtool takes them" quietly promtool tsdb create-blocks-from openmetrics -q "$dir/openmetrics" "$dir/tsdb"

# --- a Prometheus with TLS and a password ----------------------------------------------------------------------------

free_port() { python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'; }
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
		-addext subjectAltName=IP:127.0.0.1 -keyout "$dir/$1.key" -out "$dir/$1.pem" 2>/dev/null
}
check "a certificate" certificate good
check "and another" certificate other
# bcrypt of "correct horse": Python has no crypt since 3.13.
hash='$2b$04$PNLYK.G/IxC4ymxLeCr5o.b/9rQNOiJ1x61udYJswR28z7aQ/iAw6'
cat >"$dir/web.yml" <<-END
	tls_server_config: {cert_file: good.pem, key_file: good.key}
	basic_auth_users: {planner: '$hash'}
END
echo 'planner:correct horse' >"$dir/password"
echo 'planner:wrong' >"$dir/wrong"
echo 'global: {}' >"$dir/prometheus.yml"
port=$(free_port)
url=https://127.0.0.1:$port
prometheus --config.file="$dir/prometheus.yml" --web.config.file="$dir/web.yml" --storage.tsdb.path="$dir/tsdb" \
	--storage.tsdb.retention.time=1y --log.level=warn --web.listen-address="127.0.0.1:$port" 2>"$dir/prometheus.log" &
pids+=($!)
disown
plan() { "$vmwss" plan --from "$url" --cacert "$dir/good.pem" --user-file "$dir/password" "$@"; }
ready() { curl --silent --cacert "$dir/good.pem" --user 'planner:correct horse' "$url/-/ready" | grep Ready >/dev/null; }
check "Prometheus runs" settles ready
from_files() {
	"$vmwss" plan "$dir"/[abc].db e="$dir/e.db" --capacity $capacity --reserve $reserve "$@"
}
plan --place 512M --empty | sed 's/^/# /'

# same AS URL_PLAN [DAYS]: the plans as JSON, but for what two minutes more or less change: within 1 %, days within 5 minutes, or as
# many as are given: they may be the first of one step more. The need for the risk of 0.1 % is one of the largest steps, and a step more
# makes it the next of them: within 1 % of the needs for half and for twice the risk, where AS has them.
quarter=0.0106 hour=0.0419
same() {
	local low=${1%.json}-low.json high=${1%.json}-high.json
	[[ -e $low ]] || low=$1 high=$1
	jq -n --slurpfile a "$1" --slurpfile b "$2" --slurpfile low "$low" --slurpfile high "$high" --argjson days "${3:-0.0035}" '
		def flat: [paths(scalars) as $p | {key: ($p | map(tostring) | join(".")), value: getpath($p)}] | from_entries;
		($low[0] | flat) as $least | ($high[0] | flat) as $most |
		($a[0] | flat) as $x | ($b[0] | flat) as $y | [($x + $y) | keys[] | . as $k | select(
			if ($k | test("(^|\\.)(to|unknown|last|headroom_bytes)$")) then false
			elif ($k | endswith("days")) then ($x[$k] - $y[$k]) | fabs > $days
			elif ($k | test("^hosts\\..*\\.(need_risk|planned)_bytes$")) and ($x[$k] | type) == "number" then
				$y[$k] < 0.99 * $least[$k] - 1 or $y[$k] > 1.01 * $most[$k] + 1
			elif ($x[$k] | type) == "number" and ($y[$k] | type) == "number" then
				($x[$k] - $y[$k]) | fabs > 0.01 * ($x[$k] | fabs) + 1
			else $x[$k] != $y[$k] end) | "\(.): \($x[$k]) \($y[$k])"]' >"$dir/differs"
	[[ $(jq length "$dir/differs") == 0 ]] || { jq -r '"#   \(.[])"' "$dir/differs"; return 1; }
}
files_plan() {
	from_files --json --empty --place 512M >"$dir/files.json"
	from_files --json --risk 0.2% >"$dir/files-low.json"
	from_files --json --risk 0.05% >"$dir/files-high.json"
}
files_plan
plan --json --empty --place 512M >"$dir/url.json" 2>"$dir/warnings"
says() { jq -e "$1" "$dir/url.json" >/dev/null; }
check "the plan of the URL is that of the histories" same "$dir/files.json" "$dir/url.json"
check "without a warning" test ! -s "$dir/warnings"
from_files --json --empty --step 15m >"$dir/files-15m.json"
plan --json --empty --step 15m >"$dir/url-15m.json"
check "so it is in steps of a quarter of an hour" same "$dir/files-15m.json" "$dir/url-15m.json" $quarter
expect_exit "a step that is none" 1 '--step 7m: expected 1m, 2m, 3m, 5m, 10m, 15m, 30m or 1h' plan --step 7m
check "with capacity and reserve of the hosts" says '[.hosts[] | .capacity_bytes == 1073741824 and .reserve_bytes == 67108864] | all'
check "a suspended guest is there" says '[.guests[] | select(.suspended) | .domain] == ["sleeper"]'
check "one that has ended is not" says '[.guests[] | select(.domain == "gone")] == []'
check "nor is one that ended minutes ago" says '[.guests[] | select(.domain == "brief")] == []'
check "a host without guests is a place" says '.hosts[3] | .host == "e" and .guests == 0 and .stale == false'
# A day, 2.5 hours, and less than one in which it is not late.
check "a guest that is measured each four hours is there all of the time" says '.guests[] | select(.domain == "seldom") |
	.days > 1.1 and .days < 1.11'
check "and in what its host needs" says '.hosts[2].need_p50_bytes / 1048576 | . >= 300 and . < 345'
check "moves are found" says '.moves | length > 0'
check "an option prevails over the host's capacity" test "$(plan --capacity b=8G --json | jq -c '[.hosts[].capacity_bytes / 1048576]')" = '[1024,8192,1024,1024]'
history d $begin $last extra:9:50:50:0
check "a URL and a history in one plan" test "$(plan d="$dir/d.db" --capacity d=1G --json | jq -c '[.hosts[].host]')" = '["a","b","c","e","d"]'
expect_exit "a host of both" 2 "$url and .*a\\.db are both its history" plan "$dir/a.db" --capacity 1G
expect_exit "two URLs of one host" 2 "host a: $url and $url/ both have it: .*--match" plan --from "$url/"
expect_exit "no such window" 2 "$url: host a has guests, but no vmwss_plan_need_bytes .* 7 s: choose with --window" plan --window 7
expect_exit "a time with nothing" 2 "$url: it has no vmwss_plan_reserve_bytes of that time" plan --since 1s

# --- refused ---------------------------------------------------------------------------------------------------------

not() { ! "$@" >/dev/null; }
try() { "$vmwss" plan --from "$url" "$@"; }
expect_exit "an authority that is not trusted" 2 "$url: .*name the certificate of its authority with --cacert" try
expect_exit "another authority" 2 "$url: .*--cacert" try --cacert "$dir/other.pem" --user-file "$dir/password"
expect_exit "no such authority" 2 "$url: .*--cacert" try --cacert "$dir/none.pem"
expect_exit "no password" 2 "$url: it answers 401: name a password .*--user-file" try --cacert "$dir/good.pem"
expect_exit "a wrong password" 2 "$url: it answers 401, and does not accept what is in $dir/wrong" \
	try --cacert "$dir/good.pem" --user-file "$dir/wrong"
expect_exit "a password file without one" 2 'good.pem: its first line must be USER:PASSWORD' \
	try --cacert "$dir/good.pem" --user-file "$dir/good.pem"
expect_exit "no such file" 2 "$dir/none: No such file" try --cacert "$dir/good.pem" --token-file "$dir/none"
expect_exit "a password in the URL" 2 'can be read by everyone: .*put USER:PASSWORD into a file' \
	"$vmwss" plan --from "https://planner:x@127.0.0.1:$port"
expect_exit "two ways" 1 'not both' try --user-file "$dir/password" --token-file "$dir/password"
expect_exit "a URL with a name" 1 'without a host name' "$vmwss" plan --from "x=$url"
for secret in x=http://u:s3cret@h ./x=http://u:s3cret@h x=y=HTTPS://u:s3cret@h htpp://u:s3cret@h http://u:s3cret=@h; do
	"$vmwss" plan --from "$secret" >>"$dir/secrets" 2>&1
done
check "a password in a URL is not printed, whatever else is wrong" test "$(grep -c s3cret "$dir/secrets")" = 0

# --- servers that are wrong ------------------------------------------------------------------------------------------

python3 "$root/tests/integration/decide/plan_url_server.py" "$dir/requests" >"$dir/port" &
pids+=($!)
disown
check "the server of faults runs" settles test -s "$dir/port"
wrong=http://127.0.0.1:$(<"$dir/port")
# faulty NAME HOW PATTERN [OPTION...]
faulty() { expect_exit "$1" 2 "$wrong/$2: $3" "$vmwss" plan --from "$wrong/$2" "${@:4}"; }
faulty "one that hangs" hang 'no answer within 1 s: .*--timeout' --timeout 1
faulty "one that drips" drip 'no answer within 1 s: .*--timeout' --timeout 1
faulty "garbage" garbage 'what came is not an answer of the Prometheus HTTP API: give the URL up to what stands before /api/v1'
faulty "JSON without its end" truncated 'what came is not an answer of the Prometheus HTTP API'
faulty "a connection that breaks" cut 'Transferred a partial file'
faulty "500" failing 'it answers 500, oops'
faulty "the server's own words" tenant 'it answers 401: name a password or a token .*it says: no org id'
faulty "a header that it wants" tenant 'it has no vmwss_plan_reserve_bytes' --header 'X-Scope-OrgID: ours' --header 'X-More: 1'
expect_exit "a header that is none" 1 '--header x: expected NAME: VALUE' try --header x
expect_exit "a URL without http://" 1 '--from 127.0.0.1:9090: there is no such file; .* as in http://127.0.0.1:9090' \
	"$vmwss" plan --from 127.0.0.1:9090
faulty "of a limit that does not pass" limited 'it answers 429, the tenant exceeded the request rate limit$' --timeout 2
check "for which it was asked again" test "$(grep -c limited "$dir/requests")" -ge 3
faulty "a gateway's page has none" gateway 'it answers 502: its own log says why' --timeout 1
faulty "a server that restarts is asked until it answers" restarting 'it has no vmwss_plan_reserve_bytes'
check "not more often" test "$(grep -c restarting "$dir/requests")" -ge 4
faulty "one that says for how long is asked again" waiting 'it has no vmwss_plan_reserve_bytes'
check "only then" test "$(grep -c waiting "$dir/requests")" = 2
faulty "an error of the API" refusing 'it answers 422, execution: query processing would load too many samples'
check "which commands no terminal" test "$("$vmwss" plan --from "$wrong/refusing" 2>&1 | grep -c $'\e')" = 0
faulty "an answer without end" enormous 'the answer has more than 64 MiB'
expect_exit "one that is so once it is unpacked" 2 'the answer has more than 64 MiB' \
	"$vmwss" plan --from "${wrong/127.0.0.1/0.0.0.0}/bomb" # of a loopback address nothing is compressed
faulty "a redirection" moved 'it answers 302, a redirection to http://localhost:[0-9]*/stolen/: give the URL where the API is' \
	--user-file "$dir/password"
check "is not followed" test "$(grep -c stolen "$dir/requests")" = 0
faulty "a token that is missing" bearer 'it answers 401: name a password or a token'
echo s3cret >"$dir/token"
faulty "a token is accepted" bearer 'it has no vmwss_plan_reserve_bytes' --token-file "$dir/token"
faulty "a part of the answer is missing" partial 'its answer is partial: warnings: ..store 10.0.0.7:10901 is gone'
expect_exit "nothing listens" 2 'http://127.0.0.1:1: .*does it run, and is the port right' "$vmwss" plan --from http://127.0.0.1:1
"$vmwss" plan --from "$wrong/hang" --timeout 5 2>"$dir/no-terminal" &
other=$!
script -qec "'$vmwss' plan --from $wrong/hang --timeout 5" /dev/null </dev/null >"$dir/terminal"
wait $other
check "a terminal is told what is awaited" quietly grep 'plan: 0% read' "$dir/terminal"
check "nothing else is" test "$(wc -l <"$dir/no-terminal")$(grep -c '% read' "$dir/no-terminal")" = 10

# --- a client certificate ---------------------------------------------------------------------------------------------

cat "$dir/good.pem" "$dir/good.key" >"$dir/both.pem"
python3 "$root/tests/integration/decide/plan_url_server.py" "$dir/requests" "$dir/both.pem" "$dir/other.pem" >"$dir/tls-port" &
pids+=($!)
disown
check "a server that wants one runs" settles test -s "$dir/tls-port"
tls() { "$vmwss" plan --from "https://127.0.0.1:$(<"$dir/tls-port")/empty" --cacert "$dir/good.pem" "$@"; }
expect_exit "none is given" 2 'if it wants a client certificate, name that with --cert and --key' tls
expect_exit "one that is accepted" 2 'it has no vmwss_plan_reserve_bytes' tls --cert "$dir/other.pem" --key "$dir/other.key"
expect_exit "one that is not" 2 'if it wants a client certificate' tls --cert "$dir/both.pem"
expect_exit "another's key" 2 '--cert and --key must be PEM files that belong together' tls --cert "$dir/other.pem" --key "$dir/good.key"

# --- VictoriaMetrics -------------------------------------------------------------------------------------------------

if [[ -z $(command -v victoria-metrics) ]]; then
	skip "VictoriaMetrics" "not installed: this Debian has no victoria-metrics"
	finish
	exit
fi
port=$(free_port)
url=http://127.0.0.1:$port
victoria-metrics -storageDataPath="$dir/victoria" -httpListenAddr="127.0.0.1:$port" -retentionPeriod=1y -loggerLevel=ERROR \
	2>"$dir/victoria.log" &
pids+=($!)
disown
check "VictoriaMetrics runs" settles quietly curl --silent "$url/health"
# It has milliseconds.
sed -E 's/ ([0-9]+)\.([0-9]{3})$/ \1\2/' "$dir/samples" >"$dir/lines"
check "takes the samples" quietly curl --silent --fail -T "$dir/lines" -X POST "$url/api/v1/import/prometheus"
quietly curl --silent "$url/internal/force_flush"
files_plan
try --json --empty --place 512M >"$dir/url.json"
check "and gives the same plan" same "$dir/files.json" "$dir/url.json"

# vmalert evaluates our rules as if it had run all the time; what was scraped of a host's needs before the last two hours then
# is not needed any more, and so it is taken away.
awk '/^  - name: / { ours = $3 == "vmwss-plan" } /^groups:/ || ours' "$root/host/prometheus/vmwss.rules.yml" >"$dir/plan.rules.yml"
at() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
check "vmalert records" quietly vmalert -rule="$dir/plan.rules.yml" -datasource.url="$url" -remoteWrite.url="$url" -replay.timeFrom="$(at $begin)" \
	-replay.timeTo="$(at "$now")" -replay.rulesDelay=1s -replay.disableProgressBar
quietly curl --silent "$url/internal/force_flush"
recorded() { curl --silent -G "$url/api/v1/query" -d "query=count(count_over_time(vmwss:plan_need_bytes:max15m[2d]))" | jq -r '.data.result[0].value[1]'; }
check "the needs of all guests" test "$(recorded)" = "$(curl --silent -G "$url/api/v1/query" \
	-d "query=count(count_over_time(vmwss_plan_need_bytes[2d]))" | jq -r '.data.result[0].value[1]')"
# The quarters of which the host was scraped more often than the rule has counted; all but.
quarters() {
	curl --silent -G "$url/api/v1/query_range" -d nocache=1 -d start=$(((begin / 3600 + 2) * 3600 + 59)).999 -d end=$((now - 3600)) -d step=900 --data-urlencode \
		"query=count_over_time(vmwss_plan_reserve_bytes{host=\"b\"}[900s]) $1 on (host) max_over_time(vmwss:plan_scrapes:count15m[900s] offset -1740s)" |
		jq '[.data.result[].values[]] | length'
}
check "and all scrapes are counted" test "$(quarters '>')" = 0
check "of each quarter" test "$(quarters '==')" -ge 100
from_files --json --empty --step 15m >"$dir/files-15m.json"
# Not which hosts could be emptied: what is planned differs by 0.3 %, and at one hour of the day that is the edge of a host.
from_files --json --step 1h >"$dir/files-1h.json"
try --json --empty --step 15m >"$dir/url-15m.json"
check "the plan of what was recorded is that of the histories" same "$dir/files-15m.json" "$dir/url-15m.json" $quarter
quietly curl --silent --fail -X POST "$url/api/v1/admin/tsdb/delete_series" -d 'match[]=vmwss_plan_need_bytes'
awk -v from=$((now - 7200)) '$NF > from' "$dir/samples" | grep '^vmwss_plan_need_bytes' |
	sed -E 's/ ([0-9]+)\.([0-9]{3})$/ \1\2/' >"$dir/lines"
check "the server forgets needs that are older than two hours" quietly curl --silent --fail -T "$dir/lines" -X POST "$url/api/v1/import/prometheus"
quietly curl --silent "$url/internal/force_flush"
try --json --empty --step 15m >"$dir/url-15m.json"
check "and still it is" same "$dir/files-15m.json" "$dir/url-15m.json" $quarter
try --json --step 1h >"$dir/url-1h.json"
check "so it is in steps of an hour" same "$dir/files-1h.json" "$dir/url-1h.json" $hour
# One scrape of four hours ago, with a need of all RAM, arrives after the rules were evaluated.
needs_all() { "$vmwss" plan --from "$url" --json "$@" 2>/dev/null | jq -e '.guests[] | select(.domain == "db1") | .need_max_bytes > 0.99 * .ram_bytes' >/dev/null; }
late=$(((now - 4 * 3600) / 900 * 900 + 320))
ram=$(grep -m1 '^vmwss_plan_ram_bytes{.*domain="db1"' "$dir/samples" | cut -d ' ' -f 2)
{
	grep -m1 '^vmwss_plan_reserve_bytes{host="b"' "$dir/samples" | sed -E "s/ [0-9.]+$/ ${late}000/"
	grep -m1 '^vmwss_plan_need_bytes{.*domain="db1".*window="60"' "$dir/samples" | sed -E "s/ [0-9.]+ [0-9.]+$/ $ram ${late}000/"
} >"$dir/lines"
check "no guest needs all of its RAM" not needs_all --step 1h
check "a scrape arrives late" quietly curl --silent --fail -T "$dir/lines" -X POST "$url/api/v1/import/prometheus"
quietly curl --silent "$url/internal/force_flush"
check "and counts in steps of a quarter of an hour" needs_all --step 15m
check "and of an hour" needs_all --step 1h
try --json --empty --step 1m >"$dir/url-1m.json" 2>/dev/null
check "which that by minutes is not" not same "$dir/files.json" "$dir/url-1m.json"

# A host that was scraped until an hour ago, and had no guests.
grep -E '^vmwss_plan_(capacity|reserve)_bytes\{host="a"' "$dir/samples" | awk -v until=$((now - 3600)) '$NF < until' |
	sed -E 's/host="a"/host="left"/; s/ ([0-9]+)\.([0-9]{3})$/ \1\2/' >"$dir/lines"
check "it takes samples of a host that is gone" quietly curl --silent --fail -T "$dir/lines" -X POST "$url/api/v1/import/prometheus"
quietly curl --silent "$url/internal/force_flush"
# A new series is found when the server's cache of its index has expired.
left_out() { try --html "$dir/page.html" 2>&1 | grep -F 'host left is left out: it is not scraped any more' >/dev/null; }
check "of which it is warned" settles left_out
check "and so it is on the page" quietly grep -F '<p class="doubt">host left is left out: it is not scraped any more' "$dir/page.html"
finish
