#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=7.3 cost=120
# test: lab=page_idle_7.3 thorough cost=200
#
# In the lab, Linux 7.3 as Debian has it, with DAMON_STAT on: it takes accessed bits of all memory, and idle and mglru give
# the truth nevertheless, within bounds that are narrow. The guest's working set shrinks every other two seconds, so that what
# DAMON took after the last touch is not touched again within the window; anew it takes a bit of each region each 5 ms.

libs=(guests)
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
	check "$1: no wider than 6 points of what is resident" holds "$high - $low <= 0.06 * $resident"
	check "$1: flag damon-active" has_flag damon-active
}

# several WHAT TIMES ARGS...: every other time DAMON_STAT begins anew.
several() {
	local what=$1 times=$2 i
	shift 2
	for ((i = 0; i < times; i++)); do
		((i % 2)) || anew
		check "$what: measures" measure --pid "$pid" -w 5 "$@" && bounds "$what"
	done
}

check "DAMON_STAT is on, as in Debian's, or can be" turn Y
echo "+memory" >/sys/fs/cgroup/cgroup.subtree_control
mkdir $group
echo y >/sys/kernel/mm/lru_gen/enabled
echo $$ >$group/cgroup.procs
if start_payload shrinks kvm "total=192M phases=2:64M,2:8M rest=yes" -m 256; then
	echo $$ >/sys/fs/cgroup/cgroup.procs
	if [[ $VMWSS_LAB_KERNEL == page_idle* ]]; then
		several "idle, census" 4 -m idle --census
		# Of 10,000 pages the interval of chance is a point wide: it must not hide what DAMON takes.
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
	check "so all that is resident may have been touched" holds "$(field wss_high_bytes) >= 0.99 * $(field resident_bytes)"
	stop_guest "$pid"
fi

finish
