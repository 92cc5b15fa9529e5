# shellcheck shell=bash disable=SC2154 # for tests/bench/plan, which sets build, hosts, guests, days, templates, scraped, recorded, format and steps
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A plan from histories of many hosts, and from a VictoriaMetrics that has what their exporters would have served: time and memory.

sources_begin() {
	dir=$(mktemp -d "${TMPDIR:-/var/tmp}/vmwss-plan-bench.XXXX")
	server=
	trap sources_end EXIT
}
# shellcheck disable=SC2317 # of the trap
sources_end() {
	[[ -z $server ]] || kill -KILL "$server" 2>/dev/null
	rm -rf -- "$dir"
}

# The histories of some hosts, one of each family of guests; samples are kept for a day only, and a plan reads the last of each guest.
make_templates() {
	local t
	for ((t = 0; t < templates; t++)); do
		"$build/tests/bench/plan_history" "$dir/template-$t.db" template "$guests" "$days" "$t" || return 1
		sqlite3 -batch "$dir/template-$t.db" "DELETE FROM sample WHERE id NOT IN (SELECT max(id) FROM sample GROUP BY guest_id);
			PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA journal_mode=delete" >/dev/null || return 1
		printf '\r%d of %d templates' $((t + 1)) "$templates" >&2
	done
	echo >&2
}

# The others are copies, with guests of their own.
make_histories() {
	local h file
	for ((h = 0; h < hosts; h++)); do
		file=$(printf '%s/host-%04d.db' "$dir" $h)
		cp --reflink=auto "$dir/template-$((h % templates)).db" "$file" &&
			sqlite3 -batch "$file" "UPDATE guest SET host = 'host-$h', uuid = substr(uuid, 1, 9) || printf('%04x', $h) || substr(uuid, 14);
				UPDATE host_need SET host = 'host-$h'" || return 1
		((h % 50)) || printf '\r%d of %d histories' $h "$hosts" >&2
	done
	echo >&2
}

# measure WHAT COMMAND...: what it takes.
measure() {
	local what=$1
	shift
	/usr/bin/time -f '%e %U %S %M' -o "$dir/cost" "$@" >"$dir/plan.json" || return 1
	read -r wall user system kib < <(tail -n 1 "$dir/cost")
	echo '| from | hosts | guests each | days | time | CPU time | memory | CPU time a host and day |'
	printf '| %s | %d | %d | %g | %s s | %s s | %.0f MiB | %.3f s |\n' "$what" "$hosts" "$guests" "$days" "$wall" \
		"$(awk "BEGIN { print $user + $system }")" "$(awk "BEGIN { print $kib / 1024 }")" \
		"$(awk "BEGIN { print ($user + $system) / $hosts / $days }")"
	jq -e --argjson hosts "$hosts" '(.hosts | length) == $hosts and ([.hosts[] | .stale] | any | not)' "$dir/plan.json" >/dev/null ||
		{ echo "not all hosts are in the plan, or some are stale" >&2; return 1; }
}

plan_files() {
	make_templates && make_histories || return 1
	printf '# %s of histories\n' "$(du -ch "$dir"/host-*.db | tail -n 1 | cut -f 1)"
	measure files "$build/host/vmwss" plan --capacity 192G --since "$since" --empty --json "$dir"/host-*.db
	rm -f "$dir"/host-*.db
}

# --- from a URL ----------------------------------------------------------------------------------------------------

free_port() { python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'; }

# Waits until the next quarter of an hour, so that all hosts are scraped until the end, and exports the server's data.
import_hosts() {
	local end
	end=$(($(date +%s) + 3600))
	for ((h = 0; h < hosts; h += 10)); do
		"$build/tests/bench/plan_series" "$h" $((hosts - h < 10 ? hosts - h : 10)) "$guests" "$days" "$end" "$scraped" "$recorded" "$format" |
			curl --silent --fail -T - -X POST "$url/api/v1/import" || return 1
		printf '\r%d of %d hosts imported' "$h" "$hosts" >&2
	done
	echo >&2
}

plan_url() {
	local h port cpu asked
	[[ -n $(command -v victoria-metrics) ]] || { echo "victoria-metrics is not installed" >&2; return 1; }
	port=$(free_port) url=http://127.0.0.1:$port
	victoria-metrics -storageDataPath="$dir/victoria" -httpListenAddr="127.0.0.1:$port" -retentionPeriod=1y -loggerLevel=ERROR &
	server=$!
	disown
	until curl --silent "$url/health" >/dev/null; do
		kill -0 "$server" 2>/dev/null || { echo "victoria-metrics has ended" >&2; return 1; }
		sleep 0.2
	done
	import_hosts || return 1
	curl --silent "$url/internal/force_flush"
	cpu=$(server_cpu) asked=$(server_asked)
	measure URL "${VMWSS_BENCH:-$build/host/vmwss}" plan --from "$url" --since "$since" --empty --json "${steps[@]}"
	awk -v a="$cpu" -v b="$(server_cpu)" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "# VictoriaMetrics: %.1f s of CPU time, ", (b - a) / hz }'
	paste -d ' ' <(echo "$asked") <(server_asked) | awk '{ printf "# %s: %d\n", $1, $4 - $2 }'
	jq -r '"# \(.moves | length) moves, \([.moves[] | select(.migration)] | length) with a price"' "$dir/plan.json"
	curl --silent "$url/metrics" | awk '/^vm_rows.type="storage/ { rows += $2 } /^vm_data_size_bytes/ { bytes += $2 }
		END { printf "# %d samples in %.0f MiB, %.2f bytes each\n", rows, bytes / 1048576, bytes / rows }'
	awk '/VmHWM/ { printf "%.0f MiB at most, import included\n", $2 / 1024 }' "/proc/$server/status"
}
# Prints how many queries the server had, and how many bytes it has sent: it counts them once a second, and those of its metrics, too.
server_asked() {
	sleep 2
	curl --silent "$url/metrics" | awk '/^vm_http_requests_total.*path="\/api\/v1\/query(_range)?"/ { sum[$1 ~ /range/ ? "query_range" : "query"] += $2 }
		/^vm_tcplistener_written_bytes_total/ { sum["bytes"] += $NF }
		END { print "query", sum["query"]; print "query_range", sum["query_range"]; print "bytes", sum["bytes"] }'
}
server_cpu() { sed 's/.*) //' "/proc/$server/stat" | awk '{ print $12 + $13 }'; }

# plan_sources WHAT...: of files, url.
plan_sources() {
	local what
	since=$(awk "BEGIN { print int($days * 24) + 1 }")h
	sources_begin
	for what; do "plan_$what" || return 1; done
}
