#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra lab=6.12 cost=110
# test: thorough lab=page_idle cost=110
#
# A VMM that is no QEMU: its guest's RAM is found by proof. $STARTS guests in three layouts with decoys: which mappings are proved, at
# which addresses, and what the guest touches, against the truth of the VMM.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

slots=$build/vm-images/slots/slots
starts=${STARTS:-3}
mib=1048576

# start SLOTS-OPTION...: sets pid and told, which the VMM says of itself.
start() {
	local i
	rm -f "$guests_dir/told"
	"$slots" "$@" >"$guests_dir/told" 2>"$guests_dir/messages" &
	pid=$!
	pids+=("$pid")
	disown
	for ((i = 0; i < 300; i++)); do
		if [[ $(cat "$guests_dir/told" 2>/dev/null) == *"]}"* ]]; then break; fi
		sleep 0.1
	done
	told=$(tail -n 1 "$guests_dir/told")
	sleep 1
}

# passes: how often the guest has been through its pages.
passes() {
	python3 - "$pid" "$(jq .passes <<<"$told")" <<-'END_OF_PYTHON'
		import struct, sys
		with open(f"/proc/{sys.argv[1]}/mem", "rb", 0) as memory:
		    memory.seek(int(sys.argv[2]))
		    print(struct.unpack("<Q", memory.read(8))[0])
	END_OF_PYTHON
}

# proved: the slots that vmwss has found, as the VMM says them, each once.
proved() {
	grep -o 'slot: .*' "$guests_dir/debug" | sort -u |
		sed 's/slot: \([0-9]*\) bytes at GPA \([0-9a-f]*\), HVA \([0-9a-f]*\)/\1 \2 \3/' >"$guests_dir/proved"
	python3 - "$guests_dir/proved" "$1" "$told" <<-'END_OF_PYTHON'
		import json, sys
		want = json.loads(sys.argv[3])["slots"]
		slack = int(sys.argv[2])
		right = set()
		wrong = 0
		for line in open(sys.argv[1]):
		    size, gpa, hva = line.split()
		    size, gpa, hva = int(size), int(gpa, 16), int(hva, 16)
		    for i, slot in enumerate(want):
		        # the same offset, and not beyond its neighbours
		        if (hva - gpa == slot["hva"] - slot["gpa"] and hva <= slot["hva"] + slack and
		            hva + size >= slot["hva"] + slot["bytes"] - slack):
		            right.add(i)
		            break
		    else:
		        wrong += 1
		print(len(right), wrong)
	END_OF_PYTHON
}

listed() { "$vmwss" list --processes --json | jq -se --argjson pid "$pid" "any(.[]; .pid == \$pid and ($1))" >/dev/null; }

all=0 right=0 wrong=0 inside=0
: >"$guests_dir/costs"
for ((n = 0; n < starts; n++)); do
	layouts=(anon memfd huge)
	layout=${layouts[n % 3]}
	start -l "$layout" -s $((n + 1 + ${SEED:-0}))
	all=$((all + 1))
	record=$("$vmwss" --debug measure --json --pid "$pid" -w 2 --census -m zap 2>"$guests_dir/debug") || tail -n 5 "$guests_dir/debug"
	read -r found false <<<"$(proved $((8 * mib)))"
	dropped=$(sed -n 's/.*proof: \([0-9]*\) pages.*/\1/p' "$guests_dir/debug" | tail -n 1)
	echo "$dropped $(field cpu_seconds)" >>"$guests_dir/costs"
	low=$(jq .truth_low <<<"$told") high=$(jq .truth_high <<<"$told")
	# A huge page that is touched is touched as a whole.
	[[ $layout != huge ]] || high=$((112 * mib))
	printf '# %s: %s of 3 slots, %s wrong; RAM %s, WSS %s [%s, %s] of [%s, %s], flags %s; %s\n' "$layout" "$found" "$false" \
		"$(jq -c .ram_bytes <<<"$record")" "$(field wss_bytes)" "$(field wss_low_bytes)" "$(field wss_high_bytes)" "$low" "$high" \
		"$(jq -c .flags <<<"$record")" "$(grep -o 'proof: .*' "$guests_dir/debug" | tail -n 1)"
	[[ $found != 3 ]] || right=$((right + 1))
	wrong=$((wrong + false))
	if [[ -n $record ]] && holds "$(field wss_high_bytes) >= $low && $(field wss_low_bytes) <= $high" && lacks_flag partial; then
		inside=$((inside + 1))
	fi
	stop_guest "$pid"
