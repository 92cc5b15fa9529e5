#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: cost=25
#
# vmwss plan --from URL prices its moves by what a real Prometheus has of the guests' writes, as it does by the history that
# the exporter served.

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

now=$(date +%s) period=600
begin=$((now - 30 * 3600)) capacity=$((8 << 30)) reserve=$((64 << 20))
check "a history" made_history "$dir/w.db" $begin "$now" calm:21:25:25:0:2 busy:22:25:25:0:500 dark:23:25:25:0
check "of another host" made_history "$dir/b.db" $begin "$now" other:31:25:25:0
for host in w b; do sqlite3 -batch "$dir/$host.db" "UPDATE guest SET host = '$host'"; done

# guest_samples: each minute what the exporter serves of the guests of w, and of another host a guest of the same name.
guest_samples() {
	sqlite3 -separator ' ' "$dir/w.db" "SELECT g.name, g.uuid, w.time_ms / 1000, json_extract(p.value, '\$[0]'), json_extract(p.value, '\$[2]'),
		json_extract(p.value, '\$[3]'), json_extract(p.value, '\$[4]'), (SELECT resident_bytes FROM sample WHERE guest_id = g.id ORDER BY id DESC LIMIT 1)
		FROM write_set w JOIN guest g ON g.id = w.guest_id, json_each(w.windows) p ORDER BY g.name, w.time_ms" | awk -v now="$now" '
		function out(metric, labels, value) { print metric "{instance=\"w:9178\",job=\"vmwss\",domain=\"" $1 "\"" labels "} " value " " t }
		{
			for (t = $3 - $3 % 60 + 77; t < $3 + 600 && t <= now; t += 60) {
				window = ",window=\"" $4 "\""
				out("vmwss_write_set_bytes", window, $5)
				out("vmwss_write_set_low_bytes", window, $6)
				out("vmwss_write_set_high_bytes", window, $7)
				if ($3 == last[$1]) continue
				out("vmwss_write_set_timestamp_seconds", "", $3)
				out("vmwss_resident_bytes", "", $8)
				out("vmwss_guest_info", ",host=\"w\",uuid=\"" $2 "\",accel=\"kvm\"", 1)
			}
			last[$1] = $3
		}' | LC_ALL=C sort -s -t '{' -k 1,1
}
{
	for host in w b; do "$samples" "$dir/$host.db" $((begin / 60 * 60 + 17)) "$now" $capacity $reserve; done
	guest_samples
	echo '# EOF'
} >"$dir/openmetrics"
check "promtool takes them" quietly promtool tsdb create-blocks-from openmetrics -q "$dir/openmetrics" "$dir/tsdb"
port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
echo 'global: {}' >"$dir/prometheus.yml"
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" --storage.tsdb.retention.time=1y --log.level=warn \
	--web.listen-address="127.0.0.1:$port" 2>"$dir/prometheus.log" &
pids+=($!)
disown
url=http://127.0.0.1:$port
check "Prometheus runs" settles curl --silent --fail --output /dev/null "$url/-/ready"

from_url() { "$vmwss" plan --from "${other:-$url}" --drain w "$@"; }
from_files() { "$vmwss" plan "$dir/w.db" "$dir/b.db" --capacity $capacity --reserve $reserve --drain w "$@"; }
from_url 2>&1 | sed 's/^/# /'
from_url --json >"$dir/url.json"
from_files --json >"$dir/files.json"
moves() { jq -c '[.moves[].domain]' "$dir/$1.json"; }
check "the same moves, the busy guest not among them" test "$(moves url) $(moves files)" = '["calm","dark"] ["calm","dark"]'
# price FIELD: of the move of calm.
price() { jq ".moves[] | select(.domain == \"calm\") | .migration.$2" "$dir/$1.json"; }
for field in total_seconds total_low_seconds total_high_seconds sent_bytes downtime_seconds; do
	check "$field: $(price url $field) as from the history: $(price files $field)" holds \
		"$(price url $field) >= $(price files $field) * 0.98 && $(price url $field) <= $(price files $field) * 1.02"
done
check "a guest without curves has no price" quietly jq -e '.moves[] | select(.domain == "dark") | .migration == null' "$dir/url.json"
check "the guest that would not converge stays" quietly grep -E \
	'^busy on w is not moved: at none of the [0-9]+ hours? of the week that (is|are) known' <(from_url)
check "and is moved with more bandwidth" quietly jq -e '[.moves[].domain] | index("busy") != null' <(from_url --bandwidth 100GiB/s --json)

if [[ -z $(command -v victoria-metrics) ]]; then
	skip "VictoriaMetrics" "not installed: this Debian has no victoria-metrics"
	finish
	exit
fi
port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
victoria-metrics -storageDataPath="$dir/victoria" -httpListenAddr="127.0.0.1:$port" -retentionPeriod=1y -loggerLevel=ERROR \
	2>"$dir/victoria.log" &
pids+=($!)
disown
other=http://127.0.0.1:$port
check "VictoriaMetrics runs" settles quietly curl --silent "$other/health"
sed -E '/^#/d; s/ ([0-9]+)\.([0-9]{3})$/ \1\2/; s/ ([0-9]{10})$/ \1000/' "$dir/openmetrics" >"$dir/lines"
check "takes the samples" quietly curl --silent --fail -T "$dir/lines" -X POST "$other/api/v1/import/prometheus"
quietly curl --silent "$other/internal/force_flush"
from_url --json >"$dir/victoria.json"
check "and has the same moves" test "$(moves victoria)" = "$(moves url)"
check "at the same price" holds "$(price victoria total_seconds) >= $(price url total_seconds) * 0.98 && $(price victoria total_seconds) <= $(price url total_seconds) * 1.02"

finish
