#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=7.3 cost=300
# test: extra lab=6.12 turn cost=300
#
# In the lab, Debian's stock 7.3 and 6.12: the write working set against payloads that read 32 MiB and write 8 of them, under KVM
# with each backing, and TCG; while others take the bits; and after kill -9. No wrong number without a flag.

libs=(libvirtd guests writes vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=96M hot=32M write=8M"
t=$(truth "$params" written_bytes)
all=$(truth "$params")

measure_writes() { measure --writes -w "$1" --pid "$pid" "${@:2}"; }

# check_writes WHAT TRUTH SECONDS: exact, and no doubt about it.
check_writes() {
	local what=$1 truth=$2
	if ! measure_it_running --writes -w "$3" --pid "$pid"; then
		fail "$what: writes" "no measurement"
		return
	fi
	say "$what" "$truth"
	check "$what: written $(point write_set_bytes) of $truth bytes" is_truth "$truth"
	check "$what: the bounds are the number" holds \
		"$(point write_set_low_bytes) == $(point write_set_bytes) && $(point write_set_high_bytes) == $(point write_set_bytes)"
	check "$what: no flag" in_no_doubt
	check "$what: says nothing of the working set" record_has '.windows == []'
}

# kill_while SECONDS COMMAND: has it follow the guest's writes for so long, and ends it by SIGKILL.
kill_while() {
	local killed
	"$vmwss" "$2" --writes --pid "$pid" -w 60 >/dev/null 2>&1 &
	killed=$!
	settles measured_by "$pid" "$killed"
	sleep "$1"
	kill -KILL "$killed"
	wait "$killed" 2>/dev/null
}

curve_ascends() { record_has '[.writes.windows[].write_set_bytes] | . == sort'; }

points() { printf '# %s: %s, flags %s of %s\n' "$1" "$(jq -c '[.writes.windows[] | [.est_window_s, .write_set_low_bytes,
	.write_set_bytes, .write_set_high_bytes]]' <<<"$record")" "$(jq -c '.writes.flags' <<<"$record")" "$t"; }

# Follows the guest, whose write set does not change; then likewise while another program clears the bits, and after kill -9.
check_ages() {
	local of_measure
	check "ages" ages_running 4 4,8,12 -m zap -n 4000
	points "ages"
	check "ages: each window has what is written" every_exact "$t"
	check "ages: the upper bounds are at most 5 % more" every_point ".write_set_high_bytes <= $t * 1.06"
	check "ages: no flag" in_no_doubt
	check "ages: the working set beside it holds the truth" record_has \
		"$all as \$all | .windows | length == 3 and all(.wss_low_bytes * 0.9 <= \$all and .wss_high_bytes * 1.1 >= \$all)"
	record=$("$vmwss" profile --writes --json --pid "$pid" --from 0.25 --to 8)
	check "profile: the windows double" record_has '[.writes.windows[].window_s] == [0.25, 0.5, 1, 2, 4, 8]'
	check "profile: to the truth" is_truth "$t"
	check "ages again" ages_running 4 4,8,12 -m zap
	of_measure=$("$vmwss" measure --writes --json --pid "$pid" -w 4,8,12 | jq -c '[.writes.windows[].write_set_bytes]')
	check "ages: as measure --writes, $of_measure" record_has \
		"$of_measure as \$m | [.writes.windows[].write_set_bytes] | [., \$m] | transpose | all((.[0] - .[1] | fabs) <= 4 * 4096)"

	(sleep 6 && echo 4 >"/proc/$pid/clear_refs") &
	check "ages while another clears the bits" ages_running 4 4,8,12 -m zap
	wait $!
	points "ages, bits cleared after 6 s"
	check "ages: the bounds hold the truth" every_holds "$t"

	kill_while 3 ages
	check_writes "after kill -9 of ages" "$t" 4
}

for accel in kvm tcg; do
	echo "# $accel"
	if start_payload anon-$accel $accel "$params" -m 160; then
		check_writes "$accel, anon" "$t" 4
		check "and of what it touches, which is more" measure_it_running --census --pid "$pid" -w 4 \
			-m "$([[ $accel == kvm ]] && echo zap || echo referenced)"
		check "the working set is $(field wss_bytes) of $all" holds "$(field wss_bytes) >= $all * 0.99"
		check "a curve" measure_it_running --writes --pid "$pid" -w 0.05,0.2,0.5,1,2,4
		printf '# %s\n' "$(jq -c '[.writes.windows[] | [.est_window_s, .write_set_bytes]]' <<<"$record")"
		check "of one marking, so it ascends" curve_ascends
		check "to the truth" is_truth "$t"

		if [[ $accel == kvm ]]; then check_ages; fi

		# Another program clears the bits within the window, as CRIU does.
		(sleep 3 && echo 4 >"/proc/$pid/clear_refs") &
		clearing=$!
		check "while another clears the bits" measure_writes 8
		wait $clearing
		say "$accel, bits cleared after 3 s" "$t"
		check "the bounds hold the truth" holds_truth "$t"

		if [[ $accel == tcg ]]; then
			stop_guest "$pid"
			continue
		fi
		kill_while 1 measure
		check_writes "$accel, anon, after kill -9" "$t" 4
		stop_guest "$pid"
	fi

	if MACHINE=pc,memory-backend=m start_payload memfd-$accel $accel "$params" -m 160 -object memory-backend-memfd,id=m,size=160M; then
		check_writes "$accel, memfd" "$t" 4
		expect_exit "$accel: ages beside a method that loses the bits" 2 'pageout: takes the bits that show writes' \
			"$vmwss" ages --writes --pid "$pid" -m pageout
		stop_guest "$pid"
	fi

	if THP=yes start_payload thp-$accel $accel "total=96M hot=32M write=8M" -m 160; then
		check "huge pages" measure_it_running --writes --pid "$pid" -w 4
		say "$accel, huge pages" "$t"
		check "huge pages: the bounds hold the truth" holds_truth "$t"
		check "huge pages: at most what they hold" holds "$(point write_set_bytes) <= $t + 4 * 2097152"
		check "huge pages: flag" writes_flag thp
		if [[ $accel == kvm ]]; then
			check "huge pages: ages" ages_running 4 4,8 -m zap
			points "huge pages: ages"
			check "huge pages: the bounds of ages hold the truth" every_holds "$t"
			check "huge pages: at most what they hold" every_point ".write_set_bytes <= $t + 4 * 2097152"
		fi
		stop_guest "$pid"
	fi
