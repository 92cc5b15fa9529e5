#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core serial tcg cost=71
#
# Measures TCG guests of known working sets on this machine, without libvirt.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=448M hot=64M"

echo "# anonymous memory, 4 KiB pages"
if start_payload anon4k tcg "$params" -m 512; then
	t=$(truth "$params")
	check_census "cold, anon 4K" "$t" 1 --pid "$pid" -w 2 -m cold
	check_census "referenced, anon 4K" "$t" 1 --pid "$pid" -w 2 -m referenced
	check "auto takes idle or cold" measure --pid "$pid" -w 2
	check "auto is within 1 %" holds "$(field wss_bytes) > 0.99 * $t && $(field wss_bytes) < 1.01 * $t"
	check "three windows from one run" measure --pid "$pid" -w 0.3,1,2 -m cold
	check "three windows, ascending" record_has '[.windows[].window_s] == [0.3,1,2]'
	check "est window is measured" \
		record_has '.windows | all(.est_window_s > .window_s * 0.9 and .est_window_s < .window_s + 10)'
	expect_exit "zap is refused by name" 2 'zap: has no effect on TCG guests' "$vmwss" measure --pid "$pid" -m zap
	expect_exit "pageout is refused on private memory" 2 'pageout: needs shared memfd' \
		"$vmwss" measure --pid "$pid" -m pageout
	check "repeats by interval and count" test \
		"$("$vmwss" measure --pid "$pid" -w 0.2 -i 0.5 -k 3 -m cold --json | jq -s length)" = 3
	stop_guest "$pid"
fi

echo "# QEMU's own memory is not the guest's"
# own_series KIND "MEASURE-OPTIONS" QEMU-OPTION...: measures a guest with RAM of this kind twice, and between that QEMU takes some
# for itself.
own_series() {
	local measuring passes
	start_payload "own-$1" tcg "total=192M hot=64M" -m 512 -qmp "unix:$guests_dir/qmp,server=on,wait=off" "${@:3}" || return
	count_passes "${serial_of[$pid]}" "$pid" "$guests_dir/passes"
	rm -f "$guests_dir/series"
	# shellcheck disable=SC2086 # words
	"${passes[@]}" "$vmwss" measure --pid "$pid" -w "$own_window" $2 -i $((7 + own_window)) -k 2 --json >"$guests_dir/series" &
	measuring=$!
	settles test -s "$guests_dir/series"
	check "$1: QEMU takes 64 MiB for itself" qemu_takes 67108864 "$1"
	wait "$measuring"
}
# own_memory: as own_series; with another guest, and longer windows, if a busy machine left this one no time for its set.
own_memory() {
	local own_window resident
	for own_window in 1 2 5 15; do
		own_series "$@" || return
		if steady_passes "$own_window" "$guests_dir/passes"; then break; fi
		stop_guest "$pid"
		rm -f "$guests_dir/own-$1.out" "$guests_dir/own-$1.pid" "$guests_dir/qmp"
	done
	resident=$(jq -s -r 'map(.resident_bytes) | join(" ")' "$guests_dir/series")
	check "$1: resident stays: $resident" holds "${resident#* } - ${resident% *} < 2097152 && ${resident#* } > 0"
	# All of it may be the guest's, for all that QEMU's mappings tell; but the number is of what is.
	check "$1: so does the working set" test "$(jq -s 'map(.windows[0]) | .[1].wss_low_bytes <= .[0].wss_bytes and
		.[1].touched_fraction < .[0].touched_fraction + 0.05' "$guests_dir/series")" = true
	check "$1: and is settled" test "$(jq -s 'map(.flags[]) | index("unsettled")' "$guests_dir/series")" = null
	stop_guest "$pid"
}
own_memory ram "-m cold --census"
MACHINE=pc,memory-backend=mem own_memory memfd "-m pageout -n 2000" -object memory-backend-memfd,id=mem,size=512M,share=on

echo "# random and strided hot sets"
for pattern in "pattern=random seed=7" "pattern=strided stride=64K"; do
	p="total=448M hot=16M $pattern"
	if start_payload "p${#pattern}" tcg "$p" -m 512; then
		check_census "cold, anon 4K, ${pattern%% *}" "$(truth "$p")" 1 --pid "$pid" -w 2 -m cold
		stop_guest "$pid"
	fi
done

echo "# transparent huge pages"
if grep -q '\[never\]' /sys/kernel/mm/transparent_hugepage/enabled; then
	skip "anon THP" "this host has transparent huge pages off"
elif THP=yes start_payload thp tcg "$params" -m 512; then
	check "cold, anon THP" measure --census --pid "$pid" -w 2 -m cold
	if has_flag thp; then
		# At the granularity of the mapping: 2 MiB pages, and one that holds the payload itself.
		t=$((($(truth "$params" hot_huge_pages) + 1) * 2097152))
		check_census "cold, anon THP" "$t" 5 --pid "$pid" -w 2 -m cold
		check "granularity is 2 MiB" test "$(field granularity_bytes)" = 2097152
	else
		skip "anon THP" "the host gave no huge pages: $(grep -c . /proc/"$pid"/smaps) VMAs"
	fi
	stop_guest "$pid"
