#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: cost=16
#
# What the agent costs a guest of which a report is asked every ten seconds: at most 0.1 % of a CPU, which is 10 ms for each,
# and 4 MiB with the child that reads the processes. On this machine, for an emulated CPU takes many times as long; in a PID
# namespace with a hundred processes; and by CPU time, which others that run here lengthen, but not without end.

# shellcheck disable=SC2016 # jq's variables

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-ac.XXXX)
trap 'rm -rf -- "$dir"' EXIT
reports=20 rounds=10
ulimit -n 1024 # as for a service: its child closes so many

# cost FILE LARGE_MIB ROUNDS: a line for each round.
cost() {
	unshare --pid --fork --mount-proc --kill-child python3 "$root/tests/integration/guest-agent/agent_cost.py" "$build/guest-agent/vmwss-guest" \
		"$dir/socket" "$2" $reports "$3" >"$1" 2>"$dir/messages"
}
if ! cost "$dir/rounds" 8 $rounds; then fail "the agent answers" "$(tail -n 3 "$dir/messages")"; fi
sed 's/^/# /' "$dir/rounds"
# of FILTER: of all rounds, as an array.
of() { jq -s "$@" "$dir/rounds"; }
# One may be without that: the child has a second for it, and the machine may be busy.
all_whole() {
	of -e --argjson reports $reports --argjson rounds $rounds 'length == $rounds and all(.[]; .whole_reports >= 0.8 * $reports)' >/dev/null
}
check "$rounds rounds of $reports reports, with the page tables of the largest processes" all_whole
# Programs that share the caches only add: 6 to 9 ms on a busy machine, with its child and the agent's start, where 10 are
# meant. A machine half as fast is no reason to fail, and one walk more over the processes is 8 ms.
least=$(of 'map(.ms_per_report) | min')
check "a report takes 10 ms of a CPU, at most twice that on a slow one: $least ms" holds "$least > 0 && $least <= 20"
# The child's pages are its own and the agent's, here counted twice.
peak=$(of 'map(.agent_kib + .largest_kib) | max')
check "at most 4 MiB with the child: the agent $(of 'map(.agent_kib) | max') KiB, both at most $peak" holds "$peak > 0 && $peak <= 4096"
# Its limit, WALK_BYTES of serve/apart.c, is hardly reached by an idle guest.
cost "$dir/most" 20 2
echo "# where it walks 230 of the 256 MiB that it may: $(jq -s 'map(.ms_per_report) | min' "$dir/most") ms"

strip -o "$dir/stripped" "$build/guest-agent/vmwss-guest"
size=$(stat -c %s "$dir/stripped")
check "the program is at most 2 MiB: $size bytes" test "$size" -le 2097152
finish
