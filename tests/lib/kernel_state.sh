# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# kernel_state: what zap and others could leave in the kernel, for a comparison: enabled events, their filters, a kdamond,
# threads that still trace. Needs tracefs.
kernel_state() {
	cat /sys/kernel/tracing/events/enable /sys/kernel/tracing/events/kvm/enable /sys/kernel/tracing/tracing_on
	grep -c kvm /proc/kallsyms
	cat /sys/kernel/tracing/set_event
	cat /sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds 2>/dev/null
	pgrep -x 'vmwss.*'
}