fi

echo "# transparent huge pages of which a quarter is touched"
strided="total=448M hot=16M pattern=strided stride=16K"
if grep -q '\[never\]' /sys/kernel/mm/transparent_hugepage/enabled; then
	skip "anon THP, strided" "this host has transparent huge pages off"
elif THP=yes start_payload strided tcg "$strided" -m 512; then
	t=$(truth "$strided")
	for method in cold referenced; do
		check "$method: census of huge pages" measure_it_running --census --pid "$pid" -w 2 -m "$method"
		echo "# truth $t: $(field wss_bytes) [$(field wss_low_bytes), $(field wss_high_bytes)], $(field granularity_bytes)"
		check "$method: the bounds hold the bytes touched" \
			holds "$(field wss_low_bytes) <= $t && $t <= $(field wss_high_bytes)"
	done
	check "the table has both sides" holds "$("$vmwss" measure --pid "$pid" -w 1 -m cold | grep -c -- '-[0-9.]* MiB.*thp') == 1"
	stop_guest "$pid"
fi

echo "# memfd"
if MACHINE=pc,memory-backend=mem start_payload memfd tcg "$params" -m 512 \
	-object memory-backend-memfd,id=mem,size=512M,share=on; then
	t=$(truth "$params")
	check_panel "pageout, memfd" "$t" --pid "$pid" -w 2 -m pageout -n 2000
	check_panel "pageout, memfd, again" "$t" --pid "$pid" -w 2 -m pageout -n 2000
	check_census "cold, memfd" "$t" 1 --pid "$pid" -w 2 -m cold
	rss=$(awk '/^RssShmem/ { print $2 }' "/proc/$pid/status")
	check "pageout once more" measure --pid "$pid" -w 1 -m pageout -n 4000
	check "pageout leaves every page mapped" holds \
		"$(awk '/^RssShmem/ { print $2 }' "/proc/$pid/status") >= $rss"
	echo "# kill -9 in the middle: the data stays, the guest goes on, and the next number is right"
	"$vmwss" measure --pid "$pid" -w 60 -m pageout >/dev/null 2>&1 &
	measuring=$!
	settles measured_by "$pid" "$measuring"
	sleep 1
	kill -KILL "$measuring"
	wait "$measuring" 2>/dev/null
	check_panel "pageout, memfd, after kill -9" "$t" --pid "$pid" -w 2 -m pageout -n 2000
	check "the payload still spins" guest_ran
	stop_guest "$pid"
fi

echo "# memfd, a stride as long as fault-around"
p="total=448M pattern=strided stride=64K"
if MACHINE=pc,memory-backend=mem start_payload memfds tcg "$p" -m 512 \
	-object memory-backend-memfd,id=mem,size=512M,share=on; then
	check_panel "pageout, memfd, strided" "$(truth "$p")" --pid "$pid" -w 2 -m pageout -n 8000
	stop_guest "$pid"
fi

echo "# shared without a file, beside as much memory of a VGA; and a size that the machine has instead of -m"
if MACHINE=pc,memory-backend=mem start_payload shared tcg "$params" -m 512 \
	-object memory-backend-ram,id=mem,size=512M,share=on -device VGA,vgamem_mb=512; then
	check_census "cold, memory-backend-ram,share=on" "$(truth "$params")" 1 --pid "$pid" -m cold -w 1
	stop_guest "$pid"
fi
if MACHINE=pc,memory.size=512M start_payload machine tcg "$params"; then
	check_census "cold, -M pc,memory.size=512M" "$(truth "$params")" 1 --pid "$pid" -m cold -w 1
	stop_guest "$pid"
fi

echo "# two RAM blocks, the hot set across their border"
p="total=512M hot=128M start=448M"
if start_payload numa tcg "$p" -m 1024 -smp 2 \
	-object memory-backend-ram,id=m0,size=512M -object memory-backend-memfd,id=m1,size=512M,share=on \
	-numa node,cpus=0,memdev=m0 -numa node,cpus=1,memdev=m1; then
	check_census "cold, two RAM blocks" "$(truth "$p memory=1G")" 1 --pid "$pid" -w 2 -m cold
	check "both blocks are found" test "$("$vmwss" list --processes --json | jq "select(.pid == $pid).blocks")" = 2
	stop_guest "$pid"
fi

echo "# more than 4 GiB, hot above the PCI hole"
p="total=1G hot=256M start=4G populate=hot"
if start_payload big tcg "$p" -m 6144; then
	check_census "cold, 6 GiB" "$(truth "$p memory=6G")" 1 --pid "$pid" -w 3 -m cold
	stop_guest "$pid"
fi

finish
