#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core tcg libvirt cost=110
#
# From real guests to a real Prometheus: vmwssd measures TCG guests beside a libvirtd of its own, vmwss-exporter reads its
# history as nobody, from a read-only file system and without a network, and what Prometheus answers to the documentation's
# queries is what the database says.

libs=(libvirtd guests vmwssd http)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

state=$guests_dir/state
db=$state/history.db
files=$guests_dir/files
mkdir "$state" "$files" "$guests_dir/prometheus"
# Where nobody may run and read it.
chmod 755 "$guests_dir"
exporter=$guests_dir/vmwss-exporter
cp "$build/host/vmwss-exporter" "$exporter"

end_all() {
	[[ -z $daemon ]] || kill -KILL "$daemon" 2>/dev/null
	libvirtd_end
	umount --quiet --lazy "$files"
	end_guests
}
trap end_all EXIT

gone() { [[ ! -e $1 ]]; }
# says_in FILE PATTERN
says_in() { grep -qE -- "$2" "$1"; }
# The group that may read the history, as SupplementaryGroups= of the unit gives it; root's where there is none of that name.
readers=$(getent group vmwss | cut -d : -f 3)
readers=${readers:-0}
nobody=(setpriv --reuid=65534 --regid=65534 --groups="$readers" --)
user_of() { awk '/^Uid/ {print $2}' "/proc/$1/status"; }

# serve LOG COMMAND...: an exporter in the background; sets served and served_at.
serve() {
	local log=$1
	shift
	served_at=http://127.0.0.1:$(free_port)
	"$@" --listen "${served_at#http://}" 2>"$log" &
	served=$!
	pids+=("$served")
	disown
	settles quietly get "$served_at/" 2>/dev/null
}

# --- the rules -----------------------------------------------------------------------------------------------------

cp "$root/host/prometheus/vmwss.rules.yml" "$root"/tests/integration/programs/prometheus.rules*.yml "$guests_dir/"
check "promtool finds the rules good" quietly promtool check rules --lint=all --lint-fatal "$guests_dir/vmwss.rules.yml"
rules_hold() {
	(cd "$guests_dir" && promtool test rules prometheus.rules.yml prometheus.rules-day.yml) >"$guests_dir/promtool" 2>&1
	if [[ $(grep -c SUCCESS "$guests_dir/promtool") == 2 ]] && ! grep FAILED "$guests_dir/promtool"; then return 0; fi
	cat "$guests_dir/promtool"
	return 1
}
check "each holds when it must, and not else" rules_hold

# --- what the exporter is told, and what it answers ----------------------------------------------------------------

expect_exit "an unknown option" 1 'unrecognized' "$exporter" --nosuch
expect_exit "an address without a port" 2 'expected ADDRESS:PORT' "$exporter" --listen 127.0.0.1
expect_exit "a file that node_exporter would not read" 1 'ends in .prom' "$exporter" --textfile "$files/vmwss.txt"
expect_exit "two modes" 1 'only one of them' "$exporter" --print --textfile "$files/vmwss.prom"
expect_exit "no history to print" 2 "$db: no history there" "$exporter" --print --database "$db"
# shellcheck disable=SC2016 # expanded inside
expect_exit "a full disk under the output" 2 'standard output: ' \
	bash -c 'printf "" | "$0" "$1" ask && exec "$2" --print --database "$1" >/dev/full' \
	"$build/tests/integration/keep_writer" "$guests_dir/empty.db" "$exporter"

serve "$guests_dir/served" "$exporter" --database "$db"
check "started as root, it has no capabilities" test "$(awk '/^Cap(Eff|Prm|Bnd)/ {print $2}' "/proc/$served/status" | sort -u)" = 0000000000000000
check "an index page" answers "$served_at/" 'href="/metrics"'
check "and nothing else" test "$(status "$served_at/metrics/x")$(status --path-as-is "$served_at/../etc/passwd")" = 404404
check "no other method" test "$(status --data x "$served_at/metrics")$(status -X DELETE "$served_at/")" = 405405
check "which says what is allowed" answers "$served_at/metrics" '^Allow: GET, HEAD' --data x --include
check "no history: 503" test "$(status "$served_at/metrics")$(status --head "$served_at/metrics")" = 503503
check "and why" answers "$served_at/metrics" "^$db: no history there: start vmwssd"
check "in its log once" test "$(grep -c 'no history there' "$guests_dir/served")" = 1
expect_exit "a port that is taken" 2 'Address already in use' "$exporter" --listen "${served_at#http://}"
# shellcheck disable=SC2016 # expanded inside
expect_exit "a passed socket that is none" 2 'not a listening stream socket' \
	bash -c 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" 3</dev/null' "$exporter"

