#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle libvirt serial thorough cost=204
#
# Not integration/guest/guest.sh under KVM: that asks the agent in all states of a guest, this measures what the agent costs.
# In the lab: a Linux guest under real KVM whose kernel has page_idle and allocinfo, with the agent in it. The host's number
# and the guest's own lie beside each other and beside the truth, and what the agent costs is measured where that means
# something: on a vCPU of KVM's.

libs=(embed guests linux_guest)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

embed_begin
trap 'embed_end; end_guests' EXIT

# The guest prints its own figures on its console. A nested guest may lose its timer and sleep for ever, so the toucher spins.
cat >"$guests_dir/inside" <<-'END'
	#!/bin/busybox sh
	until pid=$(pidof toucher) && [ "$(awk '/^VmRSS/ { print $2 }' /proc/$pid/status)" -ge 98304 ]; do :; done
	for method in clear_refs page_idle; do
		vmwss-guest wss --bytes --method $method "$pid" 2 |
			awk -v how=$method '/^[0-9]/ { print "wss", how, $4 / 1024, $5 / 1024 }'
	done
	vmwss-guest memory --top 3 | sed 's/^/memory: /'
	vmwss-guest serve --working-set=5 & # not beside the above: each would clear what the other reads
	agent=$!
	echo "inside: done"
	while read -r uptime _ </proc/uptime; do
		echo "agent $uptime $(cut -d' ' -f14-17 /proc/$agent/stat) $(awk '/^VmRSS/ { print $2 }' /proc/$agent/status)"
		sleep 5
	done
END
chmod 755 "$guests_dir/inside"
linux_image --kernel page_idle "$agent_program" "$guests_dir/inside" || exit 1
EMBED_TYPE=kvm linux_create g1 256 "sysctl.vm.mem_profiling=1 guest.run=inside toucher.total=96M toucher.hot=32M" || fail "g1 starts"
pid=$(pgrep -f -- '-name guest=g1,' | head -n 1)

within_time() { linux_says g1 'inside: done' 240; }
check "the guest does its part" within_time
console() { tr -d '\r' <"$embed_dir/g1.out"; }
own=160 # KiB of the toucher's own code and stack
while read -r _ method kib unknown; do
	check "the guest's own $method: $kib KiB and $unknown unknown, truth 32768" holds \
		"$unknown <= 256 && $kib + $unknown >= 32768 * 0.99 && $kib <= 32768 * 1.01 + $own"
done < <(console | grep '^wss')
check "both ways" test "$(console | grep -c '^wss')" = 2
check "who in the kernel allocated" bash -c "tr -d '\r' <'$embed_dir/g1.out' | grep -qE '^memory: .*[a-z_]+\.[ch]:[0-9]+'"

check "the agent answers" until_so 60 told g1
# Its page tables are walked within a second, or it is shown without.
check "it has seen the toucher" until_so 60 told g1 \
	'.report.processes[0].name == "toucher" and .report.processes[0].pss_bytes > 96 * 1048576'

# --- beside the host's number --------------------------------------------------------------------------------------------

measured() { measure -c "$embed_uri" g1 -w 3 -m idle --census --agent && record_has '.guest.source == "agent"'; }
check "the host measures it, and asks the agent" until_so 60 measured
check "the guest ran" guest_ran
echo "# host: $(field wss_bytes) [$(field wss_low_bytes), $(field wss_high_bytes)] of $(field resident_bytes); guest: $(jq -c .guest <<<"$record")"
# The toucher's set and what else the guest touches: its kernel, and the agent that was asked.
check "the host's number is the toucher's set and a little" holds \
	"$(field wss_high_bytes) >= 33554432 && $(field wss_bytes) <= 33554432 + 24 * 1048576"
check "with the guest's word" record_has '.guest.source == "agent" and .guest.total_bytes > 200 * 1048576'

check "the agent tells what was touched: the toucher's set and a little" until_so 60 told g1 \
	'.report.working_set | .window_s >= 5 and .anon_bytes >= 33554432 and .anon_bytes <= 33554432 + 4 * 1048576'
jq -c '"# \(.report.working_set)"' -r "$guests_dir/view"

# --- what the agent costs ------------------------------------------------------------------------------------------------

samples() { console | grep '^agent'; }
# agent_cost COMMAND: while it runs, ticks of 10 ms of the agent's own and of its children, the most of these between two
# samples, the seconds, and KiB resident.
agent_cost() {
	local first
	first=$(($(samples | wc -l) + 1)) # the last one is older than what was asked before
	"$@"
	samples | tail -n "+$first" | awk '
		NR == 1 { own = $3 + $4; children = $5 + $6; begin = $2 }
		NR > 1 && $5 + $6 - last > dearest { dearest = $5 + $6 - last }
		{ last = $5 + $6 }
		END { print $3 + $4 - own, last - children, dearest + 0, $2 - begin, $7 }'
}
ask_for_a_minute() {
	for ((i = 0; i < 6; i++)); do
		guest --json g1 >/dev/null 2>&1
		sleep 10
	done
}

# Its children are the rounds, while nobody asks: for a report it has a child that reads the largest processes, too. One
# round may begin before the others have been paid for; the kernel cuts user's and system's time to ticks each.
for ((i = 0; i < 4; i++)); do
	read -r _ rounds dearest seconds _ < <(agent_cost sleep 60)
	((rounds == 0)) || break
done
echo "# to tell what was touched: $rounds ticks of 10 ms in $seconds s of the guest, at most $dearest at once"
check "there were rounds" holds "$rounds > 0 && $seconds > 30"
check "what was touched is told for 0.5 % of a vCPU" holds "$rounds <= $dearest + 2 + 0.005 * 100 * $seconds"
read -r ticks all _ seconds rss < <(agent_cost ask_for_a_minute)
echo "# asked every 10 s: $ticks ticks of its own in $seconds s, $all of its rounds and for reports; $rss KiB resident"
check "the agent was there all the time" holds "$seconds > 30"
check "at most 4 MiB" holds "$rss > 0 && $rss <= 4096"

embed_virsh destroy g1 >/dev/null 2>&1
finish
