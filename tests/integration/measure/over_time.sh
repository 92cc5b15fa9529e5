#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: serial tcg cost=43
# test: lab=page_idle thorough cost=155
#
# A working set over time: profile and grow on a guest that does not change, ages on one that steps. TCG guests by cold and by
# pageout, with pictures, exit codes, and what they say when something is wrong. In the lab, under real KVM, by idle and by zap;
# and measure's --precision and --stretch there.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

mib=1048576
svg=$guests_dir/picture.svg
curves=(zap) following=(zap)
if [[ $accel == tcg ]]; then
	curves=(cold) following=(pageout)
elif [[ -e /sys/kernel/mm/page_idle/bitmap ]]; then
	curves+=(idle) following+=(idle)
fi

counted=()
# series FILE COMMAND...: JSON lines into FILE.
series() {
	local file=$1
	shift
	"${counted[@]}" "$vmwss" "$@" --json >"$file" 2>"$guests_dir/messages" || { cat "$guests_dir/messages" >&2; return 1; }
}
# steady_series SECONDS FILE COMMAND...: likewise, while the guest gets through its set within so many seconds: on a busy machine
# tried again.
steady_series() {
	local seconds=$1 i passes counted
	shift
	count_passes "${serial_of[$pid]}" "$pid" "$guests_dir/passes"
	for ((i = 0; i < 6; i++)); do
		counted=("${passes[@]}")
		series "$@" || return 1
		if steady_passes "$seconds" "$guests_dir/passes"; then break; fi
	done
}
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
none_left() { [[ -z $(pgrep vmwss) ]]; }

# A window is left out of a record when ticks came too late for it, as they may on a busy machine.
# Within its interval at twice its width, as check_panel has it: s is a window, t the truth.
near='def window(s): .windows[] | select(.window_s == s);
	def holds(t): t >= .wss_bytes - 2 * (.wss_bytes - .wss_low_bytes) and t <= .wss_bytes + 2 * (.wss_high_bytes - .wss_bytes);'

# check_curves METHOD PROFILE_FROM PROFILE_TO STEP END: of a guest that does not change, the truth of which is $t.
check_curves() {
	local method=$1 from=$2 to=$3 step=$4 end=$5 truth
	# The truth: exactly, by what looks at every page; within the interval, by a panel.
	if [[ $method == cold ]]; then truth=".wss_bytes > 0.99 * $t and .wss_bytes < 1.01 * $t"; else truth="holds($t)"; fi
	local file=$guests_dir/curve.json
	check "$method: profile" steady_series "$to" "$file" profile --pid "$pid" -m "$method" --from "$from" --to "$to" --svg "$svg"
	check "$method: windows double" says "$file" "length == 1 and [.[0].windows[].window_s] as \$w | \$w[0] == $from and \$w[-1] == $to and
		(\$w | length) >= 6 and all(range(1; \$w | length); \$w[.] == 2 * \$w[. - 1])"
	check "$method: est windows and the working set do not shrink" says "$file" \
		'.[0].windows | ([.[].est_window_s] | . == sort) and ([.[].wss_bytes] | . == sort)'
	check "$method: the longest has the truth" says "$file" "$near .[0].windows[-1] | $truth"
	check "$method: a picture, whose title is escaped" picture 'still&lt;&amp;&gt;: WSS over windows that double'
	check "$method: grow" steady_series "$step" "$file" grow --pid "$pid" -m "$method" --every "$step" --duration "$end" --svg "$svg"
	check "$method: equal steps" says "$file" "length == 1 and [.[0].windows[].window_s] as \$w | \$w[-1] == $end and
		all(range(\$w | length); \$w[.] - $step * (. + 1) | . > -1e-6 and . < 1e-6)"
	check "$method: the truth after every step" says "$file" "$near .[0].windows | length >= 4 and all(.[]; $truth)"
	check "$method: a picture of it" picture 'still&lt;&amp;&gt;: cumulative growth of the WSS'
}

