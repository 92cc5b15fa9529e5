#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle cost=155
#
# In the lab: a working set over time, under real KVM: ages, profile, grow, and measure's --precision and --stretch,
# on guests whose steps are known. By idle where the kernel has it, and by zap.

libs=(guests)
# shellcheck source=../lib/preamble.sh
. "$(dirname "$0")/../lib/preamble.sh"

mib=1048576
methods=(zap)
[[ ! -e /sys/kernel/mm/page_idle/bitmap ]] || methods+=(idle)

# series FILE COMMAND...: JSON lines into FILE.
series() {
	local file=$1
	shift
	"$vmwss" "$@" --json >"$file" 2>"$guests_dir/messages" || { cat "$guests_dir/messages" >&2; return 1; }
}

# says FILE EXPRESSION: jq finds it true of the array of all records.
says() { jq -se "$2" "$1" >/dev/null; }

# A window is left out of a record when ticks came too late for it, as they may on a busy machine.
# Within its interval at twice its width, as check_panel has it: W is a window, T the truth.
near='def near(t): (.wss_bytes - t) | if . < 0 then -. else . end;
	def window(s): .windows[] | select(.window_s == s);
	def holds(t): t >= .wss_bytes - 2 * (.wss_bytes - .wss_low_bytes) and t <= .wss_bytes + 2 * (.wss_high_bytes - .wss_bytes);'

none_left() { [[ -z $(pgrep vmwss) ]]; }

echo "# a guest that steps between 192 and 32 MiB every 6 s"
params="total=448M phases=6:192M,6:32M"
high=$(truth "total=448M hot=192M") low=$(truth "total=448M hot=32M")
if start_payload steps kvm "$params" -m 512; then
	for method in "${methods[@]}"; do
		file=$guests_dir/ages.json
		check "$method: ages" series "$file" ages --pid "$pid" -m "$method" -w 1,4,20 -i 1 -k 34
		check "$method: the short window follows the guest down" \
			says "$file" "$near [.[] | window(1) | select(holds($low))] | length >= 5"
		check "$method: and up" says "$file" "$near [.[] | window(1) | select(holds($high))] | length >= 5"
		check "$method: the long window has the larger set all the time" \
			says "$file" "$near [.[] | window(20)] | length >= 10 and all(.[]; holds($high))"
		check "$method: the ages say how long ago it fell" says "$file" "$near [.[] | select(.windows | length == 3)
			| select(window(1).wss_bytes < 64 * $mib) | .ages[1].bytes + .ages[2].bytes] | length > 0 and all(.[]; . > 96 * $mib)"
		check "$method: the bins add up to what is resident" says "$file" "all(.[]; (([.ages[].bytes] | add) - .resident_bytes)
			/ .resident_bytes | . > -0.005 and . < 0.005)"
		check "$method: est windows" says "$file" "all(.[].windows[]; .est_window_s > 0.74 * .window_s and
			.est_window_s < 1.26 * .window_s)"
		check "$method: the longest window by the end" says "$file" "$near .[-1] | [window(20)] | length == 1"
		check "$method: the guest ran" says "$file" 'all(.[1:][]; .vcpu_seconds > 0.3 * .windows[-1].est_window_s)'
	done
	stop_guest "$pid"
fi

echo "# a guest that does not change"
params="total=192M hot=28M pattern=random seed=9"
t=$(truth "$params")
if start_payload steady kvm "$params" -m 256; then
	for method in "${methods[@]}"; do
		file=$guests_dir/curve.json
		check "$method: profile" series "$file" profile --pid "$pid" -m "$method" --to 2.56 --svg "$guests_dir/p.svg"
		check "$method: nine windows, each longer than the last" says "$file" \
			'.[0].windows | length == 9 and ([.[].est_window_s] | . == sort)'
		check "$method: the working set does not shrink" says "$file" '[.[0].windows[].wss_bytes] | . == sort'
		check "$method: the longest has the truth" says "$file" "$near .[0].windows[-1] | holds($t)"
		check "$method: a picture" grep -q '</svg>' "$guests_dir/p.svg"
		check "$method: grow" series "$file" grow --pid "$pid" -m "$method" --every 0.5 --duration 3
		check "$method: the truth after every step" says "$file" "$near .[0].windows | length == 6 and all(.[]; holds($t))"

		check "$method: precision 3 %" series "$file" measure --pid "$pid" -m "$method" -w 1 -P 3% -i 2 -k 3
		check "$method: is reached" says "$file" "all(.[]; .windows[0] as \$w |
			(\$w.wss_high_bytes - \$w.wss_low_bytes) / 2 / .resident_bytes | . <= 0.033)"
		check "$method: and with fewer pages once the fraction is known" says "$file" '.[2].samples < 0.8 * .[0].samples'
	done
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
	stop_guest "$pid"
fi

finish
