#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=156
#
# A hostile agent in a real Linux guest: whatever it sends, `vmwss guest` ends with one clear line, in bounded memory, and
# with the host's figures; and works when the agent behaves. Then the same guest does all of it to vmwssd, beside another
# guest: each is one line in the log that says what is wrong, the daemon's memory, and how often both guests are looked at,
# are what they are while the agent is honest.

libs=(libvirtd guests linux_guest vmwssd stalls)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

if ! libvirtd_begin; then
	fail "libvirtd starts"
	finish
	exit
fi

gcc -std=gnu11 -O2 -static -Wall -Wextra -Werror "$root/vm-images/linux/hostile.c" -o "$embed_dir/hostile" || exit 1
linux_image "$embed_dir/hostile" "$agent_program" || exit 1

# Peak resident memory is what the kernel counts of a child that has ended (getrusage(2)).
# shellcheck disable=SC2016 # Python's
measured='
import json, resource, subprocess, sys, time
began = time.monotonic()
ran = subprocess.run(["timeout", "60"] + sys.argv[2:], capture_output=True, text=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as out:
    out.write(ran.stdout)
lines = ran.stderr.splitlines()
print(json.dumps({"status": ran.returncode, "lines": len(lines), "said": "".join(lines[:1]),
                  "peak_kib": usage.ru_maxrss, "seconds": round(time.monotonic() - began, 1)}))
'
largest_kib=0

# The guest goes on to the next when it sees that nobody is there: how often it has.
alone() { grep -c 'hostile: alone' "$embed_dir/h1.out"; }
was_alone() { (($(alone) > $1)); }

# ask: vmwss guest on h1; sets answer (how it went), said (its messages) and leaves its output in $embed_dir/view.
ask() {
	local before
	before=$(alone)
	answer=$(python3 -c "$measured" "$embed_dir/view" "$vmwss" guest -c "$embed_uri" --json "$@")
	said=$(jq -r .said <<<"$answer")
	local kib
	kib=$(jq .peak_kib <<<"$answer")
	((kib <= largest_kib)) || largest_kib=$kib
	settles was_alone "$before"
}

# Its figures of the host are there all the same.
host_is_told() {
	jq -e '.host.assigned_bytes == 134217728 and .host.resident_bytes > 0 and .report == null and (.missing | length) > 0' \
		"$embed_dir/view" >/dev/null
}

is_refused() { [[ $(jq .status <<<"$answer") == 2 && $(jq .lines <<<"$answer") == 1 && $said =~ $1 ]] && host_is_told; }

# Printable ASCII in one line, whatever the guest sent.
is_printable() { [[ -n $said && ! $said =~ [^[:print:]] ]]; }

# how the agent misbehaves, and what is said of it
behaviours=(
	flood 'it floods: more than 64 KiB'
	long 'it floods.*first a line of more than 16384 bytes'
	stalls 'it floods.*64 lines'
	newlines 'it floods: more than 64 KiB'
	truncated 'no answer within 2 s'
	cut 'ends too early'
	nul 'a control character, at byte 1'
	utf8 'invalid UTF-8'
	twice 'a key twice'
	1e999 'a number too large'
	escape 'report.pressure_off: has control characters'
	lie 'report.memory.total_bytes: 1125899906842624 bytes, but .* 134217728'
	sequence 'an answer to another question'
	drip 'no answer within 2 s'
	silent 'no answer within 2 s'
)

# Under vmwssd each in a turn of its own, and three in one, then it is honest again: after each that failed in a row it is
# asked later. The three are of three kinds, for of each kind one line an hour is logged.
turns=()
words=hostile
for ((i = 0; i < ${#behaviours[@]}; i += 2)); do
	words+=,${behaviours[i]}
	turns+=("${behaviours[i]}")
done
turns+=("flood lie silent")
words+=,honest,honest
for turn in "${turns[@]}"; do words+=,${turn// /,},honest; done
export RAM_XML=$memfd
if ! linux_create h1 128 "guest.toucher=no guest.run=$words" || ! linux_says h1 'hostile: ready' 400; then
	fail "the hostile guest starts"
	finish
	exit
fi

echo "# one line for each, the host's figures untouched"
for ((i = 0; i < ${#behaviours[@]}; i += 2)); do
	ask h1
	check "${behaviours[i]}" is_refused "domain h1: .*${behaviours[i + 1]}"
	check "${behaviours[i]}: nothing of the guest's in it" is_printable
	printf '  %s s, %s KiB: %s\n' "$(jq .seconds <<<"$answer")" "$(jq .peak_kib <<<"$answer")" "$said"
done

echo "# then it behaves"
behaves() {
	[[ $(jq .status <<<"$answer") == 0 && $(jq .lines <<<"$answer") == 0 ]] &&
		jq -e '.hello.agent == "hostile" and .report.uptime_s == 5 and .report.memory.total_bytes == 8388608 and
			.missing == null and .guest.source == "agent"' "$embed_dir/view" >/dev/null
}
ask h1
check "an answer" behaves
honest_kib=$(jq .peak_kib <<<"$answer")
printf 'peak of resident memory: %d KiB with an honest agent, %d KiB at most with a hostile one\n' "$honest_kib" "$largest_kib"
# A line, the bucket and the parser's tree of one message.
check "hostile bytes cost less than a MiB" holds "$largest_kib - $honest_kib < 1024"

echo "# under vmwssd, beside another guest"
# switch yes|no: asks agents, or lets them go; a file that is read when it starts, or by SIGHUP.
switch() {
	vmwssd_conf "connect = $embed_uri" 'window = 2,4' 'samples = 500' 'budget = 50%' 'guest-budget = 20%' "agents = $1"
	[[ -n $daemon ]] || return 0
	local before
	before=$(grep -c '^<5>reloaded' "$log")
	kill -HUP "$daemon"
	reloaded() { (($(grep -c '^<5>reloaded' "$log") > before)); }
	settles reloaded
}
n_answers() { grep -c 'domain h1: its agent answers' "$log"; }
has_answered() { (($(n_answers) >= $1)); }
last_id() { sql "SELECT coalesce(max(id), 0) FROM sample"; }
records() { sql "SELECT count(*) FROM sample s JOIN guest g ON g.id = guest_id WHERE g.name = '$1' AND s.id > $2"; }
has_records() { (($(records "$1" "$2") >= $3)); }
# periods NAME FROM TO: how many from one record to the next, their median in ms, and how many of them took twice as long
# as they should: a look was left out.
periods() {
	sql "WITH p AS (SELECT time_ms - lag(time_ms) OVER (ORDER BY s.id) AS ms FROM sample s JOIN guest g ON g.id = guest_id
		WHERE g.name = '$1' AND s.id > $2 AND s.id <= $3) SELECT count(*) || ' ' || (SELECT ms FROM p WHERE ms IS NOT NULL
		ORDER BY ms LIMIT 1 OFFSET (SELECT count(*) / 2 FROM p WHERE ms IS NOT NULL)) || ' ' || total(ms >= 2000) FROM p WHERE ms IS NOT NULL"
}
memory() { awk -v key="$1:" '$1 == key { print $2 }' "/proc/$daemon/status"; }

stalls_begin "$guests_dir/stalls"
pids+=("$stalls_pid")
stalls() { wc -l <"$guests_dir/stalls"; }
check "another guest starts" embed_create other 64 "total=32M hot=8M" "$memfd"
switch yes
vmwssd_begin --config "$guests_dir/conf"
check "the agent answers" eventually has_answered 1
check "records come" eventually has_records other 0 3
calm_from=$(last_id)
# A well-formed report that is a lie: 8 MiB, of 128 that the host knows of.
word() { "$vmwss" history --database "$db" --since 1h --window 2 --step record --json h1 | tail -n 1 | jq -c .guest; }
is_doubted() { jq -e '.source == "agent" and .agreement != null and .agreement < 0.2 and (.doubts | index("total"))' <<<"$(word)" >/dev/null; }
check "who lies is scored, and what about" eventually is_doubted
printf '  %s\n' "$(word)"
check "a calm time" eventually has_records other "$calm_from" 15
calm_to=$(last_id)
read -r calm_n calm_ms calm_late <<<"$(periods other "$calm_from" "$calm_to")"
calm_stalls=$(stalls)
calm_kib=$(memory VmRSS)
echo 5 >"/proc/$daemon/clear_refs" # its peak begins anew
# said_of BEHAVIOUR: so does the log of this turn.
said_of() {
	local i
	for ((i = 0; i < ${#behaviours[@]}; i += 2)); do
		[[ ${behaviours[i]} != "$1" ]] || grep -qE "${behaviours[i + 1]}" "$guests_dir/faults" || return 1
	done
}
for turn in "${turns[@]}"; do
	before=$(n_answers) line=$(wc -l <"$log")
	left=$(alone)
	switch no
	check "it is let go" settles was_alone "$left"
	switch yes
	check "after $turn it answers again" eventually has_answered $((before + 1))
	tail -n +$((line + 1)) "$log" | grep 'domain h1: its agent (' >"$guests_dir/faults"
	for how in $turn; do check "$how: what was wrong is said" said_of "$how"; done
	check "once for each kind" test -z "$(grep -oE 'its agent \([a-z]+\)' "$guests_dir/faults" | sort | uniq -d)"
	check "nothing of the guest's in it" test -z "$(LC_ALL=C grep '[^[:print:]]' "$guests_dir/faults")"
	sed 's/^/  /' "$guests_dir/faults"
done
# The guest can choose how often it misbehaves, not what the host reads.
figures() { sql "SELECT DISTINCT ram_bytes FROM sample s JOIN guest g ON g.id = guest_id WHERE g.name = 'h1'"; }
check "of its RAM vmwssd keeps what the host knows" test "$(figures)" = 134217728
none_above="SELECT count(*) FROM sample s JOIN guest g ON g.id = guest_id, json_each(windows) w WHERE g.name = 'h1' AND
	(w.value ->> 4 > ram_bytes OR resident_bytes > ram_bytes OR resident_bytes = 0)"
check "and no working set that cannot be" test "$(sql "$none_above")" = 0
hostile_to=$(last_id)
peak_kib=$(memory VmHWM)
read -r hostile_n hostile_ms hostile_late <<<"$(periods other "$calm_to" "$hostile_to")"
printf 'other: %d periods of %d ms with an honest agent beside it, %d late; %d of %d ms with a hostile one, %d late\n' \
	"$calm_n" "$calm_ms" "${calm_late%.*}" "$hostile_n" "$hostile_ms" "${hostile_late%.*}"
printf 'vmwssd: %d KiB before, %d at most, %d after\n' "$calm_kib" "$peak_kib" "$(memory VmRSS)"
stalls=$(($(stalls) - calm_stalls))
check "the other is looked at as often, but when the machine stood still, $stalls times" \
	holds "$hostile_late <= 2 + 2 * $stalls + $calm_late * $hostile_n / $calm_n"
check "and the hostile one" test "$(records h1 "$calm_to")" -ge $((hostile_n / 2))
check "the daemon's memory is what it was" holds "$peak_kib - $calm_kib < 2048"
check "ends" vmwssd_end TERM

finish
