#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What vm-images/lab/death.sh takes for the death of the lab's emulation, and what it does not: over the consoles of labs of
# Linux 6.12 and what QEMU left beside them. Then which scripts tests/lib/run_test runs a second time.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
# shellcheck source=../../../vm-images/lab/death.sh
. "$root/vm-images/lab/death.sh"

dir=$(mktemp -d /tmp/vmwss-death.XXXX)
trap 'rm -rf -- "$dir"' EXIT
consoles=$root/tests/fixtures/lab-console
: >"$dir/none"
printf 'Triple fault\nCPU Reset (CPU 0)\n' >"$dir/triple"
printf 'CPU Reset (CPU 0)\nRAX=0000000000000000\n' >"$dir/reset"
printf 'qemu-system-x86_64: warning: x\nqemu-system-x86_64: cannot set up guest memory\n' >"$dir/messages"

# died WHAT WHY CONSOLE CPU-LOG STATUS [CPUS]: the emulation died, of WHY.
died() {
	local why
	why=$(lab_death "$3" "$4" "$dir/messages" "${@:5}")
	check "died: $1" test "$why" = "$2"
}
# lives WHAT CONSOLE CPU-LOG STATUS [CPUS]: nothing shows that it died.
lives() {
	local why
	if why=$(lab_death "$2" "$3" "$dir/messages" "${@:4}"); then fail "lives: $1" "$why"; else pass "lives: $1"; fi
}
# as PATTERN TEXT CONSOLE: the same console with another text.
as() { sed -E "s/$1/$2/" "$3" >"$dir/console"; }

died "a CPU ran half of an instruction" "the kernel: Oops: int3: 0000 [#1]" "$consoles/int3" "$dir/reset" 0
as 'Oops: int3' 'Oops' "$consoles/int3"
died "a page fault" "the kernel: Oops: 0000 [#1]" "$dir/console" "$dir/reset" 0
as 'Oops: int3' 'general protection fault, probably for non-canonical address 0xdead' "$consoles/int3"
died "Linux 6.1's words" "the kernel: general protection fault, probably for non-canonical address 0xdead: 0000 [#1]" \
	"$dir/console" "$dir/reset" 0
sed -i 's/$/\r/' "$dir/console"
died "as a serial line writes it" "the kernel: general protection fault, probably for non-canonical address 0xdead: 0000 [#1]" \
	"$dir/console" "$dir/reset" 0
as 'Oops: int3: 0000' 'Internal error: Oops: 0000000096000005' "$consoles/int3"
died "as arm64 says it" "the kernel: Internal error: Oops: 0000000096000005 [#1]" "$dir/console" "$dir/reset" 0
as 'sysrq triggered crash' 'Attempted to kill init! exitcode=0x0000000b' "$consoles/sysrq"
died "a panic" "the kernel: not syncing: Attempted to kill init! exitcode=0x0000000b" "$dir/console" "$dir/reset" 0
died "a triple fault" "the kernel: triple fault" "$dir/none" "$dir/triple" 0
died "QEMU was killed" "QEMU: killed by signal 11" "$dir/none" "$dir/reset" 139
died "QEMU gave up" "QEMU: status 1, qemu-system-x86_64: cannot set up guest memory" "$dir/none" "$dir/reset" 1
died "no CPU takes an NMI" "the CPUs: 2 of 2 do not take an NMI" "$dir/none" "$dir/reset" "" 2
grep -v 'on CPU 1' "$consoles/silent" >"$dir/console"
died "one of two does not" "the CPUs: 1 of 2 do not take an NMI" "$dir/console" "$dir/reset" "" 2

lives "its time was up" "$dir/none" "$dir/reset" ""
lives "silent, though each CPU takes an NMI" "$consoles/silent" "$dir/reset" "" 2
lives "it was powered off, or reset" "$dir/none" "$dir/reset" 0
lives "a panic was asked for" "$consoles/sysrq" "$dir/reset" 0
as 'sysrq triggered crash' 'Out of memory: compulsory panic_on_oom is enabled' "$consoles/sysrq"
lives "its memory was used up" "$dir/console" "$dir/reset" 0
as 'sysrq triggered crash' 'System is deadlocked on memory' "$consoles/sysrq"
lives "or all of it locked" "$dir/console" "$dir/reset" 0
as 'sysrq triggered crash' 'hung_task: blocked tasks' "$consoles/sysrq"
lives "a task hung" "$dir/console" "$dir/reset" 0
printf '[ 50.1] INFO: task vmwssd:312 blocked for more than 120 seconds.\n[ 60.1] Out of memory: Killed process 312 (vmwssd)\n' \
	>"$dir/console"
lives "what the kernel says of a command" "$dir/console" "$dir/reset" ""

# --- what is run again -------------------------------------------------------------------------------------------------------

logs=$dir/logs
mkdir "$logs"
log=$logs/log
run_logged() { "${@:2}" >"$log"; }
# shellcheck source=../../lib/labs.sh
. "$root/tests/lib/labs.sh"

# a_lab: instead of the lab. Its ends are those in $dir/ends, in turn: a status, and what goes to --deaths.
a_lab() {
	local status why
	runs=$((runs + 1))
	read -r status why <<<"$(sed -n "${runs}p" "$dir/ends")"
	echo "not ok $runs - of run $runs"
	[[ -z $why ]] || echo "$why" >>"$6"
	return "$status"
}
lab_program=a_lab
# ends STATUS RUNS LINE...: with these ends it runs so often, and its status is the last one's.
ends() {
	local status=0 want=$1 want_runs=$2
	shift 2
	printf '%s\n' "$@" >"$dir/ends"
	: >"$logs/deaths"
	runs=0
	lab_twice a 1500 kernel script || status=$?
	[[ $status == "$want" && $runs == "$want_runs" ]]
}
check "not run again: it passed" ends 0 1 0
check "nor when it failed" ends 1 1 1 0
check "nor when its time was up" ends 124 1 124 0
check "nor when the lab failed, and nothing shows that its emulation died" ends 125 1 125 0
check "nor when it died while it booted, and then the time was up" ends 124 1 "124 booting: the kernel: triple fault" 0
print_deaths >"$dir/sums"
check "that is counted" grep -qx '1 deaths of the lab while it booted, 0 while a script ran' "$dir/sums"
check "run again: its emulation died" ends 0 2 "125 running: QEMU: killed by signal 11" 0
print_deaths >"$dir/sums"
check "counted" grep -qx '0 deaths of the lab while it booted, 1 while a script ran' "$dir/sums"
check "with its reason" grep -qx 'The emulation died: a, attempt 1, running: QEMU: killed by signal 11' "$dir/sums"
check "and what had failed before" grep -qx 'The emulation died: a, attempt 1, after it failed: of run 1' "$dir/sums"
check "once only" ends 125 2 "125 running: the kernel: triple fault" "125 running: the kernel: triple fault" 0

finish
