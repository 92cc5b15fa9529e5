# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Checks for test scripts, which print TAP, see testanything.org: a line for each check; finish prints the plan, and returns the
# exit status: 0, 1, or 77 when everything was skipped, which ctest and automake take for that.

passed=0 failed=0 skipped=0
# So many times as long may take what only a failure waits for: tests/run knows slow machines.
patience=${VMWSS_PATIENCE:-1}

# result "ok" | "not ok" NAME [DIRECTIVE]: the line of a check that was just counted. A "#" in its name is not one.
result() {
	local name=${2//$'\n'/ }
	printf '%s %d - %s%s\n' "$1" $((passed + failed + skipped)) "${name//#/\\#}" "${3:+ # $3}"
}

# comment TEXT: so that no line of it is taken for a check.
comment() { printf '#   %s\n' "${1//$'\n'/$'\n#   '}"; }

pass() {
	passed=$((passed + 1))
	result ok "$1"
}

# fail NAME [WHY]
fail() {
	failed=$((failed + 1))
	result "not ok" "$1"
	[[ -z ${2:-} ]] || comment "$2"
}

# skip NAME WHY: what could not be tested here. In the lab nothing may be skipped, see run_test.
skip() {
	skipped=$((skipped + 1))
	result ok "$1" "SKIP ${2//$'\n'/ }"
}

# relay LINE: the check of another script, as one of this one; false if the line is none.
relay() {
	[[ $1 =~ ^(not )?ok\ +[0-9]*\ *-\ (.*)$ ]] || return 1
	local not=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]//\\#/#}
	if [[ -n $not ]]; then
		fail "$name"
	elif [[ $name == *' # SKIP '* ]]; then
		skip "${name%% # SKIP *}" "${name#* # SKIP }"
	else
		pass "$name"
	fi
}

# check NAME COMMAND...: passes when COMMAND succeeds.
check() {
	local name=$1
	shift
	if "$@"; then pass "$name"; else fail "$name" "$*"; fi
}

# not COMMAND...: succeeds when COMMAND fails.
not() { ! "$@"; }

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

# settles COMMAND...: COMMAND succeeds in a while. How long that is on a busy machine nobody knows; only a failure waits: for
# two minutes, times the patience, and for three hundred tries where each takes long, as in a machine that is emulated.
settles() {
	local i end=$((SECONDS + 120 * patience))
	for ((i = 0; i < 300 || SECONDS < end; i++)); do
		if "$@"; then return 0; fi
		sleep 0.1
	done
	return 1
}

# eventually COMMAND...: likewise, of what takes some periods of vmwssd: three minutes at most.
eventually() {
	local i
	for ((i = 0; i < 360 * patience; i++)); do
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
	printf '1..%d\n' $((passed + failed + skipped))
	printf '# %d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	((failed == 0)) || return 1
	((passed > 0)) || return $((skipped > 0 ? 77 : 1))
}
