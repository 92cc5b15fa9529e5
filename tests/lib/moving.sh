# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Numbers while memory moves: a guest is followed, something happens to its memory, and every record after it must hold
# the truth. Needs: check.sh, guests.sh.

# begin_following ARGS...: `vmwss ages` of $pid in the background, one record per second into $followed.
begin_following() {
	followed=$guests_dir/followed.json
	rm -f -- "$followed"
	"$vmwss" ages --pid "$pid" -i 1 --json "$@" >"$followed" 2>"$guests_dir/messages" &
	follower=$!
}

end_following() {
	kill -INT "$follower" 2>/dev/null
	wait "$follower"
}

records() { wc -l <"$followed" 2>/dev/null || echo 0; }
has_records() { (($(records) >= $1)); }

# monitor_begin: a FIFO for a human monitor without another program; with "${monitor[@]}" among QEMU's options.
monitor_begin() {
	rm -f -- "$guests_dir"/hmp.*
	mkfifo "$guests_dir/hmp.in" "$guests_dir/hmp.out"
	monitor=(-chardev "pipe,id=hmp,path=$guests_dir/hmp" -mon "chardev=hmp,mode=readline")
}
# Once QEMU has opened its ends.
monitor_read() { cat "$guests_dir/hmp.out" >"$guests_dir/hmp.log" & }
hmp() { printf '%s\n' "$*" >"$guests_dir/hmp.in"; }

jq_windows='def mib: 1048576; def window(s): .windows[] | select(.window_s == s);
	def shown: . / mib * 10 | round / 10;'

# last_is EXPRESSION: true of the last record.
last_is() { [[ -s $followed ]] && tail -n 1 "$followed" | jq -e "$jq_windows $1" >/dev/null 2>&1; }

