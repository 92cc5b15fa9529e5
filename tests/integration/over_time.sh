#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: serial tcg cost=43
#
# A working set over time, of TCG guests on this machine: profile and grow by cold, ages by pageout on a guest that steps;
# their pictures, exit codes, and what they say when something is wrong.

libs=(guests)
# shellcheck source=../lib/preamble.sh
. "$(dirname "$0")/../lib/preamble.sh"

mib=1048576
svg=$guests_dir/picture.svg

# says FILE EXPRESSION: jq finds it true of the array of all records.
says() { jq -se "$2" "$1" >/dev/null; }

# picture LABEL: the last one is well-formed and has this text.
picture() { xmllint --noout "$svg" && grep -qF ">$1<" "$svg"; }

# exit_of COMMAND...: what it exits with, quietly.
exit_of() {
	local status=0
	"$@" >"$guests_dir/said" 2>&1 || status=$?
	echo "$status"
}

echo "# profile and grow, by cold"
params="total=448M hot=64M pattern=random seed=5"
if start_payload 'still<&>' tcg "$params" -m 512; then
	t=$(truth "$params")
	still=$pid
	exact=".wss_bytes > 0.99 * $t and .wss_bytes < 1.01 * $t"
	file=$guests_dir/profile.json
	"$vmwss" profile --pid "$pid" -m cold --from 0.02 --to 0.64 --svg "$svg" --json >"$file"
	check "profile: windows double" says "$file" 'length == 1 and [.[0].windows[].window_s] == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64]'
	check "profile: the truth, exactly, in the longest window" says "$file" ".[0].windows[-1] | $exact"
	check "profile: est windows and working set do not shrink" says "$file" \
		'.[0].windows | ([.[].est_window_s] | . == sort) and ([.[].wss_bytes] | . == sort)'
	check "profile: a picture, whose title is escaped" picture 'still&lt;&amp;&gt;: WSS over windows that double'
	file=$guests_dir/grow.json
	"$vmwss" grow --pid "$pid" -m cold --every 0.4 --duration 1.6 --svg "$svg" --json >"$file"
	check "grow: equal steps" says "$file" 'length == 1 and [.[0].windows[].window_s] == [0.4, 0.8, 1.2, 1.6]'
	check "grow: the truth, exactly, after every step" says "$file" ".[0].windows | all(.[]; $exact)"
	"$vmwss" measure --pid "$pid" -m cold -w 0.1 -i 1.1 -k 2 >"$guests_dir/series"
	# shellcheck disable=SC2016 # awk has fields
	check "a series has the time of each row, and no age" quietly awk '
		NR == 1 { for (i = 1; i <= NF; i++) { time += $i == "TIME"; age += $i == "AGE" } }
		NR > 1 { match($0, / [0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z/); seen[substr($0, RSTART, RLENGTH)] = RLENGTH > 0 }
		END { exit !(time == 1 && age == 0 && NR == 3 && length(seen) == 2) }' "$guests_dir/series"
	check "one measurement has an age, and no time" grep -qE '^DOMAIN.* AGE +FLAGS$' <("$vmwss" measure --pid "$pid" -m cold -w 0.1)
	check "grow: a picture" picture 'still&lt;&amp;&gt;: cumulative growth of the WSS'
	check "grow for people" test "$("$vmwss" grow --pid "$pid" -m cold --every 0.2 --duration 0.6 | grep -c '^ *0\.[246]s ')" = 3

	echo "# what is wrong is named"
	expect_exit "too short" 1 '^vmwss: --from 0: ' "$vmwss" profile --pid "$pid" --from 0
	expect_exit "begins after its end" 1 '--every 5 .*--duration 2' "$vmwss" grow --pid "$pid" --every 5 --duration 2
	expect_exit "more windows than there can be" 1 'more than 64' "$vmwss" grow --pid "$pid" --every 0.1 --duration 10
	expect_exit "two kinds of size" 1 'exclude' "$vmwss" profile --pid "$pid" --census -P 2%
	expect_exit "ages takes no census" 1 'ages follows a panel' "$vmwss" ages --pid "$pid" --census
	expect_exit "a tick longer than a window" 1 '--tick 2 .*1 s' "$vmwss" ages --pid "$pid" -t 2
	expect_exit "more ticks than can be remembered" 1 '--window 3600 ' "$vmwss" ages --pid "$pid" -w 0.01,3600
	expect_exit "ages by a method that cannot follow" 2 'cold: cannot follow' "$vmwss" ages --pid "$pid" -m cold
	expect_exit "ages with no method that can" 2 'pageout: needs shared' "$vmwss" ages --pid "$pid"
	for command in profile grow ages; do
		expect_exit "$command: no such directory, said at once" 2 "$guests_dir/no/such.svg: No such" \
			timeout 60 "$vmwss" "$command" --pid "$pid" --svg "$guests_dir/no/such.svg"
	done
	expect_exit "a full disk under the picture" 2 '/dev/full: No space' \
		"$vmwss" profile --pid "$pid" -m cold --to 0.02 --svg /dev/full
	check "the device is still there" test -c /dev/full
	check "a full disk under the output" test \
		"$("$vmwss" profile --pid "$pid" -m cold --to 0.02 2>"$guests_dir/said" >/dev/full; echo $?)" = 2
	check "is named" grep -q 'standard output: No space' "$guests_dir/said"
	expect_exit "not another command" 1 'unrecognized' "$vmwss" grow --pid "$pid" --from 1
fi

echo "# ages, by pageout, of a guest that steps between 192 and 32 MiB every 8 s"
# The smaller set lies within the larger one. Pages at random: neighbours of a hot page are mostly cold.
params="total=448M phases=8:192M,8:32M pattern=random seed=3"
high=$(truth "total=448M hot=192M pattern=random seed=3") low=$(truth "total=448M hot=32M pattern=random seed=3")
if MACHINE=pc,memory-backend=mem start_payload steps tcg "$params" -m 512 \
	-object memory-backend-memfd,id=mem,size=512M,share=on; then
	# Within its interval at twice its width, as check_panel has it.
	near="def window(s): .windows[] | select(.window_s == s);
		def holds(t): t >= .wss_bytes - 2 * (.wss_bytes - .wss_low_bytes) and
			t <= .wss_bytes + 2 * (.wss_high_bytes - .wss_bytes);"
	file=$guests_dir/ages.json
	check "ages ends well" test \
		"$("$vmwss" ages --pid "$pid" -m pageout -w 1,4,20 -i 1 -k 36 --svg "$svg" --json >"$file"; echo $?)" = 0
	check "as many records as were asked for" says "$file" 'length == 36'
	check "the documented keys" says "$file" 'all(.[]; .schema == "vmwss.ages.v1" and
		(has("windows") and has("cpu_seconds") and has("flags") and has("ages")) and
		all(.ages[]; keys_unsorted == ["from_s","to_s","bytes","low_bytes","high_bytes"]))'
	check "the short window follows the guest down" says "$file" "$near [.[] | window(1) | select(holds($low))] | length >= 5"
	check "and up" says "$file" "$near [.[] | window(1) | select(holds($high))] | length >= 5"
	check "the long one has the larger set, and no more" \
		says "$file" "$near [.[] | window(20)] | length >= 10 and all(.[]; holds($high))"
	check "the bins say how long ago it fell" says "$file" "$near [.[] | select(.windows | length == 3)
		| select(window(1).wss_bytes < 64 * $mib) | .ages[1].bytes + .ages[2].bytes] | length > 0 and all(.[]; . > 96 * $mib)"
	check "the bins join, and the last is open" says "$file" 'all(.[].ages; .[0].from_s == 0 and .[-1].to_s == null and
		([.[1:][].from_s] == [.[:-1][].to_s]))'
	check "and add up to what is resident" says "$file" 'all(.[]; (([.ages[].bytes] | add) - .resident_bytes)
		/ .resident_bytes | . > -0.005 and . < 0.005)'
	check "each value within its bounds" says "$file" \
		'all(.[].ages[]; .low_bytes <= .bytes and .bytes <= .high_bytes)'
	check "the guest ran" says "$file" 'all(.[1:][]; .vcpu_seconds > 0.03 * .windows[-1].est_window_s)'
	check "a picture" picture 'steps: ages of its memory'
	expect_exit "windows shorter than a look at the panel" 2 'no window can be answered.*longer --window' \
		timeout 60 "$vmwss" ages --pid "$pid" -w 0.001
	check "a window asked for twice" test "$("$vmwss" ages --pid "$pid" -w 1,1 --json | jq '.ages | length')" = 2

	echo "# endings"
	both_measured() { [[ -s /run/vmwss/guest-$pid.lock && -s /run/vmwss/guest-$still.lock ]]; }
	"$vmwss" ages --pid "$pid" -w 1,20 >/dev/null 2>&1 &
	watching=$!
	settles measured_by "$pid" "$watching"
	kill -INT "$watching"
	wait "$watching"
	check "interrupted: exit 130" test $? = 130
	check "and nothing is left locked" test ! -e "/run/vmwss/guest-$pid.lock"
	("$vmwss" ages --pid "$pid" -w 0.5 -i 0.5 --json 2>&1; echo $? >"$guests_dir/status") | head -n 1 >/dev/null
	check "a reader that goes away: SIGPIPE, as for any program" test "$(<"$guests_dir/status")" = 141
	check "and nothing is left locked then" test ! -e "/run/vmwss/guest-$pid.lock"
	(settles both_measured; kill -KILL "$pid" "$still") &
	(exit_of "$vmwss" grow --pid "$still" -m cold >"$guests_dir/status") &
	expect_exit "ages: the guest vanishes" 3 "process $pid.*vanished" "$vmwss" ages --pid "$pid" -w 20
	wait
	check "grow: the guest vanishes" test "$(<"$guests_dir/status")" = 3
fi

finish
