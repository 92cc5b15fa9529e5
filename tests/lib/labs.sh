# shellcheck shell=bash disable=SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs a test script in the lab. The emulation itself dies now and then (vm-images/README.md). That says nothing of what is
# tested, so the script then runs once more in a new lab, and what the first run printed is void. Nothing else is repeated: a
# script that ran into its time limit failed, and so did one that came to its end. Needs $logs, $log and run_logged.

lab_program=${VMWSS_LAB_PROGRAM:-vm-images/lab/lab}

# lab_twice NAME LIMIT KERNEL [LAB-OPTION...] COMMAND...
lab_twice() {
	local name=$1 limit=$2 kernel=$3 status attempt died=$log.died
	shift 3
	for attempt in 1 2; do
		status=0
		: >"$died"
		# The lab knows better than we what to print when its time is up.
		run_logged $((limit + 60)) "$lab_program" --kernel "$kernel" --timeout "$limit" --deaths "$died" "$@" || status=$?
		sed "s/^/The emulation died: $name, attempt $attempt, /" "$died" >>"$logs/deaths"
		if ((status != 125)) || ! grep -q '^running: ' "$died"; then break; fi
		# Void, but not hidden.
		sed -nE "s/^not ok ([0-9]+ )?- /The emulation died: $name, attempt $attempt, after it failed: /p" "$log" >>"$logs/deaths"
	done
	rm "$died"
	return "$status"
}

# print_deaths: each of them, and how many there were; before them the guests that had to be started twice.
print_deaths() {
	grep -h '^# guest .* is started a second time' "$logs"/* 2>/dev/null
	[[ -s $logs/deaths ]] || return 0
	cat "$logs/deaths"
	printf '%d deaths of the lab while it booted, %d while a script ran\n' \
		"$(grep -c ', booting: ' "$logs/deaths")" "$(grep -c ', running: ' "$logs/deaths")"
}