# --- from the guests to Prometheus ---------------------------------------------------------------------------------

libvirtd_begin || fail "libvirtd starts"
check "a guest starts" embed_create one 256 "total=192M hot=32M" "$memfd"
check "and another" embed_create two 256 "total=192M hot=96M pattern=random seed=3" "$memfd"
start_daemon() {
	vmwssd_begin --config /dev/null --database "$db" --period 1 --max-period none --window 2,6 --samples 1000 --budget 20% \
		--guest-budget 10%
}
start_daemon
check "the history comes: 200" eventually has_status "$served_at/metrics" 200
check "said as well" says_in "$guests_dir/served" 'it works again'
check "a head is a head" answers "$served_at/metrics" '^Content-Type: text/plain; version=0.0.4' --head

# As its unit has it: systemd opens the socket, and the exporter has no user, no network and no file system of its own.
port=$(free_port)
# shellcheck disable=SC2016 # expanded inside
systemd-socket-activate --listen="127.0.0.1:$port" --setenv=db="$db" --setenv=exporter="$exporter" --setenv=state="$state" --setenv=readers="$readers" \
	unshare --net --mount --propagation private -- bash -c '
	mount --bind "$state" "$state" && mount -o remount,bind,ro "$state" &&
		exec setpriv --reuid=65534 --regid=65534 --groups="$readers" --bounding-set=-all --inh-caps=-all --no-new-privs \
			"$exporter" --database "$db"' 2>"$guests_dir/activated" &
activated=$!
pids+=("$activated")
disown
at=http://127.0.0.1:$port
check "activated by its socket, on a read-only file system, as nobody" eventually answers "$at/metrics" '^vmwss_guests 2$'
check "it is nobody" test "$(user_of "$activated")" = 65534
check "of another network" test "$(readlink "/proc/$activated/ns/net")" != "$(readlink /proc/self/ns/net)"
get "$at/metrics" >"$guests_dir/metrics"
promtool check metrics <"$guests_dir/metrics" >"$guests_dir/promtool" 2>&1
check "promtool finds the metrics good" test "$(<"$guests_dir/promtool")" = ""

# node_exporter reads the file of an exporter that runs as nobody.
node_port=$(free_port)
install -d -o 65534 -g 65534 "$files"
"${nobody[@]}" "$exporter" --database "$db" --textfile "$files/vmwss.prom" --interval 1 2>"$guests_dir/filed" &
filing=$!
pids+=("$filing")
prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.textfile.directory="$files" \
	--web.listen-address="127.0.0.1:$node_port" 2>"$guests_dir/node.log" &
pids+=($!)
disown
node_at=http://127.0.0.1:$node_port
check "node_exporter has it" eventually answers "$node_at/metrics" '^vmwss_working_set_bytes\{domain="two",window="6"\} '
check "without an error" answers "$node_at/metrics" '^node_textfile_scrape_error 0$'

prometheus_port=$(free_port)
prometheus_at=http://127.0.0.1:$prometheus_port
cat >"$guests_dir/prometheus.yml" <<-END
	global: {scrape_interval: 1s, evaluation_interval: 1s}
	rule_files: [vmwss.rules.yml]
	scrape_configs:
	  - job_name: vmwss
	    static_configs: [{targets: ["127.0.0.1:$port"], labels: {instance: exporter}}]
	  - job_name: node
	    static_configs: [{targets: ["127.0.0.1:$node_port"], labels: {instance: textfile}}]
END
check "promtool finds the configuration good" quietly promtool check config "$guests_dir/prometheus.yml"
prometheus --config.file="$guests_dir/prometheus.yml" --storage.tsdb.path="$guests_dir/prometheus" --log.level=warn \
	--web.listen-address="127.0.0.1:$prometheus_port" 2>"$guests_dir/prometheus.log" &
