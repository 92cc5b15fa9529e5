# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Checks for test scripts: each prints one TAP-like line; finish prints the sums and sets the exit status.

passed=0 failed=0 skipped=0

pass() {
	passed=$((passed + 1))
	printf 'ok - %s\n' "$1"
}

fail() {
	failed=$((failed + 1))
	printf 'not ok - %s%s\n' "$1" "${2:+ # $2}"
}

# skip NAME WHY: what could not be tested here. In the lab nothing may be skipped; see run-lab.
skip() {
	skipped=$((skipped + 1))
	printf 'SKIP - %s # %s\n' "$1" "$2"
}

# check NAME COMMAND...: passes when COMMAND succeeds.
check() {
	local name=$1
	shift
	if "$@"; then pass "$name"; else fail "$name" "$*"; fi
}

# expect_exit NAME STATUS PATTERN COMMAND...: COMMAND exits with STATUS and its messages match PATTERN.
expect_exit() {
	local name=$1 want=$2 pattern=$3 got=0 output
	shift 3
	output=$("$@" 2>&1 >/dev/null) || got=$?
	if ((got != want)); then
		fail "$name" "exit $got instead of $want: $output"
	elif [[ ! $output =~ $pattern ]]; then
		fail "$name" "message does not match '$pattern': $output"
	else
		pass "$name"
	fi
}

# quietly COMMAND...: without its output. A redirection of check's own would take its line away as well.
quietly() { "$@" >/dev/null; }

# holds EXPRESSION: true when awk finds it so.
holds() { awk "BEGIN { exit !($1) }"; }

# settles COMMAND...: COMMAND succeeds in a while. How long that is on a busy machine nobody knows; only a failure waits.
settles() {
	local i
	for ((i = 0; i < 300; i++)); do
		if "$@"; then return 0; fi
		sleep 0.1
	done
	return 1
}

# eventually COMMAND...: likewise, of what takes some periods of vmwssd: three minutes at most.
eventually() {
	local i
	for ((i = 0; i < 360; i++)); do
		if "$@"; then return 0; fi
		sleep 0.5
	done
	return 1
}

# Where a function that runs in a subshell, as in $(...), notes failures; finish adds them.
late_failures=

finish() {
	local line
	while read -r line; do fail "$line"; done < <(cat "${late_failures:-/dev/null}" 2>/dev/null)
	printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	((failed == 0 && passed > 0))
}
