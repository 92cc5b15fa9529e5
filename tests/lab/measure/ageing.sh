#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle thorough cost=130
#
# In the lab, with page_idle, MGLRU on: the host ages the guest's memory within the window. Ageing clears the accessed
# bits, KVM's too since Linux 6.12, and leaves no trace in the idle flags. What reads them must say so, with bounds that
# hold the truth; what does not read them must be right; and auto must take the latter.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

lru_gen=/sys/kernel/debug/lru_gen
group=/sys/fs/cgroup/guest
params="total=96M hot=32M"
t=$(truth "$params")

# In a control group of its own, as libvirt starts it.
start_in_group() {
	echo $$ >$group/cgroup.procs
	start_payload "$@" -m 128 -chardev "pipe,id=hmp,path=$guests_dir/hmp" -mon chardev=hmp,mode=readline
	local status=$?
	echo $$ >/sys/fs/cgroup/cgroup.procs
	cat "$guests_dir/hmp.out" >/dev/null &
	return $status
}
hmp() { printf '%s\n' "$*" >"$guests_dir/hmp.in"; }

# age: one ageing of the guest's memory, on every node.
age() {
	awk -v path=/guest '$1 == "memcg" { id = $3 == path ? $2 : "" } $1 == "node" { node = $2; next }
		id != "" && NF >= 4 && $1 != "memcg" { max[node] = $1 }
		END { for (node in max) print "+", '"$(group_id)"', node, max[node], 1, 1 }' $lru_gen >"$guests_dir/age"
	local order
	while read -r order; do echo "$order" >$lru_gen; done <"$guests_dir/age"
}
group_id() { awk '$1 == "memcg" && $3 == "/guest" { print $2 }' $lru_gen; }

# during WHAT COMMAND ARGS...: measures; in the middle of the window the guest is stopped, and COMMAND done. Sets record.
during() {
	local what=$1 event=$2
	shift 2
	"$vmwss" measure --json --pid "$pid" -w 10 "$@" >"$guests_dir/record" 2>"$guests_dir/messages" &
	local measuring=$!
	settles measured_by "$pid" "$measuring"
	sleep 5
	hmp stop
	$event
	check "$what: measured" wait $measuring
	hmp cont
	record=$(<"$guests_dir/record")
	cat "$guests_dir/messages"
	[[ -n $record ]] || record='{}'
	printf '# %s: %s by %s [%s, %s] of %s, flags %s\n' "$what" "$(field wss_bytes)" "$(field method)" \
		"$(field wss_low_bytes)" "$(field wss_high_bytes)" "$t" "$(jq -c .flags <<<"$record")"
}
three_times() { age && age && age; }
nothing() { :; }
# A panel's bounds miss the truth now and then; here twice as wide.
bounds_hold() {
	holds "$(field wss_low_bytes) - ($(field wss_bytes) - $(field wss_low_bytes)) <= $t && 2 * $(field wss_high_bytes) - $(field wss_bytes) >= 0.99 * $t"
}

echo "+memory" >/sys/fs/cgroup/cgroup.subtree_control
mkdir $group
mkfifo "$guests_dir/hmp.in" "$guests_dir/hmp.out"
echo y >/sys/kernel/mm/lru_gen/enabled
check "MGLRU is on" grep -q 0x0007 /sys/kernel/mm/lru_gen/enabled

if start_in_group aged kvm "$params"; then
	echo "# nothing ages"
	for method in damon "idle --census"; do
		# shellcheck disable=SC2086 # words
		during "$method, nothing ages" nothing -m $method
		check "no flag" lacks_flag ageing
		check "the bounds hold the truth" bounds_hold
	done

	echo "# three ageings"
	for method in damon idle "idle --census" zap; do
		# shellcheck disable=SC2086 # words
		during "$method, aged" three_times -m $method
		check "the bounds hold the truth" bounds_hold
		if [[ $method == zap ]]; then
			check "no flag" lacks_flag ageing
		else
			check "flag ageing" has_flag ageing
		fi
	done

	echo "# followed over time"
	# followed: sets record. The last look must not be so late that the short window is left out.
	followed() {
		"$vmwss" ages --json --pid "$pid" -m idle -w 2,8 >"$guests_dir/ages" &
		measuring=$!
		settles measured_by "$pid" "$measuring"
		# Three ageings of a slow lab must be over two seconds before the end.
		sleep 1
		hmp stop
		three_times
		wait $measuring
		local status=$?
		hmp cont
		record=$(<"$guests_dir/ages")
		return $status
	}
	for _ in 1 2 3 4; do
		status=0
		followed || status=$?
		if ((status != 0)) || record_has '.windows | length == 2'; then break; fi
	done
	check "ages: measured" test "$status" = 0
	jq -c '[.windows, .ages, .flags]' <<<"$record"
	check "flag ageing" has_flag ageing
	check "the window that reaches back over it holds the truth" record_has ".windows[1].wss_high_bytes >= $t"
	check "the window since is not in doubt" record_has ".windows[0].wss_high_bytes < $t / 2"
	check "what seems older may be younger" record_has '.ages[-1] | .low_bytes == 0 and .high_bytes > 0'

	echo "# auto, on a host that ages"
	during "auto, aged" three_times
	check "auto took zap" record_has '.method == "zap"'
	check "the bounds hold the truth" bounds_hold
	check "no flag" lacks_flag ageing
	stop_guest "$pid"
fi

echo "# the group reclaims for itself, into swap"
echo 256M >/sys/block/zram0/disksize
mkswap /dev/zram0 >/dev/null
swapon /dev/zram0
reclaimed=24M
reclaim() { echo $reclaimed >$group/memory.reclaim; }
if start_in_group reclaimed kvm "$params"; then
	during "idle, MGLRU reclaims" reclaim -m idle
	check "the bounds hold the truth" bounds_hold
	check "flag ageing" has_flag ageing
	stop_guest "$pid"
fi

echo "# the classic LRU, and a guest under TCG"
echo n >/sys/kernel/mm/lru_gen/enabled
params="total=48M hot=8M"
t=$(truth "$params")
reclaimed=8M
if start_in_group classic tcg "$params"; then
	for method in idle cold referenced; do
		during "$method, nothing reclaims" nothing -m $method
		check "no flag" lacks_flag ageing
		during "$method, classic reclaim" reclaim -m $method
		check "the bounds hold the truth" bounds_hold
		[[ $method == idle ]] || check "flag ageing" has_flag ageing
	done
	stop_guest "$pid"
fi
swapoff /dev/zram0

finish