pids+=($!)
disown
# asked QUERY: its values, one a line
asked() { get --get --data-urlencode "query=$1" "$prometheus_at/api/v1/query" 2>/dev/null | jq -r '.data.result[].value[1]'; }
holds_true() { [[ -n $(asked "$1") ]]; }
says() { [[ $(asked "$1") == "$2" ]]; }
check "Prometheus has both guests" eventually says 'count(vmwss_working_set_bytes{instance="exporter",window="6"})' 2
check "for half a minute" eventually holds_true 'count_over_time(vmwss_working_set_bytes{instance="exporter",window="6",domain="two"}[40s]) > 30'
queries=("$root/tests/integration/programs/prometheus_queries.py" "$prometheus_at" "$db")
check "every sample is a record" settles "${queries[@]}" scraped
check "the documentation's queries have the answers of the database" \
	settles "${queries[@]}" queries "$root/host/man/vmwss-metrics.7" "$root/README.md"
# of_late METRIC DOMAIN: its mean over 20 s.
of_late() { asked "avg_over_time($1{instance=\"exporter\",window=\"2\",domain=\"$2\"}[20s])"; }
# interval_holds DOMAIN TRUTH: at twice its width, as check_panel has it.
interval_holds() {
	local wss low high
	wss=$(of_late vmwss_working_set_bytes "$1")
	low=$(of_late vmwss_working_set_low_bytes "$1") high=$(of_late vmwss_working_set_high_bytes "$1")
	holds "$2 >= $wss - 2 * ($wss - $low) && $2 <= $wss + 2 * ($high - $wss)" || { echo "# $wss [$low, $high], truth $2"; return 1; }
}
check "one: the truth" eventually interval_holds one "$(truth "total=192M hot=32M")"
check "two: the truth" eventually interval_holds two "$(truth "total=192M hot=96M pattern=random seed=3")"
# As of one moment: a scrape may have come late, or a record may lack the short window, as its look was late.
check "the file says the same" settles says \
	'count(vmwss_ram_bytes{instance="textfile"} == on (domain) vmwss_ram_bytes{instance="exporter"})' 2
check "the rules are evaluated" settles says 'count(vmwss:working_set:ratio{instance="exporter",window="2"})' 2
# Prometheus begins each group at a moment of its own in its interval, which for the planner's is a quarter of an hour: until
# then its rules are "unknown". promtool has tested them above.
not_well() {
	get "$prometheus_at/api/v1/rules" |
		jq -c '[.data.groups[] | .name as $group | .rules[] | select(.health != "ok" and ($group != "vmwss-plan" or .health != "unknown")).name]'
}
check "without an error" test "$(not_well)" = "[]"

# --- two guests of one name, and one that ended --------------------------------------------------------------------

check "a third guest" embed_create third 128 "total=96M hot=16M" "$memfd"
third_shown() { answers "$at/metrics" "^vmwss_ram_bytes\{domain=\"third\"$1"; }
check "is shown by its name" eventually third_shown '}'
embed_virsh destroy third >/dev/null
third_gone() { not answers "$at/metrics" 'domain="third"'; }
check "when it has ended it is shown no longer" eventually third_gone
check "another of that name" embed_create third 128 "total=96M hot=16M" "$memfd"
check "has it alone" eventually third_shown '}'
# One whose end was not seen is shown until its record is stale.
vmwssd_end KILL
embed_virsh destroy third >/dev/null
start_daemon
check "it is made anew, with another UUID" embed_create third 128 "total=96M hot=16M" "$memfd"
check "both have their UUID" eventually third_shown ',uuid='
both_uuids() { [[ $(get "$at/metrics" | grep -c '^vmwss_ram_bytes{domain="third",uuid=') == 2 ]]; }
check "each" both_uuids
check "which Prometheus takes" eventually says 'count(vmwss_ram_bytes{instance="exporter",domain="third"})' 2
refused() { grep -qE 'Error on ingesting|append failed' "$guests_dir/prometheus.log"; }
check "without refusing any" not refused
alone() { "$exporter" --print --database "$db" --stale 1 | grep '^vmwss_ram_bytes{domain="third"} ' >/dev/null; }
check "the name is the new one's alone once the old one is stale" eventually alone