# worst FIRST TRUTH [WINDOW [BEFORE]]: of the windows (of that length, 0: of any) from record FIRST on, 0 being the first, and before
# BEFORE, the one whose bounds are furthest from TRUTH: how far in $missed, in half widths on that side, and in words in $worst. A window
# in which the guest got a fraction only of the processor time that it usually has says nothing of its set.
worst() {
	local line
	line=$(jq -rs --argjson first "$1" --argjson truth "$2" --argjson only "${3:-0}" --argjson before "${4:-null}" "$jq_windows"'
		def far: if $truth < .wss_low_bytes then (.wss_low_bytes - $truth) / ([.wss_bytes - .wss_low_bytes, 1] | max)
			elif $truth > .wss_high_bytes then ($truth - .wss_high_bytes) / ([.wss_high_bytes - .wss_bytes, 1] | max)
			else 0 end;
		def share: .vcpu_seconds / .est_window_s;
		[.[$first:$before][] as $r | $r.windows[] | select($only == 0 or .window_s == $only) | . + {far: far, flags: $r.flags}]
		| (map(share) | sort | .[length / 2 | floor]) as $usual
		| map(select(share > 0.3 * $usual)) | sort_by([.far, .window_s]) | last
		| if . == null then "9 no window in which the guest ran" else "\(.far) \(.wss_bytes | shown) [\(.wss_low_bytes | shown), \(.wss_high_bytes | shown)] MiB in \(
			.window_s) s \(.flags | join(","))" end' "$followed")
	missed=${line%% *}
	worst=${line#* }
}

# check_all WHAT FIRST TRUTH [WINDOW [BEFORE]]: one 95 % interval in twenty misses the truth, by a little; none by its own width.
check_all() {
	worst "${@:2}"
	check "$1: $(awk "BEGIN { printf \"%.1f\", $3 / 1048576 }") MiB; at worst ${worst:-no record}" holds "${missed:-9} <= 1"
}

# check_gone WHAT FIRST TRUTH WINDOW: of 1,200 draws (pageout takes one page of 64 KiB) some 500 are gone: 3.5 % is the
# standard error, four of them the tolerance.
check_gone() {
	local least most
	read -r least most < <(jq -rs --argjson first "$2" --argjson only "$4" "$jq_windows"'
		[.[$first:][] | window($only).gone_bytes] | "\(min) \(max)"' "$followed")
	check "$1: $3 bytes touched and gone: $least to $most" holds "${least:-0} > 0.86 * $3 && ${most:-0} < 1.14 * $3"
}

# reaches_back FIRST WINDOW: in each record from FIRST on the window began 5 s or more before the guest's step down.
reaches_back() {
	jq -es --argjson first "$1" --argjson long "$2" "$jq_windows"'
		def seconds: sub("\\..*"; "Z") | fromdate;
		([.[] | select(window(2).wss_bytes > 40 * mib)] | last | .time | seconds) as $step |
		all(.[$first:][]; (.time | seconds) - (window($long).est_window_s) < $step - 5)' "$followed" >/dev/null
}

# during WHAT EVENT ARGS...: measures $pid in a window of $during_s; after 4 s of it the guest is suspended and EVENT done, so
# that no touch comes after. On a busy machine EVENT may end too late: then once more, in a longer window. Sets record and
# status; $t is the truth.
during_s=8
during() {
	local what=$1 event=$2 attempt measuring in_time
	shift 2
	for attempt in 1 2 4; do
		"$vmwss" measure --json --pid "$pid" -w $((during_s * attempt)) "$@" >"$guests_dir/record" 2>"$guests_dir/messages" &
		measuring=$!
		settles measured_by "$pid" "$measuring"
		sleep 4
		hmp stop
		$event
		in_time=yes
		kill -0 "$measuring" 2>/dev/null || in_time=no
		wait "$measuring"
		status=$?
		hmp cont
		[[ $in_time == no ]] || break
		echo "# $what: the event ended after a window of $((during_s * attempt)) s"
	done
	check "$what: within the window" test $in_time = yes
	cat "$guests_dir/messages"
	record=$(<"$guests_dir/record")
	[[ -n $record ]] || record='{}'
	printf '# %s: %s [%s, %s] of %s, unmeasurable %s, flags %s\n' "$what" "$(field wss_bytes)" \
		"$(field wss_low_bytes)" "$(field wss_high_bytes)" "$t" "$(field unmeasurable_bytes)" "$(jq -c .flags <<<"$record")"
}

# bounds_hold: a panel's bounds miss the truth now and then; here they are twice as wide.
bounds_hold() {
	holds "$(field wss_low_bytes) - ($(field wss_bytes) - $(field wss_low_bytes)) <= $t && 2 * $(field wss_high_bytes) - $(field wss_bytes) >= 0.99 * $t"
}

# mover_begin: a process that moves pages between NUMA nodes, of others and of its own 24 MiB; it is there, for in the lab
# an interpreter takes seconds to start.
mover_begin() {
	rm -f -- "$guests_dir"/mover.*
	mkfifo "$guests_dir/mover.in" "$guests_dir/mover.out"
	python3 - "$guests_dir/mover" <<-'END' &
	import ctypes, sys
	own = bytearray(b"x" * (24 << 20))
	libc = ctypes.CDLL(None)
	nodes = [ctypes.byref(ctypes.c_ulong(1 << node)) for node in (0, 1)]
	with open(sys.argv[1] + ".in") as orders, open(sys.argv[1] + ".out", "w") as answers:
	    for line in orders:
	        pid, old, new = map(int, line.split())
	        left = libc.syscall(256, pid, ctypes.c_ulong(64), nodes[old], nodes[new])  # migrate_pages(2)
	        print(left, file=answers, flush=True)
	END
	pids+=("$!")
	disown # so that its end is no message
	exec {mover_in}>"$guests_dir/mover.in" {mover_out}<"$guests_dir/mover.out"
}

# migrated PID FROM TO: all that the process has on one node goes to the other; 0 is the mover itself.
migrated() {
	local left
	echo "$@" >&"$mover_in"
	read -r left <&"$mover_out"
	((left >= 0))
}