# check_ages METHOD RECORDS: of a guest that steps between $high and $low.
check_ages() {
	local method=$1 n=$2 file=$guests_dir/ages.json
	check "$method: ages" series "$file" ages --pid "$pid" -m "$method" -w 1,4,20 -i 1 -k "$n" --svg "$svg"
	check "$method: as many records as were asked for" says "$file" "length == $n"
	check "$method: the documented keys" says "$file" 'all(.[]; .schema == "vmwss.ages.v1" and
		(has("windows") and has("cpu_seconds") and has("flags") and has("ages")) and
		all(.ages[]; keys_unsorted == ["from_s","to_s","bytes","low_bytes","high_bytes"]))'
	check "$method: the short window follows the guest down" \
		says "$file" "$near [.[] | window(1) | select(holds($low))] | length >= 5"
	check "$method: and up" says "$file" "$near [.[] | window(1) | select(holds($high))] | length >= 5"
	check "$method: the long window has the larger set all the time, and no more" \
		says "$file" "$near [.[] | window(20)] | length >= 10 and all(.[]; holds($high))"
	check "$method: the ages say how long ago it fell" says "$file" "$near [.[] | select(.windows | length == 3)
		| select(window(1).wss_bytes < 64 * $mib) | .ages[1].bytes + .ages[2].bytes] | length > 0 and all(.[]; . > 96 * $mib)"
	check "$method: the bins join, and the last is open" says "$file" 'all(.[].ages; .[0].from_s == 0 and .[-1].to_s == null and
		([.[1:][].from_s] == [.[:-1][].to_s]))'
	check "$method: they add up to what is resident" says "$file" 'all(.[]; (([.ages[].bytes] | add) - .resident_bytes)
		/ .resident_bytes | . > -0.005 and . < 0.005)'
	check "$method: each value within its bounds" says "$file" \
		'all(.[].ages[]; .low_bytes <= .bytes and .bytes <= .high_bytes)'
	check "$method: the guest ran" says "$file" "all(.[1:][]; .vcpu_seconds > $ran * .windows[-1].est_window_s)"
	check "$method: a picture" picture 'steps: ages of its memory'
	[[ $accel == kvm ]] || return 0
	check "$method: est windows" says "$file" "all(.[].windows[]; .est_window_s > 0.74 * .window_s and
		.est_window_s < 1.26 * .window_s)"
	check "$method: the longest window by the end" says "$file" "$near .[-1] | [window(20)] | length == 1"
}

# By panels of KVM.
check_precision() {
	local method=$1 file=$guests_dir/precise.json
	check "$method: precision 3 %" series "$file" measure --pid "$pid" -m "$method" -w 1 -P 3% -i 2 -k 3
	check "$method: is reached" says "$file" "all(.[]; .windows[0] as \$w |
		(\$w.wss_high_bytes - \$w.wss_low_bytes) / 2 / .resident_bytes | . <= 0.033)"
	check "$method: and with fewer pages once the fraction is known" says "$file" '.[2].samples < 0.8 * .[0].samples'
}
check_kvm_alone() {
	local file=$guests_dir/stretched.json watching
	check "stretch" series "$file" measure --pid "$pid" -w 0.5 -n 1000 -i 1 -k 5 --stretch 4
	# shellcheck disable=SC2016 # jq's variables
	check "measures 1, 2, 4 and 4 intervals apart" says "$file" '[.[].time | sub("\\.(?<ms>[0-9]+)Z"; "Z") | fromdate] |
		[.[1] - .[0], .[2] - .[1], .[3] - .[2], .[4] - .[3]] | . as $d |
		$d[0] <= 2 and $d[1] >= 1 and $d[1] <= 3 and $d[2] >= 3 and $d[2] <= 5 and $d[3] >= 3 and $d[3] <= 5'

	echo "# kill -9 in the middle of following"
	"$vmwss" ages --pid "$pid" >/dev/null 2>&1 &
	watching=$!
	settles measured_by "$pid" "$watching"
	sleep 2
	kill -KILL "$watching"
	wait "$watching" 2>/dev/null
	check "no process is left" settles none_left
	check_panel "after kill -9 of ages" "$t" --pid "$pid" -w 2 -n 2000
}

