# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Starts payload guests, whose working set is known to the page, and holds measurements against it.
# Needs: root (the checkout), build (its build directory), check.sh.

# shellcheck source=tests/lib/passes.sh
. "$root/tests/lib/passes.sh"

vmwss=$build/host/vmwss
payload=$build/vm-images/payload/vmwss-payload.elf
truth_tool=$build/vm-images/payload/payload-truth
nothp=$build/vm-images/payload/nothp
# The kind of guests here: in the arm64 lab another machine of another QEMU.
qemu=qemu-system-x86_64 machine=pc
[[ $(uname -m) != aarch64 ]] || qemu=qemu-system-aarch64 machine=virt,gic-version=3
# Short: the path of a QEMU socket below it may have 107 bytes.
guests_dir=$(mktemp -d /tmp/vmwss-t.XXXX)
pids=()
# By process: the file of what the payload said on its serial port.
declare -A serial_of=()

end_guests() {
	local pid
	for pid in "${pids[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	rm -rf -- "$guests_dir"
}
trap end_guests EXIT

# wait_ready NAME: until the payload has said that it spins, in a whole line, or what is wrong; not_ready then is why it did not.
wait_ready() {
	local i
	for ((i = 0; i < 240; i++)); do
		if grep -qszP 'vmwss-payload ready[^\n]*\n' "$guests_dir/$1.out"; then return 0; fi
		if grep -qs 'vmwss-payload error' "$guests_dir/$1.out"; then break; fi
		sleep 0.5
	done
	not_ready="after $((i / 2)) s it wrote \"$(tr -d '\0\r' <"$guests_dir/$1.out" 2>&1 | tail -c 300)\"; $(standing "$pid")"
	echo "guest $1 did not get ready: $not_ready" >&2
	return 1
}

