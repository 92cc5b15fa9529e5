#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=6.12 thorough cost=190
# test: lab=page_idle thorough cost=208
#
# In the lab, Debian's stock 6.12 and kernel page_idle: method damon under real KVM, for every backing, and on a TCG
# guest; that it leaves other users of DAMON alone, and nothing behind, also after ctrl-C and kill -9.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

kdamonds=/sys/kernel/mm/damon/admin/kdamonds
# Small, for a guest in the lab populates about 10 MiB a second.
params="total=96M hot=24M"
t=$(truth "$params")
huge=$((($(truth "$params" hot_huge_pages) + 1) * 2097152))

# Everything that can be seen of DAMON: its files with what they hold, its threads, and events that anyone records.
damon_state() {
	grep -r . "$kdamonds" | sort
	pgrep -a kdamond
	find /proc/[0-9]*/fd -lname 'anon_inode:*perf_event*' 2>/dev/null | wc -l
	cat /sys/kernel/tracing/set_event
}

pristine=$(damon_state)
is_pristine() { [[ $(damon_state) == "$pristine" && -z $(pgrep vmwss) ]]; }
# The guardian restores in its own time.
as_before() {
	if settles is_pristine; then return 0; fi
	diff <(echo "$pristine") <(damon_state)
	pgrep -a vmwss
	return 1
}

# begin: a long measurement in the background, once it has taken DAMON; sets measuring.
begin() {
	# A shell has its background commands ignore SIGINT; this one shall not.
	env --default-signal=INT "$vmwss" measure --pid "$pid" -w 60 -m damon >/dev/null 2>&1 &
	measuring=$!
	settles damon_samples
}
damon_samples() {
	[[ $(cat "$kdamonds/0/state" 2>/dev/null) == on && $(<"$kdamonds/0/contexts/0/targets/0/regions/nr_regions") -gt 1000 ]]
}

# Faults are nothing that DAMON could take; accessed bits are.
flag_fits() {
	record_has '(.flags | index("damon-active") != null) == (.method | IN("zap", "pageout", "zap-all") | not)'
}

ages_near() {
	jq -e --argjson t "$1" '.resident_bytes as $r | .method == "damon" and (.flags | index("damon-active") == null) and (.windows | length == 2)
		and ([.windows[] | (.wss_bytes - $t) / $r | fabs < 0.05] | all)' <<<"$ages" >/dev/null
}

