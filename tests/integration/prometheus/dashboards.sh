#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core tcg libvirt cost=80
#
# The dashboards for Grafana, on data: every query of every panel, its variables replaced, is run against a real Prometheus, and
# its answer must be what the history says. Prometheus scrapes two exporters: of two guests that vmwssd measures and
# vmwss-balloond decides about, and of a written history of ten guests, of which some report their own statistics.

libs=(libvirtd guests vmwssd balloond http)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# serve PORT OPTION...: an exporter in the background.
serve() {
	"$build/host/vmwss-exporter" --listen "127.0.0.1:$1" --capacity 1G "${@:2}" 2>"$guests_dir/served.$1" &
	pids+=($!)
	disown
}

# --- what there is to be seen --------------------------------------------------------------------------------------

export BALLOON=virtio
if ! libvirtd_begin || ! embed_create one 256 "total=192M hot=32M balloon=host" "$memfd" ||
	! embed_create two 256 "total=192M hot=96M pattern=random seed=3" "$memfd"; then
	fail "libvirtd and the guests start"
	finish
	exit
fi
vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 50%' 'guest-budget = 20%'
vmwssd_begin --config "$guests_dir/conf"
balloond_conf 'act = no' 'interval = 1' 'shrink-without-statistics = yes'
controller_begin

written=$guests_dir/written.db
"$build/tests/integration/page_writer" "$written" 10 0.1 60 follow >"$guests_dir/writing" &
pids+=($!)
disown

real_port=$(free_port)
serve "$real_port" --database "$db" --journal "$journal" --plan-window 2
settles test -s "$guests_dir/writing"
written_port=$(free_port)
serve "$written_port" --database "$written" --journal "$guests_dir/none.db"

# A guest that was not watched an hour ago has nothing to give back, so here an hour is five seconds.
sed 's/\b1h\b/5s/' "$root/host/prometheus/vmwss.rules.yml" >"$guests_dir/vmwss.rules.yml"
cat >"$guests_dir/prometheus.yml" <<-END
	global: {scrape_interval: 1s, evaluation_interval: 1s}
	rule_files: [vmwss.rules.yml]
	scrape_configs:
	  - job_name: vmwss
	    static_configs:
	      - {targets: ["127.0.0.1:$real_port"], labels: {instance: real}}
	      - {targets: ["127.0.0.1:$written_port"], labels: {instance: written}}
END
prometheus_port=$(free_port)
at=http://127.0.0.1:$prometheus_port
prometheus --config.file="$guests_dir/prometheus.yml" --storage.tsdb.path="$guests_dir/prometheus" --log.level=warn \
	--web.listen-address="127.0.0.1:$prometheus_port" 2>"$guests_dir/prometheus.log" &
pids+=($!)
disown
asked() { get --get --data-urlencode "query=$1" "$at/api/v1/query" 2>/dev/null | jq -r '.data.result[].value[1]'; }
says() { [[ $(asked "$1") == "$2" ]]; }
check "Prometheus has the guests that are measured" eventually says 'count(vmwss_working_set_bytes{instance="real",window="4"})' 2
check "and those of the written history" eventually says 'count(vmwss_working_set_bytes{instance="written",window="60"})' 8
check "and what balloond decided" eventually says 'count(vmwss_balloon_state{instance="real"})' 2
check "the needs of a whole minute" eventually says 'count(vmwss_plan_need_bytes{instance="real"})' 2
check "and what could be given back, by the rules" eventually says 'count(vmwss:reclaimable:bytes{instance="real"})' 2

# --- the dashboards ------------------------------------------------------------------------------------------------

dashboards=("$root/tests/integration/prometheus/dashboards.py" "$at" "$root/host/prometheus/vmwss.rules.yml" "real=$db:$journal" "written=$written:")
check "the form of the dashboards, and their links" "${dashboards[@]}" form "$root/host/prometheus"
# Ten minutes have not passed since the first scrape: here they are a second.
quick_boards() {
	cp -rT "$root/host/prometheus" "$1"
	sed -i 's/\[2w:10m\]/[10m:1s]/' "$1"/*.json
}
quick_boards "$guests_dir/boards"
answered() { "${dashboards[@]}" queries "$guests_dir/boards" >"$guests_dir/answered"; }
if settles answered; then
	pass "every query of every panel has the answer of the history"
else
	fail "every query of every panel has the answer of the history" "$(<"$guests_dir/answered")"
fi

# It would be found: a metric, a rule, a label and a variable of another name.
# renamed FROM TO PATTERN: then what is wrong matches the pattern.
renamed() {
	rm -rf -- "$guests_dir/renamed"
	quick_boards "$guests_dir/renamed"
	sed -i "s/$1/$2/" "$guests_dir/renamed"/*.json
	{ "${dashboards[@]}" form "$guests_dir/renamed"; "${dashboards[@]}" queries "$guests_dir/renamed"; } >"$guests_dir/wrong"
	grep -E "$3" "$guests_dir/wrong" >/dev/null
}
check "a metric of another name is found" settles \
	renamed vmwss_guest_pressure_full_ratio vmwss_guest_pressure_all_ratio 'vmwss_guest_pressure_all_ratio.*no answer on any host'
check "and a rule" settles renamed vmwss:reclaimable:bytes_sum vmwss:reclaimable:sum 'no rule vmwss:reclaimable:sum'
check "and a label" settles renamed '{{flag}}' '{{flags}}' 'Flags: vmwss_flag'
check "and a variable that a link sets" settles renamed var-domain var-guest "link .*'guest'"
controller_end TERM
vmwssd_end TERM
finish