# --- faults --------------------------------------------------------------------------------------------------------

check "all windows are known again" eventually answers "$at/metrics" '^vmwss_working_set_bytes\{domain="two",window="6"\} '
vmwssd_end KILL
check "the daemon is killed: what it kept is served" answers "$at/metrics" '^vmwss_working_set_bytes\{domain="two",window="6"\} '
start_daemon
newest() { get "$at/metrics" | awk '/^vmwss_newest_record_timestamp_seconds / {print $2}'; }
before=$(newest)
newer() { holds "$(newest) > $before"; }
check "it starts again: new numbers" eventually newer
check "sixty connections that say nothing take few files" python3 -c '
import os, socket, sys
port, pid = int(sys.argv[1]), sys.argv[2]
idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
sys.exit(len(os.listdir(f"/proc/{pid}/fd")) > 50)' "$port" "$activated"
check "afterwards it answers" eventually has_status "$at/metrics" 200

cp "$guests_dir/empty.db" "$guests_dir/newer.db"
sqlite3 "$guests_dir/newer.db" 'PRAGMA user_version = 99' >/dev/null
chgrp "$readers" "$guests_dir/newer.db"
serve "$guests_dir/served" "${nobody[@]}" "$exporter" --database "$guests_dir/newer.db"
check "a newer schema: 503" has_status "$served_at/metrics" 503
check "and why" answers "$served_at/metrics" 'schema version 99, and this vmwss reads versions 1 to 2'
cp "$guests_dir/empty.db" "$guests_dir/secret.db"
chmod 600 "$guests_dir/secret.db"
serve "$guests_dir/served" "${nobody[@]}" "$exporter" --database "$guests_dir/secret.db"
check "a database that may not be read: why" answers "$served_at/metrics" 'secret.db: Permission denied'

kill -TERM "$filing"
check "the file's exporter ends" wait "$filing"
check "and its file with it" gone "$files/vmwss.prom"
mount -t tmpfs -o size=64k,mode=777 tmpfs "$files"
head -c 60K /dev/zero >"$files/other"
"${nobody[@]}" "$exporter" --database "$db" --textfile "$files/vmwss.prom" --interval 0.2 2>"$guests_dir/filed" &
filing=$!
pids+=("$filing")
check "a full disk: said" settles says_in "$guests_dir/filed" 'vmwss.prom: No space left on device'
sleep 1
check "once" test "$(grep -c 'No space' "$guests_dir/filed")" = 1
only_other() { [[ $(ls "$files") == other ]]; }
check "and half a file is not left" settles only_other
rm "$files/other"
check "room again: it goes on" settles test -s "$files/vmwss.prom"
mv "$db" "$db.away"
check "no history any more: no file" settles gone "$files/vmwss.prom"
mv "$db.away" "$db"
check "it comes back" settles test -s "$files/vmwss.prom"
kill -KILL "$filing"
wait "$filing" 2>/dev/null
written() { awk '/^vmwss_written_timestamp_seconds / { print int($2) }' "$files/vmwss.prom"; }
check "one that was killed leaves a file that says when it was written" test "$(($(date +%s) - $(written)))" -le 60
"${nobody[@]}" "$exporter" --database "$db" --textfile "$files/vmwss.prom" --interval 0.2 2>"$guests_dir/filed" &
filing=$!
pids+=("$filing")
left=$(written)
later() { [[ $(written) -gt $left ]]; }
check "which the next one replaces" settles later
# The service manager is told that it works, as often as it wants to know.
python3 -c 'import os, socket, sys
watch = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
watch.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
watch.settimeout(60)
print("bound", flush=True)
while watch.recv(4096) != b"WATCHDOG=1":
    pass
print("fed", flush=True)' "$guests_dir/notify" >"$guests_dir/fed" &
pids+=($!)
check "a service manager listens" settles says_in "$guests_dir/fed" bound
kill -TERM "$filing"
NOTIFY_SOCKET=$guests_dir/notify WATCHDOG_USEC=1000000 "$exporter" --database "$db" --textfile "$files/vmwss.prom" 2>"$guests_dir/filed" &
filing=$!
pids+=("$filing")
check "and its watchdog is fed" settles says_in "$guests_dir/fed" fed
kill -TERM "$filing"
finish
