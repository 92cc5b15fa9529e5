# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Did the lab's emulation die? Decided by what its console, QEMU and the CPUs showed, and by nothing else: a command that
# hangs for ever must not pass for a lab that died. Pure functions over texts, see tests/unit/lib/lab_death.sh.

# A panic that software alone can bring about, without a fault of the emulated machine: no memory is left, a task hangs, or a
# panic was asked for.
lab_panic_of_software='not syncing: (Out of memory|System is deadlocked|hung_task|softlockup|sysrq|panic_on_warn|NMI)'

# lab_kernel_death CONSOLE: prints the panic or, before it, the oops of the lab's kernel; fails where there is none.
lab_kernel_death() {
	local panic oops
	panic=$(sed -nE 's/.*Kernel panic - (not syncing: .*[^ \r])\r?$/\1/p' "$1" | sed -n 1p)
	oops=$(sed -nE 's/^(\[[^]]*\] )?(.*: [0-9a-f]{4,16} \[#1\]).*/\2/p' "$1" | sed -n 1p)
	[[ ! $panic =~ $lab_panic_of_software ]] || return 1
	[[ -n $panic$oops ]] || return 1
	printf 'the kernel: %s\n' "${oops:-$panic}"
}

# lab_qemu_death STATUS MESSAGES: QEMU ended by itself with this status, "" while it runs.
lab_qemu_death() {
	[[ -n $1 && $1 != 0 ]] || return 1
	if (($1 > 128)); then
		printf 'QEMU: killed by signal %d\n' $(($1 - 128))
	else
		printf 'QEMU: status %d, %s\n' "$1" "$(sed -n '$p' "$2")"
	fi
}

# lab_cpu_death CONSOLE CPUS: after an NMI was sent to each of CPUS processors and no sign of life had come before. Software
# cannot mask an NMI. A processor that does not take one runs a guest with the global interrupt flag clear, or is dead: that is
# the emulation's doing.
lab_cpu_death() {
	local answered
	answered=$(grep -oE 'NMI received for unknown reason .* on CPU [0-9]+' "$1" | sort -u -k 9 | wc -l)
	((answered < $2)) || return 1
	printf 'the CPUs: %d of %d do not take an NMI\n' $(($2 - answered)) "$2"
}

# lab_death CONSOLE CPU-LOG MESSAGES STATUS [CPUS]: what died, in one line; fails where nothing shows it. CPU-LOG is what
# QEMU's -d cpu_reset wrote. CPUS only after NMIs were sent.
lab_death() {
	if grep -q '^Triple fault' "$2" 2>/dev/null; then
		echo 'the kernel: triple fault'
	else
		lab_kernel_death "$1" || lab_qemu_death "$4" "$3" || { [[ -n ${5:-} ]] && lab_cpu_death "$1" "$5"; }
	fi
}