# For people, and what is wrong: of the TCG guest.
check_tables() {
	"$vmwss" measure --pid "$pid" -m cold -w 0.1 -i 1.1 -k 2 >"$guests_dir/series"
	# shellcheck disable=SC2016 # awk has fields
	check "a series has the time of each row, and no age" quietly awk '
		NR == 1 { for (i = 1; i <= NF; i++) { time += $i == "TIME"; age += $i == "AGE" } }
		NR > 1 { match($0, / [0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z/); seen[substr($0, RSTART, RLENGTH)] = RLENGTH > 0 }
		END { exit !(time == 1 && age == 0 && NR == 3 && length(seen) == 2) }' "$guests_dir/series"
	check "one measurement has an age, and no time" grep -qE '^DOMAIN.* AGE +FLAGS$' <("$vmwss" measure --pid "$pid" -m cold -w 0.1)
	check "grow for people" test "$("$vmwss" grow --pid "$pid" -m cold --every 0.2 --duration 0.6 | grep -c '^ *0\.[246]s ')" = 3
}
check_refusals() {
	echo "# what is wrong is named"
	expect_exit "too short" 1 '^vmwss: --from 0: ' "$vmwss" profile --pid "$pid" --from 0
	expect_exit "begins after its end" 1 '--every 5 .*--duration 2' "$vmwss" grow --pid "$pid" --every 5 --duration 2
	expect_exit "more windows than there can be" 1 'more than 64' "$vmwss" grow --pid "$pid" --every 0.1 --duration 10
	expect_exit "two kinds of size" 1 'exclude' "$vmwss" profile --pid "$pid" --census -P 2%
	expect_exit "ages takes no census" 1 'ages follows a panel' "$vmwss" ages --pid "$pid" --census
	expect_exit "a tick longer than a window" 1 '--tick 2 .*1 s' "$vmwss" ages --pid "$pid" -t 2
	expect_exit "more ticks than can be remembered" 1 '--window 3600 ' "$vmwss" ages --pid "$pid" -w 0.01,3600
	expect_exit "a window between two ticks" 1 '--window 1.5 cannot be answered' "$vmwss" ages --pid "$pid" -w 1,1.5
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
}
check_endings() {
	local watching
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
}

echo "# a guest that does not change"
if [[ $accel == tcg ]]; then params="total=448M hot=64M pattern=random seed=5" size=512; else params="total=192M hot=28M pattern=random seed=9" size=256; fi
if start_payload 'still<&>' "$accel" "$params" -m $size; then
	t=$(truth "$params") still=$pid
	for method in "${curves[@]}"; do
		if [[ $accel == tcg ]]; then
			check_curves "$method" 0.02 0.64 0.4 1.6
		else
			check_curves "$method" 0.01 2.56 0.5 3
			check_precision "$method"
		fi
	done
	if [[ $accel == tcg ]]; then
		check_tables
		check_refusals
	else
		check_kvm_alone
		stop_guest "$pid"
	fi
fi

echo "# a guest that steps between 192 and 32 MiB"
# The smaller set lies within the larger one.
if [[ $accel == tcg ]]; then
	# Pages at random: neighbours of a hot page are mostly cold.
	pattern="pattern=random seed=3" seconds=8 records=36 ran=0.03
	memory=(-object "memory-backend-memfd,id=mem,size=512M,share=on")
	export MACHINE=pc,memory-backend=mem
else
	pattern="" seconds=6 records=34 ran=0.03 memory=()
fi
high=$(truth "total=448M hot=192M $pattern") low=$(truth "total=448M hot=32M $pattern")
if start_payload steps "$accel" "total=448M phases=$seconds:192M,$seconds:32M $pattern" -m 512 "${memory[@]}"; then
	for method in "${following[@]}"; do check_ages "$method" $records; done
	if [[ $accel == tcg ]]; then
		expect_exit "windows shorter than a look at the panel" 2 'no window can be answered.*longer --window' \
			timeout 60 "$vmwss" ages --pid "$pid" -w 0.001
		check "a window asked for twice" test "$("$vmwss" ages --pid "$pid" -w 1,1 --json | jq '.ages | length')" = 2
		check_endings
	fi
fi

finish