done
awk '{ pages += $1; cpu += $2 } END { printf "# in the mean: %.0f pages dropped; %.3f s of CPU with a census of 2 s\n", pages / NR, cpu / NR }' \
	"$guests_dir/costs"
check "all slots of $right of $all" test "$right" = "$all"
check "no wrong one" test "$wrong" = 0
check "the truth is within the bounds of $inside of $all" test "$inside" = "$all"

echo "# what it is called"
start -l memfd
check "by its program" listed '.domain == "slots-'"$pid"'" and .accel == "kvm" and .ram_bytes == '$((112 * mib))
check "each method that sees a KVM guest proves itself" listed '.method != null and (.refused | has("zap") | not)'
before=$(passes)
"$vmwss" measure --pid "$pid" -w 2 >/dev/null 2>&1 &
killed=$!
sleep 0.3
kill -KILL "$killed"
sleep 1
check "it runs on when vmwss is killed" test "$(passes)" -gt "$((before + 100))"
stop_guest "$pid"

echo "# a mapping that begins before its first slot"
start -l anon -m
check "is measured" measure --pid "$pid" -w 2 --census -m zap
check "and is RAM from the guest's first address on" record_has ".ram_bytes < $((113 * mib))"
stop_guest "$pid"

echo "# where there is no proof"
start -l memfd -2
check "RAM that is mapped twice counts once" measure --pid "$pid" -w 1 -m zap
check "all of it" record_has ".ram_bytes == $((112 * mib))"
check "and nothing else may be RAM" lacks_flag partial
stop_guest "$pid"
start -l anon -i
expect_exit "an idle guest" 2 "not a QEMU.*is its guest idle" "$vmwss" measure --pid "$pid" -w 1
check "is listed without RAM" listed '(has("ram_bytes") | not) and (.error | contains("is its guest idle"))'
stop_guest "$pid"
start -l memfd -v
expect_exit "two virtual machines" 2 "several virtual machines" "$vmwss" measure --pid "$pid" -w 1
stop_guest "$pid"

echo "# a QEMU whose configuration does not tell its RAM"
params="total=96M hot=16M rest=no"
# Graphics memory may be RAM for all that a proof tells; a slow lab's guest gets through nearly all of its set.
by_proof() {
	check "$1: measured" measure --pid "$pid" -w 4 --census -m zap
	check "$1: its RAM" record_has ".ram_bytes == $((256 * mib))"
	touched=$(truth "$params memory=256M")
	check "$1: what it touches" holds "$(field wss_low_bytes) <= $touched && $(field wss_high_bytes) >= 0.9 * $touched"
}
printf '[memory]\n  size = "256M"\n' >"$guests_dir/gone.conf"
if start_payload gone kvm "$params" -readconfig "$guests_dir/gone.conf" -device VGA; then
	rm "$guests_dir/gone.conf"
	by_proof "its file is gone"
	stop_guest "$pid"
fi
if start_payload small kvm "total=32M hot=8M rest=no" -m 64,slots=2,maxmem=1G -qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
	for id in one two; do
		check "a backend as large as its RAM is made" qmp '{"execute":"object-add","arguments":{"qom-type":"memory-backend-ram",
			"id":"'$id'","size":67108864,"prealloc":true}}'
	done
	check "which of three is its RAM" measure --pid "$pid" -w 2 --census -m zap
	check "the first" record_has ".ram_bytes == $((64 * mib)) and .windows[0].wss_bytes >= $((8 * mib))"
	stop_guest "$pid"
fi
nodes=(-object "memory-backend-ram,id=a,size=64M" -object "memory-backend-ram,id=b,size=64M" -numa "node,memdev=a" -numa "node,memdev=b")
# The hot set is in both nodes.
if start_payload nodes kvm "total=48M hot=16M start=56M rest=no" -m 128 "${nodes[@]}" -qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
	check "a backend as large as its nodes is made" qmp '{"execute":"object-add","arguments":{"qom-type":"memory-backend-ram",
		"id":"one","size":67108864,"prealloc":true}}'
	check "which two of three are its nodes" measure --pid "$pid" -w 4 --census -m zap
	check "both: $(field ram_bytes)" record_has ".ram_bytes == $((128 * mib)) and .windows[0].wss_bytes > $((12 * mib))"
	check "and nothing else may be RAM" lacks_flag partial
	stop_guest "$pid"
fi
finish