echo "# anonymous memory, 4 KiB pages"
if start_payload anon4k kvm "$params" -m 128; then
	if [[ $VMWSS_LAB_KERNEL == 6.12 ]]; then
		check "auto takes damon" measure --pid "$pid" -w 2
		check "auto took damon, by panel" record_has '.method == "damon" and .mode == "panel"'
	fi
	check_panel "damon, anon 4K" "$t" --pid "$pid" -w 2 -m damon -n 2000
	check "its own kdamond is no disturbance" record_has '.flags | index("damon-active") == null'
	check "nothing was unmeasurable" record_has '.unmeasurable_bytes < 0.01 * .resident_bytes'
	check_panel "damon, anon 4K, three windows" "$t" --pid "$pid" -w 0.5,1,2 -m damon -n 2000
	check "touches add up" record_has '.windows | .[0].wss_bytes <= .[1].wss_bytes and .[1].wss_bytes <= .[2].wss_bytes'
	expect_exit "a census is refused" 2 'no census' "$vmwss" measure --pid "$pid" -m damon --census
	check "DAMON is as before" as_before

	echo "# killed, and interrupted"
	first=$pid
	start_payload other kvm "total=48M hot=16M" -m 96
	other=$pid pid=$first
	for signal in INT KILL; do
		check "a measurement runs" begin
		expect_exit "a second vmwss is refused" 2 'one damon per host' \
			"$vmwss" measure --pid "$other" -w 1 -m damon
		kill "-$signal" "$measuring"
		wait "$measuring" 2>/dev/null
		check "after SIG$signal DAMON is as before" as_before
	done
	stop_guest "$other"
	check_panel "damon, anon 4K, after kill -9" "$t" --pid "$pid" -w 2 -m damon

	echo "# another user of DAMON"
	echo 1 >$kdamonds/nr_kdamonds
	echo 1 >$kdamonds/0/contexts/nr_contexts
	echo vaddr >$kdamonds/0/contexts/0/operations
	echo 1 >$kdamonds/0/contexts/0/targets/nr_targets
	echo "$pid" >$kdamonds/0/contexts/0/targets/0/pid_target
	expect_exit "refused while others have configured it" 2 'another program has configured DAMON' \
		"$vmwss" measure --pid "$pid" -w 1 -m damon
	echo on >$kdamonds/0/state
	theirs=$(cat $kdamonds/0/pid)
	expect_exit "refused while others use it" 2 "kdamond 0 is on and watches process $pid" \
		"$vmwss" measure --pid "$pid" -w 1 -m damon
	check "auto takes another method" measure --pid "$pid" -w 1
	check "auto did not take damon" record_has '.method != "damon"'
	check "flag damon-active, if it minds" flag_fits
	check "theirs is on, the same one" \
		test "$(cat $kdamonds/0/state) $(cat $kdamonds/0/pid) $(cat $kdamonds/nr_kdamonds)" = "on $theirs 1"
	echo off >$kdamonds/0/state

	echo "# another user, of other memory"
	watched() { # WHAT: by its kdamond, while it is on
		echo on >$kdamonds/0/state
		check "$1: measured" measure --pid "$pid" -w 1
		echo off >$kdamonds/0/state
	}
	sleep 1000 &
	stranger=$!
	echo "$stranger" >$kdamonds/0/contexts/0/targets/0/pid_target
	watched "another process is watched"
	check "another process is watched: no flag" lacks_flag damon-active
	kill "$stranger"
	vcpu=$(grep -l '^CPU ' /proc/"$pid"/task/*/comm | head -n 1)
	basename "$(dirname "$vcpu")" >$kdamonds/0/contexts/0/targets/0/pid_target
	watched "it is watched by its vCPU's thread"
	check "it is watched by its vCPU's thread: flag damon-active, if it minds" flag_fits
	if grep -q paddr $kdamonds/0/contexts/0/avail_operations; then
		echo paddr >$kdamonds/0/contexts/0/operations
		region=$kdamonds/0/contexts/0/targets/0/regions
		echo 1 >$region/nr_regions
		echo 4096 >$region/0/start
		echo 8192 >$region/0/end
		watched "a page of the host is watched"
		check "a page of the host is watched: no flag" lacks_flag damon-active
		echo 1099511627776 >$region/0/end
		watched "all of the host is watched"
		check "all of the host is watched: flag damon-active, if it minds" flag_fits
	fi
	echo 0 >$kdamonds/nr_kdamonds

	for module in damon_reclaim damon_lru_sort; do
		# The kernel page_idle has neither.
		[[ -e /sys/module/$module ]] || continue
		echo Y >/sys/module/$module/parameters/enabled
		check "$module on: auto takes another method" measure --pid "$pid" -w 1
		check "$module on: auto did not take damon" record_has '.method != "damon"'
		check "$module on: flag damon-active, if it minds" flag_fits
		echo N >/sys/module/$module/parameters/enabled
	done

	echo "# followed over time: four panels, each with a kdamond of its own"
	# A look that a busy machine makes late leaves a window out: then once more.
	for _ in 1 2 3 4 5 6; do
		ages=$("$vmwss" ages --pid "$pid" -m damon -n 2000 -w 2,4 --json)
		if jq -e '.windows | length == 2' <<<"$ages" >/dev/null; then break; fi
	done
	check "ages by damon, within 5 points of the resident RAM ($ages)" ages_near "$t"
	check "DAMON is as before" as_before
	stop_guest "$pid"
fi

echo "# a random hot set, and a small one"
for p in "total=96M hot=16M pattern=random seed=3" "total=96M hot=2M pattern=strided stride=32K"; do
	if start_payload "p${#p}" kvm "$p" -m 128; then
		check_panel "damon, anon 4K, ${p#* }" "$(truth "$p")" --pid "$pid" -w 2 -m damon -n 2000
		stop_guest "$pid"
	fi
done

echo "# transparent huge pages"
echo always >/sys/kernel/mm/transparent_hugepage/enabled
if THP=yes start_payload thp kvm "$params" -m 128; then
	thp_kb=$(awk '/AnonHugePages/ { n += $2 } END { print n }' "/proc/$pid/smaps")
	check_panel "damon, anon THP" "$huge" --pid "$pid" -w 2 -m damon
	check "flag thp" has_flag thp
	check "granularity is 2 MiB" record_has '.granularity_bytes == 2097152'
	check "huge pages are as before" holds \
		"$(awk '/AnonHugePages/ { n += $2 } END { print n }' "/proc/$pid/smaps") >= $thp_kb"
	stop_guest "$pid"
fi

echo "# memfd"
if MACHINE=pc,memory-backend=mem start_payload memfd kvm "$params" -m 128 \
	-object memory-backend-memfd,id=mem,size=128M,share=on; then
	check_panel "damon, memfd" "$t" --pid "$pid" -w 2 -m damon
	stop_guest "$pid"
fi

echo "# hugetlb"
echo 100 >/proc/sys/vm/nr_hugepages
if MACHINE=pc,memory-backend=mem start_payload hugetlb kvm "$params" -m 128 \
	-object memory-backend-memfd,id=mem,size=128M,hugetlb=on,hugetlbsize=2M; then
	check_panel "damon, hugetlb" "$huge" --pid "$pid" -w 2 -m damon
	check "the first huge page was unmeasurable" record_has '.unmeasurable_bytes > 0 and .unmeasurable_bytes < 8 * 1048576'
	check "flag hugetlb" has_flag hugetlb
	stop_guest "$pid"
fi
echo 0 >/proc/sys/vm/nr_hugepages

echo "# mlocked"
if start_payload mlocked kvm "$params" -m 128 -overcommit mem-lock=on; then
	check_panel "damon, mlocked" "$t" --pid "$pid" -w 2 -m damon
	stop_guest "$pid"
fi

echo "# partly populated, two RAM blocks on q35"
p="total=64M hot=32M start=480M"
if MACHINE=q35 start_payload numa kvm "$p" -m 1024 -smp 2 \
	-object memory-backend-ram,id=m0,size=512M -object memory-backend-ram,id=m1,size=512M \
	-numa node,cpus=0,memdev=m0 -numa node,cpus=1,memdev=m1; then
	check_panel "damon, two RAM blocks" "$(truth "$p memory=1G machine=q35")" --pid "$pid" -w 2 -m damon -n 2000
	stop_guest "$pid"
fi

echo "# a TCG guest, by name"
if start_payload tcg tcg "total=96M hot=16M" -m 128; then
	check_panel "damon, TCG anon 4K" "$(truth "total=96M hot=16M")" --pid "$pid" -w 4 -m damon -n 2000
	check "accel" record_has '.accel == "tcg"'
	stop_guest "$pid"
fi
check "DAMON is as before" as_before

finish
