#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=3
#
# vmwss doctor --fix: prints what helps, --apply does it, --undo restores it, and what others have done since is left. In a mount
# namespace of its own, with its own /run: this machine stays as it is. The rest is unit.host_fix.

libs=()
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

if [[ -z ${VMWSS_OWN_MOUNTS-} ]]; then
	before=$(sort /proc/self/mountinfo)
	VMWSS_OWN_MOUNTS=1 unshare --mount --propagation private bash "$0" "$@"
	code=$?
	[[ $(sort /proc/self/mountinfo) == "$before" ]] || { echo "not ok - this machine's mounts have changed" && exit 1; }
	exit $code
fi

vmwss=$build/host/vmwss
mount -t tmpfs tmpfs /run || exit 1
while umount /sys/kernel/debug/tracing /sys/kernel/debug /sys/kernel/tracing 2>/dev/null; do :; done
fixes() { "$vmwss" doctor --fix --json "$@" | jq -r '.fixes[] | select(.what == "debugfs") | .state'; }
source_of() { findmnt -n -o SOURCE --target /sys/kernel/debug -t debugfs; }

check "it is needed" test "$(fixes)" = needed
check "printing changes nothing" test -z "$(source_of)"
check "applied" test "$(fixes --apply)" = applied
check "mounted" test "$(source_of)" = vmwss-doctor
check "printed as applied" test "$(fixes)" = applied
check "undone" test "$(fixes --undo)" = undone
check "not mounted any more" test -z "$(source_of)"
check "nothing is left to undo" test -z "$(fixes --undo)"

fixes --apply >/dev/null
umount /sys/kernel/debug
mount -t debugfs others /sys/kernel/debug
check "mounted by others since" test "$(fixes --undo)" = left
check "it is theirs" test "$(source_of)" = others
umount /sys/kernel/debug

chmod 755 /run
expect_exit "not root" 2 . setpriv --reuid 65534 --regid 65534 --clear-groups "$vmwss" doctor --fix --apply
expect_exit "both" 1 'need --fix; give one of them' "$vmwss" doctor --fix --apply --undo
expect_exit "of a guest" 1 'and no guest' "$vmwss" doctor web1 --fix
check "nothing was changed" test -z "$(source_of)"
finish
