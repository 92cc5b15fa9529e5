#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=15
#
# vmwss bugreport of a host: versions, configuration, what doctor says, the daemons' log; programs that are not there, that hang,
# and that never end printing. Of a guest: tests/integration/guest/libvirt.sh.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-bug.XXXX)
trap 'rm -rf -- "$dir"' EXIT
vmwss=$build/host/vmwss

# program NAME: a script in place of a program, its text from standard input.
mkdir "$dir/bin"
program() { { echo '#!/bin/bash'; cat; } >"$dir/bin/$1" && chmod 755 "$dir/bin/$1"; }
# report NAME: with these programs and those of the system.
report() { PATH=$dir/bin:$PATH "$vmwss" bugreport --output "$dir/$1"; }

program journalctl <<<'echo "log of $*"; echo "and errors" >&2'
program virsh <<<'echo 9.9.9'
check "it is written" quietly report first
first=$dir/first
check "readable by its owner only" test "$(stat -c %a "$first" "$first/programs" "$first/programs/journal" | xargs)" = "700 700 600"
check "the kernel" test "$(<"$first/proc/version")" = "$(</proc/version)"
check "the distribution" cmp -s "$first/etc/os-release" /etc/os-release
check "its own version" test "$(<"$first/programs/vmwss-version")" = "$("$vmwss" --version)"
check "libvirt's" test "$(<"$first/programs/virsh-version")" = 9.9.9
check "what doctor says" grep -q '^zap  *\(yes\|no\|warning\) ' "$first/programs/vmwss-doctor"
check "and status" quietly jq -e '.schema == "vmwss.status.v1"' "$first/programs/vmwss-status.json"
check "the log of all daemons" grep -q '^log of .*--unit vmwssd --unit vmwss-balloond --unit vmwss-exporter$' "$first/programs/journal"
check "with errors" grep -qx 'and errors' "$first/programs/journal"
check "how each ended" grep -qx 'programs/journal: status 0' "$first/programs/ended"
expect_exit "nothing is overwritten" 2 'exists' report first
mkdir "$dir/small"
# shellcheck disable=SC2016 # expanded inside
expect_exit "a full disk: what is there is incomplete" 2 'small/report is incomplete: .*No space' \
	unshare --mount sh -c 'mount -t tmpfs -o size=8k tmpfs "$1" && exec "$2" bugreport --output "$1/report"' sh "$dir/small" "$vmwss"

# On a distribution without page_idle: where there is a kernel that measures (on others nothing is known).
kernel=$("$vmwss" doctor --json | jq -r '.findings[] | select(.what == "kernel").text')
if [[ ! -e /sys/kernel/mm/page_idle/bitmap && $(. /etc/os-release && echo "$ID") == debian ]]; then
	check "doctor: which kernel of this distribution measures" grep -q '^Debian .*apt install' <<<"$kernel"
else
	skip "doctor: which kernel of this distribution measures" "another distribution or kernel"
fi

# Output of doctor can be dated, and so can the files collected from it.
dated() {
	local before after
	before=$(date +%s)
	# shellcheck disable=SC2031 # no subshell changes it
	said=$("$vmwss" doctor --json)
	after=$(date +%s)
	jq -e --argjson before "$before" --argjson after "$after" --arg host "$(hostname)" '.host == $host and
		(.time | sub("\\.[0-9]{3}Z$"; "Z") | fromdate | . >= $before - 1 and . <= $after + 1)' <<<"$said" >/dev/null
}
check "doctor: when and where" dated

# One that hangs, with a child that would outlive it, one that never ends, one that is silent.
program journalctl <<<"echo before; sleep 987 & echo \$! >$dir/child; wait"
program virsh <<<'yes'
program libvirtd <<<'true'
check "it comes to its end all the same" quietly report second
second=$dir/second/programs
check "what came before" test "$(<"$second/journal")" = before
gone() { ! kill -0 "$(<"$dir/child")" 2>/dev/null; }
check "its child has been ended, too" settles gone
check "what never ends is cut" test "$(stat -c %s "$second/virsh-version")" = $((16 << 20))
check "and both are said" test "$(grep -c '^programs/journal: ended after 10 s$\|^programs/virsh-version: .*, cut at 16 MiB$' "$second/ended")" = 2
check "what says nothing leaves nothing" test ! -e "$second/libvirtd-version"
finish
