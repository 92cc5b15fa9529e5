#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=7.3 cost=150
# test: lab=page_idle_7.3 thorough cost=330
#
# In the lab, Linux 7.3 as Debian has it, with DAMON_STAT on: it takes accessed bits of all memory, and idle and mglru give
# the truth nevertheless, within bounds that are narrow. The guest's working set shrinks every other two seconds, so that what
# DAMON took after the last touch is not touched again within the window; anew it takes a bit of each region each 5 ms.
# Nothing need be turned off: auto and vmwssd are right, and no record is flagged for it, nor disputed by the witness.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

parameters=/sys/module/damon_stat/parameters
group=/sys/fs/cgroup/guest
t=$(truth "total=192M hot=64M")

turn() { echo "$1" >$parameters/enabled; }
anew() { turn N && turn Y; }

# bounds WHAT: of the record in $record. A window begins or ends within a page that is being touched.
bounds() {
	local low high resident
	low=$(field wss_low_bytes) high=$(field wss_high_bytes) resident=$(field resident_bytes)
	printf '# %s: %s [%s, %s], truth %s, unmeasurable %s, flags %s\n' "$1" "$(field wss_bytes)" "$low" "$high" "$t" \
		"$(field unmeasurable_bytes)" "$(jq -c .flags <<<"$record")"
	check "$1: the bounds hold the truth" holds "$low <= $t + 8192 && $t <= $high + 8192"
	! holds "$high - $low <= 0.06 * $resident" || narrow=$((narrow + 1))
	check "$1: no flag, for the bounds have what it took" lacks_flag damon-active
	check "$1: not disputed" lacks_flag disputed
}

# several WHAT TIMES ARGS...: every other time DAMON_STAT begins anew. On a busy machine one of them lasts longer, so DAMON takes more.
several() {
	local what=$1 times=$2 i
	shift 2
	narrow=0
	for ((i = 0; i < times; i++)); do
		((i % 2)) || anew
		check "$what: measures" measure --pid "$pid" -w 5 "$@" && bounds "$what"
	done
	check "$what: most are no wider than 6 points of what is resident: $narrow of $times" test $((2 * narrow)) -gt "$times"
}

# undisturbed WHAT TRUTH COUNT FILE: records of undisturbed periods, one a line.
undisturbed() {
	local what=$1 truth=$2 count=$3 file=$4
	jq -r '"# \(.method): \(.windows[-1] | "\(.wss_bytes) [\(.wss_low_bytes), \(.wss_high_bytes)]"), flags \(.flags | tojson)"' "$file"
	check "$what: there are $count" quietly jq -es "length >= $count" "$file"
	check "$what: within 3 points of what is resident" quietly jq -es \
		"(map((.windows[-1].wss_bytes - $truth) / .resident_bytes) | add / length | fabs) <= 0.03" "$file"
	check "$what: none is flagged for DAMON" quietly jq -es 'map(.flags | index("damon-active") == null) | all' "$file"
	check "$what: none is disputed" quietly jq -es 'map(.flags | index("disputed") == null) | all' "$file"
}
has_records() { (($(sql "SELECT count(*) FROM sample WHERE json_array_length(windows) = 1") >= $1)); }
history_json() {
	sql "SELECT json_object('method', method, 'flags', flags, 'resident_bytes', resident_bytes, 'windows', json_array(json_object(
		'wss_bytes', windows ->> '\$[0][2]', 'wss_low_bytes', windows ->> '\$[0][3]', 'wss_high_bytes', windows ->> '\$[0][4]')))
		FROM sample WHERE json_array_length(windows) = 1" | jq -c '.flags |= (. // "" | split("[^a-z-]+"; "") | map(select(. != "")))'
}

check "DAMON_STAT is on, as in Debian's, or can be" turn Y
echo "# a host as it comes"
steady="total=96M hot=32M"
if start_payload steady kvm "$steady" -m 128; then
	"$vmwss" measure --json --pid "$pid" -w 2 --interval 3 --count 5 >"$guests_dir/auto"
	undisturbed auto "$(truth "$steady")" 5 "$guests_dir/auto"
	vmwssd_begin --connect processes --database "$db" --period 1 --max-period none --window 3 --samples 2000 --budget 30% \
		--guest-budget 20%
	check "vmwssd has records" eventually has_records 5
	check "vmwssd ends" vmwssd_end TERM
	history_json >"$guests_dir/kept"
	undisturbed vmwssd "$(truth "$steady")" 5 "$guests_dir/kept"
	if [[ $VMWSS_LAB_KERNEL == page_idle* ]]; then
		anew
		"$vmwss" measure --json --pid "$pid" -w 2 --interval 3 --count 20 -m idle -n 2000 >"$guests_dir/idle"
		undisturbed idle "$(truth "$steady")" 20 "$guests_dir/idle"
		check "idle: nothing is unmeasurable but what it took" quietly jq -es 'map(.flags | index("partial") == null) | all' \
			"$guests_dir/idle"
	fi
	stop_guest "$pid"
fi

echo "# what it takes"
echo "+memory" >/sys/fs/cgroup/cgroup.subtree_control
mkdir $group
echo y >/sys/kernel/mm/lru_gen/enabled
echo $$ >$group/cgroup.procs
if start_payload shrinks kvm "total=192M phases=2:64M,2:8M rest=yes" -m 256; then
	echo $$ >/sys/fs/cgroup/cgroup.procs
	if [[ $VMWSS_LAB_KERNEL == page_idle* ]]; then
		several "idle, census" 4 -m idle --census
		# With 10,000 pages the interval of chance is a point wide: it must not hide what DAMON takes.
		several "idle, panel" 2 -m idle -n 10000
	fi
	several "mglru" 6 -m mglru
	expect_exit "damon names the module" 2 'echo N > /sys/module/damon_stat/parameters/enabled' \
		"$vmwss" measure --pid "$pid" -m damon -w 1

	echo "# turned off and on"
	turn N
	check "measures" measure --pid "$pid" -w 5 -m mglru
	check "without it no flag" lacks_flag damon-active
	check "nor room for what it takes: $(field wss_bytes), $(field wss_high_bytes)" \
		holds "$(field wss_high_bytes) - $(field wss_bytes) < 1048576"
	"$vmwss" measure --json --pid "$pid" -w 5 -m mglru >"$guests_dir/record" &
	measuring=$!
	sleep 3
	turn Y
	check "it begins within the window: measures" wait $measuring
	record=$(<"$guests_dir/record")
	check "which is flagged" has_flag damon-active
	check "and the bounds leave room for what the witness cannot rule out: $(field wss_bytes), $(field wss_high_bytes)" \
		holds "$(field wss_high_bytes) >= $(field wss_bytes) + 0.002 * $(field resident_bytes) && $(field wss_high_bytes) >= $t - 8192"
	stop_guest "$pid"
fi

echo "# a TCG guest: what DAMON takes smaps has as PG_young"
t=$(truth "total=48M hot=16M")
if start_payload young tcg "total=48M phases=2:16M,2:4M rest=yes" -m 128; then
	several "cold" 4 -m cold
	stop_guest "$pid"
fi

finish