done

# Writes have an age, too: 8 MiB are written for 16 s, then 1 MiB.
if start_payload falling kvm "total=64M op=write phases=16:8M,600:1M" -m 128; then
	before=$(truth "total=64M op=write hot=8M" written_bytes) now=$(truth "total=64M op=write hot=1M" written_bytes)
	"$vmwss" ages --writes --json --pid "$pid" -m zap -w 4,40 -i 4 -k 14 >"$guests_dir/ages"
	printf '# %s\n' "$(jq -sc 'map([.writes.windows[] | .write_set_bytes])' "$guests_dir/ages")"
	check "a write set that fell: $now in 4 s, and $before in 40" jq -es "any(.[].writes.windows; length == 2 and
		(.[0].write_set_bytes | . >= $now and . <= $now * 1.03) and
		(.[1].write_set_bytes | . >= $before and . <= $before * 1.01))" "$guests_dir/ages"
	check "the windows ascend, within their bounds" jq -es 'all(.[].writes.windows;
		all(.write_set_low_bytes <= .write_set_bytes and .write_set_bytes <= .write_set_high_bytes) and
		([.[].write_set_bytes] | . == sort))' "$guests_dir/ages"
	check "the record's first windows are those that have passed" jq -es '.[0].writes.windows | length == 1' "$guests_dir/ages"
	"$vmwss" ages --writes --pid "$pid" -w 20 >/dev/null 2>"$guests_dir/messages" &
	watching=$!
	settles measured_by "$pid" "$watching"
	sleep 2
	stop_guest "$pid"
	wait $watching
	check "a guest that ends while it is followed: exit status 3" test $? = 3
fi

# vmwssd finds the same, beside the panel with which it follows the guest.
if start_payload daemon kvm "$params" -m 160; then
	vmwssd_begin --connect processes --database "$db" --period 20 --max-period none --window 20 --writes 20 --budget 100% --guest-budget 90%
	has_curves() { vmwssd_runs && (($(sql "SELECT count(*) FROM write_set") >= $1)); }
	check "vmwssd keeps a curve" eventually has_curves 1
	uuid=$(sql "SELECT uuid FROM guest")
	# A guest that had hardly any processor within a curve's windows has not written all of it: then the next curve has.
	finds_truth() {
		record=$("$vmwss" history "$uuid" --writes --window 10 --json --database "$db" |
			jq -sc '{writes: {flags: .[-1].flags, windows: [.[-1]]}}')
		is_truth "$t"
	}
	check "vmwssd: written are $t bytes" eventually finds_truth
	say "vmwssd" "$t"
	check "vmwssd: the bounds hold the truth" holds_truth "$t"
	check "vmwssd: no flag" in_no_doubt
	check "a second curve" eventually has_curves 2
	printf '# %s\n' "$(sql "SELECT group_concat(time_ms / 1000 % 10000 || CASE WHEN flags LIKE '%new-panel%' THEN ' new' ELSE '' END) FROM sample")"
	check "no new panel for it" test "$(sql "SELECT count(*) FROM sample
		WHERE flags LIKE '%new-panel%' AND time_ms > (SELECT min(time_ms) FROM write_set)")" = 0
	check "the exporter has it" quietly grep -E '^vmwss_write_set_bytes\{.*window="10"\} [0-9]+$' \
		<("$build/host/vmwss-exporter" --database "$db" --print)
	check "SIGTERM ends vmwssd" vmwssd_end TERM
	stop_guest "$pid"
fi

# A guest that writes nothing: KVM's faults prove that the method was not blind.
if start_payload reads kvm "total=64M hot=16M" -m 128; then
	check "a guest that only reads" measure_it_running --writes --pid "$pid" -w 2
	say "reads only" 4096
	check "writes its state" is_truth 4096
	expect_exit "auto takes it for no working set" 2 'sees writes only; use --writes' "$vmwss" measure --pid "$pid" -m soft-dirty
	expect_exit "no other method tells writes" 2 'does not tell writes from reads' "$vmwss" measure --pid "$pid" --writes -m zap
	stop_guest "$pid"
fi

finish
