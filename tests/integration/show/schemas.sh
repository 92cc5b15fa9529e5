#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=50
#
# What programs print as JSON is what host/docs/schema promises, which is installed: every command that can run here, of two
# guests that vmwssd follows. Those that need a kernel or a guest of their own are held against it by their own tests.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

schema=$root/tests/lib/schema.py
out=$guests_dir/json
mkdir "$out"
# of NAME COMMAND...: what it prints, with any status, is some JSON and what its schema says.
of() {
	local name=$1
	shift
	timeout 60 "$@" >"$out/$name" 2>"$guests_dir/messages" </dev/null
	[[ -s $out/$name ]] || { cat "$guests_dir/messages"; return 1; }
	"$schema" "${SCHEMA_MODE:-check}" "$out/$name"
}
vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 20%' 'guest-budget = 10%'
if ! libvirtd_begin || ! embed_create one 128 "total=96M hot=16M" "$memfd" || ! embed_create two 128 "total=64M hot=8M" "$memfd"; then
	fail "libvirtd and the guests start"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"
followed() { [[ $(sql "SELECT count(DISTINCT guest_id) FROM sample WHERE json_array_length(windows) = 2") == 2 ]]; }
check "vmwssd follows both" eventually followed

by=(--connect "$embed_uri") kept=(--database "$db")
check "list" of list "$vmwss" list "${by[@]}" --json
qemu-system-x86_64 -machine none -accel tcg -nodefaults -display none -S &
pids+=("$!")
is_refused() { "$vmwss" list --processes --json | jq -es "any(.[]; .pid == ${pids[-1]} and .error != null)" >/dev/null; }
check "a QEMU without a guest is listed with the reason" settles is_refused
check "list --processes" of processes "$vmwss" list --processes --json
check "status" of status "$vmwss" status "${kept[@]}" --json
check "measure" of measure "$vmwss" measure "${by[@]}" one two --window 1 --agent --wait 30 --json
check "measure --interval" of interval "$vmwss" measure "${by[@]}" one --window 1 --interval 1 --count 2 --wait 30 --json
check "ages" of ages "$vmwss" ages "${by[@]}" one --window 1,2 --wait 30 --json
check "map" of map "$vmwss" map "${by[@]}" one --window 1 --wait 30 --json
check "map --over" of over "$vmwss" map "${by[@]}" one --over 4 --window 2 --wait 30 --json
check "profile" of profile "$vmwss" profile "${by[@]}" one --to 1 --wait 30 --json
check "grow" of grow "$vmwss" grow "${by[@]}" one --every 1 --duration 2 --wait 30 --json
check "doctor" of doctor "$vmwss" doctor --json
check "doctor --fix" of doctor_fix "$vmwss" doctor --fix --json
check "doctor of a guest" of doctor_of "$vmwss" doctor "${by[@]}" one --json
check "watch" of watch "$vmwss" watch "${kept[@]}" --count 2 --json
check "guest" of guest "$vmwss" guest "${by[@]}" "${kept[@]}" one --json
check "history of records" of records "$vmwss" history "${kept[@]}" one --since 1h --window 2 --step record --json
check "history of minutes" of minutes "$vmwss" history "${kept[@]}" one --since 1h --window 2 --step minute --json
check "its events" of events "$vmwss" history "${kept[@]}" one --since 1h --events --json
check "report" of report "$vmwss" report "${kept[@]}" --window 2 --json
check "advise" of advise "$vmwss" advise "${kept[@]}" --window 2,4 --json
check "advise --backtest" of backtest "$vmwss" advise "${kept[@]}" --window 2,4 --backtest 1h --json
check "plan" of plan "$vmwss" plan --from "$db" --window 2 --since 1h --json
check "trace" quietly "$vmwss" trace "${by[@]}" one --window 1 --count 3 --wait 30 --out "$guests_dir/trace"
check "trace --show" of trace "$vmwss" trace --show "$guests_dir/trace" --json
port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
"$build/host/vmwss-exporter" --web --listen "127.0.0.1:$port" "${kept[@]}" 2>"$guests_dir/exporter.log" &
pids+=($!)
check "/status.json of vmwss-exporter" eventually of current curl --silent --fail "http://127.0.0.1:$port/status.json"
agent=$build/guest-agent/vmwss-guest
check "vmwss-guest memory" of guest_memory "$agent" memory --json
check "vmwss-guest cache" of guest_cache "$agent" cache --json "$root/README.md"
check "vmwss-guest paging" of guest_paging "$agent" paging --json
check "vmwss-guest pressure" of guest_pressure "$agent" pressure --json
check "vmwss-guest smaps" of guest_smaps "$agent" smaps --json
check "vmwss-guest wss" of guest_wss "$agent" wss --json $$ 1
check "vmwssd ends" vmwssd_end TERM

finish
