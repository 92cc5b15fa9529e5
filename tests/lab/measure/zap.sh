#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle thorough cost=90
#
# In the lab: method zap where its guest changes or is large: a vCPU that is plugged within the window, and the proof on a guest
# of 64 GiB that touches 64 KiB.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

mkfifo "$guests_dir/hmp.in" "$guests_dir/hmp.out"
hmp() { printf '%s\n' "$*" >"$guests_dir/hmp.in"; }
lacks_flag() { record_has ".flags | index(\"$1\") == null"; }
vcpus() { cat "/proc/$pid/task/"*/comm | grep -c '^CPU'; }
has_two() { [[ $(vcpus) == 2 ]]; }

params="total=64M hot=16M"
t=$(truth "$params")
if start_payload plug kvm "$params" -m 96 -smp 1,maxcpus=2 -chardev "pipe,id=hmp,path=$guests_dir/hmp" -mon chardev=hmp,mode=readline; then
	cat "$guests_dir/hmp.out" >"$guests_dir/hmp.log" &
	"$vmwss" measure --json --pid "$pid" -w 8 -m zap >"$guests_dir/record" &
	measuring=$!
	settles measured_by "$pid" "$measuring"
	sleep 3
	hmp device_add host-x86_64-cpu,id=plugged,socket-id=0,core-id=1,thread-id=0
	check "plugged" settles has_two
	check "measured" wait $measuring
	record=$(<"$guests_dir/record")
	printf '# a vCPU plugged meanwhile: %s [%s, %s] of %s, flags %s\n' "$(field wss_bytes)" "$(field wss_low_bytes)" \
		"$(field wss_high_bytes)" "$t" "$(jq -c .flags <<<"$record")"
	check "flag new-vcpu" has_flag new-vcpu
	check "up to what is resident" record_has '.windows[0].wss_high_bytes == .resident_bytes'
	check_panel "both vCPUs from the begin on" "$t" --pid "$pid" -w 2 -m zap
	check "no flag" lacks_flag new-vcpu
	check_panel "by census" "$t" --pid "$pid" -w 4 -m zap --census
	check "no flag" lacks_flag new-vcpu
	stop_guest "$pid"
fi

# cost ARGS...: measures; prints the largest resident size in KiB, and the seconds that it took.
cost() {
	python3 - "$vmwss" measure --json "$@" <<-'END'
		import resource, subprocess, sys, time
		begin = time.monotonic()
		status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
		print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, round(time.monotonic() - begin, 1))
	END
}

if start_payload large kvm "total=64M hot=64K" -m 64G; then
	read -r status kib seconds <<<"$(cost --pid "$pid" -w 0.5 -m zap -n 200)"
	printf '# 64 GiB, of which 64 KiB are touched: exit %s, %s KiB, %s s\n' "$status" "$kib" "$seconds"
	check "it proved itself" test "$status" = 0
	check "in little memory" holds "$kib < 24576"
	stop_guest "$pid"
fi

finish