# standing PID: what its threads are doing.
standing() {
	local task
	for task in /proc/"$1"/task/*; do
		printf '%s: %s in %s, %s ticks; ' "$(<"$task/comm")" "$(awk '{ print $3 }' <(sed 's/.*) /a b /' "$task/stat"))" \
			"$(<"$task/wchan")" "$(sed 's/.*) //' "$task/stat" | awk '{ print $12 + $13 }')"
	done 2>/dev/null
}

# start_payload NAME ACCEL PARAMS QEMU-OPTION...: sets pid. THP=yes lets the host use huge pages.
# MACHINE=q35,memory-backend=x changes the machine. A guest that does not start is a failure. In the lab one of some
# hundred did not get ready; the emulated SVM loses an interrupt now and then (vm-images/README.md). There it is
# started once more, and tests/run counts and shows that.
start_payload() {
	not_ready='QEMU did not start'
	if run_payload "$@"; then return 0; fi
	if [[ -n ${VMWSS_LAB_KERNEL:-} && -s $guests_dir/$1.pid && ! $(<"$guests_dir/$1.out") =~ 'vmwss-payload error' ]]; then
		echo "# guest $1 is started a second time: $not_ready"
		stop_guest "$pid"
		rm -f "$guests_dir/$1.out" "$guests_dir/$1.pid"
		if run_payload "$@"; then return 0; fi
	fi
	fail "guest $1 starts" "$not_ready"
	return 1
}

# start_in_group NAME ACCEL PARAMS QEMU-OPTION...: as start_payload, in a control group of its own, which only the lab has room for.
start_in_group() {
	local group=/sys/fs/cgroup/guest status=0
	echo "+memory" >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p $group
	echo $$ >$group/cgroup.procs
	start_payload "$@" || status=$?
	echo $$ >/sys/fs/cgroup/cgroup.procs
	return $status
}

# resting PARAMS: with rest=yes, unless they or $REST=no say otherwise. A guest that spins takes a core from all that runs beside
# it, in the lab too. An interrupt that the lab's emulated SVM loses costs a resting guest a tick.
resting() {
	if [[ ${REST:-yes} == no || $1 == *rest=* || $qemu != *x86_64 ]]; then
		echo "$1"
	else
		echo "$1 rest=yes"
	fi
}

run_payload() {
	local name=$1 accel=$2 params cpu=()
	params=$(resting "$3")
	shift 3
	[[ $accel != kvm ]] || cpu=(-cpu host)
	local wrap=("$nothp")
	[[ ${THP:-no} == no ]] || wrap=()
	"${wrap[@]}" "$qemu" -machine "${MACHINE:-$machine}" -accel "$accel" "${cpu[@]}" \
		-name "guest=$name,debug-threads=on" \
		-nodefaults -no-user-config -display none -vga none -kernel "$payload" -append "$params" \
		-serial "file:$guests_dir/$name.out" -pidfile "$guests_dir/$name.pid" -daemonize "$@" || return 1
	pid=$(<"$guests_dir/$name.pid")
	pids+=("$pid")
	serial_of[$pid]=$guests_dir/$name.out
	wait_ready "$name"
}

stop_guest() {
	kill -KILL "$1" 2>/dev/null || true
	while kill -0 "$1" 2>/dev/null; do sleep 0.05; done
}

# qmp COMMAND: to the guest that was started with -qmp unix:$guests_dir/qmp,server=on,wait=off; its answer is in $guests_dir/answer.
qmp() {
	python3 - "$guests_dir/qmp" "$1" <<-'END' >"$guests_dir/answer"
	import json, socket, sys
	stream = socket.socket(socket.AF_UNIX)
	stream.connect(sys.argv[1])
	lines = stream.makefile("rw")
	lines.readline()
	for command in '{"execute":"qmp_capabilities"}', sys.argv[2]:
	    lines.write(command + "\n")
	    lines.flush()
	    answer = json.loads(lines.readline())
	    while "event" in answer:
	        answer = json.loads(lines.readline())
	    print(json.dumps(answer))
	    if "return" not in answer:
	        sys.exit(1)
	END
}

# have_twins FIRST PAGES: a process with the same contents as so many pages of the payload's region, for KSM to merge them.
have_twins() {
	python3 - "$1" "$2" <<-'END' &
	import mmap, signal, sys
	first, n = int(sys.argv[1]), int(sys.argv[2])
	memory = mmap.mmap(-1, n * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
	memory.madvise(mmap.MADV_MERGEABLE)
	for page in range(first, first + n): # state_word() of vm-images/payload/spin.h
	    memory.seek((page - first) * 4096 + page % 64 * 64)
	    memory.write((page + 1).to_bytes(8, "little"))
	signal.pause()
	END
	pids+=($!)
	disown # or bash says that it was killed
}

twins_are_merged() { (($(<"/sys/kernel/mm/ksm/pages_sharing") >= $1)); }

# qemu_takes BYTES [TYPE]: QEMU allocates so much for itself: a memory backend that nobody uses.
qemu_takes() {
	qmp '{"execute":"object-add","arguments":{"qom-type":"memory-backend-'"${2:-ram}"'","id":"own","size":'"$1"',"prealloc":true}}'
}

# truth PARAMS [KEY]: what the payload touches; memory=SIZE machine=TYPE may be among PARAMS.
truth() {
	# shellcheck disable=SC2086 # parameters are words
	"$truth_tool" $1 | jq ".${2:-truth_bytes}"
}

# field KEY: of the last window of the record in $record.
field() { jq "(.windows[-1] + .) | .$1" <<<"$record"; }

# measure ARGS...: runs vmwss measure --json into $record; an empty record when it fails.
measure() {
	passes=()
	measure_by "$@"
}

# measure_by ARGS...: likewise; $passes is empty, or as count_passes makes it.
measure_by() {
	if record=$("${passes[@]}" "$vmwss" measure --json "$@" 2>"$guests_dir/messages"); then return 0; fi
	record=
	cat "$guests_dir/messages" >&2
	return 1
}

# lock_of GUEST: the file by which the guest of that process is locked. A script in a PID namespace of its own sees another name.
lock_of() {
	local number initial=4026531836
	number=$(stat -Lc %i "/proc/$1/ns/pid" 2>/dev/null || echo "$initial")
	((number == initial)) && number='' || number=-$number
	echo "/run/vmwss/guest-$1$number.lock"
}

# measured_by GUEST PID: the guest of that process is locked by this one. The file of one that was killed remains.
measured_by() { [[ $(cat "$(lock_of "$1")" 2>/dev/null) == "$2" ]]; }

# The guest must have got through its set within the window, or a number says nothing: on a busy machine it may get little of a
# core. Where its passes are not counted its processor time tells: $ran_share is what it needs of a core.
ran_share=0.03
guest_ran() {
	if ((${#passes[@]})); then
		(($(whole_passes "$record" "$guests_dir/passes") >= 1))
	else
		holds "$(field vcpu_seconds) > $ran_share * $(field est_window_s)"
	fi
}

# measure_it_running ARGS...: a window in which the guest ran. On a busy machine, or where each page costs it a fault, that may be
# a longer one than -w among ARGS.
measure_it_running() {
	local factor i args guest=''
	for factor in 1 1 2 4 8; do
		args=("$@")
		for ((i = 0; i < $#; i++)); do
			case ${args[i]} in
			-w) args[i + 1]=$(longer "${args[i + 1]}" "$factor") ;;
			--pid) guest=${args[i + 1]} ;;
			*)
				# A domain of embed.sh.
				if grep -qszP 'vmwss-payload ready[^\n]*\n' "${embed_dir:-}/${args[i]}.out"; then
					guest=$(embed_pid "${args[i]}")
					serial_of[$guest]=$embed_dir/${args[i]}.out
				fi
				;;
			esac
		done
		passes=()
		if [[ -n ${serial_of[${guest:-0}]:-} ]]; then count_passes "${serial_of[$guest]}" "$guest" "$guests_dir/passes"; fi
		measure_by "${args[@]}" || return 1
		if guest_ran; then break; fi
	done
}

# longer SECONDS[,SECONDS...] FACTOR
longer() { awk -F, -v OFS=, -v factor="$2" '{ for (i = 1; i <= NF; i++) $i *= factor; print }' <<<"$1"; }

# check_census WHAT TRUTH PERCENT ARGS...: census within PERCENT of the truth, the truth within its bounds.
check_census() {
	local what=$1 truth=$2 percent=$3
	shift 3
	if ! measure_it_running --census "$@"; then
		fail "$what: census" "no measurement"
		return
	fi
	local wss high
	wss=$(field wss_bytes) high=$(field wss_high_bytes)
	check "$what: guest ran ($(field vcpu_seconds) s)" guest_ran
	check "$what: census $wss of $truth bytes, within $percent %" \
		holds "$wss >= $truth * (1 - $percent/100) && $wss <= $truth * (1 + $percent/100)"
	check "$what: high bound $high covers the truth" holds "$high >= $truth * (1 - $percent/100)"
}

# check_panel WHAT TRUTH ARGS...: a panel's interval holds the truth. One 95 % interval in twenty does not, and a
# test must not fail by chance: the interval is taken at twice its width, which fails once in ten thousand.
check_panel() {
	local what=$1 truth=$2
	shift 2
	if ! measure_it_running "$@"; then
		fail "$what: panel" "no measurement"
		return
	fi
	check_interval "$what" "$truth"
}

# check_interval WHAT TRUTH: likewise, of the record in $record.
check_interval() {
	local what=$1 truth=$2 wss low high
	wss=$(field wss_bytes) low=$(field wss_low_bytes) high=$(field wss_high_bytes)
	check "$what: guest ran ($(field vcpu_seconds) s)" guest_ran
	check "$what: panel n=$(field samples) $wss [$low, $high] of $truth bytes" \
		holds "$truth >= $wss - 2*($wss-$low) - 8192 && $truth <= $wss + 2*($high-$wss) + 8192"
}

# record_has FILTER: a jq filter that is true of the record. Of an empty one jq 1.6 says that everything is true.
record_has() { [[ -n $record ]] && jq -e "$1" <<<"$record" >/dev/null; }

# ended_in_time WHEN: what ended then, in seconds since 1970, was over before the record's pages were read. On a busy machine an
# event comes after the window that it was meant for, and then says nothing.
ended_in_time() { record_has ".reading_seconds as \$reading | .time | (sub(\"\\\\..*\"; \"Z\") | fromdate) + (capture(\"\\\\.(?<d>[0-9]+)\").d // \"0\" | \"0.\" + . | tonumber) - \$reading > $1"; }

# witness_counts: in words, by the messages of --debug. On a busy machine pages are dropped so long after they were marked that the
# guest itself may have touched those that differ: the noise, of which no witness can accuse others.
witness_counts() { grep -ho 'witness: of.*' "$guests_dir/messages" | tail -n 1; }
witness_was_prompt() { ! [[ $(witness_counts) =~ noise\ ([0-9.]+) ]] || holds "${BASH_REMATCH[1]} < 0.05"; }

has_flag() { record_has ".flags | index(\"$1\") != null"; }
lacks_flag() { record_has ".flags | index(\"$1\") == null"; }
